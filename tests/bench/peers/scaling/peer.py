"""heat.heal and sum.heal with mpi4py and NumPy: `mpirun -n 2 python3 peer.py heat 4000`, `... sum 16`."""
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size


def block(n):
    b = -(-n // ranks)
    return rank * b, min(rank * b + b, n)


def heat(rows, cols=4000):
    lo, hi = block(rows)
    comm.Barrier()
    start = MPI.Wtime()
    u = np.zeros((hi - lo + 2, cols))
    if rank == 0:
        u[1] = 100
    w, t = u.copy(), np.zeros((hi - lo, cols - 2))
    up = rank - 1 if rank else MPI.PROC_NULL
    down = rank + 1 if rank + 1 < ranks else MPI.PROC_NULL
    a, b = 2 if rank == 0 else 1, hi - lo if rank + 1 == ranks else hi - lo + 1
    for _ in range(50):
        comm.Sendrecv(u[1], up, 0, u[-1], down, 0)
        comm.Sendrecv(u[-2], down, 1, u[0], up, 1)
        v = t[: b - a]
        np.add(u[a - 1 : b - 1, 1:-1], u[a + 1 : b + 1, 1:-1], out=v)
        v += u[a:b, :-2]
        v += u[a:b, 2:]
        np.multiply(v, 0.25, out=w[a:b, 1:-1])
        u, w = w, u
    comm.Barrier()
    return comm.allreduce(u[1:-1].sum()), MPI.Wtime() - start


def sums(millions):
    lo, hi = block(millions * 1000000)
    comm.Barrier()
    start = MPI.Wtime()
    x = (np.arange(lo, hi) % 1000).astype(np.float64)
    s, y = 0.0, np.zeros_like(x)
    for _ in range(100):
        s = comm.allreduce(np.add(x, s * 1e-12, out=y).sum())
    return s, MPI.Wtime() - start


value, took = {"heat": heat, "sum": sums}[sys.argv[1]](int(sys.argv[2]))
if rank == 0:
    print(f"{value:.6f}\nrun {took * 1e3:.3f} ms")
