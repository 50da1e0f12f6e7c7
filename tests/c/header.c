/* Compiles only if scr.h stands alone, may be included twice, and has what SCR v3.1.0 has. */
#include <scr.h>
#include <scr.h>

const char* const versions[]
    = { SCR_MAJOR_VERSION, SCR_MINOR_VERSION, SCR_PATCH_VERSION, SCR_VERSION, SCR_RS_VERSION };

int use(char name[SCR_MAX_FILENAME], int* flag);

int use(char name[SCR_MAX_FILENAME], int* flag)
{
    int status = SCR_Init() + SCR_Finalize() + SCR_Route_file(name, name)
        + SCR_Have_restart(flag, name) + SCR_Start_restart(name) + SCR_Complete_restart(1)
        + SCR_Need_checkpoint(flag) + SCR_Start_checkpoint() + SCR_Complete_checkpoint(1)
        + SCR_Start_output(name, SCR_FLAG_NONE | SCR_FLAG_CHECKPOINT | SCR_FLAG_OUTPUT)
        + SCR_Complete_output(1) + SCR_Should_exit(flag) + SCR_Current(name) + SCR_Drop(name)
        + SCR_Delete(name) + SCR_Allow_other_ranks(1) + SCR_Restart_ranks(flag)
        + SCR_Restart_file_count(0, flag) + SCR_Restart_file(0, 0, name);
    const char* value = SCR_Config("SCR_FLUSH");
    char* version = SCR_Get_version();
    return status == SCR_SUCCESS && value == SCR_Configf("SCR_FLUSH=%d", 1) && version != 0;
}
