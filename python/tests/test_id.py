"""The id of a set: the digest of the text that docs/reference/format.md states."""

from __future__ import annotations

import json
import os
import shutil

import fixture
import pytest
from conftest import SCHEMAS, samples
from loading import needs_library

import shardify
from shardify import xxh3

ORIGINS = "files inputs recipe operations surveys dropped copied counts skipped left_out documents parts previous change splits xxh3".split()


def stated(folder, splits=()):
    """The id of a manifest of ours, by its lines, for xxhash if it is there."""
    with open(os.path.join(folder, "shardify.json"), encoding="utf-8") as f:
        lines = f.read().split("\n")[1:-2]
    values = {}
    for line in lines:
        if line.startswith('  "'):
            key, _, line = line.strip().partition(": ")
        values.setdefault(key.strip('"'), []).append(line)
    whole = "shardify id 1".ljust(255) + "\n"
    for key, value in values.items():
        if key not in ORIGINS:
            whole += "%s:%s\n" % (key, "\n".join(value).rstrip(","))
    whole += "".join("%s %s\n" % s for s in sorted(splits))
    try:
        import xxhash

        return "id1:" + xxhash.xxh3_128_hexdigest(whole.encode())
    except ImportError:
        return "id1:" + xxh3.hexdigest(whole.encode())


def made(folder, name="fixed", format="mmap", n=23):
    return fixture.write(folder, SCHEMAS[name], samples(name, n), format, [n])


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_is_what_the_docs_state(tmp_path, name):
    folder = made(tmp_path / "set", name)
    ds = shardify.open(folder)
    assert ds.ids == [stated(folder)]
    assert shardify.open(folder, id=ds.ids).ids == shardify.open([folder], id=ds.ids[0]).ids


def test_another_set_is_refused(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", n=22)
    ids = [shardify.open(f).ids[0] for f in (a, b)]
    assert ids[0] != ids[1]
    assert len(shardify.open([a, b], id=ids)) == 45
    with pytest.raises(shardify.SchemaError, match="this is not the set %s: its id is %s" % (ids[1], ids[0])):
        shardify.open(a, id=ids[1])
    with pytest.raises(ValueError, match="2 data sets"):
        shardify.open([a, b], id=ids[0])
    for wrong in ("", "id1:xyz", "id2:" + "0" * 32, 3):
        with pytest.raises((ValueError, TypeError)):
            shardify.open(a, id=wrong)


def split_set(tmp_path):
    root = tmp_path / "set"
    splits = {}
    for name, n in (("train", 20), ("val", 3)):
        folder = made(root / name, n=n)
        with open(os.path.join(folder, "shardify.json"), encoding="utf-8") as f:
            splits[name] = {"samples": n, "shards": 1, "xxh3": json.load(f)["xxh3"]}
    fixture.write_manifest(str(root), {"shardify": 1, "format": "mmap", "samples": 23, "bytes": 0, "schema": [], "shards": [], "files": [], "inputs": {}, "recipe": {}, "splits": splits})
    return str(root)


def test_that_of_a_set_fits_its_splits(tmp_path):
    root = split_set(tmp_path)
    ids = {n: stated(os.path.join(root, n)) for n in ("train", "val")}
    whole = stated(root, ids.items())
    for split in ids:
        for folder, part in ((root, split), (os.path.join(root, split), None)):
            assert shardify.open(folder, split=part, id=whole).ids == shardify.open(folder, split=part, id=ids[split]).ids == [ids[split]]
    with pytest.raises(shardify.SchemaError, match="not the set"):
        shardify.open(root, split="val", id=ids["train"])
    shutil.rmtree(os.path.join(root, "val"))
    made(os.path.join(root, "val"), n=2)  # of another set
    with pytest.raises(shardify.CorruptError, match="xxh3"):
        shardify.open(root, split="train", id=whole)


def test_a_split_is_the_one_of_the_set(tmp_path, monkeypatch):
    root = split_set(tmp_path)
    train = os.path.join(root, "train")
    old = shardify.open(train).ids
    with open(os.path.join(train, "shardify.json"), encoding="utf-8") as f:
        m = json.load(f)
    kept = os.path.join(root, ".shardify", "manifests")
    os.makedirs(kept)
    shutil.copy(os.path.join(train, "shardify.json"), os.path.join(kept, "000001-train.json"))
    made(train, n=19)
    with open(os.path.join(train, "shardify.json"), encoding="utf-8") as f:
        new = json.load(f)
    del new["xxh3"]  # it is the last key
    new["shards"][0]["name"] = "shard-000000-new.safetensors"
    os.rename(os.path.join(train, m["shards"][0]["name"]), os.path.join(train, new["shards"][0]["name"]))
    made(tmp_path / "again", n=20)
    shutil.copy(tmp_path / "again" / m["shards"][0]["name"], train)
    fixture.write_manifest(train, {**new, "previous": m["xxh3"]})  # and then a kill
    monkeypatch.chdir(train)
    for folder in (train, train + "/", "."):
        assert len(shardify.open(folder)) == 20 and shardify.open(folder).ids == old
    assert len(shardify.open(root, split="train", id=old)) == 20
    os.rename(os.path.join(kept, "000001-train.json"), os.path.join(kept, "split-%s.json" % m["xxh3"]))
    assert shardify.open(train).ids == shardify.open(root, split="train").ids == old
    os.remove(os.path.join(kept, "split-%s.json" % m["xxh3"]))
    for more in ((train, {}), (root, {"split": "train"})):
        with pytest.raises(shardify.CorruptError, match="neither here nor kept"):
            shardify.open(more[0], **more[1])
    for change in ({"version": "2"}, {"version": 1}, {"version": 1 << 70}):
        fixture.write_manifest(train, {**new, "previous": m["xxh3"], "change": change})
        with pytest.raises(shardify.CorruptError):
            shardify.open(train)


@needs_library
def test_loaders_pin_it(tmp_path):
    root = split_set(tmp_path)
    ids = [stated(os.path.join(root, n)) for n in ("train", "val")]
    whole = stated(root, zip(("train", "val"), ids))
    for given in (ids[0], whole):
        with shardify.Loader(root, 4, split="train", id=given, framework="numpy") as loader:
            assert sum(len(b.ids) for b in loader) == 20
    folders = [os.path.join(root, n) for n in ("train", "val")]
    with shardify.Loader(folders, 4, id=ids, framework="numpy") as loader:
        assert sum(len(b.ids) for b in loader) == 23
    with pytest.raises(shardify.SchemaError, match="this is not the set"):
        shardify.Loader(folders, 4, id=ids[::-1], framework="numpy")
    with pytest.raises(ValueError, match="id"):
        shardify.Loader(root, 4, split="train", id="id1:", framework="numpy")


@needs_library
def test_sets_without_a_manifest_have_none(tmp_path):
    folder = made(tmp_path / "set", "text", "wds")
    for name in os.listdir(folder):
        if name.endswith(".tar"):
            os.rename(os.path.join(folder, name), os.path.join(folder, "photos.tar"))
        else:
            os.remove(os.path.join(folder, name))
    with pytest.raises(shardify.UnsupportedError, match="no id"):
        shardify.open(folder, id="id1:" + "0" * 32)


def test_above_a_bucket_is_nothing(monkeypatch):
    from shardify import manifest

    read = []

    def text(folder, name):
        read.append(folder)
        if folder in ("s3://bucket/set", "s3://bucket"):
            return b'  "previous": "'
        raise FileNotFoundError(folder)

    monkeypatch.setattr(manifest, "_text", text)
    manifest.text("s3://bucket")
    assert read == ["s3://bucket"]
