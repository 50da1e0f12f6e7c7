/* Fields in memory of a device from C: nothing is marked. The device is that of a library which answers as CUDA's driver,
   and does all work late. Usage: device_memory DIRECTORY, which has that library, and one of OpenACC. With
   SCR_DEVICE_STRICT=1 an array of the processor of which the device has a copy is an error. Runs on any number of ranks. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

enum { ROWS = 30, COLUMNS = 40, LENGTH = 1 << 20 };

static int rank, ranks;

static struct {
    int (*init)(unsigned);
    int (*retain)(void**, int);
    int (*set_current)(void*);
    int (*get_current)(void**);
    int (*alloc)(address*, size_t);
    int (*managed)(address*, size_t, unsigned);
    int (*pinned)(void**, size_t);
    int (*to_device)(address, const void*, size_t);
    int (*to_host)(void*, address, size_t);
    int (*set)(address, unsigned char, size_t, void*);
    int (*stream)(void**, unsigned);
    int (*synchronize)(void);
} cuda;

static void check(int holds, const char* what)
{
    if (holds) return;
    fprintf(stderr, "device_memory: rank %d: not so: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* library_of(const char* directory, const char* name)
{
    char path[4096];
    void* library;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    library = dlopen(path, RTLD_NOW);
    check(library != NULL, path);
    return library;
}

static void load(const char* directory)
{
    void* library = library_of(directory, "libcuda.so.1");
    struct {
        void* to;
        const char* name;
    } all[] = {
        { &cuda.init, "cuInit" },
        { &cuda.retain, "cuDevicePrimaryCtxRetain" },
        { &cuda.set_current, "cuCtxSetCurrent" },
        { &cuda.get_current, "cuCtxGetCurrent" },
        { &cuda.alloc, "cuMemAlloc_v2" },
        { &cuda.managed, "cuMemAllocManaged" },
        { &cuda.pinned, "cuMemAllocHost_v2" },
        { &cuda.to_device, "cuMemcpyHtoD_v2" },
        { &cuda.to_host, "cuMemcpyDtoH_v2" },
        { &cuda.set, "cuMemsetD8Async" },
        { &cuda.stream, "cuStreamCreate" },
        { &cuda.synchronize, "cuCtxSynchronize" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void* found = dlsym(library, all[i].name);
        check(found != NULL, all[i].name);
        memcpy(all[i].to, &found, sizeof found);
    }
}

struct program {
    address grid, step, cells, particles, line, managed;
    int32_t* pinned;
    void* stream;
    int64_t ids[3], count;
    int wrong; /* what is wrong on the last rank */
};

static void* at(address place) { return (void*)(uintptr_t)place; }

