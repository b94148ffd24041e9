"""Tensors with fixed addresses that batches are delivered in: `Loader(out=...)`, `Loader(ring=N)`."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Sequence

from .columns import Plan
from .errors import UnsupportedError
from .parts import Fixed

# What kernels that copy whole words want.
ALIGN = 16


class Outputs:
    """One set of tensors, or several that are used in turn, for batches of `rows` rows."""

    def __init__(self, plan: Plan, rows: int, out: Any, ring: int, place: Any) -> None:
        self.plan, self.rows, self._place = plan, rows, place
        for p in plan.parts:
            if not isinstance(p, Fixed):
                raise UnsupportedError(
                    "out= and ring= are for fields of fixed size, and %s is %s: leave it out with columns=" % (p.name, p.field.describe())
                )
        self.tensors = {p.name: p.values for p in plan.parts}
        self.tensors.update({p.name + ".valid": p.valid for p in plan.parts if p.valid >= 0})
        given = [self._make() for _ in range(ring)] if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
        if not given:
            raise ValueError("out=[]: want a dict of tensors, or a list of some")
        self.ring: List[Dict[str, Any]] = [dict(g) for g in given]
        self.places = [self._addresses(k, g) for k, g in enumerate(self.ring)]
        self.at = 0

    def _make(self) -> Dict[str, Any]:
        fw, specs = self.plan.framework, self.plan.specs
        return {name: fw.empty((self.rows,) + specs[i].inner, specs[i]) for name, i in self.tensors.items()}

    def _addresses(self, k: int, given: Dict[str, Any]) -> Any:
        """What shardify_fetch is given: addresses, then sizes."""
        if set(given) != set(self.tensors):
            raise ValueError("out: tensors for %s, want %s" % (", ".join(sorted(given)) or "nothing", ", ".join(sorted(self.tensors))))
        n = len(self.plan.specs)
        places = (ctypes.c_int64 * (2 * n))()
        taken: Dict[int, str] = {}
        for name, i in self.tensors.items():
            places[i] = address = self._address(name, given[name], i)
            places[n + i] = self.plan.specs[i].row * self.rows
            if address in taken:
                raise ValueError("out: %s and %s are the same memory" % (taken[address], name))
            taken[address] = name
        return places

    def _address(self, name: str, t: Any, i: int) -> int:
        fw, spec = self.plan.framework, self.plan.specs[i]
        address, shape, kind, plain = fw.look(t, spec)
        want = (self.rows,) + spec.inner
        if shape != want:
            raise ValueError("out[%r] has shape %r, want %r" % (name, shape, want))
        if kind is not None:
            raise ValueError("out[%r] is of %s, the field of %s" % (name, kind, spec.kind))
        if not plain:
            raise ValueError("out[%r] is not contiguous, or may not be written" % name)
        if address % ALIGN:
            raise ValueError("out[%r] begins at address %#x: want a multiple of %d" % (name, address, ALIGN))
        if self.plan.on_device:
            self._place(address)
        return address

    def take(self, rows: int) -> Dict[str, Any]:
        """The tensors of the batch that came, which has so many rows; the next set is the next one."""
        out = self.ring[self.at]
        self.at = (self.at + 1) % len(self.ring)
        return out if rows == self.rows else {name: t[:rows] for name, t in out.items()}


def check(out: Any, ring: Any, more: Sequence[str]) -> bool:
    """Whether outputs are wanted. more are the settings that do not go with them."""
    if out is None and ring is None:
        return False
    if out is not None and ring is not None:
        raise ValueError("out= and ring=: give one")
    if more:
        raise ValueError("%s= does not go with out= and ring=: batches are made ahead, and the tensors are of one batch" % more[0])
    return True
