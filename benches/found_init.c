/* Prints how long SCR_Init takes, the longest of all ranks, in microseconds. SPDX-License-Identifier: MIT OR Apache-2.0 */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>

int main(int argc, char** argv)
{
    double begun, taken, longest;
    int rank, failed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    begun = MPI_Wtime();
    failed = SCR_Init();
    taken = 1e6 * (MPI_Wtime() - begun);
    MPI_Reduce(&taken, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("init %.0f\n", longest);
    failed |= SCR_Finalize();
    MPI_Finalize();
    return failed;
}
