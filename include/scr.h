/* The Scalable Checkpoint / Restart library: C interface, compatible with SCR v3.1.0.
   Generated from library/capi/mod.rs; see tests/header. SPDX-License-Identifier: MIT OR Apache-2.0 */

#ifndef SCR_H
#define SCR_H


#include <stddef.h>
#include <stdint.h>

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

/*
 The types of elements of a field. A text of n characters is SCR_CHARACTER + n, and a record of n
 bytes that only the program understands, without pointers in it, is SCR_BYTES + n. The type long double
 of x86 is SCR_EXTENDED128.
 */
typedef enum SCR_Type {
  SCR_INT8 = 16777217,
  SCR_INT16 = 16777218,
  SCR_INT32 = 16777220,
  SCR_INT64 = 16777224,
  SCR_INT128 = 16777232,
  SCR_UINT8 = 33554433,
  SCR_UINT16 = 33554434,
  SCR_UINT32 = 33554436,
  SCR_UINT64 = 33554440,
  SCR_FLOAT16 = 50331650,
  SCR_FLOAT32 = 50331652,
  SCR_FLOAT64 = 50331656,
  SCR_FLOAT128 = 50331664,
  SCR_COMPLEX64 = 67108872,
  SCR_COMPLEX128 = 67108880,
  SCR_COMPLEX256 = 67108896,
  SCR_LOGICAL8 = 83886081,
  SCR_LOGICAL16 = 83886082,
  SCR_LOGICAL32 = 83886084,
  SCR_LOGICAL64 = 83886088,
  SCR_CHARACTER = 100663296,
  SCR_BYTES = 117440512,
  SCR_EXTENDED96 = 134217740,
  SCR_EXTENDED128 = 134217744,
  SCR_EXTENDED_COMPLEX256 = 150994976
} SCR_Type;

/*
 Options of a field, for SCR_Next_field, orders of dimensions, for SCR_Order, and other choices.
 */
typedef enum SCR_Option {
  /*
   A checkpoint without this field can be restored, too: the memory stays as it is.
   */
  SCR_KEEP_IF_MISSING = 1,
  /*
   Another type is converted if nothing can be lost, as from float to double.
   */
  SCR_CONVERT = 2,
  /*
   Of an index list: when the state is written, several processes may list an index, as for halos, if their copies
   of its elements are equal, which is checked.
   */
  SCR_SHARED = 4,
  /*
   Its memory is that of a device. Nothing need be said of it: the driver is asked. With this option it is an error if
   no driver knows the memory as that of a device.
   */
  SCR_ON_DEVICE = 8,
  /*
   The last index is the fastest, as in C.
   */
  SCR_ROW_MAJOR = 16,
  /*
   The first index is the fastest, as in Fortran.
   */
  SCR_COLUMN_MAJOR = 17,
  /*
   The state is written.
   */
  SCR_PASS_WRITE = 32,
  /*
   The list is compared with a checkpoint. No field changes.
   */
  SCR_PASS_COMPARE = 33,
  /*
   The state is read.
   */
  SCR_PASS_READ = 34,
  /*
   The processor reads and writes its memory, which may be that of a device, too. It is an error if it cannot.
   */
  SCR_ON_HOST = 64,
  /*
   For the function of SCR_Copy: from the field to memory of the processor.
   */
  SCR_COPY_OUT = 80,
  /*
   And from there to the field.
   */
  SCR_COPY_IN = 81
} SCR_Option;

/*
 The list of a program's state, while its routine runs. After that each call with it fails.
 */
typedef struct SCR_State SCR_State;

/*
 The routine of a program that lists its state: it calls SCR_Field and the like for each part of it, and
 returns 0, or another number if it cannot. `context` is the pointer that the program has given with the
 routine.
 */
typedef int (*SCR_List_fn)(struct SCR_State *state, void *context);

/*
 The function of a program that tells which processes get elements of a bag (SCR_Bag_by_key): for each of `count`
 `keys` it sets the process in `ranks`, and returns 0, or another number if it cannot. `context` is the pointer that
 the program has given with it.
 */
typedef int (*SCR_Owner_fn)(const int64_t *keys, int64_t count, int *ranks, void *context);

/*
 The function of a program that copies memory of a field (SCR_Copy): `bytes` bytes from `from` to `to`. With `direction`
 SCR_COPY_OUT `from` is in the field and `to` in memory of the processor; with SCR_COPY_IN it is the other way round.
 It returns 0 when the copy has ended, or another number if it has failed. `context` is the pointer that the program
 has given with it.
 */
