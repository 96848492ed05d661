#!/usr/bin/env python3
"""Writes the archives whose expectations NumPy computes: python3 tests/run/expect.py

The order of section 9 of the language and the exact values of the transcendental functions are written
down here a second time, from the manual, without a look at the compiler. Needs python3-numpy; the tests do
not need this script, only its results.
"""
from decimal import Decimal, getcontext
from fractions import Fraction
from pathlib import Path

import numpy as np

getcontext().prec = 80
np.seterr(all="ignore")
HERE = Path(__file__).parent


# --- the order of reductions -------------------------------------------------------------------------

def lanes(x, op):
    """The first rule: chunks of 4096, 128 lanes, lanes folded in halves, and the chunks again."""
    while True:
        out = []
        for at in range(0, len(x), 4096):
            chunk = x[at:at + 4096]
            lane = [None] * 128
            for j, v in enumerate(chunk):
                k = j % 128
                lane[k] = v if lane[k] is None else op(lane[k], v)
            w = 64
            while w:
                for j in range(w):
                    if lane[j + w] is not None:
                        lane[j] = op(lane[j], lane[j + w])
                w //= 2
            out.append(lane[0])
        if len(out) == 1:
            return out[0]
        x = out


def columns(x, op):
    """The second rule: chunks of 256 in one lane; the results of the chunks by the first."""
    out = []
    for at in range(0, len(x), 256):
        acc = x[at]
        for v in x[at + 1:at + 256]:
            acc = op(acc, v)
        out.append(acc)
    return out[0] if len(out) == 1 else lanes(out, op)


def reduce(x, axes, op, of_nothing):
    """x reduced over axes, in the order of the language; 16 bits in f32, rounded once."""
    to = x.dtype
    if to == np.float16:
        x = x.astype(np.float32)
    keep = [a for a in range(x.ndim) if a not in axes]
    y = np.transpose(x, keep + list(axes)).reshape([x.shape[a] for a in keep] + [-1])
    rule = lanes if x.ndim - 1 in axes else columns
    flat = y.reshape(-1, y.shape[-1]) if keep else y.reshape(1, -1)
    res = [rule(list(row), op) if len(row) else x.dtype.type(of_nothing) for row in flat]
    return np.array(res, x.dtype).astype(to).reshape([x.shape[a] for a in keep])


def add(a, b): return a + b
def mul(a, b): return a * b
def total(x, *axes): return reduce(x, axes or range(x.ndim), add, 0)
def product(x, *axes): return reduce(x, axes or range(x.ndim), mul, 1)


def scattered(dtype, *shape):
    """What `gen` in the programs gives: every operation rounds once, as there."""
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return ((((i * 7919) % 10007).astype(dtype) * dtype(0.37)) - dtype(1500)).astype(dtype).reshape(shape)


def near_one(dtype, *shape):
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return (((i * 31) % 101).astype(dtype) * dtype(0.0001) + dtype(0.995)).astype(dtype).reshape(shape)


# --- text --------------------------------------------------------------------------------------------

