"""Writes small data sets as docs/reference/format.md states them, with NumPy alone.

A second implementation of the layout: what it writes must be what the converter
writes, so a misreading of the page shows as a difference between the two.
"""

from __future__ import annotations

import io
import json
import os
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from shardify import xxh3
from shardify.schema import DTYPES

Schema = List[Dict[str, Any]]
Samples = List[Dict[str, Any]]
KEY_FIELD = {"name": "__key__", "dtype": "u8", "levels": 1, "media": "txt"}


def _crc_table() -> List[int]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_CRC = _crc_table()


def crc32c(data: bytes) -> int:
    c = 0xFFFFFFFF
    for b in data:
        c = _CRC[(c ^ b) & 255] ^ c >> 8
    return c ^ 0xFFFFFFFF


def numpy_dtype(f: Dict[str, Any]) -> np.dtype:
    return np.dtype(DTYPES[f["dtype"]][0])


def as_bytes(v: Any) -> bytes:
    return v.encode() if isinstance(v, str) else bytes(v)


def _column(f: Dict[str, Any], values: List[Any]) -> Dict[str, np.ndarray]:
    """The tensors of one field."""
    out = {}
    name, dtype, shape = f["name"], numpy_dtype(f), tuple(f.get("shape", ()))
    if f.get("nullable"):
        out[name + "#valid"] = np.array([v is not None for v in values])
    levels = f.get("levels", 0)
    if levels == 0:
        zero = np.zeros(shape, dtype)
        out[name] = np.array([zero if v is None else v for v in values], dtype).reshape((len(values),) + shape)
        return out
    if f.get("media"):
        lists = [[] if v is None else v for v in values] if levels == 2 else [[b"" if v is None else v] for v in values]
        flat = [np.frombuffer(as_bytes(t), "u1") for v in lists for t in v]
    elif levels == 2:
        lists = [[] if v is None else v for v in values]
        flat = [np.asarray(a, dtype) for v in lists for a in v]
    else:
        lists = [[np.zeros((0,) + shape, dtype) if v is None else v] for v in values]
        flat = [np.asarray(v[0], dtype).reshape((-1,) + shape) for v in lists]
    out[name + "#values"] = np.concatenate(flat + [np.empty((0,) + shape, dtype)])
    inner = np.cumsum([0] + [len(a) for a in flat]).astype("<i8")
    if levels == 2:
        out[name + "#offsets1"] = inner
        inner = np.cumsum([0] + [len(v) for v in lists]).astype("<i8")
    out[f.get("counter", name) + "#offsets"] = inner
    return out


def _tensor_dtype(schema: Schema, tensor: str, a: np.ndarray) -> str:
    field = tensor.split("#")[0]
    if "#" not in tensor or tensor.endswith("#values"):
        for f in schema:
            if f["name"] == field:
                return DTYPES[f["dtype"]][1]
    return {"|b1": "BOOL", "<i8": "I64", "|u1": "U8"}[a.dtype.str]


def _compact(v: Any) -> str:
    return json.dumps(v, separators=(",", ":"), ensure_ascii=False)


def mmap_bytes(schema: Schema, samples: Samples, keyed: bool) -> "tuple[bytes, int]":
    """A shard, and the length of its header."""
    tensors: Dict[str, np.ndarray] = {}
    for f in schema + ([KEY_FIELD] if keyed else []):
        tensors.update(_column(f, [s[f["name"]] for s in samples]))
    order = sorted(tensors, key=lambda n: (-tensors[n].dtype.itemsize, n.encode()))
    data = [tensors[n].tobytes() for n in order]
    meta = {
        "shardify": "1",
        "shardify.samples": str(len(samples)),
        "shardify.schema": _compact(schema),
        "shardify.crc32c": _compact({n: "%08x" % crc32c(d) for n, d in zip(order, data)}),
    }
    header, longest, end = {"__metadata__": meta}, len(_compact(meta)) + 64, 0
    for n, d in zip(order, data):
        entry = {"dtype": _tensor_dtype(schema + [KEY_FIELD], n, tensors[n]), "shape": list(tensors[n].shape)}
        header[n] = {**entry, "data_offsets": [end, end + len(d)]}
        longest += len(_compact({n: header[n]})) + 60
        end += len(d)
    text = _compact(header).encode()
    size = (8 + longest + 4095) // 4096 * 4096
    return (size - 8).to_bytes(8, "little") + text.ljust(size - 8) + b"".join(data), size


def npy(a: np.ndarray) -> bytes:
    b = io.BytesIO()
    np.lib.format.write_array(b, np.ascontiguousarray(a).reshape(np.shape(a)), (1, 0), allow_pickle=False)
    return b.getvalue()


def member(f: Dict[str, Any], ext: Optional[str] = None) -> str:
    name, media = f["name"], f.get("media", "")
    name = "".join(c if c in "abcdefghijklmnopqrstuvwxyz0123456789._" else "_" for c in name.lower())
    if media == "image":
        return (ext or "*") if name == "image" else name + "." + (ext or "*")
    if media and f["levels"] == 2:
        return name + ".json"
    if media:
        return media if name == media else name + "." + media
    return "cls" if name == "cls" and not f.get("shape") else name + ".npy"


def _content(f: Dict[str, Any], v: Any) -> bytes:
    if f.get("media") and f["levels"] == 2:
        return _compact(v).encode()  # null if missing
    if f.get("media"):
        return b"" if v is None else as_bytes(v)
    if member(f) == "cls":
        return b"%d" % v
    return npy(np.asarray(v, numpy_dtype(f)))


