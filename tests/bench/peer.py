"""The other side of the benchmark: NumPy, and numexpr, torch and numba where they are installed, one row at a time.

Reads one JSON object a line and answers {"ok": value} or {"error": text}. Results go to arrays that exist already
where a library can do that, as healc's do; where it cannot, each execution makes a new one.
"""
import json
import sys
import time

import numpy as np

try:
    import numexpr as ne
except ImportError:
    ne = None
try:
    import torch
except ImportError:
    torch = None
try:
    import numba
except ImportError:
    numba = None

F = np.float32
K = F(1.5957691216057308)


def numexpr_of(expr, names, out=None):
    """numexpr on one and on two threads; nobody when it is not installed."""
    if ne is None:
        return {}
    run = lambda: ne.evaluate(expr, names, out=out)
    return {("numexpr", 1): run, ("numexpr", 2): run}


def torch_of(f, *arrays):
    """torch, which shares the memory of the arrays, on one and on two threads."""
    if torch is None:
        return {}
    tensors = [torch.from_numpy(a) for a in arrays]
    run = lambda: f(torch, *tensors)
    return {("torch", 1): run, ("torch", 2): run}


def numba_of(f, *arrays):
    """numba's parallel loops on one and on two threads, compiled here."""
    if numba is None:
        return {}
    g = numba.njit(parallel=True, fastmath=True)(f)
    g(*arrays)
    return {("numba", 1): lambda: g(*arrays), ("numba", 2): lambda: g(*arrays)}


def chain(x, a, b, c, d):
    if a.ndim:  # a and c are rows, b and d columns
        b, d = b[:, None], d[:, None]
    out = np.empty_like(x)

    def run():
        np.multiply(x, a, out=out)
        np.add(out, b, out=out)
        np.maximum(out, F(0), out=out)
        np.multiply(out, c, out=out)
        return np.add(out, d, out=out)

    runs = {("numpy", 1): run}
    if a.ndim == 0:
        # numexpr 2.8 has no maximum, and where() costs it a branch an element, twice the time of this: t + |t| is
        # 2 relu(t), and half of c makes up for it without any rounding.
        runs.update(numexpr_of("((a * x + b) + abs(a * x + b)) * h + d", {"x": x, "a": a, "b": b, "h": c * F(0.5), "d": d}, np.empty_like(x)))
    return runs


def gelu(x):
    out, t = np.empty_like(x), np.empty_like(x)

    def run():
        np.multiply(x, x, out=t)
        np.multiply(t, x, out=t)
        np.multiply(t, F(0.044715), out=t)
        np.add(t, x, out=t)
        np.multiply(t, -K, out=t)
        np.exp(t, out=t)
        np.add(t, F(1), out=t)
        return np.divide(x, t, out=out)

    runs = {("numpy", 1): run}
    runs.update(numexpr_of("x / (one + exp(k * (x + c * x * x * x)))", {"x": x, "one": F(1), "k": -K, "c": F(0.044715)}, np.empty_like(x)))
    runs.update(torch_of(lambda t, v: t.nn.functional.gelu(v, approximate="tanh"), x))
    return runs


def unary(name):
    def row(x):
        out = np.empty_like(x)
        f = getattr(np, name)
        runs = {("numpy", 1): lambda: f(x, out=out)}
        runs.update(numexpr_of(name + "(x)", {"x": x}, np.empty_like(x)))
        if torch is not None:
            y = torch.empty_like(torch.from_numpy(x))
            runs.update(torch_of(lambda t, v: getattr(t, name)(v, out=y), x))
        return runs

    return row


def sigmoid(x):
    out = np.empty_like(x)

    def run():
        np.negative(x, out=out)
        np.exp(out, out=out)
        np.add(out, F(1), out=out)
        return np.reciprocal(out, out=out)

    runs = {("numpy", 1): run}
    runs.update(numexpr_of("one / (one + exp(-x))", {"x": x, "one": F(1)}, np.empty_like(x)))
    runs.update(torch_of(lambda t, v: t.sigmoid(v), x))
    return runs


def both(numpy_run, torch_run):
    """A row that NumPy and torch can do; each gets the arrays."""

    def row(*arrays):
        runs = {("numpy", 1): lambda: numpy_run(*arrays)}
        runs.update(torch_of(torch_run, *arrays))
        return runs

    return row


def dot(x, y):
    # Not np.dot: with Debian's reference BLAS it adds one after another, and is off by 2% here.
    t = np.empty_like(x)

    def run():
        np.multiply(x, y, out=t)
        return np.sum(t)

    runs = {("numpy", 1): run}
    runs.update(torch_of(lambda th, a, b: th.dot(a, b), x, y))
    return runs


