"""Batches by a budget: budget=."""

from __future__ import annotations

import fixture
import numpy as np
import pytest
from loading import FRAMEWORKS, as_numpy, needs_library

import shardify
from shardify import Budget

pytestmark = needs_library

SCHEMA = [
    {"name": "x", "dtype": "f32", "shape": [3]},
    {"name": "tokens", "dtype": "i32", "levels": 1, "lengths": "n_tokens"},
    {"name": "n", "dtype": "i64"},
]


def rows(n=200, seed=3):
    r = np.random.default_rng(seed)
    return [{"x": [k, k + 1, k + 2], "tokens": list(range(k, k + int(r.integers(0, 60)))), "n": int(r.integers(0, 9))} for k in range(n)]


@pytest.fixture
def data(tmp_path):
    schema = [{k: v for k, v in f.items() if k != "lengths"} for f in SCHEMA]
    fixture.write(tmp_path / "set", schema, rows(), shards=[80, 120])
    return str(tmp_path / "set")


def of(batch, name):
    v = as_numpy(batch[name])
    return v["values"] if isinstance(v, dict) else v


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("columns", [None, ["x"]])
def test_every_sample_once(data, framework, copy, columns):
    want = rows()
    given = dict(budget={"tokens": 300}, shuffle="global", seed=1, last="short", framework=framework, copy=copy, device="cpu")
    if columns:  # of fixed size alone
        given.update(columns=columns, budget={"n": 40})
        with pytest.raises(shardify.SchemaError, match="budget"):
            shardify.Loader(data, **{**given, "budget": {"m": 40}})
    loader = shardify.Loader(data, **given)
    for epoch in range(2):
        seen, sizes, steps = [], [], len(loader)
        for batch in loader:
            ids = batch.ids
            seen += ids.tolist()
            sizes.append(len(ids))
            assert batch.rows == batch.size == len(ids) and batch.valid.all()
            assert np.array_equal(of(batch, "x"), [want[i]["x"] for i in ids])
            if columns is None:
                tokens = [t for i in ids for t in want[i]["tokens"]]
                assert len(tokens) <= 300 and of(batch, "tokens").tolist() == tokens
            else:
                assert sum(want[i]["n"] for i in ids) <= 40
        assert sorted(seen) == list(range(200)) and len(sizes) == steps and len(set(sizes)) > 1
        report = loader.plan_report(epoch)
        assert report["batches"] == steps and report["samples"] == 200 and report["dropped"] == 0


def test_a_sum_of_products(data):
    want = rows()
    loader = shardify.Loader(data, budget={"2*len(tokens) + n": 600}, shuffle="global", last="short", device="cpu", framework="numpy")
    costs = [sum(2 * len(want[i]["tokens"]) + want[i]["n"] for i in batch.ids) for batch in loader]
    assert max(costs) <= 600 and sum(costs) == sum(2 * len(r["tokens"]) + r["n"] for r in want)
    with pytest.raises(shardify.SchemaError, match="no field 'm'|no field \"m\""):
        shardify.Loader(data, budget={"n + m": 600}, device="cpu")


def test_ranks_and_resume(data):
    """Each rank has as many steps; what a rank has not had comes after a restart, for another world, too."""
    loaders = [shardify.Loader(data, budget=Budget({"tokens": 200}, window=50), shuffle="global", rank=r, world_size=3, device="cpu", framework="numpy") for r in range(3)]
    assert len({len(loader) for loader in loaders}) == 1
    steps = [[b.ids.tolist() for b in loader] for loader in loaders]
    whole = [s[r] for s in zip(*steps) for r in range(3)]
    assert len(whole) == 3 * len(steps[0]) and len(sum(whole, [])) == len(set(sum(whole, [])))
    loader = shardify.Loader(data, budget=Budget({"tokens": 200}, window=50), shuffle="global", rank=0, world_size=3, device="cpu", framework="numpy")
    for k, _ in enumerate(loader):
        if k == 2:
            break
    state = loader.state_dict()
    assert loader.remaining == len(steps[0]) - 3
    other = shardify.Loader(data, budget=Budget({"tokens": 200}, window=50), shuffle="global", last="short", rank=0, world_size=1, device="cpu", framework="numpy")
    other.load_state_dict(state)
    rest = [b.ids.tolist() for b in other]
    assert rest[: len(whole) - 9] == whole[9:]
    with pytest.raises(shardify.StateError):
        shardify.Loader(data, budget={"tokens": 201}, shuffle="global", device="cpu").load_state_dict(state)


def test_padded_and_oversize(data):
    want = rows()
    loader = shardify.Loader(data, budget=Budget({"tokens": 400}, padded=True, window=200), last="short", jagged="pad", device="cpu", framework="numpy")
    for batch in loader:
        longest = max(len(want[i]["tokens"]) for i in batch.ids)
        assert len(batch.ids) * longest <= 400 and of(batch, "tokens").shape == (len(batch.ids), longest)
    assert loader.plan_report(0)["fill"]["tokens"] > 0.8
    long = [k for k, s in enumerate(want) if len(s["tokens"]) > 50]
    with pytest.raises(ValueError, match="sample %d has tokens %d, and the budget is 50" % (long[0], len(want[long[0]]["tokens"]))):
        shardify.Loader(data, budget={"tokens": 50}, device="cpu")
    alone = shardify.Loader(data, budget=Budget({"tokens": 50}, oversize="alone"), last="short", device="cpu")
    assert [b.ids.tolist() for b in alone if b.ids[0] in long] == [[k] for k in long]
    drop = shardify.Loader(data, budget=Budget({"tokens": 50}, oversize="drop"), last="short", device="cpu")
    assert sorted(sum((b.ids.tolist() for b in drop), [])) == [k for k in range(200) if k not in long]
    assert drop.plan_report()["dropped"] == len(long)


