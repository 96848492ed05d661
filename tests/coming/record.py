"""Records what the rows of docs/coming give in the systems that they are about.

    python3 tests/coming/record.py [PAGE...]

needs NumPy 2, SciPy, PyTorch, `futhark` 0.25 and `octave` 7, each for its page, and writes tests/coming/PAGE.json: a value for each
expression. A row whose note says that values differ, or that declares something here, gets "".
"""

import json
import pathlib
import re
import subprocess
import sys

here = pathlib.Path(__file__).parent
docs = here.parent.parent / "docs" / "coming"
declares = re.compile(r"^(pub |@\w+ |@\w+\(.*\) )*(fn|const|import|test) ")


def cells(line):
    parts = line.strip().replace("\\|", "\0").strip("|").split("|")
    return [p.strip().replace("\0", "|") for p in parts]


def code(cell):
    return cell.strip("`").strip()


def read(page):
    """The values of a page, as (name, there), and its rows, as (there, here, note)."""
    values, rows, head = [], [], None
    for line in (docs / f"{page}.md").read_text().splitlines():
        if not line.startswith("|"):
            head = None
            continue
        row = cells(line)
        if head is None:
            head = row
        elif line.startswith("|---"):
            pass
        elif head[0] == "name":
            values.append((code(row[0]), code(row[1])))
        elif head[1:] == ["here", "gives", ""]:
            rows.append((code(row[0]), code(row[1]), row[3]))
    return values, rows


def compared(row):
    there, here, note = row
    return here != "" and not declares.match(here) and "values differ" not in note


def text(v):
    """A value as `print` of Heal has it, but for blanks and the form of numbers."""
    import numpy as np

    if hasattr(v, "detach"):
        v = v.detach().numpy()
    if isinstance(v, tuple):
        return "(" + ", ".join(text(e) for e in v) + ")"
    if isinstance(v, (list, np.ndarray)) and np.ndim(v) > 0:
        return "[" + " ".join(text(e) for e in v) + "]"
    v = np.asarray(v)
    if v.dtype == bool:
        return str(bool(v)).lower()
    return repr(v.item())


def python(values, rows, names):
    import warnings

    warnings.simplefilter("ignore")
    for name, there in values:
        names[name] = eval(there, names)
    out = {}
    for row in rows:
        there = row[0]
        if not compared(row):
            out[there] = ""
            continue
        *before, last = there.split("; ")
        local = dict(names)
        try:
            exec("\n".join(before), local)
            out[there] = text(eval(last, local))
        except Exception as e:
            print(f"{there}: {e!r}")
    return out


def numpy(values, rows):
    import numpy as np

    return python(values, rows, {"np": np})


class Lax:
    """Functions of jax.lax, as its documentation has them, on arrays of NumPy."""

    @staticmethod
    def scan(f, s, xs):
        ys = []
        for x in xs:
            s, y = f(s, x)
            ys.append(y)
        return s, numpy_of(ys)

    @staticmethod
    def associative_scan(f, xs):
        return numpy_of([__import__("functools").reduce(f, xs[: k + 1]) for k in range(len(xs))])

    @staticmethod
    def fori_loop(lo, hi, f, s):
        for k in range(lo, hi):
            s = f(k, s)
        return s

    @staticmethod
    def while_loop(cond, f, s):
        while cond(s):
            s = f(s)
        return s

    cond = staticmethod(lambda p, yes, no, *a: yes(*a) if p else no(*a))
    switch = staticmethod(lambda k, fs, *a: fs[k](*a))

    @staticmethod
    def dynamic_slice(x, start, size):
        return x[tuple(slice(a, a + n) for a, n in zip(start, size))]

    @staticmethod
    def dynamic_update_slice(x, y, start):
        z = x.copy()
        z[tuple(slice(a, a + n) for a, n in zip(start, y.shape))] = y
        return z

    @staticmethod
    def reduce(x, init, f, axes):
        return __import__("functools").reduce(f, x, init)

    rsqrt = staticmethod(lambda x: x**-0.5)
    population_count = staticmethod(lambda x: numpy_of([bin(e & 0xFFFFFFFF).count("1") for e in x.tolist()]))
    bitcast_convert_type = staticmethod(lambda x, t: x.view(t))
    dot_general = staticmethod(lambda x, y, axes: __import__("numpy").tensordot(x, y, axes[0]))
    top_k = staticmethod(lambda x, k: (sorted(x.tolist(), reverse=True)[:k],))


def numpy_of(v):
    import numpy as np

    return np.array(v)


def stacked(f, in_axes=0, out_axes=0):
    """jax.vmap on arrays of NumPy."""
    import numpy as np

    def mapped(*args):
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        n = next(a.shape[k] for a, k in zip(args, axes) if k is not None)
        calls = [f(*(a if k is None else np.take(a, j, k) for a, k in zip(args, axes))) for j in range(n)]
        return np.stack(calls, out_axes)

    return mapped


