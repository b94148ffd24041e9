"""Makes the files of this folder, and what pyarrow reads in them as NAME.json.

    python3 make.py     needs pyarrow, pandas, polars, duckdb, fastparquet
"""
import datetime as dt
import decimal
import json
import os
import sys
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "python", "tests", "peers"))
import parquet_expect  # noqa: E402

os.chdir(HERE)
rng = np.random.default_rng(5)
made = []


def save(name, table, **kw):
    pq.write_table(table, name, **kw)
    made.append(name)


def holes(values, every=5):
    return [None if i % every == 3 else v for i, v in enumerate(values)]


def flat(n):
    t = {}
    for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split():
        info = np.iinfo(name)
        v = rng.integers(info.min, info.max, n, dtype=name, endpoint=True)
        t[name] = pa.array(v)
        t[name + "_null"] = pa.array(holes(v.tolist()), t[name].type)
    for name, d in ("half", "f2"), ("float", "f4"), ("double", "f8"):
        v = rng.normal(size=n).astype(d)
        v[: 2] = np.nan, np.inf
        t[name] = pa.array(v)
        t[name + "_null"] = pa.array(holes(list(v)), t[name].type)
    t["bool"] = pa.array(rng.random(n) < 0.5)
    t["bool_null"] = pa.array(holes((rng.random(n) < 0.5).tolist()))
    words = ["", "a", "\u00e9t\u00e9", "long " * 20, "x"]
    t["text"] = pa.array([words[i % 5] for i in range(n)])
    t["text_null"] = pa.array(holes([words[i % 5] for i in range(n)]))
    t["bytes"] = pa.array([bytes([i % 256]) * (i % 4) for i in range(n)])
    t["fixed"] = pa.array([bytes([i % 256] * 7) for i in range(n)], pa.binary(7))
    t["same"] = pa.array([7] * n)
    t["none"] = pa.array([None] * n, pa.int32())
    t["null"] = pa.nulls(n)
    t["dict"] = pa.array([words[i % 3] for i in range(n)]).dictionary_encode()
    return pa.table(t)


