"""Exports of twelve kinds of sets: Parquet, Arrow and ArrayRecord, as pyarrow, pandas, polars, DuckDB, Hugging Face
datasets and Grain read them, and as shardify reads them again.

python3 peer_exports.py WORK     SHARDIFY names the program
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any, Callable, Dict, List

import datasets
import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import twelve
from expect import main
from twelve import Set, compare, export, shards

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "exports")
datasets.disable_progress_bars()

Rows = List[Dict[str, Any]]


def of_frame(frame: Any) -> Rows:
    """pandas with the types of Arrow: its marks of what is missing are pandas.NA."""
    rows: Rows = [{} for _ in range(len(frame))]
    for name in frame.columns:
        for row, v in zip(rows, pa.array(frame[name], from_pandas=True).to_pylist()):
            row[name] = v
    return rows


def of_duckdb(what: Any) -> Rows:
    return [dict(zip(what.columns, r)) for r in what.fetchall()]


def mapped(files: List[str]) -> Rows:
    out: Rows = []
    for f in files:
        with pa.memory_map(f) as m:
            out += pa.ipc.open_file(m).read_all().to_pylist()
    return out


PARQUET: Dict[str, Callable[[List[str]], Rows]] = {
    "pyarrow": lambda files: [r for f in files for r in pq.read_table(f).to_pylist()],
    "pandas": lambda files: of_frame(pandas.concat([pandas.read_parquet(f, dtype_backend="pyarrow") for f in files])),
    "polars": lambda files: polars.read_parquet(files).to_dicts(),
    "DuckDB": lambda files: of_duckdb(duckdb.sql("select * from read_parquet(%r)" % files)),
}
ARROW: Dict[str, Callable[[List[str]], Rows]] = {
    "pyarrow": mapped,
    "pandas": lambda files: of_frame(pandas.concat([pandas.read_feather(f, dtype_backend="pyarrow") for f in files])),
    "polars": lambda files: polars.concat([polars.read_ipc(f) for f in files]).to_dicts(),
    "DuckDB": lambda files: of_duckdb(duckdb.from_arrow(pa.dataset.dataset(files, format="ipc").to_table())),
}


def read_by(kind: str, who: str) -> Callable[[], str]:
    readers = PARQUET if kind == "parquet" else ARROW

    def check() -> str:
        total = 0
        for s in SETS:
            # DuckDB has no type for the f16 of Arrow.
            if (who, kind, s.name) == ("DuckDB", "arrow", "halves"):
                continue
            names = s.fields(kind)
            total += compare(s, readers[who](shards(export(s, WORK, kind), kind)), names, who)
        return "%s: %d values of %d sets" % (kind, total, len(SETS))

    return check


def types() -> str:
    files = shards(export(next(s for s in SETS if s.name == "vectors"), WORK, "parquet"), "parquet")
    frame = polars.read_parquet(files)
    assert frame.schema["m"] == polars.Array(polars.Int64, (2, 3)) and frame.schema["u"] == polars.Array(polars.UInt8, 4), frame.schema
    assert pq.read_schema(files[0]).field("x").type == pa.list_(pa.float32(), 3)
    return "fixed shapes in polars and pyarrow"


def feature(s: Set, name: str, f: Any) -> None:
    """The feature of Hugging Face says what the field is."""
    if name in s.labels:
        assert isinstance(f, datasets.ClassLabel) and f.names == s.labels[name], (s.name, name, f)
        return
    v = next(v for v in s.values[name] if v is not None)
    while isinstance(v, list):
        assert isinstance(f, datasets.List), (s.name, name, f)
        f, v = f.feature, v[0] if v else None
    if name == "png":
        assert isinstance(f, datasets.Image), (s.name, name, f)
    elif v is not None:
        want = {int: ("int", "uint"), float: ("float",), bool: ("bool",), str: ("string",), bytes: ("binary",)}[type(v)]
        assert isinstance(f, datasets.Value) and f.dtype.startswith(want), (s.name, name, f)


def with_datasets(s: Set, ds: Any, names: List[str], who: str) -> int:
    for name in names:
        feature(s, name, ds.features[name])
        if isinstance(ds.features[name], datasets.Image):
            assert ds[0][name].size[0] > 0  # decoded
            ds = ds.cast_column(name, datasets.Image(decode=False))
    return compare(s, [ds[i] for i in range(len(ds))], names, who)


def hugging(kind: str, *more: str) -> Callable[[], str]:
    def check() -> str:
        total = 0
        for s in SETS:
            folder, names = export(s, WORK, kind, *more), s.fields(kind)
            if more:
                total += with_datasets(s, datasets.load_from_disk(folder), names, "load_from_disk")
                first = os.path.join(folder, "shard-000000.arrow")
                opened = datasets.Dataset.from_file(first)
                assert opened.features == datasets.load_from_disk(folder).features
            else:
                cache = os.path.join(WORK, "cache")
                shutil.rmtree(cache, ignore_errors=True)
                total += with_datasets(s, datasets.load_dataset(folder, cache_dir=cache)["train"], names, "load_dataset")
        return "%s: %d values, and features, of %d sets" % (" ".join([kind, *more]), total, len(SETS))

    return check


def splits() -> str:
    """A folder with splits: load_dataset finds them, with features and values."""
    for kind, more in (("parquet", ()), ("arrow", ()), ("arrow", ("--arrow-form", "stream"))):
        for name in ("classes", "images"):
            s = next(s for s in SETS if s.name == name)
            n = len(next(iter(s.values.values())))
            folder = export(s, WORK, kind, *more, "--split", "train=rest,val=10,test=5")
            cache = os.path.join(WORK, "cache")
            shutil.rmtree(cache, ignore_errors=True)
            ds = datasets.load_from_disk(folder) if more else datasets.load_dataset(folder, cache_dir=cache)
            assert {k: len(v) for k, v in ds.items()} == {"train": n - 15, "val": 10, "test": 5}, ds
            for part in ds:
                for f in s.values:
                    feature(s, f, ds[part].features[f])
            # The splits together are the samples: each one once.
            have = sorted(repr([twelve.plain(r[f]) for f in s.values]) for part in ds.values() for r in bare(part))
            assert have == sorted(map(repr, map(list, zip(*s.values.values())))), (kind, name)
    return "three splits of Parquet, Arrow files and streams"


def bare(ds: Any) -> Rows:
    for name, f in ds.features.items():
        if isinstance(f, datasets.Image):
            ds = ds.cast_column(name, datasets.Image(decode=False))
    return [ds[i] for i in range(len(ds))]


def again(kind: str, *more: str) -> Callable[[], str]:
    def check() -> str:
        total = sum(twelve.same_set(s, kind, export(s, WORK, kind, *more), WORK) for s in SETS)
        return "%s: %d values, names, classes and what is missing of %d sets" % (" ".join([kind, *more]), total, len(SETS))

    return check


def grain_reads() -> str:
    """Grain's source over ArrayRecord: its records are those of the TFRecord files of the same set."""
    import grain
    from tfrecord.reader import tfrecord_iterator

    total = 0
    for s in SETS:
        want = [bytes(r) for f in shards(export(s, WORK, "tfrecord"), "tfrecord") for r in tfrecord_iterator(f)]
        source = grain.sources.ArrayRecordDataSource(shards(export(s, WORK, "arrayrecord"), "arrayrecord"))
        assert len(source) == len(want), (s.name, len(source), len(want))
        order = list(grain.MapDataset.source(source).seed(1).shuffle())
        assert sorted(order) == sorted(want), s.name
        assert [source[i] for i in range(len(want))] == want, s.name
        total += len(want)
    return "%d records of %d sets, in order and shuffled" % (total, len(SETS))


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    SETS = twelve.twelve(WORK)
    checks = [(who, read_by("parquet", who)) for who in PARQUET] + [(who, read_by("arrow", who)) for who in ARROW]
    checks += [
        ("polars", types),
        ("datasets", hugging("parquet")),
        ("datasets", hugging("arrow")),
        ("datasets", hugging("arrow", "--arrow-form", "stream")),
        ("datasets", splits),
    ]
    checks += [("shardify", again(k)) for k in ("parquet", "arrow")] + [
        ("shardify", again("arrow", "--arrow-form", "stream")),
        ("shardify", again("tfrecord")),
        ("grain", grain_reads),
    ]
    main(checks)
