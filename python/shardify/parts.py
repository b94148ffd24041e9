"""The fields of a batch: each takes its tensors, and makes what the user gets."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import padding
from .batch import Column, Lists2Column, ListsColumn
from .collating import _nested, _pad
from .frameworks import Framework, Spec
from .schema import Field, bf16_to_f32

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


class Form(NamedTuple):
    """How lists are delivered."""

    framework: Framework
    specs: Sequence[Spec]  # of all tensors
    jagged: str
    pad_value: float
    on_device: bool


class Part:
    """One field of every batch, and the numbers of its tensors; -1: it has none."""

    follows = False  # the images of another field: it is built once those are decoded

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

    def wait(self, out: Dict[str, Any]) -> None:
        """Keeps the place of what follows images."""
        if self.valid >= 0:
            out[self.name + ".valid"] = None
        out[self.name] = None


class Fixed(Part):
    def add(self, out: Dict[str, Any], s: Source) -> None:
        if self.valid >= 0:
            out[self.name + ".valid"] = s.tensor(self.valid)
        out[self.name] = s.tensor(self.values)


class Objects(Part):
    """Texts and bytes: made while the batch is there, so nothing is copied."""

    def tensors(self) -> List[int]:
        return super().tensors() if self.follows else []

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

    def __init__(self, f: Field, values: int, offsets: int, offsets1: int, valid: int, shapes: int, form: Form) -> None:
        super().__init__(f, values, offsets, offsets1, valid)
        self.shapes, self.form = shapes, form

    def tensors(self) -> List[int]:
        return super().tensors() + ([self.shapes] if self.shapes >= 0 else [])

    def read(self) -> List[int]:
        if self.form.jagged == "values" and self.shapes < 0:
            return []
        return [i for i in (self.offsets, self.offsets1) if i >= 0]

    def add(self, out: Dict[str, Any], s: Source) -> None:
        if self.shapes >= 0:
            self._check_shapes(s)
        if self.valid >= 0:
            out[self.name + ".valid"] = s.tensor(self.valid)
        if self.form.jagged == "values":
            d = {"values": s.tensor(self.values), "offsets": s.tensor(self.offsets)}
            if self.offsets1 >= 0:
                d["offsets1"] = s.tensor(self.offsets1)
            if self.shapes >= 0:
                d["shapes"] = s.tensor(self.shapes)
            out[self.name] = d
        elif self.form.on_device:
            out[self.name] = padding.on_device(self, s, self.form.pad_value, self.form.jagged, self.form.framework)
        else:
            out[self.name] = self._on_host(s)

    def _on_host(self, s: Source) -> Any:
        more = [s.array(i) if i >= 0 else None for i in (self.offsets1, self.shapes)]
        return self.arranged(s.array(self.values), s.array(self.offsets), *more)

    def arranged(self, values: Array, offsets: Array, offsets1: Optional[Array] = None, shapes: Optional[Array] = None) -> Any:
        """Lists on the host as `jagged` says, other than one after the other."""
        fw, spec = self.form.framework, self.form.specs[self.values]
        if not spec.plain:
            values = bf16_to_f32(values)
        column: Column
        if offsets1 is not None:
            column = Lists2Column(values, offsets, offsets1)
        else:
            column = ListsColumn(values, offsets, shapes)
        torch: Any = getattr(fw, "torch", None)
        if self.form.jagged == "nested":
            made = _nested(self.name, column, torch)
            return made.clone() if spec.plain else made.to(torch.bfloat16)
        bits = not spec.plain and torch is not None
        out = {}
        for key, a in _pad(column, self.form.pad_value).items():
            kind = spec if key == "values" and spec.plain else spec_of(a)
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


def spec_of(a: Array) -> Spec:
    known = _PLAIN.get(a.dtype.str)
    if known is None:
        kind = {"b": "bool", "i": "i", "u": "u", "f": "f"}[a.dtype.kind]
        known = _PLAIN[a.dtype.str] = Spec(kind if kind == "bool" else kind + str(8 * a.dtype.itemsize), (), "samples")
    return known


class Images(Part):
    """Bytes that a decoder makes pixels of."""

    def __init__(self, f: Field, values: int, offsets: int, decoder: Any, framework: Framework) -> None:
        super().__init__(f, values, offsets, -1, -1)
        self.decoder, self.framework = decoder, framework
        self.followers: List[Part] = []

    def decode(
        self, out: Dict[str, Any], values: Array, offsets: Array, ids: Array, epoch: int, bad: Optional[Dict[int, str]], moved: Any = None
    ) -> None:
        """Makes pixels, and moves what follows them; the errors of damaged images go to `bad`, if it is there."""
        fw, decoder = self.framework, self.decoder
        more: Dict[str, Any] = {} if bad is None else {"bad": bad}
        if moved is not None:
            more["moves"] = moves = np.zeros((len(ids), decoder.following.numbers))
        # For a GPU they are written to where it can fetch them from without a copy.
        pinned = self._pinned(len(ids)) if fw.number >= 0 and fw.name == "torch" else None
        if pinned is not None:
            more["out"] = pinned[1]
        pixels = decoder(values, offsets, ids, epoch, **more)
        if moved is not None:
            moved.take(decoder.following.moved(decoder, moved.columns, ids, moves, decoder.size_in(pixels.shape), bad))
        if pinned is not None:
            pixels = pinned[0]
        elif isinstance(pixels, np.ndarray):
            cast = getattr(decoder, "cast", None)
            pixels = fw.from_array(pixels, Spec("bf16", (), "samples") if cast and cast.kind == "bf16" else spec_of(pixels))
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
