/* A checkpoint that is flushed in the background, to be killed while or after it is copied.

   Usage: background GO [restart]
     GO       a file: the second checkpoint is written when it exists
     restart  end after the restart

   Says what it restarted from, after it has compared each byte. If that is nothing it writes ck.1, and
   waits until that is in the prefix directory. Then it says that it waits, and waits for GO. It writes ck.2, says that it
   computes, and makes no call of SCR or MPI any more. */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 300000 };

static int rank;

static int expected(const char* name, int at)
{
    return (at * 31 + rank * 7 + name[3]) & 255;
}

static FILE* open_file(const char* name, const char* mode)
{
    char wanted[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    snprintf(wanted, sizeof wanted, "%s/rank_%d", name, rank);
    if (SCR_Route_file(wanted, path) != SCR_SUCCESS) return NULL;
    return fopen(path, mode);
}

static int verify(const char* name)
{
    FILE* stream = open_file(name, "rb");
    if (stream == NULL) return 0;
    int good = 1;
    for (int at = 0; good && at < BYTES; at++) good = getc(stream) == expected(name, at);
    good = good && getc(stream) == EOF;
    fclose(stream);
    return good;
}

static void checkpoint(const char* name)
{
    SCR_Start_output(name, SCR_FLAG_CHECKPOINT);
    FILE* stream = open_file(name, "wb");
    int good = stream != NULL;
    for (int at = 0; good && at < BYTES; at++) good = putc(expected(name, at), stream) != EOF;
    if (stream != NULL && fclose(stream) != 0) good = 0;
    if (SCR_Complete_output(good) != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void say(const char* what, const char* name)
{
    if (rank != 0) return;
    printf("background: %s%s\n", what, name);
    fflush(stdout);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 2 || SCR_Init() != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    int have = 0;
    char name[SCR_MAX_FILENAME] = "nothing";
    if (SCR_Have_restart(&have, name) != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    if (have) {
        SCR_Start_restart(name);
        if (SCR_Complete_restart(verify(name)) != SCR_SUCCESS) {
            fprintf(stderr, "background: rank %d: %s is not what was written\n", rank, name);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    say("restarted from ", have ? name : "nothing");
    if (argc > 2 && strcmp(argv[2], "restart") == 0) {
        SCR_Finalize();
        MPI_Finalize();
        return 0;
    }
    if (!have) checkpoint("ck.1");
    if (SCR_Current("ck.1") != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    say("waits", "");
    while (access(argv[1], F_OK) != 0) usleep(10000);
    checkpoint("ck.2");
    say("computes", "");
    for (;;) pause();
}
