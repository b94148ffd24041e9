"""The data set: any sample by its number."""

from __future__ import annotations

from bisect import bisect_right
from fnmatch import fnmatchcase
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterator, List, Optional, Sequence, Tuple, Type, Union, overload

import numpy as np
import numpy.typing as npt

from . import manifest as mf
from . import callbacks, identity, near, remote, static, windows
from .batch import Batch, Sample
from .errors import SchemaError, ShardifyError, UnsupportedError, printable
from .foreign import LooseTar, MdsShard
from .layout import counter_of
from .megatron import PairShard
from .mmapshard import MmapShard
from .readers import gather
from .schema import KEY, KEY_FIELD, Field, differences, part_of, unlabelled, visible
from .tarshard import TarShard
from .views import Concat, JaggedColumn, join_offsets, split_rows, starts_of

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from . import pieces

    T = TypeVar("T", default=Sample)  # what ds[i] gives
else:
    from typing import TypeVar

    T = TypeVar("T")

Transform = Callable[[Sample], Any]
AnyShard = Union[MmapShard, TarShard, MdsShard, LooseTar]
# Shards that have columns, by the format of their set.
SHARDS: Dict[str, Type[MmapShard]] = {"mmap": MmapShard, "megatron": PairShard}
# Shards that have one sample after the other.
BY_SAMPLE: Dict[str, Any] = {"mds": MdsShard, "tars": LooseTar}


