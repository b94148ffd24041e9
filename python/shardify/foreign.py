"""Data sets that others wrote, as they are: MDS folders of MosaicML Streaming, and tars of WebDataset
without an index. The library finds and checks what is in them; here single samples are read."""

from __future__ import annotations

import ctypes
import io
import json
import os
import struct
import tarfile
import warnings
from glob import glob, has_magic
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import remote
from .errors import UnsupportedError, corrupt
from .manifest import Manifest, Shard
from .mmapshard import map_file
from .schema import KEY, Field, parse_schema
from .tarshard import _array

MDS_INDEX = "index.json"
TARS_INDEX = "shardify.tars"  # what shardify index keeps of tars
_ENDS = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz")


def may(path: str) -> bool:
    """Whether a path may be such a set, by the names that are there."""
    if remote.is_remote(path):
        return True
    if has_magic(path):
        return any(p.endswith(_ENDS) for p in glob(path, recursive=True))
    if os.path.isfile(path):
        return path.endswith(_ENDS)
    if os.path.isfile(os.path.join(path, MDS_INDEX)) or os.path.isfile(os.path.join(path, TARS_INDEX)) or glob(os.path.join(glob_escape(path), "*", MDS_INDEX)):
        return True
    return any(name.endswith(_ENDS) for _, _, files in os.walk(path) for name in files)


def glob_escape(path: str) -> str:
    import glob as module

    return module.escape(path)


def find(path: str) -> Optional[Manifest]:
    """The set as a manifest; None without one."""
    if not may(path):
        return None
    from . import clib  # opening a set of our own loads no library

    lib, about = clib.load(), ctypes.c_void_p()
    lib.call(lib.describe, os.fsencode(path), ctypes.byref(about))
    raw = json.loads(lib.text(about))
    for text in raw["left"]:
        warnings.warn("%s: %s" % (path, text), stacklevel=5)
    return manifest(raw)


def manifest(raw: Dict[str, Any]) -> Manifest:
    folder = raw["folder"]
    shards = tuple(Shard(os.path.join(folder, s["name"]), s["samples"], s["bytes"], s.get("digest") or "", ()) for s in raw["shards"] or ())
    return Manifest(
        folder=folder,
        format="mds" if raw["format"] == "mds" else "tars",
        samples=raw["samples"],
        keyed=raw["keyed"],
        fields=parse_schema(raw["schema"]),
        members=raw.get("members") or {},
        shards=shards,
        splits={},
        digest=raw["xxh3"],
        raw=raw,
    )


def _map(path: str, size: int) -> Any:
    return remote.whole(path, size) if remote.is_remote(path) else map_file(path, size)


class MdsShard:
    """Samples of one shard of MosaicML Streaming."""

    def __init__(self, m: Manifest, shard: Shard, wanted: Sequence[Field]) -> None:
        self.path = shard.path
        raw = m.raw["raw"][m.shards.index(shard)]
        data = _map(shard.path, shard.bytes)
        if shard.path.endswith((".zstd", ".zst")):
            data = _unzip(shard.path, data, raw)
        self.room = raw if data is not None and (remote.is_remote(shard.path) or shard.bytes != raw) else 0
        self._view = memoryview(data)
        self._columns: List[Tuple[int, str, Optional[Field]]] = []
        by_name = {f.name: f for f in wanted}
        for c in m.raw["columns"]:
            self._columns.append((c["fixed"], c["encoding"], by_name.get(KEY if c["key"] else c["field"])))
        self._names = [f.name for f in wanted]
        n = shard.samples
        if len(self._view) < 8 + 4 * n or struct.unpack_from("<I", self._view)[0] != n:
            raise corrupt(self.path, "%d samples, the index says otherwise" % n, offset=0)
        self._places = np.frombuffer(self._view, "<u4", n + 1, 4)
        wrong = np.flatnonzero(np.diff(self._places.astype(np.int64)) < 0)
        if len(wrong) or self._places[0] < 8 + 4 * n or self._places[-1] != len(self._view):
            k = int(wrong[0]) if len(wrong) else n
            raise corrupt(self.path, "place %d is %d in a file of %d bytes" % (k, self._places[k], len(self._view)), offset=4 + 4 * k)

    def sample(self, j: int) -> Dict[str, Any]:
        at, end = int(self._places[j]), int(self._places[j + 1])
        b = self._view[at:end]
        head, place = 0, 4 * sum(fixed < 0 for fixed, _, _ in self._columns)
        out: Dict[str, Any] = {}
        for fixed, encoding, f in self._columns:
            size = fixed
            if fixed < 0:
                if head + 4 > len(b):
                    raise corrupt(self.path, "sample of %d bytes" % len(b), sample=j, offset=at)
                size = struct.unpack_from("<I", b, head)[0]
                head += 4
            if size > len(b) - place:
                raise corrupt(self.path, "a value of %d bytes in a sample of %d" % (size, len(b)), sample=j, offset=at)
            if f is not None:
                try:
                    out[f.name] = _value(f, encoding, b[place : place + size])
                except (ValueError, struct.error, IndexError, KeyError, RecursionError) as e:  # also UnicodeDecodeError
                    raise corrupt(self.path, str(e) or type(e).__name__, object=f.name, sample=j, offset=at + place) from None
            place += size
        if place != len(b):
            raise corrupt(self.path, "values take %d bytes of a sample of %d" % (place, len(b)), sample=j, offset=at)
        return {name: out[name] for name in self._names}


