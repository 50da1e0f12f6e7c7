/* The Scalable Checkpoint / Restart library: C interface, compatible with SCR v3.1.0.
   Generated from library/capi/mod.rs; see tests/header. SPDX-License-Identifier: MIT OR Apache-2.0 */

#ifndef SCR_H
#define SCR_H


/* Version of the interface. */
#define SCR_MAJOR_VERSION "3"
#define SCR_MINOR_VERSION "1"
#define SCR_PATCH_VERSION "0"
#define SCR_VERSION "v3.1.0"

/* Version of this implementation. */
#define SCR_RS_VERSION "0.1.0"

#ifdef __GNUC__
#define SCR_PRINTF_FORMAT __attribute__((format(printf, 1, 2)))
#else
#define SCR_PRINTF_FORMAT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 SCR_Config with the string that printf would make of the format.
 */
const char *SCR_Configf(const char *format, ...) SCR_PRINTF_FORMAT;

#ifdef __cplusplus
}
#endif

#undef SCR_PRINTF_FORMAT

/*
 The call did what its description says.
 */
#define SCR_SUCCESS 0

/*
 Size of a buffer for a file or dataset name, bytes, with the terminating NUL.
 */
#define SCR_MAX_FILENAME 1024

/*
 Neither a checkpoint nor output: initial value for a set of flags.
 */
#define SCR_FLAG_NONE 0

/*
 The application can restart from the dataset.
 */
#define SCR_FLAG_CHECKPOINT 1

/*
 The dataset must be written to the prefix directory.
 */
#define SCR_FLAG_OUTPUT 2

/*
 For SCR_Complete_restart: this process could not read the checkpoint, which may be good. Not in SCR
 v3.1.0.
 */
#define SCR_NOT_READ 5456722

