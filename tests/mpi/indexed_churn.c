/* Checkpoints of a mesh and of particles all the time, to be killed at any moment: fields by index lists, with copies,
   and bags with and without a key.

   Usage: indexed_churn SEED RUN FROM COUNT RECORD
     SEED    of the mesh and of what it looks like in files: the same in all runs
     RUN     of the lists of this run
     FROM    the number of the first checkpoint, larger than all before
     COUNT   checkpoints before a normal end
     RECORD  file outside of SCR to which rank 0 appends the number of each complete checkpoint

   All values follow from the seed, the number of the element and that of the checkpoint, and are compared in a restart,
   with the lists of this run, which has other ghosts, and on any number of ranks. Says what it restarted from; the exit
   status is 1 if that was not what had been written. */

#include <fcntl.h>
#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LEVELS = 3, CELLS = 37, BAGS = 3, UNSET = 0xee };

static int rank, ranks;
static uint32_t seed;
/* The mesh, which begins with 1, and a bag have about so many elements. Each node has so many levels. */
static int64_t whole, levels;
/* Several ranks write some nodes; the lists are the same in all runs of as many ranks; and they change after so many
   checkpoints. */
static int shared, fixed, period;

struct node {
    double heat;
    int32_t mark, unused;
};

/* The elements of a bag. */
struct bag {
    int64_t count;
    int64_t* id;
    int32_t* cell;
    double* height;
    double (*place)[3];
};

static struct {
    int64_t step;
    uint32_t lists; /* the seed of the lists of the ranks that have written */
    int64_t writers;
    int reads;
    int64_t count;
    int32_t* ids;
    struct node* nodes;
    float* turned; /* [levels][count] */
    int64_t cell_count;
    int64_t* cell_ids;
    int64_t (*sizes)[2];
    int64_t first, length; /* this rank's part of an array */
    double* part;
    struct bag bags[BAGS];
} all;

static void fail(const char* what, int64_t number)
{
    fprintf(stderr, "churn: rank %d: checkpoint %lld is not what was written: %s %lld: %s\n", rank,
        (long long)all.step, what, (long long)number, SCR_Reason());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* allocate(int64_t count, size_t size)
{
    void* memory = malloc((size_t)(count + 1) * size);
    if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(memory, UNSET, (size_t)(count + 1) * size);
    return memory;
}

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t x = a * 2654435761u ^ (b + 0x9e3779b9u) * 2246822519u;
    x = (x ^ x >> 15) * 2654435761u;
    x = (x ^ x >> 13) * 3266489917u;
    return x ^ x >> 16;
}

static uint32_t number(int64_t id, int what) { return mix(mix(seed + (uint32_t)what, (uint32_t)id), (uint32_t)all.step); }
static double real(int64_t id, int what) { return number(id, what) / 64.0; }

/* The rank that has an element. */
static int home(uint32_t lists, int64_t id, int64_t of, int64_t among)
{
    switch (lists % 5) {
    case 0: return (int)(id * among / of);
    case 1: return (int)(id / 7 % among);
    case 2: return (int)(lists / 5 % (uint32_t)among);
    default: return (int)(mix(lists, (uint32_t)id) % (uint32_t)among);
    }
}

/* The elements of a list in the order of a rank: as they are, from the last one on, or shuffled. */
static void put_in_order(uint32_t lists, void* ids, int64_t count, size_t size)
{
    char *at = ids, other[8];
    const uint32_t order = lists / 7 % 3;
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = order == 0 ? i : order == 1 ? count - 1 - i : (int64_t)(mix(lists, (uint32_t)i) % (uint32_t)(i + 1));
        if (order == 1 && j >= i) break;
        memcpy(other, at + i * (int64_t)size, size);
        memcpy(at + i * (int64_t)size, at + j * (int64_t)size, size);
        memcpy(at + j * (int64_t)size, other, size);
    }
}

