"""Sets that others wrote, without conversion: MDS folders and tars of WebDataset."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
import warnings

import numpy as np
import pytest
from loading import needs_library

import shardify
from shardify import clib

pytestmark = pytest.mark.skipif(not clib.available(), reason="the library behind shardify.Loader is not built")
PROGRAM = os.environ.get("SHARDIFY", "")
MDS = os.path.join(os.path.dirname(__file__), "..", "..", "readers", "mds", "testdata")


def encoded(v):
    """A value as values.json has it."""
    if isinstance(v, list):
        return [encoded(x) for x in v]
    if isinstance(v, str):
        return v.encode().hex()
    if isinstance(v, bytes):
        return v.hex()
    a = np.asarray(v)
    return {"shape": list(a.shape), "data": a.tobytes().hex()} if a.ndim else a.tobytes().hex()


@pytest.mark.parametrize("name", ["plain", "packed"])
def test_mds(name):
    if name == "packed":
        pytest.importorskip("zstandard")
    with open(os.path.join(MDS, "values.json")) as f:
        want = json.load(f)
    with pytest.warns(UserWarning, match="the column pk is left out: a pickle is a program"):
        ds = shardify.open(os.path.join(MDS, name))
    assert sorted(ds.fields) == sorted(want) and len(ds) == len(want["i"])
    for i in range(len(ds)):
        sample = ds[i]
        for field, values in want.items():
            assert encoded(sample[field]) == values[i], (i, field)


def test_mds_in_the_loader():
    with open(os.path.join(MDS, "values.json")) as f:
        want = json.load(f)
    seen = []
    with shardify.Loader(os.path.join(MDS, "plain"), 5, shuffle="global", seed=3, last="short", device="cpu", columns=["i", "nf"]) as loader:
        assert any("pk is left out" in n for n in loader.notes())
        for batch in loader:
            for i, v in zip(np.asarray(batch.ids).tolist(), np.asarray(batch["nf"])):
                assert encoded(v) == want["nf"][i]
                seen.append(i)
    assert sorted(seen) == list(range(len(want["i"])))


def write_tar(path, samples):
    with tarfile.open(path, "w") as tar:
        for name, data in samples:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def array(a):
    b = io.BytesIO()
    np.save(b, a)
    return b.getvalue()


@pytest.fixture
def tars(tmp_path):
    folder = tmp_path / "tars"
    folder.mkdir()
    for k in range(3):
        members = []
        for i in range(10):
            key = "d/%d-%03d%s" % (k, i, "x" * 120 if i == 4 else "")
            members.append((key + ".JPG", b"image %d" % i))
            if i % 2:
                members.append((key + ".cls", b"%d\n" % i))
            members += [(key + ".txt", "t\u00e9xt".encode()), (key + ".v.npy", array(np.arange(i, dtype=np.float32)))]
        write_tar(folder / ("%02d.tar" % k), members)
    return folder


def test_tars(tars):
    for path, n in ((tars, 30), (tars / "01.tar", 10), (str(tars / "0[12].tar"), 20)):
        ds = shardify.open(path)
        assert len(ds) == n and ds.fields == ["cls", "jpg", "txt", "v"]
    ds = shardify.open(tars)
    for i in range(30):
        s, j = ds[i], i % 10
        assert s["__key__"].startswith("d/%d-%03d" % (i // 10, j)) and s["jpg"] == b"image %d" % j and s["txt"] == "t\u00e9xt"
        assert s["cls"] is None if j % 2 == 0 else s["cls"] == j
        assert s["v"].dtype == np.float32 and s["v"].tolist() == list(range(j))
    with shardify.Loader(str(tars), 4, shuffle="global", last="short", device="cpu", columns=["cls", "v"]) as loader:
        rows = sorted(i for batch in loader for i in np.asarray(batch.ids).tolist())
    assert rows == list(range(30))


def test_what_is_refused(tars, tmp_path):
    (tmp_path / "gz").mkdir()
    (tmp_path / "gz" / "a.tar.gz").write_bytes(b"x")
    with pytest.raises(shardify.UnsupportedError, match="shardify convert .*gz -o FOLDER"):
        shardify.open(tmp_path / "gz")
    for split in ("train", "val"):
        shutil.copytree(tars, tmp_path / "both" / split)
    with pytest.raises(shardify.ShardifyError, match="train, val"):
        shardify.open(tmp_path / "both")
    assert len(shardify.open(tmp_path / "both", split="val")) == 30
    whole = (tars / "00.tar").read_bytes()
    (tars / "00.tar").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(shardify.CorruptError, match="00.tar"):
        shardify.open(tars)


@needs_library
@pytest.mark.parametrize("nullable", [False, True])
def test_images_of_tars_are_decoded(tmp_path, nullable):
    """Of tars of others, as of ours: one size and a crop, each image that of its sample, with masks of their own."""
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    folder, want = tmp_path / "tars", []
    folder.mkdir()
    for k in range(2):
        members = []
        for i in range(6):
            pixels, out = np.full((20, 24, 3), 16 * (6 * k + i), np.uint8), io.BytesIO()
            Image.fromarray(pixels).save(out, "jpeg", quality=95)
            if not (nullable and i == 2):
                members.append(("%d-%d.jpg" % (k, i), out.getvalue()))
            members.append(("%d-%d.cls" % (k, i), b"%d" % i))
            want.append(np.asarray(Image.open(io.BytesIO(out.getvalue()))).transpose(2, 0, 1))
        write_tar(folder / ("%d.tar" % k), members)
    given = dict(shuffle="global", last="short", device="cpu", framework="numpy", decode=True)
    if nullable:
        with pytest.raises(shardify.ShardifyError, match="jpg"):
            [b for b in shardify.Loader(str(folder), 5, **given)]
        return
    seen = 0
    for way in ({}, {"crop": 16}):
        for batch in shardify.Loader(str(folder), 5, **given, **way):
            for i, image in zip(batch.ids, batch["jpg"]):
                assert np.array_equal(image, want[i] if not way else want[i][:, 2:18, 4:20])
                seen += 1
    assert seen == 24


@pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="the converter is not built: SHARDIFY=bin/shardify names it")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_tars_with_an_index(tars, tmp_path, elsewhere):
    """What shardify index keeps is used beside the tars and from a folder of its own; what changed since is named."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        want = shardify.open(tars)
        values = [want[i]["jpg"] for i in range(30)]
        subprocess.run([PROGRAM, "index", str(tars)] + (["-o", str(tmp_path / "elsewhere")] if elsewhere else []), check=True)
        folder = tmp_path / "elsewhere" if elsewhere else tars
        ds = shardify.open(folder)
        assert [ds[i]["jpg"] for i in range(30)] == values and ds.fields == want.fields
        with shardify.Loader(str(folder), 4, last="short", device="cpu", columns=["v"]) as loader:
            assert sum(len(batch.ids) for batch in loader) == 30
    write_tar(tars / "01.tar", [("x/%d.jpg" % i, b"new %d" % i) for i in range(5)])
    with pytest.warns(UserWarning, match="1 of them were read again"):
        ds = shardify.open(folder)
    assert len(ds) == 25 and [ds[i]["jpg"] for i in range(10, 15)] == [b"new %d" % i for i in range(5)]
    (folder / "shardify.tars").write_bytes(b"shtars1\n")
    with pytest.raises(shardify.CorruptError, match="shardify.tars"):
        shardify.open(folder)
