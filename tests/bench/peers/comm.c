// What a communicator of runtime/cluster does, by hand: the same calls of MPI, and a loop over a socket.
//   mpicc -O2 -o comm comm.c && mpirun -n 2 ./comm
// tests/bench/ranks loads it as a library, so that both take turns in the same processes, with the same memory.
#ifndef NO_MPI
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// exchange makes so many calls on messages of this many bytes to each rank, and returns the seconds of one.
double exchange(int what, long bytes, int times, char *send, char *recv) {
  int r, n, b = (int)bytes;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Barrier(MPI_COMM_WORLD);
  double t = MPI_Wtime();
  for (int i = 0; i < times; i++) {
    if (what == 0)
      MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, recv, b, MPI_BYTE, MPI_COMM_WORLD);
    else if (what == 1)
      MPI_Alltoall(send, b, MPI_BYTE, recv, b, MPI_BYTE, MPI_COMM_WORLD);
    else
      MPI_Sendrecv(send, b, MPI_BYTE, (r + 1) % n, 1, recv, b, MPI_BYTE, (r + n - 1) % n, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
  }
  return (MPI_Wtime() - t) / times;
}

static int less(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int c, char **v) {
  MPI_Init(&c, &v);
  int r, n;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  const char *names[] = {"all-gather", "all-to-all", "send-receive"};
  for (int what = 0; what < 3; what++)
    for (long bytes = 8; bytes <= 64 << 20; bytes *= 8) {
      char *send = malloc(n * bytes), *recv = malloc(n * bytes);
      memset(send, 1, n * bytes), memset(recv, 2, n * bytes);
      double took[9];
      int times = bytes <= 4096 ? 500 : bytes <= 1 << 18 ? 50 : bytes <= 1 << 21 ? 5 : 1;
      for (int i = 0; i < 9; i++) took[i] = exchange(what, bytes, times, send, recv);
      qsort(took, 9, sizeof *took, less);
      if (r == 0) printf("%s of %ld bytes: %.2f us\n", names[what], bytes, took[4] * 1e6);
      free(send), free(recv);
    }
  MPI_Finalize();
}
#else
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

// sockets sends and receives this many bytes so many times over a socket that does not block, and returns the seconds
// of one exchange, or -1.
double sockets(int fd, long bytes, int times, char *send_, char *recv_) {
  double t = now();
  for (int i = 0; i < times; i++) {
    long out = 0, in = 0;
    while (out < bytes || in < bytes) {
      long k = out < bytes ? send(fd, send_ + out, bytes - out, MSG_NOSIGNAL) : 0;
      long m = in < bytes ? recv(fd, recv_ + in, bytes - in, 0) : 0;
      if ((k < 0 && errno != EAGAIN) || (m < 0 && errno != EAGAIN)) return -1;
      if (k > 0) out += k;
      if (m > 0) in += m;
      if (k > 0 || m > 0) continue;
      struct pollfd p = {fd, (out < bytes ? POLLOUT : 0) | (in < bytes ? POLLIN : 0), 0};
      poll(&p, 1, -1);
    }
  }
  return (now() - t) / times;
}
#endif
