/* Checkpoints of fields on a device beside other ways to a file, and a restart.
 *
 * Usage: device DIRECTORY FIELDS BYTES TIMES
 *
 * Each process has FIELDS arrays of BYTES bytes on a device. TIMES times in turn, after three that are not counted:
 * the arrays are copied to pinned memory; copied through two pinned buffers and written over a file in DIRECTORY; copied
 * to memory that was just allocated, and written from there to a new file; and written by SCR_Checkpoint. If there is a
 * checkpoint, it is restored first.
 *
 * Prints the slowest process's medians, GB/s of all processes: pinned=, staged=, whole=, checkpoint=, restore=; and
 * processor=, the seconds of the processor that a process spends for a checkpoint.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "scr.h"

typedef unsigned long long Pointer;
#define FUNCTIONS                                                                   \
    USE(cuInit, (unsigned flags))                                                   \
    USE(cuDeviceGetCount, (int* count))                                             \
    USE(cuDeviceGet, (int* device, int number))                                     \
    USE(cuDevicePrimaryCtxRetain, (void** context, int device))                     \
    USE(cuCtxSetCurrent, (void* context))                                           \
    USE(cuMemAlloc_v2, (Pointer* memory, size_t bytes))                             \
    USE(cuMemHostAlloc, (void** memory, size_t bytes, unsigned flags))              \
    USE(cuStreamCreate, (void** stream, unsigned flags))                            \
    USE(cuStreamSynchronize, (void* stream))                                        \
    USE(cuMemcpyDtoHAsync_v2, (void* to, Pointer from, size_t bytes, void* stream)) \
    USE(cuMemcpyDtoH_v2, (void* to, Pointer from, size_t bytes))                    \
    USE(cuMemcpyHtoD_v2, (Pointer to, const void* from, size_t bytes))
#define USE(name, arguments) static int(*name) arguments;
FUNCTIONS
#undef USE

enum { MOST = 64, NAME = 32, PIECE = 64 << 20, BUFFER = 8 << 20 };

static int rank, ranks, fields;
static size_t bytes;
static Pointer* data;
static char (*names)[NAME];
static char* pinned;
static void* stream;

static void stop_if(int failed, const char* what)
{
    if (!failed) return;
    fprintf(stderr, "device: rank %d: failed: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(call) stop_if((call) != 0, #call)

static void start_device(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int count, device;
    stop_if(driver == NULL, "there is no driver of a device");
#define USE(name, arguments)               \
    *(void**)&name = dlsym(driver, #name); \
    stop_if(name == NULL, #name);
    FUNCTIONS
#undef USE
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    stop_if(count == 0, "there is no device");
    CHECK(cuDeviceGet(&device, rank % count));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, 1));
    CHECK(cuMemHostAlloc((void**)&pinned, PIECE, 0));
}

static void write_all(int file, const char* from, size_t count, size_t offset)
{
    for (size_t done = 0; done < count;) {
        ssize_t now = pwrite(file, from + done, count - done, (off_t)(offset + done));
        stop_if(now <= 0, "pwrite");
        done += (size_t)now;
    }
}

static void to_pinned(const char* directory)
{
    (void)directory;
    for (int i = 0; i < fields; i++) {
        for (size_t at = 0; at < bytes; at += PIECE) {
            size_t count = bytes - at < PIECE ? bytes - at : PIECE;
            CHECK(cuMemcpyDtoHAsync_v2(pinned, data[i] + at, count, stream));
            CHECK(cuStreamSynchronize(stream));
        }
    }
}

static void staged(const char* directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/staged.%d", directory, rank);
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    stop_if(file < 0, path);
    for (int i = 0; i < fields; i++) {
        size_t before = 0, length = 0;
        for (size_t at = 0, turn = 0; at < bytes || length > 0; turn++) {
            size_t count = at < bytes ? (bytes - at < BUFFER ? bytes - at : BUFFER) : 0;
            if (count > 0) CHECK(cuMemcpyDtoHAsync_v2(pinned + turn % 2 * BUFFER, data[i] + at, count, stream));
            write_all(file, pinned + (turn + 1) % 2 * BUFFER, length, (size_t)i * bytes + before);
            CHECK(cuStreamSynchronize(stream));
            before = at;
            length = count;
            at += count;
        }
    }
    stop_if(close(file) != 0, path);
}

static void whole(const char* directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/whole.%d", directory, rank);
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    stop_if(file < 0, path);
    for (int i = 0; i < fields; i++) {
        char* copy = malloc(bytes);
        stop_if(copy == NULL, "malloc");
        CHECK(cuMemcpyDtoH_v2(copy, data[i], bytes));
        write_all(file, copy, bytes, (size_t)i * bytes);
        free(copy);
    }
    stop_if(close(file) != 0, path);
    unlink(path);
}

static int list(SCR_State* state, void* context)
{
    (void)context;
    int64_t extents[1] = { (int64_t)bytes / 8 };
    for (int i = 0; i < fields; i++) {
        void* first = (void*)(uintptr_t)data[i];
        if (SCR_Field(state, names[i], first, SCR_FLOAT64, 1, extents, NULL, NULL, NULL) != SCR_SUCCESS) return 1;
    }
    return 0;
}

static void checkpoint(const char* directory)
{
    (void)directory;
    stop_if(SCR_Checkpoint(NULL, SCR_FLAG_CHECKPOINT, list, NULL) != SCR_SUCCESS, "SCR_Checkpoint");
}

static double seconds_of(void (*way)(const char*), const char* directory)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    way(directory);
    return MPI_Wtime() - begin;
}

static double processor(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
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

/* Fills an array, or compares it with what it was filled with. */
static void each_word(int field, int fill)
{
    uint64_t* words = (uint64_t*)(void*)pinned;
    for (size_t at = 0; at < bytes; at += PIECE) {
        size_t count = bytes - at < PIECE ? bytes - at : PIECE;
        if (!fill) CHECK(cuMemcpyDtoH_v2(pinned, data[field] + at, count));
        for (size_t i = 0; i < count / 8; i++) {
            uint64_t word = (at / 8 + i) * 0x9e3779b97f4a7c15u + (uint64_t)(field * 4096 + rank);
            if (fill) words[i] = word;
            else stop_if(words[i] != word, "the bytes that were restored are right");
        }
        if (fill) CHECK(cuMemcpyHtoD_v2(data[field] + at, pinned, count));
    }
}

