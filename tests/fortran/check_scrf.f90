!> What module scrf promises, with each kind of flag and of ierror. Needs no MPI module, so
!> that programs can call it which use MPI in different ways, also if this module is compiled with
!> -fdefault-integer-8 and they are not. Run in an empty prefix directory.
module check_scrf
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64
    use scrf
    implicit none
    private
    public :: check_all

    integer :: failures = 0

    !> A state of default kinds, whichever these are.
    integer :: fields_rank = 0, number = 0, numbers(4) = 0
    real :: halves(2, 3) = 0
    logical :: truth = .false.
    integer, allocatable :: listed(:)

contains

    !> Number of promises that do not hold for rank `rank`.
    function check_all(this_rank) result(count)
        integer(int32), intent(in) :: this_rank
        integer(int32) :: count
        integer(int32) :: ierror
        integer :: rank

        rank = this_rank

        call check_parameters()
        call scr_init(ierror)
        call check(ierror == SCR_SUCCESS, "scr_init")
        call check_names()
        call check_checkpoint(rank)
        call check_restart(rank)
        call check_restart_loop(rank)
        call check_outputs_of_other_kinds()
        call check_restart_loops_of_other_kinds()
        call check_fields(rank)
        call scr_finalize(ierror)
        call check(ierror == SCR_SUCCESS, "scr_finalize")
        call scr_finalize(ierror)
        call check(ierror /= SCR_SUCCESS, "scr_finalize twice")
        count = int(failures, int32)
    end function check_all

    subroutine list_fields(s)
        class(scr_state), intent(inout) :: s
        integer :: count
        integer, allocatable :: extents(:)

        call s%same("number", number)
        call s%field("numbers", numbers(4:1:-2), whole=[2*2], at=[2*fields_rank + 1])
        call s%field("halves", halves, missing="keep", kind="convert")
        call s%field("truth", truth)
        count = size(numbers)
        call s%count("count", count)
        call check(count == size(numbers), "a count")
        call s%stored("listed", extents)
        call check(allocated(extents) .neqv. s%pass() == SCR_PASS_WRITE, "what is stored")
        call s%begin_list("more", fields_rank)
        call s%end_list()
        call s%array("listed", listed)
        if (s%stored_ranks() > 0) call s%from_rank(fields_rank)
        call s%field("halves of a rank", halves)
    end subroutine list_fields

    !> Needs two ranks. Kinds of found, stop_now, output and ierror.
    subroutine check_fields(rank)
        integer, intent(in) :: rank
        integer :: default_ierror
        logical :: found
        integer(int32) :: ierror, flag
        integer(int64) :: ierror_long, flag_long
        logical(int64) :: found_long
        character(len=SCR_MAX_FILENAME) :: name

        fields_rank = rank
        number = 17
        numbers = [1, 2, 3, 4] + rank
        halves = reshape([0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [2, 3])
        truth = .true.
        listed = [rank, 5]
        call scr_checkpoint(list_fields, "fields", output=.true., ierror=default_ierror)
        call check(default_ierror == 0, "scr_checkpoint")
        call scr_checkpoint(list_fields, ierror=ierror_long)
        call check(ierror_long == 0, "scr_checkpoint, int64")
        call scr_checkpoint(list_fields, output=.false._int64, ierror=ierror)
        call check(ierror == 0, "scr_checkpoint with another logical")
        call scr_checkpoint(list_fields)
        call scr_checkpoint_if_needed(list_fields, found)
        call scr_checkpoint_if_needed(list_fields, flag, ierror)
        call check(ierror == 0 .and. .not. found .and. flag == 0, "scr_checkpoint_if_needed")
        number = 0
        numbers = 0
        halves = 0
        truth = .false.
        deallocate (listed)
        call scr_restore(list_fields, found)
        call check(found, "scr_restore")
        call check(number == 17 .and. truth .and. all(nint(2*halves) == reshape([1, 2, 3, 4, 5, 6], [2, 3])), &
            "fields of default kinds")
        call check(all(numbers == [0, 2 + rank, 0, 4 + rank]) .and. all(listed == [rank, 5]), &
            "a section, and an allocatable array")
        call scr_restore(list_fields, found_long, ierror)
        call check(logical(found_long) .and. ierror == 0, "scr_restore, a longer logical")
        call scr_restore(list_fields, flag, ierror_long)
        call check(flag == 1 .and. ierror_long == 0, "scr_restore, integers")
        call scr_restore(list_fields, flag_long)
        call check(flag_long == 1, "scr_restore, longer integers")
        call scr_have_restart(found, name)
        call check(found .and. index(name, "scr.dataset.") == 1, "a checkpoint without a name gets one")
    end subroutine check_fields

    subroutine check_parameters()
        character(len=8) :: val
        character(len=1) :: short
        character(len=32) :: version
        integer(int32) :: ierror
        integer(int64) :: ierror_long

        call scr_get_version(version)
        call check(version == "v3.1.0", "scr_get_version")
        call scr_get_version(version, ierror_long)
        call check(ierror_long == 0, "scr_get_version, int64")

        call scr_config("SCR_FLUSH=12")
        call scr_config("SCR_FLUSH=12", ierror=ierror)
        call check(ierror == SCR_SUCCESS, "scr_config: setting is a success")
        call scr_config("SCR_FLUSH=12   ", val, ierror)
        call check(ierror == SCR_SUCCESS .and. val == "", "scr_config: setting has no value")
        call scr_config("SCR_FLUSH", val, ierror)
        call check(ierror == SCR_SUCCESS .and. val == "12", "scr_config: query")
        call scr_config("SCR_FLUSH", val)
        call check(val == "12", "scr_config: query without ierror")
        call scr_config("SCR_FLUSH", short, ierror_long)
        call check(ierror_long /= 0 .and. short == "1", "scr_config: a value that is cut")
        call scr_config("SCR_FLUSH=", val, ierror)
        call scr_config("SCR_FLUSH", val, ierror)
        call check(ierror == SCR_SUCCESS .and. val == "", "scr_config: unset")
    end subroutine check_parameters

    subroutine check_names()
        character(len=SCR_MAX_FILENAME + 8) :: name, file
        character(len=4) :: short
        integer(int32) :: ierror
        integer(int64) :: ierror_long

        ! Outside a phase the name comes back as it is.
        file = repeat("x", len(file))
        call scr_route_file("some/where   ", file, ierror)
        call check(ierror == SCR_SUCCESS .and. file == "some/where", "blank padding")
        call scr_route_file("some/where", file)
        call check(file == "some/where", "scr_route_file without ierror")
        call scr_route_file("some/where", short, ierror)
        call check(ierror /= SCR_SUCCESS .and. short == "some", "a path that is cut")
        call check(scr_routed("some/where ") == "some/where", "scr_routed")
        call check(len(scr_routed("some/where ")) == 10, "length of scr_routed")

        name = repeat("n", SCR_MAX_FILENAME - 1)
        call scr_route_file(name, file, ierror)
        call check(ierror == SCR_SUCCESS .and. file == name, "the longest name")
        name = repeat("n", SCR_MAX_FILENAME)
        call scr_route_file(name, file, ierror_long)
        call check(ierror_long /= 0, "a name that is too long")
        call scr_start_output(name, SCR_FLAG_CHECKPOINT, ierror)
        call check(ierror /= SCR_SUCCESS, "an output whose name is too long")
        call scr_delete(name, ierror)
        call check(ierror /= SCR_SUCCESS, "deleting a name that is too long")
    end subroutine check_names

    subroutine check_checkpoint(rank)
        integer, intent(in) :: rank
        integer :: unit, iostat
        integer(int32) :: ierror
        logical :: have, need, stop_now
        character(len=8) :: name

        call scr_have_restart(have, ierror=ierror)
        call check(ierror == SCR_SUCCESS .and. .not. have, "nothing to restart from")
        have = .true.
        name = "none"
        do while (scr_next_restart(name, have, ierror))
            call check(.false., "a restart from nothing")
        end do
        call check(ierror == SCR_SUCCESS .and. .not. have .and. name == "", "a loop over nothing")
        call scr_need_checkpoint(need, ierror)
        call check(ierror == SCR_SUCCESS, "scr_need_checkpoint")

        call scr_start_output("from fortran", SCR_FLAG_CHECKPOINT + SCR_FLAG_OUTPUT, ierror)
        call check(ierror == SCR_SUCCESS, "scr_start_output")
        open (newunit=unit, file=scr_routed(file_of(rank)), status="replace", iostat=iostat)
        call check(iostat == 0, "the routed file can be made")
        if (iostat == 0) then
            write (unit, "(i0)") 1000 + rank
            close (unit)
        end if
        call scr_complete_output(iostat == 0, ierror)
        call check(ierror == SCR_SUCCESS, "scr_complete_output")
        call scr_should_exit(stop_now)
        call check(.not. stop_now, "scr_should_exit")
    end subroutine check_checkpoint

    subroutine check_restart(rank)
        integer, intent(in) :: rank
        character(len=64) :: name, again
        character(len=SCR_MAX_FILENAME) :: path
        character(len=4) :: short
        integer :: unit, iostat, number
        integer(int32) :: have, ierror

        call scr_have_restart(have, name, ierror)
        call check(ierror == SCR_SUCCESS .and. have == 1, "something to restart from")
        call check(name == "from fortran", "name of the checkpoint")
        call scr_have_restart(have, short, ierror)
        call check(ierror /= SCR_SUCCESS .and. have == 1 .and. short == "from", "a name cut short")

        call scr_start_restart(again, ierror)
        call check(ierror == SCR_SUCCESS .and. again == name, "scr_start_restart")
        call scr_route_file("from fortran/none", path, ierror)
        call check(ierror /= SCR_SUCCESS, "a file that is not there")
        call scr_route_file(file_of(rank), path, ierror)
        call check(ierror == SCR_SUCCESS, "route in a restart")
        number = 0
        open (newunit=unit, file=path, status="old", action="read", iostat=iostat)
        if (iostat == 0) then
            read (unit, *, iostat=iostat) number
            close (unit)
        end if
        call check(number == 1000 + rank, "what was written is read")
        call scr_complete_restart(1_int32, ierror)
        call check(ierror == SCR_SUCCESS, "scr_complete_restart")
    end subroutine check_restart

    !> The newer of two checkpoints is given up by one rank, so all read the older one.
    subroutine check_restart_loop(rank)
        integer, intent(in) :: rank
        character(len=64) :: name
        character(len=4) :: short
        character(len=16) :: tried
        integer :: unit, number, tries
        integer(int32) :: ierror
        logical :: valid

        call scr_start_output("newer", SCR_FLAG_CHECKPOINT, ierror)
        call scr_complete_output(.true., ierror)
        call check(ierror == SCR_SUCCESS, "a second checkpoint")

        tries = 0
        valid = .true.
        do while (scr_next_restart(short, valid, ierror))
            tries = tries + 1
        end do
        call check(tries == 0, "a name that does not fit ends the loop")
        call check(ierror /= SCR_SUCCESS .and. .not. valid, "and is an error")

        tries = 0
        tried = ""
        number = 0
        do while (scr_next_restart(name, valid, ierror))
            call check(ierror == SCR_SUCCESS .and. .not. valid, "valid is false when a try begins")
            tries = tries + 1
            tried = trim(tried)//" "//name(1:4)
            if (name == "newer") then
                valid = rank /= 1
                cycle
            end if
            open (newunit=unit, file=scr_routed(file_of(rank)), status="old", action="read")
            read (unit, *) number
            close (unit)
            valid = .true.
        end do
        call check(ierror == SCR_SUCCESS .and. valid, "the loop ends with a restart")
        call check(tried == " newe from" .and. tries == 2, "the newest comes first")
        call check(name == "from fortran" .and. number == 1000 + rank, "what is read after the loop")

        ! A loop that is left early, and the next one.
        do while (scr_next_restart(name, valid))
            exit
        end do
        call scr_start_output("in between", SCR_FLAG_CHECKPOINT, ierror)
        call check(ierror /= SCR_SUCCESS, "the restart is still open")
        call scr_complete_restart(.true., ierror)
        call check(ierror == SCR_SUCCESS, "and can be completed")
        tries = 0
        do while (scr_next_restart(name, valid))
            tries = tries + 1
            valid = .true.
        end do
        call check(valid .and. tries == 1 .and. name == "from fortran", "another loop")
    end subroutine check_restart_loop

    !> Each reads the only checkpoint. The last one could not, for a reason that says nothing of it.
    subroutine check_restart_loops_of_other_kinds()
        character(len=64) :: name
        integer(int32) :: valid, ierror
        integer(int64) :: valid_long, ierror_long
        logical(int32) :: answer
        logical(int64) :: answer_long

        do while (scr_next_restart(name, valid))
            valid = 1
        end do
        call check(valid == 1, "valid of int32")
        do while (scr_next_restart(name, valid, ierror_long))
            valid = 1
        end do
        call check(valid == 1 .and. ierror_long == 0, "valid of int32, ierror of int64")
        do while (scr_next_restart(name, valid_long, ierror))
            valid_long = 1
        end do
        call check(valid_long == 1 .and. ierror == 0, "valid of int64, ierror of int32")
        do while (scr_next_restart(name, valid_long, ierror_long))
            valid_long = 1
        end do
        call check(valid_long == 1 .and. ierror_long == 0, "valid and ierror of int64")
        do while (scr_next_restart(name, answer, ierror_long))
            answer = .true._int32
        end do
        call check(logical(answer) .and. ierror_long == 0, "valid of logical, ierror of int64")
        do while (scr_next_restart(name, answer_long, ierror))
            answer_long = .true._int64
        end do
        call check(logical(answer_long) .and. ierror == 0, "valid of a long logical")
        do while (scr_next_restart(name, answer_long, ierror_long))
            answer_long = .true._int64
        end do
        call check(logical(answer_long) .and. ierror_long == 0, "a long logical, ierror of int64")
        do while (scr_next_restart(name, valid_long, ierror))
            valid_long = SCR_NOT_READ
        end do
        call check(valid_long == 0 .and. ierror /= 0, "SCR_NOT_READ in int64 is no success")
    end subroutine check_restart_loops_of_other_kinds

    !> The other kinds of arguments, as a program compiled for 8-byte integers has them.
    subroutine check_outputs_of_other_kinds()
        integer(int64) :: flag, ierror
        integer(int32) :: flag_short, ierror_short
        logical(int32) :: answer
        logical(int64) :: answer_long

        call scr_have_restart(flag, ierror=ierror)
        call check(ierror == 0 .and. (flag == 0 .or. flag == 1), "flag and ierror of int64")
        call scr_need_checkpoint(flag, ierror_short)
        call check(ierror_short == 0, "flag of int64, ierror of int32")
        call scr_should_exit(flag_short, ierror)
        call check(ierror == 0 .and. flag_short == 0, "flag of int32, ierror of int64")
        answer = .true.
        call scr_should_exit(answer, ierror)
        call check(ierror == 0 .and. .not. logical(answer), "logical of int32, ierror of int64")
        answer_long = .true.
        call scr_should_exit(answer_long, ierror_short)
        call check(ierror_short == 0 .and. .not. logical(answer_long), "logical of int64")

        call scr_start_output("void", 1_int64, ierror)
        call check(ierror == 0, "flags of int64")
        call scr_complete_output(0_int64, ierror)
        call check(ierror /= 0, "valid of int64")
        call scr_start_checkpoint(ierror)
        call check(ierror == 0, "scr_start_checkpoint, int64")
        call scr_complete_checkpoint(.false._int32, ierror)
        call check(ierror /= 0, "valid of logical, ierror of int64")
        call scr_start_checkpoint(ierror)
        call scr_complete_checkpoint(.false._int64, ierror)
        call check(ierror /= 0, "valid of a long logical, ierror of int64")
    end subroutine check_outputs_of_other_kinds

    function file_of(rank) result(file)
        integer, intent(in) :: rank
        character(len=:), allocatable :: file
        character(len=16) :: number

        write (number, "(i0)") rank
        file = "from fortran/rank "//trim(number)
    end function file_of

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what

        if (holds) return
        write (error_unit, "(2a)") "not so: ", what
        failures = failures + 1
    end subroutine check

end module check_scrf
