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
!> - scr_checkpoint and scr_restore take the program's routine that lists its state, and call it with an
!>   object of the type scr_state; see docs/fields.md.
!> - An object of the type scr_session has the same calls for processes of another communicator. Several
!>   sessions can be open at once.
!> - Names are of any declared length. Trailing blanks do not count; outputs are padded with
!>   blanks. Fewer than SCR_MAX_FILENAME characters can be given.
!>
!> This file needs nothing but the C library libscr, and no MPI module, so that it serves
!> codes that use mpif.h, mpi or mpi_f08. It may be compiled together with an application.
!>
!> SPDX-License-Identifier: MIT OR Apache-2.0
! Made from scrf.F90.jinja in the sources of SCR.

! Kinds that not every compiler has. A new compiler that has one can be told by -D.
#if defined(__GFC_INT_16__) || defined(__flang__)
#define SCRF_INTEGER_16
#endif
#if defined(__GFC_INT_16__)
#define SCRF_LOGICAL_16
#endif
#if defined(__GFC_REAL_10__) || (defined(__flang__) && defined(__x86_64__))
#define SCRF_REAL_10
#endif
! Later versions of flang have it if they were built so.
#if defined(__GFC_REAL_16__) || defined(__INTEL_COMPILER) || (defined(__flang__) && __flang_major__ < 20)
#define SCRF_REAL_16
#endif

