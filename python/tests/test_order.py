"""The user's own order of samples: order=."""

from __future__ import annotations

import fixture
import numpy as np
import pytest
from loading import FRAMEWORKS, as_numpy, needs_library

import shardify
from shardify import Budget

pytestmark = needs_library

N = 90
SCHEMA = [
    {"name": "x", "dtype": "f32", "shape": [3]},
    {"name": "tokens", "dtype": "i32", "levels": 1},
    {"name": "n", "dtype": "i64"},
]
HERE = dict(device="cpu", framework="numpy")


def rows():
    r = np.random.default_rng(7)
    return [{"x": [k, k + 1, k + 2], "tokens": list(range(int(r.integers(0, 20)))), "n": k} for k in range(N)]


@pytest.fixture
def data(tmp_path):
    fixture.write(tmp_path / "set", SCHEMA, rows(), shards=[40, 50])
    return str(tmp_path / "set")


def ids(loader):
    return [b.ids.tolist() for b in loader]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"])
def test_types(data, dtype):
    order = np.random.default_rng(1).permutation(N).astype(dtype)
    loader = shardify.Loader(data, 8, order=order[::2], **HERE)
    assert len(loader) == 6 and loader.remaining == 6
    for _ in range(2):  # each epoch
        assert sum(ids(loader), []) == order[::2].tolist()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("tier", ["stream", "pinned"])
@pytest.mark.parametrize("columns", [None, ["x"]])
def test_memmap_ranks_and_resume(data, tmp_path, framework, tier, columns):
    np.random.default_rng(2).permutation(N).astype(np.int32).tofile(tmp_path / "order")
    order = np.memmap(tmp_path / "order", np.int32, "r")
    given = dict(order=order, columns=columns, framework=framework, device="cpu", tier=tier)
    loader = shardify.Loader(data, 10, **given)
    seen = []
    for b in loader:
        assert np.array_equal(as_numpy(b["x"]), [[k, k + 1, k + 2] for k in b.ids])
        seen += b.ids.tolist()
        if b.index == 2:
            break
    assert seen == order[:30].tolist()
    state = loader.state_dict()
    world = []
    for rank in range(3):
        other = shardify.Loader(data, 5, rank=rank, world_size=3, **given)
        other.load_state_dict(state)
        world.append(ids(other))
    rest = [k for step in zip(*world) for part in step for k in part]
    assert rest == order[30:].tolist()
    with pytest.raises(shardify.StateError):
        shardify.Loader(data, 10, **{**given, "order": order[::-1]}).load_state_dict(state)


def curriculum(epoch):
    """More samples in each epoch."""
    return np.random.default_rng(epoch).permutation(N)[: 30 + 13 * epoch]


@pytest.mark.parametrize("batch", [dict(batch_size=7), dict(budget={"tokens": 60}), dict(budget=Budget({"tokens": 60}, window=20), last="short")])
@pytest.mark.parametrize("columns", [None, ["x", "n"]])
def test_function(data, batch, columns):
    calls = []

    def order(epoch):
        calls.append(epoch)
        return curriculum(epoch)

    loader = shardify.Loader(data, order=order, columns=columns, **batch, **HERE)
    whole, held = [], []
    for epoch in range(4):
        steps = len(loader)
        assert loader.remaining == steps
        got = list(loader)
        held.append(got)
        assert len(got) == steps and all(b.epoch == epoch and b["n"].tolist() == b.ids.tolist() for b in got)
        whole.append([b.ids.tolist() for b in got])
        want = curriculum(epoch)
        if batch.get("last") or "batch_size" in batch:
            assert sorted(sum(whole[-1], [])) == sorted(want.tolist())
        if not (isinstance(batch.get("budget"), Budget)):
            assert sum(whole[-1], []) == want[: len(sum(whole[-1], []))].tolist()
    assert calls == [0, 1, 2, 3]  # once, as each begins
    assert [[b.ids.tolist() for b in epoch] for epoch in held] == whole

    # From any place, in another process, on more ranks.
    def at(epoch, **more):
        return shardify.Loader(data, order=curriculum, epoch=epoch, columns=columns, **batch, **more, **HERE)

    first = at(2)
    for k, _ in enumerate(first):
        if k == 1:
            break
    state = first.state_dict()
    assert state["epoch"] == 2 and first.remaining == len(whole[2]) - 2
    again = at(0)
    again.load_state_dict(state)
    assert ids(again) == whole[2][2:] and ids(again) == whole[3]
    if "batch_size" not in batch:
        assert again.state_dict()["epoch"] == 4
        pair = [at(0, rank=r, world_size=2) for r in range(2)]
        for p in pair:
            p.load_state_dict(state)
        steps = [k for step in zip(*map(ids, pair)) for k in step if k]
        assert steps == whole[2][2 : 2 + len(steps)]
    other = shardify.Loader(data, order=lambda epoch: curriculum(epoch)[::-1], columns=columns, **batch, **HERE)
    with pytest.raises(shardify.StateError):
        other.load_state_dict(state)
    assert ids(at(0)) == whole[0]
    loader.set_epoch(1)
    assert ids(loader) == whole[1]


