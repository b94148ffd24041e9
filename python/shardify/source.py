"""One batch of the library as a `Source`: copied to memory of our own, or lent."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, List, NoReturn, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import clib, dlpack
from .blocks import ALIGN, Blocks
from .columns import Plan
from .parts import Source

Array = npt.NDArray[Any]


class Arrived(Source):
    """A batch as shardify_next described it. `step` is its numbers."""

    def __init__(self, plan: Plan, step: List[int], rows: int, complain: Callable[..., NoReturn]) -> None:
        self.plan, self.step, self.rows, self._complain = plan, step, rows, complain

    def complain(self, field: str, why: str, row: int) -> NoReturn:
        self._complain(self.step, field, why, row)

    def shape(self, i: int) -> Tuple[int, ...]:
        """As delivered. Padding is behind the samples: leaving it out is a matter of counting."""
        spec = self.plan.specs[i]
        extra = spec.extra
        if extra >= 0:
            return (self.rows + extra,) + spec.inner
        return (self.step[clib.HEAD + clib.EACH * i + clib.COUNT],) + spec.inner

    def stored(self, i: int) -> int:
        """The first dimension, padding included."""
        return self.step[clib.HEAD + clib.EACH * i + clib.COUNT]

    def host(self, i: int) -> int:
        """The tensor's address in host memory, 0 if it is not there."""
        return self.step[clib.HEAD + clib.EACH * i + clib.HOST]

    def array(self, i: int) -> Array:
        """Memory of the batch, which the caller has."""
        return dlpack.array(self.host(i), self.shape(i), self.plan.specs[i].dtype, None)


class Group:
    """Tensors that are copied into one block. A large one has it alone, so that keeping
    another keeps little."""

    ALONE = 16 << 10
    TOGETHER = 64 << 10
    # From here on the library's own memory is passed on instead of copied: that takes as
    # long as to copy some ten thousand bytes.
    DETACH = 64 << 10

    def __init__(self) -> None:
        self.members: List[int] = []
        self.blocks = Blocks()
        self.bytes = 0
        # Of the current batch: where its tensors are in the block, and its length; or that
        # the only one is not copied.
        self.at: Dict[int, int] = {}
        self.end = 0
        self.detach = False

    @staticmethod
    def make(plan: Plan, size: int) -> List["Group"]:
        """Groups for the wanted tensors of batches of so many rows."""
        groups, small = [], Group()
        for i in plan.wanted:
            spec = plan.specs[i]
            n = spec.row * (size + 1) if spec.extra >= 0 else Group.TOGETHER
            g = Group()
            if n <= Group.ALONE:
                if small.bytes + n > Group.TOGETHER:
                    small = Group()
                g = small
            g.members.append(i)
            g.bytes += n
            if len(g.members) == 1:
                groups.append(g)
        return groups


