"""What Jupyter shows of data sets and loaders."""

from __future__ import annotations

import base64
from html import escape
from typing import Any, List, Sequence

from . import amounts
from .dataset import Dataset
from .errors import ShardifyError, printable
from .loaderconfig import IMAGES
from .schema import Field

_FIELDS = 100  # in the table
_IMAGES = 8
_IMAGE_BYTES = 128 << 10  # of one; larger ones are not shown
# What browsers show, by how it begins. SVG is not: it may hold programs.
_KINDS = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"), (b"BM", "bmp"))


def dataset(ds: Dataset[Any]) -> str:
    folders = ", ".join(m.folder for m in ds._manifests)
    size = sum(int(m.raw["bytes"]) for m in ds._manifests)
    head = "%s: %s samples, %s shards, %s" % (folders, amounts.count(len(ds)), amounts.count(len(ds._shards)), amounts.size(size))
    return summary(head, ds.schema) + _thumbnails(ds)


def summary(head: str, fields: Sequence[Field]) -> str:
    rows = ["<tr><th>field</th><th>type</th><th>unit, classes</th></tr>"]
    for f in fields[:_FIELDS]:
        rows.append("<tr>%s</tr>" % "".join("<td style='text-align:left'>%s</td>" % _text(t) for t in (f.name, f.describe(), _about(f))))
    if len(fields) > _FIELDS:
        rows.append("<tr><td colspan='3'>and %d more fields</td></tr>" % (len(fields) - _FIELDS))
    return "<div><b>%s</b></div><table>%s</table>" % (_text(head), "".join(rows))


def _about(f: Field) -> str:
    if f.labels is None:
        return str(f.attrs.get("unit", ""))
    few = ", ".join(f.labels[:5])
    return "%d classes: %s%s" % (len(f.labels), few[:100], ", ..." if len(few) > 100 or len(f.labels) > 5 else "")


def _thumbnails(ds: Dataset[Any]) -> str:
    """Some images of the first field of images, spread over the samples."""
    field = next((f for f in ds.schema if f.media in IMAGES and f.levels == 1), None)
    if field is None or not len(ds):
        return ""
    alone: Dataset[Any] = Dataset(ds._manifests, [field.name])
    n = min(_IMAGES, len(ds))
    shown: List[str] = []
    for i in sorted({k * len(ds) // n for k in range(n)}):
        try:
            data: bytes = alone[i][field.name] or b""
        except (ShardifyError, OSError) as e:
            shown.append("<span>sample %d: %s</span>" % (i, _text(str(e))))
            continue
        kind = next((k for magic, k in _KINDS if data.startswith(magic)), "")
        if kind and len(data) <= _IMAGE_BYTES:
            source = "data:image/%s;base64,%s" % (kind, base64.b64encode(data).decode())
            shown.append("<img src='%s' alt='%s of sample %d' title='sample %d' style='height:64px;margin:2px;display:inline-block'>" % (source, _text(field.name), i, i))
    return "<div>%s</div>" % "".join(shown) if shown else ""


def _text(s: str) -> str:
    return escape(printable(s.replace("\n", "\\n")))
