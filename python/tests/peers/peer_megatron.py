"""Megatron's IndexedDataset reads .bin and .idx pairs: every sequence."""

from __future__ import annotations

import glob
import importlib.util
import os
import sys
import types
from typing import Any

import numpy as np
from expect import folder, main


def indexed_dataset() -> Any:
    """Megatron's module, without the packages around it, which want a newer PyTorch."""
    spec = importlib.util.find_spec("megatron")
    assert spec is not None and spec.submodule_search_locations
    path = list(spec.submodule_search_locations)[0]
    for name in ("megatron", "megatron.core", "megatron.core.datasets"):
        m = types.ModuleType(name)
        m.__path__ = [os.path.join(os.path.dirname(path), *name.split("."))]
        sys.modules[name] = m
    utils: Any = types.ModuleType("megatron.core.utils")
    utils.log_single_rank = lambda *a, **kw: None  # all that is used of it
    sys.modules[utils.__name__] = utils
    import megatron.core.datasets.indexed_dataset as module

    return module


def tokens() -> str:
    module = indexed_dataset()
    source = np.load(os.path.join(folder("src"), "tokens.npz"))["tokens"]
    at = total = 0
    for index in sorted(glob.glob(os.path.join(folder("tokens-megatron"), "*.idx"))):
        ds = module.IndexedDataset(index[: -len(".idx")])
        for i in range(len(ds)):
            got = np.asarray(ds[i])
            assert got.dtype == source.dtype and np.array_equal(got, source[at]), (index, i, got, source[at])
            at, total = at + 1, total + got.size
        assert list(ds.document_indices) == list(range(len(ds) + 1))
    assert at == len(source), (at, len(source))
    return "tokens: %d sequences, %d tokens" % (at, total)


if __name__ == "__main__":
    main([("megatron-core 0.16.1", tokens)])