static int state(SCR_State* s, void* context)
{
    struct program* p = context;
    const int wrong = rank == ranks - 1 ? p->wrong : 0;
    /* The inner elements of an array with a frame. */
    int64_t extents[2] = { ROWS - 2, COLUMNS - 2 };
    int64_t strides[2] = { COLUMNS * (int64_t)sizeof(double), (int64_t)sizeof(double) };
    int64_t whole[2] = { (ROWS - 2) * (int64_t)ranks, COLUMNS - 2 }, first[2] = { (ROWS - 2) * (int64_t)rank, 0 };
    int64_t length = LENGTH, three = 3, ten = 10, far = wrong == 6 ? 1 << 30 : LENGTH;
    SCR_Field(s, "grid", at(p->grid + (address)strides[0] + 8), SCR_FLOAT64, 2, extents, strides, whole, first);
    if (wrong == 1) SCR_Next_field(s, SCR_ON_HOST);
    SCR_Same(s, "step", at(p->step), SCR_INT64, 0, NULL, NULL);
    SCR_Index(s, "numbers", wrong == 2 ? at(p->cells) : p->ids, SCR_INT64, 3, 0, 3 * (int64_t)ranks);
    SCR_Field_by_index(s, "cells", "numbers", at(p->cells), SCR_INT32, 1, &three, NULL);
    SCR_Bag(s, "bag", wrong == 3 ? at(p->step) : &p->count);
    SCR_Field_by_index(s, "particles", "bag", at(p->particles), SCR_FLOAT64, 1, &p->count, NULL);
    SCR_Stream(s, p->stream);
    SCR_Next_field(s, SCR_ON_DEVICE);
    SCR_Field(s, "line", at(p->line), SCR_UINT8, 1, &far, NULL, NULL, NULL);
    SCR_Stream(s, NULL);
    SCR_Next_field(s, wrong == 4 ? SCR_ON_DEVICE : SCR_ON_HOST);
    SCR_Field(s, "pinned", p->pinned, SCR_INT32, 1, &ten, NULL, NULL, NULL);
    SCR_Next_field(s, SCR_ON_HOST);
    SCR_Field(s, "near", at(p->managed), SCR_UINT8, 1, &ten, NULL, NULL, NULL);
    SCR_Next_field(s, SCR_ON_DEVICE);
    SCR_Field(s, "managed", at(p->managed + 10), SCR_UINT8, 1, &length, NULL, NULL, NULL);
    if (wrong == 5) SCR_Count(s, "number", at(p->step));
    return 0;
}

static void put(address place, const void* from, size_t bytes)
{
    check(cuda.to_device(place, from, bytes) == 0, "a copy to the device");
}

static void fill(struct program* p, int seed)
{
    static double grid[ROWS * COLUMNS];
    int64_t step = seed;
    double particles[5];
    int32_t cells[3];
    for (int i = 0; i < ROWS * COLUMNS; i++) grid[i] = seed + rank * 1e4 + i;
    for (int i = 0; i < 5; i++) particles[i] = seed * 10 + i + rank;
    for (int i = 0; i < 3; i++) {
        p->ids[i] = (rank + ranks * i + 1) % (3 * ranks); /* in no order */
        cells[i] = (int32_t)p->ids[i] * 10 + seed;
    }
    p->count = 5;
    put(p->grid, grid, sizeof grid);
    put(p->step, &step, sizeof step);
    put(p->cells, cells, sizeof cells);
    put(p->particles, particles, sizeof particles);
    check(cuda.synchronize() == 0, "the device");
    for (int i = 0; i < 10; i++) p->pinned[i] = seed * i;
    /* Work that goes on while the checkpoint is called. */
    check(cuda.set(p->line, (unsigned char)seed, LENGTH, p->stream) == 0, "work of a stream");
    check(cuda.set(p->managed, (unsigned char)(seed + 1), LENGTH + 10, NULL) == 0, "work of the default stream");
}

static void same(struct program* p, int seed)
{
    static double grid[ROWS * COLUMNS];
    static unsigned char line[LENGTH], managed[LENGTH + 10];
    int64_t step;
    double particles[5];
    int32_t cells[3];
    check(cuda.synchronize() == 0, "the device");
    cuda.to_host(grid, p->grid, sizeof grid);
    cuda.to_host(&step, p->step, sizeof step);
    cuda.to_host(cells, p->cells, sizeof cells);
    cuda.to_host(particles, p->particles, sizeof particles);
    cuda.to_host(line, p->line, sizeof line);
    cuda.to_host(managed, p->managed, sizeof managed);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const int row = i / COLUMNS, column = i % COLUMNS;
        const int inside = row > 0 && row < ROWS - 1 && column > 0 && column < COLUMNS - 1;
        check(grid[i] == (inside ? 5 : seed) + rank * 1e4 + i, "the grid is restored, and its frame is not touched");
    }
    check(step == 5, "the step");
    for (int i = 0; i < 3; i++) check(cells[i] == (int32_t)p->ids[i] * 10 + 5, "the cells");
    for (int i = 0; i < 5; i++) check(particles[i] == 50 + i + rank, "the particles");
    for (int i = 0; i < LENGTH; i++) check(line[i] == 5, "the line, with what the stream has done");
    for (int i = 0; i < LENGTH + 10; i++) check(managed[i] == 6, "managed memory");
    for (int i = 0; i < 10; i++) check(p->pinned[i] == 5 * i, "pinned memory");
}

