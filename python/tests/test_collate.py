from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import same, samples, shown

import shardify

ROWS = [3, 0, 14, 9, 4]


def batches(ds):
    """The same samples, column by column and as separate dicts."""
    return ds.__getitems__(ROWS), [ds[i] for i in ROWS]


def want(kind):
    every = samples(kind)
    return [shown(kind, every[i]) for i in ROWS]


@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_fixed_fields_are_stacked(make, format):
    ds = shardify.open(make("fixed", format))
    for batch in batches(ds):
        out = shardify.collate(to="numpy")(batch)
        assert same(out, {k: np.stack([w[k] for w in want("fixed")]) for k in ds.fields})


@pytest.mark.parametrize("format", ["mmap", "wds"])
@pytest.mark.parametrize("kind", ["text", "image"])
def test_texts_and_bytes_are_lists(make, kind, format):
    ds = shardify.open(make(kind, format))
    for batch in batches(ds):
        out = shardify.collate(to="numpy")(batch)
        for f in ds.schema:
            values = [w[f.name] for w in want(kind)]
            assert same(out[f.name], values if f.media else np.stack(values))


@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_jagged_as_values_and_offsets(make, format):
    ds, w = shardify.open(make("jagged", format)), want("jagged")
    for batch in batches(ds):
        out = shardify.collate(to="numpy")(batch)
        for name in ("Jet_pt", "Jet_p4", "hits"):
            assert same(out[name]["values"], np.concatenate([s[name] for s in w]))
            assert np.diff(out[name]["offsets"]).tolist() == [len(s[name]) for s in w]
        v = out["volume"]
        assert v["shapes"].tolist() == [list(s["volume"].shape) for s in w]
        assert same(v["values"], np.concatenate([s["volume"].ravel() for s in w]))


@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_jagged_padded(make, format):
    ds, w = shardify.open(make("jagged", format)), want("jagged")
    for batch in batches(ds):
        out = shardify.collate("pad", pad_value=77, to="numpy")(batch)
        for name in ("Jet_pt", "Jet_p4", "hits"):
            p, longest = out[name], max(len(s[name]) for s in w)
            assert p["values"].shape[:2] == (len(ROWS), longest) == p["mask"].shape
            assert p["lengths"].tolist() == p["mask"].sum(1).tolist() == [len(s[name]) for s in w]
            for k, s in enumerate(w):
                n = len(s[name])
                assert same(p["values"][k, :n], s[name]) and (p["values"][k, n:] == 77).all()
        v = out["volume"]
        assert v["values"].shape == (len(ROWS),) + tuple(v["shapes"].max(0))
        for k, s in enumerate(w):
            at = tuple(slice(d) for d in s["volume"].shape)
            assert same(v["values"][(k,) + at], s["volume"])
            assert (v["values"][k] == 77).sum() >= v["values"][k].size - s["volume"].size


def test_lists_of_lists(make):
    ds, w = shardify.open(make("mmap_only"), columns=["tracks"]), want("mmap_only")
    for batch in batches(ds):
        v = shardify.collate(to="numpy")(batch)["tracks"]
        flat = [a for s in w for a in s["tracks"]]
        assert np.diff(v["offsets"]).tolist() == [len(s["tracks"]) for s in w]
        assert np.diff(v["offsets1"]).tolist() == [len(a) for a in flat]
        assert same(v["values"], np.concatenate(flat))
        p = shardify.collate("pad", -1, to="numpy")(batch)["tracks"]
        for k, s in enumerate(w):
            assert p["lengths"][k] == len(s["tracks"])
            for m, a in enumerate(s["tracks"]):
                assert p["lengths1"][k, m] == len(a) == p["mask"][k, m].sum()
                assert same(p["values"][k, m, : len(a)], a)
        assert (p["values"][~p["mask"]] == -1).all()


def test_a_batch_of_one_keeps_its_form(make):
    """Whether a field is jagged follows from the schema, not by lengths that happen to differ."""
    ds = shardify.open(make("jagged"))
    for batch in (ds.__getitems__([3]), [ds[3]], [ds[3], ds[8]]):
        assert list(shardify.collate(to="numpy")(batch)["hits"]) == ["values", "offsets"]


def test_missing_values_need_a_fill(make):
    ds, w = shardify.open(make("mmap_only"), columns=["maybe", "maybes", "note"]), want("mmap_only")
    there = [s["maybe"] is not None for s in w]
    assert any(there) and not all(there)
    for batch in batches(ds):
        with pytest.raises(
            shardify.SchemaError, match=r"sample 4 of the batch has no maybe: use collate\(fill={'maybe'"
        ):
            shardify.collate(to="numpy")(batch)
        out = shardify.collate(to="numpy", fill={"maybe": -5, "maybes": 0})(batch)
        assert out["maybe"].tolist() == [-5 if s["maybe"] is None else s["maybe"] for s in w]
        assert out["maybe.valid"].tolist() == out["maybes.valid"].tolist() == there
        assert np.diff(out["maybes"]["offsets"]).tolist() == [0 if s["maybes"] is None else len(s["maybes"]) for s in w]
        assert out["note"] == [s["note"] for s in w]


def test_a_batch_without_any_value(make):
    ds = shardify.open(make("mmap_only"), columns=["maybe*"])
    for batch in (ds[[1, 4]], [ds[1], ds[4]]):
        out = shardify.collate(to="numpy", fill={"maybe": 3, "maybes": 0})(batch)
        assert out["maybe"].tolist() == [3, 3] and out["maybe"].dtype == np.float32
        assert out["maybes"]["offsets"].tolist() == [0, 0, 0]


def test_the_mask_is_there_whether_or_not_a_value_is_missing(make):
    ds = shardify.open(make("mmap_only"), columns=["maybe"])
    for batch in (ds[[0, 3]], [ds[0], ds[3]]):
        assert shardify.collate(to="numpy", fill={"maybe": 0})(batch)["maybe.valid"].tolist() == [True, True]


def test_what_transforms_return(make):
    folder = make("jagged")
    schema = shardify.open(folder).schema
    pair = shardify.open(folder, transform=lambda s: (s["run"], {"n": len(s["hits"])}, "name"))
    out = shardify.collate(to="numpy")(pair[ROWS])
    assert out[0].shape == (5,) and out[1]["n"].tolist() == [r % 5 for r in ROWS] and out[2] == ["name"] * 5
    plain = shardify.open(folder, transform=lambda s: {"hits": s["hits"]})
    with pytest.raises(shardify.SchemaError, match=r"hits has different shapes.*collate\(schema=ds.schema\)"):
        shardify.collate(to="numpy")(plain[ROWS])
    assert list(shardify.collate(to="numpy", schema=schema)(plain[ROWS])["hits"]) == ["values", "offsets"]
    kept = shardify.open(folder, transform=lambda s: s)
    assert list(shardify.collate(to="numpy")(kept[ROWS])["hits"]) == ["values", "offsets"]
    with pytest.raises(shardify.SchemaError, match="sample 1 of the batch has no key 'a', sample 0 has"):
        shardify.collate(to="numpy")([{"a": 1}, {"b": 1}])


def test_wrong_arguments_and_pickling():
    with pytest.raises(ValueError, match="values, pad, nested"):
        shardify.collate("list")
    with pytest.raises(ValueError, match="auto, torch or numpy"):
        shardify.collate(to="jax")
    c = shardify.collate("pad", 3, fill={"x": 1})
    assert pickle.loads(pickle.dumps(c)) == c
    with pytest.raises(shardify.UnsupportedError, match="needs torch"):
        shardify.collate("nested", to="numpy")([{"a": 1}])
