"""Arrays of other libraries by DLPack: an exporter of this test, which counts how often its memory is given back."""

import ctypes
import gc
import struct
import sys

import every

Managed, Versioned = every._DLManaged, every._DLVersioned
FLOAT, INT, UINT, BFLOAT, BOOL = 2, 0, 1, 4, 6
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]


lent = {}  # what is with others, by its address


class Exporter:
    """Memory of elements in the format of struct, seen through a shape, strides and an offset in bytes."""

    def __init__(self, format, values, shape, strides=None, offset=0, code=FLOAT, lanes=1, flags=0, device=1,
                 version=(1, 0), pad=0):
        self.memory = ctypes.create_string_buffer(struct.pack("=%dx%d%s" % (pad, len(values), format), *values))
        self.format, self.pad = format, pad
        self.shape, self.strides = shape, strides
        self.offset, self.code, self.lanes, self.flags = offset, code, lanes, flags
        self.device, self.version = device, version
        self.deleted, self.capsules = 0, []
        self.deleter = DELETER(self.delete)

    def delete(self, address):
        self.deleted += 1
        del lent[address]

    def values(self):
        return [x for x, in struct.iter_unpack("=" + self.format, self.memory.raw[self.pad:-1])]

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, *, stream=None, max_version=None):
        assert stream is None and max_version[0] >= 1
        return self.capsule(Versioned)

    def capsule(self, layout):
        ints = ctypes.c_int64 * len(self.shape)
        extents, steps = ints(*self.shape), self.strides and ints(*self.strides)
        managed = layout()
        tensor = managed.tensor
        tensor.data, tensor.offset = ctypes.addressof(self.memory) + self.pad, self.offset
        tensor.device[0], tensor.ndim, tensor.lanes = self.device, len(self.shape), self.lanes
        tensor.code, tensor.bits = self.code, 8 * struct.calcsize("=" + self.format)
        tensor.shape = ctypes.addressof(extents)
        tensor.strides = self.strides and ctypes.addressof(steps)
        managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p).value
        if layout is Versioned:
            managed.major, managed.minor = self.version
            managed.flags = self.flags
        lent[ctypes.addressof(managed)] = self, managed, extents, steps
        self.capsules.append(api.PyCapsule_New(ctypes.addressof(managed), layout.name, None))
        return self.capsules[-1]


