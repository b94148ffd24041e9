"""Batches of the library as the loop gets them: one `Delivery` a loader, which has its handle."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import threading
import time
import weakref
from functools import partial
from typing import Any, Dict, List, NoReturn, Optional, Tuple, Union

import numpy as np

from . import clib
from .columns import Plan, damaged
from .dlpack import PER_THREAD, Lease, handle
from .errors import ClosedError
from .groups import Group, Made, Packed, Parting, copies
from .loaderbatch import LoaderBatch
from .outputs import Outputs
from .source import Copied, Filled, Lent, Memory, Room

# How long one call waits: in between Python sees signals, so that Ctrl-C works.
_PATIENCE_MS = 200


class Delivery:
    """What talks to the library. `lock` is held by calls that change the place."""

    plan: Plan

    def __init__(self, config: Dict[str, Any], indices: Any, weights: Any) -> None:
        self.lib = lib = clib.load()
        self._grow = bool(config["grow"])
        self.handle, self.pid, self.lock = 0, os.getpid(), threading.Lock()
        self.seconds = 0.0
        self._group: Union[None, Group, Packed] = None  # the samples of it that remain
        self._world = config["world"]
        text = json.dumps({k: v for k, v in config.items() if v is not None}).encode()
        handle, out = ctypes.c_uint64(), ctypes.c_void_p()

        def array(a: Any) -> Tuple[Any, int]:
            if a is None:
                return None, 0
            return (a if a.size else np.empty(1, a.dtype)).ctypes.data, a.size

        lib.call(lib.open, text, len(text), *array(indices), *array(weights), ctypes.byref(handle), ctypes.byref(out))
        self.handle = handle.value
        self.info: Dict[str, Any] = json.loads(lib.text(out))
        # With a budget the rows of each batch of a group follow.
        self._packed = self.info["group"] if "budget" in config and self.info["group"] > 1 else 0
        self.step = np.zeros(clib.HEAD + clib.EACH * len(self.info["tensors"]) + self._packed, np.int64)
        self._address = self.step.ctypes.data

    def prepare(self, plan: Plan, size: int, short: bool, lend: bool, own: bool, outputs: Optional[Outputs] = None) -> None:
        """Says what batches are to be: size rows, or fewer at the end, 0: any number; lent, or copies,
        or in memory of the caller."""
        self.plan, self._size, self._short, self._lend, self._own = plan, size, short or size == 0, int(lend), own
        self._outputs = outputs
        together = self.info["group"]
        rows = size or max(self.info["length"] // max(self.info["steps"] * self._world, 1), 1)  # about, with a budget
        self._room: Any = Memory(plan, rows) if plan.on_device and not lend else Room(self.lib, plan, rows * together)
        room = self._room
        # One call brings what nothing is to be made of before it is copied.
        self._fetch = size > 0 and not lend and room.fixed and not plan.objects and not plan.images
        self._parting: Optional[Parting] = None
        if together > 1 or self._fetch and not plan.on_device and Parting.fits(plan):
            size, step = (size, size * self._world) if size else (together, self._world)
            self._parting = Parting(plan, size, short, step, self._ids_at)

    def usable(self) -> int:
        if os.getpid() != self.pid:
            raise clib.forked()
        if not self.handle:
            raise ClosedError("the loader is closed")
        return self.handle

    def restore(self, state: Dict[str, Any]) -> None:
        self._group = None
        try:
            text = json.dumps(state).encode()
        except TypeError as e:
            raise ValueError("load_state_dict: %s" % e) from None
        self.lib.call(self.lib.restore, self.usable(), text, len(text))

    def place(self, address: int) -> None:
        """An error if an address is not in the memory of the loader's GPU."""
        self.lib.call(self.lib.place, self.usable(), address)

    def batches(self, epoch: int, position: int = 0, report: int = 0) -> Any:
        """How many steps an epoch has from a position on, and what its batches by a budget hold."""
        return self.lib.ask(self.lib.batches, self.usable(), epoch, position, report)

    def give(self, epoch: int, order: Any) -> str:
        """Sets the samples of an epoch, and returns the order in states inside it."""
        with self.lock:
            self._group = None
            kind = ("%s%d" % (order.dtype.kind, order.dtype.itemsize)).encode()
            got = self.lib.ask(self.lib.order, self.usable(), epoch, order.ctypes.data, order.size, kind)
        self.info["length"] = got["length"]
        return str(got["order"])

    def stats(self) -> Any:
        return self.lib.ask(self.lib.stats, self.usable())

    def next(self) -> Optional[Made]:
        """The next batch, None at the end of the epoch. The caller holds the lock."""
        group = self._group
        if group is not None:
            ready = group.next()
            if not group.left:
                self._group = None
            return ready
        lib, handle = self.lib, self.usable()
        if self._outputs is not None:
            return self._fill(self._outputs)
        fetch, room = self._fetch, self._room
        stream = self.plan.framework.stream()
        waits = stream if self._lend else clib.NOBODY  # of a copy, take's stream waits
        if fetch:
            room.find()
        collected = not self._lend
        while True:
            if fetch:
                code = lib.call(lib.fetch, handle, _PATIENCE_MS, max(stream, 0), self._address, room.address)
            else:
                code = lib.call(lib.next, handle, _PATIENCE_MS, waits, self._lend, self._address)
            if code != clib.AGAIN:
                break
            if not collected and self.step[clib.LENT] >= self.info["slots"]:
                gc.collect()  # batches in cycles of references, which nothing else frees while this waits
                collected = True
        if code == clib.END:
            room.where = {}
            return None
        start = time.perf_counter()
        step = self.step.tolist()
        made: Optional[Made] = None
        try:
            if self._parting is None:
                made = Made((step[clib.EPOCH], step[clib.POSITION]))
                self._build(made, step, stream)
            else:
                self._group = self._build_group(self._parting, step)
        except BaseException:  # Ctrl-C, too
            self._again(step)
            raise
        self.seconds += time.perf_counter() - start
        return self.next() if self._parting is not None else made

    def _build_group(self, parting: Parting, step: List[int]) -> Union[Group, Packed]:
        rows = step[clib.ROWS] if self._short else step[clib.STEPS] * self._size
        kind = Packed if self._packed else Group
        if not self._lend:
            s = Copied(self.plan, step, rows, self._complain)
            if not self._fetch:
                self._take(step)
            s.where = self._room.taken()
            return kind(parting, step, s.array)
        lent = Lent(self.plan, step, rows, self._complain)
        lent.lease = Lease(self.lib, step[clib.LEASE], step[clib.BATCH])
        # The last slot is not lent: there would be none to make the next batches in.
        own = step[clib.LENT] >= self.info["slots"]
        group = kind(parting, step, copies(lent.array) if own else lent.array)
        if own:
            del lent
            self.lib.call(self.lib.settle, step[clib.BATCH])
        return group

    def _fill(self, out: Outputs) -> Optional[Made]:
        """The next batch, in memory of the caller."""
        lib, handle, stream = self.lib, self.usable(), self.plan.framework.stream()
        to = ctypes.addressof(out.places[out.at])
        while True:
            code = lib.call(lib.fetch, handle, _PATIENCE_MS, max(stream, 0), self._address, to)
            if code != clib.AGAIN:
                break
        if code == clib.END:
            return None
        step = self.step.tolist()
        made = Made((step[clib.EPOCH], step[clib.POSITION]))
        self._describe(made.batch, step)
        made.batch.update(out.take(made.batch.size))
        return made

    def _describe(self, out: LoaderBatch, step: List[int]) -> None:
        out.schema = self.plan.schema
        out.epoch, out.index, out.rows = step[clib.EPOCH], step[clib.INDEX], step[clib.ROWS]
        out.size = out.rows if self._short else self._size
        out._ids = partial(self._ids_at, step[clib.EPOCH], step[clib.FROM], out.size)

    def _build(self, made: Made, step: List[int], stream: int) -> None:
        self._describe(made.batch, step)
        if self._lend:
            self._build_lent(made, step, stream)
        elif self.plan.on_device:
            self._build_filled(made, step, stream)
        else:
            self._build_copied(made, step)

    def _again(self, step: List[int]) -> None:
        """Goes back to a batch that could not be made, so that it is not left out."""
        try:
            if not self._lend and not self._fetch:
                self.lib.call(self.lib.release, step[clib.BATCH])
        except ClosedError:
            pass  # it was given back already
        if self.handle:
            self.restore({**self.info["state"], "epoch": step[clib.EPOCH], "position": step[clib.FROM]})

    def _build_copied(self, made: Made, step: List[int]) -> None:
        plan = self.plan
        batch = step[clib.BATCH]
        s, room = Copied(plan, step, made.batch.size, self._complain), self._room
        if self._fetch:
            s.where = room.taken()
            plan.build(made.batch, s, {})
            return
        if plan.images:
            made.batch._ids = self._ids(batch, made.batch.size)
        early = plan.early(s.borrowed()) if plan.objects else {}
        self._take(step)
        s.where = room.taken()
        plan.build(made.batch, s, early)
        made.take_images(plan, s)

    def _take(self, step: List[int]) -> None:
        """Copies a batch into the room, or makes its memory ours, and gives it back."""
        lib, room = self.lib, self._room
        room.measure(step[clib.HEAD + clib.COUNT : clib.HEAD + clib.EACH * room.n : clib.EACH])
        room.find()
        lib.call(lib.take, step[clib.BATCH], 0, room.address, room.address + 8 * room.n, room.n)

    def _build_filled(self, made: Made, step: List[int], stream: int) -> None:
        """Copies in memory of the framework on a GPU: the batch is given back by the call that makes them."""
        lib, room = self.lib, self._room
        s = Filled(self.plan, step, made.batch.size, self._complain)
        if not self._fetch:
            s.keep()
            room.measure(step[clib.HEAD + clib.COUNT :: clib.EACH])
            room.find()
            lib.call(lib.take, step[clib.BATCH], stream, room.address, room.address + 8 * room.n, room.n)
        s.tensors = room.taken()
        self.plan.build(made.batch, s, {})

    def _build_lent(self, made: Made, step: List[int], stream: int) -> None:
        lib, plan = self.lib, self.plan
        batch = step[clib.BATCH]
        lease = Lease(lib, step[clib.LEASE], batch)
        s = Lent(plan, step, made.batch.size, self._complain)
        s.stream, s.lease = stream, lease
        if stream >= 0 and stream != PER_THREAD:
            lease.told.add(0 if stream == 1 else stream)
        # The last slot is not lent: there would be none to make the next batch in.
        s.own = not self._grow and (self._own or step[clib.LENT] >= self.info["slots"])
        if plan.images:
            made.batch._ids = self._ids(batch, made.batch.size)
        plan.build(made.batch, s, {})
        made.take_images(plan, s)
        if s.own:
            del s, lease  # the last that hold the batch, unless images are to be decoded from it
            lib.call(lib.settle, batch)
        elif plan.on_device:
            made.batch._use = partial(self._use, batch, weakref.ref(lease))

    def _ids(self, batch: int, n: int) -> Any:
        ids = np.empty(n, np.int64)
        self.lib.call(self.lib.ids, batch, ids.ctypes.data, n)
        return ids

    def _ids_at(self, epoch: int, position: int, n: int) -> Any:
        ids = np.empty(n, np.int64)
        at = ids.ctypes.data
        self.lib.call(self.lib.ids_at, self.usable(), epoch, position, at, n)
        return ids

    def _complain(self, step: List[int], field: str, why: str, row: int) -> NoReturn:
        raise damaged(field, why, int(self._ids_at(step[clib.EPOCH], step[clib.FROM], row + 1)[row]) if row >= 0 else None)

    def _use(self, batch: int, lease: Any, stream: Any, leave: int) -> None:
        self.lib.call(self.lib.use, batch, handle(stream), leave)
        known = lease()
        if leave and known is not None:
            known.told.clear()

    def in_child(self) -> None:
        """After a fork: the rest of a group is the parent's."""
        self._group = None

    def close(self) -> None:
        self._group = None
        if not self.handle or os.getpid() != self.pid:
            return  # a forked child has neither threads nor locks to rely on
        handle, self.handle = self.handle, 0
        self.lib.call(self.lib.close, handle)
