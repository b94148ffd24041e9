"""xarray: random selections and channels of NetCDF-4 files and Zarr stores must be its own.

python3 peer_grid.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the files
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from typing import List, Tuple

import numpy as np
import xarray as xr
from expect import main, tables
from zarr_random import convert, same

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "grid")
SEED = int(os.environ.get("SEED", "1"))
warnings.simplefilter("ignore")


def written(rng: np.random.Generator, i: int) -> Tuple[str, xr.Dataset]:
    """A file of one of three formats, and what xarray reads of it."""
    nt, nl, ny, nx = (int(rng.integers(*r)) for r in ((5, 60), (1, 5), (2, 12), (2, 14)))
    time = np.datetime64("2018-01-01T00") + np.cumsum(rng.integers(1, 5, nt)) * np.timedelta64(6, "h")
    level = np.sort(rng.choice(np.arange(100, 1001, 50), nl, replace=False))[:: int(rng.choice([-1, 1]))]
    lat = np.linspace(-60, 60, ny).astype(rng.choice(["f4", "f8"]))[:: int(rng.choice([-1, 1]))]
    lon = (np.arange(nx) * (360 / nx)).astype(rng.choice(["f4", "f8"]))
    v = rng.normal(size=(nt, nl, ny, nx)).astype("f4")
    ds = xr.Dataset(
        {"a": (("time", "level", "lat", "lon"), v), "b": (("time", "lat", "lon"), v[:, 0].astype("f8")), "p": (("time", "lat", "lon"), v[:, 0])},
        coords={"time": time, "level": level, "lat": ("lat", lat), "lon": ("lon", lon, {"units": "degrees_east"})},
    )
    deep = tuple(int(rng.integers(1, n + 1)) for n in (nt, nl, ny, nx))
    flat = tuple(int(rng.integers(1, n + 1)) for n in (nt, ny, nx))
    packed = {"dtype": "i2", "scale_factor": 0.001, "add_offset": 1.0, "_FillValue": -32767}
    if i % 3 == 0:
        name = os.path.join(WORK, "g%d.nc" % i)
        plain = {"contiguous": True} if rng.integers(2) else {"chunksizes": flat}
        ds.to_netcdf(name, encoding={"a": {"chunksizes": deep, "zlib": bool(rng.integers(2))}, "b": plain, "p": {**packed, "chunksizes": flat, "zlib": True}})
        return name, xr.load_dataset(name)
    name = os.path.join(WORK, "g%d.zarr" % i)
    ds.to_zarr(name, zarr_format=1 + i % 3, encoding={"a": {"chunks": deep}, "b": {"chunks": flat}, "p": {**packed, "chunks": flat}}, consolidated=False)
    return name, xr.open_zarr(name, consolidated=False).load()


def selection(rng: np.random.Generator, x: xr.Dataset) -> Tuple[List[str], xr.Dataset]:
    """Clauses of --sel, and what xarray takes."""
    sel: List[str] = []
    want = x
    if rng.integers(4) > 0:
        a, b = np.sort(rng.integers(0, len(x.time), 2))
        first, last = str(x.time.values[a])[:10], str(x.time.values[b])[:10]
        sel.append("time=%s..%s" % (first, last))
        want = want.sel(time=slice(first, last))
        if rng.integers(3) == 0:
            n = int(rng.integers(2, 5))
            sel[-1] += "::%d" % n
            want = want.isel(time=slice(None, None, n))
    if rng.integers(2):
        ends = np.sort(rng.uniform(-70, 70, 2)).astype(x.lat.dtype)
        keep = np.flatnonzero((x.lat.values >= ends[0]) & (x.lat.values <= ends[1]))
        if len(keep):
            sel.append("lat=%r..%r" % tuple(float(v) for v in rng.permutation(ends)))
            want = want.isel(lat=keep)
    if rng.integers(2):
        west = rng.uniform(-180, 180)
        east = west + rng.uniform(0, 359)
        a, b = (float(x.lon.dtype.type(v)) for v in (west, east))
        away = np.mod(x.lon.values.astype("f8") - a, 360)
        keep = np.flatnonzero(away <= b - a)
        if len(keep):
            sel.append("lon=%r..%r" % (float(west), float(east)))
            want = want.isel(lon=keep[np.argsort(away[keep], kind="stable")])
    if rng.integers(2):
        some = rng.permutation(x.level.values)[: int(rng.integers(1, len(x.level) + 1))]
        sel.append("level=" + ",".join(str(v) for v in some))
        want = want.sel(level=some)
    return sel, want


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    name, x = written(rng, i)
    sel, want = selection(rng, x)
    flags = ["--sel", ",".join(sel)] if sel else []
    levels = [int(v) for v in want.level.values]
    channels = bool(rng.integers(2))
    if channels:
        flags += ["--channels", "x=b,p," + ",".join("a@%d" % v for v in levels)]
    ds = convert(name, os.path.join(WORK, "out"), "--cf", "on", "--sample", "axis", *flags)
    if channels:
        parts = [want.b.values, want.p.values] + [want.a.sel(level=v).values for v in levels]
        same(ds.column("x")[:], np.stack([v.astype("f8") for v in parts], 1), " ".join(flags))
        return
    for key in ("a", "b", "p"):
        same(ds.column(key)[:], want[key].values, "%s of %s" % (key, " ".join(flags)))


if __name__ == "__main__":
    main([("grid", tables(one, 60, "what xarray selects of them"))])
