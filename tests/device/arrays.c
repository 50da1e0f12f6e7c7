/* Random fields in all kinds of memory: of the host, of a device, managed, pinned, from the pool of a stream.

   Usage: arrays SEED write NAME | SEED read NAME [TIMES] | SEED refuse NAME [FUNCTION N CODE]
     write   fills the fields and writes the checkpoint NAME
     read    overwrites all memory, restores, and compares every byte: those of elements, and those between them. So
             often, each time with other bytes before
     refuse  as write, but a function of the driver fails at its n-th call from here on (with a driver of ours only), and
             so must the checkpoint, on all ranks
   The fields depend on SEED only, the parts of a rank also on the number of ranks. With OTHER_RANKS in the environment
   no field is each rank's own. With ARRAYS_DRIVER=hip the driver is that of HIP, and else that of CUDA; without it all memory
   is the host's. */

#include <dlfcn.h>
#include <inttypes.h>
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Pointer;
/* The functions of a driver, by their names in CUDA and in HIP, which has no contexts. */
#define FUNCTIONS                                                                                        \
    USE(init, cuInit, hipInit, (unsigned flags))                                                         \
    USE(count_devices, cuDeviceGetCount, hipGetDeviceCount, (int* count))                                \
    USE(synchronize, cuCtxSynchronize, hipDeviceSynchronize, (void))                                     \
    USE(make_stream, cuStreamCreate, hipStreamCreateWithFlags, (void** stream, unsigned flags))          \
    USE(on_device, cuMemAlloc_v2, hipMalloc, (Pointer* memory, size_t bytes))                            \
    USE(managed, cuMemAllocManaged, hipMallocManaged, (Pointer* memory, size_t bytes, unsigned flags))   \
    USE(pinned, cuMemHostAlloc, hipHostMalloc, (void** memory, size_t bytes, unsigned flags))            \
    USE(upload_in, cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync, (Pointer to, const void* from, size_t bytes, void* stream)) \
    USE(download_now, cuMemcpyDtoH_v2, hipMemcpyDtoH, (void* to, Pointer from, size_t bytes))
#define OF_CUDA                                                                     \
    USE(cuDeviceGet, , , (int* device, int number))                                 \
    USE(cuDevicePrimaryCtxRetain, , , (void** context, int device))                 \
    USE(cuCtxSetCurrent, , , (void* context))                                       \
    USE(cuCtxGetCurrent, , , (void** context))                                      \
    USE(cuMemAllocAsync, , , (Pointer* memory, size_t bytes, void* stream))
#define OF_HIP                                                                      \
    USE(hipSetDevice, , , (int device))                                             \
    USE(hipGetDevice, , , (int* device))
#define USE(name, cuda, hip, arguments) static int(*name) arguments;
FUNCTIONS
OF_CUDA
OF_HIP
#undef USE

enum { MOST = 24, DIMS = 3 };
enum { ON_HOST, ON_DEVICE, IN_POOL, MANAGED, PINNED, PLACES };
enum { OWN, SAME, PART, INDEXED };

typedef struct {
    char name[32];
    int role, place, kind, dims;
    size_t size;
    int64_t whole[DIMS], at[DIMS], extents[DIMS], strides[DIMS];
    unsigned char *model, *copy; /* in the memory of the host, as the memory of the field should be, and as it is */
    unsigned char* memory;
    size_t bytes, first; /* of all memory, and of the first element in it */
} Field;

static const struct {
    int kind;
    size_t size;
} kinds[] = { { SCR_INT8, 1 }, { SCR_UINT16, 2 }, { SCR_INT32, 4 }, { SCR_FLOAT64, 8 }, { SCR_COMPLEX128, 16 },
    { SCR_BYTES + 3, 3 }, { SCR_CHARACTER + 20, 20 }, { SCR_FLOAT32, 4 } };

static int rank, ranks, fields, with_device, is_hip;
static uint64_t seed, position;
static Field all[MOST];
static int64_t* ids;
static int64_t mine, indices;
static void *streams[2], *context, *driver;

