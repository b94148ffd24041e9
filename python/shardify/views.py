"""What `ds.column` gives when one array will not do."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


def starts_of(lengths: Sequence[int]) -> List[int]:
    starts = [0]
    for n in lengths:
        starts.append(starts[-1] + n)
    return starts


class Concat:
    """Arrays of several shards as one, without reading them: behaves like an
    array of `shape` for len, indexing along the first axis and np.asarray.

    Indexing reads; a slice or a list of rows gives a new array.
    """

    def __init__(self, parts: Sequence[Callable[[], Array]], lengths: Sequence[int]) -> None:
        self._parts, self._starts = parts, starts_of(lengths)
        first = parts[0]()
        self.dtype: np.dtype[Any] = first.dtype
        self.shape: Tuple[int, ...] = (self._starts[-1],) + first.shape[1:]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return "Concat(%d parts, shape=%r, dtype=%s)" % (len(self._parts), self.shape, self.dtype)

    def __iter__(self) -> Iterator[Any]:
        for part in self._parts:
            yield from part()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        if copy is False:
            raise ValueError("an array over several shards needs a copy")
        return np.concatenate([part() for part in self._parts]).astype(dtype or self.dtype, copy=False)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            row, rest = (key[0], key[1:]) if key else (slice(None), ())
            if row is Ellipsis:
                return np.asarray(self)[key]
            got = self[row]
            # A single row has lost its axis, a list of rows has not.
            return got[rest] if _is_int(row) else got[(slice(None),) + rest]
        if _is_int(key):
            i = int(key)
            if not -len(self) <= i < len(self):
                raise IndexError("row %d of %d" % (i, len(self)))
            k, j = self._find(i % len(self))
            return self._parts[k]()[j]
        if isinstance(key, slice):
            return self._take(np.arange(*key.indices(len(self)), dtype=np.int64))
        rows = np.asarray(key)
        if rows.dtype == np.bool_:
            if rows.shape != (len(self),):
                raise IndexError("a mask of shape %r for %d rows" % (rows.shape, len(self)))
            rows = np.flatnonzero(rows)
        return self._take(rows.astype(np.int64).ravel()).reshape(rows.shape + self.shape[1:])

    def _find(self, i: int) -> Tuple[int, int]:
        k = bisect_right(self._starts, i) - 1
        return k, i - self._starts[k]

    def _take(self, rows: Ints) -> Array:
        n = len(self)
        if len(rows) and (rows.min() < -n or rows.max() >= n):
            raise IndexError("rows %d to %d of %d" % (rows.min(), rows.max(), n))
        rows = np.where(rows < 0, rows + n, rows)
        out = np.empty((len(rows),) + self.shape[1:], self.dtype)
        for k, at, local in split_rows(rows, self._starts):
            out[at] = self._parts[k]()[local]
        return out


def split_rows(rows: Ints, starts: Sequence[int]) -> List[Tuple[int, Ints, Ints]]:
    """(shard, places in rows, rows within the shard) for every shard that is met."""
    shard = np.searchsorted(np.asarray(starts), rows, side="right") - 1
    order = np.argsort(shard, kind="stable")
    ks, begin = np.unique(shard[order], return_index=True)
    borders = list(begin.tolist()) + [len(rows)]
    out = []
    for k, lo, hi in zip(ks.tolist(), borders, borders[1:]):
        at = order[lo:hi]
        out.append((k, at, rows[at] - starts[k]))
    return out


class JaggedColumn:
    """A column whose samples differ in length.

    `values` and `offsets` (and `offsets1` for lists of lists) are arrays: sample
    i owns values[offsets[i]:offsets[i+1]]. Indexing gives a sample's value as
    `ds[i]` does, a slice gives a list of them.
    """

    def __init__(
        self,
        one: Callable[[int], Any],
        values: Union[Array, Concat],
        offsets: Ints,
        offsets1: Optional[Ints] = None,
    ) -> None:
        self._one = one
        self.values, self.offsets, self.offsets1 = values, offsets, offsets1

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self._one(i) for i in range(*key.indices(len(self)))]
        i = int(key)
        if not -len(self) <= i < len(self):
            raise IndexError("sample %d of %d" % (i, len(self)))
        return self._one(i % len(self))

    def __iter__(self) -> Iterator[Any]:
        return map(self._one, range(len(self)))

    def __repr__(self) -> str:
        return "JaggedColumn(%d samples, values %s %r)" % (len(self), self.values.dtype, self.values.shape)


def join_offsets(parts: Sequence[Ints]) -> Ints:
    """Offsets of several shards as offsets into their values joined."""
    out = [np.zeros(1, np.int64)]
    end = 0
    for p in parts:
        out.append(p[1:] + end)
        end += int(p[-1])
    return np.concatenate(out)


def _is_int(key: Any) -> bool:
    return isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_))
