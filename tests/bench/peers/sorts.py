"""Sorts beside NumPy's: rows of many lengths, rows that are hard to cut, and a few ranks. docs/tuning/sorting.md has the
figures: time of the processor, the least of the turns, and behind it the ratio of the medians.

  python3 sorts.py > sorts.heal && healc compile sorts.heal -o sorts.so --emit so
  python3 sorts.py sorts.so 'sort_f32_*' random,few
"""
import ctypes
import fnmatch
import sys
import time

TYPES = ["f32", "f64", "i32", "i64"]
LENGTHS = [1 << k for k in range(10, 23, 2)]
N = 1 << 20
ALL = 1 << 18  # elements of short rows
RANKS = {"first": (0, 100), "last": (N - 100, 100), "middle": (N // 2, 100), "tenth": (N - N // 10, N // 10)}
SECONDS = 0.5  # for each line
BLOCK = 4e-3  # for each turn


def functions():
    """The functions, by names: kind, type and length."""
    yield "import stats"
    for t in TYPES:
        for n in LENGTHS:
            yield f"pub fn sort_{t}_{n}(x: {t}[{n}]) -> {t}[{n}] = sort(x)"
        for n in [16, 32, 64, 128, 256, 512, 1024]:
            yield f"pub fn rows_{t}_{n}(x: {t}[{ALL // n}, {n}]) -> {t}[{ALL // n}, {n}] = sort(x)"
        yield f"pub fn argsort_{t}_{N}(x: {t}[{N}]) -> i32[{N}] = argsort(x)"
        for name, (first, k) in RANKS.items():
            part = f"[{first}..{first + k}]"
            yield f"pub fn {name}_{t}_{N}(x: {t}[{N}]) -> {t}[{k}] = sort(x){part}"
            yield f"pub fn arg{name}_{t}_{N}(x: {t}[{N}]) -> i32[{k}] = argsort(x){part}"
    for t in TYPES[:2]:
        yield f"pub fn median_{t}_{N}(x: {t}[{N}]) -> {t} = stats.median(x)"


def numbers(np, rng, kind, n, t):
    """A row of n numbers of a kind."""
    i = np.arange(n)
    x = {
        "random": lambda: rng.standard_normal(n) if t[0] == "f" else rng.integers(-2**31, 2**31, n),
        "sorted": lambda: np.sort(rng.standard_normal(n) * 1e6),
        "reversed": lambda: np.sort(rng.standard_normal(n) * 1e6)[::-1],
        "equal": lambda: np.full(n, 3.0),
        "two": lambda: rng.integers(0, 2, n),
        "few": lambda: rng.integers(0, 10, n),
        "hundred": lambda: rng.integers(0, 100, n),
        "saw": lambda: i % 1000,
        "organ": lambda: np.minimum(i, n - i),
        "nearly": lambda: np.where(rng.integers(0, 100, n) == 0, rng.integers(0, n, n), i),
        "special": lambda: np.where(i % 7 == 0, 0.0, np.where(i % 11 == 0, -0.0, np.where(i % 101 == 0, np.nan,
                                                                                       rng.standard_normal(n)))),
    }[kind]()
    return np.ascontiguousarray(x).astype({"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8"}[t])


def peer(np, kind, x):
    """The result to expect, and what NumPy does for it."""
    if kind in ("sort", "rows"):
        return np.sort(x), lambda: np.sort(x)
    if kind == "argsort":
        return np.argsort(x, kind="stable"), lambda: np.argsort(x)
    if kind == "median":
        return np.median(x), lambda: np.median(x)
    args = kind.startswith("arg")
    first, k = RANKS[kind[3:] if args else kind]
    part = slice(first, first + k)
    ends = sorted({first, first + k - 1} - {0, len(x) - 1}) or [first]

    def some():
        if not args:
            return np.sort(np.partition(x, ends)[part])
        at = np.argpartition(x, ends)[part]
        return at[np.argsort(x[at])]

    return (np.argsort(x, kind="stable") if args else np.sort(x))[part], some


def main(library, pattern="*", kinds="random"):
    import numpy as np
    lib = ctypes.CDLL(library)
    lib.sorts_set_threads(1)
    rng = np.random.default_rng(1)
    for line in functions():
        name = line.split("(")[0].split()[-1]
        if not fnmatch.fnmatch(name, pattern) or not hasattr(lib, "sorts_" + name):
            continue
        what, t, n = name.split("_")
        for kind in kinds.split(","):
            x = numbers(np, rng, kind, ALL if what == "rows" else int(n), t)
            x = x.reshape(-1, int(n))
            x = x if what == "rows" else x[0]
            want, theirs = peer(np, what, x)
            out = np.empty_like(want, dtype="i4" if what.startswith("arg") else x.dtype)
            code = getattr(lib, "sorts_" + name)
            args = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data)
            ours = lambda: code(*args)
            begin = time.perf_counter()
            failed = ours()
            same = np.allclose(out, want, rtol=1e-6) if what == "median" else np.array_equal(
                out, want, equal_nan=out.dtype.kind == "f")
            if failed or not same:
                sys.exit(f"{name}, {kind}: wrong")
            repeat = max(1, int(BLOCK / max(time.perf_counter() - begin, 1e-6)))
            theirs()
            times = [], []
            while time.perf_counter() - begin < SECONDS or len(times[0]) < 9:
                for taken, f in zip(times, (ours, theirs)):
                    start = time.process_time_ns()
                    for _ in range(repeat):
                        f()
                    taken.append((time.process_time_ns() - start) / repeat / 1e3)
            a, b = (min(x) for x in times)
            middle = np.median(times[0]) / np.median(times[1])
            print(f"{name:24} {kind:9} {a:10.1f} us, NumPy {b:10.1f} us: {a / b:5.2f} {middle:5.2f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(*sys.argv[1:])
    else:
        print("\n".join(functions()))