def _open_limit() -> int:
    """Shards kept open: each takes a file descriptor, of which others want some too."""
    try:
        import resource

        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except (ImportError, OSError, ValueError):
        return 128
    return 4096 if soft < 0 else max(16, min(soft // 4, 4096))


class Dataset(Generic[T]):
    """Samples of one or more data sets of one schema; made by `shardify.open`.

    Shards are mapped when they are first touched, in each process for itself:
    a data set may be pickled, forked and spawned freely.
    """

    def __init__(
        self,
        manifests: Sequence[mf.Manifest],
        columns: Optional[Sequence[str]] = None,
        transform: Optional[Transform] = None,
    ) -> None:
        self._manifests: Tuple[mf.Manifest, ...] = tuple(manifests)
        self.transform = transform
        first = self._manifests[0]
        for m in self._manifests[1:]:
            _check_compatible(first, m)
        every = ((KEY_FIELD,) if first.keyed else ()) + visible(first.fields)
        wanted = _select(every, columns)
        self.schema: Tuple[Field, ...] = tuple(f for f in wanted if f.name != KEY)
        self._names = [f.name for f in wanted]
        self._shards = [(m, shard) for m in self._manifests for shard in m.shards]
        self._starts = starts_of([shard.samples for _, shard in self._shards])
        self._columnar = all(m.format in SHARDS for m in self._manifests)
        self._limit = _open_limit()
        self._open: Dict[int, AnyShard] = {}

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_open": {}}

    # ---- what it is

    @property
    def fields(self) -> List[str]:
        """The keys of every sample, except `__key__`."""
        return [f.name for f in self.schema]

    @property
    def manifests(self) -> List[Dict[str, Any]]:
        """The JSON of each data set's shardify.json."""
        return [m.raw for m in self._manifests]

    @property
    def folders(self) -> List[str]:
        """Where the data sets are."""
        return [m.folder for m in self._manifests]

    @property
    def ids(self) -> List[str]:
        """The ids of the data sets, as `shardify id` prints them and id= takes them."""
        return [identity.of(mf.load(m.folder)) for m in self._manifests]

    @property
    def manifest(self) -> Dict[str, Any]:
        if len(self._manifests) > 1:
            raise ValueError("%d data sets have as many manifests: use .manifests" % len(self._manifests))
        return self.manifests[0]

    @property
    def coords(self) -> Dict[str, npt.NDArray[Any]]:
        """The values of the dimensions that fields have, by the name of the dimension (`field(NAME).dims`),
        or by "FIELD:DIMENSION" where fields differ. Texts are arrays of str."""
        return mf.coords(self._manifests)

    @property
    def static(self) -> Dict[str, npt.NDArray[Any]]:
        """The fields that are the same for all samples, as `convert --static` stored them: a land-sea
        mask, the height of the ground; the names of genes, as a list of texts."""
        return static.values(self._manifests)

    @property
    def windows(self) -> Dict[str, windows.Windows]:
        """The views that `convert --window` kept, by name: ds.windows["window"][i] has the rows of a window."""
        return windows.views(self, self._manifests)

    def field(self, name: str) -> Field:
        for f in self.schema:
            if f.name == name:
                return f
        part = part_of(self.schema, name)
        if part is not None:
            return part
        if name == KEY and KEY in self._names:
            return KEY_FIELD
        raise KeyError(near.unknown("field", name, self._names))

    def labels(self, name: str) -> List[str]:
        """Names of the codes 0, 1, ... of a field: class names."""
        labels = self.field(name).labels
        if labels is None:
            raise KeyError(unlabelled(name, self.schema))
        return labels

    def vocab(self, name: str) -> List[Union[str, int]]:
        """The values that the codes 0, 1, ... of a field replace: the texts or integers that
        --encode found, in order. vocab(name)[code] is the value."""
        self.labels(name)
        return self.field(name).vocab or []

    def __len__(self) -> int:
        return self._starts[-1]

    def __repr__(self) -> str:
        folders = ", ".join(self.folders)
        lines = ["shardify.Dataset(%s: %d samples, %d shards)" % (folders, len(self), len(self._shards))]
        fields = ["  %s: %s" % (f.name, f.describe()) for f in self.schema]
        return "\n".join(printable(line.replace("\n", "\\n")) for line in lines + fields)

    def _repr_html_(self) -> str:
        from . import notebook  # Jupyter alone needs it

        size = sum(int(m.raw["bytes"]) for m in self._manifests)
        return notebook.dataset(self.folders, len(self), len(self._shards), size, self.schema, lambda name: Dataset(self._manifests, [name]))

    def view(self, start: int = 0, count: int = 12) -> pieces.Shown:
        """Samples from a number on as a notebook shows them: pictures, plots, texts. `shardify view FOLDER` shows all."""
        from . import pieces

        shown: Dict[int, Any] = {}
        for i in range(len(self))[start : start + count]:
            try:
                shown[i] = self._sample(i)
            except (ShardifyError, OSError) as e:  # the others are shown
                shown[i] = e
        return pieces.Shown(self.schema, shown, len(self), self.folders[0])

    # ---- samples

    @overload
    def __getitem__(self, key: Union[int, np.integer[Any]]) -> T: ...

    @overload
    def __getitem__(self, key: slice) -> View[T]: ...

    @overload
    def __getitem__(self, key: Union[Sequence[int], npt.NDArray[Any]]) -> Sequence[T]: ...

    def __getitem__(self, key: Any) -> Any:
        """`ds[i]`: one sample. `ds[a:b]`: a view, nothing is read. `ds[[i, j, ...]]`: as __getitems__."""
        if isinstance(key, slice):
            return View(self, range(*key.indices(len(self))))
        if isinstance(key, (list, tuple, range)) or (isinstance(key, np.ndarray) and key.ndim > 0):
            return self.__getitems__(key)
        try:
            i = index(key)
        except TypeError:
            raise TypeError(
                "ds[%r]: want the number of a sample, a slice or a list of numbers; ds[0][NAME] is a value, "
                "ds.column(NAME) all of a field" % (key,)
            ) from None
        n = len(self)
        if not -n <= i < n:
            raise IndexError("sample %d of %d" % (i, n))
        sample = self._sample(i + n if i < 0 else i)
        return sample if self.transform is None else self._transformed(sample)

    def _sample(self, i: int) -> Sample:
        k = bisect_right(self._starts, i) - 1
        sample = Sample(self._shard(k).sample(i - self._starts[k]))
        sample.schema = self.schema
        return sample

    def _transformed(self, sample: Sample) -> Any:
        return callbacks.call("shardify.open: transform=", self.transform, sample)

    def __getitems__(self, indices: Any) -> Sequence[T]:
        """Many samples at once, column by column: what DataLoader calls for a batch.

        Their arrays are views of arrays that belong to this batch.
        """
        rows = _rows(indices, len(self))
        if self._columnar and len(rows):
            batch: Any = self._gather(rows)
        else:
            batch = [self._sample(i) for i in rows.tolist()]
        return batch if self.transform is None else [self._transformed(s) for s in batch]

    def _gather(self, rows: npt.NDArray[np.int64]) -> Batch:
        parts = []
        for k, at, local in split_rows(rows, self._starts):
            shard = self._shard(k)
            assert isinstance(shard, MmapShard)
            parts.append((at, shard.readers, local))
        columns = {}
        for name in self._names:
            columns[name] = gather([(at, readers[name], local) for at, readers, local in parts], len(rows))
        return Batch(columns, len(rows), self.schema)

    def __iter__(self) -> Iterator[T]:
        return (self[i] for i in range(len(self)))

    def _shard(self, k: int) -> AnyShard:
        shard = self._open.get(k)
        if shard is None:
            m, record = self._shards[k]
            by_name = {f.name: f for f in m.fields + (KEY_FIELD,)}
            wanted = [by_name.get(name) or _part(m, name) for name in self._names]
            shard = (SHARDS.get(m.format) or BY_SAMPLE.get(m.format, TarShard))(m, record, wanted)
            # Dropping the oldest closes its file once nothing refers to its arrays. Other threads
            # may open shards meanwhile.
            for oldest in list(self._open)[: max(0, len(self._open) - self._limit + 1)]:
                self._open.pop(oldest, None)
            room = shard.room
            for newest in list(self._open)[::-1] if room else ():
                room += getattr(self._open.get(newest), "room", 0)
                if room > remote.ROOM:
                    self._open.pop(newest, None)
            self._open[k] = shard
        return shard

    # ---- columns

    def column(self, name: str) -> Any:
        """All values of one field, without reading them: np.memmap when one shard
        holds them, else a `Concat`; a `JaggedColumn` when lengths differ.

        Values are as stored: bf16 as the bits in u16 (see bf16_to_f32). Sets of
        tars have no columns.
        """
        f = self.field(name)
        if not self._columnar:
            raise UnsupportedError("column(%r): a wds set has no columns; convert with --format mmap" % name)
        whole = name if f.part is None else f.part[0]
        if f.levels == 0:
            return self._tensor(whole, f.shape, f)
        values = self._tensor(whole + "#values", f.shape, f)
        lists = [self._mapped(k).array(self._counter(k, whole) + "#offsets") for k in range(len(self._shards))]
        inner = [self._mapped(k).array(whole + "#offsets1") for k in range(len(self._shards))] if f.levels == 2 else None
        return JaggedColumn(
            partial(self._one, f), values, join_offsets(lists), None if inner is None else join_offsets(inner)
        )

    def _mapped(self, k: int) -> MmapShard:
        shard = self._shard(k)
        assert isinstance(shard, MmapShard)
        return shard

    def _counter(self, k: int, name: str) -> str:
        return name if name == KEY else counter_of(next(f for f in self._shards[k][0].fields if f.name == name))

    def _one(self, f: Field, i: int) -> Any:
        k = bisect_right(self._starts, i) - 1
        return self._mapped(k).reader(f).one(i - self._starts[k])

    def _tensor(self, tensor: str, shape: Tuple[int, ...], f: Field) -> Any:
        count = len(self._shards)
        if count == 0:
            return np.empty((0,) + shape, f.numpy)
        if count == 1:
            mapped = self._mapped(0).memmap(tensor)
            return mapped if f.part is None else mapped[..., f.part[1]]
        if f.levels == 0:
            lengths = [shard.samples for _, shard in self._shards]
        else:
            lengths = [self._mapped(k).tensors[tensor].shape[0] for k in range(count)]
        return Concat([partial(self._array, k, tensor, f) for k in range(count)], lengths)

    def _array(self, k: int, tensor: str, f: Field) -> npt.NDArray[Any]:
        return self._mapped(k).part(f, tensor)


class View(Sequence[T]):
    """Some samples of a data set, by a range of their numbers: what `ds[a:b]` gives."""

    def __init__(self, ds: Dataset[T], rows: range) -> None:
        self.ds, self.rows = ds, rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, key: Union[int, np.integer[Any]]) -> T: ...

    @overload
    def __getitem__(self, key: slice) -> View[T]: ...

    @overload
    def __getitem__(self, key: Union[Sequence[int], npt.NDArray[Any]]) -> Sequence[T]: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return View(self.ds, self.rows[key])
        if isinstance(key, (list, tuple, range)) or (isinstance(key, np.ndarray) and key.ndim > 0):
            return self.__getitems__(key)
        return self.ds[self.rows[index(key)]]

    def __iter__(self) -> Iterator[T]:
        # That of Sequence takes an IndexError of a transform for the end.
        return (self.ds[i] for i in self.rows)

    def __getitems__(self, indices: Any) -> Sequence[T]:
        rows = _rows(indices, len(self.rows))
        return self.ds.__getitems__(self.rows.start + rows * self.rows.step)

    @property
    def schema(self) -> Tuple[Field, ...]:
        return self.ds.schema

    def __repr__(self) -> str:
        return "%d samples %r of %r" % (len(self), self.rows, self.ds)


def _rows(indices: Any, n: int) -> npt.NDArray[np.int64]:
    rows = np.asarray(indices)
    if rows.size == 0:
        return np.empty(0, np.int64)
    if rows.dtype.kind not in "iu" or rows.ndim != 1:
        raise TypeError("samples are chosen by a list of integers, not %s %r" % (rows.dtype, rows.shape))
    wrong = (rows < -n) | (rows >= n) if rows.dtype.kind == "i" else rows >= n
    if wrong.any():
        raise IndexError("sample %d of %d" % (rows[wrong.argmax()], n))
    rows = rows.astype(np.int64)
    return np.where(rows < 0, rows + n, rows)


def _select(every: Tuple[Field, ...], columns: Optional[Sequence[str]]) -> Tuple[Field, ...]:
    if columns is None:
        return every
    if isinstance(columns, str):
        columns = columns.split(",")
    parts: List[Field] = []
    for pattern in columns:
        part = part_of(every, pattern)
        if part is not None and not any(f.name == pattern for f in every):
            parts.append(part)
        elif not any(fnmatchcase(f.name, pattern) for f in every):
            raise SchemaError("columns: " + near.unknown("field", pattern, [f.name for f in every]))
    return tuple(f for f in every if any(fnmatchcase(f.name, p) for p in columns)) + tuple(parts)


def _part(m: mf.Manifest, name: str) -> Field:
    part = part_of(m.fields, name)
    if part is None:
        raise SchemaError("%s has no field %s" % (m.folder, name))
    if m.format not in SHARDS:
        whole = part.part[0] if part.part else ""
        raise UnsupportedError("columns=[%r]: a wds set gives %s whole: sample[%r] is a part of it" % (name, whole, name))
    return part


def _check_compatible(a: mf.Manifest, b: mf.Manifest) -> None:
    lines = differences(visible(a.fields), visible(b.fields), a.folder, b.folder)
    if a.keyed != b.keyed:
        lines.append("__key__: only in %s" % (a.folder if a.keyed else b.folder))
    if lines:
        raise SchemaError("%s and %s do not fit each other:\n  %s" % (a.folder, b.folder, "\n  ".join(lines)))
