"""References of the programs of numerical mathematics, physics and finance: see expect.py."""
import math

import numpy as np
from learning import rounded

np.seterr(all="ignore")


def nbody():
    m = np.array([1.00000597682, 0.000954786104043, 0.000285583733151, 0.0000437273164546, 0.0000517759138449])
    x = np.array([[0, 0, 0], [-3.5023653, -3.8169847, -1.5507963], [9.0755314, -3.0458353, -1.6483708],
                  [8.3101420, -16.2901086, -7.2521278], [11.4707666, -25.7294829, -10.8169456]])
    v = np.array([[0, 0, 0], [0.00565429, -0.00412490, -0.00190589], [0.00168318, 0.00483525, 0.00192462],
                  [0.00354178, 0.00137102, 0.00055029], [0.00288930, 0.00114527, 0.00039677]])
    def accelerations():
        d = x[None] - x[:, None]
        r = np.sqrt((d**2).sum(axis=2)) + np.eye(5)
        return 0.0002959122082855911 * (m[None, :, None] * d / r[:, :, None]**3).sum(axis=1)
    for _ in range(365):
        v = v + accelerations() * 0.5
        x = x + v
        v = v + accelerations() * 0.5
    yield rounded(x, 1e6)
    yield True


def black_scholes():
    def call(s, k, r, sigma, t):
        d = (math.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * math.sqrt(t))
        def below(x):
            return math.erfc(-x / math.sqrt(2)) / 2
        return s * below(d) - k * math.exp(-r * t) * below(d - sigma * math.sqrt(t))
    strikes, times = (80, 90, 100, 110, 120), (0.25, 0.5, 1, 2)
    calls = np.array([[call(100, k, 0.05, 0.2, t) for t in times] for k in strikes])
    yield rounded(calls, 1e6)
    # The price of the put follows from parity.
    yield rounded([[calls[i, j] - 100 + k * math.exp(-0.05 * t) for j, t in enumerate(times)] for i, k in enumerate(strikes)], 1e6)
    yield True
    yield 310000


def heat():
    u = np.zeros((16, 16))
    u[0] = np.sin(np.pi * np.arange(16) / 15)
    # A step is a linear map of the inner points: its powers give any time, its fixed point the steady state.
    inner = [(i, j) for i in range(1, 15) for j in range(1, 15)]
    laplace, source = np.zeros((196, 196)), np.zeros(196)
    for k, (i, j) in enumerate(inner):
        laplace[k, k] = -4
        for p in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if p in inner:
                laplace[k, inner.index(p)] = 1
            else:
                source[k] += u[p]
    steady = np.linalg.solve(laplace, -source)
    early = steady - np.linalg.matrix_power(np.eye(196) + 0.2 * laplace, 20) @ steady
    places = [inner.index((i, 7)) for i in (1, 2, 4, 8)]
    yield rounded(early[places], 1e6)
    # Until one more step changes nothing by 1e-9 or more.
    now = np.zeros(196)
    while True:
        now = now + 0.25 * (laplace @ now + source)
        if abs(0.25 * (laplace @ now + source)).max() < 1e-9:
            break
    yield rounded(now[places], 1e6)
    yield abs(now - steady).max() < 1e-6
    yield True


def lu_solve():
    i, j = np.indices((6, 6))
    a = (i * 7 + j * j * 5 + i * j * 3 + 4) % 13 - 6.0
    yield rounded(np.linalg.det(a), 1e3)
    yield rounded(np.linalg.solve(a, np.arange(6)**2 - 7.0), 1e6)
    yield True
    yield True
    yield True


def fft():
    n = np.arange(64)
    f = np.fft.fft(n * n % 17 - 8 + 1j * (n * 5 % 11 - 5))
    yield True
    yield rounded(f.real[:16], 1e6)
    yield rounded(f.imag[:16], 1e6)
    yield True
    x, y = np.arange(32) % 5 - 2, np.arange(32) % 7
    yield np.array([sum(x[i] * y[(k - i) % 32] for i in range(32)) for k in range(32)])


def spmv():
    a = np.zeros((40, 40))
    for i in range(40):
        for j in range(max(i - 1, 0), min(i + 2, 40)):
            a[i, j] = (4 if i == j else -1) + i * j % 5 * 0.25
    y = a @ (np.arange(40)**2 % 11)
    yield y
    yield True
    yield (a.T @ y).sum()
    yield True
    yield True


