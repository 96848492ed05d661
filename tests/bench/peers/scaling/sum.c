// sum.heal by hand with MPI: 100 sums of ROWS million numbers in f64, in 16 lanes, which the order of healc has, too.
//   mpicc -O3 -march=native -o sum sum.c && mpirun -n 2 ./sum 16
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int r, n;
  long N = 1000000L * (argc > 1 ? atoi(argv[1]) : 16);
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  long B = ((N + n - 1) / n + 15) / 16 * 16, lo = r * B, hi = lo + B > N ? N : lo + B, L = hi - lo;
  MPI_Barrier(MPI_COMM_WORLD);
  double t = MPI_Wtime();
  double *x = malloc((size_t)L * 8), s = 0;
  for (long i = 0; i < L; i++) x[i] = (double)((lo + i) % 1000);
  for (int k = 0; k < 100; k++) {
    double lanes[16] = {0}, add = s * 1e-12, part = 0;
    long i = 0;
    for (; i + 16 <= L; i += 16)
      for (int j = 0; j < 16; j++) lanes[j] += x[i + j] + add;
    for (; i < L; i++) part += x[i] + add;
    for (int j = 0; j < 16; j++) part += lanes[j];
    MPI_Allreduce(&part, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  t = MPI_Wtime() - t;
  if (r == 0) printf("%.6f\nrun %.3f ms\n", s, t * 1e3);
  MPI_Finalize();
}
