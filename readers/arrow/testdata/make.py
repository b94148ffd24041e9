"""Writes the files of this folder, and beside each what pyarrow reads in it: pyarrow 26, polars 2.1.

Values are numbers (of floats, their bits), texts as they are, bytes in hexadecimal, lists, and null for what is missing.
"""

import datetime as dt
import decimal
import json
import os
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather

HERE = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))


def bits(v, t):
    if v is None:
        return None
    if pa.types.is_dictionary(t):
        return bits(v, t.value_type)
    if pa.types.is_floating(t):
        kind = {16: ("f2", "u2"), 32: ("f4", "u4"), 64: ("f8", "u8")}[t.bit_width]
        return int(np.array([v], kind[0]).view(kind[1])[0])
    if pa.types.is_decimal(t) and t.precision > 18:
        return format(v, "f")
    if pa.types.is_decimal(t):
        return int(v.scaleb(t.scale, decimal.Context(prec=60)))
    if isinstance(v, (bytes, bytearray)):
        return list(v) if pa.types.is_fixed_size_binary(t) else v.hex()
    return v


def column(a, t):
    if pa.types.is_fixed_size_list(t) and pa.types.is_fixed_size_list(t.value_type):
        return [None if x is None else [bits(z, t.value_type.value_type) for y in x for z in y] for x in a]
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return [None if x is None else column(x, t.value_type) for x in a]
    return [bits(x, t) for x in a]


def plain(chunked):
    t = chunked.type
    if pa.types.is_temporal(t):
        kind = pa.int32() if t.bit_width == 32 else pa.int64()
        return pa.chunked_array([c.view(kind) for c in chunked.chunks], kind)
    return chunked


def fields(name, a, out):
    """Flattens structs, and lists of them."""
    t = a.type
    if pa.types.is_struct(t):
        for i in range(t.num_fields):
            fields(name + "." + t.field(i).name, pa.chunked_array([c.flatten()[i] for c in a.chunks], t.field(i).type), out)
    elif pa.types.is_map(t) or pa.types.is_list(t) and pa.types.is_struct(t.value_type):
        item = t.value_type if not pa.types.is_map(t) else pa.struct([("key", t.key_type), ("value", t.item_type)])
        for f in item:
            rows = [None if x is None else [dict(y)[f.name] if isinstance(y, dict) else y[["key", "value"].index(f.name)] for y in x] for x in a.to_pylist()]
            out[name + "." + f.name] = [None if x is None else [bits(y, f.type) for y in x] for x in rows]
    else:
        out[name] = column(plain(a).to_pylist(), plain(a).type)


def expect(name, table):
    out = {}
    for n, a in zip(table.column_names, table.columns):
        if not pa.types.is_null(a.type):
            fields(n, a, out)
    with open(os.path.join(HERE, name + ".json"), "w") as f:
        json.dump(out, f, separators=(",", ":"))


