!> Module scrf in a program with mpi.
program with_mpi
    use mpi
    use check_scrf, only: check_all
    implicit none
    integer :: rank, failures, ierror

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    failures = check_all(rank)
    call MPI_Finalize(ierror)
    if (failures > 0) error stop "module scrf does not keep its promises"
end program with_mpi
