"""A loader as one of a rank's worker processes."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional

from . import loaderconfig
from .groups import Made
from .loader import Loader
from .options import Last


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
        batch_size: int,
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
        self._whole = self.batch_size * self.world_size  # positions of a round of all workers
        if self._drops:
            want = self._whole if self._info["strided"] else self.batch_size * world_size
            if self._info["length"] < want:
                self._warn_of_none(want, world_size, 3)

    def __iter__(self) -> Iterator[Any]:
        out = super().__iter__()
        self._from = self._at[1]
        return out

    def _next(self, turn: int) -> Optional[Made]:
        made = super()._next(turn)
        return made if made is None or self._comes(made.place[1]) else None

    def _comes(self, end: int) -> bool:
        """Whether the batch of a round that ends there comes, on every rank alike."""
        length, strided = int(self._info["length"]), bool(self._info["strided"])
        if end < length:
            return True
        left = (length - self._from) % self._whole or self._whole
        before = self._worker * self._ranks  # those whose rows go first
        if strided:
            return left == self._whole if self._drops else bool(left > before)
        least = (before + self._ranks) * self.batch_size if self._drops else before * self.batch_size + 1
        return bool(left >= least)
