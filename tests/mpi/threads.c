/* Random programs of sessions. Each session is driven by a thread of its own, all at once (MPI_THREAD_MULTIPLE); or the
   calls without a session by two threads in turns (MPI_THREAD_SERIALIZED). Between valid calls there are pauses and wrong
   calls, of one rank or of all. What a restart gives is compared with a model (threads.h).

   Usage: threads SEED LAUNCH STEPS sessions|turns RECORDS [kill RANK STEP MICROSECONDS] [halted SESSION]

   The seed decides what the sessions are, and with the number of the launch what they do. RECORDS is a directory beyond SCR's
   reach: what earlier launches, which may have been killed, have written there must be restored. With `kill` the rank kills
   itself so long after so many calls of all its threads. With `halted` that session is told to stop.
   SPDX-License-Identifier: MIT OR Apache-2.0 */

#define _GNU_SOURCE

#include "threads.h"
#include <signal.h>
#include <time.h>

enum { SESSIONS = 4, OWN = 40, PART = 64, PATIENCE = 200 };

int rank, ranks;

static struct member members[SESSIONS];
static int count, most_steps, victim = -1, wait_us;
static long kill_at;
static unsigned seed, launch;
static volatile long calls_made;
static volatile int over;

void give_up(const struct member *member, const char *what, const char *file, int line)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&once); /* For ever. */
    fprintf(stderr, "%s:%d: rank %d, seed %u, launch %u, session %s: not so: %s\n", file, line, rank, seed, launch,
            member ? member->label : "-", what);
    for (int i = 0; i < count; i++) {
        const struct member *m = &members[i];
        long first = m->lines > LINES ? m->lines - LINES : 0;
        fprintf(stderr, "--- rank %d: %s, of %ld:\n", rank, m->label, m->lines);
        for (long at = first; at < m->lines; at++) fprintf(stderr, "%d.%s %s\n", rank, m->label, m->trace[at % LINES]);
    }
    fflush(stderr);
    usleep(300000);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void pause_us(long us)
{
    struct timespec wait = { us / 1000000, us % 1000000 * 1000 };
    nanosleep(&wait, NULL);
}

static void *killer(void *unused)
{
    (void) unused;
    pause_us(wait_us);
    kill(getpid(), SIGKILL);
    return NULL;
}

static void counted(struct member *m)
{
    m->steps++;
    if (__sync_add_and_fetch(&calls_made, 1) == kill_at && rank == victim) {
        pthread_t thread;
        if (wait_us == 0 || pthread_create(&thread, NULL, killer, NULL) != 0) kill(getpid(), SIGKILL);
    }
}

