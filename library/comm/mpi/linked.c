/* What only mpi.h says of the MPI that the library is linked with: its functions, by name, handles that are there from
   the beginning, and numbers. MPICH 5.1 has no MPI_Fint and no conversion between handles of C and of Fortran: they are
   the same there. */

#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <stddef.h>
#include <string.h>

/* The transport's types for these, and its room for a status (raw/mod.rs). */
typedef char scr_count_is_int64[sizeof(MPI_Count) == 8 ? 1 : -1];
typedef char scr_aint_is_pointer[sizeof(MPI_Aint) == sizeof(void*) ? 1 : -1];
typedef char scr_status_has_room[sizeof(MPI_Status) <= 64 ? 1 : -1];
typedef char scr_handles_have_room[sizeof(MPI_Comm) <= sizeof(void*) ? 1 : -1];

typedef void (*scr_function)(void);

#define FUNCTION(name) { #name, (scr_function) name }

static const struct {
    const char* name;
    scr_function address;
} functions[] = {
    FUNCTION(MPI_Abort),
    FUNCTION(MPI_Cancel),
    FUNCTION(MPI_Comm_create_keyval),
    FUNCTION(MPI_Comm_dup),
    FUNCTION(MPI_Comm_free),
    FUNCTION(MPI_Comm_free_keyval),
    FUNCTION(MPI_Comm_get_errhandler),
    FUNCTION(MPI_Comm_get_parent),
    FUNCTION(MPI_Comm_group),
    FUNCTION(MPI_Comm_rank),
    FUNCTION(MPI_Comm_set_attr),
    FUNCTION(MPI_Comm_set_errhandler),
    FUNCTION(MPI_Comm_size),
    FUNCTION(MPI_Comm_test_inter),
    FUNCTION(MPI_Errhandler_free),
    FUNCTION(MPI_Error_class),
    FUNCTION(MPI_Error_string),
    FUNCTION(MPI_Finalize),
    FUNCTION(MPI_Finalized),
    FUNCTION(MPI_Get_elements_x),
    FUNCTION(MPI_Get_library_version),
    FUNCTION(MPI_Group_free),
    FUNCTION(MPI_Group_size),
    FUNCTION(MPI_Group_translate_ranks),
    FUNCTION(MPI_Iallreduce),
    FUNCTION(MPI_Ibarrier),
    FUNCTION(MPI_Improbe),
    FUNCTION(MPI_Imrecv),
    FUNCTION(MPI_Initialized),
    FUNCTION(MPI_Irecv),
    FUNCTION(MPI_Isend),
    FUNCTION(MPI_Op_create),
    FUNCTION(MPI_Op_free),
    FUNCTION(MPI_Query_thread),
    FUNCTION(MPI_Test),
    FUNCTION(MPI_Type_commit),
    FUNCTION(MPI_Type_contiguous),
    FUNCTION(MPI_Type_create_struct),
    FUNCTION(MPI_Type_free),
    FUNCTION(MPI_Wait),
#if MPI_VERSION >= 5
    FUNCTION(MPI_Comm_fromint),
#elif defined(OPEN_MPI)
    FUNCTION(MPI_Comm_f2c),
#endif
#if defined(OMPI_HAVE_MPI_EXT_FTMPI)
    FUNCTION(MPIX_Comm_revoke),
    FUNCTION(MPIX_Comm_is_revoked),
    FUNCTION(MPIX_Comm_get_failed),
#endif
};

/* The function of this name; NULL if the table above does not have it. */
scr_function scr_mpi_function(const char* name)
{
    size_t i;
    for (i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].address;
    }
    return NULL;
}

#define HANDLE(word, type, value)                    \
    if (strcmp(name, word) == 0) {                   \
        type handle = value;                         \
        memcpy(room, &handle, sizeof handle);        \
        return 1;                                    \
    }

/* Puts the handle of this name into zeroed room for one. Returns 0 if the name is unknown. */
int scr_mpi_handle(const char* name, void* room)
{
    HANDLE("comm_null", MPI_Comm, MPI_COMM_NULL)
    HANDLE("comm_world", MPI_Comm, MPI_COMM_WORLD)
    HANDLE("comm_self", MPI_Comm, MPI_COMM_SELF)
    HANDLE("group_null", MPI_Group, MPI_GROUP_NULL)
    HANDLE("message_null", MPI_Message, MPI_MESSAGE_NULL)
    HANDLE("errors_return", MPI_Errhandler, MPI_ERRORS_RETURN)
    HANDLE("request_null", MPI_Request, MPI_REQUEST_NULL)
    HANDLE("datatype_null", MPI_Datatype, MPI_DATATYPE_NULL)
    HANDLE("uint8", MPI_Datatype, MPI_UINT8_T)
    HANDLE("int64", MPI_Datatype, MPI_INT64_T)
    HANDLE("op_max", MPI_Op, MPI_MAX)
    return 0;
}

int scr_mpi_any_source(void)
{
    return MPI_ANY_SOURCE;
}

int scr_mpi_thread_serialized(void)
{
    return MPI_THREAD_SERIALIZED;
}

/* Which int of a status is the sender. */
int scr_mpi_source_in_status(void)
{
    return (int)(offsetof(MPI_Status, MPI_SOURCE) / sizeof(int));
}

/* What handles are: 0 for integers, 1 for pointers, 2 for the pointers of the standard's ABI. */
int scr_mpi_form(void)
{
    const size_t world = 0x101;
    MPI_Comm comm = MPI_COMM_WORLD;
    if (sizeof comm == sizeof(int))
        return 0;
    return memcmp(&comm, &world, sizeof world) == 0 ? 2 : 1;
}
