"""One random table as Parquet, Arrow, CSV, JSON lines and SQLite gives one set, wherever a format can say it.

python3 peer_formats.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the tables
"""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import glob
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from expect import main, tables

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "formats")
SEED = int(os.environ.get("SEED", "1"))
WORDS = ["a", "\u00fcn\u00ef", "a,b", 'say "x"', "two\nlines", "007", "x" * 40, " sp ", "it's", "\U0001f600", "-"]
MISSING = "<none>"  # in CSV


def words(rng: np.random.Generator, n: int) -> List[Any]:
    return [WORDS[j] for j in rng.integers(0, len(WORDS), n)]


def lists(rng: np.random.Generator, n: int, item: Callable[[], Any]) -> List[Any]:
    return [[item() for _ in range(int(rng.integers(0, 4)))] for _ in range(n)]


def columns(rng: np.random.Generator, n: int) -> Dict[str, Tuple[List[Any], Any, str]]:
    """Columns: values, the type of Arrow, and the formats that can say it (p, a, c, j, s)."""
    whole = lambda lo, hi: rng.integers(lo, hi, n).tolist()
    small = lambda digits, scale: [decimal.Decimal(int(x)).scaleb(-scale) for x in rng.integers(-(10 ** min(digits, 18)) + 1, 10 ** min(digits, 18), n)]
    kinds: List[Tuple[Callable[[], List[Any]], Any, str]] = [
        (lambda: whole(-(2**62), 2**62), pa.int64(), "pacjs"),
        (lambda: rng.normal(size=n).tolist(), pa.float64(), "pacjs"),
        (lambda: words(rng, n), pa.string(), "pacjs"),
        (lambda: (rng.random(n) < 0.5).tolist(), pa.bool_(), "pacj"),
        (lambda: lists(rng, n, lambda: int(rng.integers(-9, 9))), pa.list_(pa.int64()), "paj"),
        (lambda: lists(rng, n, lambda: float(rng.normal())), pa.list_(pa.float64()), "paj"),
        (lambda: lists(rng, n, lambda: WORDS[int(rng.integers(0, len(WORDS)))]), pa.list_(pa.string()), "paj"),
        (lambda: [{"x": int(x), "y": [x, -x]} for x in whole(0, 9)], pa.struct([("x", pa.int64()), ("y", pa.list_(pa.int64()))]), "paj"),
        (lambda: [[{"t": float(i), "c": i} for i in range(int(k))] for k in whole(0, 4)], pa.list_(pa.struct([("t", pa.float64()), ("c", pa.int64())])), "paj"),
        (lambda: [[float(x), 0.5, -1.0] for x in whole(0, 9)], pa.list_(pa.float32(), 3), "pa"),
        (lambda: [[x, -x] for x in whole(0, 9)], pa.list_(pa.int16(), 2), "pa"),
        (lambda: small(9, 2), pa.decimal128(9, 2), "pa"),
        (lambda: small(18, 18), pa.decimal128(18, 18), "pa"),
        (lambda: small(38, 10), pa.decimal128(38, 10), "pa"),
        (lambda: small(50, 0), pa.decimal256(50, 0), "pa"),
        (lambda: [dt.date(2024, 1, 1) + dt.timedelta(days=int(x)) for x in whole(0, 9999)], pa.date32(), "pa"),
        (lambda: [dt.datetime(2024, 1, 1) + dt.timedelta(seconds=int(x)) for x in whole(0, 9999)], pa.timestamp("us"), "pa"),
        (lambda: [w.encode() for w in words(rng, n)], pa.binary(), "pa"),
        (lambda: [b"abc"] * n, pa.binary(3), "pa"),
    ] + [(lambda: whole(0, 100), t, "pa") for t in (pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.uint64())] + [(lambda: rng.normal(size=n).astype("f4").tolist(), pa.float32(), "pa")]
    out = {}
    for i in range(int(rng.integers(2, 10))):
        make, t, can = kinds[int(rng.integers(0, len(kinds)))] if rng.random() < 0.7 else kinds[int(rng.integers(0, 3))]
        v = make()
        if rng.random() < 0.5:
            v = [None if k > 0 and rng.random() < 0.3 else x for k, x in enumerate(v)]
        out["c%d" % i] = (v, t, can)
    return out


