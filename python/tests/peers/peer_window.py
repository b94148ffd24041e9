"""xarray, xbatcher and NumPy: values, windows, patches and chunks of random stores must be theirs.

python3 peer_window.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the stores,
SHARDIFY_LONG takes 500

Grids of times with gaps, packed, with fill values, missing chunks, any codecs, chunks and shards,
in folders and zip files. xarray says what the values are; xbatcher and loops over NumPy's arrays,
which know nothing of our views, say what the windows and the patches are.
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from typing import Any, Dict, List, Tuple

import numpy as np
import xarray as xr
import xbatcher
import zarr
from expect import Skip, main, tables
from zarr_random import codecs2, codecs3, convert, pick, same

import shardify  # which zarr_random finds
from shardify import clib

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "window")
SEED = int(os.environ.get("SEED", "1"))
ROUNDS = 500 if os.environ.get("SHARDIFY_LONG") else 30
HOURS = 6
SEEN = {"windows": 0, "of them by xbatcher": 0, "patches": 0, "patches by xbatcher": 0, "chunks": 0}
warnings.simplefilter("ignore")


def packing(rng: np.random.Generator, dtype: str) -> Dict[str, Any]:
    """CF attributes of a variable, as a writer in C or of NetCDF gives them."""
    out: Dict[str, Any] = {}
    if dtype[0] in "iu" and rng.random() < 0.7:
        out["scale_factor"] = float(pick(rng, 0.01, 0.001, 3.0))
    if dtype[0] in "iu" and rng.random() < 0.5:
        out["add_offset"] = float(pick(rng, 273.15, -7.0, 0.1))
    if rng.random() < 0.5:
        out["missing_value"] = int(pick(rng, 3, 17)) if dtype[0] in "iu" else pick(rng, 1e20, -999.0)
    if rng.random() < 0.3 and dtype in ("i1", "i2"):
        out["_Unsigned"] = "true"
    if rng.random() < 0.3:
        out.update(units="K", valid_min=0.0)
    return out


def write(rng: np.random.Generator, base: str) -> Tuple[str, xr.Dataset]:
    """A store, and what xarray reads of it."""
    version, zipped = int(pick(rng, 2, 3)), rng.random() < 0.25
    n, shape = int(rng.integers(4, 50)), (int(rng.integers(2, 9)), int(rng.integers(2, 10)))
    every = np.ones(n, int) if rng.random() < 0.4 else np.where(rng.random(n) < 0.85, 1, rng.integers(2, 5, n))
    time = np.cumsum(every) * HOURS
    name = base + (".zip" if zipped else "")
    store = zarr.storage.ZipStore(name, mode="w") if zipped else zarr.storage.LocalStore(name)
    root = zarr.create_group(store=store, zarr_format=version)

    def array(name: str, data: np.ndarray, dims: List[str], holes: bool, **attrs: Any) -> None:
        dtype = data.dtype.str[1:]
        chunks = tuple(int(rng.integers(1, s + 3)) for s in data.shape)
        kw = codecs2(rng, dtype) if version == 2 else codecs3(rng, dtype, data.ndim, chunks)
        if version == 2:
            attrs["_ARRAY_DIMENSIONS"] = dims
            kw["fill_value"] = pick(rng, None, 0, 5) if name[0] == "v" else None
            if kw["fill_value"] is not None:
                attrs.pop("missing_value", None)  # xarray refuses two that differ where the values are integers
        else:
            kw["dimension_names"] = dims
            kw["fill_value"] = int(pick(rng, 0, 5)) if name[0] == "v" else 0
        a = root.create_array(name, shape=data.shape, dtype=data.dtype, chunks=chunks, attributes=attrs, **kw)
        if holes and not zipped and rng.random() < 0.3:
            step = a.shards[0] if a.shards else chunks[0]
            for lo in range(0, n, step * 2):
                a[lo : lo + step] = data[lo : lo + step]
            if n > step and (n - 1) // step % 2:  # the end is there: a store without one is refused
                a[n - 1 : n] = data[n - 1 : n]
        else:
            a[...] = data

    dims = ["time", "lat", "lon"]
    order = "proleptic_gregorian"
    array("time", time.astype("i8"), dims[:1], False, units="hours since 2018-01-01", calendar=order)
    array("lat", np.linspace(-60, 60, shape[0]), dims[1:2], False)
    array("lon", np.arange(shape[1]) * 10.0, dims[2:], False, units="degrees_east")
    for i in range(int(rng.integers(1, 4))):
        dtype = str(pick(rng, "f4", "f4", "f8", "i1", "i2", "i2", "u1", "i4"))
        x = rng.integers(0, 100, (n,) + shape).astype(dtype) if dtype[0] in "iu" else rng.normal(size=(n,) + shape).astype(dtype)
        if dtype[0] == "f":
            x[rng.random(x.shape) < 0.05] = pick(rng, np.nan, np.float32(1e20), -999.0)
        where, rank = dims, 3
        if i == 2 and rng.random() < 0.5:  # one that has no places
            where, rank, x = dims[:1], 1, x[:, 0, 0]
        array("v%d" % i, x, where, True, **packing(rng, dtype))
    if rng.random() < 0.4 and not zipped:
        zarr.consolidate_metadata(store)
    store.close()
    store = zarr.storage.ZipStore(name, mode="r") if zipped else zarr.storage.LocalStore(name, read_only=True)
    return name, xr.open_zarr(store, consolidated=False, chunks=None).load()


def spec(rng: np.random.Generator, by_time: bool, spacing: int) -> Tuple[str, Dict[str, int]]:
    """A text of windows, and what it says in rows."""
    w = {"in": int(rng.integers(1, 4)), "out": int(rng.integers(0, 4)), "step": 1, "stride": 1}
    if w["in"] == 1 and w["out"] == 0:
        w["out"] = 1
    text = ("time=" if by_time else "") + "%d+%d" % (w["in"], w["out"])
    for key in ("step", "lead", "stride"):
        if rng.random() < 0.35:
            w[key] = int(rng.integers(1, 4))
            text += ",%s=%s" % (key, "%dh" % (w[key] * spacing) if by_time and rng.random() < 0.5 else w[key])
    w.setdefault("lead", w["step"])
    return text, w


def spacing_of(time: np.ndarray) -> int:
    """The most frequent distance of neighbours, the smaller of two."""
    distances, counts = np.unique(np.diff(time), return_counts=True)
    return int(distances[np.argmax(counts)])


def anchors_of(time: np.ndarray, by_time: bool, spacing: int, w: Dict[str, int]) -> Tuple[List[int], List[int], List[int]]:
    """Row by row: the anchors, and the rows of a window from its anchor on."""
    before = [(k - w["in"] + 1) * w["step"] for k in range(w["in"])]
    after = [w["lead"] + k * w["step"] for k in range(w["out"])]
    lo, hi = min(before + after), max(before + after)
    whole = []
    for a in range(len(time)):
        if a + lo < 0 or a + hi >= len(time):
            continue
        rows = time[a + lo : a + hi + 1]
        if not by_time or (np.diff(rows) == spacing).all():
            whole.append(a)
    if not by_time:
        return whole[:: w["stride"]], before, after
    kept, start, last = [], 0, -1
    for a in whole:
        new = last < 0 or not (np.diff(time[last : a + 1]) == spacing).all()  # a stretch begins
        if last < 0 or new and (time[a] - start) % spacing:
            start = time[a]
        last = a
        if (time[a] - start) % (w["stride"] * spacing) == 0:
            kept.append(a)
    return kept, before, after


def by_xbatcher(x: xr.Dataset, time: np.ndarray, by_time: bool, spacing: int, w: Dict[str, int], anchors: List[int]) -> None:
    """Windows of neighbours are xbatcher's patches of the stretches without gaps."""
    size = w["in"] + w["out"]
    stretches = np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) != spacing) + 1) if by_time else [np.arange(len(time))]
    if w["step"] != 1 or w["lead"] != 1 or w["stride"] > size or w["stride"] > 1 and len(stretches) > 1:
        return
    found: List[int] = []
    for rows in stretches:
        if len(rows) < size:
            continue
        g = xbatcher.BatchGenerator(xr.Dataset({"row": ("time", rows)}), {"time": size}, input_overlap={"time": size - w["stride"]})
        found += [int(b["row"].values[w["in"] - 1]) for b in g]
        for b in g:
            assert (np.diff(b["row"].values) == 1).all()
    assert found == anchors, "anchors of xbatcher %s, of the loops %s" % (found, anchors)
    SEEN["of them by xbatcher"] += len(found)


