/* Checkpoints of fields from C: what is written is restored, sections and parts of a whole; what is wrong is an
   error on all ranks. Runs on any number of ranks. */

#include <mpi.h>
#include <scr_session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 6, COLUMNS = 5 };

static int rank, ranks;

static void check(int holds, const char* what)
{
    if (holds) return;
    fprintf(stderr, "fields: rank %d: not so: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

struct program {
    double grid[ROWS][COLUMNS]; /* with a ghost row above and below */
    float complex_pair[2];
    int64_t step;
    char title[8];
    int64_t count;
    int* list;
    int calls;
    int wrong; /* what is wrong with the list on the last rank */
};

static double value(int row, int column) { return row * 100.0 + column; }

static void fill(struct program* p, int64_t step)
{
    memset(p, 0, sizeof *p);
    for (int i = 1; i < ROWS - 1; i++)
        for (int j = 0; j < COLUMNS; j++) p->grid[i][j] = value(rank * (ROWS - 2) + i - 1, j) + step;
    p->complex_pair[1] = (float)rank;
    p->step = step;
    memcpy(p->title, "a title", 8);
    p->count = rank + 2;
    p->list = malloc(sizeof(int) * (size_t)p->count);
    check(p->list != NULL, "memory");
    for (int i = 0; i < p->count; i++) p->list[i] = rank * 10 + i;
}

static int state(SCR_State* s, void* context)
{
    struct program* p = context;
    int64_t rows = ROWS - 2, columns = COLUMNS;
    int64_t extents[2] = { rows, columns };
    int64_t strides[2] = { sizeof p->grid[0], sizeof p->grid[0][0] };
    int64_t whole[2] = { rows * ranks, columns }, at[2] = { rows * rank, 0 };
    int wrong = rank == ranks - 1 ? p->wrong : 0;
    int type, dims, pass;
    char file[SCR_MAX_FILENAME];
    p->calls++;
    if (wrong == 1) at[0]++;
    SCR_Field(s, "grid", p->grid[1], SCR_FLOAT64, 2, extents, strides, whole, at);
    SCR_Field(s, "pair", p->complex_pair, SCR_COMPLEX64, 0, NULL, NULL, NULL, NULL);
    SCR_Same(s, "step", &p->step, SCR_INT64, 0, NULL, NULL);
    SCR_Same(s, "title", p->title, SCR_CHARACTER + 8, 0, NULL, NULL);
    SCR_Count(s, "count", &p->count);
    /* After a call that has failed, all others fail, too. */
    check(SCR_Stored(s, "more/list", &type, &dims, extents, NULL, NULL) == (wrong == 1 ? 1 : SCR_SUCCESS), "SCR_Stored");
    SCR_Pass(s, &pass);
    check((dims == -1) == (pass == SCR_PASS_WRITE), "what is stored is known when it is read");
    if (dims == 1) {
        check(type == SCR_INT32 && extents[0] == p->count, "the extents are known");
        p->list = realloc(p->list, sizeof(int) * (size_t)p->count);
        check(p->list != NULL, "memory");
    }
    SCR_Begin_list(s, "more");
    SCR_Field(s, "list", wrong == 2 ? NULL : p->list, SCR_INT32, 1, &p->count, NULL, NULL, NULL);
    SCR_End_list(s);
    if (wrong == 3) SCR_Field(s, "other", NULL, 12345, 0, NULL, NULL, NULL, NULL);
    if (wrong == 4) check(SCR_Route_file("name", file) != SCR_SUCCESS, "no other call is allowed here");
    if (wrong == 6) {
        SCR_Session none = SCR_SESSION_NULL, freed = 77;
        check(SCR_Session_create(MPI_COMM_SELF, "inside", &none) != SCR_SUCCESS, "no session is made here");
        check(none == SCR_SESSION_NULL, "there is no session then");
        check(SCR_Session_create(MPI_COMM_NULL, NULL, &none) != SCR_SUCCESS, "nor with bad arguments");
        check(SCR_Session_free(&freed) != SCR_SUCCESS && freed == 77, "no session is freed here");
        check(SCR_Session_free(NULL) != SCR_SUCCESS, "nor one that is NULL");
    }
    return wrong == 5 ? 7 : 0;
}

int main(int argc, char** argv)
{
    struct program p, q;
    int found = -1, stop = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(SCR_Checkpoint(NULL, SCR_FLAG_CHECKPOINT, state, &p) != SCR_SUCCESS, "SCR_Init comes first");
    check(SCR_Init() == SCR_SUCCESS, "SCR_Init");

    fill(&q, 0);
    check(SCR_Restore(state, &q, &found) == SCR_SUCCESS && found == 0, "there is no checkpoint");
    check(q.calls == 0, "the routine is not called then");

    fill(&p, 1);
    check(SCR_Checkpoint("ck.1", SCR_FLAG_CHECKPOINT, state, &p) == SCR_SUCCESS, "SCR_Checkpoint");
    check(p.calls == 1, "the routine is called once");
    for (int wrong = 1; wrong <= 6; wrong++) {
        fill(&p, 1 + wrong);
        p.wrong = wrong;
        check(SCR_Checkpoint("bad", SCR_FLAG_CHECKPOINT, state, &p) != SCR_SUCCESS, "a wrong list fails on all ranks");
    }
    check(SCR_Checkpoint("bad", SCR_FLAG_CHECKPOINT, NULL, &p) != SCR_SUCCESS, "a routine is needed");
    check(SCR_Checkpoint("bad", 64, state, &p) != SCR_SUCCESS, "flags are flags");
    check(SCR_Field(NULL, "x", NULL, SCR_INT32, 0, NULL, NULL, NULL, NULL) != SCR_SUCCESS, "a state is needed");

    memset(&q, 0, sizeof q);
    check(SCR_Restore(state, &q, &found) == SCR_SUCCESS && found == 1, "SCR_Restore");
    fill(&p, 1);
    check(q.calls == 2, "the routine is called twice");
    check(memcmp(p.grid, q.grid, sizeof p.grid) == 0, "the grid is restored, and no ghost row is touched");
    check(q.complex_pair[1] == (float)rank && q.step == 1 && strcmp(q.title, "a title") == 0, "scalars");
    check(q.count == p.count, "the count");
    check(memcmp(p.list, q.list, sizeof(int) * (size_t)p.count) == 0, "the list");

    check(SCR_Checkpoint_if_needed(state, &p, &stop) == SCR_SUCCESS && stop == 0, "SCR_Checkpoint_if_needed");
    check(SCR_Finalize() == SCR_SUCCESS, "SCR_Finalize");
    if (rank == 0) printf("fields: as expected\n");
    MPI_Finalize();
    return 0;
}
