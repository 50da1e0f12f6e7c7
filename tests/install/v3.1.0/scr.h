/* The declarations of SCR v3.1.0 (its user API), to compile programs as if they were built with it. */
#ifndef SCR_H
#define SCR_H

#ifdef __cplusplus
extern "C" {
#endif

#define SCR_SUCCESS (0)
#define SCR_MAX_FILENAME 1024
#define SCR_FLAG_NONE 0
#define SCR_FLAG_CHECKPOINT 1
#define SCR_FLAG_OUTPUT 2

int SCR_Init(void);
int SCR_Finalize(void);
const char* SCR_Config(const char* config);
const char* SCR_Configf(const char* format, ...);
int SCR_Need_checkpoint(int* flag);
int SCR_Start_checkpoint(void);
int SCR_Complete_checkpoint(int valid);
int SCR_Start_output(const char* name, int flags);
int SCR_Complete_output(int valid);
int SCR_Route_file(const char* name, char* file);
int SCR_Have_restart(int* flag, char* name);
int SCR_Start_restart(char* name);
int SCR_Complete_restart(int valid);
char* SCR_Get_version(void);
int SCR_Should_exit(int* flag);
int SCR_Current(const char* name);
int SCR_Delete(const char* name);
int SCR_Drop(const char* name);

#ifdef __cplusplus
}
#endif
#endif