def jax(values, rows):
    """jnp is NumPy, jax.nn and derivatives are PyTorch's, and the rest is Lax above."""
    import types

    import numpy as np
    import torch
    from torch import func
    from torch.nn import functional

    t = lambda a: a if torch.is_tensor(a) else torch.tensor(np.asarray(a), dtype=torch.float64)
    on = lambda f: lambda *args: f(*(t(a) for a in args))
    lax = Lax()
    lax.select, lax.add = np.where, np.add
    lax.stop_gradient = lambda a: a
    lax.map = lambda f, a: stacked(f)(a)

    class At:
        """x.at[i], whose set and add give a new array."""

        def __init__(self, x, i=None):
            self.x, self.i = x, i

        def __getitem__(self, i):
            return At(self.x, i)

        def set(self, y):
            z = self.x.copy()
            z[self.i] = y
            return z

        def add(self, y):
            z = self.x.copy()
            np.add.at(z, self.i, y)
            return z

    class Array(np.ndarray):
        at = property(lambda self: At(np.asarray(self)))

    def value_and_grad(f):
        def both(*args):
            g, y = func.grad_and_value(f)(*(t(a) for a in args))
            return y, g

        return both

    def vjp(f, *args):
        y, back = func.vjp(f, *(t(a) for a in args))
        return y, lambda w: back(t(w))

    def segment_sum(x, idx, n):
        z = np.zeros(n)
        np.add.at(z, idx, x)
        return z

    module = types.SimpleNamespace(
        jit=lambda f: f,
        vmap=stacked,
        grad=lambda f, argnums=0: on(func.grad(f, argnums)),
        value_and_grad=value_and_grad,
        vjp=vjp,
        jacobian=lambda f: on(func.jacrev(f)),
        hessian=lambda f: on(func.hessian(f)),
        checkpoint=lambda f: f,
        custom_vjp=lambda f: f,
        block_until_ready=lambda a: a,
        lax=lax,
        ops=types.SimpleNamespace(segment_sum=segment_sum),
        tree=types.SimpleNamespace(
            map=lambda f, t: tuple(f(a) for a in t),
            reduce=lambda f, t, init: __import__("functools").reduce(f, t, init),
        ),
        nn=types.SimpleNamespace(
            relu=on(functional.relu),
            sigmoid=on(functional.sigmoid),
            silu=on(functional.silu),
            gelu=lambda a, approximate: functional.gelu(t(a), approximate="tanh" if approximate else "none"),
            softplus=on(functional.softplus),
            softmax=lambda a: functional.softmax(t(a), -1),
            log_softmax=lambda a: functional.log_softmax(t(a), -1),
            logsumexp=lambda a: torch.logsumexp(t(a), -1),
            one_hot=lambda a, n: np.eye(n)[a],
        ),
    )
    jnp = types.SimpleNamespace(**{k: getattr(np, k) for k in dir(np) if not k.startswith("__")})
    jnp.float32 = lambda a: np.float32(a).view(Array)
    jnp.nonzero = lambda a, size: tuple(e[:size] for e in np.nonzero(a))
    return python(values, rows, {"jnp": jnp, "jax": module})


def futhark(values, rows):
    lines = [f"def {name} = {there}" for name, there in values]
    asked = [row[0] for row in rows if compared(row)]
    lines += asked
    done = subprocess.run(["futhark", "repl"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    parts = re.split(r"\[\d+\]> ", done.stdout)[1:-1]
    if len(parts) != len(lines):
        sys.exit(f"futhark answers {len(parts)} lines, not {len(lines)}\n{done.stdout}")
    out = {row[0]: "" for row in rows}
    for there, part in zip(asked, parts[len(values) :]):
        out[there] = tidy(re.sub(r"\bf(32|64|16)\.(nan|inf)", r"\2", part))
        if not re.fullmatch(r"[][(), a-z0-9.e+-]*", out[there]):
            print(there, "->", part.strip())
    for name, part in zip(lines, parts[: len(values)]):
        if part.strip():
            sys.exit(f"{name}: {part}")
    return out


def tidy(v):
    """A value with blanks between the elements of arrays, and commas in tuples, as `print` of Heal has it."""
    out, open_ = "", []
    for sign in " ".join(v.split()):
        if sign in "[(":
            open_.append(sign)
        elif sign in ")]":
            open_.pop()
        if sign != "," or open_[-1] == "(":
            out += sign
    return out


def matlab(values, rows):
    """Octave: a row is a vector, any other matrix is a list of its rows."""
    script = [f"{name} = {there};" for name, there in values]
    asked = [row[0] for row in rows if compared(row)]
    for there in asked:
        *before, last = re.split(r"; (?![^\[]*\])", there)
        script.append("".join(b + "; " for b in before) + f"r = {last}; disp(['|' mat2str(r, 9)])")
        script += [f"{name} = {value};" for name, value in values]
    done = subprocess.run(["octave", "--no-gui", "--quiet", "--eval", "\n".join(script)], capture_output=True, text=True)
    parts = done.stdout.split("|")[1:]
    if len(parts) != len(asked):
        sys.exit(f"octave stops at {asked[len(parts)]}: {done.stderr[-500:]}")
    out = {row[0]: "" for row in rows}
    for there, part in zip(asked, parts):
        part = part.strip()
        if part.startswith("["):
            lines = [" ".join(line.split()) for line in part[1:-1].split(";")]
            part = f"[{lines[0]}]" if len(lines) == 1 else "[" + " ".join(f"[{line}]" for line in lines) + "]"
        out[there] = part
    return out


pages = {"numpy": numpy, "jax": jax, "futhark": futhark, "matlab": matlab}

if __name__ == "__main__":
    for page in sys.argv[1:] or pages:
        values, rows = read(page)
        recorded = pages[page](values, rows)
        (here / f"{page}.json").write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
        print(page, sum(v != "" for v in recorded.values()), "of", len(rows), "rows have a value")
