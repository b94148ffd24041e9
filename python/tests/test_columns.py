from __future__ import annotations

import fixture
import numpy as np
import pytest
from conftest import N, SCHEMAS, same, samples, shown

import shardify


def test_one_shard_gives_a_memmap(make):
    ds = shardify.open(make("fixed", shards=[N]))
    x = ds.column("x")
    assert isinstance(x, np.memmap) and x.shape == (N, 3, 2) and not x.flags.writeable
    assert np.array_equal(x, np.stack([s["x"] for s in samples("fixed")]))


def test_several_shards_behave_like_one_array(make):
    ds = shardify.open(make("fixed", shards=[1, 7, N - 8]))
    x, want = ds.column("x"), np.stack([s["x"] for s in samples("fixed")])
    assert (len(x), x.shape, x.ndim, x.dtype) == (N, want.shape, 3, want.dtype)
    assert np.array_equal(np.asarray(x), want)
    assert np.array_equal(np.asarray(x, np.float64), want)
    for key in (0, -1, 8, np.int64(3), slice(None), slice(20, 2, -5), [5, 0, -1], np.array([[1], [9]]), []):
        assert np.array_equal(x[key], want[key]), key
    for key in ((slice(2, 9), 1), (3, 1, 0), ([7, 8], slice(None), 1), (Ellipsis, 0), np.arange(N) % 2 == 0):
        assert np.array_equal(x[key], want[key]), key
    assert np.array_equal(np.stack(list(x)), want)
    for bad in (N, -N - 1, [N]):
        with pytest.raises(IndexError):
            x[bad]


@pytest.mark.parametrize("shards", [[N], [4, 10, N - 14]])
@pytest.mark.parametrize("kind", ["jagged", "text", "mmap_only"])
def test_jagged_columns(make, kind, shards):
    ds = shardify.open(make(kind, shards=shards))
    want = [shown(kind, s) for s in samples(kind)]
    for f in ds.schema:
        if not f.levels:
            continue
        c = ds.column(f.name)
        assert len(c) == N and same([c[i] for i in range(N)], [w[f.name] for w in want]), f.name
        assert same(c[3:9:2], [w[f.name] for w in want[3:9:2]])
        assert same(c[-1], want[-1][f.name])
        offsets, values = np.asarray(c.offsets), np.asarray(c.values)
        if f.levels == 2:
            assert offsets[-1] == len(c.offsets1) - 1
            offsets = c.offsets1[offsets]
        assert offsets[0] == 0 and offsets[-1] == len(values)
        if f.jagged and f.levels == 1 and not f.ragged:
            i = 13
            stored = values[offsets[i] : offsets[i + 1]]
            assert want[i][f.name] is None or np.array_equal(stored, want[i][f.name])


def test_bf16_columns_are_bits(make):
    ds = shardify.open(make("mmap_only"))
    bits = ds.column("half")
    assert bits.dtype == np.uint16
    assert np.array_equal(shardify.bf16_to_f32(bits[4]), ds[4]["half"])


def test_keys_are_a_column_and_tars_have_none(make):
    assert shardify.open(make("fixed", keyed=True)).column("__key__")[3] == "k/0003"
    with pytest.raises(shardify.UnsupportedError, match="--format mmap"):
        shardify.open(make("fixed", "wds", name="w")).column("x")


@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_keys_may_be_any_utf8(tmp_path, format):
    keys = ["dög/e\u0301(1)", "猫.v1/写真", "x+y=1@"]
    values = [dict(s, __key__=k) for k, s in zip(keys, samples("text", 3))]
    ds = shardify.open(fixture.write(tmp_path / format, SCHEMAS["text"], values, format, keyed=True))
    assert [ds[i]["__key__"] for i in range(3)] == keys