/* Runs a call in the session of the member, and gives its result. */
#define IN(m, call)                                                                                             \
    __extension__({                                                                                             \
        SCR_Session before_ = (m)->world ? SCR_SESSION_WORLD : SCR_Session_enter((m)->session);                 \
        int code_ = (call);                                                                                     \
        if (!(m)->world) SCR_Session_enter(before_);                                                            \
        trace((m), "%.90s = %d", #call, code_);                                                                 \
        counted(m);                                                                                             \
        code_;                                                                                                  \
    })

#define GOOD(m, call) REQUIRE((m), IN((m), call) == SCR_SUCCESS)
#define BAD(m, call) REQUIRE((m), IN((m), call) != SCR_SUCCESS)

/* ---- Files of a session ---- */

static void file_name(const struct member *m, int id, int file, char *name)
{
    snprintf(name, 128, "%s/%s/rank_%d.%d", m->world ? "." : m->label, m->versions[id].name, rank, file);
}

static int files_of(int id) { return 1 + (id + rank) % 2; }

static long length_of(int id, int file) { return 1 + (id * 37L + rank * 11L + file * 5L) % 900; }

static void write_files(struct member *m, int id)
{
    for (int file = 0; file < files_of(id); file++) {
        char name[128], path[SCR_MAX_FILENAME];
        FILE *out;
        file_name(m, id, file, name);
        trace(m, "%s", name);
        GOOD(m, SCR_Route_file(name, path));
        out = fopen(path, "wb");
        REQUIRE(m, out != NULL);
        for (long at = 0; at < length_of(id, file); at++) {
            double value = element(m, id, at + file * 1000L);
            REQUIRE(m, fwrite(&value, sizeof value, 1, out) == 1);
        }
        REQUIRE(m, fclose(out) == 0);
    }
}

/* The version of which a file is, by its content; it must all be of one. */
static void check_files(struct member *m, int id)
{
    for (int file = 0; file < files_of(id); file++) {
        char name[128], path[SCR_MAX_FILENAME];
        double value;
        FILE *in;
        file_name(m, id, file, name);
        GOOD(m, SCR_Route_file(name, path));
        in = fopen(path, "rb");
        REQUIRE(m, in != NULL);
        for (long at = 0; at < length_of(id, file); at++) {
            REQUIRE(m, fread(&value, sizeof value, 1, in) == 1);
            REQUIRE(m, value == element(m, id, at + file * 1000L));
        }
        REQUIRE(m, fread(&value, sizeof value, 1, in) == 0);
        fclose(in);
    }
}

/* The version that has this name now. */
static int version_named(struct member *m, const char *name)
{
    for (int id = m->last; id > 0; id--) {
        const struct version *version = &m->versions[id];
        if (strcmp(version->name, name) == 0 && (version->life == OPEN || version->life == DONE)) return id;
    }
    trace(m, "  offered %s", name);
    give_up(m, "the name is that of a checkpoint that can be there", __FILE__, __LINE__);
    return 0;
}

/* ---- Fields of a session ---- */

struct state {
    struct member *member;
    int64_t id, own;
    double part[PART], list[OWN];
    int wrong, read;
};

static int list_state(SCR_State *s, void *context)
{
    struct state *state = context;
    int64_t part = PART, whole = (int64_t) PART * ranks, at = (int64_t) PART * rank;
    int pass = 0, flag = 0;
    char path[SCR_MAX_FILENAME];
    SCR_Session none = SCR_SESSION_NULL;
    SCR_Same(s, "id", &state->id, SCR_INT64, 0, NULL, NULL);
    SCR_Field(s, "part", state->part, SCR_FLOAT64, 1, &part, NULL, &whole, &at);
    SCR_Count(s, "own", &state->own);
    if (state->own < 0 || state->own > OWN) return 3;
    SCR_Field(s, "list", state->list, SCR_FLOAT64, 1, &state->own, NULL, NULL, NULL);
    SCR_Pass(s, &pass);
    if (pass != SCR_PASS_COMPARE && SCR_State_file(s, "more", path) == SCR_SUCCESS) {
        int64_t id = state->id;
        FILE *file = fopen(path, pass == SCR_PASS_WRITE ? "wb" : "rb");
        if (file == NULL) return 4;
        if (pass == SCR_PASS_WRITE && fwrite(&id, sizeof id, 1, file) != 1) return 5;
        if (pass == SCR_PASS_READ) state->read = fread(&id, sizeof id, 1, file) == 1 && id == state->id;
        if (fclose(file) != 0) return 6;
    }
    if (state->wrong == 1) return 1;
    if (state->wrong == 2) REQUIRE(state->member, SCR_Should_exit(&flag) != SCR_SUCCESS);
    if (state->wrong == 3) REQUIRE(state->member, SCR_Session_free(&none) != SCR_SUCCESS);
    if (state->wrong == 3) REQUIRE(state->member, SCR_Session_create(MPI_COMM_NULL, NULL, &none) != SCR_SUCCESS);
    if (state->wrong == 4) REQUIRE(state->member, SCR_Field(s, NULL, NULL, 7, 9, NULL, NULL, NULL, NULL) != SCR_SUCCESS);
    return 0;
}

static void fill(struct state *state, struct member *m, int id)
{
    memset(state, 0, sizeof *state);
    state->member = m;
    state->id = id;
    state->own = (id + rank * 3) % OWN;
    for (int i = 0; i < PART; i++) state->part[i] = element(m, id, (long) PART * rank + i);
    for (int i = 0; i < state->own; i++) state->list[i] = element(m, id, 500 + rank * OWN + i);
}

static void restore(struct member *m)
{
    struct state state, expected;
    int there = -1;
    memset(&state, 0, sizeof state);
    state.member = m;
    GOOD(m, SCR_Restore(list_state, &state, &there));
    REQUIRE(m, there == 0 || (there == 1 && state.read && state.id > 0 && state.id <= m->last));
    if (there == 1) {
        fill(&expected, m, (int) state.id);
        REQUIRE(m, state.own == expected.own);
        REQUIRE(m, memcmp(state.part, expected.part, sizeof state.part) == 0);
        REQUIRE(m, memcmp(state.list, expected.list, sizeof(double) * (size_t) state.own) == 0);
    }
    found(m, there == 1 ? (int) state.id : 0);
}

/* ---- What a thread does ---- */

/* Waits for the other ranks, so that what was noted is before all that they do. */
static void meet(struct member *m)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(m->comm, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) pause_us(50);
}

