"""Writes the fixtures of this folder with NumPy 1.24: python3 generate.py (in this folder).

npy/*.npy        one array per dtype, byte order, memory order, version; element k is what npy_test.go says
npy/bad_*.npy    arrays of dtypes that tensors do not have
npy/*.npz        archives, stored and deflated
"""
import numpy as np
from numpy.lib import format as npf

k = np.arange(6)
for kind in ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
    values = k % 2 == 1 if kind == "b1" else (k - 2) / 4 if kind[0] == "f" else k - 2
    a = values.astype(kind).reshape(2, 3)
    np.save(f"npy/{kind}_c.npy", a)
    np.save(f"npy/{kind}_f.npy", np.asfortranarray(a))
    if a.itemsize > 1:
        np.save(f"npy/{kind}_big.npy", a.astype(a.dtype.newbyteorder(">")))
a = ((k - 2) / 4).astype("f4").reshape(2, 3)
for version in [(1, 0), (2, 0), (3, 0)]:
    with open(f"npy/f4_v{version[0]}.npy", "wb") as f:
        npf.write_array(f, a, version=version)
np.save("npy/f4_rank0.npy", np.float32(1.5))
np.save("npy/f4_empty.npy", np.zeros((3, 0, 2), "f4"))
np.save("npy/f4_rank1.npy", a.ravel())
np.save("npy/f4_rank5.npy", a.reshape(1, 2, 1, 3, 1))
np.save("npy/bad_complex.npy", np.zeros(2, "c8"))
np.save("npy/bad_struct.npy", np.zeros(2, [("x", "f4"), ("y", "i4")]))
np.save("npy/bad_object.npy", np.array([None, 1], object), allow_pickle=True)
np.save("npy/bad_bytes.npy", np.array([b"ab", b"c"]))
np.save("npy/bad_string.npy", np.array(["ab", "c"]))
np.save("npy/bad_date.npy", np.array(["2020-01-01"], "M8[D]"))
np.savez("npy/stored.npz", x=a, y=np.asfortranarray(k.reshape(2, 3)), z=np.bool_(True))
np.savez_compressed("npy/deflated.npz", x=np.zeros((100, 100), "f4"), y=k)
