/* A ring of processes that goes on when some of them fail: a token goes around in each step and is changed by all cells,
 * which it changes, too. Its checkpoints are files, which it reads again on any number of processes; examples/heat2d_repair.c
 * has fields. The result is the same bit for bit on any number of processes.
 *
 * Usage: ring [spawn 0|1] [command FILE] [size N] [steps N] [every N] [delay MS] [output FILE] [world 0|1]
 * as heat2d_repair; size is the number of words of a cell, and of the token. With world 1 the session is that of
 * MPI_COMM_WORLD.
 */

#define _DEFAULT_SOURCE

#include "mpi_repair.h"
#include <inttypes.h>
#include <scr_session.h>
#include <string.h>
#include <unistd.h>

#define CELLS 24

static int size = 256, last_step = 100, every = 10, delay = 0, spawn = 1;
static const char* output_file = "ring.out";
static MPI_Comm comm = MPI_COMM_NULL;
static SCR_Session session = SCR_SESSION_NULL;
static int rank, ranks, step;
static uint64_t* cells; /* all of them; a process uses its own */
static uint64_t* token; /* of process 0 between two steps */

static void give_up(const char* why)
{
    fprintf(stderr, "ring: rank %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void read_arguments(int argc, char** argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "spawn") == 0) spawn = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "command") == 0) repair_command = argv[i + 1];
        else if (strcmp(argv[i], "size") == 0) size = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "steps") == 0) last_step = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "every") == 0) every = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "delay") == 0) delay = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "output") == 0) output_file = argv[i + 1];
        else if (strcmp(argv[i], "world") == 0) session = atoi(argv[i + 1]) ? SCR_SESSION_WORLD : SCR_SESSION_NULL;
        else give_up("unknown argument");
    }
    cells = malloc((size_t)size * CELLS * sizeof *cells);
    token = malloc((size_t)size * sizeof *token);
    if (cells == NULL || token == NULL || size < 1) give_up("no memory");
}

/* The first cell of process r of n. */
static int first_cell(int r, int n)
{
    return (int)((long)CELLS * r / n);
}

static uint64_t* cell(int number)
{
    return cells + (size_t)number * (size_t)size;
}

/* Writes or reads some words, and nothing but these; 0 if that fails. */
static int words_of(const char* path, const char* mode, uint64_t* words, size_t count)
{
    FILE* file = fopen(path, mode);
    if (file == NULL) return 0;
    size_t done = *mode == 'w' ? fwrite(words, sizeof *words, count, file) : fread(words, sizeof *words, count, file);
    int rest = *mode == 'w' ? EOF : fgetc(file);
    return (fclose(file) == 0) & (done == count) & (rest == EOF);
}

/* Writes or reads a file of the checkpoint of this step, below the prefix directory of the session. */
static int file_of(const char* mode, int part, uint64_t* words, size_t count)
{
    char name[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];
    if (part < 0) snprintf(name, sizeof name, "ring/ring.%d/token", step);
    else snprintf(name, sizeof name, "ring/ring.%d/cells.%d", step, part);
    return SCR_Session_route_file(session, name, path) == SCR_SUCCESS && words_of(path, mode, words, count);
}

/* If it fails, older checkpoints stay as they are. If a process has failed, the next call of MPI tells. */
static void checkpoint(void)
{
    char name[64];
    snprintf(name, sizeof name, "ring.%d", step);
    int first = first_cell(rank, ranks), count = first_cell(rank + 1, ranks) - first;
    int good = SCR_Session_start_output(session, name, SCR_FLAG_CHECKPOINT) == SCR_SUCCESS;
    if (good) {
        int valid = file_of("w", rank, cell(first), (size_t)count * (size_t)size)
            && (rank > 0 || file_of("w", -1, token, (size_t)size));
        good = SCR_Session_complete_output(session, valid) == SCR_SUCCESS && valid;
    }
    if (rank == 0) printf("ring: checkpoint %s%s\n", name, good ? "" : " failed, going on without it");
    fflush(stdout);
}

/* Reads our cells of a checkpoint that `before` processes wrote. */
static int read_cells(int before)
{
    if (before == ranks) {
        int first = first_cell(rank, ranks);
        return file_of("r", rank, cell(first), (size_t)(first_cell(rank + 1, ranks) - first) * (size_t)size);
    }
    for (int old = 0; old < before; old++) {
        int begin = first_cell(old, before), end = first_cell(old + 1, before);
        int wanted = end > first_cell(rank, ranks) && begin < first_cell(rank + 1, ranks);
        if (wanted && !file_of("r", old, cell(begin), (size_t)(end - begin) * (size_t)size)) return 0;
    }
    return 1;
}

