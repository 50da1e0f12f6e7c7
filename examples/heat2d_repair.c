/* Heat in a square plate: an MPI program that goes on when processes fail, without being started again. As
 * heat2d_fields.c, with a session of SCR on a communicator that is made whole after each failure. It needs an MPI with User
 * Level Failure Mitigation, such as Open MPI 5: mpiexec --with-ft ulfm -n 4 heat2d_repair
 *
 * After a failure the survivors shrink the communicator, and with `spawn` start new processes in the places of the lost
 * ones. SCR rebuilds what those had, and all go on from the newest checkpoint. The result is the same bit for bit.
 * What concerns MPI only is in mpi_repair.h.
 *
 * Usage: heat2d_repair [spawn 0|1] [command FILE] [size N] [steps N] [every N] [delay MS] [output FILE]
 *   spawn   1 to start new processes, 0 to go on with the survivors (1)
 *   command what is started (this program)
 *   size    interior points in each direction (256)
 *   steps   time steps (100)
 *   every   steps between checkpoints; 0 leaves that to SCR (10)
 *   delay   milliseconds to wait in each step, to leave time for a failure (0)
 *   output  file for the final field, none if empty (heat2d.out)
 *
 * Run it below the prefix directory (SCR_PREFIX, else the current directory).
 */

#define _DEFAULT_SOURCE

#include <errno.h>
#include <mpi.h>
#include "mpi_repair.h"
#include <scr_session.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int size = 256, last_step = 100, every = 10, delay = 0, spawn = 1;
static const char* output_file = "heat2d.out";

static MPI_Comm comm = MPI_COMM_NULL; /* whole, or about to be made whole */
static SCR_Session session = SCR_SESSION_NULL;
static int rank, ranks, rows, step;
static double* field; /* (rows + 2) x (size + 2), neighbours' rows first and last */
static double* next;

static double* row_of(double* data, int row)
{
    return data + (size_t)row * (size_t)(size + 2);
}

static size_t points(void)
{
    return (size_t)(rows + 2) * (size_t)(size + 2);
}

/* Rows of the plate before those of rank r. */
static int first_row(int r)
{
    int rest = size % ranks;
    return size / ranks * r + (r < rest ? r : rest);
}

static void say(const char* format, ...)
{
    if (rank != 0) return;
    va_list args;
    va_start(args, format);
    printf("heat2d: ");
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
}

static void give_up(const char* why, const char* what)
{
    if (rank == 0) fprintf(stderr, "heat2d: %s %s\n", why, what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static int number(const char* text)
{
    char* end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 0 || value > 1000000) {
        give_up("not a number from 0 to 1000000:", text);
    }
    return (int)value;
}

static void read_arguments(int argc, char** argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char* value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "spawn") == 0) spawn = number(value);
        else if (strcmp(argv[i], "command") == 0) repair_command = value;
        else if (strcmp(argv[i], "size") == 0) size = number(value);
        else if (strcmp(argv[i], "steps") == 0) last_step = number(value);
        else if (strcmp(argv[i], "every") == 0) every = number(value);
        else if (strcmp(argv[i], "delay") == 0) delay = number(value);
        else if (strcmp(argv[i], "output") == 0) output_file = value;
        else give_up("unknown argument", argv[i]);
    }
    if (size < ranks || size > 30000) give_up("size must be from", "the number of ranks to 30000");
}

/* Lists what a checkpoint has: this rank's part of the plate, without the rows of its neighbours, and the step. */
static int state(SCR_State* s, void* the_step)
{
    int64_t part[2] = { rows, size }, strides[2] = { (size + 2) * (int64_t)sizeof *field, sizeof *field };
    int64_t whole[2] = { size, size }, at[2] = { first_row(rank), 0 };
    SCR_Field(s, "field", row_of(field, 1) + 1, SCR_FLOAT64, 2, part, strides, whole, at);
    return SCR_Same(s, "step", the_step, SCR_INT32, 0, NULL, NULL);
}

/* If it fails, older checkpoints stay as they are. If a process has failed, the next call of MPI tells. */
static void checkpoint(void)
{
    char name[64];
    snprintf(name, sizeof name, "heat2d.%d", step);
    int code = SCR_Session_checkpoint(session, name, SCR_FLAG_CHECKPOINT, state, &step);
    say("checkpoint %s%s", name, code == SCR_SUCCESS ? "" : " failed, going on without it");
}

static int send_row(int row, int to)
{
    return MPI_Send(row_of(field, row), size + 2, MPI_DOUBLE, to, 0, comm) == MPI_SUCCESS;
}