def sqdist(x, y):
    t = np.empty_like(x)

    def run():
        np.subtract(x, y, out=t)
        np.multiply(t, t, out=t)
        return np.sum(t)

    runs = {("numpy", 1): run}
    runs.update(torch_of(lambda th, a, b: th.sum((a - b) * (a - b)), x, y))
    return runs


def softmax(x):
    out = np.empty_like(x)

    def run():
        np.subtract(x, x.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        return np.divide(out, out.sum(axis=1, keepdims=True), out=out)

    runs = {("numpy", 1): run}
    runs.update(torch_of(lambda t, v: t.softmax(v, 1), x))
    return runs


def layernorm(x, scale, shift):
    def run():
        d = x - x.mean(axis=1, keepdims=True)
        d *= 1 / np.sqrt(np.mean(d * d, axis=1, keepdims=True) + F(1e-5))
        d *= scale
        d += shift
        return d

    runs = {("numpy", 1): run}
    runs.update(torch_of(lambda t, v, g, b: t.nn.functional.layer_norm(v, (v.shape[1],), g, b, 1e-5), x, scale, shift))
    return runs


def xent(x, labels):
    at = np.arange(x.shape[0])

    def run():
        m = x.max(axis=1, keepdims=True)
        e = np.exp(x - m)
        z = e.sum(axis=1, keepdims=True)
        loss = np.mean(np.log(z[:, 0]) + m[:, 0] - x[at, labels])
        e /= z
        e[at, labels] -= 1
        e /= x.shape[0]
        return e, loss

    return {("numpy", 1): run}


def slow_blas():
    """Whether NumPy's products are those of the reference BLAS, which takes seconds for large ones."""
    a = np.ones((256, 256), np.float64)
    a @ a
    start = time.perf_counter()
    a @ a
    return time.perf_counter() - start > 4e-3


def matmul(a, b):
    runs = {}
    if a.size * b.shape[-1] > 2e9 and slow_blas():
        return torch_of(lambda t, x, y: x @ y, a, b)
    if a.dtype == np.int8:
        runs = torch_of(lambda t, x, y: t._int_mm(x, y), a, b)
        if a.size <= 1 << 16:  # NumPy has no BLAS for integers
            runs[("numpy", 1)] = lambda: np.matmul(a, b, dtype=np.int32)
        return runs
    if a.dtype == np.int32:
        return {("numpy", 1): lambda: a @ b}
    out = np.empty((a.shape[0],) + b.shape[1:], a.dtype)
    runs[("numpy", 1)] = lambda: np.matmul(a, b, out=out)  # the BLAS that it was built with, on as many threads as that takes
    runs.update(torch_of(lambda t, x, y: x @ y, a, b))
    return runs


def matmul_bf16(a, b):
    """Small integers as bf16, which NumPy has not."""
    if torch is None:
        return {}
    x, y = torch.from_numpy(a).bfloat16(), torch.from_numpy(b).bfloat16()
    run = lambda: (x @ y).float()
    return {("torch", 1): run, ("torch", 2): run}


def transpose(x):
    out = np.empty((x.shape[1], x.shape[0]), x.dtype)

    def run():
        np.copyto(out, x.T)
        return out

    runs = {("numpy", 1): run}
    runs.update(torch_of(lambda t, v: v.t().contiguous(), x))
    return runs


def stride_add(x):
    out = np.empty((x.shape[0] // 2, x.shape[1] // 2), x.dtype)
    return {("numpy", 1): lambda: np.add(x[0::2, 0::2], x[1::2, 1::2], out=out)}


def gather(table, index):
    out = np.empty((index.shape[0], table.shape[1]), table.dtype)
    runs = {("numpy", 1): lambda: np.take(table, index, axis=0, out=out, mode="clip")}
    runs.update(torch_of(lambda t, v, i: v.index_select(0, i), table, index))
    return runs


def fft(re, im):
    return transform(np.fft.fft, lambda t: t.fft.fft, re, im)


def fft2(re, im):
    return transform(np.fft.fft2, lambda t: t.fft.fft2, re, im)


def transform(f, g, re, im):
    """Peers have complex numbers, and are given them so."""
    z = (re + 1j * im).astype(np.complex64 if re.dtype == F else np.complex128)

    def parts(y):
        return y.real, y.imag

    runs = {("numpy", 1): lambda: parts(f(z))}
    runs.update(torch_of(lambda t, v: parts(g(t)(v)), z))
    return runs


def sort(x):
    runs = {("numpy", 1): lambda: np.sort(x)}
    runs.update(torch_of(lambda t, v: t.sort(v).values, x))
    return runs


def argsort(x):
    runs = {("numpy", 1): lambda: np.argsort(x, kind="stable")}
    runs.update(torch_of(lambda t, v: t.sort(v, stable=True).indices, x))
    return runs


def top100(x):
    runs = {("numpy", 1): lambda: np.sort(np.partition(x, len(x) - 100)[-100:])}
    runs.update(torch_of(lambda t, v: t.topk(v, 100).values.flip(0), x))
    return runs


def cholesky(a):
    return {("numpy", 1): lambda: np.linalg.cholesky(a @ a.T + np.eye(len(a)))}


def lu(a):
    return {("numpy", 1): lambda: np.linalg.slogdet(a)[1]}


def solve(a, b):
    return {("numpy", 1): lambda: np.linalg.solve(a, b)}


def inverse(a):
    return {("numpy", 1): lambda: np.linalg.inv(a)}


def qr(a):
    """The factors with a positive diagonal, which LAPACK does not promise."""

    def factors():
        q, r = np.linalg.qr(a)
        s = np.where(np.diag(r) < 0, -1.0, 1.0)
        return q * s, r * s[:, None]

    return {("numpy", 1): factors}


def mlp(x, labels, w0, b0, w1, b1, w2, b2):
    at = np.arange(x.shape[0])

    def run():
        h0 = np.maximum(x @ w0 + b0, 0)
        h1 = np.maximum(h0 @ w1 + b1, 0)
        y = h1 @ w2 + b2
        m = y.max(axis=1, keepdims=True)
        e = np.exp(y - m)
        z = e.sum(axis=1, keepdims=True)
        loss = np.mean(np.log(z[:, 0]) + m[:, 0] - y[at, labels])
        g2 = e / z
        g2[at, labels] -= 1
        g2 /= F(x.shape[0])
        g1 = (g2 @ w2.T) * (h1 > 0)
        g0 = (g1 @ w1.T) * (h0 > 0)
        return x.T @ g0, g0.sum(0), h0.T @ g1, g1.sum(0), h1.T @ g2, g2.sum(0), loss

    return {("numpy", 1): run}


class Trainer:
    """Steps of gradient descent on dense layers, from the same parameters whenever it is reset."""

    def __init__(self, loss, x, labels, rate, params):
        self.loss, self.x, self.labels, self.rate, self.start = loss, torch.from_numpy(x), torch.from_numpy(labels).long(), float(rate), params
        self.reset()

    def reset(self):
        self.params = [torch.from_numpy(p.copy()).requires_grad_() for p in self.start]
        try:
            self.optimizer = torch.optim.SGD(self.params, lr=self.rate, fused=True)
        except (TypeError, RuntimeError):  # before version 2.4
            self.optimizer = torch.optim.SGD(self.params, lr=self.rate)

    def __call__(self):
        self.optimizer.zero_grad()
        value = self.loss(self.x, self.labels, *self.params)
        value.backward()
        self.optimizer.step()
        return value

    def results(self):
        value = self()
        return tuple(p.detach().numpy() for p in self.params) + (value.item(),)


def mlp_loss(x, labels, *params):
    for i in range(0, len(params), 2):
        x = torch.addmm(params[i + 1], x, params[i])
        if i + 2 < len(params):
            x = torch.relu(x)
    return torch.nn.functional.cross_entropy(x, labels)


FIRST = {}  # seconds of the first step of each contender of the row, with the compilation


def train(*arrays):
    """A training step with autograd as it is, and compiled where torch has a compiler that works here."""
    params, (x, labels, rate) = arrays[:-3], arrays[-3:]
    FIRST.clear()
    if torch is None:
        return {}
    losses = {"torch": mlp_loss}
    if hasattr(torch, "compile"):
        losses["torch, compiled"] = torch.compile(mlp_loss, dynamic=False)
    runs = {}
    for name, loss in losses.items():
        for threads in 1, 2:
            set_threads(threads)
            run = Trainer(loss, x, labels, rate, params)
            start = time.perf_counter()
            try:
                run()
            except Exception as e:  # no C++ compiler, for one
                print("bench: %s: %s" % (name, str(e).splitlines()[0]), file=sys.stderr)
                break
            FIRST.setdefault(name, time.perf_counter() - start)
            runs[name, threads] = run
    return runs


def numba_sum(x):
    s = F(0)
    for i in (numba.prange if numba else range)(x.size):
        s += x[i]
    return s


def total(x):
    # no numexpr: its sum of float32 is off by up to 1e-4 here, for it adds one after another
    runs = both(np.sum, lambda t, v: t.sum(v))(x)
    runs.update(numba_of(numba_sum, x))
    return runs


ROWS = {
    "E1": chain,
    "E2": chain,
    "E3": gelu,
    "E4_exp": unary("exp"),
    "E4_tanh": unary("tanh"),
    "E4_log": unary("log"),
    "E4_sigmoid": sigmoid,
    "R1_sum": total,
    "R2_dot": dot,
    "R3_rowsum": both(lambda x: np.sum(x, axis=1), lambda t, x: t.sum(x, 1)),
    "R3_colsum": both(lambda x: np.sum(x, axis=0), lambda t, x: t.sum(x, 0)),
    "R4_meanvar": both(lambda x: (np.mean(x), np.var(x)), lambda t, x: t.var_mean(x, unbiased=False)[::-1]),
    "R5_argmax": both(np.argmax, lambda t, x: t.argmax(x)),
    "R6_sqdist": sqdist,
    "S1_softmax": softmax,
    "S2_layernorm": layernorm,
    "S3_xent": xent,
    "M2_gemv_4096x1024": matmul,
    "M2_gemv_split_4096x1024": matmul,
    "T1_transpose": transpose,
    "T2_stride_add": stride_add,
    "G1_gather": gather,
    "F1_fft_65536": fft,
    "F1_fft_61440": fft,
    "F1_fft_f32_65536": fft,
    "F1_fft_256x1024": fft,
    "F2_fft_512x512": fft2,
    "O1_sort_f32_1M": sort,
    "O1_sort_f64_1M": sort,
    "O1_sort_i32_1M": sort,
    "O2_argsort_f32_1M": argsort,
    "O2_argsort_f64_1M": argsort,
    "O3_top100_f32_1M": top100,
    "D1_cholesky_500": cholesky,
    "D2_lu_500": lu,
    "D3_solve_500": solve,
    "D4_inverse_500": inverse,
    "D5_qr_500": qr,
    "A1_mlp_fwd_bwd": mlp,
    "train": train,
}


def set_threads(n):
    if ne is not None:
        ne.set_num_threads(n)
    if torch is not None:
        torch.set_num_threads(n)
    if numba is not None:
        numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))


class Peer:
    def versions(self, _):
        found = ["Python " + sys.version.split()[0], "NumPy " + np.__version__]
        for name, lib in ("numexpr", ne), ("torch", torch), ("numba", numba):
            if lib is not None:
                found.append(name + " " + lib.__version__)
        return ", ".join(found)

    def open(self, req):
        name = req["row"]
        row = matmul_bf16 if name.startswith("M1_bf16_") else matmul if name.startswith("M1_") else ROWS.get(name)
        self.runs = row(*(np.load(f) for f in req["inputs"])) if row else {}
        return [{"name": n, "threads": t} for n, t in self.runs]

    def check(self, req):
        got = [np.load(f).astype(np.float64) for f in req["paths"]]
        worst = 0.0
        for (_, threads), run in self.runs.items():
            set_threads(threads)
            if isinstance(run, Trainer):
                run.reset()
                want = run.results()
                run.reset()
            else:
                want = run()
            want = want if isinstance(want, tuple) else (want,)
            if len(want) != len(got):
                raise ValueError("there are %d results and %d" % (len(want), len(got)))
            for w, g in zip(want, got):
                w = np.asarray(w, np.float64)
                if w.shape != g.shape:
                    raise ValueError("the shapes are %s and %s" % (w.shape, g.shape))
                worst = max(worst, float(np.max(np.abs(w - g)) / max(np.max(np.abs(w)), 1e-30)))
        return worst

    def time(self, req):
        set_threads(req["threads"])
        run = self.runs[(req["name"], req["threads"])]
        start = time.perf_counter()
        for _ in range(req["n"]):
            run()
        return time.perf_counter() - start

    def first(self, _):
        return FIRST

    def small(self, req):
        """Seconds of so many x * 2 + 1 on 16 floats."""
        x = np.arange(16, dtype=np.float32)
        two, one = np.float32(2), np.float32(1)
        start = time.perf_counter()
        for _ in range(req["calls"]):
            x * two + one
        return time.perf_counter() - start


peer = Peer()
for line in sys.stdin:
    try:
        request = json.loads(line)
        answer = {"ok": getattr(peer, request["do"])(request)}
    except Exception as e:  # the parent has to hear of it, whatever it is
        answer = {"error": "%s: %s" % (type(e).__name__, e)}
    print(json.dumps(answer), flush=True)
