"""`Loader(on_error="skip")`: batches without the samples whose images are damaged."""

from __future__ import annotations

import dataclasses
import os
import threading
import warnings
from itertools import accumulate
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import opening
from .columns import Plan
from .errors import printable
from .loaderbatch import LoaderBatch
from .parts import Lists, Objects, Part, spec_of

Ints = npt.NDArray[np.int64]

NAMED = 100  # samples that are named, the others are counted


@dataclasses.dataclass(frozen=True)
class SkippedSample:
    """A sample that was left out: its number, its key and shard as far as they are known, and why."""

    sample: int
    key: str
    shard: str
    reason: str

    def __str__(self) -> str:
        key = " (%s)" % self.key if self.key else ""
        return printable("sample %d%s of %s: %s" % (self.sample, key, self.shard, self.reason))


class Skipped:
    """What a loader left out.

    count    how often a sample was left out; one that comes again in each epoch counts each time
    samples  the first 100 of them, each once
    """

    def __init__(self, folders: Sequence[str], pad: bool) -> None:
        self.count = 0
        self.note = ""
        self.pad = pad
        self._folders = list(folders)
        self._named: Dict[int, SkippedSample] = {}
        self._shards: Any = None
        self._lock = threading.Lock()

    @property
    def samples(self) -> List[SkippedSample]:
        return list(self._named.values())

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return "Skipped(count=%d, samples=%r)" % (self.count, self.samples)

    def take_out(self, out: LoaderBatch, plan: Plan, bad: Dict[int, str]) -> None:
        """Removes rows of a batch, and counts them."""
        ids, keys = out.ids.tolist(), out.get("__key__")
        for k in sorted(bad):
            self.add(ids[k], keys[k] if keys else "", bad[k])
        keep = [k for k in range(out.rows) if k not in bad]
        order = np.array(keep + sorted(bad) if self.pad else keep, np.int64)
        if self.pad:
            order = np.concatenate([order, np.arange(out.rows, out.size)])
        for part in plan.parts:
            _rows_of(part, plan, out, order, len(keep))
        chosen = out.ids[order]
        chosen[len(keep) :] = -1
        out._ids, out.rows, out.size = chosen, len(keep), len(order)
        if plan.numbers >= 0:
            out._device_ids = _like(plan.framework, chosen)

    def add(self, sample: int, key: str, reason: str) -> None:
        with self._lock:
            self.count += 1
            if sample in self._named or len(self._named) >= NAMED:
                return
            first = not self._named
            self._named[sample] = made = SkippedSample(sample, key, self._shard(sample), reason)
        if first:
            self.note = "damaged images are left out, loader.skipped counts and names them; the first is %s" % made
            warnings.warn("shardify.Loader: " + self.note, stacklevel=2)

    def _shard(self, sample: int) -> str:
        """The file that has a sample."""
        if self._shards is None:
            every = [s for f in self._folders for s in opening.load(f, None, False).shards]
            self._shards = [s.path for s in every], np.fromiter(accumulate(s.samples for s in every), np.int64)
        paths, ends = self._shards
        path: str = os.fspath(paths[int(np.searchsorted(ends, sample, "right"))])
        return path


def _rows_of(part: Part, plan: Plan, out: LoaderBatch, order: Ints, n: int) -> None:
    """Makes a field that of the rows `order`, of which those from n on become padding."""
    if isinstance(part, Objects):
        blank: Any = None if part.valid >= 0 else [] if part.field.levels == 2 else "" if part.field.text else b""
        items = out[part.name]
        out[part.name] = [items[k] for k in order[:n].tolist()] + [blank] * (len(order) - n)
        return
    fw = plan.framework
    if part.name + ".valid" in out:
        out[part.name + ".valid"] = _rows(fw, out[part.name + ".valid"], order, n)
    v = out[part.name]
    if not isinstance(part, Lists):
        out[part.name] = _rows(fw, v, order, n)
    elif plan.form.jagged == "values":
        out[part.name] = _jagged(fw, v, order, n)
    elif isinstance(v, dict):
        out[part.name] = {key: _rows(fw, a, order, n, plan.form.pad_value if key == "values" else 0) for key, a in v.items()}
    else:
        lists = v.unbind()
        import torch

        out[part.name] = torch.nested.nested_tensor([lists[k] if i < n else lists[k][:0] for i, k in enumerate(order.tolist())])


def _jagged(fw: Any, v: Dict[str, Any], order: Ints, n: int) -> Dict[str, Any]:
    places, offsets = _ranges(fw.to_host(v["offsets"]), order, n)
    out = {"values": v["values"], "offsets": _like(fw, offsets)}
    if "offsets1" in v:
        places, offsets1 = _ranges(fw.to_host(v["offsets1"]), places, len(places))
        out["offsets1"] = _like(fw, offsets1)
    out["values"] = _rows(fw, v["values"], places, len(places))
    if "shapes" in v:
        out["shapes"] = _rows(fw, v["shapes"], order, n)
    return out


def _ranges(offsets: Any, order: Ints, n: int) -> Any:
    """The elements of lists, one list after the other, and the offsets they then have."""
    offsets = np.asarray(offsets, np.int64)
    lo, lengths = offsets[:-1][order], np.diff(offsets)[order]
    lengths[n:] = 0
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return np.repeat(lo - ends[:-1], lengths) + np.arange(ends[-1]), ends


def _like(fw: Any, a: Ints) -> Any:
    t = fw.from_array(a, spec_of(a))
    return t.to(fw.torch_device) if fw.name == "torch" else t


def _rows(fw: Any, a: Any, order: Ints, n: int, blank: float = 0) -> Any:
    """A new array of rows, of which those from n on are blank."""
    if fw.name == "jax":
        got = a[order]
        return got if n == len(order) else got.at[n:].set(blank)
    if fw.name == "cupy":
        got = a[fw.cupy.asarray(order)]
    elif fw.name == "torch":
        signed = _SIGNED.get(str(a.dtype))  # torch indexes few unsigned types
        seen = a.view(getattr(fw.torch, signed)) if signed else a
        got = seen[fw.torch.from_numpy(order).to(seen.device)]
        got[n:] = blank
        return got.view(a.dtype) if signed else got
    else:
        got = a[order]
    got[n:] = blank
    return got


_SIGNED = {"torch.uint16": "int16", "torch.uint32": "int32", "torch.uint64": "int64"}


def made(on_error: Any, decoders: Optional[Dict[str, Any]], framework: str, folders: Sequence[str], pad: bool) -> Optional[Skipped]:
    """The record of a loader that skips; None for one that fails."""
    if on_error == "fail":
        return None
    if not decoders:
        raise ValueError('on_error="skip" leaves out damaged images, which only decode= finds')
    if framework == "dlpack":
        raise ValueError('on_error="skip": tensors of framework="dlpack" cannot be made smaller')
    return Skipped(folders, pad)
