// heat.heal and sum.heal with PETSc's distributed arrays and vectors.
//   mpicc -O3 -march=native $(pkg-config --cflags PETSc) petsc.c -o petsc $(pkg-config --libs PETSc)
//   mpirun -n 2 ./petsc heat 4000; mpirun -n 2 ./petsc sum 16
#include <petscdmda.h>
#include <petscvec.h>
#include <string.h>

static PetscErrorCode heat(PetscInt rows, double *value, double *took) {
  const PetscInt cols = 4000;
  DM da;
  Vec u, w, local;
  PetscInt y, n;
  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, cols, rows, 1,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  *took = MPI_Wtime();
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &w));
  PetscCall(DMCreateLocalVector(da, &local));
  PetscCall(DMDAGetCorners(da, NULL, &y, NULL, NULL, &n, NULL));
  PetscCall(VecSet(u, 0));
  PetscScalar **a, **b;
  PetscCall(DMDAVecGetArray(da, u, &a));
  if (y == 0)
    for (PetscInt j = 0; j < cols; j++) a[0][j] = 100;
  PetscCall(DMDAVecRestoreArray(da, u, &a));
  PetscCall(VecCopy(u, w));
  for (int s = 0; s < 50; s++) {
    PetscCall(DMGlobalToLocal(da, u, INSERT_VALUES, local));
    PetscCall(DMDAVecGetArrayRead(da, local, &a));
    PetscCall(DMDAVecGetArray(da, w, &b));
    for (PetscInt i = y == 0 ? 1 : y; i < (y + n == rows ? rows - 1 : y + n); i++) {
      PetscScalar *restrict o = b[i];
      const PetscScalar *restrict x = a[i], *restrict above = a[i - 1], *restrict below = a[i + 1];
      for (PetscInt j = 1; j < cols - 1; j++) o[j] = 0.25 * (above[j] + below[j] + x[j - 1] + x[j + 1]);
    }
    PetscCall(DMDAVecRestoreArray(da, w, &b));
    PetscCall(DMDAVecRestoreArrayRead(da, local, &a));
    Vec q = u;
    u = w;
    w = q;
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  *took = MPI_Wtime() - *took;
  PetscCall(VecSum(u, value));
  PetscFunctionReturn(0);
}

static PetscErrorCode sums(PetscInt millions, double *value, double *took) {
  Vec x, y;
  PetscInt lo, hi;
  PetscScalar *a;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  *took = MPI_Wtime();
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, millions * 1000000, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(y, 0));
  PetscCall(VecGetOwnershipRange(x, &lo, &hi));
  PetscCall(VecGetArray(x, &a));
  for (PetscInt i = lo; i < hi; i++) a[i - lo] = i % 1000;
  PetscCall(VecRestoreArray(x, &a));
  *value = 0;
  for (int k = 0; k < 100; k++) {
    PetscCall(VecCopy(x, y));
    PetscCall(VecShift(y, *value * 1e-12));
    PetscCall(VecSum(y, value));
  }
  *took = MPI_Wtime() - *took;
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  double value, took;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  int n = argc > 2 ? atoi(argv[2]) : 1;
  PetscCall(argc > 1 && !strcmp(argv[1], "sum") ? sums(n, &value, &took) : heat(n, &value, &took));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.6f\nrun %.3f ms\n", value, took * 1e3));
  return PetscFinalize();
}
