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

TYPE_CHECKING = False  # as that of typing, which is not imported
if TYPE_CHECKING:
    from typing import Any, List

    from . import decode, grain
    from .batch import Batch, Sample
    from .collating import collate
    from .converting import Converted, Progress, convert
    from .dataset import Dataset, View
    from .errors import (
        ChangedError,
        ClosedError,
        CorruptError,
        DeniedError,
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
    from .graphs import Graph
    from .loader import Loader
    from .loaderbatch import LoaderBatch
    from .matrices import Sparse
    from .opening import open
    from .options import Budget, Decode, Device
    from .profiling import profile
    from .running import Done, RayExecutor, State, TaskError, run
    from .schema import Field, bf16_to_f32

__version__ = "0.1.0"
__all__ = [
    "Batch",
    "Budget",
    "ChangedError",
    "ClosedError",
    "Converted",
    "CorruptError",
    "Dataset",
    "Decode",
    "DeniedError",
    "Device",
    "DeviceError",
    "Done",
    "ExistsError",
    "Field",
    "ForkedError",
    "InputNotFoundError",
    "Graph",
    "Loader",
    "LoaderBatch",
    "LoaderDataset",  # pyright: ignore[reportUnsupportedDunderAll]
    "NotADatasetError",
    "Progress",
    "RayExecutor",
    "Sample",
    "SchemaError",
    "ShardifyError",
    "Sparse",
    "State",
    "StateError",
    "StoppedError",
    "TaskError",
    "UnsupportedError",
    "UsageError",
    "View",
    "bf16_to_f32",
    "collate",
    "convert",
    "decode",
    "grain",
    "open",
    "profile",
    "run",
]


_MODULES = ("decode", "grain")

# Where the names are. A module is imported when one of its names is first used: NumPy alone
# takes longer than a script that only looks at the version. No module is called like a name,
# since importing it would put the module in the name's place.
_HOMES = {
    "batch": ["Batch", "Sample"],
    "collating": ["collate"],
    "converting": ["Converted", "Progress", "convert"],
    "dataset": ["Dataset", "View"],
    "graphs": ["Graph"],
    "loader": ["Loader"],
    "loaderbatch": ["LoaderBatch"],
    "matrices": ["Sparse"],
    "opening": ["open"],
    "options": ["Budget", "Decode", "Device"],
    "profiling": ["profile"],
    "running": ["Done", "RayExecutor", "State", "TaskError", "run"],
    "schema": ["Field", "bf16_to_f32"],
    "torchset": ["LoaderDataset"],
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        from importlib import import_module

        if name in _MODULES:
            return import_module("." + name, __name__)
        home = next((m for m, names in _HOMES.items() if name in names), "errors")
        value = globals()[name] = getattr(import_module("." + home, __name__), name)
        return value
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def __dir__() -> List[str]:
    return sorted([*__all__, "__version__"])