def nested(n):
    def jag(k, f):
        return [[f(i, j) for j in range((i * k) % 4)] for i in range(n)]

    def lists(i, j):
        return [float(i + j + m) for m in range((i + j) % 3)]

    t = {
        "list": pa.array(jag(3, lambda i, j: i * 10 + j), pa.list_(pa.int32())),
        "list_null": pa.array(holes(jag(7, lambda i, j: i / (j + 1))), pa.list_(pa.float32())),
        "large": pa.array(jag(1, lambda i, j: j), pa.large_list(pa.int16())),
        "list_list": pa.array(jag(5, lists), pa.list_(pa.list_(pa.float64()))),
        "list_text": pa.array(jag(3, lambda i, j: "t%d" % (i * j)), pa.list_(pa.string())),
        "struct": pa.array([{"x": i, "y": {"z": str(i), "w": [i] * (i % 2)}} for i in range(n)]),
        "struct_null": pa.array(holes([{"x": i, "y": None if i % 2 else 1.5} for i in range(n)])),
        "jets": pa.array(jag(3, lambda i, j: {"pt": i + j, "name": "j%d" % j, "hits": lists(i, j)})),
        "jets_null": pa.array(holes(jag(3, lambda i, j: {"pt": i + j, "eta": 0.5}))),
        "map": pa.array([[("k%d" % j, j) for j in range(i % 3)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
        "map_null": pa.array(
            holes([[(j, j * 0.5) for j in range(i % 3)] for i in range(n)]), pa.map_(pa.int32(), pa.float64())
        ),
        "vec": pa.array([[i, i + 1, i + 2] for i in range(n)], pa.list_(pa.float32(), 3)),
        "vec_null": pa.array(holes([[i, i + 1] for i in range(n)]), pa.list_(pa.int8(), 2)),
        "mat": pa.array([[[i, 1], [2, 3], [4, 5]] for i in range(n)], pa.list_(pa.list_(pa.int32(), 2), 3)),
        "list_vec": pa.array(jag(3, lambda i, j: [i, j]), pa.list_(pa.list_(pa.float32(), 2))),
        "vec_text": pa.array([["a" * (i % 3), "b"] for i in range(n)], pa.list_(pa.string(), 2)),
        "deep": pa.array(jag(3, lambda i, j: [[i]]), pa.list_(pa.list_(pa.list_(pa.int32())))),
        "empty": pa.array([[] for _ in range(n)], pa.list_(pa.int64())),
    }
    return pa.table(t)


def logical(n):
    day = dt.date(2024, 2, 28)
    at = dt.datetime(1969, 12, 31, 23, 59, 59, 123456)
    step = dt.timedelta(days=1, seconds=1)
    dec = decimal.Decimal
    t = {
        "date": pa.array([day + i * dt.timedelta(days=1) for i in range(n)]),
        "date_null": pa.array(holes([day] * n)),
        "ms": pa.array([at + i * step for i in range(n)], pa.timestamp("ms")),
        "us": pa.array([at + i * step for i in range(n)], pa.timestamp("us", "UTC")),
        "ns": pa.array([at + i * step for i in range(n)], pa.timestamp("ns")),
        "time_ms": pa.array([dt.time(i % 24, 1, 2) for i in range(n)], pa.time32("ms")),
        "time_us": pa.array([dt.time(i % 24, 1, 2, 7) for i in range(n)], pa.time64("us")),
        "time_ns": pa.array([dt.time(i % 24, 1, 2, 7) for i in range(n)], pa.time64("ns")),
        "duration": pa.array([i * step for i in range(n)], pa.duration("us")),
        "dec5": pa.array([dec(i - 5) / 100 for i in range(n)], pa.decimal128(5, 2)),
        "dec18": pa.array(holes([dec(10) ** 15 - i for i in range(n)]), pa.decimal128(18, 1)),
        "dec38": pa.array([dec("-0.00012") * i for i in range(n)], pa.decimal128(38, 6)),
        "dec76": pa.array(holes([dec(10) ** 50 * (i - 3) for i in range(n)]), pa.decimal256(76, 3)),
        "uuid": pa.array([uuid.UUID(int=i * 12345).bytes for i in range(n)], pa.uuid()),
        "json": pa.array(['{"a":%d}' % i for i in range(n)], pa.json_(pa.string())),
    }
    return pa.table(t)


N = 60
F, L, G = flat(N), nested(N), logical(N)
save("flat.parquet", F, row_group_size=25)
save("flat-v2-plain.parquet", F, use_dictionary=False, data_page_version="2.0", compression="none")
save("nested.parquet", L, row_group_size=25)
save("nested-v2.parquet", L, data_page_version="2.0", write_page_checksum=True, compression="zstd")
save("logical.parquet", G)
save("logical-plain.parquet", G, use_dictionary=False, store_decimal_as_integer=True)
save("int96.parquet", G.select(["us", "ns"]), use_deprecated_int96_timestamps=True)

few = ["int32", "int64_null", "float", "double_null", "text_null", "bool"]
for codec in "none", "snappy", "gzip", "brotli", "zstd", "lz4":
    c = pa.concat_tables([F.select(few)] * 4)
    save("codec-%s.parquet" % codec, c, compression=codec, use_dictionary=["text_null"], write_page_checksum=codec != "gzip")

D = F.select([c for c in F.column_names if c not in ("null", "dict")])
delta = {c: "DELTA_BINARY_PACKED" for c in D.column_names if "int" in c or c in ("same", "none")}
delta.update({"text": "DELTA_LENGTH_BYTE_ARRAY", "text_null": "DELTA_BYTE_ARRAY", "bytes": "DELTA_BYTE_ARRAY"})
delta.update({c: "BYTE_STREAM_SPLIT" for c in D.column_names if c.startswith(("float", "double", "half", "fixed"))})
delta.update({"bool": "RLE", "bool_null": "RLE"})
save("encodings.parquet", D, use_dictionary=False, column_encoding=delta)
save("encodings-v2.parquet", D, use_dictionary=False, column_encoding=delta, data_page_version="2.0")
split = {c: "BYTE_STREAM_SPLIT" for c in ("int32", "int64", "uint8_null", "uint64_null")}
save("split-ints.parquet", D.select(list(split)), use_dictionary=False, column_encoding=split)

# Many pages in a row group, which end elsewhere in every column.
P = pa.table({
    "i": np.arange(900),
    "t": ["%d" % i * (i % 5) for i in range(900)],
    "l": [[i] * (i % 4) for i in range(900)],
    "n": pa.array([None if i % 7 == 0 else i / 2 for i in range(900)]),
    "ll": [[[i], [i, j]] if j % 3 else [] for j, i in enumerate(range(900))],
})
for name, kw in ("pages", {}), ("pages-index", {"write_page_index": True}), ("pages-v2", {"data_page_version": "2.0"}):
    save(name + ".parquet", P, data_page_size=200, write_batch_size=16, dictionary_pagesize_limit=300, **kw)

jpg, png = b"\xff\xd8\xff\xe0" + bytes(20), b"\x89PNG\r\n\x1a\n" + bytes(9)
image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
hf = {"info": {"features": {"image": {"_type": "Image"}, "label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
I = pa.table({
    "image": pa.array([{"bytes": jpg + bytes([i]), "path": "%d.jpg" % i if i % 2 else None} for i in range(10)], image),
    "label": pa.array([i % 2 for i in range(10)]),
    "mixed": pa.array([jpg, png] * 5),
    "png": pa.array([png] * 5 + [None] * 5),
}).replace_schema_metadata({"huggingface": json.dumps(hf)})
save("images.parquet", I)
# Images that their EXIF tag turns, three of eight, in row groups of 16.
tagged = [open(os.path.join(HERE, "..", "..", "..", "images", "exif", "testdata", "%d.png" % (i % 8 + 1)), "rb").read() if i % 8 in (0, 1, 5, 6) else png + bytes([i, 0]) for i in range(128)]
T = pa.table({"image": pa.array([None if i % 16 == 3 else t for i, t in enumerate(tagged)])})
save("turned.parquet", T, row_group_size=16)
save("turned-plain.parquet", T, row_group_size=16, use_dictionary=False, compression="zstd", data_page_version="2.0")
save("empty.parquet", F.slice(0, 0))
save("holes.parquet", pa.table({
    "f": pa.array([[1.0, None], None, [], [2.0]], pa.list_(pa.float64())),
    "i": pa.array([[1, None], None, [], [2]], pa.list_(pa.int32())),
    "t": pa.array([["a", None], None, [], ["b"]]),
    "ll": pa.array([[[1.0], None], None, [], [[2.0]]], pa.list_(pa.list_(pa.float32()))),
}))

import duckdb  # noqa: E402
import fastparquet  # noqa: E402
import pandas as pd  # noqa: E402
import polars as pl  # noqa: E402

frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, np.nan, 2]}, index=[10, 20, 30])
frame.to_parquet("pandas.parquet")
fastparquet.write("fastparquet.parquet", frame, compression="SNAPPY")
pl.DataFrame({
    "a": range(50), "s": ["q%d" % (i % 6) for i in range(50)], "l": [[i, i + 1][: i % 3] for i in range(50)],
    "arr": pl.Series([[i, 1, 2] for i in range(50)], dtype=pl.Array(pl.Int16, 3)),
    "st": [{"u": i, "v": None if i % 4 else "v"} for i in range(50)],
    "cat": pl.Series(["c%d" % (i % 3) for i in range(50)], dtype=pl.Categorical),
}).write_parquet("polars.parquet", row_group_size=20)
duckdb.sql(
    "copy (select i, i::varchar as t, [i, i+1] as l, {'p': i, 'q': [i::double]} as s, i::decimal(9,2) as d, "
    "uuid() as u, current_date as dd, i % 2 = 0 as b, map([i],[i*2]) as m, "
    "case when i % 3 = 0 then null else i::utinyint end as n from range(50) r(i)) "
    "to 'duckdb.parquet' (format parquet, codec 'zstd')"
)
made += ["pandas.parquet", "fastparquet.parquet", "polars.parquet", "duckdb.parquet"]

# Like a part of flat.parquet in which the column "null" has values after all.
save("null-typed.parquet", pa.table({"null": pa.array(range(5), pa.int16()), "text": ["t%d" % i for i in range(5)]}))

try:
    import pyarrow.parquet.encryption as pe

    class KMS(pe.KmsClient):
        def wrap_key(self, key, master):
            import base64
            return base64.b64encode(key)

        def unwrap_key(self, key, master):
            import base64
            return base64.b64decode(key)

    def encrypt(name, footer):
        config = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["int32"]}, plaintext_footer=not footer)
        factory = pe.CryptoFactory(lambda c: KMS())
        props = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
        with pq.ParquetWriter(name, F.select(["int32", "text"]).schema, encryption_properties=props) as w:
            w.write_table(F.select(["int32", "text"]))

    encrypt("encrypted-footer.parquet", True)
    encrypt("encrypted-column.parquet", False)
except ImportError as e:
    print("no encrypted files:", e)

for name in made:
    fill = name == "holes.parquet"
    with open(name.replace(".parquet", ".json"), "w") as f:
        json.dump(parquet_expect.document(name, fill), f, separators=(",", ":"))
        f.write("\n")
