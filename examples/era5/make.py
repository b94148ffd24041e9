"""A small Zarr store like ERA5, with waves that travel east: python3 make.py STORE [STEPS]"""

import json
import os
import sys
import zlib

import numpy as np

store, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 240
lat = np.linspace(75, -75, 16, dtype="f4")
lon = np.arange(0, 360, 11.25, dtype="f4")
level = np.array([500, 850], "i4")


def write(name, dims, data, chunk, **attrs):
    """An array of Zarr's format 2, in chunks along its first dimension."""
    os.makedirs(os.path.join(store, name))
    shape = (chunk,) + data.shape[1:]
    about = {"zarr_format": 2, "shape": data.shape, "chunks": shape, "dtype": data.dtype.str, "order": "C"}
    about.update(compressor={"id": "zlib", "level": 1}, fill_value=None, filters=None)
    for file, text in ((".zarray", about), (".zattrs", dict(attrs, _ARRAY_DIMENSIONS=dims))):
        with open(os.path.join(store, name, file), "w") as f:
            json.dump(text, f)
    for k in range(-(-len(data) // chunk)):
        part = np.zeros(shape, data.dtype)
        part[: len(data) - k * chunk] = data[k * chunk : (k + 1) * chunk]
        with open(os.path.join(store, name, ".".join([str(k)] + ["0"] * (data.ndim - 1))), "wb") as f:
            f.write(zlib.compress(part.tobytes(), 1))


os.makedirs(store)
with open(os.path.join(store, ".zgroup"), "w") as f:
    f.write('{"zarr_format": 2}')
rng = np.random.default_rng(0)
y, x = np.cos(np.deg2rad(lat))[:, None], np.deg2rad(lon)[None, :]
t = np.arange(steps)
wave = [y * np.sin(k * x - 0.3 * k * t[:, None, None] + p) for k, p in ((1, 0.0), (2, 1.0), (3, 2.5))]
noise = [rng.normal(0, 0.05, wave[0].shape) for _ in range(3)]
write("t2m", ["time", "latitude", "longitude"], (288 - 40 * (1 - y) + 8 * (wave[0] + wave[2] + noise[0])).astype("f4"), 8, units="K")
z = np.stack([54000 + 900 * (wave[0] + wave[1] + noise[1]), 14000 + 500 * (wave[1] - wave[2] + noise[2])], 1)
write("z", ["time", "level", "latitude", "longitude"], z.astype("f4"), 8, units="m2 s-2")
write("lsm", ["latitude", "longitude"], (np.sin(2 * x + 3 * y) > 0.2).astype("f4"), 16)
time = 6 * t + 876576 + 6 * (t >= steps // 2)  # one step is missing
write("time", ["time"], time.astype("i4"), steps, units="hours since 1900-01-01", calendar="gregorian")
write("latitude", ["latitude"], lat, 16, units="degrees_north")
write("longitude", ["longitude"], lon, 32, units="degrees_east")
write("level", ["level"], level, 2, units="hPa")
