/* What an MPI with User Level Failure Mitigation (ULFM) offers of it, by whatever names its headers have. Where there
   is none, nothing fails but the job as a whole. */

#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

/* Open MPI's extension, or the names that the standard may take. MPICH (4.0) has functions of the extension, but most
   devices end the program in them. */
#if defined(OMPI_HAVE_MPI_EXT_FTMPI)
#define HAS_ULFM 1
#define ULFM(name) MPIX_##name
#elif defined(MPI_ERR_PROC_FAILED) && defined(MPI_ERR_PROC_FAILED_PENDING) && defined(MPI_ERR_REVOKED)
#define HAS_ULFM 1
#define ULFM(name) MPI_##name
#endif

/* 1 if the functions below do something. */
int scr_ulfm_is_there(void)
{
#ifdef HAS_ULFM
    return 1;
#else
    return 0;
#endif
}

/* 1 if a call returned this code because a process has failed, or the communicator was revoked. */
int scr_ulfm_is_failure(int code)
{
#ifdef HAS_ULFM
    int class = MPI_SUCCESS;
    if (code == MPI_SUCCESS || MPI_Error_class(code, &class) != MPI_SUCCESS)
        return 0;
    return class == ULFM(ERR_PROC_FAILED) || class == ULFM(ERR_PROC_FAILED_PENDING) ||
        class == ULFM(ERR_REVOKED);
#else
    (void) code;
    return 0;
#endif
}

/* Makes all calls of all processes on a communicator fail. */
void scr_ulfm_revoke(MPI_Comm comm)
{
#ifdef HAS_ULFM
    ULFM(Comm_revoke)(comm);
#else
    (void) comm;
#endif
}

/* 1 if all calls on a communicator fail. */
int scr_ulfm_is_revoked(MPI_Comm comm)
{
#ifdef HAS_ULFM
    int revoked = 0;
    return ULFM(Comm_is_revoked)(comm, &revoked) == MPI_SUCCESS && revoked;
#else
    (void) comm;
    return 0;
#endif
}

/* The processes of a communicator that are known to have failed. 0 if they cannot be asked for; else the group must be
   freed. */
int scr_ulfm_failed(MPI_Comm comm, MPI_Group* group)
{
#ifdef HAS_ULFM
    return ULFM(Comm_get_failed)(comm, group) == MPI_SUCCESS;
#else
    (void) comm;
    (void) group;
    return 0;
#endif
}

/* The handle of a communicator that Fortran knows by an integer. */
MPI_Comm scr_comm_of_fortran(MPI_Fint comm)
{
    return MPI_Comm_f2c(comm);
}
