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
# Nothing is converted to another value.
fails(OverflowError, "b is 1099511627776, which is not from -2147483648 to 2147483647", every.divide, 1, 2**40)
fails(OverflowError, "n is 128, which is not from -128 to 127", every.mixed, 1.5, 128, False, x)
fails(OverflowError, "n is -129,", every.mixed, 1.5, np.int64(-129), False, x)
fails(OverflowError, "x is -1,", every.scalar_u64, -1)
fails(OverflowError, "x is 18446744073709551616,", every.scalar_u64, 2**64)
assert every.scalar_u64(2**64 - 1) == 2**64 - 1 and every.scalar_u64(np.uint64(7)) == 7
for wrong in (1.9, 2.0, "1", b"1", None, [1], np.float32(1), 1j, np.array([1, 2])):
    fails(TypeError, "has to be a whole number", every.divide, 1, wrong)
for wrong in ("1", None, 1j, [1.0], b"1"):
    fails(TypeError, "has to be a number", every.mixed, wrong, 4, False, x)
for wrong in ("False", "", 0, 1, None, 0.0, np.int8(1)):
    fails(TypeError, "has to be True or False", every.mixed, 1.5, 4, wrong, x)
assert every.mixed(2, 4, np.bool_(True), np.zeros(2, np.float32))[2] == False
assert every.divide(np.int8(7), np.array(2)) == 3 and every.divide(True, 1) == 1
assert every.scalar_f32(3) == 3 and every.scalar_f32(np.float64(0.5)) == 0.5 and every.scalar_f32(0.1) == np.float32(0.1)
assert np.isinf(every.scalar_f32(float("inf"))) and np.isnan(every.scalar_f32(float("nan")))
assert every.scalar_f16(0.1) == np.float16(0.1) and every.scalar_f16(65504) == 65504
fails(OverflowError, "too large for 32 bits", every.scalar_f32, 1e300)
fails(OverflowError, "too large for 16 bits", every.scalar_f16, 70000.0)
fails(OverflowError, "", every.scalar_f32, 10**400)
assert every.scalar_bf16(0x3F80) == 0x3F80
fails(OverflowError, "from 0 to 65535", every.scalar_bf16, 65536)
assert every.scalar_f8e4m3(0x7E) == 0x7E
fails(OverflowError, "from 0 to 255", every.scalar_f8e4m3, 256)
values, next_ = every.integers(np.array([-8, 7, -1, 0], np.int8))
assert np.array_equal(values, [-8, 7, -1, 0]) and np.array_equal(next_, np.array([-7, -8, 0, 1], np.int8))
values, kept = every.fours(np.arange(16, dtype=np.uint8))
assert np.array_equal(values[:8], [0, 0.5, 1, 1.5, 2, 3, 4, 6]) and np.array_equal(values[8:], -values[:8])
assert np.array_equal(kept, np.arange(16, dtype=np.uint8))
products, kept = every.scales(np.array([128, 127], np.uint8), np.array([0x3C, 0x40], np.uint8))
assert np.array_equal(products, [2, 2]) and np.array_equal(kept, np.array([128, 127], np.uint8))

assert np.array_equal(every.twice_i32([1, 2**30 - 1]), [2, 2**31 - 2])
assert np.array_equal(every.twice_u64([2**63 - 1, 0]), [2**64 - 2, 0])
assert np.array_equal(every.twice_f32([1, 2.5]), [2, 5]) and np.array_equal(every.twice_f32((1, 2)), [2, 4])
assert np.array_equal(every.twice_bool([True, False]), [False, True])
for wrong in ([1, 2**40], [2**63], [2**70]):
    fails(OverflowError, "x has an element %d, which is not from" % wrong[-1], every.twice_i32, wrong)
fails(OverflowError, "x has an element -1,", every.twice_u64, [1, -1])
fails(OverflowError, "too large for float32", every.twice_f32, [1e300])
fails(OverflowError, "too large for float16", every.twice_f16, [65536])
for call, wrong in ((every.twice_i32, [1.0]), (every.twice_i32, ["1"]), (every.twice_i32, [None]), (every.twice_f32, ["1"]),
                    (every.twice_f32, [1j]), (every.twice_bool, [0, 1]), (every.twice_bool, ["a"]), (every.twice_f32, "12")):
    fails(TypeError, "", call, wrong)
fails(TypeError, "x has a mask, which would be ignored", every.twice_f32, np.ma.masked_array(np.float32([1, 2]), [0, 1]))
fails(TypeError, "b has a mask", every.divide, 4, np.ma.masked)
fails(TypeError, "x is an array of >f4", every.twice_f32, np.zeros(2, ">f4"))


class Other:
    """An array of another library: it says its type."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


assert np.array_equal(every.twice_f32(Other(np.float32([1, 2]))), [2, 4])
fails(TypeError, "x is an array of int64", every.twice_i32, Other(np.int64([1, 2**40])))

assert every.pair(1.5, 2, 3) == (1.5, 5)

# Results without elements.
assert every.twice_f32([]).shape == (0,) and every.rows(np.empty((0, 3), np.float32)).shape == (0, 3)
assert every.rows(np.empty((3, 0), np.float32)).shape == (3, 0)
assert every.rows(np.empty((0, 0), np.float32).T, out=np.empty((0, 0), np.float32)).shape == (0, 0)

# Places for results.
y = np.zeros(2, np.float32)
assert every.twice_f32([1, 2], out=y) is y and np.array_equal(y, [2, 4])
fails(TypeError, "out has a mask", lambda: every.twice_f32([1, 2], out=np.ma.masked_array(y)))
fails(TypeError, "out is changed, so it has to be an array", lambda: every.twice_f32([1, 2], out=[0, 0]))
x = np.zeros(4, np.float32)
outs = (np.zeros((), np.float64), np.zeros(2, np.int32), np.zeros((), np.bool_))
a, i, b = every.mixed(1.5, 4, False, x, out=outs)
assert i is outs[1] and a == 6 and outs[0] == 6
fails(ValueError, "out has to be a tuple of 3 arrays", lambda: every.mixed(1.5, 4, False, x, out=outs[:2]))
fails(ValueError, "out has to be a tuple of 3 arrays", lambda: every.mixed(1.5, 4, False, x, out=np.zeros((3, 2))))

# What is there to be used, and its types.
assert "Error" in every.__all__ and "twice_f32" in every.__all__ and "class_" in every.__all__
import typing
hints = typing.get_type_hints(every.mixed)
assert hints["a"] is float and hints["n"] is int and hints["lambda_"] is bool and "out" in hints
fails(ValueError, "axis 0 of x has extent 3, but 2*N is 2", every.mixed, 1.5, 4, False, np.zeros(3, np.float32))
frozen = np.zeros(4, np.float32)
frozen.flags.writeable = False
fails(ValueError, "read-only", every.mixed, 1.5, 4, False, frozen)
# Elements that are not aligned are copied.
raw = np.zeros(9, np.uint8)[1:].view(np.float32)
assert np.array_equal(every.twice_f32(raw), [0, 0])