int main(int argc, char** argv)
{
    static void (*const ways[])(const char*) = { to_pinned, staged, whole, checkpoint };
    static const char* const called[] = { "pinned", "staged", "whole", "checkpoint" };
    enum { WAYS = 4, BEFORE = 3 };
    double times[WAYS][MOST], used[MOST];
    int found = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int turns = argc == 5 ? atoi(argv[4]) : 0;
    if (turns < 1 || turns > MOST) {
        fprintf(stderr, "Usage: device DIRECTORY FIELDS BYTES TIMES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    fields = atoi(argv[2]);
    bytes = strtoul(argv[3], NULL, 10) / 8 * 8;
    data = malloc((size_t)fields * sizeof *data);
    names = malloc((size_t)fields * sizeof *names);
    stop_if(data == NULL || names == NULL, "malloc");
    start_device();
    for (int i = 0; i < fields; i++) {
        CHECK(cuMemAlloc_v2(&data[i], bytes));
        snprintf(names[i], NAME, "field %d", i);
    }
    stop_if(SCR_Init() != SCR_SUCCESS, "SCR_Init");

    double all = 1e-9 * (double)bytes * fields * ranks, restore = MPI_Wtime();
    stop_if(SCR_Restore(list, NULL, &found) != SCR_SUCCESS, "SCR_Restore");
    restore = MPI_Wtime() - restore;
    for (int i = 0; i < fields; i++) each_word(i, !found);
    if (rank == 0 && found) printf(" restore=%.2f", all / restore);

    for (int turn = -BEFORE; turn < turns; turn++) {
        for (int way = 0; way < WAYS; way++) {
            double before = processor(), took = seconds_of(ways[way], argv[1]);
            if (turn < 0) continue;
            times[way][turn] = took;
            used[turn] = processor() - before;
        }
    }
    for (int way = 0; way < WAYS; way++) {
        double took = median(times[way], turns);
        if (rank == 0) printf(" %s=%.2f", called[way], all / took);
    }
    double spent = median(used, turns);
    if (rank == 0) printf(" processor=%.4f\n", spent);
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
