/* Four sessions at once, on communicators that overlap: their checkpoints come in an order that a seed decides, and a
   second run restarts each from its own. Bad arguments are errors that say what is wrong.
   SPDX-License-Identifier: MIT OR Apache-2.0 */

#include <scr_session.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#if defined(OMPI_HAVE_MPI_EXT_FTMPI)
#define HAS_ULFM 1
#else
#define HAS_ULFM 0
#endif

#define SESSIONS 4
#define STEPS 12

#define REQUIRE(what)                                                          \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: %s is not so\n", __FILE__, __LINE__, #what); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                      \
        }                                                                      \
    } while (0)

static int world_rank, world_size;

struct member {
    MPI_Comm comm;
    SCR_Session session;
    char name[32];
    int checkpoints;
};

/* All ranks, the even ones, the odd ones, and all but the first. */
static int color(int which)
{
    switch (which) {
    case 0:
        return 0;
    case 1:
        return world_rank % 2 == 0 ? 0 : MPI_UNDEFINED;
    case 2:
        return world_rank % 2 == 1 ? 0 : MPI_UNDEFINED;
    default:
        return world_rank > 0 ? 0 : MPI_UNDEFINED;
    }
}

static int content(const char *name, int number, int rank)
{
    return name[0] * 100000 + number * 1000 + rank;
}

static void write_checkpoint(struct member *member)
{
    char name[64], file[128], path[SCR_MAX_FILENAME];
    int rank, value;
    FILE *out;
    SCR_Session session = member->session;
    MPI_Comm_rank(member->comm, &rank);
    member->checkpoints++;
    snprintf(name, sizeof name, "ck.%d", member->checkpoints);
    snprintf(file, sizeof file, "%s/%s/%d", member->name, name, rank);
    REQUIRE(SCR_Session_start_output(session, name, SCR_FLAG_CHECKPOINT) == SCR_SUCCESS);
    REQUIRE(SCR_Session_route_file(session, file, path) == SCR_SUCCESS);
    value = content(member->name, member->checkpoints, rank);
    out = fopen(path, "wb");
    REQUIRE(out && fwrite(&value, sizeof value, 1, out) == 1 && fclose(out) == 0);
    REQUIRE(SCR_Session_complete_output(session, 1) == SCR_SUCCESS);
}

static void restart(struct member *member, int expected)
{
    char name[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME + 64], path[SCR_MAX_FILENAME];
    int found = -1, rank, value = 0;
    FILE *in;
    SCR_Session session = member->session;
    REQUIRE(SCR_Session_have_restart(session, &found, name) == SCR_SUCCESS);
    if (expected == 0) {
        REQUIRE(found == 0);
        return;
    }
    REQUIRE(found == 1);
    MPI_Comm_rank(member->comm, &rank);
    REQUIRE(SCR_Session_start_restart(session, name) == SCR_SUCCESS);
    REQUIRE(atoi(name + 3) == expected);
    snprintf(file, sizeof file, "%s/%s/%d", member->name, name, rank);
    REQUIRE(SCR_Session_route_file(session, file, path) == SCR_SUCCESS);
    in = fopen(path, "rb");
    REQUIRE(in && fread(&value, sizeof value, 1, in) == 1 && fclose(in) == 0);
    REQUIRE(value == content(member->name, expected, rank));
    REQUIRE(SCR_Session_complete_restart(session, 1) == SCR_SUCCESS);
    member->checkpoints = expected;
}

