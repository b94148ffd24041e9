"""From the tensors of a batch to what the user gets: one plan a loader, used for every batch."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import padding
from .batch import Column, Lists2Column, ListsColumn
from .collating import _nested, _pad
from .errors import CorruptError, SchemaError, UnsupportedError
from .frameworks import Framework, Spec
from .loaderbatch import LoaderBatch
from .schema import KEY, KEY_FIELD, SHAPE_SUFFIX, Field, bf16_to_f32, visible

Array = npt.NDArray[Any]


class Source:
    """One batch's tensors, however they came."""

    rows: int  # delivered, of samples
    complain: Callable[[str, str, int], NoReturn]

    def array(self, i: int) -> Array:
        """Tensor i in host memory, valid as long as the batch is."""
        raise NotImplementedError

    def tensor(self, i: int) -> Any:
        """Tensor i as the user gets it."""
        raise NotImplementedError


class Part:
    """One field of every batch, and the numbers of its tensors; -1: it has none."""

    def __init__(self, f: Field, values: int, offsets: int, offsets1: int, valid: int) -> None:
        self.field, self.name = f, f.name
        self.values, self.offsets, self.offsets1, self.valid = values, offsets, offsets1, valid

    def tensors(self) -> List[int]:
        """Those that must be copied to outlive the batch."""
        return [i for i in (self.values, self.offsets, self.offsets1, self.valid) if i >= 0]

    def read(self) -> List[int]:
        """Those that are read on the host where the batch is on a GPU."""
        return []

    def add(self, out: Dict[str, Any], s: Source) -> None:
        raise NotImplementedError


class Fixed(Part):
    def add(self, out: Dict[str, Any], s: Source) -> None:
        if self.valid >= 0:
            out[self.name + ".valid"] = s.tensor(self.valid)
        out[self.name] = s.tensor(self.values)


class Objects(Part):
    """Texts and bytes: made while the batch is there, so nothing is copied."""

    def tensors(self) -> List[int]:
        return []

    def read(self) -> List[int]:
        return [i for i in (self.values, self.offsets, self.offsets1) if i >= 0]

    def add(self, out: Dict[str, Any], s: Source) -> None:
        offsets = s.array(self.offsets).tolist()
        data = s.array(self.values)
        if self.field.levels == 2:
            borders = s.array(self.offsets1).tolist()
            flat = self._items(data, borders, s)
            items: List[Any] = [flat[a:b] for a, b in zip(offsets, offsets[1:])]
        else:
            items = self._items(data, offsets, s)
        if self.valid >= 0:
            items = [v if there else None for v, there in zip(items, s.array(self.valid).tolist())]
        out[self.name] = items

    def _items(self, data: Array, borders: List[int], s: Source) -> List[Any]:
        pairs = zip(borders, borders[1:])
        if not self.field.text:
            m = memoryview(data)  # type: ignore[arg-type,unused-ignore]
            return [m[a:b].tobytes() for a, b in pairs]
        raw = data.tobytes()
        if raw.isascii():
            text = raw.decode("ascii")
            return [text[a:b] for a, b in pairs]
        out = []
        for k, (a, b) in enumerate(pairs):
            try:
                out.append(raw[a:b].decode("utf-8"))
            except UnicodeDecodeError as e:
                s.complain(self.name, "no UTF-8: %s" % e.reason, k if self.field.levels == 1 else -1)
        return out


