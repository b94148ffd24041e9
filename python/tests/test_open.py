from __future__ import annotations

import json
import os
import subprocess
import sys

import fixture
import pytest
from conftest import SCHEMAS, N, same, samples, shown

import shardify


def test_no_folder_no_manifest_not_finished(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        shardify.open(tmp_path / "nope")
    with pytest.raises(FileNotFoundError, match="not a shardify data set.*shardify convert INPUT -o DIR"):
        shardify.open(tmp_path)
    (tmp_path / ".shardify").mkdir()
    with pytest.raises(FileNotFoundError, match="not finished: run the same `shardify convert` again.*shardify merge"):
        shardify.open(tmp_path)


def test_a_split_of_a_set_that_is_not_finished(tmp_path):
    (tmp_path / "set" / ".shardify").mkdir(parents=True)
    (tmp_path / "set" / "train").mkdir()
    with pytest.raises(shardify.NotADatasetError, match="train: the conversion is not finished.*merge .*set` when"):
        shardify.open(tmp_path / "set" / "train")


def test_a_file_in_place_of_a_folder(tmp_path, make):
    (tmp_path / "a.npz").write_bytes(b"PK")
    with pytest.raises(shardify.NotADatasetError, match="a.npz: a file; `shardify convert"):
        shardify.open(tmp_path / "a.npz")
    folder = make("fixed")
    shard = next(f for f in os.listdir(folder) if f.endswith(".safetensors"))
    with pytest.raises(shardify.NotADatasetError, match="open its folder"):
        shardify.open(os.path.join(folder, shard))
    for path in (None, 5):
        with pytest.raises(TypeError, match="want a folder or a list of folders"):
            shardify.open(path)


def test_what_is_no_number_of_a_sample_is_told_so(make):
    ds = shardify.open(make("fixed"))
    for key in ("x", 1.0, None):
        with pytest.raises(TypeError, match="want the number of a sample"):
            ds[key]
    assert repr(ds[[0, 1]]).startswith("shardify.Batch(2 samples of ")


def test_the_manifest_itself_may_be_named(make):
    folder = make("fixed")
    assert len(shardify.open(folder + "/shardify.json")) == N


def split_set(tmp_path):
    root = str(tmp_path / "root")
    splits = {}
    for name, n in (("train", 9), ("val", 4)):
        fixture.write(os.path.join(root, name), SCHEMAS["fixed"], samples("fixed", n), "mmap")
        with open(os.path.join(root, name, "shardify.json")) as f:
            splits[name] = {"samples": n, "shards": 1, "xxh3": json.load(f)["xxh3"]}
    m = {"shardify": 1, "format": "mmap", "samples": 13, "bytes": 0, "schema": SCHEMAS["fixed"], "shards": []}
    fixture.write_manifest(root, {**m, "files": [], "inputs": {}, "recipe": {}, "splits": splits})
    return root


def test_splits(tmp_path):
    root = split_set(tmp_path)
    with pytest.raises(shardify.SchemaError, match="has the splits train \\(9 samples\\), val \\(4 samples\\): name one.*split='train'"):
        shardify.open(root)
    with pytest.raises(shardify.SchemaError, match="has the splits train .*, val .* and no split 'test': name one"):
        shardify.open(root, split="test")
    assert len(shardify.open(root, split="val")) == 4 and len(shardify.open(root + "/train")) == 9
    with pytest.raises(shardify.SchemaError, match="has no splits"):
        shardify.open(root + "/train", split="train")


def test_a_split_that_was_exchanged_is_noticed(tmp_path):
    root = split_set(tmp_path)
    fixture.write(os.path.join(root, "val"), SCHEMAS["fixed"], samples("fixed", 4, seed=1), "mmap", shards=[2, 2])
    with pytest.raises(shardify.CorruptError, match="val/shardify.json"):
        shardify.open(root, split="val")


@pytest.mark.parametrize("formats", [("mmap", "mmap"), ("mmap", "wds")])
def test_several_sets_are_one(make, formats):
    a, b = make("jagged", formats[0], "a"), make("jagged", formats[1], "b", n=6, seed=5)
    ds = shardify.open([a, b])
    want = [shown("jagged", s) for s in samples("jagged") + samples("jagged", 6, 5)]
    assert len(ds) == N + 6
    assert same([dict(s) for s in ds], want)
    assert same([dict(s) for s in ds[[2, N + 3, 0]]], [want[2], want[N + 3], want[0]])
    assert [m["samples"] for m in ds.manifests] == [N, 6]
    with pytest.raises(ValueError, match="use .manifests"):
        assert ds.manifest


def test_counters_may_differ_between_sets(tmp_path, make):
    """Offsets are looked up by each set's own counter, not by that of the first."""
    other = [dict(f, counter="J") if f.get("counter") else f for f in SCHEMAS["jagged"]]
    b = fixture.write(tmp_path / "b", other, samples("jagged", 6, 5))
    ds = shardify.open([make("jagged", name="a"), b])
    c = ds.column("Jet_pt")
    assert all(same(c[i], ds[i]["Jet_pt"]) for i in range(len(ds)))


def test_sets_that_do_not_fit_name_every_difference(tmp_path):
    a = [
        {"name": "x", "dtype": "f32", "shape": [2]},
        {"name": "cls", "dtype": "i64", "attrs": {"labels": "cat\ndog"}},
        {"name": "y", "dtype": "f32"},
    ]
    b = [
        {"name": "x", "dtype": "f64", "shape": [3]},
        {"name": "cls", "dtype": "i64", "attrs": {"labels": "dog\ncat"}},
        {"name": "z", "dtype": "f32"},
    ]
    folders = []
    for name, schema in (("a", a), ("b", b)):
        s = {f["name"]: 0 for f in schema}
        s["x"] = [0] * schema[0]["shape"][0]
        folders.append(fixture.write(tmp_path / name, schema, [s]))
    with pytest.raises(shardify.SchemaError) as e:
        shardify.open(folders)
    text = str(e.value).replace(str(tmp_path) + "/", "")
    assert text.split("\n  ")[1:] == [
        "x: f32 2 in a, f64 3 in b",
        "cls: i64 in a, i64 in b; labels 2 (cat, dog) against 2 (dog, cat)",
        "y: in a, not in b",
        "z: in b, not in a",
    ]


def test_importing_does_not_import_torch():
    code = "import sys, shardify; sys.exit('torch' in sys.modules)"
    path = os.path.dirname(os.path.dirname(shardify.__file__))
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}).returncode == 0
