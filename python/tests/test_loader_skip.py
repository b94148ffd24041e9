"""on_error="skip": batches without damaged images, which are counted and named."""

from __future__ import annotations

import gc
import os
import warnings

import fixture
import numpy as np
import pytest
from loading import FRAMEWORKS, as_numpy, needs_library

import shardify

pytest.importorskip("PIL.Image", reason="Pillow is not installed")
from test_decode import HOSTILE, coded, painted, picture  # noqa: E402

pytestmark = needs_library
SCHEMA = [
    {"name": "jpg", "dtype": "u8", "levels": 1, "media": "jpg"},
    {"name": "x", "dtype": "u16"},
    {"name": "note", "dtype": "u8", "levels": 1, "media": "txt"},
    {"name": "pt", "dtype": "f32", "levels": 1},
    {"name": "hits", "dtype": "i32", "levels": 2},
]
N = 12
BAD = {3: "cut jpeg", 4: "no image", 9: "big jpeg"}


def images(path, n=N, bad=BAD, media="jpg"):
    """Sample k has x = k, a text, k % 4 numbers and k % 3 lists; some images are damaged."""
    schema = [{**f, "media": media} if f["name"] == "jpg" else f for f in SCHEMA]
    samples = [
        {
            "__key__": "k%02d" % k,
            "jpg": HOSTILE[bad[k]][0] if k in bad else coded(picture(k), "jpeg"),
            "x": np.array(k, "u2"),
            "note": "note %d" % k,
            "pt": np.arange(k % 4, dtype="f4") + k,
            "hits": [np.arange(j + 1, dtype="i4") + k for j in range(k % 3)],
        }
        for k in range(n)
    ]
    return str(fixture.write(str(path), schema, samples, "mmap", [n // 2, n - n // 2], True))


def epoch(loader):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(b, {k: as_numpy(v) for k, v in b.items()}) for b in loader]


def check(batch, columns, pad=False):
    ids = batch.ids[: batch.rows].tolist()
    assert not set(ids) & set(BAD) and columns["x"][: batch.rows].tolist() == ids
    assert columns["note"][: batch.rows] == ["note %d" % k for k in ids]
    pt, hits = columns["pt"], columns["hits"]
    for row, k in enumerate(ids):
        assert pt["values"][pt["offsets"][row] : pt["offsets"][row + 1]].tolist() == [k + i for i in range(k % 4)]
        lists = hits["offsets1"][hits["offsets"][row] : hits["offsets"][row + 1] + 1].tolist()
        assert [hits["values"][a:b].tolist() for a, b in zip(lists, lists[1:])] == [[k + i for i in range(j + 1)] for j in range(k % 3)]
    assert len(columns["x"]) == len(columns["jpg"]) == len(columns["note"]) == len(pt["offsets"]) - 1 == batch.size
    if pad:
        assert batch.ids[batch.rows :].tolist() == [-1] * (batch.size - batch.rows) and not columns["jpg"][batch.rows :].any()
    return ids


@pytest.mark.parametrize("decode", ["pillow", "native"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("options", [{}, {"copy": False, "transform_threads": 0}, {"shuffle": "global", "last": "short"}, {"last": "pad"}], ids=str)
def test_damaged_images_are_left_out_counted_and_named(tmp_path, framework, options, decode):
    path, pad = images(tmp_path / "s"), options.get("last") == "pad"
    with shardify.Loader(path, 5, framework=framework, decode=decode, resize=8, keys=True, on_error="skip", **options) as loader:
        got = epoch(loader)
        ids = [k for b, columns in got for k in check(b, columns, pad)]
        assert sorted(ids) == [k for k in range(N) if k not in BAD] and len(got) == len(loader) == 3
        assert pad == all(b.size == 5 for b, _ in got)
        assert loader.skipped.count == 3
        named = {s.sample: s for s in loader.skipped.samples}
        assert {k: s.key for k, s in named.items()} == {k: "k%02d" % k for k in BAD}
        assert all(os.path.basename(s.shard) == "shard-%06d.safetensors" % (k >= N // 2) for k, s in named.items())
        assert "no image" in named[4].reason and "65535 x 65535" in named[9].reason and "corrupt" in named[3].reason
        notes = [n for n in loader.notes() if "left out" in n and "loader.skipped" in n]
        assert len(notes) == 1 and "shard-00000" in notes[0]
        epoch(loader)  # each time counts, each sample is named once
        assert loader.skipped.count == 6 and len(loader.skipped.samples) == 3


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


def test_damaged_images_do_not_keep_their_batch(tmp_path, no_collector):
    path = images(tmp_path / "s")
    with shardify.Loader(
        path, 5, framework="numpy", decode="pillow", resize=8, on_error="skip", copy=False, transform_threads=0
    ) as loader:
        kept = epoch(loader)
        for _ in range(5):  # each has more damaged images than the loader has batches
            assert len(epoch(loader)) == len(kept) == 3


def test_a_batch_in_a_cycle_is_collected(tmp_path, no_collector):
    path = images(tmp_path / "s", n=30, bad={16: "cut jpeg"})
    with shardify.Loader(path, 4, framework="numpy", decode="pillow", resize=8, copy=False, transform_threads=0) as loader:
        batches = iter(loader)
        kept = [next(batches) for _ in range(4)]
        with pytest.raises(shardify.CorruptError) as caught:
            next(batches)  # the loader's last room, which the error keeps
        caught.value.again = caught
        del caught
        assert next(batches)["x"].tolist() == [20, 21, 22, 23]
        assert [b["x"][0] for b in kept] == [0, 4, 8, 12]


def test_it_is_said_once(tmp_path):
    path = images(tmp_path / "s")
    with shardify.Loader(path, 5, framework="numpy", decode="pillow", resize=8, on_error="skip", transform_threads=0) as loader:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                list(loader)
    assert [str(w.message) for w in said if "left out" in str(w.message)] == [str(said[0].message)] and "sample 3" in str(said[0].message)


@pytest.mark.parametrize("jagged", ["pad", "nested"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_padded_lists_lose_the_same_rows(tmp_path, framework, jagged):
    if jagged == "nested" and framework != "torch":
        pytest.skip("nested tensors are torch's")
    path = images(tmp_path / "s")
    for last in "short", "pad":
        with shardify.Loader(
            path, 5, framework=framework, decode="pillow", resize=8, on_error="skip", jagged=jagged, last=last, columns=["jpg", "pt", "x"]
        ) as loader:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for b in loader:
                    pt = b["pt"]
                    rows = list(pt.unbind()) if jagged == "nested" else [v[m] for v, m in zip(pt["values"], pt["mask"])]
                    want = [[k + i for i in range(k % 4)] if k >= 0 else [] for k in b.ids.tolist()]
                    assert [r.tolist() for r in rows] == want


def test_batches_of_damaged_images_alone(tmp_path):
    """Steps stay as many on every rank; a batch may have no rows."""
    path = images(tmp_path / "s", 8, dict.fromkeys(range(4), "text"))
    for options in {}, {"resize": 8}:
        with shardify.Loader(path, 4, framework="numpy", decode="pillow", on_error="skip", last="drop", **options) as loader:
            sizes = [(b.rows, len(b["jpg"]), len(b["note"])) for b, _ in epoch(loader)]
            assert sizes == [(0, 0, 0), (4, 4, 4)] and len(loader) == 2


def test_what_is_no_damage_stays_an_error(tmp_path):
    for kind in "16 bits", "another size":
        path = images(tmp_path / kind.replace(" ", "-"), 4, {1: kind}, "image")
        with shardify.Loader(path, 4, framework="numpy", decode="pillow", on_error="skip") as loader:
            with pytest.raises(shardify.ShardifyError, match="sample 1"):
                epoch(loader)


def test_the_default_is_an_error(tmp_path):
    path = images(tmp_path / "s")
    with shardify.Loader(path, 5, framework="numpy", decode="pillow", resize=8) as loader:
        assert loader.skipped is None
        with pytest.raises(shardify.CorruptError, match="sample 3"):
            epoch(loader)
    for options, words in (
        ({"on_error": "skip"}, "decode="),
        ({"on_error": "ignore", "decode": "pillow"}, "on_error"),
        ({"on_error": "skip", "decode": "pillow", "framework": "dlpack"}, "dlpack"),
    ):
        with pytest.raises(ValueError, match=words):
            shardify.Loader(path, 5, **{"framework": "numpy", **options})


def test_the_gpu_path_skips_too(monkeypatch, painted):
    """As in test_decode, the GPU's decoder is played by the host's."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    host = pytest.importorskip("torchvision.io", reason="torchvision is not installed")
    from test_decode import packed

    from shardify import decode

    def decode_jpeg(data, mode, device):
        return [host.decode_jpeg(d, mode) for d in data] if isinstance(data, list) else host.decode_jpeg(data, mode)

    monkeypatch.setattr(decode, "_nvjpeg", lambda: decode_jpeg)
    args = packed([HOSTILE["text"][0], coded(picture(1), "jpeg"), HOSTILE["jpeg head"][0], b"", coded(picture(4))])
    bad = {}
    pixels = decode.make("image", "nvjpeg", device="cpu")(*args, bad=bad)
    assert sorted(bad) == [0, 2, 3] and pixels.shape == (5, 3, 60, 80)
    assert [bool(p.any()) for p in pixels] == [False, True, False, False, True]
