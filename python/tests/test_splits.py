"""A set of splits without split=: one sentence from every function, with the call that works."""

from __future__ import annotations

import re

import pytest
from loading import needs_library

import shardify


@pytest.fixture
def data(tmp_path):
    import numpy as np

    np.savez(tmp_path / "in.npz", y=np.arange(10))
    shardify.convert(tmp_path / "in.npz", tmp_path / "set", split="train=8,val=2,test=rest")
    return str(tmp_path / "set")


SENTENCE = r"%s has the splits test \(empty\), train \(8 samples\), val \(2 samples\)%s: name one, as in (shardify\..*split='train'\))$"


def opened(name, data, **given):
    if name == "open":
        return shardify.open(data, **given)
    if name == "grain":
        return shardify.grain.source(data, **given).ds
    if name == "Loader":
        return shardify.Loader(data, 2, device="cpu", **given)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if name == "DataLoader of open":
        return torch.utils.data.DataLoader(shardify.open(data, **given))
    workers = 2 if name == "DataLoader, workers" else 0
    return list(torch.utils.data.DataLoader(shardify.LoaderDataset(data, 2, **given), batch_size=None, num_workers=workers, multiprocessing_context="forkserver" if workers else None))


@needs_library
@pytest.mark.parametrize("name", ["open", "grain", "Loader", "DataLoader of open", "DataLoader", "DataLoader, workers"])
def test_the_splits_are_named(data, name):
    for given, wrong in ({}, ""), ({"split": "tran"}, " and no split 'tran'"):
        with pytest.raises(shardify.SchemaError) as e:
            opened(name, data, **given)
        text = [line for line in str(e.value).splitlines() if "has the splits" in line][-1].split("SchemaError: ")[-1]
        m = re.search(SENTENCE % (re.escape(data), wrong), text)
        assert m, text
        assert len(eval(m[1])) in (4, 8)  # batches, or samples
    with pytest.raises(shardify.SchemaError, match="val has no splits: leave out split='val'"):
        opened(name, data + "/val", split="val")
    assert len(opened(name, data + "/val")) in (1, 2)


@needs_library
def test_an_empty_split(data):
    assert len(shardify.open(data, split="test")) == 0
    with pytest.raises(shardify.SchemaError, match="set/test has no samples"):
        shardify.Loader(data, 2, split="test", device="cpu")
