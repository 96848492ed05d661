"""References of the programs about search, text, numbers and pictures: see expect.py."""
import hashlib
import heapq
import itertools
import math
import struct
import zlib
from collections import Counter

import numpy as np


def tabulate(f, *extents, dtype=np.int32):
    out = np.empty(extents, dtype)
    for at in np.ndindex(*extents):
        out[at] = f(*at)
    return out


def rows(picture, characters):
    """A picture as lines, each with a bar at its end."""
    return ["".join(characters[int(c)] for c in row) + "|" for row in picture]


def bitonic_sort():
    x = sorted((i * 7919 + 104729) % 1009 - 500 for i in range(64))
    yield np.array(x)
    yield True
    def mixed(i):
        a = (i * 1103515245 + 12345 + 2**31) % 2**32 - 2**31
        return a ^ (i >> 3)
    y = sorted(mixed(i) for i in range(512))
    yield True
    yield np.array([y[0], y[255], y[511]])


def collatz_path(n):
    path = [n]
    while path[-1] != 1:
        path.append(path[-1] // 2 if path[-1] % 2 == 0 else 3 * path[-1] + 1)
    return path


def collatz():
    steps = [len(collatz_path(n)) - 1 for n in range(1, 3000)]
    yield np.array(steps[:30])
    best = max(range(2999), key=lambda i: (steps[i], -i))
    yield best + 1
    yield steps[best]
    yield max(collatz_path(9663))
    yield sum(steps)


def gcd():
    yield math.gcd(3528, 3780)
    yield math.lcm(21, 6)
    yield math.lcm(*range(1, 21))
    yield tabulate(lambda i, j: math.gcd(12 * (i + 1), 9 * j), 6, 8)
    a, b = 1234567890, 987654321
    g = math.gcd(a, b)
    # The coefficient of least magnitude, which Euclid's algorithm finds, is unique here.
    x = pow(a // g, -1, b // g)
    x = min(x, x - b // g, key=abs)
    yield np.array([g, x, (g - a * x) // b])
    yield sum(math.gcd(i, j) == 1 for i in range(1, 101) for j in range(1, 101))


def sieve():
    primes = [n for n in range(2, 1000) if all(n % d for d in range(2, n))]
    yield np.array([sum(p <= n for p in primes) for n in (10, 100, 500, 999)])
    yield np.array(primes)
    yield sum(p + 2 in primes for p in primes)
    yield max(b - a for a, b in zip(primes[1:], primes[2:]))


def prefix_sums():
    x = np.array([i * 37 % 41 - 20 for i in range(100)])
    yield np.array([sum(x[:i + 1]) for i in range(100)])
    yield True
    yield True
    table = tabulate(lambda i, j: (i + 2) * (j + 1) % 9, 6, 7)
    yield tabulate(lambda i, j: table[:i + 1, :j + 1].sum(), 6, 7)
    yield table[2:5, 1:6].sum()


def levenshtein(s, t):
    d = {(i, 0): i for i in range(len(s) + 1)} | {(0, j): j for j in range(len(t) + 1)}
    for i, j in itertools.product(range(1, len(s) + 1), range(1, len(t) + 1)):
        d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (s[i - 1] != t[j - 1]))
    return d[len(s), len(t)]


def edit_distance():
    yield levenshtein("kitten", "sitting")
    yield levenshtein("sunday", "saturday")
    yield 0
    yield levenshtein([i * i % 7 for i in range(60)], [i * (i + 3) % 5 for i in range(45)])


def common_subsequence():
    s = [i * i * 7 % 31 % 4 for i in range(30)]
    t = [(i * i * 5 + i) % 29 % 4 for i in range(26)]
    d = np.zeros((31, 27), int)
    for i, j in itertools.product(range(1, 31), range(1, 27)):
        d[i, j] = d[i - 1, j - 1] + 1 if s[i - 1] == t[j - 1] else max(d[i - 1, j], d[i, j - 1])
    yield d[30, 26]
    yield d[10]
    i, j, out = 30, 26, []
    while d[i, j]:
        if d[i - 1, j] == d[i, j]:
            i -= 1
        elif d[i, j - 1] == d[i, j]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            out.insert(0, s[i])
    yield "".join("ACGT"[c] for c in out).ljust(26, ".")


def queens():
    def ways(n):
        return sum(len({c + i for i, c in enumerate(p)}) == n == len({c - i for i, c in enumerate(p)})
                   for p in itertools.permutations(range(n)))
    yield np.array([ways(n) for n in range(1, 8)])
    yield ways(8)


def life_step(w):
    n = sum(np.roll(w, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return ((n == 3) | ((w == 1) & (n == 2))).astype(int)


def life():
    w = np.zeros((8, 8), int)
    w[:3, :3] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    yield life_step(life_step(life_step(w)))
    yield True
    w = np.zeros((48, 64), int)
    w[22:25, 30:33] = [[0, 1, 1], [1, 1, 0], [0, 1, 0]]
    counts = [0]
    for _ in range(60):
        counts.append(w.sum())
        w = life_step(w)
    yield np.array(counts)


def mandelbrot_steps(x, y):
    z = (0.0, 0.0)
    for n in range(1, 41):
        z = (z[0] * z[0] - z[1] * z[1] + x, 2.0 * z[0] * z[1] + y)
        if z[0] * z[0] + z[1] * z[1] > 4.0:
            return n
    return 40


def mandelbrot():
    def grid(h, w):
        return tabulate(lambda i, j: mandelbrot_steps(-2.0 + 2.5 * j / (w - 1), -1.125 + 2.25 * i / (h - 1)), h, w)
    g = grid(19, 41)
    for row in g:
        yield "".join("#" if n == 40 else "+" if n > 6 else "." for n in row)
    yield g.sum(axis=1)
    yield grid(32, 32).sum()


def histogram():
    x = np.load("../../examples/data/digits/images.npy")
    yield np.bincount(x.ravel(), minlength=17)
    yield True
    yield True
    yield np.bincount(x[:100].ravel(), minlength=17)


def correlate(x, k):
    h, w = x.shape[0] - k.shape[0] + 1, x.shape[1] - k.shape[1] + 1
    return sum(k[r, s] * x[r:r + h, s:s + w] for r in range(k.shape[0]) for s in range(k.shape[1]))


def edges():
    x = tabulate(lambda i, j: (200 if (i - 8)**2 + (j - 9)**2 <= 36 else 10) + (50 if 6 <= i < 20 and 18 <= j < 30 else 0), 24, 36)
    soft = correlate(x, np.outer([1, 2, 1], [1, 2, 1])) // 16
    sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    e = abs(correlate(soft, sobel)) + abs(correlate(soft, sobel.T))
    yield e.sum(axis=1)
    yield e.max()
    yield from rows(e > 100, " *")
    yield (e > 100).sum()


def text():
    def line(n, word):
        ordinal = {1: "first", 2: "second", 3: "third"}.get(n, "later")
        return f"the {ordinal} is {'an' if word < 'b' else 'a'} {word}"
    yield line(1, "apple")
    yield line(2, "pear")
    yield line(7, "grape")
    yield len(line(3, "fig"))
    yield "\u00e9t\u00e9 has 5 bytes" == "été has 5 bytes"
    yield len("été".encode())
    yield np.array(["pear" < "pears", "Zoo" < "apple", True, "ab" >= "abc"]).astype(int)
    s = "attack at dawn"
    yield "".join(chr((ord(c) - 97 + 3) % 26 + 97) if c.islower() else c for c in s)
    yield s
    yield sum(c in "aeiou" for c in s)


def knapsack():
    weight = [(i * 7 + 5) % 17 + 2 for i in range(12)]
    value = [(i * 11 + 3) % 23 + 1 for i in range(12)]
    def total(of, s):
        return sum(v for i, v in enumerate(of) if s >> i & 1)
    both = [(total(weight, s), total(value, s)) for s in range(4096)]
    yield np.array([max(v for w, v in both if w <= c) for c in range(61)])
    s = max(range(4096), key=lambda s: (both[s][1] if both[s][0] <= 60 else 0, -s))
    yield both[s][1]
    yield True
    yield s


def matrix_chain():
    d = [30, 35, 15, 5, 10, 20, 25, 40, 8, 12, 18]
    def cost(i, j, seen={}):
        if (i, j) not in seen:
            seen[i, j] = min((cost(i, k) + cost(k + 1, j) + d[i] * d[k + 1] * d[j + 1] for k in range(i, j)), default=0)
        return seen[i, j]
    yield np.array([cost(0, j) for j in range(10)])
    yield cost(0, 5) == 15125
    def matrix(m, n, seed):
        return tabulate(lambda i, j: (i * 5 + j * 3 + seed) % 7 - 3, m, n)
    yield matrix(3, 9, 1) @ matrix(9, 2, 2) @ matrix(2, 7, 3)
    yield True


def floyd_warshall():
    n = 24
    def road(i, j):
        w = (i * 31 + j * 17 + i * j) % 41
        return w + 1 if i != j and w < 7 else None
    # Dijkstra's method from every town.
    d = np.full((n, n), 1000000)
    for start in range(n):
        queue = [(0, start)]
        while queue:
            far, at = heapq.heappop(queue)
            if far < d[start, at]:
                d[start, at] = far
                for k in range(n):
                    if road(at, k) is not None:
                        heapq.heappush(queue, (far + road(at, k), k))
    yield d[0]
    found = d[d < 1000000]
    yield found.max()
    yield n * n - len(found)
    yield found.sum()
    at = 0
    while at != 13:
        at = next(k for k in range(n) if road(at, k) is not None and road(at, k) + d[k, 13] == d[at, 13])
        yield at
    yield at


def moving_average():
    x = [(i * i * 3 + i * 7) % 40 + i for i in range(48)]
    yield np.array([sum(x[i:i + 5]) for i in range(44)])
    yield True
    smooth = [np.float32(0)]
    for v in x[:12]:
        smooth.append(np.float32(0.5) * smooth[-1] + np.float32(0.5) * np.float32(v))
    yield np.array(smooth[1:], np.float32)
    yield np.array([sorted(x[i:i + 5])[2] for i in range(44)])


def bilinear_resize():
    image = np.load("../../examples/data/digits/images.npy")[3].reshape(8, 8)
    yield image
    # First along the rows, then along the columns.
    x = np.array([np.interp(np.arange(11) * 7 / 10, np.arange(8), row) for row in image])
    x = np.array([np.interp(np.arange(13) * 7 / 12, np.arange(8), column) for column in x.T]).T
    yield np.round(x * 1000).astype(int)
    yield True
    yield image.reshape(4, 2, 4, 2).sum(axis=(1, 3))
    yield np.kron(image, np.ones((2, 2), np.uint8))[:4, :16]
    yield True


def cellular_automata():
    def history(rule, t, n, at):
        h = np.zeros((t, n), int)
        h[0, at] = 1
        for k in range(1, t):
            x = h[k - 1]
            for i in range(n):
                h[k, i] = rule >> (4 * x[i - 1] + 2 * x[i] + x[(i + 1) % n]) & 1
        return h
    yield from rows(history(110, 16, 40, 38), " #")
    bits = history(30, 64, 257, 128)[:, 128]
    yield bits
    yield int("".join(map(str, bits)), 2)
    yield 3**5


def crc32():
    yield zlib.crc32(b"123456789") == 0xCBF43926
    def entry(c):
        for _ in range(8):
            c = c >> 1 ^ (0xEDB88320 if c & 1 else 0)
        return c
    yield np.array([entry(i) for i in (1, 2, 128, 255)])
    yield zlib.crc32(bytes((i * i + 17 * i + 3) % 256 for i in range(1000)))
    yield True
    yield zlib.crc32(b"")


def sha256():
    def words(digest):
        return np.array(struct.unpack(">8I", digest))
    roots = [math.isqrt(p << 64) % 2**32 for p in (2, 3, 5, 7, 11, 13, 17, 19)]
    yield np.array(roots)
    yield words(hashlib.sha256(b"abc").digest())
    yield words(hashlib.sha256(bytes((i * 7 + 1) % 256 for i in range(200))).digest())


def dijkstra():
    h, w = 14, 18
    def cost(i, j):
        k = (i * 73 + j * 31 + i * j * 7) % 23
        return None if k > 15 and i + j > 0 else 1 + k % 5
    d = np.full((h, w), -1)
    queue = [(0, 0, 0)]
    while queue:
        far, i, j = heapq.heappop(queue)
        if 0 <= i < h and 0 <= j < w and cost(i, j) is not None and d[i, j] < 0:
            d[i, j] = far
            for r, s in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= r < h and 0 <= s < w and cost(r, s) is not None:
                    heapq.heappush(queue, (far + cost(r, s), r, s))
    yield d
    yield True
    # Bellman and Ford's rounds: as many as the longest of the shortest ways has cells, and one that changes nothing.
    e, n = {(0, 0): 0}, 0
    while True:
        n += 1
        new = dict(e)
        for (i, j), far in e.items():
            for r, s in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= r < h and 0 <= s < w and cost(r, s) is not None:
                    new[r, s] = min(new.get((r, s), 10**6), far + cost(r, s))
        if new == e:
            break
        e = new
    yield n


def run_lengths():
    x = [i * i // 50 % 4 for i in range(60)]
    runs = [(v, len(list(g))) for v, g in itertools.groupby(x)]
    yield np.array(x)
    yield len(runs)
    yield np.array([n for _, n in runs][:30])
    yield np.array([v for v, _ in runs][:30])
    yield True
    # The scan counts from 0 before the first start, and from 1 at every start.
    yield max(n for _, n in runs)


def connected_components():
    h, w = 16, 24
    black = {(i, j) for i in range(h) for j in range(w) if (i * 5 + j * 3 + i * j) % 7 < 4}
    sizes = Counter()
    left = set(black)
    while left:
        first = min(left)
        todo, region = [first], set()
        while todo:
            i, j = todo.pop()
            if (i, j) in left:
                left.remove((i, j))
                region.add((i, j))
                todo += [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
        sizes[first[0] * w + first[1]] = len(region)
    yield len(sizes)
    largest = sorted(sizes.items(), key=lambda s: (-s[1], s[0]))[:6]
    yield np.array([k for k, _ in largest])
    yield np.array([n for _, n in largest])
    yield True
    yield True


def machine():
    memory, a, b = [], 0, 1
    for _ in range(30):
        memory.append(a)
        a, b = b, a + b
    yield 5 + 30 * 6
    yield np.array(memory + [0, 0])
    # 3 to begin with; for each candidate 2 for the first divisor and after the last, 1 to set the divisor,
    # 6 a divisor that fails, 4 for the one that divides, and 2 and 2 more for a prime.
    n, found, candidate = 3, [], 2
    while len(found) < 20:
        n += 1
        for d in range(2, candidate):
            n += 4
            if candidate % d == 0:
                break
            n += 2
        else:
            n += 4
            found.append(candidate)
        n += 2
        candidate += 1
    yield n
    yield np.array(found)


def radix_sort():
    x = [(i * 2654435761 % 2**32 + 12345) % 2**32 % 100003 * 40009 % 2**32 for i in range(200)]
    order = sorted(range(200), key=lambda i: x[i])
    yield np.array([x[i] for i in order[:8]])
    yield True
    yield True
    yield np.array(order[190:])


def insertion_sort():
    x = [(i * 37 + 11) % 53 - 20 for i in range(50)]
    yield np.array(sorted(x))
    yield sum(a > b for i, a in enumerate(x) for b in x[i:])
    yield True


def sudoku():
    board = [[5, 3, 4, 6, 7, 0, 0, 0, 0], [6, 0, 0, 1, 9, 5, 0, 0, 0], [0, 9, 8, 0, 0, 0, 0, 6, 0],
             [8, 0, 0, 0, 6, 0, 0, 0, 3], [4, 0, 0, 8, 0, 3, 0, 0, 1], [7, 0, 0, 0, 2, 0, 0, 0, 6],
             [0, 6, 0, 0, 0, 0, 2, 8, 0], [0, 0, 0, 4, 1, 9, 0, 0, 5], [0, 0, 0, 0, 8, 0, 0, 7, 9]]
    cells = [(i, j) for i in range(9) for j in range(9) if board[i][j] == 0]
    steps = 0
    def free(i, j):
        r, s = i // 3 * 3, j // 3 * 3
        block = {board[a][b] for a in range(r, r + 3) for b in range(s, s + 3)}
        return [d for d in range(1, 10) if d not in block | set(board[i]) | {row[j] for row in board}]
    def search(k):
        """A visit of a cell is one step for each digit that fits, and one more when none is left."""
        nonlocal steps
        if k == len(cells):
            return True
        i, j = cells[k]
        for d in free(i, j):
            board[i][j] = d
            steps += 1
            if search(k + 1):
                return True
            board[i][j] = 0
        steps += 1
        return False
    search(0)
    yield np.array(board)
    yield steps


def huffman():
    count = [45, 13, 12, 16, 9, 5, 33, 2, 8, 21, 1, 55]
    queue = [(c, i, (i,)) for i, c in enumerate(count)]
    length = [0] * 12
    heapq.heapify(queue)
    for k in range(12, 23):
        a, b = heapq.heappop(queue), heapq.heappop(queue)
        for leaf in a[2] + b[2]:
            length[leaf] += 1
        heapq.heappush(queue, (a[0] + b[0], k, a[2] + b[2]))
    yield np.array(length)
    yield sum(l * c for l, c in zip(length, count))
    yield sum(0.5**l for l in length) == 1.0
    order = sorted(range(12), key=lambda i: length[i])
    yield np.array(order)
    words, w = [], 0
    for k, i in enumerate(order):
        w = 0 if k == 0 else w + 1 << length[i] - length[order[k - 1]]
        words.append(w)
    yield np.array(words)


def permutations():
    def inversions(p):
        return sum(a > b for i, a in enumerate(p) for b in p[i:])
    every = list(itertools.permutations(range(5)))
    yield np.bincount([inversions(p) for p in every])
    yield True
    a = tabulate(lambda i, j: (i * 3 + j * j * 2 + i * j) % 7 - 3, 5, 5)
    yield round(np.linalg.det(a))
    yield 3**5


def fixed_point():
    yield np.array([math.isqrt(i * 1000000007 + 2) for i in range(8)])
    yield math.isqrt(999999999999999999)
    def arccot(x):
        """10^18 arctan(1/x), cut where the program cuts."""
        total, power, k, sign = 0, 10**18 // x, 1, 1
        while power:
            total, power, k, sign = total + sign * (power // k), power // x**2, k + 2, -sign
        return total
    yield 4 * (4 * arccot(5) - arccot(239))
    # Both are exact to some units of 2^-30, and print multiples of 2^-23.
    angles = [(i - 3) * 500000000 / 2**30 for i in range(7)]
    yield np.array([int((round(math.cos(a) * 2**30) + 64) / 128) for a in angles])
    yield np.array([int((round(math.sin(a) * 2**30) + 64) / 128) for a in angles])


def loop_states():
    n = 96
    i, j = np.indices((n, n))
    a = ((i * 7 + j * 3) % 11).astype(np.float32)
    half = np.float32(0.5)
    t = a
    for _ in range(3):
        t = t.T + np.roll(t, 1, 0)
    yield t[:3, :4]
    p = q = a
    for _ in range(4):
        p, q = q.T, p + 1
    yield p[:3, :4]
    yield q[:3, :4]
    r = a
    for _ in range(3):
        b = r.copy()
        b[1:3] = r[:2]
        b[:, 0] = r[0]
        b[0] += b[:, 0].copy()
        r = b
    yield r[:4, :4]
    s = a
    for _ in range(2):
        b = s.copy()
        b[:-1] += s[1:]
        b[:, 1:] = b[:, 1:] * b[:, :-1]
        s = b
    yield s[:4, :4]
    u, v = a, a.ravel()
    for _ in range(3):
        u, v = v.reshape(n, n) * half, u.T.ravel()
    yield u[:2, :4]
    yield v[:6]
    w, x = a, a[0]
    for _ in range(3):
        w = w.copy()
        w[1] = x
        x = w[0] + w[1]
    yield w[:3, :4]
    yield x[:5]
    y = z = a
    for _ in range(3):
        m, k = y.copy(), y.copy()
        m[0, 0] += 1
        k[0, 1] += z[0, 0]
        y, z = m, k
    yield y[:2, :4]
    yield z[:2, :4]
    m = a.copy()
    for k in range(n):
        m[k] = m[(k + 1) % n] + m[k]
    yield m[90:, :4]
    sums = a[0] + np.cumsum(a[:5], axis=0)
    yield sums[:, :4]
    yield np.cumsum(range(5))
    value = a[3, 3]
    while value >= 0.1:
        value *= half
    yield value
    yield value * half
    yield True
    yield a[1:].sum() + n
    yield a.sum()
