"""Batches for training: samples become stacked arrays or tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import near
from .batch import Batch, Column, FixedColumn, Lists2Column, ListsColumn, ObjectsColumn
from .errors import SchemaError, UnsupportedError
from .schema import Field

Array = npt.NDArray[Any]
JAGGED = ("values", "pad", "nested")


@near.keywords("shardify.collate")
def collate(
    jagged: str = "values",
    pad_value: float = 0,
    fill: Optional[Mapping[str, Any]] = None,
    schema: Optional[Sequence[Field]] = None,
    to: str = "auto",
) -> "Collate":
    """A collate_fn for DataLoader, or for `ds.__getitems__`.

    Fixed fields become one array [batch, ...]; texts, bytes and other objects a
    list. A jagged field becomes, by `jagged`:

    values  {"values": [elements, ...], "offsets": [batch+1]}, for lists of lists
            also "offsets1"; for ragged fields also "shapes": [batch, rank]
    pad     {"values": [batch, longest, ...], "mask": [batch, longest], "lengths": [batch]},
            for lists of lists [batch, longest, longest1, ...] with "lengths1";
            for ragged fields the largest shape and "shapes": [batch, rank]
    nested  a torch.nested tensor

    fill names the value of samples that lack one: fill={"x": 0} gives "x" and
    the mask "x.valid". schema (that of the data set) is needed only if a transform
    returns other dicts than it got and leaves jagged fields in them. to is "torch",
    "numpy", or "auto": torch if it is installed.
    """
    if jagged not in JAGGED:
        raise ValueError("jagged=%r: want one of %s" % (jagged, ", ".join(JAGGED)))
    if to not in ("auto", "torch", "numpy"):
        raise ValueError("to=%r: want auto, torch or numpy" % to)
    return Collate(jagged, pad_value, dict(fill or {}), None if schema is None else tuple(schema), to)


@dataclass(frozen=True)
class Collate:
    """What `collate` returns; picklable, so it may go to workers."""

    jagged: str
    pad_value: float
    fill: Dict[str, Any] = field(default_factory=dict)
    schema: Optional[Tuple[Field, ...]] = None
    to: str = "auto"

    def __call__(self, samples: Sequence[Any]) -> Any:
        torch = _torch(self.to)
        if self.jagged == "nested" and torch is None:
            raise UnsupportedError("collate(jagged='nested') needs torch")
        if isinstance(samples, Batch):
            out: Dict[str, Any] = {}
            for name, column in samples.columns.items():
                self._column(out, name, column, torch)
            return out
        if len(samples) == 0:
            raise ValueError("collate of no samples")
        return self._items("", list(samples), torch)

    def _items(self, name: str, items: List[Any], torch: Any) -> Any:
        """Samples, or the values of one field of all samples."""
        first = items[0]
        if isinstance(first, Mapping):
            known = self.schema if self.schema is not None else getattr(first, "schema", ())
            fields = {f.name: f for f in known}
            out: Dict[str, Any] = {}
            for key in first:
                values = [_get(s, key, k) for k, s in enumerate(items)]
                column = to_column(key, values, fields.get(key))
                if column is None:
                    out[key] = self._items(key, values, torch)
                else:
                    self._column(out, key, column, torch)
            return out
        if isinstance(first, tuple):
            if any(len(s) != len(first) for s in items):
                raise SchemaError("samples are tuples of different lengths")
            return tuple(self._items("%s[%d]" % (name, k), list(v), torch) for k, v in enumerate(zip(*items)))
        if torch is not None and isinstance(first, torch.Tensor):
            return torch.stack(items)
        box: Dict[str, Any] = {}
        self._column(box, name, to_column(name, items, None) or ObjectsColumn(items), torch)
        return box[name]

    def _column(self, out: Dict[str, Any], name: str, c: Column, torch: Any) -> None:
        if isinstance(c, ObjectsColumn):
            out[name] = c.items
            return
        self._missing(out, name, c, torch)
        if isinstance(c, FixedColumn):
            out[name] = tensor(c.values, torch)
        elif self.jagged == "nested":
            out[name] = _nested(name, c, torch)
        else:
            arrays = _pad(c, self.pad_value) if self.jagged == "pad" else _values(c)
            out[name] = {k: tensor(a, torch) for k, a in arrays.items()}

    def _missing(self, out: Dict[str, Any], name: str, c: Column, torch: Any) -> None:
        valid = c.valid
        if name in self.fill:
            valid = np.ones(len(c), np.bool_) if valid is None else valid
            if isinstance(c, FixedColumn):
                c.values[~valid] = self.fill[name]
            out[name + ".valid"] = tensor(valid, torch)
        elif valid is not None and not valid.all():
            k = int((~valid).argmax())
            raise SchemaError("sample %d of the batch has no %s: use collate(fill={%r: VALUE})" % (k, name, name))


def _get(sample: Any, key: str, k: int) -> Any:
    try:
        return sample[key]
    except (KeyError, TypeError):
        raise SchemaError("sample %d of the batch has no key %r, sample 0 has" % (k, key)) from None


def _torch(to: str) -> Any:
    if to == "numpy":
        return None
    try:
        import torch
    except ImportError:
        if to == "torch":
            raise
        return None
    return torch


def to_column(name: str, items: List[Any], f: Optional[Field]) -> Optional[Column]:
    """Values of one field as a column; None for tensors, dicts and tuples."""
    there = [v for v in items if v is not None]
    valid = None if len(there) == len(items) else np.array([v is not None for v in items])
    if not there:
        known = f is not None and not f.media
        return _absent(f, len(items)) if known and f is not None else ObjectsColumn(items)
    first = there[0]
    if f is not None and f.jagged and f.levels == 2 and isinstance(first, list):
        return _lists2(items, f, valid)
    if f is not None and f.jagged and f.levels == 1 and np.ndim(first) > 0:
        return _lists(items, f, valid)
    if isinstance(first, (np.ndarray, np.generic, bool, int, float)):
        return FixedColumn(_stack(name, items, there), valid)
    if isinstance(first, (Mapping, tuple)) or type(first).__module__.split(".")[0] == "torch":
        return None
    return ObjectsColumn(items)


def _absent(f: Field, n: int) -> Column:
    valid, zeros = np.zeros(n, np.bool_), np.zeros(n + 1, np.int64)
    if f.levels == 0:
        return FixedColumn(np.zeros((n,) + f.shape, _empty(f).dtype), valid)
    return (
        ListsColumn(_empty(f), zeros, None, valid)
        if f.levels == 1
        else Lists2Column(_empty(f), zeros, zeros[:1], valid)
    )


def _empty(f: Field) -> Array:
    """No elements of a field, in the type that users get."""
    return np.empty((0,) + f.shape, np.dtype("f4") if f.dtype == "bf16" else f.numpy)


def _stack(name: str, items: List[Any], there: List[Any]) -> Array:
    first = there[0]
    if not isinstance(first, np.ndarray):
        zero = type(first)(0)
        out = np.array([zero if v is None else v for v in items])
        if out.ndim == 1 and out.dtype.kind in "biuf":
            return out
    shapes = {np.shape(v) for v in there}
    if len(shapes) > 1:
        raise SchemaError(
            "%s has different shapes in this batch, as %s: if it is a jagged field, give collate(schema=ds.schema)"
            % (name or "a value", " and ".join(map(str, sorted(shapes)[:2])))
        )
    out = np.empty((len(items),) + shapes.pop(), np.result_type(*{np.asarray(v).dtype for v in there}))
    for k, v in enumerate(items):
        out[k] = 0 if v is None else v
    return out


def _offsets(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.asarray(lengths, np.int64), out=offsets[1:])
    return offsets


def _lists(items: List[Any], f: Field, valid: Any) -> Column:
    arrays = [None if v is None else np.asarray(v) for v in items]
    like = next(a for a in arrays if a is not None)
    if not f.ragged:
        flat = [like[:0] if a is None else a for a in arrays]
        return ListsColumn(np.concatenate(flat), _offsets([len(a) for a in flat]), None, valid)
    rank, inner = like.ndim - len(f.shape), f.shape
    shapes = np.zeros((len(arrays), rank), np.int64)
    flat = []
    for k, a in enumerate(arrays):
        if a is not None:
            shapes[k] = a.shape[:rank]
        flat.append(np.empty((0,) + inner, like.dtype) if a is None else a.reshape((-1,) + inner))
    return ListsColumn(np.concatenate(flat), _offsets([len(a) for a in flat]), shapes, valid)


def _lists2(items: List[Any], f: Field, valid: Any) -> Column:
    lists = [[np.asarray(a) for a in v] if v is not None else [] for v in items]
    flat = [a for v in lists for a in v]
    values = np.concatenate(flat) if flat else _empty(f)
    return Lists2Column(values, _offsets([len(v) for v in lists]), _offsets([len(a) for a in flat]), valid)


def _values(c: Column) -> Dict[str, Array]:
    assert isinstance(c, (ListsColumn, Lists2Column))
    out: Dict[str, Array] = {"values": c.values, "offsets": c.offsets}
    if isinstance(c, Lists2Column):
        out["offsets1"] = c.offsets1
    elif c.shapes is not None:
        out["shapes"] = c.shapes
    return out


def _pad(c: Column, pad: float) -> Dict[str, Array]:
    if isinstance(c, Lists2Column):
        return _pad2(c, pad)
    assert isinstance(c, ListsColumn)
    if c.shapes is not None:
        return _pad_ragged(c, c.shapes, pad)
    lengths = np.diff(c.offsets)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    values = np.full(mask.shape + c.values.shape[1:], pad, c.values.dtype)
    values[mask] = c.values
    return {"values": values, "mask": mask, "lengths": lengths}


def _pad2(c: Lists2Column, pad: float) -> Dict[str, Array]:
    lengths, each = np.diff(c.offsets), np.diff(c.offsets1)
    outer = np.arange(lengths.max(initial=0)) < lengths[:, None]
    lengths1 = np.zeros(outer.shape, np.int64)
    lengths1[outer] = each
    mask = np.arange(each.max(initial=0)) < lengths1[..., None]
    values = np.full(mask.shape + c.values.shape[1:], pad, c.values.dtype)
    values[mask] = c.values
    return {"values": values, "mask": mask, "lengths": lengths, "lengths1": lengths1}


def _pad_ragged(c: ListsColumn, shapes: Array, pad: float) -> Dict[str, Array]:
    largest = tuple(shapes.max(axis=0, initial=0).tolist())
    values = np.full((len(c),) + largest + c.values.shape[1:], pad, c.values.dtype)
    for k, shape in enumerate(shapes.tolist()):
        part = c.values[c.offsets[k] : c.offsets[k + 1]].reshape(tuple(shape) + c.values.shape[1:])
        values[(k,) + tuple(slice(d) for d in shape)] = part
    return {"values": values, "shapes": shapes}


def _nested(name: str, c: Column, torch: Any) -> Any:
    if isinstance(c, Lists2Column):
        raise UnsupportedError("%s: torch.nested has no lists of lists: use jagged='pad' or 'values'" % name)
    assert isinstance(c, ListsColumn)
    items = []
    for k in range(len(c)):
        v = c.values[c.offsets[k] : c.offsets[k + 1]]
        items.append(tensor(v if c.shapes is None else v.reshape(tuple(c.shapes[k]) + v.shape[1:]), torch))
    return torch.nested.nested_tensor(items)


def tensor(a: Array, torch: Any) -> Any:
    """The array as a tensor over the same memory. Unsigned types that this torch
    lacks are widened to the next signed one that holds every value present."""
    if torch is None:
        return a
    if a.dtype.kind == "u" and a.dtype.itemsize > 1 and not hasattr(torch, a.dtype.name):
        if a.dtype.itemsize == 8 and a.size and int(a.max()) > np.iinfo(np.int64).max:
            raise UnsupportedError("this torch has no uint64, and %d does not fit into int64: leave its field out with columns=, or take torch 2.3 or newer" % a.max())
        a = a.astype({2: np.int32, 4: np.int64, 8: np.int64}[a.dtype.itemsize])
    return torch.from_numpy(np.ascontiguousarray(a))
