/* The other half of the coupled pair of coupled_ocean.f90: an atmosphere in C.
 *
 *     mpiexec -n 2 coupled_ocean : -n 2 coupled_atmosphere
 *
 * Usage: coupled_atmosphere [STEPS] (40); give the same to both.
 */

#include <mpi.h>
#include <scr_session.h>
#include <stdio.h>
#include <stdlib.h>

#define ATMOSPHERE 1
#define POINTS 500
#define EVERY 5

static int step, last_step = 40;
static double pressure[POINTS];

/* Lists what a checkpoint has. */
static int state(SCR_State* s, void* context)
{
    int64_t count = POINTS;
    (void)context;
    SCR_Field(s, "pressure", pressure, SCR_FLOAT64, 1, &count, NULL, NULL, NULL);
    return SCR_Same(s, "step", &step, SCR_INT32, 0, NULL, NULL);
}

static void stop(const char* why)
{
    fprintf(stderr, "atmosphere: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Restores the newest checkpoint that both models have, if there is one. */
static void go_back_together(SCR_Session session)
{
    int found = 0, latest = 0, of_both = 0;
    char name[SCR_MAX_FILENAME];
    if (SCR_Session_have_restart(session, &found, name) != SCR_SUCCESS) stop("the checkpoints cannot be read");
    if (found) latest = atoi(name + 5);
    MPI_Allreduce(&latest, &of_both, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (of_both == 0) return;
    if (of_both < latest) {
        snprintf(name, sizeof name, "step.%d", of_both);
        if (SCR_Session_current(session, name) != SCR_SUCCESS) stop("the older checkpoint is gone");
    }
    if (SCR_Session_restore(session, state, NULL, &found) != SCR_SUCCESS || !found || step != of_both) {
        stop("the checkpoint of both models cannot be restored");
    }
}

int main(int argc, char** argv)
{
    int rank;
    double mine, flux, total = 0.0;
    char name[32];
    MPI_Comm comm;
    SCR_Session session;

    MPI_Init(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, ATMOSPHERE, 0, &comm);
    MPI_Comm_rank(comm, &rank);
    if (argc > 1) last_step = atoi(argv[1]);
    for (int i = 0; i < POINTS; i++) pressure[i] = 1000.0;

    if (SCR_Session_create(comm, "atmosphere", &session) != SCR_SUCCESS) stop("there is no session");
    /* The other model may have failed before it had the same checkpoint: then we go back to the one before. */
    SCR_Session_config(session, "SCR_CACHE_SIZE=2");
    if (SCR_Session_init(session) != SCR_SUCCESS) stop("SCR cannot start");
    go_back_together(session);
    if (rank == 0) printf("atmosphere begins after step %d\n", step);

    while (step < last_step) {
        step++;
        /* The mean of both models: what each gets from the other. */
        mine = 0.0;
        for (int i = 0; i < POINTS; i++) mine += pressure[i] / POINTS;
        MPI_Allreduce(&mine, &flux, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < POINTS; i++) pressure[i] = 0.98 * pressure[i] + 1e-3 * (i % 5) * flux;
        snprintf(name, sizeof name, "step.%d", step);
        if (step % EVERY == 0) SCR_Session_checkpoint(session, name, SCR_FLAG_CHECKPOINT, state, NULL);
    }

    for (int i = 0; i < POINTS; i++) total += pressure[i];
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (rank == 0) printf("atmosphere ends with %.16e\n", total);
    SCR_Session_finalize(session);
    SCR_Session_free(&session);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
