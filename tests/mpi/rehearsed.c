/* Usage: rehearsed right|forgets|beside|elsewhere|begins|hangs|without
 * A program for scr rehearse, with one mistake at most: it does not save a part of its state; writes a file beside the
 * routed one, or elsewhere than it was routed; starts from the beginning; hangs in its restart; or has no SCR, and a
 * restart of its own. The result is in the file `result`. */
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 40, EVERY = 4, DELAY = 20000 };

struct state {
    int step;
    double sum, other;
};

static int rank;
static const char *mistake;

static int has(const char *name) { return strcmp(mistake, name) == 0; }

static int write_state(const char *path, const struct state *state)
{
    FILE *file = fopen(path, "w");
    if (!file) return 0;
    int good = fprintf(file, "%d %.17g %.17g\n", state->step, state->sum, has("forgets") ? 0.0 : state->other) > 0;
    return fclose(file) == 0 && good;
}

static int read_state(const char *path, struct state *state)
{
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    int good = fscanf(file, "%d %lg %lg", &state->step, &state->sum, &state->other) == 3;
    fclose(file);
    return good;
}

/* The restart of a program without SCR: the file that all ranks have written. */
static void own_restart(struct state *state)
{
    char path[64];
    struct state found = {0, 0.0, 0.0};
    snprintf(path, sizeof path, "own.%d", rank);
    int good = read_state(path, &found), step = good ? found.step : -1, least, most;
    MPI_Allreduce(&step, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&step, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (least == most && least >= 0) *state = found;
}

static void own_checkpoint(const struct state *state)
{
    char path[64], unfinished[64];
    snprintf(path, sizeof path, "own.%d", rank);
    snprintf(unfinished, sizeof unfinished, "own.%d.new", rank);
    write_state(unfinished, state);
    rename(unfinished, path);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void restart(struct state *state)
{
    int found = 0;
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME + 32], routed[SCR_MAX_FILENAME];
    SCR_Have_restart(&found, name);
    if (!found) return;
    if (has("hangs") && rank == 1) sleep(1000);
    SCR_Start_restart(name);
    snprintf(path, sizeof path, "%s/rank_%d.txt", name, rank);
    SCR_Route_file(path, routed);
    SCR_Complete_restart(read_state(routed, state));
}

static void checkpoint(const struct state *state)
{
    char name[64], path[128], routed[SCR_MAX_FILENAME];
    snprintf(name, sizeof name, "ck.%d", state->step);
    SCR_Start_output(name, SCR_FLAG_CHECKPOINT);
    snprintf(path, sizeof path, "%s/rank_%d.txt", name, rank);
    SCR_Route_file(path, routed);
    int good = write_state(has("elsewhere") ? "mine.txt" : routed, state);
    if (has("beside")) write_state("extra.txt", state);
    SCR_Complete_output(good);
}

int main(int argc, char **argv)
{
    struct state state = {0, 0.0, 1.0};
    mistake = argc > 1 ? argv[1] : "right";
    int with_scr = !has("without");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (with_scr && SCR_Init() != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    if (!with_scr) {
        own_restart(&state);
    } else if (!has("begins")) {
        restart(&state);
    }
    while (state.step < STEPS) {
        state.step++;
        state.sum += state.other * (rank + 1);
        state.other *= 1.25;
        usleep(DELAY);
        MPI_Barrier(MPI_COMM_WORLD);
        if (state.step % EVERY == 0) {
            if (with_scr) {
                checkpoint(&state);
            } else {
                own_checkpoint(&state);
            }
        }
    }
    double total = 0.0;
    MPI_Reduce(&state.sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *file = fopen("result", "w");
        if (!file) MPI_Abort(MPI_COMM_WORLD, 1);
        fprintf(file, "%.17g\n", total);
        fclose(file);
    }
    if (with_scr) SCR_Finalize();
    MPI_Finalize();
    return 0;
}
