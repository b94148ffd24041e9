"""One field of one mmap shard: `one` sample, or `gather` many over several shards."""

from __future__ import annotations

from typing import Any, List, NoReturn, Optional, Sequence, Tuple, TypeVar

import numpy as np
import numpy.typing as npt

from .batch import Column, FixedColumn, Lists2Column, ListsColumn, ObjectsColumn
from .errors import corrupt
from .schema import Field, bf16_to_f32

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
R = TypeVar("R", bound="Reader")
# Where the samples of one shard go in a batch, their reader, their places in the shard.
Part = Tuple[Ints, R, Ints]

# Lists of fewer bytes than this are copied by one index array, longer ones one by one.
_SHORT = 256


class Reader:
    """Values and, for lists, offsets are views of the mapped file: nothing is read before use."""

    def __init__(self, path: str, f: Field, values: Array, valid: Optional[Array]) -> None:
        self.path, self.field, self.values, self.valid = path, f, values, valid

    def one(self, j: int) -> Any:
        """The value of sample j, not connected to the file; None if it has none."""
        if self.valid is not None and not self.valid[j]:
            return None
        return self._one(j)

    def _one(self, j: int) -> Any:
        raise NotImplementedError

    def fresh(self, values: Array) -> Array:
        """Values as the user gets them, in memory of their own."""
        return bf16_to_f32(values) if self.field.dtype == "bf16" else values.copy()


class FixedReader(Reader):
    def __init__(self, path: str, f: Field, values: Array, valid: Optional[Array]) -> None:
        super().__init__(path, f, values, valid)
        self.scalar = not f.shape and f.dtype != "bf16"

    def _one(self, j: int) -> Any:
        if self.scalar:
            return self.values[j]
        v = self.fresh(self.values[j : j + 1])
        return v[0]


class ListReader(Reader):
    """Lists of elements; media and a second level are in the subclasses."""

    def __init__(
        self, path: str, f: Field, values: Array, valid: Optional[Array], offsets: Ints, shapes: Optional[Ints] = None
    ) -> None:
        super().__init__(path, f, values, valid)
        self.offsets, self.shapes = offsets, shapes
        self.count = len(values)
        self.check_ends(offsets, self.count, "#offsets")

    def check_ends(self, offsets: Ints, count: int, what: str) -> None:
        if offsets[0] != 0 or offsets[-1] != count:
            why = "offsets run from %d to %d, there are %d" % (offsets[0], offsets[-1], count)
            raise corrupt(self.path, why, object=self.field.name + what)

    def span(self, j: int) -> Tuple[int, int]:
        a, b = int(self.offsets[j]), int(self.offsets[j + 1])
        if not 0 <= a <= b <= self.count:
            self.bad(j, a, b, self.count)
        return a, b

    def spans(self, js: Ints) -> Tuple[Ints, Ints]:
        a, b = self.offsets[js], self.offsets[js + 1]
        self.check_spans(js, a, b, self.count)
        return a, b

    def check_spans(self, js: Ints, a: Ints, b: Ints, count: int) -> None:
        wrong = (a < 0) | (b < a) | (b > count)
        if wrong.any():
            k = int(wrong.argmax())
            self.bad(int(js[k]), int(a[k]), int(b[k]), count)

    def bad(self, j: int, a: int, b: int, count: int) -> NoReturn:
        raise corrupt(self.path, "offsets %d to %d of %d" % (a, b, count), object=self.field.name, sample=j)

    def _one(self, j: int) -> Any:
        a, b = self.span(j)
        v = self.fresh(self.values[a:b])
        if self.shapes is None:
            return v
        shape = self.shapes[j]
        self.check_shape(j, shape, b - a)
        return v.reshape(tuple(shape) + self.field.shape)

    def check_shape(self, j: int, shape: Array, n: int) -> None:
        # As Python integers: a product of hostile dimensions may not wrap.
        total = 1
        for d in shape.tolist():
            total = total * d if d >= 0 else -1
        if total != n:
            raise corrupt(self.path, "shape %s of %d values" % (shape.tolist(), n), object=self.field.name, sample=j)


class List2Reader(ListReader):
    def __init__(
        self, path: str, f: Field, values: Array, valid: Optional[Array], offsets: Ints, offsets1: Ints
    ) -> None:
        self.offsets1 = offsets1
        super().__init__(path, f, values, valid, offsets)
        self.count = len(offsets1) - 1
        self.check_ends(offsets1, len(values), "#offsets1")

    def check_ends(self, offsets: Ints, count: int, what: str) -> None:
        super().check_ends(offsets, len(self.offsets1) - 1 if what == "#offsets" else count, what)

    def inner(self, j: int) -> List[int]:
        """The borders of sample j's lists in values."""
        a, b = self.span(j)
        borders: List[int] = self.offsets1[a : b + 1].tolist()
        last = 0
        for x in borders:
            if not last <= x <= len(self.values):
                self.bad(j, last, x, len(self.values))
            last = x
        return borders

    def _one(self, j: int) -> Any:
        borders = self.inner(j)
        return [self.fresh(self.values[a:b]) for a, b in zip(borders, borders[1:])]


