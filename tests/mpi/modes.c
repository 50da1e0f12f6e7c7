/* The C interface where it must not work, and SCR_Config.

   Usage: modes early|disabled|config
     early     calls before MPI_Init and after MPI_Finalize
     disabled  run with SCR_ENABLE=0: nothing happens, in the right order
     config    what SCR_Config answers */

#include <mpi.h>
#include <scr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);                    \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

static char path[SCR_MAX_FILENAME];

static int is(const char* query, const char* expected)
{
    const char* value = SCR_Config(query);
    int same = value == NULL ? expected == NULL : expected != NULL && strcmp(value, expected) == 0;
    if (!same) fprintf(stderr, "%s is %s\n", query, value == NULL ? "NULL" : value);
    free((void*)value);
    return same;
}

static void all_fail(void)
{
    int flag = 7;
    CHECK(SCR_Finalize() != SCR_SUCCESS);
    CHECK(SCR_Have_restart(&flag, path) != SCR_SUCCESS && flag == 0);
    CHECK(SCR_Allow_other_ranks(1) != SCR_SUCCESS);
    flag = 7;
    CHECK(SCR_Restart_ranks(&flag) != SCR_SUCCESS && flag == 0);
    flag = 7;
    CHECK(SCR_Restart_file_count(0, &flag) != SCR_SUCCESS && flag == 0);
    path[0] = 'x';
    CHECK(SCR_Restart_file(0, 0, path) != SCR_SUCCESS && path[0] == '\0');
    CHECK(SCR_Start_restart(path) != SCR_SUCCESS);
    CHECK(SCR_Complete_restart(1) != SCR_SUCCESS);
    CHECK(SCR_Need_checkpoint(&flag) != SCR_SUCCESS && flag == 0);
    CHECK(SCR_Start_output("a", SCR_FLAG_CHECKPOINT) != SCR_SUCCESS);
    CHECK(SCR_Route_file("a", path) != SCR_SUCCESS);
    CHECK(SCR_Complete_output(1) != SCR_SUCCESS);
    CHECK(SCR_Route_file("a", path) == SCR_SUCCESS && strcmp(path, "a") == 0);
    CHECK(SCR_Start_checkpoint() != SCR_SUCCESS);
    CHECK(SCR_Complete_checkpoint(1) != SCR_SUCCESS);
    CHECK(SCR_Should_exit(&flag) != SCR_SUCCESS);
    CHECK(SCR_Current("a") != SCR_SUCCESS);
    CHECK(SCR_Drop("a") != SCR_SUCCESS);
    CHECK(SCR_Delete("a") != SCR_SUCCESS);
    CHECK(strcmp(SCR_Get_version(), SCR_VERSION) == 0);
}

static void early(int argc, char** argv)
{
    CHECK(SCR_Init() != SCR_SUCCESS);
    all_fail();
    CHECK(SCR_Config("SCR_FLUSH=3") == NULL);
    CHECK(is("SCR_FLUSH", "3"));

    MPI_Init(&argc, &argv);
    CHECK(is("SCR_FLUSH", "3"));
    CHECK(SCR_Init() == SCR_SUCCESS);
    CHECK(SCR_Init() != SCR_SUCCESS);
    CHECK(SCR_Config("SCR_FLUSH=4") == NULL);
    CHECK(is("SCR_FLUSH", "3"));
    CHECK(SCR_Start_restart(NULL) != SCR_SUCCESS);
    CHECK(SCR_Start_output(NULL, SCR_FLAG_CHECKPOINT) == SCR_SUCCESS);
    CHECK(SCR_Init() != SCR_SUCCESS);
    CHECK(SCR_Complete_output(1) == SCR_SUCCESS);
    CHECK(SCR_Finalize() == SCR_SUCCESS);
    CHECK(is("SCR_FLUSH", "3"));
    CHECK(SCR_Config("SCR_FLUSH=4") == NULL);
    MPI_Finalize();

    all_fail();
    CHECK(SCR_Init() != SCR_SUCCESS);
    CHECK(is("SCR_FLUSH", "4"));
}

