!> Calls without ierror that fail; the argument says which.
program no_ierror
    use, intrinsic :: iso_fortran_env, only: output_unit
    use mpi
    use scrf
    implicit none
    character(len=16) :: which, name
    character(len=2) :: short
    character(len=:), allocatable :: path
    integer :: ierror
    logical :: flag

    call MPI_Init(ierror)
    call get_command_argument(1, which)
    call scr_init()

    select case (which)
    case ("short_buffer")
        call scr_route_file("longer", short)
        call say("line after the failing call "//short)
    case ("long_name")
        path = scr_routed(repeat("n", SCR_MAX_FILENAME))
        call say("line after the failing call "//path)
    case ("twice")
        call scr_init()
        call say("line after the failing call")
    case ("void_output")
        call scr_start_output("void", SCR_FLAG_CHECKPOINT)
        call scr_complete_output(.false.)
        call say("went on")
    case ("disabled")
        call scr_have_restart(flag, name)
        if (flag .or. name /= "") error stop "a restart out of nothing"
        call scr_need_checkpoint(flag)
        call scr_should_exit(flag)
        if (flag) error stop "told to exit"
        call scr_start_output("off", SCR_FLAG_CHECKPOINT)
        if (scr_routed("off/file") /= "off/file") error stop "no path"
        call scr_complete_output(.true.)
        call say("went on without")
    case default
        error stop "unknown case"
    end select

    call scr_finalize()
    call MPI_Finalize(ierror)

contains

    subroutine say(what)
        character(len=*), intent(in) :: what

        write (output_unit, "(a)") what
        flush (output_unit)
    end subroutine say

end program no_ierror
