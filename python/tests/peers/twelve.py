"""Twelve small sets of every kind of field, each with the values that a reader of an export is to find."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")
ROWS = 53
FILES = {"parquet": ".parquet", "arrow": ".arrow", "tfrecord": ".tfrecord", "arrayrecord": ".array_record"}


class Set:
    """A set: its input, the values of each field, and the names of classes."""

    def __init__(self, name: str, source: str, values: Dict[str, List[Any]], labels: Dict[str, List[str]], args: Sequence[str] = ()) -> None:
        self.name, self.source, self.values, self.labels, self.args = name, source, values, labels, list(args)
        # What an Example does not hold, and what a table does not.
        self.no_example: List[str] = []
        self.no_table: List[str] = []

    def fields(self, kind: str) -> List[str]:
        left = self.no_example if kind in ("tfrecord", "arrayrecord") else self.no_table if kind != "mmap" else []
        return [n for n in self.values if n not in left]


def convert(source: str, out: str, *args: str) -> str:
    shutil.rmtree(out, ignore_errors=True)
    p = subprocess.run([BINARY, "convert", source, "-o", out, "--sync", "none", "--quiet", *args], stdout=-1, stderr=-1, text=True)
    assert p.returncode == 0, "convert %s %s: %s" % (source, " ".join(args), p.stderr)
    return out


def export(s: Set, work: str, kind: str, *args: str) -> str:
    """The set in a format, from its source: without the fields that the format refuses, which it must name."""
    out = os.path.join(work, "%s-%s" % (s.name, kind + "".join(args).replace("-", "")))
    more = ["--format", kind, "--shard-samples", "20", *args]
    left = [n for n in s.values if n not in s.fields(kind)]
    for n in left:
        shutil.rmtree(out, ignore_errors=True)
        p = subprocess.run([BINARY, "convert", s.source, "-o", out, "--quiet", *s.args, *more, "--columns", n], stdout=-1, stderr=-1, text=True)
        assert p.returncode != 0 and n in p.stderr, "%s: %s holds %s, it seems: %s" % (s.name, kind, n, p.stderr)
    return convert(s.source, out, *more, *chosen(s, kind))


def chosen(s: Set, kind: str) -> List[str]:
    """The settings of a set with the fields that a format holds."""
    left = [n for n in s.values if n not in s.fields(kind)]
    args = [] if s.args[:1] == ["--cast"] and s.args[1].split("=")[0] in left else s.args
    return args + (["--columns", ",".join("!" + n for n in left)] if left else [])


def shards(folder: str, kind: str) -> List[str]:
    return sorted(os.path.join(d, f) for d, _, fs in os.walk(folder) for f in fs if f.endswith(FILES[kind]))


def plain(v: Any) -> Any:
    """A value without types of NumPy and others: numbers, texts, bytes, None, lists."""
    if isinstance(v, np.ndarray):
        v = v.tolist() if v.dtype != object else list(v)
    if isinstance(v, (np.generic,)):
        v = v.item()
    if isinstance(v, dict) and set(v) == {"bytes", "path"}:
        v = v["bytes"]
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, (bytearray, memoryview)):
        return bytes(v)
    return v


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b) or a != a and b != b
    return type(a) is type(b) and bool(a == b)


def compare(s: Set, rows: Sequence[Dict[str, Any]], names: Sequence[str], who: str) -> int:
    """All values of these fields are those of the set. Returns how many there are."""
    assert len(rows) == len(s.values[names[0]]), "%s of %s: %d rows" % (who, s.name, len(rows))
    for name in names:
        for i, want in enumerate(s.values[name]):
            got = plain(rows[i][name])
            assert equal(got, want), "%s of %s: %s of sample %d is %.80r, not %.80r" % (who, s.name, name, i, got, want)
    return len(rows) * len(names)


def samples(folder: str) -> List[Dict[str, Any]]:
    ds = shardify.open(folder)
    return [{f.name: ds[i][f.name] for f in ds.schema} for i in range(len(ds))]


def same_set(s: Set, kind: str, folder: str, work: str) -> int:
    """The export, read back, is the set: schema, names, classes, values, what is missing."""
    back = convert(folder, os.path.join(work, "back"), "--format", "mmap")
    first = convert(s.source, os.path.join(work, "first"), *chosen(s, kind), "--format", "mmap")
    a, b = shardify.open(first), shardify.open(back)
    x, y = {f.name: f for f in a.schema}, {f.name: f for f in b.schema}
    if "key" in y and "key" not in x:  # a table has the names of samples as a field
        assert y.pop("key").media == "txt" and [b[i]["key"] for i in range(len(b))] == [a[i]["__key__"] for i in range(len(a))], "%s from %s: names" % (s.name, kind)
    if kind in ("parquet", "arrow"):  # columns of tables share no counter, and have no attributes but the names of classes
        x = {n: dataclasses.replace(f, counter="", attrs={k: v for k, v in f.attrs.items() if k == "labels"}) for n, f in x.items()}
    assert x == y, "%s from %s: %r, not %r" % (s.name, kind, y, x)
    assert static(a) == static(b), "%s from %s: fields that all samples share" % (s.name, kind)
    for n, names in s.labels.items():
        assert list(a.labels(n)) == list(b.labels(n)) == names, "%s from %s: classes of %s: %r, not %r" % (s.name, kind, n, b.labels(n), names)
    compare(s, samples(first), s.fields(kind), "shardify")
    return compare(s, samples(back), s.fields(kind), "shardify, from " + kind + ",")


def static(ds: Any) -> Dict[str, Any]:
    return {n: plain(v) for n, v in ds.static.items()}


def picture(r: np.random.Generator, form: str) -> bytes:
    from PIL import Image

    b = io.BytesIO()
    Image.fromarray(r.integers(0, 256, (int(r.integers(1, 9)), int(r.integers(1, 9)), 3), np.uint8)).save(b, form)
    return b.getvalue()


def table(work: str, name: str, columns: Dict[str, pa.Array], labels: Optional[Dict[str, List[str]]] = None, **kw: Any) -> Set:
    t = pa.table(columns)
    if labels:
        info = {"info": {"features": {n: {"_type": "ClassLabel", "names": v} for n, v in labels.items()}}}
        t = t.replace_schema_metadata({"huggingface": json.dumps(info)})
    path = os.path.join(work, "in", name + ".parquet")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(t, path, row_group_size=17)
    values: Dict[str, List[Any]] = {}
    for n, c in columns.items():
        flatten(n, [plain(v) for v in c.to_pylist()], c.type, values)
    return Set(name, path, values, labels or {}, **kw)


def flatten(name: str, rows: List[Any], t: pa.DataType, to: Dict[str, List[Any]]) -> None:
    """Structures are fields with names joined by dots, lists of structures fields that are lists."""
    if pa.types.is_struct(t):
        for f in t:
            flatten(name + "." + f.name, [r[f.name] for r in rows], f.type, to)
    elif pa.types.is_list(t) and pa.types.is_struct(t.value_type):
        for f in t.value_type:
            flatten(name + "." + f.name, [[x[f.name] for x in r] for r in rows], pa.list_(f.type), to)
    else:
        to[name] = rows


INTS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()]


def ints(r: np.random.Generator, t: pa.DataType, n: int) -> np.ndarray[Any, Any]:
    info = np.iinfo(t.to_pandas_dtype())
    v = r.integers(info.min, info.max, n, dtype=info.dtype, endpoint=True)
    v[: min(n, 2)] = [info.min, info.max][: min(n, 2)]
    return v


def jagged(r: np.random.Generator, n: int, make: Any, most: int = 6) -> List[Any]:
    return [[make() for _ in range(int(r.integers(0, most)))] for _ in range(n)]


def holes(r: np.random.Generator, rows: Sequence[Any]) -> List[Any]:
    return [None if i == 1 or r.random() < 0.3 else v for i, v in enumerate(rows)]


def twelve(work: str) -> List[Set]:
    r = np.random.default_rng(7)
    n = ROWS
    f32 = lambda *shape: r.normal(size=shape).astype(np.float32)  # noqa: E731
    special = f32(n)
    special[:5] = [np.nan, np.inf, -np.inf, -0.0, 1e-42]
    text = lambda: str(r.choice(["", "a", "zwölf", "数", "line\nfeed", "😀 b"])) + "x" * int(r.integers(0, 3))  # noqa: E731
    out: List[Set] = []

    s = table(work, "scalars", {**{str(t): pa.array(ints(r, t, n), t) for t in INTS}, "f32": pa.array(special), "f64": pa.array(r.normal(size=n))})
    s.no_example = ["f64"]
    out.append(s)
    out.append(
        table(
            work,
            "vectors",
            {
                "x": pa.FixedSizeListArray.from_arrays(pa.array(f32(n * 3)), 3),
                "m": pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(pa.array(ints(r, pa.int64(), n * 6)), 3), 2),
                "u": pa.FixedSizeListArray.from_arrays(pa.array(ints(r, pa.uint8(), n * 4)), 4),
            },
        )
    )
    s = table(
        work,
        "jagged",
        {
            "f": pa.array(jagged(r, n, lambda: float(np.float32(r.normal()))), pa.list_(pa.float32())),
            "i": pa.array(jagged(r, n, lambda: int(r.integers(-(2**31), 2**31))), pa.list_(pa.int32())),
            "ll": pa.array(jagged(r, n, lambda: [int(v) for v in r.integers(-9, 9, int(r.integers(0, 4)))]), pa.list_(pa.list_(pa.int16()))),
        },
    )
    s.no_example = ["ll"]
    out.append(s)
    out.append(
        table(
            work,
            "texts",
            {
                "t": pa.array([text() for _ in range(n)]),
                "b": pa.array([b"\xff\x00" * int(r.integers(0, 4)) + b"\xfe" for _ in range(n)]),
                "l": pa.array(jagged(r, n, text), pa.list_(pa.string())),
            },
        )
    )
    out.append(
        table(
            work,
            "missing",
            {
                "i": pa.array(holes(r, ints(r, pa.int32(), n).tolist()), pa.int32()),
                "f": pa.array(holes(r, special.tolist()), pa.float32()),
                "b": pa.array(holes(r, [bool(v) for v in r.integers(0, 2, n)])),
                "t": pa.array(holes(r, [text() for _ in range(n)])),
                "l": pa.array(holes(r, jagged(r, n, lambda: int(r.integers(-9, 9)))), pa.list_(pa.int64())),
                "x": pa.array(holes(r, f32(n, 2).tolist()), pa.list_(pa.float32(), 2)),
            },
        )
    )
    kinds = {"kind": ["cat", "dog", "a b, c", "ü"], "one": ["only"]}
    out.append(table(work, "classes", {"kind": pa.array(r.integers(0, 4, n)), "one": pa.array(np.zeros(n, np.int64)), "w": pa.array(f32(n))}, kinds))
    out.append(images(work, r))
    out.append(
        table(
            work,
            "bools",
            {
                "b": pa.array(r.integers(0, 2, n).astype(bool)),
                "l": pa.array(jagged(r, n, lambda: bool(r.integers(0, 2)), 20), pa.list_(pa.bool_())),
                "f": pa.FixedSizeListArray.from_arrays(pa.array(r.integers(0, 2, n * 9).astype(bool)), 9),
            },
        )
    )
    brain = (f32(n).view(np.uint32) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    s = table(
        work,
        "halves",
        {
            "h": pa.array(r.normal(size=n).astype(np.float16)),
            "hl": pa.array([[np.float16(v) for v in row] for row in jagged(r, n, r.normal)], pa.list_(pa.float16())),
            "bf": pa.array(brain),
        },
        args=["--cast", "bf=bf16"],
    )
    s.no_table = ["bf"]
    out.append(s)
    s = table(work, "unsigned", {"u": pa.array(ints(r, pa.uint64(), n)), "low": pa.array(ints(r, pa.uint64(), n) >> np.uint64(1))})
    s.no_example = ["u"]
    out.append(s)
    nested = [{"a": int(i), "b": {"c": text(), "d": float(np.float32(i))}} for i in range(n)]
    steps = jagged(r, n, lambda: {"u": int(r.integers(0, 99)), "v": float(np.float32(r.normal()))})
    out.append(
        table(
            work,
            "nested",
            {
                "n": pa.array(nested, pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string()), ("d", pa.float32())]))])),
                "steps": pa.array(steps, pa.list_(pa.struct([("u", pa.int32()), ("v", pa.float32())]))),
                "x/y": pa.array(f32(n)),
            },
        )
    )
    out.append(
        table(
            work,
            "empty",
            {
                "l": pa.array([[]] * n, pa.list_(pa.float32())),
                "t": pa.array([""] * n),
                "lt": pa.array([[], [""]] * (n // 2) + [[]], pa.list_(pa.string())),
                "i": pa.array(np.arange(n)),
            },
        )
    )
    out.append(table(work, "single", {"x": pa.array([1.5], pa.float32()), "l": pa.array([[1, 2]], pa.list_(pa.int16())), "t": pa.array(["t"])}))
    x = f32(n, 4)
    path = stored(
        os.path.join(work, "in", "static.zarr"),
        {"x": (x, ["time", "k"]), "y": (np.arange(n), ["time"]), "mask": (np.arange(12, dtype=np.float32).reshape(3, 4), ["lat", "lon"])},
    )
    out.append(Set("static", path, {"x": x.tolist(), "y": list(range(n))}, {}, ["--static", "mask"]))
    return out


def stored(top: str, arrays: Dict[str, Any]) -> str:
    """A store of Zarr 2: an array with the names of its dimensions is one chunk."""
    for name, (a, dims) in {"": (None, []), **arrays}.items():
        os.makedirs(os.path.join(top, name))
        texts: Dict[str, Any] = {".zgroup": {"zarr_format": 2}}
        if a is not None:
            texts = {
                ".zarray": {
                    "zarr_format": 2,
                    "shape": a.shape,
                    "chunks": a.shape,
                    "dtype": a.dtype.str,
                    "compressor": None,
                    "fill_value": None,
                    "order": "C",
                    "filters": None,
                }
            }
            texts[".zattrs"] = {"_ARRAY_DIMENSIONS": dims}
            a.tofile(os.path.join(top, name, ".".join("0" for _ in dims)))
        for file, text in texts.items():
            with open(os.path.join(top, name, file), "w") as f:
                json.dump(text, f)
    return top


def images(work: str, r: np.random.Generator) -> Set:
    """A folder of classes, with images of one kind."""
    top = os.path.join(work, "in", "images")
    values: Dict[str, List[Any]] = {"png": [], "cls": []}
    names = ["cat", "dog", "emu"]
    for k, c in enumerate(names):
        os.makedirs(os.path.join(top, c))
        for i in range(17 + k):
            b = picture(r, "PNG")
            with open(os.path.join(top, c, "%s%03d.png" % (c, i)), "wb") as f:
                f.write(b)
            values["png"].append(b)
            values["cls"].append(k)
    return Set("images", top, values, {"cls": names}, ["--labels", "folder"])
