"""As much of NumPy as a module of scalar functions needs, where there is no NumPy."""

import ctypes


class dtype:
    def __init__(self, kind):
        self.kind, self.itemsize = kind, ctypes.sizeof(kind)


class bool_(ctypes.c_uint8):
    pass


class generic:
    pass


class ndarray:
    ndim = 0

    def __init__(self, dtype):
        self.memory = dtype.kind()
        self.__array_interface__ = {"data": (ctypes.addressof(self.memory), False)}

    def __getitem__(self, index):
        return self.memory.value


class ma:
    class MaskedArray:
        pass


int8, int16, int32, int64 = ctypes.c_int8, ctypes.c_int16, ctypes.c_int32, ctypes.c_int64
uint8, uint16, uint32, uint64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
float16, float32, float64 = ctypes.c_uint16, ctypes.c_float, ctypes.c_double


def empty(shape, dtype):
    assert shape == ()
    return ndarray(dtype)
