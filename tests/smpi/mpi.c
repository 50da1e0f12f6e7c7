/* MPI as MPICH's programs call it, made of SimGrid's SMPI.
 *
 * SMPI runs the ranks of a program in one process on a simulated network. Its handles are not those of MPICH, and
 * it has no MPI_Improbe and MPI_Imrecv. With this file the library that is installed for MPICH runs there as it is:
 * what it calls by MPICH's binary interface is passed on with SMPI's handles.
 *
 * SMPI waits in its own blocking calls only. So a call that the library repeats until it is done, MPI_Test and
 * MPI_Improbe, is a blocking one here; and a collective that it begins and waits for at once is done in the
 * beginning, by the algorithms that MPICH chooses (those of SMPI's MPI_Iallreduce send P * P messages).
 *
 * One thread of a rank receives, and receives what it has found before it looks for more. So MPI_Improbe can be the
 * receive, and MPI_Imrecv the copy of what came.
 */
#define _GNU_SOURCE
#define SMPI_NO_OVERRIDE_MALLOC
#include <mpi.h>
#include <simgrid/host.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The binary interface of MPICH: handles are numbers. */
enum {
    COMM_NULL = 0x04000000,
    COMM_WORLD = 0x44000000,
    COMM_SELF = 0x44000001,
    BYTE_TYPE = 0x4c00010d,
    UINT8_TYPE = 0x4c00013b,
    INT64_TYPE = 0x4c00083a,
    LONG_TYPE = 0x4c000807,
    DOUBLE_TYPE = 0x4c00080b,
    TYPE_NULL = 0x0c000000,
    MAX_OP = 0x58000001,
    SUM_OP = 0x58000003,
    OP_NULL = 0x18000000,
    REQUEST_NULL = 0x2c000000,
    ANY_SOURCE = -2,
    ERRORS_RETURN = 0x54000001,
};

typedef struct {
    int count_low;
    int count_high;
    int source;
    int tag;
    int error;
} Status;

/* One that is done already has SMPI's null handle, and its status. */
typedef struct {
    MPI_Request under;
    Status status;
    int used;
} Request;

#define STATUS_IGNORE ((Status*) 1)

/* name NAME: the function below has this symbol, and not the type that SMPI's header gives it. */
#define NAMED(name) __asm__(#name)

/* What this rank has made; SMPI gives each rank its own copy. A handle is its place, from FIRST on. */
enum { COMMS = 64, TYPES = 4096, OPS = 64, REQUESTS = 1 << 16, FIRST = 0x100 };
static MPI_Comm comms[COMMS];
static MPI_Datatype types[TYPES];
static MPI_Op ops[OPS];
static Request* requests;
static int last_request;
/* The message of unknown length that has come, and how long it can be. */
static unsigned char* found;
static Status found_status;
enum { MESSAGE_MOST = 1 << 28 };
static int (*at_finalize)(int, int, void*, void*);
static int finalized;

#define PLACE(table, count)                                    \
    int place = 0;                                             \
    while (place < (count) && (table)[place]) {                \
        place++;                                               \
    }                                                          \
    if (place == (count)) {                                    \
        abort();                                               \
    }

static MPI_Comm comm_of(int handle)
{
    switch (handle) {
    case COMM_WORLD: return MPI_COMM_WORLD;
    case COMM_SELF: return MPI_COMM_SELF;
    default: return comms[handle - FIRST];
    }
}

static MPI_Datatype type_of(int handle)
{
    switch (handle) {
    case BYTE_TYPE: return MPI_BYTE;
    case UINT8_TYPE: return MPI_UINT8_T;
    case INT64_TYPE: return MPI_INT64_T;
    case LONG_TYPE: return MPI_LONG;
    case DOUBLE_TYPE: return MPI_DOUBLE;
    default: return types[handle - FIRST];
    }
}

static MPI_Op op_of(int handle)
{
    switch (handle) {
    case MAX_OP: return MPI_MAX;
    case SUM_OP: return MPI_SUM;
    default: return ops[handle - FIRST];
    }
}

static int peer_of(int rank)
{
    return rank == ANY_SOURCE ? MPI_ANY_SOURCE : rank;
}

static int new_type(MPI_Datatype type)
{
    PLACE(types, TYPES)
    types[place] = type;
    return place + FIRST;
}

