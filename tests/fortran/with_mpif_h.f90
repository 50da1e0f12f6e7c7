!> Module scrf in a program with mpif.h.
program with_mpif_h
    use check_scrf, only: check_all
    implicit none
    include 'mpif.h'
    integer :: rank, failures, ierror

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    failures = check_all(rank)
    call MPI_Finalize(ierror)
    if (failures > 0) error stop "module scrf does not keep its promises"
end program with_mpif_h
