"""Labels, and the documents of packed sequences, for batches of tokens."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union, get_args

import numpy as np
import numpy.typing as npt

from . import clib
from .blocks import Blocks
from .errors import SchemaError, UnsupportedError
from .frameworks import Framework, Spec
from .options import Documents, Labels
from .parts import Part, Source
from .schema import Field

Array = npt.NDArray[Any]

LENS = "lens"
LABELS = "labels"
_I32 = Spec("i32", (), "samples")
_BOOL = Spec("bool", (), "samples")


class Wanted(NamedTuple):
    """What the arguments of a loader ask for."""

    labels: Optional[str]
    pad: Optional[int]
    documents: Tuple[str, ...]

    @property
    def any(self) -> bool:
        return bool(self.labels or self.documents)


def stream(tokens: Union[None, int, str], wanted: Wanted) -> Tuple[Optional[str], Wanted]:
    """The text of Loader(tokens=...), which the library reads, and the rest of it, which is made here."""
    if tokens is None:
        return None, wanted
    if wanted.documents or wanted.pad is not None:
        what = "documents=" if wanted.documents else "label_pad="
        raise ValueError("tokens= and %s: stretches of a stream have no lens; --sequences makes a set with them" % what)
    text = str(tokens) if not isinstance(tokens, bool) else ""
    if not text or not isinstance(tokens, (int, str)):
        raise ValueError('tokens=%r: want 2048, or text such as "text=2048,offset=random"' % (tokens,))
    if wanted.labels == "shift":
        return text + ",labels=shift", wanted._replace(labels=None)
    return text, wanted


def wanted(labels: Optional[str], pad: Optional[int], documents: Any) -> Wanted:
    if labels is not None and labels not in get_args(Labels):
        raise ValueError("labels=%r: want one of %s" % (labels, ", ".join(get_args(Labels))))
    if pad is not None and labels is None:
        raise ValueError("label_pad=%r: it is for labels=" % (pad,))
    known = get_args(Documents)
    if documents is True:
        names: Tuple[str, ...] = known[:2]
    elif not documents:
        names = ()
    else:
        names = (documents,) if isinstance(documents, str) else tuple(documents)
        for name in names:
            if name not in known:
                raise ValueError("documents=%r: want True, or some of %s" % (name, ", ".join(known)))
    return Wanted(labels, None if pad is None else int(pad), names)


class Sequences(Part):
    """What comes with the tokens of a batch. It is built behind the fields."""

    def __init__(self, w: Wanted, parts: Sequence[Part], specs: Sequence[Spec], framework: Framework) -> None:
        tokens = [p for p in parts if p.field.levels == 0 and len(p.field.shape) == 1 and p.field.dtype[0] in "iu"]
        if len(tokens) != 1:
            names = ", ".join(p.name for p in tokens) or "none"
            raise SchemaError("labels= and documents= want one field of tokens, an array of one dimension; there are %s: choose with columns=" % names)
        if framework.name not in ("numpy", "torch"):
            raise UnsupportedError("labels= and documents= are made for framework='torch' and 'numpy', not %r" % framework.name)
        f = tokens[0].field
        super().__init__(Field(LABELS, f.dtype, f.shape), -1, -1, -1, -1)
        self.wanted, self.framework, self.tokens = w, framework, tokens[0].name
        self.stored = f.shape[0]
        self.blocks = Blocks()  # of masks
        self.length = self.stored - (w.labels == "shift")
        self.lens: Optional[Part] = None
        if w.documents or w.pad is not None:
            self.lens = next((p for p in parts if p.name == LENS and p.field.levels == 1 and p.field.dtype == "i32"), None)
            if self.lens is None:
                raise SchemaError("documents= and label_pad= want the field lens, which `shardify convert --sequences` writes")
        if self.length < 1:
            raise SchemaError("labels='shift' wants two tokens or more of each sample, %s has %d" % (self.tokens, self.stored))
        kind = specs[tokens[0].values].kind
        if w.pad is not None and not (0 <= w.pad if kind[0] == "u" else w.pad >= -(1 << (int(kind[1:]) - 1))) or kind[0] not in "iu":
            raise ValueError("label_pad=%s: %s is %s here; cast={%r: \"i64\"} widens it" % (w.pad, self.tokens, kind, self.tokens))

    def tensors(self) -> List[int]:
        return []

    def read(self) -> List[int]:
        return [self.lens.values, self.lens.offsets] if self.lens is not None else []

    def add(self, out: Dict[str, Any], s: Source) -> None:
        rows = out[self.tokens].shape[0]
        lens = offsets = None
        if self.lens is not None:
            lens, offsets = s.array(self.lens.values), s.array(self.lens.offsets)
        if self.wanted.labels:
            self._labels(out, rows, lens, offsets)
        if not self.wanted.documents:
            return
        assert lens is not None and offsets is not None
        names = self.wanted.documents
        position = np.empty((rows, self.length), np.int32) if "position_ids" in names else None
        mask: Optional[Array] = None
        if "mask" in names and self.framework.number < 0:
            block = self.blocks.get(rows * self.length**2, False)
            mask = block.array(0, (rows, 1, self.length, self.length), np.dtype(np.bool_))
        cu, longest = self._find(rows, lens, offsets, self.length, position, mask)
        if position is not None:
            out["position_ids"] = self._send(position, _I32)
        if "cu_seqlens" in names:
            out["cu_seqlens"], out["max_seqlen"] = self._send(cu, _I32), longest
        if "mask" in names:
            out["mask"] = self._mask(cu, rows) if mask is None else self._send(mask, _BOOL)

    def _find(
        self, rows: int, lens: Array, offsets: Array, length: int, position: Optional[Array] = None, mask: Optional[Array] = None
    ) -> Tuple[Array, int]:
        """cu_seqlens and max_seqlen of the first `length` tokens of each row; position and mask are filled."""
        lib = clib.load()
        cu, found = np.empty(len(lens) + rows + 1, np.int32), np.zeros(2, np.int64)
        lens, offsets = np.ascontiguousarray(lens, np.int32), np.ascontiguousarray(offsets, np.int64)
        to = [None if a is None else a.ctypes.data for a in (position, mask)]
        lib.call(
            lib.documents, lens.ctypes.data, len(lens), offsets.ctypes.data, rows, self.stored, length, cu.ctypes.data, len(cu), *to, found.ctypes.data
        )
        return cu[: found[0]], int(found[1])

    def _labels(self, out: Dict[str, Any], rows: int, lens: Optional[Array], offsets: Optional[Array]) -> None:
        whole = out[self.tokens]
        shift = self.wanted.labels == "shift"
        labels = whole
        if shift:
            out[self.tokens] = _whole(whole[:, :-1])
            labels = whole[:, 1:] if self.wanted.pad is not None else _whole(whole[:, 1:])
        if self.wanted.pad is not None:
            assert lens is not None and offsets is not None
            nothing = self._nothing(rows, lens, offsets)
            if self.framework.name == "torch":
                there = self._send(nothing, _BOOL)
                labels = labels.masked_fill(there[:, 1:] if shift else there, self.wanted.pad)
            else:
                labels = np.where(nothing[:, 1:] if shift else nothing, labels.dtype.type(self.wanted.pad), labels)
        out[LABELS] = labels

    def _nothing(self, rows: int, lens: Array, offsets: Array) -> Array:
        """The tokens that no token before them in their document predicts, and padding."""
        cu, _ = self._find(rows, lens, offsets, self.stored)
        first: Array = np.zeros(rows * self.stored, np.bool_)
        first[cu[:-1]] = True
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(lens, dtype=np.int64)])
        used = sums[offsets[1:]] - sums[offsets[:-1]]
        nothing: Array = first.reshape(rows, self.stored) | (np.arange(self.stored) >= used[:, None])
        return nothing

    def _mask(self, cu: Array, rows: int) -> Any:
        """On a GPU, [rows, 1, length, length]: true where a token sees another: of its document, and not behind it."""
        length = self.length
        number = np.repeat(np.arange(len(cu) - 1, dtype=np.int32), np.diff(cu)).reshape(rows, length)
        torch: Any = self.framework.torch  # type: ignore[attr-defined]
        t = self._send(number, _I32)
        return (t[:, None, :, None] == t[:, None, None, :]) & torch.ones(length, length, dtype=torch.bool, device=t.device).tril()

    def _send(self, a: Array, spec: Spec) -> Any:
        """An array where the batch is."""
        t = self.framework.from_array(a, spec)
        if self.framework.number >= 0 and not t.is_cuda:
            t = t.to(self.framework.device, non_blocking=True)
        return t


def _whole(t: Any) -> Any:
    return np.ascontiguousarray(t) if isinstance(t, np.ndarray) else t.contiguous()
