/* A program that does not look at what SCR_Start_output returns.

   Usage: failed_start refused|disabled|not_started
     refused      starts fail, and the checkpoint from before stays as it is
     disabled     SCR is off: the program writes its files, and completes or not
     not_started  SCR_Init fails, and the program goes on all the same */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, failures;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #condition);     \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

static char file[64], path[SCR_MAX_FILENAME], longest[SCR_MAX_FILENAME + 1];

/* Writes the file wherever SCR says; false if that cannot be opened. */
static int write_there(const char* text)
{
    FILE* stream = fopen(path, "w");
    if (stream == NULL) return 0;
    fputs(text, stream);
    return fclose(stream) == 0;
}

/* What is in a file under its own name. */
static int holds(const char* text)
{
    char got[16] = "";
    FILE* stream = fopen(file, "r");
    if (stream == NULL) return 0;
    char* line = fgets(got, sizeof got, stream);
    fclose(stream);
    return line != NULL && strcmp(got, text) == 0;
}

/* Starts that fail; one message each. */
static void start_badly(int way)
{
    switch (way) {
    case 0: CHECK(SCR_Start_output("good", 1 << 7) == 1); break;
    case 1: CHECK(SCR_Start_output(rank == 0 ? "good" : "bad", SCR_FLAG_CHECKPOINT) == 1); break;
    case 2: CHECK(SCR_Start_output(longest, SCR_FLAG_CHECKPOINT) == 1); break;
    default: CHECK(SCR_Start_output("good", rank == 0 ? 1 : 3) == 1);
    }
}

static void no_path(void)
{
    char other[SCR_MAX_FILENAME + 8];
    CHECK(SCR_Route_file(file, path) == 1);
    CHECK(!write_there("bad"));
    /* Nor with what a program may append. */
    snprintf(other, sizeof other, "%s.tmp", path);
    CHECK(fopen(other, "w") == NULL);
}

static void refused(void)
{
    int flag = 0;
    CHECK(SCR_Init() == SCR_SUCCESS);
    CHECK(SCR_Start_output("good", SCR_FLAG_CHECKPOINT) == SCR_SUCCESS);
    CHECK(SCR_Route_file(file, path) == SCR_SUCCESS && write_there("good"));
    CHECK(SCR_Complete_output(1) == SCR_SUCCESS);

    for (int way = 0; way < 4; way++) {
        start_badly(way);
        no_path();
        no_path();
        CHECK(SCR_Complete_output(0) == 1);
        CHECK(holds("good"));
    }
    /* The same without a complete. */
    start_badly(0);
    no_path();
    CHECK(SCR_Need_checkpoint(&flag) == SCR_SUCCESS);
    start_badly(1);
    CHECK(SCR_Should_exit(&flag) == SCR_SUCCESS);
    start_badly(0);
    CHECK(SCR_Start_output("next", SCR_FLAG_CHECKPOINT) == SCR_SUCCESS);
    CHECK(SCR_Complete_output(0) == 1);
    start_badly(1);
    CHECK(SCR_Have_restart(&flag, NULL) == SCR_SUCCESS && flag == 1);
    CHECK(SCR_Start_restart(NULL) == SCR_SUCCESS);
    /* A file that is not there: the call fails, and tells where it would be. */
    CHECK(SCR_Route_file("good/none", path) == 1);
    CHECK(strlen(path) > 10 && strcmp(path + strlen(path) - 10, "/good/none") == 0);
    CHECK(SCR_Route_file(file, path) == SCR_SUCCESS);
    CHECK(SCR_Complete_restart(1) == SCR_SUCCESS);
    CHECK(holds("good"));
    start_badly(0);
    CHECK(SCR_Finalize() == SCR_SUCCESS);
    CHECK(SCR_Route_file(file, path) == SCR_SUCCESS && strcmp(path, file) == 0);
}

static void disabled(void)
{
    int flag = 7;
    char* value = (char*)SCR_Config("SCR_ENABLE");
    CHECK(value != NULL && strcmp(value, "0") == 0);
    free(value);
    CHECK(SCR_Init() == 1);
    CHECK(SCR_Have_restart(&flag, NULL) == 1 && flag == 0);
    for (int turn = 0; turn < 2; turn++) {
        /* One that writes anyway. */
        CHECK(SCR_Start_output("good", SCR_FLAG_CHECKPOINT) == 1);
        snprintf(file, sizeof file, "off.%d.%d", turn, rank);
        CHECK(SCR_Route_file(file, path) == 1 && strcmp(path, file) == 0);
        CHECK(write_there("good") && holds("good"));
        /* A program that leaves directories to SCR writes its files without it, too. */
        CHECK(SCR_Route_file("off.new/file", path) == 1 && strcmp(path, "off.new/file") == 0);
        CHECK(access("off.new", F_OK) == 0);
        CHECK(SCR_Complete_output(1) == 1);
        /* One that goes on, since the start returned 1; with each call that may follow. */
        CHECK(SCR_Start_output("good", SCR_FLAG_CHECKPOINT) == 1);
        CHECK(SCR_Start_checkpoint() == 1);
        CHECK(SCR_Need_checkpoint(&flag) == 1 && flag == 0);
        CHECK(SCR_Start_checkpoint() == 1);
        CHECK(SCR_Should_exit(&flag) == 1);
        CHECK(SCR_Start_restart(NULL) == 1);
        CHECK(SCR_Have_restart(&flag, NULL) == 1 && flag == 0);
        CHECK(SCR_Start_restart(NULL) == 1);
        CHECK(SCR_Complete_restart(1) == 1);
        CHECK(SCR_Start_checkpoint() == 1);
        CHECK(SCR_Complete_checkpoint(1) == 1);
        CHECK(SCR_Start_output(NULL, SCR_FLAG_OUTPUT) == 1);
        CHECK(SCR_Current("good") == 1);
    }
    value = (char*)SCR_Config("SCR_ENABLE");
    CHECK(value != NULL && strcmp(value, "0") == 0);
    free(value);
    CHECK(SCR_Start_output("good", SCR_FLAG_CHECKPOINT) == 1);
    CHECK(SCR_Finalize() == 1);
}

static void not_started(void)
{
    CHECK(SCR_Route_file(file, path) == SCR_SUCCESS && strcmp(path, file) == 0);
    CHECK(SCR_Init() == 1);
    CHECK(SCR_Start_output("good", SCR_FLAG_CHECKPOINT) == 1);
    no_path();
    CHECK(SCR_Complete_output(0) == 1);
    CHECK(SCR_Route_file("", path) == 1);
    CHECK(SCR_Route_file(NULL, path) == 1);
    CHECK(SCR_Route_file(file, NULL) == 1);
    CHECK(SCR_Route_file(longest, path) == 1);
    CHECK(SCR_Route_file(file, path) == SCR_SUCCESS && strcmp(path, file) == 0);
}

int main(int argc, char** argv)
{
    if (argc != 2) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(file, sizeof file, "good/rank.%d", rank);
    memset(longest, 'n', sizeof longest - 1);

    if (strcmp(argv[1], "refused") == 0) refused();
    else if (strcmp(argv[1], "disabled") == 0) disabled();
    else if (strcmp(argv[1], "not_started") == 0) not_started();
    else failures++;

    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}
