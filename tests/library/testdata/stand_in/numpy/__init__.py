"""As much of NumPy as a module of scalar functions needs, where there is no NumPy."""

import ctypes


class dtype:
    def __init__(self, kind):
        self.kind, self.itemsize = kind, ctypes.sizeof(kind)


class bool_:
    pass


class generic:
    pass


class _Address:
    def __init__(self, memory):
        self.data = ctypes.addressof(memory)


class ndarray:
    ndim = 0

    def __init__(self, dtype):
        self.memory = dtype.kind()
        self.ctypes = _Address(self.memory)

    def __getitem__(self, index):
        return self.memory.value


class ma:
    class MaskedArray:
        pass


int32 = ctypes.c_int32


def empty(shape, dtype):
    assert shape == ()
    return ndarray(dtype)
