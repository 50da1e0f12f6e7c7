/* Calls SCR_Init before MPI_Init, then in the right order. SPDX-License-Identifier: MIT OR Apache-2.0 */

#include <mpi.h>
#include <scr.h>

int main(int argc, char **argv)
{
    int early = SCR_Init();
    int failed;
    MPI_Init(&argc, &argv);
    failed = SCR_Init() || SCR_Finalize();
    MPI_Finalize();
    return early == 0 || failed;
}
