/* Four members of an ensemble in one MPI job, each with checkpoints of its own through SCR.
 *
 * The processes are divided among the members, which do not wait for each other: each has a communicator and a session of
 * SCR, which is named after it. After a failure the program is started again, and each member goes on from
 * its own newest checkpoint, which may be of another step than those of the others.
 *
 * Usage: ensemble [steps N] [every N]
 *   steps   time steps (100)
 *   every   steps between checkpoints of member 0; member m takes m + 1 times as many (5)
 *
 * Run it with four processes or more. Checkpoints are below SCR_PREFIX/member-0 to SCR_PREFIX/member-3.
 */

#include <mpi.h>
#include <scr_session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 4
#define VALUES 1000

static int member, rank, step;
static double values[VALUES];

/* Lists what a checkpoint of this member has. */
static int state(SCR_State* s, void* context)
{
    int64_t count = VALUES;
    (void)context;
    SCR_Field(s, "values", values, SCR_FLOAT64, 1, &count, NULL, NULL, NULL);
    return SCR_Same(s, "step", &step, SCR_INT32, 0, NULL, NULL);
}

/* Each member has a model of its own. */
static void advance(void)
{
    for (int i = 0; i < VALUES; i++) values[i] = 0.999 * values[i] + 1e-3 * (member + 1) * (rank + i % 7);
}

static int number(const char* text)
{
    char* end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > 1000000) {
        fprintf(stderr, "ensemble: not a number from 1 to 1000000: %s\n", text);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return (int)value;
}

int main(int argc, char** argv)
{
    int last_step = 100, every = 5, world_rank, world_size, found = 0;
    char name[32];
    double sum = 0.0, total = 0.0;
    MPI_Comm comm;
    SCR_Session session;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "steps") == 0) last_step = number(argv[i + 1]);
        if (strcmp(argv[i], "every") == 0) every = number(argv[i + 1]);
    }
    if (world_size < MEMBERS) {
        if (world_rank == 0) fprintf(stderr, "ensemble: run it with %d processes or more\n", MEMBERS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    member = world_rank % MEMBERS;
    MPI_Comm_split(MPI_COMM_WORLD, member, world_rank, &comm);
    MPI_Comm_rank(comm, &rank);

    snprintf(name, sizeof name, "member-%d", member);
    if (SCR_Session_create(comm, name, &session) != SCR_SUCCESS || SCR_Session_init(session) != SCR_SUCCESS
        || SCR_Session_restore(session, state, NULL, &found) != SCR_SUCCESS) {
        /* To begin again where there may be a checkpoint could cost it. */
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0) printf("%s %s step %d\n", name, found ? "goes on from" : "begins at", step);

    while (step < last_step) {
        step++;
        advance();
        if (step % (every * (member + 1)) == 0) {
            char checkpoint[32];
            snprintf(checkpoint, sizeof checkpoint, "step.%d", step);
            SCR_Session_checkpoint(session, checkpoint, SCR_FLAG_CHECKPOINT, state, NULL);
        }
    }

    for (int i = 0; i < VALUES; i++) sum += values[i];
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
    if (rank == 0) printf("%s has finished step %d, sum %.16e\n", name, step, total);
    SCR_Session_finalize(session);
    SCR_Session_free(&session);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
