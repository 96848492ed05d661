import every
import numpy as np

for name in "i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64".split():
    dtype = {"i": "int", "u": "uint", "f": "float"}[name[0]] + name[1:]
    for n in (0, 1, 5, 70):
        x = np.arange(n).astype(dtype)
        y = getattr(every, "twice_" + name)(x)
        assert y.dtype == x.dtype and np.array_equal(y, x + x), (name, n, y)
        back = getattr(every, "twice_" + name)(x[::-1])
        assert np.array_equal(back, y[::-1]), (name, n, back)
assert np.array_equal(every.twice_bool(np.array([True, False])), [False, True])

x = np.arange(6, dtype=np.float32)
a, i, b = every.mixed(1.5, 4, False, x)
assert a == 6 and np.array_equal(i, [1, 2, 3]) and b
assert np.array_equal(x, [3, 4, 5, 3, 4, 5])
assert every.class_(np.ones(3, np.float32)) == 3


def fails(error, text, call, *args):
    try:
        call(*args)
    except error as e:
        assert text in str(e), e
    else:
        assert False, "no " + error.__name__


assert every.divide(7, 2) == 3
fails(ZeroDivisionError, "every.heal:", every.divide, 1, 0)
fails(AssertionError, "a > 0", every.check, -1)
fails(TypeError, "x is changed, so it has to be an array", every.mixed, 1.5, 4, False, [1.0, 2.0])
fails(ValueError, "x has 2 axes, not 1", every.mixed, 1.5, 4, False, np.zeros((2, 2), np.float32))
fails(ValueError, "axis 0 of x has extent 3, but 2*N is 2", every.mixed, 1.5, 4, False, np.zeros(3, np.float32))
frozen = np.zeros(4, np.float32)
frozen.flags.writeable = False
fails(ValueError, "read-only", every.mixed, 1.5, 4, False, frozen)
# Elements that are not aligned are copied.
raw = np.zeros(9, np.uint8)[1:].view(np.float32)
assert np.array_equal(every.twice_f32(raw), [0, 0])
