/* Heat in a square plate, on a GPU of NVIDIA: as heat2d_fields.c, but that the plate lies in the memory of the device.
 *
 * SCR_Field gets the pointer of the device. SCR finds out that it is one, waits for the kernels that were launched, and
 * copies the plate itself, so the program keeps no copy in the memory of the host. A restart fills the plate on the
 * device, also with another number of ranks. The result is the same bit for bit, with or without a failure.
 *
 * The program uses the driver's own functions, which it loads when it runs, so neither the CUDA toolkit nor a header of
 * it is needed to build this. With the toolkit, pointers from cudaMalloc work likewise.
 *
 * Usage: heat2d_device [size N] [steps N] [every N] [delay MS] [output FILE]
 *   size    interior points in each direction (256)
 *   steps   time steps (100)
 *   every   steps between checkpoints; 0 leaves that to SCR (10)
 *   delay   milliseconds to wait in each step, to leave time for a failure (0)
 *   output  file for the final field, none if empty (heat2d.out)
 *
 * Run it below the prefix directory (SCR_PREFIX, else the current directory).
 */

#define _DEFAULT_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <scr.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The driver's functions, as its documentation has them. */
typedef unsigned long long Pointer;
#define FUNCTIONS                                                                                                 \
    USE(cuInit, (unsigned flags))                                                                                 \
    USE(cuDeviceGetCount, (int* count))                                                                           \
    USE(cuDeviceGet, (int* device, int number))                                                                   \
    USE(cuDevicePrimaryCtxRetain, (void** context, int device))                                                   \
    USE(cuCtxSetCurrent, (void* context))                                                                         \
    USE(cuModuleLoadData, (void** module, const void* text))                                                      \
    USE(cuModuleGetFunction, (void** function, void* module, const char* name))                                   \
    USE(cuLaunchKernel, (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,         \
        unsigned bz, unsigned shared, void* stream, void** arguments, void** extra))                              \
    USE(cuMemAlloc_v2, (Pointer* memory, size_t bytes))                                                           \
    USE(cuMemFree_v2, (Pointer memory))                                                                           \
    USE(cuMemcpyHtoD_v2, (Pointer to, const void* from, size_t bytes))                                            \
    USE(cuMemcpyDtoH_v2, (void* to, Pointer from, size_t bytes))                                                  \
    USE(cuGetErrorName, (int error, const char** name))
#define USE(name, arguments) static int(*name) arguments;
FUNCTIONS
#undef USE

