!> The Scalable Checkpoint / Restart library for Fortran: interface of SCR v3.1.0.
!>
!> Arguments are those of the SCR user API guide. All calls are collective over
!> MPI_COMM_WORLD, but scr_route_file, scr_routed, scr_restart_ranks, scr_restart_file_count,
!> scr_restart_file and scr_get_version.
!>
!> - ierror is optional, integer(int32) or integer(int64): SCR_SUCCESS, or 1 if the call
!>   failed or an output did not fit. Without it a failed checkpoint, restart or flush is
!>   reported and the program goes on, while a call that leaves its output undefined, or a
!>   name that is too long, stops the program: all processes end, with an exit status other
!>   than 0. See docs/fortran-api.md for each call.
!> - After a scr_start_output that failed nothing must be written: scr_routed and scr_route_file
!>   give a path that cannot be opened, so that the file's own, which may be an older dataset's,
!>   stays as it is. scr_complete_output fails without a message, and may be left out. The same
!>   holds for scr_start_checkpoint and scr_start_restart.
!> - flag and valid are integers or logicals, of the kinds int32 and int64: one of them is the default
!>   kind, also with -fdefault-integer-8 and the like.
!> - Names are of any declared length. Trailing blanks do not count; outputs are padded with
!>   blanks. Fewer than SCR_MAX_FILENAME characters can be given.
!>
!> This file needs nothing but the C library libscr, and no MPI module, so that it serves
!> codes that use mpif.h, mpi or mpi_f08. It may be compiled together with an application.
!>
!> SPDX-License-Identifier: MIT OR Apache-2.0
! Made from scrf.F90.jinja in the sources of SCR.
module scrf
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, &
        c_null_char, c_ptr, c_size_t
    use, intrinsic :: iso_fortran_env, only: int32, int64, output_unit
    implicit none
    private

    public :: scr_init, scr_finalize, scr_config, scr_get_version
    public :: scr_route_file, scr_routed
    public :: scr_next_restart
    public :: scr_have_restart, scr_start_restart, scr_complete_restart
    public :: scr_allow_other_ranks
    public :: scr_restart_ranks, scr_restart_file_count, scr_restart_file
    public :: scr_need_checkpoint, scr_start_checkpoint, scr_complete_checkpoint
    public :: scr_start_output, scr_complete_output, scr_should_exit
    public :: scr_current, scr_drop, scr_delete

    integer(int32), parameter, public :: SCR_SUCCESS = 0
    !> Characters in a name, with the terminating NUL of C.
    integer(int32), parameter, public :: SCR_MAX_FILENAME = 1024
    !> Flags of scr_start_output, to be added.
    integer(int32), parameter, public :: SCR_FLAG_NONE = 0
    integer(int32), parameter, public :: SCR_FLAG_CHECKPOINT = 1
    integer(int32), parameter, public :: SCR_FLAG_OUTPUT = 2
    !> For scr_complete_restart: this process could not read the checkpoint, which may be good.
    integer(int32), parameter, public :: SCR_NOT_READ = 5456722

    !> Status of a call inside of this module: as C tells it; an output does not fit; a name is too
    !> long. The caller gets 1 for each.
    integer(int32), parameter :: FAILURE = 1, NO_ROOM = 2, TOO_LONG = 3

    !> What to do about a failure when the caller did not ask for ierror.
    integer, parameter :: MAY_GO_ON = 1, MUST_STOP = 2

    !> How all paths begin that SCR tells after a start that failed.
    character(len=*), parameter :: NO_PATH = "/dev/null/"

    !> False after scr_init found SCR switched off: then no call succeeds, and none matters.
    logical, save :: enabled = .true.

    !> The last scr_next_restart has begun a restart, which the next one completes.
    logical, save :: in_restart_loop = .false.

    !> With NO_ROOM and TOO_LONG: the length of the text, and the room for it. 0 if C has reported it.
    integer, save :: needed = 0, given = 0

    !> scr_init(ierror): starts the library, after MPI_Init.
    interface scr_init
        module procedure :: init_i32, init_i64
    end interface scr_init

    !> scr_finalize(ierror): stops the library, before MPI_Finalize.
    interface scr_finalize
        module procedure :: finalize_i32, finalize_i64
    end interface scr_finalize

    !> scr_start_checkpoint(ierror): begins a checkpoint without a name.
    interface scr_start_checkpoint
        module procedure :: start_checkpoint_i32, start_checkpoint_i64
    end interface scr_start_checkpoint

    !> scr_config(cfg, val, ierror): sets, unsets or queries a parameter. val is optional, and
    !> blank if there is nothing to tell.
    interface scr_config
        module procedure :: config_i32, config_i64
    end interface scr_config

    !> scr_get_version(version, ierror): the version of the library, e.g. "v3.1.0".
    interface scr_get_version
        module procedure :: get_version_i32, get_version_i64
    end interface scr_get_version

    !> scr_route_file(name, file, ierror): the path at which to access a file; one that cannot be
    !> opened after a start that failed. See scr_routed.
    interface scr_route_file
        module procedure :: route_file_i32, route_file_i64
    end interface scr_route_file

    !> scr_allow_other_ranks(allowed, ierror): can this program restart from a checkpoint of another
    !> number of processes?
    interface scr_allow_other_ranks
        module procedure :: allow_other_ranks_i32_i32, allow_other_ranks_i32_i64
        module procedure :: allow_other_ranks_i64_i32, allow_other_ranks_i64_i64
        module procedure :: allow_other_ranks_l32_i32, allow_other_ranks_l32_i64
        module procedure :: allow_other_ranks_l64_i32, allow_other_ranks_l64_i64
    end interface scr_allow_other_ranks

    !> scr_restart_ranks(ranks, ierror): how many processes wrote the checkpoint that is being read?
    interface scr_restart_ranks
        module procedure :: restart_ranks_i32_i32, restart_ranks_i32_i64
        module procedure :: restart_ranks_i64_i32, restart_ranks_i64_i64
    end interface scr_restart_ranks

    !> scr_restart_file_count(rank, count, ierror): how many files of it did process rank write? The
    !> first is rank 0.
    interface scr_restart_file_count
        module procedure :: restart_file_count_i32_i32, restart_file_count_i32_i64
        module procedure :: restart_file_count_i64_i32, restart_file_count_i64_i64
    end interface scr_restart_file_count

    !> scr_restart_file(rank, index, name, ierror): the path of one of them in the prefix directory, for
    !> scr_routed. index is from 1 to count, in C one less.
    interface scr_restart_file
        module procedure :: restart_file_i32_i32, restart_file_i32_i64
        module procedure :: restart_file_i64_i32, restart_file_i64_i64
    end interface scr_restart_file

    !> scr_next_restart(name, valid, ierror): a function for a loop over the checkpoints, newest first.
    !> It is true when it has begun a restart, for this process to read its files and to tell by valid
    !> whether it could. The next call ends that restart. If all processes could, or if there is
    !> no other checkpoint, it is false, and the loop is over: then valid tells whether a checkpoint was
    !> read, and name is that one's, or blank. Before the loop they need no value.
    !>
    !>     do while (scr_next_restart(name, valid))
    !>         open (newunit=unit, file=scr_routed(...), status="old", action="read", iostat=status)
    !>         ...
    !>         valid = status == 0
    !>     end do
    interface scr_next_restart
        module procedure :: next_restart_i32_i32, next_restart_i32_i64
        module procedure :: next_restart_i64_i32, next_restart_i64_i64
        module procedure :: next_restart_l32_i32, next_restart_l32_i64
        module procedure :: next_restart_l64_i32, next_restart_l64_i64
    end interface scr_next_restart

    !> scr_have_restart(flag, name, ierror): is there a checkpoint to read? name is optional.
    interface scr_have_restart
        module procedure :: have_restart_i32_i32, have_restart_i32_i64
        module procedure :: have_restart_i64_i32, have_restart_i64_i64
        module procedure :: have_restart_l32_i32, have_restart_l32_i64
        module procedure :: have_restart_l64_i32, have_restart_l64_i64
    end interface scr_have_restart

    !> scr_start_restart(name, ierror): begins to read a checkpoint. name is optional.
    interface scr_start_restart
        module procedure :: start_restart_i32, start_restart_i64
    end interface scr_start_restart

    !> scr_need_checkpoint(flag, ierror): is it time for a checkpoint?
    interface scr_need_checkpoint
        module procedure :: need_checkpoint_i32_i32, need_checkpoint_i32_i64
        module procedure :: need_checkpoint_i64_i32, need_checkpoint_i64_i64
        module procedure :: need_checkpoint_l32_i32, need_checkpoint_l32_i64
        module procedure :: need_checkpoint_l64_i32, need_checkpoint_l64_i64
    end interface scr_need_checkpoint

    !> scr_should_exit(flag, ierror): should the program stop?
    interface scr_should_exit
        module procedure :: should_exit_i32_i32, should_exit_i32_i64
        module procedure :: should_exit_i64_i32, should_exit_i64_i64
        module procedure :: should_exit_l32_i32, should_exit_l32_i64
        module procedure :: should_exit_l64_i32, should_exit_l64_i64
    end interface scr_should_exit

    !> scr_complete_restart(valid, ierror): ends a restart; valid: did this process read its files?
    interface scr_complete_restart
        module procedure :: complete_restart_i32_i32, complete_restart_i32_i64
        module procedure :: complete_restart_i64_i32, complete_restart_i64_i64
        module procedure :: complete_restart_l32_i32, complete_restart_l32_i64
        module procedure :: complete_restart_l64_i32, complete_restart_l64_i64
    end interface scr_complete_restart

    !> scr_complete_checkpoint(valid, ierror): ends a checkpoint.
    interface scr_complete_checkpoint
        module procedure :: complete_checkpoint_i32_i32, complete_checkpoint_i32_i64
        module procedure :: complete_checkpoint_i64_i32, complete_checkpoint_i64_i64
        module procedure :: complete_checkpoint_l32_i32, complete_checkpoint_l32_i64
        module procedure :: complete_checkpoint_l64_i32, complete_checkpoint_l64_i64
    end interface scr_complete_checkpoint

    !> scr_complete_output(valid, ierror): ends a dataset; valid: did this process write its files?
    interface scr_complete_output
        module procedure :: complete_output_i32_i32, complete_output_i32_i64
        module procedure :: complete_output_i64_i32, complete_output_i64_i64
        module procedure :: complete_output_l32_i32, complete_output_l32_i64
        module procedure :: complete_output_l64_i32, complete_output_l64_i64
    end interface scr_complete_output

    !> scr_start_output(name, flags, ierror): begins a dataset. A blank name asks for one made
    !> from the dataset id. If it fails, write nothing.
    interface scr_start_output
        module procedure :: start_output_i32_i32, start_output_i32_i64
        module procedure :: start_output_i64_i32, start_output_i64_i64
    end interface scr_start_output

    !> scr_current(name, ierror): makes a checkpoint the one to restart from.
    interface scr_current
        module procedure :: current_i32, current_i64
    end interface scr_current

    !> scr_drop(name, ierror): removes a dataset from the index, but no file.
    interface scr_drop
        module procedure :: drop_i32, drop_i64
    end interface scr_drop

    !> scr_delete(name, ierror): removes a dataset with its files.
    interface scr_delete
        module procedure :: delete_i32, delete_i64
    end interface scr_delete

    interface conclude
        module procedure :: conclude_i32, conclude_i64
    end interface conclude

    interface as_int
        module procedure :: int_of_i32, int_of_i64, int_of_l32, int_of_l64
    end interface as_int

    interface set_flag
        module procedure :: set_flag_i32, set_flag_i64, set_flag_l32, set_flag_l64
    end interface set_flag

    ! The C interface. An interface body has no implicit none but its own.
    interface
        function c_init() &
            bind(C, name="SCR_Init") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int) :: status
        end function c_init

        function c_finalize() &
            bind(C, name="SCR_Finalize") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int) :: status
        end function c_finalize

        function c_start_checkpoint() &
            bind(C, name="SCR_Start_checkpoint") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int) :: status
        end function c_start_checkpoint

        function c_start_output(name, flags) &
            bind(C, name="SCR_Start_output") result(status)
            import :: c_char, c_int
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int), value, intent(in) :: flags
            integer(c_int) :: status
        end function c_start_output

        function c_route_file(name, file) &
            bind(C, name="SCR_Route_file") result(status)
            import :: c_char, c_int
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            character(kind=c_char), dimension(*), intent(inout) :: file
            integer(c_int) :: status
        end function c_route_file

        function c_complete_output(valid) &
            bind(C, name="SCR_Complete_output") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), value, intent(in) :: valid
            integer(c_int) :: status
        end function c_complete_output

        function c_complete_checkpoint(valid) &
            bind(C, name="SCR_Complete_checkpoint") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), value, intent(in) :: valid
            integer(c_int) :: status
        end function c_complete_checkpoint

        function c_have_restart(flag, name) &
            bind(C, name="SCR_Have_restart") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), intent(inout) :: flag
            character(kind=c_char), dimension(*), intent(inout) :: name
            integer(c_int) :: status
        end function c_have_restart

        function c_start_restart(name) &
            bind(C, name="SCR_Start_restart") result(status)
            import :: c_char, c_int
            implicit none
            character(kind=c_char), dimension(*), intent(inout) :: name
            integer(c_int) :: status
        end function c_start_restart

        function c_complete_restart(valid) &
            bind(C, name="SCR_Complete_restart") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), value, intent(in) :: valid
            integer(c_int) :: status
        end function c_complete_restart

        function c_allow_other_ranks(allowed) &
            bind(C, name="SCR_Allow_other_ranks") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), value, intent(in) :: allowed
            integer(c_int) :: status
        end function c_allow_other_ranks

        function c_restart_ranks(ranks) &
            bind(C, name="SCR_Restart_ranks") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), intent(inout) :: ranks
            integer(c_int) :: status
        end function c_restart_ranks

        function c_restart_file_count(rank, count) &
            bind(C, name="SCR_Restart_file_count") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), value, intent(in) :: rank
            integer(c_int), intent(inout) :: count
            integer(c_int) :: status
        end function c_restart_file_count

        function c_restart_file(rank, index, name) &
            bind(C, name="SCR_Restart_file") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), value, intent(in) :: rank
            integer(c_int), value, intent(in) :: index
            character(kind=c_char), dimension(*), intent(inout) :: name
            integer(c_int) :: status
        end function c_restart_file

        function c_need_checkpoint(flag) &
            bind(C, name="SCR_Need_checkpoint") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), intent(inout) :: flag
            integer(c_int) :: status
        end function c_need_checkpoint

        function c_should_exit(flag) &
            bind(C, name="SCR_Should_exit") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), intent(inout) :: flag
            integer(c_int) :: status
        end function c_should_exit

        function c_current(name) &
            bind(C, name="SCR_Current") result(status)
            import :: c_char, c_int
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int) :: status
        end function c_current

        function c_drop(name) &
            bind(C, name="SCR_Drop") result(status)
            import :: c_char, c_int
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int) :: status
        end function c_drop

        function c_delete(name) &
            bind(C, name="SCR_Delete") result(status)
            import :: c_char, c_int
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int) :: status
        end function c_delete

        function c_config(config) bind(C, name="SCR_Config") result(val)
            import :: c_char, c_ptr
            implicit none
            character(kind=c_char), intent(in) :: config(*)
            type(c_ptr) :: val
        end function c_config

        function c_get_version() bind(C, name="SCR_Get_version") result(version)
            import :: c_ptr
            implicit none
            type(c_ptr) :: version
        end function c_get_version

        !> Reports an error that C cannot see.
        subroutine c_report(call_name, reason) bind(C, name="scr_fortran_report")
            import :: c_char
            implicit none
            character(kind=c_char), intent(in) :: call_name(*), reason(*)
        end subroutine c_report

        !> Ends the program on all ranks; the reason is blank if C has reported it.
        subroutine c_stop(call_name, reason) bind(C, name="scr_fortran_stop")
            import :: c_char
            implicit none
            character(kind=c_char), intent(in) :: call_name(*), reason(*)
        end subroutine c_stop

        !> Frees what c_config has returned.
        subroutine c_free(pointer) bind(C, name="scr_fortran_free")
            import :: c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: pointer
        end subroutine c_free

        function c_strlen(text) bind(C, name="strlen") result(length)
            import :: c_ptr, c_size_t
            implicit none
            type(c_ptr), value, intent(in) :: text
            integer(c_size_t) :: length
        end function c_strlen
    end interface

