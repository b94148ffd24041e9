"""Budgets and orders in the workers of torch's DataLoader: the batches of a Loader, whatever the number of workers.
Torch is not imported here, which takes longer than all the tests: test_loader_torch.py has those of DataLoader."""

from __future__ import annotations

import subprocess
import sys

import fixture
import numpy as np
import pytest

import shardify
from shardify import Budget, clib
from shardify.workers import Share

pytestmark = pytest.mark.skipif(not clib.available(), reason="the library behind shardify.Loader is not built")

N = 120
SCHEMA = [{"name": "tokens", "dtype": "i32", "levels": 1}, {"name": "n", "dtype": "i64"}]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    r = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("budget") / "set"
    fixture.write(folder, SCHEMA, [{"tokens": list(range(int(r.integers(0, 30)))), "n": k} for k in range(N)], shards=[50, 70])
    return str(folder)


def growing(epoch):
    return np.random.default_rng(epoch).permutation(N)[: 50 + 30 * epoch]


GIVEN = [
    dict(budget={"tokens": 100}, shuffle="global", seed=4),
    dict(budget=Budget({"tokens": 120}, window=60, padded=True), shuffle="block", seed=4),
    dict(budget={"n": 300}, order=growing),
    dict(batch_size=6, order=growing),
    dict(batch_size=6, order=growing(2)),
    dict(budget={"tokens": 90}, weights=np.arange(N) + 1.0, samples=77),
]


def ids(batches):
    return [b["n"].tolist() for b in batches]


@pytest.mark.parametrize("last", ["drop", "short"])
@pytest.mark.parametrize("given", GIVEN, ids=range(len(GIVEN)))
def test_workers_share_the_batches_of_a_loader(data, given, last):
    here = dict(framework="numpy", device="cpu", last=last, **given)
    for world, counts in ((1, (1, 2, 3)), (3, (2,))):
        for rank in range(world):
            whole = shardify.Loader(data, rank=rank, world_size=world, **here)
            want = [ids(whole) for _ in range(2)]
            for workers in counts:
                shares = [Share(data, here.get("batch_size"), worker=w, workers=workers, rank=rank, world_size=world, **{k: v for k, v in here.items() if k != "batch_size"}) for w in range(workers)]
                for epoch in range(2):
                    assert {s.batches() for s in shares} == {len(want[epoch])}
                    turns = [ids(s) for s in shares]
                    got = [turns[j % workers][j // workers] for j in range(sum(map(len, turns)))]
                    assert got == want[epoch]
                place = {**shares[0].state_dict(), "epoch": 1, "position": workers * world * (6 if "batch_size" in here else 1)}
                if "order" in here and callable(here["order"]):
                    place["order"] = shares[0]._state(1, 1)["order"]
                for s in shares:
                    s.load_state_dict(place)
                turns = [ids(s) for s in shares]
                assert [turns[j % workers][j // workers] for j in range(sum(map(len, turns)))] == want[1][workers:]


def test_length_without_the_library(data):
    """A process that only asks for the length can still be forked."""
    code = "from shardify import clib, workers; print(*(workers.batches(%r, None, 0, 1, dict(budget={'tokens': 100}, shuffle='global', seed=4), epoch) for epoch in range(2)), clib.loaded())"
    p = subprocess.run([sys.executable, "-c", code % data], stdout=subprocess.PIPE, check=True, text=True)
    whole = shardify.Loader(data, budget={"tokens": 100}, shuffle="global", seed=4, last="short", framework="numpy", device="cpu")
    first = len(whole)
    whole.set_epoch(1)
    assert p.stdout.split() == [str(first), str(len(whole)), "False"]
