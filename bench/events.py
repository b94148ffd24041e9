"""Times rows that become samples, against the same rows ungrouped, polars and pandas.

    python3 bench/events.py WORK [--rows 20000000] [--rounds 5] [--only NAME,...]

SHARDIFY names the program; numpy, pyarrow, polars and pandas are wanted. The contenders run one
after the other in each round, and the medians of processor time, of wall time and of the most
memory are printed, with the ratio to grouped. Rows have a key and twelve numbers, 95 rows a key.

    sorted      convert of the sorted file, as it is        (grouped is to take at most 1.15 times as long)
    grouped     the same with --group-rows
    polars      group_by(maintain_order).agg(all) and an Arrow file
    pandas      a loop over groupby, of a tenth of the rows, times ten
    shuffled    --group-rows of rows in no order, in an eighth of their memory
    shuffled-polars    group_by of them in memory
    joined      grouped, with three columns of a table of 5160 rows by a list
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

SHARDIFY = os.environ.get("SHARDIFY", "shardify")


def make(work, rows):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    lengths = rng.poisson(95, rows // 90 + 10) + 1
    key = np.repeat(np.cumsum(rng.integers(1, 30, len(lengths))), lengths)[:rows].astype(np.int64)
    mixed = rng.permutation(key)
    for name, column in ("sorted", key), ("shuffled", mixed):
        out = None
        for lo in range(0, rows, 1 << 20):
            n = min(1 << 20, rows - lo)
            t = {"event_no": column[lo : lo + n], "sensor_id": rng.integers(0, 5160, n).astype(np.int16)}
            t.update({"f%d" % i: np.round(rng.normal(size=n), 3) for i in range(11)})
            t = pa.table(t)
            out = out or pq.ParquetWriter(os.path.join(work, name + ".parquet"), t.schema)
            out.write_table(t)
        out.close()
    pq.write_table(pa.table({"sensor_id": np.arange(5160, dtype=np.int16), **{c: rng.normal(size=5160) for c in "xyz"}}), os.path.join(work, "geometry.parquet"))


POLARS = "import polars as pl; pl.read_parquet(%r).group_by('event_no', maintain_order=True).agg(pl.all()).write_ipc(%r)"
PANDAS = """
import numpy as np, pyarrow.parquet as pq
d = pq.ParquetFile(%r).read_row_groups(range(max(1, pq.ParquetFile(%r).num_row_groups // 10))).to_pandas()
np.savez(%r, np.array([g.drop(columns='event_no').to_numpy('f4') for _, g in d.groupby('event_no')], dtype=object), allow_pickle=True)
"""


def contenders(work, rows):
    at = lambda name: os.path.join(work, name)
    out = at("out")
    convert = lambda name, *more: [SHARDIFY, "convert", at(name + ".parquet"), "-o", out, "-q", "--sync", "none", "--jobs", "2", *more]
    group = ["--group-rows", "event_no"]
    eighth = "%dMiB" % max(64, rows * 98 // 8 >> 20)
    return {
        "sorted": convert("sorted"),
        "grouped": convert("sorted", *group),
        "polars": [sys.executable, "-c", POLARS % (at("sorted.parquet"), out)],
        "pandas": [sys.executable, "-c", PANDAS % (at("sorted.parquet"), at("sorted.parquet"), out + ".npz")],
        "shuffled": convert("shuffled", *group, "--memory", eighth),
        "shuffled-polars": [sys.executable, "-c", (POLARS % (at("shuffled.parquet"), out)).replace(", maintain_order=True", "")],
        "joined": convert("sorted", *group, "--join", at("geometry.parquet") + " on=sensor_id"),
    }


def run(command, work):
    for f in "out", "out.npz":
        p = os.path.join(work, f)
        shutil.rmtree(p) if os.path.isdir(p) else os.path.exists(p) and os.remove(p)
    start = time.time()
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit("%s: exit code %d" % (" ".join(command), status))
    return used.ru_utime + used.ru_stime, time.time() - start, used.ru_maxrss / 1024


def main():
    a = argparse.ArgumentParser()
    a.add_argument("work")
    a.add_argument("--rows", type=int, default=20_000_000)
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--only", default="")
    a = a.parse_args()
    os.makedirs(a.work, exist_ok=True)
    mark = os.path.join(a.work, "rows-%d" % a.rows)
    if not os.path.exists(mark):
        make(a.work, a.rows)
        open(mark, "w").close()
    list_ = {k: v for k, v in contenders(a.work, a.rows).items() if not a.only or k in a.only.split(",")}
    seen = {k: [] for k in list_}
    for _ in range(a.rounds):
        for k, v in list_.items():
            seen[k].append(run(v, a.work))
    base = statistics.median(x[0] for x in seen["grouped"]) if "grouped" in seen else None
    for k, v in seen.items():
        cpu, wall, memory = (statistics.median(x[i] for x in v) for i in range(3))
        times = 10 if k == "pandas" else 1
        print("%-16s %7.2f s processor %7.2f s wall %7.0f MiB%s" % (k, cpu * times, wall * times, memory, "  %.2f of grouped" % (cpu * times / base) if base else ""))


if __name__ == "__main__":
    main()
