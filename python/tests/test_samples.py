from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import KINDS, SCHEMAS, N, same, samples, shown

import shardify


@pytest.mark.parametrize("kind,format", KINDS)
@pytest.mark.parametrize("shards", [[N], [1, 7, N - 8]])
def test_every_sample_is_what_was_written(make, kind, format, shards):
    ds = shardify.open(make(kind, format, shards=shards))
    want = [shown(kind, s) for s in samples(kind)]
    assert len(ds) == N
    assert ds.fields == list(want[0])
    for i in range(N):
        assert same(want[i], dict(ds[i])), i
    assert [same(w, dict(s)) for w, s in zip(want, ds)] == [True] * N


@pytest.mark.parametrize("kind,format", KINDS)
def test_a_batch_is_its_samples(make, kind, format):
    ds = shardify.open(make(kind, format, shards=[5, 9, N - 14]))
    for rows in ([3], [4, 5], [22, 0, 7, 7, 13, -1], list(range(N))):
        batch = ds.__getitems__(rows)
        assert len(batch) == len(rows)
        for i, s in zip(rows, batch):
            assert same(dict(ds[i]), dict(s)), i
    assert len(ds.__getitems__([])) == 0


@pytest.mark.parametrize("kind,format", KINDS)
def test_arrays_are_fresh_and_writable(make, kind, format):
    folder = make(kind, format)
    ds = shardify.open(folder)
    for take in (lambda: ds[5], lambda: ds.__getitems__([5, 5])[1]):
        before = {k: np.copy(v) for k, v in take().items() if isinstance(v, np.ndarray)}
        s = take()
        for name in before:
            assert s[name].flags.writeable, name
            s[name][...] = 7
        assert all(np.array_equal(before[k], ds[5][k]) for k in before)


def test_samples_of_one_batch_do_not_share_memory(make):
    a, b = shardify.open(make("jagged")).__getitems__([4, 4])
    a["Jet_pt"][:] = -1
    assert (b["Jet_pt"] != -1).all()


@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_numbers_from_both_ends_and_any_integer(make, format):
    ds = shardify.open(make("fixed", format))
    for i in (-1, -N, np.int64(3), np.uint8(3), np.int32(-2)):
        assert same(dict(ds[int(i) % N]), dict(ds[i]))
    for i in (N, -N - 1, 10**30):
        with pytest.raises(IndexError):
            ds[i]
    for rows in ([0, N], [-N - 1]):
        with pytest.raises(IndexError):
            ds.__getitems__(rows)
    for bad in (1.0, "x", None, [0.5], [True, False]):
        with pytest.raises(TypeError):
            ds[bad]


def test_a_slice_is_a_view_and_a_list_is_a_batch(make):
    ds = shardify.open(make("fixed"))
    view = ds[20:4:-3]
    assert [int(s["small"]) for s in view] == [int(ds[i]["small"]) for i in range(20, 4, -3)]
    assert same(dict(view[1:][0]), dict(ds[17]))
    assert same(dict(view.__getitems__([-1])[0]), dict(ds[5]))
    assert same(dict(pickle.loads(pickle.dumps(view))[0]), dict(ds[20]))
    assert [same(dict(a), dict(b)) for a, b in zip(ds[[3, 19]], (ds[3], ds[19]))] == [True, True]


@pytest.mark.parametrize("kind,format", [("fixed", "mmap"), ("text", "wds")])
def test_keyed_sets_give_the_key(make, kind, format):
    ds = shardify.open(make(kind, format, keyed=True))
    assert [ds[i]["__key__"] for i in (0, N - 1)] == ["k/0000", "k/%04d" % (N - 1)]
    assert [s["__key__"] for s in ds.__getitems__([9, 20])] == ["k/0009", "k/0020"]
    assert "__key__" not in ds.fields
    assert list(shardify.open(ds.manifest and ds._manifests[0].folder, columns=["cls"])[0]) == ["cls"]


def test_columns_choose_fields(make):
    folder = make("jagged")
    assert list(shardify.open(folder, columns=["Jet_*", "run"])[3]) == ["Jet_pt", "Jet_p4", "run"]
    assert list(shardify.open(folder, columns="volume")[3]) == ["volume"]
    with pytest.raises(shardify.SchemaError, match="no field 'Jet_eta'"):
        shardify.open(folder, columns=["Jet_eta"])


def test_transform_is_applied_to_each_sample(make):
    ds = shardify.open(make("fixed"), transform=lambda s: int(s["small"]) + 1)
    plain = shardify.open(ds._manifests[0].folder)
    assert ds[3] == int(plain[3]["small"]) + 1
    assert ds.__getitems__([3, 4]) == [ds[3], ds[4]]
    assert list(ds[3:5]) == [ds[3], ds[4]]


def test_labels_and_schema(make):
    ds = shardify.open(make("image", "wds"))
    assert ds.labels("cls") == ["zero", "one"]
    assert [f.name for f in ds.schema] == ["image", "bin", "cls"]
    assert ds.manifest["samples"] == N
    with pytest.raises(KeyError, match="fields with labels: cls"):
        ds.labels("bin")
    with pytest.raises(KeyError, match="no field 'nope'; there are image, bin, cls"):
        ds.labels("nope")


@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_more_shards_than_may_be_open(make, format):
    ds = shardify.open(make("fixed", format, shards=[1] * N))
    ds._limit = 3
    plain = [dict(ds[i]) for i in range(N)]
    assert len(ds._open) == 3
    rows = np.random.default_rng(1).integers(0, N, 50)
    assert all(same(plain[i], dict(s)) for i, s in zip(rows, ds.__getitems__(rows)))


def test_the_empty_set(make):
    ds = shardify.open(make("jagged", shards=[], n=0))
    assert len(ds) == 0 and list(ds) == []
    assert ds.column("run").shape == (0,) and len(ds.column("Jet_pt")) == 0
    assert {f["name"] for f in SCHEMAS["jagged"]} - set(ds.fields) == {"volume.shape"}


def test_pickling_carries_no_maps(make):
    ds = shardify.open(make("jagged"))
    ds[0]
    copy = pickle.loads(pickle.dumps(ds))
    assert copy._open == {} and same(dict(copy[9]), dict(ds[9]))
