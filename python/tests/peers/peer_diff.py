"""`shardify diff` against a comparison by dictionaries of numpy's bytes, on random pairs of sets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from typing import Any, Dict, List, Tuple

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.dirname(os.path.dirname(HERE))]

import fixture  # noqa: E402
from expect import main  # noqa: E402

PAIRS = int(os.environ.get("SHARDIFY_DIFF_PAIRS", "500"))
Row = Dict[str, Any]

FIELDS: Dict[str, List[Dict[str, Any]]] = {
    "x": [{"name": "x", "dtype": "f32", "shape": [2]}],
    "n": [{"name": "n", "dtype": "i64"}],
    "flag": [{"name": "flag", "dtype": "bool"}],
    "hits": [{"name": "hits", "dtype": "i16", "levels": 1}],
    "note": [{"name": "note", "dtype": "u8", "levels": 1, "media": "txt"}],
    "words": [{"name": "words", "dtype": "u8", "levels": 2, "media": "txt"}],
    "volume": [{"name": "volume", "dtype": "u16", "levels": 1, "ragged": True}, {"name": "volume.shape", "dtype": "i64", "shape": [2]}],
    "image": [{"name": "image", "dtype": "u8", "levels": 1, "media": "image"}, {"name": "image.ext", "dtype": "u8", "attrs": {"labels": "png\njpg"}}],
    "cls": [{"name": "cls", "dtype": "i64", "attrs": {"labels": "cat\ndog\nbird"}}],
    "kind": [{"name": "kind", "dtype": "u8", "attrs": {"labels": "a\nb"}}],
    "maybe": [{"name": "maybe", "dtype": "f64", "nullable": True}],
    "lists": [{"name": "lists", "dtype": "f32", "levels": 2}],
}
MMAP_ONLY = ("maybe", "lists")


def value(r: np.random.Generator, name: str) -> Row:
    """The stored values of a field, and of its companion."""
    small = int(r.integers(0, 3))
    if name == "x":
        return {"x": r.choice(np.array([0.0, -0.0, 1.5, np.nan], "f4"), 2)}
    if name == "n":
        return {"n": np.int64(small)}
    if name == "flag":
        return {"flag": np.bool_(small > 1)}
    if name == "hits":
        return {"hits": np.arange(small, dtype="i2")}
    if name == "note":
        return {"note": "é" * small}
    if name == "words":
        return {"words": ["w"] * small + [""] * int(r.integers(0, 2))}
    if name == "volume":
        shape = [(1, 4), (2, 2), (0, 3)][small]
        return {"volume": np.full(shape, small // 2, "u2"), "volume.shape": shape}
    if name == "image":
        return {"image": b"bytes"[: small + 1], "image.ext": int(r.integers(0, 2))}
    if name == "cls":
        return {"cls": np.int64(r.integers(0, 3))}
    if name == "kind":
        return {"kind": np.uint8(r.integers(0, 2))}
    if name == "maybe":
        return {"maybe": None if small == 0 else np.float64(small - 1)}
    return {"lists": [np.full(int(r.integers(0, 2)), 1, "f4") for _ in range(small)]}


def row(r: np.random.Generator, names: List[str], key: str) -> Row:
    s: Row = {"__key__": key, "id": np.int32(int(key[1:]))}
    for n in names:
        s.update(value(r, n))
    return s


def schema_of(names: List[str], labels: Dict[str, List[str]], wide: List[str]) -> List[Dict[str, Any]]:
    out: List[Dict[str, Any]] = [{"name": "id", "dtype": "i32"}]
    for n in names:
        for f in FIELDS[n]:
            f = dict(f)
            if f["name"] in labels:
                f["attrs"] = {"labels": "\n".join(labels[f["name"]])}
            if n in wide:
                f["dtype"] = "f64" if n == "x" else "i32"
            out.append(f)
    return out


def pair(r: np.random.Generator, folder: str) -> Tuple[Any, ...]:
    """Two sets: names of fields, labels, samples, and by what they are compared."""
    format = "wds" if r.integers(0, 4) == 0 else "mmap"
    every = [n for n in FIELDS if format == "mmap" or n not in MMAP_ONLY]
    names = [n for n in every if r.integers(0, 3)]
    by = str(r.choice(["name", "id", "contents"]))
    once = r.integers(0, 2) == 0
    a = [row(r, names, "k%d" % i) for i in range(int(r.integers(1, 40 if format == "mmap" else 12)))]
    b, other = [], list(names)
    for s in a:
        s, what = dict(s), int(r.integers(0, 14))
        if what == 0:
            continue
        if what in (1, 2) and names:
            s.update(value(r, str(r.choice(names))))
        if what == 3 and not once:
            b.append(dict(s, **value(r, str(r.choice(names)))) if names and r.integers(0, 2) else dict(s))
        b.append(s)
    b += [row(r, names, "k%d" % (100 + i)) for i in range(int(r.integers(0, 4)))]
    if not once and len(a) > 1:
        a.append(dict(a[0]))
    if r.integers(0, 3) == 0:
        r.shuffle(b)  # type: ignore[arg-type]
    labels = [{"cls": ["cat", "dog", "bird"], "kind": ["a", "b"], "image.ext": ["png", "jpg"]} for _ in range(2)]
    wide: List[str] = []
    for f, words in labels[1].items():
        if f.split(".")[0] in other and r.integers(0, 3) == 0:  # the same classes under other codes
            turn = list(r.permutation(len(words)))
            labels[1][f] = [words[turn.index(k)] for k in range(len(words))]
            for s in b:
                s[f] = type(s[f])(turn[int(s[f])])
    if other and r.integers(0, 3) == 0:
        gone = other.pop()
        for s in b:
            for f in FIELDS[gone]:
                del s[f["name"]]
    for extra in ("note", "hits"):
        if extra not in names and r.integers(0, 4) == 0:
            other.append(extra)
            for s in b:
                s.update(value(r, extra))
    if "x" in other and r.integers(0, 6) == 0:
        wide.append("x")
        for s in b:
            s["x"] = s["x"].astype("f8")
    sets = []
    for k, (list_, fields) in enumerate(((a, names), (b, other))):
        cut = int(r.integers(0, len(list_) + 1))
        path = os.path.join(folder, "ab"[k])
        if format == "wds":  # a tar has a name once
            list_ = list({s["__key__"]: s for s in list_}.values())
        keyed = by == "name" or format == "wds"
        shards = [cut, len(list_) - cut] if 0 < cut < len(list_) and format == "mmap" else [len(list_)]
        fixture.write(path, schema_of(fields, labels[k], wide if k else []), list_, format, shards, keyed)
        sets.append((fields, labels[k], list_))
    if format == "wds" and by == "contents":
        by = "name"
    return sets[0], sets[1], by, wide


def norm(s: Row, n: str, labels: Dict[str, List[str]]) -> Any:
    """A value as what can be compared: bytes and texts."""
    v = s[n]
    if v is None:
        return None
    if n in ("cls", "kind"):
        return labels[n][int(v)]
    if n == "image":
        return v, labels["image.ext"][int(s["image.ext"])]
    if n == "lists":
        return tuple(e.tobytes() for e in v)
    if n == "words":
        return tuple(v)
    if isinstance(v, (str, bytes)):
        return v
    v = np.asarray(v)
    return v.shape, v.dtype.str, v.tobytes()


def expected(a: Any, b: Any, by: str, wide: List[str]) -> Dict[str, Any]:
    both = ["id"] + [n for n in a[0] if n in b[0] and n not in wide]
    sides: List[Dict[Any, List[Tuple[int, Any]]]] = []
    for fields, labels, rows in (a, b):
        groups: Dict[Any, List[Tuple[int, Any]]] = defaultdict(list)
        for i, s in enumerate(rows):
            values = tuple(norm(s, n, labels) for n in both)
            groups[{"name": s["__key__"], "id": int(s["id"]), "contents": values}[by]].append((i, values))
        sides.append(groups)
    out: Dict[str, Any] = dict(equal=0, changed=0, added=0, removed=0, moved=0)
    fields: "Counter[str]" = Counter()
    rows_: Dict[str, List[int]] = {"removed": [], "added": [], "changed": []}
    for key in set(sides[0]) | set(sides[1]):
        x, y = sides[0].get(key, []), sides[1].get(key, [])
        counts = [Counter(v for _, v in side) for side in (x, y)]
        for v in counts[0]:
            n = min(counts[0][v], counts[1][v])
            out["equal"] += n
            places = [[i for i, w in side if w == v] for side in (x, y)]
            out["moved"] += sum(i != k for i, k in zip(*places))
        left = [sum((counts[0] - counts[1]).values()), sum((counts[1] - counts[0]).values())]
        changed = min(left)
        out["changed"] += changed
        out["removed"] += left[0] - changed
        out["added"] += left[1] - changed
        if len(x) == len(y) == 1 and changed:
            fields.update(n for n, v, w in zip(both, x[0][1], y[0][1]) if v != w)
            out["moved"] += x[0][0] != y[0][0]
            rows_["changed"].append(x[0][0])
        if not y:
            rows_["removed"] += [i for i, _ in x]
        if not x:
            rows_["added"] += [i for i, _ in y]
    if out["added"] + out["removed"]:
        out["moved"] = 0
    changes = {n: "removed" for n in a[0] if n not in b[0]}
    changes.update({n: "added" for n in b[0] if n not in a[0]})
    changes.update({n: "changed" for n in wide})
    changes.update({n: "changed" for n in both if n in ("cls", "kind") and a[1][n] != b[1][n]})
    classes = {}
    for n in ("cls", "kind"):
        sides_ = [Counter(norm(s, n, labels) for s in rows) if n in fields_ else Counter() for fields_, labels, rows in (a, b)]
        for c in set(sides_[0]) | set(sides_[1]):
            classes[n, c] = (sides_[0][c], sides_[1][c])
    out.update(fields=dict(fields), changes=changes, classes=classes, rows={k: sorted(v) for k, v in rows_.items()})
    return out


def given(r: Dict[str, Any]) -> Dict[str, Any]:
    out = {k: r[k] for k in ("equal", "changed", "added", "removed", "moved")}
    out["fields"] = {f["name"]: f["samples_changed"] for f in r["fields"] if f["samples_changed"]}
    out["changes"] = {f["name"]: f["change"] for f in r["fields"] if f.get("change")}
    out["classes"] = {(c["field"], c["name"]): (c["a"], c["b"]) for c in r["classes"]}
    rows = {k: sorted(s["number_b" if k == "added" else "number_a"] for s in r["samples"] if s["change"] == k) for k in ("removed", "added", "changed")}
    out["rows"] = rows
    return out


def diff() -> str:
    kinds: "Counter[str]" = Counter()
    for n in range(PAIRS):
        r = np.random.default_rng(n)
        folder = tempfile.mkdtemp()
        a, b, by, wide = pair(r, folder)
        command = [os.environ["SHARDIFY"], "diff", os.path.join(folder, "a"), os.path.join(folder, "b"), "--json", "--show", "1000"]
        command += ["--by", "id"] if by == "id" else []
        p = subprocess.run(command + (["--memory", "64MiB"] if n % 2 else []), stdout=-1, stderr=-1)
        assert p.returncode == 0, (n, p.stderr)
        report = json.loads(p.stdout)
        want, got = expected(a, b, by, wide), given(report)
        if report["by"] == "":  # equal ids: nothing else is said
            assert want["equal"] == len(a[2]) == len(b[2]) and not want["moved"], n
            kinds["equal ids"] += 1
        else:
            assert report["by"] == by, (n, report["by"], by)
            if report["a"]["repeated_keys"] + report["b"]["repeated_keys"]:
                want.pop("rows"), got.pop("rows")  # which of several is named is of no matter
                kinds["with repeated keys"] += 1
            assert got == want, (n, by, got, want)
            kinds["by " + by] += 1
        assert report["same"] == (want["equal"] == len(a[2]) == len(b[2]) and not want["moved"] and not want["changes"]), n
        shutil.rmtree(folder)
    return "%d pairs of sets as by dictionaries: %s" % (PAIRS, ", ".join("%d %s" % (v, k) for k, v in sorted(kinds.items())))


if __name__ == "__main__":
    main([("diff", diff)])
