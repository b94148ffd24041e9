"""A strict NPY parser: no pickle, no trailing bytes, no guessing."""

from __future__ import annotations

import ast
from math import prod
from typing import Any, Tuple

import numpy as np
import numpy.typing as npt

_MAGIC = b"\x93NUMPY"
_KEYS = {"descr", "fortran_order", "shape"}
_DESCRS = {"|b1", "|i1", "|u1"} | {b + kind for b in "<>" for kind in "i2 i4 i8 u2 u4 u8 f2 f4 f8".split()}


def parse(data: memoryview) -> npt.NDArray[Any]:
    """The array of an NPY file, in memory of its own. ValueError if it breaks a rule."""
    if len(data) < 10 or bytes(data[:6]) != _MAGIC:
        raise ValueError("no NPY file")
    width = {1: 2, 2: 4, 3: 4}.get(data[6])
    if width is None or data[7] != 0:
        raise ValueError("NPY version %d.%d" % (data[6], data[7]))
    start = 8 + width + int.from_bytes(data[8 : 8 + width], "little")
    if start > len(data):
        raise ValueError("the NPY header claims %d bytes of %d" % (start, len(data)))
    dtype, fortran, shape = _header(bytes(data[8 + width : start]))
    have, want = len(data) - start, prod(shape) * dtype.itemsize
    if have != want:
        raise ValueError("%d bytes of data for %s %r, which takes %d" % (have, dtype.str, shape, want))
    a = np.frombuffer(data[start:], dtype) if want else np.empty(0, dtype)
    out = a.reshape(shape, order="F" if fortran else "C")
    return np.array(out, order="C")


def _header(text: bytes) -> Tuple[np.dtype[Any], bool, Tuple[int, ...]]:
    if len(text) > 65536:
        raise ValueError("NPY header of %d bytes" % len(text))
    if b"\\" in text:
        raise ValueError("the NPY header has escapes")
    try:
        h = ast.literal_eval(text.decode("utf-8").strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("the NPY header is not a Python literal") from None
    if not isinstance(h, dict) or set(h) != _KEYS:
        raise ValueError("the NPY header has not the keys %s" % sorted(_KEYS))
    descr, fortran, shape = h["descr"], h["fortran_order"], h["shape"]
    if not isinstance(descr, str) or descr not in _DESCRS:
        raise ValueError("NPY type %r is not read" % (descr,))
    if not isinstance(fortran, bool) or not isinstance(shape, tuple):
        raise ValueError("NPY shape %r" % (shape,))
    if any(type(d) is not int or not 0 <= d < 1 << 48 for d in shape) or len(shape) > 32:
        raise ValueError("NPY shape %r" % (shape,))
    return np.dtype(descr), fortran, shape
