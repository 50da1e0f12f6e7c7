/* Fields by index from C, on any number of ranks: what the ranks of one run have written, those of another read, and
   each wrong list is an error on all ranks, which says what is wrong. tests/c/indexed.cpp and
   tests/python/indexed.py list the same fields. Usage: indexed [write|read|write_bags|read_bags] */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes have the numbers from 1 on, cells those from 0 on. */
enum { NODES = 23, CELLS = 5, LEVELS = 3, MOST = 2 * NODES };

static int rank, ranks;

static void check(int holds, const char* what)
{
    if (holds) return;
    fprintf(stderr, "indexed: rank %d: not so: %s: %s\n", rank, what, SCR_Reason());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

struct node {
    double heat;
    int32_t mark;
    int32_t unused;
};

struct program {
    int is_reader; /* which has other lists, with ghosts */
    int64_t nodes, cells;
    int32_t node_ids[MOST];
    int64_t cell_ids[MOST];
    struct node all[MOST];
    float levels[MOST][LEVELS];
    float turned[LEVELS][MOST]; /* the same, of which the last index is that of the node */
    int64_t sizes[MOST];
};

static float level(int id, int i) { return (float)id + (float)i / 4; }

/* The ids of this rank: each id once, from the largest one down; of a reader on other ranks and with the next id. */
static void choose(struct program* p, int is_reader)
{
    memset(p, 0, sizeof *p);
    p->is_reader = is_reader;
    for (int id = NODES; id >= 1; id--) {
        if (is_reader ? id * ranks / (NODES + 1) != rank : id % ranks != rank) continue;
        p->node_ids[p->nodes++] = id;
        if (is_reader) p->node_ids[p->nodes++] = id % NODES + 1;
    }
    for (int id = 0; id < CELLS; id++) {
        /* All cells are on one rank: the first or the last. */
        if (rank == (is_reader ? ranks - 1 : 0)) p->cell_ids[p->cells++] = id;
    }
}

static void fill(struct program* p)
{
    for (int n = 0; n < p->nodes; n++) {
        const int id = p->node_ids[n];
        p->all[n].heat = id * 1.5;
        p->all[n].mark = -id;
        for (int i = 0; i < LEVELS; i++) p->levels[n][i] = p->turned[i][n] = level(id, i);
    }
    for (int n = 0; n < p->cells; n++) p->sizes[n] = 10 * p->cell_ids[n];
}

static int state(SCR_State* s, void* context)
{
    struct program* p = context;
    int64_t extents[2] = { p->nodes, LEVELS }, apart[1] = { sizeof p->all[0] };
    check(SCR_Index(s, "nodes", p->node_ids, SCR_INT32, p->nodes, 1, NODES) == SCR_SUCCESS, "nodes");
    check(SCR_Index(s, "cells", p->cells ? p->cell_ids : NULL, SCR_INT64, p->cells, 0, CELLS) == SCR_SUCCESS, "cells");
    SCR_Field_by_index(s, "heat", "nodes", &p->all[0].heat, SCR_FLOAT64, 1, extents, apart);
    SCR_Field_by_index(s, "mark", "nodes", &p->all[0].mark, SCR_INT32, 1, extents, apart);
    SCR_Begin_list(s, "deep");
    SCR_Begin_list(s, "inside");
    SCR_Field_by_index(s, "levels", "nodes", p->levels, SCR_FLOAT32, 2, extents, NULL);
    SCR_End_list(s);
    SCR_End_list(s);
    /* Dimensions in the order of Fortran: the node is the last one. */
    extents[0] = LEVELS, extents[1] = p->nodes;
    int64_t strides[2] = { sizeof p->turned[0], sizeof p->turned[0][0] };
    SCR_Order(s, SCR_COLUMN_MAJOR);
    SCR_Field_by_index(s, "turned", "nodes", p->turned, SCR_FLOAT32, 2, extents, strides);
    SCR_Order(s, SCR_ROW_MAJOR);
    check(SCR_Field_by_index(s, "sizes", "cells", p->cells ? p->sizes : NULL, SCR_INT64, 1, &p->cells, NULL)
        == SCR_SUCCESS, "sizes");
    return 0;
}

/* What a list of fields gets wrong, and what is said of it. On the last rank, as the others are not wrong. */
static const struct {
    int is_name; /* of "nodes"; else of "heat" */
    const char* told;
} wrongs[] = {
    { 1, "a name is NULL" },
    { 1, "the pointer is NULL, and there are 4 indices" },
    { 1, "it cannot have -1 indices" },
    { 1, "is no type of an index; use SCR_INT32 or SCR_INT64" },
    { 1, "is no type of an index; use SCR_INT32 or SCR_INT64" },
    { 1, "its whole cannot have -3 elements" },
    { 1, "is the index 0; the whole has the indices 1 to" },
    { 1, "number 2 of this rank's list is the index" },
    { 1, "lists the index" },
    { 1, "no rank lists the index" },
    { 0, "a name is NULL" },
    { 0, "a name is NULL" },
    { 0, "\"edges\": no index list or bag has this name" },
    { 0, "\"inner\": no index list or bag has this name" },
    { 0, "a scalar has no elements by index" },
    { 0, "8 dimensions; 0 to 7 are possible" },
    { 0, "the extents are NULL" },
    { 0, "its first dimension has 5 places, and \"nodes\" has 4 elements on this rank" },
    { 0, "its last dimension has 2 places, and \"nodes\" has 4 elements on this rank" },
    { 0, "the pointer is NULL, and there are 4 elements" },
    { 0, "12345 is no type of a field" },
    { 0, "\"nodes\": is listed twice" },
    { 0, "\"nodes\": is listed twice" },
    { 0, "\"nodes\": is listed twice" },
};
enum { OWN = 4, WRONGS = sizeof wrongs / sizeof wrongs[0] };

static int wrong_state(SCR_State* s, void* context)
{
    const int wrong = *(int*)context;
    const int is = rank == ranks - 1 ? wrong : -1;
    int64_t ids[OWN], other_ids[1] = { 1 }, count = OWN, whole = (int64_t)OWN * ranks, many[8] = { OWN, 1, 1, 1, 1, 1, 1, 1 };
    int64_t turned[2] = { OWN, 2 };
    double heat[2 * OWN] = { 0 };
    int32_t edge = 1;
    const char *index = "nodes", *name = "heat";
    void* data = heat;
    int kind = SCR_FLOAT64, id_kind = SCR_INT64, dims = 1, code;
    for (int i = 0; i < OWN; i++) ids[i] = (int64_t)OWN * rank + i + 1;

    if (is == 2) count = -1;
    if (is == 3) id_kind = SCR_FLOAT64;
    if (is == 4) id_kind = SCR_INT16, count = 0;
    if (is == 5) whole = -3;
    if (is == 6) ids[0] = 0;
    if (is == 7) ids[1] = whole + 1;
    if (is == 8) ids[1] = ids[0];
    if (is == 9) count--;
    if (is == 21) SCR_Same(s, "nodes", &edge, SCR_INT32, 0, NULL, NULL);
    code = SCR_Index(s, is == 0 ? NULL : "nodes", is == 1 ? NULL : (void*)ids, id_kind, count, 1, whole);
    check((code == SCR_SUCCESS) == !((is >= 0 && is <= 7) || is == 21), "a wrong index list fails at once");
    if (is == 22) SCR_Index(s, "nodes", ids, SCR_INT64, count, 1, whole);
    if (is == 23) SCR_Field(s, "nodes", ids, SCR_INT64, 1, &count, NULL, NULL, NULL);
    SCR_Begin_list(s, "part");
    SCR_Index(s, "inner", rank == 0 ? other_ids : NULL, SCR_INT64, rank == 0, 1, 1);
    SCR_End_list(s);
    if (is == 10) name = NULL;
    if (is == 11) index = NULL;
    if (is == 12) index = "edges";
    if (is == 13) index = "inner";
    if (is == 14) dims = 0;
    if (is == 15) dims = 8;
    if (is == 17) many[0] = OWN + 1;
    if (is == 18) dims = 2, SCR_Order(s, SCR_COLUMN_MAJOR);
    if (is == 19) data = NULL;
    if (is == 20) kind = 12345;
    if (is == 9) many[0]--;
    code = SCR_Field_by_index(s, name, index, data, kind, dims, is == 16 ? NULL : is == 18 ? turned : many, NULL);
    /* What only all ranks together can know fails at the end. */
    check((code == SCR_SUCCESS) == (is == -1 || is == 8 || is == 9), "a wrong field fails at once");
    return 0;
}

static void wrong_lists(void)
{
    int none = -1;
    check(SCR_Index(NULL, "nodes", NULL, SCR_INT32, 0, 0, 0) != SCR_SUCCESS, "a state is needed");
    check(SCR_Field_by_index(NULL, "heat", "nodes", NULL, SCR_INT32, 1, NULL, NULL) != SCR_SUCCESS, "a state is needed");
    check(SCR_Checkpoint("good", SCR_FLAG_CHECKPOINT, wrong_state, &none) == SCR_SUCCESS, "a list that is right");
    for (int wrong = 0; wrong < WRONGS; wrong++) {
        char what[32];
        snprintf(what, sizeof what, "wrong list %d", wrong);
        check(SCR_Checkpoint("bad", SCR_FLAG_CHECKPOINT, wrong_state, &wrong) != SCR_SUCCESS, what);
        check(strstr(SCR_Reason(), wrongs[wrong].told) != NULL, what);
        check(!wrongs[wrong].is_name || wrong == 0 || strstr(SCR_Reason(), "\"nodes\"") != NULL, what);
    }
    check(SCR_Delete("good") == SCR_SUCCESS, "SCR_Delete");
}

/* Each rank has two elements, and copies of those of the next rank. */
struct halo {
    int32_t ids[4];
    double heat[4];
    int64_t count;
    int is_shared;
};

static int halo_state(SCR_State* s, void* context)
{
    struct halo* h = context;
    if (h->is_shared) SCR_Next_field(s, SCR_SHARED);
    SCR_Index(s, "halo", h->ids, SCR_INT32, h->count, 0, 2 * ranks);
    SCR_Field_by_index(s, "heat", "halo", h->heat, SCR_FLOAT64, 1, &h->count, NULL);
    return 0;
}

static int shared_count(SCR_State* s, void* context)
{
    SCR_Next_field(s, SCR_SHARED);
    check(SCR_Count(s, "count", context) != SCR_SUCCESS, "a count is not shared");
    return 0;
}

static void copies(void)
{
    struct halo h = { .count = ranks > 1 ? 4 : 2, .is_shared = 1 };
    int found;
    for (int i = 0; i < 4; i++) {
        h.ids[i] = (2 * rank + i) % (2 * ranks);
        h.heat[i] = 1.5 * h.ids[i];
    }
    check(SCR_Checkpoint("halo", SCR_FLAG_CHECKPOINT, halo_state, &h) == SCR_SUCCESS, "equal copies");
    if (ranks > 1) {
        char told[128];
        snprintf(told, sizeof told, "\"heat\": ranks 0 and %d both have the element of index 1 of \"halo\"", ranks - 1);
        if (rank == ranks - 1) h.heat[3] += 1e-12;
        check(SCR_Checkpoint("bad", SCR_FLAG_CHECKPOINT, halo_state, &h) != SCR_SUCCESS, "copies that differ");
        check(strstr(SCR_Reason(), told) != NULL, told);
        h.is_shared = 0;
        check(SCR_Checkpoint("bad", SCR_FLAG_CHECKPOINT, halo_state, &h) != SCR_SUCCESS, "copies that nobody allows");
        check(strstr(SCR_Reason(), "or say SCR_SHARED if all copies are equal") != NULL, "SCR_SHARED");
    }
    memset(h.heat, 0, sizeof h.heat);
    check(SCR_Restore(halo_state, &h, &found) == SCR_SUCCESS && found, "SCR_Restore");
    for (int i = 0; i < h.count; i++) check(h.heat[i] == 1.5 * h.ids[i], "what was written");
    check(SCR_Checkpoint("bad", SCR_FLAG_CHECKPOINT, shared_count, &h.count) != SCR_SUCCESS, "a count is not shared");
    check(strstr(SCR_Reason(), "SCR_SHARED is an option of index lists") != NULL, "SCR_SHARED");
    check(SCR_Delete("halo") == SCR_SUCCESS, "SCR_Delete");
}

/* Wrong lists of a reader. Nothing in memory changes, and the checkpoint stays. */
static int unlike_state(SCR_State* s, void* context)
{
    const int unlike = *(int*)context;
    double heat[1] = { -7 };
    int32_t id = unlike == 0 && rank == ranks - 1 ? NODES + 1 : 1;
    int64_t one = 1;
    SCR_Gone(s, "mark");
    SCR_Gone(s, "deep/inside/levels");
    SCR_Gone(s, "turned");
    SCR_Gone(s, "sizes");
    SCR_Gone(s, "cells");
    SCR_Index(s, "nodes", &id, SCR_INT32, 1, 1, unlike == 1 ? NODES + 1 : NODES);
    if (unlike == 2) SCR_From_rank(s, 0);
    SCR_Field_by_index(s, "heat", "nodes", heat, SCR_FLOAT64, 1, &one, NULL);
    check(heat[0] == -7 || unlike == 3, "nothing changes");
    if (unlike == 3) {
        int pass;
        SCR_Pass(s, &pass);
        check(pass != SCR_PASS_READ || heat[0] == 1.5, "all ranks read one element");
    }
    return 0;
}

static void unlike_lists(void)
{
    static const char* const told[] = { "is the index 24; the whole has the indices 1 to 23", "24", "SCR_From_rank" };
    int found;
    for (int unlike = 0; unlike < 3; unlike++) {
        check(SCR_Restore(unlike_state, &unlike, &found) != SCR_SUCCESS, "a list that is not that of the checkpoint");
        check(strstr(SCR_Reason(), told[unlike]) != NULL, told[unlike]);
        check(SCR_Current("nodes") == SCR_SUCCESS, "SCR_Current");
    }
    int alike = 3;
    check(SCR_Restore(unlike_state, &alike, &found) == SCR_SUCCESS && found, "one element");
}

/* Elements without a number: on another number of ranks those of `owned` go to the rank of their cell, and each rank
   gets an equal share of `sorted` by height. */
enum { PARTICLES = 40 };

struct bags {
    int64_t owned, sorted, writers;
    int32_t cell[PARTICLES];
    double height[PARTICLES];
    int wrong;
    int64_t asked;
};

static int owner(const int64_t* keys, int64_t count, int* to, void* context)
{
    struct bags* b = context;
    for (int64_t i = 0; i < count; i++) to[i] = b->wrong == 1 && keys[i] == 7 ? ranks : (int)(keys[i] % ranks);
    b->asked += count;
    return b->wrong == 2;
}

static int bag_state(SCR_State* s, void* context)
{
    struct bags* b = context;
    int64_t writers = 0;
    SCR_Stored_ranks(s, &writers);
    if (writers) b->writers = writers;
    SCR_Bag_by_key(s, "owned", &b->owned, b->wrong == 3 ? "height" : "cell", owner, b);
    SCR_Field_by_index(s, "cell", "owned", b->cell, SCR_INT32, 1, &b->owned, NULL);
    SCR_Bag_by_key(s, "sorted", &b->sorted, "height", NULL, NULL);
    SCR_Field_by_index(s, "height", "sorted", b->height, SCR_FLOAT64, 1, &b->sorted, NULL);
    return 0;
}

static void write_bags(void)
{
    static struct bags b;
    for (int id = rank; id < PARTICLES; id += ranks) {
        b.cell[b.owned++] = 7 * id;
        b.height[b.sorted++] = id * 17 % PARTICLES / 2.0;
    }
    check(SCR_Checkpoint("bags", SCR_FLAG_CHECKPOINT, bag_state, &b) == SCR_SUCCESS, "SCR_Checkpoint");
    check(b.asked == 0, "nobody asks for owners when the state is written");
}

static void read_bags(void)
{
    static const char* const told[] = { "with the key 7, is said to be rank", "the function that tells the owners returned 1",
        "its key \"height\" (float64[" };
    static struct bags b;
    int found;
    int64_t count = 0, first = rank, end = 0;
    check(SCR_Restore(bag_state, &b, &found) == SCR_SUCCESS && found, "SCR_Restore");
    const int is_other = b.writers != ranks;
    for (int writer = 0; writer < b.writers; writer++) {
        for (int id = writer; id < PARTICLES; id += (int)b.writers) {
            if (is_other ? 7 * id % ranks != rank : writer != rank) continue;
            check(b.cell[count] == 7 * id, "an element of this rank, in its order");
            if (!is_other) check(b.height[count] == id * 17 % PARTICLES / 2.0, "an element that this rank wrote");
            count++;
        }
    }
    check(count == b.owned, "no other element");
    MPI_Allreduce(&b.asked, &count, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    check(count == (is_other ? PARTICLES : 0), "each element is asked for once");
    if (is_other) {
        first = PARTICLES * rank / ranks, end = PARTICLES * (rank + 1) / ranks;
        check(b.sorted == end - first, "an equal share");
        for (int64_t i = first; i < end; i++) check(b.height[i - first] == i / 2.0, "the order of the key");
        for (b.wrong = 1; b.wrong <= 3; b.wrong++) {
            memset(b.cell, 0xff, sizeof b.cell);
            check(SCR_Restore(bag_state, &b, &found) != SCR_SUCCESS, told[b.wrong - 1]);
            check(strstr(SCR_Reason(), told[b.wrong - 1]) != NULL, told[b.wrong - 1]);
            check(b.wrong == 3 || strstr(SCR_Reason(), "bag \"owned\"") != NULL, "the bag is named");
            for (int i = 0; i < PARTICLES; i++) check(b.cell[i] == -1, "nothing changes");
            check(SCR_Current("bags") == SCR_SUCCESS, "SCR_Current");
        }
    }
}

int main(int argc, char** argv)
{
    static struct program p, right;
    int found = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char* const what = argc > 1 ? argv[1] : "write";
    check(SCR_Init() == SCR_SUCCESS, "SCR_Init");
    if (strcmp(what, "write") == 0) {
        wrong_lists();
        copies();
        choose(&p, 0);
        fill(&p);
        check(SCR_Checkpoint("nodes", SCR_FLAG_CHECKPOINT, state, &p) == SCR_SUCCESS, "SCR_Checkpoint");
    } else if (strcmp(what, "write_bags") == 0) {
        write_bags();
    } else if (strcmp(what, "read_bags") == 0) {
        read_bags();
    } else {
        for (int is_reader = 0; is_reader < 2; is_reader++) {
            choose(&p, is_reader);
            right = p;
            fill(&right);
            check(SCR_Restore(state, &p, &found) == SCR_SUCCESS && found == 1, "SCR_Restore");
            check(memcmp(&p, &right, sizeof p) == 0, "what was written");
        }
        unlike_lists();
    }
    check(SCR_Finalize() == SCR_SUCCESS, "SCR_Finalize");
    if (rank == 0) printf("%s on %d ranks: as expected\n", what, ranks);
    MPI_Finalize();
    return 0;
}
