! The external subroutines from a free-form code with scrf.h.
program classic_free
    implicit none
    include 'mpif.h'
    include 'scrf.h'
    integer :: rank, ranks, flag, ierr
    character(len=SCR_MAX_FILENAME) :: name, path
    character(len=16) :: val

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)

    call scr_config('SCR_FLUSH=3', val, ierr)
    call check(ierr == SCR_SUCCESS, 'setting is a success')
    call scr_config('SCR_FLUSH', val, ierr)
    call check(ierr == SCR_SUCCESS .and. val == '3', 'query')
    call scr_init(ierr)
    call check(ierr == SCR_SUCCESS, 'scr_init')

    call scr_start_output('classic', SCR_FLAG_CHECKPOINT + SCR_FLAG_OUTPUT, ierr)
    call check(ierr == SCR_SUCCESS, 'scr_start_output')
    write (name, '(a,i0)') 'classic/rank.', rank
    call scr_route_file(name, path, ierr)
    call check(ierr == SCR_SUCCESS, 'scr_route_file')
    open (unit=20, file=path, status='replace')
    write (20, *) rank
    close (20)
    call scr_complete_output(1, ierr)
    call check(ierr == SCR_SUCCESS, 'scr_complete_output')

    call scr_allow_other_ranks(1, ierr)
    call check(ierr == SCR_SUCCESS, 'scr_allow_other_ranks')
    call scr_have_restart(flag, name, ierr)
    call check(ierr == SCR_SUCCESS .and. flag == 1 .and. name == 'classic', 'have restart')
    call scr_start_restart(name, ierr)
    call check(ierr == SCR_SUCCESS .and. name == 'classic', 'start restart')
    call scr_restart_ranks(ranks, ierr)
    call check(ierr == SCR_SUCCESS .and. ranks > rank, 'scr_restart_ranks')
    call scr_restart_file_count(rank, flag, ierr)
    call check(ierr == SCR_SUCCESS .and. flag == 1, 'scr_restart_file_count')
    call scr_restart_file(rank, 1, path, ierr)
    call check(ierr == SCR_SUCCESS .and. index(path, '/classic/rank.') > 0, 'scr_restart_file')
    call scr_complete_restart(1, ierr)
    call check(ierr == SCR_SUCCESS, 'complete restart')

    call scr_need_checkpoint(flag, ierr)
    call check(ierr == SCR_SUCCESS, 'scr_need_checkpoint')
    call scr_should_exit(flag, ierr)
    call check(ierr == SCR_SUCCESS .and. flag == 0, 'scr_should_exit')
    call scr_start_checkpoint(ierr)
    call check(ierr == SCR_SUCCESS, 'scr_start_checkpoint')
    call scr_complete_checkpoint(0, ierr)
    call check(ierr /= SCR_SUCCESS, 'scr_complete_checkpoint')
    call scr_current('classic', ierr)
    call check(ierr == SCR_SUCCESS, 'scr_current')
    call scr_delete('classic', ierr)
    call check(ierr == SCR_SUCCESS, 'scr_delete')
    call scr_finalize(ierr)
    call check(ierr == SCR_SUCCESS, 'scr_finalize')
    call MPI_Finalize(ierr)

contains

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what

        if (.not. holds) error stop 'not so: '//what
    end subroutine check

end program classic_free
