"""One batch of the library as a `Source`: copied to memory of our own, or lent."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NoReturn, Tuple

import numpy as np
import numpy.typing as npt

from . import clib, dlpack
from .blocks import ALIGN, Block, Blocks
from .columns import Plan, Source

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
        """Where the tensor lies in host memory, 0 if it does not."""
        return self.step[clib.HEAD + clib.EACH * i + clib.HOST]

    def array(self, i: int) -> Array:
        """Memory of the batch, which the caller has."""
        return dlpack.array(self.host(i), self.shape(i), self.plan.specs[i].dtype, None)


class Group:
    """Tensors that are copied into one block. A large one has it alone, so that who keeps
    another keeps little."""

    ALONE = 16 << 10
    TOGETHER = 64 << 10

    def __init__(self) -> None:
        self.members: List[int] = []
        self.blocks = Blocks()
        self.bytes = 0

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


class Copied(Arrived):
    """In blocks of ours, which live as long as their arrays."""

    def borrowed(self) -> Arrived:
        """The same batch in its own memory."""
        return Arrived(self.plan, self.step, self.rows, self._complain)

    def place(self, groups: List[Group]) -> Any:
        """Finds room for all wanted tensors: where shardify_take is to put them."""
        plan, step = self.plan, self.step
        n = len(plan.specs)
        to = [0] * (2 * n)
        where: Dict[int, Tuple[Block, int]] = {}
        self.where = where
        for g in groups:
            end = 0
            for i in g.members:
                to[i] = end
                to[n + i] = size = plan.specs[i].row * step[clib.HEAD + clib.EACH * i + clib.COUNT]
                end += (size + ALIGN - 1) & -ALIGN
            block = g.blocks.get(end, plan.varies)
            for i in g.members:
                where[i] = block, to[i]
                to[i] += block.address
        return plan.places(*to)

    def array(self, i: int) -> Array:
        block, at = self.where[i]
        return block.array(at, self.shape(i), self.plan.specs[i].dtype)

    def tensor(self, i: int) -> Any:
        block, at = self.where[i]
        spec = self.plan.specs[i]
        return self.plan.framework.from_array(block.array(at, self.shape(i), spec.dtype), spec)


class Lent(Arrived):
    """In memory of the loader, as long as anybody holds the lease."""

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