class Old(Exporter):
    """An exporter from before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self.capsule(Managed)


def fails(error, text, call, *args, **named):
    try:
        call(*args, **named)
    except error as e:
        assert text in str(e), e
    else:
        assert False, "no " + error.__name__


def given_back(x, name=b"used_dltensor_versioned"):
    gc.collect()
    assert x.deleted == len(x.capsules) > 0, (x.deleted, len(x.capsules))
    assert all(api.PyCapsule_GetName(c) == name for c in x.capsules)


def listed(x):
    return x.tolist()


# Row-major memory, with and without strides, of either version.
for kind, used in ((Exporter, b"used_dltensor_versioned"), (Old, b"used_dltensor")):
    for strides in (None, (1,)):
        x = kind("f", [1, 2, 3], (3,), strides)
        assert listed(every.twice_f32(x)) == [2, 4, 6]
        given_back(x, used)

# Other strides, which may be negative or 0, and an offset.
six = [0, 1, 2, 3, 4, 5]
for shape, strides, offset, want in (
        ((2, 3), (3, 1), 0, [[1, 2, 3], [4, 5, 6]]), ((3, 2), (1, 3), 0, [[1, 4], [2, 5], [3, 6]]),
        ((2, 2), (3, 2), 4, [[2, 4], [5, 7]]), ((2, 3), (-3, -1), 20, [[6, 5, 4], [3, 2, 1]]),
        ((2, 3), (0, 1), 8, [[3, 4, 5], [3, 4, 5]]), ((1, 2), (99, 5), 0, [[1, 6]]), ((0, 2), (2, 1), 0, [])):
    x = Exporter("f", six + [6], shape, strides, offset)
    assert listed(every.rows(x)) == want, (strides, listed(every.rows(x)))
    given_back(x)
empty = Exporter("f", [], (0,))
empty.memory = ctypes.create_string_buffer(1)
assert listed(every.twice_f32(empty)) == []

# Elements that are not aligned are copied, in any order.
for shape, strides, offset, want in (((3,), None, 0, [2, 4, 6]), ((3,), (-1,), 8, [6, 4, 2]), ((0,), (1,), 0, [])):
    x = Exporter("f", [1, 2, 3], shape, strides, offset, pad=1)
    assert listed(every.twice_f32(x)) == want
    given_back(x)
x = Exporter("f", [1, 2, 3], (3,), pad=1)
fails(ValueError, "out is changed, and its elements are not aligned", every.twice_f32, [1, 2, 3], out=x)
given_back(x)

# Types: each is itself, and what NumPy does not have is its bits, too.
for name, format, code in (("i8", "b", INT), ("i16", "h", INT), ("i32", "i", INT), ("i64", "q", INT), ("u8", "B", UINT),
                           ("u16", "H", UINT), ("u32", "I", UINT), ("u64", "Q", UINT), ("f16", "e", FLOAT),
                           ("f32", "f", FLOAT), ("f64", "d", FLOAT)):
    x = Exporter(format, [1, 2, 3], (3,), code=code)
    assert listed(getattr(every, "twice_" + name)(x)) == [2, 4, 6]
    given_back(x)
for code in (BFLOAT, UINT):
    x = Exporter("H", [0x3F80, 0x4000], (2,), code=code)
    assert listed(every.twice_bf16(x)) == [0x4000, 0x4080]
    given_back(x)
assert listed(every.twice_bool(Exporter("B", [1, 0], (2,), code=BOOL))) == [False, True]
assert listed(every.scales(Exporter("B", [128, 127], (2,), code=14), Exporter("B", [0x3C, 0x40], (2,), code=12))[0]) == [2, 2]
for call, x, text in (
        (every.twice_f32, Exporter("d", [1], (1,)), "x is an array of float64; its elements must be float32"),
        (every.twice_u16, Exporter("H", [1], (1,), code=BFLOAT), "array of bfloat16; its elements must be uint16"),
        (every.twice_bf16, Exporter("e", [1], (1,)), "array of float16; its elements must be bfloat16"),
        (every.twice_bool, Exporter("B", [1], (1,), code=UINT), "array of uint8; its elements must be bool"),
        (every.twice_f32, Exporter("f", [1], (1,), code=5), "array of complex32;"),
        (every.twice_f32, Exporter("f", [1, 2], (1,), lanes=2), "array of float32 x 2;")):
    fails(TypeError, text, call, x)
    given_back(x)
fails(ValueError, "x has 2 axes, not 1", every.twice_f32, Exporter("f", [1], (1, 1)))
fails(ValueError, "x has 0 axes, not 1", every.twice_f32, Exporter("f", [1], ()))
x = Exporter("f", [1, 2, 3], (3,))
fails(ValueError, "axis 0 of x has extent 3, but 2*N is 2", every.mixed, 1.5, 4, False, x)
given_back(x)

# Devices and versions.
for device, text in ((2, "x is on a CUDA device, and the library works in memory of the CPU: pass x.cpu()"),
                     (10, "a ROCm device"), (77, "a device of kind 77")):
    x = Exporter("f", [1], (1,), device=device)
    fails(TypeError, text, every.twice_f32, x)
    assert not x.capsules
assert listed(every.twice_f32(Exporter("f", [1], (1,), device=3))) == [2]  # pinned
assert listed(every.twice_f32(Exporter("f", [1], (1,), version=(1, 9)))) == [2]
x = Exporter("f", [1], (1,), version=(2, 0))
fails(TypeError, "x is given by DLPack 2.0", every.twice_f32, x)
assert not x.deleted and api.PyCapsule_GetName(x.capsules[0]) == Versioned.name  # it was not taken


class Wrong(Exporter):
    def __dlpack__(self, **named):
        raise BufferError("use tensor.detach()")


class Twice(Exporter):
    def __dlpack__(self, **named):
        return self.capsules[0] if self.capsules else self.capsule(Versioned)


fails(TypeError, "x of type Wrong is not given by DLPack: use tensor.detach()", every.twice_f32, Wrong("f", [1], (1,)))
x = Twice("f", [1], (1,))
every.twice_f32(x)
fails(TypeError, "no capsule of DLPack that is unused", every.twice_f32, x)
given_back(x)

# What is changed.
for kind in (Exporter, Old):
    x = kind("f", [0, 1, 2, 3, 4, 5], (4,))
    a, i, b = every.mixed(1.5, 4, False, x)
    assert a == 6 and listed(i) == [1, 2] and b and x.values() == [2, 3, 2, 3, 4, 5]
    x = kind("f", [0, 1, 2, 3], (4,), (-1,), 12)
    every.mixed(1.5, 4, False, x)
    assert x.values() == [0, 1, 0, 1] and x.deleted == 1
x = Exporter("f", [0, 1], (2,), flags=1)
assert listed(every.twice_f32(x)) == [0, 2]
fails(ValueError, "x is changed, and the array is read-only", every.mixed, 1.5, 4, False, x)
fails(ValueError, "out is changed, and DLPack gives a copy", every.twice_f32, [1, 2], out=Exporter("f", [0, 1], (2,), flags=2))
given_back(x)


class Fixed(Old):
    """An array that cannot say that it never changes."""


Fixed.__module__ = "jaxlib._jax"
fails(ValueError, "x is changed, and the array is read-only", every.mixed, 1.5, 4, False, Fixed("f", [0, 1], (2,)))

# Places for results: what was given is returned, and has them.
x = Exporter("f", [0] * 4, (2,), (2,), 4)
assert every.twice_f32([1, 2], out=x) is x and x.values() == [0, 2, 0, 4]
given_back(x)
x = Exporter("f", [0], ())
assert every.class_([1, 2, 3], out=x) is x and x.values() == [6]
i, place = Exporter("i", [0, 0], (2,), code=INT), Exporter("d", [0], ())
a, got, b = every.mixed(1.5, 4, False, Exporter("f", [0] * 4, (4,)), out=(place, i, None))
assert got is i and i.values() == [1, 2] and a is place and place.values() == [6] and b
fails(ValueError, "out has to be a tuple of 3 arrays", every.mixed, 1.5, 4, False, Exporter("f", [0] * 4, (4,)), out=x)
fails(ValueError, "out has 1 axes, not 2", every.rows, [[1.0]], out=Exporter("f", [0], (1,)))
x = Exporter("f", [1, 2], (2,))
fails(ValueError, "", every.twice_f32, x, out=x)
given_back(x)

# Results are given by DLPack in their turn.
y = every.twice_f32([1, 2])
assert tuple(y.__dlpack_device__()) == (1, 0) and listed(every.twice_f32(y)) == [4, 8]


class Through:
    def __init__(self, of):
        self.of = of
        self.__dlpack_device__ = of.__dlpack_device__

    def __dlpack__(self, **named):
        return self.of.__dlpack__(**named)


Through.__dlpack_device__ = lambda self: self.of.__dlpack_device__()
assert listed(every.twice_f32(Through(y))) == [4, 8]
gc.collect()
assert [x.version for x, *_ in lent.values()] == [(2, 0)], lent
if sys.modules["numpy"]:
    np = sys.modules["numpy"]
    assert type(y) is np.ndarray

    class Array(Wrong):
        def __array__(self, dtype=None, copy=None):
            return np.float32([1, 2])

    assert listed(every.twice_f32(Array("f", [1], (1,)))) == [2, 4]
    fails(TypeError, "out of type Array is not given by DLPack", every.twice_f32, [1, 2], out=Array("f", [1], (1,)))

    raise SystemExit

# Without NumPy results are of class Tensor, and lists are arguments.
from array import array

T = every.Tensor
assert type(y) is T and y.shape == (2,) and y.dtype == "float32" and y.ndim == 1 and len(y) == 2 and list(y) == [2, 4]
assert y[0] == 2 and y[-1] == 4 and repr(y) == "Tensor(float32, [2.0, 4.0])" and "2000" in repr(every.twice_f32([1] * 2000))
fails(IndexError, "index 2", lambda: y[2])
fails(IndexError, "2 indices", lambda: y[0, 0])
z = every.rows([[1, 2, 3], [4, 5, 6]])
assert z.tolist() == [[2, 3, 4], [5, 6, 7]] and z[1].tolist() == [5, 6, 7] and z[1, 2] == 7 and z[-2][0] == 2
assert every.rows(z).tolist() == [[3, 4, 5], [6, 7, 8]] and every.twice_f32(z[1]).tolist() == [10, 12, 14]
assert every.rows(T(every._float32, (3, 0))).shape == (3, 0) and every.rows(T(every._float32, (3, 0))).tolist() == [[], [], []]
assert every.class_([1, 2, 3]) == 6 and every.pair(1.5, 2, 3) == (1.5, 5)
assert every.twice_f32([]).tolist() == [] and every.rows([]).shape == (0, 0)
assert every.twice_bf16([0x3F80]).dtype == "bfloat16" and every.twice_bf16([0x3F80]).tolist() == [0x4000]
assert every.twice_u16(every.twice_bf16([0x3F80])).dtype == "uint16"
assert every.twice_bool((True, False)).tolist() == [False, True] and every.scalar_f16(65504) == 65504
out = T(every._float32, (2,))
assert every.twice_f32([1, 2], out=out) is out and out.tolist() == [2, 4]
assert y.__array_interface__["typestr"][1:] == "f4" and y.__array_interface__["shape"] == (2,)
for wrong in ([1, 2**40], [2**63], [-2**31 - 1]):
    fails(OverflowError, "x has an element %d, which is not from" % wrong[-1], every.twice_i32, wrong)
fails(OverflowError, "too large for float32", every.twice_f32, [1e300])
fails(OverflowError, "too large for float32", every.twice_f32, [10**400])
fails(OverflowError, "too large for float16", every.twice_f16, [65536])
fails(OverflowError, "too large for 16 bits", every.scalar_f16, 70000.0)
for call, wrong in ((every.twice_i32, [1.0]), (every.twice_i32, ["1"]), (every.twice_i32, [None]), (every.twice_f32, ["1"]),
                    (every.twice_f32, [1j]), (every.twice_bool, [0, 1])):
    fails(TypeError, "which are not converted to", call, wrong)
fails(ValueError, "lists of several lengths", every.rows, [[1.0], [1.0, 2.0]])
fails(ValueError, "x has 2 axes, not 1", every.twice_f32, [[1.0]])
fails(ValueError, "x has 0 axes, not 1", every.twice_f32, 1.0)
fails(TypeError, "x is changed, so it has to be an array", every.mixed, 1.5, 4, False, [1.0, 2.0])
fails(TypeError, "has to be True or False", every.mixed, 1.5, 4, 1, y)

# Python's own arrays, which are shared.
x = array("f", [0, 1, 2, 3])
every.mixed(1.5, 4, False, x)
assert list(x) == [2, 3, 2, 3] and every.twice_i64(array("q", [5])).tolist() == [10]
assert every.twice_u8(b"\x01\x02").tolist() == [2, 4] and every.twice_f32(memoryview(x)[::-1]).tolist() == [6, 4, 6, 4]
assert every.twice_f32(array("f")).tolist() == []
every.twice_f32([1, 2, 3, 4], out=x)
assert list(x) == [2, 4, 6, 8]
fails(ValueError, "read-only", every.twice_u8, [1, 2], out=b"ab")
fails(ValueError, "not row-major", every.twice_f32, [1, 2], out=memoryview(x)[::2])
fails(TypeError, "x is an array of 'd'", every.twice_f32, array("d", [1]))
fails(ValueError, "x has 1 axes, not 2", every.rows, array("f", [1]))

# Capsules of a Tensor have copies, which go when they are taken and given back, or nobody has them.
fails(BufferError, "a copy", y.__dlpack__, copy=False)
fails(BufferError, "streams", y.__dlpack__, stream=1)
fails(BufferError, "CPU", y.__dlpack__, dl_device=(2, 0))
for version in (None, (1, 0)):
    for _ in range(3):
        assert every._is_capsule(y.__dlpack__(max_version=version), (Versioned if version else Managed).name)
    assert len(every._exported) == 1, len(every._exported)
    kept = y.__dlpack__(max_version=version)
    y.__dlpack__()
    assert len(every._exported) == 2
    z = Through(y)
    for _ in range(3):
        assert every.twice_f32(z).tolist() == [4, 8]
    del kept
    y.__dlpack__()
    assert len(every._exported) == 1
fails(ValueError, "out is changed, and DLPack gives a copy", every.twice_f32, [1, 2], out=Through(y))
