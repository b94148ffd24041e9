"""Batches that the library delivered at once, one after the other.

What a call of the library and a hand-over of memory cost is shared by all of a group, which
matters where they are small. A tensor is an array over its part of the group's memory, and
keeps all of it.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from . import clib
from .columns import Plan
from .following import Moved
from .frameworks import Spec
from .loaderbatch import LoaderBatch
from .parts import Fixed, Lists

Array = npt.NDArray[Any]

# Those whose tensors are arrays of the host.
GROUPED = ("torch", "numpy")


class Made:
    """A batch that is not yet the loop's."""

    __slots__ = ("place", "batch", "images", "bad", "moved")

    def __init__(self, place: Tuple[int, int]) -> None:
        self.place = place  # the epoch, and the position behind the batch
        self.batch = LoaderBatch()
        self.images: Any = ()
        self.bad: Dict[int, str] = {}  # why rows have no image
        self.moved: List[Moved] = []

    def take_images(self, plan: Plan, s: Any) -> None:
        self.images = [(p, s.array(p.values), s.array(p.offsets), Moved(plan.framework, p.followers, s) if p.followers else None) for p in plan.images]

    def decode(self, skips: bool) -> None:
        """Pixels of the images, on any thread; the damaged ones are an error, or noted."""
        out = self.batch
        for part, values, offsets, moved in self.images:
            part.decode(out, values, offsets, out.ids, out.epoch, self.bad if skips else None, moved)
            if moved is not None:
                self.moved.append(moved)
        self.images = ()

    def arrive(self, plan: Plan, skipped: Any) -> None:
        """Sends pixels to where the batch is, and leaves out the samples whose images are damaged."""
        for part in plan.images:
            part.arrive(self.batch)
        for moved in self.moved:
            moved.build(self.batch)
        self.moved = []
        if self.bad:
            skipped.take_out(self.batch, plan, self.bad)


Make = Optional[Callable[[Array], Any]]  # a tensor of an array; None: the array is it


class Parting:
    """How a loader's groups are parted: batches of so many rows, 0: as the library says, and positions of a step."""

    def __init__(self, plan: Plan, size: int, short: bool, step: int, ids: Callable[..., Any]) -> None:
        self.schema, self.size, self.short, self.step, self.ids = plan.schema, size, short, step, ids
        self.names: List[Tuple[str, int, Make]] = []  # of one row a sample
        # And the tensor of offsets of lists, else -1; what converts all values, if the result has other tensors.
        self.all: List[Tuple[str, int, Make, int, Make, Optional[Callable[[Array, Array], Any]]]] = []
        for p in plan.parts:
            if p.valid >= 0:
                self.all.append((p.name + ".valid", p.valid, _maker(plan, plan.specs[p.valid]), -1, None, None))
            make = _maker(plan, plan.specs[p.values])
            if isinstance(p, Lists):
                whole = None if p.form.jagged == "values" else p.arranged
                self.all.append((p.name, p.values, make, p.offsets, _maker(plan, plan.specs[p.offsets]), whole))
            else:
                self.all.append((p.name, p.values, make, -1, None, None))
        self.names += [f[:3] for f in self.all if f[3] < 0]

    @staticmethod
    def fits(plan: Plan) -> bool:
        """Whether batches of a plan can be parted. Copies that come one by one are groups of one."""
        return plan.framework.name in GROUPED and all(isinstance(p, Fixed) for p in plan.parts)


def _maker(plan: Plan, spec: Spec) -> Make:
    fw: Any = plan.framework
    if fw.name == "numpy" and spec.plain:
        return None
    if fw.name == "torch" and spec.usual:
        return fw.torch.from_numpy  # type: ignore[no-any-return]
    return lambda a: fw.from_array(a, spec)


class Group:
    """Batches that are still to be delivered."""

    __slots__ = ("how", "tensors", "epoch", "index", "at", "end", "rows", "lo", "left")

    def __init__(self, how: Parting, step: List[int], array: Callable[[int], Array]) -> None:
        self.how, self.left, self.lo = how, step[clib.STEPS], 0
        self.epoch, self.index, self.at, self.rows = step[clib.EPOCH], step[clib.INDEX], step[clib.FROM], step[clib.ROWS]
        self.end = step[clib.POSITION]
        self.tensors = [(name, array(i), make) for name, i, make in how.names]

    def next(self) -> Made:
        how, lo, at = self.how, self.lo, self.at
        size = how.size
        end = at + how.step
        made = Made((self.epoch, end if self.left > 1 else self.end))
        out = made.batch
        out.schema, out.epoch, out.index = how.schema, self.epoch, self.index
        out.rows = rows = size if lo + size <= self.rows else max(self.rows - lo, 0)
        out.size = size = rows if how.short else size
        out._ids = partial(how.ids, self.epoch, at, size)
        hi = lo + size
        for name, a, make in self.tensors:
            part = a[lo:hi]
            out[name] = part if make is None else make(part)
        # Nothing is left out if an interrupt came before.
        self.lo, self.at, self.index, self.left = hi, end, self.index + 1, self.left - 1
        return made


class Packed:
    """As a Group, of batches with lists and of different numbers of rows: those of a budget."""

    __slots__ = ("how", "fields", "epoch", "index", "at", "end", "rows", "k", "left")

    def __init__(self, how: Parting, step: List[int], array: Callable[[int], Array]) -> None:
        self.how, self.left, self.k = how, step[clib.STEPS], 0
        self.epoch, self.index, self.at, self.end = step[clib.EPOCH], step[clib.INDEX], step[clib.FROM], step[clib.POSITION]
        rows = self.rows = list(accumulate(step[len(step) - how.size :][: self.left], initial=0))
        parted: Dict[int, Tuple[Any, List[int]]] = {o: _parted(array(o), rows) for o in {f[3] for f in how.all} if o >= 0}
        parted[-1] = None, rows
        self.fields = [(name, array(i), make, *parted[o], makes, whole) for name, i, make, o, makes, whole in how.all]

    def next(self) -> Made:
        how, k, at = self.how, self.k, self.at
        end = at + how.step
        lo, hi = self.rows[k], self.rows[k + 1]
        made = Made((self.epoch, end if self.left > 1 else self.end))
        out = made.batch
        out.schema, out.epoch, out.index = how.schema, self.epoch, self.index
        out.rows = out.size = size = hi - lo
        out._ids = partial(how.ids, self.epoch, at, size)
        for name, a, make, offsets, ends, makes, whole in self.fields:
            part = a[ends[k] : ends[k + 1]]
            if whole is not None:
                out[name] = whole(part, offsets[lo + k : hi + k + 1])
                continue
            tensor = part if make is None else make(part)
            if offsets is None:
                out[name] = tensor
            else:
                begins = offsets[lo + k : hi + k + 1]
                out[name] = {"values": tensor, "offsets": begins if makes is None else makes(begins)}
        # Nothing is left out if an interrupt came before.
        self.k, self.at, self.index, self.left = k + 1, end, self.index + 1, self.left - 1
        return made


def _parted(offsets: Array, rows: List[int]) -> Tuple[Array, List[int]]:
    """The offsets of batches one after the other, each from 0 on and with its end; and where each begins and ends in
    the values."""
    ends, more = offsets[rows], np.diff(rows) + 1
    places = np.arange(len(offsets) + len(more) - 1) - np.repeat(np.arange(len(more)), more)
    return offsets[places] - np.repeat(ends[:-1], more), ends.tolist()


def copies(array: Callable[[int], Array]) -> Callable[[int], Array]:
    return lambda i: np.array(array(i))
