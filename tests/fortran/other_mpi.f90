!> A program without ierror that may run with another MPI than its SCR was built with.
program other_mpi
    use mpi
    use scrf
    implicit none
    integer :: ierror

    call MPI_Init(ierror)
    call scr_init()
    print "(a)", "line after scr_init"
    call scr_finalize()
    call MPI_Finalize(ierror)
end program other_mpi
