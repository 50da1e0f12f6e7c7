!> One half of a coupled pair in one MPI job: this ocean in Fortran, and the atmosphere of coupled_atmosphere.c in C. Each
!> has a session of SCR of its own. After a failure both go on from the same step.
!>
!>     mpiexec -n 2 coupled_ocean : -n 2 coupled_atmosphere
!>
!> Usage: coupled_ocean [STEPS] (40); give the same to both.
program coupled_ocean
    use, intrinsic :: iso_fortran_env, only: output_unit, real64
    use mpi_f08
    use scrf
    implicit none
    save                ! so that the routine "state" needs no executable stack

    integer, parameter :: OCEAN = 0, POINTS = 1000, EVERY = 5
    type(MPI_Comm) :: comm
    type(scr_session) :: session
    integer :: rank, step = 0, last_step = 40, latest, stat
    real(real64) :: temperature(POINTS) = 10.0_real64, flux
    logical :: found
    character(len=32) :: name, argument

    call MPI_Init()
    call MPI_Comm_split(MPI_COMM_WORLD, OCEAN, 0, comm)
    call MPI_Comm_rank(comm, rank)
    call get_command_argument(1, argument)
    read (argument, *, iostat=stat) last_step
    if (stat /= 0) last_step = 40

    call session%create(comm%MPI_VAL, "ocean")
    ! The other model may have failed before it had the same checkpoint: then we go back to the one before.
    call session%config("SCR_CACHE_SIZE=2")
    call session%init()
    call session%have_restart(found, name)
    latest = 0
    if (found) read (name, "(5x,i10)") latest
    call go_back_together()
    if (rank == 0) then
        print "(a,i0)", "ocean begins after step ", step
        flush (output_unit)
    end if

    do while (step < last_step)
        step = step + 1
        call exchange_flux()
        temperature = 0.99_real64*temperature + flux*[(1.0e-3_real64*mod(stat, 7), stat=1, POINTS)]
        write (name, "(a,i0)") "step.", step
        if (mod(step, EVERY) == 0) call session%checkpoint(state, trim(name))
    end do

    call MPI_Allreduce(sum(temperature), flux, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm)
    if (rank == 0) print "(a,es24.16)", "ocean ends with", flux
    call session%finalize()
    call session%free()
    call MPI_Finalize()

contains

    !> What a checkpoint has.
    subroutine state(s)
        class(scr_state), intent(inout) :: s

        call s%same("step", step)
        call s%field("temperature", temperature)
    end subroutine state

    !> Restores the newest checkpoint that both models have, if there is one.
    subroutine go_back_together()
        integer :: of_both

        call MPI_Allreduce(latest, of_both, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD)
        if (of_both == 0) return
        if (of_both < latest) then
            write (name, "(a,i0)") "step.", of_both
            call session%current(trim(name))
        end if
        call session%restore(state, found)
        if (.not. found .or. step /= of_both) then
            print "(a,i0)", "ocean: there is no checkpoint of step ", of_both
            call MPI_Abort(MPI_COMM_WORLD, 2)
        end if
    end subroutine go_back_together

    !> The mean temperature of both models: what each gets from the other.
    subroutine exchange_flux()
        real(real64) :: mine

        mine = sum(temperature)/POINTS
        call MPI_Allreduce(mine, flux, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    end subroutine exchange_flux

end program coupled_ocean
