"""References of the programs that learn from data: see expect.py."""
import numpy as np


def images():
    return np.load("../../examples/data/digits/images.npy").astype(float)


def labels():
    return np.load("../../examples/data/digits/labels.npy")


def rounded(x, scale):
    return np.round(np.asarray(x) * scale).astype(np.int64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def kmeans_digits():
    x = images()
    c = x[:10].copy()
    def nearest():
        return np.array([[((v - w)**2).sum() for w in c] for v in x]).argmin(axis=1)
    for _ in range(12):
        label = nearest()
        for k in range(10):
            if (label == k).any():
                c[k] = x[label == k].mean(axis=0)
    table = np.zeros((10, 10), int)
    np.add.at(table, (nearest(), labels()), 1)
    yield table.sum(axis=1)
    yield table
    yield table.max(axis=1).sum()
    yield rounded(c[3, 16:32], 1000)


def pca_digits():
    values = np.linalg.eigvalsh(np.cov(images().T))[::-1]
    yield rounded(values[:4], 1e4)
    yield rounded(values.sum(), 1e4)
    yield rounded(values[:4].cumsum() / values.sum(), 1e4)


def logistic_regression():
    x, y = images() / 16, (labels() == 0).astype(float)
    w, b = np.zeros(64), 0.0
    for _ in range(50):
        d = (sigmoid(x[:600] @ w + b) - y[:600]) / 600
        w, b = w - 0.5 * (d @ x[:600]), b - 0.5 * d.sum()
    p = sigmoid(x @ w + b)
    def loss(p, y):
        return -np.log(np.where(y == 1, p, 1 - p)).mean()
    yield rounded(loss(p[:600], y[:600]), 1e6)
    yield rounded(loss(p[600:], y[600:]), 1e6)
    yield rounded(p[600:612], 1e5)
    yield ((p[600:] > 0.5) == (y[600:] == 1)).sum()


def nearest_neighbours():
    x, digit = images().astype(int), labels()
    d = ((x[1000:1400, None] - x[None, :1000])**2).sum(axis=2)
    nearest = d.argmin(axis=1)
    yield nearest[:20]
    yield (digit[nearest] == digit[1000:1400]).sum()
    yield d.min(axis=1).sum()
    three = digit[d[:100].argsort(axis=1, kind="stable")[:, :3]]
    yield sum((b if b == c else a) == t for (a, b, c), t in zip(three, digit[1000:1100]))


def softmax_classifier():
    x, digit = images() / 16, labels()
    w, b = np.zeros((64, 10)), np.zeros(10)
    for _ in range(15):
        d = (softmax(x[:900] @ w + b) - np.eye(10)[digit[:900]]) / 900
        w, b = w - 2 * (x[:900].T @ d), b - 2 * d.sum(axis=0)
    s = x[900:] @ w + b
    yield rounded(b, 1e6)
    yield rounded(softmax(s)[0], 1e6)
    yield s.argmax(axis=1)[:30]
    yield (s.argmax(axis=1) == digit[900:]).sum()


def attention():
    def weights(m, n, seed):
        i, j = np.indices((m, n))
        return (i * 37 + j * 17 + i * j * 5 + seed) % 29 / 29 - 0.5
    x = weights(8, 12, 3) * 4
    q, k, v = (x @ weights(12, 12, seed) for seed in (1, 2, 5))
    heads = []
    for h in (slice(0, 6), slice(6, 12)):
        # Row i is the attention over the positions up to i alone.
        heads.append(np.array([softmax(k[:i + 1, h] @ q[i, h] / np.sqrt(6)) @ v[:i + 1, h] for i in range(8)]))
    yield rounded(np.hstack(heads) @ weights(12, 12, 7) + x, 1e5)
    yield True
    yield True


def mlp():
    x, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]]), np.array([0, 1, 1, 0.0])
    i, j = np.indices((2, 48))
    w1 = (i * 7 + j * 5 + 3) % 9 / 4 - 1
    w2 = (np.arange(48) * 4 + 1) % 7 / 3 - 1
    b1, b2 = np.zeros(48), 0.0
    for _ in range(500):
        h = np.tanh(x @ w1 + b1)
        dp = sigmoid(h @ w2 + b2) - y
        dh = np.outer(dp, w2) * (1 - h**2)
        w1, b1, w2, b2 = w1 - 0.5 * x.T @ dh, b1 - 0.5 * dh.sum(axis=0), w2 - 0.5 * h.T @ dp, b2 - 0.5 * dp.sum()
    p = sigmoid(np.tanh(x @ w1 + b1) @ w2 + b2)
    yield rounded(p, 1e5)
    yield (p > 0.5).astype(int)


def viterbi():
    x = [(2 if t % 3 == 0 else 5) if t % 20 > 11 else (t * t + 3 * t) % 6 for t in range(40)]
    a = np.array([[0.95, 0.05], [0.1, 0.9]])
    b = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    # The best path to each state, as a whole.
    best = [(np.log(0.5 * b[s, x[0]]), [s]) for s in (0, 1)]
    for t in range(1, 40):
        best = [max((p + np.log(a[path[-1], s] * b[s, x[t]]), path + [s]) for p, path in best) for s in (0, 1)]
    yield np.array(x) + 1
    yield np.array(max(best)[1])
    forward, backward = [np.array([0.5, 0.5]) * b[:, x[0]]], [np.ones(2)]
    for t in range(1, 40):
        forward.append(forward[-1] @ a * b[:, x[t]])
        backward.insert(0, a @ (b[:, x[40 - t]] * backward[0]))
    p = np.array(forward) * np.array(backward)
    yield rounded(p[:, 1] / p.sum(axis=1), 1e6)


def kalman():
    f = np.array([[1, 0.5], [0, 1]])
    q = np.array([[0.01, 0.02], [0.02, 0.04]])
    h = np.array([[1.0, 0.0]])
    t = np.arange(30)
    truth = 3 + 1.5 * t
    z = truth + (t * t * 7 + t) % 11 * 0.4 - 2
    x, p, places = np.zeros((2, 1)), np.eye(2) * 100, []
    for v in z:
        x, p = f @ x, f @ p @ f.T + q
        gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + 4)
        x, p = x + gain @ (v - h @ x), (np.eye(2) - gain @ h) @ p
        places.append(x[0, 0])
    yield rounded(places, 1e6)
    yield rounded(x[:, 0], 1e8)
    yield rounded(p, 1e8)
    yield True


def least_squares():
    i = np.arange(40)
    x = 2 * i / 39 - 1
    y = 1 - 2 * x + 0.5 * x**3 + (i * i * 13 + 7 * i) % 23 / 230 - 0.05
    a = np.vander(x, 5, increasing=True)
    c = np.linalg.lstsq(a, y, rcond=None)[0]
    yield rounded(c, 1e8)
    yield True
    yield True
    yield rounded(np.sqrt(((y - a @ c)**2).mean()), 1e8)


def summary():
    x = np.load("data/measurements.npy")
    yield len(x)
    yield rounded([x.mean(), x.std()], 1e9)
    yield rounded(np.quantile(x, [0, 0.25, 0.5, 0.75, 1]), 1e9)
    yield np.histogram(x, 8, (-4, 4))[0]