/* The name of the next version: a new one, or that of one that was deleted. */
static void next_name(struct member *m, int id, char name[32])
{
    snprintf(name, 32, "ck.%d", id);
    if (draw(&m->shared, 5) != 0) return;
    for (int old = m->last; old > 0; old--) {
        int lives = 0;
        if (m->versions[old].life != GONE) continue;
        for (int i = 1; i <= m->last; i++) {
            lives |= strcmp(m->versions[i].name, m->versions[old].name) == 0 && m->versions[i].life != GONE;
        }
        if (!lives) snprintf(name, 32, "%s", m->versions[old].name);
        return;
    }
}

static void write_fields(struct member *m)
{
    struct state state;
    char name[32];
    int id = m->last + 1, wrong = draw(&m->shared, 5) == 0 ? 1 + (int) draw(&m->shared, 4) : 0;
    int who = (int) draw(&m->shared, (unsigned) ranks + 1);
    REQUIRE(m, id < VERSIONS);
    next_name(m, id, name);
    fill(&state, m, id);
    state.wrong = who == rank || who == ranks ? wrong : 0;
    begins(m, id, name);
    trace(m, "%s of fields, wrong %d on %d", name, wrong, who);
    if (wrong == 0) {
        GOOD(m, SCR_Checkpoint(name, SCR_FLAG_CHECKPOINT, list_state, &state));
        becomes(m, id, DONE);
    } else {
        BAD(m, SCR_Checkpoint(name, SCR_FLAG_CHECKPOINT, list_state, &state));
        becomes(m, id, FAILED);
    }
    m->offered = 0;
}

static void start_output(struct member *m)
{
    char name[32];
    int id = m->last + 1;
    REQUIRE(m, id < VERSIONS);
    next_name(m, id, name);
    begins(m, id, name);
    trace(m, "%s of files", name);
    GOOD(m, SCR_Start_output(name, SCR_FLAG_CHECKPOINT));
    m->phase = WRITING;
    m->open = id;
    m->offered = 0;
}

static void complete_output(struct member *m)
{
    int bad = draw(&m->shared, 8) == 0, who = (int) draw(&m->shared, (unsigned) ranks);
    write_files(m, m->open);
    m->phase = IDLE;
    if (bad) {
        BAD(m, SCR_Complete_output(who != rank));
        becomes(m, m->open, FAILED);
    } else {
        GOOD(m, SCR_Complete_output(1));
        becomes(m, m->open, DONE);
    }
}

static void have_restart(struct member *m)
{
    char name[SCR_MAX_FILENAME] = "";
    int flag = -1, id;
    GOOD(m, SCR_Have_restart(&flag, name));
    REQUIRE(m, flag == 0 || flag == 1);
    id = flag ? version_named(m, name) : 0;
    if (m->offered == 0) found(m, id);
    REQUIRE(m, m->offered == 0 || m->offered == id);
    m->offered = id;
    m->phase = id ? OFFERED : IDLE;
}

static void complete_restart(struct member *m)
{
    int bad = draw(&m->shared, 6) == 0, who = (int) draw(&m->shared, (unsigned) ranks);
    check_files(m, m->offered);
    m->phase = IDLE;
    if (bad) {
        may_be_gone(m, m->offered);
        meet(m);
        BAD(m, SCR_Complete_restart(who != rank));
        becomes(m, m->offered, GONE);
    } else {
        GOOD(m, SCR_Complete_restart(1));
    }
    m->offered = 0;
}

/* Drops or deletes a version. */
static void remove_one(struct member *m, int deletes)
{
    char name[32] = "never";
    int id = m->last > 0 ? m->last - (int) draw(&m->shared, m->last < 5 ? (unsigned) m->last : 5) : 0;
    int there = id > 0 && (m->versions[id].life == DONE || m->versions[id].life == OPEN);
    if (there) {
        snprintf(name, sizeof name, "%s", m->versions[id].name);
        may_be_gone(m, id);
        meet(m);
    }
    trace(m, "%s", name);
    if (deletes) {
        GOOD(m, SCR_Delete(name));
        if (there) becomes(m, id, GONE);
    } else {
        GOOD(m, SCR_Drop(name));
    }
    m->offered = 0;
    m->phase = IDLE;
}

