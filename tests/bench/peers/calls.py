"""What it costs to call a function on 64 elements: a * x + y in f32, from C and from Python, beside NumPy, numba,
PyTorch and C by hand, of which those are measured that are installed, as is tvm-ffi.

    healc compile tests/bench/peers/calls.heal --emit so,header,python --tvm-ffi --cpu native -o FOLDER/calls.so
    python3 tests/bench/peers/calls.py FOLDER

All take turns; shown is the least time of all turns, in nanoseconds. Results are compared first. It needs cc.
From Go: go test ./tests/bench -run '^$' -bench SmallCall.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import timeit

import numpy as np

ELEMENTS, TURNS = 64, 60

BY_HAND = """
#include <stdint.h>
void by_hand(int64_t n, float a, const float *x, const float *y, float *z) {
  for (int64_t i = 0; i < n; i++) z[i] = a * x[i] + y[i];
}
"""

LOOP = """
#include "calls.h"
#include <time.h>
void by_hand(int64_t n, float a, const float *x, const float *y, float *z);
typedef struct { int32_t type, zero; union { int64_t i; double f; void *p; }; } any;
typedef struct {
  void *data; int32_t device, number, ndim; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides; uint64_t offset;
} dltensor;
int __tvm_ffi_axpy(void *self, const any *args, int32_t n, any *result);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}

double loop(int what, int times, int64_t n, float a, float *x, float *y, float *z) {
  heal_tensor in[3] = {{&a}, {x, &n}, {y, &n}}, out[1] = {{z, &n}};
  dltensor d[3] = {{x, 1, 0, 1, 2, 32, 1, &n}, {y, 1, 0, 1, 2, 32, 1, &n}, {z, 1, 0, 1, 2, 32, 1, &n}};
  any args[4] = {{3, 0, {.f = a}}, {7, 0, {.p = d}}, {7, 0, {.p = d + 1}}, {7, 0, {.p = d + 2}}}, result;
  double start = now();
  int failed = 0;
  for (int i = 0; i < times; i++) switch (what) {
    case 0: by_hand(n, a, x, y, z); break;
    case 1: failed |= calls_axpy(n, a, x, y, z); break;
    case 2: failed |= calls_axpy_tensors(in, out); break;
    case 3: failed |= __tvm_ffi_axpy(0, args, 4, &result); break;
  }
  return failed ? -1 : (now() - start) / times;
}
"""


def from_c(folder, x, y, z):
    """The contenders of C: by what they are called, and functions that give nanoseconds of a call."""
    with tempfile.TemporaryDirectory() as work:
        for name, text in ("by_hand.c", BY_HAND), ("loop.c", LOOP):
            with open(os.path.join(work, name), "w") as f:
                f.write(text)
        out = os.path.join(work, "loop.so")
        subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-I", folder, os.path.join(work, "by_hand.c"),
                        os.path.join(work, "loop.c"), os.path.join(folder, "libcalls.so"), "-Wl,-rpath," + folder,
                        "-o", out], check=True)
        loop = ctypes.CDLL(out).loop
    loop.restype = ctypes.c_double
    arrays = [ctypes.c_void_p(v.ctypes.data) for v in (x, y, z)]

    def contender(what):
        return lambda: loop(what, 20000, ctypes.c_int64(ELEMENTS), ctypes.c_float(2), *arrays)

    names = ["C by hand (cc -O3 -march=native)", "`calls_axpy`", "`calls_axpy_tensors`", "`__tvm_ffi_axpy`"]
    return [("C", name, contender(i)) for i, name in enumerate(names)]


def main(folder):
    sys.path.insert(0, folder)
    import calls

    rng = np.random.default_rng(1)
    x, y, z = (rng.standard_normal(ELEMENTS).astype(np.float32) for _ in range(3))
    a, times = np.float32(2), 2000
    want = a * x + y
    rows = from_c(os.path.abspath(folder), x, y, z)
    seen = {}

    def python(name, call, got):
        call()
        assert np.array_equal(np.asarray(got()), want), name
        seen[name] = call
        rows.append(("Python", name, lambda: timeit.timeit(call, number=times) / times * 1e9))

    python("healc's module, `out=`", lambda: calls.axpy(2.0, x, y, out=z), lambda: z)
    python("healc's module", lambda: calls.axpy(2.0, x, y), lambda: calls.axpy(2.0, x, y))
    python("NumPy, `out=` twice", lambda: np.add(np.multiply(x, a, out=z), y, out=z), lambda: z)
    python("NumPy, `a * x + y`", lambda: a * x + y, lambda: a * x + y)
    try:
        import numba

        @numba.njit
        def jitted(a, x, y, z):
            for i in range(x.shape[0]):
                z[i] = a * x[i] + y[i]

        python("numba, into an array", lambda: jitted(a, x, y, z), lambda: z)
    except ImportError:
        pass
    try:
        import torch

        tx, ty, tz = (torch.from_numpy(v) for v in (x, y, z))
        python("PyTorch, `torch.add(y, x, alpha=a, out=z)`", lambda: torch.add(ty, tx, alpha=2, out=tz), lambda: tz)
        python("PyTorch, `a * x + y`", lambda: 2.0 * tx + ty, lambda: 2.0 * tx + ty)
        python("healc's module, tensors of PyTorch, `out=`", lambda: calls.axpy(2.0, tx, ty, out=tz), lambda: tz)
        import tvm_ffi

        axpy = tvm_ffi.load_module(os.path.join(folder, "libcalls.so")).axpy
        python("tvm-ffi, tensors of PyTorch, into one", lambda: axpy(2.0, tx, ty, tz), lambda: tz)
        python("tvm-ffi, tensors of PyTorch", lambda: axpy(2.0, tx, ty), lambda: axpy(2.0, tx, ty))
    except ImportError:
        pass
    least = [float("inf")] * len(rows)
    for turn in range(TURNS):
        for k in range(len(rows)):
            k = (k + turn) % len(rows)
            took = rows[k][2]()
            assert took >= 0, rows[k][1]
            least[k] = min(least[k], took)
    print("| from | by | nanoseconds |\n|---|---|---:|")
    for (language, name, _), took in zip(rows, least):
        print("| %s | %s | %.3g |" % (language, name, took))


if __name__ == "__main__":
    main(*sys.argv[1:])
