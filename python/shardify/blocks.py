"""Memory for copies of batches, used again as soon as no array or tensor refers to it.

Fresh memory of a batch's size comes from the kernel page by page, which takes longer
than the copy. Arrays and tensors made from a block keep it alive by a reference, so the
number of references shows whether the block is free.
"""

from __future__ import annotations

import sys
from typing import Any, List

import numpy as np
import numpy.typing as npt

ALIGN = 64
_KEPT = 8
# Without the global lock, or another interpreter, references are not counted like that.
_COUNTED = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


class Block:
    """bytes[start:] is aligned and has room for `size`."""

    __slots__ = ("bytes", "start", "address", "size", "_unused")

    def __init__(self, size: int) -> None:
        self.bytes: npt.NDArray[np.uint8] = np.empty(size + ALIGN, np.uint8)
        address = self.bytes.ctypes.data
        self.start = -address % ALIGN
        self.address = address + self.start
        self.size = size
        self._unused = self._references()

    def _references(self) -> int:
        return sys.getrefcount(self.bytes)

    def free(self) -> bool:
        return self._references() == self._unused

    def array(self, at: int, shape: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An array at a place of the block, which keeps it."""
        return np.ndarray(shape, dtype, self.bytes, self.start + at)


class Blocks:
    """The blocks of one loader. The caller holds the loader's lock."""

    def __init__(self) -> None:
        self._list: List[Block] = []

    def get(self, size: int, varies: bool) -> Block:
        blocks = self._list
        for b in blocks:
            if size <= b.size <= 4 * size + 4096 and b.free():
                return b
        made = Block(size + size // 4 if varies else size)
        if _COUNTED:
            if len(blocks) >= _KEPT:
                del blocks[0]
            blocks.append(made)
        return made