static void begin_session(struct member *m)
{
    SCR_Session none = 0;
    if (draw(&m->shared, 4) == 0) {
        REQUIRE(m, SCR_Session_create(m->comm, "a/b", &none) != SCR_SUCCESS && none == SCR_SESSION_NULL);
        REQUIRE(m, SCR_Session_create(m->comm, rank % 2 ? NULL : m->label, &none) != SCR_SUCCESS);
        REQUIRE(m, SCR_Session_create(MPI_COMM_NULL, m->label, &none) != SCR_SUCCESS);
    }
    trace(m, "SCR_Session_create");
    if (m->world) m->session = SCR_SESSION_WORLD;
    else REQUIRE(m, SCR_Session_create(m->comm, m->label, &m->session) == SCR_SUCCESS);
    m->visible = m->session;
    m->phase = CREATED;
}

static void start_session(struct member *m)
{
    const char *settings[4] = { "SCR_CACHE_BYPASS=1", "SCR_COPY_TYPE=SINGLE", "SCR_FLUSH=1", "SCR_CACHE_SIZE=2" };
    const char *small[4] = { "SCR_CACHE_BYPASS=0", "SCR_COPY_TYPE=PARTNER", "SCR_FLUSH=3", "SCR_CACHE_SIZE=2" };
    for (int i = 0; i < 4; i++) {
        const char *setting = m->keeps_all ? settings[i] : small[i];
        GOOD(m, SCR_Config(setting) != NULL);
    }
    GOOD(m, SCR_Init());
    m->phase = IDLE;
    m->offered = 0;
    m->restored = -1;
}

static void free_session(struct member *m)
{
    if (m->world) return;
    trace(m, "SCR_Session_free");
    REQUIRE(m, SCR_Session_free(&m->session) == SCR_SUCCESS && m->session == SCR_SESSION_NULL);
    m->phase = NONE;
}

static void end_session(struct member *m)
{
    GOOD(m, SCR_Finalize());
    m->phase = CREATED;
    m->offered = 0;
}

/* Calls that are refused on this rank alone, whatever the others do. */
static void wrong_alone(struct member *m)
{
    int n = 0;
    char path[SCR_MAX_FILENAME];
    SCR_Session session = SCR_SESSION_WORLD;
    switch (draw(&m->own, 9)) {
    case 0:
        REQUIRE(m, SCR_Session_have_restart(SCR_SESSION_NULL, &n, NULL) != SCR_SUCCESS && n == 0);
        REQUIRE(m, SCR_Session_start_output(987654, "none", SCR_FLAG_CHECKPOINT) != SCR_SUCCESS);
        break;
    case 1:
        REQUIRE(m, SCR_Session_free(NULL) != SCR_SUCCESS && SCR_Session_free(&session) != SCR_SUCCESS);
        break;
    case 2:
        BAD(m, SCR_Restart_ranks(NULL));
        BAD(m, SCR_Restart_file_count(-1, &n));
        BAD(m, SCR_Restart_file(0, -1, path));
        break;
    case 3:
        if (m->phase != WRITING) BAD(m, SCR_Route_file(NULL, path));
        if (m->phase != WRITING) BAD(m, SCR_Route_file("file", NULL));
        break;
    case 4: /* Of a session in which another thread is. Only those before it, or two could wait for each other. */
#ifdef OPEN_MPI
        /* They could in any case: MPI_Comm_dup of one communicator waits until that of an older one is over, which
           another thread has begun. */
        break;
#endif
        if (m->index == 0) break;
        session = members[draw(&m->own, (unsigned) m->index)].visible;
        trace(m, "of session %d", session);
        REQUIRE(m, SCR_Session_restart_ranks(session, NULL) != SCR_SUCCESS);
        REQUIRE(m, SCR_Session_restart_file_count(session, -1, &n) != SCR_SUCCESS);
        break;
    case 5:
        if (m->phase != RESTARTING) BAD(m, SCR_Complete_restart(1));
        if (m->phase != WRITING && m->phase != REFUSED) BAD(m, SCR_Complete_output(1));
        BAD(m, SCR_Complete_checkpoint(1));
        break;
    case 6:
        if (m->phase == CREATED) BAD(m, SCR_Finalize());
        if (m->phase == CREATED) BAD(m, SCR_Delete("ck.1"));
        if (m->phase == CREATED) BAD(m, SCR_Restore(list_state, NULL, &n));
        if (m->phase != CREATED) BAD(m, SCR_Init());
        break;
    default:
        if (m->phase != WRITING && m->phase != RESTARTING) break;
        BAD(m, SCR_Start_output("inside", SCR_FLAG_CHECKPOINT));
        BAD(m, SCR_Have_restart(&n, NULL));
        BAD(m, SCR_Delete("ck.1"));
        BAD(m, SCR_Checkpoint("inside", SCR_FLAG_CHECKPOINT, list_state, NULL));
        BAD(m, SCR_Finalize());
    }
}

