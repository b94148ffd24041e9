"""One mmap shard, mapped."""

from __future__ import annotations

import mmap
import os
from typing import Any, BinaryIO, Dict, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from . import remote
from .errors import corrupt
from .layout import counter_of, read_header
from .manifest import Manifest, Shard, check_size, open_regular
from .readers import FixedReader, List2Reader, ListReader, Opaque2Reader, OpaqueReader, Reader
from .schema import DTYPES, SHAPE_SUFFIX, Field

_NUMPY = {tensor: np.dtype(numpy) for numpy, tensor in DTYPES.values()}
_NUMPY["BF16"] = np.dtype("<u2")


def open_file(path: str, size: int) -> BinaryIO:
    """A file of the data set. One of another size is refused, since touching pages past
    its end would kill the process."""
    try:
        f = open_regular(path)
    except FileNotFoundError:
        raise corrupt(path, "the file is missing; the manifest says %d bytes" % size) from None
    try:
        check_size(path, size, os.fstat(f.fileno()).st_size)
    except BaseException:
        f.close()
        raise
    return f


def map_file(path: str, size: int) -> mmap.mmap:
    """The whole file, read-only."""
    with open_file(path, size) as f:
        if size == 0:
            raise corrupt(path, "the file is empty")
        return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)


def _tensors(f: Field) -> Iterator[str]:
    """Names that the tensors of a field may have."""
    name = f.name if f.part is None else f.part[0]
    for end in ("", "#valid", "#values", "#offsets1"):
        yield name + end
    yield counter_of(f) + "#offsets"
    yield f.name + SHAPE_SUFFIX


class MmapShard:
    """The readers of the wanted fields over one file."""

    def __init__(self, m: Manifest, shard: Shard, wanted: Sequence[Field]) -> None:
        self.path = shard.path
        self._size = shard.bytes
        self.room = 0  # memory that it takes
        self._file = None
        self._map: Any = None
        if remote.is_remote(self.path):
            self.room = shard.bytes
            self._file = remote.File(shard.path, shard.bytes)
            self._shard, self._there = shard, {name for f in wanted for name in _tensors(f)}
            self._map = self._read(self._there)
        else:
            self._map = map_file(shard.path, shard.bytes)
        self.tensors = read_header(shard.path, self._map, shard, m.fields, m.keyed)
        self.readers: Dict[str, Reader] = {f.name: self._reader(f) for f in wanted}

    def array(self, name: str) -> npt.NDArray[Any]:
        """A tensor as a read-only view of the file."""
        t = self.tensors[name]
        if self._file is not None and name not in self._there:
            self._read([name])
            self._there.add(name)
        return np.ndarray(t.shape, _NUMPY[t.dtype], self._map, t.offset)

    def _read(self, tensors: Iterable[str]) -> Any:
        """Tensors of a shard on another machine."""
        assert self._file is not None
        return self._file.read(self._shard.digest, self._shard.samples, sorted(tensors))

    def memmap(self, name: str) -> npt.NDArray[Any]:
        """A tensor as np.memmap, with a mapping of its own."""
        t = self.tensors[name]
        if self._file is not None:
            return self.array(name)
        if 0 in t.shape:  # mmap has no empty mapping
            return np.empty(t.shape, _NUMPY[t.dtype])
        with open_file(self.path, self._size) as f:
            return np.memmap(f, _NUMPY[t.dtype], "r", t.offset, t.shape)

    def _reader(self, f: Field) -> Reader:
        name = f.name if f.part is None else f.part[0]
        valid = self.array(name + "#valid") if f.nullable else None
        if f.levels == 0:
            return FixedReader(self.path, f, self.part(f, name), valid)
        values = self.part(f, name + "#values")
        offsets = self.array(counter_of(f) + "#offsets")
        if f.levels == 2:
            kind = Opaque2Reader if f.media else List2Reader
            return kind(self.path, f, values, valid, offsets, self.array(name + "#offsets1"))
        if f.media:
            return OpaqueReader(self.path, f, values, valid, offsets)
        shapes = self.array(f.name + SHAPE_SUFFIX) if f.ragged else None
        return ListReader(self.path, f, values, valid, offsets, shapes)

    def reader(self, f: Field) -> Reader:
        """The reader of a field, wanted or not."""
        return self.readers.get(f.name) or self._reader(f)

    def part(self, f: Field, tensor: str) -> npt.NDArray[Any]:
        """A tensor of a field, or what of it is the part of the whole."""
        whole = self.array(tensor)
        return whole if f.part is None else whole[..., f.part[1]]

    def sample(self, j: int) -> Dict[str, Any]:
        return {name: r.one(j) for name, r in self.readers.items()}
