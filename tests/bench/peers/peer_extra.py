"""healc as a peer of the benchmark: rows.heal by way of its C library and glue.c. build.sh puts the libraries beside it."""
import os


def register(E, PEERS):
    P, T = E.P, E.T
    here = os.path.dirname(os.path.abspath(__file__))

    class Healc(E.CPeer):
        def __init__(s):
            E.CPeer.__init__(s, os.path.join(here, "healc.so"), "rows.heal")

        def R3row(s, c):
            # As all peers of this row that give their own arrays: the rest of c.o is not part of the result.
            f = s.fn("k_R3row")
            def g():
                f(P(c.x), P(c.o), E.SZ(c.m), E.SZ(c.n))
                return [c.o[: c.m]]
            return g

        def A1(s, c):
            f = s.fn("k_A1")
            d = [E.alloc(v.shape) for pair in zip(c.W, c.B) for v in pair] + [E.alloc(16)]
            args = [P(c.X), P(c.lab)] + [P(v) for pair in zip(c.W, c.B) for v in pair] + [P(v) for v in d]
            def g():
                f(*args)
                return d[:-1] + [d[-1][:1]]
            return g

        def H4fwd(s, c):
            return s.call("k_H4fwd", P(c.a), P(c.o), E.LL(c.n), E.LL(c.p), E.LL(c.batch))

        def H4inv(s, c):
            return s.call("k_H4inv", P(c.a), P(c.o), E.LL(c.n), E.LL(c.p), E.LL(c.batch))

        def tr(s, c, direction, a, o):
            s.fn("k_H4" + direction)(P(a), P(o), E.LL(c.n), E.LL(c.p), E.LL(c.batch))

    PEERS["healc"] = Healc
