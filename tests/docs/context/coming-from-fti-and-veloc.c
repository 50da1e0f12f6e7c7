/* The variables of the part of a program in docs/coming-from-fti-and-veloc.md. */
#include <scr.h>
#include <stdio.h>

void checkpoint(const char* name, const char* file, int step, const double* field, size_t n);

void checkpoint(const char* name, const char* file, int step, const double* field, size_t n)
{
    char path[SCR_MAX_FILENAME];
BLOCK
}
