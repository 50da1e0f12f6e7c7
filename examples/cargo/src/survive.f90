! A Fortran program that Cargo links and tests: see bin/survive.rs.
! Usage: survive [steps N] [every N] [delay MS]
program survive
    use, intrinsic :: iso_c_binding, only: c_int
    use mpi
    use rod
    implicit none

    integer(c_int) :: step
    integer :: ierror, rank, last_step, every, delay, i
    character(len=16) :: name, number

    last_step = 100; every = 10; delay = 0
    do i = 1, command_argument_count(), 2
        call get_command_argument(i, name)
        call get_command_argument(i + 1, number)
        if (name == "steps") read(number, *) last_step
        if (name == "every") read(number, *) every
        if (name == "delay") read(number, *) delay
    end do

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call rod_start()
    step = rod_restart()
    if (rank == 0) print "(A, I0)", "survive: begins at step ", step
    do while (step < last_step)
        step = step + 1
        call rod_advance()
        call wait_ms(delay)
        if (mod(step, every) == 0) then
            if (rod_checkpoint(step) .and. rank == 0) print "(A, I0)", "survive: checkpoint rod.", step
            flush(6)
        end if
    end do
    call finish(rod_sum())
    call rod_end()
    call MPI_Finalize(ierror)

contains

    subroutine wait_ms(ms)
        integer, intent(in) :: ms
        double precision :: begun
        begun = MPI_Wtime()
        do while (MPI_Wtime() - begun < ms * 1d-3)
        end do
    end subroutine wait_ms

    subroutine finish(total)
        double precision, intent(in) :: total
        if (rank == 0) print "(A, I0, A, ES24.16)", "survive: finished step ", step, ", sum ", total
    end subroutine finish
end program survive
