"""Damaged sets, wrong arguments, a library that cannot be used: a clear error, never wrong samples."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import fixture
import numpy as np
import pytest
from loading import PYTHON, SHARDS, N, needs_library, numbered, numbers, run

import shardify

pytestmark = needs_library


def files(folder):
    return sorted(
        os.path.join(folder, n) for n in os.listdir(folder) if n.startswith("shard-") and not n.endswith(".idx")
    )


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
        c = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([c[0] ^ 255]))


@pytest.mark.parametrize("tier", ["pinned", "stream"])
@pytest.mark.parametrize("kind,format", [("fixed", "mmap"), ("jagged", "mmap"), ("image", "wds")])
def test_damage_has_file_and_place(make, kind, format, tier):
    """A shard that was cut, a flipped byte of the header, of the data, a shard of another set."""
    clean = make(kind, format, n=N, shards=SHARDS)
    other = make(kind, format, n=N, shards=SHARDS, seed=7, name="other")

    def cut(f):
        os.truncate(f, os.path.getsize(f) - 600)

    for k, damage in enumerate(
        [cut, lambda f: flip(f, 20), lambda f: flip(f, -1600), lambda f: shutil.copy(files(other)[1], f)]
    ):
        folder = shutil.copytree(clean, clean + "-%s-%d" % (tier, k))
        damage(files(folder)[1])
        loader = shardify.Loader(
            folder, 8, framework="numpy", tier=tier, verify="open" if tier == "stream" else "whole"
        )
        with pytest.raises(shardify.CorruptError) as caught:
            numbers_of(loader)
        e = caught.value
        assert os.path.basename(files(folder)[1]) in str(e) and e.file.startswith(files(folder)[1]), str(e)
        assert e.sample is None or e.sample >= 0
        # The error stays until the damage is gone; then a new pass works.
        with pytest.raises(shardify.CorruptError):
            numbers_of(loader)
        shutil.copy(files(clean)[1], files(folder)[1])
        if tier == "pinned":
            assert numbers_of(loader) == 8
        loader.close()


@pytest.mark.parametrize(
    "wrong, says",
    [
        (dict(shuffle=True), "'global', which is DataLoader's"),
        (dict(shuffle=False), "want 'none'"),
        (dict(shuffle="globl"), "none, block, global"),
        (dict(batch_size="4"), "batch_size='4': want a whole number"),
        (dict(batch_size=4.5), "batch_size=4.5: want a whole number"),
        (dict(batch_size=None), "batch_size=None: want a whole number"),
        (dict(seed=-1), "seed=-1: want 0 or more"),
        (dict(seed=1 << 64), "less than 2\\^64"),
        (dict(workers="2"), "workers='2': want a whole number"),
        (dict(samples=1.5), "samples=1.5"),
        (dict(verify=False), "verify=False: want one of whole, open, none"),
        (dict(tier=None), "tier=None: want one of auto"),
        (dict(transform=5), "want a function of a batch"),
        (dict(data=None), "want a folder, a list of folders"),
    ],
)
def test_wrong_arguments_are_told_in_their_own_words(tmp_path, wrong, says):
    path = fixture.write(tmp_path / "s", [{"name": "x", "dtype": "i64"}], [{"x": i} for i in range(8)])
    with pytest.raises((ValueError, TypeError), match=says) as e:
        shardify.Loader(**{**dict(data=path, batch_size=4, framework="numpy"), **wrong})
    assert "json" not in str(e.value)


def test_words_of_numpy_are_whole_numbers(tmp_path):
    path = fixture.write(tmp_path / "s", [{"name": "x", "dtype": "i64"}], [{"x": i} for i in range(8)])
    with shardify.Loader(path, np.int32(4), seed=np.uint64((1 << 64) - 1), workers=np.int64(1), framework="numpy") as loader:
        assert numbers_of(loader) == 2


def test_a_split_that_the_set_does_not_have(tmp_path):
    path = fixture.write(tmp_path / "s", [{"name": "x", "dtype": "i64"}], [{"x": i} for i in range(8)])
    with pytest.raises(shardify.SchemaError, match="has no splits: leave out split='train'"):
        shardify.Loader(path, 4, split="train", framework="numpy")


def numbers_of(loader):
    return sum(1 for _ in loader)


def test_a_set_that_is_none(tmp_path):
    with pytest.raises(shardify.NotADatasetError, match="nowhere"):
        shardify.Loader(tmp_path / "nowhere", 4, framework="numpy")
    (tmp_path / "shardify.json").write_text("{}")
    with pytest.raises(shardify.ShardifyError, match="shardify.json"):
        shardify.Loader(tmp_path, 4, framework="numpy")
    with pytest.raises(ValueError, match="no data set"):
        shardify.Loader([], 4, framework="numpy")


def test_a_shape_that_does_not_fit_its_values_is_damage(tmp_path):
    schema = [
        {"name": "v", "dtype": "f32", "levels": 1, "ragged": True},
        {"name": "v.shape", "dtype": "i64", "shape": [2]},
    ]
    for shape in ((2, 4), (-2, -3), (2**32, 2**32)):
        rows = [{"v": np.arange(6.0), "v.shape": (2, 3)} for _ in range(8)]
        rows[5]["v.shape"] = shape
        path = fixture.write(tmp_path / str(shape[0]), schema, rows)
        for jagged in ("values", "pad"):
            for copy in (True, False):
                with shardify.Loader(path, 4, framework="numpy", jagged=jagged, copy=copy) as loader:
                    it = iter(loader)
                    next(it)
                    with pytest.raises(shardify.CorruptError, match="of 6 values") as caught:
                        next(it)
                    assert caught.value.sample == 5 and caught.value.field == "v"


def test_text_that_is_none(tmp_path):
    schema = [{"name": "t", "dtype": "u8", "levels": 1, "media": "txt"}]
    rows = [{"t": b"fine"} for _ in range(8)]
    rows[6]["t"] = b"\xff\xfe"
    path = fixture.write(tmp_path / "s", schema, rows)
    for copy in (True, False):
        with shardify.Loader(path, 4, framework="numpy", copy=copy) as loader:
            it = iter(loader)
            assert next(it)["t"] == ["fine"] * 4
            with pytest.raises(shardify.CorruptError, match="t sample 6: no UTF-8") as caught:
                next(it)
            assert caught.value.sample == 6


def test_states_of_others(tmp_path):
    a, b = numbered(tmp_path / "a", 40), numbered(tmp_path / "b", 40, shards=[20, 20])
    with shardify.Loader(a, 4, shuffle="global", framework="numpy", seed=1) as loader:
        good = loader.state_dict()
        for change, why in (
            ({"fingerprint": "0" * 32}, "fingerprint"),
            ({"order": "none samples=40"}, "order"),
            ({"seed": 2}, "seed"),
            ({"position": 41}, "position 41"),
            ({"position": -1}, "position -1"),
            ({"shardify_loader": 9}, "version 9"),
            ({"more": 1}, "more"),
        ):
            with pytest.raises(shardify.StateError, match=why):
                loader.load_state_dict({**good, **change})
        with pytest.raises(ValueError):
            loader.load_state_dict({"x": object()})
        assert numbers(loader) and loader.state_dict()["epoch"] == 1  # it still works
    with shardify.Loader(b, 4, shuffle="global", framework="numpy", seed=1) as loader:
        with pytest.raises(shardify.StateError, match="another data set"):
            loader.load_state_dict(good)


@pytest.mark.parametrize(
    "kw,why",
    [
        ({"shuffle": "always"}, "shuffle"),
        ({"last": "never"}, "last"),
        ({"jagged": "often"}, "jagged"),
        ({"framework": "mxnet"}, "framework"),
        ({"device": "tpu:0"}, "device"),
        ({"device": "cuda:0"}, "cuda:0"),
        ({"tier": "cloud"}, "tier"),
        ({"memory": "lots"}, "lots"),
        ({"rank": 4, "world_size": 4}, "rank 4"),
        ({"seed": -1}, "seed"),
        ({"weights": [1.0]}, "weight"),
        ({"balance": "nosuch"}, "nosuch"),
        ({"columns": ["y"]}, "y"),
        ({"resize": 4}, "decode"),
        ({"verify": "maybe"}, "verify"),
    ],
)
def test_arguments_that_are_wrong(tmp_path, kw, why):
    path = numbered(tmp_path / "s", 16)
    kw.setdefault("framework", "numpy")
    with pytest.raises((ValueError, shardify.ShardifyError), match=why):
        shardify.Loader(path, 4, **kw)
    with pytest.raises(ValueError, match="batch"):
        shardify.Loader(path, 0, framework="numpy")


LIBRARY = """
    import shardify
    ds = shardify.open(%r)
    assert len(ds) == 16 and int(ds[3]["x"]) == 3
    try:
        shardify.Loader(%r, 4, framework="numpy")
    except shardify.UnsupportedError as e:
        print(e)
