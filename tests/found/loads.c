/* Loads libraries as plugins are loaded, with names that are their own, and calls the last one, libscr.so.
   Usage: loads LIBRARY... LIBSCR.SO
   The first that has MPI_Init is started. Ends with what SCR_Init has returned.
   SPDX-License-Identifier: MIT OR Apache-2.0 */

#include <dlfcn.h>
#include <stdio.h>

/* The standard of C has no way from an address of data to one of a function, but dlsym has. */
#define FUNCTION(pointer, handle, name) (*(void **)&(pointer) = dlsym(handle, name))

int main(int argc, char **argv)
{
    int (*start)(int *, char ***) = NULL;
    int (*end)(void) = NULL;
    int (*init)(void) = NULL;
    int (*finalize)(void) = NULL;
    void *handle = NULL;
    int i, failed;
    for (i = 1; i < argc; i++) {
        handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        if (start == NULL) {
            FUNCTION(start, handle, "MPI_Init");
            FUNCTION(end, handle, "MPI_Finalize");
        }
    }
    if (handle == NULL) return 2;
    FUNCTION(init, handle, "SCR_Init");
    FUNCTION(finalize, handle, "SCR_Finalize");
    if (init == NULL || finalize == NULL) return 2;
    if (start != NULL) start(NULL, NULL);
    failed = init();
    if (!failed) failed = finalize();
    if (end != NULL) end();
    return failed;
}