def conjugate_gradient():
    second = 2 * np.eye(12) - np.eye(12, k=1) - np.eye(12, k=-1)
    b = np.zeros((12, 12))
    b[3, 4], b[8, 7] = 1, -0.5
    x = np.linalg.solve(np.kron(second, np.eye(12)) + np.kron(np.eye(12), second), b.ravel()).reshape(12, 12)
    yield rounded(x[3], 1e9)
    yield rounded(x[8], 1e9)
    yield True
    yield True


def expm(a):
    """exp of a matrix with different eigenvalues."""
    w, v = np.linalg.eig(a)
    return (v @ np.diag(np.exp(w)) @ np.linalg.inv(v)).real


def matrix_exponential():
    yield True
    yield rounded([[1, 1, 3.5], [0, 1, 3], [0, 0, 1]], 1e9)
    rates = np.array([[-0.5, 0.3, 0.2], [0.1, -0.4, 0.3], [0.25, 0.25, -0.5]])
    yield rounded(expm(rates * 2), 1e9)
    yield True
    yield rounded(expm(rates * 400)[0], 1e9)


def philox(counter, key):
    """Philox4x32-10 of Salmon, Moraes, Dror and Shaw."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b % 2**32, a >> 32 ^ c[3] ^ k[1], a % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def monte_carlo_pi():
    key = (2026, 0)
    yield np.array([philox((i, 0, 0, 0), key)[0] for i in range(4)])
    def fold_in(key, n):
        return tuple(philox((n, 0, 0, 1), key)[:2])
    def uniform(key, i):
        a, b = philox((i, 0, 0, 0), key)[:2]
        return ((a << 32 | b) >> 11) / 2**53
    hits = []
    for s in range(8):
        kx, ky = fold_in(fold_in(key, s), 0), fold_in(fold_in(key, s), 1)
        hits.append(sum(uniform(kx, i)**2 + uniform(ky, i)**2 < 1 for i in range(400)))
    yield np.array(hits)
    yield sum(hits)
    yield abs(4 * sum(hits) / 3200 - math.pi) < 0.1


def quadrature():
    # Gauss's rule with 60 nodes is exact to the last digit.
    x, w = np.polynomial.legendre.leggauss(60)
    x = 0.5 + 1.5 * x
    exact = 1.5 * (w * np.exp(-x * x) * np.cos(3 * x)).sum()
    # Simpson's rule with 200 intervals is not: its error shows in the printed digits.
    grid = np.linspace(-1, 2, 201)
    weights = np.ones(201)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    yield rounded(0.015 / 3 * (weights * np.exp(-grid**2) * np.cos(3 * grid)).sum(), 1e10)
    yield rounded(exact, 1e10)
    yield rounded(exact, 1e10)
    yield rounded(np.polynomial.legendre.leggauss(5)[0][::-1], 1e10)


def polynomial_roots():
    roots = sorted(np.roots(np.poly([1, 2, -3, 2j, -2j, 0.5])), key=lambda z: (round(z.real, 6), round(z.imag, 6)))
    yield rounded([z.real for z in roots], 1e6)
    yield rounded([z.imag for z in roots], 1e6)


def pagerank():
    out = np.zeros((50, 50))
    for e in range(180):
        out[(e * 7 + e // 5) % 50, (e * e + 3 * e) % 47] += 1
    count = out.sum(axis=0)
    out[:, count == 0] = 1
    # The fixed point as the solution of a system.
    rank = np.linalg.solve(np.eye(50) - 0.85 * out / out.sum(axis=0), np.full(50, 0.15 / 50))
    yield rounded(rank, 1e9)
    yield np.argsort(rank)[::-1][:5]
    yield True
    yield True


def jacobi_eigenvalues():
    i, j = np.indices((8, 8))
    yield rounded(np.linalg.eigvalsh((i * j * 3 + i + j) % 11 - 4 + 5.0 * np.eye(8)), 1e9)
    yield True
    yield True
    yield True


def lotka_volterra():
    u = np.array([[10, 8, 6, 4], [10, 6, 3, 2.75]])
    def rates(u):
        return np.array([u[0] * (1.1 - 0.4 * u[1]), u[1] * (0.1 * u[0] - 0.4)])
    # Half the step of the program, so that the solution is more exact than what is printed of it.
    h = 0.005
    for _ in range(4000):
        k1 = rates(u)
        k2 = rates(u + k1 * h / 2)
        k3 = rates(u + k2 * h / 2)
        k4 = rates(u + k3 * h)
        u = u + (k1 + 2 * k2 + 2 * k3 + k4) * h / 6
    yield rounded(u, 1e6)
    yield True
    yield True
    yield 4


def ray_tracer():
    centres = np.array([[-1.2, 0, 4], [1, 0.4, 3], [0.2, -101, 5]])
    radii = np.array([1, 0.6, 100])
    def unit(v):
        return np.array(v) / np.linalg.norm(v)
    light = unit([-0.5, 1, -0.8])
    def hits(at, ray):
        """(distance, sphere) of every sphere that the ray meets, from the roots of its quadratic equation."""
        for k in range(3):
            d = at - centres[k]
            near = np.roots([1, 2 * d @ ray, d @ d - radii[k]**2])
            if np.isreal(near).all() and near.real.min() >= 1e-6:
                yield near.real.min(), k
    eye = np.array([0, 0.3, -1])
    picture = np.zeros((22, 56), int)
    for i in range(22):
        for j in range(56):
            ray = unit([(j - 27.5) / 28, (10.5 - i) / 14, 1.6])
            t, k = min(hits(eye, ray), default=(None, None))
            if t is not None:
                point = eye + t * ray
                normal = unit(point - centres[k])
                lit = 0 if list(hits(point + 1e-6 * normal, light)) else max(normal @ light, 0)
                picture[i, j] = 1 + int(lit * 7.99)
    for row in picture:
        yield "".join(" .:-=+*#@"[b] for b in row) + "|"
    yield np.bincount(picture.ravel(), minlength=9)


def spline():
    i = np.arange(9)
    y = np.sin(0.8 * i) + 0.1 * i
    m = np.zeros(9)
    m[1:-1] = np.linalg.solve(4 * np.eye(7) + np.eye(7, k=1) + np.eye(7, k=-1), 6 * np.diff(y, 2))
    yield rounded(m, 1e9)
    # Halfway between two points the cubic is the mean less the mean of the second derivatives over 8.
    values = np.empty(17)
    values[::2] = y
    values[1::2] = (y[1:] + y[:-1]) / 2 - (m[1:] + m[:-1]) / 16
    yield rounded(values, 1e9)
    yield True


def gauss_seidel():
    i, j = np.indices((10, 10))
    a = np.where(i == j, 6.0, (i * 3 + j * 5) % 4 / 3 - 0.5)
    b = np.arange(10)**2 % 7 - 2.0
    x, y, off = np.zeros(10), np.zeros(10), []
    for _ in range(8):
        # A step solves a triangular system, or a diagonal one.
        x = np.linalg.solve(np.tril(a), b - np.triu(a, 1) @ x)
        y = (b - (a - 6 * np.eye(10)) @ y) / 6
        off.append([abs(b - a @ x).max(), abs(b - a @ y).max()])
    yield rounded(off, 1e9)
    yield rounded(np.linalg.solve(a, b), 1e9)


def half_precision():
    """NumPy rounds every operation on float16, too; only its sums are in another order and are avoided."""
    def naive(x):
        s = x.dtype.type(0)
        for v in x:
            s = s + v
        return s
    def kahan(x):
        s = c = x.dtype.type(0)
        for v in x:
            y = v - c
            t = s + y
            s, c = t, t - s - y
        return s
    def harmonic(dtype):
        return dtype(1) / np.arange(1, 1001).astype(dtype)
    x = harmonic(np.float16)
    yield naive(x)
    yield naive(x[::-1])
    yield kahan(x)
    yield naive(harmonic(np.float64)) > 7.48
    yield naive(np.ones(3000, np.float16))
    yield np.array([naive(x[:k + 1]) for k in range(12)])
    yield x[:4] * x[4:8] - x[8:12] / np.float16(3)
    yield naive(harmonic(np.float32))
    yield kahan(harmonic(np.float32))
