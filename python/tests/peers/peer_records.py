"""tfrecord: random files of Examples are read as it reads them. datasets, polars and DuckDB open exports.

python3 peer_records.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the files
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List

import numpy as np
from expect import main, tables
from tfrecord import TFRecordWriter
from tfrecord.reader import tfrecord_loader

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "records")
SEED = int(os.environ.get("SEED", "1"))


def convert(source: str, out: str, *args: str) -> str:
    shutil.rmtree(out, ignore_errors=True)
    p = subprocess.run([BINARY, "convert", source, "-o", out, "--sync", "none", "--quiet", *args], stdout=-1, stderr=-1, text=True)
    assert p.returncode == 0, p.stderr
    return out


def features(rng: np.random.Generator) -> Dict[str, Any]:
    """Kinds and lengths of the features of a file; -1 is any length."""
    out: Dict[str, Any] = {}
    for i in range(int(rng.integers(1, 7))):
        out["f%d/%s" % (i, "xyz"[i % 3])] = (str(rng.choice(["byte", "float", "int"])), int(rng.choice([1, 1, 3, -1])))
    return out


def value(rng: np.random.Generator, kind: str, n: int) -> Any:
    if kind == "byte":
        return b"\xff" + bytes(rng.integers(0, 256, int(rng.integers(0, 300)), np.uint8))
    n = int(rng.integers(0, 20)) if n < 0 else n
    if kind == "float":
        return rng.normal(size=n).astype(np.float32).tolist()
    return [int(v) >> int(s) for v, s in zip(rng.integers(-(2**63), 2**63, n), rng.integers(0, 64, n))]


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(os.path.join(WORK, "in"))
    kinds = features(rng)
    parts = int(rng.integers(1, 4))
    want: List[Dict[str, Any]] = []
    for k in range(parts):
        path = os.path.join(WORK, "in", "a.tfrecord-%05d-of-%05d" % (k, parts))
        w = TFRecordWriter(path)
        for _ in range(int(rng.integers(1, 200))):
            w.write({name: (value(rng, kind, n), kind) for name, (kind, n) in kinds.items()})
        w.close()
        want += [dict(r) for r in tfrecord_loader(path, None, {name: kind for name, (kind, _) in kinds.items()})]
        if rng.random() < 0.3:
            with open(path, "rb") as f:
                packed = gzip.compress(f.read())
            with open(path, "wb") as f:
                f.write(packed)
    out = convert(os.path.join(WORK, "in"), os.path.join(WORK, "out"), "--format", "mmap", "--jobs", str(rng.integers(1, 4)))
    ds = shardify.open(out)
    assert len(ds) == len(want), (len(ds), len(want))
    for j, w in enumerate(want):
        got = ds[j]
        for name, (kind, _) in kinds.items():
            g, x = got[name], w[name]
            if kind == "byte":
                assert bytes(g) == bytes(x), (j, name, g, x)
            else:
                a, b = np.atleast_1d(np.asarray(g)), np.atleast_1d(np.asarray(x))
                assert a.tobytes() == b.astype(a.dtype).tobytes(), (j, name, a, b)


SCHEMA = "x:f32[3],m:f32[2,3],y:i64,t:txt*12,l:f32*5,u:u8,b:bool,i:i16*4,h:f16,d:f64"


def exports() -> str:
    """Types and values of a Parquet set, as datasets, polars and DuckDB have them."""
    import datasets
    import duckdb
    import polars

    os.makedirs(WORK, exist_ok=True)
    args = ["--from", "synth", "--samples", "2500", "--schema", SCHEMA, "--sync", "none", "--quiet", "--shard-samples", "700"]
    sets = {}
    for kind in ("mmap", "parquet"):
        sets[kind] = os.path.join(WORK, kind)
        shutil.rmtree(sets[kind], ignore_errors=True)
        subprocess.run([BINARY, "convert", "-o", sets[kind], "--format", kind, *args], check=True, stdout=-1)
    ours = shardify.open(sets["mmap"])
    ds = datasets.load_dataset(sets["parquet"], cache_dir=os.path.join(WORK, "cache"))["train"]
    value = {"x": "List(Value('float32'), length=3)", "m": "List(List(Value('float32'), length=3), length=2)", "y": "Value('int64')", "t": "Value('string')"}
    value.update({"l": "List(Value('float32'))", "u": "Value('uint8')", "b": "Value('bool')", "i": "List(Value('int16'))", "h": "Value('float16')", "d": "Value('float64')"})
    assert {k: str(v) for k, v in ds.features.items()} == value, ds.features
    files = sorted(os.path.join(sets["parquet"], f) for f in os.listdir(sets["parquet"]) if f.endswith(".parquet"))
    frame = polars.read_parquet(files)
    assert frame.schema["m"] == polars.Array(polars.Float32, (2, 3)), frame.schema
    rows = duckdb.sql("select * from read_parquet(%r)" % files).fetchall()
    assert len(ours) == len(ds) == len(frame) == len(rows), (len(ours), len(ds), len(frame), len(rows))
    plain = frame.to_dicts()
    for i in range(len(ours)):
        a, b, c, d = ours[i], ds[i], plain[i], dict(zip(frame.columns, rows[i]))
        for name in value:
            want = a[name].tolist() if hasattr(a[name], "tolist") else a[name]
            for got in (b[name], c[name], d[name]):
                got = got.tolist() if hasattr(got, "tolist") else got
                if isinstance(got, (list, tuple)):
                    assert np.array_equal(np.asarray(got), np.asarray(want)), (i, name, got, want)
                else:
                    assert got == want, (i, name, got, want)
    return "%d samples of %d fields in datasets, polars and DuckDB" % (len(ours), len(value))


def arrow() -> str:
    """Values of Arrow files and streams, as datasets and polars map them."""
    import datasets
    import polars

    os.makedirs(WORK, exist_ok=True)
    args = ["--from", "synth", "--samples", "2500", "--schema", SCHEMA, "--sync", "none", "--quiet", "--shard-samples", "700"]
    sets = {}
    for name, more in (("mmap", ["mmap"]), ("file", ["arrow"]), ("stream", ["arrow", "--arrow-form", "stream"])):
        sets[name] = os.path.join(WORK, "arrow-" + name)
        shutil.rmtree(sets[name], ignore_errors=True)
        subprocess.run([BINARY, "convert", "-o", sets[name], *args, "--format", *more], check=True, stdout=-1)
    ours = shardify.open(sets["mmap"])
    loaded = datasets.load_dataset(sets["file"], cache_dir=os.path.join(WORK, "cache-arrow"))["train"]
    mapped = datasets.load_from_disk(sets["stream"])
    first = datasets.Dataset.from_file(os.path.join(sets["stream"], "shard-000000.arrow"))
    frame = polars.read_ipc(os.path.join(sets["file"], "*.arrow")).to_dicts()
    assert loaded.features == mapped.features == first.features, (loaded.features, mapped.features)
    assert len(ours) == len(loaded) == len(mapped) == len(frame), (len(ours), len(loaded), len(mapped), len(frame))
    for i in range(len(ours)):
        for name in loaded.features:
            want = np.asarray(ours[i][name])
            for got in (loaded[i][name], mapped[i][name], frame[i][name]) + ((first[i][name],) if i < len(first) else ()):
                assert np.array_equal(np.asarray(got), want), (i, name, got, want)
    return "%d samples in datasets and polars" % len(ours)


def arrayrecord() -> str:
    """Records of ArrayRecord files are those of TFRecord files of the same samples."""
    from array_record.python.array_record_data_source import ArrayRecordDataSource
    from tfrecord.reader import tfrecord_iterator

    os.makedirs(WORK, exist_ok=True)
    args = ["--from", "synth", "--samples", "2500", "--schema", "x:f32[3],y:i64,t:txt*12,l:f32*5", "--sync", "none", "--quiet", "--shard-samples", "700"]
    files: Dict[str, List[str]] = {}
    for name, ext in (("tfrecord", ".tfrecord"), ("arrayrecord", ".array_record")):
        out = os.path.join(WORK, "as-" + name)
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([BINARY, "convert", "-o", out, *args, "--format", name], check=True, stdout=-1)
        files[name] = sorted(os.path.join(out, f) for f in os.listdir(out) if f.endswith(ext))
    want = [bytes(r) for f in files["tfrecord"] for r in tfrecord_iterator(f)]
    got = ArrayRecordDataSource(files["arrayrecord"])
    assert len(got) == len(want) == 2500, (len(got), len(want))
    assert all(got[i] == w for i, w in enumerate(want))
    return "%d records in array_record" % len(want)


if __name__ == "__main__":
    main([("tfrecord", tables(one, 100, "as tfrecord reads them")), ("exports", exports), ("arrow", arrow), ("arrayrecord", arrayrecord)])