class Lists(Part):
    """Numbers whose count varies."""

    def __init__(
        self, f: Field, values: int, offsets: int, offsets1: int, valid: int, shapes: int, plan: "Plan"
    ) -> None:
        super().__init__(f, values, offsets, offsets1, valid)
        self.shapes, self.plan = shapes, plan

    def tensors(self) -> List[int]:
        return super().tensors() + ([self.shapes] if self.shapes >= 0 else [])

    def read(self) -> List[int]:
        if self.plan.jagged == "values" and self.shapes < 0:
            return []
        return [i for i in (self.offsets, self.offsets1) if i >= 0]

    def add(self, out: Dict[str, Any], s: Source) -> None:
        if self.shapes >= 0:
            self._check_shapes(s)
        if self.valid >= 0:
            out[self.name + ".valid"] = s.tensor(self.valid)
        if self.plan.jagged == "values":
            d = {"values": s.tensor(self.values), "offsets": s.tensor(self.offsets)}
            if self.offsets1 >= 0:
                d["offsets1"] = s.tensor(self.offsets1)
            if self.shapes >= 0:
                d["shapes"] = s.tensor(self.shapes)
            out[self.name] = d
        elif self.plan.on_device:
            out[self.name] = padding.on_device(self, s, self.plan.pad_value, self.plan.jagged, self.plan.framework)
        else:
            out[self.name] = self._on_host(s)

    def _on_host(self, s: Source) -> Any:
        fw, spec = self.plan.framework, self.plan.specs[self.values]
        values = s.array(self.values)
        if not spec.plain:
            values = bf16_to_f32(values)
        column: Column
        if self.offsets1 >= 0:
            column = Lists2Column(values, s.array(self.offsets), s.array(self.offsets1))
        else:
            column = ListsColumn(values, s.array(self.offsets), None if self.shapes < 0 else s.array(self.shapes))
        torch: Any = getattr(fw, "torch", None)
        if self.plan.jagged == "nested":
            made = _nested(self.name, column, torch)
            return made.clone() if spec.plain else made.to(torch.bfloat16)
        bits = not spec.plain and torch is not None
        out = {}
        for key, a in _pad(column, self.plan.pad_value).items():
            kind = spec if key == "values" and spec.plain else _plain(a)
            # Parts that the batch itself holds are not fresh as the padded values are.
            a = a if a.base is None else a.copy()
            t = fw.from_array(a, kind)
            out[key] = t.to(torch.bfloat16) if torch is not None and bits and key == "values" else t
        return out

    def _check_shapes(self, s: Source) -> None:
        """A shape that holds another number of values than the sample has is damage."""
        shapes, lengths = s.array(self.shapes), np.diff(s.array(self.offsets))
        wrong = (shapes < 0).any(axis=1) | (shapes.prod(axis=1) != lengths)
        wrong |= shapes.astype(np.float64).prod(axis=1) > 2.0**62  # where the product wrapped
        if wrong.any():
            k = int(wrong.argmax())
            s.complain(self.name, "shape %s of %d values" % (shapes[k].tolist(), lengths[k]), k)


_PLAIN: Dict[str, Spec] = {}


def _plain(a: Array) -> Spec:
    kind = {"b": "bool", "i": "i", "u": "u", "f": "f"}[a.dtype.kind]
    kind = kind if kind == "bool" else kind + str(8 * a.dtype.itemsize)
    return _PLAIN.setdefault(kind, Spec(kind, (), "samples"))


