! Heat in a rod, divided among the processes, with checkpoints by SCR. For programs in Fortran, and through
! iso_c_binding for those in Rust or C.
module rod
    use, intrinsic :: iso_c_binding, only: c_bool, c_double, c_int
    use mpi
    use scrf
    implicit none
    private
    public :: rod_start, rod_restart, rod_advance, rod_checkpoint, rod_sum, rod_end

    integer, parameter :: CELLS = 1000
    integer :: rank, ranks
    !> With a cell of each neighbour at the ends. The left end of the rod is kept at 1, the right one at 0.
    double precision :: heat(0:CELLS + 1)

contains

    !> Begins, after MPI_Init.
    subroutine rod_start() bind(C)
        integer :: ierror
        call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
        call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
        call set_initial_state()
        call scr_init()
    end subroutine rod_start

    subroutine set_initial_state()
        heat = 0
        if (rank == 0) heat(0) = 1
    end subroutine set_initial_state

    !> The step of the newest checkpoint that all processes can read, which is then in memory; 0 if there
    !> is none.
    function rod_restart() result(step) bind(C)
        integer(c_int) :: step
        integer :: unit, status
        logical :: restarted
        character(len=SCR_MAX_FILENAME) :: name
        do while (scr_next_restart(name, restarted))
            open(newunit=unit, file=scr_routed(file_in(name)), form="unformatted", &
                access="stream", status="old", action="read", iostat=status)
            if (status == 0) then
                read(unit, iostat=status) step, heat
                close(unit)
            end if
            restarted = status == 0
        end do
        if (restarted) return
        step = 0
        call set_initial_state()
    end function rod_restart

    !> Writes checkpoint rod.STEP. True if all processes did.
    function rod_checkpoint(step) result(done) bind(C)
        integer(c_int), value :: step
        logical(c_bool) :: done
        integer :: unit, status
        character(len=16) :: name
        write(name, "('rod.', I0)") step
        call scr_start_output(name, SCR_FLAG_CHECKPOINT, status)
        done = .false.
        if (status /= SCR_SUCCESS) return
        open(newunit=unit, file=scr_routed(file_in(name)), form="unformatted", &
            access="stream", status="replace", action="write", iostat=status)
        if (status == 0) write(unit, iostat=status) step, heat
        if (status == 0) close(unit, iostat=status)
        call scr_complete_output(status == 0, status)
        done = status == SCR_SUCCESS
    end function rod_checkpoint

    !> One time step.
    subroutine rod_advance() bind(C)
        integer :: left, right, ierror
        left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
        right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
        call MPI_Sendrecv(heat(1), 1, MPI_DOUBLE_PRECISION, left, 0, heat(CELLS + 1), 1, &
            MPI_DOUBLE_PRECISION, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
        call MPI_Sendrecv(heat(CELLS), 1, MPI_DOUBLE_PRECISION, right, 1, heat(0), 1, &
            MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
        heat(1:CELLS) = heat(1:CELLS) &
            + 0.25d0 * (heat(0:CELLS - 1) + heat(2:CELLS + 1) - 2 * heat(1:CELLS))
    end subroutine rod_advance

    !> Of the whole rod, on all processes.
    function rod_sum() result(total) bind(C)
        real(c_double) :: total
        double precision :: all(0:ranks - 1)
        integer :: ierror
        call MPI_Allgather(sum(heat(1:CELLS)), 1, MPI_DOUBLE_PRECISION, all, 1, &
            MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror)
        total = sum(all)
    end function rod_sum

    !> Ends, before MPI_Finalize.
    subroutine rod_end() bind(C)
        call scr_finalize()
    end subroutine rod_end

    function file_in(name) result(file)
        character(len=*), intent(in) :: name
        character(len=SCR_MAX_FILENAME) :: file
        write(file, "(A, '/rank.', I0)") trim(name), rank
    end function file_in
end module rod
