/* Routines that list a state, and threads: two sessions write at once, a call of another thread inside of a routine is
   refused, and so is a state whose routine has returned. Wrong arguments cost no checkpoint. On any number of ranks.
   SPDX-License-Identifier: MIT OR Apache-2.0 */

#define _GNU_SOURCE
#include <pthread.h>
#include <scr_session.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define REQUIRE(what)                                                          \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: %s is not so\n", __FILE__, __LINE__, #what); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                      \
        }                                                                      \
    } while (0)

/* What waits for ever is a failure of this test, long after any slow machine would be done. */
static struct timespec deadline(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 120;
    return time;
}

/* Where the threads of a process meet. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int inside;

static void meet(int count)
{
    struct timespec until = deadline();
    pthread_mutex_lock(&lock);
    inside++;
    pthread_cond_broadcast(&changed);
    while (inside < count) REQUIRE(pthread_cond_timedwait(&changed, &lock, &until) == 0);
    pthread_mutex_unlock(&lock);
}

static int one_field(SCR_State *s, void *context)
{
    if (SCR_Gone(s, "number") != SCR_SUCCESS) return 1;
    return SCR_Same(s, "step", context, SCR_INT64, 0, NULL, NULL);
}

/* Goes on when the routine of the other session runs, too. */
static int both_at_once(SCR_State *s, void *context)
{
    meet(2);
    return one_field(s, context);
}

struct writer {
    SCR_Session session;
    int64_t step;
    int code;
};

static void *write_one(void *context)
{
    struct writer *w = context;
    w->code = SCR_Session_checkpoint(w->session, NULL, SCR_FLAG_CHECKPOINT, both_at_once, &w->step);
    return NULL;
}

static void two_sessions_write_at_once(void)
{
    struct writer writers[2] = {{.step = 1}, {.step = 2}};
    const char *names[2] = {"one", "two"};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        REQUIRE(SCR_Session_create(MPI_COMM_WORLD, names[i], &writers[i].session) == SCR_SUCCESS);
        REQUIRE(SCR_Session_init(writers[i].session) == SCR_SUCCESS);
    }
    for (int i = 0; i < 2; i++) REQUIRE(pthread_create(&threads[i], NULL, write_one, &writers[i]) == 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        REQUIRE(writers[i].code == SCR_SUCCESS);
        REQUIRE(SCR_Session_finalize(writers[i].session) == SCR_SUCCESS);
        REQUIRE(SCR_Session_free(&writers[i].session) == SCR_SUCCESS);
    }
}

static SCR_State *of_the_routine;

/* Calls of another thread, while the first one is in the routine and waits for it. */
static void *call_from_outside(void *context)
{
    int flag, *codes = context;
    REQUIRE(SCR_Reason()[0] == '\0');
    codes[0] = SCR_Should_exit(&flag);
    REQUIRE(strstr(SCR_Reason(), "another thread is in the routine") != NULL);
    codes[1] = SCR_Have_restart(&flag, NULL);
    /* Another thread may list, if the routine waits for it. */
    int64_t number = 7;
    codes[2] = SCR_Same(of_the_routine, "number", &number, SCR_INT64, 0, NULL, NULL);
    return NULL;
}

static int with_another_thread(SCR_State *s, void *context)
{
    int codes[3] = {-1, -1, -1};
    pthread_t thread;
    struct timespec until = deadline();
    of_the_routine = s;
    REQUIRE(pthread_create(&thread, NULL, call_from_outside, codes) == 0);
    REQUIRE(pthread_timedjoin_np(thread, NULL, &until) == 0);
    REQUIRE(codes[0] == 1 && codes[1] == 1 && codes[2] == SCR_SUCCESS);
    /* It is another thread's. */
    REQUIRE(SCR_Reason()[0] == '\0');
    return one_field(s, context);
}

static void a_call_inside_and_a_state_outside_of_a_routine_are_refused(void)
{
    int64_t step = 3;
    int pass = -1, flag = -1;
    char path[SCR_MAX_FILENAME];
    REQUIRE(SCR_Checkpoint("ck.1", SCR_FLAG_CHECKPOINT, with_another_thread, &step) == SCR_SUCCESS);
    REQUIRE(SCR_Same(of_the_routine, "step", &step, SCR_INT64, 0, NULL, NULL) == 1);
    REQUIRE(SCR_Pass(of_the_routine, &pass) == 1 && pass == -1);
    REQUIRE(SCR_State_file(of_the_routine, "mesh", path) == 1);
    REQUIRE(SCR_Begin_list(NULL, "list") == 1);
    REQUIRE(SCR_Should_exit(&flag) == SCR_SUCCESS);
}

/* With room for one dataset, which a checkpoint with wrong arguments does not evict. */
static void wrong_arguments_cost_no_checkpoint(void)
{
    int64_t step = 0;
    int found = 0;
    char longest[400];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    REQUIRE(SCR_Checkpoint("ck.2", SCR_FLAG_CHECKPOINT, NULL, &step) == 1);
    REQUIRE(strstr(SCR_Reason(), "NULL") != NULL);
    REQUIRE(SCR_Checkpoint("../ck.2", SCR_FLAG_CHECKPOINT, one_field, &step) == 1);
    REQUIRE(SCR_Checkpoint(longest, SCR_FLAG_CHECKPOINT, one_field, &step) == 1);
    REQUIRE(SCR_Checkpoint("ck.2", 1 << 20, one_field, &step) == 1);
    REQUIRE(SCR_Restore(one_field, &step, &found) == SCR_SUCCESS && found == 1 && step == 3);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    SCR_Config("SCR_CACHE_SIZE=1");
    SCR_Config("SCR_CACHE_BYPASS=0");
    SCR_Config("SCR_FLUSH=0");
    REQUIRE(SCR_Init() == SCR_SUCCESS);
    a_call_inside_and_a_state_outside_of_a_routine_are_refused();
    wrong_arguments_cost_no_checkpoint();
    REQUIRE(SCR_Finalize() == SCR_SUCCESS);
    if (provided == MPI_THREAD_MULTIPLE) two_sessions_write_at_once();
    else printf("SKIPPED: this MPI has no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 0;
}