/* Calls that all ranks make, and that are refused. */
static void wrong_together(struct member *m)
{
    char long_name[SCR_MAX_FILENAME + 100], path[SCR_MAX_FILENAME];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    m->offered = 0;
    m->phase = REFUSED;
    switch (draw(&m->shared, 8)) {
    case 0: BAD(m, SCR_Start_output("flags", 64)); break;
    case 1: BAD(m, SCR_Start_output(long_name, SCR_FLAG_CHECKPOINT)); break;
    case 2: BAD(m, SCR_Start_output(rank % 2 ? "one" : "other", SCR_FLAG_CHECKPOINT)); break;
    case 3: BAD(m, SCR_Have_restart(NULL, NULL)); m->phase = IDLE; break;
    case 4: BAD(m, SCR_Need_checkpoint(NULL)); m->phase = IDLE; break;
    case 5: BAD(m, SCR_Should_exit(NULL)); m->phase = IDLE; break;
    case 6: BAD(m, SCR_Checkpoint("none", SCR_FLAG_CHECKPOINT, NULL, NULL)); m->phase = IDLE; break;
    default: BAD(m, SCR_Current("never")); m->phase = IDLE; break;
    }
    if (m->phase == REFUSED) BAD(m, SCR_Route_file("file", path));
}

static void step_idle(struct member *m)
{
    int flag = -1;
    unsigned what = draw(&m->shared, 24);
    if (m->restored < 0 && what < 20) what = 20;
    if (what < 9) {
        if (m->fields) write_fields(m);
        else start_output(m);
    } else if (what < 11) {
        remove_one(m, 1);
    } else if (what < 12) {
        remove_one(m, 0);
    } else if (what < 14) {
        wrong_together(m);
    } else if (what < 15) {
        GOOD(m, SCR_Need_checkpoint(&flag));
        REQUIRE(m, flag == 0 || flag == 1);
    } else if (what < 17) {
        GOOD(m, SCR_Should_exit(&flag));
        REQUIRE(m, flag == m->halted);
    } else if (what < 18) {
        end_session(m);
        if (draw(&m->shared, 2)) free_session(m);
    } else if (m->fields) {
        restore(m);
    } else {
        have_restart(m);
    }
}

/* One call, or a few that belong together. */
static void step(struct member *m)
{
    if (draw(&m->own, 4) == 0) pause_us(draw(&m->own, 1500));
    if (draw(&m->own, 6) == 0 && m->phase != NONE) wrong_alone(m);
    switch (m->phase) {
    case NONE: begin_session(m); break;
    case CREATED:
        if (draw(&m->shared, 6) == 0) free_session(m);
        else start_session(m);
        break;
    case IDLE: step_idle(m); break;
    case OFFERED:
        switch (draw(&m->shared, 8)) {
        case 0: have_restart(m); break;
        case 1: start_output(m); break;
        case 2: remove_one(m, 1); break;
        case 3: m->phase = IDLE; break;
        default: GOOD(m, SCR_Start_restart(NULL)); m->phase = RESTARTING;
        }
        break;
    case RESTARTING: complete_restart(m); break;
    case WRITING: complete_output(m); break;
    case REFUSED:
        if (draw(&m->shared, 2)) BAD(m, SCR_Complete_output(1));
        m->phase = IDLE;
        break;
    }
}

static void finish(struct member *m)
{
    while (m->phase == OFFERED || m->phase == RESTARTING || m->phase == WRITING || m->phase == REFUSED) step(m);
    if (m->phase == IDLE) end_session(m);
    if (m->phase == CREATED) free_session(m);
}

static void *drive(void *context)
{
    struct member *m = context;
    for (int i = 0; i < most_steps; i++) step(m);
    finish(m);
    return NULL;
}

