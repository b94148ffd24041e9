"""Random Zarr stores of both formats, written by zarr-python and xarray, and what they become."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Tuple

import numcodecs
import numpy as np
import xarray as xr
import zarr

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")

NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "b1", "c8", "c16"]


def pick(rng: np.random.Generator, *of: Any) -> Any:
    return of[int(rng.integers(0, len(of)))]


def values(rng: np.random.Generator, dtype: str, shape: Tuple[int, ...]) -> np.ndarray:
    if dtype == "b1":
        return rng.random(shape) < 0.5
    if dtype[0] in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    if dtype[0] == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def codecs2(rng: np.random.Generator, dtype: str) -> Dict[str, Any]:
    shuffle = int(pick(rng, 0, 1, 2))
    name = pick(rng, "lz4", "zstd", "zlib", "lz4hc", "blosclz")
    compressor = pick(
        rng,
        None,
        numcodecs.Blosc(name, 3, shuffle, blocksize=int(pick(rng, 0, 256))),
        numcodecs.Zstd(3),
        numcodecs.GZip(1),
        numcodecs.Zlib(1),
        numcodecs.LZ4(),
        numcodecs.BZ2(1),
    )
    filters: List[Any] = []
    if dtype[0] in "iu" and rng.random() < 0.4:
        filters.append(numcodecs.Delta("<" + dtype if dtype[1] != "1" else "|" + dtype))
    if rng.random() < 0.2:
        filters.append(numcodecs.Shuffle(int(dtype[1:]) if dtype != "b1" else 1))
    return {"compressors": [compressor] if compressor else None, "filters": filters or None, "order": pick(rng, "C", "F")}


def codecs3(rng: np.random.Generator, dtype: str, rank: int, chunks: Tuple[int, ...]) -> Dict[str, Any]:
    c = zarr.codecs
    shuffle = pick(rng, "noshuffle", "shuffle", "bitshuffle")
    compressor = pick(
        rng,
        None,
        c.ZstdCodec(level=3, checksum=bool(pick(rng, True, False))),
        c.GzipCodec(level=1),
        c.BloscCodec(cname=pick(rng, "lz4", "zstd", "zlib"), clevel=3, shuffle=shuffle, typesize=max(1, int(dtype[1:]) if dtype != "b1" else 1)),
    )
    out: Dict[str, Any] = {"compressors": [x for x in (compressor, pick(rng, None, c.Crc32cCodec())) if x]}
    out["serializer"] = c.BytesCodec(endian=pick(rng, "little", "big")) if dtype[1:] != "1" else c.BytesCodec()
    if rank > 1 and rng.random() < 0.3:
        out["filters"] = [c.TransposeCodec(order=tuple(int(x) for x in rng.permutation(rank)))]
    elif rng.random() < 0.4:
        out["shards"] = tuple(int(n * rng.integers(1, 4)) for n in chunks)
    return out


def store_of(rng: np.random.Generator, base: str) -> Any:
    if rng.random() < 0.25:
        return zarr.storage.ZipStore(base + ".zip", mode="w")
    return zarr.storage.LocalStore(base)


def write_random(rng: np.random.Generator, base: str) -> str:
    """Arrays of n rows in any layout."""
    version, store = int(pick(rng, 2, 3)), store_of(rng, base)
    zipped = isinstance(store, zarr.storage.ZipStore)
    root = zarr.create_group(store=store, zarr_format=version)
    n = int(rng.integers(2, 40))
    for i in range(int(rng.integers(1, 5))):
        dtype = str(pick(rng, *NUMBERS))
        shape = (n,) + tuple(int(x) for x in rng.integers(1, 9, int(rng.integers(0, 4))))
        chunks = tuple(int(rng.integers(1, s + 3)) for s in shape)
        kw = codecs2(rng, dtype) if version == 2 else codecs3(rng, dtype, len(shape), chunks)
        if version == 2:
            kw["chunk_key_encoding"] = {"name": "v2", "separator": pick(rng, ".", "/")}
        else:
            kw["chunk_key_encoding"] = {"name": pick(rng, "default", "v2"), "separator": pick(rng, ".", "/")}
        fill = pick(rng, 0, 7) if dtype != "b1" else False
        name = pick(rng, "x%d", "group/x%d", "a/b/x%d") % i
        d = root.create_array(name, shape=shape, dtype=("<" if version == 3 else pick(rng, "<", ">")) + dtype, chunks=chunks, fill_value=fill, **kw)
        data = values(rng, dtype, shape)
        if rng.random() < 0.7 or zipped:
            d[...] = data
        else:  # some chunks are never written
            for lo in range(0, n, chunks[0] * 2):
                d[lo : lo + chunks[0]] = data[lo : lo + chunks[0]]
    if rng.random() < 0.4 and not zipped:
        zarr.consolidate_metadata(store)
    store.close()
    return base + (".zip" if zipped else "")


def write_weather(rng: np.random.Generator, base: str) -> str:
    """A data set of xarray, packed and with times."""
    n, shape = int(rng.integers(2, 30)), (int(rng.integers(1, 6)), int(rng.integers(1, 7)))
    time = np.datetime64("1990-01-01", "ns") + np.sort(rng.integers(0, 10**6, n)) * np.timedelta64(int(pick(rng, 60, 3600)), "s")
    v: Dict[str, Any] = {}
    encoding: Dict[str, Any] = {"time": {"units": "%s since 19%02d-03-01" % (pick(rng, "hours", "minutes", "seconds", "days"), rng.integers(0, 100))}}
    for i in range(int(rng.integers(1, 4))):
        x = rng.normal(size=(n,) + shape)
        x[rng.random(x.shape) < 0.1] = np.nan
        name = "v%d" % i
        v[name] = (("time", "lat", "lon"), x.astype(pick(rng, "f4", "f8")), {"units": "K"})
        encoding[name] = {"chunks": tuple(int(rng.integers(1, s + 2)) for s in (n,) + shape)}
        if rng.random() < 0.5:
            encoding[name].update(dtype=pick(rng, "i2", "i4"), scale_factor=float(pick(rng, 0.01, 0.001)), add_offset=float(pick(rng, 0, 273.15)), _FillValue=-9999)
        elif rng.random() < 0.5:
            encoding[name].update(_FillValue=-999.0)
    ds = xr.Dataset(v, {"time": time, "lat": np.arange(shape[0]), "lon": np.arange(shape[1])})
    ds["static"] = (("lat", "lon"), rng.normal(size=shape))
    ds.to_zarr(base, mode="w", zarr_format=int(pick(rng, 2, 3)), encoding=encoding, consolidated=bool(pick(rng, True, False)))
    return base


def convert(source: str, out: str, *flags: str) -> Any:
    """The data set of a store."""
    shutil.rmtree(out, ignore_errors=True)
    p = subprocess.run([BINARY, "convert", source, "-o", out, "-q", *flags], capture_output=True, text=True)
    assert p.returncode == 0, "%s: %s" % (flags, p.stderr)
    return shardify.open(out)


def same(have: Any, want: Any, what: str) -> None:
    """Types and values; complex numbers are pairs."""
    have, want = np.asarray(have), np.asarray(want)
    if want.dtype.kind == "c":
        want = np.stack([want.real, want.imag], -1)
    want = want.astype(want.dtype.newbyteorder("="))
    assert have.dtype == want.dtype and have.shape == want.shape, "%s: %s %s, want %s %s" % (what, have.dtype, have.shape, want.dtype, want.shape)
    assert np.array_equal(have, want, equal_nan=want.dtype.kind == "f"), "%s has other values" % what
