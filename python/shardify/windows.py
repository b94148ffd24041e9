"""Views of a data set whose samples are windows of rows: `convert --window` keeps them in the manifest."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence as Sequences
from operator import index
from typing import Any, Dict, List, Protocol, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from .errors import corrupt
from .manifest import NAME, Manifest
from .mmapshard import MmapShard
from .schema import Field, bf16_to_f32

NEXT = ".next"
Runs = List[Tuple[int, int, int]]  # of anchors: lo, hi, step


class Rows(Protocol):
    """What windows are cut from: the shards of a data set."""

    schema: Tuple[Field, ...]
    _starts: List[int]

    def _shard(self, k: int) -> Any: ...


class Windows(Sequences):  # type: ignore[type-arg]
    """The windows of a view, in the order of their anchors. `w[i]` is a dict: NAME has the rows up to
    the anchor, NAME.next those behind it. Where these are in one shard at equal distances they are
    views of the file, else copies; of lists, and where values may be missing, a list of them."""

    def __init__(self, ds: Rows, name: str, inside: Sequence[int], behind: Sequence[int], runs: Runs) -> None:
        self._ds, self.name = ds, name
        self._sides = [(suffix, list(rows)) for suffix, rows in (("", inside), (NEXT, behind)) if rows]
        self._runs = runs
        self._before = [0]
        for lo, hi, step in runs:
            self._before.append(self._before[-1] + (hi - lo - 1) // step + 1)

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """The row number of each window's anchor, its last row of NAME."""
        return np.concatenate([np.arange(*run, dtype=np.int64) for run in self._runs] or [np.empty(0, np.int64)])

    def __len__(self) -> int:
        return self._before[-1]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self[i] for i in range(*key.indices(len(self)))]
        i, n = index(key), len(self)
        if not -n <= i < n:
            raise IndexError("window %d of %d" % (i, n))
        i += n if i < 0 else 0
        k = bisect_right(self._before, i) - 1
        lo, _, step = self._runs[k]
        anchor = lo + (i - self._before[k]) * step
        return {f.name + suffix: self._rows(f, [anchor + r for r in rows]) for f in self._ds.schema for suffix, rows in self._sides}

    def _rows(self, f: Field, rows: List[int]) -> Any:
        ds = self._ds
        if f.levels or f.nullable:
            return [self._reader(f, r).one(r - self._start(r)) for r in rows]
        parts: List[npt.NDArray[Any]] = []
        while rows:
            start, end = self._start(rows[0]), ds._starts[bisect_right(ds._starts, rows[0])]
            n = next((k for k, r in enumerate(rows) if r >= end), len(rows))
            values = self._reader(f, rows[0]).values
            steps = {b - a for a, b in zip(rows[: n - 1], rows[1:n])} or {1}
            if len(steps) == 1:
                parts.append(values[rows[0] - start : rows[n - 1] - start + 1 : steps.pop()])
            else:
                parts.append(values[np.array(rows[:n]) - start])
            rows = rows[n:]
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return bf16_to_f32(whole) if f.dtype == "bf16" else whole

    def _start(self, row: int) -> int:
        return self._ds._starts[bisect_right(self._ds._starts, row) - 1]

    def _reader(self, f: Field, row: int) -> Any:
        shard = self._ds._shard(bisect_right(self._ds._starts, row) - 1)
        assert isinstance(shard, MmapShard)
        return shard.reader(f)

    def __repr__(self) -> str:
        rows = "+".join(str(len(rows)) for _, rows in self._sides)
        return "%d windows of %s rows of %r" % (len(self), rows, self._ds)


def views(ds: Rows, manifests: Sequence[Manifest]) -> Dict[str, Windows]:
    """The views that all data sets have, of rows at the same distances."""
    every = [_views(m) for m in manifests]
    out = {}
    for name, (inside, behind, _) in every[0].items():
        at, runs, same = 0, [], True
        for m, mine in zip(manifests, every):
            same = same and name in mine and mine[name][:2] == (inside, behind)
            if same:
                runs += [(lo + at, hi + at, step) for lo, hi, step in mine[name][2]]
            at += m.samples
        if same:
            out[name] = Windows(ds, name, inside, behind, runs)
    return out


def _views(m: Manifest) -> Dict[str, Tuple[List[int], List[int], Runs]]:
    out = {}
    for name, v in (m.raw.get("windows") or {}).items():
        try:
            inside, behind = _numbers(v["in"]), _numbers(v.get("out") or [])
            least, most = min(inside + behind), max(inside + behind)
            if m.format != "mmap" or any(a >= b for side in (inside, behind) for a, b in zip(side, side[1:])):
                raise ValueError("rows %r and %r of %s shards" % (inside, behind, m.format))
            runs = []
            for run in v["anchors"]:
                lo, hi, step = _numbers(run) if len(run) == 3 else _numbers(run) + [1]
                if step < 1 or lo >= hi or lo + least < 0 or hi - 1 + most >= m.samples:
                    raise ValueError("anchors %r of %d rows" % (run, m.samples))
                runs.append((lo, hi, step))
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise corrupt(os.path.join(m.folder, NAME), "window %s: %s: %s" % (name, type(e).__name__, e)) from None
        out[name] = (inside, behind, runs)
    return out


def _numbers(values: Any) -> List[int]:
    if any(type(v) is not int for v in values):
        raise ValueError("%r are not numbers of rows" % (values,))
    return list(values)
