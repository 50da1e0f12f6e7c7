/* Checkpoints all the time, to be killed at any moment.

   Usage: churn RECORD [count N] [bytes N] [grow]
     RECORD  file outside of SCR to which rank 0 appends the number of each completed dataset
     count   datasets to write before a normal end (1000000)
     bytes   about how large a file is (20000)
     grow    dataset n is n times as large

   Contents follow from rank, file and dataset number alone, and are verified in a restart. Says
   what it restarted from; the exit status is 1 if that was not what had been written. */

#include <fcntl.h>
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 2 };

static int rank, ranks, count = 1000000, bytes = 20000, grow;

/* Rank r has r % 3 files or, in every other dataset, two. */
static int files_in(int dataset)
{
    return dataset % 2 == 0 ? FILES : rank % (FILES + 1);
}

static size_t size_of(int dataset, int file)
{
    unsigned mix = (unsigned)(dataset * 31 + rank * 7 + file) * 2654435761u;
    size_t size = (size_t)bytes / 2 + (mix >> 8) % (unsigned)(bytes + 1);
    return grow ? size * (size_t)dataset : size;
}

static unsigned seed_of(int dataset, int file)
{
    return (unsigned)dataset * 2654435761u ^ (unsigned)rank * 40503u ^ (unsigned)file << 30;
}

/* The same name in the directory of each rank, as some codes have it. */
static int route(const char* name, int file, char path[SCR_MAX_FILENAME])
{
    char wanted[SCR_MAX_FILENAME];
    snprintf(wanted, sizeof wanted, "%.900s/rank %d/file.%d", name, rank, file);
    return SCR_Route_file(wanted, path) == SCR_SUCCESS;
}

static int write_one(const char* name, int dataset, int file)
{
    char path[SCR_MAX_FILENAME];
    if (!route(name, file, path)) return 0;
    FILE* stream = fopen(path, "wb");
    if (stream == NULL) return 0;
    unsigned x = seed_of(dataset, file);
    for (size_t left = size_of(dataset, file); left > 0; left--) {
        x = x * 1664525u + 1013904223u;
        putc((int)(x >> 16 & 255), stream);
    }
    int good = !ferror(stream);
    return fclose(stream) == 0 && good;
}

static int verify_one(const char* name, int dataset, int file)
{
    char path[SCR_MAX_FILENAME];
    if (!route(name, file, path)) return 0;
    FILE* stream = fopen(path, "rb");
    if (stream == NULL) return 0;
    unsigned x = seed_of(dataset, file);
    int good = 1;
    for (size_t left = size_of(dataset, file); good && left > 0; left--) {
        x = x * 1664525u + 1013904223u;
        good = getc(stream) == (int)(x >> 16 & 255);
    }
    good = good && getc(stream) == EOF;
    fclose(stream);
    return good;
}

/* What was restarted from, 0 for nothing. */
static int restart(void)
{
    int have = 0, dataset = 0;
    char name[SCR_MAX_FILENAME];
    if (SCR_Have_restart(&have, name) != SCR_SUCCESS || !have) return 0;
    SCR_Start_restart(name);
    int good = sscanf(name, "churn.%d", &dataset) == 1;
    for (int file = 0; good && file < files_in(dataset); file++) {
        good = verify_one(name, dataset, file);
    }
    if (!good) fprintf(stderr, "churn: rank %d: %s is not what was written\n", rank, name);
    if (SCR_Complete_restart(good) != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    return dataset;
}

/* Appends, in one piece and without SCR knowing. */
static void record(const char* path, int dataset)
{
    char line[16];
    int length = snprintf(line, sizeof line, "%d\n", dataset);
    int out = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (out < 0 || write(out, line, (size_t)length) != length || close(out) != 0) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void say(const char* what, int dataset)
{
    if (rank != 0) return;
    printf("churn: %s %d\n", what, dataset);
    fflush(stdout);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "grow") == 0) grow = 1;
        else if (strcmp(argv[i], "count") == 0 && i + 1 < argc) count = atoi(argv[++i]);
        else if (strcmp(argv[i], "bytes") == 0 && i + 1 < argc) bytes = atoi(argv[++i]);
        else argc = 0;
    }
    if (argc < 2 || SCR_Init() != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);

    int dataset = restart();
    say("restarted from", dataset);
    while (count-- > 0) {
        char name[64];
        snprintf(name, sizeof name, "churn.%d", ++dataset);
        int good = SCR_Start_output(name, SCR_FLAG_CHECKPOINT) == SCR_SUCCESS;
        if (!good) {
            say("could not start", dataset);
            continue;
        }
        for (int file = 0; good && file < files_in(dataset); file++) {
            good = write_one(name, dataset, file);
        }
        if (SCR_Complete_output(good) == SCR_SUCCESS) {
            if (rank == 0) record(argv[1], dataset);
        } else {
            say("could not complete", dataset);
        }
    }
    int ended = SCR_Finalize() == SCR_SUCCESS;
    say(ended ? "ended after" : "ended badly after", dataset);
    MPI_Finalize();
    return 0;
}