/* What this rank has by these lists, without values. A reader has ghosts, and some of them twice. */
static void divide(uint32_t lists, int reads)
{
    free(all.ids), free(all.nodes), free(all.turned), free(all.cell_ids), free(all.sizes), free(all.part);
    all.lists = lists;
    all.count = all.cell_count = 0;
    all.ids = allocate(3 * whole, sizeof *all.ids);
    for (int64_t id = 1; id <= whole; id++) {
        const int is_home = home(lists, id - 1, whole, ranks) == rank;
        const uint32_t chance = mix(mix(lists, (uint32_t)rank + 7), (uint32_t)id) % 9;
        if (is_home || (shared && chance == 0) || (reads && chance < 2)) all.ids[all.count++] = (int32_t)id;
        if (reads && chance == 1) all.ids[all.count++] = (int32_t)id;
    }
    put_in_order(lists, all.ids, all.count, sizeof *all.ids);
    all.nodes = allocate(all.count, sizeof *all.nodes);
    all.turned = allocate(all.count * levels, sizeof *all.turned);
    all.cell_ids = allocate(CELLS, sizeof *all.cell_ids);
    for (int64_t id = 0; id < CELLS; id++) {
        if (home(lists / 3, id, CELLS, ranks) == rank) all.cell_ids[all.cell_count++] = id;
    }
    put_in_order(lists / 3, all.cell_ids, all.cell_count, sizeof *all.cell_ids);
    all.sizes = allocate(all.cell_count, sizeof *all.sizes);
    all.first = whole * rank / ranks;
    all.length = whole * (rank + 1) / ranks - all.first;
    all.part = allocate(all.length, sizeof *all.part);
}

static void set_values(void)
{
    for (int64_t i = 0; i < all.count; i++) {
        all.nodes[i].heat = real(all.ids[i], 1);
        all.nodes[i].mark = (int32_t)number(all.ids[i], 2);
        for (int64_t l = 0; l < levels; l++) all.turned[l * all.count + i] = (float)(number(all.ids[i], 3 + (int)l) >> 8);
    }
    for (int64_t i = 0; i < all.cell_count; i++) {
        all.sizes[i][0] = number(all.cell_ids[i], 7), all.sizes[i][1] = all.step;
    }
    for (int64_t i = 0; i < all.length; i++) all.part[i] = real(all.first + i, 8);
}

static void compare_values(void)
{
    for (int64_t i = 0; i < all.count; i++) {
        if (all.nodes[i].heat != real(all.ids[i], 1)) fail("heat of node", all.ids[i]);
        if (all.nodes[i].mark != (int32_t)number(all.ids[i], 2)) fail("mark of node", all.ids[i]);
        for (int64_t l = 0; l < levels; l++) {
            if (all.turned[l * all.count + i] != (float)(number(all.ids[i], 3 + (int)l) >> 8))
                fail("level of node", all.ids[i]);
        }
    }
    for (int64_t i = 0; i < all.cell_count; i++) {
        if (all.sizes[i][0] != number(all.cell_ids[i], 7) || all.sizes[i][1] != all.step) fail("size of cell", all.cell_ids[i]);
    }
    for (int64_t i = 0; i < all.length; i++) {
        if (all.part[i] != real(all.first + i, 8)) fail("element of an array", all.first + i);
    }
}

/* No restart has changed anything. */
static void compare_unset(void)
{
    const void* memory[] = { all.nodes, all.turned, all.sizes, all.part };
    const size_t bytes[] = { (size_t)all.count * sizeof *all.nodes, (size_t)(all.count * levels) * sizeof *all.turned,
        (size_t)all.cell_count * sizeof *all.sizes, (size_t)all.length * sizeof *all.part };
    for (int i = 0; i < 4; i++) {
        for (size_t at = 0; at < bytes[i]; at++) {
            if (((const unsigned char*)memory[i])[at] != UNSET) fail("it is not restored, but memory has changed", i);
        }
    }
}

static int32_t cell_of(int64_t id) { return (int32_t)(number(id, 10) % 61) - 20; }
static double height_of(int64_t id) { return ((int)(number(id, 11) % 19) - 9) / 4.0; }

static void resize(struct bag* b, int64_t count)
{
    free(b->id), free(b->cell), free(b->height), free(b->place);
    b->count = count;
    b->id = allocate(count, sizeof *b->id);
    b->cell = allocate(count, sizeof *b->cell);
    b->height = allocate(count, sizeof *b->height);
    b->place = allocate(count, sizeof *b->place);
}

/* The particles of a bag on a rank of those that wrote it, in its order. */
static int64_t particles(int bag, int64_t writer, int64_t writers, int64_t* ids)
{
    const int64_t most = number(bag, 12) % (uint32_t)whole;
    const uint32_t lists = mix(all.lists, (uint32_t)bag);
    int64_t count = 0;
    for (int64_t id = 0; id < most; id++) {
        if (home(lists, id, most, writers) == writer) ids[count++] = id;
    }
    put_in_order(lists, ids, count, sizeof *ids);
    return count;
}