/* An array of the processor of which OpenACC has a copy on the device. */
struct twice {
    double host[100];
    int options;
};

static int twice(SCR_State* s, void* context)
{
    struct twice* t = context;
    int64_t extent = 100;
    SCR_Next_field(s, t->options);
    SCR_Field(s, "twice", t->host, SCR_FLOAT64, 1, &extent, NULL, NULL, NULL);
    return 0;
}

static void stale(const char* directory, address on_device)
{
    void (*present)(void*, size_t, void*, int);
    struct twice t = { { 0 }, 0 };
    const char* strict = getenv("SCR_DEVICE_STRICT");
    const int is_strict = strict != NULL && *strict == '1';
    void* found = dlsym(library_of(directory, "gomp/libgomp.so.1"), "fake_present");
    library_of(directory, "gomp/libgomp-plugin-nvptx.so.1");
    check(found != NULL, "fake_present");
    memcpy(&present, &found, sizeof found);
    check(SCR_Checkpoint("once", SCR_FLAG_CHECKPOINT, twice, &t) == SCR_SUCCESS, "an array of the processor alone");
    present(t.host, sizeof t.host, at(on_device), 1);
    for (int i = 0; i < 2; i++) {
        const int failed = SCR_Checkpoint("twice", SCR_FLAG_CHECKPOINT, twice, &t) != SCR_SUCCESS;
        check(failed == is_strict, "SCR_DEVICE_STRICT decides");
    }
    t.options = SCR_ON_HOST;
    check(SCR_Checkpoint("meant", SCR_FLAG_CHECKPOINT, twice, &t) == SCR_SUCCESS, "it is meant");
}

int main(int argc, char** argv)
{
    struct program p = { 0 };
    void *context = NULL, *current = NULL;
    int found = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(argc == 2, "usage");
    load(argv[1]);
    check(SCR_Init() == SCR_SUCCESS, "SCR_Init");
    check(cuda.init(0) == 0 && cuda.retain(&context, 0) == 0 && cuda.set_current(context) == 0, "a context");
    check(cuda.alloc(&p.grid, ROWS * COLUMNS * sizeof(double)) == 0 && cuda.alloc(&p.step, 8) == 0
            && cuda.alloc(&p.cells, 24) == 0 && cuda.alloc(&p.particles, 40) == 0 && cuda.alloc(&p.line, LENGTH) == 0
            && cuda.managed(&p.managed, LENGTH + 10, 1) == 0 && cuda.pinned((void**)&p.pinned, 40) == 0
            && cuda.stream(&p.stream, 1) == 0, "memory of the device");

    fill(&p, 5);
    check(SCR_Checkpoint("ck.1", SCR_FLAG_CHECKPOINT, state, &p) == SCR_SUCCESS, "SCR_Checkpoint");
    for (p.wrong = 1; p.wrong <= 6; p.wrong++)
        check(SCR_Checkpoint("bad", SCR_FLAG_CHECKPOINT, state, &p) != SCR_SUCCESS, "what is wrong is an error on all ranks");
    p.wrong = 0;
    fill(&p, 9);
    check(SCR_Restore(state, &p, &found) == SCR_SUCCESS && found == 1, "SCR_Restore");
    same(&p, 9);
    check(cuda.get_current(&current) == 0 && current == context, "the context of this thread is as before");
    stale(argv[1], p.line);
    check(SCR_Finalize() == SCR_SUCCESS, "SCR_Finalize");
    if (rank == 0) printf("device_memory: as expected\n");
    MPI_Finalize();
    return 0;
}
