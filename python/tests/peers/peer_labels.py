"""pandas: random tables of labels must be joined to their files as pandas joins them, or be refused by both.

python3 peer_labels.py WORK     SHARDIFY names the program; ROUNDS and SEED the tables
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import unquote

import pandas as pd
from expect import main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402

BINARY = os.path.abspath(os.environ.get("SHARDIFY", "shardify"))
WORK = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "."), "scratch", "labels")
SEED, ROUNDS = int(os.environ.get("SEED", "1")), int(os.environ.get("ROUNDS", "60"))
NAMES = ["%d", "a b %d", "x,%d", "é%d", 'q"%d', "n-%03d", "UP%d"]
TEXTS = ["x", "two words", "a,b", '"q"', "line\nend", "ü", "'", "a;b", " lead", "1e"]


def table(r: random.Random, names: List[str], ext: str, repeat: bool) -> pd.DataFrame:
    """Rows in no order; some names have no file, and some files no row."""
    picked = [r.choice(names) + ext if r.random() > 0.1 else "gone%d%s" % (r.randrange(3), ext) for _ in range(r.randint(1, 30))]
    if not repeat:
        picked = list(dict.fromkeys(picked))
    rows = [(n, r.randint(-99, 99), r.randint(-400, 400) / 8 + 0.0625, r.choice(TEXTS)) for n in picked]
    return pd.DataFrame(rows, columns=["k", "number", "real", "text"])


def write(d: pd.DataFrame, path: str, kind: str) -> str:
    path += "." + kind
    if kind == "csv":
        d.to_csv(path, index=False)
    elif kind == "jsonl":
        d.to_json(path, orient="records", lines=True, force_ascii=False)
    else:
        d.to_parquet(path, index=False)
    return path


def reference(d: pd.DataFrame, files: List[str], ext: str, rows: str, missing: str) -> Optional[Dict[str, Any]]:
    """Values by key; None where pandas' checks refuse the table."""
    keys = [f for f in files]
    d = d.assign(k=[n[: len(n) - len(ext)] if ext else n for n in d["k"]])
    if rows == "one" and d["k"].duplicated().any():
        return None
    if rows == "first":
        d = d.drop_duplicates("k")
    have = set(d["k"])
    if missing == "fail" and have != set(keys):
        return None
    kept = [k for k in keys if k in have or missing == "fill"]
    if not kept:
        return None
    groups = {k: g for k, g in d.groupby("k", sort=False)}
    out: Dict[str, Any] = {}
    for k in kept:
        g = groups.get(k)
        values = [] if g is None else list(zip(g["number"].tolist(), g["real"].tolist(), g["text"].tolist()))
        out[k] = values
    return out


def items(x: Any) -> List[Any]:
    if x is None:
        return []
    return list(x) if isinstance(x, (list, tuple)) or hasattr(x, "__len__") and not isinstance(x, (str, bytes)) else [x]


def plain(x: Any) -> Any:
    x = x.item() if hasattr(x, "item") and getattr(x, "shape", None) == () else x
    return x.decode() if isinstance(x, bytes) else x


def read(folder: str) -> Dict[str, Any]:
    ds = shardify.open(folder)
    out: Dict[str, Any] = {}
    for i in range(len(ds)):
        s = ds[i]
        columns = [[plain(v) for v in items(s[f])] for f in ("number", "real", "text")]
        out[unquote(s["__key__"])] = list(zip(*columns))
    return out


def once(r: random.Random, seed: int, work: str) -> Tuple[str, str]:
    ext, rows, kind = r.choice(["", ".jpg"]), r.choice(["one", "first", "many"]), r.choice(["csv", "jsonl", "parquet"])
    splits, missing = r.random() < 0.3, r.choice(["fail", "drop", "fill"])
    value, files, want, refused = [], [], {}, False
    frames: List[Tuple[str, pd.DataFrame, List[str]]] = []
    for folder in ["train", "val"] if splits else ["im"]:
        names = [r.choice(NAMES) % i for i in range(r.randint(1, 10))]
        os.makedirs(os.path.join(work, folder))
        for n in names:
            with open(os.path.join(work, folder, n + ".jpg"), "wb") as f:
                f.write(b"\xff\xd8\xff\xe0" + n.encode() + b"x" * 2000)
        d = table(r, names, ext, r.random() < 0.6)
        if r.random() < 0.5:  # a row for each
            rest = [(n + ext, 1, 2.5, "more") for n in names if n + ext not in set(d["k"])]
            d = pd.concat([d[~d["k"].str.startswith("gone")], pd.DataFrame(rest, columns=d.columns)])
        if len(d) == 0:
            d = table(r, names, ext, False)
        frames.append((folder, d, names))
        name = write(d, os.path.join(work, "t-" + folder), kind)
        value.append("%s on=k rows=%s%s" % (name, rows, " in=" + folder if splits else ""))
        files += [folder + "/" + n for n in names]
    whole = pd.concat([d.assign(k=[f + "/" + n for n in d["k"]]) for f, d, _ in frames])
    ref = reference(whole, files, ext, rows, missing)
    out = work + "-set"
    inputs = [os.path.join(work, f) for f, _, _ in frames] if not splits else [work]
    p = subprocess.run([BINARY, "convert"] + inputs + ["-o", out, "--from", "files", "--quiet", "--split-from", "none", "--labels", ",".join(value), "--missing", missing, "--format", "mmap"], capture_output=True, text=True)
    what = "seed %d, %s rows=%s missing=%s splits=%s ext=%r" % (seed, kind, rows, missing, splits, ext)
    if ref is None:
        assert p.returncode != 0, what + ": pandas refuses it, shardify does not"
        return "refused", p.stderr
    assert p.returncode == 0, what + ": " + p.stderr
    got = read(out)
    if not splits:
        got = {"im/" + k: v for k, v in got.items()}
    assert {k: sorted(v) if rows != "many" else v for k, v in got.items()} == {k: sorted(v) if rows != "many" else v for k, v in ref.items()}, "%s: %r, want %r" % (what, got, ref)
    return "equal", ""


def tables() -> str:
    counts: Dict[str, int] = {"equal": 0, "refused": 0}
    for seed in range(SEED, SEED + ROUNDS):
        work = os.path.join(WORK, str(seed))
        for old in (work, work + "-set"):
            shutil.rmtree(old, ignore_errors=True)
        os.makedirs(work)
        counts[once(random.Random(seed), seed, work)[0]] += 1
        shutil.rmtree(work)
        shutil.rmtree(work + "-set", ignore_errors=True)
    return "%d tables equal, %d refused by both" % (counts["equal"], counts["refused"])


if __name__ == "__main__":
    os.makedirs(WORK, exist_ok=True)
    main([("tables of labels", tables)])
