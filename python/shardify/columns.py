"""From the tensors of a batch to what the user gets: one plan a loader, used for every batch."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from .errors import CorruptError, SchemaError, UnsupportedError
from .following import Mask, place
from .frameworks import Framework, Spec
from .loaderbatch import LoaderBatch
from .parts import Fixed, Form, Images, Lists, Objects, Part, Source
from .schema import KEY, KEY_FIELD, SHAPE_SUFFIX, Field, visible
from .sequences import Sequences


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
        self.framework = framework
        self.numbers: int = info["numbers"]  # the tensor of device_ids, or -1
        self.on_device = framework.number >= 0
        self.specs = [Spec(t["dtype"], t["inner"], t["lead"]) for t in info["tensors"]]
        self.ready = [framework.prepare(s) for s in self.specs]
        self.form = Form(framework, self.specs, jagged, pad_value, self.on_device)
        places = {c["name"]: c for c in info["columns"]}
        shown = list(visible(fields))
        self.schema: Tuple[Field, ...] = tuple(shown)
        self.parts: List[Part] = []
        for f in ([KEY_FIELD] if KEY in places else []) + shown:
            self.parts.append(self._part(f, places, decoders))
        self._follow(places, decoders)
        if more is not None and more.any:
            self.parts.append(Sequences(more, self.parts, self.specs, framework))
        self.images = [p for p in self.parts if isinstance(p, Images)]
        self.objects = [p for p in self.parts if isinstance(p, Objects) and not p.follows]
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
        return Lists(f, *at, shapes, self.form)

    def _follow(self, places: Dict[str, Dict[str, int]], decoders: Dict[str, Any]) -> None:
        """Marks the fields that follow images, and makes masks of those that hold them."""
        for image in [p for p in self.parts if isinstance(p, Images)]:
            known = getattr(image.decoder, "following", None)
            for k, p in enumerate(self.parts):
                if known is None or p is image or p.name not in known.kinds:
                    continue
                if known.kinds[p.name][0] == "mask":
                    shapes = places[p.name + SHAPE_SUFFIX]["values"] if p.field.ragged else -1
                    self.parts[k] = p = Mask(p.field, p.values, p.offsets, p.offsets1, p.valid, shapes)
                image.followers.append(place(p, known, image.name, self.specs))

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
            elif p.follows:
                p.wait(out)
            else:
                p.add(out, s)
        if self.numbers >= 0:
            out._device_ids = s.tensor(self.numbers)


def damaged(field: str, why: str, sample: Optional[int]) -> CorruptError:
    e = CorruptError("read %s%s: %s: corrupt data" % (field, "" if sample is None else " sample %d" % sample, why))
    e.file, e.object, e.field, e.sample, e.offset = "", "", field, sample, None
    return e
