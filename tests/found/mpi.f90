!> Module mpi for the tests in Fortran, with an MPI that has none: what they call, by way of C (start.c).
module mpi
    use, intrinsic :: iso_c_binding, only: c_int
    implicit none
    private
    public :: MPI_Init, MPI_Finalize, MPI_Abort, MPI_Comm_rank, MPI_Comm_size, MPI_Comm_split, MPI_COMM_WORLD, MPI_COMM_NULL

    !> Handles are integers whose values are known when MPI has begun.
    integer, protected :: MPI_COMM_WORLD = -1, MPI_COMM_NULL = -1

    interface
        subroutine mpi_of_c_init(world, null) bind(c)
            import :: c_int
            integer(c_int), intent(out) :: world, null
        end subroutine mpi_of_c_init

        subroutine mpi_of_c_finalize() bind(c)
        end subroutine mpi_of_c_finalize

        subroutine mpi_of_c_abort(code) bind(c)
            import :: c_int
            integer(c_int), value :: code
        end subroutine mpi_of_c_abort

        subroutine mpi_of_c_place(comm, rank, ranks) bind(c)
            import :: c_int
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: rank, ranks
        end subroutine mpi_of_c_place

        integer(c_int) function mpi_of_c_split(comm, color, key) bind(c)
            import :: c_int
            integer(c_int), value :: comm, color, key
        end function mpi_of_c_split
    end interface

contains

    subroutine MPI_Init(ierror)
        integer, intent(out) :: ierror

        call mpi_of_c_init(MPI_COMM_WORLD, MPI_COMM_NULL)
        ierror = 0
    end subroutine MPI_Init

    subroutine MPI_Finalize(ierror)
        integer, intent(out) :: ierror

        call mpi_of_c_finalize()
        ierror = 0
    end subroutine MPI_Finalize

    subroutine MPI_Abort(comm, code, ierror)
        integer, intent(in) :: comm, code
        integer, intent(out) :: ierror

        call mpi_of_c_abort(code)
        ierror = comm
    end subroutine MPI_Abort

    subroutine MPI_Comm_rank(comm, rank, ierror)
        integer, intent(in) :: comm
        integer, intent(out) :: rank, ierror
        integer :: ranks

        call mpi_of_c_place(comm, rank, ranks)
        ierror = 0
    end subroutine MPI_Comm_rank

    subroutine MPI_Comm_size(comm, ranks, ierror)
        integer, intent(in) :: comm
        integer, intent(out) :: ranks, ierror
        integer :: rank

        call mpi_of_c_place(comm, rank, ranks)
        ierror = 0
    end subroutine MPI_Comm_size

    subroutine MPI_Comm_split(comm, color, key, new, ierror)
        integer, intent(in) :: comm, color, key
        integer, intent(out) :: new, ierror

        new = mpi_of_c_split(comm, color, key)
        ierror = 0
    end subroutine MPI_Comm_split
end module mpi
