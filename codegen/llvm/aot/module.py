# What stands beside the functions of the program begins with an underscore, and nothing here calls a function of
# Python by a name that a program may have, such as max.
import builtins as _b
import ctypes as _c
import operator as _operator
import os as _os
import threading as _threading
import time as _time
from array import array as _words

import numpy as _np
import numpy.typing as _npt

_lib = _c.CDLL(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), _FILE))
_lib._PREFIX_last_error.restype = _c.c_char_p
_lib._PREFIX_cpu.restype = _c.c_char_p
_lib._PREFIX_get_threads.restype = _c.c_int32
_lib._PREFIX_set_threads.argtypes = [_c.c_int32]
_lib._PREFIX_use_cpu.argtypes = [_c.c_char_p]
_lib._PREFIX_stoppable.argtypes = [_c.c_void_p]
_interruptible = _lib._PREFIX_interruptible
_interruptible.argtypes = [_c.c_void_p, _c.c_void_p, _c.c_void_p]
_ADDRESSES = [_c.c_void_p, _c.c_void_p]

_bool_ = _np.dtype(_np.bool_)
_int8, _int16 = _np.dtype(_np.int8), _np.dtype(_np.int16)
_int32, _int64 = _np.dtype(_np.int32), _np.dtype(_np.int64)
_uint8, _uint16 = _np.dtype(_np.uint8), _np.dtype(_np.uint16)
_uint32, _uint64 = _np.dtype(_np.uint32), _np.dtype(_np.uint64)
_float16, _float32, _float64 = _np.dtype(_np.float16), _np.dtype(_np.float32), _np.dtype(_np.float64)


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
    if _b.isinstance(value, _np.ma.MaskedArray):
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
    with _np.errstate(over="ignore"):
        y = _np.float64(x).astype(_np.float16)
    if _np.isinf(y) and x - x == 0:
        raise _b.OverflowError("%s is %r, which is too large for 16 bits" % (name, x))
    return _c.c_uint16(_b.int(y.view(_np.uint16)))


def _bool(name, value):
    """A scalar as a truth value."""
    _unmasked(name, value)
    if _b.isinstance(value, _np.ndarray) and value.ndim == 0:
        value = value[()]
    if not _b.isinstance(value, (_b.bool, _np.bool_)):
        raise _b.TypeError("%s is of type %s, and has to be True or False" % (name, _kind(value)))
    return _c.c_uint8(_b.bool(value))


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


def _array(name, value, dtype, rank, written=False):
    """The argument as an array that the library can read where it is."""
    if _b.type(value) is _np.ndarray and value.dtype is dtype and value.ndim == rank and value.flags.carray:
        return value
    _unmasked(name, value)
    if not _b.isinstance(value, _np.ndarray):
        if written:
            raise _b.TypeError("%s is changed, so it has to be an array" % name)
        if _b.hasattr(value, "__array__") and not _b.isinstance(value, _np.generic):
            value = _np.asarray(value)  # of another library: its elements have a type
        else:
            value = _converted(name, value, dtype)
    if value.dtype != dtype:
        raise _b.TypeError("%s is an array of %s; its elements must be %s" % (name, value.dtype, dtype))
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


def _result(value, dtype, shape):
    """The array of a result: the one that the caller gave, or a new one."""
    if value is None:
        return _np.empty(shape, dtype)
    return _array("out", value, dtype, _b.len(shape), True)


def _outs(value, n):
    """What the caller gave for n results."""
    if value is None:
        return (None,) * n
    if _b.isinstance(value, _np.ndarray) or _b.len(value) != n:
        raise _b.ValueError("out has to be a tuple of %d arrays" % n)
    return value


def _extent(n):
    return n if n > 0 else 0


def _call(function, arguments, results):
    """Calls a function with arrays and ctypes numbers: three addresses each, of data, extents and strides, if any."""
    extents, places = [], []
    for a in arguments + results:
        if not _b.isinstance(a, _np.ndarray):
            places.append((_c.addressof(a), -1, -1))
            continue
        rank, shape, strides = a.ndim, -1, -1
        if rank:
            shape = _b.len(extents)
            extents += a.shape
            if not a.flags.c_contiguous:
                strides = shape + rank
                size = a.itemsize
                extents += [s // size for s in a.strides]
        places.append((a.__array_interface__["data"][0], shape, strides))
    extents = _words("q", extents)
    base = extents.buffer_info()[0]
    tensors = []
    for data, shape, strides in places:
        tensors += (data, base + 8 * shape if shape >= 0 else 0, base + 8 * strides if strides >= 0 else 0)
    tensors = _words("Q", tensors)
    first = tensors.buffer_info()[0]
    _check(_interruptible(function, first, first + 24 * _b.len(arguments)))