/* One explicit time step: each thread computes a point. `source` and `target` have rows + 2 rows of columns + 2 points. */
static const char kernel_text[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry heat_step(.param .u64 target, .param .u64 source, .param .u32 rows, .param .u32 columns)\n"
    "{\n"
    "    .reg .pred %outside;\n"
    "    .reg .u32 %rows, %columns, %block, %width, %thread, %point, %points, %row, %column, %length;\n"
    "    .reg .u64 %target, %source, %offset, %line, %here, %north, %south, %out;\n"
    "    .reg .f64 %f<6>;\n"
    "    ld.param.u64 %target, [target];\n"
    "    ld.param.u64 %source, [source];\n"
    "    ld.param.u32 %rows, [rows];\n"
    "    ld.param.u32 %columns, [columns];\n"
    "    mov.u32 %block, %ctaid.x;\n"
    "    mov.u32 %width, %ntid.x;\n"
    "    mov.u32 %thread, %tid.x;\n"
    "    mad.lo.u32 %point, %block, %width, %thread;\n"
    "    mul.lo.u32 %points, %rows, %columns;\n"
    "    setp.ge.u32 %outside, %point, %points;\n"
    "    @%outside bra END;\n"
    "    div.u32 %row, %point, %columns;\n"
    "    rem.u32 %column, %point, %columns;\n"
    "    add.u32 %length, %columns, 2;\n"
    "    mad.lo.u32 %row, %row, %length, %length;\n"
    "    add.u32 %column, %column, 1;\n"
    "    add.u32 %row, %row, %column;\n"
    "    mul.wide.u32 %offset, %row, 8;\n"
    "    mul.wide.u32 %line, %length, 8;\n"
    "    add.u64 %here, %source, %offset;\n"
    "    add.u64 %out, %target, %offset;\n"
    "    sub.u64 %north, %here, %line;\n"
    "    add.u64 %south, %here, %line;\n"
    "    ld.f64 %f0, [%here];\n"
    "    ld.f64 %f1, [%here+-8];\n"
    "    ld.f64 %f2, [%here+8];\n"
    "    ld.f64 %f3, [%north];\n"
    "    ld.f64 %f4, [%south];\n"
    "    add.rn.f64 %f1, %f1, %f2;\n"
    "    add.rn.f64 %f1, %f1, %f3;\n"
    "    add.rn.f64 %f1, %f1, %f4;\n"
    "    mul.rn.f64 %f5, %f0, 0d4010000000000000;\n" /* 4.0 */
    "    sub.rn.f64 %f1, %f1, %f5;\n"
    "    mul.rn.f64 %f1, %f1, 0d3FC999999999999A;\n" /* 0.2 */
    "    add.rn.f64 %f0, %f0, %f1;\n"
    "    st.f64 [%out], %f0;\n"
    "END:\n"
    "    ret;\n"
    "}\n";

static int size = 256, last_step = 100, every = 10, delay = 0;
static const char* output_file = "heat2d.out";

static int rank, ranks, rows, step;
static Pointer field; /* on the device: (rows + 2) x (size + 2), neighbours' rows first and last */
static Pointer next;
static void* heat_step;

static size_t bytes_of(int lines)
{
    return (size_t)lines * (size_t)(size + 2) * sizeof(double);
}

/* Rows of the plate before those of rank r. */
static int first_row(int r)
{
    int rest = size % ranks;
    return size / ranks * r + (r < rest ? r : rest);
}

static void say(const char* format, ...)
{
    if (rank != 0) return;
    va_list args;
    va_start(args, format);
    printf("heat2d: ");
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
}

static void give_up(const char* why, const char* what)
{
    fprintf(stderr, "heat2d: rank %d: %s %s\n", rank, why, what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Ends the program if a function of the driver has failed. */
static void check(int error, const char* what)
{
    const char* name = "an unknown error";
    if (error == 0) return;
    cuGetErrorName(error, &name);
    give_up(what, name);
}
#define CHECK(call) check(call, #call ":")

static int number(const char* text)
{
    char* end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 0 || value > 1000000) {
        give_up("not a number from 0 to 1000000:", text);
    }
    return (int)value;
}

static void read_arguments(int argc, char** argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char* value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "size") == 0) size = number(value);
        else if (strcmp(argv[i], "steps") == 0) last_step = number(value);
        else if (strcmp(argv[i], "every") == 0) every = number(value);
        else if (strcmp(argv[i], "delay") == 0) delay = number(value);
        else if (strcmp(argv[i], "output") == 0) output_file = value;
        else give_up("unknown argument", argv[i]);
    }
    if (size < ranks || size > 30000) give_up("size must be from", "the number of ranks to 30000");
}

/* Loads the driver, and takes a device: ranks on a node take them in turns. */
static void start_device(void)
{
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) give_up("there is no driver of a device:", dlerror());
#define USE(name, arguments)                                          \
    *(void**)&name = dlsym(driver, #name);                            \
    if (name == NULL) give_up("the driver does not have", #name);
    FUNCTIONS
#undef USE

    MPI_Comm node;
    int on_node, count, device;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &on_node);
    MPI_Comm_free(&node);

    void *context, *module;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    if (count == 0) give_up("the driver has", "no device");
    CHECK(cuDeviceGet(&device, on_node % count));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, kernel_text));
    CHECK(cuModuleGetFunction(&heat_step, module, "heat_step"));
}

/* Both fields as they are at the beginning: the upper border of the plate is warm. */
static void fill_fields(void)
{
    double* start = calloc(bytes_of(rows + 2), 1);
    if (start == NULL) give_up("out of memory for", "the field");
    for (int i = 0; rank == 0 && i < size + 2; i++) start[i] = 1.0;
    CHECK(cuMemAlloc_v2(&field, bytes_of(rows + 2)));
    CHECK(cuMemAlloc_v2(&next, bytes_of(rows + 2)));
    CHECK(cuMemcpyHtoD_v2(field, start, bytes_of(rows + 2)));
    CHECK(cuMemcpyHtoD_v2(next, start, bytes_of(rows + 2)));
    free(start);
}

/* Lists what a checkpoint has: this rank's part of the plate, without the rows of its neighbours, and the step. */
static int state(SCR_State* s, void* the_step)
{
    int64_t part[2] = { rows, size }, strides[2] = { (int64_t)bytes_of(1), sizeof(double) };
    int64_t whole[2] = { size, size }, at[2] = { first_row(rank), 0 };
    void* first = (void*)(uintptr_t)(field + bytes_of(1) + sizeof(double));
    SCR_Field(s, "field", first, SCR_FLOAT64, 2, part, strides, whole, at);
    return SCR_Same(s, "step", the_step, SCR_INT32, 0, NULL, NULL);
}

