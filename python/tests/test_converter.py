"""What the converter writes: read here, and compared with this folder's own writer."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest
from conftest import BOTH, SCHEMAS, N, same, samples, shown

import shardify

BIN = os.environ.get("SHARDIFY", "")
pytestmark = pytest.mark.skipif(
    not os.access(BIN, os.X_OK), reason="the converter is not built: SHARDIFY=bin/shardify names it"
)


def convert(*args):
    p = subprocess.run([BIN, "convert", *map(str, args), "--quiet"], capture_output=True, text=True, timeout=120)
    assert p.returncode == 0, p.stderr


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as f:
        return f.read()


def shards_of(folder):
    return sorted(n for n in os.listdir(folder) if n.startswith("shard-"))


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("kind", list(SCHEMAS))
def test_mmap_shards_are_byte_for_byte_the_fixtures(make, tmp_path, kind, keyed):
    src = make(kind, keyed=keyed, shards=[9, 9, N - 18])
    convert(src, "-o", tmp_path / "out", "--format", "mmap", "--shard-samples", 9)
    assert shards_of(tmp_path / "out") == shards_of(src)
    for name in shards_of(src):
        assert read(src, name) == read(tmp_path / "out", name), name
    assert same([dict(s) for s in shardify.open(tmp_path / "out")], [dict(s) for s in shardify.open(src)])


@pytest.mark.parametrize("kind", BOTH)
def test_wds_shards_are_byte_for_byte_the_fixtures(make, tmp_path, kind):
    """Keyed, since the keys of rows name the input that they came from."""
    src = make(kind, "wds", keyed=True, shards=[9, 9, N - 18])
    convert(src, "-o", tmp_path / "out", "--format", "wds", "--shard-samples", 9)
    assert shards_of(tmp_path / "out") == shards_of(src)
    for name in shards_of(src):
        assert read(src, name) == read(tmp_path / "out", name), name
    assert shardify.open(tmp_path / "out").manifest["members"] == shardify.open(src).manifest["members"]


@pytest.mark.parametrize("kind", BOTH)
def test_there_and_back(make, tmp_path, kind):
    convert(make(kind), "-o", tmp_path / "tar", "--format", "wds")
    convert(tmp_path / "tar", "-o", tmp_path / "back", "--format", "mmap")
    for format in ("tar", "back"):
        ds = shardify.open(tmp_path / format)
        assert same([dict(s) for s in ds], [shown(kind, s) for s in samples(kind)]), format


@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_a_folder_of_images(tmp_path, format):
    r, want = np.random.default_rng(0), {}
    for i in range(30):
        name = "%s/%04d" % (("cat", "dog")[i % 2], i)
        path = tmp_path / "src" / (name + (".jpg" if i % 3 == 0 else ".png"))
        path.parent.mkdir(parents=True, exist_ok=True)
        want[name] = r.integers(0, 256, 100 + i, "u1").tobytes()
        path.write_bytes(want[name])
    convert(tmp_path / "src", "-o", tmp_path / "out", "--format", format, "--shard-samples", 11)
    ds = shardify.open(tmp_path / "out")
    assert {s["__key__"]: s["image"] for s in ds} == want and len(ds) == 30
    assert ds.labels("cls") == ["cat", "dog"]
    assert all(ds.labels("cls")[s["cls"]] == s["__key__"].split("/")[0] for s in ds[list(range(30))])


@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_folders_of_arrays(tmp_path, format):
    want = {"%s/%04d" % (("cat", "dog")[i % 2], i): np.full((2, 3, 4), i, "f4") for i in range(30)}
    for name, x in want.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, x)
    convert(tmp_path / "src", "-o", tmp_path / "out", "--sample", "file", "--format", format, "--shard-samples", 11)
    ds = shardify.open(tmp_path / "out")
    assert {s["__key__"]: s["data"].tolist() for s in ds} == {k: v.tolist() for k, v in want.items()}
    assert ds.labels("cls") == ["cat", "dog"]
    assert all(ds.labels("cls")[s["cls"]] == s["__key__"].split("/")[0] for s in ds)


@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_arrays(tmp_path, format):
    r = np.random.default_rng(0)
    x, y = r.normal(size=(50, 3, 4)).astype("f4"), r.integers(0, 9, 50)
    np.savez(tmp_path / "a.npz", x=x[:20], y=y[:20])
    np.savez_compressed(tmp_path / "b.npz", x=x[20:], y=y[20:])
    convert(tmp_path / "a.npz", tmp_path / "b.npz", "-o", tmp_path / "out", "--format", format)
    ds = shardify.open(tmp_path / "out")
    batch = shardify.collate(to="numpy")(ds[list(range(50))])
    assert same(batch["x"], x) and same(batch["y"], y)


WIDENED = "f4 f8,>f4 f8,f2 >f4,i4 i8,u1 i2,i1 >u4,u4 u8,i2 f4,i4 f4,c8 >c16,U5 >U9"


@pytest.mark.parametrize("sample", ["row", "file"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_types_that_differ_become_what_numpy_makes_of_them(tmp_path, save, sample):
    """Every field has another type, byte order and axis order in every other file."""
    r, files, want = np.random.default_rng(1), [], {}
    for i in range(3):
        part = {}
        for k, types in enumerate(WIDENED.split(",")):
            d = np.dtype(types.split()[i % 2])
            values = r.integers(0, 100, (7 if sample == "row" else 4 + i, 3)) - (50 if d.kind in "if" else 0)
            part["x%d" % k] = values.astype(d, order="CF"[i % 2])
            want["x%d" % k] = [*want.get("x%d" % k, []), part["x%d" % k]]
        files.append(tmp_path / ("%d.npz" % i))
        save(files[i], **part)
    convert(*files, "-o", tmp_path / "out", "--sample", sample)
    ds = shardify.open(tmp_path / "out")
    assert len(ds) == (21 if sample == "row" else 3)
    for name, arrays in want.items():
        all = np.concatenate(arrays)
        all = all.astype(all.dtype.newbyteorder("="))
        if all.dtype.kind == "U":
            assert [w for s in ds for w in s[name]] == all.ravel().tolist()
            continue
        got = np.stack([s[name] for s in ds]) if sample == "row" else np.concatenate([s[name] for s in ds])
        if all.dtype.kind == "c":
            got = got.view(all.dtype)[..., 0]
        assert got.dtype == all.dtype and np.array_equal(got, all), name
    verify = [BIN, "verify", tmp_path / "out", "--against", *files]
    assert subprocess.run(verify, timeout=120).returncode == 0
