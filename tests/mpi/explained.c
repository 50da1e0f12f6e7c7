/* Usage: explained_c local|nodes|sessions
 * A program for scr rehearse --explain whose list lacks one part of its state: a variable of main, or the records of a list. With
 * `sessions` it has a second session. The result is in `result`. */
#include <math.h>
#include <mpi.h>
#include <scr.h>
#include <scr_session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELLS = 100, NODES = 150, STEPS = 24, EVERY = 4, DELAY = 20000 };

static double field[CELLS], history[3][CELLS], scratch[CELLS];
static double *block;
/* Pointers beside what is not saved: another process has other ones. */
struct node {
    double mass;
    union { struct node *owner; long mark; } as;
    struct node *next;
};
static struct node *nodes;
static const char *omission;
static int rank;

struct run {
    int step;
    double tilt;
    int *calls;
};

static int has(const char *name) { return strcmp(omission, name) != 0; }

static int *weight(double *factor)
{
    static int calls;
    calls++;
    /* No two steps have the same, so that each checkpoint lacks something. */
    *factor = 1.0 + 0.01 * calls;
    return &calls;
}

static int list(SCR_State *s, void *data)
{
    struct run *run = data;
    int64_t cells = CELLS, all = 3 * CELLS;
    double unused;
    run->calls = weight(&unused);
    --*run->calls;
    SCR_Same(s, "step", &run->step, SCR_INT32, 0, NULL, NULL);
    SCR_Field(s, "field", field, SCR_FLOAT64, 1, &cells, NULL, NULL, NULL);
    SCR_Field(s, "history", history, SCR_FLOAT64, 1, &all, NULL, NULL, NULL);
    SCR_Field(s, "calls", run->calls, SCR_INT32, 0, NULL, NULL, NULL, NULL);
    if (has("local")) SCR_Field(s, "tilt", &run->tilt, SCR_FLOAT64, 0, NULL, NULL, NULL, NULL);
    int at = 0;
    for (struct node *one = nodes; one && has("nodes"); one = one->next) {
        char name[32];
        snprintf(name, sizeof name, "mass.%d", at++);
        SCR_Field(s, name, &one->mass, SCR_FLOAT64, 0, NULL, NULL, NULL, NULL);
    }
    SCR_Field(s, "block", block, SCR_FLOAT64, 1, &cells, NULL, NULL, NULL);
    return 0;
}

static void advance(struct run *run)
{
    double factor;
    weight(&factor);
    run->tilt = 0.9 * run->tilt + 0.1 * rank;
    for (int i = 0; i < CELLS; i++) {
        scratch[i] = factor * sin(field[i]) + run->tilt + history[(run->step + 1) % 3][i];
        block[i] += 0.01 * scratch[i];
        history[run->step % 3][i] = 0.1 * field[i];
    }
    int at = 0;
    for (struct node *one = nodes; one; one = one->next, at++) {
        one->mass += 0.001 * at;
        scratch[at % CELLS] += 0.01 * one->mass * (one->as.owner == nodes);
    }
    for (int i = 0; i < CELLS; i++) field[i] += 0.05 * scratch[i] + block[i];
}

int main(int argc, char **argv)
{
    struct run run = {0, 1.0, NULL};
    int found = 0;
    omission = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    block = calloc(CELLS, sizeof *block);
    if (!block || SCR_Init() != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    SCR_Session second = SCR_SESSION_NULL;
    if (!has("sessions")) {
        SCR_Session_create(MPI_COMM_WORLD, "second", &second);
        SCR_Session_init(second);
    }
    for (int i = 0; i < CELLS; i++) field[i] = 0.01 * i + rank;
    for (int i = 0; i < NODES; i++) {
        struct node *one = calloc(1, sizeof *one);
        if (!one) MPI_Abort(MPI_COMM_WORLD, 1);
        one->next = nodes;
        nodes = one;
    }
    for (struct node *one = nodes; one; one = one->next) one->as.owner = nodes;
    if (SCR_Restore(list, &run, &found) != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    while (run.step < STEPS) {
        run.step++;
        advance(&run);
        usleep(DELAY);
        MPI_Barrier(MPI_COMM_WORLD);
        if (run.step % EVERY == 0) {
            char name[32];
            snprintf(name, sizeof name, "ck.%d", run.step);
            SCR_Checkpoint(name, SCR_FLAG_CHECKPOINT, list, &run);
        }
    }
    double sum = 0.0, total = 0.0;
    for (int i = 0; i < CELLS; i++) sum += field[i];
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *file = fopen("result", "w");
        if (!file) MPI_Abort(MPI_COMM_WORLD, 1);
        fprintf(file, "%.17g\n", total);
        fclose(file);
    }
    if (second != SCR_SESSION_NULL) {
        SCR_Session_finalize(second);
        SCR_Session_free(&second);
    }
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
