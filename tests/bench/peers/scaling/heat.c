// heat.heal by hand with MPI: 50 steps on ROWS x 4000 points in f64. Prints the sum of all points, and how long it
// took to make them and to step.
//   mpicc -O3 -march=native -o heat heat.c && mpirun -n 2 ./heat 4000
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#define M 4000
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int r, n, N = argc > 1 ? atoi(argv[1]) : 4000;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  int B = (N + n - 1) / n, lo = r * B, hi = lo + B > N ? N : lo + B, L = hi - lo;
  MPI_Barrier(MPI_COMM_WORLD);
  double t = MPI_Wtime();
  double *u = calloc((size_t)(L + 2) * M, 8), *w = calloc((size_t)(L + 2) * M, 8);
  for (size_t i = 0; i < (size_t)(L + 2) * M; i++) u[i] = w[i] = 0; // touched, so that the steps meet no new page
  if (r == 0)
    for (int j = 0; j < M; j++) u[M + j] = w[M + j] = 100;
  int up = r > 0 ? r - 1 : MPI_PROC_NULL, down = r < n - 1 ? r + 1 : MPI_PROC_NULL;
  for (int s = 0; s < 50; s++) {
    MPI_Sendrecv(u + M, M, MPI_DOUBLE, up, 0, u + (size_t)(L + 1) * M, M, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(u + (size_t)L * M, M, MPI_DOUBLE, down, 1, u, M, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    int a = lo == 0 ? 2 : 1, b = hi == N ? L - 1 : L;
    for (int i = a; i <= b; i++) {
      double *restrict o = w + (size_t)i * M;
      const double *restrict x = u + (size_t)i * M;
      for (int j = 1; j < M - 1; j++) o[j] = 0.25 * (x[j - M] + x[j + M] + x[j - 1] + x[j + 1]);
      o[0] = x[0];
      o[M - 1] = x[M - 1];
    }
    double *q = u;
    u = w;
    w = q;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  t = MPI_Wtime() - t;
  double sum = 0, all;
  for (int i = 1; i <= L; i++)
    for (int j = 0; j < M; j++) sum += u[(size_t)i * M + j];
  MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (r == 0) printf("%.6f\nrun %.3f ms\n", all, t * 1e3);
  MPI_Finalize();
}
