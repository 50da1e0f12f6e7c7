/* Checkpoints of fields beside plain writes of the same bytes.
 *
 * Usage: fields DIRECTORY FIELDS BYTES TIMES [STRIDED]
 *
 * Each process has FIELDS arrays of BYTES bytes. TIMES times in turn, after two that are not counted, they are
 * written to a new file in DIRECTORY, by one write for each array, and by SCR_Checkpoint. The file of the last
 * plain write but one is removed before the next, outside of the measured time, as the cache keeps two
 * checkpoints. With STRIDED each array is every second column of one that is twice as wide.
 *
 * Prints the slowest process's medians in seconds: plain= and checkpoint=; ratio=, the first by the second; and
 * memory=, the KiB that the largest resident size has grown by since the arrays were filled.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "scr.h"

enum { MOST = 64, COLUMNS = 512 };

static int rank, fields, strided;
static size_t bytes;
static char** data;
static char (*names)[16];

static void stop_if(int failed, const char* what)
{
    if (failed) {
        perror(what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int list(SCR_State* state, void* context)
{
    (void)context;
    int64_t count = (int64_t)bytes / 8, rows = count / COLUMNS;
    int64_t extents[2] = { strided ? rows : count, COLUMNS };
    int64_t strides[2] = { 16 * COLUMNS, 16 };
    for (int i = 0; i < fields; i++) {
        if (SCR_Field(state, names[i], data[i], SCR_FLOAT64, strided ? 2 : 1, extents, strided ? strides : NULL, NULL,
                NULL)
            != SCR_SUCCESS)
            return 1;
    }
    return 0;
}

static double plain(const char* directory, int number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/plain.%d.%d", directory, rank, number - 2);
    unlink(path);
    snprintf(path, sizeof path, "%s/plain.%d.%d", directory, rank, number);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    stop_if(file < 0, path);
    for (int i = 0; i < fields; i++) {
        for (size_t done = 0; done < bytes;) {
            ssize_t count = write(file, data[i] + done, bytes - done);
            stop_if(count <= 0, path);
            done += (size_t)count;
        }
    }
    stop_if(close(file) != 0, path);
    return MPI_Wtime() - begin;
}

static double checkpoint(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    stop_if(SCR_Checkpoint(NULL, SCR_FLAG_CHECKPOINT, list, NULL) != SCR_SUCCESS, "SCR_Checkpoint");
    return MPI_Wtime() - begin;
}

static int compare(const void* a, const void* b)
{
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

/* The slowest process's time of each turn, then the median of the turns. */
static double median(double* times, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, times, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[count / 2];
}

static long resident(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

int main(int argc, char** argv)
{
    double plain_times[MOST], times[MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int turns = argc > 4 ? atoi(argv[4]) : 0;
    if (turns < 1 || turns > MOST) {
        fprintf(stderr, "Usage: fields DIRECTORY FIELDS BYTES TIMES [STRIDED]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    fields = atoi(argv[2]);
    bytes = strtoul(argv[3], NULL, 10);
    strided = argc > 5;
    data = malloc((size_t)fields * sizeof *data);
    names = malloc((size_t)fields * sizeof *names);
    for (int i = 0; i < fields; i++) {
        size_t size = bytes * (strided ? 2 : 1);
        data[i] = malloc(size);
        stop_if(data[i] == NULL, "malloc");
        memset(data[i], i + rank, size);
        snprintf(names[i], sizeof names[i], "field %d", i);
    }
    long before = resident();
    stop_if(SCR_Init() != SCR_SUCCESS, "SCR_Init");
    for (int number = -2; number < 0; number++) {
        plain(argv[1], number);
        checkpoint();
    }
    for (int number = 0; number < turns; number++) {
        plain_times[number] = plain(argv[1], number);
        times[number] = checkpoint();
    }
    long memory = resident() - before;
    double wrote = median(plain_times, turns), took = median(times, turns);
    MPI_Allreduce(MPI_IN_PLACE, &memory, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf(" plain=%.4f checkpoint=%.4f ratio=%.2f memory=%ld\n", wrote, took, wrote / took, memory);
    for (int number = turns - 2; number < turns; number++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/plain.%d.%d", argv[1], rank, number);
        unlink(path);
    }
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
