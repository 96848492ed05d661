"""Writes read.zip with zarr-python 3.0.6: a group of arrays that TestReadZarrPython reads. python3 generate.py, here.

Element k is k % 50 - 20; of unsigned types k % 50, of bools whether that is a multiple of 3. Those whose index on the
first axis is 3 are not written, where the array has a fill value of its own.
"""
import os
import shutil
import zipfile

import numpy as np
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

shutil.rmtree("read.zarr", ignore_errors=True)
root = zarr.create_group("read.zarr", zarr_format=3)


def elements(dtype, shape):
    k = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 50
    if dtype == "bool":
        return k % 3 == 0
    return (k if dtype[0] == "u" else k - 20).astype(dtype)


def add(name, dtype, shape, **options):
    group, _, last = name.rpartition("/")
    to = root.require_group(group) if group else root
    a = to.create_array(last, shape=shape, dtype=dtype, **options)
    x = elements(dtype, shape)
    if "fill_value" in options:
        a[:3] = x[:3]
        a[4:] = x[4:]
    else:
        a[...] = x


for d in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]:
    add(d, d, (7, 5), chunks=(3, 2))
    add("sharded/" + d, d, (7, 5), chunks=(2, 2), shards=(4, 6))
add("scalar", "float32", (), chunks=())
add("empty", "int32", (0, 3), chunks=(2, 2))
add("five", "int16", (3, 2, 4, 2, 3), chunks=(2, 2, 3, 1, 2), shards=(2, 2, 3, 2, 4))
add("plain", "float64", (5, 4), chunks=(2, 3), compressors=None)
add("gzip", "int32", (9,), chunks=(4,), compressors=GzipCodec(level=6))
add("checksum", "int32", (9,), chunks=(4,), compressors=[ZstdCodec(level=1, checksum=True), Crc32cCodec()])
add("big", "uint32", (4, 4), chunks=(2, 3), serializer=BytesCodec(endian="big"))
add("columns", "int32", (4, 6), chunks=(2, 3), filters=TransposeCodec(order=(1, 0)))
add("axes", "int32", (4, 3, 5), chunks=(2, 2, 3), filters=TransposeCodec(order=(2, 0, 1)))
add("v2", "int32", (4, 6), chunks=(2, 4), chunk_key_encoding={"name": "v2", "separator": "."})
add("dots", "int32", (4, 6), chunks=(2, 4), chunk_key_encoding={"name": "default", "separator": "."})
add("start", "int32", (8, 6), chunks=(8, 6), compressors=None,
    serializer=ShardingCodec(chunk_shape=(4, 2), codecs=[BytesCodec(), ZstdCodec()], index_location="start"))
add("nested", "int32", (16, 4), chunks=(16, 4), compressors=None, serializer=ShardingCodec(
    chunk_shape=(8, 4), codecs=[ShardingCodec(chunk_shape=(2, 2), codecs=[TransposeCodec(order=(1, 0)), BytesCodec(),
                                                                          GzipCodec()])]))
for name, dtype, fill in [("nan", "float32", np.nan), ("inf", "float64", -np.inf), ("minus", "int8", -7),
                          ("most", "uint64", 2**64 - 1), ("half", "float16", 1.5), ("yes", "bool", True)]:
    add("filled/" + name, dtype, (6, 2), chunks=(1, 2), fill_value=fill)
    add("filled/in shards/" + name, dtype, (6, 2), chunks=(1, 2), shards=(3, 2), fill_value=fill)

with zipfile.ZipFile("read.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for folder, _, names in sorted(os.walk("read.zarr")):
        for name in sorted(names):
            path = os.path.join(folder, name)
            z.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), open(path, "rb").read(), zipfile.ZIP_DEFLATED, 9)
shutil.rmtree("read.zarr")
