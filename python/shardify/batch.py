"""Samples in memory: one sample, and many as columns."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

from . import near
from .schema import Field, part_of

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Sample(Dict[str, Any]):
    """A dict of one sample's values by field name.

    It remembers its schema, so that `collate` can distinguish a list of varying
    length from an array that happens to have one axis, and so that a field
    which was packed or stacked with others is found under its own name.
    """

    __slots__ = ("schema",)
    schema: Tuple[Field, ...]

    def _repr_html_(self) -> str:
        from . import pieces  # Jupyter alone needs it

        return pieces.sample(getattr(self, "schema", ()), self)

    def __missing__(self, name: str) -> Any:
        part = part_of(getattr(self, "schema", ()), name)
        if part is None or part.part is None or part.part[0] not in self:
            raise KeyError(near.unknown("field", name, self))
        whole = self[part.part[0]]
        if isinstance(whole, list):
            return [v[..., part.part[1]] for v in whole]
        return None if whole is None else whole[..., part.part[1]]


class Column:
    """One field of many samples. `valid` is None when all have a value."""

    valid: Optional[Bools] = None

    def __len__(self) -> int:
        raise NotImplementedError

    def item(self, k: int) -> Any:
        """The value of sample k as `ds[i]` gives it; arrays are views of the column."""
        raise NotImplementedError

    def missing(self, k: int) -> bool:
        return self.valid is not None and not self.valid[k]


class FixedColumn(Column):
    def __init__(self, values: Array, valid: Optional[Bools] = None) -> None:
        self.values, self.valid = values, valid

    def __len__(self) -> int:
        return len(self.values)

    def item(self, k: int) -> Any:
        return None if self.missing(k) else self.values[k]


class ListsColumn(Column):
    """Sample k owns values[offsets[k]:offsets[k+1]], reshaped by shapes[k] if there are shapes."""

    def __init__(
        self, values: Array, offsets: Ints, shapes: Optional[Ints] = None, valid: Optional[Bools] = None
    ) -> None:
        self.values, self.offsets, self.shapes, self.valid = values, offsets, shapes, valid

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def item(self, k: int) -> Any:
        if self.missing(k):
            return None
        v = self.values[self.offsets[k] : self.offsets[k + 1]]
        return v if self.shapes is None else v.reshape(tuple(self.shapes[k]) + v.shape[1:])


class Lists2Column(Column):
    """Sample k owns lists offsets[k]..offsets[k+1]; list m owns values[offsets1[m]:offsets1[m+1]]."""

    def __init__(self, values: Array, offsets: Ints, offsets1: Ints, valid: Optional[Bools] = None) -> None:
        self.values, self.offsets, self.offsets1, self.valid = values, offsets, offsets1, valid

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def item(self, k: int) -> Any:
        if self.missing(k):
            return None
        borders = self.offsets1[self.offsets[k] : self.offsets[k + 1] + 1].tolist()
        return [self.values[a:b] for a, b in zip(borders, borders[1:])]


class ObjectsColumn(Column):
    """Texts, bytes, anything that is not stacked; None where a value is missing."""

    def __init__(self, items: List[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def item(self, k: int) -> Any:
        return self.items[k]


class Batch(Sequence[Sample]):
    """Many samples, gathered column by column: a sequence of `Sample`.

    The arrays of its samples are views of `columns`, which belong to this batch
    alone and may be written to.
    """

    def __init__(self, columns: Mapping[str, Column], size: int, schema: Tuple[Field, ...]) -> None:
        self.columns, self.size, self.schema = columns, size, schema

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return "shardify.Batch(%d samples of %s)" % (self.size, ", ".join(self.columns))

    @overload
    def __getitem__(self, k: int) -> Sample: ...
    @overload
    def __getitem__(self, k: slice) -> List[Sample]: ...
    def __getitem__(self, k: Union[int, slice]) -> Union[Sample, List[Sample]]:
        if isinstance(k, slice):
            return [self._sample(i) for i in range(*k.indices(self.size))]
        if not -self.size <= k < self.size:
            raise IndexError("sample %d of a batch of %d" % (k, self.size))
        return self._sample(k % self.size)

    def __iter__(self) -> Iterator[Sample]:
        return map(self._sample, range(self.size))

    def _sample(self, k: int) -> Sample:
        s = Sample((name, c.item(k)) for name, c in self.columns.items())
        s.schema = self.schema
        return s
