"""Megatron's IndexedDataset reads .bin and .idx pairs: every sequence, and what blend weighs."""

from __future__ import annotations

import functools
import glob
import importlib.util
import json
import os
import subprocess
import sys
import types
from typing import Any

import numpy as np
from expect import folder, main


@functools.lru_cache(maxsize=None)
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


def blend() -> str:
    """The file list, cut as BlendCorpus cuts it, has the shares of the tokens that Megatron's module counts."""
    module = indexed_dataset()
    top = folder("tokens-megatron")
    work = os.environ["TMPDIR"]
    out, meta = os.path.join(work, "blend.txt"), os.path.join(work, "blend.json")
    command = [os.environ["SHARDIFY"], "blend", "one=" + top, "two=" + top, "--epochs", "two=2.5", "-o", out, "--meta", meta, "-q"]
    subprocess.run(command, check=True)
    files, sizes, total = [], {}, 0.0
    with open(out) as fin:
        for f in fin.readlines():
            w, fname, c = f.split()
            files.append((float(w), fname, c))
            ds = module.IndexedDataset(fname)  # its arrays live as long as it does
            sizes[fname] = int(sum(ds.sequence_lengths))
            total += sizes[fname] * {"one": 1, "two": 2.5}[c]
    for w, fname, c in files:
        want = sizes[fname] * {"one": 1, "two": 2.5}[c] / total
        assert w == want, (fname, c, w, want)
    with open(meta) as fin:
        entries = json.load(fin)
    assert [e["data_prefix"] for e in entries] == [f[1] for f in files]
    for e in entries:
        ds = module.IndexedDataset(e["data_prefix"])
        assert e["total_num_docs"] == len(ds.document_indices) - 1 and e["total_num_tokens"] == sizes[e["data_prefix"]], e
    return "blend: %d pairs of %d tokens have their shares" % (len(files), sum(sizes.values()))


def opened() -> str:
    """shardify.open, and the Loader where its library is, read what Megatron's builder wrote, as its reader does."""
    import torch

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    import shardify
    from shardify import clib

    module = indexed_dataset()
    rng = np.random.default_rng(1)
    count = 0
    for kind in (np.uint16, np.int32):
        prefix = os.path.join(os.environ["TMPDIR"], "opened-%s" % np.dtype(kind).name)
        builder = module.IndexedDatasetBuilder(prefix + ".bin", dtype=kind)
        for _ in range(300):
            lengths = rng.integers(0, 40, rng.integers(0, 4)).tolist()
            builder.add_document(torch.from_numpy(rng.integers(0, 60000, sum(lengths))), lengths)
        builder.finalize(prefix + ".idx")
        theirs = module.IndexedDataset(prefix)
        borders = list(theirs.document_indices)
        docs = [np.concatenate([np.zeros(0, kind)] + [np.asarray(theirs[k]) for k in range(a, b)]) for a, b in zip(borders, borders[1:])]
        ds = shardify.open(prefix)
        assert len(ds) == len(docs) == 300
        for i, want in enumerate(docs):
            got = ds[i]["tokens"]
            assert got.dtype == want.dtype == kind and np.array_equal(got, want), i
        whole = np.concatenate(docs)
        if os.path.exists(clib.path()):
            with shardify.Loader(prefix, 8, tokens=64, labels="shift", shuffle="global", last="short", framework="numpy") as loader:
                for b in loader:
                    for k, at in enumerate(b.ids):
                        assert np.array_equal(b["tokens"][k], whole[at : at + 64]) and np.array_equal(b["labels"][k], whole[at + 1 : at + 65])
        count += len(whole)
    return "opened: 600 documents of %d tokens" % count


if __name__ == "__main__":
    main([("megatron-core 0.16.1", tokens), ("megatron-core 0.16.1, blend", blend), ("megatron-core 0.16.1, opened", opened)])
