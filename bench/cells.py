#!/usr/bin/env python3
"""Cells a second of sparse rows: shardify.Loader beside scipy in memory, h5py, scDataset and annbatch, in turns.

    python3 bench/cells.py WORK --out bench/CELLS.md     SHARDIFY names the program; wants numpy, scipy, h5py, anndata

scDataset and annbatch are measured where they can be imported. A round is so many seconds of each; figures are medians of rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Tuple

import anndata
import h5py
import numpy as np
import page
import scipy.sparse as sp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import shardify  # noqa: E402

BATCH, BLOCK = 1024, 16
FLOOR = "memset of the result"
Batches = Callable[[], Iterator[int]]


def make(path: str, cells: int, genes: int) -> None:
    """Cells with a log-normal number of genes, about 600, and small counts."""
    if os.path.exists(path):
        return
    r = np.random.default_rng(1)
    lengths = np.clip(r.lognormal(np.log(550), 0.4, cells), 50, genes // 8).astype("i8")
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.empty(indptr[-1], "i4")
    for k, (lo, hi) in enumerate(zip(indptr, indptr[1:])):
        gaps = r.integers(1, genes // (hi - lo) + 1, hi - lo)
        columns[lo:hi] = np.cumsum(gaps) - 1
    values = r.geometric(0.4, indptr[-1]).astype("f4")
    a = anndata.AnnData(X=sp.csr_matrix((values, columns, indptr), shape=(cells, genes)))
    a.obs["label"] = r.integers(0, 20, cells)
    a.write_h5ad(path + ".part")
    os.rename(path + ".part", path)


def convert(source: str, out: str) -> None:
    if not os.path.exists(os.path.join(out, "shardify.json")):
        subprocess.run([os.environ.get("SHARDIFY", "bin/shardify"), "convert", source, "-o", out], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ours(folder: str, shuffle: str, how: Any, tier: str = "auto") -> Batches:
    loader = shardify.Loader(folder, BATCH, sparse={"X": how}, columns=["X/data", "X/indices"], shuffle=shuffle, seed=1, framework="numpy", tier=tier)

    def batches() -> Iterator[int]:
        while True:
            for b in loader:
                yield b["X"].shape[0]

    return batches


def in_memory(m: Any, dense: bool) -> Batches:
    def batches() -> Iterator[int]:
        r = np.random.default_rng(2)
        while True:
            order = r.permutation(m.shape[0])
            for at in range(0, len(order) - BATCH + 1, BATCH):
                x = m[order[at : at + BATCH]]
                yield (x.toarray() if dense else x).shape[0]

    return batches


def written_once(genes: int) -> Batches:
    """The floor of dense batches: the bytes of the result are stored once, in memory that is there, by the C library."""
    to = np.ones((BATCH, genes), np.float32)

    def batches() -> Iterator[int]:
        while True:
            ctypes.memset(to.ctypes.data, 0, to.nbytes)
            yield BATCH

    return batches


def by_h5py(path: str, block: int) -> Batches:
    def batches() -> Iterator[int]:
        r = np.random.default_rng(3)
        with h5py.File(path) as f:
            x = f["X"]
            indptr, data, indices = x["indptr"][:], x["data"], x["indices"]
            width = int(x.attrs["shape"][1])
            while True:
                parts = []
                for k in r.integers(0, (len(indptr) - 1) // block, BATCH // block).tolist():
                    ptr = indptr[k * block : k * block + block + 1]
                    lo, hi = int(ptr[0]), int(ptr[-1])
                    parts.append(sp.csr_matrix((data[lo:hi], indices[lo:hi], ptr - lo), shape=(block, width)))
                    if block == 1 and len(parts) % 64 == 0:
                        yield 64  # a batch of single rows takes longer than a round
                if block > 1:
                    yield sp.vstack(parts, format="csr").shape[0]

    return batches


class Backed:
    """What scDataset asks of a collection: a length, and rows by number."""

    def __init__(self, path: str) -> None:
        self.x = anndata.read_h5ad(path, backed="r").X

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, rows: Any) -> Any:
        return self.x[rows]


def sc_dataset(path: str) -> Batches:
    from scdataset import BlockShuffling, scDataset

    made = scDataset(Backed(path), BlockShuffling(block_size=BLOCK), batch_size=BATCH, fetch_factor=16)

    def batches() -> Iterator[int]:
        while True:
            for x in made:
                yield x.shape[0]

    return batches


def ann_batch(path: str, work: str) -> Batches:
    import annbatch

    store = os.path.join(work, "annbatch.zarr")
    collection = annbatch.DatasetCollection(store, mode="a")
    if collection.is_empty:
        collection.add_adatas([path])
    made = annbatch.Loader(batch_size=BATCH, chunk_size=256, preload_nchunks=16, preload_to_gpu=False, shuffle=True)
    made.use_collection(annbatch.DatasetCollection(store, mode="r"))

    def batches() -> Iterator[int]:
        while True:
            for b in made:
                yield b["X"].shape[0]

    return batches


def measure(it: Iterator[int], seconds: float) -> Tuple[float, float]:
    """Cells a second, and microseconds of processor time a cell."""
    begin, used, n = time.perf_counter(), page.processor(), 0
    while time.perf_counter() - begin < seconds:
        n += next(it)
    return n / (time.perf_counter() - begin), 1e6 * (page.processor() - used) / n


def version(name: str) -> str:
    return importlib.metadata.version(name)


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("work")
    p.add_argument("--out", default="")
    p.add_argument("--cells", type=int, default=60_000)
    p.add_argument("--genes", type=int, default=20_000)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1.0)
    a = p.parse_args()
    os.makedirs(a.work, exist_ok=True)
    path, folder = os.path.join(a.work, "cells.h5ad"), os.path.join(a.work, "set")
    make(path, a.cells, a.genes)
    convert(path, folder)
    m = sp.csr_matrix(anndata.read_h5ad(path).X)
    with open(path, "rb") as f:
        while f.read(1 << 24):
            pass
    changed = shardify.Sparse("dense", normalize=1e4, log1p=True)
    global_, block, not_exact = "exact global order", "block order", "blocks of %d" % BLOCK
    contenders: List[Tuple[str, str, str, Callable[[], Batches]]] = [
        ("shardify.Loader", global_, "csr", lambda: ours(folder, "global", "csr")),
        ("shardify.Loader, tier=stream", global_, "csr", lambda: ours(folder, "global", "csr", "stream")),
        ("shardify.Loader", global_, "dense", lambda: ours(folder, "global", "dense")),
        ("shardify.Loader", global_, "dense, normalize, log1p", lambda: ours(folder, "global", changed)),
        ("shardify.Loader", block, "csr", lambda: ours(folder, "block", "csr")),
        ("shardify.Loader", block, "dense", lambda: ours(folder, "block", "dense")),
        ("shardify.Loader", block, "dense, normalize, log1p", lambda: ours(folder, "block", changed)),
        ("scipy, all in memory", global_, "csr", lambda: in_memory(m, False)),
        ("scipy, all in memory", global_, "dense", lambda: in_memory(m, True)),
        (FLOOR, "none", "dense", lambda: written_once(m.shape[1])),
        ("h5py, a read a row", "random rows", "csr", lambda: by_h5py(path, 1)),
        ("h5py, a read a block", not_exact, "csr", lambda: by_h5py(path, BLOCK)),
    ]
    peers: List[Tuple[str, str, str, Callable[[], Batches]]] = [
        ("scDataset", not_exact, "csr", lambda: sc_dataset(path)),
        ("annbatch", "chunks of 256", "csr", lambda: ann_batch(path, a.work)),
    ]
    names, absent = {}, []
    running: List[Tuple[str, str, str, Iterator[int]]] = []
    for c in contenders + peers:
        try:
            it = c[3]()()
            next(it)  # opened and warm
            names[c[0]] = version(c[0]) if c in peers else ""
            running.append((c[0], c[1], c[2], it))
        except Exception as e:
            if c not in peers:
                raise
            absent.append("%s (%s)" % (c[0], str(e).split("\n")[0][:160]))
    for _, _, _, it in running:
        measure(it, min(a.seconds, 1.0))
    found: Dict[int, List[Tuple[float, float]]] = {k: [] for k in range(len(running))}
    for _ in range(a.rounds):
        for k, (_, _, _, it) in enumerate(running):
            found[k].append(measure(it, a.seconds))
    report(a, path, m, running, found, names, absent)


def report(a: Any, path: str, m: Any, running: Any, found: Any, names: Dict[str, str], absent: List[str]) -> None:
    rate = {k: statistics.median(r for r, _ in v) for k, v in found.items()}
    cost = {k: statistics.median(c for _, c in v) for k, v in found.items()}
    lines = [
        "# Cells",
        "",
        "Made by `make bench-cells` (`bench/cells.py`). Batches of %s rows of one file of single cells, as a sparse or a dense matrix." % format(BATCH, ","),
        "",
        "%s cells of %s genes, %s values (%.0f a cell), f32 and i32, %.0f MiB as .h5ad without compression; in page cache. %d rounds of %g s of each in turns, on %s, %d cores, load %.1f at the end; medians. Cells a second depend on that load, processor time does less."
        % (format(m.shape[0], ","), format(m.shape[1], ","), format(m.nnz, ","), m.nnz / m.shape[0], os.path.getsize(path) / 2**20, a.rounds, a.seconds, page.model(), os.cpu_count() or 0, os.getloadavg()[0]),
        "Commit %s, Python %s, %s." % (page.commit(), platform.python_version(), ", ".join("%s %s" % (n, version(n)) for n in ("numpy", "scipy", "h5py", "anndata"))),
        "",
        "| program | order | batch | cells a second | lowest to highest | processor time a cell |",
        "|---|---|---|---|---|---|",
    ]
    for k, (name, order, batch, _) in enumerate(running):
        rates = [r for r, _ in found[k]]
        known = " %s" % names[name] if names.get(name) else ""
        lines.append("| %s%s | %s | %s | %s | %s to %s | %.1f us |" % (name, known, order, batch, *(format(round(r), ",") for r in (rate[k], min(rates), max(rates))), cost[k]))
    quasi = [(rate[k], name) for k, (name, order, _, _) in enumerate(running) if order.startswith(("blocks of", "chunks of"))]
    best = max(quasi)
    exact = rate[0]
    lines += ["", "Exact global order is %.1f times the best rate of peers in an order that is not exact (%s)." % (exact / best[0], best[1])]
    dense = next(k for k, c in enumerate(running) if c[:3] == ("shardify.Loader", "exact global order", "dense"))
    theirs = next(k for k, c in enumerate(running) if c[0].startswith("scipy") and c[2] == "dense")
    zeros, rows = next(k for k, c in enumerate(running) if c[0] == FLOOR), 0
    lines += [
        "Dense batches take %.2f of the processor time of scipy's rows and `toarray()`; both zero %.0f KiB a cell." % (cost[dense] / cost[theirs], m.shape[1] * 4 / 1024),
        "Their floor is the result stored once (%s) and the rows (our csr): %.1f us a cell. They take %.2f times that, scipy %.2f times."
        % (FLOOR, cost[zeros] + cost[rows], cost[dense] / (cost[zeros] + cost[rows]), cost[theirs] / (cost[zeros] + cost[rows])),
    ]
    if absent:
        lines += ["", "Not measured: %s." % "; ".join(absent)]
    page.publish("\n".join(lines) + "\n", a.out)


if __name__ == "__main__":
    main()
