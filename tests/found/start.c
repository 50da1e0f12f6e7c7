/* What mpi.f90 calls: MPI for Fortran, with an MPI that has only C. Errors end the program, as MPI does by default.
   SPDX-License-Identifier: MIT OR Apache-2.0 */

#include <mpi.h>
#include <stddef.h>

/* The standard's ABI has the conversions by other names. */
#if defined(MPI_ABI_VERSION)
#define OF_FORTRAN MPI_Comm_fromint
#define FOR_FORTRAN MPI_Comm_toint
#else
#define OF_FORTRAN MPI_Comm_f2c
#define FOR_FORTRAN MPI_Comm_c2f
#endif

void mpi_of_c_init(int *world, int *null);
void mpi_of_c_finalize(void);
void mpi_of_c_abort(int code);
void mpi_of_c_place(int comm, int *rank, int *ranks);
int mpi_of_c_split(int comm, int color, int key);

void mpi_of_c_init(int *world, int *null)
{
    MPI_Init(NULL, NULL);
    *world = FOR_FORTRAN(MPI_COMM_WORLD);
    *null = FOR_FORTRAN(MPI_COMM_NULL);
}

void mpi_of_c_finalize(void)
{
    MPI_Finalize();
}

void mpi_of_c_abort(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

void mpi_of_c_place(int comm, int *rank, int *ranks)
{
    MPI_Comm_rank(OF_FORTRAN(comm), rank);
    MPI_Comm_size(OF_FORTRAN(comm), ranks);
}

int mpi_of_c_split(int comm, int color, int key)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(OF_FORTRAN(comm), color, key, &made);
    return FOR_FORTRAN(made);
}