def test_graph_and_split(tmp_path):
    schema = [
        {"name": "x", "dtype": "f32", "levels": 1, "counter": "n"},
        {"name": "edge_index", "dtype": "i64", "shape": [2], "levels": 1, "counter": "e"},
    ]
    fixture.write(tmp_path / "train", schema, [{"x": [k] * (k + 1), "edge_index": [[0, k]]} for k in range(6)], shards=[6])
    loader = shardify.Loader(str(tmp_path), 2, split="train", order=[5, 0, 3, 2], collate="graph", **HERE)
    got = [(b["x"].tolist(), b["edge_index"].tolist()) for b in loader]
    assert got == [([5] * 6 + [0], [[0, 6], [5, 6]]), ([3] * 4 + [2] * 3, [[0, 4], [3, 6]])]


def once(*list):
    return lambda epoch: list


@pytest.mark.parametrize("make", [lambda o: o, lambda o: lambda epoch: o], ids=["array", "function"])
@pytest.mark.parametrize(
    "order, error, want",
    [
        ([3, 1, 4, 1], ValueError, "order: positions 1 and 3 are both sample 1"),
        ([3, N], ValueError, "order: position 1 is sample 90, and samples are numbered 0 to 89"),
        ([3, 5, -1], ValueError, "order: position 2 is sample -1"),
        (np.array([1, 1 << 63], np.uint64), ValueError, "order: position 1 is sample 9223372036854775808"),
        ([0.5, 1], TypeError, "order: position 0 is 0.5, of type float64"),
        (["a"], TypeError, "order: position 0 is 'a'"),
        ([True, False], TypeError, "order: position 0 is True: .* indices="),
        ([[1, 2]], TypeError, "shape"),
        ([], ValueError, "no samples"),
    ],
)
def test_wrong_orders(data, make, order, error, want):
    with pytest.raises(error, match=want):
        shardify.Loader(data, 4, order=make(order), **HERE)
    if callable(make(order)):  # in a later epoch, too: the loader stays where it is
        loader = shardify.Loader(data, 4, order=lambda epoch: order if epoch == 1 else [2, 0], **HERE)
        assert ids(loader) == [[2, 0]]
        with pytest.raises(error, match=want):
            next(iter(loader))
        loader.set_epoch(2)
        assert ids(loader) == [[2, 0]]


@pytest.mark.parametrize("more", [dict(shuffle="global"), dict(indices=[1]), dict(weights=np.ones(N)), dict(balance="n")])
def test_what_has_no_say(data, more):
    with pytest.raises(ValueError, match="leave out %s=" % next(iter(more))):
        shardify.Loader(data, 4, order=[1, 2], **more, **HERE)


def test_oversize_of_chosen_samples(data):
    """Only samples that the order has can be over a budget."""
    lengths = [len(r["tokens"]) for r in rows()]
    short = [k for k, n in enumerate(lengths) if n <= 5]
    given = dict(budget={"tokens": 5}, **HERE)
    for order in (short, once(*short)):
        assert sorted(sum(ids(shardify.Loader(data, order=order, last="short", **given)), [])) == short
    long = next(k for k, n in enumerate(lengths) if n > 5)
    for order in (short + [long], once(*short, long)):
        with pytest.raises(ValueError, match="sample %d has tokens %d" % (long, lengths[long])):
            shardify.Loader(data, order=order, **given)
