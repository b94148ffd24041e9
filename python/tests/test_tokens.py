"""Token sets: pairs of Megatron-LM without a conversion."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest
from loading import needs_library, why_not

import shardify

CODES = {"u1": 1, "i4": 4, "i8": 5, "u2": 8}


def pair(path, docs, dtype="u2", modes=False):
    """Documents, each a list of sequences, as Megatron-LM writes them."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    sequences = [np.asarray(s, dtype) for d in docs for s in d]
    lengths = np.array([len(s) for s in sequences], "<i4")
    places = np.cumsum(lengths, dtype="<i8") - lengths
    ends = np.cumsum([0] + [len(d) for d in docs]).astype("<i8")
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, CODES[dtype], len(sequences), len(ends))
    with open(path + ".idx", "wb") as f:
        f.write(head + lengths.tobytes() + (places * np.dtype(dtype).itemsize).tobytes() + ends.tobytes() + bytes(len(sequences)) * modes)
    with open(path + ".bin", "wb") as f:
        f.write(b"".join(s.tobytes() for s in sequences))


def corpus(seed, n, top=60000):
    rng = np.random.default_rng(seed)
    return [[rng.integers(0, top, rng.integers(0, 9)) for _ in range(rng.integers(0, 4))] for _ in range(n)]


def joined(docs):
    return [np.concatenate([np.zeros(0, int)] + list(d)).astype(int) for d in docs]


@pytest.fixture
def pairs(tmp_path):
    """Three pairs in folders, and the tokens of all documents in the order of their names."""
    want = []
    for k, name in enumerate(["a/part-2", "a/part-10", "b"]):
        docs = corpus(k, 20 + k)
        pair(str(tmp_path / name), docs)
        want += joined(docs)
    return str(tmp_path), want


def test_pairs_are_opened_without_a_conversion(pairs):
    path, want = pairs
    ds = shardify.open(path)
    assert len(ds) == len(want) and ds.fields == ["tokens"] and ds.field("tokens").jagged
    column = ds.column("tokens")
    for i, w in enumerate(want):
        assert ds[i]["tokens"].dtype == np.uint16 and np.array_equal(ds[i]["tokens"], w) and np.array_equal(column[i], w)
    rows = [40, 3, 21, 3]
    assert all(np.array_equal(s["tokens"], want[i]) for s, i in zip(ds[rows], rows))
    assert np.array_equal(np.asarray(column.values), np.concatenate(want))
    one = os.path.join(path, "a", "part-10")
    for name in (one, one + ".idx", one + ".bin"):
        assert len(shardify.open(name)) == 21


@needs_library
@pytest.mark.parametrize("shuffle", ["none", "block", "global"])
def test_the_loader_reads_pairs(pairs, shuffle):
    path, want = pairs
    seen = []
    with shardify.Loader(path, 7, shuffle=shuffle, last="short", framework="numpy") as loader:
        for b in loader:
            v, o = b["tokens"]["values"], b["tokens"]["offsets"]
            for k, i in enumerate(b.ids):
                assert np.array_equal(v[o[k] : o[k + 1]], want[i])
                seen.append(int(i))
        assert any("no checksums" in n for n in loader.notes())
    assert sorted(seen) == list(range(len(want)))


@needs_library
def test_sets_of_pairs_are_opened(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.arange(60, dtype="u2").reshape(20, 3))
    out = str(tmp_path / "set")
    shardify.convert(str(tmp_path / "x.npz"), out, format="megatron", shard_samples=7)
    ds = shardify.open(out)
    assert len(ds) == 20 and np.array_equal(np.asarray(ds.column("x")), np.arange(60).reshape(20, 3))
    with shardify.Loader(out, 20, framework="numpy") as loader:
        assert np.array_equal(next(iter(loader))["x"], np.arange(60).reshape(20, 3))
    with pytest.raises(shardify.SchemaError, match="open its folder"):
        shardify.open(os.path.join(out, "shard-000000"))


def damage(path, at=0, more=b"", cut=0):
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        if more:
            data[at : at + len(more)] = more
        f.seek(0)
        f.truncate()
        f.write(data[: len(data) - cut])


@pytest.mark.parametrize(
    "what, words",
    [
        (dict(path=".bin", cut=2), "the data have"),
        (dict(path=".idx", cut=1), "in an index of"),
        (dict(path=".idx", at=34, more=b"\x01"), "begins at byte"),
        (dict(path=".idx", at=37, more=b"\x80"), "tokens begins"),
        (dict(path=".idx", at=17, more=b"\x63"), "type 99"),
        (dict(path=".idx", at=0, more=b"TNTIDX\0\0"), "TNTIDX"),
        (dict(path=".idx", at=0, more=b"nothing"), "no index of Megatron-LM"),
        (dict(path=".idx", at=34 + 12 * 3 + 8, more=b"\x09"), "documents"),
        (dict(path=".idx", at=34 + 12 * 3 + 24, more=b"\x02"), "documents"),
    ],
)
def test_damaged_pairs_are_refused(tmp_path, what, words):
    path = str(tmp_path / "a")
    pair(path, [[[1, 2]], [[3], [4, 5, 6]], []])
    damage(path + what.pop("path"), **what)
    with pytest.raises((shardify.CorruptError, shardify.UnsupportedError), match=words) as e:
        shardify.open(str(tmp_path))
    assert "a.idx" in str(e.value)


def test_what_cannot_be_read_is_named(tmp_path):
    pair(str(tmp_path / "m" / "a"), [[[1]]], modes=True)
    with pytest.raises(shardify.UnsupportedError, match="multimodal"):
        shardify.open(str(tmp_path / "m"))
    pair(str(tmp_path / "t" / "a"), [[[1]]])
    pair(str(tmp_path / "t" / "b"), [[[1]]], "i4")
    with pytest.raises(shardify.SchemaError, match="tokens are i32, but u16"):
        shardify.open(str(tmp_path / "t"))
    os.mkdir(str(tmp_path / "mds"))
    with open(str(tmp_path / "mds" / "index.json"), "w") as f:
        f.write('{"shards": [], "version": 2}')
    with pytest.raises(shardify.NotADatasetError, match="MosaicML.*convert"):
        shardify.open(str(tmp_path / "mds"))
    if not why_not():
        with pytest.raises(shardify.NotADatasetError, match="MosaicML.*convert"):
            shardify.Loader(str(tmp_path / "mds"), 2)
