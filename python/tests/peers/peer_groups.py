"""pandas: random tables, grouped, joined, picked from and sorted, must be what groupby and merge make of them.

python3 peer_groups.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the tables
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from expect import main, tables

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "groups")
SEED = int(os.environ.get("SEED", "1"))


def frame(rng: np.random.Generator) -> pd.DataFrame:
    n = int(rng.integers(1, 3000))
    key = rng.integers(-5, 1 + int(rng.integers(1, 400)), n).astype(np.int64) + int(rng.choice([0, 2**53, 2**62]))
    d = pd.DataFrame({"key": key, "run": rng.integers(0, 3, n).astype(np.int16), "x": rng.normal(size=n), "s": rng.integers(0, 50, n).astype(np.int32), "flag": rng.random(n) < 0.5})
    d["word"] = [["", "a", "b\u00e9", "long word"][i] for i in rng.integers(0, 4, n)]
    d["same"] = d["key"] % 7
    order = int(rng.integers(0, 3))
    if order == 1:
        d = d.sort_values(["key", "run"], kind="stable")
    elif order == 2:
        d = d.iloc[np.argsort((d["key"].to_numpy() * 7919) % 1009, kind="stable")]
    return d.reset_index(drop=True)


def write(rng: np.random.Generator, d: pd.DataFrame, folder: str) -> None:
    os.makedirs(folder)
    files = int(rng.integers(1, 5))
    cuts = np.sort(rng.integers(0, len(d) + 1, files - 1)).tolist()
    for i, (lo, hi) in enumerate(zip([0] + cuts, cuts + [len(d)])):
        t = pa.Table.from_pandas(d.iloc[lo:hi], preserve_index=False)
        pq.write_table(t, os.path.join(folder, "%d.parquet" % i), row_group_size=int(rng.integers(1, 500)), data_page_size=int(rng.integers(64, 4096)))


def together(keys: List[Any]) -> bool:
    seen, last = set(), None
    for k in keys:
        if k != last and k in seen:
            return False
        seen.add(k)
        last = k
    return True


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    shutil.rmtree(WORK, ignore_errors=True)
    d = frame(rng)
    write(rng, d, os.path.join(WORK, "in"))
    by = [["key"], ["key", "run"], ["run", "key"], ["word"], ["word", "key"]][int(rng.integers(0, 5))]
    args = [BINARY, "convert", os.path.join(WORK, "in"), "-o", os.path.join(WORK, "out"), "--group-rows", "hits=" + ",".join(by), "--memory", str(rng.choice(["64MiB", "1GiB"])), "--jobs", str(rng.integers(1, 4)), "--sync", "none", "--shard-samples", str(rng.integers(1, 500))]
    if "key" in by and rng.random() < 0.5:
        args += ["--once", "same"]
    geometry = pd.DataFrame({"s": rng.permutation(50).astype(np.int32)[: int(rng.integers(30, 51))]})
    geometry["gx"], geometry["gn"] = rng.normal(size=len(geometry)), rng.integers(0, 9, len(geometry))
    pq.write_table(pa.Table.from_pandas(geometry, preserve_index=False), os.path.join(WORK, "geo.parquet"))
    args += ["--join", os.path.join(WORK, "geo.parquet") + " on=s missing=drop"]
    truth = pd.DataFrame({"key": rng.permutation(d["key"].unique())})
    truth["e"] = rng.normal(size=len(truth))
    if by == ["key"]:
        truth = truth.iloc[: max(1, len(truth) * 3 // 4)]
        pq.write_table(pa.Table.from_pandas(truth, preserve_index=False), os.path.join(WORK, "truth.parquet"))
        args += ["--join", "t=" + os.path.join(WORK, "truth.parquet") + " on=key missing=fill"]
    sort = rng.random() < 0.3
    if sort:
        args += ["--sort", "hits=-x"]
    p = subprocess.run(args, capture_output=True, text=True, timeout=300)
    assert p.returncode == 0, " ".join(args) + "\n" + p.stderr[-1500:]

    names = [tuple(r) for r in d[by].itertuples(index=False)]
    groups: Dict[Any, pd.DataFrame] = {k if isinstance(k, tuple) else (k,): g for k, g in d.groupby(by, sort=False)}
    order = list(groups)
    if not together(names):
        order = sorted(order, key=lambda k: tuple(v.encode() if isinstance(v, str) else v for v in k))
    ds = shardify.open(os.path.join(WORK, "out"))
    assert len(ds) == len(order), "%d samples, want %d" % (len(ds), len(order))
    energies = dict(zip(truth["key"], truth["e"]))
    for k, key in enumerate(order):
        want = groups[key].merge(geometry, on="s", how="inner", validate="many_to_one")
        if sort:
            want = want.sort_values("x", ascending=False, kind="stable")
        have = ds[k]
        for name, value in zip(by, key):
            assert have[name] == value, (k, name, have[name], value)
        for name in ["x", "s", "flag", "gx", "gn"] + [c for c in ("run", "key") if c not in by]:
            assert np.array_equal(np.asarray(have[name]), want[name].to_numpy()), (k, name, have[name], want[name])
        if "word" not in by:
            assert [w for w in have["word"]] == want["word"].tolist(), (k, have["word"])
        if "--once" in args:
            assert have["same"] == groups[key]["same"].iloc[0]
        if by == ["key"]:
            e = energies.get(key[0])
            assert (have["t_e"] is None) if e is None else have["t_e"] == e, (k, have["t_e"], e)


if __name__ == "__main__":
    main([("pandas groups", tables(one, 40, "what pandas makes of them"))])