static void set_bags(void)
{
    int64_t* ids = allocate(whole, sizeof *ids);
    for (int bag = 0; bag < BAGS; bag++) {
        struct bag* b = &all.bags[bag];
        resize(b, particles(bag, rank, ranks, ids));
        for (int64_t i = 0; i < b->count; i++) {
            b->id[i] = ids[i];
            b->cell[i] = cell_of(ids[i]);
            b->height[i] = height_of(ids[i]);
            for (int k = 0; k < 3; k++) b->place[i][k] = real(ids[i], 13 + k);
        }
    }
    free(ids);
}

static int owner(const int64_t* keys, int64_t count, int* to, void* context)
{
    (void)context;
    for (int64_t i = 0; i < count; i++) to[i] = (int)(mix((uint32_t)keys[i], 3) % (uint32_t)ranks);
    return 0;
}

/* Moves the elements of a sorted bag to their places: those with the same key stay in their order. */
static void sort_by_height(int64_t* ids, int64_t count)
{
    int64_t *sorted = allocate(count, sizeof *sorted), at = 0;
    for (int step = -9; step <= 9; step++) {
        for (int64_t i = 0; i < count; i++) {
            if (height_of(ids[i]) == step / 4.0) sorted[at++] = ids[i];
        }
    }
    memcpy(ids, sorted, (size_t)count * sizeof *ids);
    free(sorted);
}

static void compare_bags(void)
{
    int64_t *ids = allocate(2 * whole, sizeof *ids), *own = allocate(whole, sizeof *own);
    for (int bag = 0; bag < BAGS; bag++) {
        const struct bag* b = &all.bags[bag];
        int64_t count = 0, n = 0;
        if (all.writers == ranks) {
            n = particles(bag, rank, ranks, own);
        } else {
            for (int64_t writer = 0; writer < all.writers; writer++) count += particles(bag, writer, all.writers, ids + count);
            if (bag == 1) sort_by_height(ids, count);
            for (int64_t i = 0; i < count; i++) {
                const int64_t key = cell_of(ids[i]);
                int to = -1;
                owner(&key, 1, &to, NULL);
                const int share = i >= count * rank / ranks && i < count * (rank + 1) / ranks;
                if (bag == 0 ? to == rank : share) own[n++] = ids[i];
            }
        }
        if (b->count != n) fail("a bag has another number of elements than", n);
        for (int64_t i = 0; i < n; i++) {
            const int64_t id = own[i];
            if (b->id[i] != id) fail("another element than", id);
            if (b->cell[i] != cell_of(id) || b->height[i] != height_of(id)) fail("key of element", id);
            for (int k = 0; k < 3; k++) {
                if (b->place[i][k] != real(id, 13 + k)) fail("place of element", id);
            }
        }
    }
    free(ids), free(own);
}

static void list_bag(SCR_State* s, int bag)
{
    static const char* const names[] = { "owned", "sorted", "plain" };
    const char* const name = names[bag];
    struct bag* b = &all.bags[bag];
    int64_t count = b->count;
    SCR_Begin_list(s, names[bag]);
    if (bag == 0) SCR_Bag_by_key(s, name, &count, "cell", owner, NULL);
    if (bag == 1) SCR_Bag_by_key(s, name, &count, "height", NULL, NULL);
    if (bag == 2) SCR_Bag(s, name, &count);
    if (all.reads) resize(b, count);
    int64_t extents[2] = { count, 3 };
    SCR_Field_by_index(s, "id", name, b->id, SCR_INT64, 1, extents, NULL);
    SCR_Field_by_index(s, "cell", name, b->cell, SCR_INT32, 1, extents, NULL);
    SCR_Field_by_index(s, "height", name, b->height, SCR_FLOAT64, 1, extents, NULL);
    SCR_Field_by_index(s, "place", name, b->place, SCR_FLOAT64, 2, extents, NULL);
    SCR_End_list(s);
}

