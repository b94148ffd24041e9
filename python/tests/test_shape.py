"""Fields that were packed, stacked or encoded."""

from __future__ import annotations

import pickle
from typing import Any, Dict, List

import fixture
import numpy as np
import pytest

import shardify

SCHEMA: fixture.Schema = [
    {"name": "features", "dtype": "f32", "shape": [3], "attrs": {"columns": "pt\neta\nphi"}},
    {"name": "jets", "dtype": "f64", "shape": [2], "levels": 1, "counter": "Jet", "attrs": {"columns": "Jet_pt\nJet_eta"}},
    {"name": "lone", "dtype": "f32", "shape": [2], "levels": 1, "attrs": {"columns": "a\nb"}},
    {"name": "kind", "dtype": "i64", "attrs": {"labels": "bg\nsig", "vocab": "text"}},
    {"name": "run", "dtype": "i64", "attrs": {"labels": "-3\n12\n207", "vocab": "int"}},
]


def samples(n: int) -> List[Dict[str, Any]]:
    r = np.random.default_rng(1)
    out = []
    for i in range(n):
        out.append(
            {
                "features": r.normal(size=3).astype("f4"),
                "jets": r.normal(size=(i % 4, 2)),
                "lone": r.normal(size=(i % 3, 2)).astype("f4"),
                "kind": i % 2,
                "run": i % 3,
            }
        )
    return out


@pytest.fixture(params=[1, 3])
def packed(request: Any, tmp_path: Any) -> Any:
    want = samples(17)
    shards = [17] if request.param == 1 else [6, 0, 11]
    return fixture.write(tmp_path / "set", SCHEMA, want, shards=shards), want


def test_parts_have_their_own_names(packed: Any) -> None:
    folder, want = packed
    ds = shardify.open(folder)
    assert ds.fields == ["features", "jets", "lone", "kind", "run"]
    for i, w in enumerate(want):
        s = ds[i]
        assert s["eta"] == w["features"][1]
        assert np.array_equal(s["Jet_eta"], w["jets"][:, 1])
    batch = ds[[3, 1, 16]]
    assert [s["phi"] for s in batch] == [want[i]["features"][2] for i in (3, 1, 16)]
    assert np.array_equal(batch[0]["b"], want[3]["lone"][:, 1])
    with pytest.raises(KeyError):
        ds[0]["nope"]
    assert "eta" not in ds[0] and "nope" not in ds[0]


def test_columns_of_parts(packed: Any) -> None:
    folder, want = packed
    ds = shardify.open(folder)
    eta = ds.column("eta")
    assert np.array_equal(np.asarray(eta), [w["features"][1] for w in want])
    assert eta[5] == want[5]["features"][1]
    pt = ds.column("Jet_pt")
    assert np.array_equal(np.asarray(pt.values), np.concatenate([w["jets"][:, 0] for w in want]))
    assert all(np.array_equal(pt[i], w["jets"][:, 0]) for i, w in enumerate(want))
    assert np.array_equal(ds.column("a")[2], want[2]["lone"][:, 0])
    assert ds.field("eta").shape == () and ds.field("Jet_pt").levels == 1


def test_parts_are_selected(packed: Any) -> None:
    folder, want = packed
    opened = shardify.open(folder, columns=["kind", "eta", "Jet_eta", "b"])
    assert opened.fields == ["kind", "eta", "Jet_eta", "b"]
    for ds in (opened, pickle.loads(pickle.dumps(opened))):
        rows = [4, 11, 0]
        for s, i in zip(list(ds[rows]) + [ds[i] for i in rows], rows * 2):
            assert s["eta"] == want[i]["features"][1]
            assert np.array_equal(s["Jet_eta"], want[i]["jets"][:, 1])
            assert np.array_equal(s["b"], want[i]["lone"][:, 1])
    with pytest.raises(shardify.SchemaError):
        shardify.open(folder, columns=["etaa"])


def test_collate_of_parts(packed: Any) -> None:
    folder, want = packed
    ds = shardify.open(folder, columns=["eta", "Jet_pt"])
    out = shardify.collate(jagged="pad", to="numpy")(ds[[1, 2, 3]])
    assert np.array_equal(out["eta"], [want[i]["features"][1] for i in (1, 2, 3)])
    assert out["Jet_pt"]["values"].shape == (3, 3)


def test_vocab(packed: Any) -> None:
    ds = shardify.open(packed[0])
    assert ds.vocab("kind") == ["bg", "sig"]
    assert ds.vocab("run") == [-3, 12, 207]
    assert ds.labels("run") == ["-3", "12", "207"]
    with pytest.raises(KeyError):
        ds.vocab("features")
