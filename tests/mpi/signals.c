/* Signals that ask a run to stop.

   Usage: signals off|own|term
     off   no parameter is set: SCR touches no signal, and the program ends
     own   the program handles SIGUSR1 itself, without SA_SIGINFO, and SIGUSR2 with it
     term  it handles none: SIGTERM must not end it

   With own and term it says "ready" and goes on until SCR_Should_exit says yes. */

#include <mpi.h>
#include <scr.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failures, rank, ranks;
static volatile sig_atomic_t plain, informed, sender;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "rank %d, line %d: not so: %s\n", rank, __LINE__, #condition);     \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
enum { COUNT = sizeof signals / sizeof signals[0] };

static void on_plain(int signal)
{
    (void)signal;
    plain++;
}

static void on_informed(int signal, siginfo_t* info, void* context)
{
    (void)signal;
    (void)context;
    informed++;
    sender = info->si_pid;
}

static void look(struct sigaction* found)
{
    for (int i = 0; i < COUNT; i++) CHECK(sigaction(signals[i], NULL, &found[i]) == 0);
}

static int same(const struct sigaction* a, const struct sigaction* b)
{
    const int flags = SA_SIGINFO | SA_RESTART | SA_NODEFER | SA_ONSTACK;
    return a->sa_handler == b->sa_handler && (a->sa_flags & flags) == (b->sa_flags & flags);
}

/* True on all ranks, or on none. */
static int asked_to_stop(void)
{
    int stop = -1, need = -1, low, high;
    CHECK(SCR_Should_exit(&stop) == SCR_SUCCESS);
    MPI_Allreduce(&stop, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&stop, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(low == high);
    CHECK(SCR_Need_checkpoint(&need) == SCR_SUCCESS);
    CHECK(need >= stop);
    return high;
}

int main(int argc, char** argv)
{
    const char* mode = argc > 1 ? argv[1] : "";
    struct sigaction before[COUNT], during[COUNT], after[COUNT];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(mode, "own") == 0) {
        struct sigaction own;
        memset(&own, 0, sizeof own);
        own.sa_handler = on_plain;
        CHECK(sigaction(SIGUSR1, &own, NULL) == 0);
        own.sa_sigaction = on_informed;
        own.sa_flags = SA_SIGINFO | SA_RESTART;
        CHECK(sigaction(SIGUSR2, &own, NULL) == 0);
    }

    /* Twice, as the second must know nothing of the signal of the first. */
    for (int run = 0; run < 2; run++) {
        look(before);
        CHECK(SCR_Init() == SCR_SUCCESS);
        look(during);
        CHECK(!asked_to_stop());
        if (strcmp(mode, "off") != 0 && run == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) {
                printf("signals: ready\n");
                fflush(stdout);
            }
            while (!asked_to_stop()) usleep(1000);
            /* It stays so. */
            CHECK(asked_to_stop());
            if (strcmp(mode, "own") == 0) {
                int calls = plain + 10 * informed, all;
                CHECK(informed == 0 || sender > 0);
                MPI_Allreduce(&calls, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
                CHECK(all == 1 || all == 10);
            }
        }
        CHECK(SCR_Finalize() == SCR_SUCCESS);
        look(after);
        for (int i = 0; i < COUNT; i++) {
            CHECK(same(&before[i], &after[i]));
            if (strcmp(mode, "off") == 0) CHECK(same(&before[i], &during[i]));
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && failures == 0) printf("signals: stopped\n");
    MPI_Finalize();
    return failures != 0;
}