/* Sets whether to stop. If it fails, older checkpoints stay as they are. */
static void checkpoint(int* stop)
{
    char name[64];
    snprintf(name, sizeof name, "heat2d.%d", step);
    int code = SCR_Checkpoint(name, SCR_FLAG_CHECKPOINT, state, &step);
    say("checkpoint %s%s", name, code == SCR_SUCCESS ? "" : " failed, going on without it");
    SCR_Should_exit(stop);
}

/* Fetches the neighbours' rows beside ours. An MPI that knows devices could take the pointers themselves. */
static void exchange_borders(double* ours, double* theirs)
{
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    for (int down = 0; down < 2; down++) {
        int to = down ? below : above, from = down ? above : below;
        int last = down ? rows : 1, beside = down ? 0 : rows + 1;
        CHECK(cuMemcpyDtoH_v2(ours, field + bytes_of(last), bytes_of(1)));
        MPI_Sendrecv(ours, size + 2, MPI_DOUBLE, to, down, theirs, size + 2, MPI_DOUBLE, from, down,
            MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (from != MPI_PROC_NULL) CHECK(cuMemcpyHtoD_v2(field + bytes_of(beside), theirs, bytes_of(1)));
    }
}

/* Launches one time step, and does not wait for it; the border of the plate stays as it is. */
static void advance(void)
{
    unsigned threads = 256, points = (unsigned)rows * (unsigned)size;
    void* arguments[] = { &next, &field, &rows, &size };
    CHECK(cuLaunchKernel(heat_step, (points + threads - 1) / threads, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL));
    Pointer before = field;
    field = next;
    next = before;
}

/* Gathers the field on rank 0, which writes it and prints a sum. */
static void finish(void)
{
    size_t cells = (size_t)size * (size_t)size;
    int* counts = malloc((size_t)ranks * sizeof *counts);
    int* offsets = malloc((size_t)ranks * sizeof *offsets);
    double* mine = malloc(bytes_of(rows + 2));
    double* whole = malloc((rank == 0 ? cells : 1) * sizeof *whole);
    if (counts == NULL || offsets == NULL || mine == NULL || whole == NULL) {
        give_up("out of memory for", "the result");
    }

    for (int r = 0; r < ranks; r++) {
        offsets[r] = size * first_row(r);
        counts[r] = size * first_row(r + 1) - offsets[r];
    }
    CHECK(cuMemcpyDtoH_v2(mine, field, bytes_of(rows + 2)));
    for (int j = 0; j < rows; j++) {
        memmove(mine + (size_t)j * (size_t)size, mine + (size_t)(j + 1) * (size_t)(size + 2) + 1,
            (size_t)size * sizeof *mine);
    }
    MPI_Gatherv(mine, counts[rank], MPI_DOUBLE, whole, counts, offsets, MPI_DOUBLE, 0, MPI_COMM_WORLD);

    if (rank == 0) {
        double sum = 0.0;
        for (size_t i = 0; i < cells; i++) sum += whole[i];
        say("finished step %d, sum of the field %.16e", step, sum);
        if (*output_file != '\0') {
            FILE* file = fopen(output_file, "wb");
            int ok = file != NULL && fwrite(whole, sizeof *whole, cells, file) == cells;
            if (file != NULL) ok = fclose(file) == 0 && ok;
            if (!ok) give_up("cannot write", output_file);
        }
    }
    free(counts);
    free(offsets);
    free(mine);
    free(whole);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    read_arguments(argc, argv);

    rows = first_row(rank + 1) - first_row(rank);
    start_device();
    fill_fields();
    double* line = malloc(bytes_of(2));
    if (line == NULL) give_up("out of memory for", "the borders");

    /* SCR may be switched off, or not start. To begin again where there may be a checkpoint could cost it. */
    int found = 0, stop = 0, with_scr = SCR_Init() == SCR_SUCCESS;
    if (with_scr && SCR_Restore(state, &step, &found) != SCR_SUCCESS) give_up("no checkpoint is", "readable");
    if (!with_scr) say("SCR is off, going on without checkpoints");
    else say(found ? "restarted from heat2d.%d" : "no checkpoint, starting from step %d", step);

    while (step < last_step && !stop) {
        step++;
        exchange_borders(line, line + size + 2);
        advance();
        if (delay > 0) usleep((useconds_t)delay * 1000);

        if (with_scr && every == 0) SCR_Checkpoint_if_needed(state, &step, &stop);
        if (with_scr && every > 0 && step % every == 0) checkpoint(&stop);
    }

    if (step == last_step) finish();
    else say("stopping early, as SCR asks");
    SCR_Finalize();

    cuMemFree_v2(field);
    cuMemFree_v2(next);
    free(line);
    MPI_Finalize();
    return 0;
}