typedef int (*SCR_Copy_fn)(void *context, void *to, const void *from, size_t bytes, int direction);

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

/*
 Tells why the last call of this thread that failed has failed: the text of the error, with its code, such as SCR-110,
 if it has one. Local, at any time. Not in SCR v3.1.0.

 It is "" if none has failed, and after one that returned 1 as SCR is disabled. Never NULL, and one line. The
 string must not be freed or changed, and is valid until the next call of this thread. Calls of other threads do not change it.
 */
const char *SCR_Reason(void);

/*
 Writes a checkpoint, or another dataset, of the state that the routine `list` lists. Collective, with the
 same arguments on all processes. Not in SCR v3.1.0.

 `name` and `flags` are those of SCR_Start_output: NULL and SCR_FLAG_CHECKPOINT for a checkpoint with a
 name made from its id. The routine is called once, with `context`, and its fields are written as it lists
 them. No pointer is kept. The program does not call SCR_Start_output, SCR_Route_file or SCR_Complete_output for
 it. With SCR_State_file, it can add files of its own to the dataset.

 If a field is wrong on one process, or the lists of the processes differ, or the parts of a whole overlap or
 leave a hole, or the routine returns another number than 0, it returns 1 on all, and one process tells why.
 Older checkpoints are as they were, but for those that have left a full cache for this one (all with
 SCR_CACHE_SIZE=1). No phase is open.
 */
int SCR_Checkpoint(const char *name,
                   int flags,
                   SCR_List_fn list,
                   void *context);

/*
 Writes a checkpoint as SCR_Checkpoint does, if SCR_Need_checkpoint says that one is due, and sets
 `stop_now` to 1 if the program should stop (SCR_Should_exit), otherwise to 0. Collective. Not in SCR
 v3.1.0.

 `stop_now` is set even if the checkpoint fails and 1 is returned.
 */
int SCR_Checkpoint_if_needed(SCR_List_fn list,
                             void *context,
                             int *stop_now);

/*
 Restores the state that the routine `list` lists from the newest checkpoint that is whole and has these
 fields, and sets `found` to 1; to 0 if there is no checkpoint. Collective, after SCR_Init. Any number of
 processes may have written it. Not in SCR v3.1.0.

 The routine is called twice for each checkpoint that is tried, and once more before if it has SCR_Bag_by_key and
 another number of processes has written the bags. In the first call no field changes: names,
 types and extents are compared, on all processes, and all bytes that are needed are checked. In the
 second call the fields are read into memory. If a checkpoint is damaged or has other fields, the next
 older one is tried.

 Returns 1 if checkpoints are there, and none has the fields of this program, or one cannot be read for a
 reason that may pass. If the routine returns another number than 0, that says nothing of the checkpoint:
 it is kept, and no other one is offered in this run. Then `found` is 0, and no field was changed unless the
 message says so. After it has returned 1 no dataset can be started, so that the program does not replace the
 checkpoints that it has not restored, until it returns 0 or SCR_START_ANEW is set.
 */
int SCR_Restore(SCR_List_fn list,
                void *context,
                int *found);

/*
 Lists which elements of a whole this process has, for fields of an unstructured mesh, a sparse matrix or the
 like (SCR_Field_by_index). Local. All processes list index lists and fields with the same names in the same order.
 Not in SCR v3.1.0.

 `indices` points to `count` numbers of `kind` SCR_INT32 or SCR_INT64, in any order: element i of this process is
 element indices[i] of the whole. The first element of the whole has the number `first` (0 or 1 in most programs),
 and the whole has `whole` elements. When the state is written, all processes together list each index once; after
 SCR_Next_field(state, SCR_SHARED) several processes may list an index, and the checkpoint fails if any of their
 copies of its elements differ in a bit.
 When the state is read, the indices are those of the elements that this process has now. Any number of processes
 may list the same index then, as for ghost elements, and one process may list it twice.

 `indices` may be NULL if `count` is 0. The library keeps no pointer to them. One list serves any number of fields;
 its name must not be that of a field. Each checkpoint has the lists. They are compared with those of the other
 processes if any process has changed its list.
 */
int SCR_Index(struct SCR_State *state,
              const char *name,
              const void *indices,
              int kind,
              int64_t count,
              int64_t first,
              int64_t whole);

/*
 Lists elements without a number, such as particles: `count` of them on this process, for the fields that follow
 (SCR_Field_by_index with `name` as their index). Local. All fields of a bag have one place for each of its elements.
 When the state is read, `count` becomes the number of elements that this process gets, already in the first call of
 the routine, so that it can allocate memory for them: on the same number of processes those that it wrote, on
 another number an equal share, in the order of the processes that wrote them. Not in SCR v3.1.0.
 */
