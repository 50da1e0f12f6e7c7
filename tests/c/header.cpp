// As header.c, for C++.
#include <scr.h>
#include <scr.h>

int use(char (&name)[SCR_MAX_FILENAME]);

int use(char (&name)[SCR_MAX_FILENAME])
{
    int (*route)(const char*, char*) = SCR_Route_file;
    const char* value = SCR_Configf("SCR_FLUSH=%d", 1);
    return route(SCR_VERSION, name) == SCR_SUCCESS && value == nullptr;
}
