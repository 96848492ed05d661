"""Writes arrays and what NumPy prints of them, for TestFormatLikeNumPy.

    python3 generate.py            print.safetensors.gz and print.txt.gz of this folder
    python3 generate.py N SEED     N random arrays in their place: run the test, then check out the files

print.txt.gz has what str() gives with floatmode='unique', below a line with the name of each array; bools are spelt as in
the language. It was written by NumPy 2.2.4, in which an f32 is compared with 0.0001 as an f32; 1.24 does that as an f64.
"""
import gzip
import json
import struct
import sys

import numpy as np

FLOATS = ["f2", "f4", "f8"]
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
cases = []


def add(a, dtype=None):
    with np.errstate(all="ignore"):
        cases.append(np.array(a, dtype) if dtype is None else np.array(a).astype(dtype))


def hidden(a):
    """a, with what the printing leaves out as a number that would change the widths if it were looked at."""
    if a.size > 1000 and a.dtype != bool:
        inside = tuple(slice(3, -3) if n > 6 else slice(None) for n in a.shape)
        shown = np.zeros(a.shape, bool)
        for index in np.ndindex(*(min(n, 6) for n in a.shape)):
            shown[tuple(i if i < 3 or n <= 6 else n - 6 + i for i, n in zip(index, a.shape))] = True
        a = np.where(shown, a, np.array(6e4 if a.dtype.kind == "f" else np.iinfo(a.dtype).max).astype(a.dtype))
    return a


