#!/usr/bin/env python3
"""Processor time and memory of converting a million cells, beside inflating the same chunks and writing them.

    python3 bench/cells_convert.py WORK --out bench/CELLS_CONVERT.md     SHARDIFY names the program; wants numpy, h5py

The file has the same ten thousand cells again and again, so that it is made in seconds; each chunk is inflated as any other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import zlib
from typing import Callable, Dict, List, Tuple

import h5py
import numpy as np
import page

GENES, BLOCK, PER = 20_000, 10_000, 200  # genes; cells that are repeated, and values of each
CHUNK = BLOCK * PER // 8  # values of a chunk


def chunks() -> Tuple[List[bytes], List[bytes]]:
    """The chunks of a block, compressed: data and indices."""
    r = np.random.default_rng(1)
    columns = np.sort(r.integers(0, GENES // PER, (BLOCK, PER)) + np.arange(PER) * (GENES // PER), axis=1).astype("i4").reshape(-1)
    values = r.geometric(0.4, BLOCK * PER).astype("f4")
    return tuple([zlib.compress(x[k : k + CHUNK].tobytes(), 4) for k in range(0, len(x), CHUNK)] for x in (values, columns))  # type: ignore[return-value]


def make_h5ad(path: str, cells: int, parts: Dict[str, List[bytes]]) -> None:
    with h5py.File(path, "w") as f:
        f.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        for name, index in (("obs", cells), ("var", GENES)):
            g = f.create_group(name)
            g.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
            g.attrs["column-order"] = np.array([], "f8")
            g.create_dataset("_index", data=np.char.add(name, np.arange(index).astype("U8")).astype("S"))
        g = f.create_group("X")
        g.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [cells, GENES]})
        g.create_dataset("indptr", data=np.arange(cells + 1, dtype="i8") * PER)
        for name, part in parts.items():
            d = g.create_dataset(name, (cells * PER,), "f4" if name == "data" else "i4", chunks=(CHUNK,), compression="gzip", compression_opts=4)
            for k in range(cells * PER // CHUNK):
                d.id.write_direct_chunk((k * CHUNK,), part[k % len(part)])


def make_zarr(path: str, cells: int, parts: Dict[str, List[bytes]]) -> None:
    def group(name: str, **attrs: object) -> None:
        os.makedirs(os.path.join(path, name))
        for file, value in ((".zgroup", {"zarr_format": 2}), (".zattrs", attrs)):
            with open(os.path.join(path, name, file), "w") as f:
                json.dump(value, f)

    def array(name: str, dtype: str, n: int, chunk: int, packed: bool, each: Callable[[int], bytes]) -> None:
        os.makedirs(os.path.join(path, name))
        with open(os.path.join(path, name, ".zarray"), "w") as f:
            json.dump({"zarr_format": 2, "shape": [n], "chunks": [chunk], "dtype": dtype, "order": "C", "fill_value": 0, "filters": None, "compressor": {"id": "zlib", "level": 4} if packed else None}, f)
        for k in range(-(-n // chunk)):
            with open(os.path.join(path, name, str(k)), "wb") as f:
                f.write(each(k))

    group("", **{"encoding-type": "anndata", "encoding-version": "0.1.0"})
    for name, n in (("obs", cells), ("var", GENES)):
        group(name, **{"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index", "column-order": []})
        names = np.char.add(name, np.arange(n).astype("U8")).astype("S12")
        array(name + "/_index", "|S12", n, n, False, lambda _, b=names.tobytes(): b)
    group("X", **{"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [cells, GENES]})
    ends = (np.arange(cells + 1, dtype="i8") * PER).tobytes()
    array("X/indptr", "<i8", cells + 1, cells + 1, False, lambda _: ends)
    for name, part in parts.items():
        array("X/" + name, "<f4" if name == "data" else "<i4", cells * PER, CHUNK, True, lambda k, p=part: p[k % len(p)])


def used(program: List[str]) -> Tuple[float, float]:
    """Processor time and MiB of memory of a program."""
    child = subprocess.Popen(program, stdout=subprocess.DEVNULL)
    _, status, r = os.wait4(child.pid, 0)
    if status:
        raise SystemExit("%s ended with %d" % (program, status))
    return r.ru_utime + r.ru_stime, r.ru_maxrss / 1024


def floor(out: str, cells: int, parts: Dict[str, List[bytes]]) -> float:
    """Processor time of inflating all chunks by zlib and writing what comes out."""
    begin = page.processor()
    for name, part in parts.items():
        with open(out + "." + name, "wb") as f:
            for k in range(cells * PER // CHUNK):
                f.write(zlib.decompress(part[k % len(part)]))
        os.remove(out + "." + name)
    return page.processor() - begin


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("work")
    p.add_argument("--out", default="")
    p.add_argument("--cells", type=int, default=1_000_000)
    p.add_argument("--rounds", type=int, default=3)
    a = p.parse_args()
    os.makedirs(a.work, exist_ok=True)
    parts = dict(zip(("data", "indices"), chunks()))
    inputs = {"AnnData in HDF5, gzip": os.path.join(a.work, "million.h5ad"), "AnnData in Zarr 2, zlib": os.path.join(a.work, "million.zarr")}
    for path, make in zip(inputs.values(), (make_h5ad, make_zarr)):
        shutil.rmtree(path, ignore_errors=True)
        make(path, a.cells, parts)
    found: Dict[str, List[Tuple[float, float]]] = {}
    out = os.path.join(a.work, "set")
    for _ in range(a.rounds):
        found.setdefault("zlib and write", []).append((floor(out, a.cells, parts), 0))
        for name, path in inputs.items():
            shutil.rmtree(out, ignore_errors=True)
            found.setdefault(name, []).append(used([os.environ.get("SHARDIFY", "bin/shardify"), "convert", path, "-o", out, "-q", "--sync", "none", "--memory", "512MiB"]))
    shutil.rmtree(out, ignore_errors=True)
    least = statistics.median(x for x, _ in found["zlib and write"])
    lines = [
        "# A million cells",
        "",
        "Made by `bench/cells_convert.py`. %s cells of %s genes, %d values each, f32 and i32 in chunks of %d values: %.2f GiB decoded, converted with `--memory 512MiB`." % (format(a.cells, ","), format(GENES, ","), PER, CHUNK, a.cells * PER * 8 / 2**30),
        "The floor inflates the same chunks by zlib and writes what comes out, in Python. %d rounds in turns on %d cores, load %.1f at the end; medians. Commit %s, Python %s, h5py %s." % (a.rounds, os.cpu_count() or 0, os.getloadavg()[0], page.commit(), platform.python_version(), h5py.__version__),
        "",
        "| input | processor time | of the floor | peak memory |",
        "|---|---|---|---|",
        "| zlib and write | %.1f s | | |" % least,
    ]
    for name in inputs:
        time, memory = (statistics.median(x[k] for x in found[name]) for k in (0, 1))
        lines.append("| %s | %.1f s | %.2f of its speed | %.0f MiB |" % (name, time, least / time, memory))
    page.publish("\n".join(lines) + "\n", a.out)


if __name__ == "__main__":
    main()
