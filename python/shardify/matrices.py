"""Batches of sparse rows: pairs of lists, numbers of columns and values, as matrices."""

from __future__ import annotations

import ctypes
import importlib
import struct
import threading
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Literal, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple, Union, get_args

import numpy as np
import numpy.typing as npt

from . import clib, near
from .blocks import ALIGN, Blocks
from .columns import Plan, damaged
from .errors import SchemaError, UnsupportedError
from .frameworks import Spec
from .loaderbatch import LoaderBatch
from .parts import Lists, spec_of
from .pixels import place

Array = npt.NDArray[Any]
Layout = Literal["csr", "coo", "dense"]

# As shardify_sparse numbers types.
_KINDS = ("bool", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64")
_NUMBERS = {np.dtype(t).str: k for k, t in enumerate(("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"))}
_MOST = 1 << 31  # columns of a matrix
_WIDTH = "sparse_columns"  # the attribute that has it


@near.keywords("shardify.Sparse")
@dataclass(frozen=True)
class Sparse:
    """How Loader(..., sparse=...) makes a matrix [batch, width] of two lists, numbers of columns and values.

    layout     "csr", "coo" or "dense". With torch sparse_csr_tensor, sparse_coo_tensor or a tensor, with NumPy csr_array
               and coo_array of scipy, with JAX a BCOO. Columns of a row rise; values of a column that it has twice are added
    columns    the columns of the result, in this order: their numbers, or their names
    normalize  what the values of each row add up to, 1e4 for example; rows that add up to 0 stay
    log1p      log(1 + value), after normalize
    indices    the field of numbers of columns, and
    values     that of values: NAME/indices and NAME/data where Loader(sparse={NAME: ...}) does not say
    width      how many columns the matrix has, where the set does not say
    names      the names of all columns, where columns= has names
    """

    layout: Layout = "csr"
    columns: Optional[Sequence[Union[int, str]]] = None
    normalize: Optional[float] = None
    log1p: bool = False
    indices: Optional[str] = None
    values: Optional[str] = None
    width: Optional[int] = None
    names: Optional[Sequence[str]] = None


Given = Union[None, Layout, Sparse, Mapping[str, Union[Layout, Sparse]]]


class Matrix(NamedTuple):
    """One matrix of the batches of a loader."""

    name: str
    how: Sparse
    indices: str
    values: str
    width: int
    kept: int
    choice: Optional[Array]  # the new number of each column, or -1
    kind: str  # of values that are stored

    @property
    def changes(self) -> bool:
        return bool(self.how.normalize) or self.how.log1p

    @property
    def dtype(self) -> Any:
        """The type of the result's values."""
        return np.dtype("f8" if self.kind == "f64" else "f4") if self.changes else None


def _address(a: Array) -> int:
    return int(a.__array_interface__["data"][0])


def _unchecked(torch: Any) -> Dict[str, bool]:
    """The library has checked them. PyTorch before 2.0 checks always."""
    return {"check_invariants": False} if hasattr(torch.sparse, "check_sparse_tensor_invariants") else {}


class Matrices:
    """The matrices of the batches of one loader, made of its lists."""

    def __init__(self, given: Any, plan: Plan, jagged: str, names: Callable[[Matrix], Optional[List[str]]]) -> None:
        framework = plan.framework
        if framework.name not in ("numpy", "torch", "jax"):
            raise UnsupportedError("sparse= is for framework='torch', 'numpy' and 'jax', not %r" % framework.name)
        if jagged != "values":
            raise ValueError("sparse= makes matrices of lists: leave out jagged=%r" % jagged)
        self.framework, self.device = framework, framework.number >= 0
        self.fields = {p.name: (p, plan.specs[p.values].kind) for p in plan.parts if isinstance(p, Lists)}
        taken = {p.name for p in plan.parts}
        self.list = [self._matrix(name, how, names) for name, how in self._wanted(given).items()]
        for m in self.list:
            if m.name in taken - {m.indices, m.values}:
                raise SchemaError("sparse: the set has a field %s: give the matrix another name" % m.name)
        self.blocks, self.lock = Blocks(), threading.Lock()
        if framework.name == "numpy" and any(m.how.layout != "dense" for m in self.list):
            self.scipy = _library("scipy.sparse")
        if framework.name == "jax":
            self.jax = _library("jax.experimental.sparse")

    # ---- what is wanted

    def _pairs(self) -> List[str]:
        ends = [n[: -len("/indices")] for n in self.fields if n.endswith("/indices")]
        return [n for n in ends if n + "/data" in self.fields]

    def _wanted(self, given: Any) -> Dict[str, Sparse]:
        if isinstance(given, Mapping):
            out = dict(given)
        elif isinstance(given, Sparse) and (given.indices or given.values):
            if not given.values:
                raise ValueError("sparse: Sparse(indices=%r) wants values=, too" % given.indices)
            out = {given.values: given}
        else:
            out = {n: given for n in self._pairs()}
            if not out:
                raise SchemaError(
                    "sparse=%r: the set has no lists NAME/indices and NAME/data; sparse={NAME: shardify.Sparse(indices=, values=, width=)} says which there are: %s"
                    % (given, ", ".join(self.fields) or "none")
                )
        for name, how in out.items():
            how = Sparse(how) if isinstance(how, str) else how  # type: ignore[arg-type,unused-ignore]
            if not isinstance(how, Sparse) or how.layout not in get_args(Layout):
                what = how.layout if isinstance(how, Sparse) else how
                raise ValueError("sparse: %s: %r: want %s or shardify.Sparse" % (name, what, ", ".join(map(repr, get_args(Layout)))))
            out[name] = how
        return out

    def _matrix(self, name: str, how: Sparse, names: Callable[[Matrix], Optional[List[str]]]) -> Matrix:
        indices, values = how.indices or name + "/indices", how.values or name + "/data"
        attrs = []
        for n, what in ((indices, "indices"), (values, "values")):
            if n not in self.fields:
                raise SchemaError("sparse: %s: %s" % (what, near.unknown("list of numbers", n, list(self.fields))))
            part, kind = self.fields[n]
            f = part.field
            if f.levels != 1 or f.ragged or f.shape:
                raise SchemaError("sparse: field %s is %s, want a list of one number a value" % (n, f.describe()))
            if what == "indices" and (kind not in _KINDS or kind[0] not in "iu"):
                raise SchemaError("sparse: %s is %s, and numbers of columns are whole" % (n, kind))
            if kind not in _KINDS:
                raise UnsupportedError("sparse: %s is %s: Loader(cast={%r: \"float32\"}) widens it" % (n, kind, n))
            attrs.append(f.attrs.get(_WIDTH))
        width = self._width(name, how, attrs)
        if how.normalize is not None and not 0 < float(how.normalize) < float("inf"):
            raise ValueError("sparse: normalize=%r: want a number above 0" % (how.normalize,))
        m = Matrix(name, how, indices, values, width, width, None, self.fields[values][1])
        if how.columns is None:
            return m
        chosen = self._chosen(m, names)
        choice = np.full(width, -1, np.int32)
        choice[chosen] = np.arange(len(chosen), dtype=np.int32)
        return m._replace(kept=len(chosen), choice=choice)

    @staticmethod
    def _width(name: str, how: Sparse, attrs: Sequence[Optional[str]]) -> int:
        known = {int(a) for a in attrs if a is not None and a.isdigit()}
        if len(known) > 1:
            raise SchemaError("sparse: %s: the set says %s columns" % (name, " and ".join(map(str, sorted(known)))))
        if how.width is None and not known:
            raise SchemaError("sparse: how many columns has %s? shardify.Sparse(width=...) says it" % name)
        width = known.pop() if how.width is None else int(how.width)
        if known and known != {width}:
            raise SchemaError("sparse: %s: width=%d, and the set says %d" % (name, width, known.pop()))
        if not 0 <= width < _MOST:
            raise UnsupportedError("sparse: %s: %d columns; want 0 to 2^31-1" % (name, width))
        return width

    def _chosen(self, m: Matrix, names: Callable[[Matrix], Optional[List[str]]]) -> Array:
        """The numbers of the columns that are to stay."""
        wanted = np.asarray(m.how.columns)
        if wanted.ndim != 1:
            raise ValueError("sparse: %s: columns=%r: want a list" % (m.name, m.how.columns))
        if wanted.dtype.kind == "b":
            if len(wanted) != m.width:
                raise ValueError("sparse: %s: columns= of %d flags, for %d columns" % (m.name, len(wanted), m.width))
            wanted = np.flatnonzero(wanted)
        if wanted.dtype.kind in "UO" and wanted.size:
            wanted = self._numbered(m, [str(n) for n in wanted.tolist()], self._names(m, names) if m.how.names is None else [str(n) for n in m.how.names])
        if wanted.size and wanted.dtype.kind not in "iu":
            raise ValueError("sparse: %s: columns=%r: want names, or whole numbers" % (m.name, m.how.columns))
        wanted = wanted.astype(np.int64)
        wrong = (wanted < 0) | (wanted >= m.width)
        if wrong.any():
            raise ValueError("sparse: %s: column %d of %d columns" % (m.name, wanted[wrong.argmax()], m.width))
        if len(np.unique(wanted)) < len(wanted):
            first = next(int(c) for k, c in enumerate(wanted.tolist()) if c in wanted[:k])
            raise ValueError("sparse: %s: columns= has column %d twice" % (m.name, first))
        return wanted

    def _names(self, m: Matrix, names: Callable[[Matrix], Optional[List[str]]]) -> Optional[List[str]]:
        """The names of the columns: those that the numbers of columns have as an attribute, else static ones."""
        own = self.fields[m.indices][0].field.attrs.get("columns")
        return names(m) if own is None or own.count("\n") + 1 != m.width else own.split("\n")

    @staticmethod
    def _numbered(m: Matrix, wanted: List[str], names: Optional[List[str]]) -> Array:
        if names is None:
            raise SchemaError("sparse: %s: the set has no names of columns: give shardify.Sparse(names=...), or columns= as numbers" % m.name)
        if len(names) != m.width:
            raise ValueError("sparse: %s: %d names of %d columns" % (m.name, len(names), m.width))
        places: Dict[str, int] = {}
        twice = set()
        for k, n in enumerate(names):
            if n in places:
                twice.add(n)
            places[n] = k
        for n in wanted:
            if n not in places:
                raise ValueError("sparse: %s: %s" % (m.name, near.unknown("column", n, names)))
            if n in twice:
                raise ValueError("sparse: %s: more than one column is named %s: give columns= as numbers" % (m.name, n))
        return np.array([places[n] for n in wanted], np.int64)

    # ---- batches

    def __call__(self, batch: LoaderBatch) -> LoaderBatch:
        out = LoaderBatch()
        out.__dict__.update(batch.__dict__)
        made = {m.name: self._make(m, batch) for m in self.list}
        at = {m.values: m.name for m in self.list}
        gone = {m.indices for m in self.list}
        for name, v in batch.items():
            if name in at:
                out[at[name]] = made.pop(at[name])
            elif name not in gone:
                out[name] = v
        out.update(made)  # a list of values that several matrices share
        return out

    def _make(self, m: Matrix, batch: LoaderBatch) -> Any:
        values, indices = batch[m.values], batch[m.indices]
        offsets = _host(values["offsets"])
        if self.fields[m.values][0].offsets != self.fields[m.indices][0].offsets:
            other = _host(indices["offsets"])
            lengths, others = np.diff(offsets), np.diff(other)
            if (lengths != others).any():
                row = int((lengths != others).argmax())
                self._complain(batch, m.indices, "%d numbers of columns, and %s has %d values" % (others[row], m.values, lengths[row]), row)
        if self.device:
            return self._on_device(m, batch, values, indices, offsets)
        return self._on_host(m, batch, values["values"], indices["values"], offsets)

    @staticmethod
    def _complain(batch: LoaderBatch, field: str, why: str, row: int) -> NoReturn:
        raise damaged(field, why, int(batch.ids[row]))

    def _on_host(self, m: Matrix, batch: LoaderBatch, values: Any, indices: Any, offsets: Array) -> Any:
        data, columns = _host(values), _host(indices)
        rows, n = len(offsets) - 1, len(data)
        dtype = m.dtype or data.dtype
        shape = (rows, m.kept)
        if m.how.layout == "dense":
            with self.lock:
                block = self.blocks.get(rows * m.kept * dtype.itemsize, True)
            dense = block.array(0, shape, dtype)
            self._call(m, batch, data, columns, offsets, dense=(dense,))
            return self._tensor(dense)
        asis = columns.dtype.str in ("<i4", "<i8")[: 1 + (self.framework.name == "torch")]
        if asis and not m.changes and m.choice is None and self._call(m, batch, data, columns, offsets)[1] == 0:
            starts = offsets.astype(columns.dtype) if columns.dtype != offsets.dtype else offsets
            return self._matrix_of(m, shape, starts, columns, data)
        wide = n >= _MOST or columns.dtype.itemsize == 8 and self.framework.name == "torch"
        number = np.dtype("i8" if wide else "i4")
        ends = np.cumsum([-(-k // ALIGN) * ALIGN for k in (n * dtype.itemsize, n * number.itemsize, (rows + 1) * number.itemsize)]).tolist()
        with self.lock:
            block = self.blocks.get(ends[2], True)
        made = block.array(0, (n,), dtype), block.array(ends[0], (n,), number), block.array(ends[1], (rows + 1,), number)
        count = self._call(m, batch, data, columns, offsets, made)[0]
        return self._matrix_of(m, shape, made[2], made[1][:count], made[0][:count])

    def _call(
        self, m: Matrix, batch: LoaderBatch, data: Array, columns: Array, offsets: Array, made: Tuple[Array, ...] = (), dense: Tuple[Array, ...] = ()
    ) -> Tuple[int, int]:
        """The elements of the result, and how many rows have columns that do not rise. Without memory for a result rows are checked."""
        lib = clib.load()
        wide = bool(made) and made[1].dtype.itemsize == 8
        check = not made and not dense
        changed = (m.width, 0, 0) if check else (m.kept, struct.unpack("<q", struct.pack("<d", float(m.how.normalize or 0)))[0], m.how.log1p)
        form = (ctypes.c_int64 * 8)(_NUMBERS[data.dtype.str], _NUMBERS[columns.dtype.str], m.width, *changed, bool(dense), wide)
        to = (ctypes.c_void_p * 3)(*map(_address, made or dense))
        room = (ctypes.c_int64 * 3)(*[a.nbytes for a in made or dense])
        found = (ctypes.c_int64 * 6)()
        choice = None if m.choice is None or check else _address(m.choice)
        lib.call(lib.sparse, form, choice, _address(data), _address(columns), len(data), _address(offsets), len(offsets) - 1, to, room, found)
        row = found[2]
        if row >= 0:
            n = found[4] % (1 << 64) if found[5] else found[4]
            self._complain(batch, m.indices, "value %d: column %d of %d columns" % (found[3], n, m.width), row)
        return found[0], found[1]

    def _tensor(self, a: Array) -> Any:
        return self.framework.from_array(a, spec_of(a))

    def _matrix_of(self, m: Matrix, shape: Tuple[int, int], starts: Array, columns: Array, values: Array) -> Any:
        """The framework's matrix of canonical rows."""
        name = self.framework.name
        if name == "numpy" and m.how.layout == "csr":
            made = self.scipy.csr_array((values, columns, starts), shape=shape)
            made.has_sorted_indices = made.has_canonical_format = True
            return made
        if name == "torch" and m.how.layout == "csr":
            return self._csr(self._tensor(starts), self._tensor(columns), self._tensor(values), shape)
        number = np.dtype("i8" if name == "torch" else columns.dtype)
        places = np.empty((2, len(columns)), number)
        places[0], places[1] = np.repeat(np.arange(shape[0], dtype=number), np.diff(starts)), columns
        if name == "torch":
            return self._coo(self._tensor(places), self._tensor(values), shape)
        if name == "numpy":
            made = self.scipy.coo_array((values, (places[0], places[1])), shape=shape)
            made.has_canonical_format = True
            return made
        return self.jax.BCOO((self._tensor(values), self._tensor(places.T)), shape=shape, indices_sorted=True, unique_indices=True)

    def _csr(self, starts: Any, columns: Any, values: Any, shape: Tuple[int, int]) -> Any:
        torch = self.framework.torch  # type: ignore[attr-defined]
        return torch.sparse_csr_tensor(starts, columns, values, shape, **_unchecked(torch))

    def _coo(self, places: Any, values: Any, shape: Tuple[int, int]) -> Any:
        torch = self.framework.torch  # type: ignore[attr-defined]
        return torch.sparse_coo_tensor(places, values, shape, **_unchecked(torch))._coalesced_(True)

    # ---- where the batch is on a GPU: a kernel of the library, and torch's own operations there

    def _on_device(self, m: Matrix, batch: LoaderBatch, values: Any, indices: Any, host: Array) -> Any:
        t: Any = self.framework.torch  # type: ignore[attr-defined]
        offsets, data, columns = values["offsets"], values["values"], indices["values"]
        rows, n = len(host) - 1, len(data)
        number = t.int64 if columns.element_size() == 8 else t.int32
        if m.how.layout == "dense" and not m.changes and data.is_cuda:
            dense = self._by_kernel(m, data, columns, offsets, rows)
            if dense is not None:
                return dense
        row = t.repeat_interleave(t.arange(rows, device=data.device), offsets[1:] - offsets[:-1], output_size=n)
        columns = columns.to(t.int64)
        wrong = (columns < 0) | (columns >= m.width)
        if bool(wrong.any()):
            k = int(t.nonzero(wrong)[0, 0])
            r = int(row[k])
            self._complain(batch, m.indices, "value %d: column %d of %d columns" % (k - int(host[r]), int(columns[k]), m.width), r)
        if m.choice is not None:
            columns = t.from_numpy(m.choice).to(data.device)[columns].to(t.int64)
            stay = columns >= 0
            columns, data, row = columns[stay], data[stay], row[stay]
        place = row * m.kept + columns
        if bool((place[1:] <= place[:-1]).any()):
            place, order = t.sort(place, stable=True)
            place, to = t.unique_consecutive(place, return_inverse=True)
            flags = data.dtype == t.bool
            data = data[order].to(t.uint8) if flags else data[order]
            data = t.zeros(len(place), dtype=data.dtype, device=data.device).index_add_(0, to, data)
            data = data != 0 if flags else data
            row, columns = place // m.kept, place % m.kept
        data = self._changed(m, t, data, row, rows)
        if m.how.layout == "dense":
            dense = t.zeros(rows * m.kept, dtype=data.dtype, device=data.device)
            dense[place] = data
            return dense.view(rows, m.kept)
        if m.how.layout == "coo":
            return self._coo(t.stack([row, columns]), data, (rows, m.kept))
        starts = t.zeros(rows + 1, dtype=t.int64, device=data.device)
        starts[1:] = t.cumsum(t.bincount(row, minlength=rows), 0)
        return self._csr(starts.to(number), columns.to(number), data, (rows, m.kept))

    def _by_kernel(self, m: Matrix, data: Any, columns: Any, offsets: Any, rows: int) -> Any:
        """Dense rows by one launch, or None where the numbers of a row are not rising columns."""
        t: Any = self.framework.torch  # type: ignore[attr-defined]
        lib, device = clib.load(), data.device
        dense, found = t.empty((rows, m.kept), dtype=data.dtype, device=device), t.zeros(1, dtype=t.int32, device=device)
        choice = None if m.choice is None else t.from_numpy(m.choice).to(device)
        kind = _KINDS.index(("u" if "uint" in str(columns.dtype) else "i") + str(8 * columns.element_size()))
        to = [x.data_ptr() for x in (dense, data, columns, offsets)] + [0 if choice is None else choice.data_ptr(), found.data_ptr()]
        number, stream = place(device)
        form = (ctypes.c_int64 * 12)(*to, rows, len(data), m.width, m.kept, data.element_size(), kind)
        lib.call(lib.dense, b"cuda:%d" % number, stream, form)
        return None if int(found[0]) else dense

    @staticmethod
    def _changed(m: Matrix, t: Any, data: Any, row: Any, rows: int) -> Any:
        if not m.changes:
            return data
        kind = t.float64 if m.kind == "f64" else t.float32
        if m.how.normalize:
            wide = data.to(t.float64)
            sums = t.zeros(rows, dtype=t.float64, device=data.device).index_add_(0, row, wide)
            factor = t.where(sums == 0, t.ones_like(sums), float(m.how.normalize) / sums)
            data = wide * factor[row]
        data = data.to(kind)
        return t.log1p(data) if m.how.log1p else data


def named(static: Mapping[str, Any], width: int) -> Optional[List[str]]:
    """The names of so many columns among the fields that are the same for all samples: those that end with _index first."""
    for name in sorted(static, key=lambda n: (not n.endswith("_index"), n)):
        v = static[name]
        if len(np.shape(v)) == 1 and len(v) == width and all(isinstance(n, str) for n in v):
            return list(v)
    return None


def _host(t: Any) -> Array:
    """An array over a tensor's memory; on a GPU a copy."""
    if isinstance(t, np.ndarray):
        return t
    return t.cpu().numpy() if hasattr(t, "cpu") else np.asarray(t)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise UnsupportedError("sparse= wants %s: %s" % (name.partition(".")[0], e)) from None
