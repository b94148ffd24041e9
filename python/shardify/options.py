"""The words and the groups of `Loader`'s arguments, as editors and type checkers know them."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, Dict, Literal, Mapping, Optional, Sequence, Tuple, Union

from . import near

MAX_THREADS = 1024

Last = Literal["drop", "pad", "short"]
Jagged = Literal["values", "pad", "nested"]
Shuffle = Literal["none", "block", "global"]
Tier = Literal["auto", "device", "pinned", "staged", "stream"]
Verify = Literal["whole", "open", "none"]
OnError = Literal["fail", "skip"]
Labels = Literal["shift", "same"]
Documents = Literal["position_ids", "cu_seqlens", "mask"]
Ids = Literal["host", "device"]
Oversize = Literal["error", "alone", "drop"]
Framework = Literal["auto", "torch", "numpy", "cupy", "jax", "dlpack"]
Backend = Literal["auto", "native", "pillow", "torchvision", "nvjpeg", "nvimgcodec"]
Size = Union[int, Tuple[int, int]]


def _given(options: Any) -> Dict[str, Any]:
    """What is not at its default."""
    return {f.name: getattr(options, f.name) for f in fields(options) if getattr(options, f.name) != f.default}


@near.keywords("shardify.Decode", near.DECODE)
@dataclass(frozen=True)
class Decode:
    """How `Loader(decode=...)` makes pixels of images: what shardify.decode.make takes."""

    backend: Backend = "auto"
    resize: Optional[Size] = None
    crop: Optional[Size] = None
    random_crop: Union[bool, Tuple[float, float]] = False
    flip: float = 0.0
    augment: Sequence[str] = ()  # operations as those of --augment
    targets: Union[str, Mapping[str, Any]] = ""  # what follows the images: the settings of --augment 'targets,...'
    field: Optional[str] = None  # default: all fields of images
    layout: Literal["nchw", "nhwc"] = "nchw"
    color: Literal["rgb", "gray", "index"] = "rgb"
    threads: Optional[int] = None
    scaled: bool = True
    cast: Any = None
    seed: Optional[int] = None  # default: that of the loader

    def given(self) -> Dict[str, Any]:
        return _given(self)


@near.keywords("shardify.Device")
@dataclass(frozen=True)
class Device:
    """Where the batches of a `Loader` are, and where samples wait for them: Loader(device=Device("cuda:0", tier="pinned"))."""

    device: Any = "auto"
    tier: Tier = "auto"
    memory: Union[None, int, str] = None
    device_memory: Union[None, int, str] = None
    stage: Union[None, str, "os.PathLike[str]"] = None
    keep_stage: bool = False


@near.keywords("shardify.Budget")
@dataclass(frozen=True)
class Budget:
    """Batches of as many samples as have no more in all than each limit says: Loader(data, budget=Budget({"tokens": 4096})).

    limits     {field: most}: elements of a list, bytes of a text, or the sum of a scalar field of whole numbers;
               or a sum of products of them, as "3*atoms + edges". Several limits hold together
    padded     what counts is the samples of a batch times the longest of them
    max_batch  the most samples of a batch
    window     within how many samples of the order those of about the same length, by the first limit, come
               together; 1 keeps the order
    oversize   a sample that alone is over a limit: "error" before the first batch, "alone": a batch of its own,
               "drop": left out and counted by plan_report()
    """

    limits: Mapping[str, int]
    padded: bool = False
    max_batch: int = 1 << 16
    window: int = 1
    oversize: Oversize = "error"


def placed(device: Any, **keywords: Any) -> Dict[str, Any]:
    """The arguments that `Device` groups, from one or from keywords. What is given twice is an error."""
    if not isinstance(device, Device):
        return {"device": device, **keywords}
    defaults = Device()
    twice = [k for k, v in keywords.items() if v != getattr(defaults, k)]
    if twice:
        raise ValueError("%s=: device=Device(...) has it already" % twice[0])
    return {f.name: getattr(device, f.name) for f in fields(device)}
