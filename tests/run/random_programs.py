#!/usr/bin/env python3
"""Writes random_*.txtar: random functions in the language with the results that NumPy computes.

    python3 tests/run/random_programs.py                 the archives of the repository
    python3 tests/run/random_programs.py SEED N FOLDER   N others, to look for errors: run them from a copy of
                                                         this folder with go test

Each function is a random expression over random inputs, written down as source and computed with NumPy at
the same time. Integers wrap in both; floats only meet operations that round once, so that every bit is known.
Needs python3-numpy; the tests do not need this script, only its results.
"""
import random
import sys
from pathlib import Path

import numpy as np

np.seterr(all="ignore")
TYPES = {"i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64, "f64": np.float64, "bool": np.bool_}
NAMES = {np.dtype(v): k for k, v in TYPES.items()}
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply}
COMPARISONS = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
FLOAT_FUNCTIONS = {"abs": np.abs, "floor": np.floor, "ceil": np.ceil, "round": np.round, "trunc": np.trunc,
                   "sqrt": np.sqrt, "neg": np.negative}
REDUCTIONS = {"+/": np.add.reduce, "*/": np.multiply.reduce, "max/": np.maximum.reduce, "min/": np.minimum.reduce}


def type_of(x):
    return NAMES[x.dtype] + ("[" + ", ".join(map(str, x.shape)) + "]" if x.ndim else "")


def tensor(x):
    return " ".join([type_of(x)] + [str(v).lower() for v in x.reshape(-1).tolist()])


