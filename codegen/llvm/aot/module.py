# What stands beside the functions of the program begins with an underscore, and nothing here calls a function of
# Python by a name that a program may have, such as max.
import builtins as _b
import ctypes as _c
import operator as _operator
import os as _os
import struct as _struct
import sys as _sys
import threading as _threading
import time as _time
import typing as _typing
from array import array as _words

try:
    import numpy as _np
    import numpy.typing as _npt
except _b.ImportError:  # then results are of class Tensor
    _np = None
_ndarray, _generic, _masked, _bools = (), (), (), _b.bool
if _np:
    _ndarray, _generic, _masked, _bools = _np.ndarray, _np.generic, _np.ma.MaskedArray, (_b.bool, _np.bool_)

_lib = _c.CDLL(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), _FILE))
_lib._PREFIX_last_error.restype = _c.c_char_p
_lib._PREFIX_cpu.restype = _c.c_char_p
_lib._PREFIX_get_threads.restype = _c.c_int32
_lib._PREFIX_set_threads.argtypes = [_c.c_int32]
_lib._PREFIX_use_cpu.argtypes = [_c.c_char_p]
_lib._PREFIX_stoppable.argtypes = [_c.c_void_p]
_interruptible = _lib._PREFIX_interruptible
_interruptible.argtypes = [_c.c_void_p, _c.c_void_p, _c.c_void_p]


if _typing.TYPE_CHECKING:
    class _DLPack(_typing.Protocol):
        """A tensor of any library that has DLPack."""

        def __dlpack__(self) -> _b.object: ...

        def __dlpack_device__(self) -> _b.tuple[_b.int, _b.int]: ...
else:
    _DLPack = _b.object


class _Type:
    """A type of elements: by NumPy's name of what is in memory, struct's letter, and DLPack's codes of it."""

    __slots__ = ("name", "memory", "format", "size", "numpy", "codes")

    def __init__(self, memory, format, code, own=None):
        self.name, self.memory, self.format = own or memory, memory, format
        self.size = _struct.calcsize("=" + format)
        self.numpy = _np and _np.dtype(memory)
        bits = 8 * self.size
        self.codes = [(code, bits)]  # the first is that of a Tensor
        if own:
            self.codes.append((1, bits))


_bool_ = _Type("bool", "?", 6)
_int8, _int16 = _Type("int8", "b", 0), _Type("int16", "h", 0)
_int32, _int64 = _Type("int32", "i", 0), _Type("int64", "q", 0)
_uint8, _uint16 = _Type("uint8", "B", 1), _Type("uint16", "H", 1)
_uint32, _uint64 = _Type("uint32", "I", 1), _Type("uint64", "Q", 1)
_float16, _float32, _float64 = _Type("float16", "e", 2), _Type("float32", "f", 2), _Type("float64", "d", 2)
_bfloat16 = _Type("uint16", "H", 4, "bfloat16")
_float8_e4m3fn, _float8_e5m2 = _Type("uint8", "B", 10, "float8_e4m3fn"), _Type("uint8", "B", 12, "float8_e5m2")
_float8_e8m0fnu = _Type("uint8", "B", 14, "float8_e8m0fnu")


class Error(_b.Exception):
    """A failure of the program that has no exception of its own in Python."""


_EXCEPTIONS = {
    1: _b.MemoryError,
    2: _b.ValueError,
    3: _b.IndexError,
    4: _b.ZeroDivisionError,
    5: _b.ValueError,
    6: _b.RecursionError,
    7: _b.ValueError,
    8: _b.AssertionError,
    10: _b.InterruptedError,
}

_timeouts = _threading.local()


class timeout:
    """In `with timeout(seconds):`, calls by this thread are stopped with a TimeoutError when so much time has passed."""

    def __init__(self, seconds):
        self._seconds = _b.float(seconds)

    def __enter__(self):
        self._outer = _b.getattr(_timeouts, "inner", None)
        self._end = _time.monotonic() + self._seconds
        if self._outer is not None and self._outer._end < self._end:
            self._end = self._outer._end
        self._flag = _c.c_int32(0)
        self._timer = _threading.Timer(_b.max(self._end - _time.monotonic(), 0), self._expire)
        self._timer.daemon = True
        self._timer.start()
        self._give(self)
        return self

    def __exit__(self, *exception):
        self._timer.cancel()
        self._give(self._outer)

    def _expire(self):
        self._flag.value = 1

    @staticmethod
    def _give(inner):
        _timeouts.inner = inner
        _lib._PREFIX_stoppable(None if inner is None else _c.addressof(inner._flag))


