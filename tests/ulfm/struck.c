/* For LD_PRELOAD: kills this process inside a call of SCR.
 *
 * STRIKES has a part for each strike, with `;` between them: "NODE CALL MICROSECONDS". The process that has NODE in
 * SCR_NODE_NAME kills itself so long after it has begun the first such call, and at the latest when that returns.
 * CALL is create (the first SCR_Session_create), init, or again (SCR_Session_repair, or another SCR_Session_create).
 * With `-` instead of a time the process lives, and prints how long the call takes.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int SCR_Init(void);
int SCR_Session_create(MPI_Comm comm, const char* name, int* session);
int SCR_Session_repair(int session, MPI_Comm comm);

static void die(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* What is to be done in a call of this process: a time, "-", or NULL. */
static const char* strike_in(const char* call)
{
    const char* strikes = getenv("STRIKES");
    const char* node = getenv("SCR_NODE_NAME");
    char wanted[128];
    if (strikes == NULL || node == NULL) return NULL;
    snprintf(wanted, sizeof wanted, "%s %s ", node, call);
    const char* found = strstr(strikes, wanted);
    return found == NULL ? NULL : found + strlen(wanted);
}

/* When the call began, or -1 if it is not to be measured. */
static long before(const char* call)
{
    const char* strike = strike_in(call);
    if (strike == NULL) return -1;
    if (*strike == '-') return now();
    long after = atol(strike);
    struct itimerval timer = { { 0, 0 }, { after / 1000000, after % 1000000 + 1 } };
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
    return -1;
}

static int after(const char* call, long begun, int done)
{
    const char* strike = strike_in(call);
    if (begun >= 0) {
        printf("struck: %s takes %ld\n", call, now() - begun);
        fflush(stdout);
    } else if (strike != NULL) {
        die(0);
    }
    return done;
}

/* The function of the library. */
static void* of_library(const char* name)
{
    void* found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    return found;
}

int SCR_Init(void)
{
    int (*call)(void);
    *(void**)&call = of_library("SCR_Init");
    long begun = before("init");
    return after("init", begun, call());
}

int SCR_Session_create(MPI_Comm comm, const char* name, int* session)
{
    static int calls;
    const char* which = calls++ == 0 ? "create" : "again";
    int (*call)(MPI_Comm, const char*, int*);
    *(void**)&call = of_library("SCR_Session_create");
    long begun = before(which);
    return after(which, begun, call(comm, name, session));
}

int SCR_Session_repair(int session, MPI_Comm comm)
{
    int (*call)(int, MPI_Comm);
    *(void**)&call = of_library("SCR_Session_repair");
    long begun = before("again");
    return after("again", begun, call(session, comm));
}
