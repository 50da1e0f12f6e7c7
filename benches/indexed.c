/* Checkpoints and restarts of fields by index beside those of the same bytes in boxes.
 *
 * Usage: indexed write|read LAYOUT WHOLE FIELDS TIMES
 *
 * A whole of WHOLE elements has FIELDS fields of float64. LAYOUT says which elements a process has:
 *   box        a box, listed with its place
 *   block      the same elements, listed by index
 *   scattered  each element on some process, ascending
 *   shuffled   the same, in any order
 *
 * write: prints checkpoint=, the median of the slowest process's TIMES checkpoints in seconds, after two that are not
 * counted. read: restores the state, compares each value, and prints restore=. Both print cpu=, the median of the
 * processor time of all processes together, and memory=, the KiB that the largest resident size has grown by since the
 * arrays were filled, in the process where that is most.
 */
#define _GNU_SOURCE 1
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "scr.h"

enum { MOST = 64 };

static int rank, ranks, fields, box;
static int64_t whole, count, *ids;
static double** data;

static void stop_if(int failed, const char* what)
{
    if (failed) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int list(SCR_State* state, void* context)
{
    (void)context;
    int64_t at = whole * rank / ranks;
    if (!box && SCR_Index(state, "nodes", ids, SCR_INT64, count, 0, whole) != SCR_SUCCESS)
        return 1;
    for (int i = 0; i < fields; i++) {
        char name[16];
        snprintf(name, sizeof name, "field %d", i);
        int status = box
            ? SCR_Field(state, name, data[i], SCR_FLOAT64, 1, &count, NULL, &whole, &at)
            : SCR_Field_by_index(state, name, "nodes", data[i], SCR_FLOAT64, 1, &count, NULL);
        if (status != SCR_SUCCESS)
            return 1;
    }
    return 0;
}

static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void choose(const char* layout)
{
    int64_t begin = whole * rank / ranks, end = whole * (rank + 1) / ranks;
    int block = strcmp(layout, "box") == 0 || strcmp(layout, "block") == 0;
    box = strcmp(layout, "box") == 0;
    for (int64_t id = 0; id < whole; id++)
        count += block ? id >= begin && id < end : (int)(mixed((uint64_t)id) % (uint64_t)ranks) == rank;
    ids = malloc((size_t)(count + 1) * sizeof *ids);
    int64_t next = 0;
    for (int64_t id = 0; id < whole; id++)
        if (block ? id >= begin && id < end : (int)(mixed((uint64_t)id) % (uint64_t)ranks) == rank)
            ids[next++] = id;
    if (strcmp(layout, "shuffled") == 0) {
        for (int64_t i = count - 1; i > 0; i--) {
            int64_t other = (int64_t)(mixed((uint64_t)i) % (uint64_t)(i + 1)), id = ids[i];
            ids[i] = ids[other];
            ids[other] = id;
        }
    }
}

static double value(int field, int64_t id)
{
    return (double)id + field / 64.0;
}

static int compare(const void* a, const void* b)
{
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* times, int number, MPI_Op of_all)
{
    MPI_Allreduce(MPI_IN_PLACE, times, number, MPI_DOUBLE, of_all, MPI_COMM_WORLD);
    qsort(times, (size_t)number, sizeof *times, compare);
    return times[number / 2];
}

static long resident(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static double processor(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int argc, char** argv)
{
    double times[MOST], used[MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int turns = argc > 5 ? atoi(argv[5]) : 0;
    if (turns < 1 || turns > MOST) {
        fprintf(stderr, "Usage: indexed write|read box|block|scattered|shuffled WHOLE FIELDS TIMES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int reads = strcmp(argv[1], "read") == 0;
    whole = atoll(argv[3]);
    fields = atoi(argv[4]);
    choose(argv[2]);
    data = malloc((size_t)fields * sizeof *data);
    for (int i = 0; i < fields; i++) {
        data[i] = malloc((size_t)(count + 1) * sizeof *data[i]);
        stop_if(data[i] == NULL, "no memory");
        for (int64_t at = 0; at < count; at++) {
            int64_t id = box ? whole * rank / ranks + at : ids[at];
            data[i][at] = reads ? -1 : value(i, id);
        }
    }
    long before = resident();
    stop_if(SCR_Init() != SCR_SUCCESS, "SCR_Init failed");
    for (int turn = reads ? 0 : -2; turn < turns; turn++) {
        int found = 1;
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime(), cpu = processor();
        int status = reads ? SCR_Restore(list, NULL, &found)
                           : SCR_Checkpoint(NULL, SCR_FLAG_CHECKPOINT, list, NULL);
        double took = MPI_Wtime() - begin;
        stop_if(status != SCR_SUCCESS || !found, "the call failed, or there is no checkpoint");
        times[turn < 0 ? 0 : turn] = took;
        used[turn < 0 ? 0 : turn] = processor() - cpu;
        if (reads) {
            turns = 1;
            break;
        }
    }
    long memory = resident() - before;
    for (int i = 0; i < fields; i++)
        for (int64_t at = 0; at < count; at++)
            stop_if(data[i][at] != value(i, box ? whole * rank / ranks + at : ids[at]), "a value is wrong");
    MPI_Allreduce(MPI_IN_PLACE, &memory, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    double took = median(times, turns, MPI_MAX), cpu = median(used, turns, MPI_SUM);
    if (rank == 0)
        printf(" %s=%.4f cpu=%.4f memory=%ld\n", reads ? "restore" : "checkpoint", took, cpu, memory);
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
