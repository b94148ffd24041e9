"""Which part of an image is shown, and how large: the same for every decoder."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from math import ceil, exp, log, sqrt
from typing import Any, List, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from .errors import SchemaError

Floats = npt.NDArray[np.float64]
Size = Union[int, Tuple[int, int]]
TRIES = 10
DRAWS = 2 * TRIES + 3  # a sample's random numbers: flip, place, then pairs of area and ratio
RATIO = log(4 / 3)
MAX_PIXELS = 178_956_970  # Pillow's own limit
GOLDEN = 0x9E3779B97F4A7C15
WORD = 8  # what the numbers are for: docs/design/loader.md, section 2, has 1 to 7


def _mix64(x: Any) -> Any:
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def draws(seed: int, epoch: int, ids: npt.NDArray[np.int64]) -> Floats:
    """DRAWS numbers in [0, 1) for each sample: derive(seed, epoch, 8, sample) of docs/design/loader.md, mixed on."""
    golden = np.full(1, GOLDEN, np.uint64)  # arrays wrap where scalars would warn
    h = _mix64(np.full(1, seed & (1 << 64) - 1, np.uint64) + golden)
    for word in (np.full(1, epoch, np.uint64), np.full(1, WORD, np.uint64), ids.astype(np.uint64)):
        h = _mix64(h ^ _mix64(word + golden))
    steps = np.arange(1, DRAWS + 1, dtype=np.uint64) * golden
    bits = _mix64(h[:, None] + steps) >> np.uint64(11)
    numbers: Floats = bits.astype(np.float64) * 2.0**-53
    return numbers


@dataclass(frozen=True)
class Cut:
    """What to do with one image: take `part` (x, y, width, height), resize it to
    `resized`, show `out` of it from `at` on. Sizes are (width, height)."""

    source: Tuple[int, int]
    part: Tuple[int, int, int, int]
    resized: Tuple[int, int]
    at: Tuple[int, int]
    out: Tuple[int, int]
    mirrored: bool

    @property
    def same_scale(self) -> bool:
        return self.resized == self.part[2:]

    @property
    def whole(self) -> bool:
        return self.out == self.source and self.same_scale and self.part[:2] == (0, 0)

    @property
    def smaller(self) -> bool:
        return self.resized[0] < self.part[2] and self.resized[1] < self.part[3]

    def least(self, width: int, height: int) -> Tuple[int, int]:
        """The least size of the whole image in which `part` is as large as `resized`."""
        _, _, w, h = self.part
        return ceil(width * self.resized[0] / w), ceil(height * self.resized[1] / h)

    def box(self, by: float, size: Tuple[int, int]) -> Tuple[float, float, float, float]:
        """What `out` shows, in an image that is `by` times smaller and has `size`."""
        x, y, w, h = self.part
        dx, dy = w / self.resized[0], h / self.resized[1]
        left, top = x + self.at[0] * dx, y + self.at[1] * dy
        right, bottom = left + self.out[0] * dx, top + self.out[1] * dy
        return left / by, top / by, min(right / by, size[0]), min(bottom / by, size[1])


def _pair(name: str, size: Optional[Size]) -> Optional[Tuple[int, int]]:
    if size is None:
        return None
    sides = (size, size) if isinstance(size, numbers.Real) and not isinstance(size, bool) else size
    try:
        h, w = tuple(sides) if isinstance(sides, (tuple, list)) else (0, 0)
        if min(h, w) >= 1 and max(h, w) <= 1 << 16 and int(h) == h and int(w) == w:
            return int(h), int(w)
    except (TypeError, ValueError):
        pass
    raise ValueError("%s=%r: want a number of pixels, or (height, width), as %s=224" % (name, size, name))


@dataclass(frozen=True)
class Shaping:
    """The options of `decode.make` that shape an image. Sizes are (height, width)."""

    resize: Optional[Tuple[int, int]]
    shorter: bool  # resize[0] is what the shorter side becomes
    crop: Optional[Tuple[int, int]]
    anywhere: bool
    area: Optional[Tuple[float, float]]
    flip: float

    @staticmethod
    def make(
        resize: Optional[Size], crop: Optional[Size], random_crop: Union[bool, Tuple[float, float]], flip: float
    ) -> "Shaping":
        area = None if isinstance(random_crop, bool) else (float(random_crop[0]), float(random_crop[1]))
        if area is not None and not 0 < area[0] <= area[1] <= 1:
            raise ValueError("random_crop=%r: want shares of the area, as (0.08, 1)" % (random_crop,))
        if random_crop is not False and crop is None:
            raise ValueError("random_crop needs crop=SIZE")
        if area is not None and resize is not None:
            raise ValueError("random_crop=%r sets the scale itself: give no resize" % (random_crop,))
        if not 0 <= flip <= 1:
            raise ValueError("flip=%r: want a chance, from 0 to 1" % flip)
        sizes = _pair("resize", resize), isinstance(resize, numbers.Real), _pair("crop", crop)
        return Shaping(*sizes, random_crop is True, area, float(flip))

    @property
    def random(self) -> bool:
        return self.anywhere or self.area is not None or self.flip > 0

    @property
    def moves(self) -> List[str]:
        """The same as operations of --augment."""

        def op(name: str, size: Tuple[int, int], more: str = "") -> str:
            return "%s=%dx%d%s" % (name, size[1], size[0], more)

        out = []
        if self.resize is not None:
            out.append("resize=%d" % self.resize[0] if self.shorter else op("resize", self.resize))
        if self.crop is not None and self.area is not None:
            out.append(op("random-resized-crop", self.crop, ",scale=%g:%g" % self.area))
        elif self.crop is not None:
            out.append(op("random-crop" if self.anywhere else "centre-crop", self.crop))
        if self.flip > 0:
            out.append("flip" if self.flip == 0.5 else "flip,p=%g" % self.flip)
        return out

    @property
    def size(self) -> Optional[Tuple[int, int]]:
        """Height and width of every image, where the options alone decide it."""
        return self.crop or (None if self.shorter else self.resize)

    def cut(self, width: int, height: int, u: Floats) -> Cut:
        part, resized = (0, 0, width, height), (width, height)
        if self.area is not None and self.crop is not None:
            part, resized = self._part(width, height, u), (self.crop[1], self.crop[0])
        elif self.resize is not None and self.shorter:
            short = self.resize[0]
            resized = (short, short * height // width) if width <= height else (short * width // height, short)
        elif self.resize is not None:
            resized = (self.resize[1], self.resize[0])
        if resized[0] * resized[1] > MAX_PIXELS:  # a strip of 1 x 60,000
            raise SchemaError("%dx%d becomes %dx%d (height x width): too large" % ((height, width) + resized[::-1]))
        out, at = resized, (0, 0)
        if self.crop is not None:
            out = (self.crop[1], self.crop[0])
            spare = (resized[0] - out[0], resized[1] - out[1])
            if min(spare) < 0:
                raise SchemaError(
                    "%dx%d is smaller than crop=%dx%d (height x width): give resize=" % (resized[::-1] + self.crop)
                )
            at = (round(spare[0] / 2), round(spare[1] / 2))
            if self.anywhere:
                at = (int(u[1] * (spare[0] + 1)), int(u[2] * (spare[1] + 1)))
        return Cut((width, height), part, resized, at, out, bool(u[0] < self.flip))

    def _part(self, width: int, height: int, u: Floats) -> Tuple[int, int, int, int]:
        """A part with a random share of the area and a random ratio, at a random place."""
        assert self.area is not None
        low, high = self.area
        for k in range(TRIES):
            area = width * height * (low + u[3 + 2 * k] * (high - low))
            ratio = exp(RATIO * (2 * u[4 + 2 * k] - 1))
            w, h = round(sqrt(area * ratio)), round(sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                return int(u[1] * (width - w + 1)), int(u[2] * (height - h + 1)), w, h
        most = 4 / 3  # no such part lies inside: the largest in the middle
        w, h = min(width, round(height * most)), min(height, round(width * most))
        return (width - w) // 2, (height - h) // 2, w, h