static int new_request(MPI_Request under)
{
    if (!requests) {
        requests = calloc(REQUESTS, sizeof *requests);
    }
    for (int tried = 0; tried < REQUESTS; tried++) {
        last_request = (last_request + 1) % REQUESTS;
        if (!requests[last_request].used) {
            requests[last_request] = (Request){ under, { 0 }, 1 };
            return last_request + FIRST;
        }
    }
    abort();
}

static Status told_by(const MPI_Status* from)
{
    int bytes = 0;
    PMPI_Get_count(from, MPI_BYTE, &bytes);
    return (Status){ bytes, 0, from->MPI_SOURCE, from->MPI_TAG, 0 };
}

static void make_environment(void);

int scr_init(int* argc, char*** argv) NAMED(MPI_Init);
int scr_init(int* argc, char*** argv)
{
    make_environment();
    return PMPI_Init(argc, argv);
}

int scr_initialized(int* flag) NAMED(MPI_Initialized);
int scr_initialized(int* flag)
{
    return PMPI_Initialized(flag);
}

int scr_finalized(int* flag) NAMED(MPI_Finalized);
int scr_finalized(int* flag)
{
    *flag = finalized;
    return 0;
}

int scr_finalize(void) NAMED(MPI_Finalize);
int scr_finalize(void)
{
    if (at_finalize) {
        at_finalize(COMM_SELF, 0, NULL, NULL);
    }
    int result = PMPI_Finalize();
    finalized = 1;
    return result;
}

int scr_abort(int comm, int code) NAMED(MPI_Abort);
int scr_abort(int comm, int code)
{
    return PMPI_Abort(comm_of(comm), code);
}

int scr_query_thread(int* level) NAMED(MPI_Query_thread);
int scr_query_thread(int* level)
{
    *level = MPI_THREAD_SINGLE;
    return 0;
}

/* The library compares the first word with that of the MPI it was built with. */
int scr_version(char* text, int* length) NAMED(MPI_Get_library_version);
int scr_version(char* text, int* length)
{
    strcpy(text, "MPICH, simulated by SMPI");
    *length = (int) strlen(text);
    return 0;
}

int scr_error_string(int code, char* text, int* length) NAMED(MPI_Error_string);
int scr_error_string(int code, char* text, int* length)
{
    return PMPI_Error_string(code, text, length);
}

double scr_wtime(void) NAMED(MPI_Wtime);
double scr_wtime(void)
{
    return PMPI_Wtime();
}

int scr_comm_rank(int comm, int* rank) NAMED(MPI_Comm_rank);
int scr_comm_rank(int comm, int* rank)
{
    return PMPI_Comm_rank(comm_of(comm), rank);
}

int scr_comm_size(int comm, int* size) NAMED(MPI_Comm_size);
int scr_comm_size(int comm, int* size)
{
    return PMPI_Comm_size(comm_of(comm), size);
}

int scr_comm_get_parent(int* parent) NAMED(MPI_Comm_get_parent);
int scr_comm_get_parent(int* parent)
{
    *parent = COMM_NULL;
    return MPI_SUCCESS;
}

int scr_comm_dup(int comm, int* copy) NAMED(MPI_Comm_dup);
int scr_comm_dup(int comm, int* copy)
{
    MPI_Comm made;
    int result = PMPI_Comm_dup(comm_of(comm), &made);
    PLACE(comms, COMMS)
    comms[place] = made;
    *copy = place + FIRST;
    return result;
}

int scr_comm_free(int* comm) NAMED(MPI_Comm_free);
int scr_comm_free(int* comm)
{
    int result = PMPI_Comm_free(&comms[*comm - FIRST]);
    comms[*comm - FIRST] = NULL;
    *comm = COMM_NULL;
    return result;
}

/* Errors are returned by SMPI as they are. */
int scr_get_errhandler(int comm, int* handler) NAMED(MPI_Comm_get_errhandler);
int scr_get_errhandler(int comm, int* handler)
{
    (void) comm;
    *handler = ERRORS_RETURN;
    return 0;
}

int scr_set_errhandler(int comm, int handler) NAMED(MPI_Comm_set_errhandler);
int scr_set_errhandler(int comm, int handler)
{
    (void) comm;
    (void) handler;
    return 0;
}