static void bad_input(void)
{
    SCR_Session session = 77, other;
    MPI_Comm inter, half;
    int flag, code;
    code = SCR_Session_create(MPI_COMM_WORLD, NULL, &session);
    REQUIRE(code != SCR_SUCCESS && session == SCR_SESSION_NULL);
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "a/b", &session) != SCR_SUCCESS);
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "..", &session) != SCR_SUCCESS);
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "", &session) != SCR_SUCCESS);
    REQUIRE(SCR_Session_create(MPI_COMM_NULL, "a", &session) != SCR_SUCCESS);
    code = SCR_Session_create(MPI_COMM_WORLD, world_rank ? "a" : "b", &session);
    REQUIRE(code != SCR_SUCCESS || world_size == 1);
    if (code == SCR_SUCCESS)
        REQUIRE(SCR_Session_free(&session) == SCR_SUCCESS);
    REQUIRE(SCR_Session_have_restart(SCR_SESSION_NULL, &flag, NULL) != SCR_SUCCESS);
    REQUIRE(SCR_Session_have_restart(99, &flag, NULL) != SCR_SUCCESS);
    session = SCR_SESSION_WORLD;
    REQUIRE(SCR_Session_free(&session) != SCR_SUCCESS);
    if (world_size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, world_rank > 0, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, world_rank > 0 ? 0 : 1, 3, &inter);
        REQUIRE(SCR_Session_create(inter, "a", &session) != SCR_SUCCESS);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    /* Not started, freed, and used afterwards. */
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "unused", &session) == SCR_SUCCESS);
    REQUIRE(SCR_Session_have_restart(session, &flag, NULL) != SCR_SUCCESS);
    other = session;
    REQUIRE(SCR_Session_free(&session) == SCR_SUCCESS && session == SCR_SESSION_NULL);
    REQUIRE(SCR_Session_need_checkpoint(other, &flag) != SCR_SUCCESS);
    REQUIRE(SCR_Session_free(&other) != SCR_SUCCESS);
    /* The same name and prefix directory twice. The second waits for the lock. */
    if (world_size == 1)
        return;
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "same", &session) == SCR_SUCCESS);
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "same", &other) == SCR_SUCCESS);
    REQUIRE(SCR_Session_init(session) == SCR_SUCCESS);
    REQUIRE(SCR_Session_init(other) != SCR_SUCCESS);
    REQUIRE(SCR_Session_free(&session) != SCR_SUCCESS && session != SCR_SESSION_NULL);
    REQUIRE(SCR_Session_finalize(session) == SCR_SUCCESS);
    REQUIRE(SCR_Session_free(&session) == SCR_SUCCESS);
    REQUIRE(SCR_Session_free(&other) == SCR_SUCCESS);
}

/* A signal that asks to stop is for all sessions that set it, also if one begins before another has asked. */
static void signal_between(void)
{
    SCR_Session first, second;
    int flag;
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "first", &first) == SCR_SUCCESS);
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "second", &second) == SCR_SUCCESS);
    REQUIRE(SCR_Session_config(first, "SCR_HALT_SIGNALS=USR1") == NULL);
    REQUIRE(SCR_Session_config(second, "SCR_HALT_SIGNALS=USR1") == NULL);
    REQUIRE(SCR_Session_init(first) == SCR_SUCCESS);
    REQUIRE(SCR_Session_should_exit(first, &flag) == SCR_SUCCESS && flag == 0);
    REQUIRE(raise(SIGUSR1) == 0);
    REQUIRE(SCR_Session_init(second) == SCR_SUCCESS);
    REQUIRE(SCR_Session_should_exit(first, &flag) == SCR_SUCCESS && flag == 1);
    REQUIRE(SCR_Session_should_exit(second, &flag) == SCR_SUCCESS && flag == 1);
    REQUIRE(SCR_Session_finalize(first) == SCR_SUCCESS && SCR_Session_finalize(second) == SCR_SUCCESS);
    REQUIRE(SCR_Session_free(&first) == SCR_SUCCESS && SCR_Session_free(&second) == SCR_SUCCESS);
    /* With no session open it is forgotten. */
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "third", &first) == SCR_SUCCESS);
    REQUIRE(SCR_Session_config(first, "SCR_HALT_SIGNALS=USR1") == NULL);
    REQUIRE(SCR_Session_init(first) == SCR_SUCCESS);
    REQUIRE(SCR_Session_should_exit(first, &flag) == SCR_SUCCESS && flag == 0);
    REQUIRE(SCR_Session_finalize(first) == SCR_SUCCESS && SCR_Session_free(&first) == SCR_SUCCESS);
}

/* As after the loss of the last process in SCR_Session_create or SCR_Session_init: the others begin the session in its repair,
   on a communicator without it. A process whose SCR_Session_create has failed calls it again, and has their settings. */