int SCR_Bag(struct SCR_State *state,
            const char *name,
            int64_t *count);

/*
 Lists a bag as SCR_Bag does. Another number of processes than has written the bag gets its elements by a key, which
 is the field `key` of the bag, with one number for each element. Local, with a function on all processes or on none.
 Not in SCR v3.1.0.

 With `owner` the key is an integer of up to 64 bits, such as the number of a cell. The function is called with the
 keys, once for some of them, and tells the process that gets each element. A process gets its elements in the order
 in which they were written. If the function returns another number than 0, or a process that is not there, the
 restart fails, and no field has changed. If `owner` is NULL, the bag is sorted: each process gets an equal share in
 the order of the key, which is an integer or a real number, and equal keys are in the order in which they were
 written.

 When the state is read on another number of processes, the routine is called once more, before its other calls. In
 that call, which asks for the owners, `count` is an equal share. In the others it is what the process gets.
 */
int SCR_Bag_by_key(struct SCR_State *state,
                   const char *name,
                   int64_t *count,
                   const char *key,
                   SCR_Owner_fn owner,
                   void *context);

/*
 Lists a field whose elements are those of `index`, an index list or a bag, which was listed before. Local. The other
 arguments are those of SCR_Field. The slowest dimension, the first of `extents` (after SCR_Order(SCR_COLUMN_MAJOR)
 the last), has one place for each index of the list, or for each element of the bag. The other dimensions are levels
 or components, the same on all processes. Any number of processes restores the field, with any index lists. Not in
 SCR v3.1.0.
 */
int SCR_Field_by_index(struct SCR_State *state,
                       const char *name,
                       const char *index,
                       void *data,
                       int kind,
                       int rank,
                       const int64_t *extents,
                       const int64_t *strides);

/*
 Lists a field: writes the field, compares it with the checkpoint, or reads it. Local. All processes
 list fields with the same names, types and ranks in the same order. Not in SCR v3.1.0.

 `data` points to the first element of an array with `rank` dimensions, at most 7, and these `extents`.
 `kind` is the type of its elements (SCR_Type). `strides` are the distances of elements in each dimension,
 in bytes, and may be negative. `strides` is NULL if the elements lie one after the other, the last index
 fastest (SCR_Order). `data` may be NULL if there are no elements. For a scalar `rank` is 0.

 `whole` and `at` are NULL for a field of this process alone. Another number of processes restores such a
 field only with SCR_From_rank. Otherwise the field is a part of a whole array. All processes together list
 each element of the whole array once. `whole` are the extents of the whole array. `at` is the index of
 this process's first element in the whole array; indices begin with 0. Any number of processes restores
 the whole array, in any parts. `name` is shorter than 1024 bytes.

 `data` may be in memory of a device, if the program has loaded its driver (CUDA or HIP): the driver is asked. A
 checkpoint has what the program's last work has written there. SCR_Stream and SCR_Copy say otherwise.

 Once a call has failed, all later calls fail, and the checkpoint or the restart fails, too.
 */
int SCR_Field(struct SCR_State *state,
              const char *name,
              void *data,
              int kind,
              int rank,
              const int64_t *extents,
              const int64_t *strides,
              const int64_t *whole,
              const int64_t *at);

/*
 Lists a field that is the same on all processes. A checkpoint fails if the field differs. Local. The
 arguments are those of SCR_Field. Any number of processes restores the field. Not in SCR v3.1.0.
 */
int SCR_Same(struct SCR_State *state,
             const char *name,
             void *data,
             int kind,
             int rank,
             const int64_t *extents,
             const int64_t *strides);

/*
 Lists a number on which the rest of the list depends: how many fields follow, or an extent. Local. When the
 state is read, `count` becomes the number that was written, already in the first call of the routine. So
 pass a copy of a number that must not change before the whole checkpoint was found good. Not in SCR v3.1.0.

 Another number of processes restores the number if it was the same on all processes, or with
 SCR_From_rank.
 */
int SCR_Count(struct SCR_State *state,
              const char *name,
              int64_t *count);

/*
 Sets `options` of the next field or count: SCR_KEEP_IF_MISSING and SCR_CONVERT, or-ed; of a field also SCR_ON_DEVICE or
 SCR_ON_HOST; of the next index list: SCR_SHARED. Local. Not in SCR v3.1.0.
 */
int SCR_Next_field(struct SCR_State *state,
                   int options);

