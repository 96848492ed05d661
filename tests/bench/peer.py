"""The other side of the benchmark: NumPy and numexpr, one execution at a time, on request.

Reads one JSON object a line and answers {"ok": value} or {"error": text}. A name with "out" writes into an
array that exists already, as healc's pool of memory lets it; without, each execution makes a new array, as
expressions are usually written.
"""
import json
import sys
import time

import numexpr as ne
import numpy as np


def chain(x, a, b, c, d):
    a, b, c, d = map(np.float32, (a, b, c, d))
    out = np.empty_like(x)
    zero = np.float32(0)
    # numexpr 2.8 has no maximum, and where() costs it a branch an element, twice the time of this: t + |t| is
    # 2 relu(t), and half of c makes up for it without any rounding.
    expr = "((a * x + b) + abs(a * x + b)) * half_c + d"
    names = {"x": x, "a": a, "b": b, "half_c": c / np.float32(2), "d": d}

    def in_place():
        np.multiply(x, a, out=out)
        np.add(out, b, out=out)
        np.maximum(out, zero, out=out)
        np.multiply(out, c, out=out)
        np.add(out, d, out=out)
        return out

    return {
        ("numpy", 1): lambda: np.maximum(a * x + b, zero) * c + d,
        ("numpy out", 1): in_place,
        ("numexpr", 1): lambda: ne.evaluate(expr, names),
        ("numexpr out", 1): lambda: ne.evaluate(expr, names, out=out),
        ("numexpr", 2): lambda: ne.evaluate(expr, names),
        ("numexpr out", 2): lambda: ne.evaluate(expr, names, out=out),
    }


CASES = {
    "chain": chain,
    # no numexpr: its sum of float32 is off by up to 1e-4 here, for it adds one after another
    "sum": lambda x: {("numpy", 1): lambda: np.sum(x)},
    "sum2d": lambda x: {("numpy", 1): lambda: np.sum(x)},
    "rows": lambda x: {("numpy", 1): lambda: np.sum(x, axis=1)},
    "columns": lambda x: {("numpy", 1): lambda: np.sum(x, axis=0)},
}


class Peer:
    def versions(self, _):
        return "Python %s, NumPy %s, numexpr %s" % (sys.version.split()[0], np.__version__, ne.__version__)

    def open(self, req):
        self.runs = CASES[req["case"]](np.load(req["input"]), *(req["scalars"] or []))
        return [{"name": n, "threads": t} for n, t in self.runs]

    def check(self, req):
        got = np.load(req["path"]).astype(np.float64)
        worst = 0.0
        for (_, threads), run in self.runs.items():
            ne.set_num_threads(threads)
            want = np.asarray(run(), np.float64)
            if want.shape != got.shape:
                raise ValueError("the shapes are %s and %s" % (want.shape, got.shape))
            worst = max(worst, float(np.max(np.abs(want - got)) / np.max(np.abs(want))))
        return worst

    def time(self, req):
        ne.set_num_threads(req["threads"])
        run = self.runs[(req["name"], req["threads"])]
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    def small(self, req):
        """Nanoseconds of x * 2 + 1 on 16 floats, the best of several rows of calls."""
        x = np.arange(16, dtype=np.float32)
        two, one = np.float32(2), np.float32(1)
        n = req["calls"]
        start = time.perf_counter()
        for _ in range(n):
            x * two + one
        return (time.perf_counter() - start) / n


peer = Peer()
for line in sys.stdin:
    try:
        request = json.loads(line)
        answer = {"ok": getattr(peer, request["do"])(request)}
    except Exception as e:  # the parent has to hear of it, whatever it is
        answer = {"error": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(answer), flush=True)