/* Two threads that take turns, as programs of MPI_THREAD_SERIALIZED do; each rank in an order of its own. */
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;
static int steps_left;

static void *take_turns(void *context)
{
    struct member *m = context;
    for (int more = 1; more;) {
        pthread_mutex_lock(&turns);
        more = steps_left > 0;
        if (more) step(m);
        if (more && --steps_left == 0) finish(m);
        pthread_mutex_unlock(&turns);
        pause_us(rand() % 2 * 100);
    }
    return NULL;
}

/* Tells of a hang before the test is ended without a word. */
static void *watch(void *unused)
{
    long before = -1;
    for (int waited = 0; !over; waited++) {
        pause_us(1000000);
        if (calls_made != before) waited = 0;
        before = calls_made;
        if (waited == PATIENCE) give_up(NULL, "a call ends", __FILE__, __LINE__);
    }
    return unused;
}

static void make_member(int index, int sessions, const char *records, int halted)
{
    struct member *m = &members[index];
    m->index = index;
    m->world = !sessions || (index == 0 && seed % 3 == 0);
    m->fields = (int) (seed / 3 + (unsigned) index) % 2;
    m->keeps_all = (int) (seed / 2 + (unsigned) index / 2) % 2;
    m->halted = index == halted;
    m->shared = seed * 977u + launch * 7919u + (unsigned) index * 131u + 7u;
    m->own = m->shared + (unsigned) rank * 104729u + 3u;
    m->session = m->visible = SCR_SESSION_NULL;
    m->phase = NONE;
    snprintf(m->label, sizeof m->label, "%c%d", m->fields ? 'f' : 'p', index);
    snprintf(m->record, sizeof m->record, "%s/%c%d", records, m->fields ? 'f' : 'p', index);
    MPI_Comm_dup(MPI_COMM_WORLD, &m->comm);
    remember(m);
}

/* The program's own handler of errors, which must be its own in the end, too. */
static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void) comm;
    fprintf(stderr, "threads: an error of MPI: %d\n", *code);
}

int main(int argc, char **argv)
{
    pthread_t threads[SESSIONS + 1];
    MPI_Errhandler mine, now;
    int sessions, needed, provided, halted = -1;
    if (argc < 6) return 2;
    seed = (unsigned) strtoul(argv[1], NULL, 10);
    launch = (unsigned) strtoul(argv[2], NULL, 10);
    most_steps = steps_left = atoi(argv[3]);
    sessions = strcmp(argv[4], "sessions") == 0;
    for (int i = 6; i < argc; i++) {
        if (strcmp(argv[i], "kill") == 0 && i + 3 < argc) {
            victim = atoi(argv[i + 1]);
            kill_at = atol(argv[i + 2]);
            wait_us = atoi(argv[i + 3]);
        } else if (strcmp(argv[i], "halted") == 0 && i + 1 < argc) {
            halted = atoi(argv[i + 1]);
        }
    }
    needed = sessions ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
    MPI_Init_thread(&argc, &argv, needed, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < needed) {
        if (rank == 0) printf("SKIPPED: this MPI gives thread level %d, not %d\n", provided, needed);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_create_errhandler(on_error, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    srand(seed * 31u + launch * 7u + (unsigned) rank);
    count = sessions ? 2 + (int) (seed % 3) : 1;
    for (int i = 0; i < count; i++) make_member(i, sessions, argv[5], halted);
    if (rank == 0) printf("threads: seed %u, launch %u, %d sessions\n", seed, launch, count);
    fflush(stdout);
    pthread_create(&threads[SESSIONS], NULL, watch, NULL);
    for (int i = 0; i < (sessions ? count : 2); i++) {
        pthread_create(&threads[i], NULL, sessions ? drive : take_turns, &members[sessions ? i : 0]);
    }
    for (int i = 0; i < (sessions ? count : 2); i++) pthread_join(threads[i], NULL);
    over = 1;
    pthread_join(threads[SESSIONS], NULL);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
    REQUIRE(NULL, now == mine);
    for (int i = 0; i < count; i++) {
        unsigned first = members[i].shared;
        MPI_Bcast(&first, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
        REQUIRE(&members[i], first == members[i].shared);
        MPI_Comm_free(&members[i].comm);
        if (rank == 0) printf("threads: %s ended, %d datasets\n", members[i].label, members[i].last);
    }
    if (rank == 0) printf("threads: all ended\n");
    MPI_Finalize();
    return 0;
}
