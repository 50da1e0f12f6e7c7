/*
 * Usage: struck DIRECTORY MILLISECONDS [SECONDS]
 *        struck expect RANKS STEPS
 *
 * A program that hangs when it is told to, for scripts/hangs. The ranks are in a ring, and each step takes so many
 * milliseconds. Every tenth step is a checkpoint, after which rank 0 prints the step and a number that is made of
 * the state of all ranks. With SECONDS a step or a checkpoint in some takes so long.
 *
 * The file DIRECTORY/steps has the number of steps. The file DIRECTORY/strike says what a rank does from its next step on:
 * "loop RANK" (computes for ever), "deadlock RANK" (this one and the next wait for each other).
 *
 * With "expect" it prints what a run of so many ranks would print, without MPI.
 */
#include "scr.h"
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELLS = 1000, EVERY = 10 };

static int rank, ranks;
static double cells[CELLS];
static volatile double sink;

static void need(int good, const char* what)
{
    if (!good) {
        fprintf(stderr, "struck: rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void pause_for(double seconds)
{
    usleep((useconds_t)(seconds * 1e6));
}

/* What a rank without an end to its loop is in. */
__attribute__((noinline)) static void iterate_without_end(void)
{
    for (;;) {
        sink = sink * 0.5 + 1.0;
    }
}

/* What two ranks are in that wait for each other. */
__attribute__((noinline)) static void wait_for_other(int other)
{
    double never;
    MPI_Recv(&never, 1, MPI_DOUBLE, other, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The number in a file, or -1 if there is none. */
static long number_in(const char* directory, const char* name)
{
    char path[4096];
    long number = -1;
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE* file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%ld", &number) != 1) {
            number = -1;
        }
        fclose(file);
    }
    return number;
}

/* Rank 0 reads the order, so that all ranks follow it at the same step. */
static void obey(const char* directory)
{
    enum { NOTHING, LOOP, DEADLOCK };
    int order[2] = {NOTHING, -1};
    if (rank == 0) {
        char path[4096], what[16] = "";
        snprintf(path, sizeof(path), "%s/strike", directory);
        FILE* file = fopen(path, "r");
        if (file) {
            if (fscanf(file, "%15s %d", what, &order[1]) == 2) {
                order[0] = strcmp(what, "loop") == 0 ? LOOP : strcmp(what, "deadlock") == 0 ? DEADLOCK : NOTHING;
            }
            fclose(file);
        }
    }
    MPI_Bcast(order, 2, MPI_INT, 0, MPI_COMM_WORLD);
    int first = order[1], second = (first + 1) % ranks;
    if (order[0] == LOOP && rank == first) {
        iterate_without_end();
    }
    if (order[0] == DEADLOCK && (rank == first || rank == second)) {
        wait_for_other(rank == first ? second : first);
    }
}

/* A step of the cells of a rank, between two cells of its neighbours. */
static void advance_cells(double* of_rank, int number, long step, double left, double right)
{
    double last = left;
    for (int i = 0; i < CELLS; i++) {
        double next = i + 1 < CELLS ? of_rank[i + 1] : right;
        double now = of_rank[i];
        of_rank[i] = 0.5 * now + 0.25 * (last + next) + 1e-3 * (double)((step * 7 + i + number) % 11);
        last = now;
    }
}

static void advance(long step)
{
    double left, right;
    int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
    MPI_Sendrecv(&cells[CELLS - 1], 1, MPI_DOUBLE, after, 1, &left, 1, MPI_DOUBLE, before, 1, MPI_COMM_WORLD,
        MPI_STATUS_IGNORE);
    MPI_Sendrecv(&cells[0], 1, MPI_DOUBLE, before, 2, &right, 1, MPI_DOUBLE, after, 2, MPI_COMM_WORLD,
        MPI_STATUS_IGNORE);
    advance_cells(cells, rank, step, left, right);
}

/* A number of the state of a rank. */
static uint64_t state_of(const double* of_rank, int number)
{
    uint64_t hash = 1469598103934665603u;
    const unsigned char* bytes = (const unsigned char*)of_rank;
    for (size_t i = 0; i < sizeof(cells); i++) {
        hash = (hash ^ bytes[i]) * 1099511628211u;
    }
    return hash + (uint64_t)number;
}

/* A number of the state of all ranks, on rank 0. */
static uint64_t state(void)
{
    uint64_t own = state_of(cells, rank), all = 0;
    MPI_Reduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

static void tell_state(long step, uint64_t number)
{
    printf("struck: step %ld state %016llx\n", step, (unsigned long long)number);
    fflush(stdout);
}

/* The states that a run of so many ranks has to which nothing happens, in one process without MPI. */
static int expect(int of_ranks, long steps)
{
    double(*all)[CELLS] = calloc((size_t)of_ranks, sizeof(*all));
    double(*old)[CELLS] = calloc((size_t)of_ranks, sizeof(*old));
    if (!all || !old) {
        return 1;
    }
    for (long step = 1; step <= steps; step++) {
        uint64_t number = 0;
        memcpy(old, all, (size_t)of_ranks * sizeof(*all));
        for (int i = 0; i < of_ranks; i++) {
            double left = old[(i + of_ranks - 1) % of_ranks][CELLS - 1], right = old[(i + 1) % of_ranks][0];
            advance_cells(all[i], i, step, left, right);
            number += state_of(all[i], i);
        }
        if (step % EVERY == 0) {
            tell_state(step, number);
        }
    }
    free(all);
    free(old);
    return 0;
}

static void write_checkpoint(long step, double seconds)
{
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME + 32], file_name[SCR_MAX_FILENAME];
    snprintf(name, sizeof(name), "struck.%ld", step);
    snprintf(path, sizeof(path), "struck.%ld/rank.%d", step, rank);
    need(SCR_Start_output(name, SCR_FLAG_CHECKPOINT) == SCR_SUCCESS, "SCR_Start_output failed");
    need(SCR_Route_file(path, file_name) == SCR_SUCCESS, "SCR_Route_file failed");
    FILE* file = fopen(file_name, "wb");
    int valid = file && fwrite(&step, sizeof(step), 1, file) == 1 && fwrite(cells, sizeof(cells), 1, file) == 1;
    pause_for(seconds);
    if (file) {
        valid = fclose(file) == 0 && valid;
    }
    need(SCR_Complete_output(valid) == SCR_SUCCESS, "SCR_Complete_output failed");
}

/* The step of the checkpoint that was read, or 0. */
static long restart(void)
{
    int there = 0;
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME + 32], file_name[SCR_MAX_FILENAME];
    while (SCR_Have_restart(&there, name) == SCR_SUCCESS && there) {
        long step = 0;
        need(SCR_Start_restart(name) == SCR_SUCCESS, "SCR_Start_restart failed");
        snprintf(path, sizeof(path), "%s/rank.%d", name, rank);
        int valid = SCR_Route_file(path, file_name) == SCR_SUCCESS;
        FILE* file = valid ? fopen(file_name, "rb") : NULL;
        valid = file && fread(&step, sizeof(step), 1, file) == 1 && fread(cells, sizeof(cells), 1, file) == 1;
        if (file) {
            fclose(file);
        }
        if (SCR_Complete_restart(valid) == SCR_SUCCESS) {
            return step;
        }
    }
    memset(cells, 0, sizeof(cells));
    return 0;
}

int main(int argc, char** argv)
{
    if (argc == 4 && strcmp(argv[1], "expect") == 0) {
        return expect(atoi(argv[2]), atol(argv[3]));
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    need(argc >= 3, "usage: struck DIRECTORY MILLISECONDS [SECONDS]");
    double delay = atof(argv[2]) / 1000, slow = argc > 3 ? atof(argv[3]) : 0;
    need(SCR_Init() == SCR_SUCCESS, "SCR_Init failed");
    long step = restart();
    if (rank == 0) {
        printf("struck: begins at step %ld\n", step);
        fflush(stdout);
    }
    for (;;) {
        long steps = rank == 0 ? number_in(argv[1], "steps") : 0;
        MPI_Bcast(&steps, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        if (steps >= 0 && step >= steps) {
            break;
        }
        obey(argv[1]);
        advance(++step);
        pause_for(slow > 0 && step % 25 == 3 ? slow : delay);
        if (step % EVERY == 0) {
            uint64_t number = state();
            write_checkpoint(step, slow > 0 && step % 40 == 0 ? slow : 0);
            if (rank == 0) {
                tell_state(step, number);
            }
        }
    }
    SCR_Finalize();
    if (rank == 0) {
        printf("struck: ended at step %ld\n", step);
    }
    MPI_Finalize();
    return 0;
}
