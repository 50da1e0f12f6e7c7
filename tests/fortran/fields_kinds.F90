! Fields of each type and kind: a module of fields_of_kind.inc for each, and a program that writes all of them and
! restores them. It runs on any number of ranks, and restores on the same number. Usage: fields_kinds write|read,
! in two runs, so that other programs can read the files in between.

! The kinds that scrf.F90 has.
#if defined(__GFC_INT_16__) || defined(__flang__)
#define SCRF_INTEGER_16
#endif
#if defined(__GFC_INT_16__)
#define SCRF_LOGICAL_16
#endif
#if defined(__GFC_REAL_10__) || (defined(__flang__) && defined(__x86_64__))
#define SCRF_REAL_10
#endif
#if defined(__GFC_REAL_16__) || defined(__INTEL_COMPILER) || (defined(__flang__) && __flang_major__ < 20)
#define SCRF_REAL_16
#endif

module kind_i8
#define TYPE integer(int8)
#define VALUE(i) int(i, int8)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_i8
#undef TYPE
#undef VALUE
#undef SAME

module kind_i16
#define TYPE integer(int16)
#define VALUE(i) int(300*(i), int16)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_i16
#undef TYPE
#undef VALUE
#undef SAME

module kind_i32
#define TYPE integer(int32)
#define VALUE(i) int(70000*(i), int32)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_i32
#undef TYPE
#undef VALUE
#undef SAME

module kind_i64
#define TYPE integer(int64)
#define VALUE(i) (5000000000_int64*(i))
#define SAME ==
#include "fields_of_kind.inc"
end module kind_i64
#undef TYPE
#undef VALUE
#undef SAME

#ifdef SCRF_INTEGER_16
module kind_i128
#define TYPE integer(16)
#define VALUE(i) (10_16**20*(i))
#define SAME ==
#include "fields_of_kind.inc"
end module kind_i128
#undef TYPE
#undef VALUE
#undef SAME
#endif

module kind_r32
#define TYPE real(real32)
#define VALUE(i) (real(i, real32)/7)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_r32
#undef TYPE
#undef VALUE
#undef SAME

module kind_r64
#define TYPE real(real64)
#define VALUE(i) (real(i, real64)/7)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_r64
#undef TYPE
#undef VALUE
#undef SAME

#ifdef SCRF_REAL_10
module kind_r80
#define TYPE real(10)
#define VALUE(i) (real(i, 10)/7)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_r80
#undef TYPE
#undef VALUE
#undef SAME
#endif

#ifdef SCRF_REAL_16
module kind_r128
#define TYPE real(16)
#define VALUE(i) (real(i, 16)/7)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_r128
#undef TYPE
#undef VALUE
#undef SAME
#endif

module kind_c32
#define TYPE complex(real32)
#define VALUE(i) cmplx(i, -(i), real32)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_c32
#undef TYPE
#undef VALUE
#undef SAME

module kind_c64
#define TYPE complex(real64)
#define VALUE(i) cmplx(i, -(i), real64)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_c64
#undef TYPE
#undef VALUE
#undef SAME

#ifdef SCRF_REAL_10
module kind_c80
#define TYPE complex(10)
#define VALUE(i) cmplx(i, -(i), 10)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_c80
#undef TYPE
#undef VALUE
#undef SAME
#endif

#ifdef SCRF_REAL_16
module kind_c128
#define TYPE complex(16)
#define VALUE(i) cmplx(i, -(i), 16)
#define SAME ==
#include "fields_of_kind.inc"
end module kind_c128
#undef TYPE
#undef VALUE
#undef SAME
#endif

module kind_l8
#define TYPE logical(int8)
#define VALUE(i) logical(mod(i, 4) == 3, int8)
#define SAME .eqv.
#include "fields_of_kind.inc"
end module kind_l8
#undef TYPE
#undef VALUE
#undef SAME

module kind_l16
#define TYPE logical(int16)
#define VALUE(i) logical(mod(i, 4) == 3, int16)
#define SAME .eqv.
#include "fields_of_kind.inc"
end module kind_l16
#undef TYPE
#undef VALUE
#undef SAME

module kind_l32
#define TYPE logical(int32)
#define VALUE(i) logical(mod(i, 4) == 3, int32)
#define SAME .eqv.
#include "fields_of_kind.inc"
end module kind_l32
#undef TYPE
#undef VALUE
#undef SAME

module kind_l64
#define TYPE logical(int64)
#define VALUE(i) logical(mod(i, 4) == 3, int64)
#define SAME .eqv.
#include "fields_of_kind.inc"
end module kind_l64
#undef TYPE
#undef VALUE
#undef SAME

