"""What Jupyter shows of data sets and loaders."""

from __future__ import annotations

from typing import Any, Callable, List, Sequence

from . import amounts, pieces
from .errors import ShardifyError
from .pieces import text
from .schema import Field

_FIELDS = 100  # in the table
_IMAGES = 8


def dataset(folders: Sequence[str], samples: int, shards: int, size: int, fields: Sequence[Field], images: Callable[[str], Any]) -> str:
    """`images` gives the samples with one field alone."""
    head = "%s: %s samples, %s shards, %s" % (", ".join(folders), amounts.count(samples), amounts.count(shards), amounts.size(size))
    field = next((f.name for f in fields if f.image), None)
    return summary(head, fields) + (_thumbnails(field, images(field), samples) if field and samples else "")


def summary(head: str, fields: Sequence[Field]) -> str:
    rows = ["<tr><th>field</th><th>type</th><th>unit, classes</th></tr>"]
    for f in fields[:_FIELDS]:
        rows.append("<tr>%s</tr>" % "".join("<td style='text-align:left'>%s</td>" % text(t) for t in (f.name, f.describe(), _about(f))))
    if len(fields) > _FIELDS:
        rows.append("<tr><td colspan='3'>and %d more fields</td></tr>" % (len(fields) - _FIELDS))
    return "<div><b>%s</b></div><table>%s</table>" % (text(head), "".join(rows))


def _about(f: Field) -> str:
    if f.labels is None:
        return str(f.attrs.get("unit", ""))
    few = ", ".join(f.labels[:5])
    return "%d classes: %s%s" % (len(f.labels), few[:100], ", ..." if len(few) > 100 or len(f.labels) > 5 else "")


def _thumbnails(field: str, samples: Any, count: int) -> str:
    """Some images of a field, spread over the samples."""
    n = min(_IMAGES, count)
    shown: List[str] = []
    for i in sorted({k * count // n for k in range(n)}):
        try:
            data: bytes = samples[i][field] or b""
        except (ShardifyError, OSError) as e:
            shown.append("<span>sample %d: %s</span>" % (i, text(str(e))))
            continue
        picture = pieces.image(data, "%s of sample %d" % (field, i), "height:64px", "sample %d" % i)
        if picture:
            shown.append(picture)
    return "<div>%s</div>" % "".join(shown) if shown else ""
