/* Libraries that look like an MPI, and are none that SCR can use. SPDX-License-Identifier: MIT OR Apache-2.0 */

#include <string.h>

#if defined(MPI_IS_OLD)
#define VERSION 2
#define NAME ""
#elif defined(MPI_IS_UNKNOWN)
#define VERSION 4
#define NAME "Strange MPI 7.1, for tests"
#else
#define VERSION 4
#define NAME "MPICH Version: 4.9\nMPICH Release date: none"
#endif

int PMPI_Comm_size(int comm, int *size);
int MPI_Get_version(int *version, int *subversion);
int MPI_Get_library_version(char *text, int *length);

int PMPI_Comm_size(int comm, int *size)
{
    (void)comm;
    *size = 1;
    return 0;
}

int MPI_Get_version(int *version, int *subversion)
{
    *version = VERSION;
    *subversion = 2;
    return 0;
}

int MPI_Get_library_version(char *text, int *length)
{
    strcpy(text, NAME);
    *length = (int)strlen(NAME);
    return 0;
}
