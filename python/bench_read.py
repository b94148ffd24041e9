"""Samples per second of reading a data set at random, warm, in one process.

    python bench_read.py --shardify ../bin/shardify [--samples 200000] [--work DIR]

Beside each way of reading stands the same work on a plain np.memmap of one column,
which is as fast as a loader in Python that goes sample by sample can be.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Iterable, List

import numpy as np

import shardify

BATCH = 256


def convert(binary: str, work: str, n: int) -> str:
    r = np.random.default_rng(0)
    arrays = {"x": r.normal(size=(n, 64)).astype("f4"), "label": r.integers(0, 10, n)}
    arrays.update(("s%d" % k, r.normal(size=n).astype("f4")) for k in range(6))
    np.savez(os.path.join(work, "in.npz"), **arrays)
    out = os.path.join(work, "out")
    source = os.path.join(work, "in.npz")
    subprocess.run([binary, "convert", source, "-o", out, "--quiet", "--shard-samples", str(n // 4 + 1)], check=True)
    return out


def rate(name: str, rows: np.ndarray, work: Callable[[np.ndarray], Any], seconds: float = 1.5) -> float:
    """Median of three runs, each a shuffled part of the rows that takes about `seconds`."""
    part, t = rows[:2000], time.perf_counter()
    work(part)
    per = (time.perf_counter() - t) / len(part)
    part = rows[: max(2000, min(len(rows), int(seconds / per)))]
    rates: List[float] = []
    for _ in range(3):
        t = time.process_time()
        work(part)
        rates.append(len(part) / (time.process_time() - t))
    result = sorted(rates)[1]
    print("%-52s %12.0f samples/s" % (name, result))
    return result


def batches(rows: np.ndarray) -> Iterable[np.ndarray]:
    return (rows[i : i + BATCH] for i in range(0, len(rows), BATCH))


def drain(loader: Iterable[Any]) -> None:
    for _ in loader:
        pass


def bench(folder: str) -> None:
    ds, x = shardify.open(folder), shardify.open(folder, columns=["x"])
    flat = np.concatenate([x.column("x")[: len(x)]])
    rows = np.random.default_rng(1).permutation(len(ds))
    collate = shardify.collate(to="numpy")
    print("%d samples of %d fields, batches of %d" % (len(ds), len(ds.fields), BATCH))
    rate("np.ndarray, one column, item by item, copied", rows, lambda r: [flat[i].copy() for i in r.tolist()])
    rate("ds[i], one column", rows, lambda r: [x[i] for i in r.tolist()])
    rate("ds[i], 8 fields", rows, lambda r: [ds[i] for i in r.tolist()])
    rate("ds[i], 8 fields, then collate", rows, lambda r: [collate([ds[i] for i in b.tolist()]) for b in batches(r)])
    rate("ds.__getitems__, 8 fields, as dicts", rows, lambda r: [list(ds.__getitems__(b)) for b in batches(r)])
    rate("ds.__getitems__, 8 fields, then collate", rows, lambda r: [collate(ds.__getitems__(b)) for b in batches(r)])
    rate("np.ndarray, one column, by batch", rows, lambda r: [flat[b] for b in batches(r)])
    try:
        from torch.utils.data import BatchSampler, DataLoader
    except ImportError:
        print("DataLoader: PyTorch is not installed")
        return

    def loader(d: Any, r: np.ndarray, whole: bool, **kw: Any) -> Any:
        if not whole:
            return DataLoader(d, BATCH, sampler=r.tolist(), **kw)
        return DataLoader(d, None, sampler=BatchSampler(r.tolist(), BATCH, False), **kw)

    tensors = shardify.collate()
    rate("DataLoader over an array, one column", rows, lambda r: drain(loader(flat, r, False)))
    rate("DataLoader, one column", rows, lambda r: drain(loader(x, r, False, collate_fn=tensors)))
    rate("DataLoader, 8 fields", rows, lambda r: drain(loader(ds, r, False, collate_fn=tensors)))
    rate("DataLoader, 8 fields, BatchSampler", rows, lambda r: drain(loader(ds, r, True, collate_fn=tensors)))


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shardify", required=True, help="the converter")
    p.add_argument("--samples", type=int, default=200_000)
    p.add_argument("--work", help="an empty folder for the data; default: a temporary one")
    a = p.parse_args()
    with tempfile.TemporaryDirectory(dir=a.work) as work:
        bench(convert(os.path.abspath(a.shardify), work, a.samples))


if __name__ == "__main__":
    sys.exit(main())
