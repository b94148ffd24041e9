"""csv, json, sqlite3, pyarrow, pandas and polars: random tables must come out as they read them.

python3 peer_tables.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the tables
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
from typing import Any, Dict, List, Tuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.ipc as ipc
from expect import main, tables

try:
    import polars as pl
except ImportError:
    pl = None

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "tables")
SEED = int(os.environ.get("SEED", "1"))

Table = Dict[str, List[Any]]
WORDS = ["", "a", "\u00fcn\u00ef", "a,b", 'say "x"', "two\nlines", "007", "x" * 40, "NA", "1e400", " sp ", "it's", '5" pipe', "\U0001f600", "-", "."]


def columns(rng: np.random.Generator, n: int, bools: bool) -> Table:
    out: Table = {}
    for i in range(int(rng.integers(1, 9))):
        k = int(rng.integers(0, 7))
        v: List[Any]
        if k == 0:
            v = rng.integers(-(2**62), 2**62, n).tolist()
        elif k == 1:
            v = rng.normal(size=n).tolist()
        elif k == 2:
            v = (10.0 ** rng.uniform(-300, 300, n)).tolist()
        elif k == 3:
            v = [WORDS[j] for j in rng.integers(0, len(WORDS), n)]
        elif k == 4:
            v = (rng.random(n) < 0.5).tolist() if bools else rng.integers(0, 2, n).tolist()
        elif k == 5:
            v = np.round(rng.normal(size=n) * 100, int(rng.integers(0, 5))).astype(float).tolist()
        else:
            v = rng.integers(-9, 9, n).tolist()
        if rng.random() < 0.4:
            v = [None if rng.random() < 0.2 else x for x in v]
        if all(x is None for x in v):
            v[0] = 1
        out["c%d" % i] = v
    return out


def pick(rng: np.random.Generator, *of: Any) -> Any:
    return of[int(rng.integers(0, len(of)))]


def write_csv(rng: np.random.Generator, t: Table, name: str) -> Tuple[Table, List[str]]:
    """Writes a dialect of CSV, and says what Python's csv module reads of it."""
    sep, quote = pick(rng, ",", ",", ";", "|", "\t"), pick(rng, '"', '"', "'")
    end = pick(rng, "\n", "\r\n")
    skip, comment = int(rng.integers(0, 3)), bool(rng.random() < 0.3)
    packed = rng.random() < 0.3
    settings = ["sep=" + {"\t": "tab"}.get(sep, sep), "quote=" + quote] + ["skip=%d" % skip] * (skip > 0) + ["comment=#"] * comment
    if len(t) == 1:
        t["pad"] = [1] * len(t["c0"])
    for c, v in t.items():
        if any(isinstance(x, str) for x in v):
            t[c] = ["" if x is None else x for x in v]
            if all(x in ("", "NA") for x in t[c]):
                t[c][0] = "t"
    everything = rng.random() < 0.3

    def cell(x: Any) -> str:
        if x is None:
            return ""
        s = {True: "true", False: "false"}[x] if isinstance(x, bool) else repr(x) if isinstance(x, float) else str(x)
        bare = s[:1] != quote and sep not in s and "\n" not in s and s[:1] != "#"
        if bare and not (everything and isinstance(x, str)) and (isinstance(x, str) or rng.random() < 0.98):
            return s  # also with quotes in it
        return quote + s.replace(quote, quote * 2) + quote

    lines = ["made by%sone%stool, %s" % (quote, sep, quote * int(rng.integers(0, 2))) for _ in range(skip)] + [sep.join(t)]
    data = []
    for row in zip(*t.values()):
        if comment and rng.random() < 0.05:
            data.append("# not%s%sa cell" % (sep, quote))
        data.append(sep.join(cell(x) for x in row))
    if rng.random() < 0.15:  # several pieces
        more = 3 * (1 << 19) // (sum(map(len, data)) + 2 * len(data)) + 1
        data *= more
        t = {c: v * more for c, v in t.items()}
    text = end.join(lines + data) + end * int(rng.integers(0, 2))
    with (gzip.open if packed else open)(name + ".gz" * packed, "wb") as f:  # type: ignore
        f.write(text.encode())
    again = text.split(end, skip)[skip]
    reader = csv.reader(io.StringIO(again, newline=""), delimiter=sep, quotechar=quote, strict=False)
    seen = [r for r in reader if r and not (comment and r[0][:1] == "#")][1:] if not comment else None
    if seen is not None:
        for i, c in enumerate(t):
            for row, x in zip(seen, t[c]):
                assert row[i] == cell_text(x), ("the csv module reads", row[i], x)
    if sep == "," and quote == '"' and not comment and not skip and not packed and "'" not in text:
        table = pacsv.read_csv(name, parse_options=pacsv.ParseOptions(newlines_in_values=True))
        assert table.num_rows == len(next(iter(t.values()))), "pyarrow reads other rows"
    return t, [name + ".gz" * packed, "--csv", ",".join(settings)]


def cell_text(x: Any) -> str:
    return "" if x is None else str(x).lower() if isinstance(x, bool) else repr(x) if isinstance(x, float) else str(x)


def write_jsonl(rng: np.random.Generator, t: Table, name: str) -> Tuple[Table, List[str]]:
    n = len(next(iter(t.values())))
    with open(name, "w") as f:
        for i in range(n):
            row = {c: v[i] for c, v in t.items() if v[i] is not None or i == 0 or rng.random() < 0.5}
            f.write(json.dumps(row, ensure_ascii=bool(rng.random() < 0.5)) + "\n")
    if pl is not None:
        seen = pl.read_ndjson(name, infer_schema_length=None)
        t = {c: [float(x) if isinstance(y, float) and x is not None else x for x, y in zip(t[c], seen[c].to_list())] for c in t}
    return t, [name]