def table(rng, n):
    def holes(values):
        return [None if rng.random() < 0.2 else v for v in values]

    words = ["", "a", "ünï", "a text of more than twelve bytes", "x" * 12]
    pick = lambda: [words[i] for i in rng.integers(0, len(words), n)]
    ints = lambda: rng.integers(-100, 100, n).tolist()
    lists = lambda: [rng.integers(0, 9, k).tolist() for k in rng.integers(0, 4, n)]
    cols = {f"{k}": pa.array(np.abs(rng.integers(0, 100, n)), k) for k in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")}
    cols["f16"] = pa.array(rng.normal(size=n).astype("f2"))
    cols["f32"] = pa.array(holes(rng.normal(size=n).astype("f4").tolist()), pa.float32())
    cols["f64"] = pa.array(holes(rng.normal(size=n).tolist()))
    cols["bool"] = pa.array(holes((rng.random(n) < 0.5).tolist()))
    cols["hole"] = pa.array(holes(ints()), pa.int64())
    cols["text"] = pa.array(holes(pick()))
    cols["large"] = pa.array(holes(pick()), pa.large_string())
    cols["view"] = pa.array(holes(pick()), pa.string_view())
    cols["bytes"] = pa.array([w.encode() for w in pick()])
    cols["bview"] = pa.array([w.encode() for w in pick()], pa.binary_view())
    cols["fixed"] = pa.array([b"abc"] * n, pa.binary(3))
    cols["cat"] = pa.array(holes(pick())).dictionary_encode()
    cols["codes"] = pa.array(ints(), pa.int16()).dictionary_encode()
    cols["day"] = pa.array(holes([dt.date(2024, 1, 1 + i % 28) for i in range(n)]))
    cols["time"] = pa.array([dt.datetime(2024, 1, 1, i % 24) for i in range(n)], pa.timestamp("us", "UTC"))
    cols["hour"] = pa.array([1000 * i for i in range(n)], pa.int32()).cast(pa.time32("ms"))
    cols["span"] = pa.array(ints(), pa.int64()).cast(pa.duration("ns"))
    cols["money"] = pa.array(holes([decimal.Decimal(int(i)).scaleb(-2) for i in ints()]), pa.decimal128(9, 2))
    cols["list"] = pa.array(holes(lists()), pa.list_(pa.int32()))
    cols["llist"] = pa.array(lists(), pa.large_list(pa.float32()))
    cols["vec"] = pa.array([[i, i + 1, i + 2] for i in range(n)], pa.list_(pa.float32(), 3))
    cols["words"] = pa.array([[words[i] for i in x[:3]] if max(x + [0]) < 5 else [] for x in lists()], pa.list_(pa.string()))
    cols["deep"] = pa.array([[y, y[:1]] for y in lists()], pa.list_(pa.list_(pa.int16())))
    cols["s"] = pa.array(holes([{"x": int(i), "t": {"y": float(i)}} for i in range(n)]), pa.struct([("x", pa.int32()), ("t", pa.struct([("y", pa.float64())]))]))
    cols["hits"] = pa.array([[{"t": float(y), "c": y} for y in x] for x in lists()], pa.list_(pa.struct([("t", pa.float32()), ("c", pa.int64())])))
    cols["map"] = pa.array([[(w, 1) for w in words[: int(k)]] for k in rng.integers(0, 4, n)], pa.map_(pa.string(), pa.int32()))
    cols["nothing"] = pa.nulls(n)
    return pa.table(cols)


def main():
    rng = np.random.default_rng(4)
    for packing in ("uncompressed", "lz4", "zstd"):
        t = table(rng, 60)
        name = f"types_{packing}.feather"
        feather.write_feather(t, os.path.join(HERE, name), compression=packing, chunksize=25)
        expect(name, feather.read_table(os.path.join(HERE, name)))
    t = table(rng, 40)
    with pa.ipc.new_stream(os.path.join(HERE, "stream.arrows"), t.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as w:
        w.write_table(t.slice(3), max_chunksize=11)
    expect("stream.arrows", t.slice(3))
    cats = [pa.array(["a", "b"]), pa.array(["a", "b", "c"]), pa.array(["z"])]
    batches = [pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(i, pa.int8()), c)], ["c"]) for i, c in zip(([0, 1, 0], [2, 1], [0, 0]), cats)]
    with pa.ipc.new_stream(os.path.join(HERE, "deltas.arrows"), batches[0].schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
        for b in batches:
            w.write_batch(b)
    with open(os.path.join(HERE, "deltas.arrows.json"), "w") as f:
        json.dump({"c": ["a", "b", "a", "c", "b", "z", "z"]}, f)
    batches = [pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(i, pa.int8()), pa.array(range(n), pa.int64()))], ["c"]) for i, n in zip(([0, 99], [100, 103], [104, 107]), (100, 104, 108))]
    with pa.ipc.new_stream(os.path.join(HERE, "delta_numbers.arrows"), batches[0].schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True, compression="zstd")) as w:
        for b in batches:
            w.write_batch(b)
    with open(os.path.join(HERE, "delta_numbers.arrows.json"), "w") as f:
        json.dump({"c": [0, 99, 100, 103, 104, 107]}, f)
    big = pa.table({"x": np.tile(np.arange(5000), 6), "t": pa.array([f"word {i % 7}" for i in range(30000)])})
    feather.write_feather(big, os.path.join(HERE, "blocks.feather"), compression="lz4", chunksize=30000)
    expect("blocks.feather", big.slice(0, 0))
    inside = [{"x": [i, i + 1] if i % 3 else None, "y": None if i % 4 == 0 else f"t{i}"} for i in range(20)]
    t = pa.table({"s": pa.array(inside, pa.struct([("x", pa.list_(pa.int32())), ("y", pa.string())]))})
    feather.write_feather(t, os.path.join(HERE, "lists_in_structs.feather"), compression="uncompressed", chunksize=7)
    expect("lists_in_structs.feather", t)
    frame = pl.DataFrame({"id": range(50), "t": [None if i % 7 == 0 else "text " * (i % 5) for i in range(50)], "l": [[i] * (i % 3) for i in range(50)]})
    frame = frame.with_columns(pl.col("t").cast(pl.Categorical).alias("c"))
    frame.write_ipc(os.path.join(HERE, "polars.arrow"))
    expect("polars.arrow", pa.ipc.open_file(os.path.join(HERE, "polars.arrow")).read_all())
    rows = [None if i % 5 == 2 else [i, -i] for i in range(23)]
    long = [None if i % 7 == 3 else decimal.Decimal((-1) ** i * 7**i * 10**5 + i).scaleb(-5) for i in range(23)]
    t = pa.table({
        "x": pa.array(rows, pa.list_(pa.float32(), 2)),
        "b": pa.array([None if r is None else [True, r[0] > 4] for r in rows], pa.list_(pa.bool_(), 2)),
        "xx": pa.array([None if r is None else [r, r, r[::-1]] for r in rows], pa.list_(pa.list_(pa.int16(), 2), 3)),
        "s": pa.array([None if i % 3 == 1 else {"x": r} for i, r in enumerate(rows)], pa.struct([("x", pa.list_(pa.int64(), 2))])),
        "d": pa.array(long, pa.decimal128(38, 5)),
        "dd": pa.array(long, pa.decimal256(76, 5)),
        "cat": pa.array(long, pa.decimal128(38, 5)).dictionary_encode(),
        "dl": pa.array([None if i % 4 == 0 else [x for x in long[: i % 3] if x is not None] for i in range(23)], pa.list_(pa.decimal128(38, 5))),
    })
    for packing in ("uncompressed", "zstd"):
        feather.write_feather(t, os.path.join(HERE, f"missing_{packing}.feather"), compression=packing, chunksize=9)
        expect(f"missing_{packing}.feather", t)
    raw = pa.array([b"a", b"\xff\x41", None, b""], pa.binary())
    feather.write_feather(pa.table({"s": pa.Array.from_buffers(pa.string(), 4, raw.buffers(), null_count=1)}), os.path.join(HERE, "not_utf8.feather"), compression="uncompressed")


main()