int scr_errhandler_free(int* handler) NAMED(MPI_Errhandler_free);
int scr_errhandler_free(int* handler)
{
    (void) handler;
    return 0;
}

/* One attribute, on MPI_COMM_SELF, whose end is that of MPI. */
int scr_create_keyval(void* copy, int (*delete)(int, int, void*, void*), int* key,
    void* extra) NAMED(MPI_Comm_create_keyval);
int scr_create_keyval(void* copy, int (*delete)(int, int, void*, void*), int* key, void* extra)
{
    (void) copy;
    (void) extra;
    *key = 0;
    at_finalize = delete;
    return 0;
}

int scr_set_attr(int comm, int key, void* value) NAMED(MPI_Comm_set_attr);
int scr_set_attr(int comm, int key, void* value)
{
    (void) comm;
    (void) key;
    (void) value;
    return 0;
}

int scr_free_keyval(int* key) NAMED(MPI_Comm_free_keyval);
int scr_free_keyval(int* key)
{
    (void) key;
    return 0;
}

int scr_type_contiguous(int count, int old, int* made) NAMED(MPI_Type_contiguous);
int scr_type_contiguous(int count, int old, int* made)
{
    MPI_Datatype type;
    int result = PMPI_Type_contiguous(count, type_of(old), &type);
    *made = new_type(type);
    return result;
}

int scr_type_struct(int count, const int* lengths, const MPI_Aint* places, const int* parts,
    int* made) NAMED(MPI_Type_create_struct);
int scr_type_struct(int count, const int* lengths, const MPI_Aint* places, const int* parts, int* made)
{
    MPI_Datatype type, of_parts[2];
    for (int i = 0; i < 2; i++) {
        of_parts[i] = type_of(parts[i]);
    }
    int result = PMPI_Type_create_struct(count, lengths, places, of_parts, &type);
    *made = new_type(type);
    return result;
}

int scr_type_commit(int* type) NAMED(MPI_Type_commit);
int scr_type_commit(int* type)
{
    return PMPI_Type_commit(&types[*type - FIRST]);
}

int scr_type_free(int* type) NAMED(MPI_Type_free);
int scr_type_free(int* type)
{
    int result = PMPI_Type_free(&types[*type - FIRST]);
    types[*type - FIRST] = NULL;
    *type = TYPE_NULL;
    return result;
}

/* The library's function does not look at the type. */
int scr_op_create(MPI_User_function* function, int commutes, int* op) NAMED(MPI_Op_create);
int scr_op_create(MPI_User_function* function, int commutes, int* op)
{
    PLACE(ops, OPS)
    *op = place + FIRST;
    return PMPI_Op_create(function, commutes, &ops[place]);
}

int scr_op_free(int* op) NAMED(MPI_Op_free);
int scr_op_free(int* op)
{
    int result = PMPI_Op_free(&ops[*op - FIRST]);
    ops[*op - FIRST] = NULL;
    *op = OP_NULL;
    return result;
}

int scr_barrier(int comm) NAMED(MPI_Barrier);
int scr_barrier(int comm)
{
    return PMPI_Barrier(comm_of(comm));
}

int scr_ibarrier(int comm, int* request) NAMED(MPI_Ibarrier);
int scr_ibarrier(int comm, int* request)
{
    *request = new_request(MPI_REQUEST_NULL);
    return PMPI_Barrier(comm_of(comm));
}

int scr_allreduce(const void* from, void* to, int count, int type, int op, int comm) NAMED(MPI_Allreduce);
int scr_allreduce(const void* from, void* to, int count, int type, int op, int comm)
{
    return PMPI_Allreduce(from, to, count, type_of(type), op_of(op), comm_of(comm));
}

int scr_iallreduce(const void* from, void* to, int count, int type, int op, int comm,
    int* request) NAMED(MPI_Iallreduce);
int scr_iallreduce(const void* from, void* to, int count, int type, int op, int comm, int* request)
{
    *request = new_request(MPI_REQUEST_NULL);
    return scr_allreduce(from, to, count, type, op, comm);
}

int scr_isend(const void* from, int count, int type, int to, int tag, int comm, int* request) NAMED(MPI_Isend);
int scr_isend(const void* from, int count, int type, int to, int tag, int comm, int* request)
{
    MPI_Request made;
    int result = PMPI_Isend(from, count, type_of(type), to, tag, comm_of(comm), &made);
    *request = new_request(made);
    return result;
}

