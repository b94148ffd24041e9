"""Masks, boxes and points that follow the images of `Loader(decode=...)`: moved by the library as --augment does it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import clib
from .errors import SchemaError, ShardifyError, UnsupportedError, corrupt
from .frameworks import Framework, Spec
from .parts import Lists, Part, Source, spec_of
from .schema import DTYPES, SHAPE_SUFFIX, Field

Array = npt.NDArray[Any]

_ATTRS = ("mask", "boxes", "points", "follows", "image")
WORDS = 10  # of a column: addresses and lengths


def text(targets: Any) -> str:
    """The settings of --augment 'targets,...', which a dict may have too."""
    if isinstance(targets, Mapping):
        return ",".join("%s=%s" % (k, "+".join(v) if isinstance(v, (list, tuple)) else v) for k, v in targets.items())
    if not isinstance(targets, str):
        raise ValueError("targets=%r: want the settings of --augment 'targets,...', such as 'mask=mask,boxes=boxes:xyxy'" % (targets,))
    return targets


def masks(targets: str) -> List[str]:
    """The fields that the settings call masks."""
    found = re.search(r"(?:^|,)\s*mask\s*=([^,]*)", targets)
    every = [m.strip().partition(":") for m in found.group(1).split("+")] if found else []
    return [name for name, _, form in every if form != "colours"]


def words(e: str) -> str:
    """An error of the library in the words of targets=."""
    e = re.sub(r"--augment '(?:targets,)(\w[^']*)'( in front)?", r"targets='\1'", e)
    return re.sub(r"--augment '(orient,[^']*)'", r"augment=['\1']", e)


def described(f: Field) -> Dict[str, Any]:
    """A field for the library."""
    attrs = {k: v for k, v in f.attrs.items() if k.split(".")[0] in _ATTRS}
    return {
        "name": f.name, "dtype": f.dtype, "shape": list(f.shape), "levels": f.levels, "counter": f.counter, "ragged": f.ragged,
        "media": f.media, "nullable": f.nullable, "attrs": attrs,
    }  # fmt: skip


@dataclass(frozen=True)
class Following:
    """What follows the images of one decoder."""

    kinds: Mapping[str, Tuple[str, str]]  # mask, boxes, points or list, and the type, by field
    numbers: int  # of the moves of an image
    fields: Tuple[Dict[str, Any], ...]  # that the library has to know
    doubt: bool

    @staticmethod
    def ask(decoder: Any, fields: Sequence[Field]) -> "Following":
        """What the library says of a schema. A setting that does not fit is an error."""
        every = [described(f) for f in fields]
        lib, form = clib.load(), decoder._form(0, 0, every)
        try:
            known = lib.ask(lib.following, form, len(form))
        except ShardifyError as e:
            raise type(e)("decode: " + words(str(e))) from None
        except ValueError as e:
            raise ValueError("decode: " + words(str(e))) from None
        kinds = {t["name"]: (t["kind"], t["dtype"]) for t in known["targets"]}
        needed = {decoder.field, *kinds, *(name + SHAPE_SUFFIX for name in kinds)}
        return Following(kinds, known["numbers"], tuple(f for f in every if f["name"] in needed), known["doubt"])

    def moved(self, decoder: Any, columns: Dict[str, "Arrays"], ids: Array, moves: Array, size: Tuple[int, int], bad: Optional[Dict[int, str]]) -> Dict[str, "Arrays"]:
        """What the columns of a batch become. Damaged masks are errors, or noted."""
        ids = np.array(ids, np.int64)
        if bad:
            ids[list(bad)] = -1
        table = np.zeros((len(self.fields), WORDS), np.int64)
        out: Dict[str, Arrays] = {}

        def put(k: int, at: int, a: Array) -> None:
            table[k, 2 * at : 2 * at + 2] = a.ctypes.data, a.nbytes if at in (0, 3, 4) else a.size

        for k, f in enumerate(self.fields):
            was = columns.get(f["name"])
            if was is None:
                continue
            kind, dtype = self.kinds.get(f["name"], ("", f["dtype"]))
            keep = kind in ("", "mask")  # these are only read
            out[f["name"]] = now = Arrays(
                np.ascontiguousarray(was.values) if keep else np.array(was.values, np.dtype(DTYPES[dtype][0]), order="C"),
                [np.array(o, np.int64) for o in was.offsets],
                None if was.valid is None else np.ascontiguousarray(was.valid),
            )
            put(k, 0, now.values)
            for level, o in enumerate(now.offsets):
                put(k, 1 + level, o)
            if now.valid is not None:
                put(k, 3, now.valid)
            if kind == "mask":
                now.mask = np.empty((len(ids),) + size, np.dtype(DTYPES[dtype][0]))
                put(k, 4, now.mask)
        lib, form = clib.load(), decoder._form(*size)
        at = ids.ctypes.data, len(ids), moves.ctypes.data, moves.size, table.ctypes.data, table.size
        try:
            left = lib.ask(lib.follow, form, len(form), *at) or ()
        except ShardifyError as e:
            e.args = (words(str(e)),)
            raise
        for x in left:
            sample = int(ids[x["row"]])
            if not x["corrupt"]:
                raise SchemaError("%s: sample %d: %s" % (x["field"], sample, words(x["why"])))
            e = corrupt(x["field"], x["why"], sample=sample, offset=x["offset"] if x["offset"] >= 0 else None)
            if bad is None:
                raise e
            bad[x["row"]] = str(e)
        for now in out.values():
            now.shorten()
        return out


@dataclass
class Arrays:
    """The arrays of one column."""

    values: Array
    offsets: List[Array]
    valid: Optional[Array]
    mask: Optional[Array] = None

    def shorten(self) -> None:
        """Lists without the elements that were dropped."""
        n = -1
        for k, o in enumerate(self.offsets):
            self.offsets[k] = o = o if n < 0 else o[: n + 1]
            n = int(o[-1])
        if n >= 0:
            self.values = self.values[:n]


class Mask(Part):
    """Class numbers, as the image of their sample shows them."""

    def __init__(self, f: Field, values: int, offsets: int, offsets1: int, valid: int, shapes: int) -> None:
        super().__init__(f, values, offsets, offsets1, valid)
        self.shapes, self.follows = shapes, True

    def tensors(self) -> List[int]:
        return super().tensors() + ([self.shapes] if self.shapes >= 0 else [])


class Moved(Source):
    """What follows the images of a batch, once they are decoded."""

    def __init__(self, framework: Framework, parts: Sequence[Part], s: Source) -> None:
        self.framework, self.parts, self.rows = framework, parts, s.rows
        self.complain = s.complain  # type: ignore[method-assign,unused-ignore]
        self.arrays: Dict[int, Tuple[Array, Spec]] = {}
        self.masks: Dict[str, Array] = {}
        self.columns: Dict[str, Arrays] = {}
        for p in parts:
            offsets = [s.array(i) for i in (p.offsets, p.offsets1) if i >= 0]
            self.columns[p.name] = Arrays(s.array(p.values), offsets, s.array(p.valid) if p.valid >= 0 else None)
            shapes = getattr(p, "shapes", -1)
            if shapes >= 0:
                self.columns[p.name + SHAPE_SUFFIX] = Arrays(s.array(shapes), [], None)

    def take(self, moved: Dict[str, Arrays]) -> None:
        """Takes what the columns have become."""
        for p in self.parts:
            a = moved[p.name]
            if a.mask is not None:
                self.masks[p.name] = a.mask
            spec = spec_of(a.values) if p.field.dtype != "bf16" else Spec("bf16", (), "samples")
            self.arrays[p.values] = a.values, spec
            for i, o in zip((p.offsets, p.offsets1), a.offsets):
                self.arrays[i] = o, spec_of(o)
            if p.valid >= 0 and a.valid is not None:
                self.arrays[p.valid] = a.valid, spec_of(a.valid)

    def build(self, out: Dict[str, Any]) -> None:
        """Makes the tensors, where the batch is."""
        for p in self.parts:
            if isinstance(p, Mask):
                mask = self.masks[p.name]
                if p.valid >= 0:
                    out[p.name + ".valid"] = self.tensor(p.valid)
                out[p.name] = self._send(mask, spec_of(mask))
            else:
                p.add(out, self)

    def array(self, i: int) -> Array:
        return self.arrays[i][0]

    def tensor(self, i: int) -> Any:
        return self._send(*self.arrays[i])

    def _send(self, a: Array, spec: Spec) -> Any:
        fw = self.framework
        t = fw.from_array(a, spec)
        if fw.number >= 0 and fw.name == "torch" and not t.is_cuda:
            t = t.to(fw.device, non_blocking=True)  # type: ignore[attr-defined,unused-ignore]
        return t


def place(part: Part, following: Following, kind: str, specs: Sequence[Spec]) -> Part:
    """The part of a field that follows images."""
    part.follows = True
    want, spec = following.kinds[part.name][1], specs[part.values]
    if spec.kind != part.field.dtype:
        raise UnsupportedError("cast=: %s follows %s, and is moved as %s: cast it in transform=" % (part.name, kind, want))
    if isinstance(part, Lists) and want != spec.kind:
        changed = list(specs)
        changed[part.values] = Spec(want, spec.inner, spec.lead)
        part.form = part.form._replace(specs=changed)
    return part