#ifdef __cplusplus
extern "C" {
#endif

/*
 Starts the library. Collective over MPI_COMM_WORLD, after MPI_Init.

 Reads the parameters, and rebuilds datasets which an earlier run left in cache.
 Returns 1 if SCR is disabled (SCR_ENABLE=0) or cannot start, as when the program runs with
 another MPI than the one that SCR was built with. The program can go on without SCR.
 */
int SCR_Init(void);

/*
 Stops the library, before MPI_Finalize. Collective.

 Brings the newest checkpoint to the prefix directory unless SCR_FLUSH is 0, and records
 that the job ended on its own, so that it is not started again.

 If MPI_Finalize is called first, a warning says so, and neither is done. The checkpoint stays
 in the cache: the next run of the job restarts from it, and scr_postrun saves it. All
 collective calls after MPI_Finalize return 1.
 */
int SCR_Finalize(void);

/*
 Sets ("NAME=value"), unsets ("NAME=") or queries ("NAME") a parameter. Collective, with
 the same string on all processes. To set and unset is possible before SCR_Init only.

 Parameters of several items are given with their children: "CKPT=0 TYPE=XOR SET_SIZE=8"
 sets, "CKPT=0 TYPE" queries. A query returns a string which the caller must free(), or
 NULL if the parameter is not set. Of a name that is no parameter it returns this process's
 environment variable. "SCR_ENABLE" is always answered. Setting and unsetting return NULL.

 If SCR is disabled, queries are answered by each process for itself, and nothing is set
 after SCR_Init.
 */
const char *SCR_Config(const char *config);

/*
 Tells in `file` the path at which a process must access the file that it knows as `name`.
 Local to the calling process; any number of times for a file.

 `file` is a buffer of SCR_MAX_FILENAME bytes. Between start and complete of an output
 phase the call makes the file part of the dataset, and its directory. In a restart phase
 it fails if the file is not there, and still tells where it should be. In no phase, also
 before SCR_Init and after SCR_Finalize, it copies `name`. After a start that failed it
 returns 1, and tells a path that cannot be opened. If SCR is disabled it copies `name`,
 makes its directory in an output phase, and returns 1. A path that does not fit is an
 error. `name` and `file` may be the same buffer.
 */
int SCR_Route_file(const char *name, char *file);

/*
 Says whether this program can restart from a checkpoint that another number of processes wrote:
 `allowed` is 1 if it can, 0 if not. Collective, with the same argument on all processes, after
 SCR_Init and before SCR_Have_restart. Not in SCR v3.1.0.

 Without this call there is no such restart, unless SCR_FETCH_BYPASS or SCR_GLOBAL_RESTART is 1.
 SCR_Have_restart then offers the newest checkpoint, whatever its number of processes. If that
 number is another one, the files come from the prefix directory, to which a checkpoint in the
 cache is copied first. Every process can open every file: SCR_Route_file takes the names with which
 the files were written, and SCR_Restart_ranks, SCR_Restart_file_count and SCR_Restart_file tell what
 there is. New datasets may replace such checkpoints, as they may replace those of the same number of
 processes.
 */
int SCR_Allow_other_ranks(int allowed);

/*
 Sets `flag` to 1 if there is a checkpoint to restart from, otherwise to 0. Collective.

 `name` may be NULL, or is a buffer of SCR_MAX_FILENAME bytes which receives the name of
 that checkpoint, when there is one.
 */
int SCR_Have_restart(int *flag, char *name);

/*
 Begins to read the checkpoint which SCR_Have_restart offered. Collective. What holds for
 an SCR_Start_output that fails holds here as well.

 `name` may be NULL, or is a buffer of SCR_MAX_FILENAME bytes which receives its name.
 */
int SCR_Start_restart(char *name);

/*
 Sets `ranks` to the number of processes that wrote the checkpoint which is being read. Local,
 between SCR_Start_restart and SCR_Complete_restart. Not in SCR v3.1.0.
 */
int SCR_Restart_ranks(int *ranks);

/*
 Sets `count` to the number of files that process `rank` of the run that wrote the checkpoint has
 written: `rank` is at least 0 and less than what SCR_Restart_ranks tells. Local, between
 SCR_Start_restart and SCR_Complete_restart. Not in SCR v3.1.0.

 Any process may ask for any rank if the files are read in the prefix directory. That is so if
 another number of processes wrote them. If they are in the cache, each process knows its own only.
 A file that several processes wrote together is in the list of one of them.
 */
int SCR_Restart_file_count(int rank, int *count);

/*
 Tells in `name` the path, in the prefix directory, of a file that process `rank` of the run that
 wrote the checkpoint has written. `index` is at least 0 and less than what SCR_Restart_file_count
 tells for this rank. Local, between SCR_Start_restart and SCR_Complete_restart. Not in SCR v3.1.0.

 `name` is a buffer of SCR_MAX_FILENAME bytes. SCR_Route_file tells the path at which to open the
 file of that name. The lists are read when they are asked for; it is quickest to ask for the files
 of one rank after the other, and to open each file after it was named.
 */
int SCR_Restart_file(int rank, int index, char *name);

/*
 Ends the restart: `valid` is 1 if this process read all its files, 0 if the checkpoint is bad.
 Collective.

 Returns SCR_SUCCESS only if all processes gave 1. Otherwise the checkpoint is given up, and
 SCR_Have_restart tells whether there is an older one to try. What was read by then has changed the state of
 the program, on some processes and not on others: initialise it again on all of them before the
 next try, and before a start from the beginning.

 `valid` is SCR_NOT_READ if this process could not read the checkpoint for a reason that says nothing
 of it: no memory, an interrupt, an error that may pass. Then it is not given up. It is not offered
 again in this run, and no older one is: SCR_Have_restart fails, and the next run restarts from it.
 It is the same if `valid` is 0 after an error of the system, like EIO, in SCR_Route_file,
 SCR_Restart_file_count or SCR_Restart_file.
 */
int SCR_Complete_restart(int valid);

/*
 Sets `flag` to 1 if the application should write a checkpoint now, otherwise to 0.
 Collective, same answer everywhere.
 */
int SCR_Need_checkpoint(int *flag);

/*
 Begins a checkpoint: SCR_Start_output with no name and SCR_FLAG_CHECKPOINT. Collective;
 ended by SCR_Complete_checkpoint. What holds for an SCR_Start_output that fails holds here
 as well.
 */
int SCR_Start_checkpoint(void);

/*
 Ends a checkpoint, as SCR_Complete_output ends a dataset. Collective.
 */
int SCR_Complete_checkpoint(int valid);

/*
 Begins a dataset, before any of its files is made. Collective, with the same arguments
 on all processes.

 `name` is shorter than SCR_MAX_FILENAME, or NULL for a name made from the dataset id.
 `flags` are SCR_FLAG_CHECKPOINT and SCR_FLAG_OUTPUT, or-ed.

 If it returns 1 no dataset is begun, and nothing of it must be written: SCR_Route_file
 returns 1 and a path that cannot be opened, since the file's own path may hold an older
 dataset. SCR_Complete_output returns 1 without a message, and may be left out; any other
 call is as good as after it. Inside of another phase a start changes nothing. If SCR is
 disabled it returns 1, with or without SCR_Complete_output, and SCR_Route_file copies.
 */
int SCR_Start_output(const char *name, int flags);

/*
 Ends a dataset whose files are all closed: `valid` is 1 if this process wrote its files,
 or had none, and 0 if it could not. Collective.

 A program should store in a checkpoint how many steps it has done, and go on with the next
 one after a restart. If it stores the step that it is in, it repeats that step. After a
 checkpoint of the last step, another run restarts from it and has nothing left to do.

 Returns SCR_SUCCESS only if all processes gave 1 and the data are protected as
 configured.
 */
int SCR_Complete_output(int valid);

/*
 Sets `flag` to 1 if the application should stop, otherwise to 0. Collective, same answer
 everywhere; best asked after each checkpoint.
 */
int SCR_Should_exit(int *flag);

/*
 Makes the checkpoint `name` the one to restart from; newer ones leave the cache.
 Collective.
 */
int SCR_Current(const char *name);

/*
 Removes the dataset `name` from the index, and no file. Collective.
 */
int SCR_Drop(const char *name);

/*
 Removes the dataset `name` with its files from cache and prefix directory. Collective.
 */
int SCR_Delete(const char *name);

/*
 Returns SCR_VERSION of the library in use. Local, at any time, without MPI too; the
 string must not be freed or changed.
 */
char *SCR_Get_version(void);

#ifdef __cplusplus
}
#endif

#endif  /* SCR_H */
