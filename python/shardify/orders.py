"""order=: the user's own order of samples."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from . import callbacks
from .delivery import Delivery


def numbers(order: Any) -> Any:
    """An order as an array of whole numbers, without a copy where it is one: np.memmap is read when the library copies it."""
    a = np.asarray(order)
    if a.ndim != 1:
        raise TypeError("order: want one number of a sample after the other, not an array of shape %r" % (a.shape,))
    if not a.size:
        raise ValueError("order: it has no samples")
    if a.dtype == np.bool_:
        raise TypeError("order: position 0 is %s: a bool for each sample chooses samples, and does not order them: give it as indices=" % a[0])
    if a.dtype.kind not in "iu":
        raise TypeError("order: position 0 is %r, of type %s: numbers of samples are of a type of whole numbers, as int64" % (a[0].item(), a.dtype))
    return np.ascontiguousarray(a, a.dtype.newbyteorder("="))


def kind(a: Any) -> Optional[str]:
    """The type of an order, as the library knows it."""
    return None if a is None else "%s%d" % (a.dtype.kind, a.dtype.itemsize)


class Order:
    """The orders of a loader's epochs, from a function of the epoch."""

    def __init__(self, function: Any, epoch: int) -> None:
        self.function, self.epoch = function, epoch
        self.first = self.ask(epoch)
        self.text = ""  # of the order, in states inside the epoch

    def ask(self, epoch: int) -> Any:
        return numbers(callbacks.call("Loader: order=", self.function, epoch))

    def know(self, made: Delivery, epoch: int) -> None:
        """Gives the library the order of an epoch, unless it was the last one."""
        if epoch != self.epoch:
            self.epoch, self.text = epoch, made.give(epoch, self.ask(epoch))


def given(order: Any, epoch: int, taken: Dict[str, Any]) -> Tuple[Any, Optional[Order], Dict[str, Any]]:
    """The first epoch's samples, what asks for those of later ones, and the library's configuration. What has no
    say beside order= is an error."""
    twice = [k for k, v in taken.items() if v is not None]
    if twice:
        raise ValueError("order= is the samples of an epoch, one after the other: leave out %s=" % twice[0])
    if not callable(order):
        a = numbers(order)
        return a, None, {"once": True, "indices_type": kind(a)}
    asks = Order(order, epoch)
    return asks.first, asks, {"per_epoch": True, "indices_type": kind(asks.first), "group": 0}
