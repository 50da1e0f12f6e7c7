/* Restarts from a prefix directory that SCR v3.1.0 wrote, and verifies all bytes.

   Usage: fixture MANIFEST accept|reject
     MANIFEST  the data files of all datasets, a line "DATASET SIZE PATH" each
     reject    gives each checkpoint back, to be offered the next

   Prints "offered NAME FILES" for each checkpoint, FILES being how many files all ranks could
   read together; with accept then writes a checkpoint of its own. */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, LONGEST = 200 };

static char datasets[MOST][LONGEST], paths[MOST][LONGEST];
static long sizes[MOST];
static int known, rank;

static void give_up(const char* why)
{
    fprintf(stderr, "fixture: rank %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void read_manifest(const char* path)
{
    FILE* stream = fopen(path, "r");
    if (stream == NULL) give_up("cannot read the manifest");
    while (known < MOST
        && fscanf(stream, "%199s %ld %199[^\n]", datasets[known], &sizes[known], paths[known]) == 3) {
        known++;
    }
    fclose(stream);
    if (known == 0) give_up("the manifest is empty");
}

/* The rule that the contents were made by. */
static int holds_what_it_should(const char* file, int at)
{
    unsigned x = 2166136261u;
    for (const char* c = paths[at]; *c != '\0'; c++) x = (x ^ (unsigned char)*c) * 16777619u;
    FILE* stream = fopen(file, "rb");
    if (stream == NULL) return 0;
    int good = 1;
    for (long left = sizes[at]; good && left > 0; left--) {
        x = x * 1664525u + 1013904223u;
        good = getc(stream) == (int)(x >> 16 & 255);
    }
    good = good && getc(stream) == EOF;
    fclose(stream);
    return good;
}

/* How many files of a dataset can be read by this rank or another. */
static int verify(const char* dataset)
{
    static int read_by[MOST];
    char file[SCR_MAX_FILENAME];
    int count = 0;
    for (int at = 0; at < known; at++) {
        read_by[at] = strcmp(datasets[at], dataset) == 0
            && SCR_Route_file(paths[at], file) == SCR_SUCCESS;
        if (read_by[at] && !holds_what_it_should(file, at)) give_up(paths[at]);
    }
    MPI_Allreduce(MPI_IN_PLACE, read_by, known, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int at = 0; at < known; at++) count += read_by[at];
    return count;
}

int main(int argc, char** argv)
{
    char name[SCR_MAX_FILENAME], again[SCR_MAX_FILENAME] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3 || SCR_Init() != SCR_SUCCESS) give_up("cannot start");
    read_manifest(argv[1]);
    int accept = strcmp(argv[2], "accept") == 0;

    for (int offers = 0; offers < 10; offers++) {
        int have = 0;
        if (SCR_Have_restart(&have, name) != SCR_SUCCESS || !have) break;
        if (SCR_Start_restart(again) != SCR_SUCCESS || strcmp(name, again) != 0) {
            give_up("another name is started than was offered");
        }
        int files = verify(name);
        if (rank == 0) printf("offered %s %d\n", name, files);
        fflush(stdout);
        int done = SCR_Complete_restart(accept) == SCR_SUCCESS;
        if (done != accept) give_up("SCR_Complete_restart");
        if (accept) break;
    }

    if (accept) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "after/rank.%d", rank);
        int valid = SCR_Start_output("after", SCR_FLAG_CHECKPOINT) == SCR_SUCCESS
            && SCR_Route_file(wanted, name) == SCR_SUCCESS;
        FILE* stream = valid ? fopen(name, "w") : NULL;
        valid = stream != NULL && fputs("after", stream) >= 0 && fclose(stream) == 0;
        if (SCR_Complete_output(valid) != SCR_SUCCESS) give_up("cannot write a checkpoint");
    }
    if (SCR_Finalize() != SCR_SUCCESS) give_up("cannot end");
    MPI_Finalize();
    return 0;
}
