/* limits.c - what the hardware can do for the same bytes, with as many ranks at once.
 *
 * Usage: limits BYTES DIRECTORY [MESSAGE [WINDOW]]
 *
 * Every rank moves BYTES: a copy in memory, a new file in DIRECTORY, the file read back,
 * the same file overwritten, and BYTES sent around a ring in messages of MESSAGE
 * bytes (1 MiB) with WINDOW of them in flight (8). Each figure is the maximum over ranks,
 * the median of five rounds, in seconds, printed as one line of name=value.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <mpi.h>

enum { ROUNDS = 5, BLOCK = 1 << 20, MAX_WINDOW = 64 };

static int rank, ranks;

static void die(const char* what)
{
  perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double slowest(double seconds)
{
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

static int ascending(const void* a, const void* b)
{
  double x = *(const double*) a, y = *(const double*) b;
  return (x > y) - (x < y);
}

static void report(const char* name, double* seconds)
{
  qsort(seconds, ROUNDS, sizeof(double), ascending);
  if (rank == 0) printf(" %s=%.6f", name, seconds[ROUNDS / 2]);
}

/* Writes or reads the whole file in blocks of a warm buffer. */
static void pass(int fd, char* buffer, size_t bytes, int writing)
{
  for (size_t done = 0; done < bytes;) {
    size_t want = bytes - done < BLOCK ? bytes - done : BLOCK;
    ssize_t got = writing ? write(fd, buffer, want) : read(fd, buffer, want);
    if (got <= 0) die("file");
    done += (size_t) got;
  }
}

static void ring(size_t bytes, char* out, char* in, size_t message, int window)
{
  int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  MPI_Request send[MAX_WINDOW], receive[MAX_WINDOW];
  size_t pieces = (bytes + message - 1) / message;
  for (size_t piece = 0; piece < pieces + (size_t) window; piece++) {
    int slot = (int) (piece % (size_t) window);
    if (piece >= (size_t) window) {
      MPI_Wait(&receive[slot], MPI_STATUS_IGNORE);
      MPI_Wait(&send[slot], MPI_STATUS_IGNORE);
    }
    if (piece < pieces) {
      size_t offset = (size_t) slot * message;
      MPI_Irecv(in + offset, (int) message, MPI_BYTE, left, 0, MPI_COMM_WORLD, &receive[slot]);
      MPI_Isend(out + offset, (int) message, MPI_BYTE, right, 0, MPI_COMM_WORLD, &send[slot]);
    }
  }
}

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) {
    if (rank == 0) fprintf(stderr, "usage: limits BYTES DIRECTORY [MESSAGE [WINDOW]]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  size_t bytes = strtoull(argv[1], NULL, 10);
  size_t message = argc > 3 ? strtoull(argv[3], NULL, 10) : 1 << 20;
  int window = argc > 4 ? atoi(argv[4]) : 8;
  if (bytes == 0 || message == 0 || window < 1 || window > MAX_WINDOW) {
    if (rank == 0) fprintf(stderr, "limits: BYTES and MESSAGE > 0, WINDOW 1 to %d\n", MAX_WINDOW);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }

  char path[4096];
  snprintf(path, sizeof(path), "%s/limits.%d", argv[2], rank);
  char* from = malloc(bytes + BLOCK);
  char* to = malloc(bytes + BLOCK);
  char* out = malloc(message * (size_t) window);
  char* in = malloc(message * (size_t) window);
  if (!from || !to || !out || !in) die("malloc");
  memset(from, 1, bytes + BLOCK);
  memset(to, 2, bytes + BLOCK);
  memset(out, 3, message * (size_t) window);
  memset(in, 4, message * (size_t) window);

  double copy[ROUNDS], create[ROUNDS], overwrite[ROUNDS], readback[ROUNDS], sent[ROUNDS];
  double one[ROUNDS], barrier[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    memcpy(to, from, bytes);
    copy[round] = slowest(MPI_Wtime() - start);

    /* Read before it is overwritten: the first read of a new file, as a library's is, costs
     * more than later ones. */
    unlink(path);
    for (int step = 0; step < 3; step++) {
      double* took = step == 0 ? create : step == 1 ? readback : overwrite;
      MPI_Barrier(MPI_COMM_WORLD);
      start = MPI_Wtime();
      int fd = open(path, step == 1 ? O_RDONLY : O_WRONLY | O_CREAT, 0600);
      if (fd < 0) die(path);
      pass(fd, step == 1 ? to : from, bytes, step != 1);
      close(fd);
      took[round] = slowest(MPI_Wtime() - start);
    }

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    ring(bytes, out, in, message, window);
    sent[round] = slowest(MPI_Wtime() - start);

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    ring(bytes, out, in, message, 1);
    one[round] = slowest(MPI_Wtime() - start);

    start = MPI_Wtime();
    for (int i = 0; i < 20; i++) MPI_Barrier(MPI_COMM_WORLD);
    barrier[round] = slowest((MPI_Wtime() - start) / 20);
  }
  unlink(path);
  if (rank == 0) printf("limits n=%d bytes=%zu message=%zu window=%d", ranks, bytes, message, window);
  report("memcpy", copy);
  report("create", create);
  report("overwrite", overwrite);
  report("read", readback);
  report("ring", sent);
  report("ring_single", one);
  report("barrier", barrier);
  if (rank == 0) printf("\n");
  MPI_Finalize();
  return 0;
}