class Function:
    """One random function: its parameters, its lets, and all values with a name, by which they are used again."""

    def __init__(self, r):
        self.r, self.params, self.lets, self.named = r, [], [], []

    def leaf(self, t, shape):
        """A parameter, new or used before."""
        known = [(n, v) for n, v in self.named if v.dtype == TYPES[t] and v.shape == shape]
        if known and self.r.random() < 0.7:
            return self.r.choice(known)
        rng = np.random.default_rng(self.r.randrange(1 << 30))
        if t == "bool":
            v = rng.random(shape) < 0.5
        elif t == "f64":
            v = np.round(rng.standard_normal(shape) * 4, 2)
        else:
            v = rng.integers(0 if t[0] == "u" else -9, 10, shape)
        return self.param(np.asarray(v).astype(TYPES[t]).reshape(shape))

    def param(self, v):
        self.params.append((f"p{len(self.params)}", v))
        self.named.append(self.params[-1])
        return self.params[-1]

    def expr(self, t, shape, depth):
        """A random expression of element type t: its source and its value."""
        ways = [w for w in (self.arithmetic, self.arithmetic, self.float_function, self.comparison, self.logic, self.where,
                            self.permute, self.reshape, self.slice, self.concat, self.reduction, self.left_fold,
                            self.matmul, self.cast, self.gather)] if depth else []
        self.r.shuffle(ways)
        for way in ways:
            made = way(t, shape, depth - 1)
            if made:
                source, v = made
                v = np.asarray(v).astype(TYPES[t])
                assert v.shape == shape, (source, v.shape, shape)
                if self.r.random() < 0.3:
                    name = f"v{len(self.lets)}"
                    self.lets.append(f"    let {name} = {source};\n")
                    self.named.append((name, v))
                    return name, v
                return f"({source})", v
        return self.leaf(t, shape)

    # Each way below returns source and value, or None when it cannot give this type or shape.

    def arithmetic(self, t, shape, d):
        if t == "bool":
            return None
        left, right, dot = shape, shape, ""
        if shape and self.r.random() < 0.5:  # one side broadcasts
            dot = "."
            right = tuple(1 if self.r.random() < 0.4 else n for n in shape)[self.r.randrange(len(shape)):]
            if self.r.random() < 0.5:
                left, right = right, left
        (a, x), (b, y) = self.expr(t, left, d), self.expr(t, right, d)
        if self.r.random() < 0.3:
            f, h = self.r.choice([("min", np.minimum), ("max", np.maximum)])
            return f"{f}({a}, {b})", h(x, y)
        op = self.r.choice(list(ARITHMETIC))
        return f"{a} {dot}{op} {b}", ARITHMETIC[op](x, y)

    def float_function(self, t, shape, d):
        if t != "f64":
            return None
        f = self.r.choice(list(FLOAT_FUNCTIONS))
        a, x = self.expr(t, shape, d)
        return f"{f}({a})", FLOAT_FUNCTIONS[f](x)

    def comparison(self, t, shape, d):
        if t != "bool":
            return None
        e = self.r.choice(["i32", "f64", "u8"])
        op = self.r.choice(list(COMPARISONS))
        (a, x), (b, y) = self.expr(e, shape, d), self.expr(e, shape, d)
        return f"{a} {op} {b}", COMPARISONS[op](x, y)

    def logic(self, t, shape, d):
        if t != "bool":
            return None
        (a, x), (b, y) = self.expr(t, shape, d), self.expr(t, shape, d)
        return self.r.choice([(f"{a} .&& {b}", x & y), (f"{a} .|| {b}", x | y), (f"!{a}", ~x)])

    def where(self, t, shape, d):
        (c, z), (a, x), (b, y) = self.expr("bool", shape, d), self.expr(t, shape, d), self.expr(t, shape, d)
        return f"where({c}, {a}, {b})", np.where(z, x, y)

    def permute(self, t, shape, d):
        perm = list(range(len(shape)))
        self.r.shuffle(perm)
        a, x = self.expr(t, tuple(shape[perm.index(k)] for k in range(len(perm))), d)
        return f"permute_axes({a}, {perm})", np.transpose(x, perm)

    def reshape(self, t, shape, d):
        n = int(np.prod(shape))
        first = self.r.choice([f for f in range(1, n + 1) if n % f == 0] or [1])
        a, x = self.expr(t, self.r.choice([(n,), (first, n // first)]), d)
        return f"reshape({a}, [{', '.join(map(str, shape))}])", x.reshape(shape)

    def slice(self, t, shape, d):
        if not shape:
            return None
        extents, texts, slices = [], [], []
        for n in shape:
            lo, step = self.r.randrange(3), self.r.choice([1, 1, 2, 3])
            end = lo + (n - 1) * step + 1 if n else lo
            extents.append(end + self.r.randrange(3))
            if n and self.r.random() < 0.2:
                texts.append(f"{end - 1}..={lo} by -{step}")
                slices.append(slice(end - 1, lo - 1 if lo else None, -step))
            else:
                texts.append(f"{lo}..{end}" + (f" by {step}" if step > 1 else ""))
                slices.append(slice(lo, end, step))
        a, x = self.expr(t, tuple(extents), d)
        return f"{a}[{', '.join(texts)}]", x[tuple(slices)]

    def concat(self, t, shape, d):
        if not shape:
            return None
        k = self.r.randrange(len(shape))
        cut = self.r.randrange(shape[k] + 1)
        part = lambda n: self.expr(t, shape[:k] + (n,) + shape[k + 1:], d)
        (a, x), (b, y) = part(cut), part(shape[k] - cut)
        return f"concat(({a}, {b}), {k})", np.concatenate([x, y], k)

    def with_axis(self, t, shape, least, d):
        """An operand that has one axis more: its source, its value, that axis."""
        k, n = self.r.randrange(len(shape) + 1), self.r.randrange(least, 5)
        return (*self.expr(t, shape[:k] + (n,) + shape[k:], d), k)

    def reduction(self, t, shape, d):
        if t == "f64" or len(shape) > 2:
            return None
        if t == "bool":
            a, x, k = self.with_axis(t, shape, 0, d)
            return self.r.choice([(f"&&/[axis={k}]({a})", x.all(k)), (f"||/[axis={k}]({a})", x.any(k))])
        op = self.r.choice(list(REDUCTIONS))
        a, x, k = self.with_axis(t, shape, 1 if op[0] == "m" else 0, d)
        return f"{op}[axis={k}]({a})", REDUCTIONS[op](x, axis=k, dtype=TYPES[t])

    def left_fold(self, t, shape, d):
        if t == "bool" or len(shape) > 2:
            return None
        a, x, k = self.with_axis(t, shape, 1, d)
        first, *rest = np.moveaxis(x, k, 0)
        for y in rest:
            first = (first - y).astype(TYPES[t])
        return f"-/[axis={k}]({a})", first

    def matmul(self, t, shape, d):
        if t in ("bool", "f64") or len(shape) != 2:
            return None
        n = self.r.randrange(0, 5)
        (a, x), (b, y) = self.expr(t, (shape[0], n), d), self.expr(t, (n, shape[1]), d)
        return f"{a} @ {b}", x @ y

    def cast(self, t, shape, d):
        e = self.r.choice([e for e in TYPES if e not in (t, "f64")])
        a, x = self.expr(e, shape, d)
        return f"{a} as {t}", x.astype(TYPES[t])

    def gather(self, t, shape, d):
        if len(shape) != 1:
            return None
        a, x = self.expr(t, (4,), d)
        p, at = self.param(np.array([self.r.randrange(4) for _ in range(shape[0])], np.int32))
        return f"{a}[{p}]", x[at]


def archive(path, seed, count=40):
    r = random.Random(seed)
    source, calls = "", []
    for k in range(count):
        f = Function(r)
        shape = tuple(r.choice([0, 1, 1, 2, 3, 3, 4, 5]) for _ in range(r.randrange(4)))
        text, value = f.expr(r.choice(list(TYPES)), shape, r.randrange(2, 5))
        params = ", ".join(f"{n}: {type_of(v)}" for n, v in f.params)
        source += f"fn f{k}({params}) -> {type_of(value)} = {{\n{''.join(f.lets)}    {text}\n}}\n"
        calls.append(f"f{k}({', '.join(tensor(v) for _, v in f.params)}) = {tensor(value)}\n")
    path.write_text(f"Machine-made, not to be read: random_programs.py draws {count} functions from seed {seed} and computes "
                    "their results with NumPy, a reference that shares nothing with healc.\n"
                    f"-- main.heal --\n{source}-- calls --\n{''.join(calls)}")


if __name__ == "__main__":
    first, number, folder = (int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])) if len(sys.argv) > 3 else (1, 3, Path(__file__).parent)
    for s in range(first, first + number):
        archive(folder / f"random_{s}.txtar", s)
