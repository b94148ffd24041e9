"""A loader as one of a rank's worker processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from typing import Any, Dict, Iterator, Optional

from . import clib, loaderconfig, orders
from .groups import Made
from .loader import Loader
from .options import Last


# The arguments that the number of batches depends on.
COUNTED = ("split", "budget", "window", "tokens", "labels", "shuffle", "last", "drop_last", "indices", "weights", "balance", "samples", "seed", "shuffle_window", "streams")

_CHILD = "import pickle, sys; sys.path[:0] = {0!r}; from shardify import workers; sys.stdout.buffer.write(pickle.dumps(workers.answer(sys.stdin.buffer.read())))"


def batches(data: Any, batch_size: Optional[int], rank: int, world_size: int, options: Dict[str, Any], epoch: int) -> int:
    """Batches of an epoch on one rank. A process that has not loaded the library asks another one: workers
    can then still be forked from it."""
    asked = {k: v for k, v in options.items() if k in COUNTED}
    order = options.get("order")
    if order is not None:
        asked["order"] = orders.numbers(order(epoch) if callable(order) else order)
        if batch_size is not None:
            drops = loaderconfig.last_policy(options.get("last"), options.get("drop_last")) == "drop"
            return _parts(len(asked["order"]), batch_size * world_size, drops)
    asked.update(data=data, batch_size=batch_size, rank=rank, world_size=world_size, epoch=epoch)
    text = pickle.dumps(asked)
    if clib.loaded():
        got = answer(text)
    else:
        p = subprocess.run([sys.executable, "-c", _CHILD.format(sys.path)], input=text, stdout=subprocess.PIPE, check=True)
        got = pickle.loads(p.stdout)
    if isinstance(got, Exception):
        raise got
    return int(got)


def answer(text: bytes) -> Any:
    """The number of batches, or the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            share = Share(**pickle.loads(text), worker=0, workers=1, framework="numpy", device="cpu", verify="none")
            with share:
                return share.batches()
    except Exception as e:
        return e


def _parts(length: int, each: int, drops: bool) -> int:
    return length // each if drops else -(-length // each)


class Share(Loader[Any]):
    """The batches of worker w of n on rank r of W: those of rank w*W + r of n*W.

    Workers that are asked in turn then deliver the batches of one loader without workers; only
    with shuffle="block" has each worker streams of its own, and a last batch of its own. In the
    last round there may be batches for some workers only: for as many on every rank.
    """

    # Batches go from process to process with all the memory that they keep.
    _GROUP = 0
    _NAME = "LoaderDataset"

    def __init__(
        self,
        data: Any,
        batch_size: Optional[int],
        *,
        worker: int,
        workers: int,
        rank: int,
        world_size: int,
        last: Optional[Last] = None,
        drop_last: Optional[bool] = None,
        **options: Any,
    ) -> None:
        self._worker, self._ranks, self._from = worker, world_size, 0
        last = loaderconfig.last_policy(last, drop_last)
        if last is None:
            shuffled = not loaderconfig.in_order(options.get("shuffle", "none"), options.get("weights"), options.get("balance"))
            # A loss over an empty batch would spoil the gradients of all ranks.
            last = "drop" if shuffled and world_size > 1 else "short"
        # The library would drop what fills no batch on every rank and worker.
        self._drops = last == "drop"
        every: Dict[str, Any] = {"rank": worker * world_size + rank, "world_size": workers * world_size}
        super().__init__(data, batch_size, last="short" if self._drops else last, **every, **options)
        self._each = 1 if self._packed else self.batch_size  # positions of a batch
        self._whole = self._each * self.world_size  # and of a round of all workers
        self._total: Optional[int] = None  # of the epoch
        if self._drops and not self._packed:
            want = self._whole if self._info["strided"] else self.batch_size * world_size
            if self._info["length"] < want:
                self._warn_of_none(want, world_size, 3)

    def batches(self) -> int:
        """Batches of an epoch, of all workers of the rank."""
        return _parts(self._positions(self.epoch), self._each * self._ranks, self._drops)

    def _positions(self, epoch: int) -> int:
        """Positions of an epoch, over all ranks."""
        if not self._differ:
            return int(self._info["length"])
        made = self._made()
        if self._asks is not None:
            self._asks.know(made, epoch)
        return int(made.batches(epoch)["total"])

    def __iter__(self) -> Iterator[Any]:
        out = super().__iter__()
        epoch, self._from = self._at
        self._total = self._positions(epoch)
        return out

    def _next(self, turn: int) -> Optional[Made]:
        made = super()._next(turn)
        return made if made is None or self._comes(made.place[1]) else None

    def _comes(self, end: int) -> bool:
        """Whether the batch of a round that ends there comes, on every rank alike."""
        length, strided = self._total, bool(self._info["strided"])
        if length is None or end < length:
            return True
        left = (length - self._from) % self._whole or self._whole
        before = self._worker * self._ranks  # those whose rows go first
        if strided:
            return left == self._whole if self._drops else bool(left > before)
        least = (before + self._ranks) * self._each if self._drops else before * self._each + 1
        return bool(left >= least)