"""


def test_without_the_library_reading_goes_on(tmp_path):
    """A wheel without it, a system it cannot be loaded on, another release of it."""
    path = numbered(tmp_path / "s", 16)
    text = LIBRARY % (path, path)
    missing = run(text, SHARDIFY_LIBRARY=str(tmp_path / "none.so"))
    assert "is not there" in missing and "shardify.open" in missing
    (tmp_path / "bad.so").write_bytes(b"no library")
    assert "cannot be used here" in run(text, SHARDIFY_LIBRARY=str(tmp_path / "bad.so"))
    patched = text.replace("import shardify\n", "import shardify\n    from shardify import clib; clib.ABI = 99\n", 1)
    assert ", this package wants 99" in run(patched)
    limit = "\n    import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
    limited = run(text.replace("import shardify\n", "import shardify" + limit, 1))
    assert "limited to 1024 MiB (ulimit -v)" in limited and "shardify.open" in limited


def test_an_error_is_one_of_python(tmp_path):
    """What the library says of itself arrives as JSON that ctypes frees: no text is lost."""
    path = numbered(tmp_path / "s", 16)
    with pytest.raises(shardify.SchemaError) as caught:
        shardify.Loader(path, 4, framework="numpy", columns=["ä\U0001f600"])
    assert "ä\U0001f600" in str(caught.value)
    assert json.dumps(str(caught.value)) and PYTHON


def test_python_versions_of_errors_keep_their_place():
    from shardify import clib

    e = clib.translate(
        {"kind": "corrupt", "message": "m", "file": "f", "object": "o", "field": "x", "sample": 3, "offset": -1}
    )
    assert isinstance(e, shardify.CorruptError) and (e.file, e.object, e.field, e.sample, e.offset) == (
        "f",
        "o",
        "x",
        3,
        None,
    )
    assert isinstance(
        clib.translate({"kind": "panic", "message": "m", "sample": -1, "offset": -1}), shardify.ShardifyError
    )


CUT = """
import faulthandler, os, sys
import shardify
folder, when = sys.argv[1:]
if when == "before":
    faulthandler.enable()
