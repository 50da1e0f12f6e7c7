/* The C interface as a program uses and misuses it: every call does its work or returns an
   error, and no misuse kills the job. Run in an empty prefix directory. */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, failures;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #condition);     \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

static char name[SCR_MAX_FILENAME], file[SCR_MAX_FILENAME], path[SCR_MAX_FILENAME];

static int value_is(const char* parameter, const char* expected)
{
    const char* value = SCR_Config(parameter);
    int same = value == NULL ? expected == NULL : expected != NULL && strcmp(value, expected) == 0;
    free((void*)value);
    return same;
}

static int write_file(const char* text)
{
    if (SCR_Route_file(file, path) != SCR_SUCCESS) return 0;
    FILE* stream = fopen(path, "w");
    if (stream == NULL) return 0;
    fputs(text, stream);
    return fclose(stream) == 0;
}

static int file_is(const char* expected)
{
    char text[64] = "";
    if (SCR_Route_file(file, path) != SCR_SUCCESS) return 0;
    FILE* stream = fopen(path, "r");
    if (stream == NULL) return 0;
    char* got = fgets(text, sizeof text, stream);
    fclose(stream);
    return got != NULL && strcmp(text, expected) == 0;
}

static void before_init(void)
{
    int flag = 0;
    CHECK(SCR_Finalize() != SCR_SUCCESS);
    CHECK(SCR_Route_file("a", path) == SCR_SUCCESS && strcmp(path, "a") == 0);
    CHECK(SCR_Have_restart(&flag, name) != SCR_SUCCESS);
    flag = 1;
    CHECK(SCR_Should_exit(&flag) != SCR_SUCCESS && flag == 0);
    CHECK(SCR_Start_output("a", SCR_FLAG_CHECKPOINT) != SCR_SUCCESS);
    CHECK(SCR_Complete_output(1) != SCR_SUCCESS);

    CHECK(SCR_Config(NULL) == NULL);
    CHECK(SCR_Config("") == NULL);
    CHECK(SCR_Config("SCR_FLUSH=7") == NULL);
    CHECK(value_is("SCR_FLUSH", "7"));
    CHECK(SCR_Configf("SCR_FLUSH=%d", 12) == NULL);
    CHECK(value_is("SCR_FLUSH", "12"));
    /* What the program sets in its environment counts from then on. */
    CHECK(setenv("SCR_FLUSH", "5", 1) == 0);
    CHECK(value_is("SCR_FLUSH", "5"));
    CHECK(unsetenv("SCR_FLUSH") == 0);
    CHECK(value_is("SCR_FLUSH", "12"));
    CHECK(SCR_Config("SCR_FLUSH=") == NULL);
    CHECK(value_is("SCR_FLUSH", NULL));
    CHECK(SCR_Configf(NULL) == NULL);
}

static void nothing_to_restart(void)
{
    int flag = 1;
    CHECK(SCR_Init() != SCR_SUCCESS);
    CHECK(SCR_Have_restart(&flag, name) == SCR_SUCCESS && flag == 0);
    flag = 1;
    CHECK(SCR_Have_restart(&flag, NULL) == SCR_SUCCESS && flag == 0);
    CHECK(SCR_Start_restart(name) != SCR_SUCCESS);
    CHECK(SCR_Complete_restart(1) != SCR_SUCCESS);
    CHECK(SCR_Complete_output(1) != SCR_SUCCESS);

    CHECK(SCR_Allow_other_ranks(1) == SCR_SUCCESS);
    CHECK(SCR_Allow_other_ranks(0) == SCR_SUCCESS);
    flag = 1;
    CHECK(SCR_Restart_ranks(&flag) != SCR_SUCCESS && flag == 0);
    CHECK(SCR_Restart_ranks(NULL) != SCR_SUCCESS);
    CHECK(SCR_Restart_file_count(0, NULL) != SCR_SUCCESS);
    CHECK(SCR_Restart_file(0, 0, NULL) != SCR_SUCCESS);

    CHECK(SCR_Have_restart(NULL, name) != SCR_SUCCESS);
    CHECK(SCR_Need_checkpoint(NULL) != SCR_SUCCESS);
    CHECK(SCR_Should_exit(NULL) != SCR_SUCCESS);
    CHECK(SCR_Route_file(NULL, path) != SCR_SUCCESS);
    CHECK(SCR_Route_file("", path) != SCR_SUCCESS);
    CHECK(SCR_Route_file("a", NULL) != SCR_SUCCESS);
    CHECK(SCR_Current(NULL) != SCR_SUCCESS);
    CHECK(SCR_Delete(NULL) != SCR_SUCCESS);

    CHECK(SCR_Route_file("some/where", path) == SCR_SUCCESS);
    CHECK(strcmp(path, "some/where") == 0);
    CHECK(SCR_Route_file(path, path) == SCR_SUCCESS);
    CHECK(strcmp(path, "some/where") == 0);

    /* What one rank gets wrong is an error on all. */
    CHECK(SCR_Start_output("flags", rank == 0 ? 1 << 7 : SCR_FLAG_CHECKPOINT) != SCR_SUCCESS);
}