def _ext(schema: Schema, f: Dict[str, Any], s: Dict[str, Any]) -> Optional[str]:
    for c in schema:
        if c["name"] == f["name"] + ".ext":
            return c["attrs"]["labels"].split("\n")[s[c["name"]]]
    return None


def tar_header(name: str, size: int) -> bytes:
    """USTAR, byte for byte: releases of Python's tarfile differ in the device numbers."""
    h = name.encode().ljust(100, b"\0") + b"0000444\0" + b"0000000\0" * 2
    h += b"%011o\0" % size + b"%011o\0" % 0 + b" " * 8 + b"0" + bytes(100) + b"ustar\x0000"
    h += bytes(64) + b"0000000\0" * 2 + bytes(155 + 12)
    return h[:148] + b"%06o\0 " % sum(h) + h[156:]


def wds_bytes(schema: Schema, samples: Samples, keyed: bool, first: int) -> "tuple[bytes, bytes]":
    """A tar and its .tar.idx."""
    out, index = io.BytesIO(), []
    for i, s in enumerate(samples):
        index.append(out.tell())
        key = s["__key__"] if keyed else "000000-%09d" % (first + i)
        shown = [f for f in schema if not f["name"].endswith((".shape", ".ext"))]
        members = sorted((member(f, _ext(schema, f, s)), _content(f, s[f["name"]])) for f in shown)
        for name, data in members:
            out.write(tar_header(key + "." + name, len(data)))
            out.write(data.ljust((len(data) + 511) // 512 * 512, b"\0"))
    index.append(out.tell())
    out.write(bytes(1024))
    return out.getvalue(), np.array(index, "<u8").tobytes()


def _xxh3_of_16(data: bytes) -> str:
    """XXH3-128 of 16 bytes, for which it has a formula of its own."""
    m, secret = (1 << 64) - 1, xxh3._SECRET

    def word(b: bytes, at: int) -> int:
        return int.from_bytes(b[at : at + 8], "little")

    def avalanche(h: int) -> int:
        h = (h ^ h >> 37) * 0x165667919E3779F9 & m
        return h ^ h >> 32

    lo, hi = word(data, 0), word(data, 8)
    product = (lo ^ hi ^ word(secret, 32) ^ word(secret, 40)) * xxh3._P64_1
    low, high = (product & m) + (15 << 54) & m, product >> 64
    hi ^= word(secret, 48) ^ word(secret, 56)
    high = high + hi + (hi & 0xFFFFFFFF) * (xxh3._P32_2 - 1) & m
    low ^= int.from_bytes(high.to_bytes(8, "little"), "big")
    product = low * xxh3._P64_2
    high = (product >> 64) + high * xxh3._P64_2 & m
    return "%016x%016x" % (avalanche(high), avalanche(product & m))


def _piece_digest(data: bytes) -> str:
    """Of a tar: the digest of its pieces' digests. Fixtures have one piece."""
    assert xxh3.MIN_BYTES <= len(data) <= 256 << 10
    return "xxh3p:" + _xxh3_of_16(bytes.fromhex(xxh3.hexdigest(data)))


def _digest(data: bytes) -> str:
    # Only .tar.idx files are shorter, and readers do not use their digest.
    return "xxh3:" + (xxh3.hexdigest(data) if len(data) >= xxh3.MIN_BYTES else "0" * 32)


def write_manifest(folder: str, m: Dict[str, Any]) -> str:
    m = {**m, "xxh3": "0" * 32}
    text = (json.dumps(m, indent=2, ensure_ascii=False) + "\n").encode()
    m["xxh3"] = xxh3.hexdigest(text)
    with open(os.path.join(folder, "shardify.json"), "w", encoding="utf-8") as out:
        out.write(json.dumps(m, indent=2, ensure_ascii=False) + "\n")
    return m["xxh3"]


def write(
    folder: Any,
    schema: Schema,
    samples: Samples,
    format: str = "mmap",
    shards: Optional[Sequence[int]] = None,
    keyed: bool = False,
) -> str:
    """A whole data set; shards are the sample counts. Returns the folder."""
    folder = str(folder)
    os.makedirs(folder, exist_ok=True)
    records, at = [], 0
    for k, n in enumerate(shards if shards is not None else [len(samples)]):
        part, files = samples[at : at + n], []
        name = "shard-%06d.%s" % (k, "safetensors" if format == "mmap" else "tar")
        if format == "mmap":
            data, head = mmap_bytes(schema, part, keyed)
            digest = _digest(data[:head])
        else:
            data, index = wds_bytes(schema, part, keyed, at)
            digest = _piece_digest(data)
            with open(os.path.join(folder, name + ".idx"), "wb") as out:
                out.write(index)
            files = [{"name": name + ".idx", "bytes": len(index), "digest": _digest(index)}]
        with open(os.path.join(folder, name), "wb") as out:
            out.write(data)
        record = {"name": name, "samples": n, "bytes": len(data), "digest": digest}
        records.append({**record, "files": files} if files else record)
        at += n
    assert at == len(samples)
    m = {"shardify": 1, "format": format, "samples": at, "bytes": sum(r["bytes"] for r in records)}
    if keyed:
        m["keyed"] = True
    m["schema"] = schema
    if format == "wds":
        m["members"] = {f["name"]: member(f) for f in schema if not f["name"].endswith((".shape", ".ext"))}
    inputs = {"format": "synth", "count": 1, "bytes": 0, "digest": "xxh3:" + "0" * 32, "names": ["synth"]}
    write_manifest(folder, {**m, "shards": records, "files": [], "inputs": inputs, "recipe": {}})
    return folder
