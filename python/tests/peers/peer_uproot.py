"""uproot and awkward: random TTrees and RNTuples, freshly written, must come out as uproot reads them.

    python3 peer_uproot.py WORK     SHARDIFY names the program, ROUNDS and SEED the files
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, Callable, Dict, List, Tuple

import awkward as ak
import numpy as np
import uproot
from expect import Skip, main

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "uproot")
ROUNDS = int(os.environ.get("ROUNDS", "30"))
SEED = int(os.environ.get("SEED", "1"))
NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
TENSORS = {"BOOL": "?", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "U8": "u1", "U16": "<u2", "U32": "<u4"}
TENSORS.update({"U64": "<u8", "F16": "<f2", "F32": "<f4", "F64": "<f8"})


def numbers(rng: np.random.Generator, n: int, dtype: str, shape: Tuple[int, ...] = ()) -> np.ndarray:
    if dtype == "?":
        return rng.random((n,) + shape) < 0.5
    if dtype[0] == "f":
        return rng.normal(size=(n,) + shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, (n,) + shape, dtype=dtype, endpoint=True)


def counts(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.poisson(rng.choice([0.0, 0.3, 2.0, 9.0]), n)


def text(rng: np.random.Generator) -> str:
    size = int(rng.choice([0, 1, 5, 254, 255, 256, 700], p=[0.2, 0.2, 0.4, 0.05, 0.05, 0.05, 0.05]))
    return "".join("abc xyz\u00e9\u4e2d"[k] for k in rng.integers(0, 9, size)) if size < 200 else "q" * size


Maker = Callable[[int], Any]


def jagged(rng: np.random.Generator, dtype: str) -> Maker:
    def make(n: int) -> Any:
        c = counts(rng, n)
        return ak.unflatten(numbers(rng, int(c.sum()), dtype), c)

    return make


def record(rng: np.random.Generator, dtypes: List[str]) -> Maker:
    def make(n: int) -> Any:
        c = counts(rng, n)
        fields = {"m%d" % i: ak.unflatten(numbers(rng, int(c.sum()), d), c) for i, d in enumerate(dtypes)}
        return ak.zip(fields)

    return make


def nested(rng: np.random.Generator, dtype: str) -> Maker:
    def make(n: int) -> Any:
        outer = counts(rng, n)
        inner = counts(rng, int(outer.sum()))
        return ak.unflatten(ak.unflatten(numbers(rng, int(inner.sum()), dtype), inner), outer)

    return make


def texts(rng: np.random.Generator) -> Maker:
    return lambda n: ak.Array([text(rng) for _ in range(n)]) if n else ak.Array([""])[:0]


def schema(rng: np.random.Generator, ntuple: bool) -> Dict[str, Maker]:
    """Names and what makes their values."""
    out: Dict[str, Maker] = {}

    def fixed(dtype: str, shape: Tuple[int, ...]) -> Maker:
        return lambda n: numbers(rng, n, dtype, shape)

    for i in range(int(rng.integers(1, 9))):
        d = str(rng.choice(NUMBERS))
        kind = str(rng.choice(["number", "array", "jagged", "record", "text", "nested"]))
        name = "%s%d" % (kind, i)
        if kind == "array":
            out[name] = fixed(d, tuple(int(k) for k in rng.integers(1, 4, rng.integers(1, 3))))
        elif kind == "jagged":
            out[name] = jagged(rng, d)
        elif kind == "record":
            out[name] = record(rng, [str(x) for x in rng.choice(NUMBERS, rng.integers(1, 4))])
        elif kind == "text":
            out[name] = texts(rng)
        elif kind == "nested" and ntuple:  # uproot writes no TTree of them
            out[name] = nested(rng, d)
        else:
            out[name] = fixed(d, ())
    return out


def write(rng: np.random.Generator, path: str, ntuple: bool) -> None:
    makers = schema(rng, ntuple)
    parts = [int(x) for x in rng.choice([1, 7, 100, 1500], rng.integers(1, 5))]
    kinds = [None, uproot.ZLIB(1), uproot.LZ4(1), uproot.ZSTD(1), uproot.LZMA(1)]
    with uproot.recreate(path, compression=kinds[int(rng.integers(0, len(kinds)))]) as f:
        first, *others = [{name: make(n) for name, make in makers.items()} for n in parts]
        w = f.mkrntuple("t", first) if ntuple else f.mktree("t", first)
        for data in others:
            w.extend(data)


def convert(path: str, out: str) -> None:
    shutil.rmtree(out, ignore_errors=True)
    p = subprocess.run(
        [BINARY, "convert", path, "-o", out, "--format", "mmap", "--quiet", "--shard-samples", "997"],
        capture_output=True,
        text=True,
    )
    assert p.returncode == 0, p.stderr


def columns(out: str) -> Dict[str, Tuple[np.ndarray, List[np.ndarray]]]:
    """Of every field the values, and the lengths of its lists by level, of all shards."""
    with open(os.path.join(out, "shardify.json")) as f:
        manifest = json.load(f)
    got: Dict[str, List[List[np.ndarray]]] = {}
    for shard in manifest["shards"]:
        path = os.path.join(out, shard["name"])
        n = int(np.fromfile(path, "<u8", 1)[0])
        with open(path, "rb") as f:
            head = json.loads(f.read(8 + n)[8:])

        def tensor(name: str, head: Any = head, path: str = path, n: int = n) -> np.ndarray:
            t = head[name]
            lo, hi = t["data_offsets"]
            if hi == lo:
                return np.empty(t["shape"], TENSORS[t["dtype"]])
            return np.memmap(path, TENSORS[t["dtype"]], "r", 8 + n + lo, tuple(t["shape"]))

        for e in manifest["schema"]:
            name, levels = e["name"], e.get("levels", 0)
            parts = [tensor(name + "#values" if levels else name)]
            if levels:
                parts.append(np.diff(tensor(e.get("counter", name) + "#offsets")))
            if levels == 2:
                parts.append(np.diff(tensor(name + "#offsets1")))
            have = got.setdefault(name, [[] for _ in parts])
            for to, p in zip(have, parts):
                to.append(p)
    joined = {name: [np.concatenate(p) for p in parts] for name, parts in got.items()}
    return {name: (parts[0], parts[1:]) for name, parts in joined.items()}


def flat(a: Any) -> Tuple[np.ndarray, List[np.ndarray]]:
    """The same of what awkward has."""
    a = ak.without_parameters(ak.Array(a))
    levels = []
    while "var" in str(ak.type(a)):
        levels.append(ak.to_numpy(ak.num(a, axis=1)))
        a = ak.flatten(a, axis=1)
    return ak.to_numpy(a, allow_missing=False), levels


def by_uproot(path: str) -> Dict[str, Any]:
    with uproot.open(path) as f:
        t = f["t"]
        out: Dict[str, Any] = {}
        for name in t.keys():
            if "." in name:
                continue  # a member of a record
            a = t[name].array()
            if ak.fields(a):
                for m in ak.fields(a):
                    out[name + "." + m] = a[m]
            else:
                out[name] = a
        return out


def differ(path: str, out: str) -> Tuple[int, int]:
    want, got = by_uproot(path), columns(out)
    assert set(want) == set(got), "fields %s, want %s" % (sorted(got), sorted(want))
    values = 0
    for name, a in want.items():
        v, levels = flat(a)
        w, have = got[name]
        assert v.dtype == w.dtype.newbyteorder("=") and v.shape == w.shape, "%s is %s %s, want %s %s" % (
            name,
            w.dtype,
            w.shape,
            v.dtype,
            v.shape,
        )
        assert np.array_equal(np.ascontiguousarray(v).view("u1"), np.ascontiguousarray(w).view("u1")), name + ": values"
        assert len(levels) == len(have), "%s: %d levels, want %d" % (name, len(have), len(levels))
        for x, y in zip(levels, have):
            assert np.array_equal(x, y), name + ": lengths"
        values += v.size
    return len(want), values


def rounds(ntuple: bool) -> str:
    if shutil.which(BINARY) is None:
        raise Skip("SHARDIFY names no program")
    os.makedirs(WORK, exist_ok=True)
    fields = values = 0
    for k in range(ROUNDS):
        rng = np.random.default_rng([SEED, k, ntuple])
        path, out = os.path.join(WORK, "r.root"), os.path.join(WORK, "out")
        write(rng, path, ntuple)
        try:
            convert(path, out)
            n, v = differ(path, out)
        except AssertionError as e:
            raise AssertionError("round %d of seed %d: %s" % (k, SEED, e)) from None
        fields, values = fields + n, values + v
    return "%d %s files, %d fields, %d values: no difference" % (
        ROUNDS,
        "RNTuple" if ntuple else "TTree",
        fields,
        values,
    )


def past_4_gib() -> str:
    """A sparse file whose later baskets, key lists and tree lie behind 5 GiB of nothing."""
    if shutil.which(BINARY) is None:
        raise Skip("SHARDIFY names no program")
    os.makedirs(WORK, exist_ok=True)
    path, out = os.path.join(WORK, "big.root"), os.path.join(WORK, "out")
    try:
        with uproot.recreate(path) as f:
            block = {"x": np.arange(1000), "y": np.arange(1000, dtype="f4")}
            f.mktree("t", {k: v.dtype for k, v in block.items()})
            f["t"].extend(block)
            f._cascading.freesegments.allocate(5 << 30, dry_run=False)
            f["t"].extend(block)
        size = os.path.getsize(path)
        assert size > 5 << 30
        convert(path, out)
        n, v = differ(path, out)
    finally:
        if os.path.exists(path):
            os.unlink(path)
    return "%d bytes, %d fields, %d values: no difference" % (size, n, v)


if __name__ == "__main__":
    peer = "uproot " + uproot.__version__
    main([(peer, lambda: rounds(False)), (peer, lambda: rounds(True)), (peer + ", past 4 GiB", past_4_gib)])