class Detached:
    """A tensor's memory that the library gave away."""

    __slots__ = ("address", "lease")

    def __init__(self, address: int, lease: dlpack.Lease) -> None:
        self.address, self.lease = address, lease

    def array(self, at: int, shape: Tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        return dlpack.array(self.address, shape, dtype, self.lease)


class Copied(Arrived):
    """In blocks of ours, which live as long as their arrays. Large tensors are not copied:
    their memory becomes ours, until nothing refers to it."""

    # By tensor: its block, and where in it.
    where: Dict[int, Tuple[Any, int]]

    def borrowed(self) -> Arrived:
        """The same batch in its own memory."""
        return Arrived(self.plan, self.step, self.rows, self._complain)

    def array(self, i: int) -> Array:
        block, at = self.where[i]
        out: Array = block.array(at, self.shape(i), self.plan.specs[i].dtype)
        return out

    def tensor(self, i: int) -> Any:
        block, at = self.where[i]
        spec = self.plan.specs[i]
        return self.plan.framework.from_array(block.array(at, self.shape(i), spec.dtype), spec)


class Room:
    """Memory for the wanted tensors of a batch: where shardify_take is to put them."""

    def __init__(self, lib: clib.Library, plan: Plan, size: int) -> None:
        self.lib, self.plan = lib, plan
        self.groups = Group.make(plan, size)
        self.n = len(plan.specs)
        self.places = (ctypes.c_int64 * (2 * self.n))()
        self.address = ctypes.addressof(self.places)
        self.where: Dict[int, Tuple[Any, int]] = {}
        self.detached: List[int] = []
        # Whether all sizes are known before the batch is there.
        self.fixed = all(plan.specs[i].extra >= 0 for i in plan.wanted)
        if self.fixed:
            self.measure([size + max(s.extra, 0) for s in plan.specs])

    def measure(self, counts: Sequence[int]) -> None:
        """Says how long the tensors are: their first dimensions, padding included."""
        places, n, specs = self.places, self.n, self.plan.specs
        self.detached = []
        for g in self.groups:
            end = size = 0
            for i in g.members:
                places[n + i] = size = specs[i].row * counts[i]
                g.at[i] = end
                end += (size + ALIGN - 1) & -ALIGN
            g.end = end
            g.detach = len(g.members) == 1 and size >= Group.DETACH
            if g.detach:
                self.detached.append(g.members[0])

    def find(self) -> None:
        """Finds room for another batch."""
        places, varies = self.places, self.plan.varies
        self.where = where = {}
        for g in self.groups:
            if g.detach:
                places[g.members[0]] = clib.DETACH
                continue
            block = g.blocks.get(g.end, varies)
            for i, at in g.at.items():
                where[i] = block, at
                places[i] = block.address + at

    def taken(self) -> Dict[int, Tuple[Any, int]]:
        """Where the tensors are, now that shardify_take has put them there."""
        where, places = self.where, self.places
        self.where = {}  # they are the batch's: this object is not to hold them
        for i in self.detached:
            where[i] = Detached(places[i], dlpack.Lease(self.lib, places[self.n + i], 0)), 0
        return where


class Filled(Arrived):
    """In tensors of the framework on a GPU, which the library wrote. The batch is gone."""

    tensors: Dict[int, Any]
    hosted: Dict[int, Array] = {}

    def keep(self) -> None:
        """Copies what is read on the host while the batch is there."""
        self.hosted = {i: np.array(super(Filled, self).array(i)) for i in self.plan.read if self.host(i)}

    def array(self, i: int) -> Array:
        if i in self.hosted:
            return self.hosted[i]
        return np.ascontiguousarray(self.plan.framework.to_host(self.tensor(i)))

    def tensor(self, i: int) -> Any:
        t, n = self.tensors[i], self.shape(i)[0]
        return t if n == self.stored(i) else t[:n]


class Memory:
    """New tensors on a GPU for each batch: where shardify_take is to put it."""

    def __init__(self, plan: Plan, size: int) -> None:
        self.plan, self.n = plan, len(plan.specs)
        self.places = (ctypes.c_int64 * (2 * self.n))()
        self.address = ctypes.addressof(self.places)
        self.fixed = all(plan.specs[i].extra >= 0 for i in plan.wanted)
        self.counts: Sequence[int] = [size + max(s.extra, 0) for s in plan.specs]
        self.where: Dict[int, Any] = {}

    def measure(self, counts: Sequence[int]) -> None:
        """Says how long the tensors are: their first dimensions, padding included."""
        self.counts = counts

    def find(self) -> None:
        """Makes the tensors of another batch."""
        plan, places, counts = self.plan, self.places, self.counts
        self.where = made = {}
        for i in plan.wanted:
            spec = plan.specs[i]
            made[i] = t = plan.framework.empty((counts[i],) + spec.inner, spec)
            places[i] = plan.framework.address(t)
            places[self.n + i] = spec.row * counts[i]

    def taken(self) -> Dict[int, Any]:
        made, self.where = self.where, {}  # they are the batch's
        return made


class Lent(Arrived):
    """In memory of the loader, as long as something refers to the lease."""

    lease: dlpack.Lease
    stream: int
    own: bool  # tensors are copies: they do not hold the lease

    def array(self, i: int) -> Array:
        if self.plan.on_device and not self.host(i):
            fw, spec = self.plan.framework, self.plan.specs[i]
            t = fw.from_lent(self.lease, spec, self.plan.ready[i], self._address(i), self.shape(i)[0], self.stream)
            return np.ascontiguousarray(fw.to_host(t))
        return dlpack.array(self.host(i), self.shape(i), self.plan.specs[i].dtype, self.lease)

    def tensor(self, i: int) -> Any:
        fw, plan = self.plan.framework, self.plan
        t = fw.from_lent(self.lease, plan.specs[i], plan.ready[i], self._address(i), self.shape(i)[0], self.stream)
        return fw.own(t) if self.own else t

    def _address(self, i: int) -> int:
        return self.step[clib.HEAD + clib.EACH * i + clib.ADDRESS]
