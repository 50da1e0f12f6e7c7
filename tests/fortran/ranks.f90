!> A checkpoint that any number of ranks can restart from, as tests/c/ranks.c in Fortran.
!>
!> Usage: ranks write NAME | read NAME OLD
program ranks
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64
    use mpi
    use scrf
    implicit none
    integer :: rank, size, ierror, old
    character(len=64) :: mode, name, number

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
    call get_command_argument(1, mode)
    call get_command_argument(2, name)
    call get_command_argument(3, number)
    call scr_init()
    if (mode == "write") then
        call write_checkpoint(trim(name))
    else
        read (number, *) old
        call read_checkpoint(trim(name), old)
        call write_checkpoint("next")
    end if
    call scr_finalize()
    call MPI_Finalize(ierror)

contains

    subroutine write_checkpoint(dataset)
        character(len=*), intent(in) :: dataset
        character(len=16) :: part

        call scr_start_output(dataset, SCR_FLAG_CHECKPOINT)
        write (part, "(a,i0)") "part.", rank
        call write_number(dataset//"/"//trim(part), rank)
        if (rank == 0) call write_number(dataset//"/header", size)
        call scr_complete_output(.true., ierror)
        call check(ierror == SCR_SUCCESS, "scr_complete_output")
    end subroutine write_checkpoint

    subroutine write_number(file, value)
        character(len=*), intent(in) :: file
        integer, intent(in) :: value
        integer :: unit

        open (newunit=unit, file=scr_routed(file), status="replace")
        write (unit, "(i0)") value
        close (unit)
    end subroutine write_number

    function number_in(file) result(value)
        character(len=*), intent(in) :: file
        integer :: value, unit

        open (newunit=unit, file=scr_routed(file), status="old", action="read")
        read (unit, *) value
        close (unit)
    end function number_in

    subroutine read_checkpoint(wanted, old)
        character(len=*), intent(in) :: wanted
        integer, intent(in) :: old
        character(len=SCR_MAX_FILENAME) :: file
        character(len=4) :: short
        character(len=64) :: found
        logical :: have
        integer(int32) :: of, i, count, writers
        integer(int64) :: long, status
        integer :: files, first, last

        call scr_allow_other_ranks(.true.)
        call scr_have_restart(have, found)
        call check(have .and. found == wanted, "the name that is offered")
        call scr_start_restart()
        call scr_restart_ranks(writers)
        call check(writers == old, "scr_restart_ranks")
        call scr_restart_ranks(long, status)
        call check(long == old .and. status == 0, "scr_restart_ranks, int64")
        ! As many ranks as wrote it read their own files only.
        files = 0
        first = merge(rank, 0, old == size)
        last = merge(rank, writers - 1, old == size)
        do of = first, last
            call scr_restart_file_count(of, count)
            do i = 1, count
                call scr_restart_file(of, i, file)
                files = files + 1
                if (index(file, "/part.") > 0) then
                    call check(number_in(file) == of, "what rank wrote is read")
                end if
            end do
        end do
        if (old /= size) call check(files == old + 1, "the number of files")
        call scr_restart_file(0_int64, 0_int64, file, status)
        call check(status /= 0, "the first index is 1")
        call scr_restart_file_count(int(old, int64), long, status)
        call check(status /= 0 .and. long == 0, "no such rank")
        call scr_restart_file(first, 1_int32, short, ierror)
        call check(ierror /= SCR_SUCCESS, "a path that is cut")
        if (old /= size .or. rank == 0) then
            call check(number_in(wanted//"/header") == old, "the header that rank 0 wrote")
        end if
        call scr_complete_restart(.true., ierror)
        call check(ierror == SCR_SUCCESS, "scr_complete_restart")
        if (rank == 0) print "(a,i0,3a,i0)", "ranks: ", size, " read ", wanted, " of ", old
    end subroutine read_checkpoint

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        integer :: status

        if (holds) return
        write (error_unit, "(a,i0,2a)") "ranks: rank ", rank, ": not so: ", what
        call MPI_Abort(MPI_COMM_WORLD, 1, status)
    end subroutine check

end program ranks