#ifdef SCRF_LOGICAL_16
module kind_l128
#define TYPE logical(16)
#define VALUE(i) logical(mod(i, 4) == 3, 16)
#define SAME .eqv.
#include "fields_of_kind.inc"
end module kind_l128
#undef TYPE
#undef VALUE
#undef SAME
#endif

module kind_text
#define TYPE character(len=5)
#define VALUE(i) ("text"//achar(32 + mod(i, 90)))
#define SAME ==
#include "fields_of_kind.inc"
end module kind_text
#undef TYPE
#undef VALUE
#undef SAME

program fields_kinds
    use scrf
    use kind_i8, only: list_i8 => list, set_i8 => set, wipe_i8 => wipe, i8_is_right => is_right
    use kind_i16, only: list_i16 => list, set_i16 => set, wipe_i16 => wipe, i16_is_right => is_right
    use kind_i32, only: list_i32 => list, set_i32 => set, wipe_i32 => wipe, i32_is_right => is_right
    use kind_i64, only: list_i64 => list, set_i64 => set, wipe_i64 => wipe, i64_is_right => is_right
#ifdef SCRF_INTEGER_16
    use kind_i128, only: list_i128 => list, set_i128 => set, wipe_i128 => wipe, i128_is_right => is_right
#endif
    use kind_r32, only: list_r32 => list, set_r32 => set, wipe_r32 => wipe, r32_is_right => is_right
    use kind_r64, only: list_r64 => list, set_r64 => set, wipe_r64 => wipe, r64_is_right => is_right
#ifdef SCRF_REAL_10
    use kind_r80, only: list_r80 => list, set_r80 => set, wipe_r80 => wipe, r80_is_right => is_right
#endif
#ifdef SCRF_REAL_16
    use kind_r128, only: list_r128 => list, set_r128 => set, wipe_r128 => wipe, r128_is_right => is_right
#endif
    use kind_c32, only: list_c32 => list, set_c32 => set, wipe_c32 => wipe, c32_is_right => is_right
    use kind_c64, only: list_c64 => list, set_c64 => set, wipe_c64 => wipe, c64_is_right => is_right
#ifdef SCRF_REAL_10
    use kind_c80, only: list_c80 => list, set_c80 => set, wipe_c80 => wipe, c80_is_right => is_right
#endif
#ifdef SCRF_REAL_16
    use kind_c128, only: list_c128 => list, set_c128 => set, wipe_c128 => wipe, c128_is_right => is_right
#endif
    use kind_l8, only: list_l8 => list, set_l8 => set, wipe_l8 => wipe, l8_is_right => is_right
    use kind_l16, only: list_l16 => list, set_l16 => set, wipe_l16 => wipe, l16_is_right => is_right
    use kind_l32, only: list_l32 => list, set_l32 => set, wipe_l32 => wipe, l32_is_right => is_right
    use kind_l64, only: list_l64 => list, set_l64 => set, wipe_l64 => wipe, l64_is_right => is_right
#ifdef SCRF_LOGICAL_16
    use kind_l128, only: list_l128 => list, set_l128 => set, wipe_l128 => wipe, l128_is_right => is_right
#endif
    use kind_text, only: list_text => list, set_text => set, wipe_text => wipe, text_is_right => is_right
    implicit none
    include "mpif.h"
    integer :: ierror, rank, ranks
    logical :: found
    character(len=8) :: what

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    call get_command_argument(1, what)
    call scr_init()
    if (what == "write") then
        call set()
        call scr_checkpoint(state, "kinds")
    else
        call restore(.false.)
        call restore(.true.)
    end if
    call scr_finalize()
    call MPI_Finalize(ierror)

contains

    subroutine state(s)
        class(scr_state), intent(inout) :: s

        call s%begin_list("i8")
        call list_i8(s, rank, ranks)
        call s%end_list()
        call s%begin_list("i16")
        call list_i16(s, rank, ranks)
        call s%end_list()
        call s%begin_list("i32")
        call list_i32(s, rank, ranks)
        call s%end_list()
        call s%begin_list("i64")
        call list_i64(s, rank, ranks)
        call s%end_list()
#ifdef SCRF_INTEGER_16
        call s%begin_list("i128")
        call list_i128(s, rank, ranks)
        call s%end_list()
#endif
        call s%begin_list("r32")
        call list_r32(s, rank, ranks)
        call s%end_list()
        call s%begin_list("r64")
        call list_r64(s, rank, ranks)
        call s%end_list()
#ifdef SCRF_REAL_10
        call s%begin_list("r80")
        call list_r80(s, rank, ranks)
        call s%end_list()
#endif
#ifdef SCRF_REAL_16
        call s%begin_list("r128")
        call list_r128(s, rank, ranks)
        call s%end_list()
