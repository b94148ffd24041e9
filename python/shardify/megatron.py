"""Pairs of Megatron-LM: tokens in a .bin, and their index in an .idx beside it."""

from __future__ import annotations

import os
import re
import struct
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import remote
from .errors import SchemaError, UnsupportedError, corrupt
from .layout import Tensor, counter_of
from .manifest import NAME, Manifest, Shard, unfinished
from .mmapshard import MmapShard, map_file
from .readers import Reader
from .schema import DTYPES, Field

DATA, INDEX = ".bin", ".idx"
_MAGIC = b"MMIDIDX\x00\x00"
_HEAD = 34
_TYPES = {1: "u8", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "f64", 7: "f32", 8: "u16"}
_PIECE = 1 << 20  # sequences that are looked at together


class Index(NamedTuple):
    """What an index says: the arrays are views of the file."""

    dtype: str
    lengths: npt.NDArray[Any]
    places: npt.NDArray[Any]
    documents: npt.NDArray[Any]  # the first sequence of each, and how many there are
    modes: bool

    @property
    def bytes(self) -> int:
        """What the tokens take."""
        if not len(self.lengths):
            return 0
        return int(self.places[-1]) + int(self.lengths[-1]) * self.width

    @property
    def width(self) -> int:
        return np.dtype(DTYPES[self.dtype][0]).itemsize


def read_index(path: str, data: Any) -> Index:
    """An index in memory, whose sequences lie one after the other and belong to documents in order."""
    head = bytes(data[:_HEAD])
    if head.startswith(b"TNTIDX\x00\x00"):
        raise UnsupportedError("open %s: an index of the older kind TNTIDX: tools/merge_datasets.py of that Megatron-LM writes MMIDIDX" % path)
    if not head.startswith(_MAGIC):
        raise corrupt(path, "no index of Megatron-LM: it begins with %r" % head[:9], offset=0)
    if len(head) < _HEAD:
        raise corrupt(path, "the index ends in its head", offset=len(head))
    version, kind, n, ends = struct.unpack_from("<QBQQ", head, len(_MAGIC))
    if version != 1:
        raise UnsupportedError("open %s: index of version %d, want 1" % (path, version))
    if kind not in _TYPES:
        raise UnsupportedError("open %s: type %d of tokens: known are 1 to %d" % (path, kind, len(_TYPES)))
    end = _HEAD + 12 * n + 8 * ends
    if ends == 0 or len(data) - end not in (0, n):
        raise corrupt(path, "%d sequences and %d ends of documents in an index of %d bytes" % (n, ends, len(data)), offset=18)
    lengths: npt.NDArray[Any] = np.ndarray(n, "<i4", data, _HEAD)
    places: npt.NDArray[Any] = np.ndarray(n, "<i8", data, _HEAD + 4 * n)
    documents: npt.NDArray[Any] = np.ndarray(ends, "<i8", data, _HEAD + 12 * n)
    x = Index(_TYPES[kind], lengths, places, documents, len(data) != end)
    _check(path, x)
    return x


def _check(path: str, x: Index) -> None:
    at, n = 0, len(x.lengths)
    for lo in range(0, n, _PIECE):
        lengths, places = x.lengths[lo : lo + _PIECE], x.places[lo : lo + _PIECE]
        want = at + (np.cumsum(lengths, dtype=np.int64) - lengths) * x.width
        wrong = (lengths < 0) | (places != want)
        if wrong.any():
            k = int(wrong.argmax())
            why = "sequence %d of %d tokens begins at byte %d, the one before it ends at %d"
            raise corrupt(path, why % (lo + k, lengths[k], places[k], want[k]), offset=_HEAD + 4 * n + 8 * (lo + k))
        at = int(places[-1]) + int(lengths[-1]) * x.width
    for lo in range(0, len(x.documents), _PIECE):
        some = x.documents[max(lo - 1, 0) : lo + _PIECE]
        if (np.diff(some) < 0).any() or some.min() < 0 or some.max() > n:
            raise corrupt(path, "documents that do not begin at sequences, in order", offset=_HEAD + 12 * n)
    if x.documents[0] != 0 or x.documents[-1] != n:
        raise corrupt(path, "documents of sequences %d to %d, there are %d" % (x.documents[0], x.documents[-1], n), offset=_HEAD + 12 * n)


def _differs(path: str, x: Index, size: int) -> Exception:
    more, want = size - x.bytes, x.bytes
    if 0 < more == (len(x.documents) - 1) * x.width:
        return corrupt(
            path,
            "the data have %d tokens more than the lengths of the index, one for each document: BlendCorpus' --append-eod does "
            "not count them, and readers are off by one more with each document; make it again" % (len(x.documents) - 1),
        )
    return corrupt(path, "the lengths of the index are %d bytes of tokens, the data have %d" % (want, size))


