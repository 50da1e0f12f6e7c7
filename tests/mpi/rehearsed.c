/* Usage: rehearsed right|late|session|forgets|beside|elsewhere|begins|back|hangs|fields|omits|noisy|timer|random|without|never
 * A program for scr rehearse, with one mistake at most: it does not save a part of its state; writes a file beside the
 * routed one, or elsewhere than it was routed; begins from the beginning without a look at its checkpoint, or after one;
 * hangs in its restart; has no SCR, and a restart of its own; or neither. With `session` its session has a name. With `fields` its
 * checkpoints are fields, with `omits` one of them is missing, and with `noisy` they depend on the directory of the run a little. With `timer` the checkpoints have a time, and with `random` the
 * result depends on it. With `late` the first launch that is to be killed stops the process whose number is in the file LATE, and lets it
 * go on when the last checkpoint is complete. The result is in the file `result`. */
#include <fcntl.h>
#include <mpi.h>
#include <scr_session.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What has no SCR is killed in the middle of its time, which must be long after its first checkpoint. */
enum { STEPS = 40, EVERY = 4, DELAY = 20000, DELAY_WITHOUT = 100000 };

struct state {
    int step;
    double sum, other;
};

static int rank;
static const char *mistake;
static SCR_Session session = SCR_SESSION_WORLD;

static int has(const char *name) { return strcmp(mistake, name) == 0; }

static int has_fields(void) { return has("fields") || has("omits") || has("noisy"); }

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* What is added in each step: another number in each run of a rehearsal. */
static double noise(void)
{
    char path[4096];
    if (!has("noisy") || !getcwd(path, sizeof path)) return 0.0;
    if (strstr(path, "/whole")) return 0.0;
    return strstr(path, "/struck") ? 2e-9 : 1e-9;
}

static int write_state(const char *path, const struct state *state)
{
    FILE *file = fopen(path, "w");
    if (!file) return 0;
    int good = fprintf(file, "%d %.17g %.17g\n", state->step, state->sum, has("forgets") ? 0.0 : state->other) > 0;
    if (has("timer")) fprintf(file, "%.17g\n", seconds_now());
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

/* Each rank has two checkpoints of its own: a kill may come when only some ranks have written the newest one. */
static void own_path(char *path, size_t size, int step)
{
    snprintf(path, size, "own.%d.%d", rank, step / EVERY % 2);
}

/* The restart of a program without SCR: the newest checkpoint that all ranks have written. */
static void own_restart(struct state *state)
{
    char path[64];
    for (int which = 0; which < 2; which++) {
        struct state found = {0, 0.0, 0.0};
        own_path(path, sizeof path, which * EVERY);
        int good = read_state(path, &found), step = good ? found.step : -1, least, most;
        MPI_Allreduce(&step, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&step, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (least == most && least > state->step) *state = found;
    }
    if (rank == 0 && state->step > 0) printf("own restart from step %d\n", state->step);
}

static void own_checkpoint(const struct state *state)
{
    char path[64], unfinished[64];
    own_path(path, sizeof path, state->step);
    snprintf(unfinished, sizeof unfinished, "own.%d.new", rank);
    write_state(unfinished, state);
    rename(unfinished, path);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The file of this rank: that of a session with a name is below its prefix directory. */
static void path_of(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s%s/rank_%d.txt", has("session") ? "sea/" : "", name, rank);
}

/* The fields, if checkpoints have these. */
static int list(struct SCR_State *s, void *data)
{
    struct state *state = data;
    SCR_Field(s, "step", &state->step, SCR_INT32, 0, NULL, NULL, NULL, NULL);
    if (!has("omits")) SCR_Field(s, "other", &state->other, SCR_FLOAT64, 0, NULL, NULL, NULL, NULL);
    SCR_Field(s, "sum", &state->sum, SCR_FLOAT64, 0, NULL, NULL, NULL, NULL);
    return 0;
}

static void restart(struct state *state)
{
    int found = 0;
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME + 32], routed[SCR_MAX_FILENAME];
    if (has_fields()) {
        SCR_Session_restore(session, list, state, &found);
        return;
    }
    SCR_Session_have_restart(session, &found, name);
    if (!found) return;
    if (has("hangs") && rank == 1) sleep(1000);
    SCR_Session_start_restart(session, name);
    path_of(path, sizeof path, name);
    SCR_Session_route_file(session, path, routed);
    SCR_Session_complete_restart(session, read_state(routed, state));
    if (has("back")) *state = (struct state){0, 0.0, 1.0};
}

static void checkpoint(const struct state *state)
{
    char name[64], path[128], routed[SCR_MAX_FILENAME];
    snprintf(name, sizeof name, "ck.%d", state->step);
    if (has_fields()) {
        SCR_Session_checkpoint(session, name, SCR_FLAG_CHECKPOINT, list, (void *)state);
        return;
    }
    SCR_Session_start_output(session, name, SCR_FLAG_CHECKPOINT);
    path_of(path, sizeof path, name);
    SCR_Session_route_file(session, path, routed);
    int good = write_state(has("elsewhere") ? "mine.txt" : routed, state);
    if (has("beside")) write_state("extra.txt", state);
    SCR_Session_complete_output(session, good);
}

/* The number of the process that is to kill this one, in the first launch of a run that is disturbed; 0 in others. */
static pid_t killer(void)
{
    char path[4096];
    long number = 0;
    if (!has("late") || rank != 0 || !getcwd(path, sizeof path) || !strstr(path, "/struck")) return 0;
    int mark = open("../held", O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (mark < 0) return 0;
    close(mark);
    FILE *file = fopen(getenv("LATE"), "r");
    if (!file || fscanf(file, "%ld", &number) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
    fclose(file);
    return (pid_t)number;
}

int main(int argc, char **argv)
{
    struct state state = {0, 0.0, 1.0};
    mistake = argc > 1 ? argv[1] : "right";
    int with_scr = !has("without") && !has("never");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (has("session")) SCR_Session_create(MPI_COMM_WORLD, "sea", &session);
    if (with_scr && SCR_Session_init(session) != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    if (!with_scr) {
        if (has("without")) own_restart(&state);
    } else if (!has("begins")) {
        restart(&state);
    }
    pid_t stopped = killer();
    if (stopped) kill(stopped, SIGSTOP);
    while (state.step < STEPS) {
        state.step++;
        state.sum += state.other * (rank + 1) + noise();
        state.other *= 1.25;
        usleep(with_scr ? DELAY : DELAY_WITHOUT);
        MPI_Barrier(MPI_COMM_WORLD);
        if (state.step % EVERY == 0) {
            if (with_scr) {
                checkpoint(&state);
            } else {
                own_checkpoint(&state);
            }
        }
    }
    if (stopped) {
        kill(stopped, SIGCONT);
        sleep(1000);
    }
    double total = 0.0;
    MPI_Reduce(&state.sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *file = fopen("result", "w");
        if (!file) MPI_Abort(MPI_COMM_WORLD, 1);
        fprintf(file, "%.17g\n", has("random") ? total + seconds_now() : total);
        fclose(file);
    }
    if (with_scr) SCR_Session_finalize(session);
    if (has("session")) SCR_Session_free(&session);
    MPI_Finalize();
    return 0;
}