def _unzip(path: str, data: Any, size: int) -> bytes:
    try:
        from compression import zstd  # Python 3.14

        out = bytes(zstd.decompress(data))
    except ImportError:
        try:
            import zstandard
        except ImportError:
            raise UnsupportedError(
                "open %s: a compressed shard: install zstandard (pip), or convert the set: shardify convert %s -o DIR; shardify.Loader reads it without"
                % (path, os.path.dirname(path))
            ) from None
        try:
            out = zstandard.ZstdDecompressor().decompressobj().decompress(bytes(data))
        except zstandard.ZstdError as e:
            raise corrupt(path, "zstd: %s" % e) from None
    if len(out) != size:
        raise corrupt(path, "%d bytes unpacked, the index says %d" % (len(out), size))
    return out


_CODES = {8: "u1", 9: "i1", 16: "u2", 17: "i2", 18: "f2", 32: "u4", 33: "i4", 34: "f4", 64: "u8", 65: "i8", 66: "f8"}


def _value(f: Field, encoding: str, b: memoryview) -> Any:
    if encoding in ("str_int", "str_float"):
        return f.numpy.type((int if encoding == "str_int" else float)(str(b, "utf-8")))
    if f.levels == 2:
        return _items(f, encoding, b)
    if f.media:
        return str(b, "utf-8") if f.text else bytes(b)
    if encoding == "pil":
        w, h, n = struct.unpack_from("<III", b)
        return np.frombuffer(b[12 + n :], np.uint8).reshape(h, w, -1).copy()
    dims: Optional[Tuple[int, ...]] = f.shape
    if encoding.startswith("ndarray"):
        kind, _, shape = encoding[len("ndarray:") :].partition(":")
        if not kind:
            if np.dtype("<" + _CODES[b[0]]) != (np.dtype("u1") if f.dtype == "bool" else f.numpy):
                raise ValueError("an array of %s, the first one is of %s" % (_CODES[b[0]], f.dtype))
            b = b[1:]
        if not shape:
            rank, width = b[0] >> 2, 1 << (b[0] & 3)
            dims = tuple(int.from_bytes(b[1 + k * width : 1 + (k + 1) * width], "little") for k in range(rank))
            b = b[1 + rank * width :]
            if len(dims) - len(f.shape) < 1 or dims[len(dims) - len(f.shape) :] != f.shape or not f.ragged and len(dims) != 1 + len(f.shape):
                raise ValueError("an array of shape %r, the schema says %s" % (dims, f.describe()))
    a = np.frombuffer(b, f.numpy).reshape(dims)
    return a[()] if a.ndim == 0 else a.copy()


def _items(f: Field, encoding: str, b: memoryview) -> List[Any]:
    if encoding == "json":
        items = json.loads(str(b, "utf-8"))
        if not isinstance(items, list) or any(not isinstance(t, str) for t in items):
            raise ValueError("no list of texts")
        return items
    if encoding.startswith("list["):
        b = b[4:]
    n = struct.unpack_from("<I", b)[0]
    if n > len(b) // 4 - 1:
        raise ValueError("a list of %d items in %d bytes" % (n, len(b)))
    at, out = 4 + 4 * n, []
    for size in struct.unpack_from("<%dI" % n, b, 4):
        out.append(bytes(b[at : at + size]))
        at += size
    if at != len(b):
        raise ValueError("items take %d bytes of %d" % (at, len(b)))
    return out


class LooseTar:
    """Samples of one tar of WebDataset, at the places that the library found."""

    def __init__(self, m: Manifest, shard: Shard, wanted: Sequence[Field]) -> None:
        self.path = shard.path
        self.room = shard.bytes if remote.is_remote(shard.path) else 0
        self._places = m.raw["places"][m.shards.index(shard)]
        self._view = memoryview(_map(shard.path, shard.bytes))
        self._ext = {m.members[f.name]: f for f in m.fields if f.name in m.members}
        self._wanted = list(wanted)

    def sample(self, j: int) -> Dict[str, Any]:
        at, end = self._places[j], self._places[j + 1]
        found: Dict[str, Any] = {}
        key = ""
        try:
            with tarfile.open(fileobj=io.BytesIO(bytes(self._view[at:end]) + bytes(1024)), mode="r:") as tar:
                for member in tar:
                    name = member.name
                    while name.startswith("./"):
                        name = name[2:]
                    folder, _, base = name.rpartition("/")
                    stem, _, ext = base.partition(".")
                    if not member.isreg() or not stem or not ext or name.startswith("__"):
                        continue
                    f = self._ext.get(ext.lower())
                    if f is None:
                        raise corrupt(self.path, "another member than there was: the file changed since it was opened", object=name, sample=j, offset=at)
                    key = folder + "/" + stem if folder else stem
                    data = tar.extractfile(member)
                    assert data is not None
                    found[f.name] = self._value(f, data.read(), name, j, at + member.offset_data)
        except tarfile.TarError as e:
            raise corrupt(self.path, str(e), sample=j, offset=at) from None
        out: Dict[str, Any] = {}
        for f in self._wanted:
            if f.name == KEY:
                out[KEY] = key
            elif f.name in found or f.nullable:
                out[f.name] = found.get(f.name)
            else:
                raise corrupt(self.path, "no member .%s" % f.name, sample=j, offset=at)
        return out

    def _value(self, f: Field, data: bytes, name: str, j: int, at: int) -> Any:
        try:
            if f.media:
                return str(data, "utf-8") if f.text else data
            if not name.lower().endswith("npy"):
                return f.numpy.type(int(data))
            return _array(f, np.load(io.BytesIO(data), allow_pickle=False))
        except (ValueError, EOFError, OverflowError) as e:
            raise corrupt(self.path, str(e), object=name, sample=j, offset=at) from None