class PairShard(MmapShard):
    """The readers of the tokens of one pair."""

    def __init__(self, m: Manifest, shard: Shard, wanted: Sequence[Field]) -> None:
        self.path, self._size, self.room, self._file = shard.path, shard.bytes, 0, None
        path, size, digest = next((f for f in shard.files if f[0].endswith(INDEX)), (shard.path[: -len(DATA)] + INDEX, 0, ""))
        if remote.is_remote(shard.path):
            self.room = shard.bytes + size
            self._map = remote.whole(shard.path, shard.bytes, shard.digest) if shard.bytes else b""
            data = remote.whole(path, size, digest)
        else:
            self._map = map_file(shard.path, shard.bytes) if shard.bytes else b""
            data = map_file(path, size)
        x = read_index(path, data)
        f = m.fields[0]
        if x.bytes != shard.bytes:
            raise _differs(path, x, shard.bytes)
        if len(x.documents) - 1 != shard.samples or x.dtype != f.dtype or len(m.fields) != 1 or x.modes:
            why = "%d documents of %s, the manifest says %d of %s"
            raise corrupt(path, why % (len(x.documents) - 1, x.dtype, shard.samples, f.dtype))
        # The documents' ends: one more than there are.
        ends = np.append(x.places, x.bytes)
        self._offsets: npt.NDArray[Any] = ends[x.documents] // x.width
        count, kind = shard.bytes // x.width, DTYPES[f.dtype][1]
        if f.levels:
            self.tensors = {f.name + "#values": Tensor(kind, (count,), 0), counter_of(f) + "#offsets": Tensor("I64", (shard.samples + 1,), 0)}
        else:
            each = int(np.prod(f.shape))
            if (np.diff(self._offsets) != each).any():
                raise corrupt(path, "documents that have not %d tokens each" % each)
            self.tensors = {f.name: Tensor(kind, (shard.samples,) + f.shape, 0)}
        self.readers: Dict[str, Reader] = {f.name: self._reader(f) for f in wanted}

    def array(self, name: str) -> npt.NDArray[Any]:
        if name.endswith("#offsets"):
            return self._offsets
        return super().array(name)

    def memmap(self, name: str) -> npt.NDArray[Any]:
        return self.array(name) if self.room else super().memmap(name)


def _natural(path: str) -> List[List[Tuple[Any, ...]]]:
    """Sorts paths as a conversion lists them: digits compare as numbers, all else by bytes."""
    return [[_piece(p) for p in re.findall(rb"[0-9]+|[^0-9]", name)] for name in os.fsencode(path).split(b"/")]


def _piece(p: bytes) -> Tuple[Any, ...]:
    if not p.isdigit():
        return (p[0],)
    short = p.lstrip(b"0")
    return (ord("0"), len(short), short, p)


def _below(folder: str) -> Iterator[str]:
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(INDEX) and not name.endswith(".tar" + INDEX) and not name.startswith("."):
                yield os.path.join(top, name)


def find(path: str) -> Optional[Manifest]:
    """The pairs in a folder, or the one that is named, as a data set, or None."""
    folder, only = path, ""
    if not os.path.isdir(path):
        stem = path[:-4] if path.endswith((DATA, INDEX)) else path
        only = stem + INDEX
        if not os.path.isfile(only):
            return None
        folder = os.path.dirname(only) or "."
    files = [only] if only else sorted(_below(path), key=lambda p: _natural(os.path.relpath(p, path)))
    if not files:
        return None
    for at in sorted({os.path.dirname(name) or "." for name in files}):
        # Others of the set may be elsewhere, or not be there yet.
        if os.path.isfile(os.path.join(at, NAME)):
            raise SchemaError("%s: its pairs are of a data set: open its folder" % at)
        if unfinished(at) is not None:
            return None  # the caller says what is missing
    shards, first = [], ""
    for name in files:
        size = os.path.getsize(name)
        x = read_index(name, map_file(name, size))
        if x.modes:
            raise UnsupportedError("open %s: a multimodal index, with a mode of each sequence: `shardify convert %s -o DIR` converts it" % (name, path))
        data = name[: -len(INDEX)] + DATA
        if not os.path.isfile(data):
            raise corrupt(name, "its tokens are missing: no %s beside it" % os.path.basename(data))
        if os.path.getsize(data) != x.bytes:
            raise _differs(name, x, os.path.getsize(data))
        if first and x.dtype != first:
            raise SchemaError("open %s: tokens are %s, but %s in %s" % (name, x.dtype, first, files[0]))
        first = x.dtype
        shards.append(Shard(data, len(x.documents) - 1, x.bytes, "", ((name, size, ""),)))
    samples, size = sum(s.samples for s in shards), sum(s.bytes for s in shards)
    raw = {
        "format": "megatron",
        "samples": samples,
        "bytes": size,
        "schema": [{"name": "tokens", "dtype": first, "levels": 1}],
        "shards": [{"name": os.path.relpath(s.path, folder), "samples": s.samples, "bytes": s.bytes} for s in shards],
    }
    return Manifest(folder, "megatron", samples, False, (Field("tokens", first, levels=1),), {}, tuple(shards), {}, "", raw)