static int receive_row(int row, int from)
{
    return MPI_Recv(row_of(field, row), size + 2, MPI_DOUBLE, from, 0, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* Fetches the neighbours' rows beside ours; 0 if a process has failed. Even ranks send first. (MPI_Sendrecv and
 * MPI_Waitall of Open MPI 5.0 can end the program when a process fails.) */
static int exchange_borders(void)
{
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    if (rank % 2 == 0) {
        return send_row(rows, below) && receive_row(rows + 1, below) && send_row(1, above) && receive_row(0, above);
    }
    return receive_row(0, above) && send_row(1, above) && receive_row(rows + 1, below) && send_row(rows, below);
}

/* One explicit time step; the border of the plate stays as it is. */
static void advance(void)
{
    for (int j = 1; j <= rows; j++) {
        const double* north = row_of(field, j - 1);
        const double* here = row_of(field, j);
        const double* south = row_of(field, j + 1);
        double* out = row_of(next, j);
        for (int i = 1; i <= size; i++) {
            out[i] = here[i]
                + 0.2 * (here[i - 1] + here[i + 1] + north[i] + south[i] - 4.0 * here[i]);
        }
    }
    for (int j = 1; j <= rows; j++) {
        memcpy(row_of(field, j) + 1, row_of(next, j) + 1, (size_t)size * sizeof *field);
    }
}

/* Gathers the field on rank 0, which writes it and prints a sum; 0 if a process has failed. */
static int finish(void)
{
    size_t cells = (size_t)size * (size_t)size;
    int* counts = malloc((size_t)ranks * sizeof *counts);
    int* offsets = malloc((size_t)ranks * sizeof *offsets);
    double* mine = malloc(((size_t)rows * (size_t)size + 1) * sizeof *mine);
    double* whole = malloc((rank == 0 ? cells : 1) * sizeof *whole);
    if (counts == NULL || offsets == NULL || mine == NULL || whole == NULL) {
        give_up("out of memory for", "the result");
    }

    for (int r = 0; r < ranks; r++) {
        offsets[r] = size * first_row(r);
        counts[r] = size * first_row(r + 1) - offsets[r];
    }
    for (int j = 0; j < rows; j++) {
        memcpy(mine + (size_t)j * (size_t)size, row_of(field, j + 1) + 1,
            (size_t)size * sizeof *mine);
    }
    int done = MPI_Gatherv(mine, counts[rank], MPI_DOUBLE, whole, counts, offsets, MPI_DOUBLE, 0, comm)
        == MPI_SUCCESS;
    /* The others must not leave before rank 0 has it. */
    done = MPIX_Comm_agree(comm, &done) == MPI_SUCCESS && done;

    if (rank == 0 && done) {
        double sum = 0.0;
        for (size_t i = 0; i < cells; i++) sum += whole[i];
        say("finished step %d, sum of the field %.16e", step, sum);
        if (*output_file != '\0') {
            FILE* file = fopen(output_file, "wb");
            int ok = file != NULL && fwrite(whole, sizeof *whole, cells, file) == cells;
            if (file != NULL) ok = fclose(file) == 0 && ok;
            if (!ok) give_up("cannot write", output_file);
        }
    }
    free(counts);
    free(offsets);
    free(mine);
    free(whole);
    return done;
}

/* Divides the plate among the ranks that there are, and reads the newest checkpoint; 0 if a process has failed. */
static int restart(void)
{
    int found = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    rows = first_row(rank + 1) - first_row(rank);
    free(field);
    free(next);
    field = calloc(points(), sizeof *field);
    next = calloc(points(), sizeof *next);
    if (field == NULL || next == NULL) give_up("out of memory for", "the field");
    for (int i = 0; rank == 0 && i < size + 2; i++) field[i] = 1.0;
    step = 0;
    int good = SCR_Session_restore(session, state, &step, &found) == SCR_SUCCESS;
    /* Where another process has failed, none must begin. */
    if (MPIX_Comm_agree(comm, &good) != MPI_SUCCESS || !good) return 0;
    say(found ? "goes on from heat2d.%d" : "no checkpoint, starting from step %d", step);
    return 1;
}

/* All steps that are left; 0 if a process has failed. */
static int run(void)
{
    while (step < last_step) {
        step++;
        if (!exchange_borders()) return 0;
        advance();
        if (delay > 0) usleep((useconds_t)delay * 1000);
        if (every > 0 && step % every == 0) checkpoint();
    }
    return finish();
}

/* Begins the session, or goes on with it; 0 if a process has failed. One that has no session yet joins the others. */
static int begin(void)
{
    if (session != SCR_SESSION_NULL) return SCR_Session_repair(session, comm) == SCR_SUCCESS;
    return SCR_Session_create(comm, "heat2d", &session) == SCR_SUCCESS && SCR_Session_init(session) == SCR_SUCCESS;
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    repair_first(&comm, argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    read_arguments(argc, argv);

    int good = begin();
    while (!good || !restart() || !run()) {
        if (!repair_whole(&comm, spawn)) give_up("SCR fails, and no process has:", "its messages say why");
        good = begin();
    }
    SCR_Session_finalize(session);
    SCR_Session_free(&session);
    free(field);
    free(next);
    MPI_Finalize();
    return 0;
}
