!> Calls without ierror that fail; the argument says which.
program no_ierror
    use, intrinsic :: iso_fortran_env, only: output_unit
    use mpi
    use scrf
    implicit none
    character(len=16) :: which, name
    character(len=2) :: short
    character(len=:), allocatable :: path
    integer :: ierror, rank
    logical :: flag

    call MPI_Init(ierror)
    call get_command_argument(1, which)
    call scr_init()

    select case (which)
    case ("short_buffer")
        call scr_route_file("longer", short)
        call say("line after the failing call "//short)
    case ("short_name")
        call scr_start_output("longer", SCR_FLAG_CHECKPOINT)
        call write_number(scr_routed("longer/file"), 1, ierror)
        call scr_complete_output(ierror == 0)
        call scr_have_restart(flag, short)
        call say("line after the failing call "//short)
    case ("short_value")
        call scr_config("SCR_PREFIX", short)
        call say("line after the failing call "//short)
    case ("short_asked")
        call scr_config("SCR_PREFIX", short, ierror)
        if (ierror /= 1) error stop "no error for a variable that is too short"
        call say("went on")
    case ("long_name")
        path = scr_routed(repeat("n", SCR_MAX_FILENAME))
        call say("line after the failing call "//path)
    case ("long_start")
        call scr_start_output(repeat("n", SCR_MAX_FILENAME), SCR_FLAG_CHECKPOINT)
        call say("line after the failing call")
    case ("long_current")
        call scr_current(repeat("n", SCR_MAX_FILENAME))
        call say("line after the failing call")
    case ("long_drop")
        call scr_drop(repeat("n", SCR_MAX_FILENAME))
        call say("line after the failing call")
    case ("long_delete")
        call scr_delete(repeat("n", SCR_MAX_FILENAME))
        call say("line after the failing call")
    case ("one_rank")
        call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
        if (rank == 1) call scr_route_file("longer", short)
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        call say("line after the failing call")
    case ("twice")
        call scr_init()
        call say("line after the failing call")
    case ("void_output")
        call scr_start_output("void", SCR_FLAG_CHECKPOINT)
        call scr_complete_output(.false.)
        call say("went on")
    case ("refused", "left_out")
        call overwrite()
        call say("went on after a refused start")
    case ("disabled")
        call scr_have_restart(flag, name)
        if (flag .or. name /= "") error stop "a restart out of nothing"
        call scr_need_checkpoint(flag)
        call scr_should_exit(flag)
        if (flag) error stop "told to exit"
        call scr_start_output("off", SCR_FLAG_CHECKPOINT)
        if (scr_routed("off/file") /= "off/file") error stop "no path"
        call scr_complete_output(.true.)
        call scr_start_output("off", SCR_FLAG_CHECKPOINT)
        call scr_start_output("off", SCR_FLAG_CHECKPOINT)
        call say("went on without")
    case default
        error stop "unknown case"
    end select

    call scr_finalize()
    call MPI_Finalize(ierror)

contains

    !> Writes a checkpoint, then once more under its name, of which the start is refused.
    subroutine overwrite()
        character(len=SCR_MAX_FILENAME) :: file
        integer :: written

        call scr_start_output("kept", SCR_FLAG_CHECKPOINT)
        call write_number(scr_routed("kept/file"), 1, written)
        call scr_complete_output(written == 0)

        call scr_start_output("kept", 64)
        call write_number(scr_routed("kept/file"), 2, written)
        if (written == 0) error stop "a path for a dataset that was not started"
        call write_number(scr_routed("kept/file")//".tmp", 2, written)
        if (written == 0) error stop "a path beside one"
        call scr_route_file("kept/file", file)
        call write_number(file, 2, written)
        if (written == 0) error stop "a path, padded, for a dataset that was not started"
        if (which == "refused") call scr_complete_output(.false.)

        call scr_have_restart(flag, name)
        if (.not. flag .or. name /= "kept") error stop "the checkpoint is gone"
        call scr_start_restart(name)
        call read_number(scr_routed("kept/file"), written)
        if (written /= 1) error stop "the checkpoint was written over"
        call scr_complete_restart(.true.)
        call scr_start_output(repeat("n", SCR_MAX_FILENAME), SCR_FLAG_CHECKPOINT, ierror)
        if (ierror == 0) error stop "a name that is too long is accepted"
        call write_number(scr_routed("kept/file"), 2, written)
        if (written == 0) error stop "a path after a name that is too long"
    end subroutine overwrite

    subroutine write_number(file, number, status)
        character(len=*), intent(in) :: file
        integer, intent(in) :: number
        integer, intent(out) :: status
        integer :: unit

        open (newunit=unit, file=file, status="replace", action="write", iostat=status)
        if (status /= 0) return
        write (unit, *, iostat=status) number
        close (unit)
    end subroutine write_number

    subroutine read_number(file, number)
        character(len=*), intent(in) :: file
        integer, intent(out) :: number
        integer :: unit, status

        number = 0
        open (newunit=unit, file=file, status="old", action="read", iostat=status)
        if (status /= 0) return
        read (unit, *, iostat=status) number
        close (unit)
    end subroutine read_number

    subroutine say(what)
        character(len=*), intent(in) :: what

        write (output_unit, "(a)") what
        flush (output_unit)
    end subroutine say

end program no_ierror