/*
 Makes the next call for a field, a count or SCR_Stored mean process `rank` of the run that wrote the
 checkpoint. So another number of processes can read fields without a whole. Local; only when the state
 is read (SCR_Stored_ranks). The same name may be listed once for each old process. Not in SCR v3.1.0.
 */
int SCR_From_rank(struct SCR_State *state,
                  int64_t rank);

/*
 Says that the program no longer has the field or count `name`, so that a checkpoint with it can be restored.
 Local. Without it, a field that the program does not list is an error. Not in SCR v3.1.0.
 */
int SCR_Gone(struct SCR_State *state,
             const char *name);

/*
 Begins a list in the list: the names of fields get `name` and a slash before them, until SCR_End_list. Use
 it for arrays of structures, and for parts of a program that do not know each other. Local. Not in SCR
 v3.1.0.
 */
int SCR_Begin_list(struct SCR_State *state,
                   const char *name);

/*
 Ends the list that was begun last. Local. Not in SCR v3.1.0.
 */
int SCR_End_list(struct SCR_State *state);

/*
 Sets in which `order` the dimensions of the following fields are named: SCR_ROW_MAJOR, as at the beginning, or
 SCR_COLUMN_MAJOR. Local. The array a(3,2) of Fortran is the array a[2][3] of C: each language can read the
 array of the other. Not in SCR v3.1.0.
 */
int SCR_Order(struct SCR_State *state,
              int order);

/*
 Describes the field `name` in the checkpoint that is read, so that the program can allocate memory for the
 field. Local. `rank` becomes -1 if there is no such field, or if the state is written. Not in SCR v3.1.0.

 `extents`, `whole` and `at` are NULL or have space for 7 numbers. `extents` become the extents of this
 process's array. If the field is a part of a whole and another number of processes wrote it, `extents` become
 the extents of the whole. `whole` and `at` become 0 for a field that has no whole. The elements of a field that
 goes by an index list or a bag, and of such a list, need not follow each other in the whole: `at` becomes -1 in the
 dimension of the indices, which is the slowest one.
 */
int SCR_Stored(struct SCR_State *state,
               const char *name,
               int *kind,
               int *rank,
               int64_t *extents,
               int64_t *whole,
               int64_t *at);

/*
 Sets `ranks` to the number of processes that wrote the checkpoint which is read; to 0 if the state is
 written. Local. Not in SCR v3.1.0.
 */
int SCR_Stored_ranks(struct SCR_State *state,
                     int64_t *ranks);

/*
 Sets `pass` to the reason for which the routine is called: SCR_PASS_WRITE, SCR_PASS_COMPARE or
 SCR_PASS_READ. Local. A routine that only lists fields need not know it. Not in SCR v3.1.0.
 */
int SCR_Pass(struct SCR_State *state, int *pass);

/*
 Gives the path of a file of this process in the same dataset. The program itself writes the file in
 SCR_PASS_WRITE, or reads it in SCR_PASS_READ. Local. `name` has no slash, and may be the same on all
 processes: the file of process r is `rank_<r>.<name>`, beside the fields of process r. `file` is a buffer of
 SCR_MAX_FILENAME bytes. Another number of processes reads the files of the old processes with SCR_From_rank.
 Not in SCR v3.1.0.
 */
int SCR_State_file(struct SCR_State *state,
                   const char *name,
                   char *file);

/*
 Names the stream (a cudaStream_t or hipStream_t) on which the program's last work on the following fields is, whose
 memory is that of a device. Local. Only that stream is waited for, before their memory is copied. Without it, and
 again after a NULL `stream`, all work in the context of the memory is waited for. The streams without a handle have
 numbers: 1 is the default stream of CUDA (cudaStreamLegacy), 2 that of each thread (cudaStreamPerThread). It holds for
 the fields of this list, and no longer. Not in SCR v3.1.0.
 */
int SCR_Stream(struct SCR_State *state,
               void *stream);

/*
 Says that `function` copies the memory of the next field, for memory that neither the processor reads nor the drivers of
 CUDA and HIP know: that of SYCL, Level Zero or another device. Local. The library does not read at the address of the
 field. It calls the function with addresses that are counted from there, inside of the call that lists the field, once
 for each row of elements that follow each other, in pieces; in a restart also inside of SCR_Restore. The function waits
 for the program's work on this memory itself. If it returns another number than 0, the checkpoint, or the restart, fails.
 Not in SCR v3.1.0.
 */
int SCR_Copy(struct SCR_State *state,
             SCR_Copy_fn function,
             void *context);

#ifdef __cplusplus
}
#endif

#endif  /* SCR_H */
