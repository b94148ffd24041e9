"""The fields that a table read by pyarrow must become.

python3 parquet_expect.py FILE.parquet...     writes FILE.json beside each, for the tests in Go
"""

from __future__ import annotations

import base64
import json
import os
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

NAMES = {"?": "bool", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16", "u4": "u32"}
NAMES.update({"u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64"})


@dataclass
class Leaf:
    """values of the elements, lengths of the lists by level, and which samples have a value."""

    values: np.ndarray
    lengths: List[np.ndarray]
    valid: Optional[np.ndarray]

    def dtype(self) -> str:
        return NAMES[self.values.dtype.str[1:]] if self.values.dtype.kind != "b" else "bool"


class Refused(Exception):
    """No field can express it."""


class Flatten:
    """fill: missing items of lists become NaN, 0 or empty; else they are refused."""

    def __init__(self, fill: bool = False) -> None:
        self.fill = fill
        self.out: Dict[str, Leaf] = {}
        self.left: Dict[str, str] = {}

    def table(self, t: pa.Table) -> Dict[str, Leaf]:
        for name, column in zip(t.column_names, t.columns):
            self.array(plain(name), whole(column), None, [])
        return self.out

    def array(self, name: str, a: pa.Array, valid: Optional[np.ndarray], lengths: List[np.ndarray]) -> None:
        t = a.type
        if isinstance(t, pa.BaseExtensionType):
            return self.array(name, a.storage, valid, lengths)
        if pa.types.is_dictionary(t):
            return self.array(name, a.dictionary_decode(), valid, lengths)
        if pa.types.is_struct(t):
            if lengths and a.null_count and not self.fill:
                raise Refused(name)
            for i in range(t.num_fields):
                child = a.flatten()[i]
                self.array(name + "." + plain_part(t.field(i).name), child, valid, lengths)
            return
        if pa.types.is_map(t) or pa.types.is_list(t) or pa.types.is_large_list(t):
            return self.lists(name, a, valid, lengths)
        if pa.types.is_fixed_size_list(t):
            members = self.members(name, a)
            if members is not None:
                for part, m in members:
                    self.array(name + "." + part, m, valid, lengths)
                return
            if numeric(t):
                return self.leaf(name, a, valid, lengths)
            return self.lists(name, a.cast(pa.list_(t.value_field)), valid, lengths)
        if pa.types.is_null(t):
            self.left[name] = "nothing but missing values"
            return
        self.leaf(name, a, valid, lengths)

    def members(self, name: str, a: pa.Array) -> Optional[List[Tuple[str, pa.Array]]]:
        """A fixed-size list of structs, at any depth, is one list of each member."""
        t, size = a.type, a.type.list_size
        items = a.values[a.offset * size : (a.offset + len(a)) * size]
        there = np.repeat(np.asarray(a.is_valid()), size)
        if pa.types.is_struct(t.value_type):
            parts = [(plain_part(f.name), child) for f, child in zip(t.value_type, items.flatten())]
        elif pa.types.is_fixed_size_list(t.value_type):
            inner = self.members(name, items)
            if inner is None:
                return None
            parts = inner
        else:
            return None
        if (np.asarray(items.is_null()) & there).any() and not self.fill:
            raise Refused(name)
        return [(k, pa.FixedSizeListArray.from_arrays(x, size, mask=pc.is_null(a))) for k, x in parts]

    def lists(self, name: str, a: pa.Array, valid: Optional[np.ndarray], lengths: List[np.ndarray]) -> None:
        if lengths:
            self.no_holes(name, a)
        else:
            valid = present(a)
        n = lengths_of(a)
        if pa.types.is_map(a.type):
            # Of the offsets alone, since keys and items know nothing of missing maps.
            lists = [
                pa.ListArray.from_arrays(a.offsets, x, mask=pc.is_null(a) if a.null_count else None)
                for x in (a.keys, a.items)
            ]
            self.array(name + ".key", lists[0].flatten(), valid, lengths + [n])
            self.array(name + ".value", lists[1].flatten(), valid, lengths + [n])
            return
        self.array(name, a.flatten(), valid, lengths + [n])

    def no_holes(self, name: str, a: pa.Array) -> None:
        if a.null_count and not self.fill:
            raise Refused(name)

    def leaf(self, name: str, a: pa.Array, valid: Optional[np.ndarray], lengths: List[np.ndarray]) -> None:
        if lengths:
            self.no_holes(name, a)
        else:
            valid = present(a)
        hole = np.nan if lengths else 0
        values, shape = a, ()  # type: Tuple[pa.Array, Tuple[int, ...]]
        while pa.types.is_fixed_size_list(values.type):
            size = values.type.list_size
            shape += (size,)
            mask = np.repeat(~np.asarray(values.is_valid()), size)
            flat = values.values[values.offset * size : (values.offset + len(values)) * size]
            if flat.null_count > int(mask.sum()) and not self.fill:
                mine = np.asarray(flat.is_null()) & ~mask
                if mine.any():
                    raise Refused(name)
            if mask.any():
                flat = pc.if_else(pa.array(mask), pa.scalar(None, flat.type), flat)
            if not lengths and self.fill and flat.null_count > mask.sum():
                raise Refused(name)  # NaN for some and 0 for others: not made
            values = flat
        v, inner = numbers(values, hole)
        if inner is not None:
            if len(lengths) + 1 > 2:
                self.left[name] = "levels"
                return
            self.out[name] = Leaf(v, lengths + [inner], valid)
            return
        if len(lengths) > 2:
            self.left[name] = "levels"
            return
        self.out[name] = Leaf(v.reshape((len(a),) + shape + v.shape[1:]), lengths, valid)


def numeric(t: pa.DataType) -> bool:
    """A fixed-size list that is a shape."""
    while pa.types.is_fixed_size_list(t):
        t = t.value_type
    nested = pa.types.is_nested(t) or pa.types.is_dictionary(t)
    text = pa.types.is_string(t) or pa.types.is_binary(t) or pa.types.is_large_string(t) or pa.types.is_large_binary(t)
    return not (nested or text or pa.types.is_decimal(t) and t.precision > 18)


def plain(name: str) -> str:
    name = "".join("_" if c == "#" or ord(c) < 32 or ord(c) == 127 else c for c in name)
    if name.startswith("__"):
        name = "_" + name.lstrip("_")
    return name or "_"


def plain_part(name: str) -> str:
    return "".join("_" if c == "#" or ord(c) < 32 or ord(c) == 127 else c for c in name)


def whole(c: pa.ChunkedArray) -> pa.Array:
    a = c.combine_chunks()
    if isinstance(a, pa.ChunkedArray):
        a = a.chunk(0) if a.num_chunks else pa.array([], c.type)
    return a


def present(a: pa.Array) -> Optional[np.ndarray]:
    return np.asarray(a.is_valid()).astype("u1") if a.null_count else None


def lengths_of(a: pa.Array) -> np.ndarray:
    if pa.types.is_map(a.type):
        n = np.diff(np.asarray(a.offsets))
        return np.where(np.asarray(a.is_valid()), n, 0).astype("i8")
    return np.asarray(pc.fill_null(pc.list_value_length(a), 0)).astype("i8")


def text(parts: List[bytes]) -> Tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(parts), "u1"), np.array([len(x) for x in parts], "i8")


