/* Runs that go wrong, of a program that looks at no return code.

   Usage: failures run STEPS | refused | long_name | missing | missing_on_others | forgotten | late
     run        restarts, and writes a checkpoint in each step
     refused    starts a checkpoint within another one
     long_name  starts one with a name that is too long
     missing    asks in a restart for files that the checkpoint does not have; on_others: not on rank 0
     forgotten  never calls SCR_Finalize
     late       calls SCR_Finalize after MPI_Finalize */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;
static char name[SCR_MAX_FILENAME + 1];

static void file_of(const char* dataset, char* file)
{
    snprintf(file, SCR_MAX_FILENAME, "%.900s/rank.%d", dataset, rank);
}

static void checkpoint(const char* dataset)
{
    static char data[100000];
    char file[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    FILE* stream;
    int written = 0;
    SCR_Start_output(dataset, SCR_FLAG_CHECKPOINT);
    file_of(dataset, file);
    SCR_Route_file(file, path);
    stream = fopen(path, "w");
    if (stream != NULL) {
        written = fwrite(data, 1, sizeof data, stream) == sizeof data;
        written = fclose(stream) == 0 && written;
    }
    SCR_Complete_output(written);
}

static int restart(const char* other)
{
    char file[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    FILE* stream;
    int have = 0, step = 0;
    SCR_Have_restart(&have, name);
    if (!have) return 0;
    SCR_Start_restart(name);
    file_of(name, file);
    if (other != NULL) snprintf(file, sizeof file, "%s", other);
    SCR_Route_file(file, path);
    stream = fopen(path, "r");
    if (stream != NULL) fclose(stream);
    SCR_Complete_restart(stream != NULL);
    sscanf(name, "ck.%d", &step);
    return step;
}

int main(int argc, char** argv)
{
    const char* how = argc > 1 ? argv[1] : "";
    int step, steps = argc > 2 ? atoi(argv[2]) : 2, stop = 0, missing;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    SCR_Init();
    missing = strcmp(how, "missing") == 0 || (strcmp(how, "missing_on_others") == 0 && rank > 0);
    step = restart(missing ? "ck.1/none.at.all" : NULL);
    if (strcmp(how, "refused") == 0) SCR_Start_output("outer", SCR_FLAG_CHECKPOINT);
    if (strcmp(how, "long_name") == 0) {
        memset(name, 'n', sizeof name - 1);
        checkpoint(name);
    }
    while (strncmp(how, "missing", 7) != 0 && step < steps && !stop) {
        snprintf(name, sizeof name, "ck.%d", ++step);
        checkpoint(name);
        SCR_Should_exit(&stop);
    }
    if (strcmp(how, "forgotten") != 0 && strcmp(how, "late") != 0) SCR_Finalize();
    MPI_Finalize();
    if (strcmp(how, "late") == 0) SCR_Finalize();
    return 0;
}
