/* Heat in a square plate: an MPI program which survives a lost node through SCR. As heat2d.c, but that SCR takes the
 * field from memory, and the program has no file of its own.
 *
 * The plate is divided by rows. The routine `state` lists what a checkpoint has; SCR calls it to write and to read.
 * After a failure the program is simply started again, also on another number of ranks, and goes on from the newest
 * checkpoint. The result is the same bit for bit, with or without a failure.
 *
 * Usage: heat2d_fields [size N] [steps N] [every N] [delay MS] [output FILE]
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
#include <scr.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int size = 256, last_step = 100, every = 10, delay = 0;
static const char* output_file = "heat2d.out";

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
        if (strcmp(argv[i], "size") == 0) size = number(value);
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

/* Sets whether to stop. If it fails, older checkpoints stay as they are. */
static void checkpoint(int* stop)
{
    char name[64];
    snprintf(name, sizeof name, "heat2d.%d", step);
    int code = SCR_Checkpoint(name, SCR_FLAG_CHECKPOINT, state, &step);
    say("checkpoint %s%s", name, code == SCR_SUCCESS ? "" : " failed, going on without it");
    SCR_Should_exit(stop);
}

/* Fetches the neighbours' rows beside ours. */
static void exchange_borders(void)
{
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(row_of(field, 1), size + 2, MPI_DOUBLE, above, 0, row_of(field, rows + 1),
        size + 2, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row_of(field, rows), size + 2, MPI_DOUBLE, below, 1, row_of(field, 0), size + 2,
        MPI_DOUBLE, above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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

/* Gathers the field on rank 0, which writes it and prints a sum. */
static void finish(void)
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
    MPI_Gatherv(mine, counts[rank], MPI_DOUBLE, whole, counts, offsets, MPI_DOUBLE, 0,
        MPI_COMM_WORLD);

    if (rank == 0) {
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
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    read_arguments(argc, argv);

    rows = first_row(rank + 1) - first_row(rank);
    field = calloc(points(), sizeof *field);
    next = calloc(points(), sizeof *next);
    if (field == NULL || next == NULL) give_up("out of memory for", "the field");
    for (int i = 0; rank == 0 && i < size + 2; i++) field[i] = 1.0;

    /* SCR may be switched off, or not start. To begin again where there may be a checkpoint could cost it. */
    int found = 0, stop = 0, with_scr = SCR_Init() == SCR_SUCCESS;
    if (with_scr && SCR_Restore(state, &step, &found) != SCR_SUCCESS) give_up("no checkpoint is", "readable");
    if (!with_scr) say("SCR is off, going on without checkpoints");
    else say(found ? "restarted from heat2d.%d" : "no checkpoint, starting from step %d", step);

    while (step < last_step && !stop) {
        step++;
        exchange_borders();
        advance();
        if (delay > 0) usleep((useconds_t)delay * 1000);

        if (with_scr && every == 0) SCR_Checkpoint_if_needed(state, &step, &stop);
        if (with_scr && every > 0 && step % every == 0) checkpoint(&stop);
    }

    if (step == last_step) finish();
    else say("stopping early, as SCR asks");
    SCR_Finalize();

    free(field);
    free(next);
    MPI_Finalize();
    return 0;
}