def numbers(a: pa.Array, hole: Any) -> Tuple[np.ndarray, Optional[np.ndarray]]:
    """Values with missing ones as hole or 0, and the lengths of texts."""
    t = a.type
    if isinstance(t, pa.BaseExtensionType):
        return numbers(a.storage, hole)
    if pa.types.is_dictionary(t):
        return numbers(a.dictionary_decode(), hole)
    if pa.types.is_decimal(t):
        if t.precision > 18:
            return text([b"" if x is None else format(x, "f").encode() for x in a.to_pylist()])
        return np.array([0 if x is None else int(x.scaleb(t.scale)) for x in a.to_pylist()], "i8"), None
    if pa.types.is_fixed_size_binary(t):
        w = t.byte_width
        raw = b"".join(bytes(w) if x is None else x for x in a.to_pylist())
        return np.frombuffer(raw, "u1").reshape(len(a), w), None
    if pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t):
        return text([b"" if x is None else x.encode() for x in a.to_pylist()])
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_binary_view(t):
        return text([b"" if x is None else x for x in a.to_pylist()])
    if pa.types.is_boolean(t):
        return np.array([bool(x) for x in a.to_pylist()], "?"), None
    if pa.types.is_date32(t) or pa.types.is_time32(t):
        a = a.cast(pa.int32()).cast(pa.int64())
    elif pa.types.is_temporal(t):
        a = a.cast(pa.int64())
    if not len(a):
        return np.empty(0, a.type.to_pandas_dtype()), None
    fill = pa.scalar(hole if pa.types.is_floating(a.type) else 0).cast(a.type) if a.null_count else None
    if fill is not None and pa.types.is_float16(a.type):
        return np.array([hole if x is None else x for x in a.to_pylist()], "f2"), None
    return np.asarray(a.fill_null(fill) if a.null_count else a), None


def read(path: str) -> pa.Table:
    """As it is in the file, without turning folders into columns."""
    return pq.ParquetFile(path).read()


def document(path: str, fill: bool = False) -> Dict[str, Any]:
    t = read(path)
    f = Flatten(fill)
    out: Dict[str, Any] = {"rows": t.num_rows, "fields": {}}
    for name, leaf in f.table(t).items():
        e: Dict[str, Any] = {"dtype": leaf.dtype(), "shape": list(leaf.values.shape[1:])}
        e["lengths"] = [x.tolist() for x in leaf.lengths]
        e["values"] = base64.b64encode(np.ascontiguousarray(leaf.values).tobytes()).decode()
        if leaf.valid is not None:
            e["valid"] = leaf.valid.tolist()
        out["fields"][name] = e
    out["left"] = f.left
    return out


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(os.path.splitext(path)[0] + ".json", "w") as f:
            json.dump(document(path), f, separators=(",", ":"))
            f.write("\n")
