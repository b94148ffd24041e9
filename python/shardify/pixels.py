"""Pixels on a GPU: parts of decoded images are resized, mirrored and cast by a kernel of the library.

They are those of the host, where the images are: the kernel's sums are those of Pillow.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import casting, clib
from .errors import UnsupportedError
from .geometry import Cut

Array = npt.NDArray[Any]

KINDS = ("u8", "f16", "bf16", "f32")
# struct shardify_picture of gpuload/capi/shardify.h.
PICTURE = np.dtype(
    [("address", "u8"), ("steps", "u4", 3), ("size", "u4", 2), ("box", "f4", 4), ("mirrored", "u4")]
)  # steps: from one row, pixel, channel to the next


@dataclasses.dataclass(frozen=True)
class Cast:
    """What pixels become: x * scale + shift of their channel, as Loader(cast=) does it. No scale: x."""

    kind: str
    scale: Tuple[float, ...] = ()
    shift: Tuple[float, ...] = ()

    @staticmethod
    def make(field: str, given: Any, channels: int) -> "Cast":
        c = casting.casts({field: given})[field]
        kind, many = c["dtype"], []
        if kind not in KINDS[1:] or c["axis"]:
            raise ValueError("cast=%r: want float16, bfloat16 or float32, and scales of channels" % (given,))
        for key, usual in ("scale", 1.0), ("shift", 0.0):
            v = c.get(key, [usual])
            if len(v) not in (1, channels):
                raise ValueError("cast=%r: %d values of %s for %d channels" % (given, len(v), key, channels))
            many.append(tuple(v) * (channels // len(v)))
        return Cast(kind, *many) if "scale" in c or "shift" in c else Cast(kind)

    def of(self, pixels: Array, last: bool, none: Sequence[int]) -> Array:
        """Pixels u8 of the host, cast; rows of `none` are zeros. Of bf16 the bits."""
        x = pixels.astype(np.float32)
        if self.scale:
            places = (-1,) if last else (-1, 1, 1)
            x *= np.array(self.scale, np.float32).reshape(places)
            x += np.array(self.shift, np.float32).reshape(places)
        x[list(none)] = 0
        if self.kind == "f32":
            return x
        if self.kind == "f16":
            return x.astype(np.float16)
        bits = x.view(np.uint32)
        out: Array = (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)
        return out


def available() -> None:
    """Raises where there is no library. It is loaded by the first batch: workers may be forked before."""
    if not os.path.exists(clib.path()):
        raise UnsupportedError("pixels on a GPU are made by the library of shardify.Loader, and %s is not there" % clib.path())


def fits(cut: Cut) -> bool:
    """Whether the kernel has room for what one pixel of the result covers."""
    x0, y0, x1, y1 = cut.box(1.0, cut.source)
    return 2 * int((x1 - x0) / cut.out[0]) + 2 * int((y1 - y0) / cut.out[1]) + 10 <= 4096


# An image [channels, height, width] on the GPU, and what is shown of it.
Shown = Tuple[Any, Cut]


def paint(images: List[Optional[Shown]], shape: Tuple[int, int, int], last: bool, cast: Optional[Cast], device: Any) -> Any:
    """One tensor of all images, of shape (channels, height, width) each, in order of the current
    stream. None becomes zeros."""
    import torch

    channels, h, w = shape
    kind = cast.kind if cast else "u8"
    dtype = {"u8": torch.uint8, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[kind]
    out = torch.empty((len(images), h, w, channels) if last else (len(images),) + shape, dtype=dtype, device=device)
    if out.numel() == 0:
        return out
    table = np.zeros(len(images), PICTURE)
    for row, shown in zip(table, images):
        if shown is not None:
            image, cut = shown
            c, y, x = image.stride()
            row["address"], row["steps"], row["size"] = image.data_ptr(), (y, x, c), cut.source
            row["box"], row["mirrored"] = cut.box(1.0, cut.source), cut.mirrored
    scales = np.array((cast.scale + cast.shift) if cast else (), np.float32)
    form = np.array([out.data_ptr(), w, h, channels, last, KINDS.index(kind), len(scales) // 2], np.int64)
    number, stream = place(device)
    lib = clib.load()
    lib.call(lib.pixels, b"cuda:%d" % number, stream, form.ctypes.data, scales.ctypes.data, table.ctypes.data, len(table))
    return out


def place(device: Any) -> Tuple[int, int]:
    """The number of a GPU, and its current stream."""
    import torch

    d = torch.device(device)
    number = torch.cuda.current_device() if d.index is None else d.index
    return number, int(torch.cuda.current_stream(number).cuda_stream)
