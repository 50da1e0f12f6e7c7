/* Fields in memory that a function of the program copies, and what is wrong with the place of a field. No device is
   needed: the memory is that of the program, behind addresses that nobody can read. Runs on any number of ranks. */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, COLUMNS = 50, LENGTH = 3 << 20 };

/* The device of this program: its addresses begin where no memory is. */
static char* const base = (char*)0x10000;
static char* memory;
static size_t used;

static int rank, ranks;

static void check(int holds, const char* what)
{
    if (holds) return;
    fprintf(stderr, "devices: rank %d: not so: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

struct copies {
    long calls, out, in;
    int fails;
};

static int copy(void* context, void* to, const void* from, size_t bytes, int direction)
{
    struct copies* copies = context;
    const char* place = direction == SCR_COPY_OUT ? from : to;
    copies->calls++;
    if (copies->fails) return copies->fails;
    check(place >= base && place + bytes <= base + used, "only the field's memory is copied");
    if (direction == SCR_COPY_OUT) {
        memcpy(to, memory + (place - base), bytes);
        copies->out += (long)bytes;
    } else {
        check(direction == SCR_COPY_IN, "there are two directions");
        memcpy(memory + (place - base), from, bytes);
        copies->in += (long)bytes;
    }
    return 0;
}

struct program {
    char *grid, *bytes, *cells; /* on the device */
    int64_t step;
    int64_t ids[3];
    struct copies copies;
    int wrong; /* what is wrong on the last rank */
};

static int state(SCR_State* s, void* context)
{
    struct program* p = context;
    /* The inner elements of an array with a frame. */
    int64_t extents[2] = { ROWS - 2, COLUMNS - 2 };
    int64_t strides[2] = { COLUMNS * (int64_t)sizeof(double), (int64_t)sizeof(double) };
    int64_t whole[2] = { (ROWS - 2) * (int64_t)ranks, COLUMNS - 2 }, at[2] = { (ROWS - 2) * (int64_t)rank, 0 };
    int64_t length = LENGTH, three = 3, count = 3;
    int wrong = rank == ranks - 1 ? p->wrong : 0;
    SCR_Copy(s, copy, &p->copies);
    if (wrong == 1) SCR_Next_field(s, SCR_ON_HOST);
    SCR_Field(s, "grid", p->grid + strides[0] + strides[1], SCR_FLOAT64, 2, extents, strides, whole, at);
    SCR_Copy(s, copy, &p->copies);
    SCR_Next_field(s, SCR_ON_DEVICE); /* says the same */
    SCR_Field(s, "bytes", p->bytes, SCR_UINT8, 1, &length, NULL, NULL, NULL);
    /* Only the next field is copied so. */
    SCR_Next_field(s, wrong == 2 ? SCR_ON_DEVICE | SCR_ON_HOST : wrong == 3 ? SCR_ON_DEVICE : SCR_ON_HOST);
    SCR_Same(s, "step", &p->step, SCR_INT64, 0, NULL, NULL);
    if (wrong == 4) SCR_Copy(s, copy, &p->copies);
    if (wrong == 5) SCR_Next_field(s, SCR_ON_DEVICE);
    if (wrong == 6) SCR_Copy(s, NULL, NULL);
    if (wrong == 4 || wrong == 5) SCR_Count(s, "count", &count);
    SCR_Index(s, "numbers", p->ids, SCR_INT64, 3, 0, 3 * (int64_t)ranks);
    SCR_Copy(s, copy, &p->copies);
    SCR_Field_by_index(s, "cells", "numbers", p->cells, SCR_INT32, 1, &three, NULL);
    /* Without elements nothing is copied. */
    length = 0;
    SCR_Stream(s, (void*)1);
    SCR_Copy(s, copy, &p->copies);
    SCR_Field(s, "none", base, SCR_UINT8, 1, &length, NULL, NULL, NULL);
    SCR_Stream(s, NULL);
    return 0;
}

static char* take(size_t bytes)
{
    char* place = base + used;
    used += bytes;
    return place;
}

static void fill(struct program* p, int seed)
{
    double* grid = (double*)(void*)(memory + (p->grid - base));
    int32_t* cells = (int32_t*)(void*)(memory + (p->cells - base));
    for (int i = 0; i < ROWS * COLUMNS; i++) grid[i] = seed + rank * 1e4 + i;
    for (int i = 0; i < LENGTH; i++) memory[p->bytes - base + i] = (char)(i * 7 + seed + rank);
    for (int i = 0; i < 3; i++) {
        /* In no order. */
        p->ids[i] = (rank + ranks * i + 1) % (3 * ranks);
        cells[i] = (int32_t)p->ids[i] * 10 + seed;
    }
    p->step = seed;
}

int main(int argc, char** argv)
{
    struct program p = { 0 };
    char* before;
    int found = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(SCR_Init() == SCR_SUCCESS, "SCR_Init");
    p.grid = take(ROWS * COLUMNS * sizeof(double));
    p.cells = take(4 * sizeof(int32_t));
    p.bytes = take(LENGTH);
    memory = malloc(used);
    before = malloc(used);
    check(memory != NULL && before != NULL, "memory");

    fill(&p, 5);
    memcpy(before, memory, used);
    check(SCR_Checkpoint("ck.1", SCR_FLAG_CHECKPOINT, state, &p) == SCR_SUCCESS, "SCR_Checkpoint");
    check(memcmp(memory, before, used) == 0 && p.copies.in == 0, "a checkpoint changes nothing");
    check(p.copies.out >= (ROWS - 2) * (COLUMNS - 2) * 8 + LENGTH, "all is copied");

    for (p.wrong = 1; p.wrong <= 6; p.wrong++)
        check(SCR_Checkpoint("bad", SCR_FLAG_CHECKPOINT, state, &p) != SCR_SUCCESS, "what is wrong is an error on all ranks");
    check(p.wrong > 1, "something was tried");
    p.wrong = 0;
    if (rank == ranks - 1) p.copies.fails = 42;
    check(SCR_Checkpoint("bad", SCR_FLAG_CHECKPOINT, state, &p) != SCR_SUCCESS, "a copy that fails is an error on all ranks");
    if (rank == ranks - 1) check(strstr(SCR_Reason(), "\"grid\"") != NULL && strstr(SCR_Reason(), "42") != NULL, SCR_Reason());
    p.copies.fails = 0;

    fill(&p, 9);
    memset(&p.copies, 0, sizeof p.copies);
    check(SCR_Restore(state, &p, &found) == SCR_SUCCESS && found == 1, "SCR_Restore");
    check(p.copies.out == 0 && p.copies.in >= (ROWS - 2) * (COLUMNS - 2) * 8 + LENGTH, "all is copied back");
    check(p.step == 5, "the step");
    check(memcmp(memory + (p.bytes - base), before + (p.bytes - base), LENGTH) == 0, "the bytes");
    check(memcmp(memory + (p.cells - base), before + (p.cells - base), 3 * sizeof(int32_t)) == 0, "the cells");
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const double* now = (const double*)(const void*)memory;
        const int row = i / COLUMNS, column = i % COLUMNS;
        const int inside = row > 0 && row < ROWS - 1 && column > 0 && column < COLUMNS - 1;
        check(now[i] == (inside ? 5 : 9) + rank * 1e4 + i, "the grid is restored, and its frame is not touched");
    }
    p.copies.fails = rank == ranks - 1 ? 43 : 0;
    check(SCR_Restore(state, &p, &found) != SCR_SUCCESS, "a copy of a restart that fails is an error, too");
    check(SCR_Finalize() == SCR_SUCCESS, "SCR_Finalize");
    free(memory);
    free(before);
    if (rank == 0) printf("devices: as expected\n");
    MPI_Finalize();
    return 0;
}
