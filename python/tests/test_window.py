"""Windows: samples of several rows, gathered when they are read."""

from __future__ import annotations

import json

import numpy as np
import pytest
from loading import needs_library

import shardify

pytestmark = needs_library

N = 40


def series(tmp_path, gap=True, **more):
    """Rows x [3] of 6-hourly times, two of which are missing."""
    keep = [t for t in range(N) if not gap or t not in (10, 11)]
    x = np.arange(N * 3, dtype="f4").reshape(N, 3)[keep]
    time = (np.datetime64("2018-01-01T00", "s") + np.arange(N) * np.timedelta64(6, "h"))[keep]
    np.savez(tmp_path / "rows.npz", x=x, time=time, y=np.arange(len(keep)))
    out = str(tmp_path / "set")
    shardify.convert(str(tmp_path / "rows.npz"), out, format="mmap", shard_samples=7, **more)
    return out, x, keep


def pairs(x, keep):
    return [i for i in range(len(keep) - 1) if keep[i + 1] == keep[i] + 1]


@pytest.mark.parametrize("framework", ["numpy", "torch"])
@pytest.mark.parametrize("shuffle", ["none", "block", "global"])
@pytest.mark.parametrize("tier", ["pinned", "stream"])
def test_pairs_by_time_never_cross_a_gap(tmp_path, framework, shuffle, tier):
    if framework == "torch":
        pytest.importorskip("torch")
    path, x, keep = series(tmp_path)
    want = pairs(x, keep)
    with shardify.Loader(path, 5, window="time=1+1", shuffle=shuffle, tier=tier, last="pad", framework=framework, device="cpu") as loader:
        assert set(loader.fields) == {"x", "x.next", "time", "time.next", "y", "y.next"} and len(loader) == 8
        got = []
        for b in loader:
            assert b["x"].shape == (5, 1, 3) and b["x.next"].shape == (5, 1, 3)
            for i, a in enumerate(b.ids[: b.rows]):
                assert np.array_equal(np.asarray(b["x"])[i], x[a : a + 1])
                assert np.array_equal(np.asarray(b["x.next"])[i], x[a + 1 : a + 2])
                got.append(int(a))
        assert sorted(got) == want and len(want) == 36


@pytest.mark.parametrize("world", [1, 2, 4])
def test_ranks_and_resuming(tmp_path, world):
    path, x, keep = series(tmp_path)

    def steps(state=None, skip=0):
        out = []
        for rank in range(world):
            with shardify.Loader(path, 8 // world, window="2+1", shuffle="global", seed=3, rank=rank, world_size=world, framework="numpy", device="cpu") as l:
                if state is not None:
                    l.load_state_dict(state)
                mine, states = [], []
                for b in l:
                    mine.append(b.ids.tolist())
                    states.append(l.state_dict())
                out.append((mine, states))
        return [sorted(sum((o[0][k] for o in out), [])) for k in range(len(out[0][0]))], out[0][1]

    unbroken, states = steps()
    assert len(unbroken) == 4
    for k, state in enumerate(states[:-1]):
        assert steps(json.loads(json.dumps(state)))[0] == unbroken[k + 1 :]


def test_dicts_columns_and_casts(tmp_path):
    path, x, keep = series(tmp_path, gap=False)
    window = {"axis": "time", "in": 2, "out": 1, "lead": "24h"}
    with shardify.Loader(path, 4, window=window, columns=["x", "y.next"], cast={"x": ("f4", 2.0, 1.0)}, framework="numpy", device="cpu") as l:
        assert l.fields == ["x", "y.next"]
        b = next(iter(l))
        assert np.array_equal(b["x"][0], x[0:2] * 2 + 1) and b["y.next"].tolist() == [[5], [6], [7], [8]]
        assert "windows=" in l.state_dict()["order"]
    with pytest.raises(ValueError, match="in= rows"):
        shardify.Loader(path, 4, window={"out": 1})
    with pytest.raises(ValueError, match="no pace"):
        shardify.Loader(path, 4, window={"in": 1, "pace": 1})
    with pytest.raises(Exception, match="no window other"):
        shardify.Loader(path, 4, window="other", framework="numpy", device="cpu")


def test_the_old_meaning_of_a_number_warns(tmp_path):
    path, _, _ = series(tmp_path)
    with pytest.warns(FutureWarning, match="shuffle_window=16"):
        old = shardify.Loader(path, 4, shuffle="block", window=16, streams=2, framework="numpy", device="cpu")
    new = shardify.Loader(path, 4, shuffle="block", shuffle_window=16, streams=2, framework="numpy", device="cpu")
    with old, new:
        assert [b.ids.tolist() for b in old] == [b.ids.tolist() for b in new]
    with pytest.raises(ValueError, match="text"):
        shardify.Loader(path, 4, window=16, shuffle_window=8)


def test_views_of_the_set(tmp_path):
    path, x, keep = series(tmp_path, window=["time=1+1", "time=2+2,stride=12h,name=long"])
    views = json.load(open(path + "/shardify.json"))["windows"]
    assert views["window"]["anchors"] == [[0, 9], [10, 37]] and views["window"]["out"] == [1]
    with shardify.Loader(path, 3, window="long,out=1", framework="numpy", device="cpu", last="short") as l:
        got = [int(a) for b in l for a in b.ids]
        assert next(iter(l))["x.next"].shape == (3, 1, 3)
    assert got == [a for run in views["long"]["anchors"] for a in range(run[0], run[1], run[2])]


def test_windows_without_a_loader(tmp_path):
    path, x, keep = series(tmp_path, window=["time=2+1,lead=12h", "time=1+3,name=long,stride=5", "3,name=three"])
    ds = shardify.open(path)
    assert sorted(ds.windows) == ["long", "three", "window"]
    w = ds.windows["window"]
    want = [i for i in range(1, len(keep) - 2) if keep[i + 2] - keep[i - 1] == 3]
    assert w.ids.tolist() == want and len(w) == len(want) == 32
    for i, a in enumerate(want):
        assert set(w[i]) == {"x", "x.next", "time", "time.next", "y", "y.next"}
        assert np.array_equal(w[i]["x"], x[a - 1 : a + 1]) and np.array_equal(w[i]["x.next"], x[a + 2 : a + 3])
        inside = a % 7 > 0  # no border of shards between its rows
        assert np.shares_memory(w[i]["x"], w[i]["x"]) is inside and w[i]["y"].tolist() == [a - 1, a]
    assert np.array_equal(w[-1]["x"], w[len(w) - 1]["x"]) and len(w[2:5]) == 3
    assert [set(v) for v in ds.windows["three"][:1]] == [{"x", "time", "y"}] and ds.windows["three"][0]["x"].shape == (3, 3)
    assert ds.windows["long"][0]["x.next"].shape == (3, 3)
    with pytest.raises(IndexError, match="window 32 of 32"):
        w[32]
    both = shardify.open([path, path], columns=["x"]).windows["window"]
    assert len(both) == 64 and both.ids[32] == want[0] + len(keep) and np.array_equal(both[32]["x"], w[0]["x"]) and set(both[0]) == {"x", "x.next"}
    with shardify.Loader(path, 5, window="window", last="pad", framework="numpy", device="cpu") as loader:
        for b in loader:
            for i, a in enumerate(b.ids[: b.rows]):
                for name, values in w[want.index(a)].items():
                    assert np.array_equal(np.asarray(b[name])[i], values)
