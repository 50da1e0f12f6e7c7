/* SCR_Configf: the one function of the interface that Rust cannot define, as it is variadic. */

#include "scr.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char* SCR_Configf(const char* format, ...)
{
    if (format == NULL) {
        return SCR_Config(NULL);
    }

    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);

    /* All processes must reach the collective call, also one that cannot format. */
    char* config = length < 0 ? NULL : malloc((size_t)length + 1);
    if (config != NULL) {
        vsnprintf(config, (size_t)length + 1, format, again);
    }
    va_end(again);

    const char* value = SCR_Config(config);
    free(config);
    return value;
}