int scr_irecv(void* to, int count, int type, int from, int tag, int comm, int* request) NAMED(MPI_Irecv);
int scr_irecv(void* to, int count, int type, int from, int tag, int comm, int* request)
{
    MPI_Request made;
    int result = PMPI_Irecv(to, count, type_of(type), peer_of(from), tag, comm_of(comm), &made);
    *request = new_request(made);
    return result;
}

/* SMPI's MPI_Probe looks again and again, with pauses of simulated time. So a message of unknown length is received
   at once, into memory of which only the part is touched that it needs. */
int scr_improbe(int from, int tag, int comm, int* there, int* message, Status* status) NAMED(MPI_Improbe);
int scr_improbe(int from, int tag, int comm, int* there, int* message, Status* status)
{
    MPI_Status told = { 0 };
    found = malloc(MESSAGE_MOST);
    int result = PMPI_Recv(found, MESSAGE_MOST, MPI_BYTE, peer_of(from), tag, comm_of(comm), &told);
    found_status = told_by(&told);
    *status = found_status;
    *message = 0;
    *there = 1;
    return result;
}

int scr_imrecv(void* to, int count, int type, int* message, int* request) NAMED(MPI_Imrecv);
int scr_imrecv(void* to, int count, int type, int* message, int* request)
{
    (void) count;
    (void) type;
    memcpy(to, found, (size_t) found_status.count_low);
    free(found);
    *message = REQUEST_NULL;
    *request = new_request(MPI_REQUEST_NULL);
    requests[*request - FIRST].status = found_status;
    return 0;
}

int scr_wait(int* handle, Status* status) NAMED(MPI_Wait);
int scr_wait(int* handle, Status* status)
{
    Request* request = &requests[*handle - FIRST];
    int result = 0;
    if (request->under != MPI_REQUEST_NULL) {
        MPI_Status told = { 0 };
        result = PMPI_Wait(&request->under, &told);
        request->status = told_by(&told);
    }
    if (status != STATUS_IGNORE) {
        *status = request->status;
    }
    request->used = 0;
    *handle = REQUEST_NULL;
    return result;
}

/* A send that nobody waits for may never end, so it is only looked at. */
int scr_test(int* handle, int* done, Status* status) NAMED(MPI_Test);
int scr_test(int* handle, int* done, Status* status)
{
    MPI_Request* under = &requests[*handle - FIRST].under;
    *done = 1;
    if (status == STATUS_IGNORE && *under != MPI_REQUEST_NULL) {
        int result = PMPI_Test(under, done, MPI_STATUS_IGNORE);
        if (result != 0 || !*done) {
            return result;
        }
    }
    return scr_wait(handle, status);
}

int scr_cancel(int* handle) NAMED(MPI_Cancel);
int scr_cancel(int* handle)
{
    return PMPI_Cancel(&requests[*handle - FIRST].under);
}

int scr_elements(const Status* status, int type, MPI_Count* count) NAMED(MPI_Get_elements_x);
int scr_elements(const Status* status, int type, MPI_Count* count)
{
    (void) type;
    *count = status->count_low;
    return 0;
}

/* The environment of a rank, in which %h is the name of its simulated host: all ranks have one process, and so one
   environment. The program takes these for those of the C library. */
char** environ;
extern char** __environ;

static void make_environment(void)
{
    const char* host = sg_host_self_get_name();
    int count = 0;
    while (__environ[count]) {
        count++;
    }
    environ = malloc((size_t) (count + 1) * sizeof *environ);
    for (int i = 0; i < count; i++) {
        char* mark = strstr(__environ[i], "%h");
        environ[i] = __environ[i];
        if (mark && asprintf(&environ[i], "%.*s%s%s", (int) (mark - __environ[i]), __environ[i], host, mark + 2) < 0) {
            abort();
        }
    }
    environ[count] = NULL;
}

char* scr_getenv(const char* name) NAMED(getenv);
char* scr_getenv(const char* name)
{
    size_t length = strlen(name);
    for (char** entry = environ ? environ : __environ; *entry; entry++) {
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
            return *entry + length + 1;
        }
    }
    return NULL;
}