class Images(Part):
    """Bytes that a decoder makes pixels of."""

    def __init__(self, f: Field, values: int, offsets: int, decoder: Any, framework: Framework) -> None:
        super().__init__(f, values, offsets, -1, -1)
        self.decoder, self.framework = decoder, framework

    def decode(
        self, out: Dict[str, Any], values: Array, offsets: Array, ids: Array, epoch: int, bad: Optional[Dict[int, str]]
    ) -> None:
        """Makes pixels; the errors of damaged images go to `bad`, if it is there."""
        fw, decoder = self.framework, self.decoder
        more: Dict[str, Any] = {} if bad is None else {"bad": bad}
        # For a GPU they are written to where it can fetch them from without a copy.
        pinned = self._pinned(len(ids)) if fw.number >= 0 and fw.name == "torch" else None
        if pinned is not None:
            more["out"] = pinned[1]
        pixels = decoder(values, offsets, ids, epoch, **more)
        if pinned is not None:
            pixels = pinned[0]
        elif isinstance(pixels, np.ndarray):
            cast = getattr(decoder, "cast", None)
            pixels = fw.from_array(pixels, Spec("bf16", (), "samples") if cast and cast.kind == "bf16" else _plain(pixels))
        out[self.name] = pixels

    def _pinned(self, n: int) -> Optional[Tuple[Any, Array]]:
        """A tensor in pinned memory for n images, and an array over it; None if their size is not known, or they
        are made on the GPU."""
        form = self.decoder.form_of(n) if self.on_host else None
        if form is None:
            return None
        torch = self.framework.torch  # type: ignore[attr-defined]
        shape, kind = form
        dtype = {"u8": torch.uint8, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[kind]
        t = torch.empty(shape, dtype=dtype, pin_memory=True)
        return t, t.view(torch.int16).numpy().view(np.uint16) if kind == "bf16" else t.numpy()

    @property
    def on_host(self) -> bool:
        """Whether the library decodes, which needs no stream of a GPU."""
        return getattr(self.decoder, "backend", "") == "native"

    def arrive(self, out: Dict[str, Any]) -> None:
        """Sends pixels to the GPU that the others are on."""
        fw, pixels = self.framework, out[self.name]
        if fw.number >= 0 and fw.name == "torch" and not pixels.is_cuda:
            out[self.name] = pixels.to(fw.device, non_blocking=True)

    def add(self, out: Dict[str, Any], s: Source) -> None:
        out[self.name] = None  # keeps the place until it is decoded


class Plan:
    """Which tensors a batch has, and what becomes of them."""

    def __init__(
        self,
        info: Dict[str, Any],
        fields: Sequence[Field],
        framework: Framework,
        jagged: str,
        pad_value: float,
        decoders: Dict[str, Any],
        more: Any = None,
    ) -> None:
        self.framework, self.jagged, self.pad_value = framework, jagged, pad_value
        self.numbers: int = info["numbers"]  # the tensor of device_ids, or -1
        self.on_device = framework.number >= 0
        self.specs = [Spec(t["dtype"], t["inner"], t["lead"]) for t in info["tensors"]]
        self.ready = [framework.prepare(s) for s in self.specs]
        places = {c["name"]: c for c in info["columns"]}
        shown = list(visible(fields))
        self.schema: Tuple[Field, ...] = tuple(shown)
        self.parts: List[Part] = []
        for f in ([KEY_FIELD] if KEY in places else []) + shown:
            self.parts.append(self._part(f, places, decoders))
        if more is not None and more.any:
            from .sequences import Sequences  # which needs this module

            self.parts.append(Sequences(more, self.parts, self.specs, framework))
        self.images = [p for p in self.parts if isinstance(p, Images)]
        self.objects = [p for p in self.parts if isinstance(p, Objects)]
        wanted = {i for p in self.parts for i in p.tensors()}
        self.read = sorted({i for p in self.parts for i in p.read()})
        if self.on_device:  # texts are the host's, but not which of them are there
            wanted |= {i for i in [self.numbers] + [p.valid for p in self.objects] if i >= 0}
        self.wanted = sorted(wanted)
        # Whether the library writes copies of batches: on a GPU the framework has to have the memory,
        # and images are decoded from that of the batch.
        self.copied = not self.on_device or not self.images and all(framework.fills(self.specs[i]) for i in wanted)
        self.varies = any(self.specs[i].lead in ("lists", "elements") for i in wanted)
        lists = any(isinstance(p, Lists) for p in self.parts)
        if lists and framework.name != "torch" and (jagged == "nested" or jagged == "pad" and self.on_device):
            raise UnsupportedError("jagged=%r on %s needs framework='torch'" % (jagged, framework.device))

    def _part(self, f: Field, places: Dict[str, Dict[str, int]], decoders: Dict[str, Any]) -> Part:
        c = places[f.name]
        at = c["values"], c["offsets"], c["offsets1"], c["valid"]
        if f.name in decoders:
            if not f.media or f.text or f.levels != 1:
                raise SchemaError("decode: field %s is %s, not an image" % (f.name, f.describe()))
            return Images(f, at[0], at[1], decoders[f.name], self.framework)
        if f.levels == 0:
            return Fixed(f, *at)
        if f.media:
            return Objects(f, *at)
        shapes = places[f.name + SHAPE_SUFFIX]["values"] if f.ragged else -1
        return Lists(f, *at, shapes, self)

    def early(self, s: Source) -> Dict[str, Any]:
        """The columns that are made of the batch's own memory, while it is there."""
        out: Dict[str, Any] = {}
        for p in self.objects:
            p.add(out, s)
        return out

    def build(self, out: LoaderBatch, s: Source, early: Dict[str, Any]) -> None:
        for p in self.parts:
            if p.name in early:
                out[p.name] = early[p.name]
            else:
                p.add(out, s)
        if self.numbers >= 0:
            out._device_ids = s.tensor(self.numbers)


def damaged(field: str, why: str, sample: Optional[int]) -> CorruptError:
    e = CorruptError("read %s%s: %s: corrupt data" % (field, "" if sample is None else " sample %d" % sample, why))
    e.file, e.object, e.field, e.sample, e.offset = "", "", field, sample, None
    return e
