/* What the process gives to SCR.

   Usage: given closed|limit
     closed  descriptors 0 to 2 are closed before SCR begins: nothing of SCR takes their places
     limit   files may have no more than 1 MiB: a larger one is an error, and the program's own handler hears of its own
             writes only */

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <scr.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank;
static FILE* report;

static void check(int ok, const char* what)
{
    if (ok) return;
    fprintf(report, "FAILED: rank %d: %s\n", rank, what);
    fflush(report);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Writes `megabytes` as a checkpoint; what SCR_Complete_output returns. */
static int checkpoint(int number, int megabytes)
{
    static char block[1 << 20];
    char dataset[64], name[64], path[SCR_MAX_FILENAME];
    FILE* file;
    int i, whole = 1;
    memset(block, 'a' + number, sizeof block);
    sprintf(dataset, "ck.%d", number);
    sprintf(name, "ck.%d/rank.%d", number, rank);
    check(SCR_Start_output(dataset, SCR_FLAG_CHECKPOINT) == SCR_SUCCESS, "SCR_Start_output");
    check(SCR_Route_file(name, path) == SCR_SUCCESS, "SCR_Route_file");
    file = fopen(path, "w");
    check(file != NULL && fileno(file) > 2, "the file of the program");
    for (i = 0; i < megabytes; i++) whole = fwrite(block, sizeof block, 1, file) == 1 && whole;
    whole = fclose(file) == 0 && whole;
    return SCR_Complete_output(whole);
}

/* Threads may read a file and close it at any time: what stays open is taken. */
static void nothing_is_taken(const char* when)
{
    int descriptor, looks;
    for (descriptor = 0; descriptor < 3; descriptor++) {
        for (looks = 0; looks < 3000; looks++) {
            if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) break;
            usleep(10000);
        }
        if (looks < 3000) continue;
        fprintf(report, "descriptor %d %s\n", descriptor, when);
        check(0, "SCR has taken a descriptor of the program");
    }
}

/* Opens descriptors 0 to 2. A thread of SCR may have one of them for a moment. */
static void hold(void)
{
    int looks, i, held[3];
    for (looks = 0; looks < 3000; looks++) {
        for (i = 0; i < 3; i++) held[i] = open("/dev/null", O_RDWR);
        if (held[0] == 0 && held[1] == 1 && held[2] == 2) return;
        for (i = 0; i < 3; i++) close(held[i]);
        usleep(10000);
    }
    check(0, "the descriptors of the program");
}

static void closed(void)
{
    int flag, i;
    char name[SCR_MAX_FILENAME];
    for (i = 0; i < 3; i++) close(i);
    check(SCR_Init() == SCR_SUCCESS, "SCR_Init");
    nothing_is_taken("after SCR_Init");
    check(SCR_Have_restart(&flag, name) == SCR_SUCCESS, "SCR_Have_restart");
    nothing_is_taken("after SCR_Have_restart");
    for (i = 1; i <= 3; i++) {
        /* The files of the program must not take them either. */
        hold();
        check(checkpoint(i, 1) == SCR_SUCCESS, "SCR_Complete_output");
        close(0), close(1), close(2);
        nothing_is_taken("after SCR_Complete_output");
        check(SCR_Need_checkpoint(&flag) == SCR_SUCCESS, "SCR_Need_checkpoint");
    }
    check(SCR_Finalize() == SCR_SUCCESS, "SCR_Finalize");
    nothing_is_taken("after SCR_Finalize");
}

static volatile sig_atomic_t signals;

static void count(int signal)
{
    (void) signal;
    signals++;
}

static void limit(void)
{
    const struct rlimit most = { 1 << 20, RLIM_INFINITY };
    struct sigaction action;
    int file;
    check(SCR_Init() == SCR_SUCCESS, "SCR_Init");
    check(setrlimit(RLIMIT_FSIZE, &most) == 0, "setrlimit");
    /* The parity of four files of 1 MiB in one of a set of two is more than 1 MiB. */
    check(checkpoint(1, 1) != SCR_SUCCESS, "a file beyond the limit is no error");
    memset(&action, 0, sizeof action);
    action.sa_handler = count;
    sigaction(SIGXFSZ, &action, NULL);
    check(checkpoint(2, 1) != SCR_SUCCESS, "a file beyond the limit is no error");
    check(signals == 0, "the handler of the program was called for a file of SCR");
    file = open("own", O_RDWR | O_CREAT, 0600);
    check(file > 2 && pwrite(file, "x", 1, 2 << 20) == -1 && errno == EFBIG, "the program's own file");
    check(signals == 1, "the handler of the program was not called for its own file");
    signal(SIGXFSZ, SIG_DFL);
    check(SCR_Finalize() == SCR_SUCCESS || 1, "SCR_Finalize");
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    report = fdopen(fcntl(2, F_DUPFD, 10), "w");
    if (argc == 2 && strcmp(argv[1], "closed") == 0) closed();
    else if (argc == 2 && strcmp(argv[1], "limit") == 0) limit();
    else check(0, "usage");
    if (rank == 0) fprintf(report, "ok: %s\n", argv[1]);
    fflush(report);
    MPI_Finalize();
    return 0;
}