module scrf
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_funloc, c_funptr, &
        c_int, c_int64_t, c_intptr_t, c_loc, c_null_char, c_null_funptr, c_null_ptr, c_ptr, c_size_t
    use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, output_unit, real32, real64
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
    public :: scr_checkpoint, scr_checkpoint_if_needed, scr_restore, scr_list, scr_owner
    public :: scr_repair

    integer(int32), parameter, public :: SCR_SUCCESS = 0
    !> Characters in a name, with the terminating NUL of C.
    integer(int32), parameter, public :: SCR_MAX_FILENAME = 1024
    !> Flags of scr_start_output, to be added.
    integer(int32), parameter, public :: SCR_FLAG_NONE = 0
    integer(int32), parameter, public :: SCR_FLAG_CHECKPOINT = 1
    integer(int32), parameter, public :: SCR_FLAG_OUTPUT = 2
    !> For scr_complete_restart: this process could not read the checkpoint, which may be good.
    integer(int32), parameter, public :: SCR_NOT_READ = 5456722

    !> The values of scr_state%pass: the reason for which the routine that lists the state is
    !> called.
    integer(int32), parameter, public :: SCR_PASS_WRITE = 32
    integer(int32), parameter, public :: SCR_PASS_COMPARE = 33
    integer(int32), parameter, public :: SCR_PASS_READ = 34

    !> The directions of the function of scr_state%copy: from the field, and to it.
    integer(int32), parameter, public :: SCR_COPY_OUT = 80
    integer(int32), parameter, public :: SCR_COPY_IN = 81

    !> Status of a call inside of this module: as C tells it; an output does not fit; a name is too
    !> long. The caller gets 1 for each.
    integer(int32), parameter :: FAILURE = 1, NO_ROOM = 2, TOO_LONG = 3

    !> The reaction to a failure if the caller did not ask for ierror.
    integer, parameter :: MAY_GO_ON = 1, MUST_STOP = 2

    !> Numbers of sessions, as in scr_session.h.
    integer(c_int), parameter :: SESSION_OF_WORLD = 0, NO_SESSION = -1

    !> The beginning of all paths from SCR after a start that failed.
    character(len=*), parameter :: NO_PATH = "/dev/null/"

    !> False after scr_init found SCR switched off: then every call fails, and no failure matters.
    logical, save :: enabled = .true.

    !> The last scr_next_restart has begun a restart, which the next one completes.
    logical, save :: in_restart_loop = .false.

    !> With NO_ROOM and TOO_LONG: the length of the text, and the room for it. 0 if C has reported it.
    integer, save :: needed = 0, given = 0

    !> The list of a program's state, in the routine that lists it. Each call writes a field, compares it
    !> with the checkpoint, or reads it. The result need not be looked at: after an error all later calls
    !> fail as well, and so does the checkpoint, or the restart. All calls are local, and with the same
    !> names, types and ranks of arrays in the same order on all processes.
    !>
    !> A program can extend the type: its components are the state, and its own procedure list lists them.
    type, public :: scr_state
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        !> s%list(): lists the state; for a type that extends this one.
        procedure :: list => list_nothing
        !> s%fail(reason): makes the checkpoint, or the restart, fail.
        procedure :: fail
        !> s%end_list(): ends the list that was begun last.
        procedure :: end_list
        !> s%gone(name): the program no longer has this field, and a checkpoint may have it.
        procedure :: gone
        !> s%stored_ranks(): a function; how many processes wrote the checkpoint that is read? 0 if the
        !> state is written.
        procedure :: stored_ranks
        !> s%pass(): a function; SCR_PASS_WRITE, SCR_PASS_COMPARE or SCR_PASS_READ.
        procedure :: pass
        !> s%file(name): a function; the path at which to write or read a file of this process in the same
        !> dataset, in SCR_PASS_WRITE and SCR_PASS_READ. After s%from_rank it is that of an old process.
        procedure :: file => state_file
        !> s%copy(function, context): the memory of the next field is copied by this function of the program, as C's
        !> SCR_Copy describes: c_funloc of a function with bind(C), and a c_ptr for it, which may be left out.
        procedure :: copy => copy_by
        procedure, private :: stream_i32, stream_i64, stream_pointer
        !> s%stream(handle): the stream of a device that has the program's last work on the following fields: a number
        !> (CUDA Fortran's cuda_stream_kind) or a type(c_ptr). Only that stream is waited for. 0 waits for all work
        !> again; 1 is the default stream, and 2 that of each thread.
        generic :: stream => stream_i32, stream_i64, stream_pointer
        procedure, private :: count_i32, bag_i32, begin_list_i32, from_rank_i32, stored_i32
        procedure, private :: index_i32_i32, index_i32_i64
        procedure, private :: count_i64, bag_i64, begin_list_i64, from_rank_i64, stored_i64
        procedure, private :: index_i64_i32, index_i64_i64
        !> s%count(name, number, missing): a number on which the rest of the list depends. When the state
        !> is read it becomes what was written, already in SCR_PASS_COMPARE.
        generic :: count => count_i32, count_i64
        !> s%bag(name, number, key, owner): elements without an index, such as particles, for the fields that follow
        !> with this name as their index. When the state is read, number becomes how many this process gets, already in
        !> SCR_PASS_COMPARE: on as many processes those that it wrote, on another number an equal share; with the name
        !> of a field as key, in its order, or those that the routine owner gives it (see scr_owner).
        generic :: bag => bag_i32, bag_i64
        !> s%begin_list(name, index): the names of fields get this one and a slash before them, until
        !> s%end_list; with an index "name(index)/", for an array of derived types.
        generic :: begin_list => begin_list_i32, begin_list_i64
        !> s%from_rank(rank): the next field is that of this process of the run that wrote the checkpoint.
        generic :: from_rank => from_rank_i32, from_rank_i64
        !> s%stored(name, extents, whole, at): extents of a field in the checkpoint that is read, so that the
        !> program can allocate it. They are not allocated if the checkpoint has no such field, or if the
        !> state is written. whole and at are optional. at is the place of the first element, from 1 on; 0 in
        !> the dimension of the indices if the field goes by index, as its elements have no one place.
        generic :: stored => stored_i32, stored_i64
        !> s%index(name, indices, whole, first, copies): element i of this process is element indices(i) of a whole with
        !> so many elements, which are counted from first on, else from 1. For the fields that follow, with this
        !> name as their index. When the state is written, all processes together list each index once; with
        !> copies="equal" several may list it, and the checkpoint fails if their elements differ. When it is read, the
        !> indices are those of the elements that this process has now, in any order.
        generic :: index => index_i32_i32, index_i32_i64, index_i64_i32, index_i64_i64

        procedure, private :: field_i8_0_i32, field_i8_1_i32, field_i8_2_i32, field_i8_3_i32
        procedure, private :: field_i8_4_i32, field_i8_5_i32, field_i8_6_i32, field_i8_7_i32

        procedure, private :: field_i8_1_i64, field_i8_2_i64, field_i8_3_i64, field_i8_4_i64
        procedure, private :: field_i8_5_i64, field_i8_6_i64, field_i8_7_i64

        procedure, private :: same_i8_0, same_i8_1, same_i8_2, same_i8_3
        procedure, private :: same_i8_4, same_i8_5, same_i8_6, same_i8_7

        procedure, private :: array_i8_1, array_i8_2, array_i8_3, array_i8_4
        procedure, private :: array_i8_5, array_i8_6, array_i8_7

        !> s%field(name, data, whole, at, missing, kind, index, where): data is of any type, kind and rank up to 7.
        !> With whole and at it is this process's part of an array of all processes, of these extents, and
        !> begins at this index, counted from 1. With index its last dimension has the elements of the index list
        !> or the bag of this name, see s%index and s%bag. Without them it is this process's own. missing="keep":
        !> data stays as it is if the checkpoint does not have the field. kind="convert": another kind is converted
        !> if nothing can be lost. data may be in memory of a device, as in a block of host_data use_device(data) or
        !> target data use_device_addr(data), or with the attribute device. where="device" is an error if it is not;
        !> where="host" is one if the processor does not reach it.
        generic :: field => field_i8_0_i32, field_i8_1_i32, field_i8_2_i32, field_i8_3_i32
        generic :: field => field_i8_4_i32, field_i8_5_i32, field_i8_6_i32, field_i8_7_i32

        generic :: field => field_i8_1_i64, field_i8_2_i64, field_i8_3_i64, field_i8_4_i64
        generic :: field => field_i8_5_i64, field_i8_6_i64, field_i8_7_i64

        !> s%same(name, data, missing, kind, where): the same on all processes.
        generic :: same => same_i8_0, same_i8_1, same_i8_2, same_i8_3
        generic :: same => same_i8_4, same_i8_5, same_i8_6, same_i8_7

        !> s%array(name, data, missing, kind, ranks, where): an allocatable array, this process's own, or with
        !> ranks="same" the same on all. When the state is read it gets the extents that it had.
        generic :: array => array_i8_1, array_i8_2, array_i8_3, array_i8_4
        generic :: array => array_i8_5, array_i8_6, array_i8_7



        procedure, private :: field_i16_0_i32, field_i16_1_i32, field_i16_2_i32, field_i16_3_i32
        procedure, private :: field_i16_4_i32, field_i16_5_i32, field_i16_6_i32, field_i16_7_i32

        procedure, private :: field_i16_1_i64, field_i16_2_i64, field_i16_3_i64, field_i16_4_i64
        procedure, private :: field_i16_5_i64, field_i16_6_i64, field_i16_7_i64

        procedure, private :: same_i16_0, same_i16_1, same_i16_2, same_i16_3
        procedure, private :: same_i16_4, same_i16_5, same_i16_6, same_i16_7

        procedure, private :: array_i16_1, array_i16_2, array_i16_3, array_i16_4
        procedure, private :: array_i16_5, array_i16_6, array_i16_7

        generic :: field => field_i16_0_i32, field_i16_1_i32, field_i16_2_i32, field_i16_3_i32
        generic :: field => field_i16_4_i32, field_i16_5_i32, field_i16_6_i32, field_i16_7_i32

        generic :: field => field_i16_1_i64, field_i16_2_i64, field_i16_3_i64, field_i16_4_i64
        generic :: field => field_i16_5_i64, field_i16_6_i64, field_i16_7_i64

        generic :: same => same_i16_0, same_i16_1, same_i16_2, same_i16_3
        generic :: same => same_i16_4, same_i16_5, same_i16_6, same_i16_7

        generic :: array => array_i16_1, array_i16_2, array_i16_3, array_i16_4
        generic :: array => array_i16_5, array_i16_6, array_i16_7



        procedure, private :: field_i32_0_i32, field_i32_1_i32, field_i32_2_i32, field_i32_3_i32
        procedure, private :: field_i32_4_i32, field_i32_5_i32, field_i32_6_i32, field_i32_7_i32

        procedure, private :: field_i32_1_i64, field_i32_2_i64, field_i32_3_i64, field_i32_4_i64
        procedure, private :: field_i32_5_i64, field_i32_6_i64, field_i32_7_i64

        procedure, private :: same_i32_0, same_i32_1, same_i32_2, same_i32_3
        procedure, private :: same_i32_4, same_i32_5, same_i32_6, same_i32_7

        procedure, private :: array_i32_1, array_i32_2, array_i32_3, array_i32_4
        procedure, private :: array_i32_5, array_i32_6, array_i32_7

        generic :: field => field_i32_0_i32, field_i32_1_i32, field_i32_2_i32, field_i32_3_i32
        generic :: field => field_i32_4_i32, field_i32_5_i32, field_i32_6_i32, field_i32_7_i32

        generic :: field => field_i32_1_i64, field_i32_2_i64, field_i32_3_i64, field_i32_4_i64
        generic :: field => field_i32_5_i64, field_i32_6_i64, field_i32_7_i64

        generic :: same => same_i32_0, same_i32_1, same_i32_2, same_i32_3
        generic :: same => same_i32_4, same_i32_5, same_i32_6, same_i32_7

        generic :: array => array_i32_1, array_i32_2, array_i32_3, array_i32_4
        generic :: array => array_i32_5, array_i32_6, array_i32_7



        procedure, private :: field_i64_0_i32, field_i64_1_i32, field_i64_2_i32, field_i64_3_i32
        procedure, private :: field_i64_4_i32, field_i64_5_i32, field_i64_6_i32, field_i64_7_i32

        procedure, private :: field_i64_1_i64, field_i64_2_i64, field_i64_3_i64, field_i64_4_i64
        procedure, private :: field_i64_5_i64, field_i64_6_i64, field_i64_7_i64

        procedure, private :: same_i64_0, same_i64_1, same_i64_2, same_i64_3
        procedure, private :: same_i64_4, same_i64_5, same_i64_6, same_i64_7

        procedure, private :: array_i64_1, array_i64_2, array_i64_3, array_i64_4
        procedure, private :: array_i64_5, array_i64_6, array_i64_7

        generic :: field => field_i64_0_i32, field_i64_1_i32, field_i64_2_i32, field_i64_3_i32
        generic :: field => field_i64_4_i32, field_i64_5_i32, field_i64_6_i32, field_i64_7_i32

        generic :: field => field_i64_1_i64, field_i64_2_i64, field_i64_3_i64, field_i64_4_i64
        generic :: field => field_i64_5_i64, field_i64_6_i64, field_i64_7_i64

        generic :: same => same_i64_0, same_i64_1, same_i64_2, same_i64_3
        generic :: same => same_i64_4, same_i64_5, same_i64_6, same_i64_7

        generic :: array => array_i64_1, array_i64_2, array_i64_3, array_i64_4
        generic :: array => array_i64_5, array_i64_6, array_i64_7


#ifdef SCRF_INTEGER_16

        procedure, private :: field_i128_0_i32, field_i128_1_i32, field_i128_2_i32, field_i128_3_i32
        procedure, private :: field_i128_4_i32, field_i128_5_i32, field_i128_6_i32, field_i128_7_i32

        procedure, private :: field_i128_1_i64, field_i128_2_i64, field_i128_3_i64, field_i128_4_i64
        procedure, private :: field_i128_5_i64, field_i128_6_i64, field_i128_7_i64

        procedure, private :: same_i128_0, same_i128_1, same_i128_2, same_i128_3
        procedure, private :: same_i128_4, same_i128_5, same_i128_6, same_i128_7

        procedure, private :: array_i128_1, array_i128_2, array_i128_3, array_i128_4
        procedure, private :: array_i128_5, array_i128_6, array_i128_7

        generic :: field => field_i128_0_i32, field_i128_1_i32, field_i128_2_i32, field_i128_3_i32
        generic :: field => field_i128_4_i32, field_i128_5_i32, field_i128_6_i32, field_i128_7_i32

        generic :: field => field_i128_1_i64, field_i128_2_i64, field_i128_3_i64, field_i128_4_i64
        generic :: field => field_i128_5_i64, field_i128_6_i64, field_i128_7_i64

        generic :: same => same_i128_0, same_i128_1, same_i128_2, same_i128_3
        generic :: same => same_i128_4, same_i128_5, same_i128_6, same_i128_7

        generic :: array => array_i128_1, array_i128_2, array_i128_3, array_i128_4
        generic :: array => array_i128_5, array_i128_6, array_i128_7

#endif


        procedure, private :: field_r32_0_i32, field_r32_1_i32, field_r32_2_i32, field_r32_3_i32
        procedure, private :: field_r32_4_i32, field_r32_5_i32, field_r32_6_i32, field_r32_7_i32

        procedure, private :: field_r32_1_i64, field_r32_2_i64, field_r32_3_i64, field_r32_4_i64
        procedure, private :: field_r32_5_i64, field_r32_6_i64, field_r32_7_i64

        procedure, private :: same_r32_0, same_r32_1, same_r32_2, same_r32_3
        procedure, private :: same_r32_4, same_r32_5, same_r32_6, same_r32_7

        procedure, private :: array_r32_1, array_r32_2, array_r32_3, array_r32_4
        procedure, private :: array_r32_5, array_r32_6, array_r32_7

        generic :: field => field_r32_0_i32, field_r32_1_i32, field_r32_2_i32, field_r32_3_i32
        generic :: field => field_r32_4_i32, field_r32_5_i32, field_r32_6_i32, field_r32_7_i32

        generic :: field => field_r32_1_i64, field_r32_2_i64, field_r32_3_i64, field_r32_4_i64
        generic :: field => field_r32_5_i64, field_r32_6_i64, field_r32_7_i64

        generic :: same => same_r32_0, same_r32_1, same_r32_2, same_r32_3
        generic :: same => same_r32_4, same_r32_5, same_r32_6, same_r32_7

        generic :: array => array_r32_1, array_r32_2, array_r32_3, array_r32_4
        generic :: array => array_r32_5, array_r32_6, array_r32_7



        procedure, private :: field_r64_0_i32, field_r64_1_i32, field_r64_2_i32, field_r64_3_i32
        procedure, private :: field_r64_4_i32, field_r64_5_i32, field_r64_6_i32, field_r64_7_i32

        procedure, private :: field_r64_1_i64, field_r64_2_i64, field_r64_3_i64, field_r64_4_i64
        procedure, private :: field_r64_5_i64, field_r64_6_i64, field_r64_7_i64

        procedure, private :: same_r64_0, same_r64_1, same_r64_2, same_r64_3
        procedure, private :: same_r64_4, same_r64_5, same_r64_6, same_r64_7

        procedure, private :: array_r64_1, array_r64_2, array_r64_3, array_r64_4
        procedure, private :: array_r64_5, array_r64_6, array_r64_7

        generic :: field => field_r64_0_i32, field_r64_1_i32, field_r64_2_i32, field_r64_3_i32
        generic :: field => field_r64_4_i32, field_r64_5_i32, field_r64_6_i32, field_r64_7_i32

        generic :: field => field_r64_1_i64, field_r64_2_i64, field_r64_3_i64, field_r64_4_i64
        generic :: field => field_r64_5_i64, field_r64_6_i64, field_r64_7_i64

        generic :: same => same_r64_0, same_r64_1, same_r64_2, same_r64_3
        generic :: same => same_r64_4, same_r64_5, same_r64_6, same_r64_7

        generic :: array => array_r64_1, array_r64_2, array_r64_3, array_r64_4
        generic :: array => array_r64_5, array_r64_6, array_r64_7


#ifdef SCRF_REAL_10

        procedure, private :: field_r80_0_i32, field_r80_1_i32, field_r80_2_i32, field_r80_3_i32
        procedure, private :: field_r80_4_i32, field_r80_5_i32, field_r80_6_i32, field_r80_7_i32

        procedure, private :: field_r80_1_i64, field_r80_2_i64, field_r80_3_i64, field_r80_4_i64
        procedure, private :: field_r80_5_i64, field_r80_6_i64, field_r80_7_i64

        procedure, private :: same_r80_0, same_r80_1, same_r80_2, same_r80_3
        procedure, private :: same_r80_4, same_r80_5, same_r80_6, same_r80_7

        procedure, private :: array_r80_1, array_r80_2, array_r80_3, array_r80_4
        procedure, private :: array_r80_5, array_r80_6, array_r80_7

        generic :: field => field_r80_0_i32, field_r80_1_i32, field_r80_2_i32, field_r80_3_i32
        generic :: field => field_r80_4_i32, field_r80_5_i32, field_r80_6_i32, field_r80_7_i32

        generic :: field => field_r80_1_i64, field_r80_2_i64, field_r80_3_i64, field_r80_4_i64
        generic :: field => field_r80_5_i64, field_r80_6_i64, field_r80_7_i64

        generic :: same => same_r80_0, same_r80_1, same_r80_2, same_r80_3
        generic :: same => same_r80_4, same_r80_5, same_r80_6, same_r80_7

        generic :: array => array_r80_1, array_r80_2, array_r80_3, array_r80_4
        generic :: array => array_r80_5, array_r80_6, array_r80_7

#endif

#ifdef SCRF_REAL_16

        procedure, private :: field_r128_0_i32, field_r128_1_i32, field_r128_2_i32, field_r128_3_i32
        procedure, private :: field_r128_4_i32, field_r128_5_i32, field_r128_6_i32, field_r128_7_i32

        procedure, private :: field_r128_1_i64, field_r128_2_i64, field_r128_3_i64, field_r128_4_i64
        procedure, private :: field_r128_5_i64, field_r128_6_i64, field_r128_7_i64

        procedure, private :: same_r128_0, same_r128_1, same_r128_2, same_r128_3
        procedure, private :: same_r128_4, same_r128_5, same_r128_6, same_r128_7

        procedure, private :: array_r128_1, array_r128_2, array_r128_3, array_r128_4
        procedure, private :: array_r128_5, array_r128_6, array_r128_7

        generic :: field => field_r128_0_i32, field_r128_1_i32, field_r128_2_i32, field_r128_3_i32
        generic :: field => field_r128_4_i32, field_r128_5_i32, field_r128_6_i32, field_r128_7_i32

        generic :: field => field_r128_1_i64, field_r128_2_i64, field_r128_3_i64, field_r128_4_i64
        generic :: field => field_r128_5_i64, field_r128_6_i64, field_r128_7_i64

        generic :: same => same_r128_0, same_r128_1, same_r128_2, same_r128_3
        generic :: same => same_r128_4, same_r128_5, same_r128_6, same_r128_7

        generic :: array => array_r128_1, array_r128_2, array_r128_3, array_r128_4
        generic :: array => array_r128_5, array_r128_6, array_r128_7

#endif


        procedure, private :: field_c32_0_i32, field_c32_1_i32, field_c32_2_i32, field_c32_3_i32
        procedure, private :: field_c32_4_i32, field_c32_5_i32, field_c32_6_i32, field_c32_7_i32

        procedure, private :: field_c32_1_i64, field_c32_2_i64, field_c32_3_i64, field_c32_4_i64
        procedure, private :: field_c32_5_i64, field_c32_6_i64, field_c32_7_i64

        procedure, private :: same_c32_0, same_c32_1, same_c32_2, same_c32_3
        procedure, private :: same_c32_4, same_c32_5, same_c32_6, same_c32_7

        procedure, private :: array_c32_1, array_c32_2, array_c32_3, array_c32_4
        procedure, private :: array_c32_5, array_c32_6, array_c32_7

        generic :: field => field_c32_0_i32, field_c32_1_i32, field_c32_2_i32, field_c32_3_i32
        generic :: field => field_c32_4_i32, field_c32_5_i32, field_c32_6_i32, field_c32_7_i32

        generic :: field => field_c32_1_i64, field_c32_2_i64, field_c32_3_i64, field_c32_4_i64
        generic :: field => field_c32_5_i64, field_c32_6_i64, field_c32_7_i64

        generic :: same => same_c32_0, same_c32_1, same_c32_2, same_c32_3
        generic :: same => same_c32_4, same_c32_5, same_c32_6, same_c32_7

        generic :: array => array_c32_1, array_c32_2, array_c32_3, array_c32_4
        generic :: array => array_c32_5, array_c32_6, array_c32_7



        procedure, private :: field_c64_0_i32, field_c64_1_i32, field_c64_2_i32, field_c64_3_i32
        procedure, private :: field_c64_4_i32, field_c64_5_i32, field_c64_6_i32, field_c64_7_i32

        procedure, private :: field_c64_1_i64, field_c64_2_i64, field_c64_3_i64, field_c64_4_i64
        procedure, private :: field_c64_5_i64, field_c64_6_i64, field_c64_7_i64

        procedure, private :: same_c64_0, same_c64_1, same_c64_2, same_c64_3
        procedure, private :: same_c64_4, same_c64_5, same_c64_6, same_c64_7

        procedure, private :: array_c64_1, array_c64_2, array_c64_3, array_c64_4
        procedure, private :: array_c64_5, array_c64_6, array_c64_7

        generic :: field => field_c64_0_i32, field_c64_1_i32, field_c64_2_i32, field_c64_3_i32
        generic :: field => field_c64_4_i32, field_c64_5_i32, field_c64_6_i32, field_c64_7_i32

        generic :: field => field_c64_1_i64, field_c64_2_i64, field_c64_3_i64, field_c64_4_i64
        generic :: field => field_c64_5_i64, field_c64_6_i64, field_c64_7_i64

        generic :: same => same_c64_0, same_c64_1, same_c64_2, same_c64_3
        generic :: same => same_c64_4, same_c64_5, same_c64_6, same_c64_7

        generic :: array => array_c64_1, array_c64_2, array_c64_3, array_c64_4
        generic :: array => array_c64_5, array_c64_6, array_c64_7


#ifdef SCRF_REAL_10

        procedure, private :: field_c80_0_i32, field_c80_1_i32, field_c80_2_i32, field_c80_3_i32
        procedure, private :: field_c80_4_i32, field_c80_5_i32, field_c80_6_i32, field_c80_7_i32

        procedure, private :: field_c80_1_i64, field_c80_2_i64, field_c80_3_i64, field_c80_4_i64
        procedure, private :: field_c80_5_i64, field_c80_6_i64, field_c80_7_i64

        procedure, private :: same_c80_0, same_c80_1, same_c80_2, same_c80_3
        procedure, private :: same_c80_4, same_c80_5, same_c80_6, same_c80_7

        procedure, private :: array_c80_1, array_c80_2, array_c80_3, array_c80_4
        procedure, private :: array_c80_5, array_c80_6, array_c80_7

        generic :: field => field_c80_0_i32, field_c80_1_i32, field_c80_2_i32, field_c80_3_i32
        generic :: field => field_c80_4_i32, field_c80_5_i32, field_c80_6_i32, field_c80_7_i32

        generic :: field => field_c80_1_i64, field_c80_2_i64, field_c80_3_i64, field_c80_4_i64
        generic :: field => field_c80_5_i64, field_c80_6_i64, field_c80_7_i64

        generic :: same => same_c80_0, same_c80_1, same_c80_2, same_c80_3
        generic :: same => same_c80_4, same_c80_5, same_c80_6, same_c80_7

        generic :: array => array_c80_1, array_c80_2, array_c80_3, array_c80_4
        generic :: array => array_c80_5, array_c80_6, array_c80_7

#endif

#ifdef SCRF_REAL_16

        procedure, private :: field_c128_0_i32, field_c128_1_i32, field_c128_2_i32, field_c128_3_i32
        procedure, private :: field_c128_4_i32, field_c128_5_i32, field_c128_6_i32, field_c128_7_i32

        procedure, private :: field_c128_1_i64, field_c128_2_i64, field_c128_3_i64, field_c128_4_i64
        procedure, private :: field_c128_5_i64, field_c128_6_i64, field_c128_7_i64

        procedure, private :: same_c128_0, same_c128_1, same_c128_2, same_c128_3
        procedure, private :: same_c128_4, same_c128_5, same_c128_6, same_c128_7

        procedure, private :: array_c128_1, array_c128_2, array_c128_3, array_c128_4
        procedure, private :: array_c128_5, array_c128_6, array_c128_7

        generic :: field => field_c128_0_i32, field_c128_1_i32, field_c128_2_i32, field_c128_3_i32
        generic :: field => field_c128_4_i32, field_c128_5_i32, field_c128_6_i32, field_c128_7_i32

        generic :: field => field_c128_1_i64, field_c128_2_i64, field_c128_3_i64, field_c128_4_i64
        generic :: field => field_c128_5_i64, field_c128_6_i64, field_c128_7_i64

        generic :: same => same_c128_0, same_c128_1, same_c128_2, same_c128_3
        generic :: same => same_c128_4, same_c128_5, same_c128_6, same_c128_7

        generic :: array => array_c128_1, array_c128_2, array_c128_3, array_c128_4
        generic :: array => array_c128_5, array_c128_6, array_c128_7

#endif


        procedure, private :: field_l8_0_i32, field_l8_1_i32, field_l8_2_i32, field_l8_3_i32
        procedure, private :: field_l8_4_i32, field_l8_5_i32, field_l8_6_i32, field_l8_7_i32

        procedure, private :: field_l8_1_i64, field_l8_2_i64, field_l8_3_i64, field_l8_4_i64
        procedure, private :: field_l8_5_i64, field_l8_6_i64, field_l8_7_i64

        procedure, private :: same_l8_0, same_l8_1, same_l8_2, same_l8_3
        procedure, private :: same_l8_4, same_l8_5, same_l8_6, same_l8_7

        procedure, private :: array_l8_1, array_l8_2, array_l8_3, array_l8_4
        procedure, private :: array_l8_5, array_l8_6, array_l8_7

        generic :: field => field_l8_0_i32, field_l8_1_i32, field_l8_2_i32, field_l8_3_i32
        generic :: field => field_l8_4_i32, field_l8_5_i32, field_l8_6_i32, field_l8_7_i32

        generic :: field => field_l8_1_i64, field_l8_2_i64, field_l8_3_i64, field_l8_4_i64
        generic :: field => field_l8_5_i64, field_l8_6_i64, field_l8_7_i64

        generic :: same => same_l8_0, same_l8_1, same_l8_2, same_l8_3
        generic :: same => same_l8_4, same_l8_5, same_l8_6, same_l8_7

        generic :: array => array_l8_1, array_l8_2, array_l8_3, array_l8_4
        generic :: array => array_l8_5, array_l8_6, array_l8_7



        procedure, private :: field_l16_0_i32, field_l16_1_i32, field_l16_2_i32, field_l16_3_i32
        procedure, private :: field_l16_4_i32, field_l16_5_i32, field_l16_6_i32, field_l16_7_i32

        procedure, private :: field_l16_1_i64, field_l16_2_i64, field_l16_3_i64, field_l16_4_i64
        procedure, private :: field_l16_5_i64, field_l16_6_i64, field_l16_7_i64

        procedure, private :: same_l16_0, same_l16_1, same_l16_2, same_l16_3
        procedure, private :: same_l16_4, same_l16_5, same_l16_6, same_l16_7

        procedure, private :: array_l16_1, array_l16_2, array_l16_3, array_l16_4
        procedure, private :: array_l16_5, array_l16_6, array_l16_7

        generic :: field => field_l16_0_i32, field_l16_1_i32, field_l16_2_i32, field_l16_3_i32
        generic :: field => field_l16_4_i32, field_l16_5_i32, field_l16_6_i32, field_l16_7_i32

        generic :: field => field_l16_1_i64, field_l16_2_i64, field_l16_3_i64, field_l16_4_i64
        generic :: field => field_l16_5_i64, field_l16_6_i64, field_l16_7_i64

        generic :: same => same_l16_0, same_l16_1, same_l16_2, same_l16_3
        generic :: same => same_l16_4, same_l16_5, same_l16_6, same_l16_7

        generic :: array => array_l16_1, array_l16_2, array_l16_3, array_l16_4
        generic :: array => array_l16_5, array_l16_6, array_l16_7



        procedure, private :: field_l32_0_i32, field_l32_1_i32, field_l32_2_i32, field_l32_3_i32
        procedure, private :: field_l32_4_i32, field_l32_5_i32, field_l32_6_i32, field_l32_7_i32

        procedure, private :: field_l32_1_i64, field_l32_2_i64, field_l32_3_i64, field_l32_4_i64
        procedure, private :: field_l32_5_i64, field_l32_6_i64, field_l32_7_i64

        procedure, private :: same_l32_0, same_l32_1, same_l32_2, same_l32_3
        procedure, private :: same_l32_4, same_l32_5, same_l32_6, same_l32_7

        procedure, private :: array_l32_1, array_l32_2, array_l32_3, array_l32_4
        procedure, private :: array_l32_5, array_l32_6, array_l32_7

        generic :: field => field_l32_0_i32, field_l32_1_i32, field_l32_2_i32, field_l32_3_i32
        generic :: field => field_l32_4_i32, field_l32_5_i32, field_l32_6_i32, field_l32_7_i32

        generic :: field => field_l32_1_i64, field_l32_2_i64, field_l32_3_i64, field_l32_4_i64
        generic :: field => field_l32_5_i64, field_l32_6_i64, field_l32_7_i64

        generic :: same => same_l32_0, same_l32_1, same_l32_2, same_l32_3
        generic :: same => same_l32_4, same_l32_5, same_l32_6, same_l32_7

        generic :: array => array_l32_1, array_l32_2, array_l32_3, array_l32_4
        generic :: array => array_l32_5, array_l32_6, array_l32_7



        procedure, private :: field_l64_0_i32, field_l64_1_i32, field_l64_2_i32, field_l64_3_i32
        procedure, private :: field_l64_4_i32, field_l64_5_i32, field_l64_6_i32, field_l64_7_i32

        procedure, private :: field_l64_1_i64, field_l64_2_i64, field_l64_3_i64, field_l64_4_i64
        procedure, private :: field_l64_5_i64, field_l64_6_i64, field_l64_7_i64

        procedure, private :: same_l64_0, same_l64_1, same_l64_2, same_l64_3
        procedure, private :: same_l64_4, same_l64_5, same_l64_6, same_l64_7

        procedure, private :: array_l64_1, array_l64_2, array_l64_3, array_l64_4
        procedure, private :: array_l64_5, array_l64_6, array_l64_7

        generic :: field => field_l64_0_i32, field_l64_1_i32, field_l64_2_i32, field_l64_3_i32
        generic :: field => field_l64_4_i32, field_l64_5_i32, field_l64_6_i32, field_l64_7_i32

        generic :: field => field_l64_1_i64, field_l64_2_i64, field_l64_3_i64, field_l64_4_i64
        generic :: field => field_l64_5_i64, field_l64_6_i64, field_l64_7_i64

        generic :: same => same_l64_0, same_l64_1, same_l64_2, same_l64_3
        generic :: same => same_l64_4, same_l64_5, same_l64_6, same_l64_7

        generic :: array => array_l64_1, array_l64_2, array_l64_3, array_l64_4
        generic :: array => array_l64_5, array_l64_6, array_l64_7


#ifdef SCRF_LOGICAL_16

        procedure, private :: field_l128_0_i32, field_l128_1_i32, field_l128_2_i32, field_l128_3_i32
        procedure, private :: field_l128_4_i32, field_l128_5_i32, field_l128_6_i32, field_l128_7_i32

        procedure, private :: field_l128_1_i64, field_l128_2_i64, field_l128_3_i64, field_l128_4_i64
        procedure, private :: field_l128_5_i64, field_l128_6_i64, field_l128_7_i64

        procedure, private :: same_l128_0, same_l128_1, same_l128_2, same_l128_3
        procedure, private :: same_l128_4, same_l128_5, same_l128_6, same_l128_7

        procedure, private :: array_l128_1, array_l128_2, array_l128_3, array_l128_4
        procedure, private :: array_l128_5, array_l128_6, array_l128_7

        generic :: field => field_l128_0_i32, field_l128_1_i32, field_l128_2_i32, field_l128_3_i32
        generic :: field => field_l128_4_i32, field_l128_5_i32, field_l128_6_i32, field_l128_7_i32

        generic :: field => field_l128_1_i64, field_l128_2_i64, field_l128_3_i64, field_l128_4_i64
        generic :: field => field_l128_5_i64, field_l128_6_i64, field_l128_7_i64

        generic :: same => same_l128_0, same_l128_1, same_l128_2, same_l128_3
        generic :: same => same_l128_4, same_l128_5, same_l128_6, same_l128_7

        generic :: array => array_l128_1, array_l128_2, array_l128_3, array_l128_4
        generic :: array => array_l128_5, array_l128_6, array_l128_7

#endif


        procedure, private :: field_text_0_i32, field_text_1_i32, field_text_2_i32, field_text_3_i32
        procedure, private :: field_text_4_i32, field_text_5_i32, field_text_6_i32, field_text_7_i32

        procedure, private :: field_text_1_i64, field_text_2_i64, field_text_3_i64, field_text_4_i64
        procedure, private :: field_text_5_i64, field_text_6_i64, field_text_7_i64

        procedure, private :: same_text_0, same_text_1, same_text_2, same_text_3
        procedure, private :: same_text_4, same_text_5, same_text_6, same_text_7

        procedure, private :: array_text_1, array_text_2, array_text_3, array_text_4
        procedure, private :: array_text_5, array_text_6, array_text_7

        generic :: field => field_text_0_i32, field_text_1_i32, field_text_2_i32, field_text_3_i32
        generic :: field => field_text_4_i32, field_text_5_i32, field_text_6_i32, field_text_7_i32

        generic :: field => field_text_1_i64, field_text_2_i64, field_text_3_i64, field_text_4_i64
        generic :: field => field_text_5_i64, field_text_6_i64, field_text_7_i64

        generic :: same => same_text_0, same_text_1, same_text_2, same_text_3
        generic :: same => same_text_4, same_text_5, same_text_6, same_text_7

        generic :: array => array_text_1, array_text_2, array_text_3, array_text_4
        generic :: array => array_text_5, array_text_6, array_text_7


    end type scr_state

    abstract interface
        !> scr_list(s): the routine of a program that lists its state.
        subroutine scr_list(s)
            import :: scr_state
            implicit none
            class(scr_state), intent(inout) :: s
        end subroutine scr_list
    end interface

    abstract interface
        !> scr_owner(keys, ranks): tells which processes get elements of a bag, from their keys.
        subroutine scr_owner(keys, ranks)
            import :: int32, int64
            implicit none
            integer(int64), intent(in) :: keys(:)
            integer(int32), intent(inout) :: ranks(:)
        end subroutine scr_owner
    end interface

    !> The list that C calls: the routine of a program, or the procedure of an object.
    type :: listing
        procedure(scr_list), pointer, nopass :: routine => null()
        class(scr_state), pointer :: state => null()
    end type listing

    type(listing), save :: running

    !> The routine that tells owners, while C asks for them.
    procedure(scr_owner), pointer, save :: owners => null()

    !> The place of a field's elements.
    type :: field_memory
        integer(c_int) :: kind = 0, rank = 0
        integer(int64) :: extents(7) = 0
        !> Addresses: of the first element, and of the last one in each dimension.
        integer(c_intptr_t) :: places(0:7) = 0
    end type field_memory

    !> The classes of elements, as in SCR_Type; the bytes of one element are added.
    integer(c_int), parameter :: WHOLE_NUMBER = 16777216, REAL_NUMBER = 50331648, &
        COMPLEX_NUMBER = 67108864, TRUTH = 83886080, TEXT = 100663296, EXTENDED_REAL = 134217728, &
        EXTENDED_COMPLEX = 150994944

    !> The owner of a field.
    integer, parameter :: OWN = 1, SAME_ON_ALL = 2, PART = 3

    !> An address for arrays that are not allocated yet, which C does not read.
    integer(c_int), save, target :: nowhere = 0

    !> For SCR_Next_field and SCR_Order.
    integer(c_int), parameter :: KEEP_IF_MISSING = 1, CONVERT = 2, SHARED = 4, ON_DEVICE = 8, &
        COLUMN_MAJOR = 17, ON_HOST = 64

    interface put
        module procedure :: put_i32, put_i64
    end interface put

    interface memory_of
        module procedure :: memory_of_0, memory_of_1, memory_of_2, memory_of_3
        module procedure :: memory_of_4, memory_of_5, memory_of_6, memory_of_7
    end interface memory_of

    !> A session: SCR for the processes of a communicator, as the calls without a session are for those of
    !> MPI_COMM_WORLD. It has its own prefix directory, cache, state and parameters, and several can be open
    !> at once, on communicators that overlap. Each call does what the call scr_... of its name does;
    !> collective means: over the processes of the session.
    type, public :: scr_session
        private
        integer(c_int) :: number = NO_SESSION
        !> As the variables of the module are for the session of MPI_COMM_WORLD.
        logical :: enabled = .true., in_restart_loop = .false.
    contains
        !> scr_session%routed(name): a function; the path at which to access a file.
        procedure :: routed => session_routed
        procedure, private :: session_free_i32, session_free_i64
        !> scr_session%free(ierror): ends it, after finalize.
        generic :: free => session_free_i32, session_free_i64
        procedure, private :: session_create_i32_i32, session_create_i32_i64
        procedure, private :: session_repair_i32_i32, session_repair_i32_i64
        !> scr_session%create(comm, name, ierror): makes a session over the processes of comm, each of which
        !> calls it with the same name: letters, digits, -, _ and ., at most 64. The prefix directory is
        !> SCR_PREFIX/name unless a parameter says otherwise; init starts the session. comm is an integer; with
        !> mpi_f08 it is comm%MPI_VAL. It can be freed afterwards.
        generic :: create => session_create_i32_i32, session_create_i32_i64
        !> scr_session%repair(comm, ierror): goes on after processes have failed, with those of comm: the
        !> survivors, and others that take the places of lost ones and call create. Then have_restart offers
        !> the newest checkpoint.
        generic :: repair => session_repair_i32_i32, session_repair_i32_i64
        procedure, private :: session_create_i64_i32, session_create_i64_i64
        procedure, private :: session_repair_i64_i32, session_repair_i64_i64
        generic :: create => session_create_i64_i32, session_create_i64_i64
        generic :: repair => session_repair_i64_i32, session_repair_i64_i64
        procedure, private :: session_next_restart_i32_i32, session_next_restart_i32_i64
        !> scr_session%next_restart(name, valid, ierror): a function for a loop over the checkpoints.
        generic :: next_restart => session_next_restart_i32_i32, session_next_restart_i32_i64
        procedure, private :: session_next_restart_i64_i32, session_next_restart_i64_i64
        generic :: next_restart => session_next_restart_i64_i32, session_next_restart_i64_i64
        procedure, private :: session_next_restart_l32_i32, session_next_restart_l32_i64
        generic :: next_restart => session_next_restart_l32_i32, session_next_restart_l32_i64
        procedure, private :: session_next_restart_l64_i32, session_next_restart_l64_i64
        generic :: next_restart => session_next_restart_l64_i32, session_next_restart_l64_i64
        procedure, private :: session_init_i32, session_init_i64
        !> scr_session%init(ierror): starts the session.
        generic :: init => session_init_i32, session_init_i64
        procedure, private :: session_finalize_i32, session_finalize_i64
        !> scr_session%finalize(ierror): stops it; its newest checkpoint is in the prefix directory then.
        generic :: finalize => session_finalize_i32, session_finalize_i64
        procedure, private :: session_config_i32, session_config_i64
        !> scr_session%config(cfg, val, ierror): sets, unsets or queries a parameter of the session.
        generic :: config => session_config_i32, session_config_i64
        procedure, private :: session_route_file_i32, session_route_file_i64
        !> scr_session%route_file(name, file, ierror): the path at which to access a file.
        generic :: route_file => session_route_file_i32, session_route_file_i64
        procedure, private :: session_allow_other_ranks_i32_i32, session_allow_other_ranks_i32_i64
        !> scr_session%allow_other_ranks(allowed, ierror): can it restart on another number of processes?
        generic :: allow_other_ranks => session_allow_other_ranks_i32_i32, session_allow_other_ranks_i32_i64
        procedure, private :: session_allow_other_ranks_i64_i32, session_allow_other_ranks_i64_i64
        generic :: allow_other_ranks => session_allow_other_ranks_i64_i32, session_allow_other_ranks_i64_i64
        procedure, private :: session_allow_other_ranks_l32_i32, session_allow_other_ranks_l32_i64
        generic :: allow_other_ranks => session_allow_other_ranks_l32_i32, session_allow_other_ranks_l32_i64
        procedure, private :: session_allow_other_ranks_l64_i32, session_allow_other_ranks_l64_i64
        generic :: allow_other_ranks => session_allow_other_ranks_l64_i32, session_allow_other_ranks_l64_i64
        procedure, private :: session_have_restart_i32_i32, session_have_restart_i32_i64
        !> scr_session%have_restart(flag, name, ierror): is there a checkpoint to read?
        generic :: have_restart => session_have_restart_i32_i32, session_have_restart_i32_i64
        procedure, private :: session_have_restart_i64_i32, session_have_restart_i64_i64
        generic :: have_restart => session_have_restart_i64_i32, session_have_restart_i64_i64
        procedure, private :: session_have_restart_l32_i32, session_have_restart_l32_i64
        generic :: have_restart => session_have_restart_l32_i32, session_have_restart_l32_i64
        procedure, private :: session_have_restart_l64_i32, session_have_restart_l64_i64
        generic :: have_restart => session_have_restart_l64_i32, session_have_restart_l64_i64
        procedure, private :: session_start_restart_i32, session_start_restart_i64
        !> scr_session%start_restart(name, ierror): begins to read it.
        generic :: start_restart => session_start_restart_i32, session_start_restart_i64
        procedure, private :: session_restart_ranks_i32_i32, session_restart_ranks_i32_i64
        !> scr_session%restart_ranks(ranks, ierror): how many processes wrote it?
        generic :: restart_ranks => session_restart_ranks_i32_i32, session_restart_ranks_i32_i64
        procedure, private :: session_restart_ranks_i64_i32, session_restart_ranks_i64_i64
        generic :: restart_ranks => session_restart_ranks_i64_i32, session_restart_ranks_i64_i64
        procedure, private :: session_restart_file_count_i32_i32, session_restart_file_count_i32_i64
        !> scr_session%restart_file_count(rank, count, ierror): how many files did one of them write?
        generic :: restart_file_count => session_restart_file_count_i32_i32, session_restart_file_count_i32_i64
        procedure, private :: session_restart_file_count_i64_i32, session_restart_file_count_i64_i64
        generic :: restart_file_count => session_restart_file_count_i64_i32, session_restart_file_count_i64_i64
        procedure, private :: session_restart_file_i32_i32, session_restart_file_i32_i64
        !> scr_session%restart_file(rank, index, name, ierror): the path of one of these.
        generic :: restart_file => session_restart_file_i32_i32, session_restart_file_i32_i64
        procedure, private :: session_restart_file_i64_i32, session_restart_file_i64_i64
        generic :: restart_file => session_restart_file_i64_i32, session_restart_file_i64_i64
        procedure, private :: session_complete_restart_i32_i32, session_complete_restart_i32_i64
        !> scr_session%complete_restart(valid, ierror): ends the restart.
        generic :: complete_restart => session_complete_restart_i32_i32, session_complete_restart_i32_i64
        procedure, private :: session_complete_restart_i64_i32, session_complete_restart_i64_i64
        generic :: complete_restart => session_complete_restart_i64_i32, session_complete_restart_i64_i64
        procedure, private :: session_complete_restart_l32_i32, session_complete_restart_l32_i64
        generic :: complete_restart => session_complete_restart_l32_i32, session_complete_restart_l32_i64
        procedure, private :: session_complete_restart_l64_i32, session_complete_restart_l64_i64
        generic :: complete_restart => session_complete_restart_l64_i32, session_complete_restart_l64_i64
        procedure, private :: session_need_checkpoint_i32_i32, session_need_checkpoint_i32_i64
        !> scr_session%need_checkpoint(flag, ierror): is it time for a checkpoint?
        generic :: need_checkpoint => session_need_checkpoint_i32_i32, session_need_checkpoint_i32_i64
        procedure, private :: session_need_checkpoint_i64_i32, session_need_checkpoint_i64_i64
        generic :: need_checkpoint => session_need_checkpoint_i64_i32, session_need_checkpoint_i64_i64
        procedure, private :: session_need_checkpoint_l32_i32, session_need_checkpoint_l32_i64
        generic :: need_checkpoint => session_need_checkpoint_l32_i32, session_need_checkpoint_l32_i64
        procedure, private :: session_need_checkpoint_l64_i32, session_need_checkpoint_l64_i64
        generic :: need_checkpoint => session_need_checkpoint_l64_i32, session_need_checkpoint_l64_i64
        procedure, private :: session_start_checkpoint_i32, session_start_checkpoint_i64
        !> scr_session%start_checkpoint(ierror): begins a checkpoint without a name.
        generic :: start_checkpoint => session_start_checkpoint_i32, session_start_checkpoint_i64
        procedure, private :: session_complete_checkpoint_i32_i32, session_complete_checkpoint_i32_i64
        !> scr_session%complete_checkpoint(valid, ierror): ends it.
        generic :: complete_checkpoint => session_complete_checkpoint_i32_i32, session_complete_checkpoint_i32_i64
        procedure, private :: session_complete_checkpoint_i64_i32, session_complete_checkpoint_i64_i64
        generic :: complete_checkpoint => session_complete_checkpoint_i64_i32, session_complete_checkpoint_i64_i64
        procedure, private :: session_complete_checkpoint_l32_i32, session_complete_checkpoint_l32_i64
        generic :: complete_checkpoint => session_complete_checkpoint_l32_i32, session_complete_checkpoint_l32_i64
        procedure, private :: session_complete_checkpoint_l64_i32, session_complete_checkpoint_l64_i64
        generic :: complete_checkpoint => session_complete_checkpoint_l64_i32, session_complete_checkpoint_l64_i64
        procedure, private :: session_start_output_i32_i32, session_start_output_i32_i64
        !> scr_session%start_output(name, flags, ierror): begins a dataset.
        generic :: start_output => session_start_output_i32_i32, session_start_output_i32_i64
        procedure, private :: session_start_output_i64_i32, session_start_output_i64_i64
        generic :: start_output => session_start_output_i64_i32, session_start_output_i64_i64
        procedure, private :: session_complete_output_i32_i32, session_complete_output_i32_i64
        !> scr_session%complete_output(valid, ierror): ends it.
        generic :: complete_output => session_complete_output_i32_i32, session_complete_output_i32_i64
        procedure, private :: session_complete_output_i64_i32, session_complete_output_i64_i64
        generic :: complete_output => session_complete_output_i64_i32, session_complete_output_i64_i64
        procedure, private :: session_complete_output_l32_i32, session_complete_output_l32_i64
        generic :: complete_output => session_complete_output_l32_i32, session_complete_output_l32_i64
        procedure, private :: session_complete_output_l64_i32, session_complete_output_l64_i64
        generic :: complete_output => session_complete_output_l64_i32, session_complete_output_l64_i64
        procedure, private :: session_should_exit_i32_i32, session_should_exit_i32_i64
        !> scr_session%should_exit(flag, ierror): should the program stop?
        generic :: should_exit => session_should_exit_i32_i32, session_should_exit_i32_i64
        procedure, private :: session_should_exit_i64_i32, session_should_exit_i64_i64
        generic :: should_exit => session_should_exit_i64_i32, session_should_exit_i64_i64
        procedure, private :: session_should_exit_l32_i32, session_should_exit_l32_i64
        generic :: should_exit => session_should_exit_l32_i32, session_should_exit_l32_i64
        procedure, private :: session_should_exit_l64_i32, session_should_exit_l64_i64
        generic :: should_exit => session_should_exit_l64_i32, session_should_exit_l64_i64
        procedure, private :: session_current_i32, session_current_i64
        !> scr_session%current(name, ierror): makes a checkpoint the one to restart from.
        generic :: current => session_current_i32, session_current_i64
        procedure, private :: session_drop_i32, session_drop_i64
        !> scr_session%drop(name, ierror): removes a dataset from the index, but no file.
        generic :: drop => session_drop_i32, session_drop_i64
        procedure, private :: session_delete_i32, session_delete_i64
        !> scr_session%delete(name, ierror): removes a dataset with its files.
        generic :: delete => session_delete_i32, session_delete_i64
        !> scr_session%checkpoint(state, name, output, ierror): writes a checkpoint of the state.
        generic :: checkpoint => &
            session_checkpoint_routine_l32_i32, session_checkpoint_routine_l32_i64, &
            session_checkpoint_routine_l64_i32, session_checkpoint_routine_l64_i64, &
            session_checkpoint_object_l32_i32, session_checkpoint_object_l32_i64, &
            session_checkpoint_object_l64_i32, session_checkpoint_object_l64_i64
        procedure, private :: session_checkpoint_routine_l32_i32
        procedure, private :: session_checkpoint_routine_l32_i64
        procedure, private :: session_checkpoint_routine_l64_i32
        procedure, private :: session_checkpoint_routine_l64_i64
        procedure, private :: session_checkpoint_object_l32_i32
        procedure, private :: session_checkpoint_object_l32_i64
        procedure, private :: session_checkpoint_object_l64_i32
        procedure, private :: session_checkpoint_object_l64_i64
        !> scr_session%checkpoint_if_needed(state, stop_now, ierror): writes one if it is time for it.
        generic :: checkpoint_if_needed => &
            session_checkpoint_if_needed_routine_i32_i32, session_checkpoint_if_needed_routine_i32_i64, &
            session_checkpoint_if_needed_routine_i64_i32, session_checkpoint_if_needed_routine_i64_i64, &
            session_checkpoint_if_needed_routine_l32_i32, session_checkpoint_if_needed_routine_l32_i64, &
            session_checkpoint_if_needed_routine_l64_i32, session_checkpoint_if_needed_routine_l64_i64, &
            session_checkpoint_if_needed_object_i32_i32, session_checkpoint_if_needed_object_i32_i64, &
            session_checkpoint_if_needed_object_i64_i32, session_checkpoint_if_needed_object_i64_i64, &
            session_checkpoint_if_needed_object_l32_i32, session_checkpoint_if_needed_object_l32_i64, &
            session_checkpoint_if_needed_object_l64_i32, session_checkpoint_if_needed_object_l64_i64
        procedure, private :: session_checkpoint_if_needed_routine_i32_i32
        procedure, private :: session_checkpoint_if_needed_routine_i32_i64
        procedure, private :: session_checkpoint_if_needed_routine_i64_i32
        procedure, private :: session_checkpoint_if_needed_routine_i64_i64
        procedure, private :: session_checkpoint_if_needed_routine_l32_i32
        procedure, private :: session_checkpoint_if_needed_routine_l32_i64
        procedure, private :: session_checkpoint_if_needed_routine_l64_i32
        procedure, private :: session_checkpoint_if_needed_routine_l64_i64
        procedure, private :: session_checkpoint_if_needed_object_i32_i32
        procedure, private :: session_checkpoint_if_needed_object_i32_i64
        procedure, private :: session_checkpoint_if_needed_object_i64_i32
        procedure, private :: session_checkpoint_if_needed_object_i64_i64
        procedure, private :: session_checkpoint_if_needed_object_l32_i32
        procedure, private :: session_checkpoint_if_needed_object_l32_i64
        procedure, private :: session_checkpoint_if_needed_object_l64_i32
        procedure, private :: session_checkpoint_if_needed_object_l64_i64
        !> scr_session%restore(state, found, ierror): restores the state from the newest checkpoint.
        generic :: restore => &
            session_restore_routine_i32_i32, session_restore_routine_i32_i64, &
            session_restore_routine_i64_i32, session_restore_routine_i64_i64, &
            session_restore_routine_l32_i32, session_restore_routine_l32_i64, &
            session_restore_routine_l64_i32, session_restore_routine_l64_i64, &
            session_restore_object_i32_i32, session_restore_object_i32_i64, &
            session_restore_object_i64_i32, session_restore_object_i64_i64, &
            session_restore_object_l32_i32, session_restore_object_l32_i64, &
            session_restore_object_l64_i32, session_restore_object_l64_i64
        procedure, private :: session_restore_routine_i32_i32
        procedure, private :: session_restore_routine_i32_i64
        procedure, private :: session_restore_routine_i64_i32
        procedure, private :: session_restore_routine_i64_i64
        procedure, private :: session_restore_routine_l32_i32
        procedure, private :: session_restore_routine_l32_i64
        procedure, private :: session_restore_routine_l64_i32
        procedure, private :: session_restore_routine_l64_i64
        procedure, private :: session_restore_object_i32_i32
        procedure, private :: session_restore_object_i32_i64
        procedure, private :: session_restore_object_i64_i32
        procedure, private :: session_restore_object_i64_i64
        procedure, private :: session_restore_object_l32_i32
        procedure, private :: session_restore_object_l32_i64
        procedure, private :: session_restore_object_l64_i32
        procedure, private :: session_restore_object_l64_i64
    end type scr_session

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

    !> scr_restart_file_count(rank, count, ierror): how many files did process rank write for it?
    !> The first is rank 0.
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

    !> scr_checkpoint(state, name, output, ierror): writes a checkpoint of the state. A state is a routine
    !> as scr_list, or an object of a type that extends scr_state. name and output are optional: output is
    !> true if the checkpoint must be saved in the prefix directory.
    interface scr_checkpoint
        module procedure :: checkpoint_routine_l32_i32, checkpoint_routine_l32_i64
        module procedure :: checkpoint_routine_l64_i32, checkpoint_routine_l64_i64
        module procedure :: checkpoint_object_l32_i32, checkpoint_object_l32_i64
        module procedure :: checkpoint_object_l64_i32, checkpoint_object_l64_i64
    end interface scr_checkpoint

    !> scr_checkpoint_if_needed(state, stop_now, ierror): writes one if it is time for it; should the
    !> program stop?
    interface scr_checkpoint_if_needed
        module procedure :: checkpoint_if_needed_routine_i32_i32
        module procedure :: checkpoint_if_needed_routine_i32_i64
        module procedure :: checkpoint_if_needed_routine_i64_i32
        module procedure :: checkpoint_if_needed_routine_i64_i64
        module procedure :: checkpoint_if_needed_routine_l32_i32
        module procedure :: checkpoint_if_needed_routine_l32_i64
        module procedure :: checkpoint_if_needed_routine_l64_i32
        module procedure :: checkpoint_if_needed_routine_l64_i64
        module procedure :: checkpoint_if_needed_object_i32_i32
        module procedure :: checkpoint_if_needed_object_i32_i64
        module procedure :: checkpoint_if_needed_object_i64_i32
        module procedure :: checkpoint_if_needed_object_i64_i64
        module procedure :: checkpoint_if_needed_object_l32_i32
        module procedure :: checkpoint_if_needed_object_l32_i64
        module procedure :: checkpoint_if_needed_object_l64_i32
        module procedure :: checkpoint_if_needed_object_l64_i64
    end interface scr_checkpoint_if_needed

    !> scr_restore(state, found, ierror): restores the state from the newest checkpoint that is whole and has
    !> its fields. found is false if there is no checkpoint.
    interface scr_restore
        module procedure :: restore_routine_i32_i32, restore_routine_i32_i64
        module procedure :: restore_routine_i64_i32, restore_routine_i64_i64
        module procedure :: restore_routine_l32_i32, restore_routine_l32_i64
        module procedure :: restore_routine_l64_i32, restore_routine_l64_i64
        module procedure :: restore_object_i32_i32, restore_object_i32_i64
        module procedure :: restore_object_i64_i32, restore_object_i64_i64
        module procedure :: restore_object_l32_i32, restore_object_l32_i64
        module procedure :: restore_object_l64_i32, restore_object_l64_i64
    end interface scr_restore

    !> scr_repair(comm, ierror): goes on with the session of MPI_COMM_WORLD after processes have failed; see
    !> scr_session%repair. New processes call it, too.
    interface scr_repair
        module procedure :: repair_i32_i32, repair_i32_i64
        module procedure :: repair_i64_i32, repair_i64_i64
    end interface scr_repair

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
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int) :: status
        end function c_init

        function c_finalize() &
            bind(C, name="SCR_Finalize") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int) :: status
        end function c_finalize

        function c_start_checkpoint() &
            bind(C, name="SCR_Start_checkpoint") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int) :: status
        end function c_start_checkpoint

        function c_start_output(name, flags) &
            bind(C, name="SCR_Start_output") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int), value, intent(in) :: flags
            integer(c_int) :: status
        end function c_start_output

        function c_route_file(name, file) &
            bind(C, name="SCR_Route_file") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            character(kind=c_char), dimension(*), intent(inout) :: file
            integer(c_int) :: status
        end function c_route_file

        function c_complete_output(valid) &
            bind(C, name="SCR_Complete_output") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), value, intent(in) :: valid
            integer(c_int) :: status
        end function c_complete_output

        function c_complete_checkpoint(valid) &
            bind(C, name="SCR_Complete_checkpoint") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), value, intent(in) :: valid
            integer(c_int) :: status
        end function c_complete_checkpoint

        function c_have_restart(flag, name) &
            bind(C, name="SCR_Have_restart") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), intent(inout) :: flag
            character(kind=c_char), dimension(*), intent(inout) :: name
            integer(c_int) :: status
        end function c_have_restart

        function c_start_restart(name) &
            bind(C, name="SCR_Start_restart") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            character(kind=c_char), dimension(*), intent(inout) :: name
            integer(c_int) :: status
        end function c_start_restart

        function c_complete_restart(valid) &
            bind(C, name="SCR_Complete_restart") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), value, intent(in) :: valid
            integer(c_int) :: status
        end function c_complete_restart

        function c_allow_other_ranks(allowed) &
            bind(C, name="SCR_Allow_other_ranks") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), value, intent(in) :: allowed
            integer(c_int) :: status
        end function c_allow_other_ranks

        function c_restart_ranks(ranks) &
            bind(C, name="SCR_Restart_ranks") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), intent(inout) :: ranks
            integer(c_int) :: status
        end function c_restart_ranks

        function c_restart_file_count(rank, count) &
            bind(C, name="SCR_Restart_file_count") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), value, intent(in) :: rank
            integer(c_int), intent(inout) :: count
            integer(c_int) :: status
        end function c_restart_file_count

        function c_restart_file(rank, index, name) &
            bind(C, name="SCR_Restart_file") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), value, intent(in) :: rank
            integer(c_int), value, intent(in) :: index
            character(kind=c_char), dimension(*), intent(inout) :: name
            integer(c_int) :: status
        end function c_restart_file

        function c_need_checkpoint(flag) &
            bind(C, name="SCR_Need_checkpoint") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), intent(inout) :: flag
            integer(c_int) :: status
        end function c_need_checkpoint

        function c_should_exit(flag) &
            bind(C, name="SCR_Should_exit") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            integer(c_int), intent(inout) :: flag
            integer(c_int) :: status
        end function c_should_exit

        function c_current(name) &
            bind(C, name="SCR_Current") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int) :: status
        end function c_current

        function c_drop(name) &
            bind(C, name="SCR_Drop") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int) :: status
        end function c_drop

        function c_delete(name) &
            bind(C, name="SCR_Delete") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int) :: status
        end function c_delete

        function c_checkpoint(name, flags, list, context) &
            bind(C, name="SCR_Checkpoint") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int), value, intent(in) :: flags
            type(c_funptr), value, intent(in) :: list
            type(c_ptr), value, intent(in) :: context
            integer(c_int) :: status
        end function c_checkpoint

        function c_checkpoint_if_needed(list, context, stop_now) &
            bind(C, name="SCR_Checkpoint_if_needed") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_funptr), value, intent(in) :: list
            type(c_ptr), value, intent(in) :: context
            integer(c_int), intent(inout) :: stop_now
            integer(c_int) :: status
        end function c_checkpoint_if_needed

        function c_restore(list, context, found) &
            bind(C, name="SCR_Restore") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_funptr), value, intent(in) :: list
            type(c_ptr), value, intent(in) :: context
            integer(c_int), intent(inout) :: found
            integer(c_int) :: status
        end function c_restore

        function c_field(state, name, data, kind, rank, extents, strides, whole, at) &
            bind(C, name="SCR_Field") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            type(c_ptr), value, intent(in) :: data
            integer(c_int), value, intent(in) :: kind
            integer(c_int), value, intent(in) :: rank
            integer(c_int64_t), dimension(*), intent(in) :: extents
            type(c_ptr), value, intent(in) :: strides
            type(c_ptr), value, intent(in) :: whole
            type(c_ptr), value, intent(in) :: at
            integer(c_int) :: status
        end function c_field

        function c_index(state, name, indices, kind, count, first, whole) &
            bind(C, name="SCR_Index") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            type(c_ptr), value, intent(in) :: indices
            integer(c_int), value, intent(in) :: kind
            integer(c_int64_t), value, intent(in) :: count
            integer(c_int64_t), value, intent(in) :: first
            integer(c_int64_t), value, intent(in) :: whole
            integer(c_int) :: status
        end function c_index

        function c_field_by_index(state, name, index, data, kind, rank, extents, strides) &
            bind(C, name="SCR_Field_by_index") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            character(kind=c_char), dimension(*), intent(in) :: index
            type(c_ptr), value, intent(in) :: data
            integer(c_int), value, intent(in) :: kind
            integer(c_int), value, intent(in) :: rank
            integer(c_int64_t), dimension(*), intent(in) :: extents
            type(c_ptr), value, intent(in) :: strides
            integer(c_int) :: status
        end function c_field_by_index

        function c_same(state, name, data, kind, rank, extents, strides) &
            bind(C, name="SCR_Same") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            type(c_ptr), value, intent(in) :: data
            integer(c_int), value, intent(in) :: kind
            integer(c_int), value, intent(in) :: rank
            integer(c_int64_t), dimension(*), intent(in) :: extents
            type(c_ptr), value, intent(in) :: strides
            integer(c_int) :: status
        end function c_same

        function c_count(state, name, number) &
            bind(C, name="SCR_Count") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int64_t), intent(inout) :: number
            integer(c_int) :: status
        end function c_count

        function c_bag(state, name, number) &
            bind(C, name="SCR_Bag") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int64_t), intent(inout) :: number
            integer(c_int) :: status
        end function c_bag

        function c_bag_by_key(state, name, number, key, owner, context) &
            bind(C, name="SCR_Bag_by_key") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int64_t), intent(inout) :: number
            character(kind=c_char), dimension(*), intent(in) :: key
            type(c_funptr), value, intent(in) :: owner
            type(c_ptr), value, intent(in) :: context
            integer(c_int) :: status
        end function c_bag_by_key

        function c_next_field(state, options) &
            bind(C, name="SCR_Next_field") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            integer(c_int), value, intent(in) :: options
            integer(c_int) :: status
        end function c_next_field

        function c_stream(state, stream) &
            bind(C, name="SCR_Stream") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            type(c_ptr), value, intent(in) :: stream
            integer(c_int) :: status
        end function c_stream

        function c_copy(state, copy, context) &
            bind(C, name="SCR_Copy") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            type(c_funptr), value, intent(in) :: copy
            type(c_ptr), value, intent(in) :: context
            integer(c_int) :: status
        end function c_copy

        function c_from_rank(state, rank) &
            bind(C, name="SCR_From_rank") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            integer(c_int64_t), value, intent(in) :: rank
            integer(c_int) :: status
        end function c_from_rank

        function c_gone(state, name) &
            bind(C, name="SCR_Gone") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int) :: status
        end function c_gone

        function c_begin_list(state, name) &
            bind(C, name="SCR_Begin_list") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int) :: status
        end function c_begin_list

        function c_end_list(state) &
            bind(C, name="SCR_End_list") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            integer(c_int) :: status
        end function c_end_list

        function c_order(state, order) &
            bind(C, name="SCR_Order") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            integer(c_int), value, intent(in) :: order
            integer(c_int) :: status
        end function c_order

        function c_stored(state, name, kind, rank, extents, whole, at) &
            bind(C, name="SCR_Stored") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int), intent(inout) :: kind
            integer(c_int), intent(inout) :: rank
            integer(c_int64_t), dimension(*), intent(out) :: extents
            integer(c_int64_t), dimension(*), intent(out) :: whole
            integer(c_int64_t), dimension(*), intent(out) :: at
            integer(c_int) :: status
        end function c_stored

        function c_stored_ranks(state, ranks) &
            bind(C, name="SCR_Stored_ranks") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            integer(c_int64_t), intent(inout) :: ranks
            integer(c_int) :: status
        end function c_stored_ranks

        function c_pass(state, pass) &
            bind(C, name="SCR_Pass") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            integer(c_int), intent(inout) :: pass
            integer(c_int) :: status
        end function c_pass

        function c_state_file(state, name, file) &
            bind(C, name="SCR_State_file") result(status)
            import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), dimension(*), intent(in) :: name
            character(kind=c_char), dimension(*), intent(inout) :: file
            integer(c_int) :: status
        end function c_state_file

        function c_session_create(comm, name, session) &
            bind(C, name="scr_fortran_session_create") result(status)
            import :: c_char, c_int
            implicit none
            integer(c_int), value, intent(in) :: comm
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), intent(out) :: session
            integer(c_int) :: status
        end function c_session_create

        function c_session_repair(session, comm) bind(C, name="scr_fortran_session_repair") result(status)
            import :: c_int
            implicit none
            integer(c_int), value, intent(in) :: session, comm
            integer(c_int) :: status
        end function c_session_repair

        function c_session_free(session) bind(C, name="SCR_Session_free") result(status)
            import :: c_int
            implicit none
            integer(c_int), intent(inout) :: session
            integer(c_int) :: status
        end function c_session_free

        !> Sets the session of the following calls; the result is the session before.
        function c_session_enter(session) bind(C, name="SCR_Session_enter") result(before)
            import :: c_int
            implicit none
            integer(c_int), value, intent(in) :: session
            integer(c_int) :: before
        end function c_session_enter

        !> Messages have the names of this module from now on.
        subroutine c_words() bind(C, name="scr_fortran_words")
        end subroutine c_words

        !> Makes the list of fields fail, for a reason that only Fortran sees.
        subroutine c_fail(state, reason) bind(C, name="scr_fortran_fail")
            import :: c_char, c_ptr
            implicit none
            type(c_ptr), value, intent(in) :: state
            character(kind=c_char), intent(in) :: reason(*)
        end subroutine c_fail

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

    !> True if SCR_ENABLE=0 is the reason why scr_init failed.
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

    !> True if C has room for a name; takes note if not.
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

    !> Copies with blank padding, and takes note of a text that does not fit.
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

    !> Hands the status to the caller, or acts on it if the caller did not ask. C has reported the
    !> error there.
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
        ! While SCR is off every call fails, and no failure matters.
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

    ! ---- Sessions: each call makes the call of the same name, with the session entered. ----

    !> Sets the session of the following calls. outer gets the value that leave needs.
    subroutine enter(self, outer)
        class(scr_session), intent(in) :: self
        type(scr_session), intent(out) :: outer

        outer%number = c_session_enter(self%number)
        outer%enabled = enabled
        outer%in_restart_loop = in_restart_loop
        enabled = self%enabled
        in_restart_loop = self%in_restart_loop
    end subroutine enter

    subroutine leave(self, outer)
        class(scr_session), intent(inout) :: self
        type(scr_session), intent(in) :: outer
        integer(c_int) :: left

        self%enabled = enabled
        self%in_restart_loop = in_restart_loop
        left = c_session_enter(outer%number)
        enabled = outer%enabled
        in_restart_loop = outer%in_restart_loop
    end subroutine leave

    subroutine do_create(self, comm, name, status)
        class(scr_session), intent(inout) :: self
        integer(c_int), intent(in) :: comm
        character(len=*), intent(in) :: name
        integer(int32), intent(out) :: status

        self%enabled = .true.
        self%in_restart_loop = .false.
        status = c_session_create(comm, trim(name)//c_null_char, self%number)
    end subroutine do_create

    subroutine do_repair(self, comm, status)
        class(scr_session), intent(inout) :: self
        integer(c_int), intent(in) :: comm
        integer(int32), intent(out) :: status

        self%in_restart_loop = .false.
        status = c_session_repair(self%number, comm)
    end subroutine do_repair

    function session_routed(self, name) result(path)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=:), allocatable :: path
        type(scr_session) :: outer

        call enter(self, outer)
        path = scr_routed(name)
        call leave(self, outer)
    end function session_routed

    subroutine session_free_i32(self, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out), optional :: ierror

        call conclude("scr_session%free", c_session_free(self%number), MAY_GO_ON, ierror)
    end subroutine session_free_i32

    subroutine session_create_i32_i32(self, comm, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: comm
        character(len=*), intent(in) :: name
        integer(int32), intent(out), optional :: ierror
        integer(int32) :: status

        call do_create(self, int(comm, c_int), name, status)
        call conclude("scr_session%create", status, MUST_STOP, ierror)
    end subroutine session_create_i32_i32

    subroutine session_repair_i32_i32(self, comm, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: comm
        integer(int32), intent(out), optional :: ierror
        integer(int32) :: status

        call do_repair(self, int(comm, c_int), status)
        call conclude("scr_session%repair", status, MUST_STOP, ierror)
    end subroutine session_repair_i32_i32

    subroutine repair_i32_i32(comm, ierror)
        integer(int32), intent(in) :: comm
        integer(int32), intent(out), optional :: ierror
        integer(int32) :: status

        in_restart_loop = .false.
        status = c_session_repair(SESSION_OF_WORLD, int(comm, c_int))
        call conclude("scr_repair", status, MUST_STOP, ierror)
    end subroutine repair_i32_i32

    subroutine session_create_i64_i32(self, comm, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: comm
        character(len=*), intent(in) :: name
        integer(int32), intent(out), optional :: ierror
        integer(int32) :: status

        call do_create(self, int(comm, c_int), name, status)
        call conclude("scr_session%create", status, MUST_STOP, ierror)
    end subroutine session_create_i64_i32

    subroutine session_repair_i64_i32(self, comm, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: comm
        integer(int32), intent(out), optional :: ierror
        integer(int32) :: status

        call do_repair(self, int(comm, c_int), status)
        call conclude("scr_session%repair", status, MUST_STOP, ierror)
    end subroutine session_repair_i64_i32

    subroutine repair_i64_i32(comm, ierror)
        integer(int64), intent(in) :: comm
        integer(int32), intent(out), optional :: ierror
        integer(int32) :: status

        in_restart_loop = .false.
        status = c_session_repair(SESSION_OF_WORLD, int(comm, c_int))
        call conclude("scr_repair", status, MUST_STOP, ierror)
    end subroutine repair_i64_i32

    function session_next_restart_i32_i32(self, name, valid, ierror) result(more)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(inout) :: name
        integer(int32), intent(inout) :: valid
        integer(int32), intent(out), optional :: ierror
        logical :: more
        type(scr_session) :: outer

        call enter(self, outer)
        more = scr_next_restart(name, valid, ierror)
        call leave(self, outer)
    end function session_next_restart_i32_i32

    function session_next_restart_i64_i32(self, name, valid, ierror) result(more)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(inout) :: name
        integer(int64), intent(inout) :: valid
        integer(int32), intent(out), optional :: ierror
        logical :: more
        type(scr_session) :: outer

        call enter(self, outer)
        more = scr_next_restart(name, valid, ierror)
        call leave(self, outer)
    end function session_next_restart_i64_i32

    function session_next_restart_l32_i32(self, name, valid, ierror) result(more)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(inout) :: name
        logical(int32), intent(inout) :: valid
        integer(int32), intent(out), optional :: ierror
        logical :: more
        type(scr_session) :: outer

        call enter(self, outer)
        more = scr_next_restart(name, valid, ierror)
        call leave(self, outer)
    end function session_next_restart_l32_i32

    function session_next_restart_l64_i32(self, name, valid, ierror) result(more)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(inout) :: name
        logical(int64), intent(inout) :: valid
        integer(int32), intent(out), optional :: ierror
        logical :: more
        type(scr_session) :: outer

        call enter(self, outer)
        more = scr_next_restart(name, valid, ierror)
        call leave(self, outer)
    end function session_next_restart_l64_i32

    subroutine session_init_i32(self, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_init(ierror)
        call leave(self, outer)
    end subroutine session_init_i32

    subroutine session_finalize_i32(self, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_finalize(ierror)
        call leave(self, outer)
    end subroutine session_finalize_i32

    subroutine session_config_i32(self, cfg, val, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: cfg
        character(len=*), intent(out), optional :: val
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_config(cfg, val, ierror)
        call leave(self, outer)
    end subroutine session_config_i32

    subroutine session_route_file_i32(self, name, file, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(out) :: file
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_route_file(name, file, ierror)
        call leave(self, outer)
    end subroutine session_route_file_i32

    subroutine session_allow_other_ranks_i32_i32(self, allowed, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: allowed
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_allow_other_ranks(allowed, ierror)
        call leave(self, outer)
    end subroutine session_allow_other_ranks_i32_i32

    subroutine session_allow_other_ranks_i64_i32(self, allowed, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: allowed
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_allow_other_ranks(allowed, ierror)
        call leave(self, outer)
    end subroutine session_allow_other_ranks_i64_i32

    subroutine session_allow_other_ranks_l32_i32(self, allowed, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(in) :: allowed
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_allow_other_ranks(allowed, ierror)
        call leave(self, outer)
    end subroutine session_allow_other_ranks_l32_i32

    subroutine session_allow_other_ranks_l64_i32(self, allowed, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(in) :: allowed
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_allow_other_ranks(allowed, ierror)
        call leave(self, outer)
    end subroutine session_allow_other_ranks_l64_i32

    subroutine session_have_restart_i32_i32(self, flag, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_have_restart(flag, name, ierror)
        call leave(self, outer)
    end subroutine session_have_restart_i32_i32

    subroutine session_have_restart_i64_i32(self, flag, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_have_restart(flag, name, ierror)
        call leave(self, outer)
    end subroutine session_have_restart_i64_i32

    subroutine session_have_restart_l32_i32(self, flag, name, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_have_restart(flag, name, ierror)
        call leave(self, outer)
    end subroutine session_have_restart_l32_i32

    subroutine session_have_restart_l64_i32(self, flag, name, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_have_restart(flag, name, ierror)
        call leave(self, outer)
    end subroutine session_have_restart_l64_i32

    subroutine session_start_restart_i32(self, name, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(out), optional :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_start_restart(name, ierror)
        call leave(self, outer)
    end subroutine session_start_restart_i32

    subroutine session_restart_ranks_i32_i32(self, ranks, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out) :: ranks
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_ranks(ranks, ierror)
        call leave(self, outer)
    end subroutine session_restart_ranks_i32_i32

    subroutine session_restart_ranks_i64_i32(self, ranks, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: ranks
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_ranks(ranks, ierror)
        call leave(self, outer)
    end subroutine session_restart_ranks_i64_i32

    subroutine session_restart_file_count_i32_i32(self, rank, count, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: rank
        integer(int32), intent(out) :: count
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_file_count(rank, count, ierror)
        call leave(self, outer)
    end subroutine session_restart_file_count_i32_i32

    subroutine session_restart_file_count_i64_i32(self, rank, count, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: rank
        integer(int64), intent(out) :: count
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_file_count(rank, count, ierror)
        call leave(self, outer)
    end subroutine session_restart_file_count_i64_i32

    subroutine session_restart_file_i32_i32(self, rank, index, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: rank
        integer(int32), intent(in) :: index
        character(len=*), intent(out) :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_file(rank, index, name, ierror)
        call leave(self, outer)
    end subroutine session_restart_file_i32_i32

    subroutine session_restart_file_i64_i32(self, rank, index, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: rank
        integer(int64), intent(in) :: index
        character(len=*), intent(out) :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_file(rank, index, name, ierror)
        call leave(self, outer)
    end subroutine session_restart_file_i64_i32

    subroutine session_complete_restart_i32_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_restart(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_restart_i32_i32

    subroutine session_complete_restart_i64_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_restart(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_restart_i64_i32

    subroutine session_complete_restart_l32_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_restart(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_restart_l32_i32

    subroutine session_complete_restart_l64_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_restart(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_restart_l64_i32

    subroutine session_need_checkpoint_i32_i32(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_need_checkpoint(flag, ierror)
        call leave(self, outer)
    end subroutine session_need_checkpoint_i32_i32

    subroutine session_need_checkpoint_i64_i32(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_need_checkpoint(flag, ierror)
        call leave(self, outer)
    end subroutine session_need_checkpoint_i64_i32

    subroutine session_need_checkpoint_l32_i32(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_need_checkpoint(flag, ierror)
        call leave(self, outer)
    end subroutine session_need_checkpoint_l32_i32

    subroutine session_need_checkpoint_l64_i32(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_need_checkpoint(flag, ierror)
        call leave(self, outer)
    end subroutine session_need_checkpoint_l64_i32

    subroutine session_start_checkpoint_i32(self, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_start_checkpoint(ierror)
        call leave(self, outer)
    end subroutine session_start_checkpoint_i32

    subroutine session_complete_checkpoint_i32_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_checkpoint(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_checkpoint_i32_i32

    subroutine session_complete_checkpoint_i64_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_checkpoint(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_checkpoint_i64_i32

    subroutine session_complete_checkpoint_l32_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_checkpoint(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_checkpoint_l32_i32

    subroutine session_complete_checkpoint_l64_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_checkpoint(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_checkpoint_l64_i32

    subroutine session_start_output_i32_i32(self, name, flags, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(in) :: flags
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_start_output(name, flags, ierror)
        call leave(self, outer)
    end subroutine session_start_output_i32_i32

    subroutine session_start_output_i64_i32(self, name, flags, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: flags
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_start_output(name, flags, ierror)
        call leave(self, outer)
    end subroutine session_start_output_i64_i32

    subroutine session_complete_output_i32_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_output(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_output_i32_i32

    subroutine session_complete_output_i64_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_output(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_output_i64_i32

    subroutine session_complete_output_l32_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_output(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_output_l32_i32

    subroutine session_complete_output_l64_i32(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(in) :: valid
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_output(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_output_l64_i32

    subroutine session_should_exit_i32_i32(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_should_exit(flag, ierror)
        call leave(self, outer)
    end subroutine session_should_exit_i32_i32

    subroutine session_should_exit_i64_i32(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_should_exit(flag, ierror)
        call leave(self, outer)
    end subroutine session_should_exit_i64_i32

    subroutine session_should_exit_l32_i32(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_should_exit(flag, ierror)
        call leave(self, outer)
    end subroutine session_should_exit_l32_i32

    subroutine session_should_exit_l64_i32(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(out) :: flag
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_should_exit(flag, ierror)
        call leave(self, outer)
    end subroutine session_should_exit_l64_i32

    subroutine session_current_i32(self, name, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_current(name, ierror)
        call leave(self, outer)
    end subroutine session_current_i32

    subroutine session_drop_i32(self, name, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_drop(name, ierror)
        call leave(self, outer)
    end subroutine session_drop_i32

    subroutine session_delete_i32(self, name, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_delete(name, ierror)
        call leave(self, outer)
    end subroutine session_delete_i32

    subroutine session_checkpoint_routine_l32_i32(self, state, name, output, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        character(len=*), intent(in), optional :: name
        logical(int32), intent(in), optional :: output
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint(state, name, output, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_routine_l32_i32

    subroutine session_checkpoint_routine_l64_i32(self, state, name, output, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        character(len=*), intent(in), optional :: name
        logical(int64), intent(in) :: output
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint(state, name, output, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_routine_l64_i32

    subroutine session_checkpoint_object_l32_i32(self, state, name, output, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        character(len=*), intent(in), optional :: name
        logical(int32), intent(in), optional :: output
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint(state, name, output, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_object_l32_i32

    subroutine session_checkpoint_object_l64_i32(self, state, name, output, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        character(len=*), intent(in), optional :: name
        logical(int64), intent(in) :: output
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint(state, name, output, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_object_l64_i32

    subroutine session_checkpoint_if_needed_routine_i32_i32(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        integer(int32), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_routine_i32_i32

    subroutine session_checkpoint_if_needed_routine_i64_i32(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        integer(int64), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_routine_i64_i32

    subroutine session_checkpoint_if_needed_routine_l32_i32(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        logical(int32), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_routine_l32_i32

    subroutine session_checkpoint_if_needed_routine_l64_i32(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        logical(int64), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_routine_l64_i32

    subroutine session_checkpoint_if_needed_object_i32_i32(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        integer(int32), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_object_i32_i32

    subroutine session_checkpoint_if_needed_object_i64_i32(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        integer(int64), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_object_i64_i32

    subroutine session_checkpoint_if_needed_object_l32_i32(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        logical(int32), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_object_l32_i32

    subroutine session_checkpoint_if_needed_object_l64_i32(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        logical(int64), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_object_l64_i32

    subroutine session_restore_routine_i32_i32(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        integer(int32), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_routine_i32_i32

    subroutine session_restore_routine_i64_i32(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        integer(int64), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_routine_i64_i32

    subroutine session_restore_routine_l32_i32(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        logical(int32), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_routine_l32_i32

    subroutine session_restore_routine_l64_i32(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        logical(int64), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_routine_l64_i32

    subroutine session_restore_object_i32_i32(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        integer(int32), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_object_i32_i32

    subroutine session_restore_object_i64_i32(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        integer(int64), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_object_i64_i32

    subroutine session_restore_object_l32_i32(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        logical(int32), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_object_l32_i32

    subroutine session_restore_object_l64_i32(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        logical(int64), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_object_l64_i32

    subroutine session_free_i64(self, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: ierror

        call conclude("scr_session%free", c_session_free(self%number), MAY_GO_ON, ierror)
    end subroutine session_free_i64

    subroutine session_create_i32_i64(self, comm, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: comm
        character(len=*), intent(in) :: name
        integer(int64), intent(out) :: ierror
        integer(int32) :: status

        call do_create(self, int(comm, c_int), name, status)
        call conclude("scr_session%create", status, MUST_STOP, ierror)
    end subroutine session_create_i32_i64

    subroutine session_repair_i32_i64(self, comm, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: comm
        integer(int64), intent(out) :: ierror
        integer(int32) :: status

        call do_repair(self, int(comm, c_int), status)
        call conclude("scr_session%repair", status, MUST_STOP, ierror)
    end subroutine session_repair_i32_i64

    subroutine repair_i32_i64(comm, ierror)
        integer(int32), intent(in) :: comm
        integer(int64), intent(out) :: ierror
        integer(int32) :: status

        in_restart_loop = .false.
        status = c_session_repair(SESSION_OF_WORLD, int(comm, c_int))
        call conclude("scr_repair", status, MUST_STOP, ierror)
    end subroutine repair_i32_i64

    subroutine session_create_i64_i64(self, comm, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: comm
        character(len=*), intent(in) :: name
        integer(int64), intent(out) :: ierror
        integer(int32) :: status

        call do_create(self, int(comm, c_int), name, status)
        call conclude("scr_session%create", status, MUST_STOP, ierror)
    end subroutine session_create_i64_i64

    subroutine session_repair_i64_i64(self, comm, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: comm
        integer(int64), intent(out) :: ierror
        integer(int32) :: status

        call do_repair(self, int(comm, c_int), status)
        call conclude("scr_session%repair", status, MUST_STOP, ierror)
    end subroutine session_repair_i64_i64

    subroutine repair_i64_i64(comm, ierror)
        integer(int64), intent(in) :: comm
        integer(int64), intent(out) :: ierror
        integer(int32) :: status

        in_restart_loop = .false.
        status = c_session_repair(SESSION_OF_WORLD, int(comm, c_int))
        call conclude("scr_repair", status, MUST_STOP, ierror)
    end subroutine repair_i64_i64

    function session_next_restart_i32_i64(self, name, valid, ierror) result(more)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(inout) :: name
        integer(int32), intent(inout) :: valid
        integer(int64), intent(out) :: ierror
        logical :: more
        type(scr_session) :: outer

        call enter(self, outer)
        more = scr_next_restart(name, valid, ierror)
        call leave(self, outer)
    end function session_next_restart_i32_i64

    function session_next_restart_i64_i64(self, name, valid, ierror) result(more)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(inout) :: name
        integer(int64), intent(inout) :: valid
        integer(int64), intent(out) :: ierror
        logical :: more
        type(scr_session) :: outer

        call enter(self, outer)
        more = scr_next_restart(name, valid, ierror)
        call leave(self, outer)
    end function session_next_restart_i64_i64

    function session_next_restart_l32_i64(self, name, valid, ierror) result(more)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(inout) :: name
        logical(int32), intent(inout) :: valid
        integer(int64), intent(out) :: ierror
        logical :: more
        type(scr_session) :: outer

        call enter(self, outer)
        more = scr_next_restart(name, valid, ierror)
        call leave(self, outer)
    end function session_next_restart_l32_i64

    function session_next_restart_l64_i64(self, name, valid, ierror) result(more)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(inout) :: name
        logical(int64), intent(inout) :: valid
        integer(int64), intent(out) :: ierror
        logical :: more
        type(scr_session) :: outer

        call enter(self, outer)
        more = scr_next_restart(name, valid, ierror)
        call leave(self, outer)
    end function session_next_restart_l64_i64

    subroutine session_init_i64(self, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_init(ierror)
        call leave(self, outer)
    end subroutine session_init_i64

    subroutine session_finalize_i64(self, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_finalize(ierror)
        call leave(self, outer)
    end subroutine session_finalize_i64

    subroutine session_config_i64(self, cfg, val, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: cfg
        character(len=*), intent(out), optional :: val
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_config(cfg, val, ierror)
        call leave(self, outer)
    end subroutine session_config_i64

    subroutine session_route_file_i64(self, name, file, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(out) :: file
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_route_file(name, file, ierror)
        call leave(self, outer)
    end subroutine session_route_file_i64

    subroutine session_allow_other_ranks_i32_i64(self, allowed, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: allowed
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_allow_other_ranks(allowed, ierror)
        call leave(self, outer)
    end subroutine session_allow_other_ranks_i32_i64

    subroutine session_allow_other_ranks_i64_i64(self, allowed, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: allowed
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_allow_other_ranks(allowed, ierror)
        call leave(self, outer)
    end subroutine session_allow_other_ranks_i64_i64

    subroutine session_allow_other_ranks_l32_i64(self, allowed, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(in) :: allowed
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_allow_other_ranks(allowed, ierror)
        call leave(self, outer)
    end subroutine session_allow_other_ranks_l32_i64

    subroutine session_allow_other_ranks_l64_i64(self, allowed, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(in) :: allowed
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_allow_other_ranks(allowed, ierror)
        call leave(self, outer)
    end subroutine session_allow_other_ranks_l64_i64

    subroutine session_have_restart_i32_i64(self, flag, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_have_restart(flag, name, ierror)
        call leave(self, outer)
    end subroutine session_have_restart_i32_i64

    subroutine session_have_restart_i64_i64(self, flag, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_have_restart(flag, name, ierror)
        call leave(self, outer)
    end subroutine session_have_restart_i64_i64

    subroutine session_have_restart_l32_i64(self, flag, name, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_have_restart(flag, name, ierror)
        call leave(self, outer)
    end subroutine session_have_restart_l32_i64

    subroutine session_have_restart_l64_i64(self, flag, name, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(out) :: flag
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_have_restart(flag, name, ierror)
        call leave(self, outer)
    end subroutine session_have_restart_l64_i64

    subroutine session_start_restart_i64(self, name, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(out), optional :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_start_restart(name, ierror)
        call leave(self, outer)
    end subroutine session_start_restart_i64

    subroutine session_restart_ranks_i32_i64(self, ranks, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out) :: ranks
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_ranks(ranks, ierror)
        call leave(self, outer)
    end subroutine session_restart_ranks_i32_i64

    subroutine session_restart_ranks_i64_i64(self, ranks, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: ranks
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_ranks(ranks, ierror)
        call leave(self, outer)
    end subroutine session_restart_ranks_i64_i64

    subroutine session_restart_file_count_i32_i64(self, rank, count, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: rank
        integer(int32), intent(out) :: count
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_file_count(rank, count, ierror)
        call leave(self, outer)
    end subroutine session_restart_file_count_i32_i64

    subroutine session_restart_file_count_i64_i64(self, rank, count, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: rank
        integer(int64), intent(out) :: count
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_file_count(rank, count, ierror)
        call leave(self, outer)
    end subroutine session_restart_file_count_i64_i64

    subroutine session_restart_file_i32_i64(self, rank, index, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: rank
        integer(int32), intent(in) :: index
        character(len=*), intent(out) :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_file(rank, index, name, ierror)
        call leave(self, outer)
    end subroutine session_restart_file_i32_i64

    subroutine session_restart_file_i64_i64(self, rank, index, name, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: rank
        integer(int64), intent(in) :: index
        character(len=*), intent(out) :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restart_file(rank, index, name, ierror)
        call leave(self, outer)
    end subroutine session_restart_file_i64_i64

    subroutine session_complete_restart_i32_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_restart(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_restart_i32_i64

    subroutine session_complete_restart_i64_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_restart(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_restart_i64_i64

    subroutine session_complete_restart_l32_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_restart(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_restart_l32_i64

    subroutine session_complete_restart_l64_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_restart(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_restart_l64_i64

    subroutine session_need_checkpoint_i32_i64(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_need_checkpoint(flag, ierror)
        call leave(self, outer)
    end subroutine session_need_checkpoint_i32_i64

    subroutine session_need_checkpoint_i64_i64(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_need_checkpoint(flag, ierror)
        call leave(self, outer)
    end subroutine session_need_checkpoint_i64_i64

    subroutine session_need_checkpoint_l32_i64(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_need_checkpoint(flag, ierror)
        call leave(self, outer)
    end subroutine session_need_checkpoint_l32_i64

    subroutine session_need_checkpoint_l64_i64(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_need_checkpoint(flag, ierror)
        call leave(self, outer)
    end subroutine session_need_checkpoint_l64_i64

    subroutine session_start_checkpoint_i64(self, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_start_checkpoint(ierror)
        call leave(self, outer)
    end subroutine session_start_checkpoint_i64

    subroutine session_complete_checkpoint_i32_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_checkpoint(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_checkpoint_i32_i64

    subroutine session_complete_checkpoint_i64_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_checkpoint(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_checkpoint_i64_i64

    subroutine session_complete_checkpoint_l32_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_checkpoint(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_checkpoint_l32_i64

    subroutine session_complete_checkpoint_l64_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_checkpoint(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_checkpoint_l64_i64

    subroutine session_start_output_i32_i64(self, name, flags, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(in) :: flags
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_start_output(name, flags, ierror)
        call leave(self, outer)
    end subroutine session_start_output_i32_i64

    subroutine session_start_output_i64_i64(self, name, flags, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: flags
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_start_output(name, flags, ierror)
        call leave(self, outer)
    end subroutine session_start_output_i64_i64

    subroutine session_complete_output_i32_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_output(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_output_i32_i64

    subroutine session_complete_output_i64_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_output(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_output_i64_i64

    subroutine session_complete_output_l32_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_output(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_output_l32_i64

    subroutine session_complete_output_l64_i64(self, valid, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(in) :: valid
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_complete_output(valid, ierror)
        call leave(self, outer)
    end subroutine session_complete_output_l64_i64

    subroutine session_should_exit_i32_i64(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        integer(int32), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_should_exit(flag, ierror)
        call leave(self, outer)
    end subroutine session_should_exit_i32_i64

    subroutine session_should_exit_i64_i64(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        integer(int64), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_should_exit(flag, ierror)
        call leave(self, outer)
    end subroutine session_should_exit_i64_i64

    subroutine session_should_exit_l32_i64(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        logical(int32), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_should_exit(flag, ierror)
        call leave(self, outer)
    end subroutine session_should_exit_l32_i64

    subroutine session_should_exit_l64_i64(self, flag, ierror)
        class(scr_session), intent(inout) :: self
        logical(int64), intent(out) :: flag
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_should_exit(flag, ierror)
        call leave(self, outer)
    end subroutine session_should_exit_l64_i64

    subroutine session_current_i64(self, name, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_current(name, ierror)
        call leave(self, outer)
    end subroutine session_current_i64

    subroutine session_drop_i64(self, name, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_drop(name, ierror)
        call leave(self, outer)
    end subroutine session_drop_i64

    subroutine session_delete_i64(self, name, ierror)
        class(scr_session), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_delete(name, ierror)
        call leave(self, outer)
    end subroutine session_delete_i64

    subroutine session_checkpoint_routine_l32_i64(self, state, name, output, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        character(len=*), intent(in), optional :: name
        logical(int32), intent(in), optional :: output
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint(state, name, output, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_routine_l32_i64

    subroutine session_checkpoint_routine_l64_i64(self, state, name, output, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        character(len=*), intent(in), optional :: name
        logical(int64), intent(in) :: output
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint(state, name, output, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_routine_l64_i64

    subroutine session_checkpoint_object_l32_i64(self, state, name, output, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        character(len=*), intent(in), optional :: name
        logical(int32), intent(in), optional :: output
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint(state, name, output, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_object_l32_i64

    subroutine session_checkpoint_object_l64_i64(self, state, name, output, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        character(len=*), intent(in), optional :: name
        logical(int64), intent(in) :: output
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint(state, name, output, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_object_l64_i64

    subroutine session_checkpoint_if_needed_routine_i32_i64(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        integer(int32), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_routine_i32_i64

    subroutine session_checkpoint_if_needed_routine_i64_i64(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        integer(int64), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_routine_i64_i64

    subroutine session_checkpoint_if_needed_routine_l32_i64(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        logical(int32), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_routine_l32_i64

    subroutine session_checkpoint_if_needed_routine_l64_i64(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        logical(int64), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_routine_l64_i64

    subroutine session_checkpoint_if_needed_object_i32_i64(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        integer(int32), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_object_i32_i64

    subroutine session_checkpoint_if_needed_object_i64_i64(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        integer(int64), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_object_i64_i64

    subroutine session_checkpoint_if_needed_object_l32_i64(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        logical(int32), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_object_l32_i64

    subroutine session_checkpoint_if_needed_object_l64_i64(self, state, stop_now, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        logical(int64), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_checkpoint_if_needed(state, stop_now, ierror)
        call leave(self, outer)
    end subroutine session_checkpoint_if_needed_object_l64_i64

    subroutine session_restore_routine_i32_i64(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        integer(int32), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_routine_i32_i64

    subroutine session_restore_routine_i64_i64(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        integer(int64), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_routine_i64_i64

    subroutine session_restore_routine_l32_i64(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        logical(int32), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_routine_l32_i64

    subroutine session_restore_routine_l64_i64(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        procedure(scr_list) :: state
        logical(int64), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_routine_l64_i64

    subroutine session_restore_object_i32_i64(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        integer(int32), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_object_i32_i64

    subroutine session_restore_object_i64_i64(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        integer(int64), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_object_i64_i64

    subroutine session_restore_object_l32_i64(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        logical(int32), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_object_l32_i64

    subroutine session_restore_object_l64_i64(self, state, found, ierror)
        class(scr_session), intent(inout) :: self
        class(scr_state), intent(inout), target :: state
        logical(int64), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_session) :: outer

        call enter(self, outer)
        call scr_restore(state, found, ierror)
        call leave(self, outer)
    end subroutine session_restore_object_l64_i64

    ! ---- Checkpoints of fields, and the calls inside of the list. ----

    subroutine checkpoint_routine_l32_i32(state, name, output, ierror)
        procedure(scr_list) :: state
        character(len=*), intent(in), optional :: name
        logical(int32), intent(in), optional :: output
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: flags

        flags = SCR_FLAG_CHECKPOINT
        if (present(output)) flags = flags + SCR_FLAG_OUTPUT*as_int(output)
        call conclude("scr_checkpoint", do_checkpoint(plain, name, flags, state), &
            MAY_GO_ON, ierror)
    end subroutine checkpoint_routine_l32_i32

    subroutine checkpoint_routine_l64_i32(state, name, output, ierror)
        procedure(scr_list) :: state
        character(len=*), intent(in), optional :: name
        logical(int64), intent(in) :: output
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: flags

        flags = SCR_FLAG_CHECKPOINT
        flags = flags + SCR_FLAG_OUTPUT*as_int(output)
        call conclude("scr_checkpoint", do_checkpoint(plain, name, flags, state), &
            MAY_GO_ON, ierror)
    end subroutine checkpoint_routine_l64_i32

    subroutine checkpoint_if_needed_routine_i32_i32(state, stop_now, ierror)
        procedure(scr_list) :: state
        integer(int32), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(plain, number, state), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_routine_i32_i32

    subroutine restore_routine_i32_i32(state, found, ierror)
        procedure(scr_list) :: state
        integer(int32), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(plain, number, state), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_routine_i32_i32

    subroutine checkpoint_if_needed_routine_i64_i32(state, stop_now, ierror)
        procedure(scr_list) :: state
        integer(int64), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(plain, number, state), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_routine_i64_i32

    subroutine restore_routine_i64_i32(state, found, ierror)
        procedure(scr_list) :: state
        integer(int64), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(plain, number, state), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_routine_i64_i32

    subroutine checkpoint_if_needed_routine_l32_i32(state, stop_now, ierror)
        procedure(scr_list) :: state
        logical(int32), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(plain, number, state), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_routine_l32_i32

    subroutine restore_routine_l32_i32(state, found, ierror)
        procedure(scr_list) :: state
        logical(int32), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(plain, number, state), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_routine_l32_i32

    subroutine checkpoint_if_needed_routine_l64_i32(state, stop_now, ierror)
        procedure(scr_list) :: state
        logical(int64), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(plain, number, state), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_routine_l64_i32

    subroutine restore_routine_l64_i32(state, found, ierror)
        procedure(scr_list) :: state
        logical(int64), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(plain, number, state), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_routine_l64_i32

    subroutine checkpoint_routine_l32_i64(state, name, output, ierror)
        procedure(scr_list) :: state
        character(len=*), intent(in), optional :: name
        logical(int32), intent(in), optional :: output
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: flags

        flags = SCR_FLAG_CHECKPOINT
        if (present(output)) flags = flags + SCR_FLAG_OUTPUT*as_int(output)
        call conclude("scr_checkpoint", do_checkpoint(plain, name, flags, state), &
            MAY_GO_ON, ierror)
    end subroutine checkpoint_routine_l32_i64

    subroutine checkpoint_routine_l64_i64(state, name, output, ierror)
        procedure(scr_list) :: state
        character(len=*), intent(in), optional :: name
        logical(int64), intent(in) :: output
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: flags

        flags = SCR_FLAG_CHECKPOINT
        flags = flags + SCR_FLAG_OUTPUT*as_int(output)
        call conclude("scr_checkpoint", do_checkpoint(plain, name, flags, state), &
            MAY_GO_ON, ierror)
    end subroutine checkpoint_routine_l64_i64

    subroutine checkpoint_if_needed_routine_i32_i64(state, stop_now, ierror)
        procedure(scr_list) :: state
        integer(int32), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(plain, number, state), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_routine_i32_i64

    subroutine restore_routine_i32_i64(state, found, ierror)
        procedure(scr_list) :: state
        integer(int32), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(plain, number, state), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_routine_i32_i64

    subroutine checkpoint_if_needed_routine_i64_i64(state, stop_now, ierror)
        procedure(scr_list) :: state
        integer(int64), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(plain, number, state), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_routine_i64_i64

    subroutine restore_routine_i64_i64(state, found, ierror)
        procedure(scr_list) :: state
        integer(int64), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(plain, number, state), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_routine_i64_i64

    subroutine checkpoint_if_needed_routine_l32_i64(state, stop_now, ierror)
        procedure(scr_list) :: state
        logical(int32), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(plain, number, state), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_routine_l32_i64

    subroutine restore_routine_l32_i64(state, found, ierror)
        procedure(scr_list) :: state
        logical(int32), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(plain, number, state), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_routine_l32_i64

    subroutine checkpoint_if_needed_routine_l64_i64(state, stop_now, ierror)
        procedure(scr_list) :: state
        logical(int64), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(plain, number, state), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_routine_l64_i64

    subroutine restore_routine_l64_i64(state, found, ierror)
        procedure(scr_list) :: state
        logical(int64), intent(out) :: found
        integer(int64), intent(out) :: ierror
        type(scr_state), target :: plain
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(plain, number, state), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_routine_l64_i64

    subroutine checkpoint_object_l32_i32(state, name, output, ierror)
        class(scr_state), intent(inout), target :: state
        character(len=*), intent(in), optional :: name
        logical(int32), intent(in), optional :: output
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: flags

        flags = SCR_FLAG_CHECKPOINT
        if (present(output)) flags = flags + SCR_FLAG_OUTPUT*as_int(output)
        call conclude("scr_checkpoint", do_checkpoint(state, name, flags), &
            MAY_GO_ON, ierror)
    end subroutine checkpoint_object_l32_i32

    subroutine checkpoint_object_l64_i32(state, name, output, ierror)
        class(scr_state), intent(inout), target :: state
        character(len=*), intent(in), optional :: name
        logical(int64), intent(in) :: output
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: flags

        flags = SCR_FLAG_CHECKPOINT
        flags = flags + SCR_FLAG_OUTPUT*as_int(output)
        call conclude("scr_checkpoint", do_checkpoint(state, name, flags), &
            MAY_GO_ON, ierror)
    end subroutine checkpoint_object_l64_i32

    subroutine checkpoint_if_needed_object_i32_i32(state, stop_now, ierror)
        class(scr_state), intent(inout), target :: state
        integer(int32), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(state, number), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_object_i32_i32

    subroutine restore_object_i32_i32(state, found, ierror)
        class(scr_state), intent(inout), target :: state
        integer(int32), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(state, number), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_object_i32_i32

    subroutine checkpoint_if_needed_object_i64_i32(state, stop_now, ierror)
        class(scr_state), intent(inout), target :: state
        integer(int64), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(state, number), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_object_i64_i32

    subroutine restore_object_i64_i32(state, found, ierror)
        class(scr_state), intent(inout), target :: state
        integer(int64), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(state, number), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_object_i64_i32

    subroutine checkpoint_if_needed_object_l32_i32(state, stop_now, ierror)
        class(scr_state), intent(inout), target :: state
        logical(int32), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(state, number), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_object_l32_i32

    subroutine restore_object_l32_i32(state, found, ierror)
        class(scr_state), intent(inout), target :: state
        logical(int32), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(state, number), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_object_l32_i32

    subroutine checkpoint_if_needed_object_l64_i32(state, stop_now, ierror)
        class(scr_state), intent(inout), target :: state
        logical(int64), intent(out) :: stop_now
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(state, number), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_object_l64_i32

    subroutine restore_object_l64_i32(state, found, ierror)
        class(scr_state), intent(inout), target :: state
        logical(int64), intent(out) :: found
        integer(int32), intent(out), optional :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(state, number), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_object_l64_i32

    subroutine checkpoint_object_l32_i64(state, name, output, ierror)
        class(scr_state), intent(inout), target :: state
        character(len=*), intent(in), optional :: name
        logical(int32), intent(in), optional :: output
        integer(int64), intent(out) :: ierror
        integer(c_int) :: flags

        flags = SCR_FLAG_CHECKPOINT
        if (present(output)) flags = flags + SCR_FLAG_OUTPUT*as_int(output)
        call conclude("scr_checkpoint", do_checkpoint(state, name, flags), &
            MAY_GO_ON, ierror)
    end subroutine checkpoint_object_l32_i64

    subroutine checkpoint_object_l64_i64(state, name, output, ierror)
        class(scr_state), intent(inout), target :: state
        character(len=*), intent(in), optional :: name
        logical(int64), intent(in) :: output
        integer(int64), intent(out) :: ierror
        integer(c_int) :: flags

        flags = SCR_FLAG_CHECKPOINT
        flags = flags + SCR_FLAG_OUTPUT*as_int(output)
        call conclude("scr_checkpoint", do_checkpoint(state, name, flags), &
            MAY_GO_ON, ierror)
    end subroutine checkpoint_object_l64_i64

    subroutine checkpoint_if_needed_object_i32_i64(state, stop_now, ierror)
        class(scr_state), intent(inout), target :: state
        integer(int32), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(state, number), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_object_i32_i64

    subroutine restore_object_i32_i64(state, found, ierror)
        class(scr_state), intent(inout), target :: state
        integer(int32), intent(out) :: found
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(state, number), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_object_i32_i64

    subroutine checkpoint_if_needed_object_i64_i64(state, stop_now, ierror)
        class(scr_state), intent(inout), target :: state
        integer(int64), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(state, number), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_object_i64_i64

    subroutine restore_object_i64_i64(state, found, ierror)
        class(scr_state), intent(inout), target :: state
        integer(int64), intent(out) :: found
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(state, number), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_object_i64_i64

    subroutine checkpoint_if_needed_object_l32_i64(state, stop_now, ierror)
        class(scr_state), intent(inout), target :: state
        logical(int32), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(state, number), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_object_l32_i64

    subroutine restore_object_l32_i64(state, found, ierror)
        class(scr_state), intent(inout), target :: state
        logical(int32), intent(out) :: found
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(state, number), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_object_l32_i64

    subroutine checkpoint_if_needed_object_l64_i64(state, stop_now, ierror)
        class(scr_state), intent(inout), target :: state
        logical(int64), intent(out) :: stop_now
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_checkpoint_if_needed", do_checkpoint_if_needed(state, number), MAY_GO_ON, ierror)
        call set_flag(stop_now, number)
    end subroutine checkpoint_if_needed_object_l64_i64

    subroutine restore_object_l64_i64(state, found, ierror)
        class(scr_state), intent(inout), target :: state
        logical(int64), intent(out) :: found
        integer(int64), intent(out) :: ierror
        integer(c_int) :: number

        number = 0
        call conclude("scr_restore", do_restore(state, number), MUST_STOP, ierror)
        call set_flag(found, number)
    end subroutine restore_object_l64_i64

    function do_checkpoint(state, name, flags, routine) result(status)
        class(scr_state), intent(inout), target :: state
        character(len=*), intent(in), optional :: name
        integer(c_int), intent(in) :: flags
        procedure(scr_list), optional :: routine
        integer(int32) :: status
        character(len=:), allocatable :: given_name
        type(listing) :: outer

        given_name = ""
        if (present(name)) given_name = trim(name)
        call begin_listing(state, outer, routine)
        status = c_checkpoint(given_name//c_null_char, flags, c_funloc(list_state), c_null_ptr)
        call end_listing(outer)
        if (fits(given_name)) return
        status = TOO_LONG
        needed = 0
    end function do_checkpoint

    function do_checkpoint_if_needed(state, number, routine) result(status)
        class(scr_state), intent(inout), target :: state
        integer(c_int), intent(inout) :: number
        procedure(scr_list), optional :: routine
        integer(int32) :: status
        type(listing) :: outer

        call begin_listing(state, outer, routine)
        status = c_checkpoint_if_needed(c_funloc(list_state), c_null_ptr, number)
        call end_listing(outer)
    end function do_checkpoint_if_needed

    function do_restore(state, number, routine) result(status)
        class(scr_state), intent(inout), target :: state
        integer(c_int), intent(inout) :: number
        procedure(scr_list), optional :: routine
        integer(int32) :: status
        type(listing) :: outer

        call begin_listing(state, outer, routine)
        status = c_restore(c_funloc(list_state), c_null_ptr, number)
        call end_listing(outer)
    end function do_restore

    !> Sets the routine that list_state calls. outer is the list in which this one begins, which C
    !> will refuse.
    subroutine begin_listing(state, outer, routine)
        class(scr_state), intent(inout), target :: state
        type(listing), intent(out) :: outer
        procedure(scr_list), optional :: routine

        outer = running
        running%state => state
        running%routine => null()
        if (present(routine)) running%routine => routine
    end subroutine begin_listing

    subroutine end_listing(outer)
        type(listing), intent(in) :: outer

        running%state%handle = c_null_ptr
        running = outer
    end subroutine end_listing

    !> C calls this, with the handle of its list.
    function list_state(handle, context) bind(C, name="scr_fortran_list") result(status)
        type(c_ptr), value, intent(in) :: handle, context
        integer(c_int) :: status

        running%state%handle = handle
        call c_words()
        status = c_order(handle, COLUMN_MAJOR)
        if (associated(running%routine)) then
            call running%routine(running%state)
        else
            call running%state%list()
        end if
        ! Errors in the list are known to C. The context is the NULL pointer that C was given.
        status = merge(FAILURE, SCR_SUCCESS, c_associated(context))
    end function list_state

    subroutine list_nothing(self)
        class(scr_state), intent(inout) :: self

        call self%fail("the type of the state has no procedure list of its own")
    end subroutine list_nothing

    subroutine fail(self, reason)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: reason

        call c_fail(self%handle, trim(reason)//c_null_char)
    end subroutine fail

    !> As fail, with the name of a field.
    subroutine refuse(self, name, reason)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name, reason

        call self%fail('field "'//trim(name)//'": '//reason)
    end subroutine refuse

    subroutine end_list(self)
        class(scr_state), intent(inout) :: self
        integer(c_int) :: status

        status = c_end_list(self%handle)
    end subroutine end_list

    subroutine stream_i32(self, handle)
        class(scr_state), intent(inout) :: self
        integer(int32), intent(in) :: handle
        integer(int32) :: status

        status = c_stream(self%handle, transfer(int(handle, c_intptr_t), c_null_ptr))
    end subroutine stream_i32

    subroutine stream_i64(self, handle)
        class(scr_state), intent(inout) :: self
        integer(int64), intent(in) :: handle
        integer(int32) :: status

        status = c_stream(self%handle, transfer(int(handle, c_intptr_t), c_null_ptr))
    end subroutine stream_i64

    subroutine stream_pointer(self, handle)
        class(scr_state), intent(inout) :: self
        type(c_ptr), intent(in) :: handle
        integer(int32) :: status

        status = c_stream(self%handle, handle)
    end subroutine stream_pointer

    subroutine copy_by(self, copy, context)
        class(scr_state), intent(inout) :: self
        type(c_funptr), intent(in) :: copy
        type(c_ptr), intent(in), optional :: context
        type(c_ptr) :: given_context
        integer(int32) :: status

        given_context = c_null_ptr
        if (present(context)) given_context = context
        status = c_copy(self%handle, copy, given_context)
    end subroutine copy_by

    subroutine gone(self, name)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(c_int) :: status

        status = c_gone(self%handle, trim(name)//c_null_char)
    end subroutine gone

    function stored_ranks(self) result(ranks)
        class(scr_state), intent(inout) :: self
        integer(int32) :: ranks, status
        integer(int64) :: number

        number = 0
        status = c_stored_ranks(self%handle, number)
        ranks = int(number, int32)
    end function stored_ranks

    function pass(self)
        class(scr_state), intent(inout) :: self
        integer(int32) :: pass, status
        integer(c_int) :: number

        number = 0
        status = c_pass(self%handle, number)
        pass = number
    end function pass

    function state_file(self, name) result(path)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=:), allocatable :: path
        character(kind=c_char) :: buffer(SCR_MAX_FILENAME)
        integer(int32) :: status

        buffer = c_null_char
        status = c_state_file(self%handle, trim(name)//c_null_char, buffer)
        path = text_of(buffer)
        if (path == "") path = NO_PATH
    end function state_file

    subroutine count_i32(self, name, number, missing)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout) :: number
        character(len=*), intent(in), optional :: missing
        integer(int64) :: wide
        integer(int32) :: status

        call set_options(self, name, missing)
        wide = number
        status = c_count(self%handle, trim(name)//c_null_char, wide)
        if (.not. are_narrow(self, name, [wide])) return
        number = int(wide, kind(number))
    end subroutine count_i32

    subroutine bag_i32(self, name, number, key, owner)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout) :: number
        character(len=*), intent(in), optional :: key
        procedure(scr_owner), optional :: owner
        integer(int64) :: wide

        wide = number
        call put_bag(self, name, wide, key, owner)
        if (.not. are_narrow(self, name, [wide])) return
        number = int(wide, kind(number))
    end subroutine bag_i32

    subroutine begin_list_i32(self, name, index)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(in), optional :: index
        character(len=24) :: place
        integer(int32) :: status

        place = ""
        if (present(index)) write (place, "(a,i0,a)") "(", index, ")"
        status = c_begin_list(self%handle, trim(name)//trim(place)//c_null_char)
    end subroutine begin_list_i32

    subroutine from_rank_i32(self, rank)
        class(scr_state), intent(inout) :: self
        integer(int32), intent(in) :: rank
        integer(int32) :: status

        status = c_from_rank(self%handle, int(rank, int64))
    end subroutine from_rank_i32

    subroutine stored_i32(self, name, extents, whole, at)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), allocatable, intent(out) :: extents(:)
        integer(int32), allocatable, intent(out), optional :: whole(:), at(:)
        integer(int64) :: found(7, 3)
        integer(c_int) :: rank

        call look_up(self, name, rank, found)
        if (rank < 0) return
        if (.not. are_narrow(self, name, reshape(found, [21]))) return
        extents = int(found(:rank, 1), kind(extents))
        if (present(whole)) whole = int(found(:rank, 2), kind(extents))
        if (present(at)) at = int(found(:rank, 3), kind(extents))
    end subroutine stored_i32

    subroutine count_i64(self, name, number, missing)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout) :: number
        character(len=*), intent(in), optional :: missing
        integer(int64) :: wide
        integer(int32) :: status

        call set_options(self, name, missing)
        wide = number
        status = c_count(self%handle, trim(name)//c_null_char, wide)
        number = int(wide, kind(number))
    end subroutine count_i64

    subroutine bag_i64(self, name, number, key, owner)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout) :: number
        character(len=*), intent(in), optional :: key
        procedure(scr_owner), optional :: owner
        integer(int64) :: wide

        wide = number
        call put_bag(self, name, wide, key, owner)
        number = int(wide, kind(number))
    end subroutine bag_i64

    subroutine begin_list_i64(self, name, index)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: index
        character(len=24) :: place
        integer(int32) :: status

        place = ""
        write (place, "(a,i0,a)") "(", index, ")"
        status = c_begin_list(self%handle, trim(name)//trim(place)//c_null_char)
    end subroutine begin_list_i64

    subroutine from_rank_i64(self, rank)
        class(scr_state), intent(inout) :: self
        integer(int64), intent(in) :: rank
        integer(int32) :: status

        status = c_from_rank(self%handle, int(rank, int64))
    end subroutine from_rank_i64

    subroutine stored_i64(self, name, extents, whole, at)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), allocatable, intent(out) :: extents(:)
        integer(int64), allocatable, intent(out), optional :: whole(:), at(:)
        integer(int64) :: found(7, 3)
        integer(c_int) :: rank

        call look_up(self, name, rank, found)
        if (rank < 0) return
        extents = int(found(:rank, 1), kind(extents))
        if (present(whole)) whole = int(found(:rank, 2), kind(extents))
        if (present(at)) at = int(found(:rank, 3), kind(extents))
    end subroutine stored_i64

    subroutine index_i32_i32(self, name, indices, whole, first, copies)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(in) :: indices(:)
        integer(int32), intent(in) :: whole
        integer(int32), intent(in), optional :: first
        character(len=*), intent(in), optional :: copies
        integer(int64) :: from

        from = 1
        if (present(first)) from = first
        call put_index_i32(self, name, indices, size(indices, kind=int64), from, int(whole, int64), &
            copies)
    end subroutine index_i32_i32

    subroutine index_i32_i64(self, name, indices, whole, first, copies)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(in) :: indices(:)
        integer(int64), intent(in) :: whole
        integer(int64), intent(in), optional :: first
        character(len=*), intent(in), optional :: copies
        integer(int64) :: from

        from = 1
        if (present(first)) from = first
        call put_index_i32(self, name, indices, size(indices, kind=int64), from, int(whole, int64), &
            copies)
    end subroutine index_i32_i64

    !> The compiler makes a copy of indices that do not lie one after the other.
    subroutine put_index_i32(self, name, indices, number, first, whole, copies)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(in), target :: indices(*)
        integer(int64), intent(in) :: number, first, whole
        character(len=*), intent(in), optional :: copies
        type(c_ptr) :: place
        integer(int32) :: status

        call set_options(self, name, copies=copies)
        place = c_null_ptr
        if (number > 0) place = c_loc(indices(1))
        status = c_index(self%handle, trim(name)//c_null_char, place, &
            WHOLE_NUMBER + storage_size(indices, c_int)/8_c_int, number, first, whole)
    end subroutine put_index_i32

    subroutine index_i64_i32(self, name, indices, whole, first, copies)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: indices(:)
        integer(int32), intent(in) :: whole
        integer(int32), intent(in), optional :: first
        character(len=*), intent(in), optional :: copies
        integer(int64) :: from

        from = 1
        if (present(first)) from = first
        call put_index_i64(self, name, indices, size(indices, kind=int64), from, int(whole, int64), &
            copies)
    end subroutine index_i64_i32

    subroutine index_i64_i64(self, name, indices, whole, first, copies)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: indices(:)
        integer(int64), intent(in) :: whole
        integer(int64), intent(in), optional :: first
        character(len=*), intent(in), optional :: copies
        integer(int64) :: from

        from = 1
        if (present(first)) from = first
        call put_index_i64(self, name, indices, size(indices, kind=int64), from, int(whole, int64), &
            copies)
    end subroutine index_i64_i64

    !> The compiler makes a copy of indices that do not lie one after the other.
    subroutine put_index_i64(self, name, indices, number, first, whole, copies)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in), target :: indices(*)
        integer(int64), intent(in) :: number, first, whole
        character(len=*), intent(in), optional :: copies
        type(c_ptr) :: place
        integer(int32) :: status

        call set_options(self, name, copies=copies)
        place = c_null_ptr
        if (number > 0) place = c_loc(indices(1))
        status = c_index(self%handle, trim(name)//c_null_char, place, &
            WHOLE_NUMBER + storage_size(indices, c_int)/8_c_int, number, first, whole)
    end subroutine put_index_i64

    subroutine put_bag(self, name, number, key, owner)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout) :: number
        character(len=*), intent(in), optional :: key
        procedure(scr_owner), optional :: owner
        integer(int32) :: status

        if (present(owner) .and. .not. present(key)) then
            call refuse(self, name, "an owner needs the name of a key")
        else if (present(owner)) then
            owners => owner
            status = c_bag_by_key(self%handle, trim(name)//c_null_char, number, trim(key)//c_null_char, &
                c_funloc(tell_owners), c_null_ptr)
            owners => null()
        else if (present(key)) then
            status = c_bag_by_key(self%handle, trim(name)//c_null_char, number, trim(key)//c_null_char, &
                c_null_funptr, c_null_ptr)
        else
            status = c_bag(self%handle, trim(name)//c_null_char, number)
        end if
    end subroutine put_bag

    !> C calls this for the owners of elements, with the NULL pointer that it was given.
    function tell_owners(keys, number, ranks, context) bind(C, name="scr_fortran_owners") result(status)
        integer(c_int64_t), value, intent(in) :: number
        integer(c_int64_t), intent(in) :: keys(number)
        integer(c_int), intent(inout) :: ranks(number)
        type(c_ptr), value, intent(in) :: context
        integer(c_int) :: status

        call owners(keys, ranks)
        status = merge(FAILURE, SCR_SUCCESS, c_associated(context))
    end function tell_owners

    !> The stored extents of a field, those of its whole, and the place at which it begins there, from 1 on; 0 in the
    !> dimension of the indices if it goes by index.
    !> The rank is -1 if the checkpoint has no such field.
    subroutine look_up(self, name, rank, found)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(c_int), intent(out) :: rank
        integer(int64), intent(out) :: found(7, 3)
        integer(c_int) :: kind
        integer(int32) :: status

        rank = -1
        kind = 0
        found = 0
        status = c_stored(self%handle, trim(name)//c_null_char, kind, rank, found(:, 1), found(:, 2), &
            found(:, 3))
        if (any(found(:, 2) > 0 .or. found(:, 3) < 0)) found(:, 3) = found(:, 3) + 1
    end subroutine look_up

    !> True if the program's variables of the kind int32 have room for these numbers.
    function are_narrow(self, name, numbers)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(in) :: numbers(:)
        logical :: are_narrow

        are_narrow = all(abs(numbers) <= huge(0_int32))
        if (.not. are_narrow) call refuse(self, name, "a number needs a variable of the kind int64")
    end function are_narrow

    subroutine set_options(self, name, missing, kind, copies, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: missing, kind, copies, where
        integer(c_int) :: options
        integer(int32) :: status

        if (.not. c_associated(self%handle)) call c_report("scr_state"//c_null_char, &
            'field "'//trim(name)//'" is listed outside of the routine that lists the state'//c_null_char)
        options = 0
        if (asked(self, name, "keep", missing)) options = options + KEEP_IF_MISSING
        if (asked(self, name, "convert", kind)) options = options + CONVERT
        if (asked(self, name, "equal", copies)) options = options + SHARED
        if (present(where)) then
            select case (where)
            case ("device")
                options = options + ON_DEVICE
            case ("host")
                options = options + ON_HOST
            case ("")
            case default
                call refuse(self, name, '"'//trim(where)//'" is no option; "device" and "host" are')
            end select
        end if
        status = c_next_field(self%handle, options)
    end subroutine set_options

    !> True if an argument has the only word that is allowed for it.
    function asked(self, name, word, given_word)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name, word
        character(len=*), intent(in), optional :: given_word
        logical :: asked

        asked = .false.
        if (.not. present(given_word)) return
        asked = given_word == word
        if (.not. asked .and. given_word /= "") &
            call refuse(self, name, '"'//trim(given_word)//'" is no option; "'//word//'" is')
    end function asked

    subroutine put_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        type(field_memory), intent(in) :: data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        if (present(index) .and. (present(whole) .or. present(at))) then
            call refuse(self, name, "it goes by an index list, or has whole and at, but not both")
        else if (present(whole) .and. present(at)) then
            call put(self, name, data, int(whole, int64), int(at, int64), missing, kind, where)
        else if (present(whole) .or. present(at)) then
            call refuse(self, name, "whole and at come together")
        else
            call put_array(self, name, data, OWN, missing, kind, index=index, where=where)
        end if
    end subroutine put_i32

    subroutine put_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        type(field_memory), intent(in) :: data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        if (size(whole) /= data%rank .or. size(at) /= data%rank) then
            call refuse(self, name, "whole and at must have as many numbers as the array has dimensions")
        else if (any(at < 1)) then
            call refuse(self, name, "at counts from 1")
        else
            call put_array(self, name, data, PART, missing, kind, whole, at, where=where)
        end if
    end subroutine put_i64

    !> The role of an allocatable array.
    function role_of(self, name, ranks) result(role)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: ranks
        integer :: role

        role = merge(SAME_ON_ALL, OWN, asked(self, name, "same", ranks))
    end function role_of

    subroutine put_array(self, name, data, role, missing, kind, whole, at, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        type(field_memory), intent(in) :: data
        integer, intent(in) :: role
        character(len=*), intent(in), optional :: missing, kind
        integer(int64), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: index, where
        integer(int64), target :: strides(7), in_whole(7, 2)
        type(c_ptr) :: places(2)
        integer(int32) :: status

        call set_options(self, name, missing, kind, where=where)
        strides = (data%places(1:) - data%places(0))/max(1_int64, data%extents - 1)
        places = c_null_ptr
        if (present(whole)) then
            in_whole(:data%rank, 1) = whole
            in_whole(:data%rank, 2) = at - 1
            places = [c_loc(in_whole(1, 1)), c_loc(in_whole(1, 2))]
        end if
        if (present(index)) then
            status = c_field_by_index(self%handle, trim(name)//c_null_char, trim(index)//c_null_char, &
                transfer(data%places(0), c_null_ptr), data%kind, data%rank, data%extents, c_loc(strides))
        else if (role == SAME_ON_ALL) then
            status = c_same(self%handle, trim(name)//c_null_char, transfer(data%places(0), c_null_ptr), &
                data%kind, data%rank, data%extents, c_loc(strides))
        else
            status = c_field(self%handle, trim(name)//c_null_char, transfer(data%places(0), c_null_ptr), &
                data%kind, data%rank, data%extents, c_loc(strides), places(1), places(2))
        end if
    end subroutine put_array

    !> The plan for an allocatable array of the extents n: if the checkpoint has the array, n become its stored
    !> extents. is_new is true if the program's array must get them now.
    subroutine plan(self, name, n, is_new)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout) :: n(:)
        logical, intent(out) :: is_new
        integer(int64) :: found(7, 3)
        integer(c_int) :: rank

        is_new = .false.
        call look_up(self, name, rank, found)
        if (rank /= size(n)) return
        is_new = self%pass() == SCR_PASS_READ .and. any(n /= found(:rank, 1))
        n = found(:rank, 1)
    end subroutine plan

    !> The memory of elements that have no address yet, or of no elements.
    function memory_to_come(class, bits, n) result(memory)
        integer(c_int), intent(in) :: class
        integer(int64), intent(in) :: bits, n(:)
        type(field_memory) :: memory
        integer(int64) :: bytes
        integer :: dim

        bytes = bits/8
        ! C refuses the kind 0, which elements get that are too large for it.
        if (bytes < WHOLE_NUMBER) memory%kind = class + int(bytes, c_int)
        memory%rank = size(n, kind=c_int)
        memory%extents(:size(n)) = max(0_int64, n)
        memory%places = transfer(c_loc(nowhere), 0_c_intptr_t)
        do dim = 1, size(n)
            memory%places(dim) = memory%places(0) + (memory%extents(dim) - 1)*bytes
            bytes = bytes*max(1_int64, memory%extents(dim))
        end do
    end function memory_to_come

    ! ---- Fields, by type, kind and rank. ----

    ! The following functions find the elements of an array of any type, once for each rank. Calls of a program name
    ! types, so that its compiler refuses others. An assumed rank would make one procedure of those for each rank, but
    ! gfortran refuses it in Fortran 2008, and flang 19 in procedures of Fortran. A dummy of class(*) takes arrays as
    ! they are: a compiler makes no copy to pass one, also if it is not contiguous. (For its shape gfortran 12 makes
    ! code that -fsanitize=alignment refuses, but not for its size.)
    !
    ! An array may be on a device: its elements are not accessed here, only their addresses are taken. nvfortran passes
    ! arrays with the attribute device to procedures that ignore it; for others the directive is a comment.

    !> The address of an element, whose type matters to C_LOC alone.
    function place(element)
        class(*), intent(in), target :: element
        integer(c_intptr_t) :: place

        place = 0
        select type (element)
        type is (integer(int8))
            place = transfer(c_loc(element), place)
        type is (integer(int16))
            place = transfer(c_loc(element), place)
        type is (integer(int32))
            place = transfer(c_loc(element), place)
        type is (integer(int64))
            place = transfer(c_loc(element), place)
#ifdef SCRF_INTEGER_16
        type is (integer(16))
            place = transfer(c_loc(element), place)
#endif
        type is (real(real32))
            place = transfer(c_loc(element), place)
        type is (real(real64))
            place = transfer(c_loc(element), place)
#ifdef SCRF_REAL_10
        type is (real(10))
            place = transfer(c_loc(element), place)
#endif
#ifdef SCRF_REAL_16
        type is (real(16))
            place = transfer(c_loc(element), place)
#endif
        type is (complex(real32))
            place = transfer(c_loc(element), place)
        type is (complex(real64))
            place = transfer(c_loc(element), place)
#ifdef SCRF_REAL_10
        type is (complex(10))
            place = transfer(c_loc(element), place)
#endif
#ifdef SCRF_REAL_16
        type is (complex(16))
            place = transfer(c_loc(element), place)
#endif
        type is (logical(int8))
            place = transfer(c_loc(element), place)
        type is (logical(int16))
            place = transfer(c_loc(element), place)
        type is (logical(int32))
            place = transfer(c_loc(element), place)
        type is (logical(int64))
            place = transfer(c_loc(element), place)
#ifdef SCRF_LOGICAL_16
        type is (logical(16))
            place = transfer(c_loc(element), place)
#endif
        type is (character(len=*))
            place = transfer(c_loc(element), place)
        end select
    end function place

    function memory_of_0(data, class, bits) result(memory)
        class(*), intent(in), target :: data
        integer(c_int), intent(in) :: class
        integer(int64), intent(in) :: bits
        type(field_memory) :: memory

        memory = memory_to_come(class, bits, [integer(int64) ::])
        memory%places(0) = place(data)
    end function memory_of_0

    function memory_of_1(data, class, bits) result(memory)
        class(*), intent(in), target :: data(:)
        integer(c_int), intent(in) :: class
        integer(int64), intent(in) :: bits
        type(field_memory) :: memory
        integer(int64) :: n(1)

        n(1) = size(data, 1, int64)
        memory = memory_to_come(class, bits, n)
        if (any(n == 0)) return
        memory%places(0) = place(data(1))
        memory%places(1) = place(data(n(1)))
    end function memory_of_1

    function memory_of_2(data, class, bits) result(memory)
        class(*), intent(in), target :: data(:, :)
        integer(c_int), intent(in) :: class
        integer(int64), intent(in) :: bits
        type(field_memory) :: memory
        integer(int64) :: n(2)

        n(1) = size(data, 1, int64)
        n(2) = size(data, 2, int64)
        memory = memory_to_come(class, bits, n)
        if (any(n == 0)) return
        memory%places(0) = place(data(1, 1))
        memory%places(1) = place(data(n(1), 1))
        memory%places(2) = place(data(1, n(2)))
    end function memory_of_2

    function memory_of_3(data, class, bits) result(memory)
        class(*), intent(in), target :: data(:, :, :)
        integer(c_int), intent(in) :: class
        integer(int64), intent(in) :: bits
        type(field_memory) :: memory
        integer(int64) :: n(3)

        n(1) = size(data, 1, int64)
        n(2) = size(data, 2, int64)
        n(3) = size(data, 3, int64)
        memory = memory_to_come(class, bits, n)
        if (any(n == 0)) return
        memory%places(0) = place(data(1, 1, 1))
        memory%places(1) = place(data(n(1), 1, 1))
        memory%places(2) = place(data(1, n(2), 1))
        memory%places(3) = place(data(1, 1, n(3)))
    end function memory_of_3

    function memory_of_4(data, class, bits) result(memory)
        class(*), intent(in), target :: data(:, :, :, :)
        integer(c_int), intent(in) :: class
        integer(int64), intent(in) :: bits
        type(field_memory) :: memory
        integer(int64) :: n(4)

        n(1) = size(data, 1, int64)
        n(2) = size(data, 2, int64)
        n(3) = size(data, 3, int64)
        n(4) = size(data, 4, int64)
        memory = memory_to_come(class, bits, n)
        if (any(n == 0)) return
        memory%places(0) = place(data(1, 1, 1, 1))
        memory%places(1) = place(data(n(1), 1, 1, 1))
        memory%places(2) = place(data(1, n(2), 1, 1))
        memory%places(3) = place(data(1, 1, n(3), 1))
        memory%places(4) = place(data(1, 1, 1, n(4)))
    end function memory_of_4

    function memory_of_5(data, class, bits) result(memory)
        class(*), intent(in), target :: data(:, :, :, :, :)
        integer(c_int), intent(in) :: class
        integer(int64), intent(in) :: bits
        type(field_memory) :: memory
        integer(int64) :: n(5)

        n(1) = size(data, 1, int64)
        n(2) = size(data, 2, int64)
        n(3) = size(data, 3, int64)
        n(4) = size(data, 4, int64)
        n(5) = size(data, 5, int64)
        memory = memory_to_come(class, bits, n)
        if (any(n == 0)) return
        memory%places(0) = place(data(1, 1, 1, 1, 1))
        memory%places(1) = place(data(n(1), 1, 1, 1, 1))
        memory%places(2) = place(data(1, n(2), 1, 1, 1))
        memory%places(3) = place(data(1, 1, n(3), 1, 1))
        memory%places(4) = place(data(1, 1, 1, n(4), 1))
        memory%places(5) = place(data(1, 1, 1, 1, n(5)))
    end function memory_of_5

    function memory_of_6(data, class, bits) result(memory)
        class(*), intent(in), target :: data(:, :, :, :, :, :)
        integer(c_int), intent(in) :: class
        integer(int64), intent(in) :: bits
        type(field_memory) :: memory
        integer(int64) :: n(6)

        n(1) = size(data, 1, int64)
        n(2) = size(data, 2, int64)
        n(3) = size(data, 3, int64)
        n(4) = size(data, 4, int64)
        n(5) = size(data, 5, int64)
        n(6) = size(data, 6, int64)
        memory = memory_to_come(class, bits, n)
        if (any(n == 0)) return
        memory%places(0) = place(data(1, 1, 1, 1, 1, 1))
        memory%places(1) = place(data(n(1), 1, 1, 1, 1, 1))
        memory%places(2) = place(data(1, n(2), 1, 1, 1, 1))
        memory%places(3) = place(data(1, 1, n(3), 1, 1, 1))
        memory%places(4) = place(data(1, 1, 1, n(4), 1, 1))
        memory%places(5) = place(data(1, 1, 1, 1, n(5), 1))
        memory%places(6) = place(data(1, 1, 1, 1, 1, n(6)))
    end function memory_of_6

    function memory_of_7(data, class, bits) result(memory)
        class(*), intent(in), target :: data(:, :, :, :, :, :, :)
        integer(c_int), intent(in) :: class
        integer(int64), intent(in) :: bits
        type(field_memory) :: memory
        integer(int64) :: n(7)

        n(1) = size(data, 1, int64)
        n(2) = size(data, 2, int64)
        n(3) = size(data, 3, int64)
        n(4) = size(data, 4, int64)
        n(5) = size(data, 5, int64)
        n(6) = size(data, 6, int64)
        n(7) = size(data, 7, int64)
        memory = memory_to_come(class, bits, n)
        if (any(n == 0)) return
        memory%places(0) = place(data(1, 1, 1, 1, 1, 1, 1))
        memory%places(1) = place(data(n(1), 1, 1, 1, 1, 1, 1))
        memory%places(2) = place(data(1, n(2), 1, 1, 1, 1, 1))
        memory%places(3) = place(data(1, 1, n(3), 1, 1, 1, 1))
        memory%places(4) = place(data(1, 1, 1, n(4), 1, 1, 1))
        memory%places(5) = place(data(1, 1, 1, 1, n(5), 1, 1))
        memory%places(6) = place(data(1, 1, 1, 1, 1, n(6), 1))
        memory%places(7) = place(data(1, 1, 1, 1, 1, 1, n(7)))
    end function memory_of_7


    subroutine field_i8_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_i8_0_i32

    subroutine same_i8_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i8_0

    subroutine field_i8_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i8_1_i32

    subroutine field_i8_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i8_1_i64

    subroutine same_i8_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i8_1

    subroutine array_i8_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i8_1

    subroutine field_i8_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i8_2_i32

    subroutine field_i8_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i8_2_i64

    subroutine same_i8_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i8_2

    subroutine array_i8_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i8_2

    subroutine field_i8_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i8_3_i32

    subroutine field_i8_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i8_3_i64

    subroutine same_i8_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i8_3

    subroutine array_i8_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i8_3

    subroutine field_i8_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i8_4_i32

    subroutine field_i8_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i8_4_i64

    subroutine same_i8_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i8_4

    subroutine array_i8_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i8_4

    subroutine field_i8_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i8_5_i32

    subroutine field_i8_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i8_5_i64

    subroutine same_i8_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i8_5

    subroutine array_i8_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i8_5

    subroutine field_i8_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i8_6_i32

    subroutine field_i8_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i8_6_i64

    subroutine same_i8_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i8_6

    subroutine array_i8_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i8_6

    subroutine field_i8_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i8_7_i32

    subroutine field_i8_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i8_7_i64

    subroutine same_i8_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i8_7

    subroutine array_i8_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int8), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i8_7



    subroutine field_i16_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_i16_0_i32

    subroutine same_i16_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i16_0

    subroutine field_i16_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i16_1_i32

    subroutine field_i16_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i16_1_i64

    subroutine same_i16_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i16_1

    subroutine array_i16_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i16_1

    subroutine field_i16_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i16_2_i32

    subroutine field_i16_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i16_2_i64

    subroutine same_i16_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i16_2

    subroutine array_i16_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i16_2

    subroutine field_i16_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i16_3_i32

    subroutine field_i16_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i16_3_i64

    subroutine same_i16_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i16_3

    subroutine array_i16_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i16_3

    subroutine field_i16_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i16_4_i32

    subroutine field_i16_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i16_4_i64

    subroutine same_i16_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i16_4

    subroutine array_i16_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i16_4

    subroutine field_i16_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i16_5_i32

    subroutine field_i16_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i16_5_i64

    subroutine same_i16_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i16_5

    subroutine array_i16_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i16_5

    subroutine field_i16_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i16_6_i32

    subroutine field_i16_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i16_6_i64

    subroutine same_i16_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i16_6

    subroutine array_i16_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i16_6

    subroutine field_i16_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i16_7_i32

    subroutine field_i16_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i16_7_i64

    subroutine same_i16_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i16_7

    subroutine array_i16_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int16), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i16_7



    subroutine field_i32_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_i32_0_i32

    subroutine same_i32_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i32_0

    subroutine field_i32_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i32_1_i32

    subroutine field_i32_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i32_1_i64

    subroutine same_i32_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i32_1

    subroutine array_i32_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i32_1

    subroutine field_i32_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i32_2_i32

    subroutine field_i32_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i32_2_i64

    subroutine same_i32_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i32_2

    subroutine array_i32_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i32_2

    subroutine field_i32_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i32_3_i32

    subroutine field_i32_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i32_3_i64

    subroutine same_i32_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i32_3

    subroutine array_i32_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i32_3

    subroutine field_i32_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i32_4_i32

    subroutine field_i32_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i32_4_i64

    subroutine same_i32_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i32_4

    subroutine array_i32_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i32_4

    subroutine field_i32_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i32_5_i32

    subroutine field_i32_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i32_5_i64

    subroutine same_i32_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i32_5

    subroutine array_i32_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i32_5

    subroutine field_i32_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i32_6_i32

    subroutine field_i32_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i32_6_i64

    subroutine same_i32_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i32_6

    subroutine array_i32_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i32_6

    subroutine field_i32_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i32_7_i32

    subroutine field_i32_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i32_7_i64

    subroutine same_i32_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i32_7

    subroutine array_i32_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int32), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i32_7



    subroutine field_i64_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_i64_0_i32

    subroutine same_i64_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i64_0

    subroutine field_i64_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i64_1_i32

    subroutine field_i64_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i64_1_i64

    subroutine same_i64_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i64_1

    subroutine array_i64_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i64_1

    subroutine field_i64_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i64_2_i32

    subroutine field_i64_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i64_2_i64

    subroutine same_i64_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i64_2

    subroutine array_i64_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i64_2

    subroutine field_i64_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i64_3_i32

    subroutine field_i64_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i64_3_i64

    subroutine same_i64_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i64_3

    subroutine array_i64_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i64_3

    subroutine field_i64_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i64_4_i32

    subroutine field_i64_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i64_4_i64

    subroutine same_i64_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i64_4

    subroutine array_i64_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i64_4

    subroutine field_i64_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i64_5_i32

    subroutine field_i64_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i64_5_i64

    subroutine same_i64_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i64_5

    subroutine array_i64_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i64_5

    subroutine field_i64_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i64_6_i32

    subroutine field_i64_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i64_6_i64

    subroutine same_i64_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i64_6

    subroutine array_i64_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i64_6

    subroutine field_i64_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i64_7_i32

    subroutine field_i64_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i64_7_i64

    subroutine same_i64_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i64_7

    subroutine array_i64_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(int64), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i64_7


#ifdef SCRF_INTEGER_16

    subroutine field_i128_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_i128_0_i32

    subroutine same_i128_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i128_0

    subroutine field_i128_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i128_1_i32

    subroutine field_i128_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i128_1_i64

    subroutine same_i128_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i128_1

    subroutine array_i128_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i128_1

    subroutine field_i128_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i128_2_i32

    subroutine field_i128_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i128_2_i64

    subroutine same_i128_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i128_2

    subroutine array_i128_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i128_2

    subroutine field_i128_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i128_3_i32

    subroutine field_i128_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i128_3_i64

    subroutine same_i128_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i128_3

    subroutine array_i128_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i128_3

    subroutine field_i128_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i128_4_i32

    subroutine field_i128_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i128_4_i64

    subroutine same_i128_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i128_4

    subroutine array_i128_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i128_4

    subroutine field_i128_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i128_5_i32

    subroutine field_i128_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i128_5_i64

    subroutine same_i128_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i128_5

    subroutine array_i128_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i128_5

    subroutine field_i128_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i128_6_i32

    subroutine field_i128_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i128_6_i64

    subroutine same_i128_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i128_6

    subroutine array_i128_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i128_6

    subroutine field_i128_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_i128_7_i32

    subroutine field_i128_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_i128_7_i64

    subroutine same_i128_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, WHOLE_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_i128_7

    subroutine array_i128_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        integer(16), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(WHOLE_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, WHOLE_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_i128_7

#endif


    subroutine field_r32_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_r32_0_i32

    subroutine same_r32_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r32_0

    subroutine field_r32_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r32_1_i32

    subroutine field_r32_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r32_1_i64

    subroutine same_r32_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r32_1

    subroutine array_r32_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r32_1

    subroutine field_r32_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r32_2_i32

    subroutine field_r32_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r32_2_i64

    subroutine same_r32_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r32_2

    subroutine array_r32_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r32_2

    subroutine field_r32_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r32_3_i32

    subroutine field_r32_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r32_3_i64

    subroutine same_r32_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r32_3

    subroutine array_r32_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r32_3

    subroutine field_r32_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r32_4_i32

    subroutine field_r32_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r32_4_i64

    subroutine same_r32_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r32_4

    subroutine array_r32_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r32_4

    subroutine field_r32_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r32_5_i32

    subroutine field_r32_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r32_5_i64

    subroutine same_r32_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r32_5

    subroutine array_r32_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r32_5

    subroutine field_r32_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r32_6_i32

    subroutine field_r32_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r32_6_i64

    subroutine same_r32_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r32_6

    subroutine array_r32_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r32_6

    subroutine field_r32_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r32_7_i32

    subroutine field_r32_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r32_7_i64

    subroutine same_r32_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r32_7

    subroutine array_r32_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real32), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r32_7



    subroutine field_r64_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_r64_0_i32

    subroutine same_r64_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r64_0

    subroutine field_r64_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r64_1_i32

    subroutine field_r64_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r64_1_i64

    subroutine same_r64_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r64_1

    subroutine array_r64_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r64_1

    subroutine field_r64_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r64_2_i32

    subroutine field_r64_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r64_2_i64

    subroutine same_r64_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r64_2

    subroutine array_r64_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r64_2

    subroutine field_r64_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r64_3_i32

    subroutine field_r64_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r64_3_i64

    subroutine same_r64_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r64_3

    subroutine array_r64_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r64_3

    subroutine field_r64_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r64_4_i32

    subroutine field_r64_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r64_4_i64

    subroutine same_r64_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r64_4

    subroutine array_r64_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r64_4

    subroutine field_r64_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r64_5_i32

    subroutine field_r64_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r64_5_i64

    subroutine same_r64_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r64_5

    subroutine array_r64_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r64_5

    subroutine field_r64_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r64_6_i32

    subroutine field_r64_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r64_6_i64

    subroutine same_r64_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r64_6

    subroutine array_r64_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r64_6

    subroutine field_r64_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r64_7_i32

    subroutine field_r64_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r64_7_i64

    subroutine same_r64_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r64_7

    subroutine array_r64_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(real64), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r64_7


#ifdef SCRF_REAL_10

    subroutine field_r80_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_r80_0_i32

    subroutine same_r80_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r80_0

    subroutine field_r80_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r80_1_i32

    subroutine field_r80_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r80_1_i64

    subroutine same_r80_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r80_1

    subroutine array_r80_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_REAL, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_REAL, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r80_1

    subroutine field_r80_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r80_2_i32

    subroutine field_r80_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r80_2_i64

    subroutine same_r80_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r80_2

    subroutine array_r80_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_REAL, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_REAL, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r80_2

    subroutine field_r80_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r80_3_i32

    subroutine field_r80_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r80_3_i64

    subroutine same_r80_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r80_3

    subroutine array_r80_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_REAL, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_REAL, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r80_3

    subroutine field_r80_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r80_4_i32

    subroutine field_r80_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r80_4_i64

    subroutine same_r80_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r80_4

    subroutine array_r80_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_REAL, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_REAL, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r80_4

    subroutine field_r80_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r80_5_i32

    subroutine field_r80_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r80_5_i64

    subroutine same_r80_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r80_5

    subroutine array_r80_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_REAL, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_REAL, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r80_5

    subroutine field_r80_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r80_6_i32

    subroutine field_r80_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r80_6_i64

    subroutine same_r80_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r80_6

    subroutine array_r80_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_REAL, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_REAL, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r80_6

    subroutine field_r80_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r80_7_i32

    subroutine field_r80_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r80_7_i64

    subroutine same_r80_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_REAL, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r80_7

    subroutine array_r80_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(10), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_REAL, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_REAL, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r80_7

#endif

#ifdef SCRF_REAL_16

    subroutine field_r128_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_r128_0_i32

    subroutine same_r128_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r128_0

    subroutine field_r128_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r128_1_i32

    subroutine field_r128_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r128_1_i64

    subroutine same_r128_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r128_1

    subroutine array_r128_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r128_1

    subroutine field_r128_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r128_2_i32

    subroutine field_r128_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r128_2_i64

    subroutine same_r128_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r128_2

    subroutine array_r128_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r128_2

    subroutine field_r128_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r128_3_i32

    subroutine field_r128_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r128_3_i64

    subroutine same_r128_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r128_3

    subroutine array_r128_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r128_3

    subroutine field_r128_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r128_4_i32

    subroutine field_r128_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r128_4_i64

    subroutine same_r128_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r128_4

    subroutine array_r128_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r128_4

    subroutine field_r128_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r128_5_i32

    subroutine field_r128_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r128_5_i64

    subroutine same_r128_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r128_5

    subroutine array_r128_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r128_5

    subroutine field_r128_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r128_6_i32

    subroutine field_r128_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r128_6_i64

    subroutine same_r128_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r128_6

    subroutine array_r128_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r128_6

    subroutine field_r128_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_r128_7_i32

    subroutine field_r128_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_r128_7_i64

    subroutine same_r128_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, REAL_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_r128_7

    subroutine array_r128_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        real(16), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(REAL_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, REAL_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_r128_7

#endif


    subroutine field_c32_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_c32_0_i32

    subroutine same_c32_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c32_0

    subroutine field_c32_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c32_1_i32

    subroutine field_c32_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c32_1_i64

    subroutine same_c32_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c32_1

    subroutine array_c32_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c32_1

    subroutine field_c32_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c32_2_i32

    subroutine field_c32_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c32_2_i64

    subroutine same_c32_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c32_2

    subroutine array_c32_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c32_2

    subroutine field_c32_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c32_3_i32

    subroutine field_c32_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c32_3_i64

    subroutine same_c32_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c32_3

    subroutine array_c32_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c32_3

    subroutine field_c32_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c32_4_i32

    subroutine field_c32_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c32_4_i64

    subroutine same_c32_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c32_4

    subroutine array_c32_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c32_4

    subroutine field_c32_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c32_5_i32

    subroutine field_c32_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c32_5_i64

    subroutine same_c32_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c32_5

    subroutine array_c32_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c32_5

    subroutine field_c32_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c32_6_i32

    subroutine field_c32_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c32_6_i64

    subroutine same_c32_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c32_6

    subroutine array_c32_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c32_6

    subroutine field_c32_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c32_7_i32

    subroutine field_c32_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c32_7_i64

    subroutine same_c32_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c32_7

    subroutine array_c32_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real32), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c32_7



    subroutine field_c64_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_c64_0_i32

    subroutine same_c64_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c64_0

    subroutine field_c64_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c64_1_i32

    subroutine field_c64_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c64_1_i64

    subroutine same_c64_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c64_1

    subroutine array_c64_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c64_1

    subroutine field_c64_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c64_2_i32

    subroutine field_c64_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c64_2_i64

    subroutine same_c64_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c64_2

    subroutine array_c64_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c64_2

    subroutine field_c64_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c64_3_i32

    subroutine field_c64_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c64_3_i64

    subroutine same_c64_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c64_3

    subroutine array_c64_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c64_3

    subroutine field_c64_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c64_4_i32

    subroutine field_c64_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c64_4_i64

    subroutine same_c64_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c64_4

    subroutine array_c64_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c64_4

    subroutine field_c64_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c64_5_i32

    subroutine field_c64_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c64_5_i64

    subroutine same_c64_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c64_5

    subroutine array_c64_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c64_5

    subroutine field_c64_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c64_6_i32

    subroutine field_c64_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c64_6_i64

    subroutine same_c64_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c64_6

    subroutine array_c64_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c64_6

    subroutine field_c64_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c64_7_i32

    subroutine field_c64_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c64_7_i64

    subroutine same_c64_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c64_7

    subroutine array_c64_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(real64), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c64_7


#ifdef SCRF_REAL_10

    subroutine field_c80_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_c80_0_i32

    subroutine same_c80_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c80_0

    subroutine field_c80_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c80_1_i32

    subroutine field_c80_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c80_1_i64

    subroutine same_c80_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c80_1

    subroutine array_c80_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_COMPLEX, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c80_1

    subroutine field_c80_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c80_2_i32

    subroutine field_c80_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c80_2_i64

    subroutine same_c80_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c80_2

    subroutine array_c80_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_COMPLEX, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c80_2

    subroutine field_c80_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c80_3_i32

    subroutine field_c80_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c80_3_i64

    subroutine same_c80_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c80_3

    subroutine array_c80_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_COMPLEX, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c80_3

    subroutine field_c80_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c80_4_i32

    subroutine field_c80_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c80_4_i64

    subroutine same_c80_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c80_4

    subroutine array_c80_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_COMPLEX, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c80_4

    subroutine field_c80_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c80_5_i32

    subroutine field_c80_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c80_5_i64

    subroutine same_c80_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c80_5

    subroutine array_c80_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_COMPLEX, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c80_5

    subroutine field_c80_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c80_6_i32

    subroutine field_c80_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c80_6_i64

    subroutine same_c80_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c80_6

    subroutine array_c80_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_COMPLEX, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c80_6

    subroutine field_c80_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c80_7_i32

    subroutine field_c80_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c80_7_i64

    subroutine same_c80_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c80_7

    subroutine array_c80_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(10), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(EXTENDED_COMPLEX, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, EXTENDED_COMPLEX, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c80_7

#endif

#ifdef SCRF_REAL_16

    subroutine field_c128_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_c128_0_i32

    subroutine same_c128_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c128_0

    subroutine field_c128_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c128_1_i32

    subroutine field_c128_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c128_1_i64

    subroutine same_c128_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c128_1

    subroutine array_c128_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c128_1

    subroutine field_c128_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c128_2_i32

    subroutine field_c128_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c128_2_i64

    subroutine same_c128_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c128_2

    subroutine array_c128_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c128_2

    subroutine field_c128_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c128_3_i32

    subroutine field_c128_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c128_3_i64

    subroutine same_c128_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c128_3

    subroutine array_c128_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c128_3

    subroutine field_c128_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c128_4_i32

    subroutine field_c128_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c128_4_i64

    subroutine same_c128_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c128_4

    subroutine array_c128_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c128_4

    subroutine field_c128_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c128_5_i32

    subroutine field_c128_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c128_5_i64

    subroutine same_c128_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c128_5

    subroutine array_c128_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c128_5

    subroutine field_c128_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c128_6_i32

    subroutine field_c128_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c128_6_i64

    subroutine same_c128_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c128_6

    subroutine array_c128_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c128_6

    subroutine field_c128_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_c128_7_i32

    subroutine field_c128_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_c128_7_i64

    subroutine same_c128_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, COMPLEX_NUMBER, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_c128_7

    subroutine array_c128_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        complex(16), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(COMPLEX_NUMBER, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, COMPLEX_NUMBER, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_c128_7

#endif


    subroutine field_l8_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_l8_0_i32

    subroutine same_l8_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l8_0

    subroutine field_l8_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l8_1_i32

    subroutine field_l8_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l8_1_i64

    subroutine same_l8_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l8_1

    subroutine array_l8_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l8_1

    subroutine field_l8_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l8_2_i32

    subroutine field_l8_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l8_2_i64

    subroutine same_l8_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l8_2

    subroutine array_l8_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l8_2

    subroutine field_l8_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l8_3_i32

    subroutine field_l8_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l8_3_i64

    subroutine same_l8_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l8_3

    subroutine array_l8_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l8_3

    subroutine field_l8_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l8_4_i32

    subroutine field_l8_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l8_4_i64

    subroutine same_l8_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l8_4

    subroutine array_l8_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l8_4

    subroutine field_l8_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l8_5_i32

    subroutine field_l8_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l8_5_i64

    subroutine same_l8_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l8_5

    subroutine array_l8_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l8_5

    subroutine field_l8_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l8_6_i32

    subroutine field_l8_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l8_6_i64

    subroutine same_l8_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l8_6

    subroutine array_l8_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l8_6

    subroutine field_l8_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l8_7_i32

    subroutine field_l8_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l8_7_i64

    subroutine same_l8_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l8_7

    subroutine array_l8_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int8), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l8_7



    subroutine field_l16_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_l16_0_i32

    subroutine same_l16_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l16_0

    subroutine field_l16_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l16_1_i32

    subroutine field_l16_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l16_1_i64

    subroutine same_l16_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l16_1

    subroutine array_l16_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l16_1

    subroutine field_l16_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l16_2_i32

    subroutine field_l16_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l16_2_i64

    subroutine same_l16_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l16_2

    subroutine array_l16_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l16_2

    subroutine field_l16_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l16_3_i32

    subroutine field_l16_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l16_3_i64

    subroutine same_l16_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l16_3

    subroutine array_l16_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l16_3

    subroutine field_l16_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l16_4_i32

    subroutine field_l16_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l16_4_i64

    subroutine same_l16_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l16_4

    subroutine array_l16_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l16_4

    subroutine field_l16_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l16_5_i32

    subroutine field_l16_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l16_5_i64

    subroutine same_l16_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l16_5

    subroutine array_l16_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l16_5

    subroutine field_l16_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l16_6_i32

    subroutine field_l16_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l16_6_i64

    subroutine same_l16_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l16_6

    subroutine array_l16_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l16_6

    subroutine field_l16_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l16_7_i32

    subroutine field_l16_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l16_7_i64

    subroutine same_l16_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l16_7

    subroutine array_l16_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int16), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l16_7



    subroutine field_l32_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_l32_0_i32

    subroutine same_l32_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l32_0

    subroutine field_l32_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l32_1_i32

    subroutine field_l32_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l32_1_i64

    subroutine same_l32_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l32_1

    subroutine array_l32_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l32_1

    subroutine field_l32_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l32_2_i32

    subroutine field_l32_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l32_2_i64

    subroutine same_l32_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l32_2

    subroutine array_l32_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l32_2

    subroutine field_l32_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l32_3_i32

    subroutine field_l32_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l32_3_i64

    subroutine same_l32_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l32_3

    subroutine array_l32_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l32_3

    subroutine field_l32_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l32_4_i32

    subroutine field_l32_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l32_4_i64

    subroutine same_l32_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l32_4

    subroutine array_l32_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l32_4

    subroutine field_l32_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l32_5_i32

    subroutine field_l32_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l32_5_i64

    subroutine same_l32_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l32_5

    subroutine array_l32_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l32_5

    subroutine field_l32_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l32_6_i32

    subroutine field_l32_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l32_6_i64

    subroutine same_l32_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l32_6

    subroutine array_l32_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l32_6

    subroutine field_l32_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l32_7_i32

    subroutine field_l32_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l32_7_i64

    subroutine same_l32_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l32_7

    subroutine array_l32_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int32), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l32_7



    subroutine field_l64_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_l64_0_i32

    subroutine same_l64_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l64_0

    subroutine field_l64_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l64_1_i32

    subroutine field_l64_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l64_1_i64

    subroutine same_l64_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l64_1

    subroutine array_l64_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l64_1

    subroutine field_l64_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l64_2_i32

    subroutine field_l64_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l64_2_i64

    subroutine same_l64_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l64_2

    subroutine array_l64_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l64_2

    subroutine field_l64_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l64_3_i32

    subroutine field_l64_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l64_3_i64

    subroutine same_l64_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l64_3

    subroutine array_l64_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l64_3

    subroutine field_l64_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l64_4_i32

    subroutine field_l64_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l64_4_i64

    subroutine same_l64_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l64_4

    subroutine array_l64_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l64_4

    subroutine field_l64_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l64_5_i32

    subroutine field_l64_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l64_5_i64

    subroutine same_l64_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l64_5

    subroutine array_l64_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l64_5

    subroutine field_l64_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l64_6_i32

    subroutine field_l64_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l64_6_i64

    subroutine same_l64_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l64_6

    subroutine array_l64_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l64_6

    subroutine field_l64_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l64_7_i32

    subroutine field_l64_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l64_7_i64

    subroutine same_l64_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l64_7

    subroutine array_l64_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(int64), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l64_7


#ifdef SCRF_LOGICAL_16

    subroutine field_l128_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_l128_0_i32

    subroutine same_l128_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l128_0

    subroutine field_l128_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l128_1_i32

    subroutine field_l128_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l128_1_i64

    subroutine same_l128_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l128_1

    subroutine array_l128_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l128_1

    subroutine field_l128_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l128_2_i32

    subroutine field_l128_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l128_2_i64

    subroutine same_l128_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l128_2

    subroutine array_l128_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l128_2

    subroutine field_l128_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l128_3_i32

    subroutine field_l128_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l128_3_i64

    subroutine same_l128_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l128_3

    subroutine array_l128_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l128_3

    subroutine field_l128_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l128_4_i32

    subroutine field_l128_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l128_4_i64

    subroutine same_l128_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l128_4

    subroutine array_l128_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l128_4

    subroutine field_l128_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l128_5_i32

    subroutine field_l128_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l128_5_i64

    subroutine same_l128_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l128_5

    subroutine array_l128_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l128_5

    subroutine field_l128_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l128_6_i32

    subroutine field_l128_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l128_6_i64

    subroutine same_l128_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l128_6

    subroutine array_l128_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l128_6

    subroutine field_l128_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_l128_7_i32

    subroutine field_l128_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_l128_7_i64

    subroutine same_l128_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TRUTH, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_l128_7

    subroutine array_l128_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        logical(16), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TRUTH, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TRUTH, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_l128_7

#endif


    subroutine field_text_0_i32(self, name, data, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put_array(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            OWN, missing, kind, index=index, where=where)
    end subroutine field_text_0_i32

    subroutine same_text_0(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_text_0

    subroutine field_text_1_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_text_1_i32

    subroutine field_text_1_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_text_1_i64

    subroutine same_text_1(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_text_1

    subroutine array_text_1(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), allocatable, intent(inout), target :: data(:)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(1)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TEXT, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TEXT, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_text_1

    subroutine field_text_2_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_text_2_i32

    subroutine field_text_2_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_text_2_i64

    subroutine same_text_2(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_text_2

    subroutine array_text_2(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), allocatable, intent(inout), target :: data(:, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(2)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TEXT, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TEXT, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_text_2

    subroutine field_text_3_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_text_3_i32

    subroutine field_text_3_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_text_3_i64

    subroutine same_text_3(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_text_3

    subroutine array_text_3(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), allocatable, intent(inout), target :: data(:, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(3)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TEXT, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TEXT, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_text_3

    subroutine field_text_4_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_text_4_i32

    subroutine field_text_4_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_text_4_i64

    subroutine same_text_4(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_text_4

    subroutine array_text_4(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), allocatable, intent(inout), target :: data(:, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(4)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TEXT, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TEXT, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_text_4

    subroutine field_text_5_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_text_5_i32

    subroutine field_text_5_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_text_5_i64

    subroutine same_text_5(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_text_5

    subroutine array_text_5(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), allocatable, intent(inout), target :: data(:, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(5)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TEXT, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TEXT, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_text_5

    subroutine field_text_6_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_text_6_i32

    subroutine field_text_6_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_text_6_i64

    subroutine same_text_6(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_text_6

    subroutine array_text_6(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), allocatable, intent(inout), target :: data(:, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(6)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TEXT, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TEXT, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_text_6

    subroutine field_text_7_i32(self, name, data, whole, at, missing, kind, index, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int32), intent(in), optional :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, index, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, index, where)
    end subroutine field_text_7_i32

    subroutine field_text_7_i64(self, name, data, whole, at, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        integer(int64), intent(in) :: whole(:), at(:)
        character(len=*), intent(in), optional :: missing, kind, where

        call put(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            whole, at, missing, kind, where)
    end subroutine field_text_7_i64

    subroutine same_text_7(self, name, data, missing, kind, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), intent(inout), target :: data(:, :, :, :, :, :, :)
        !dir$ ignore_tkr (d) data
        character(len=*), intent(in), optional :: missing, kind, where

        call put_array(self, name, memory_of(data, TEXT, storage_size(data, int64)), &
            SAME_ON_ALL, missing, kind, where=where)
    end subroutine same_text_7

    subroutine array_text_7(self, name, data, missing, kind, ranks, where)
        class(scr_state), intent(inout) :: self
        character(len=*), intent(in) :: name
        character(len=*), allocatable, intent(inout), target :: data(:, :, :, :, :, :, :)
        character(len=*), intent(in), optional :: missing, kind, ranks, where
        type(field_memory) :: memory
        integer(int64) :: n(7)
        logical :: is_new
        integer :: status

        n = -1
        if (allocated(data)) n = shape(data, int64)
        call plan(self, name, n, is_new)
        if (is_new) then
            if (allocated(data)) deallocate (data)
            allocate (data(n(1), n(2), n(3), n(4), n(5), n(6), n(7)), stat=status)
            if (status /= 0) call refuse(self, name, "there is no memory for it")
        end if
        memory = memory_to_come(TEXT, storage_size(data, int64), n)
        if (allocated(data)) then
            if (all(shape(data, int64) == n)) memory = memory_of(data, TEXT, storage_size(data, int64))
        end if
        call put_array(self, name, memory, role_of(self, name, ranks), missing, kind, where=where)
    end subroutine array_text_7


end module scrf
