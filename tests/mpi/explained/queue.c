/* Usage: queue complete|OMISSION
 * A shop with a queue for tests/mpi/explained.sh: static variables of the file and of functions, and blocks of malloc that these lead
 * to: a ring, rows of a matrix, a table with chains. Its list lacks the part of the state that is named, or nothing. The result is in
 * the file `result`. */
#include <math.h>
#include <mpi.h>
#include <scr.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 40, ROWS = 6, COLUMNS = 9, BUCKETS = 8, ENTRIES = 20, STEPS = 24, EVERY = 4, DELAY = 20000 };
enum mode { CLOSED, OPEN, CROWDED };

struct entry {
    int key;
    double value;
    struct entry *next;
};

static struct {
    double *slots;
    int head;
    unsigned length;
} ring;

static struct {
    unsigned has_sale : 1, floor : 3;
    double price;
} shop;

static double **rows;
static struct entry *table[BUCKETS];
static uint64_t random_state = 88172645463325252u;
static enum mode mode = CLOSED;
static float *weights;
static double takings, work[COLUMNS];
static bool was_late;
static int step, rank;
static const char *omission;

static int has(const char *name) { return strcmp(omission, name) != 0; }

static void *some(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

static double draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

/* What has been smoothed so far. */
static double *average(void)
{
    static double so_far;
    return &so_far;
}

static int list(SCR_State *s, void *context)
{
    (void)context;
    int64_t slots = SLOTS, columns = COLUMNS;
    int sale = shop.has_sale, pass = 0;
    char name[32];
    SCR_Pass(s, &pass);
    SCR_Same(s, "step", &step, SCR_INT32, 0, NULL, NULL);
    if (has("slots")) SCR_Field(s, "slots", ring.slots, SCR_FLOAT64, 1, &slots, NULL, NULL, NULL);
    if (has("head")) SCR_Field(s, "head", &ring.head, SCR_INT32, 0, NULL, NULL, NULL, NULL);
    for (int i = 0; i < ROWS && has("rows"); i++) {
        snprintf(name, sizeof name, "row.%d", i);
        SCR_Field(s, name, rows[i], SCR_FLOAT64, 1, &columns, NULL, NULL, NULL);
    }
    for (int i = 0; i < BUCKETS && has("table"); i++) {
        for (struct entry *one = table[i]; one; one = one->next) {
            snprintf(name, sizeof name, "value.%d", one->key);
            SCR_Field(s, name, &one->value, SCR_FLOAT64, 0, NULL, NULL, NULL, NULL);
        }
    }
    if (has("random")) SCR_Field(s, "random", &random_state, SCR_UINT64, 0, NULL, NULL, NULL, NULL);
    if (has("mode")) SCR_Field(s, "mode", &mode, SCR_UINT32, 0, NULL, NULL, NULL, NULL);
    if (has("weights")) SCR_Field(s, "weights", weights, SCR_FLOAT32, 1, &columns, NULL, NULL, NULL);
    if (has("takings")) SCR_Field(s, "takings", &takings, SCR_FLOAT64, 0, NULL, NULL, NULL, NULL);
    if (has("late")) SCR_Field(s, "late", &was_late, SCR_UINT8, 0, NULL, NULL, NULL, NULL);
    if (has("price")) SCR_Field(s, "price", &shop.price, SCR_FLOAT64, 0, NULL, NULL, NULL, NULL);
    if (has("sale")) SCR_Field(s, "sale", &sale, SCR_INT32, 0, NULL, NULL, NULL, NULL);
    if (pass == SCR_PASS_READ) shop.has_sale = sale & 1;
    if (has("so_far")) SCR_Field(s, "so_far", average(), SCR_FLOAT64, 0, NULL, NULL, NULL, NULL);
    return 0;
}

static void advance(void)
{
    double served = ring.slots[ring.head], *so_far = average();
    *so_far = 0.8 * *so_far + 0.2 * served + 0.1;
    double come = draw() + 0.1 * mode + 0.05 * *so_far + 0.02 * was_late;
    ring.slots[ring.head] = come + 0.3 * served;
    ring.head = (ring.head + 7) % SLOTS;
    was_late |= step == 2;
    if (come > 0.2 && mode == CLOSED) mode = OPEN;
    if (step == 6) mode = CROWDED;
    if (step == 3) shop.has_sale = 1;
    shop.price = shop.price * 1.01 + (shop.has_sale ? -0.02 : 0.0);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            work[j] = cos(rows[i][j] + come) * weights[j];
            rows[i][j] = 0.9 * rows[i][j] + 0.1 * work[j] + 0.01 * rows[(i + 1) % ROWS][j];
        }
    }
    for (int j = 0; j < COLUMNS; j++) weights[j] = 0.95f * weights[j] + 0.01f * (float)rows[0][j];
    struct entry *bought = table[(unsigned)step % BUCKETS];
    for (; bought; bought = bought->next) {
        bought->value += 0.1 * shop.price + 0.01 * rows[1][2];
        takings += 0.01 * bought->value * rows[2][bought->key % COLUMNS];
    }
    ring.slots[(ring.head + 1) % SLOTS] += 0.001 * takings;
    for (int i = 0; i < BUCKETS; i++) {
        if (table[i]) ring.slots[(ring.head + i) % SLOTS] += 0.001 * table[i]->value;
    }
}

int main(int argc, char **argv)
{
    int found = 0;
    omission = argc > 1 ? argv[1] : "complete";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ring.slots = some(SLOTS, sizeof *ring.slots);
    ring.length = SLOTS;
    rows = some(ROWS, sizeof *rows);
    weights = some(COLUMNS, sizeof *weights);
    for (int i = 0; i < ROWS; i++) rows[i] = some(COLUMNS, sizeof **rows);
    for (int j = 0; j < COLUMNS; j++) weights[j] = 1.0f + 0.1f * (float)j;
    for (int key = 0; key < ENTRIES; key++) {
        struct entry *one = some(1, sizeof *one);
        one->key = key;
        one->next = table[key * 5 % BUCKETS];
        table[key * 5 % BUCKETS] = one;
    }
    shop.price = 1.0 + rank;
    shop.floor = 2;
    if (SCR_Init() != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    if (SCR_Restore(list, NULL, &found) != SCR_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    while (step < STEPS) {
        step++;
        advance();
        usleep(DELAY);
        MPI_Barrier(MPI_COMM_WORLD);
        if (step % EVERY == 0) {
            char name[32];
            snprintf(name, sizeof name, "ck.%d", step);
            SCR_Checkpoint(name, SCR_FLAG_CHECKPOINT, list, NULL);
        }
    }
    double total = 0.0;
    MPI_Reduce(&takings, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *file = fopen("result", "w");
        if (!file) MPI_Abort(MPI_COMM_WORLD, 1);
        fprintf(file, "%.17g\n", total);
        fclose(file);
    }
    SCR_Finalize();
    MPI_Finalize();
    return 0;
}
