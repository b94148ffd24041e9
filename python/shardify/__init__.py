"""Read the data sets that shardify writes.

    import shardify

    ds = shardify.open("OUT")
    len(ds), ds[0]["x"], ds.column("x")

NumPy is all it needs; with PyTorch a data set goes straight into a DataLoader:

    DataLoader(ds, batch_size=256, shuffle=True, collate_fn=shardify.collate(jagged="pad"))
"""

from __future__ import annotations

import os
from typing import Optional, Sequence, Union

from .batch import Batch, Sample
from .collate import collate
from .dataset import Dataset, Transform, View
from .errors import CorruptError, NotADatasetError, SchemaError, ShardifyError, UnsupportedError
from .opening import load
from .schema import Field, bf16_to_f32

__version__ = "0.1.0"
__all__ = [
    "Batch",
    "CorruptError",
    "Dataset",
    "Field",
    "NotADatasetError",
    "Sample",
    "SchemaError",
    "ShardifyError",
    "UnsupportedError",
    "View",
    "bf16_to_f32",
    "collate",
    "open",
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
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise ValueError("shardify.open of no data set")
    return Dataset([load(p, split, check) for p in paths], columns, transform)