@pytest.mark.parametrize("how", ["weights", "balance", "mix"])
@pytest.mark.parametrize("window", [1, 40])
def test_draws(data, how, window):
    """The samples of a batch by weight, class or share of an input are those that come without a budget."""
    lengths = [len(r["tokens"]) for r in rows()]
    given = {"weights": dict(weights=np.arange(200.0)), "balance": dict(balance="n"), "mix": {}}[how]
    paths = {data: 3, data + "/": 1} if how == "mix" else data
    here = dict(shuffle="global", seed=5, samples=300, last="short", device="cpu", framework="numpy", columns=["tokens"], **given)
    want = [k for b in shardify.Loader(paths, 20, **here) for k in b.ids.tolist()]
    batches = [b.ids.tolist() for b in shardify.Loader(paths, budget=Budget({"tokens": 200}, window=window), **here)]
    assert all(sum(lengths[k % 200] for k in b) <= 200 for b in batches)
    got = sum(batches, [])
    assert len(got) == 300 and (got if window == 1 else sorted(got)) == (want if window == 1 else sorted(want))


@pytest.mark.parametrize("wrong, text", [(np.nan, "nan"), (-2.0, "-2"), (np.inf, "[iI]nf")])
def test_wrong_weights(data, wrong, text):
    weights = np.ones(200)
    weights[7] = wrong
    with pytest.raises(ValueError, match="(?i)weights: sample 7 has .?%s" % text):
        shardify.Loader(data, budget={"tokens": 200}, weights=weights, device="cpu")
    with pytest.raises(ValueError, match="share"):
        shardify.Loader({data: wrong, data + "/": 1}, budget={"tokens": 200}, device="cpu")


@pytest.mark.parametrize(
    "given, error, want",
    [
        (dict(), TypeError, "want a whole number, or budget="),
        (dict(batch_size=4, budget={"tokens": 9}), ValueError, "give one"),
        (dict(budget={}), TypeError, "want {field: most}"),
        (dict(budget={"tokens": -1}), ValueError, "want 0 or more"),
        (dict(budget={"tokens": 1.5}), ValueError, "want a whole number"),
        (dict(budget={"tokens": True}), ValueError, "tokens=True: want a whole number"),
        (dict(budget={"x": 9}), shardify.SchemaError, "neither a list"),
        (dict(budget={"tokens": 99}, last="pad"), shardify.UnsupportedError, "last='pad'"),
        (dict(budget=Budget({"tokens": 99}, oversize="skip")), ValueError, "oversize"),
        (dict(budget=Budget({"tokens": 99}, window=0)), ValueError, "window"),
        (dict(budget={"tokens": 99}, ring=2), shardify.UnsupportedError, "ring="),
    ],
)
def test_errors(data, given, error, want):
    with pytest.raises(error, match=want):
        shardify.Loader(data, device="cpu", **given)
    with pytest.raises(shardify.UnsupportedError, match="budget="):
        shardify.Loader(data, 4, device="cpu").plan_report()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("copy, jagged", [(True, "values"), (False, "values"), (True, "pad"), (False, "pad"), (True, "nested")])
def test_many_come_at_once(tmp_path, framework, copy, jagged, monkeypatch):
    """Batches that one call brings are those that come one by one: values, offsets, numbers and states, on each rank."""
    if jagged == "nested" and framework != "torch":
        pytest.skip("nested tensors are torch's")
    schema = [
        {"name": "a", "dtype": "f32", "shape": [2], "levels": 1, "counter": "n"},
        {"name": "x", "dtype": "i16", "nullable": True},
        {"name": "b", "dtype": "i64", "levels": 1, "counter": "n"},
        {"name": "c", "dtype": "u8", "levels": 1},
    ]
    r = np.random.default_rng(7)
    lengths = r.integers(0, 9, 150)
    made = [{"a": r.random((n, 2), np.float32), "x": None if n % 3 == 0 else int(n), "b": list(range(n)), "c": [1] * int(n % 4)} for n in lengths.tolist()]
    fixture.write(tmp_path / "set", schema, made, shards=[70, 80])

    def flat(v):
        return np.concatenate([t.numpy().ravel() for t in v.unbind()]) if getattr(v, "is_nested", False) else as_numpy(v)

    def all_of(batch):
        return [flat(v) for v in batch.values()], list(batch), batch.index, batch.epoch, batch.ids.tolist(), batch.rows, batch.size

    def same(got, want):
        assert len(got) == len(want) > 0
        for g, w in zip(got, want):
            assert g[1:] == w[1:]
            for a, b in zip(g[0], w[0]):
                for x, y in zip(*((d.values() if isinstance(d, dict) else [d]) for d in (a, b))):
                    assert x.dtype == y.dtype and np.array_equal(x, y)

    for rank in range(2):
        given = dict(budget={"a": 20}, shuffle="global", seed=4, last="short", framework=framework, copy=copy, jagged=jagged, device="cpu", rank=rank, world_size=2)
        loader = shardify.Loader(str(tmp_path / "set"), **given)
        assert loader._info["group"] > 1
        monkeypatch.setattr(shardify.Loader, "_PACKED", 0)
        single = shardify.Loader(str(tmp_path / "set"), **given)
        monkeypatch.undo()
        assert single._info["group"] == 1
        for _ in range(2):
            states, got = [], []
            for batch in loader:
                got.append(all_of(batch))
                states.append(loader.state_dict())
            want = []
            for k, batch in enumerate(single):
                want.append(all_of(batch))
                assert single.state_dict() == states[k]
            same(got, want)
        for k in (0, len(states) // 2, len(states) - 2):
            loader.load_state_dict(states[k])
            same([all_of(b) for b in loader], want[k + 1 :])