static int state(SCR_State* s, void* context)
{
    int64_t apart = sizeof *all.nodes, extents[2] = { levels, all.count }, pair[2] = { all.cell_count, 2 };
    (void)context;
    SCR_Stored_ranks(s, &all.writers);
    SCR_Same(s, "step", &all.step, SCR_INT64, 0, NULL, NULL);
    SCR_Same(s, "lists", &all.lists, SCR_UINT32, 0, NULL, NULL);
    if (shared) SCR_Next_field(s, SCR_SHARED);
    SCR_Index(s, "nodes", all.ids, SCR_INT32, all.count, 1, whole);
    SCR_Index(s, "cells", all.cell_ids, SCR_INT64, all.cell_count, 0, CELLS);
    SCR_Field_by_index(s, "heat", "nodes", &all.nodes->heat, SCR_FLOAT64, 1, &all.count, &apart);
    SCR_Field_by_index(s, "size", "cells", all.sizes, SCR_INT64, 2, pair, NULL);
    for (int bag = 0; bag < BAGS; bag++) list_bag(s, bag);
    SCR_Field_by_index(s, "mark", "nodes", &all.nodes->mark, SCR_INT32, 1, &all.count, &apart);
    SCR_Field(s, "part", all.part, SCR_FLOAT64, 1, &all.length, NULL, &whole, &all.first);
    SCR_Order(s, SCR_COLUMN_MAJOR);
    /* The first index is the level, and lies farthest apart. */
    int64_t strides[2] = { all.count * (int64_t)sizeof *all.turned, sizeof *all.turned };
    SCR_Field_by_index(s, "turned", "nodes", all.turned, SCR_FLOAT32, 2, extents, strides);
    SCR_Order(s, SCR_ROW_MAJOR);
    return 0;
}

/* Appends, in one piece and without SCR knowing. */
static void record(const char* path, int64_t step)
{
    char line[24];
    int length = snprintf(line, sizeof line, "%lld\n", (long long)step);
    int out = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (out < 0 || write(out, line, (size_t)length) != length || close(out) != 0) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void say(const char* what, int64_t step, const char* why)
{
    if (rank != 0) return;
    printf("churn: %s %lld%s%s\n", what, (long long)step, *why ? ": " : "", why);
    fflush(stdout);
}

/* The seed of the lists of a checkpoint. */
static uint32_t lists_of(uint32_t run, int64_t step)
{
    if (fixed) return mix(seed, (uint32_t)ranks);
    return mix(mix(seed, run), (uint32_t)(step / period));
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 6 || SCR_Init() != SCR_SUCCESS) {
        say("could not start", 0, argc == 6 ? SCR_Reason() : "usage");
        MPI_Finalize();
        return 1;
    }
    seed = (uint32_t)strtoul(argv[1], NULL, 10);
    const uint32_t run = (uint32_t)strtoul(argv[2], NULL, 10);
    const int64_t from = atoll(argv[3]), end = from + atoll(argv[4]);
    static const int64_t wholes[] = { 1, 60, 700, 9000, 60000 };
    whole = wholes[mix(seed, 1) % 5] + mix(seed, 2) % 30;
    levels = 1 + mix(seed, 3) % MOST_LEVELS;
    shared = mix(seed, 4) % 2;
    fixed = mix(seed, 5) % 3 == 0;
    period = 1 + (int)(mix(seed, 6) % 4);

    /* Lists are those of this run; with fixed ones they are those that were written. */
    int found = 0;
    divide(lists_of(run, 0), !fixed);
    all.reads = 1;
    const int restored = SCR_Restore(state, NULL, &found) == SCR_SUCCESS;
    all.reads = 0;
    if (found) {
        compare_values();
        compare_bags();
        MPI_Barrier(MPI_COMM_WORLD);
        say("restarted from", all.step, "");
    } else {
        compare_unset();
        say(restored ? "restarted from" : "could not restore", 0, restored ? "" : SCR_Reason());
    }
    for (int64_t step = from; restored && step < end; step++) {
        all.step = step;
        all.writers = 0;
        divide(lists_of(run, step), 0);
        set_values();
        set_bags();
        char name[SCR_MAX_FILENAME];
        snprintf(name, sizeof name, "mesh.%lld", (long long)step);
        say("begins", step, "");
        if (SCR_Checkpoint(name, SCR_FLAG_CHECKPOINT, state, NULL) != SCR_SUCCESS) {
            say("could not write", step, SCR_Reason());
        } else if (rank == 0) {
            record(argv[5], step);
        }
    }
    const int ended = SCR_Finalize() == SCR_SUCCESS;
    say(ended ? "ended" : "ended badly", 0, ended ? "" : SCR_Reason());
    MPI_Finalize();
    return 0;
}
