/* MPI_Finalize before SCR_Finalize, and calls after it.

   Usage: end forgotten NAME | late NAME | after
     forgotten  restarts, writes a checkpoint of this name, and never calls SCR_Finalize
     late       the same, but calls SCR after MPI_Finalize
     after      calls SCR after SCR_Finalize and MPI_Finalize */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <string.h>

static int rank, failures;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #condition);     \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

static void checkpoint(const char* name)
{
    char file[64], path[SCR_MAX_FILENAME];
    snprintf(file, sizeof file, "%s/rank.%d", name, rank);
    CHECK(SCR_Start_output(name, SCR_FLAG_CHECKPOINT) == SCR_SUCCESS);
    CHECK(SCR_Route_file(file, path) == SCR_SUCCESS);
    FILE* stream = fopen(path, "w");
    CHECK(stream != NULL && fputs(name, stream) >= 0 && fclose(stream) == 0);
    CHECK(SCR_Complete_output(1) == SCR_SUCCESS);
}

static void every_call_fails(void)
{
    int flag = 1;
    char path[SCR_MAX_FILENAME];
    CHECK(SCR_Have_restart(&flag, path) == 1 && flag == 0);
    CHECK(SCR_Start_restart(path) == 1);
    CHECK(SCR_Complete_restart(1) == 1);
    CHECK(SCR_Need_checkpoint(&flag) == 1 && flag == 0);
    CHECK(SCR_Start_checkpoint() == 1);
    CHECK(SCR_Complete_checkpoint(1) == 1);
    CHECK(SCR_Start_output("late", SCR_FLAG_CHECKPOINT) == 1);
    CHECK(SCR_Route_file("late", path) == 1 && fopen(path, "w") == NULL);
    CHECK(SCR_Complete_output(1) == 1);
    CHECK(SCR_Route_file("late", path) == SCR_SUCCESS && strcmp(path, "late") == 0);
    CHECK(SCR_Should_exit(&flag) == 1 && flag == 0);
    CHECK(SCR_Current("late") == 1);
    CHECK(SCR_Drop("late") == 1);
    CHECK(SCR_Delete("late") == 1);
    CHECK(SCR_Finalize() == 1);
}

int main(int argc, char** argv)
{
    int flag;
    char name[SCR_MAX_FILENAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(SCR_Init() == SCR_SUCCESS);
    if (argc == 3) {
        CHECK(SCR_Have_restart(&flag, name) == SCR_SUCCESS);
        if (rank == 0) printf("restart from %s\n", flag ? name : "nothing");
        checkpoint(argv[2]);
    } else {
        CHECK(SCR_Finalize() == SCR_SUCCESS);
    }
    MPI_Finalize();
    if (strcmp(argv[1], "forgotten") != 0) every_call_fails();
    if (strcmp(argv[1], "after") == 0) CHECK(SCR_Init() == 1);
    return failures == 0 ? 0 : 1;
}
