"""The words and the groups of `Loader`'s arguments, as editors and type checkers know them."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any, Dict, Literal, Optional, Sequence, Tuple, Union

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
    field: Optional[str] = None  # default: all fields of images
    layout: Literal["nchw", "nhwc"] = "nchw"
    color: Literal["rgb", "gray"] = "rgb"
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


def placed(device: Any, **keywords: Any) -> Dict[str, Any]:
    """The arguments that `Device` groups, from one or from keywords. What is given twice is an error."""
    if not isinstance(device, Device):
        return {"device": device, **keywords}
    defaults = Device()
    twice = [k for k, v in keywords.items() if v != getattr(defaults, k)]
    if twice:
        raise ValueError("%s=: device=Device(...) has it already" % twice[0])
    return {f.name: getattr(device, f.name) for f in fields(device)}
