/* beside.c - times a computation that begins when a checkpoint is complete, so that a flush in the
 * background goes on beside it.
 *
 *   beside BYTES PASSES REPEATS
 *
 * Each rank writes a checkpoint of BYTES, then makes PASSES over an array that fits into the caches of
 * the processor. Prints the median over REPEATS of the slowest rank's seconds for the passes. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 1 << 14, MOST = 100 };

static double a[LENGTH], b[LENGTH];

static int ascending(const void* x, const void* y)
{
    const double d = *(const double*)x - *(const double*)y;
    return (d > 0) - (d < 0);
}

static void stop(const char* what)
{
    fprintf(stderr, "beside: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void checkpoint(int number, int rank, const char* data, size_t bytes)
{
    char name[64], file[128], path[SCR_MAX_FILENAME];
    snprintf(name, sizeof name, "ck.%d", number);
    snprintf(file, sizeof file, "ck.%d/rank.%d", number, rank);
    if (SCR_Start_output(name, SCR_FLAG_CHECKPOINT) != SCR_SUCCESS) stop("SCR_Start_output");
    if (SCR_Route_file(file, path) != SCR_SUCCESS) stop("SCR_Route_file");
    FILE* stream = fopen(path, "wb");
    if (stream == NULL || fwrite(data, 1, bytes, stream) != bytes || fclose(stream) != 0) stop(path);
    if (SCR_Complete_output(1) != SCR_SUCCESS) stop("SCR_Complete_output");
}

int main(int argc, char** argv)
{
    int rank;
    double seconds[MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4) stop("BYTES PASSES REPEATS");
    const size_t bytes = strtoull(argv[1], NULL, 10);
    const int passes = atoi(argv[2]), repeats = atoi(argv[3]) < MOST ? atoi(argv[3]) : MOST;
    char* data = malloc(bytes);
    if (data == NULL) stop("no memory");
    memset(data, rank + 1, bytes);
    if (SCR_Init() != SCR_SUCCESS) stop("SCR_Init");
    for (int i = 0; i < LENGTH; i++) a[i] = i;
    for (int number = 0; number < repeats; number++) {
        checkpoint(number, rank, data, bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begun = MPI_Wtime();
        for (int pass = 0; pass < passes; pass++) {
            for (int i = 0; i < LENGTH; i++) b[i] = 0.5 * b[i] + a[(i * 7 + pass) & (LENGTH - 1)];
        }
        const double mine = MPI_Wtime() - begun;
        MPI_Allreduce(&mine, &seconds[number], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    SCR_Finalize();
    qsort(seconds, (size_t)repeats, sizeof *seconds, ascending);
    /* The sum keeps the computation from being left out. */
    double sum = 0;
    for (int i = 0; i < LENGTH; i++) sum += b[i];
    if (rank == 0) printf("beside kernel=%.4f sum=%g\n", seconds[repeats / 2], sum);
    MPI_Finalize();
    free(data);
    return 0;
}
