! The external subroutines of SCR v3.1.0, for codes that include scrf.h or nothing at all.
! Each hands its arguments to the procedure of the same name in module scrf; the compiler
! takes care of the hidden lengths of character arguments. Every integer is a C int.
! SPDX-License-Identifier: MIT OR Apache-2.0

subroutine scr_init(ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_init
    implicit none
    integer(c_int), intent(out) :: ierr

    call call_scr(ierr)
end subroutine scr_init

subroutine scr_finalize(ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_finalize
    implicit none
    integer(c_int), intent(out) :: ierr

    call call_scr(ierr)
end subroutine scr_finalize

subroutine scr_config(cfg, val, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_config
    implicit none
    character(len=*), intent(in) :: cfg
    character(len=*), intent(out) :: val
    integer(c_int), intent(out) :: ierr

    call call_scr(cfg, val, ierr)
end subroutine scr_config

subroutine scr_get_version(version, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_get_version
    implicit none
    character(len=*), intent(out) :: version
    integer(c_int), intent(out) :: ierr

    call call_scr(version, ierr)
end subroutine scr_get_version

subroutine scr_route_file(name, file, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_route_file
    implicit none
    character(len=*), intent(in) :: name
    character(len=*), intent(out) :: file
    integer(c_int), intent(out) :: ierr

    call call_scr(name, file, ierr)
end subroutine scr_route_file

subroutine scr_allow_other_ranks(allowed, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_allow_other_ranks
    implicit none
    integer(c_int), intent(in) :: allowed
    integer(c_int), intent(out) :: ierr

    call call_scr(allowed, ierr)
end subroutine scr_allow_other_ranks

subroutine scr_have_restart(flag, name, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_have_restart
    implicit none
    integer(c_int), intent(out) :: flag
    character(len=*), intent(out) :: name
    integer(c_int), intent(out) :: ierr

    call call_scr(flag, name, ierr)
end subroutine scr_have_restart

subroutine scr_start_restart(name, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_start_restart
    implicit none
    character(len=*), intent(out) :: name
    integer(c_int), intent(out) :: ierr

    call call_scr(name, ierr)
end subroutine scr_start_restart

subroutine scr_restart_ranks(ranks, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_restart_ranks
    implicit none
    integer(c_int), intent(out) :: ranks
    integer(c_int), intent(out) :: ierr

    call call_scr(ranks, ierr)
end subroutine scr_restart_ranks

subroutine scr_restart_file_count(rank, count, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_restart_file_count
    implicit none
    integer(c_int), intent(in) :: rank
    integer(c_int), intent(out) :: count
    integer(c_int), intent(out) :: ierr

    call call_scr(rank, count, ierr)
end subroutine scr_restart_file_count

subroutine scr_restart_file(rank, index, name, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_restart_file
    implicit none
    integer(c_int), intent(in) :: rank
    integer(c_int), intent(in) :: index
    character(len=*), intent(out) :: name
    integer(c_int), intent(out) :: ierr

    call call_scr(rank, index, name, ierr)
end subroutine scr_restart_file

subroutine scr_complete_restart(valid, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_complete_restart
    implicit none
    integer(c_int), intent(in) :: valid
    integer(c_int), intent(out) :: ierr

    call call_scr(valid, ierr)
end subroutine scr_complete_restart

subroutine scr_need_checkpoint(flag, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_need_checkpoint
    implicit none
    integer(c_int), intent(out) :: flag
    integer(c_int), intent(out) :: ierr

    call call_scr(flag, ierr)
end subroutine scr_need_checkpoint

subroutine scr_start_checkpoint(ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_start_checkpoint
    implicit none
    integer(c_int), intent(out) :: ierr

    call call_scr(ierr)
end subroutine scr_start_checkpoint

subroutine scr_complete_checkpoint(valid, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_complete_checkpoint
    implicit none
    integer(c_int), intent(in) :: valid
    integer(c_int), intent(out) :: ierr

    call call_scr(valid, ierr)
end subroutine scr_complete_checkpoint

subroutine scr_start_output(name, flags, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_start_output
    implicit none
    character(len=*), intent(in) :: name
    integer(c_int), intent(in) :: flags
    integer(c_int), intent(out) :: ierr

    call call_scr(name, flags, ierr)
end subroutine scr_start_output

subroutine scr_complete_output(valid, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_complete_output
    implicit none
    integer(c_int), intent(in) :: valid
    integer(c_int), intent(out) :: ierr

    call call_scr(valid, ierr)
end subroutine scr_complete_output

subroutine scr_should_exit(flag, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_should_exit
    implicit none
    integer(c_int), intent(out) :: flag
    integer(c_int), intent(out) :: ierr

    call call_scr(flag, ierr)
end subroutine scr_should_exit

subroutine scr_current(name, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_current
    implicit none
    character(len=*), intent(in) :: name
    integer(c_int), intent(out) :: ierr

    call call_scr(name, ierr)
end subroutine scr_current

subroutine scr_drop(name, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_drop
    implicit none
    character(len=*), intent(in) :: name
    integer(c_int), intent(out) :: ierr

    call call_scr(name, ierr)
end subroutine scr_drop

subroutine scr_delete(name, ierr)
    use, intrinsic :: iso_c_binding, only: c_int
    use scrf, only: call_scr => scr_delete
    implicit none
    character(len=*), intent(in) :: name
    integer(c_int), intent(out) :: ierr

    call call_scr(name, ierr)
end subroutine scr_delete
