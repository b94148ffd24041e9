"""One step's samples, as `Loader` gives them."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from .schema import Field, part_of


class LoaderBatch(Dict[str, Any]):
    """A dict of one step's tensors and lists by field name.

    epoch     that it belongs to
    index     of the step in its epoch, the same on all ranks
    rows      samples; with last="pad" rows behind them are padding
    size      rows of every tensor
    ids       numbers of the samples in the data set, -1 for padding
    valid     bool [size]: which rows are samples
    """

    schema: Tuple[Field, ...] = ()
    epoch: int = 0
    index: int = 0
    rows: int = 0
    size: int = 0
    _ids: Any = None
    _streams: Optional[List[Any]] = None
    _record: Optional[Callable[[Any], None]] = None

    def __missing__(self, name: str) -> Any:
        """A field that was packed or stacked with others is found under its own name."""
        part = part_of(self.schema, name)
        if part is None or part.part is None or part.part[0] not in self:
            raise KeyError(name)
        whole, k = self[part.part[0]], part.part[1]
        if isinstance(whole, dict):
            return {**whole, "values": whole["values"][..., k]}
        return whole[..., k]

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        if callable(self._ids):
            self._ids = self._ids()
        if self._ids is None:
            raise AttributeError("ids: this batch was made anew from the loader's, without what only that one knew")
        return self._ids  # type: ignore[no-any-return]

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        return np.arange(self.size) < self.rows

    def release(self) -> None:
        """Lets go of the tensors now. With copy=False their memory is used again as soon
        as nothing else refers to them either."""
        self.clear()

    def record_stream(self, stream: Any) -> None:
        """With copy=False on a GPU: the memory is not used again before this stream has
        done what it has got to do when the last tensor goes. Needed for streams other
        than the one that was current when the batch came."""
        if self._record is not None:
            self._record(stream)

    def __copy__(self) -> "LoaderBatch":
        made = LoaderBatch(self)
        made.__dict__.update(self.__dict__)
        return made

    def __reduce__(self) -> Any:
        # Only what is data goes to another process.
        state = {
            "schema": self.schema,
            "epoch": self.epoch,
            "index": self.index,
            "rows": self.rows,
            "size": self.size,
            "_ids": self.ids,
        }
        return _rebuild, (dict(self), state)


def _rebuild(items: Dict[str, Any], state: Dict[str, Any]) -> LoaderBatch:
    b = LoaderBatch(items)
    b.__dict__.update(state)
    return b