static void disabled(int argc, char** argv)
{
    int flag = 7;
    MPI_Init(&argc, &argv);
    CHECK(is("SCR_FLUSH", NULL));
    CHECK(is("SCR_DEBUG", "0"));
    CHECK(is("SCR_ENABLE", "0"));
    CHECK(is("MY_NAME", "mine"));
    CHECK(SCR_Config("SCR_CACHE_SIZE=7") == NULL && is("SCR_CACHE_SIZE", "7"));
    CHECK(SCR_Init() == 1);
    CHECK(SCR_Init() == 1);
    /* It is too late to set anything, which nobody complains of. */
    CHECK(SCR_Config("SCR_FLUSH=3") == NULL);
    CHECK(is("SCR_FLUSH", NULL));
    CHECK(is("SCR_CACHE_SIZE", "7"));
    CHECK(is("SCR_ENABLE", "0"));
    CHECK(SCR_Allow_other_ranks(1) == 1);
    CHECK(SCR_Have_restart(&flag, path) == 1 && flag == 0);
    flag = 7;
    CHECK(SCR_Need_checkpoint(&flag) == 1 && flag == 0);
    flag = 7;
    CHECK(SCR_Should_exit(&flag) == 1 && flag == 7);
    CHECK(SCR_Route_file("some/where", path) == 1 && strcmp(path, "some/where") == 0);
    CHECK(SCR_Start_output("a", SCR_FLAG_CHECKPOINT) == 1);
    CHECK(SCR_Route_file("some/file", path) == 1 && strcmp(path, "some/file") == 0);
    CHECK(SCR_Complete_output(1) == 1);
    CHECK(SCR_Start_checkpoint() == 1);
    CHECK(SCR_Complete_checkpoint(1) == 1);
    CHECK(SCR_Current("a") == 1);
    CHECK(SCR_Drop("a") == 1);
    CHECK(SCR_Delete("a") == 1);
    CHECK(SCR_Finalize() == 1);
    CHECK(SCR_Finalize() == 1);
    MPI_Finalize();
}

static void config(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    CHECK(SCR_Config(NULL) == NULL);
    CHECK(SCR_Config("") == NULL);
    CHECK(is("SCR_FLUSH", NULL));
    CHECK(is("SCR_ENABLE", "1"));
    CHECK(is("MY_NAME", "mine"));
    CHECK(SCR_Config("STORE=$BASE/x COUNT=3") == NULL);
    CHECK(is("STORE=$BASE/x COUNT", "3"));
    CHECK(is("STORE=/l/x COUNT", "3"));
    CHECK(SCR_Config("SCR_FLUSH=10") == NULL && is("SCR_FLUSH", "10"));
    CHECK(SCR_Config("SCR_FLUSH = 12") == NULL && is("SCR_FLUSH", "12"));
    CHECK(SCR_Config("SCR_FLUSH=13  ") == NULL && is("SCR_FLUSH  ", "13"));
    CHECK(SCR_Config("SCR_FLUSH=10 EXTRA") == NULL && is("SCR_FLUSH", "13"));
    CHECK(SCR_Config("SCR_FLUSH=") == NULL && is("SCR_FLUSH", NULL));
    CHECK(is("=5", NULL));
    CHECK(is("A B", NULL));
    CHECK(is("   ", NULL));
    CHECK(SCR_Configf("SCR_%s=%d", "FLUSH", 9) == NULL && is("SCR_FLUSH", "9"));

    CHECK(SCR_Config("CKPT=0 TYPE=XOR SET_SIZE=16") == NULL);
    CHECK(is("CKPT=0 TYPE", "XOR"));
    CHECK(is("CKPT=0 SET_SIZE", "16"));
    CHECK(is("CKPT=0 NOPE", NULL));
    CHECK(is("CKPT=7 TYPE", NULL));
    CHECK(is("CKPT", "0"));
    /* The later call wins, and one child can be unset: where SCR v3.1.0 had defects. */
    CHECK(SCR_Config("CKPT=0 TYPE=SINGLE") == NULL && is("CKPT=0 TYPE", "SINGLE"));
    CHECK(SCR_Config("CKPT=0 TYPE=") == NULL && is("CKPT=0 TYPE", NULL));
    CHECK(is("CKPT=0 SET_SIZE", "16"));
    CHECK(SCR_Config("CKPT=0 TYPE=XOR SET_SIZE") == NULL && is("CKPT=0 TYPE", NULL));
    CHECK(SCR_Config("CKPT=1 TYPE=SINGLE INTERVAL=1") == NULL);
    CHECK(is("CKPT", NULL));

    /* A string that differs between processes sets nothing, on any of them. */
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > 1) {
        CHECK(SCR_Configf("SCR_FLUSH=%d", 20 + rank) == NULL && is("SCR_FLUSH", "9"));
    }
    MPI_Finalize();
}

int main(int argc, char** argv)
{
    if (argc != 2) return 2;
    if (strcmp(argv[1], "early") == 0) early(argc, argv);
    else if (strcmp(argv[1], "disabled") == 0) disabled(argc, argv);
    else if (strcmp(argv[1], "config") == 0) config(argc, argv);
    else return 2;
    return failures == 0 ? 0 : 1;
}
