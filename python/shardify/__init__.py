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

import os
from typing import Any, Optional, Sequence, Union

from .batch import Batch, Sample
from .collate import collate
from .converting import Converted, Progress, convert
from .dataset import Dataset, Transform, View
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
from .opening import load
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
    "DeviceError",
    "ExistsError",
    "Field",
    "ForkedError",
    "InputNotFoundError",
    "Loader",
    "LoaderBatch",
    "LoaderDataset",
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
    "open",
    "profile",
]

Path = Union[str, "os.PathLike[str]"]


def open(
    path: Union[Path, Sequence[Path]],
    *,
    split: Optional[str] = None,
    columns: Optional[Sequence[str]] = None,
    transform: Optional[Transform] = None,
    check: bool = True,
) -> Dataset:
    """Open a data set, or several of one schema as one, in the order given.

    split      which part of a set that has splits: "train"
    columns    only these fields, as names or globs: others are not read
    transform  called with each sample's dict; its result is what ds[i] gives
    check      look at every file's size now rather than when it is first read
    """
    if path is None or isinstance(path, (int, float)):
        raise TypeError("shardify.open: want a folder or a list of folders, not %r" % (path,))
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise ValueError("shardify.open of no data set")
    return Dataset([load(p, split, check) for p in paths], columns, transform)


def __getattr__(name: str) -> Any:
    # LoaderDataset is a class of torch, which nothing else imports.
    if name == "LoaderDataset":
        from .torchset import LoaderDataset

        return LoaderDataset
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
