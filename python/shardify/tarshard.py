"""One wds shard: a tar read at random by its .tar.idx (docs/reference/format.md section 4)."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import npy, remote
from .errors import corrupt
from .manifest import Manifest, Shard
from .mmapshard import map_file
from .schema import KEY, Field, bf16_to_f32

BLOCK = 512


class Member(NamedTuple):
    name: str
    at: int  # of the data
    size: int


def _map(path: str, size: int, digest: str) -> Any:
    return remote.whole(path, size, digest) if remote.is_remote(path) else map_file(path, size)


class TarShard:
    """Samples of one tar. Every header that is passed is checked."""

    def __init__(self, m: Manifest, shard: Shard, wanted: Sequence[Field]) -> None:
        self.path = shard.path
        self.room = shard.bytes if remote.is_remote(shard.path) else 0  # memory that it takes
        self._map = _map(shard.path, shard.bytes, shard.digest)
        self._view = memoryview(self._map)
        self._keyed = m.keyed
        self._wanted = [f for f in wanted if f.name != KEY]
        self._want_key = len(self._wanted) < len(wanted)
        self._member_of = m.members
        self._field_of = {member: name for name, member in m.members.items()}
        self._index = self._read_index(shard)

    def _read_index(self, shard: Shard) -> npt.NDArray[np.uint64]:
        path = self.path + ".idx"
        size, digest = {f[0]: f[1:] for f in shard.files}.get(path, ((shard.samples + 1) * 8, ""))
        buf = _map(path, size, digest)
        if len(buf) != (shard.samples + 1) * 8:
            raise corrupt(path, "%d bytes for %d samples, want %d" % (len(buf), shard.samples, (shard.samples + 1) * 8))
        index: npt.NDArray[np.uint64] = np.ndarray((shard.samples + 1,), np.dtype("<u8"), buf)
        end = len(self._view) - 2 * BLOCK
        if index[0] != 0 or int(index[-1]) != end:
            raise corrupt(path, "runs from %d to %d, the members of the tar end at %d" % (index[0], index[-1], end))
        wrong = (index[1:] <= index[:-1]) | (index[1:] % np.uint64(BLOCK) != 0)
        if wrong.any():
            k = int(wrong.argmax())
            raise corrupt(path, "sample %d runs from %d to %d" % (k, index[k], index[k + 1]), offset=8 * k)
        return index

    def sample(self, j: int) -> Dict[str, Any]:
        key, members = self._members(j)
        out: Dict[str, Any] = {KEY: key} if self._want_key else {}
        for f in self._wanted:
            member = members.get(f.name)
            if member is None:
                raise self._bad(j, "no member .%s" % self._member_of.get(f.name, f.name), self._start(j), f.name)
            try:
                out[f.name] = _decode(f, member.name, self._view[member.at : member.at + member.size])
            except ValueError as e:  # also UnicodeDecodeError
                raise self._bad(j, str(e), member.at, member.name) from None
        return out

    def _start(self, j: int) -> int:
        return int(self._index[j])

    def _bad(self, j: int, why: str, at: int, object: str = "") -> Exception:
        return corrupt(self.path, why, object=object, sample=j, offset=at)

    def _members(self, j: int) -> Tuple[str, Dict[str, Member]]:
        """The key of sample j and its members by field."""
        key: Optional[str] = None
        found: Dict[str, Member] = {}
        for m in self._walk(j):
            folder, _, base = m.name.rpartition("/")
            stem, dot, ext = base.partition(".")
            this = folder + "/" + stem if folder else stem
            if not dot or (key is not None and this != key):
                raise self._bad(j, "member %s in the sample %s" % (m.name, key), m.at - BLOCK)
            key = this
            name = self._field(ext)
            if name is None:
                continue  # a member of no field: not ours to judge
            if name in found:
                raise self._bad(j, "two members for field %s" % name, m.at - BLOCK, m.name)
            found[name] = m
        return key or "", found

    def _field(self, ext: str) -> Optional[str]:
        """The field of a member: by its whole name, else an image of any type."""
        name = self._field_of.get(ext)
        if name is None:
            stem, dot, _ = ext.rpartition(".")
            name = self._field_of.get(stem + ".*" if dot else "*")
        return name

    def _walk(self, j: int) -> Iterator[Member]:
        at, end = int(self._index[j]), int(self._index[j + 1])
        while at < end:
            h = self._view[at : at + BLOCK]
            try:
                name, size = _header(h)
            except ValueError as e:
                raise self._bad(j, str(e), at) from None
            data = at + BLOCK
            at = data + (size + BLOCK - 1) // BLOCK * BLOCK
            if at > end:
                raise self._bad(j, "%d bytes of data pass the end of the sample" % size, data, name)
            yield Member(name, data, size)


def _octal(field: memoryview) -> int:
    text = bytes(field).rstrip(b"\0 ")
    if not text or not all(48 <= c < 56 for c in text):
        raise ValueError("tar number %r" % bytes(field))
    return int(text, 8)


def _header(h: memoryview) -> Tuple[str, int]:
    """Name and size of a strict USTAR member."""
    if bytes(h[257:265]) != b"ustar\x0000":
        raise ValueError("no USTAR header")
    stored, want = bytes(h[148:156]), b"%06o\0 " % (sum(h) - sum(h[148:156]) + 8 * 32)
    if stored != want:
        raise ValueError("tar checksum is %r, stored %r" % (want, stored))
    if h[156] != 48:
        raise ValueError("tar type %r, only regular files are written" % chr(h[156]))
    if any(h[345:500]):
        raise ValueError("tar prefix is used")
    name = bytes(h[:100]).rstrip(b"\0")
    if not name or min(name) <= 0x20:
        raise ValueError("tar name %r" % name)
    return name.decode("utf-8"), _octal(h[124:136])  # UnicodeDecodeError is a ValueError


def _decode(f: Field, member: str, data: memoryview) -> Any:
    if f.nullable and f.media and len(data) in (0, 4) and bytes(data) == (b"null" if f.levels == 2 else b""):
        return None
    if f.media and f.levels == 2:
        return _texts(data)
    if f.media:
        return str(data, "utf-8") if f.text else bytes(data)
    if not member.endswith(".npy"):
        return _ascii_int(f, bytes(data))
    return _array(f, npy.parse(data))


def _texts(data: memoryview) -> List[str]:
    try:
        items = json.loads(str(data, "utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(items, list) or any(not isinstance(t, str) for t in items):
        raise ValueError("no JSON list of texts")
    return items


def _ascii_int(f: Field, text: bytes) -> Any:
    try:
        if len(text) > 20 or f.numpy.kind not in "iu" or text != b"%d" % int(text):
            raise ValueError
        value = int(text)
        info = np.iinfo(f.numpy)
        if not info.min <= value <= info.max:
            raise ValueError
    except ValueError:
        raise ValueError("%r is not %s in decimal" % (text[:40], f.dtype)) from None
    return f.numpy.type(value)


def _array(f: Field, a: npt.NDArray[Any]) -> Any:
    if a.dtype != f.numpy:
        raise ValueError("array of %s, the schema says %s" % (a.dtype.str, f.dtype))
    n = len(f.shape)
    inner = a.shape[a.ndim - n :] if n else ()
    outer = a.ndim - n
    if inner != f.shape or (outer < 0 if f.ragged else outer != f.levels):
        raise ValueError("array %r, the schema says %s" % (a.shape, f.describe()))
    if f.dtype == "bf16":
        a = bf16_to_f32(a)
    return a[()] if a.ndim == 0 else a
