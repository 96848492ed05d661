"""Writes the fixtures of this folder with NumPy 1.24: python3 generate.py (in this folder).

print.npz/.txt   arrays, and how NumPy prints them with floatmode='unique'
"""
import numpy as np

rng = np.random.default_rng(1)
cases = []


def add(a):
    cases.append(np.array(a))


for d in ["f2", "f4", "f8"]:
    f = np.dtype(d).type
    for shape in [(), (1,), (3,), (2, 3), (2, 2, 2), (2, 1, 3, 2), (0,), (2, 0), (30,), (7, 20), (1, 1, 1)]:
        add(rng.standard_normal(shape).astype(d))
        add(np.rint(10 * rng.standard_normal(shape)).astype(d))
    for scale in [1e-7, 1e-5, 1e-4, 1e-3, 1, 1e3, 1e4, 1e7, 1e8, 1e9, 1e15, 1e16, 1e17, 1e30]:
        with np.errstate(all="ignore"):
            add(f(scale))
            add(np.array([scale, 2.5 * scale, -scale / 3]).astype(d))
            add((scale * rng.standard_normal(5)).astype(d))
    add(np.array([1, 1000], d))
    add(np.array([1, 1001], d))
    add(np.array([1, 1024.5], d))
    add(np.array([np.nan, 1, -2.25], d))
    add(np.array([np.nan, np.nan], d))
    add(np.array([np.inf, -np.inf, 1], d))
    add(np.array([np.inf, 1.5, 10], d))
    add(np.array([np.inf, np.nan], d))
    add(np.array([-np.inf, 1e-9, 1], d))
    add(np.array([0, -0.0, 0.0], d))
    for v in [np.nan, np.inf, -np.inf, 0.0, -0.0, 1 / 3, 0.1, -2.5, 100, 12345.678, 65504, 6e-8]:
        add(f(v))
    info = np.finfo(d)
    add(np.array([info.max, info.min, info.tiny, info.smallest_subnormal], d))
    add(info.max)
    add(info.smallest_subnormal)
    add(np.arange(1001).astype(d))
    add(np.arange(1000).astype(d))
    add(rng.standard_normal((40, 40)).astype(d))
    add(rng.standard_normal((3, 400)).astype(d))
    add(rng.standard_normal((11, 12, 13)).astype(d))
    add(rng.standard_normal((2000, 1)).astype(d))
for d in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]:
    info = np.iinfo(d)
    add(np.array([info.min, info.max], d))
    add(d == "u8" and np.uint64(info.max) or np.dtype(d).type(info.max))
    add(rng.integers(info.min, info.max, (5, 6), d, endpoint=True))
    add(rng.integers(info.min, info.max, (40, 50), d, endpoint=True))
    add(np.arange(100).astype(d).reshape(2, 5, 10))
    add(np.zeros((0, 3), d))
add(np.arange(1001).reshape(7, 11, 13))
for shape in [(), (1,), (2, 3), (40,), (40, 50), (0,)]:
    add(rng.integers(0, 2, shape).astype(bool))
add(np.ones(3, bool))

np.set_printoptions(floatmode="unique")
with open("print.txt", "w") as out:
    for i, a in enumerate(cases):
        text = str(a) if a.ndim else str(a[()])
        if a.dtype == bool:
            text = text.lower()  # the language spells true and false
        out.write(f"== {i}\n{text}\n")
np.savez_compressed("print.npz", **{str(i): a for i, a in enumerate(cases)})
