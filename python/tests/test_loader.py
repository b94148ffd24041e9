"""The loader: every sample once, bit for bit, in the promised order, from any place on."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import time
import warnings

import numpy as np
import pytest
from conftest import KINDS
from loading import FRAMEWORKS, SHARDS, N, alone, as_numpy, check, needs_library, numbered, numbers, same, torch

import shardify

pytestmark = needs_library

WAYS = [
    ("none", {}),
    ("block", {"shuffle_window": 24, "streams": 3}),
    ("global", {}),
    ("block", {"tier": "stream", "shuffle_window": 24}),
]
GOLDEN = os.path.join(os.path.dirname(__file__), "..", "..", "gpuload", "order", "testdata", "order.golden")


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("kind,format", KINDS)
def test_every_sample_once_and_bit_for_bit(make, kind, format, framework, copy):
    path = make(kind, format, n=N, shards=SHARDS)
    for shuffle, more in WAYS:
        loader = shardify.Loader(
            path, 5, shuffle=shuffle, last="pad", framework=framework, device="cpu", copy=copy, seed=3, **more
        )
        with loader:
            for epoch in range(2):
                got = []
                for b in loader:
                    assert b.epoch == epoch and b.size == 5 and b.index == len(got) // 5
                    assert list(b)[0] != "__key__" and len(b.valid) == 5 and b.valid.sum() == b.rows
                    got += check(kind, b, loader.schema)
                assert sorted(got) == list(range(N)) and len(loader) == 13
                assert (got == list(range(N))) == (shuffle == "none")


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("kind", ["jagged", "mmap_only"])
def test_batches_are_what_collate_makes(make, kind, framework):
    """Padded, nested and plain: the same keys, types, shapes and values."""
    path = make(kind, n=N, shards=SHARDS)
    ds = shardify.open(path)
    for jagged in ("values", "pad", "nested"):
        columns = None
        if jagged == "nested":
            if framework != "torch":
                continue
            columns = [f.name for f in ds.schema if f.levels < 2]
            ds = shardify.open(path, columns=columns)
        fill = {f.name: 0 for f in ds.schema if f.nullable and not f.media}
        collate = shardify.collate(jagged=jagged, to=framework, pad_value=7, fill=fill)
        loader = shardify.Loader(
            path, 6, shuffle="global", jagged=jagged, pad_value=7, framework=framework, device="cpu", columns=columns
        )
        for b in loader:
            want = collate(ds[b.ids])
            assert list(b) == list(want)
            for name, v in want.items():
                if jagged == "nested" and hasattr(v, "is_nested") and v.is_nested:
                    pairs = list(zip(v.unbind(), b[name].unbind()))
                    assert pairs and all(same(as_numpy(x), as_numpy(y)) for x, y in pairs), name
                else:
                    assert same(as_numpy(v), as_numpy(b[name])), name
        loader.close()


def test_keys_and_columns(make):
    path = make("jagged", n=N, shards=SHARDS, keyed=True)
    with shardify.Loader(path, 8, columns=["run", "Jet_*"], keys=True, framework="numpy", shuffle="global") as loader:
        assert loader.fields == ["Jet_pt", "Jet_p4", "run"] or loader.fields == ["run", "Jet_pt", "Jet_p4"]
        for b in loader:
            assert b["__key__"] == ["k/%04d" % i for i in b.ids] and list(b)[0] == "__key__"
    with shardify.Loader(make("image", n=N, name="i"), 8, framework="numpy", columns="cls") as loader:
        assert loader.labels("cls") == ["zero", "one"]
        with pytest.raises(KeyError):
            loader.labels("image")
    with pytest.raises(shardify.SchemaError, match="nosuch"):
        shardify.Loader(path, 8, columns=["nosuch"], framework="numpy")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_remains_at_the_end(tmp_path, framework):
    path = numbered(tmp_path / "s", 23)

    def sizes(**kw):
        with shardify.Loader(path, 5, framework=framework, device="cpu", **kw) as loader:
            got = [(len(b["x"]), b.rows, int(np.asarray(b["x"])[-1])) for b in loader]
            assert len(got) == len(loader)
            return got[-1], len(got)

    assert sizes(last="drop") == sizes(drop_last=True) == ((5, 5, 19), 4)
    assert sizes(last="pad") == ((5, 3, 0), 5)
    assert sizes() == sizes(last="short") == sizes(drop_last=False) == ((3, 3, 22), 5)
    for way in ({"shuffle": "global"}, {"shuffle": "block"}, {"weights": np.ones(23)}, {"balance": "x"}):
        assert sizes(**way)[0][:2] == (5, 5) and sizes(**way)[1] == 4
        assert sizes(**way, last="short")[0][:2] == (3, 3)
    with pytest.raises(ValueError, match="give one"):
        sizes(last="pad", drop_last=True)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_in_order_every_sample_comes_by_default(tmp_path, world):
    """In as many batches on every rank; a shuffle reports what it leaves out."""
    path = numbered(tmp_path / "s", 311)
    seen, steps = [], set()
    for rank in range(world):
        with shardify.Loader(path, 64, framework="numpy", rank=rank, world_size=world) as loader:
            got = numbers(loader)
            steps.add(len(got))
            assert len(got) == len(loader)
            (note,) = [n for n in loader.notes() if "last batch" in n]
            assert note.startswith("the last batch of an epoch has %d of 64 samples on this rank" % len(got[-1]))
            seen += sum(got, [])
        with shardify.Loader(path, 64, framework="numpy", shuffle="global", rank=rank, world_size=world) as loader:
            assert sum(map(len, numbers(loader))) == 311 // (64 * world) * 64
            assert any(n.startswith("an epoch leaves out %d of 311" % (311 % (64 * world))) for n in loader.notes())
    assert sorted(seen) == list(range(311)) and len(steps) == 1
    for how in ({"last": "drop"}, {"drop_last": False}, {"batch_size": 311}):
        with shardify.Loader(path, framework="numpy", **{"batch_size": 64, **how}) as loader:
            assert not [n for n in loader.notes() if "last=" in n]


def workers_epoch(path, workers, rank, world, epoch=0, state=None, **kw):
    """The batches of a rank in the order in which DataLoader asks its workers; and how many each gave."""
    from shardify.workers import Share

    every = []
    for w in range(workers):
        with Share(path, 5, framework="numpy", worker=w, workers=workers, rank=rank, world_size=world, epoch=epoch, **kw) as share:
            if state:
                share.load_state_dict(state)
            every.append(numbers(share))
            assert share.epoch == epoch + 1 and share.state_dict()["position"] == 0
    most = max(map(len, every))
    return [e[i] for i in range(most) for e in every if i < len(e)]


@pytest.mark.parametrize("shuffle", ["none", "global", "block"])
@pytest.mark.parametrize("world", [1, 2])
def test_workers_share_every_sample(tmp_path, shuffle, world):
    """Each exactly once, in as many batches on every rank, and no empty ones where there is one rank."""
    for n in (1, 4, 9, 23, 30, 61, 120):
        path = numbered(tmp_path / ("s%d" % n), n)
        for workers in (1, 2, 3, 7):
            kw = {"shuffle": shuffle, "seed": 3, "last": None if world == 1 or shuffle == "none" else "short"}
            ranks = [workers_epoch(path, workers, r, world, **kw) for r in range(world)]
            assert len({len(r) for r in ranks}) == 1
            assert sorted(x for r in ranks for b in r for x in b) == list(range(n))
            assert world > 1 or all(b for b in ranks[0])
            if shuffle != "block":  # they are the batches of a loader without workers
                for r in range(world):
                    one = shardify.Loader(path, 5, framework="numpy", rank=r, world_size=world, **{**kw, "last": "short"})
                    assert numbers(one) == ranks[r]
                    one.close()


@pytest.mark.parametrize("shuffle", ["none", "global", "block"])
def test_workers_drop_what_fills_no_batch_of_a_rank(tmp_path, shuffle):
    path = numbered(tmp_path / "s", 69)
    for last in ("drop", None)[: 1 + (shuffle != "none")]:
        ranks = [workers_epoch(path, 3, r, 2, shuffle=shuffle, last=last) for r in range(2)]
        assert {len(b) for r in ranks for b in r} == {5}
        assert sum(len(b) for r in ranks for b in r) == 60
    state = {**shardify.Loader(path, 5, shuffle=shuffle, framework="numpy").state_dict(), "position": 39}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rest = [workers_epoch(path, 3, r, 2, shuffle=shuffle, last="short", state=state) for r in range(2)]
    assert sum(len(b) for r in rest for b in r) == 30 and len(rest[0]) == len(rest[1])
    with pytest.warns(UserWarning, match="69 samples, batch_size=5 on 14 ranks and drop_last want"):
        assert workers_epoch(path, 1, 0, 14, shuffle=shuffle, last="drop") == []


def test_the_order_is_the_promised_one(tmp_path):
    """order.golden, as far as a set can be made for a case, through set, library and Python."""
    cases = {}
    with open(GOLDEN, encoding="utf-8") as f:
        text = f.read()
    for part in text.split("parts=")[1:]:
        head, *lines = part.split("\n")
        before = text[: text.index("parts=" + part)].rsplit("\n", 1)[-1]
        values = [
            int(v)
            for line in lines
            for v in line.split("...")[0].split()
            if line[:1].isdigit() and "samples=" not in line
        ]
        cases[(before.strip(), head)] = values
    assert len(cases) == 66
    tried = 0
    for (name, head), want in cases.items():
        parts, seed, epoch = (
            head[1:].split("] ")[0],
            int(head.split("seed=")[1].split()[0], 0),
            int(head.split("epoch=")[1]),
        )
        counts = [int(p) for p in parts.split()]
        if max(counts) > 2000 or name.startswith("block"):
            continue
        base, paths = 0, {}
        shares = {"1000 50 70": [3, 2, 1], "100 50": [0.6, 0.4]}.get(parts, [None] * len(counts))
        for k, n in enumerate(counts):
            folder = tmp_path / ("%s-%d" % (parts.replace(" ", "-"), k))
            if not folder.exists():
                numbered(folder, n, label=lambda i: i * i % 7)
            paths[str(folder)] = shares[k]
        kw = {}
        if "weights" in name:
            kw["weights"] = [i % 5 for i in range(300)]
        if "balance" in name:
            kw["balance"] = "label"
        if "indices" in name:
            kw["indices"] = [5, 8, 13, 21, 34, 55, 89, 144, 233]
        data = paths if len(counts) > 1 else list(paths)
        size = min(90, 9 if "indices" in name else 90)
        with shardify.Loader(
            data, size, shuffle=name.split()[0], seed=seed, epoch=epoch, framework="numpy", **kw
        ) as loader:
            assert loader.state_dict()["order"] == name
            b = next(iter(loader))
            got, x = b.ids.tolist(), np.asarray(b["x"])
        assert got == want[:size], name
        starts = np.cumsum([0] + counts)
        assert x.tolist() == [i - starts[np.searchsorted(starts, i, "right") - 1] for i in got]
        tried += 1
        base += 1
    assert tried == 42


M = (1 << 64) - 1
GOLD = 0x9E3779B97F4A7C15


def _mix64(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M
    return x ^ x >> 31


def _derive(seed, *words):
    h = _mix64(seed + GOLD & M)
    for w in words:
        h = _mix64(h ^ _mix64(w + GOLD & M))
    return h


def _perm(n, key, x):
    width = max(6, (n - 1).bit_length())
    low = width // 2
    k = [_mix64(key + (i + 1) * GOLD & M) for i in range(6)]

    def scatter(v, key):
        v = (v + key) * GOLD & M
        return (v ^ v >> 29) * 0xBF58476D1CE4E5B9 % (1 << 64) >> 32

    while True:
        h, lo = x >> low, x & (1 << low) - 1
        for i in (0, 2, 4):
            h ^= scatter(lo, k[i]) & (1 << width - low) - 1
            lo ^= scatter(h, k[i + 1]) & (1 << low) - 1
        x = h << low | lo
        if x < n:
            return x


def _block_order(n, window, block, streams, seed, epoch):
    """docs/design/loader.md, section 3, written again."""
    blocks = -(-n // block)
    places = []
    for k in range(blocks):
        b = _perm(blocks, _derive(seed, epoch, 2, 0), k)
        places += range(b * block, min((b + 1) * block, n))
    out, w = [], -(-window // streams)
    for q in range(n):
        o, c = q // streams, q % streams
        lo = c * (n // streams) + min(c, n % streams)
        size = n // streams + (c < n % streams)
        k = o // w
        m = min(w, size - k * w)
        out.append(places[lo + k * w + _perm(m, _derive(seed, epoch, 3, 0, c, k), o % w)])
    return out


@pytest.mark.parametrize("n,window,streams", [(64, 24, 3), (64, 1000, 1), (61, 12, 12), (64, 64, 5)])
def test_block_order_is_as_documented(tmp_path, n, window, streams):
    path = numbered(tmp_path / "s", n)
    with shardify.Loader(
        path, 1, shuffle="block", shuffle_window=window, streams=streams, seed=9, epoch=2, framework="numpy"
    ) as loader:
        order = dict(w.split("=") for w in loader.state_dict()["order"].split()[1:])
        assert order["streams"] == str(streams)
        got = [int(b["x"][0]) for b in loader]
    assert sorted(got) == list(range(n))
    assert got == _block_order(n, window, int(order["block"]), streams, 9, 2)


@pytest.mark.parametrize("shuffle", ["none", "block", "global"])
@pytest.mark.parametrize("threads", [0, 2])
def test_resumed_at_every_step_it_is_the_unbroken_run(tmp_path, shuffle, threads):
    path = numbered(tmp_path / "s", 40)

    def made():
        return shardify.Loader(
            path,
            4,
            shuffle=shuffle,
            shuffle_window=16,
            streams=2,
            framework="numpy",
            seed=5,
            transform=lambda b: {"x": b["x"].copy()},
            transform_threads=threads,
        )

    with made() as whole:
        run = [b for _ in range(2) for b in numbers(whole)]
    with made() as first:
        at = 0
        for _ in range(2):
            for _b in first:
                at += 1
                state = json.loads(json.dumps(first.state_dict()))
                # Threads have made more than that, which the state must not count.
                with made() as second:
                    second.load_state_dict(state)
                    assert second.state_dict() == state
                    rest = numbers(second)
                    if at <= 10:
                        rest += numbers(second)
                assert rest == run[at:], at


def test_a_state_moves_to_another_world_and_batch_size(tmp_path):
    path = numbered(tmp_path / "s", 60)
    with shardify.Loader(path, 6, shuffle="block", shuffle_window=24, streams=6, framework="numpy") as one:
        run = [sorted(b) for b in numbers(one)]
        one.set_epoch(0)
        it = iter(one)
        for _ in range(3):
            next(it)
        state = one.state_dict()
    got = [[] for _ in range(14)]
    for rank in range(3):
        with shardify.Loader(
            path, 1, shuffle="block", shuffle_window=24, streams=6, framework="numpy", rank=rank, world_size=3
        ) as loader:
            loader.load_state_dict(state)
            assert loader.remaining == 14
            for k, b in enumerate(numbers(loader)):
                got[k] += b
    flat = [x for b in run[3:] for x in b]
    assert sorted(x for b in got for x in b) == sorted(flat)
    assert [sorted(got[2 * k] + got[2 * k + 1]) for k in range(7)] == run[3:]


@pytest.mark.parametrize("shuffle", ["none", "block", "global"])
def test_global_steps_are_those_of_every_world_size(tmp_path, shuffle):
    path = numbered(tmp_path / "s", 100)
    want = None
    for world in (1, 2, 3, 4, 6, 8, 12):
        steps, length = [], set()
        for rank in range(world):
            with shardify.Loader(
                path,
                24 // world,
                shuffle=shuffle,
                shuffle_window=48,
                streams=12,
                framework="numpy",
                rank=rank,
                world_size=world,
                seed=1,
                last="drop",
            ) as loader:
                length.add(len(loader))
                steps.append(numbers(loader))
        assert length == {4}
        union = [sorted(x for part in step for x in part) for step in zip(*steps)]
        assert all(len(set(u)) == 24 for u in union)
        want = want or union
        assert union == want, world


def test_an_iteration_is_one_epoch(tmp_path):
    path = numbered(tmp_path / "s", 12)
    with shardify.Loader(path, 4, shuffle="global", framework="numpy", seed=2) as loader:
        epochs = [numbers(loader) for _ in range(4)]
        assert len({str(e) for e in epochs}) == 4
        loader.set_epoch(1)
        assert loader.epoch == 1 and numbers(loader) == epochs[1] and loader.epoch == 2
        # A loop that ends early: the next one is the next epoch.
        loader.set_epoch(0)
        b = next(iter(loader))
        assert b["x"].tolist() == epochs[0][0] and loader.epoch == 0
        state = loader.state_dict()
        assert numbers(loader) == epochs[1]
        # A state goes on inside its epoch, also when the epoch is named again.
        loader.load_state_dict(state)
        loader.set_epoch(0)
        assert loader.remaining == 2 and numbers(loader) == epochs[0][1:] and numbers(loader) == epochs[1]
        loader.load_state_dict(state)
        loader.set_epoch(3)
        assert numbers(loader) == epochs[3]
        # One place, so one iteration at a time.
        a = iter(loader)
        next(a)
        b = iter(loader)
        next(b)
        with pytest.raises(RuntimeError, match="another one"):
            next(a)
        list(b)
        with pytest.raises((StopIteration, RuntimeError)):
            next(b)
        with pytest.raises(ValueError):
            loader.set_epoch(-1)
        # A state at the very end of an epoch: nothing of it is left.
        loader.set_epoch(0)
        for _ in loader:
            state = loader.state_dict()
        loader.load_state_dict(state)
        assert numbers(loader) == [] and numbers(loader) == epochs[1]


def test_transforms_keep_order_and_place(tmp_path):
    path = numbered(tmp_path / "s", 64)

    def slow(b):
        time.sleep(0.002 if b.index % 3 == 0 else 0)
        return b["x"] * 2

    for threads in (0, 3):
        with shardify.Loader(path, 4, framework="numpy", transform=slow, transform_threads=threads) as loader:
            for k, x in enumerate(loader):
                assert x.tolist() == [2 * i for i in range(4 * k, 4 * k + 4)]
                assert loader.state_dict()["position"] == 4 * k + 4
            assert k == 15 and loader.stats()["transform"] > 0

    def fails(b):
        if b.index == 2:
            raise KeyError("mine")
        return b

    for threads in (0, 3):
        with shardify.Loader(path, 4, framework="numpy", transform=fails, transform_threads=threads) as loader:
            it = iter(loader)
            next(it), next(it)
            with pytest.raises(KeyError, match="mine"):
                next(it)
            assert loader.state_dict()["position"] == 8


def test_copies_are_yours_for_ever(tmp_path):
    path = numbered(tmp_path / "s", 3000)
    for framework in FRAMEWORKS:
        with shardify.Loader(path, 10, framework=framework, device="cpu", shuffle="global") as loader:
            batches = list(loader)
            batches[0]["x"][:] = -1  # and may be written to
            again = list(loader)
            for b in batches[1:] + again:
                assert b["x"].tolist() == b.ids.tolist()
        assert batches[1]["x"].tolist() == batches[1].ids.tolist()


def test_memory_of_copies_is_used_again(tmp_path):
    """Large batches come in the same few blocks as long as no batch is kept."""
    schema = [{"name": "x", "dtype": "f64", "shape": [400]}]
    import fixture

    path = fixture.write(tmp_path / "s", schema, [{"x": np.full(400, i)} for i in range(40)])
    with alone(path, 10, framework="numpy") as loader:
        seen, kept = set(), []
        for _ in range(20):
            for b in loader:
                seen.add(b["x"].ctypes.data)
        assert len(seen) <= 3
        for _ in range(5):
            kept += [b["x"] for b in loader]
        assert len({a.ctypes.data for a in kept}) == 20
        assert all(a[:, 0].tolist() == list(range(10 * (k % 4), 10 * (k % 4) + 10)) for k, a in enumerate(kept))


def test_casts(tmp_path):
    import fixture

    schema = [{"name": "x", "dtype": "u8", "shape": [2, 3]}, {"name": "y", "dtype": "i32"}]
    rows = [{"x": np.arange(6).reshape(2, 3) + i, "y": i} for i in range(8)]
    path = fixture.write(tmp_path / "s", schema, rows)
    cast = {"x": {"dtype": "float32", "scale": [0.5, 2], "shift": [1, 0], "axis": 0}, "y": "int64"}
    for framework in FRAMEWORKS:
        with shardify.Loader(path, 4, framework=framework, device="cpu", cast=cast) as loader:
            b = next(iter(loader))
            x = np.stack([r["x"] for r in rows[:4]]) * np.array([0.5, 2])[:, None] + np.array([1, 0])[:, None]
            assert same(x.astype("f4"), as_numpy(b["x"])) and same(np.arange(4), as_numpy(b["y"]))
            assert {f.name: f.dtype for f in loader.schema} == {"x": "f32", "y": "i64"}
    if torch is not None:
        with shardify.Loader(path, 4, device="cpu", cast={"x": (torch.bfloat16, 1 / 255)}) as loader:
            assert next(iter(loader))["x"].dtype == torch.bfloat16
    for wrong in ({"x": "text"}, {"x": {"scale": 2}}, {"y": "i8"}, {"z": "f32"}):
        with pytest.raises(ValueError, match="cast"):
            shardify.Loader(path, 4, framework="numpy", cast=wrong)


def test_mixtures_and_draws(tmp_path):
    a, b = numbered(tmp_path / "a", 300), numbered(tmp_path / "b", 100)
    with shardify.Loader({a: 0.75, b: 0.25}, 40, shuffle="global", framework="numpy") as loader:
        for batch in itertools.islice(loader, 5):
            assert 6 <= (batch.ids >= 300).sum() <= 14
    keep = np.zeros(300, bool)
    keep[[7, 9, 200]] = True
    with shardify.Loader(a, 1, indices=keep, framework="numpy") as loader:
        assert numbers(loader) == [[7], [9], [200]]
    with shardify.Loader(a, 50, weights=keep, framework="numpy", samples=100) as loader:
        assert len(loader) == 2 and {v for b in numbers(loader) for v in b} == {7, 9, 200}
    with pytest.raises(TypeError, match="indices"):
        shardify.Loader(a, 1, indices=[0.5], framework="numpy")
    with pytest.raises(ValueError, match="999"):
        shardify.Loader(a, 1, indices=[999], framework="numpy")
    with pytest.raises(ValueError, match="no samples"):
        shardify.Loader(a, 1, indices=[], framework="numpy")


def test_ranks(monkeypatch, tmp_path):
    from shardify import ranks

    def find(rank=None, world=None, **env):
        return ranks.find(rank, world, env)

    assert find() == (0, 1, 1, "")
    assert find(2, 4, LOCAL_WORLD_SIZE="2") == (2, 4, 2, "arguments")
    assert find(RANK="3", WORLD_SIZE="8", LOCAL_WORLD_SIZE="4")[:3] == (3, 8, 4)
    assert find(SLURM_PROCID="5", SLURM_NTASKS="6", SLURM_NTASKS_PER_NODE="3")[:3] == (5, 6, 3)
    assert find(SLURM_PROCID="0", SLURM_NTASKS="6", SLURM_STEP_NUM_TASKS="1")[:3] == (0, 1, 1)
    assert find(SLURM_STEP_TASKS_PER_NODE="4(x2),3", SLURM_PROCID="9", SLURM_STEP_NUM_TASKS="11")[:3] == (9, 11, 4)
    with pytest.raises(ValueError, match="WORLD_SIZE"):
        find(RANK="1")
    with pytest.raises(ValueError, match="both"):
        find(1, None)
    with pytest.raises(ValueError, match="'one'"):
        find(RANK="one", WORLD_SIZE="2")
    path = numbered(tmp_path / "s", 12)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    with shardify.Loader(path, 2, framework="numpy") as loader:
        assert (loader.rank, loader.world_size, len(loader)) == (1, 3, 2)
        assert any("RANK and WORLD_SIZE" in n for n in loader.notes())
        assert numbers(loader) == [[2, 3], [8, 9]]


def test_stats_notes_and_synthetic(make, tmp_path):
    path = make("fixed", n=N, shards=SHARDS)
    trace = tmp_path / "trace.json"
    with shardify.Loader(path, 8, framework="numpy", trace=trace, synthetic=True) as loader:
        for _ in range(3):
            for b in loader:
                assert b["x"].shape == (8, 3, 2)
        s = loader.stats()
        assert s["batches"] == 24 and s["samples"] == 192 and s["utilization"] > 0 and s["verdict"]
        assert "tier" in s and loader.notes() and "64 samples" in repr(loader)
    assert json.loads(trace.read_text()) and "closed" in repr(loader)
    loader.close()  # twice is fine
    with pytest.raises(shardify.ClosedError):
        next(iter(loader))
    with pytest.raises(shardify.ClosedError):
        loader.stats()


def test_a_loader_without_batches_says_so(tmp_path):
    """Once, with both numbers; not where the samples come in a shorter batch."""
    path = numbered(tmp_path / "s", 100)
    with pytest.warns(UserWarning, match="100 samples, batch_size=60 on 2 ranks and drop_last want 120") as seen:
        with shardify.Loader(path, 60, framework="numpy", drop_last=True, rank=0, world_size=2) as loader:
            assert len(loader) == 0 and list(loader) == [] and list(loader) == []
    assert len(seen) == 1 and seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with shardify.Loader(path, 101, framework="numpy", drop_last=False) as loader:
            assert [b.rows for b in loader] == [100]


def test_ids_on_the_host_are_those_of_the_device(tmp_path):
    path = numbered(tmp_path / "s", 50)
    with shardify.Loader(path, 8, shuffle="global", device="cpu", framework="numpy", ids="device", last="pad") as loader:
        for b in loader:
            assert b.device_ids is b.ids and pickle.loads(pickle.dumps(b)).device_ids.tolist() == b.ids.tolist()
    with shardify.Loader(path, 8, device="cpu", framework="numpy") as loader:
        with pytest.raises(AttributeError, match='ids="device"'):
            next(iter(loader)).device_ids
    with pytest.raises(ValueError, match="ids"):
        shardify.Loader(path, 8, ids="gpu")
