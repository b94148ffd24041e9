"""One step's samples, as `Loader` gives them."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import numpy as np
import numpy.typing as npt

from . import near
from .schema import Field, part_of


class LoaderBatch(Dict[str, Any]):
    """A dict of one step's tensors and lists by field name.

    epoch     that it belongs to
    index     of the step in its epoch, the same on all ranks
    rows      samples; with last="pad" rows behind them are padding
    size      rows of every tensor
    ids       numbers of the samples in the data set, -1 for padding
    device_ids  with ids="device": ids where the tensors are, written by the GPU; on the host ids itself
    valid     bool [size]: which rows are samples
    """

    schema: Tuple[Field, ...] = ()
    epoch: int
    index: int
    rows: int
    size: int
    _ids: Any = None
    _device_ids: Any = None  # True: they are ids
    _use: Optional[Callable[[Any, int], None]] = None

    def __missing__(self, name: str) -> Any:
        """A field that was packed or stacked with others is found under its own name."""
        part = part_of(self.schema, name)
        if part is None or part.part is None or part.part[0] not in self:
            raise KeyError(near.unknown("field", name, self))
        whole, k = self[part.part[0]], part.part[1]
        if isinstance(whole, dict):
            return {**whole, "values": whole["values"][..., k]}
        return whole[..., k]

    def __getattr__(self, name: str) -> Any:
        # DataLoader's default collate makes a batch of the same type from the items alone.
        if name == "device_ids":
            raise AttributeError('device_ids: this batch has none; Loader(..., ids="device") delivers them until release()')
        if name in ("epoch", "index", "rows", "size", "ids", "valid"):
            raise AttributeError(
                "%s: another program made this batch as a copy of the loader's, without its attributes; "
                "under DataLoader collate_fn=shardify.LoaderDataset.as_is keeps it" % name
            )
        raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        if callable(self._ids):
            self._ids = self._ids()
        if self._ids is None:
            raise AttributeError("ids")  # which __getattr__ explains
        return self._ids  # type: ignore[no-any-return]

    @property
    def device_ids(self) -> Any:
        if self._device_ids is None:
            raise AttributeError("device_ids")  # which __getattr__ explains
        return self.ids if self._device_ids is True else self._device_ids

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        return np.arange(self.size) < self.rows

    def release(self, stream: Any = None) -> None:
        """Gives up the tensors now. With copy=False their memory is used again as soon
        as nothing else refers to them either. With a stream, on a GPU, all work on them is
        queued on it: the stream need not live any longer, and tensors that are still kept must
        not be used on it."""
        if stream is not None and self._use is not None:
            self._use(stream, 1)
        self._device_ids = None
        self.clear()

    def record_stream(self, stream: Any) -> None:
        """With copy=False on a GPU: the memory is not used again before this stream has
        done the work that is queued on it when the last tensor goes. Needed for streams other
        than the one that was current when the batch came, unless the tensor was given to
        it through DLPack. The stream must live as long as the tensors, or be passed to
        `release`."""
        if self._use is not None:
            self._use(stream, 0)

    def __copy__(self) -> "LoaderBatch":
        made = LoaderBatch(self)
        made.__dict__.update(self.__dict__)
        return made

    def __reduce__(self) -> Any:
        # Only what is data goes to another process.
        state: Dict[str, Any] = {k: self.__dict__[k] for k in ("schema", "epoch", "index", "rows", "size") if k in self.__dict__}
        if self._ids is not None:
            state["_ids"] = self.ids
        if self._device_ids is True:
            state["_device_ids"] = True
        return _rebuild, (dict(self), state)


def _rebuild(items: Dict[str, Any], state: Dict[str, Any]) -> LoaderBatch:
    b = LoaderBatch(items)
    b.__dict__.update(state)
    return b
