"""Fields: what the samples of a data set hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from .errors import SchemaError

KEY = "__key__"
SHAPE_SUFFIX = ".shape"
EXT_SUFFIX = ".ext"

# name -> NumPy type on disk, name in safetensors. NumPy has no bf16: its bits
# are stored as u2, and delivered as f4, which holds every bf16 exactly.
DTYPES: Dict[str, Tuple[str, str]] = {
    "bool": ("|b1", "BOOL"),
    "i8": ("|i1", "I8"),
    "i16": ("<i2", "I16"),
    "i32": ("<i4", "I32"),
    "i64": ("<i8", "I64"),
    "u8": ("|u1", "U8"),
    "u16": ("<u2", "U16"),
    "u32": ("<u4", "U32"),
    "u64": ("<u8", "U64"),
    "f16": ("<f2", "F16"),
    "bf16": ("<u2", "BF16"),
    "f32": ("<f4", "F32"),
    "f64": ("<f8", "F64"),
}
TEXT_MEDIA = ("txt", "json")
IMAGES = ("image", "jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "ppm", "pgm")


@dataclass(frozen=True)
class Field:
    """One entry of a schema; docs/reference/format.md section 2.1 has every key."""

    name: str
    dtype: str
    shape: Tuple[int, ...] = ()
    levels: int = 0
    counter: str = ""
    ragged: bool = False
    media: str = ""
    nullable: bool = False
    attrs: Mapping[str, str] = field(default_factory=dict)
    # One of the fields that were put together: the whole, and its place there.
    part: Optional[Tuple[str, int]] = None

    @property
    def numpy(self) -> np.dtype[Any]:
        """Type of the stored values; that of the bits for bf16."""
        return np.dtype(DTYPES[self.dtype][0])

    @property
    def text(self) -> bool:
        return self.media in TEXT_MEDIA

    @property
    def image(self) -> bool:
        """Whether samples have the bytes of one image."""
        return self.media in IMAGES and self.levels == 1

    @property
    def target(self) -> bool:
        """Whether values belong to places in an image: a mask of class numbers, boxes or points."""
        return self.attrs.get("mask") == "classes" or "boxes" in self.attrs or "points" in self.attrs

    @property
    def jagged(self) -> bool:
        """Numbers whose count varies from sample to sample."""
        return self.levels > 0 and not self.media

    @property
    def labels(self) -> Optional[List[str]]:
        """Names of the codes 0, 1, ..., if the field is a code."""
        text = self.attrs.get("labels")
        return None if text is None else text.split("\n")

    @property
    def names(self) -> Dict[int, str]:
        """Names of codes, also of codes below 0 or far apart, which labels cannot have."""
        out = {code: name for code, name in enumerate(self.labels or []) if name}
        for line in self.attrs.get("enum", "").split("\n"):
            name, found, code = line.rpartition("=")
            if found:
                out[int(code)] = name
        return out

    @property
    def vocab(self) -> Optional[List[Union[str, int]]]:
        """The values that the codes 0, 1, ... replace, in the type they had before."""
        if self.labels is None:
            return None
        return [int(t) for t in self.labels] if self.attrs.get("vocab") == "int" else list(self.labels)

    @property
    def columns(self) -> List[str]:
        """The fields that --pack or --stack put together; their values are the last dimension."""
        text = self.attrs.get("columns")
        names = [] if text is None else text.split("\n")
        return names if self.shape and self.shape[-1] == len(names) else []

    @property
    def dims(self) -> List[str]:
        """The names of the dimensions, if the inputs have them: ["latitude", "longitude"]."""
        text = self.attrs.get("dims")
        names = [] if text is None else text.split("\n")
        return names if len(names) == len(self.shape) and not self.levels else []

    def describe(self) -> str:
        """The field in words, as errors and repr show it."""
        parts = [self.dtype if not self.media else self.media]
        if self.shape:
            parts.append("x".join(map(str, self.shape)))
        if self.levels:
            parts.append("ragged" if self.ragged else "jagged" if self.levels == 1 else "jagged of jagged")
        if self.nullable:
            parts.append("nullable")
        return " ".join(parts)


def unlabelled(name: str, fields: Sequence[Field]) -> str:
    """What is said of a field without labels."""
    f = next((f for f in fields if f.name == name), None)
    if f is not None and f.names:
        return "field %s has names for codes below 0 or far apart: field(%r).names" % (name, name)
    return "field %s has no labels; fields with labels: %s" % (name, ", ".join(f.name for f in fields if f.labels is not None) or "none")


def part_of(fields: Sequence[Field], name: str) -> Optional[Field]:
    """The field that was put together with others under another name, or None."""
    for f in fields:
        if name in f.columns:
            whole = (f.name, f.columns.index(name))
            counter = (f.counter or f.name) if f.levels else ""
            return Field(name, f.dtype, f.shape[:-1], f.levels, counter, nullable=f.nullable, part=whole)
    return None


KEY_FIELD = Field(KEY, "u8", levels=1, media="txt")


def bf16_to_f32(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """The values of bf16 bits (as `ds.column` gives them), exactly."""
    wide = np.ascontiguousarray(bits).astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32).reshape(np.shape(bits))


def _typed(entry: Mapping[str, Any], key: str, kind: Any, default: Any) -> Any:
    value = entry.get(key, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise SchemaError("key %r of a field is %r" % (key, value))
    return value


def _parse_field(entry: Any) -> Field:
    if not isinstance(entry, dict):
        raise SchemaError("a field is %r, not an object" % (entry,))
    shape = _typed(entry, "shape", list, [])
    if any(type(d) is not int or d < 0 for d in shape):
        raise SchemaError("shape %r" % (shape,))
    attrs = _typed(entry, "attrs", dict, {})
    if any(not isinstance(v, str) for v in attrs.values()):
        raise SchemaError("attrs are not all strings")
    f = Field(
        name=_typed(entry, "name", str, ""),
        dtype=_typed(entry, "dtype", str, ""),
        shape=tuple(shape),
        levels=_typed(entry, "levels", int, 0),
        counter=_typed(entry, "counter", str, ""),
        ragged=_typed(entry, "ragged", bool, False),
        media=_typed(entry, "media", str, ""),
        nullable=_typed(entry, "nullable", bool, False),
        attrs=dict(attrs),
    )
    for name in (f.name, f.counter or f.name):
        if not 0 < len(name.encode("utf-8", "surrogatepass")) <= 255 or name.startswith("__") or re.search(r"[#\x00-\x1f\x7f\ud800-\udfff]", name):
            raise SchemaError("field name %r" % name)
    if f.counter and not f.levels:
        raise SchemaError("field %s: counter %s on a fixed field" % (f.name, f.counter))
    if f.dtype not in DTYPES:
        raise SchemaError("field %s: unknown dtype %r" % (f.name, f.dtype))
    size = f.numpy.itemsize
    for d in f.shape:
        size *= max(d, 1)
    if size > 1 << 62:
        raise SchemaError("field %s: shape %r overflows" % (f.name, f.shape))
    if not 0 <= f.levels <= 2:
        raise SchemaError("field %s: %d levels" % (f.name, f.levels))
    if f.media and (f.dtype != "u8" or f.levels < 1 or f.shape):
        raise SchemaError("field %s: media %s needs jagged u8 bytes" % (f.name, f.media))
    return f


def parse_schema(entries: Any) -> Tuple[Field, ...]:
    """Fields from the JSON of a manifest or a header; SchemaError if it breaks a rule."""
    if not isinstance(entries, list):
        raise SchemaError("the schema is not a list")
    fields = tuple(_parse_field(e) for e in entries)
    by_name = {f.name: f for f in fields}
    if len(by_name) != len(fields):
        raise SchemaError("two fields with one name")
    for f in fields:
        if not f.ragged:
            continue
        shape = by_name.get(f.name + SHAPE_SUFFIX)
        if shape is None or shape.dtype != "i64" or shape.levels or len(shape.shape) != 1 or f.levels != 1:
            raise SchemaError("ragged field %s needs a field %s of i64 [rank]" % (f.name, f.name + SHAPE_SUFFIX))
    return fields


def visible(fields: Sequence[Field]) -> Tuple[Field, ...]:
    """The fields without companions, which only describe another field."""
    by_name = {f.name: f for f in fields}

    def companion(f: Field) -> bool:
        if f.name.endswith(SHAPE_SUFFIX):
            base = by_name.get(f.name[: -len(SHAPE_SUFFIX)])
            return base is not None and base.ragged
        if f.name.endswith(EXT_SUFFIX):
            base = by_name.get(f.name[: -len(EXT_SUFFIX)])
            return base is not None and base.media == "image" and f.dtype == "u8" and f.levels == 0
        return False

    return tuple(f for f in fields if not companion(f))


def _comparable(f: Field) -> Tuple[object, ...]:
    return f.dtype, f.shape, f.levels, f.ragged, f.media, f.nullable, f.labels


def differences(a: Sequence[Field], b: Sequence[Field], name_a: str, name_b: str) -> List[str]:
    """One line for each field that samples of a and b do not have in common."""
    left, right = {f.name: f for f in a}, {f.name: f for f in b}
    lines = []
    for name in list(left) + [n for n in right if n not in left]:
        x, y = left.get(name), right.get(name)
        if x is None or y is None:
            there, absent = (name_b, name_a) if x is None else (name_a, name_b)
            lines.append("%s: in %s, not in %s" % (name, there, absent))
        elif _comparable(x) != _comparable(y):
            what = "%s in %s, %s in %s" % (x.describe(), name_a, y.describe(), name_b)
            if x.labels != y.labels:
                what += "; labels %s against %s" % (_some(x.labels), _some(y.labels))
            lines.append("%s: %s" % (name, what))
    return lines


def _some(labels: Optional[List[str]]) -> str:
    if labels is None:
        return "none"
    return "%d (%s%s)" % (len(labels), ", ".join(labels[:3]), ", ..." if len(labels) > 3 else "")
