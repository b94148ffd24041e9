"""Samples as HTML for notebooks, in the pieces that `shardify view` has: pictures, plots, texts, numbers."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from .errors import printable
from .schema import Field, bf16_to_f32

_LEAST = 8  # sides of pictures, points of plots
_SIDE = 256  # of a picture of an array; larger ones are thinned out
_POINTS = 240
_LINES = 8
_TEXT = 400
_IMAGE_BYTES = 128 << 10  # of one; larger ones are not shown
# What browsers show, by how it begins. SVG is not: it may hold programs.
_KINDS = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"), (b"BM", "bmp"))
_TONES = ("#2463c9", "#c2630a", "#15803d", "#7a3fc4", "#c62a2f", "#64707f")


def text(s: str) -> str:
    return escape(printable(s.replace("\n", "\\n")))


def image(data: bytes, name: str, style: str = "height:96px", title: str = "") -> str:
    """An encoded image, if browsers show it and it is not too large; else ""."""
    kind = next((k for magic, k in _KINDS if data.startswith(magic)), "")
    if not kind or len(data) > _IMAGE_BYTES:
        return ""
    source = "data:image/%s;base64,%s" % (kind, base64.b64encode(data).decode())
    return "<img src='%s' alt='%s' title='%s' style='%s;margin:2px;display:inline-block'>" % (source, text(name), text(title or name), style)


def sample(schema: Sequence[Field], values: Mapping[str, Any], title: str = "") -> str:
    """A card of one sample."""
    fields = {f.name: f for f in schema}
    rows = [_piece(name, value, fields.get(name)) for name, value in values.items()]
    head = "<div><b>%s</b></div>" % text(title) if title else ""
    return "<div style='display:inline-block;vertical-align:top;margin:4px;padding:6px;border:1px solid #8884;max-width:300px'>%s%s</div>" % (head, "".join(rows))


def _piece(name: str, value: Any, field: Optional[Field]) -> str:
    unit = str(field.attrs.get("unit", "")) if field else ""
    about = " ".join(t for t in (field.describe() if field else "", unit) if t)
    head = "<small><b>%s</b> %s</small>" % (text(name), text(about))
    return "<div style='margin:4px 0'>%s<div style='overflow-wrap:anywhere'>%s</div></div>" % (head, _body(name, value, field))


def _body(name: str, value: Any, field: Optional[Field]) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bytes):
        return image(value, name) or "%d bytes" % len(value)
    if isinstance(value, str):
        return text(value if len(value) <= _TEXT else value[:_TEXT] + " ...")
    if isinstance(value, list):
        return text("list of %d: %s" % (len(value), ", ".join(str(v)[:40] for v in value[:4])))
    array = np.asarray(value)
    if field is not None and field.dtype == "bf16":
        array = bf16_to_f32(array)
    if array.dtype.kind not in "biuf":
        return text(str(value)[:_TEXT])
    if array.ndim == 0:
        return text("%s%s" % (array.item(), _class(array, field)))
    return _picture(array, name) or _plot(array) or text(np.array2string(array, threshold=16, precision=6))


def _class(array: npt.NDArray[Any], field: Optional[Field]) -> str:
    labels = field.labels if field else None
    code = int(array) if labels and array.dtype.kind in "iu" else -1
    return " (%s)" % labels[code] if labels and 0 <= code < len(labels) and labels[code] else ""


def _picture(array: npt.NDArray[Any], name: str) -> str:
    """The slice in the middle of an array that is long along two axes; colours of u8 as they are."""
    long = [n for n in array.shape if n > 1]
    if len(long) < 2 or array.size == 0:
        return ""
    array = array.reshape(long)
    colours = array.dtype == np.uint8 and len(long) == 3
    if colours and long[0] in (3, 4) and long[2] not in (3, 4):
        array = np.moveaxis(array, 0, 2)
    colours = colours and array.shape[2] in (3, 4)
    while array.ndim > (3 if colours else 2):
        array = array[len(array) // 2]
    if min(array.shape[:2]) < _LEAST:
        return ""
    thin = max(-(-n // _SIDE) for n in array.shape[:2])
    array = array[::thin, ::thin]
    if array.dtype != np.uint8:
        array = _grey(array.astype(np.float64))
    return image(_png(array), name, "width:%dpx;image-rendering:pixelated" % max(128, array.shape[1]))


def _grey(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """From the lowest to the highest value but for one in a hundred at either end."""
    finite = np.sort(array[np.isfinite(array)])
    if not len(finite):
        return np.zeros(array.shape, np.uint8)
    low, high = finite[len(finite) // 100], finite[len(finite) - 1 - len(finite) // 100]
    share = np.clip((array - low) / (high - low), 0, 1) if high > low else np.full(array.shape, 0.5)
    return np.asarray(np.nan_to_num(share) * 255 + 0.5, np.uint8)


def _png(array: npt.NDArray[Any]) -> bytes:
    height, width = array.shape[:2]
    kind = {2: 0, 3: 2, 4: 6}[2 if array.ndim == 2 else array.shape[2]]
    rows = np.zeros((height, 1 + array[0].size), np.uint8)
    rows[:, 1:] = array.reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + chunk(b"IEND", b"")


def _plot(array: npt.NDArray[Any]) -> str:
    """Lines along the longest axis of an array with one or two."""
    array = array.reshape([n for n in array.shape if n > 1])
    if array.ndim not in (1, 2) or max(array.shape) <= _LEAST:
        return ""
    lines = np.atleast_2d(array if array.ndim == 1 or array.shape[0] <= array.shape[1] else array.T)[:_LINES].astype(np.float64)
    low, high = _extent(lines)
    width, tall = 260, 80
    paths: List[str] = []
    for k, line in enumerate(lines):
        y = tall - (_thin(line) - low) / (high - low) * tall
        x = np.linspace(0, width, len(y))
        points = ["%s%.1f %.1f" % ("L" if i and np.isfinite(y[i - 1]) else "M", x[i], y[i]) for i in range(len(y)) if np.isfinite(y[i])]
        paths.append("<path fill='none' stroke='%s' d='%s'/>" % (_TONES[k % len(_TONES)], "".join(points)))
    drawing = "<svg viewBox='-2 -2 %d %d' width='%d'>%s</svg>" % (width + 4, tall + 4, width, "".join(paths))
    return drawing + "<div><small>%d values from %.6g to %.6g</small></div>" % (lines.shape[1], low, high)


def _extent(lines: npt.NDArray[Any]) -> Tuple[float, float]:
    finite = lines[np.isfinite(lines)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _thin(line: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The least and the greatest of each stretch of a long line."""
    if len(line) <= _POINTS:
        return line
    cuts = np.arange(_POINTS // 2) * len(line) // (_POINTS // 2)
    return np.stack([np.fmin.reduceat(line, cuts), np.fmax.reduceat(line, cuts)], axis=1).ravel()


class Shown:
    """Some samples of a set: what `ds.view()` returns, for notebooks."""

    def __init__(self, schema: Sequence[Field], samples: Dict[int, Any], total: int, folder: str) -> None:
        self.schema = schema
        self.samples = samples  # or the errors that they are read with, by their numbers
        self.total = total
        self.folder = folder

    def __repr__(self) -> str:
        numbers = ", ".join(map(str, self.samples)) or "none"
        return "samples %s of %d; a notebook shows them, and so does `shardify view %s`" % (numbers, self.total, printable(self.folder))

    def _repr_html_(self) -> str:
        cards = []
        for i, s in self.samples.items():
            error = isinstance(s, Exception)
            cards.append(sample((), {"error": str(s)}, "sample %d" % i) if error else sample(self.schema, s, "sample %d" % i))
        return "<div>%s</div><div><small>of %d samples; all of them: shardify view %s</small></div>" % ("".join(cards), self.total, text(self.folder))