loader = shardify.Loader(folder, 16, framework="numpy", shuffle="global", tier="stream", verify="none", depth=1)
batches = iter(loader)
if when == "after":
    faulthandler.enable()
for _ in range(3):
    next(batches)
shards = sorted(os.path.join(folder, n) for n in os.listdir(folder) if n.startswith("shard-"))
print("mapped" if shards[0] in open("/proc/self/maps").read() else "read")
if when == "between":
    faulthandler.enable()
for s in shards:
    os.truncate(s, 5000)
try:
    for _ in batches:
        pass
except shardify.CorruptError as e:
    print("error", e.file)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="files are mapped on Linux alone")
@pytest.mark.parametrize("when", ["never", "before", "after", "between"])
def test_a_shard_that_is_cut_while_it_is_mapped(make, when):
    """The process lives on, also where faulthandler has taken the signal of a fault: files are read then."""
    folder = make("jagged", "mmap", n=1200, shards=[600, 600])
    done = subprocess.run(
        [sys.executable, "-c", CUT, str(folder), when],
        env={**os.environ, "PYTHONPATH": PYTHON},
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 2, done.stdout + done.stderr
    assert lines[1].startswith("error %s%sshard-" % (folder, os.sep)), lines
    if lines[0] == "mapped":
        assert when != "after"
    elif when != "after":
        pytest.skip("files are not mapped here")