contains

    ! ---- Work: calls of C with names, buffers or state around them. Each returns the status of C. ----

    function do_init() result(status)
        integer(int32) :: status

        status = c_init()
        in_restart_loop = .false.
        enabled = .true.
        if (status /= SCR_SUCCESS) enabled = .not. switched_off()
    end function do_init

    !> Whether SCR_ENABLE=0 is why scr_init failed.
    function switched_off()
        logical :: switched_off
        character(len=8) :: setting
        integer(int32) :: status
        integer :: i, letter

        status = do_config("SCR_ENABLE", setting)
        setting = adjustl(setting)
        do i = 1, len(setting)
            letter = index("NOFALSE", setting(i:i))
            if (letter > 0) setting(i:i) = "nofalse" (letter:letter)
        end do
        switched_off = any(setting == ["0    ", "no   ", "off  ", "false"])
    end function switched_off

    function do_config(cfg, val) result(status)
        character(len=*), intent(in) :: cfg
        character(len=*), intent(out), optional :: val
        integer(int32) :: status
        type(c_ptr) :: found

        found = c_config(trim(cfg)//c_null_char)
        status = SCR_SUCCESS
        if (present(val)) call copy_out(found, val, status)
        if (c_associated(found)) call c_free(found)
    end function do_config

    function do_get_version(version) result(status)
        character(len=*), intent(out) :: version
        integer(int32) :: status

        status = SCR_SUCCESS
        call copy_out(c_get_version(), version, status)
    end function do_get_version

    function do_route_file(name, file) result(status)
        character(len=*), intent(in) :: name
        character(len=*), intent(out) :: file
        integer(int32) :: status
        character(len=:), allocatable :: path

        call route(name, path, status)
        call pad(path, file, status)
    end function do_route_file

    subroutine route(name, path, status)
        character(len=*), intent(in) :: name
        character(len=:), allocatable, intent(out) :: path
        integer(int32), intent(out) :: status
        character(kind=c_char) :: buffer(SCR_MAX_FILENAME)

        buffer = c_null_char
        status = TOO_LONG
        if (fits(name)) status = c_route_file(trim(name)//c_null_char, buffer)
        path = text_of(buffer)
    end subroutine route

    function do_have_restart(flag, name) result(status)
        integer(c_int), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int32) :: status
        character(kind=c_char) :: buffer(SCR_MAX_FILENAME)

        buffer = c_null_char
        flag = 0
        status = c_have_restart(flag, buffer)
        if (present(name)) call pad(text_of(buffer), name, status)
    end function do_have_restart

    function do_start_restart(name) result(status)
        character(len=*), intent(out), optional :: name
        integer(int32) :: status
        character(kind=c_char) :: buffer(SCR_MAX_FILENAME)

        buffer = c_null_char
        status = c_start_restart(buffer)
        if (present(name)) call pad(text_of(buffer), name, status)
    end function do_start_restart

    function do_restart_file_count(rank, count) result(status)
        integer(int64), intent(in) :: rank
        integer(c_int), intent(out) :: count
        integer(int32) :: status

        count = 0
        status = c_restart_file_count(clamped(rank), count)
    end function do_restart_file_count

    function do_restart_file(rank, index, name) result(status)
        integer(int64), intent(in) :: rank, index
        character(len=*), intent(out) :: name
        integer(int32) :: status
        character(kind=c_char) :: buffer(SCR_MAX_FILENAME)

        buffer = c_null_char
        status = c_restart_file(clamped(rank), clamped(index - 1), buffer)
        call pad(text_of(buffer), name, status)
    end function do_restart_file

    !> A number of any kind for C, which has no use for one out of its range.
    pure function clamped(number)
        integer(int64), intent(in) :: number
        integer(c_int) :: clamped

        clamped = int(max(-1_int64, min(number, int(huge(clamped), int64))), c_int)
    end function clamped

    function do_start_output(name, flags) result(status)
        character(len=*), intent(in) :: name
        integer(c_int), intent(in) :: flags
        integer(int32) :: status

        ! C must hear of a name that is too long, too, so that there is a failed phase.
        status = c_start_output(trim(name)//c_null_char, flags)
        if (fits(name)) return
        status = TOO_LONG
        needed = 0
    end function do_start_output

    function do_complete_restart(valid) result(status)
        integer(c_int), intent(in) :: valid
        integer(int32) :: status

        in_restart_loop = .false.
        status = c_complete_restart(valid)
    end function do_complete_restart

    !> Completes the restart that the last call has begun, if it has. Unless all processes could read
    !> it, begins the next: then more is true.
    subroutine next_restart(name, valid, more, status)
        character(len=*), intent(inout) :: name
        integer(c_int), intent(inout) :: valid
        logical, intent(out) :: more
        integer(int32), intent(out) :: status
        integer(c_int) :: have

        more = .false.
        if (in_restart_loop) then
            status = do_complete_restart(valid)
            if (status == SCR_SUCCESS) return
        end if
        valid = 0
        status = do_have_restart(have, name)
        if (status /= SCR_SUCCESS) return
        if (have == 0) then
            name = ""
            return
        end if
        status = do_start_restart()
        more = status == SCR_SUCCESS
        in_restart_loop = more
    end subroutine next_restart

    function do_current(name) result(status)
        character(len=*), intent(in) :: name
        integer(int32) :: status

        status = TOO_LONG
        if (fits(name)) status = c_current(trim(name)//c_null_char)
    end function do_current

    function do_drop(name) result(status)
        character(len=*), intent(in) :: name
        integer(int32) :: status

        status = TOO_LONG
        if (fits(name)) status = c_drop(trim(name)//c_null_char)
    end function do_drop

    function do_delete(name) result(status)
        character(len=*), intent(in) :: name
        integer(int32) :: status

        status = TOO_LONG
        if (fits(name)) status = c_delete(trim(name)//c_null_char)
    end function do_delete

    ! ---- Strings. ----

    !> Whether C has room for a name; takes note if not.
    function fits(name)
        character(len=*), intent(in) :: name
        logical :: fits

        needed = len_trim(name)
        given = SCR_MAX_FILENAME - 1
        fits = needed <= given
    end function fits

    !> The text before the first NUL.
    pure function text_of(buffer) result(text)
        character(kind=c_char), intent(in) :: buffer(:)
        character(len=:), allocatable :: text
        integer :: i, length

        length = findloc(buffer, c_null_char, dim=1) - 1
        if (length < 0) length = size(buffer)
        allocate (character(len=length) :: text)
        do i = 1, length
            text(i:i) = buffer(i)
        end do
    end function text_of

    !> Copies with blank padding, and takes note of what does not fit.
    subroutine pad(text, output, status)
        character(len=*), intent(in) :: text
        character(len=*), intent(out) :: output
        integer(int32), intent(inout) :: status

        output = text
        if (len(text) <= len(output)) return
        status = NO_ROOM
        needed = len(text)
        given = len(output)
    end subroutine pad

    !> As pad, from a string of C; NULL is an empty one.
    subroutine copy_out(string, output, status)
        type(c_ptr), intent(in) :: string
        character(len=*), intent(out) :: output
        integer(int32), intent(inout) :: status
        character(kind=c_char), pointer :: buffer(:)

        output = ""
        if (.not. c_associated(string)) return
        call c_f_pointer(string, buffer, [c_strlen(string)])
        call pad(text_of(buffer), output, status)
    end subroutine copy_out

    ! ---- Flags and errors. ----

    pure function int_of_i32(value) result(number)
        integer(int32), intent(in) :: value
        integer(c_int) :: number

        number = int(value, c_int)
    end function int_of_i32

    pure function int_of_i64(value) result(number)
        integer(int64), intent(in) :: value
        integer(c_int) :: number

        number = merge(1_c_int, 0_c_int, value /= 0)
        if (value == SCR_NOT_READ) number = SCR_NOT_READ
    end function int_of_i64

    pure function int_of_l32(value) result(number)
        logical(int32), intent(in) :: value
        integer(c_int) :: number

        number = merge(1_c_int, 0_c_int, value)
    end function int_of_l32

    pure function int_of_l64(value) result(number)
        logical(int64), intent(in) :: value
        integer(c_int) :: number

        number = merge(1_c_int, 0_c_int, value)
    end function int_of_l64

    subroutine set_flag_i32(flag, number)
        integer(int32), intent(out) :: flag
        integer(c_int), intent(in) :: number

        flag = number
    end subroutine set_flag_i32

    subroutine set_flag_i64(flag, number)
        integer(int64), intent(out) :: flag
        integer(c_int), intent(in) :: number

        flag = number
    end subroutine set_flag_i64

    subroutine set_flag_l32(flag, number)
        logical(int32), intent(out) :: flag
        integer(c_int), intent(in) :: number

        flag = number /= 0
    end subroutine set_flag_l32

    subroutine set_flag_l64(flag, number)
        logical(int64), intent(out) :: flag
        integer(c_int), intent(in) :: number

        flag = number /= 0
    end subroutine set_flag_l64

    !> Hands the status to the caller, or acts on it if the caller did not ask. C has reported what
    !> failed there.
    subroutine conclude_i32(call_name, status, severity, ierror)
        character(len=*), intent(in) :: call_name
        integer(int32), intent(in) :: status
        integer, intent(in) :: severity
        integer(int32), intent(out), optional :: ierror
        character(len=80) :: reason
        logical :: stops

        reason = ""
        if (status == NO_ROOM) write (reason, "(2(a,i0))") &
            "the text needs ", needed, " characters, and the variable for it has ", given
        if (status == TOO_LONG .and. needed > 0) write (reason, "(2(a,i0))") &
            "the name has ", needed, " characters, and the longest that is allowed ", given
        if (present(ierror)) then
            ierror = min(status, FAILURE)
            if (reason /= "") call c_report(call_name//c_null_char, trim(reason)//c_null_char)
            return
        end if
        ! While SCR is off no call succeeds, and none matters.
        stops = enabled .and. (status == TOO_LONG .or. status == FAILURE .and. severity == MUST_STOP)
        if (.not. stops .and. status /= NO_ROOM) return
        flush (output_unit)
        call c_stop(call_name//c_null_char, trim(reason)//c_null_char)
    end subroutine conclude_i32

    subroutine conclude_i64(call_name, status, severity, ierror)
        character(len=*), intent(in) :: call_name
        integer(int32), intent(in) :: status
        integer, intent(in) :: severity
        integer(int64), intent(out) :: ierror
        integer(int32) :: ierror_i32

        call conclude(call_name, status, severity, ierror_i32)
        ierror = ierror_i32
    end subroutine conclude_i64

    ! ---- The specific procedures, by kind of flag and of ierror. ----

    !> scr_route_file as a function: the path, of just the length it has. After a start that
    !> failed it is one that cannot be opened; there is nothing to stop for.
    function scr_routed(name) result(path)
        character(len=*), intent(in) :: name
        character(len=:), allocatable :: path
        integer(int32) :: status

        call route(name, path, status)
        if (index(path, NO_PATH) /= 1) call conclude("scr_routed", status, MUST_STOP)
    end function scr_routed

    subroutine init_i32(ierror)
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_init", do_init(), MUST_STOP, ierror)
    end subroutine init_i32

    subroutine finalize_i32(ierror)
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_finalize", c_finalize(), MAY_GO_ON, ierror)
    end subroutine finalize_i32

    subroutine start_checkpoint_i32(ierror)
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_start_checkpoint", c_start_checkpoint(), MAY_GO_ON, ierror)
    end subroutine start_checkpoint_i32

    subroutine config_i32(cfg, val, ierror)
        character(len=*), intent(in) :: cfg
        character(len=*), intent(out), optional :: val
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_config", do_config(cfg, val), MUST_STOP, ierror)
    end subroutine config_i32

    subroutine get_version_i32(version, ierror)
        character(len=*), intent(out) :: version
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_get_version", do_get_version(version), MUST_STOP, ierror)
    end subroutine get_version_i32

    subroutine route_file_i32(name, file, ierror)
        character(len=*), intent(in) :: name
        character(len=*), intent(out) :: file
        integer(int32), intent(out), optional :: ierror
        integer(int32) :: status

        status = do_route_file(name, file)
        if (.not. present(ierror) .and. index(file, NO_PATH) == 1) return
        call conclude("scr_route_file", status, MUST_STOP, ierror)
    end subroutine route_file_i32

    subroutine start_restart_i32(name, ierror)
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_start_restart", do_start_restart(name), MUST_STOP, ierror)
    end subroutine start_restart_i32

    subroutine current_i32(name, ierror)
        character(len=*), intent(in) :: name
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_current", do_current(name), MAY_GO_ON, ierror)
    end subroutine current_i32

    subroutine drop_i32(name, ierror)
        character(len=*), intent(in) :: name
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_drop", do_drop(name), MAY_GO_ON, ierror)
    end subroutine drop_i32

    subroutine delete_i32(name, ierror)
        character(len=*), intent(in) :: name
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_delete", do_delete(name), MAY_GO_ON, ierror)
    end subroutine delete_i32

    function next_restart_i32_i32(name, valid, ierror) result(more)
        character(len=*), intent(inout) :: name
        integer(int32), intent(inout) :: valid
        integer(int32), intent(out), optional :: ierror
        logical :: more
        integer(c_int) :: number
        integer(int32) :: status

        number = 0
        if (in_restart_loop) number = as_int(valid)
        call next_restart(name, number, more, status)
        call set_flag(valid, number)
        call conclude("scr_next_restart", status, MUST_STOP, ierror)
    end function next_restart_i32_i32

    subroutine have_restart_i32_i32(flag, name, ierror)
        integer(int32), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        call conclude("scr_have_restart", do_have_restart(number, name), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine have_restart_i32_i32

    subroutine need_checkpoint_i32_i32(flag, ierror)
        integer(int32), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_need_checkpoint", c_need_checkpoint(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine need_checkpoint_i32_i32

    subroutine should_exit_i32_i32(flag, ierror)
        integer(int32), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_should_exit", c_should_exit(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine should_exit_i32_i32

    subroutine complete_restart_i32_i32(valid, ierror)
        integer(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_restart", do_complete_restart(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_restart_i32_i32

    subroutine complete_checkpoint_i32_i32(valid, ierror)
        integer(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_checkpoint", c_complete_checkpoint(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_checkpoint_i32_i32

    subroutine complete_output_i32_i32(valid, ierror)
        integer(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_output", c_complete_output(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_output_i32_i32

    subroutine allow_other_ranks_i32_i32(allowed, ierror)
        integer(int32), intent(in) :: allowed
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_allow_other_ranks", c_allow_other_ranks(as_int(allowed)), &
            MAY_GO_ON, ierror)
    end subroutine allow_other_ranks_i32_i32

    function next_restart_i64_i32(name, valid, ierror) result(more)
        character(len=*), intent(inout) :: name
        integer(int64), intent(inout) :: valid
        integer(int32), intent(out), optional :: ierror
        logical :: more
        integer(c_int) :: number
        integer(int32) :: status

        number = 0
        if (in_restart_loop) number = as_int(valid)
        call next_restart(name, number, more, status)
        call set_flag(valid, number)
        call conclude("scr_next_restart", status, MUST_STOP, ierror)
    end function next_restart_i64_i32

    subroutine have_restart_i64_i32(flag, name, ierror)
        integer(int64), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        call conclude("scr_have_restart", do_have_restart(number, name), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine have_restart_i64_i32

    subroutine need_checkpoint_i64_i32(flag, ierror)
        integer(int64), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_need_checkpoint", c_need_checkpoint(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine need_checkpoint_i64_i32

    subroutine should_exit_i64_i32(flag, ierror)
        integer(int64), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_should_exit", c_should_exit(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine should_exit_i64_i32

    subroutine complete_restart_i64_i32(valid, ierror)
        integer(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_restart", do_complete_restart(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_restart_i64_i32

    subroutine complete_checkpoint_i64_i32(valid, ierror)
        integer(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_checkpoint", c_complete_checkpoint(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_checkpoint_i64_i32

    subroutine complete_output_i64_i32(valid, ierror)
        integer(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_output", c_complete_output(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_output_i64_i32

    subroutine allow_other_ranks_i64_i32(allowed, ierror)
        integer(int64), intent(in) :: allowed
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_allow_other_ranks", c_allow_other_ranks(as_int(allowed)), &
            MAY_GO_ON, ierror)
    end subroutine allow_other_ranks_i64_i32

    function next_restart_l32_i32(name, valid, ierror) result(more)
        character(len=*), intent(inout) :: name
        logical(int32), intent(inout) :: valid
        integer(int32), intent(out), optional :: ierror
        logical :: more
        integer(c_int) :: number
        integer(int32) :: status

        number = 0
        if (in_restart_loop) number = as_int(valid)
        call next_restart(name, number, more, status)
        call set_flag(valid, number)
        call conclude("scr_next_restart", status, MUST_STOP, ierror)
    end function next_restart_l32_i32

    subroutine have_restart_l32_i32(flag, name, ierror)
        logical(int32), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        call conclude("scr_have_restart", do_have_restart(number, name), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine have_restart_l32_i32

    subroutine need_checkpoint_l32_i32(flag, ierror)
        logical(int32), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_need_checkpoint", c_need_checkpoint(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine need_checkpoint_l32_i32

    subroutine should_exit_l32_i32(flag, ierror)
        logical(int32), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_should_exit", c_should_exit(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine should_exit_l32_i32

    subroutine complete_restart_l32_i32(valid, ierror)
        logical(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_restart", do_complete_restart(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_restart_l32_i32

    subroutine complete_checkpoint_l32_i32(valid, ierror)
        logical(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_checkpoint", c_complete_checkpoint(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_checkpoint_l32_i32

    subroutine complete_output_l32_i32(valid, ierror)
        logical(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_output", c_complete_output(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_output_l32_i32

    subroutine allow_other_ranks_l32_i32(allowed, ierror)
        logical(int32), intent(in) :: allowed
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_allow_other_ranks", c_allow_other_ranks(as_int(allowed)), &
            MAY_GO_ON, ierror)
    end subroutine allow_other_ranks_l32_i32

    function next_restart_l64_i32(name, valid, ierror) result(more)
        character(len=*), intent(inout) :: name
        logical(int64), intent(inout) :: valid
        integer(int32), intent(out), optional :: ierror
        logical :: more
        integer(c_int) :: number
        integer(int32) :: status

        number = 0
        if (in_restart_loop) number = as_int(valid)
        call next_restart(name, number, more, status)
        call set_flag(valid, number)
        call conclude("scr_next_restart", status, MUST_STOP, ierror)
    end function next_restart_l64_i32

    subroutine have_restart_l64_i32(flag, name, ierror)
        logical(int64), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        call conclude("scr_have_restart", do_have_restart(number, name), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine have_restart_l64_i32

    subroutine need_checkpoint_l64_i32(flag, ierror)
        logical(int64), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_need_checkpoint", c_need_checkpoint(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine need_checkpoint_l64_i32

    subroutine should_exit_l64_i32(flag, ierror)
        logical(int64), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_should_exit", c_should_exit(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine should_exit_l64_i32

    subroutine complete_restart_l64_i32(valid, ierror)
        logical(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_restart", do_complete_restart(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_restart_l64_i32

    subroutine complete_checkpoint_l64_i32(valid, ierror)
        logical(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_checkpoint", c_complete_checkpoint(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_checkpoint_l64_i32

    subroutine complete_output_l64_i32(valid, ierror)
        logical(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_complete_output", c_complete_output(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_output_l64_i32

    subroutine allow_other_ranks_l64_i32(allowed, ierror)
        logical(int64), intent(in) :: allowed
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_allow_other_ranks", c_allow_other_ranks(as_int(allowed)), &
            MAY_GO_ON, ierror)
    end subroutine allow_other_ranks_l64_i32

    subroutine start_output_i32_i32(name, flags, ierror)
        character(len=*), intent(in) :: name
        integer(int32), intent(in) :: flags
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_start_output", do_start_output(name, int(flags, c_int)), &
            MAY_GO_ON, ierror)
    end subroutine start_output_i32_i32

    subroutine restart_ranks_i32_i32(ranks, ierror)
        integer(int32), intent(out) :: ranks
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restart_ranks", c_restart_ranks(number), MUST_STOP, ierror)
        call set_flag(ranks, number)
    end subroutine restart_ranks_i32_i32

    subroutine restart_file_count_i32_i32(rank, count, ierror)
        integer(int32), intent(in) :: rank
        integer(int32), intent(out) :: count
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        call conclude("scr_restart_file_count", &
            do_restart_file_count(int(rank, int64), number), MUST_STOP, ierror)
        call set_flag(count, number)
    end subroutine restart_file_count_i32_i32

    subroutine restart_file_i32_i32(rank, index, name, ierror)
        integer(int32), intent(in) :: rank, index
        character(len=*), intent(out) :: name
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_restart_file", &
            do_restart_file(int(rank, int64), int(index, int64), name), MUST_STOP, ierror)
    end subroutine restart_file_i32_i32

    subroutine start_output_i64_i32(name, flags, ierror)
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: flags
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_start_output", do_start_output(name, int(flags, c_int)), &
            MAY_GO_ON, ierror)
    end subroutine start_output_i64_i32

    subroutine restart_ranks_i64_i32(ranks, ierror)
        integer(int64), intent(out) :: ranks
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restart_ranks", c_restart_ranks(number), MUST_STOP, ierror)
        call set_flag(ranks, number)
    end subroutine restart_ranks_i64_i32

    subroutine restart_file_count_i64_i32(rank, count, ierror)
        integer(int64), intent(in) :: rank
        integer(int64), intent(out) :: count
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        call conclude("scr_restart_file_count", &
            do_restart_file_count(int(rank, int64), number), MUST_STOP, ierror)
        call set_flag(count, number)
    end subroutine restart_file_count_i64_i32

    subroutine restart_file_i64_i32(rank, index, name, ierror)
        integer(int64), intent(in) :: rank, index
        character(len=*), intent(out) :: name
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_restart_file", &
            do_restart_file(int(rank, int64), int(index, int64), name), MUST_STOP, ierror)
    end subroutine restart_file_i64_i32

    subroutine init_i64(ierror)
        integer(int64), intent(out) :: ierror

        call conclude("scr_init", do_init(), MUST_STOP, ierror)
    end subroutine init_i64

    subroutine finalize_i64(ierror)
        integer(int64), intent(out) :: ierror

        call conclude("scr_finalize", c_finalize(), MAY_GO_ON, ierror)
    end subroutine finalize_i64

    subroutine start_checkpoint_i64(ierror)
        integer(int64), intent(out) :: ierror

        call conclude("scr_start_checkpoint", c_start_checkpoint(), MAY_GO_ON, ierror)
    end subroutine start_checkpoint_i64

    subroutine config_i64(cfg, val, ierror)
        character(len=*), intent(in) :: cfg
        character(len=*), intent(out), optional :: val
        integer(int64), intent(out) :: ierror

        call conclude("scr_config", do_config(cfg, val), MUST_STOP, ierror)
    end subroutine config_i64

    subroutine get_version_i64(version, ierror)
        character(len=*), intent(out) :: version
        integer(int64), intent(out) :: ierror

        call conclude("scr_get_version", do_get_version(version), MUST_STOP, ierror)
    end subroutine get_version_i64

    subroutine route_file_i64(name, file, ierror)
        character(len=*), intent(in) :: name
        character(len=*), intent(out) :: file
        integer(int64), intent(out) :: ierror
        integer(int32) :: status

        status = do_route_file(name, file)
        call conclude("scr_route_file", status, MUST_STOP, ierror)
    end subroutine route_file_i64

    subroutine start_restart_i64(name, ierror)
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror

        call conclude("scr_start_restart", do_start_restart(name), MUST_STOP, ierror)
    end subroutine start_restart_i64

    subroutine current_i64(name, ierror)
        character(len=*), intent(in) :: name
        integer(int64), intent(out) :: ierror

        call conclude("scr_current", do_current(name), MAY_GO_ON, ierror)
    end subroutine current_i64

    subroutine drop_i64(name, ierror)
        character(len=*), intent(in) :: name
        integer(int64), intent(out) :: ierror

        call conclude("scr_drop", do_drop(name), MAY_GO_ON, ierror)
    end subroutine drop_i64

    subroutine delete_i64(name, ierror)
        character(len=*), intent(in) :: name
        integer(int64), intent(out) :: ierror

        call conclude("scr_delete", do_delete(name), MAY_GO_ON, ierror)
    end subroutine delete_i64

    function next_restart_i32_i64(name, valid, ierror) result(more)
        character(len=*), intent(inout) :: name
        integer(int32), intent(inout) :: valid
        integer(int64), intent(out) :: ierror
        logical :: more
        integer(c_int) :: number
        integer(int32) :: status

        number = 0
        if (in_restart_loop) number = as_int(valid)
        call next_restart(name, number, more, status)
        call set_flag(valid, number)
        call conclude("scr_next_restart", status, MUST_STOP, ierror)
    end function next_restart_i32_i64

    subroutine have_restart_i32_i64(flag, name, ierror)
        integer(int32), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        call conclude("scr_have_restart", do_have_restart(number, name), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine have_restart_i32_i64

    subroutine need_checkpoint_i32_i64(flag, ierror)
        integer(int32), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_need_checkpoint", c_need_checkpoint(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine need_checkpoint_i32_i64

    subroutine should_exit_i32_i64(flag, ierror)
        integer(int32), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_should_exit", c_should_exit(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine should_exit_i32_i64

    subroutine complete_restart_i32_i64(valid, ierror)
        integer(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_restart", do_complete_restart(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_restart_i32_i64

    subroutine complete_checkpoint_i32_i64(valid, ierror)
        integer(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_checkpoint", c_complete_checkpoint(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_checkpoint_i32_i64

    subroutine complete_output_i32_i64(valid, ierror)
        integer(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_output", c_complete_output(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_output_i32_i64

    subroutine allow_other_ranks_i32_i64(allowed, ierror)
        integer(int32), intent(in) :: allowed
        integer(int64), intent(out) :: ierror

        call conclude("scr_allow_other_ranks", c_allow_other_ranks(as_int(allowed)), &
            MAY_GO_ON, ierror)
    end subroutine allow_other_ranks_i32_i64

    function next_restart_i64_i64(name, valid, ierror) result(more)
        character(len=*), intent(inout) :: name
        integer(int64), intent(inout) :: valid
        integer(int64), intent(out) :: ierror
        logical :: more
        integer(c_int) :: number
        integer(int32) :: status

        number = 0
        if (in_restart_loop) number = as_int(valid)
        call next_restart(name, number, more, status)
        call set_flag(valid, number)
        call conclude("scr_next_restart", status, MUST_STOP, ierror)
    end function next_restart_i64_i64

    subroutine have_restart_i64_i64(flag, name, ierror)
        integer(int64), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        call conclude("scr_have_restart", do_have_restart(number, name), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine have_restart_i64_i64

    subroutine need_checkpoint_i64_i64(flag, ierror)
        integer(int64), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_need_checkpoint", c_need_checkpoint(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine need_checkpoint_i64_i64

    subroutine should_exit_i64_i64(flag, ierror)
        integer(int64), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_should_exit", c_should_exit(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine should_exit_i64_i64

    subroutine complete_restart_i64_i64(valid, ierror)
        integer(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_restart", do_complete_restart(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_restart_i64_i64

    subroutine complete_checkpoint_i64_i64(valid, ierror)
        integer(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_checkpoint", c_complete_checkpoint(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_checkpoint_i64_i64

    subroutine complete_output_i64_i64(valid, ierror)
        integer(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_output", c_complete_output(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_output_i64_i64

    subroutine allow_other_ranks_i64_i64(allowed, ierror)
        integer(int64), intent(in) :: allowed
        integer(int64), intent(out) :: ierror

        call conclude("scr_allow_other_ranks", c_allow_other_ranks(as_int(allowed)), &
            MAY_GO_ON, ierror)
    end subroutine allow_other_ranks_i64_i64

    function next_restart_l32_i64(name, valid, ierror) result(more)
        character(len=*), intent(inout) :: name
        logical(int32), intent(inout) :: valid
        integer(int64), intent(out) :: ierror
        logical :: more
        integer(c_int) :: number
        integer(int32) :: status

        number = 0
        if (in_restart_loop) number = as_int(valid)
        call next_restart(name, number, more, status)
        call set_flag(valid, number)
        call conclude("scr_next_restart", status, MUST_STOP, ierror)
    end function next_restart_l32_i64

    subroutine have_restart_l32_i64(flag, name, ierror)
        logical(int32), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        call conclude("scr_have_restart", do_have_restart(number, name), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine have_restart_l32_i64

    subroutine need_checkpoint_l32_i64(flag, ierror)
        logical(int32), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_need_checkpoint", c_need_checkpoint(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine need_checkpoint_l32_i64

    subroutine should_exit_l32_i64(flag, ierror)
        logical(int32), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_should_exit", c_should_exit(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine should_exit_l32_i64

    subroutine complete_restart_l32_i64(valid, ierror)
        logical(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_restart", do_complete_restart(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_restart_l32_i64

    subroutine complete_checkpoint_l32_i64(valid, ierror)
        logical(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_checkpoint", c_complete_checkpoint(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_checkpoint_l32_i64

    subroutine complete_output_l32_i64(valid, ierror)
        logical(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_output", c_complete_output(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_output_l32_i64

    subroutine allow_other_ranks_l32_i64(allowed, ierror)
        logical(int32), intent(in) :: allowed
        integer(int64), intent(out) :: ierror

        call conclude("scr_allow_other_ranks", c_allow_other_ranks(as_int(allowed)), &
            MAY_GO_ON, ierror)
    end subroutine allow_other_ranks_l32_i64

    function next_restart_l64_i64(name, valid, ierror) result(more)
        character(len=*), intent(inout) :: name
        logical(int64), intent(inout) :: valid
        integer(int64), intent(out) :: ierror
        logical :: more
        integer(c_int) :: number
        integer(int32) :: status

        number = 0
        if (in_restart_loop) number = as_int(valid)
        call next_restart(name, number, more, status)
        call set_flag(valid, number)
        call conclude("scr_next_restart", status, MUST_STOP, ierror)
    end function next_restart_l64_i64

    subroutine have_restart_l64_i64(flag, name, ierror)
        logical(int64), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        call conclude("scr_have_restart", do_have_restart(number, name), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine have_restart_l64_i64

    subroutine need_checkpoint_l64_i64(flag, ierror)
        logical(int64), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_need_checkpoint", c_need_checkpoint(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine need_checkpoint_l64_i64

    subroutine should_exit_l64_i64(flag, ierror)
        logical(int64), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_should_exit", c_should_exit(number), MUST_STOP, ierror)
        call set_flag(flag, number)
    end subroutine should_exit_l64_i64

    subroutine complete_restart_l64_i64(valid, ierror)
        logical(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_restart", do_complete_restart(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_restart_l64_i64

    subroutine complete_checkpoint_l64_i64(valid, ierror)
        logical(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_checkpoint", c_complete_checkpoint(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_checkpoint_l64_i64

    subroutine complete_output_l64_i64(valid, ierror)
        logical(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror

        call conclude("scr_complete_output", c_complete_output(as_int(valid)), &
            MAY_GO_ON, ierror)
    end subroutine complete_output_l64_i64

    subroutine allow_other_ranks_l64_i64(allowed, ierror)
        logical(int64), intent(in) :: allowed
        integer(int64), intent(out) :: ierror

        call conclude("scr_allow_other_ranks", c_allow_other_ranks(as_int(allowed)), &
            MAY_GO_ON, ierror)
    end subroutine allow_other_ranks_l64_i64

    subroutine start_output_i32_i64(name, flags, ierror)
        character(len=*), intent(in) :: name
        integer(int32), intent(in) :: flags
        integer(int64), intent(out) :: ierror

        call conclude("scr_start_output", do_start_output(name, int(flags, c_int)), &
            MAY_GO_ON, ierror)
    end subroutine start_output_i32_i64

    subroutine restart_ranks_i32_i64(ranks, ierror)
        integer(int32), intent(out) :: ranks
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restart_ranks", c_restart_ranks(number), MUST_STOP, ierror)
        call set_flag(ranks, number)
    end subroutine restart_ranks_i32_i64

    subroutine restart_file_count_i32_i64(rank, count, ierror)
        integer(int32), intent(in) :: rank
        integer(int32), intent(out) :: count
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        call conclude("scr_restart_file_count", &
            do_restart_file_count(int(rank, int64), number), MUST_STOP, ierror)
        call set_flag(count, number)
    end subroutine restart_file_count_i32_i64

    subroutine restart_file_i32_i64(rank, index, name, ierror)
        integer(int32), intent(in) :: rank, index
        character(len=*), intent(out) :: name
        integer(int64), intent(out) :: ierror

        call conclude("scr_restart_file", &
            do_restart_file(int(rank, int64), int(index, int64), name), MUST_STOP, ierror)
    end subroutine restart_file_i32_i64

    subroutine start_output_i64_i64(name, flags, ierror)
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: flags
        integer(int64), intent(out) :: ierror

        call conclude("scr_start_output", do_start_output(name, int(flags, c_int)), &
            MAY_GO_ON, ierror)
    end subroutine start_output_i64_i64

    subroutine restart_ranks_i64_i64(ranks, ierror)
        integer(int64), intent(out) :: ranks
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restart_ranks", c_restart_ranks(number), MUST_STOP, ierror)
        call set_flag(ranks, number)
    end subroutine restart_ranks_i64_i64

    subroutine restart_file_count_i64_i64(rank, count, ierror)
        integer(int64), intent(in) :: rank
        integer(int64), intent(out) :: count
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        call conclude("scr_restart_file_count", &
            do_restart_file_count(int(rank, int64), number), MUST_STOP, ierror)
        call set_flag(count, number)
    end subroutine restart_file_count_i64_i64

    subroutine restart_file_i64_i64(rank, index, name, ierror)
        integer(int64), intent(in) :: rank, index
        character(len=*), intent(out) :: name
        integer(int64), intent(out) :: ierror

        call conclude("scr_restart_file", &
            do_restart_file(int(rank, int64), int(index, int64), name), MUST_STOP, ierror)
    end subroutine restart_file_i64_i64

end module scrf