def fixed():
    rng = np.random.default_rng(1)
    for d in FLOATS:
        for shape in [(), (1,), (3,), (2, 3), (2, 2, 2), (2, 1, 3, 2), (1, 2, 1, 2, 3), (0,), (2, 0), (0, 3, 1, 2, 2),
                      (30,), (7, 20), (1, 1, 1)]:
            add(rng.standard_normal(shape), d)
            add(np.rint(10 * rng.standard_normal(shape)), d)
        for scale in [1e-7, 1e-5, 1e-4, 1e-3, 1, 1e3, 1e4, 1e7, 1e8, 1e9, 1e15, 1e16, 1e17, 1e30]:
            add(scale, d)
            add([scale, 2.5 * scale, -scale / 3], d)
            add(scale * rng.standard_normal(5), d)
        for values in [[1, 1000], [1, 1001], [1, 1024.5], [1e-4, 2e-4], [1e-4], [9e-5, 1], [1e8], [99999999, 1],
                       [np.nan, 1, -2.25], [np.nan, np.nan], [np.inf, -np.inf, 1], [np.inf, 1.5, 10], [np.inf, np.nan],
                       [-np.inf, 1e-9, 1], [-np.inf, 5], [0, -0.0, 0.0], [-0.0]]:
            add(values, d)
        for v in [np.nan, np.inf, -np.inf, 0.0, -0.0, 1 / 3, 0.1, -2.5, 100, 12345.678, 65504, 6e-8]:
            add(v, d)
        for power in [-12, -24, -25, 11, 24, 54, 60]:  # between two decimals of the fewest digits, or the ends of a range
            add(2.0**power, d)
            add([-(2.0**power), 2.0**power * 3], d)
        info = np.finfo(d)
        add([info.max, info.min, info.tiny, info.smallest_subnormal], d)
        add([info.smallest_subnormal * 3, -info.tiny / 2], d)
        add(info.max, d)
        add(info.smallest_subnormal, d)
        add(np.arange(1000), d)
        for shape in [(1001,), (40, 40), (3, 400), (6, 200), (11, 12, 13), (2000, 1), (2, 7, 3, 5, 7)]:
            add(hidden(rng.standard_normal(shape).astype(d)))
    for d in INTEGERS:
        info = np.iinfo(d)
        add([info.min, info.max], d)
        add(info.max, d)
        add(info.min, d)
        add(rng.integers(info.min, info.max, (5, 6), d, endpoint=True))
        add(hidden(rng.integers(info.min, info.max, (40, 50), d, endpoint=True)))
        add(np.arange(100).reshape(2, 5, 10), d)
        add(np.arange(48).reshape(2, 3, 2, 1, 4), d)
        add(np.zeros((0, 3)), d)
    for digits in range(1, 19):  # lines that are just full, and words longer than what is left of one
        add(np.full(80 // digits + 2, 10**digits - 1))
        add(np.full((2, 1, 76 // (digits + 1)), -(10 ** (digits - 1))))
    add(hidden(np.arange(1001).reshape(7, 11, 13)))
    for shape in [(), (1,), (2, 3), (40,), (2, 1, 1, 2, 2), (40, 50), (0,)]:
        add(rng.integers(0, 2, shape).astype(bool))
    add(np.ones(3, bool))
    add(np.ones((1, 14), bool))


def random_shape(rng):
    sizes = [(), (rng.integers(1, 4),), (rng.integers(1, 60),), rng.integers(1, 8, 2), rng.integers(1, 60, 2),
             (rng.integers(1, 4), rng.integers(5, 40)), rng.integers(1, 4, 3), rng.integers(1, 4, 4),
             rng.integers(1, 3, 5), rng.integers(1, 14, 3), (rng.integers(995, 1020),), rng.integers(0, 2, 4)]
    return tuple(int(n) for n in sizes[rng.integers(0, len(sizes))])


def random_floats(rng, d, s):
    x = rng.standard_normal(s)
    x = [lambda: x,
         lambda: np.rint(x * 10.0 ** rng.integers(0, 6)),
         lambda: x * 10.0 ** rng.integers(-9, 20),
         lambda: x * 10.0 ** rng.integers(-9, 18, s),
         lambda: np.round(x, int(rng.integers(0, 6))),
         lambda: rng.integers(0, 256, (*s, np.dtype(d).itemsize), "u1").view(d).reshape(s),
         lambda: np.abs(np.rint(x * 3)) * 10.0 ** rng.integers(-5, 9),
         lambda: np.ldexp(np.sign(x), rng.integers(-30, 30, s))][rng.integers(0, 8)]()
    with np.errstate(all="ignore"):
        x = np.array(x).astype(d).reshape(-1)
    if x.size and rng.integers(0, 4) == 0:
        x[rng.integers(0, x.size, 3)] = [[np.nan, np.inf, -np.inf, -0.0][rng.integers(0, 4)] for _ in range(3)]
    return x.reshape(s)


def random(n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        s, kind = random_shape(rng), rng.integers(0, 10)
        if kind < 6:
            add(hidden(random_floats(rng, FLOATS[rng.integers(0, 3)], s)))
        elif kind < 9:
            d = INTEGERS[rng.integers(0, 8)]
            info = np.iinfo(d)
            x = np.array(rng.integers(info.min, info.max, s, d, endpoint=True))
            add(hidden(x >> np.array(rng.integers(0, info.bits), d)))
        else:
            add(rng.integers(0, 2, s), bool)


def compressed(name, data):
    with open(name, "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as z:
        z.write(data)


def write():
    kinds = {"b": "BOOL", "f": "F", "i": "I", "u": "U"}
    header, data, text = {}, bytearray(), []
    for i, a in enumerate(cases):
        name = kinds[a.dtype.kind] + ("" if a.dtype == bool else str(8 * a.dtype.itemsize))
        header[str(i)] = {"dtype": name, "shape": a.shape, "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
        shown = str(a) if a.ndim else str(a[()])
        text.append(f"== {i}\n{shown.lower() if a.dtype == bool else shown}\n")
    head = json.dumps(header).encode()
    compressed("print.safetensors.gz", struct.pack("<Q", len(head)) + head + data)
    compressed("print.txt.gz", "".join(text).encode())


np.set_printoptions(floatmode="unique")
if len(sys.argv) > 1:
    random(int(sys.argv[1]), int(sys.argv[2]))
else:
    fixed()
    random(60, 2)
write()