#endif
        call s%begin_list("c32")
        call list_c32(s, rank, ranks)
        call s%end_list()
        call s%begin_list("c64")
        call list_c64(s, rank, ranks)
        call s%end_list()
#ifdef SCRF_REAL_10
        call s%begin_list("c80")
        call list_c80(s, rank, ranks)
        call s%end_list()
#endif
#ifdef SCRF_REAL_16
        call s%begin_list("c128")
        call list_c128(s, rank, ranks)
        call s%end_list()
#endif
        call s%begin_list("l8")
        call list_l8(s, rank, ranks)
        call s%end_list()
        call s%begin_list("l16")
        call list_l16(s, rank, ranks)
        call s%end_list()
        call s%begin_list("l32")
        call list_l32(s, rank, ranks)
        call s%end_list()
        call s%begin_list("l64")
        call list_l64(s, rank, ranks)
        call s%end_list()
#ifdef SCRF_LOGICAL_16
        call s%begin_list("l128")
        call list_l128(s, rank, ranks)
        call s%end_list()
#endif
        call s%begin_list("text")
        call list_text(s, rank, ranks)
        call s%end_list()
    end subroutine state

    subroutine set()
        call set_i8()
        call set_i16()
        call set_i32()
        call set_i64()
#ifdef SCRF_INTEGER_16
        call set_i128()
#endif
        call set_r32()
        call set_r64()
#ifdef SCRF_REAL_10
        call set_r80()
#endif
#ifdef SCRF_REAL_16
        call set_r128()
#endif
        call set_c32()
        call set_c64()
#ifdef SCRF_REAL_10
        call set_c80()
#endif
#ifdef SCRF_REAL_16
        call set_c128()
#endif
        call set_l8()
        call set_l16()
        call set_l32()
        call set_l64()
#ifdef SCRF_LOGICAL_16
        call set_l128()
#endif
        call set_text()
    end subroutine set

    !> Restores over other values, and into arrays that are allocated already.
    subroutine restore(is_grown)
        logical, intent(in) :: is_grown

        call wipe_i8(is_grown)
        call wipe_i16(is_grown)
        call wipe_i32(is_grown)
        call wipe_i64(is_grown)
#ifdef SCRF_INTEGER_16
        call wipe_i128(is_grown)
#endif
        call wipe_r32(is_grown)
        call wipe_r64(is_grown)
#ifdef SCRF_REAL_10
        call wipe_r80(is_grown)
#endif
#ifdef SCRF_REAL_16
        call wipe_r128(is_grown)
#endif
        call wipe_c32(is_grown)
        call wipe_c64(is_grown)
#ifdef SCRF_REAL_10
        call wipe_c80(is_grown)
#endif
#ifdef SCRF_REAL_16
        call wipe_c128(is_grown)
#endif
        call wipe_l8(is_grown)
        call wipe_l16(is_grown)
        call wipe_l32(is_grown)
        call wipe_l64(is_grown)
#ifdef SCRF_LOGICAL_16
        call wipe_l128(is_grown)
#endif
        call wipe_text(is_grown)
        call scr_restore(state, found)
        call check(found, "there is no checkpoint")
        call check(i8_is_right(), "i8 is not as it was written")
        call check(i16_is_right(), "i16 is not as it was written")
        call check(i32_is_right(), "i32 is not as it was written")
        call check(i64_is_right(), "i64 is not as it was written")
#ifdef SCRF_INTEGER_16
        call check(i128_is_right(), "i128 is not as it was written")
#endif
        call check(r32_is_right(), "r32 is not as it was written")
        call check(r64_is_right(), "r64 is not as it was written")
#ifdef SCRF_REAL_10
        call check(r80_is_right(), "r80 is not as it was written")
#endif
#ifdef SCRF_REAL_16
        call check(r128_is_right(), "r128 is not as it was written")
#endif
        call check(c32_is_right(), "c32 is not as it was written")
        call check(c64_is_right(), "c64 is not as it was written")
#ifdef SCRF_REAL_10
        call check(c80_is_right(), "c80 is not as it was written")
#endif
#ifdef SCRF_REAL_16
        call check(c128_is_right(), "c128 is not as it was written")
#endif
        call check(l8_is_right(), "l8 is not as it was written")
        call check(l16_is_right(), "l16 is not as it was written")
        call check(l32_is_right(), "l32 is not as it was written")
        call check(l64_is_right(), "l64 is not as it was written")
#ifdef SCRF_LOGICAL_16
        call check(l128_is_right(), "l128 is not as it was written")
#endif
        call check(text_is_right(), "text is not as it was written")
    end subroutine restore

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what

        if (holds) return
        print "(a,i0,2a)", "rank ", rank, ": ", what
        call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end subroutine check

end program fields_kinds