static void check(int holds, const char* what, const char* name)
{
    if (holds) return;
    fprintf(stderr, "arrays: rank %d: not so: %s %s\n", rank, what, name);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The next random number below `end`, the same on all ranks. */
static int64_t below(int64_t end)
{
    return (int64_t)(mixed(seed * 1000003 + ++position) % (uint64_t)end);
}

static int64_t begin_of(int64_t whole, int r)
{
    return whole * r / ranks;
}

static void* function(const char* name)
{
    void* found = dlsym(driver, name);
    check(found != NULL, "the driver has", name);
    return found;
}

/* What is current in this thread: a context, or with HIP a device. */
static void* current(void)
{
    int device = -1;
    void* now = NULL;
    if (with_device) check((is_hip ? hipGetDevice(&device) : cuCtxGetCurrent(&now)) == 0, "the current device", "");
    return is_hip ? (void*)(intptr_t)device : now;
}

static void start_device(void)
{
    int count, device;
    const char* kind = getenv("ARRAYS_DRIVER");
    is_hip = kind != NULL && strcmp(kind, "hip") == 0;
    driver = dlopen(is_hip ? "libamdhip64.so.6" : "libcuda.so.1", RTLD_NOW);
    if (driver == NULL || (is_hip && dlopen("libhsa-runtime64.so.1", RTLD_NOW) == NULL)) return;
#define USE(name, cuda, hip, arguments) *(void**)&name = function(is_hip ? #hip : #cuda);
    FUNCTIONS
#undef USE
#define USE(name, cuda, hip, arguments) *(void**)&name = function(#name);
    if (is_hip) {
        OF_HIP
    } else {
        OF_CUDA
    }
#undef USE
    if (init(0) != 0 || count_devices(&count) != 0 || count == 0) return;
    if (is_hip) check(hipSetDevice(rank % count) == 0, "hipSetDevice", "");
    else {
        check(cuDeviceGet(&device, rank % count) == 0, "cuDeviceGet", "");
        check(cuDevicePrimaryCtxRetain(&context, device) == 0, "cuDevicePrimaryCtxRetain", "");
        check(cuCtxSetCurrent(context) == 0, "cuCtxSetCurrent", "");
    }
    for (int i = 0; i < 2; i++) check(make_stream(&streams[i], 1) == 0, "a stream", "");
    with_device = 1;
    context = current();
}

static void allocate(Field* f)
{
    Pointer device = 0;
    void* host = NULL;
    int error = 0;
    switch (f->place) {
    case ON_HOST: host = malloc(f->bytes); break;
    case ON_DEVICE: error = on_device(&device, f->bytes); break;
    case IN_POOL: error = is_hip ? on_device(&device, f->bytes) : cuMemAllocAsync(&device, f->bytes, streams[0]); break;
    case MANAGED: error = managed(&device, f->bytes, 1); break;
    default: error = pinned(&host, f->bytes, 0);
    }
    f->memory = host != NULL ? host : (unsigned char*)(uintptr_t)device;
    check(error == 0 && f->memory != NULL, "memory for", f->name);
    if (with_device) check(synchronize() == 0, "the device is idle", "");
}

/* Fills the memory of a field from `bytes`, and does not wait for the copy to the device. */
static void upload(Field* f, const unsigned char* bytes)
{
    Pointer to = (Pointer)(uintptr_t)f->memory;
    if (f->place == ON_HOST || f->place == PINNED) memcpy(f->memory, bytes, f->bytes);
    else check(upload_in(to, bytes, f->bytes, streams[below(2)]) == 0, "an upload of", f->name);
}

static void download(Field* f)
{
    Pointer from = (Pointer)(uintptr_t)f->memory;
    if (f->place == ON_HOST || f->place == PINNED) memcpy(f->copy, f->memory, f->bytes);
    else check(download_now(f->copy, from, f->bytes) == 0, "a download of", f->name);
}

/* Visits the elements of this rank: their places, and their numbers in the whole. */
static void each(const Field* f, void (*visit)(const Field*, size_t place, uint64_t number))
{
    int64_t i[DIMS] = { 0 }, count = 1;
    for (int d = 0; d < f->dims; d++) count *= f->extents[d];
    for (int64_t n = 0; n < count; n++) {
        int64_t place = (int64_t)f->first, number = 0;
        for (int d = 0; d < f->dims; d++) {
            int64_t there = f->role == INDEXED && d == 0 ? ids[i[0]] : f->at[d] + i[d];
            place += i[d] * f->strides[d];
            number = number * f->whole[d] + there;
        }
        visit(f, (size_t)place, (uint64_t)number);
        for (int d = f->dims - 1; d >= 0 && ++i[d] == f->extents[d]; d--) i[d] = 0;
    }
}

static void fill(const Field* f, size_t place, uint64_t number)
{
    uint64_t own = f->role == OWN ? (uint64_t)rank + 1 : 0;
    uint64_t base = mixed(seed ^ own << 40 ^ (uint64_t)(f - all) << 50) + number * 0x9e3779b97f4a7c15u;
    for (size_t b = 0; b < f->size; b++) f->model[place + b] = (unsigned char)(mixed(base + b) >> 20);
}

/* Draws the fields. */
static void draw(void)
{
    fields = (int)(6 + below(MOST - 6));
    indices = 50 + below(3000);
    ids = malloc((size_t)indices * sizeof *ids);
    check(ids != NULL, "memory", "");
    for (int64_t id = 0; id < indices; id++) {
        if (mixed(seed + (uint64_t)id) % (uint64_t)ranks == (uint64_t)rank) ids[mine++] = id;
    }
    for (int n = 0; n < fields; n++) {
        Field* f = &all[n];
        int large = below(4) == 0, kind = (int)below(sizeof kinds / sizeof *kinds);
        snprintf(f->name, sizeof f->name, "field %d", n);
        f->role = (int)below(4);
        /* Another number of ranks cannot restore what is each rank's own. */
        if (f->role == OWN && getenv("OTHER_RANKS") != NULL) f->role = SAME;
        f->place = with_device ? (int)below(PLACES) : ON_HOST;
        f->kind = kinds[kind].kind;
        f->size = kinds[kind].size;
        f->dims = f->role == INDEXED ? (int)(1 + below(DIMS)) : (int)below(DIMS + 1);
        if (f->role == PART && f->dims == 0) f->dims = 1;
        for (int d = 0; d < f->dims; d++) {
            f->whole[d] = f->extents[d] = 1 + below(large && d == 0 ? 40000 : 24);
            f->at[d] = 0;
        }
        if (f->role == PART) {
            f->at[0] = begin_of(f->whole[0], rank);
            f->extents[0] = begin_of(f->whole[0], rank + 1) - f->at[0];
        } else if (f->role == INDEXED) {
            f->whole[0] = indices;
            f->extents[0] = mine;
        }
        /* Gaps between elements, rows and planes, and some dimensions backwards. */
        int64_t step = (int64_t)f->size, back = 0;
        for (int d = f->dims - 1; d >= 0; d--) {
            if (below(3) == 0) step += (int64_t)(f->size * (size_t)(1 + below(3)));
            f->strides[d] = step;
            if (below(5) == 0) {
                back += step * (f->extents[d] > 0 ? f->extents[d] - 1 : 0);
                f->strides[d] = -step;
            }
            step *= f->extents[d] > 0 ? f->extents[d] : 1;
        }
        size_t before = (size_t)below(200), after = (size_t)below(200);
        f->first = before + (size_t)back;
        f->bytes = before + (size_t)step + after + 1;
        f->model = malloc(f->bytes);
        f->copy = malloc(f->bytes);
        check(f->model != NULL && f->copy != NULL, "memory", "");
        memset(f->model, 0xa5, f->bytes);
        each(f, fill);
        allocate(f);
    }
}

static int state(SCR_State* s, void* unused)
{
    (void)unused;
    if (below(2) == 0 && with_device) SCR_Stream(s, NULL);
    SCR_Index(s, "index", ids, SCR_INT64, mine, 0, indices);
    for (int n = 0; n < fields; n++) {
        Field* f = &all[n];
        unsigned char* first = f->memory + f->first;
        if (f->role == OWN) SCR_Field(s, f->name, first, f->kind, f->dims, f->extents, f->strides, NULL, NULL);
        else if (f->role == SAME) SCR_Same(s, f->name, first, f->kind, f->dims, f->extents, f->strides);
        else if (f->role == PART) {
            SCR_Field(s, f->name, first, f->kind, f->dims, f->extents, f->strides, f->whole, f->at);
        } else SCR_Field_by_index(s, f->name, "index", first, f->kind, f->dims, f->extents, f->strides);
    }
    return 0;
}

static int written(char* name)
{
    for (int n = 0; n < fields; n++) upload(&all[n], all[n].model);
    int code = SCR_Checkpoint(name, SCR_FLAG_CHECKPOINT, state, NULL);
    /* A device of HIP that has failed answers nothing. */
    if (with_device && (code == SCR_SUCCESS || !is_hip)) check(current() == context, "the current device is as before", "");
    return code == SCR_SUCCESS;
}

static void read_back(const char* name, int turn)
{
    int found = 0;
    unsigned char* other = malloc(1);
    for (int n = 0; n < fields; n++) {
        Field* f = &all[n];
        other = realloc(other, f->bytes);
        check(other != NULL, "memory", "");
        /* What belongs to no element must stay. */
        memset(other, turn % 256, f->bytes);
        memset(f->model, turn % 256, f->bytes);
        each(f, fill);
        upload(f, other);
    }
    free(other);
    check(SCR_Restore(state, NULL, &found) == SCR_SUCCESS && found, "a restart from", name);
    if (with_device) check(current() == context, "the current device is as before", "");
    for (int n = 0; n < fields; n++) {
        download(&all[n]);
        check(memcmp(all[n].copy, all[n].model, all[n].bytes) == 0, "the bytes of", all[n].name);
    }
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(argc >= 4, "arguments", "");
    seed = strtoull(argv[1], NULL, 10);
    start_device();
    draw();
    check(SCR_Init() == SCR_SUCCESS, "SCR_Init", "");
    int counts[2] = { 0, 0 };
    if (strcmp(argv[2], "write") == 0) {
        /* Often enough that files are written over pages that were kept. */
        for (int again = 0; again < 4; again++) {
            char name[256];
            snprintf(name, sizeof name, "%s.%d", argv[3], again);
            check(written(name), "the checkpoint", name);
        }
    } else if (strcmp(argv[2], "read") == 0) {
        for (int turn = 1; turn <= (argc > 4 ? atoi(argv[4]) : 2); turn++) read_back(argv[3], turn);
        check(written("after"), "the checkpoint", "after");
        read_back("after", 99);
    } else {
        void (*fail)(const char*, int, int) = NULL;
        *(void**)&fail = dlsym(RTLD_DEFAULT, "fake_fail");
        if (driver != NULL) *(void**)&fail = dlsym(driver, "fake_fail");
        check(fail != NULL && argc == 7, "the driver can fail", "");
        if (rank == ranks - 1) fail(argv[4], atoi(argv[5]), atoi(argv[6]));
        int ok = written(argv[3]);
        fail(argv[4], 0, 0);
        counts[ok]++;
        int others[2];
        MPI_Allreduce(counts, others, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        check(others[0] == 0 || others[1] == 0, "the same result on all ranks", "");
    }
    for (int n = 0; n < fields && with_device; n++) counts[0] += all[n].place != ON_HOST;
    if (rank == 0) printf("arrays: %s %s: %d fields, %d not in plain memory\n", argv[2], argv[3], fields, counts[0]);
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
