/* The MPI whose mpi.h the library is compiled with, in the words of its MPI_Get_library_version;
   "" for one that is not known here. */

#include <mpi.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char* scr_mpi_built_with(void)
{
#if defined(OPEN_MPI)
    return "Open MPI v" TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(
        OMPI_RELEASE_VERSION);
#elif defined(I_MPI_VERSION)
    return "Intel(R) MPI Library " I_MPI_VERSION;
#elif defined(MVAPICH2_VERSION)
    return "MVAPICH2 " MVAPICH2_VERSION;
#elif defined(MVAPICH_VERSION)
    return "MVAPICH " MVAPICH_VERSION;
#elif defined(CRAY_MPICH_VERSION)
    return "CRAY MPICH " TEXT(CRAY_MPICH_VERSION);
#elif defined(MPICH_VERSION)
    return "MPICH " MPICH_VERSION;
#else
    return "";
#endif
}
