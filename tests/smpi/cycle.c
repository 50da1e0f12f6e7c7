/* One run of a job: cycle RUN BYTES
 *
 * In the run "write" each rank writes two checkpoints of one file with BYTES. In a run of any other name it reads the
 * one that is offered, and compares it with what was written. Rank 0 prints a line for each call: the name of the
 * run, the call, and its seconds on the slowest rank.
 */
#include <mpi.h>
#include <scr.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;
static const char* run;

static void fail(const char* what)
{
    fprintf(stderr, "cycle: rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(int result, const char* call)
{
    if (result != SCR_SUCCESS) {
        fail(call);
    }
}

/* Ranks come into each call together. */
static double begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

static void end(double begun, const char* call)
{
    double mine = MPI_Wtime() - begun, most = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s %s %.9f\n", run, call, most);
        fflush(stdout);
    }
}

/* Bytes that differ between ranks and checkpoints. */
static void fill(unsigned char* bytes, size_t length, int step)
{
    uint64_t x = 0x9E3779B97F4A7C15u * (uint64_t) (rank + 1) + (uint64_t) step;
    for (size_t i = 0; i < length; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        bytes[i] = (unsigned char) x;
    }
}

static void write_checkpoint(int step, unsigned char* bytes, size_t length)
{
    char name[64], file[SCR_MAX_FILENAME];
    double begun = begin();
    snprintf(name, sizeof name, "cycle.%d", step);
    check(SCR_Start_output(name, SCR_FLAG_CHECKPOINT), "SCR_Start_output");
    end(begun, step == 1 ? "Start_output.first" : "Start_output");
    snprintf(name, sizeof name, "cycle.%d/rank_%d", step, rank);
    check(SCR_Route_file(name, file), "SCR_Route_file");
    fill(bytes, length, step);
    FILE* out = fopen(file, "wb");
    int valid = out && fwrite(bytes, 1, length, out) == length;
    valid = out && fclose(out) == 0 && valid;
    begun = begin();
    check(SCR_Complete_output(valid), "SCR_Complete_output");
    end(begun, step == 1 ? "Complete_output.first" : "Complete_output");
}

static void read_checkpoint(unsigned char* bytes, size_t length)
{
    char name[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME + 32];
    int flag = 0, step = 0;
    double begun = begin();
    check(SCR_Have_restart(&flag, name), "SCR_Have_restart");
    end(begun, "Have_restart");
    if (!flag || sscanf(name, "cycle.%d", &step) != 1) {
        fail("nothing to restart from");
    }
    begun = begin();
    check(SCR_Start_restart(name), "SCR_Start_restart");
    end(begun, "Start_restart");
    snprintf(path, sizeof path, "%s/rank_%d", name, rank);
    check(SCR_Route_file(path, file), "SCR_Route_file");
    unsigned char* read = malloc(length + 1);
    FILE* in = fopen(file, "rb");
    fill(bytes, length, step);
    int valid = in && fread(read, 1, length + 1, in) == length && memcmp(read, bytes, length) == 0;
    if (in) {
        fclose(in);
    }
    free(read);
    if (!valid) {
        fail("the file is not what was written");
    }
    begun = begin();
    check(SCR_Complete_restart(valid), "SCR_Complete_restart");
    end(begun, "Complete_restart");
    if (rank == 0) {
        printf("%s restarted from %s\n", run, name);
    }
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3) {
        fail("usage: cycle RUN BYTES");
    }
    run = argv[1];
    size_t length = (size_t) atol(argv[2]);
    unsigned char* bytes = malloc(length + 1);
    double begun = begin();
    check(SCR_Init(), "SCR_Init");
    end(begun, "Init");
    if (strcmp(run, "write") == 0) {
        write_checkpoint(1, bytes, length);
        write_checkpoint(2, bytes, length);
    } else {
        read_checkpoint(bytes, length);
    }
    begun = begin();
    check(SCR_Finalize(), "SCR_Finalize");
    end(begun, "Finalize");
    free(bytes);
    MPI_Finalize();
    return 0;
}