def write_arrow(rng: np.random.Generator, t: Table, name: str) -> Tuple[Table, List[str]]:
    rows = int(rng.integers(1, 200))
    packing = pick(rng, "lz4", "zstd", "uncompressed")
    kind = int(rng.integers(0, 4 if pl is not None else 3))
    table = pa.table({c: pa.array(v).dictionary_encode() if isinstance(v[0], str) and rng.random() < 0.3 else pa.array(v) for c, v in t.items()})
    if kind == 0:
        feather.write_feather(table, name, compression=packing, chunksize=rows)
    elif kind == 1:
        with ipc.new_stream(name, table.schema) as w:
            w.write_table(table, max_chunksize=rows)
    elif kind == 2:
        feather.write_feather(pa.Table.from_pandas(pd.DataFrame({c: pd.array(v) if not any(x is None for x in v) else pd.Series(v, dtype=object) for c, v in t.items()}), preserve_index=False), name, compression=packing, chunksize=rows)
    else:
        pl.DataFrame({c: pl.Series(v, strict=False) for c, v in t.items()}).write_ipc(name, compression=packing)
    return t, [name]


def write_sqlite(rng: np.random.Generator, t: Table, name: str) -> Tuple[Table, List[str]]:
    db = sqlite3.connect(name)
    db.execute("pragma page_size = %d" % pick(rng, 512, 1024, 4096, 65536))
    db.execute("pragma encoding = '%s'" % pick(rng, "UTF-8", "UTF-8", "UTF-16le", "UTF-16be"))
    kinds = {}
    for c, v in t.items():
        text, real = any(isinstance(x, str) for x in v), any(isinstance(x, float) for x in v)
        kinds[c] = pick(rng, "", " TEXT" if text else " REAL" if real else " INT")
    shape = int(rng.integers(0, 4))
    n = len(next(iter(t.values())))
    added = ""
    if shape == 1:
        db.execute("create table t(" + ", ".join(c + k for c, k in kinds.items()) + ", key integer primary key)")
    elif shape == 2:
        db.execute("create table t(" + ", ".join(c + k for c, k in kinds.items()) + ", key, primary key(key)) without rowid")
    else:
        db.execute("create table t(" + ", ".join(c + k for c, k in kinds.items()) + ", key)")
    keys = rng.permutation(3 * n)[:n].tolist() if shape in (1, 2) else list(range(n))
    db.executemany("insert into t values (" + ", ".join("?" * (len(t) + 1)) + ")", zip(*t.values(), keys))
    if rng.random() < 0.5:
        added = pick(rng, "z INT default 7", "z", "z TEXT default 'none'")
        db.execute("alter table t add column " + added)
    if rng.random() < 0.3:
        db.execute("delete from t where key % 5 = 0 and key > 5")
    if shape == 3:
        db.execute("create view v as select * from t")
    db.commit()
    order = list(t) + ["key"] + ["z"] * bool(added)
    rows = db.execute("select " + ", ".join(order) + " from t not indexed").fetchall()
    db.close()
    out = {c: [r[i] for r in rows] for i, c in enumerate(order)}
    out = {c: v for c, v in out.items() if any(x is not None for x in v)}
    flags = ["--sqlite", "types=declared"] if rng.random() < 0.3 and all(kinds.values()) else []
    return out, [name + (":v" if shape == 3 else ":t")] + flags


WRITERS = {"csv": (write_csv, True), "jsonl": (write_jsonl, True), "arrow": (write_arrow, True), "db": (write_sqlite, False)}


def plain(v: Any) -> Any:
    if isinstance(v, np.ndarray) and v.dtype == np.uint8:
        return v.tobytes().decode()
    if isinstance(v, bytes):
        return v.decode()
    return v.item() if hasattr(v, "item") else v


def same(have: Any, want: Any) -> bool:
    if want is None:
        return have is None or isinstance(have, float) and math.isnan(have)
    if isinstance(want, str) and isinstance(have, (int, float)):
        return have == float(want)  # all texts of the column looked like numbers
    return bool(have == want)


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    ext = list(WRITERS)[i % 4]
    write, bools = WRITERS[ext]
    t, args = write(rng, columns(rng, int(rng.integers(1, 400)), bools), os.path.join(WORK, "t." + ext))
    command = [BINARY, "convert", args[0], "-o", os.path.join(WORK, "out"), "--quiet", "--sync", "none", "--jobs", str(rng.integers(1, 4))] + args[1:]
    p = subprocess.run(command, capture_output=True, text=True, timeout=300)
    rows = len(next(iter(t.values())))
    if rows == 0 and p.returncode:
        return
    assert p.returncode == 0, " ".join(command) + "\n" + p.stderr[-1500:]
    ds = shardify.open(os.path.join(WORK, "out"))
    assert len(ds) == rows, "%s: %d samples, want %d" % (" ".join(command), len(ds), rows)
    have = [ds[k] for k in range(rows)]
    for c, v in t.items():
        for k, x in enumerate(v):
            y = plain(have[k][c])
            assert same(y, x), "%s: %s of row %d is %r, want %r" % (" ".join(command), c, k, y, x)


if __name__ == "__main__":
    main([("tables", tables(one, 60, "what others read of them"))])