static void never_begun(void)
{
    SCR_Session session;
    MPI_Comm left;
    const char *set;
    int flag, last = world_size > 1 && world_rank == world_size - 1;
    REQUIRE(SCR_Session_create(MPI_COMM_WORLD, "early", &session) == SCR_SUCCESS);
    set = SCR_Session_config(session, "SCR_FLUSH=17");
    REQUIRE(set == NULL);
    MPI_Comm_split(MPI_COMM_WORLD, last ? MPI_UNDEFINED : 0, -world_rank, &left);
    if (last) {
        REQUIRE(SCR_Session_free(&session) == SCR_SUCCESS);
        return;
    }
    if (world_rank == world_size - 2) {
        /* It is the first process of the communicator. */
        REQUIRE(SCR_Session_free(&session) == SCR_SUCCESS);
        REQUIRE(SCR_Session_create(left, "early", &session) == SCR_SUCCESS);
        REQUIRE(world_size == 2 || SCR_Session_have_restart(session, &flag, NULL) == SCR_SUCCESS);
    } else {
        REQUIRE(SCR_Session_repair(session, left) == SCR_SUCCESS);
        REQUIRE(SCR_Session_have_restart(session, &flag, NULL) == SCR_SUCCESS && flag == 0);
    }
    REQUIRE(SCR_Session_init(session) == SCR_SUCCESS);
    set = SCR_Session_config(session, "SCR_FLUSH");
    REQUIRE(set != NULL && (world_size == 2 || strcmp(set, "17") == 0));
    free((void *) set);
    REQUIRE(SCR_Session_finalize(session) == SCR_SUCCESS);
    REQUIRE(SCR_Session_free(&session) == SCR_SUCCESS);
    MPI_Comm_free(&left);
    /* The session of MPI_COMM_WORLD, which cannot be created. */
    if (world_rank > 0)
        return;
    REQUIRE(SCR_Session_repair(SCR_SESSION_WORLD, MPI_COMM_SELF) == SCR_SUCCESS);
    REQUIRE(SCR_Have_restart(&flag, NULL) == SCR_SUCCESS);
    REQUIRE(SCR_Finalize() == SCR_SUCCESS);
}

int main(int argc, char **argv)
{
    struct member members[SESSIONS];
    int which, step, round;
    unsigned seed = argc > 1 ? (unsigned) atoi(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    bad_input();
    signal_between();
    /* With ULFM a session does not go on without a process that lives. tests/ulfm kills it. */
    if (!HAS_ULFM)
        never_begun();
    else if (world_rank == 0)
        printf("skipped: a session that never began, as no process fails\n");
    int counts[SESSIONS] = {0};
    for (round = 0; round < 3; round++) {
        for (which = 0; which < SESSIONS; which++) {
            struct member *member = &members[which];
            MPI_Comm_split(MPI_COMM_WORLD, color(which), 0, &member->comm);
            snprintf(member->name, sizeof member->name, "%c-member", "abcd"[which]);
            member->session = SCR_SESSION_NULL;
            member->checkpoints = 0;
            if (member->comm == MPI_COMM_NULL)
                continue;
            REQUIRE(SCR_Session_create(member->comm, member->name, &member->session) == SCR_SUCCESS);
            const char *debug = SCR_Session_config(member->session, which == 1 ? "SCR_FLUSH=2" : "SCR_FLUSH=3");
            REQUIRE(debug == NULL);
            REQUIRE(SCR_Session_init(member->session) == SCR_SUCCESS);
            restart(member, counts[which]);
        }
        for (step = 0; step < STEPS; step++) {
            seed = seed * 1664525u + 1013904223u;
            which = (int) (seed >> 16) % SESSIONS;
            counts[which]++;
            if (members[which].comm != MPI_COMM_NULL)
                write_checkpoint(&members[which]);
        }
        for (which = 0; which < SESSIONS; which++) {
            struct member *member = &members[which];
            if (member->comm == MPI_COMM_NULL)
                continue;
            REQUIRE(SCR_Session_finalize(member->session) == SCR_SUCCESS);
            REQUIRE(SCR_Session_free(&member->session) == SCR_SUCCESS);
            MPI_Comm_free(&member->comm);
        }
    }
    if (world_rank == 0)
        printf("four sessions restart from their own checkpoints\n");
    MPI_Finalize();
    return 0;
}
