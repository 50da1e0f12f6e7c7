/* Sessions of the Scalable Checkpoint / Restart library, on communicators of the program. Not in SCR v3.1.0.
   Generated from library/capi/sessions.rs; see tests/header. SPDX-License-Identifier: MIT OR Apache-2.0 */

#ifndef SCR_SESSION_H
#define SCR_SESSION_H


#include <mpi.h>
#include <scr.h>


/*
 A session. A number is given once in a process.
 */
typedef int SCR_Session;

/*
 The session of MPI_COMM_WORLD: that of all calls without a session.
 */
#define SCR_SESSION_WORLD 0

/*
 No session.
 */
#define SCR_SESSION_NULL -1

#ifdef __cplusplus
extern "C" {
#endif

/*
 Makes the session `session` that of the calls that this thread makes from now on, and returns the one before. Local.

 SCR_Have_restart and all other calls without a session reach it then. The calls that begin with SCR_Session_ do it
 for the time of one call.
 */
SCR_Session SCR_Session_enter(SCR_Session session);

/*
 Makes a session over the processes of `comm`, of which each calls it with the same `name`. Collective over `comm`,
 after MPI_Init.

 A session has its own prefix directory, cache, state and parameters; several can be open at once, on
 communicators that overlap. `name` is a word of letters, digits, `-`, `_` and `.`, of at most 64 bytes. The prefix directory is
 `SCR_PREFIX/name`, unless SCR_Session_config sets SCR_PREFIX for the session. SCR_Session_init starts it. `comm` is
 duplicated, and can be freed.

 If processes of `comm` are in SCR_Session_repair of a session of this name, the caller joins it: the session
 is open then as after SCR_Session_init, which may be called and does nothing.
 */
int SCR_Session_create(MPI_Comm comm,
                       const char *name,
                       SCR_Session *session);

/*
 Goes on with a session after processes have failed, on the processes of `comm`: the survivors, and others that
 take the places of lost ones, or none. Collective over `comm`.

 The survivors call it with their session, in whatever state that is; nothing of a phase that was open counts. The others
 call SCR_Session_create with the name of the session, or SCR_Session_repair with SCR_SESSION_WORLD if that is the session.
 Then SCR_Have_restart offers the newest checkpoint that is whole or can be rebuilt. If `comm` has another number
 of processes, what SCR_Allow_other_ranks says holds. Settings are those of the survivors.

 If no process has a run of the session, as when one has failed in SCR_Session_create or SCR_Session_init, the repair
 begins one, as SCR_Session_init does. A survivor whose SCR_Session_create has failed calls that again.

 Returns 1 if the repair failed, as when another process has failed during it. It can be called again, on yet another
 communicator. Errors are also: a communicator that lacks a survivor, or with processes of another session.
 */
int SCR_Session_repair(SCR_Session session,
                       MPI_Comm comm);

/*
 Frees a session, after SCR_Session_finalize, and sets `session` to SCR_SESSION_NULL. Collective over its processes.
 */
int SCR_Session_free(SCR_Session *session);

#ifdef __cplusplus
}
#endif

/*
 The calls of scr.h for a session: each does what the call without a session does for MPI_COMM_WORLD.
 SCR_SESSION_WORLD can be given, too. Collective means: over the processes of the session.
 */
static inline int SCR_Session_init(SCR_Session session)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Init();
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_finalize(SCR_Session session)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Finalize();
    SCR_Session_enter(before);
    return done;
}

static inline const char *SCR_Session_config(SCR_Session session, const char *config)
{
    SCR_Session before = SCR_Session_enter(session);
    const char *done = SCR_Config(config);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_route_file(SCR_Session session, const char *name, char *file)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Route_file(name, file);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_allow_other_ranks(SCR_Session session, int allowed)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Allow_other_ranks(allowed);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_have_restart(SCR_Session session, int *flag, char *name)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Have_restart(flag, name);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_start_restart(SCR_Session session, char *name)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Start_restart(name);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_restart_ranks(SCR_Session session, int *ranks)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Restart_ranks(ranks);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_restart_file_count(SCR_Session session, int rank, int *count)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Restart_file_count(rank, count);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_restart_file(SCR_Session session, int rank, int index, char *name)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Restart_file(rank, index, name);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_complete_restart(SCR_Session session, int valid)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Complete_restart(valid);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_need_checkpoint(SCR_Session session, int *flag)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Need_checkpoint(flag);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_start_checkpoint(SCR_Session session)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Start_checkpoint();
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_complete_checkpoint(SCR_Session session, int valid)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Complete_checkpoint(valid);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_start_output(SCR_Session session, const char *name, int flags)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Start_output(name, flags);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_complete_output(SCR_Session session, int valid)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Complete_output(valid);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_should_exit(SCR_Session session, int *flag)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Should_exit(flag);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_current(SCR_Session session, const char *name)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Current(name);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_drop(SCR_Session session, const char *name)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Drop(name);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_delete(SCR_Session session, const char *name)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Delete(name);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_checkpoint(SCR_Session session, const char *name, int flags, SCR_List_fn list, void *context)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Checkpoint(name, flags, list, context);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_checkpoint_if_needed(SCR_Session session, SCR_List_fn list, void *context, int *stop_now)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Checkpoint_if_needed(list, context, stop_now);
    SCR_Session_enter(before);
    return done;
}

static inline int SCR_Session_restore(SCR_Session session, SCR_List_fn list, void *context, int *found)
{
    SCR_Session before = SCR_Session_enter(session);
    int done = SCR_Restore(list, context, found);
    SCR_Session_enter(before);
    return done;
}

#endif  /* SCR_SESSION_H */
