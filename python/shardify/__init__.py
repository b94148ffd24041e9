"""Read the data sets that shardify writes.

    import shardify

    ds = shardify.open("OUT")
    len(ds), ds[0]["x"], ds.column("x")

NumPy is all it needs; with PyTorch a data set goes straight into a DataLoader:

    DataLoader(ds, batch_size=256, shuffle=True, collate_fn=shardify.collate(jagged="pad"))

Batches without worker processes, resumable in the middle of an epoch, also on a GPU:

    for batch in shardify.Loader("OUT", 256, shuffle="block", seed=1):
        step(batch["x"], batch["cls"])

Data sets are made by the program shardify, or here:

    shardify.convert("photos/", "OUT", shuffle="global", split="train=0.9,val=0.1")
"""

from __future__ import annotations

from typing import Any

from . import grain
from .batch import Batch, Sample
from .collate import collate
from .converting import Converted, Progress, convert
from .dataset import Dataset, View
from .errors import (
    ChangedError,
    ClosedError,
    CorruptError,
    DeviceError,
    ExistsError,
    ForkedError,
    InputNotFoundError,
    NotADatasetError,
    SchemaError,
    ShardifyError,
    StateError,
    StoppedError,
    UnsupportedError,
    UsageError,
)
from .loader import Loader
from .loaderbatch import LoaderBatch
from .opening import open
from .options import Decode, Device
from .profile import profile
from .schema import Field, bf16_to_f32

__version__ = "0.1.0"
__all__ = [
    "Batch",
    "ChangedError",
    "ClosedError",
    "Converted",
    "CorruptError",
    "Dataset",
    "Decode",
    "Device",
    "DeviceError",
    "ExistsError",
    "Field",
    "ForkedError",
    "InputNotFoundError",
    "Loader",
    "LoaderBatch",
    "LoaderDataset",  # pyright: ignore[reportUnsupportedDunderAll]
    "NotADatasetError",
    "Progress",
    "Sample",
    "SchemaError",
    "ShardifyError",
    "StateError",
    "StoppedError",
    "UnsupportedError",
    "UsageError",
    "View",
    "bf16_to_f32",
    "collate",
    "convert",
    "grain",
    "open",
    "profile",
]


def __getattr__(name: str) -> Any:
    # LoaderDataset is a class of torch, which nothing else imports.
    if name == "LoaderDataset":
        from .torchset import LoaderDataset

        return LoaderDataset
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