def set_threads(threads):
    """The number of threads that one call uses; 0 is HEAL_THREADS, or else one for each processor."""
    _lib._PREFIX_set_threads(threads)


def get_threads():
    """The number of threads that one call uses."""
    return _lib._PREFIX_get_threads()


def cpu():
    """The kind of processor whose code is in use."""
    return _lib._PREFIX_cpu().decode()


def use_cpu(name):
    """Chooses the code for another kind of processor; the results are the same."""
    _check(_lib._PREFIX_use_cpu(name.encode()))


def release_memory():
    """Frees the memory that is kept for intermediate results of the next call."""
    _lib._PREFIX_release_memory()


def _check(code):
    if code == 10:
        for _ in (0, 0):  # here Python looks whether there was a signal, and raises a KeyboardInterrupt
            pass
        inner = _b.getattr(_timeouts, "inner", None)
        if inner is not None and _time.monotonic() >= inner._end:
            raise _b.TimeoutError("the call was stopped at the end of its time")
    if code:
        raise _EXCEPTIONS.get(code, Error)(_lib._PREFIX_last_error().decode())


def _kind(value):
    return _b.type(value).__name__


def _unmasked(name, value):
    """Refuses an array with a mask, which the library would not look at."""
    if _b.isinstance(value, _masked):
        raise _b.TypeError("%s has a mask, which would be ignored; pass %s.filled(...)" % (name, name))


def _int(name, value, ctype, low, high):
    """A scalar as a whole number from low to high."""
    _unmasked(name, value)
    try:
        n = _operator.index(value)
    except _b.TypeError:
        raise _b.TypeError("%s is of type %s, and has to be a whole number" % (name, _kind(value))) from None
    if not low <= n <= high:
        raise _b.OverflowError("%s is %d, which is not from %d to %d" % (name, n, low, high))
    return ctype(n)


def _float(name, value, ctype):
    """A scalar as a number; one that is no power of two away from the type's range does not become infinite."""
    _unmasked(name, value)
    try:
        x = _c.c_double(value)
    except _b.TypeError:
        raise _b.TypeError("%s is of type %s, and has to be a number" % (name, _kind(value))) from None
    y = ctype(x.value)
    if y.value - y.value != 0 and x.value - x.value == 0:
        raise _b.OverflowError("%s is %r, which is too large for 32 bits" % (name, x.value))
    return y


def _half(name, value):
    """A scalar as the bits of a number of 16 bits."""
    x = _float(name, value, _c.c_double).value
    try:
        return _c.c_uint16.from_buffer_copy(_struct.pack("=e", x))
    except _b.OverflowError:
        raise _b.OverflowError("%s is %r, which is too large for 16 bits" % (name, x)) from None


def _bool(name, value):
    """A scalar as a truth value."""
    _unmasked(name, value)
    if _b.isinstance(value, _ndarray) and value.ndim == 0:
        value = value[()]
    if not _b.isinstance(value, _bools):
        raise _b.TypeError("%s is of type %s, and has to be True or False" % (name, _kind(value)))
    return _c.c_uint8(_b.bool(value))


