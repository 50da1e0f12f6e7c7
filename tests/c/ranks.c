/* A checkpoint that any number of ranks can restart from.

   Usage: ranks write NAME [shared] | read NAME OLD [shared]
     write   checkpoint NAME: NAME/part.<rank> of each rank, NAME/header of rank 0
     read    every rank finds and reads all files of the checkpoint NAME of OLD ranks (only its own if
             there are as many ranks now), and they go on with a checkpoint "next"
     shared  all ranks write NAME/shared together, too, and each reads all of it */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 5000 };

static int rank, ranks;

static void check(int holds, const char* what)
{
    if (holds) return;
    fprintf(stderr, "ranks: rank %d: not so: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The bytes of a rank's part. */
static void fill(unsigned char* bytes, int of)
{
    for (int i = 0; i < PART; i++) bytes[i] = (unsigned char)(of * 31 + i * 7 + i / 256);
}

static void write_part(const char* name, int at)
{
    unsigned char bytes[PART];
    char file[SCR_MAX_FILENAME];
    check(SCR_Route_file(name, file) == SCR_SUCCESS, "SCR_Route_file in an output");
    FILE* stream = fopen(file, at == 0 ? "ab" : "r+b");
    check(stream != NULL, file);
    fill(bytes, rank);
    fseek(stream, (long)at * PART, SEEK_SET);
    check(fwrite(bytes, 1, PART, stream) == PART && fclose(stream) == 0, "a part is written");
}

/* Reads parts of ranks `first` to `last` from a file of the checkpoint. */
static void read_parts(const char* name, int first, int last)
{
    unsigned char bytes[PART], right[PART];
    char file[SCR_MAX_FILENAME];
    check(SCR_Route_file(name, file) == SCR_SUCCESS, "SCR_Route_file in a restart");
    FILE* stream = fopen(file, "rb");
    check(stream != NULL, file);
    for (int of = first; of <= last; of++) {
        fill(right, of);
        check(fread(bytes, 1, PART, stream) == PART && memcmp(bytes, right, PART) == 0, name);
    }
    check(getc(stream) == EOF, "the file ends there");
    fclose(stream);
}

static void write_checkpoint(char* name, int shared)
{
    char file[SCR_MAX_FILENAME];
    check(SCR_Start_output(name, SCR_FLAG_CHECKPOINT) == SCR_SUCCESS, "SCR_Start_output");
    snprintf(file, sizeof file, "%s/part.%d", name, rank);
    write_part(file, 0);
    snprintf(file, sizeof file, "%s/header", name);
    if (rank == 0) write_part(file, 0);
    snprintf(file, sizeof file, "%s/shared", name);
    for (int turn = 0; shared && turn < ranks; turn++) {
        if (turn == rank) write_part(file, rank);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    check(SCR_Complete_output(1) == SCR_SUCCESS, "SCR_Complete_output");
}

static void read_checkpoint(const char* wanted, int old, int shared)
{
    char name[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME];
    int have = 0, found = 0, count = 0, files = 0;
    check(SCR_Restart_ranks(&found) != SCR_SUCCESS, "no restart is open");
    check(SCR_Allow_other_ranks(1) == SCR_SUCCESS, "SCR_Allow_other_ranks");
    check(SCR_Have_restart(&have, name) == SCR_SUCCESS && have, "SCR_Have_restart");
    check(strcmp(name, wanted) == 0, "the name that is offered");
    check(SCR_Start_restart(NULL) == SCR_SUCCESS, "SCR_Start_restart");
    check(SCR_Restart_ranks(&found) == SCR_SUCCESS && found == old, "SCR_Restart_ranks");
    int all = old != ranks;
    for (int of = all ? 0 : rank; of < (all ? old : rank + 1); of++) {
        check(SCR_Restart_file_count(of, &count) == SCR_SUCCESS, "SCR_Restart_file_count");
        for (int i = 0; i < count; i++, files++) {
            check(SCR_Restart_file(of, i, file) == SCR_SUCCESS, "SCR_Restart_file");
            const char* last = strrchr(file, '/');
            if (last != NULL && strncmp(last, "/part.", 6) == 0) {
                check(atoi(last + 6) == of, "the rank in the list");
                read_parts(file, of, of);
            }
        }
    }
    check(files == (all ? old + 1 + shared : 1 + (rank == 0) * (1 + shared)), "the number of files");
    check(SCR_Restart_file(0, count + 9, file) != SCR_SUCCESS, "no such index");
    check(SCR_Restart_file_count(old, &count) != SCR_SUCCESS && count == 0, "no such rank");
    check(SCR_Restart_file_count(-1, &count) != SCR_SUCCESS, "no negative rank");
    snprintf(file, sizeof file, "%s/header", wanted);
    if (all || rank == 0) read_parts(file, 0, 0);
    snprintf(file, sizeof file, "%s/shared", wanted);
    if (shared) read_parts(file, 0, old - 1);
    check(SCR_Complete_restart(1) == SCR_SUCCESS, "SCR_Complete_restart");
    if (rank == 0) printf("ranks: %d read %s of %d\n", ranks, wanted, old);
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(argc >= 3 && SCR_Init() == SCR_SUCCESS, "SCR_Init");
    int shared = strcmp(argv[argc - 1], "shared") == 0;
    if (strcmp(argv[1], "write") == 0) {
        write_checkpoint(argv[2], shared);
    } else {
        char next[] = "next";
        read_checkpoint(argv[2], argc > 3 ? atoi(argv[3]) : 0, shared);
        write_checkpoint(next, shared);
    }
    check(SCR_Finalize() == SCR_SUCCESS, "SCR_Finalize");
    MPI_Finalize();
    return 0;
}
