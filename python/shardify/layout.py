"""The header of an mmap shard: one safetensors file, held to docs/reference/format.md section 3."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import Any, Dict, Mapping, Sequence, Tuple

from . import xxh3
from .errors import CorruptError, SchemaError, corrupt
from .manifest import Shard, strict_json
from .schema import DTYPES, KEY_FIELD, Field, parse_schema

PAGE = 4096
MAX_HEADER = 32 << 20
_TENSOR_BYTES = {tensor: int(numpy[-1]) for numpy, tensor in DTYPES.values()}


@dataclass(frozen=True)
class Tensor:
    dtype: str  # as in safetensors: "F32"
    shape: Tuple[int, ...]
    offset: int  # in the file


def counter_of(f: Field) -> str:
    return f.counter or f.name


def read_header(path: str, buf: Any, shard: Shard, fields: Sequence[Field], keyed: bool) -> Dict[str, Tensor]:
    """All tensors of a shard, checked against each other, the schema and the file's size."""
    size = len(buf)
    if size < 8:
        raise corrupt(path, "%d bytes are not a safetensors file" % size, offset=0)
    n = int.from_bytes(buf[:8], "little")
    if n > MAX_HEADER or 8 + n > size:
        raise corrupt(path, "the header claims %d bytes, the file has %d" % (n, size), offset=0)
    if (8 + n) % PAGE:
        raise corrupt(path, "the data begin at %d, no multiple of %d" % (8 + n, PAGE), offset=0)
    head = bytes(buf[: 8 + n])
    _check_digest(path, head, shard.digest)
    try:
        raw = strict_json(head[8:])
        meta = raw.pop("__metadata__")
        tensors = {name: _tensor(name, t, 8 + n) for name, t in raw.items()}
        _check_metadata(meta, shard, fields)
    except CorruptError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise corrupt(path, "header: %s: %s" % (type(e).__name__, e), offset=8) from None
    _check_places(path, tensors, 8 + n, size)
    _check_schema(path, tensors, shard.samples, fields, keyed)
    return tensors


def _check_digest(path: str, head: bytes, digest: str) -> None:
    kind, _, want = digest.partition(":")
    if kind != "xxh3":
        return  # another kind is for `shardify verify`
    got = xxh3.hexdigest(head)
    if got != want:
        raise corrupt(path, "xxh3 of the header is %s, the manifest says %s" % (got, want), offset=0)


def _tensor(name: str, t: Mapping[str, Any], base: int) -> Tensor:
    shape, (lo, hi), dtype = t["shape"], t["data_offsets"], t["dtype"]
    numbers = list(shape) + [lo, hi]
    if any(type(d) is not int or not 0 <= d < 1 << 63 for d in numbers):
        raise ValueError("tensor %s: shape %r, data_offsets [%r, %r]" % (name, shape, lo, hi))
    if dtype not in _TENSOR_BYTES:
        raise ValueError("tensor %s: dtype %r" % (name, dtype))
    want = prod(shape) * _TENSOR_BYTES[dtype]
    if hi - lo != want:
        raise ValueError("tensor %s: %d bytes for %s %r" % (name, hi - lo, dtype, shape))
    return Tensor(dtype, tuple(shape), base + lo)


def _check_metadata(meta: Mapping[str, str], shard: Shard, fields: Sequence[Field]) -> None:
    if meta["shardify"] != "1":
        raise ValueError("version %r of the layout" % meta["shardify"])
    if meta["shardify.samples"] != str(shard.samples):
        raise ValueError("%s samples, the manifest says %d" % (meta["shardify.samples"], shard.samples))
    if parse_schema(json.loads(meta["shardify.schema"])) != tuple(fields):
        raise SchemaError("the schema differs from the manifest's")


def _check_places(path: str, tensors: Mapping[str, Tensor], base: int, size: int) -> None:
    """Back to back from the end of the header to the end of the file, aligned."""
    end = base
    for name, t in sorted(tensors.items(), key=lambda i: (i[1].offset, prod(i[1].shape))):
        if t.offset != end:
            raise corrupt(path, "begins at %d, the one before ends at %d" % (t.offset, end), object=name)
        item = _TENSOR_BYTES[t.dtype]
        if t.offset % item:
            raise corrupt(path, "not aligned", object=name, offset=t.offset)
        end += prod(t.shape) * item
    if end != size:
        raise corrupt(path, "the tensors end at %d, the file at %d" % (end, size), offset=min(end, size))


def _check_schema(path: str, tensors: Mapping[str, Tensor], samples: int, fields: Sequence[Field], keyed: bool) -> None:
    def need(name: str, dtype: str, shape: Tuple[int, ...]) -> Tensor:
        t = tensors.get(name)
        if t is None:
            raise corrupt(path, "the tensor is missing", object=name)
        same = len(t.shape) == len(shape) and all(w in (-1, d) for w, d in zip(shape, t.shape))
        if t.dtype != dtype or not same:
            raise corrupt(path, "is %s %r, the schema says %s %r" % (t.dtype, t.shape, dtype, shape), object=name)
        return t

    for f in tuple(fields) + ((KEY_FIELD,) if keyed else ()):
        dtype = DTYPES[f.dtype][1]
        if f.levels == 0:
            need(f.name, dtype, (samples,) + f.shape)
        else:
            need(f.name + "#values", dtype, (-1,) + f.shape)
            need(counter_of(f) + "#offsets", "I64", (samples + 1,))
        if f.levels == 2 and need(f.name + "#offsets1", "I64", (-1,)).shape[0] < 1:
            raise corrupt(path, "is empty", object=f.name + "#offsets1")
        if f.nullable:
            need(f.name + "#valid", "BOOL", (samples,))