class Tensor:
    """A result where there is no NumPy, row-major. DLPack gives copies of it; memory that is given as `out=` is shared."""

    __slots__ = ("shape", "_type", "_address", "_memory", "__weakref__")
    strides = None

    def __init__(self, kind, shape, address=None, memory=None):
        self.shape, self._type = shape, kind
        if memory is None:
            size = kind.size
            for n in shape:
                size *= n
            memory = (_c.c_char * (size + 64))()
            address = -(-_c.addressof(memory) // 64) * 64
        self._address, self._memory = address, memory

    @property
    def dtype(self):
        """The name of the type of the elements."""
        return self._type.name

    @property
    def ndim(self):
        return _b.len(self.shape)

    @property
    def __array_interface__(self):
        kind = self._type
        letter = "b" if kind is _bool_ else "u" if kind.format in "BHIQ" else "f" if kind.format in "efd" else "i"
        order = "|" if kind.size == 1 else "<" if _words("h", [1]).tobytes()[0] else ">"
        return {"version": 3, "shape": self.shape, "typestr": "%s%s%d" % (order, letter, kind.size),
                "data": (self._address, False)}

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None:
            raise _b.BufferError("memory of the CPU has no streams")
        if dl_device is not None and _b.tuple(dl_device) != (1, 0):
            raise _b.BufferError("the memory is that of the CPU")
        if copy is not None and not copy:
            raise _b.BufferError("DLPack gives a copy of a Tensor; numpy.asarray shares its memory")
        return _capsule(self, max_version is not None and max_version[0] >= 1)

    def _bytes(self):
        size = self._type.size
        for n in self.shape:
            size *= n
        return (_c.c_char * size).from_address(self._address)

    def __len__(self):
        if not self.shape:
            raise _b.TypeError("a tensor without axes has no length")
        return self.shape[0]

    def __getitem__(self, index):
        """The element at a whole number for each axis; with fewer of them a tensor, which shares its memory."""
        index = index if _b.isinstance(index, _b.tuple) else (index,)
        if _b.len(index) > self.ndim:
            raise _b.IndexError("%d indices for %d axes" % (_b.len(index), self.ndim))
        place = 0
        for n, i in _b.zip(self.shape, index):
            i = _operator.index(i)
            if not -n <= i < n:
                raise _b.IndexError("index %d is not within %d elements" % (i, n))
            place = place * n + i % n
        rest = self.shape[_b.len(index):]
        for n in rest:
            place *= n
        part = Tensor(self._type, rest, self._address + place * self._type.size, self._memory)
        return part if rest else part.tolist()

    def __iter__(self):
        return (self[i] for i in _b.range(_b.len(self)))

    def tolist(self):
        """The elements in lists; of a tensor without axes its element."""
        flat = [x for x, in _struct.iter_unpack("=" + self._type.format, self._bytes())]
        for n in self.shape[:0:-1]:
            flat = [flat[i:i + n] for i in _b.range(0, _b.len(flat), n)] if n else [[] for _ in _b.range(self.shape[0])]
        return flat if self.shape else flat[0]

    def __repr__(self):
        if _b.len(self._bytes()) > 4096:
            return "<Tensor of %s, %s>" % (self.dtype, self.shape)
        return "Tensor(%s, %s)" % (self.dtype, self.tolist())


class _View:
    """Memory of another library, while it is used. Strides are in elements, None for row-major ones."""

    __slots__ = ("shape", "strides", "_address", "_owner", "_given")

    def __init__(self, given, shape, strides, address, owner):
        self._given, self.shape, self.strides, self._address, self._owner = given, shape, strides, address, owner

    def __getitem__(self, index):  # of a result without axes: what the caller gave
        return self._given


class _DLTensor(_c.Structure):
    _fields_ = [("data", _c.c_void_p), ("device", _c.c_int32 * 2), ("ndim", _c.c_int32), ("code", _c.c_uint8),
                ("bits", _c.c_uint8), ("lanes", _c.c_uint16), ("shape", _c.c_void_p), ("strides", _c.c_void_p),
                ("offset", _c.c_uint64)]


class _DLManaged(_c.Structure):
    name, used = b"dltensor", b"used_dltensor"
    flags = 0
    _fields_ = [("tensor", _DLTensor), ("context", _c.c_void_p), ("deleter", _c.c_void_p)]


class _DLVersioned(_c.Structure):
    name, used = b"dltensor_versioned", b"used_dltensor_versioned"
    _fields_ = [("major", _c.c_uint32), ("minor", _c.c_uint32), ("context", _c.c_void_p), ("deleter", _c.c_void_p),
                ("flags", _c.c_uint64), ("tensor", _DLTensor)]


_prototype = _c.PYFUNCTYPE
_is_capsule = _prototype(_c.c_int, _c.py_object, _c.c_char_p)(("PyCapsule_IsValid", _c.pythonapi))
_in_capsule = _prototype(_c.c_void_p, _c.py_object, _c.c_char_p)(("PyCapsule_GetPointer", _c.pythonapi))
_call_capsule = _prototype(_c.c_int, _c.py_object, _c.c_char_p)(("PyCapsule_SetName", _c.pythonapi))
_new_capsule = _prototype(_c.py_object, _c.c_void_p, _c.c_char_p, _c.c_void_p)(("PyCapsule_New", _c.pythonapi))
_allocate = _prototype(_c.c_void_p, _c.c_size_t)(("PyMem_RawMalloc", _c.pythonapi))
_free = _prototype(None, _c.c_void_p)(("PyMem_RawFree", _c.pythonapi))
_keep = _prototype(None, _c.py_object)(("Py_IncRef", _c.pythonapi))
for _layout in (_DLManaged, _DLVersioned):  # capsules have the address of their name, for longer than a module lives
    _keep(_layout.name)
    _keep(_layout.used)


class _Borrowed:
    """What a capsule had in it: the memory is given back, once, when nothing here has this object any more."""

    __slots__ = ("managed",)

    def __init__(self, managed):
        self.managed = managed

    def __del__(self, delete=_prototype(None, _c.c_void_p), address=_c.addressof):
        if self.managed.deleter:
            delete(self.managed.deleter)(address(self.managed))


# Capsules of Tensors that may not be taken yet. They have no destructor: that would be Python called by code of others,
# perhaps while an exception is on its way, when Python may not be called.
_exported, _exporting = [], _threading.Lock()


def _references(objects):
    return [_sys.getrefcount(o) for o in objects]


def _free_dropped():
    """Frees what is in capsules that nobody has taken and nobody has."""
    alone = _references([_b.object()])[0]
    counts, capsules = _references(_exported), _exported[:]
    del _exported[:]
    for n, capsule in _b.zip(counts, capsules):
        for layout in (_DLManaged, _DLVersioned):
            if _is_capsule(capsule, layout.name):
                if n == alone:
                    _free(_in_capsule(capsule, layout.name))
                else:
                    _exported.append(capsule)


def _capsule(tensor, versioned):
    """A capsule of DLPack with a copy of a Tensor in one block, which the consumer frees with no need of Python."""
    layout = _DLVersioned if versioned else _DLManaged
    rank, memory = tensor.ndim, tensor._bytes()
    extents = _c.sizeof(layout)
    block = _allocate(extents + 16 * rank + 64 + _b.len(memory))
    if not block:
        raise _b.MemoryError
    places = (_c.c_int64 * (2 * rank)).from_address(block + extents)
    step = 1
    for i in _b.range(rank - 1, -1, -1):
        places[i], places[rank + i] = tensor.shape[i], step
        step *= tensor.shape[i] or 1
    data = -(-(block + extents + 16 * rank) // 64) * 64
    _c.memmove(data, tensor._address, _b.len(memory))
    managed = layout.from_address(block)
    _c.memset(block, 0, extents)
    code, bits = tensor._type.codes[0]
    managed.tensor = _DLTensor(data, (1, 0), rank, code, bits, 1, block + extents, block + extents + 8 * rank, 0)
    managed.deleter = _c.cast(_free, _c.c_void_p).value
    if versioned:
        managed.major, managed.flags = 1, _COPIED
    capsule = _new_capsule(block, layout.name, None)
    with _exporting:
        _free_dropped()
        _exported.append(capsule)
    return capsule


_READ_ONLY, _COPIED = 1, 2  # flags of capsules
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool", 10: "float8_e4m3fn",
          12: "float8_e5m2", 14: "float8_e8m0fnu"}
_DEVICES = {2: "a CUDA device", 4: "an OpenCL device", 7: "a Vulkan device", 8: "a Metal device", 10: "a ROCm device",
            13: "memory managed by CUDA", 14: "a oneAPI device"}


class _Untaken(_b.Exception):
    """An object does not give what is in it, though it has `__dlpack__`."""


def _taken(name, value):
    """What an object gives by DLPack, by the standard of 1.0 or the one before."""
    try:
        device = _b.int(value.__dlpack_device__()[0])
        if device in (1, 3, 11):  # memory of the host, which may be pinned
            try:
                return value.__dlpack__(max_version=(1, 0))
            except _b.TypeError:
                return value.__dlpack__()
    except _b.Exception as e:
        raise _Untaken("%s of type %s is not given by DLPack: %s" % (name, _kind(value), e)) from e
    raise _b.TypeError("%s is on %s, and the library works in memory of the CPU: pass %s.cpu()" % (
        name, _DEVICES.get(device, "a device of kind %d" % device), name))


def _borrowed(name, value, kind, rank, written):
    """The memory of an object with `__dlpack__`, where it is; or what NumPy makes of one that is not given."""
    try:
        capsule = _taken(name, value)
    except _Untaken as e:
        if _np and _b.hasattr(value, "__array__") and not written:  # as truth values of PyTorch before 2
            try:
                return _np.asarray(value)
            except _b.Exception:
                pass
        raise _b.TypeError(_b.str(e)) from e.__cause__
    for layout in (_DLVersioned, _DLManaged):
        if _is_capsule(capsule, layout.name):
            break
    else:
        raise _b.TypeError("%s of type %s gave no capsule of DLPack that is unused" % (name, _kind(value)))
    managed = layout.from_address(_in_capsule(capsule, layout.name))
    if layout is _DLVersioned and managed.major != 1:
        raise _b.TypeError("%s is given by DLPack %d.%d, and 1 is the version that is understood" % (
            name, managed.major, managed.minor))
    _call_capsule(capsule, layout.used)
    owner = _Borrowed(managed)
    tensor = managed.tensor
    code, bits, lanes, n = tensor.code, tensor.bits, tensor.lanes, tensor.ndim
    if (code, bits) not in kind.codes or lanes != 1:
        what = _CODES.get(code, "type %d of " % code)
        what += "" if code in (6, 10, 12, 14) else "%d" % bits
        raise _b.TypeError("%s is an array of %s%s; its elements must be %s" % (
            name, what, " x %d" % lanes if lanes != 1 else "", kind.name))
    if n != rank:
        raise _b.ValueError("%s has %d axes, not %d" % (name, n, rank))
    # JAX's arrays never change, which capsules before 1.0 cannot say.
    fixed = _b.type(value).__module__.partition(".")[0] in ("jax", "jaxlib")
    if written and (managed.flags & _READ_ONLY or fixed):
        raise _b.ValueError("%s is changed, and the array is read-only" % name)
    if written and managed.flags & _COPIED:
        raise _b.ValueError("%s is changed, and DLPack gives a copy of it" % name)
    shape = _b.tuple((_c.c_int64 * n).from_address(tensor.shape)) if n else ()
    strides = _b.tuple((_c.c_int64 * n).from_address(tensor.strides)) if n and tensor.strides else None
    address = (tensor.data or 0) + tensor.offset
    if 0 in shape and not address:  # nothing is there to be read
        return _View(value, shape, None, _c.addressof(managed), owner)
    if address % kind.size:
        if written:
            raise _b.ValueError("%s is changed, and its elements are not aligned" % name)
        return _aligned(kind, shape, strides, address)
    return _View(value, shape, strides, address, owner)


def _aligned(kind, shape, strides, address):
    """A copy of all the memory from the first element to the last one, whose strides stay as they are."""
    first, last, step = 0, 0, 1
    if strides is None:
        strides = []
        for n in shape[::-1]:
            strides.insert(0, step)
            step *= n
        strides = _b.tuple(strides)
    if 0 not in shape:
        first = _b.sum((n - 1) * s for n, s in _b.zip(shape, strides) if s < 0)
        last = _b.sum((n - 1) * s for n, s in _b.zip(shape, strides) if s > 0) + 1
    copy = Tensor(kind, (last - first,))
    _c.memmove(copy._address, address + first * kind.size, (last - first) * kind.size)
    return _View(None, shape, strides, copy._address - first * kind.size, copy)


def _converted(name, value, dtype):
    """A list or a number as an array, without a change of any value but for the rounding of floats."""
    given = _np.asarray(value)
    if given.size == 0 or given.dtype == dtype:
        return given.astype(dtype)
    kind, to = given.dtype.kind, dtype.kind
    whole = kind in "biu" or kind == "O" and _b.all(_b.isinstance(x, _b.int) for x in given.flat)
    if not (whole if to in "iu" else whole or kind == "f" if to == "f" else kind == "b"):
        what = "Python objects" if kind == "O" else given.dtype
        raise _b.TypeError("%s has elements of type %s, which are not converted to %s" % (name, what, dtype))
    if to in "iu":
        limits, least, most = _np.iinfo(dtype), given.min(), given.max()
        for n in (least, most):
            if not limits.min <= _b.int(n) <= limits.max:
                raise _b.OverflowError(
                    "%s has an element %d, which is not from %d to %d" % (name, n, limits.min, limits.max))
    with _np.errstate(over="ignore"):
        made = given.astype(dtype)
    if to == "f" and (_np.isinf(made) & ~_np.isinf(given.astype(_np.float64))).any():
        raise _b.OverflowError("%s has an element that is too large for %s" % (name, dtype))
    return made


def _listed(name, value, kind, rank):
    """_converted where there is no NumPy: lists, or a number, as a Tensor."""
    shape, flat = [], [value]
    while flat and _b.all(_b.isinstance(x, (_b.list, _b.tuple)) for x in flat):
        if _b.any(_b.len(x) != _b.len(flat[0]) for x in flat):
            raise _b.ValueError("%s has lists of several lengths" % name)
        shape.append(_b.len(flat[0]))
        flat = [y for x in flat for y in x]
    if not flat and shape:
        shape += [0] * (rank - _b.len(shape))
    if _b.len(shape) != rank:
        raise _b.ValueError("%s has %d axes, not %d" % (name, _b.len(shape), rank))
    takes = (_b.bool,) if kind is _bool_ else (_b.int, _b.float) if kind.format in "efd" else (_b.int,)
    for x in flat:
        if not _b.isinstance(x, takes):
            raise _b.TypeError(
                "%s has elements of type %s, which are not converted to %s" % (name, _kind(x), kind.memory))
    if takes == (_b.int,):
        bits = 8 * kind.size
        low, high = (0, 2**bits - 1) if kind.format in "BHIQ" else (-2**(bits - 1), 2**(bits - 1) - 1)
        for x in flat:
            if not low <= x <= high:
                raise _b.OverflowError("%s has an element %d, which is not from %d to %d" % (name, x, low, high))
    tensor = Tensor(kind, _b.tuple(shape))
    try:
        _struct.pack_into("=%d%s" % (_b.len(flat), kind.format), tensor._bytes(), 0, *flat)
    except (_b.OverflowError, _struct.error):
        raise _b.OverflowError("%s has an element that is too large for %s" % (name, kind.memory)) from None
    return tensor


def _buffer(name, value, kind, rank, written):
    """The memory of an object with Python's own buffers, such as array.array; what may not change is copied."""
    letter = value.format.lstrip("@=" + ("<" if _words("h", [1]).tobytes()[0] else ">"))
    same = {"l": "q" if _c.sizeof(_c.c_long) == 8 else "i", "L": "Q" if _c.sizeof(_c.c_long) == 8 else "I", "n": "q",
            "N": "Q"}
    if same.get(letter, letter) != kind.format or value.itemsize != kind.size:
        raise _b.TypeError("%s is an array of %r; its elements must be %s" % (name, value.format, kind.memory))
    if value.ndim != rank:
        raise _b.ValueError("%s has %d axes, not %d" % (name, value.ndim, rank))
    if written and (value.readonly or not value.c_contiguous):
        raise _b.ValueError("%s is changed, and the array is %s" % (
            name, "read-only" if value.readonly else "not row-major"))
    if value.readonly or not value.c_contiguous or not value.nbytes:
        tensor = Tensor(kind, value.shape)
        _c.memmove(tensor._address, value.tobytes(), value.nbytes)
        return tensor
    owner = _c.c_char.from_buffer(value)
    address = _c.addressof(owner)
    if address % kind.size:
        if written:
            raise _b.ValueError("%s is changed, and its elements are not aligned" % name)
        return _aligned(kind, value.shape, None, address)
    return _View(None, value.shape, None, address, owner)


def _plain(name, value, kind, rank, written):
    """_array for what is neither NumPy's nor has `__dlpack__`."""
    if _np:
        if written:
            raise _b.TypeError("%s is changed, so it has to be an array" % name)
        if _b.hasattr(value, "__array__") and not _b.isinstance(value, _generic):
            return _np.asarray(value)  # of another library: its elements have a type
        return _converted(name, value, kind.numpy)
    try:
        view = _b.memoryview(value)
    except _b.TypeError:
        if written:
            raise _b.TypeError("%s is changed, so it has to be an array" % name) from None
        return _listed(name, value, kind, rank)
    return _buffer(name, view, kind, rank, written)


def _array(name, value, kind, rank, written=False):
    """The argument as an array that the library can read where it is: NumPy's, a Tensor or a _View."""
    dtype = kind.numpy
    if _b.type(value) is _ndarray and value.dtype is dtype and value.ndim == rank and value.flags.carray:
        return value
    _unmasked(name, value)
    if not _b.isinstance(value, _ndarray):
        if _b.type(value) is Tensor and value._type.memory == kind.memory and value.ndim == rank:
            return value
        if _b.hasattr(value, "__dlpack__") and not _b.isinstance(value, _generic):
            value = _borrowed(name, value, kind, rank, written)
        else:
            value = _plain(name, value, kind, rank, written)
        if not _b.isinstance(value, _ndarray):
            return value
    if value.dtype != dtype:
        if kind.name == kind.memory or value.dtype.name != kind.name:
            raise _b.TypeError("%s is an array of %s; its elements must be %s" % (name, value.dtype, dtype))
        value = value.view(dtype)  # of ml_dtypes, which has types that NumPy has not
    if value.ndim != rank:
        raise _b.ValueError("%s has %d axes, not %d" % (name, value.ndim, rank))
    if written and not value.flags.writeable:
        raise _b.ValueError("%s is changed, and the array is read-only" % name)
    size = dtype.itemsize
    if not value.flags.aligned or _b.any(s % size for s in value.strides):
        if written:
            raise _b.ValueError("%s is changed, and its elements are not aligned" % name)
        value = value.copy()
    return value


def _result(value, kind, shape):
    """The array of a result: the one that the caller gave, or a new one."""
    if value is not None:
        return _array("out", value, kind, _b.len(shape), True)
    if _np:
        return _np.empty(shape, kind.numpy)
    return Tensor(kind, shape)


def _outs(value, n):
    """What the caller gave for n results."""
    if value is None:
        return (None,) * n
    if not _b.isinstance(value, (_b.tuple, _b.list)) or _b.len(value) != n:
        raise _b.ValueError("out has to be a tuple of %d arrays" % n)
    return value


def _extent(n):
    return n if n > 0 else 0


def _call(function, arguments, results):
    """Calls a function with arrays and ctypes numbers: three addresses each, of data, extents and strides, if any."""
    extents, places = [], []
    for a in arguments + results:
        shape, strides = -1, -1
        if _b.isinstance(a, _ndarray):
            rank = a.ndim
            if rank:
                shape = _b.len(extents)
                extents += a.shape
                if not a.flags.c_contiguous:
                    strides = shape + rank
                    size = a.itemsize
                    extents += [s // size for s in a.strides]
            if a.flags.carray and a.size:  # in a quarter of the time
                places.append((_c.addressof(_c.c_char.from_buffer(a)), shape, strides))
            else:
                places.append((a.__array_interface__["data"][0], shape, strides))
        elif _b.isinstance(a, (_View, Tensor)):
            if a.shape:
                shape = _b.len(extents)
                extents += a.shape
                if a.strides:
                    strides = _b.len(extents)
                    extents += a.strides
            places.append((a._address, shape, strides))
        else:
            places.append((_c.addressof(a), -1, -1))
    extents = _words("q", extents)
    base = extents.buffer_info()[0]
    tensors = []
    for data, shape, strides in places:
        tensors += (data, base + 8 * shape if shape >= 0 else 0, base + 8 * strides if strides >= 0 else 0)
    tensors = _words("Q", tensors)
    first = tensors.buffer_info()[0]
    _check(_interruptible(function, first, first + 24 * _b.len(arguments)))
