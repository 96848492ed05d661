import ctypes as _c
import os as _os

import numpy as _np

_lib = _c.CDLL(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), _FILE))
_lib.heal_last_error.restype = _c.c_char_p
_lib.heal_cpu.restype = _c.c_char_p
_lib.heal_get_threads.restype = _c.c_int32
_lib.heal_set_threads.argtypes = [_c.c_int32]
_lib.heal_use_cpu.argtypes = [_c.c_char_p]


class Error(Exception):
    """A failure of the program that has no exception of its own in Python."""


_EXCEPTIONS = {1: MemoryError, 2: ValueError, 3: IndexError, 4: ZeroDivisionError, 5: ValueError, 6: RecursionError, 7: ValueError, 8: AssertionError}


def set_threads(threads):
    """The number of threads that one call uses; 0 is HEAL_THREADS, or else one for each processor."""
    _lib.heal_set_threads(threads)


def get_threads():
    """The number of threads that one call uses."""
    return _lib.heal_get_threads()


def cpu():
    """The kind of processor whose code is in use."""
    return _lib.heal_cpu().decode()


def use_cpu(name):
    """Chooses the code for another kind of processor; the results are the same."""
    _check(_lib.heal_use_cpu(name.encode()))


def release_memory():
    """Frees the memory that is kept for intermediate results of the next call."""
    _lib.heal_release_memory()


class _Tensor(_c.Structure):
    _fields_ = [("data", _c.c_void_p), ("shape", _c.c_void_p), ("strides", _c.c_void_p)]


def _check(code):
    if code:
        raise _EXCEPTIONS.get(code, Error)(_lib.heal_last_error().decode())


def _array(name, value, dtype, rank, written=False):
    """The argument as an array that the library can read where it is."""
    if not isinstance(value, _np.ndarray):
        if written:
            raise TypeError("%s is changed, so it has to be an array" % name)
        value = _np.asarray(value, dtype)
    if value.dtype != dtype:
        raise TypeError("%s is an array of %s; its elements must be %s" % (name, value.dtype, dtype))
    if value.ndim != rank:
        raise ValueError("%s has %d axes, not %d" % (name, value.ndim, rank))
    if written and not value.flags.writeable:
        raise ValueError("%s is changed, and the array is read-only" % name)
    size = dtype.itemsize
    if any(s % size for s in value.strides) or not value.flags.aligned:
        if written:
            raise ValueError("%s is changed, and its elements are not aligned" % name)
        value = value.copy()
    return value


def _result(value, dtype, shape):
    """The array of a result: the one that the caller gave, or a new one."""
    if value is None:
        return _np.empty(shape, dtype)
    return _array("out", value, dtype, len(shape), True)


def _tensors(arrays):
    """The arrays as the library takes them. The second value keeps what they point to alive."""
    list_, keep = (_Tensor * max(len(arrays), 1))(), []
    for t, a in zip(list_, arrays):
        t.data = a.ctypes.data
        if a.ndim:
            words = (_c.c_int64 * (2 * a.ndim))(*a.shape, *(s // a.itemsize for s in a.strides))
            keep.append(words)
            t.shape = _c.addressof(words)
            t.strides = t.shape + 8 * a.ndim
    return list_, keep


def _call(function, arguments, results):
    a, keep = _tensors(arguments)
    r, more = _tensors(results)
    _check(function(a, r))