def members(t: Any) -> bool:
    """Whether fields are made of its members."""
    return bool(pa.types.is_struct(t) or pa.types.is_list(t) and pa.types.is_struct(t.value_type))


def write(ext: str, t: Dict[str, Tuple[List[Any], Any, str]], rng: np.random.Generator, name: str) -> List[str]:
    n = len(next(iter(t.values()))[0])
    rows = [dict(zip(t, r)) for r in zip(*(v for v, _, _ in t.values()))]
    if ext == "parquet" or ext == "arrow":
        table = pa.table({c: pa.array(v, x).dictionary_encode() if pa.types.is_string(x) and rng.random() < 0.3 else pa.array(v, x) for c, (v, x, _) in t.items()})
        chunk = int(rng.integers(1, n + 1))
        if ext == "parquet":
            pq.write_table(table, name, row_group_size=chunk, compression="zstd" if rng.random() < 0.5 else "none")
        elif rng.random() < 0.5:
            feather.write_feather(table, name, compression="lz4" if rng.random() < 0.5 else "uncompressed", chunksize=chunk)
        else:
            with ipc.new_stream(name, table.schema) as w:
                w.write_table(table, max_chunksize=chunk)
    elif ext == "csv":
        with open(name, "w", newline="", encoding="utf-8") as f:
            w = csv.writer(f)
            w.writerow(t)
            w.writerows([MISSING if x is None else {True: "true", False: "false"}[x] if isinstance(x, bool) else repr(x) if isinstance(x, float) else x for x in r.values()] for r in rows)
        return ["--csv", "na=" + MISSING]
    elif ext == "jsonl":
        with open(name, "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
    else:
        db = sqlite3.connect(name)
        db.execute("create table t(%s)" % ", ".join(t))
        db.executemany("insert into t values (%s)" % ", ".join("?" * len(t)), [tuple(r.values()) for r in rows])
        db.commit()
        db.close()
    return []


def read(folder: str) -> Dict[str, Any]:
    """The tensors of a set, by name, with the attributes of its fields."""
    out: Dict[str, Any] = {}
    for name in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        with open(name, "rb") as f:
            b = f.read()
        n = struct.unpack("<Q", b[:8])[0]
        head = json.loads(b[8 : 8 + n])
        for k, x in head.items():
            if k == "__metadata__":
                continue
            lo, hi = x["data_offsets"]
            out[os.path.basename(name) + " " + k] = (x["dtype"], x["shape"], b[8 + n + lo : 8 + n + hi])
    with open(os.path.join(folder, "shardify.json")) as f:
        out["fields"] = json.load(f)["schema"]
    return out


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    n = int(rng.integers(1, 60))
    t = columns(rng, n)
    want: Dict[str, Dict[str, Any]] = {}
    for ext in ("parquet", "arrow", "csv", "jsonl", "db"):
        mine = {c: x for c, x in t.items() if {"parquet": "p", "arrow": "a", "csv": "c", "jsonl": "j", "db": "s"}[ext] in x[2]}
        if not mine:
            continue
        name, folder = os.path.join(WORK, "t." + ext), os.path.join(WORK, ext)
        flags = write(ext, mine, rng, name)
        command = [BINARY, "convert", name, "-o", folder, "--quiet", "--sync", "none", "--format", "mmap"] + flags
        p = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert p.returncode == 0, " ".join(command) + "\n" + p.stderr[-1500:]
        have = read(folder)
        key = ",".join(mine)
        if ext in ("csv", "jsonl", "db"):  # the same columns of a Parquet file
            again = os.path.join(WORK, "again-" + ext)
            command = [BINARY, "convert", os.path.join(WORK, "t.parquet"), "-o", again, "--quiet", "--sync", "none", "--format", "mmap", "--columns", ",".join(c + ".*" * members(x[1]) for c, x in mine.items())]
            p = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert p.returncode == 0, " ".join(command) + "\n" + p.stderr[-1500:]
            want[key] = read(again)
        first = want.setdefault(key, have)
        for k in sorted(set(first) | set(have)):
            a, b = first.get(k), have.get(k)
            assert a == b, "%s as %s: %s is %r, of Parquet %r" % ({c: str(x[1]) for c, x in mine.items()}, ext, k, b, a)


if __name__ == "__main__":
    main([("formats", tables(one, 60, "one set in five formats"))])
