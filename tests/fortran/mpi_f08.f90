!> As much of the module mpi_f08 as examples/heat2d_fields.f90 uses, for a compiler for which this machine has no
!> such module: it calls what the MPI library has for mpif.h, whatever compiler that was made with.
module mpi_f08
    use, intrinsic :: iso_fortran_env, only: error_unit
    implicit none
    private
    include "mpif.h"

    public :: MPI_Init, MPI_Comm_rank, MPI_Comm_size, MPI_Sendrecv, MPI_Gatherv, MPI_Abort, MPI_Finalize
    public :: MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, MPI_STATUS_IGNORE

    interface
        subroutine f_init(ierror) bind(C, name="mpi_init_")
            implicit none
            integer, intent(out) :: ierror
        end subroutine f_init

        subroutine f_comm_rank(comm, rank, ierror) bind(C, name="mpi_comm_rank_")
            implicit none
            integer, intent(in) :: comm
            integer, intent(out) :: rank, ierror
        end subroutine f_comm_rank

        subroutine f_comm_size(comm, ranks, ierror) bind(C, name="mpi_comm_size_")
            implicit none
            integer, intent(in) :: comm
            integer, intent(out) :: ranks, ierror
        end subroutine f_comm_size

        subroutine f_sendrecv(send, send_count, send_type, to, send_tag, receive, receive_count, &
            receive_type, from, receive_tag, comm, status, ierror) bind(C, name="mpi_sendrecv_")
            import :: MPI_STATUS_SIZE
            implicit none
            double precision, intent(in) :: send(*)
            double precision, intent(inout) :: receive(*)
            integer, intent(in) :: send_count, send_type, to, send_tag, receive_count, receive_type, from, &
                receive_tag, comm
            integer, intent(inout) :: status(MPI_STATUS_SIZE)
            integer, intent(out) :: ierror
        end subroutine f_sendrecv

        subroutine f_gatherv(send, send_count, send_type, receive, counts, offsets, receive_type, root, &
            comm, ierror) bind(C, name="mpi_gatherv_")
            implicit none
            double precision, intent(in) :: send(*)
            double precision, intent(inout) :: receive(*)
            integer, intent(in) :: send_count, send_type, counts(*), offsets(*), receive_type, root, comm
            integer, intent(out) :: ierror
        end subroutine f_gatherv

        subroutine f_abort(comm, code, ierror) bind(C, name="mpi_abort_")
            implicit none
            integer, intent(in) :: comm, code
            integer, intent(out) :: ierror
        end subroutine f_abort

        subroutine f_finalize(ierror) bind(C, name="mpi_finalize_")
            implicit none
            integer, intent(out) :: ierror
        end subroutine f_finalize
    end interface

contains

    subroutine MPI_Init()
        integer :: ierror

        call f_init(ierror)
        call check("MPI_Init", ierror)
    end subroutine MPI_Init

    subroutine MPI_Comm_rank(comm, rank)
        integer, intent(in) :: comm
        integer, intent(out) :: rank
        integer :: ierror

        call f_comm_rank(comm, rank, ierror)
        call check("MPI_Comm_rank", ierror)
    end subroutine MPI_Comm_rank

    subroutine MPI_Comm_size(comm, ranks)
        integer, intent(in) :: comm
        integer, intent(out) :: ranks
        integer :: ierror

        call f_comm_size(comm, ranks, ierror)
        call check("MPI_Comm_size", ierror)
    end subroutine MPI_Comm_size

    subroutine MPI_Sendrecv(send, send_count, send_type, to, send_tag, receive, receive_count, &
        receive_type, from, receive_tag, comm, status)
        double precision, intent(in) :: send(*)
        double precision, intent(inout) :: receive(*)
        integer, intent(in) :: send_count, send_type, to, send_tag, receive_count, receive_type, from, &
            receive_tag, comm
        integer, intent(inout) :: status(MPI_STATUS_SIZE)
        integer :: ierror

        call f_sendrecv(send, send_count, send_type, to, send_tag, receive, receive_count, &
            receive_type, from, receive_tag, comm, status, ierror)
        call check("MPI_Sendrecv", ierror)
    end subroutine MPI_Sendrecv

    subroutine MPI_Gatherv(send, send_count, send_type, receive, counts, offsets, receive_type, root, comm)
        double precision, intent(in) :: send(:, :)
        double precision, intent(inout) :: receive(*)
        integer, intent(in) :: send_count, send_type, counts(0:), offsets(0:), receive_type, root, comm
        integer :: ierror

        call f_gatherv(send, send_count, send_type, receive, counts, offsets, receive_type, root, comm, ierror)
        call check("MPI_Gatherv", ierror)
    end subroutine MPI_Gatherv

    subroutine MPI_Abort(comm, code)
        integer, intent(in) :: comm, code
        integer :: ierror

        call f_abort(comm, code, ierror)
    end subroutine MPI_Abort

    subroutine MPI_Finalize()
        integer :: ierror

        call f_finalize(ierror)
        call check("MPI_Finalize", ierror)
    end subroutine MPI_Finalize

    subroutine check(call_name, ierror)
        character(len=*), intent(in) :: call_name
        integer, intent(in) :: ierror

        if (ierror == MPI_SUCCESS) return
        write (error_unit, "(2a, i0)") call_name, " failed: ", ierror
        error stop
    end subroutine check

end module mpi_f08
