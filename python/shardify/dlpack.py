"""Memory of a batch that is lent: what refers to it, and how it becomes a tensor.

The memory of a lent batch is written again when nothing refers to it. Every array and every
DLPack tensor over it refers to it, and the deleters are C's: they may run on any thread and
while the interpreter ends.
"""

from __future__ import annotations

import ctypes
from operator import index
from typing import Any, Optional, Sequence, Set, Tuple

import numpy as np
import numpy.typing as npt

from . import clib

CPU, CUDA = 1, 2
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
BFLOAT = 4
PER_THREAD = 2  # a stream of each thread
MAX_DIMENSIONS = 16

# The names of capsules must outlive them.
_OLD, _NOW = b"dltensor", b"dltensor_versioned"
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.argtypes, _capsule.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object


class Lease:
    """One that holds a lent batch: as long as this object lives, and every view of it."""

    __slots__ = ("lib", "address", "batch", "told", "__weakref__")

    def __init__(self, lib: clib.Library, address: int, batch: int) -> None:
        self.lib, self.address, self.batch = lib, address, batch
        self.told: Set[int] = set()  # streams that wait for the batch, and that it waits for

    def __del__(self) -> None:
        self.lib.drop(self.address)


class _Memory:
    """What NumPy makes an array from; arrays keep it, and with it the lease."""

    __slots__ = ("__array_interface__", "lease")

    def __init__(self, address: int, shape: Tuple[int, ...], dtype: np.dtype[Any], lease: Any) -> None:
        self.lease = lease
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (address, False)}


def array(address: int, shape: Tuple[int, ...], dtype: np.dtype[Any], lease: Optional[Lease]) -> npt.NDArray[Any]:
    """Host memory of a lent batch as an array."""
    if address == 0 or 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(_Memory(address, shape, dtype, lease))


def describe(dtype: np.dtype[Any], inner: Sequence[int], device: Tuple[int, int], bfloat: bool = False) -> clib.Tensor:
    """What all tensors of one column have in common."""
    if len(inner) + 1 > MAX_DIMENSIONS:
        raise ValueError("a tensor of %d dimensions: at most %d" % (len(inner) + 1, MAX_DIMENSIONS))
    t = clib.Tensor(device[0], device[1], BFLOAT if bfloat else _CODES[dtype.kind], dtype.itemsize * 8, len(inner) + 1)
    for k, n in enumerate(inner):
        t.shape[k + 1] = n
    return t


def capsule(lease: Lease, t: clib.Tensor, address: int, count: int, versioned: bool = False) -> Any:
    """A DLPack capsule: consumed once, or freed with its memory."""
    lib = lease.lib
    view = lib.view(lease.address, t, address, count, versioned)
    if not view:
        raise MemoryError("no memory for a DLPack tensor")
    return _capsule(view, _NOW if versioned else _OLD, lib.capsule_destructor)


def handle(stream: Any) -> int:
    """The CUstream of torch's or CuPy's stream, or of its number."""
    for name in ("cuda_stream", "ptr"):
        stream = getattr(stream, name, stream)
    try:
        return index(stream)
    except TypeError:
        raise TypeError("%r is not a stream: want torch's, CuPy's, or the number of a CUstream" % (stream,)) from None


class DLTensor:
    """A tensor for libraries that read DLPack: `jax.dlpack.from_dlpack(t)`, `cupy.from_dlpack(t)`."""

    __slots__ = ("_lease", "_tensor", "_address", "shape", "dtype", "_stream")

    def __init__(
        self, lease: Lease, t: clib.Tensor, address: int, shape: Tuple[int, ...], dtype: str, stream: int
    ) -> None:
        self._lease, self._tensor, self._address, self._stream = lease, t, address, stream
        self.shape, self.dtype = shape, dtype

    def __repr__(self) -> str:
        kind, number = self.__dlpack_device__()
        return "DLTensor(%s %r on %s)" % (self.dtype, self.shape, "cuda:%d" % number if kind == CUDA else "host")

    def __len__(self) -> int:
        return self.shape[0]

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._tensor.device_type, self._tensor.device_id

    def __dlpack__(
        self,
        *,
        stream: Optional[int] = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        if copy:
            raise BufferError("a tensor of a loader makes no copies: copy what you make of it")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError("this tensor is on device %r, not %r" % (self.__dlpack_device__(), dl_device))
        if self._tensor.device_type == CUDA:
            lease, lib = self._lease, self._lease.lib
            number = 0 if stream is None or stream == 1 else stream
            if stream == -1:
                lib.call(lib.use, lease.batch, clib.UNKNOWN, 0)
            elif self._stream != clib.CALLER and number not in lease.told:
                lib.call(lib.ready, lease.batch, number)
                if number != PER_THREAD:
                    lease.told.add(number)
        versioned = max_version is not None and max_version[0] >= 1
        return capsule(self._lease, self._tensor, self._address, self.shape[0], versioned)
