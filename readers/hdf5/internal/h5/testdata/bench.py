"""Makes the files of the benchmarks in a folder: python3 bench.py DIR (h5py 3)."""
import os
import sys

import h5py
import numpy as np

os.chdir(sys.argv[1])
for name, libver, maxshape, options in [
    ("c200k_v1.h5", "earliest", None, {}),
    ("c200k_v1_gz.h5", "earliest", (None, None), dict(compression="gzip", compression_opts=1)),
    ("c200k_fa.h5", "latest", None, {}),
    ("c200k_ea_gz.h5", "latest", (None, 1600), dict(compression="gzip", compression_opts=1)),
    ("c200k_b2_gz.h5", "latest", (None, None), dict(compression="gzip", compression_opts=1)),
]:
    with h5py.File(name, "w", libver=libver) as f:
        d = f.create_dataset("x", (2000, 1600), "f4", chunks=(4, 4), maxshape=maxshape, **options)
        for i in range(0, 2000, 200):
            d[i : i + 200] = np.arange(200 * 1600, dtype="f4").reshape(200, 1600) + i
for name, libver, n in [("m10k_old.h5", "earliest", 10**4), ("m10k_new.h5", "latest", 10**4), ("m100k_old.h5", "earliest", 10**5), ("m100k_new.h5", "latest", 10**5)]:
    with h5py.File(name, "w", libver=libver) as f:
        for i in range(n):
            f.create_dataset("d%06d" % i, data=np.arange(8, dtype="f4"))
with h5py.File("vlen200k.h5", "w") as f:
    d = f.create_dataset("s", (200000,), h5py.string_dtype())
    for i in range(0, 200000, 20000):
        d[i : i + 20000] = ["event number %d of the run" % (i + j) for j in range(20000)]