class OpaqueReader(ListReader):
    """Media: str for text, else bytes."""

    def __init__(self, path: str, f: Field, values: Array, valid: Optional[Array], offsets: Ints) -> None:
        super().__init__(path, f, values, valid, offsets)
        self.data = values.data if len(values) else memoryview(b"")

    def _one(self, j: int) -> Any:
        a, b = self.span(j)
        return self.value(j, a, b)

    def value(self, j: int, a: int, b: int) -> Any:
        if not self.field.text:
            return bytes(self.data[a:b])
        try:
            return str(self.data[a:b], "utf-8")
        except UnicodeDecodeError as e:
            raise corrupt(self.path, "no UTF-8: %s" % e.reason, object=self.field.name, sample=j) from None


class Opaque2Reader(List2Reader):
    """Lists of texts, or of other media."""

    def _one(self, j: int) -> Any:
        borders = self.inner(j)
        items = [self.values[a:b].tobytes() for a, b in zip(borders, borders[1:])]
        if not self.field.text:
            return items
        try:
            return [str(t, "utf-8") for t in items]
        except UnicodeDecodeError as e:
            raise corrupt(self.path, "no UTF-8: %s" % e.reason, object=self.field.name, sample=j) from None


def _alloc(first: Reader, rows: int) -> Array:
    return np.empty((rows,) + first.values.shape[1:], first.values.dtype)


def _final(first: Reader, values: Array) -> Array:
    return bf16_to_f32(values) if first.field.dtype == "bf16" else values


def _valid(parts: Sequence[Part[Any]], n: int) -> Optional[npt.NDArray[np.bool_]]:
    if not parts[0][1].field.nullable:
        return None
    out = np.ones(n, np.bool_)
    for at, r, js in parts:
        if r.valid is not None:
            out[at] = r.valid[js]
    return out


def gather(parts: Sequence[Part[Any]], n: int) -> Column:
    """The field's values of n samples as one column."""
    first = parts[0][1]
    if isinstance(first, FixedReader):
        return _gather_fixed(parts, n)
    if isinstance(first, (OpaqueReader, Opaque2Reader)):
        items: List[Any] = [None] * n
        for at, r, js in parts:
            for k, j in zip(at.tolist(), js.tolist()):
                items[k] = r.one(j)
        return ObjectsColumn(items)
    if isinstance(first, List2Reader):
        return _gather_lists2(parts, n)
    return _gather_lists(parts, n)


def _gather_fixed(parts: Sequence[Part[FixedReader]], n: int) -> Column:
    first = parts[0][1]
    if len(parts) == 1:
        # One shard holds the whole batch: its positions are 0..n-1.
        values = first.values.take(parts[0][2], axis=0)
    else:
        values = _alloc(first, n)
        for at, r, js in parts:
            values[at] = r.values[js]
    return FixedColumn(_final(first, values), _valid(parts, n))


def _offsets(lengths: Ints) -> Ints:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _gather_lists(parts: Sequence[Part[ListReader]], n: int) -> Column:
    first = parts[0][1]
    spans = [r.spans(js) for _, r, js in parts]
    lengths = np.empty(n, np.int64)
    for (at, _, _), (a, b) in zip(parts, spans):
        lengths[at] = b - a
    offsets = _offsets(lengths)
    values = _alloc(first, int(offsets[-1]))
    shapes = None if first.shapes is None else np.empty((n,) + first.shapes.shape[1:], np.int64)
    for (at, r, js), (a, b) in zip(parts, spans):
        copy_lists(values, offsets[at], r.values, a, b - a)
        if shapes is not None and r.shapes is not None:
            shapes[at] = r.shapes[js]
            for k, j in zip(at.tolist(), js.tolist()):
                r.check_shape(j, shapes[k], int(lengths[k]))
    return ListsColumn(_final(first, values), offsets, shapes, _valid(parts, n))


def _gather_lists2(parts: Sequence[Part[List2Reader]], n: int) -> Column:
    first = parts[0][1]
    outer = [r.spans(js) for _, r, js in parts]
    counts = np.empty(n, np.int64)
    for (at, _, _), (a, b) in zip(parts, outer):
        counts[at] = b - a
    offsets = _offsets(counts)
    lengths = np.empty(int(offsets[-1]), np.int64)
    spans = []
    for (at, r, js), (a, b) in zip(parts, outer):
        lists = _ranges(a, b - a)
        lo, hi = r.offsets1[lists], r.offsets1[lists + 1]
        r.check_spans(np.repeat(js, b - a), lo, hi, len(r.values))
        lengths[_ranges(offsets[at], b - a)] = hi - lo
        spans.append((lo, hi - lo))
    offsets1 = _offsets(lengths)
    values = _alloc(first, int(offsets1[-1]))
    for (at, r, _), (a, b), (lo, length) in zip(parts, outer, spans):
        copy_lists(values, offsets1[_ranges(offsets[at], b - a)], r.values, lo, length)
    return Lists2Column(_final(first, values), offsets, offsets1, _valid(parts, n))


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """starts[0], starts[0]+1, ... of each range, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    within: Ints = np.arange(total, dtype=np.int64)
    within += np.repeat(starts - (ends - lengths), lengths)
    return within


def copy_lists(dst: Array, to: Ints, src: Array, start: Ints, length: Ints) -> None:
    """dst[to:to+length] = src[start:start+length] for each list."""
    row = src.dtype.itemsize * int(np.prod(src.shape[1:], dtype=np.int64))
    if int(length.sum()) * row <= _SHORT * len(length):
        dst[_ranges(to, length)] = src[_ranges(start, length)]
        return
    for t, s, n in zip(to.tolist(), start.tolist(), length.tolist()):
        dst[t : t + n] = src[s : s + n]