NAMES = {"float16": "f16", "float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "bool"}


def tensor(x):
    x = np.asarray(x)
    t = NAMES[str(x.dtype)]
    if x.ndim:
        t += "[" + ", ".join(map(str, x.shape)) + "]"
    return " ".join([t] + [word(v) for v in x.reshape(-1)])


def word(v):
    if isinstance(v, np.floating):
        return str(v) if not np.isfinite(v) else float(v).hex()
    return str(v).lower()


def archive(name, text, source, calls):
    lines = "".join(c + "\n" for c in calls)
    (HERE / (name + ".txtar")).write_text(f"{text}\n-- main.heal --\n{source.strip()}\n-- calls --\n{lines}")


# --- the archives ------------------------------------------------------------------------------------

def order_archives():
    sizes = [1, 2, 127, 128, 129, 255, 300, 4095, 4096, 4097, 8192, 10000]
    gen = "fn gen[N](t: {t}[N]) -> {t}[N] = tabulate(N, |i| ((i * 7919) % 10007) as {t} * 0.37 - 1500.0)\n"
    for t, dt in (("f32", np.float32), ("f64", np.float64), ("f16", np.float16)):
        source, calls = gen.format(t=t), []
        for n in sizes if t != "f16" else [1, 5, 128, 129, 1000]:
            source += f"fn sum{n}() -> {t} = +/(gen(zeros[{t}, {n}]()))\n"
            if t == "f16":
                # what the program computes is in f32, rounded to f16 after each operation
                i = np.arange(n, dtype=np.int64)
                x = ((((i * 7919) % 10007).astype(dt) * dt(0.37)) - dt(1500)).astype(dt)
            else:
                x = scattered(dt, n)
            calls.append(f"sum{n}() = {tensor(total(x))}")
        text = f"A sum of {t} adds in lanes and chunks, for lengths around the borders of both."
        if t == "f16":
            text = "A sum of f16 adds in f32, in lanes and chunks, and is rounded once."
        archive("order_sum_" + t, text, source, calls)

    source = """
fn chunks() -> f32 = +/(tabulate(600000, |i| ((i % 250000 * 7919) % 10007) as f32 * 0.37 - 1500.0))
fn column() -> f32[2] = +/[axis=0](tabulate(70000, 2, |i, j| (((i * 2 + j) * 7919) % 10007) as f32 * 0.37 - 1500.0))
"""
    i = np.arange(600000, dtype=np.int64)
    big = (((i % 250000 * 7919) % 10007).astype(np.float32) * np.float32(0.37)) - np.float32(1500)
    archive("order_large", "Long reductions, whose chunks are reduced by the same rule again.", source, [
        f"chunks() = {tensor(total(big))}",
        f"column() = {tensor(total(scattered(np.float32, 70000, 2), 0))}",
    ])

    source = """
fn gen[N](t: f32[N]) -> f32[N] = tabulate(N, |i| ((i * 7919) % 10007) as f32 * 0.37 - 1500.0)
fn first() -> f32[3] = +/[axis=0](reshape(gen(zeros[f32, 3000]()), [1000, 3]))
fn short() -> f32[7] = +/[axis=0](reshape(gen(zeros[f32, 1400]()), [200, 7]))
fn edge() -> f32[2] = +/[axis=0](reshape(gen(zeros[f32, 514]()), [257, 2]))
fn middle() -> f32[2, 3] = +/[axis=1](reshape(gen(zeros[f32, 1800]()), [2, 300, 3]))
fn last() -> f32[5] = +/[axis=1](reshape(gen(zeros[f32, 5000]()), [5, 1000]))
fn first_two() -> f32[3] = +/[axis=(0, 1)](reshape(gen(zeros[f32, 6000]()), [40, 50, 3]))
fn outer_two() -> f32[3] = +/[axis=(0, 2)](reshape(gen(zeros[f32, 6000]()), [20, 3, 100]))
fn last_two() -> f32[3] = +/[axis=(1, 2)](reshape(gen(zeros[f32, 27000]()), [3, 90, 100]))
fn kept() -> f32[1, 3] = +/[axis=0, keep](reshape(gen(zeros[f32, 3000]()), [1000, 3]))
fn of_transpose() -> f32[3] = +/[axis=1](transpose(reshape(gen(zeros[f32, 3000]()), [1000, 3])))
fn of_slice() -> f32 = +/(gen(zeros[f32, 3000]())[10..2990 by 2])
fn of_broadcast() -> f32 = +/(expand(gen(zeros[f32, 100]()), [50, 100]))
fn product() -> f32 = */(tabulate(5000, |i| ((i * 31) % 101) as f32 * 0.0001 + 0.995))
fn column_products() -> f32[3] = */[axis=0](tabulate(400, 3, |i, j| (((i * 3 + j) * 31) % 101) as f32 * 0.0001 + 0.995))
fn minus_zeros() -> (f32, f32) = (+/([-0.0, -0.0]), +/(full[f32, 300](-0.0)))
"""
    g = lambda *shape: scattered(np.float32, *shape)
    archive("order_axes", "Which rule a float reduction follows depends on whether the last axis is reduced.", source, [
        f"first() = {tensor(total(g(1000, 3), 0))}",
        f"short() = {tensor(total(g(200, 7), 0))}",
        f"edge() = {tensor(total(g(257, 2), 0))}",
        f"middle() = {tensor(total(g(2, 300, 3), 1))}",
        f"last() = {tensor(total(g(5, 1000), 1))}",
        f"first_two() = {tensor(total(g(40, 50, 3), 0, 1))}",
        f"outer_two() = {tensor(total(g(20, 3, 100), 0, 2))}",
        f"last_two() = {tensor(total(g(3, 90, 100), 1, 2))}",
        f"kept() = {tensor(total(g(1000, 3), 0).reshape(1, 3))}",
        f"of_transpose() = {tensor(total(np.ascontiguousarray(g(1000, 3).T), 1))}",
        f"of_slice() = {tensor(total(g(3000)[10:2990:2]))}",
        f"of_broadcast() = {tensor(total(np.broadcast_to(g(100), (50, 100))))}",
        f"product() = {tensor(product(near_one(np.float32, 5000)))}",
        f"column_products() = {tensor(product(near_one(np.float32, 400, 3), 0))}",
        f"minus_zeros() = {tensor(np.float32(-0.0))}, {tensor(np.float32(-0.0))}",
    ])


def round_to(x, dtype):
    """A fraction as the nearest float, ties to even."""
    if x == 0:
        return dtype(0)
    bits, least = (24, -149) if dtype is np.float32 else (53, -1074)
    e = len(bin(abs(x.numerator))) - len(bin(x.denominator))
    while abs(x) >= Fraction(2) ** (e + 1):
        e += 1
    while abs(x) < Fraction(2) ** e:
        e -= 1
    unit = Fraction(2) ** max(e - bits + 1, least)
    return dtype(float(round(x / unit) * unit))  # round() of a Fraction takes ties to even


def matmul_archive():
    source, calls = "", []
    for t, dt in (("f32", np.float32), ("f64", np.float64)):
        for m, k, n in ((3, 200, 2), (1, 33, 5), (7, 9, 17)):
            name = f"{t}_{m}_{k}_{n}"
            source += (f"fn {name}() -> {t}[{m}, {n}] = tabulate({m}, {k}, |i, k| (((i * {k} + k) * 7919) % 10007) as {t} * 0.37 - 1500.0)"
                       f" @ tabulate({k}, {n}, |k, j| (((k * {n} + j) * 31) % 101) as {t} * 0.0001 + 0.995)\n")
            a, b = scattered(dt, m, k), near_one(dt, k, n)
            c = np.zeros((m, n), dt)
            for i in range(m):
                for j in range(n):
                    acc = dt(0)
                    for p in range(k):
                        acc = round_to(Fraction(float(a[i, p])) * Fraction(float(b[p, j])) + Fraction(float(acc)), dt)
                    c[i, j] = acc
            calls.append(f"{name}() = {tensor(c)}")
    archive("order_matmul", "Each element of a product of f32 or f64 is one chain of fma over k, ascending, from 0.", source, calls)


# --- exact values of functions -----------------------------------------------------------------------

def dec(x): return Decimal(float(x))
def d_sigmoid(x): return 1 / (1 + (-x).exp())


def d_tanh(x):
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def pi():
    """Machin's formula."""
    def arctan(n):
        s, t, k, x = Decimal(0), 1 / Decimal(n), 1, 1 / Decimal(n)
        while abs(t) > Decimal(10) ** -200:
            s, x = s + t, -x / (n * n)
            k += 2
            t = x / k
        return s
    getcontext().prec = 220
    p = 4 * (4 * arctan(5) - arctan(239))
    getcontext().prec = 80
    return p


PI = pi()


def d_sin(x, shift=0):
    getcontext().prec = 150
    r = (x + shift * PI / 2) % (2 * PI)
    s, t, k = Decimal(0), r, 1
    while abs(t) > Decimal(10) ** -100:
        s, t = s + t, -t * r * r / ((k + 1) * (k + 2))
        k += 2
    getcontext().prec = 80
    return s


def functions_archives():
    table = {
        "exp": (lambda x: x.exp(), [-100, -87.5, -10, -1, -0.001, 0.5, 1, 3.75, 10, 50, 88.5]),
        "log": (lambda x: x.ln(), [1e-40, 1e-30, 0.001, 0.5, 0.999, 1.001, 2, 3.75, 1000, 1e30]),
        "tanh": (d_tanh, [-5, -1, -0.5, -1e-3, 1e-6, 0.25, 0.75, 2, 8]),
        "sigmoid": (d_sigmoid, [-80, -10, -1, -0.1, 0.3, 1, 5, 20]),
        "sin": (d_sin, [-1000, -3, -1, -1e-3, 0.5, 1, 2, 3.1415927, 10, 12345.678, 1e10, 1e30]),
        "cos": (lambda x: d_sin(x, 1), [-1000, -3, -1, 0.5, 1, 1.5707964, 3, 10, 12345.678, 1e10, 1e30]),
        "sqrt": (lambda x: x.sqrt(), [1e-40, 0.1, 2, 3, 1e10, 1e38]),
        "rsqrt": (lambda x: 1 / x.sqrt(), [1e-40, 0.1, 2, 3, 1e10, 1e38]),
    }
    for t, dt, ulps in (("f32", np.float32, 1), ("f64", np.float64, 2)):
        source, calls = "", []
        for name, (f, points) in table.items():
            x = np.array(points, dt)
            y = np.array([round_to(Fraction(f(dec(v))), dt) for v in x], dt)
            source += f"fn {name}_{t}(x: {t}[{len(x)}]) -> {t}[{len(x)}] = {name}(x)\n"
            exact = name == "sqrt"
            calls.append(f"{name}_{t}({tensor(x)}) {'=' if exact else f'~ {ulps}'} {tensor(y)}")
        for name, x, y in (
            ("exp", ["-inf", "inf", "nan", "0", "-0", "1000", "-1000"], ["0", "inf", "nan", "1", "1", "inf", "0"]),
            ("log", ["-inf", "inf", "nan", "0", "-0", "1", "-1"], ["nan", "inf", "nan", "-inf", "-inf", "0", "nan"]),
            ("tanh", ["-inf", "inf", "nan", "0", "-0", "100", "-100"], ["-1", "1", "nan", "0", "-0", "1", "-1"]),
            ("sin", ["-inf", "inf", "nan", "0", "-0", "0", "-0"], ["nan", "nan", "nan", "0", "-0", "0", "-0"]),
            ("cos", ["-inf", "inf", "nan", "0", "-0", "0", "-0"], ["nan", "nan", "nan", "1", "1", "1", "1"]),
            ("sqrt", ["-inf", "inf", "nan", "0", "-0", "4", "-1"], ["nan", "inf", "nan", "0", "-0", "2", "nan"]),
            ("rsqrt", ["-inf", "inf", "nan", "0", "-0", "4", "-1"], ["nan", "0", "nan", "inf", "-inf", "0.5", "nan"]),
        ):
            source += f"fn {name}_edges(x: {t}[7]) -> {t}[7] = {name}(x)\n"
            calls.append(f"{name}_edges({t}[7] {' '.join(x)}) = {t}[7] {' '.join(y)}")
        text = f"Functions of {t}: at most {ulps} ulp from the exact value, and the exact value at the edges."
        archive("functions_" + t, text, source, calls)


# --- small programs with floats ----------------------------------------------------------------------

def program_archives():
    f32 = np.float32
    x = np.array([[1, 2, 3, 4], [-1, 0, 0.5, 100]], f32)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True).astype(np.float64))
    soft = (e / e.sum(axis=1, keepdims=True)).astype(f32)
    archive("softmax", "A numerically safe softmax over rows, and the log of its sum.", """
fn softmax[M, N](x: f32[M, N]) -> f32[M, N] = {
    let e = exp(x .- max/[axis=1, keep](x));
    e ./ +/[axis=1, keep](e)
}
fn rows_sum_to_one[M, N](x: f32[M, N]) -> bool = all(abs(sum(softmax(x), axis = 1) - 1.0) .< 1e-6)
""", [f"softmax({tensor(x)}) ~ 3 {tensor(soft)}", f"rows_sum_to_one({tensor(x)}) = bool true"])

    def mandel(cr, ci):
        zr = zi = 0.0
        for n in range(50):
            if zr * zr + zi * zi > 4.0:
                return n
            zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
        return 50
    grid = np.array([[mandel(-2.0 + 3.0 * j / 16.0, -1.0 + 2.0 * i / 8.0) for j in range(16)] for i in range(8)], np.int32)
    archive("mandelbrot", "Escape times by recursion on scalars inside tabulate; every rounding counts.", """
fn escape(zr: f64, zi: f64, cr: f64, ci: f64, n: i32) -> i32 =
    if n == 50 || zr * zr + zi * zi > 4.0 { n }
    else { escape(zr * zr - zi * zi + cr, 2.0 * zr * zi + ci, cr, ci, n + 1) }
fn picture() -> i32[8, 16] =
    tabulate(8, 16, |i, j| escape(0.0, 0.0, -2.0 + 3.0 * (j as f64) / 16.0, -1.0 + 2.0 * (i as f64) / 8.0, 0))
""", [f"picture() = {tensor(grid)}"])

    u = np.linspace(0, 1, 9).astype(np.float64) ** 2
    v = u.copy()
    for _ in range(3):
        mid = v[1:-1] + 0.25 * (v[:-2] - 2.0 * v[1:-1] + v[2:])
        v = np.concatenate([v[:1], mid, v[-1:]])
    archive("heat", "Three explicit steps of the heat equation with fixed ends, by slices and concat.", """
fn step[N](u: f64[N + 2]) -> f64[N + 2] = {
    let a = u[0..N];
    let b = u[1..N + 1];
    let c = u[2..N + 2];
    concat((u[0..1], b + 0.25 * (a - 2.0 * b + c), u[N + 1..N + 2]), 0)
}
fn three(u: f64[9]) -> f64[9] = step[7](step[7](step[7](u)))
""", [f"three({tensor(u)}) = {tensor(v)}"])

    rng = np.random.default_rng(7)
    pts = rng.integers(-8, 9, (12, 2)).astype(f32)
    cen = pts[[0, 5, 9]]
    d = ((pts[:, None, :] - cen[None]) ** 2).sum(axis=2).astype(f32)
    lab = d.argmin(axis=1).astype(np.int32)
    new = np.array([pts[lab == k].sum(axis=0, dtype=f32) / f32((lab == k).sum()) for k in range(3)], f32)
    archive("kmeans", "One step of k-means: distances by broadcasting, argmin, means by a product with one-hot rows.", """
fn distances[N, K, D](x: f32[N, D], c: f32[K, D]) -> f32[N, K] = {
    let d = unsqueeze(x, 1) .- c;
    +/[axis=2](d .* d)
}
fn labels[N, K, D](x: f32[N, D], c: f32[K, D]) -> i32[N] = argmin(distances(x, c), axis = 1)
fn means[N, K, D](x: f32[N, D], c: f32[K, D]) -> f32[K, D] = {
    let l = labels(x, c);
    let one_hot = tabulate(K, N, |k, i| if l[i] == k { 1.0 } else { 0.0 });
    (one_hot @ x) ./ +/[axis=1, keep](one_hot)
}
""", [f"distances({tensor(pts)}, {tensor(cen)}) = {tensor(d)}",
      f"labels({tensor(pts)}, {tensor(cen)}) = {tensor(lab)}",
      f"means({tensor(pts)}, {tensor(cen)}) = {tensor(new)}"])

    state, hits = 12345, 0
    for _ in range(500):
        state = (state * 1103515245 + 12345) % 2147483648
        px = state / 2147483648.0
        state = (state * 1103515245 + 12345) % 2147483648
        py = state / 2147483648.0
        hits += px * px + py * py < 1.0
    archive("monte_carlo", "A linear congruential generator in i64, carried through a recursion, estimates pi.", """
fn next(s: i64) -> i64 = (s * 1103515245 + 12345) % 2147483648
fn unit(s: i64) -> f64 = s as f64 / 2147483648.0
fn throw(n: i32, s: i64, hits: i32) -> i32 = if n == 0 { hits } else {
    let a = next(s);
    let b = next(a);
    let (x, y) = (unit(a), unit(b));
    throw(n - 1, b, if x * x + y * y < 1.0 { hits + 1 } else { hits })
}
fn hits() -> i32 = throw(500, 12345, 0)
""", [f"hits() = i32 {hits}"])


if __name__ == "__main__":
    order_archives()
    matmul_archive()
    functions_archives()
    program_archives()