static void names_that_do_not_fit(void)
{
    char longest[SCR_MAX_FILENAME + 1];
    memset(longest, 'n', sizeof longest - 1);
    longest[SCR_MAX_FILENAME] = '\0';
    CHECK(SCR_Route_file(longest, path) != SCR_SUCCESS);
    CHECK(SCR_Start_output(longest, SCR_FLAG_CHECKPOINT) != SCR_SUCCESS);
    CHECK(SCR_Complete_output(1) != SCR_SUCCESS);

    /* Outside a phase the longest name that fits is copied. */
    longest[SCR_MAX_FILENAME - 1] = '\0';
    CHECK(SCR_Route_file(longest, path) == SCR_SUCCESS);
    CHECK(strcmp(path, longest) == 0);
}

static void checkpoint_and_restart(void)
{
    int flag = 0;
    CHECK(SCR_Start_output("first", SCR_FLAG_CHECKPOINT) == SCR_SUCCESS);
    CHECK(SCR_Start_output("second", SCR_FLAG_CHECKPOINT) != SCR_SUCCESS);
    CHECK(SCR_Complete_checkpoint(1) != SCR_SUCCESS);
    CHECK(SCR_Finalize() != SCR_SUCCESS);
    CHECK(SCR_Route_file("/outside/of/the/prefix", path) != SCR_SUCCESS);
    CHECK(write_file("first"));
    char both[SCR_MAX_FILENAME];
    strcpy(both, file);
    CHECK(SCR_Route_file(both, both) == SCR_SUCCESS && strcmp(both, path) == 0);
    CHECK(SCR_Complete_output(1) == SCR_SUCCESS);

    /* One rank that could not write makes the dataset void for all. */
    CHECK(SCR_Start_checkpoint() == SCR_SUCCESS);
    CHECK(SCR_Complete_checkpoint(rank != ranks - 1) != SCR_SUCCESS);

    CHECK(SCR_Have_restart(&flag, name) == SCR_SUCCESS && flag == 1);
    CHECK(strcmp(name, "first") == 0);
    strcpy(name, "");
    CHECK(SCR_Start_restart(name) == SCR_SUCCESS);
    CHECK(strcmp(name, "first") == 0);
    CHECK(SCR_Need_checkpoint(&flag) != SCR_SUCCESS);
    CHECK(file_is("first"));
    CHECK(SCR_Route_file("first/none", path) != SCR_SUCCESS);
    CHECK(SCR_Complete_restart(1) == SCR_SUCCESS);

    CHECK(SCR_Need_checkpoint(&flag) == SCR_SUCCESS && (flag == 0 || flag == 1));
    CHECK(SCR_Should_exit(&flag) == SCR_SUCCESS && flag == 0);
}

int main(int argc, char** argv)
{
    CHECK(strcmp(SCR_Get_version(), SCR_VERSION) == 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(file, sizeof file, "first/rank.%d", rank);

    before_init();
    CHECK(SCR_Init() == SCR_SUCCESS);
    nothing_to_restart();
    names_that_do_not_fit();
    checkpoint_and_restart();
    CHECK(SCR_Finalize() == SCR_SUCCESS);
    CHECK(SCR_Finalize() != SCR_SUCCESS);

    /* The same once more: the library can be started again, and finds what it wrote. */
    int flag = 0;
    CHECK(SCR_Init() == SCR_SUCCESS);
    CHECK(SCR_Have_restart(&flag, name) == SCR_SUCCESS && flag == 1);
    CHECK(SCR_Delete("first") == SCR_SUCCESS);
    CHECK(SCR_Have_restart(&flag, name) == SCR_SUCCESS && flag == 0);
    CHECK(SCR_Finalize() == SCR_SUCCESS);

    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}
