/* A program that may run with another MPI than its SCR was built with.

   Usage: other_mpi look|ignore
     look    ends with what SCR_Init returned
     ignore  goes on as if nothing had happened, and ends with 0 */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv)
{
    int failed, flag = 0;
    char path[SCR_MAX_FILENAME];
    if (argc != 2) return 2;
    MPI_Init(&argc, &argv);
    free((void*)SCR_Config("SCR_FLUSH"));
    failed = SCR_Init();
    if (strcmp(argv[1], "ignore") == 0) {
        SCR_Have_restart(&flag, NULL);
        SCR_Start_output("ck", SCR_FLAG_CHECKPOINT);
        SCR_Route_file("ck", path);
        SCR_Complete_output(1);
        SCR_Should_exit(&flag);
        SCR_Delete("ck");
        SCR_Finalize();
        failed = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