def check_windows(rng: np.random.Generator, name: str, x: xr.Dataset, fields: List[str]) -> None:
    time = (x.time.values.astype("datetime64[s]").astype("i8") // 3600).astype("i8")
    by_time = rng.random() < 0.75
    spacing = spacing_of(time)
    text, w = spec(rng, by_time, spacing)
    anchors, before, after = anchors_of(time, by_time, spacing, w)
    if not anchors:
        return
    by_xbatcher(x, time, by_time, spacing, w, anchors)
    out = os.path.join(WORK, "set")
    convert(name, out, "--cf", "on", "--window", text, "--shard-samples", str(int(rng.integers(1, 12))), "--memory", "64MiB")
    for window in (text, "window"):
        way = pick(rng, {"shuffle": "none"}, {"shuffle": "global", "seed": 3}, {"shuffle": "block", "seed": 3})
        seen = []
        with shardify.Loader(out, int(rng.integers(1, 6)), window=window, last="short", framework="numpy", device="cpu", tier=pick(rng, "auto", "stream", "pinned"), **way) as loader:
            for b in loader:
                for i, a in enumerate(int(v) for v in b.ids[: b.rows]):
                    seen.append(a)
                    for k in fields:
                        for suffix, at in (("", before), (".next", after)):
                            if at:
                                same(b[k + suffix][i], x[k].values[[a + o for o in at]], "%s%s of the window at %d of %s" % (k, suffix, a, text))
                if b.epoch:
                    break
        assert sorted(seen) == anchors, "%s: anchors %s, want %s" % (text, sorted(seen), anchors)
    copied = convert(out, os.path.join(WORK, "copy"), "--view", "window", "--format", pick(rng, "mmap", "wds"))
    for k in fields:
        for suffix, at in (("", before), (".next", after)):
            if at:
                have = np.stack([np.asarray(copied[i][k + suffix]) for i in range(len(copied))])
                same(have, x[k].values[np.array(anchors)[:, None] + at], "%s%s of copies of %s" % (k, suffix, text))
    SEEN["windows"] += len(anchors)


def check_patches(rng: np.random.Generator, name: str, x: xr.Dataset, fields: List[str]) -> None:
    cut = [k for k in fields if x[k].ndim == 3]
    dims = list(rng.permutation(["lat", "lon"])[: int(rng.integers(1, 3))])
    size = {str(d): int(rng.integers(1, len(x[d]) + 1)) for d in dims}
    over = int(rng.integers(0, max(1, min([n for n in size.values() if n > 1] or [1]))))
    overlap = {d: over if n > 1 else 0 for d, n in size.items()}
    edge, wrap = pick(rng, "drop", "drop", "shift", "pad"), pick(rng, None, None, list(size)[0])
    text = ",".join("%s=%d" % i for i in size.items()) + (",overlap=%d" % over if over else "") + ",edge=" + edge + (",wrap=" + wrap if wrap else "")
    out = convert(name, os.path.join(WORK, "patches"), "--cf", "on", "--patch", text, "--shard-samples", "7", "--memory", "64MiB")
    n = len(x.time)

    def starts(d: str) -> List[int]:
        step, length = size[d] - overlap[d], len(x[d])
        if d == wrap:
            return list(range(0, length, step))
        at = list(range(0, length - size[d] + 1, step))
        if at[-1] + size[d] < length and edge != "drop":
            at.append(length - size[d] if edge == "shift" else at[-1] + step)
        return at

    places = [[]]  # type: List[List[int]]
    for d in size:
        places = [p + [s] for p in places for s in starts(d)]
    same(out.column("patch")[:], np.array(places * n, "i4"), "places of %s" % text)
    for k in cut:
        want = []
        for p in places:
            v = x[k].values
            for d, s in zip(size, p):
                axis, at = x[k].dims.index(d), np.arange(s, s + size[d])
                beyond = at >= len(x[d])
                v = np.take(v, at % len(x[d]), axis)
                if d != wrap and beyond.any():
                    v = np.where(beyond.reshape([-1 if i == axis else 1 for i in range(3)]), v.dtype.type(0), v)
            want.append(v)
        same(out.column(k)[:], np.stack(want, 1).reshape((-1,) + want[0].shape[1:]), "%s of %s" % (k, text))
    if edge == "drop" and not wrap and cut:
        g = xbatcher.BatchGenerator(x[cut], size, input_overlap={d: o for d, o in overlap.items() if o})
        assert len(g) == len(places), "%s: %d patches, xbatcher has %d" % (text, len(places), len(g))
        SEEN["patches by xbatcher"] += len(places) * n
        for j, b in enumerate(g):
            b = b.unstack("sample") if "sample" in b.dims else b  # of the dimensions that are not cut
            for k in cut:
                same(out.column(k)[:][j :: len(places)], b[k].transpose("time", "lat", "lon").values, "%s of patch %d of %s, by xbatcher" % (k, j, text))
    for k in set(fields) - set(cut):
        same(out.column(k)[:], np.repeat(x[k].values, len(places)), "%s beside %s" % (k, text))
    SEEN["patches"] += len(places) * n


def check_chunks(rng: np.random.Generator, name: str, x: xr.Dataset, fields: List[str]) -> None:
    store = zarr.storage.ZipStore(name, mode="r") if name.endswith(".zip") else zarr.storage.LocalStore(name, read_only=True)
    arrays = zarr.open_group(store=store, mode="r", use_consolidated=False)
    n = len(x.time)
    rows = max((x[k][0].size * max(arrays[k].dtype.itemsize, 8), arrays[k].chunks[0]) for k in fields)[1]
    store.close()
    lo, hi = (0, n) if rng.random() < 0.5 else sorted(int(v) for v in rng.choice(n + 1, 2, replace=False))
    sel = ["--sel", "time=[%d:%d]" % (lo, hi)] if hi - lo < n else []
    out = convert(name, os.path.join(WORK, "chunks"), "--cf", "on", "--sample", "chunk", *sel, "--shard-samples", "3", "--memory", "64MiB", "--format", pick(rng, "mmap", "wds"))
    numbers = sorted({row // rows for row in range(lo, hi)})
    same(np.array([out[i]["chunk"] for i in range(len(out))]), np.array(numbers, "i8"), "numbers of chunks of %d" % rows)
    for i, c in enumerate(numbers):
        for k in fields:
            same(np.asarray(out[i][k]), x[k].values[max(c * rows, lo) : min((c + 1) * rows, hi)], "%s of chunk %d of %d rows" % (k, c, rows))
    SEEN["chunks"] += len(numbers)


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    name, x = write(rng, os.path.join(WORK, "r.zarr"))
    fields = [str(k) for k in x.data_vars]
    ds = convert(name, os.path.join(WORK, "plain"), "--cf", "on", "--shard-samples", str(int(rng.integers(1, 20))), "--memory", "64MiB")
    for k in fields:
        same(ds.column(k)[:], x[k].values, k)
    same(ds.column("time")[:], x.time.values.astype("datetime64[s]").astype("i8"), "time")
    check_windows(rng, name, x, fields)
    check_patches(rng, name, x, fields)
    check_chunks(rng, name, x, fields)


def check() -> str:
    if not os.path.exists(clib.path()):
        raise Skip("the loader's library is not built: make pylib")
    told = tables(one, ROUNDS, "what xarray and xbatcher make of them")()
    return told + ": " + ", ".join("%s %d" % i for i in SEEN.items())


if __name__ == "__main__":
    main([("window", check)])
