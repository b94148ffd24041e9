"""pyarrow: random Parquet files must come out as pyarrow reads them, whichever program wrote them.

python3 peer_parquet.py WORK     SHARDIFY names the program, ROUNDS and SEED the files
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import shutil
import subprocess
import sys
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from expect import Skip, main
from parquet_expect import Flatten, Leaf, Refused

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "parquet")
ROUNDS = int(os.environ.get("ROUNDS", "30"))
SEED = int(os.environ.get("SEED", "1"))
FIRST = int(os.environ.get("FIRST", "0"))
TENSORS = {"BOOL": "?", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "U8": "u1", "U16": "<u2", "U32": "<u4"}
TENSORS.update({"U64": "<u8", "F16": "<f2", "F32": "<f4", "F64": "<f8"})


class Random:
    """Types and values of them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def one(self, *of: Any) -> Any:
        return of[int(self.rng.integers(0, len(of)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def scalar(self) -> pa.DataType:
        numbers = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
        numbers += [pa.float16(), pa.float32(), pa.float64(), pa.bool_()]
        others = [
            pa.string(),
            pa.binary(),
            pa.large_string(),
            pa.binary(5),
            pa.date32(),
            pa.time32("ms"),
            pa.time64("us"),
        ]
        others += [pa.timestamp(u) for u in ("ms", "us", "ns")] + [pa.duration("us"), pa.decimal128(7, 2)]
        others += [pa.decimal128(18, 4), pa.decimal128(30, 5), pa.dictionary(pa.int32(), pa.string())]
        return self.one(*numbers) if self.chance(0.6) else self.one(*others)

    def type(self, depth: int = 0) -> pa.DataType:
        if depth >= 3 or self.chance(0.5):
            return self.scalar()
        kind = self.one("list", "large", "fixed", "struct", "map")
        if kind == "list":
            return pa.list_(self.type(depth + 1))
        if kind == "large":
            return pa.large_list(self.type(depth + 1))
        if kind == "fixed":
            return pa.list_(self.type(depth + 1), int(self.rng.integers(1, 4)))
        if kind == "map":
            return pa.map_(self.one(pa.string(), pa.int32()), self.type(depth + 1))
        return pa.struct([("m%d" % i, self.type(depth + 1)) for i in range(int(self.rng.integers(1, 4)))])

    def values(self, t: pa.DataType, n: int, nulls: float) -> List[Any]:
        """Missing values stand where a sample may lack one, not inside of lists."""
        out = [None if self.rng.random() < nulls else self.value(t, nulls) for _ in range(n)]
        return out

    def value(self, t: pa.DataType, nulls: float) -> Any:
        r = self.rng
        if pa.types.is_struct(t):
            return {f.name: None if r.random() < nulls else self.value(f.type, nulls) for f in t}
        if pa.types.is_map(t):
            n = int(r.poisson(1.5))
            keys = {self.value(t.key_type, 0): None for _ in range(n)}
            return [(k, self.value(t.item_type, 0)) for k in keys]
        if pa.types.is_fixed_size_list(t):
            return [self.value(t.value_type, 0) for _ in range(t.list_size)]
        if pa.types.is_list(t) or pa.types.is_large_list(t):
            return [self.value(t.value_type, 0) for _ in range(int(r.poisson(1.5)))]
        if pa.types.is_dictionary(t):
            return "word %d" % int(r.integers(0, 5))
        if pa.types.is_boolean(t):
            return bool(r.random() < 0.5)
        if pa.types.is_integer(t):
            info = np.iinfo(t.to_pandas_dtype())
            lo, hi = (info.min, info.max) if self.chance(0.5) else (0, 9)
            return int(r.integers(lo, hi, dtype=t.to_pandas_dtype(), endpoint=True))
        if pa.types.is_float16(t):
            return np.float16(r.normal())
        if pa.types.is_floating(t):
            return float(np.float32(r.normal())) if self.chance(0.7) else float(r.integers(0, 5))
        if pa.types.is_string(t) or pa.types.is_large_string(t):
            return "".join("ab\u00e9\u4e2d"[k] for k in r.integers(0, 4, int(r.poisson(4))))
        if pa.types.is_fixed_size_binary(t):
            return bytes(r.integers(0, 256, t.byte_width, dtype="u1"))
        if pa.types.is_binary(t):
            return bytes(r.integers(0, 256, int(r.poisson(6)), dtype="u1"))
        if pa.types.is_decimal(t):
            digits = int(r.integers(0, 10 ** min(t.precision, 18)))
            return decimal.Decimal(digits if self.chance(0.5) else -digits).scaleb(-t.scale)
        if pa.types.is_date(t):
            return dt.date(1970, 1, 1) + dt.timedelta(days=int(r.integers(-20000, 20000)))
        if pa.types.is_time32(t):
            return dt.time(int(r.integers(0, 24)), 1, 2, 3000)
        if pa.types.is_time(t):
            return dt.time(int(r.integers(0, 24)), 1, 2, int(r.integers(0, 10**6)))
        if pa.types.is_timestamp(t):
            return int(r.integers(-(10**12), 10**12))
        if pa.types.is_duration(t):
            return int(r.integers(-(10**12), 10**12))
        raise AssertionError(t)


def table(r: Random, n: int, simple: bool) -> pa.Table:
    columns = {}
    for i in range(int(r.rng.integers(1, 8))):
        t = r.scalar() if simple else r.type()
        nulls = 0.0 if r.chance(0.5) else float(r.rng.random() * 0.4)
        columns["c%d" % i] = pa.array(r.values(t, n, nulls), t)
    return pa.table(columns)


Writer = Callable[[Random, int, str], None]


def by_pyarrow(r: Random, n: int, path: str) -> None:
    t = table(r, n, False)
    codec = r.one("none", "snappy", "gzip", "zstd", "lz4", "brotli")
    kw: Dict[str, Any] = {"compression": codec, "data_page_version": r.one("1.0", "2.0")}
    kw["row_group_size"] = int(r.one(7, 100, 10**6))
    kw["use_dictionary"] = r.chance(0.5)
    kw["data_page_size"] = int(r.one(64, 1000, 1 << 20))
    kw["write_batch_size"] = int(r.one(8, 1024))
    kw["write_page_index"] = r.chance(0.3)
    kw["write_page_checksum"] = r.chance(0.3)
    kw["write_statistics"] = r.chance(0.7)
    kw["store_schema"] = r.chance(0.8)
    kw["version"] = r.one("1.0", "2.4", "2.6")
    if kw["version"] == "1.0":
        kw["coerce_timestamps"], kw["allow_truncated_timestamps"] = "us", True
    if not kw["use_dictionary"] and r.chance(0.5):
        flat = [(f.name, f.type) for f in t.schema if not pa.types.is_nested(f.type)]
        kw["column_encoding"] = {name: e for name, x in flat for e in [encoding(r, x)] if e}
    pq.write_table(t, path, **kw)


def encoding(r: Random, t: pa.DataType) -> str:
    if pa.types.is_integer(t):
        return str(r.one("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", ""))
    if pa.types.is_floating(t) or pa.types.is_fixed_size_binary(t):
        return str(r.one("BYTE_STREAM_SPLIT", ""))
    if pa.types.is_string(t) or pa.types.is_binary(t):
        return str(r.one("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", ""))
    return "RLE" if pa.types.is_boolean(t) and r.chance(0.5) else ""


def by_pandas(r: Random, n: int, path: str) -> None:
    t = table(r, n, True)
    keep = [f.name for f in t.schema if not (pa.types.is_float16(f.type) or pa.types.is_duration(f.type))]
    frame = t.select(keep).append_column("last", pa.array(range(n))).to_pandas()
    if r.chance(0.5):
        frame.index = frame.index * 3
    frame.to_parquet(path, compression=r.one("snappy", "gzip", "zstd", None), index=r.one(True, False, None))


def by_polars(r: Random, n: int, path: str) -> None:
    import polars as pl

    t = table(r, n, False)
    frame = pl.from_arrow(t)
    codec = r.one("uncompressed", "snappy", "gzip", "zstd", "lz4", "brotli")
    frame.write_parquet(path, compression=codec, row_group_size=int(r.one(50, 10**6)), statistics=r.chance(0.5))  # type: ignore


def by_duckdb(r: Random, n: int, path: str) -> None:
    import duckdb

    t = table(r, n, False)
    if "duration" in str(t.schema):  # becomes an interval, which pyarrow reads as bytes
        t = pa.table({"n": t.num_rows * [1]})
    con = duckdb.connect()
    con.register("t", t)
    codec, version = r.one("uncompressed", "snappy", "gzip", "zstd", "lz4_raw", "brotli"), r.one("V1", "V2")
    con.sql("copy t to '%s' (format parquet, codec '%s', parquet_version %s)" % (path, codec, version))


def by_fastparquet(r: Random, n: int, path: str) -> None:
    import fastparquet
    import pandas as pd

    columns: Dict[str, Any] = {"i": r.rng.integers(-5, 5, n), "f": r.rng.normal(size=n).astype("f4")}
    columns["s"] = [None if r.chance(0.2) else "t%d" % k for k in range(n)]
    columns["b"] = r.rng.random(n) < 0.5
    columns["t"] = pd.to_datetime(r.rng.integers(0, 10**15, n), unit="us")
    frame = pd.DataFrame({k: columns[k] for k in columns if r.chance(0.7)} or {"i": columns["i"]})
    groups = list(range(0, max(n, 1), int(r.one(13, 10**6))))
    fastparquet.write(
        path, frame, compression=r.one("SNAPPY", "GZIP", "ZSTD", "UNCOMPRESSED"), row_group_offsets=groups
    )


WRITERS: Dict[str, Writer] = {"pyarrow": by_pyarrow, "pandas": by_pandas, "polars": by_polars, "duckdb": by_duckdb}
WRITERS["fastparquet"] = by_fastparquet


def convert(path: str, out: str, flags: List[str]) -> Tuple[int, str]:
    shutil.rmtree(out, ignore_errors=True)
    command = [BINARY, "convert", path, "-o", out, "--format", "mmap", "--quiet", "--sync", "none"] + flags
    p = subprocess.run(command, capture_output=True, text=True)
    return p.returncode, p.stderr


def columns(out: str) -> Dict[str, Leaf]:
    """Of every field the values, lengths and validity of all shards."""
    with open(os.path.join(out, "shardify.json")) as f:
        manifest = json.load(f)
    got: Dict[str, List[Any]] = {}
    for shard in manifest["shards"]:
        path = os.path.join(out, shard["name"])
        with open(path, "rb") as f:
            raw = f.read()
        n = int.from_bytes(raw[:8], "little")
        head = json.loads(raw[8 : 8 + n])

        def tensor(name: str, raw: bytes = raw, head: Dict[str, Any] = head, n: int = n) -> np.ndarray:
            t = head[name]
            lo, hi = t["data_offsets"]
            return np.frombuffer(raw[8 + n + lo : 8 + n + hi], TENSORS[t["dtype"]]).reshape(t["shape"])

        for e in manifest["schema"]:
            name, levels = e["name"], e.get("levels", 0)
            values = tensor(name + "#values" if levels else name)
            lengths = [np.diff(tensor(e.get("counter", name) + "#offsets"))] if levels else []
            if levels == 2:
                lengths.append(np.diff(tensor(name + "#offsets1")))
            valid = tensor(name + "#valid") if name + "#valid" in head else None
            got.setdefault(name, []).append((values, lengths, valid, shard["samples"]))
    return {name: join(parts) for name, parts in got.items()}


def join(parts: List[Any]) -> Leaf:
    valid = None
    if any(p[2] is not None for p in parts):
        valid = np.concatenate([np.ones(p[3], "u1") if p[2] is None else p[2].astype("u1") for p in parts])
        if valid.all():
            valid = None
    lengths = [np.concatenate(x) for x in zip(*(p[1] for p in parts))]
    return Leaf(np.concatenate([p[0] for p in parts]), lengths, valid)


def same(name: str, want: Leaf, got: Leaf) -> int:
    v, w = np.ascontiguousarray(want.values), np.ascontiguousarray(got.values)
    kind = "%s is %s %s, want %s %s" % (name, w.dtype, w.shape, v.dtype, v.shape)
    assert v.dtype == w.dtype.newbyteorder("=") and v.shape == w.shape, kind
    assert v.tobytes() == w.tobytes(), name + ": values"
    assert len(want.lengths) == len(got.lengths), "%s: %d levels" % (name, len(got.lengths))
    for x, y in zip(want.lengths, got.lengths):
        assert np.array_equal(x, y), name + ": lengths"
    assert (want.valid is None) == (got.valid is None), name + ": missing values on one side"
    assert want.valid is None or np.array_equal(want.valid, got.valid), name + ": missing values"
    return int(v.size)


def differ(r: Random, path: str, out: str) -> Tuple[int, int]:
    t = pq.ParquetFile(path).read()
    flatten = Flatten(False)
    flags = ["--shard-samples", str(r.one(11, 500)), "--jobs", str(r.one(1, 2))]
    try:
        want = flatten.table(t)
    except Refused as e:
        code, err = convert(path, out, flags)
        assert code != 0 and "an item of a list is missing" in err, "%s is missing in a list: %d %s" % (e, code, err)
        flatten = Flatten(True)
        want = flatten.table(t)
        flags += ["--null-items", "fill"]
    code, err = convert(path, out, flags)
    if not want:
        assert code != 0, "nothing to read, and it was read"
        return 0, 0
    assert code == 0, "exit code %d: %s" % (code, err.strip()[-500:])
    got = columns(out)
    assert set(want) == set(got), "fields %s, want %s" % (sorted(got), sorted(want))
    return len(want), sum(same(name, want[name], got[name]) for name in want)


def rounds(writer: str) -> str:
    if shutil.which(BINARY) is None:
        raise Skip("SHARDIFY names no program")
    os.makedirs(WORK, exist_ok=True)
    fields = values = unmade = 0
    for k in range(FIRST, FIRST + ROUNDS):
        r = Random(np.random.default_rng([SEED, k, len(writer)]))
        path, out = os.path.join(WORK, writer + ".parquet"), os.path.join(WORK, "out-" + writer)
        try:
            WRITERS[writer](r, int(r.one(1, 3, 40, 300)), path)
            pq.ParquetFile(path).read()
        except ImportError as e:
            raise Skip(str(e)) from None
        except Exception:  # it writes no such thing, or pyarrow does not read what it wrote
            unmade += 1
            continue
        try:
            n, v = differ(r, path, out)
        except AssertionError as e:
            raise AssertionError("round %d of seed %d, %s: %s" % (k, SEED, path, e)) from None
        fields, values = fields + n, values + v
    return "%d files of %s, %d fields, %d values: no difference; %d not made" % (
        ROUNDS - unmade,
        writer,
        fields,
        values,
        unmade,
    )


if __name__ == "__main__":
    main([(name, lambda name=name: rounds(name)) for name in WRITERS])  # type: ignore
