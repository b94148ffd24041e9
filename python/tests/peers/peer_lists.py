"""h5py and zarr: --lists must make the slices of flat arrays that starts and counts say.

python3 peer_lists.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the files
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Tuple

import h5py
import numpy as np
import zarr
from expect import main, tables
from zarr_random import BINARY, NUMBERS, convert, pick, same, values

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "lists")
SEED = int(os.environ.get("SEED", "1"))
WHOLE = ["u1", "i2", "u2", "i4", "u4", "i8", "u8"]


def write(rng: np.random.Generator, name: str, arrays: Dict[str, np.ndarray], table: np.ndarray) -> None:
    if name.endswith(".h5"):
        with h5py.File(name, "w", libver=pick(rng, "earliest", "latest")) as f:
            for k, v in arrays.items():
                chunks = tuple(int(rng.integers(1, max(s, 1) + 1)) for s in v.shape) if rng.random() < 0.6 and v.size else None
                f.create_dataset(k, data=v, chunks=chunks, compression=pick(rng, None, "gzip") if chunks else None)
            f["table"] = table
        return
    root = zarr.open_group(name, mode="w", zarr_format=int(pick(rng, 2, 3)))
    for k, v in arrays.items():
        chunks = tuple(int(rng.integers(1, max(s, 1) + 1)) for s in v.shape)
        names = ["event" if k in ("id", "first", "number", "last") else k.replace("/", "_")] + ["d%d" % d for d in range(1, v.ndim)]
        kind: Dict[str, Any] = {} if root.metadata.zarr_format == 2 or rng.random() < 0.5 else {"dimension_names": names}
        a = root.create_array(k, shape=v.shape, dtype=v.dtype, chunks=chunks, **kind)
        a[...] = v


def whole(rng: np.random.Generator, v: List[int]) -> np.ndarray:
    dtype = pick(rng, *[d for d in WHOLE if max(v, default=0) <= np.iinfo(d).max])
    return np.array(v, dtype)


def lists_of(rng: np.random.Generator, n: int) -> Tuple[List[int], List[int]]:
    number = [int(rng.integers(0, 5) * rng.integers(0, 3)) for _ in range(n)]
    first = [int(x) for x in np.cumsum([0] + number)[:-1]]
    total = sum(number)
    for i in range(n):  # an empty list starts anywhere
        if number[i] == 0 and rng.random() < 0.3:
            first[i] = int(rng.integers(0, total + 1))
    return first, number


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    n = int(rng.integers(1, 60))
    first, number = lists_of(rng, n)
    last = [a + b for a, b in zip(first, number)]
    more = [int(rng.integers(0, 4)) for _ in range(n)]
    arrays = {"id": np.arange(n, dtype="i4"), "first": whole(rng, first), "number": whole(rng, number), "last": whole(rng, last)}
    flat = {}
    for k in ("hits/q", "hits/x", "photons"):
        inner = tuple(int(x) for x in rng.integers(1, 4, int(rng.integers(0, 3))))
        flat[k] = values(rng, pick(rng, *NUMBERS), (sum(number),) + inner)
    flat["points"] = values(rng, "f4", (sum(more), 3))
    table = np.zeros(n, [("energy", "f8"), ("number", pick(rng, "u1", ">i4", "<i8"))])
    table["number"], table["energy"] = more, rng.normal(size=n)
    name = os.path.join(WORK, "a.h5" if i % 2 else "a.zarr")
    ends = list(np.cumsum(number))
    wrong = i % 5 == 4 and sum(number) > 0
    if not wrong and i % 3 == 0:
        arrays["last"], arrays["first"] = whole(rng, ends), whole(rng, [e - c for e, c in zip(ends, number)])
        first = [int(e - c) for e, c in zip(ends, number)]
        last = [int(e) for e in ends]
    rules = ["starts=first counts=number", "starts=first ends=last", "counts=number"] + (["ends=last"] if i % 3 == 0 and not wrong else [])
    rule = str(pick(rng, *rules))
    where = "points counts=" + ("table/number" if name.endswith(".h5") else "more")
    if not name.endswith(".h5"):
        arrays["more"] = whole(rng, more)
    if wrong:
        damage(rng, rule, arrays)
    write(rng, name, {**arrays, **flat}, table)
    flags = ["--lists", "%s,photons %s; %s" % (pick(rng, "hits", "hits/*", "/hits/q,hits/x"), rule, where)]
    flags += ["--memory", "64MiB", "--shard-samples", str(int(rng.integers(1, 30))), "--columns", "id,hits/q,hits/x,photons,points"]
    if name.endswith(".zarr"):  # zarr-python does not write chunks of zeros
        flags += ["--missing-chunks", "fill"]
    out = os.path.join(WORK, "out")
    if wrong:
        p = subprocess.run([BINARY, "convert", name, "-o", out, "-q", *flags], capture_output=True, text=True)
        assert p.returncode != 0 and "panic" not in p.stderr and rule in p.stderr.splitlines()[0], "%s: %d %s" % (flags, p.returncode, p.stderr)
        return
    ds = convert(name, out, *flags)
    same(ds.column("id")[:], arrays["id"], "id")
    starts = {k: (first, last) for k in ("hits/q", "hits/x", "photons")}
    total = np.cumsum([0] + more)
    starts["points"] = (list(total[:-1]), list(total[1:]))
    for k, (lo, hi) in starts.items():
        column = ds.column(k)
        for row in range(n):
            same(column[row], flat[k][lo[row] : hi[row]], "%s, %s, row %d" % (flags, k, row))


def damage(rng: np.random.Generator, rule: str, arrays: Dict[str, np.ndarray]) -> None:
    """Changes a number of a list that is not empty, so that no slices in order take all values."""
    full = [int(k) for k in np.flatnonzero(arrays["number"])]
    row = int(pick(rng, *full))
    which = str(pick(rng, *[w.split("=")[1] for w in rule.split()]))
    v = arrays[which].astype("i8")
    v[row] += int(pick(rng, 1, -1, 1000, -1000, 2**62))
    arrays[which] = v


if __name__ == "__main__":
    main([("lists", tables(one, 200, "the slices that h5py and zarr read"))])
