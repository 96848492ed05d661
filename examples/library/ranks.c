/* Uses a function of examples/cluster/heat.heal from a program with MPI. Each rank has its rows of the plate, as many as
   the library says, and healc's code exchanges what lies with neighbours:

     healc compile examples/cluster/heat.heal --entry heat --ranks 2,3 --shape N=256 --shape M=192
     mpicc -I. examples/library/ranks.c ./heat.so -o ranks && LD_LIBRARY_PATH=. mpirun -n 3 ./ranks

   Prints the same on 1, 2 and 3 ranks, to the last bit. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "heat.h"

enum { ROWS = 256, COLS = 192, STEPS = 40 };

int main(int argc, char **argv) {
  int provided, rank, ranks, r, i, k;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (heat_set_mpi(MPI_COMM_WORLD) != HEAL_OK) {
    if (rank == 0) fprintf(stderr, "%s\n", heat_last_error());
    MPI_Finalize();
    return 1;
  }

  int64_t first, rows = heat_block_of(ROWS, rank, ranks, &first);
  double *plate = malloc((size_t)(rows * COLS + 1) * 8), *after = malloc((size_t)(rows * COLS + 1) * 8);
  for (i = 0; i < rows; i++)
    for (k = 0; k < COLS; k++) plate[i * COLS + k] = first + i == 0 ? 100 : 0;

  /* A failure on any rank ends all, by MPI_Abort with its message. */
  heat_heat(plate, STEPS, after);

  /* The bits of all points, whichever rank has them. */
  int counts[128], offsets[128];
  for (r = 0; r < ranks; r++) {
    int64_t begin, n = heat_block_of(ROWS, r, ranks, &begin);
    counts[r] = (int)n * COLS;
    offsets[r] = (int)begin * COLS;
  }
  double *all = malloc(ROWS * COLS * 8);
  MPI_Gatherv(after, counts[rank], MPI_DOUBLE, all, counts, offsets, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    uint64_t hash = 14695981039346656037u;
    for (i = 0; i < ROWS * COLS * 8; i++) hash = (hash ^ ((unsigned char *)all)[i]) * 1099511628211u;
    printf("the middle of row 8: %.17g, all bits: %016llx\n", all[8 * COLS + COLS / 2], (unsigned long long)hash);
  }
  free(plate);
  free(after);
  free(all);
  MPI_Finalize();
  return 0;
}
