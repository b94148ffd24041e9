"""zarr-python and xarray: random stores must come out as they read them.

python3 peer_zarr.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the stores
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings

import numpy as np
import xarray as xr
import zarr
from expect import main, tables
from zarr_random import convert, same, write_random, write_weather

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "zarr")
SEED = int(os.environ.get("SEED", "1"))
warnings.simplefilter("ignore")


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    base, out = os.path.join(WORK, "r.zarr"), os.path.join(WORK, "out")
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    flags = ["--missing-chunks", "fill", "--memory", "64MiB", "--shard-samples", str(int(rng.integers(1, 20)))]
    if i % 3 == 2:
        name = write_weather(rng, base)
        ds = convert(name, out, "--cf", "on", *flags)
        with xr.open_zarr(name, consolidated=False, decode_timedelta=False) as want:
            for k in [k for k in want.data_vars if k != "static"]:
                same(ds.column(k)[:], want[k].values, k)
            seconds = want["time"].values.astype("datetime64[ns]").astype("i8")
            have = np.asarray(ds.column("time")[:])
            assert np.array_equal(have * (10**9 if ds.field("time").attrs["time"] == "s" else 1), seconds), "time: %s, want %s" % (have[:3], seconds[:3])
        return
    name = write_random(rng, base)
    ds = convert(name, out, "--cf", "off", "--sample", "axis", *flags)
    store = zarr.storage.ZipStore(name, mode="r") if name.endswith(".zip") else name
    root = zarr.open_group(store, mode="r")
    found = 0
    for path, a in root.members(max_depth=None):
        if isinstance(a, zarr.Array):
            same(ds.column(path)[:], a[...], path)
            found += 1
    assert found == len(ds.fields), "%d fields for %d arrays" % (len(ds.fields), found)


if __name__ == "__main__":
    main([("zarr", tables(one, 60, "what zarr-python and xarray read of them"))])
