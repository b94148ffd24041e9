"""netCDF4, scipy and xarray: random netCDF-3 files must come out as they read them.

python3 peer_netcdf3.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the files
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from typing import Any, Dict, List, Tuple

import netCDF4
import numpy as np
import xarray as xr
from expect import main, tables
from scipy.io import netcdf_file
from zarr_random import convert, pick, same

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "netcdf3")
SEED = int(os.environ.get("SEED", "1"))
FORMATS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
CLASSIC = ["i1", "i2", "i4", "f4", "f8", "S1"]
MORE = ["u1", "u2", "u4", "i8", "u8"]
UNITS = ["hours since 1990-01-01", "days since 1850-1-1 12:00", "seconds since 2001-02-03T04:05:06", "minutes since 1999-12-31"]
warnings.simplefilter("ignore")

Variable = Tuple[str, str, Tuple[str, ...], Dict[str, Any]]


def variables(rng: np.random.Generator, types: List[str], records: int) -> List[Variable]:
    """Names, types, dimensions and attributes."""
    out: List[Variable] = []
    for i in range(int(rng.integers(1, 7))):
        dims = tuple(str(d) for d in rng.choice(["x", "y", "z"], int(rng.integers(0, 4)), replace=False))
        if rng.random() < 0.7:
            dims = ("rec",) + dims
        dtype, attrs = str(pick(rng, *types)), {}
        if dtype == "S1":
            dims = tuple(d for d in dims if d != "x") + ("len",)
        elif rng.random() < 0.3:
            attrs["scale_factor"] = pick(rng, np.float32(0.5), 0.1)
            if rng.random() < 0.7:
                attrs["add_offset"] = pick(rng, np.float32(10), 273.15)
        if dtype != "S1" and rng.random() < 0.4:
            attrs["_FillValue"] = np.array(pick(rng, 1, 77), dtype)
        out.append(("v%d" % i, dtype, dims, attrs))
    if records > 0 and rng.random() < 0.5:
        out.append(("when", str(pick(rng, "i4", "f8")), ("rec",), {"units": pick(rng, *UNITS)}))
    return out


def written(rng: np.random.Generator, i: int, name: str) -> str:
    """A file; its format."""
    kind = FORMATS[i % 3]
    records = int(rng.integers(0, 12)) if i % 7 else 0
    sizes = {"x": int(rng.integers(1, 6)), "y": int(rng.integers(1, 9)), "z": 3, "len": int(rng.integers(1, 9))}
    what = variables(rng, CLASSIC + (MORE if kind == FORMATS[2] else []), records)

    def values(dtype: str, dims: Tuple[str, ...]) -> Any:
        shape = tuple(records if d == "rec" else sizes[d] for d in dims)
        return rng.choice(list("abc d"), shape).astype("S1") if dtype == "S1" else rng.integers(0, 100, shape).astype(dtype)

    if i % 4 == 0 and kind != FORMATS[2] and records > 0:
        what = [w for w in what if w[2]]  # scipy puts single values into the second record
        with netcdf_file(name, "w", version=1 + i % 3) as f:
            f.createDimension("rec", None)
            for d, n in sizes.items():
                f.createDimension(d, n)
            for var, dtype, dims, attrs in what:
                v = f.createVariable(var, np.dtype(dtype) if dtype != "S1" else "c", dims)
                for key, a in attrs.items():
                    setattr(v, key, a)
                v[:] = values(dtype, dims)
        return kind
    with netCDF4.Dataset(name, "w", format=kind) as d:
        d.createDimension("rec", None)
        for dim, n in sizes.items():
            d.createDimension(dim, n)
        for var, dtype, dims, attrs in what:
            fill = attrs.pop("_FillValue", None)
            v = d.createVariable(var, dtype, dims, fill_value=fill)
            v.set_auto_maskandscale(False)
            v.setncatts(attrs)
            if rng.random() < 0.85 or var == "when":  # else the library fills it
                v[...] = values(dtype, dims)
    return kind


def texts(a: Any) -> List[bytes]:
    """Characters along the last dimension, without the zeros behind them."""
    return [b"".join(row).rstrip(b"\0") for row in np.asarray(a).reshape(-1, np.shape(a)[-1])]


def flat(column: Any) -> List[bytes]:
    """The texts of a column, of lists of them, too."""
    if isinstance(column, (str, bytes)):
        return [column.encode() if isinstance(column, str) else column]
    return [t for x in column for t in flat(x)]


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    name, out = os.path.join(WORK, "r.nc"), os.path.join(WORK, "out")
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    kind = written(rng, i, name)
    with netCDF4.Dataset(name) as d:
        d.set_auto_maskandscale(False)
        d.set_auto_chartostring(False)
        records = len(d.dimensions["rec"])
        stored = {k: np.asarray(v[...]) for k, v in d.variables.items() if records > 0 or "rec" not in v.dimensions}
        rows = [k for k in stored if "rec" in d[k].dimensions]
    if kind != FORMATS[2]:
        try:
            with netcdf_file(name, "r", mmap=False, maskandscale=False) as f:
                for k, want in stored.items():
                    have = np.asarray(f.variables[k].data)
                    assert np.array_equal(have.astype(want.dtype), want), "scipy and netCDF4 differ about %s" % k
        except ValueError as e:  # it wants padding behind the last record, and between those of one small variable
            assert "buffer size must be a multiple" in str(e) or "cannot reshape" in str(e), e
    if not stored:
        return
    flags = ["--shard-samples", str(int(rng.integers(1, 9)))]
    for sample, names in (("file", list(stored)), ("axis", rows)):
        if not names:
            continue
        asked = ["--sample", sample, "--object", ",".join(names), *flags]
        ds = convert(name, out, "--cf", "off", *asked)
        for k in names:
            want = stored[k] if sample == "axis" else stored[k][None]
            if want.dtype.kind != "S":
                same(ds.column(k)[:], want, k)
        decoded = convert(name, out, "--cf", "on", *asked)
        with xr.open_dataset(name, engine="netcdf4", decode_timedelta=False) as x:
            for k in names:
                want = x[k].values
                if stored[k].dtype.kind == "S":
                    have = flat([decoded[s][k] for s in range(len(decoded))])
                    assert have == texts(stored[k]), "%s: %s, want %s" % (k, have, texts(stored[k]))
                    continue
                have = np.asarray(decoded.column(k)[:])
                if k == "when":
                    want = want.astype("datetime64[ns]").astype("i8")
                    have = have * (10**9 if decoded.field(k).attrs["time"] == "s" else 1)
                same(have, want if sample == "axis" else want[None], k + " decoded")


if __name__ == "__main__":
    main([("netcdf3", tables(one, 200, "what netCDF4, scipy and xarray read of them"))])
