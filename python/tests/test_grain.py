"""The source for Grain. docs/guides/frameworks.md has a program that runs with Grain itself."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import KINDS, N, same

import shardify


@pytest.mark.parametrize("kind,format", KINDS)
def test_samples_are_plain_dicts_of_the_same_values(make, kind, format):
    folder = make(kind, format)
    src, ds = shardify.grain.source(folder), shardify.open(folder)
    rows = [5, N - 1, 0, 5]
    assert len(src) == N and type(src[3]) is dict and same(src[3], dict(ds[3]))
    for read in (src.__getitems__, src._getitems):
        got = read(rows)
        assert all(type(s) is dict for s in got) and all(same(s, dict(ds[i])) for s, i in zip(got, rows))


def test_a_batch_is_gathered(make):
    src = shardify.grain.source(make("jagged"), columns=["Jet_*", "run"])
    batch = src.gather(np.array([7, 2]))
    assert batch["run"].tolist() == [src[7]["run"], src[2]["run"]] and batch["Jet_pt"]["lengths"].tolist() == [2, 2]
    whole = shardify.grain.source(src.ds._manifests[0].folder, jagged="values").gather([4])
    assert isinstance(whole["Jet_pt"]["offsets"], np.ndarray)


def test_a_transform_is_kept(make):
    src = shardify.grain.source(make("fixed"), transform=lambda s: s["cls"] + 1)
    assert src[4] == 2 and src.__getitems__([4, 5]) == [2, 3]


def test_its_name_is_that_of_the_data_not_of_the_place(make):
    a, b, other = (shardify.grain.source(make("fixed", name=n, seed=s)) for n, s in (("a", 0), ("b", 0), ("c", 1)))
    assert repr(a) == repr(b) == repr(pickle.loads(pickle.dumps(a))) != repr(other)
    assert repr(shardify.grain.source(make("fixed", name="d"), columns=["x"])) != repr(a)


def test_many_threads_open_more_shards_than_stay_open(make):
    ds = shardify.grain.source(make("fixed", shards=[1] * N))
    ds.ds._limit = 2
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda i: int(ds[i % N]["cls"]), range(400)))
    finally:
        sys.setswitchinterval(before)
    assert got == [i % N % 3 for i in range(400)]