/* Reads the newest checkpoint that is good, or begins; 0 if a process has failed. */
static int restart(void)
{
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int found = 1, good = SCR_Session_allow_other_ranks(session, 1) == SCR_SUCCESS;
    while (good && found) {
        char name[SCR_MAX_FILENAME];
        int before, valid;
        good = SCR_Session_have_restart(session, &found, name) == SCR_SUCCESS;
        if (!good || !found) break;
        good = SCR_Session_start_restart(session, name) == SCR_SUCCESS
            && SCR_Session_restart_ranks(session, &before) == SCR_SUCCESS;
        if (!good) break;
        if (sscanf(name, "ring.%d", &step) != 1) give_up("a checkpoint that is not ours");
        valid = read_cells(before) && (rank > 0 || file_of("r", -1, token, (size_t)size));
        if (SCR_Session_complete_restart(session, valid) == SCR_SUCCESS) break;
    }
    /* Where another process has failed, none must begin. */
    if (MPIX_Comm_agree(comm, &good) != MPI_SUCCESS || !good) return 0;
    if (!found) {
        step = 0;
        for (size_t i = 0; i < (size_t)size * CELLS; i++) cells[i] = i * 0x9E3779B97F4A7C15u;
        for (int i = 0; i < size; i++) token[i] = (uint64_t)i;
    }
    if (rank == 0) printf(found ? "ring: goes on from ring.%d\n" : "ring: no checkpoint, starting from step %d\n", step);
    fflush(stdout);
    return 1;
}

static int send_token(void)
{
    return ranks == 1 || MPI_Send(token, size, MPI_UINT64_T, (rank + 1) % ranks, 0, comm) == MPI_SUCCESS;
}

static int receive_token(void)
{
    return ranks == 1
        || MPI_Recv(token, size, MPI_UINT64_T, (rank + ranks - 1) % ranks, 0, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* One step; 0 if a process has failed. */
static int advance(void)
{
    if (rank > 0 && !receive_token()) return 0;
    for (int number = first_cell(rank, ranks); number < first_cell(rank + 1, ranks); number++) {
        uint64_t* here = cell(number);
        for (int i = 0; i < size; i++) {
            token[i] = (token[i] ^ here[i]) * 0xD1342543DE82EF95u + (uint64_t)step;
            here[i] += token[i] >> 7 | token[i] << 57;
        }
    }
    return send_token() && (rank > 0 || receive_token());
}

/* Process 0 writes all cells and the token; 0 if a process has failed. */
static int finish(void)
{
    int counts[CELLS + 1], offsets[CELLS + 1];
    for (int r = 0; r < ranks; r++) {
        offsets[r] = first_cell(r, ranks) * size;
        counts[r] = first_cell(r + 1, ranks) * size - offsets[r];
    }
    uint64_t* whole = malloc((size_t)(CELLS + 1) * (size_t)size * sizeof *whole);
    if (whole == NULL) give_up("no memory");
    int done = MPI_Gatherv(cells + offsets[rank], counts[rank], MPI_UINT64_T, whole, counts, offsets, MPI_UINT64_T, 0, comm)
        == MPI_SUCCESS;
    /* The others must not leave before process 0 has it. */
    done = MPIX_Comm_agree(comm, &done) == MPI_SUCCESS && done;
    if (rank == 0 && done) {
        memcpy(whole + (size_t)CELLS * (size_t)size, token, (size_t)size * sizeof *token);
        printf("ring: finished step %d, first word of the token %016" PRIx64 "\n", step, token[0]);
        fflush(stdout);
        if (!words_of(output_file, "w", whole, (size_t)(CELLS + 1) * (size_t)size)) give_up("cannot write the result");
    }
    free(whole);
    return done;
}

/* All steps that are left; 0 if a process has failed. */
static int run(void)
{
    while (step < last_step) {
        step++;
        if (!advance()) return 0;
        if (delay > 0) usleep((useconds_t)delay * 1000);
        if (every > 0 && step % every == 0) checkpoint();
    }
    return finish();
}

/* Begins the session, or goes on with it; 0 if a process has failed. One that has no session yet joins the others. */
static int begin(int repairs)
{
    if (session != SCR_SESSION_NULL && repairs) return SCR_Session_repair(session, comm) == SCR_SUCCESS;
    int made = session != SCR_SESSION_NULL || SCR_Session_create(comm, "ring", &session) == SCR_SUCCESS;
    return made && SCR_Session_init(session) == SCR_SUCCESS;
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int is_new = repair_first(&comm, argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    read_arguments(argc, argv);
    if (ranks > CELLS) give_up("more processes than cells");

    int good = begin(is_new);
    while (!good || !restart() || !run()) {
        if (!repair_whole(&comm, spawn)) give_up("SCR fails, and no process has: its messages say why");
        good = begin(1);
    }
    SCR_Session_finalize(session);
    if (session != SCR_SESSION_WORLD) SCR_Session_free(&session);
    free(cells);
    free(token);
    MPI_Finalize();
    return 0;
}
