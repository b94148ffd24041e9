"""Loaders that run for long, are interrupted, killed, and used by workers: batches by a budget, of sparse rows, of graphs, and from files.
SHARDIFY_LONG runs 50 epochs and more restarts."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap

import fixture
import numpy as np
import pytest
from loading import PYTHON, needs_library, run

pytestmark = needs_library

LONG = bool(os.environ.get("SHARDIFY_LONG"))
N = 600


def some(*ways):
    """All of them in the long form, two else."""
    return ways if LONG else ways[:2]


SCHEMA = [
    {"name": "X/data", "dtype": "f32", "levels": 1, "counter": "X", "attrs": {"sparse_columns": "500"}},
    {"name": "X/indices", "dtype": "i32", "levels": 1, "counter": "X", "attrs": {"sparse_columns": "500"}},
    {"name": "x", "dtype": "f32", "shape": [8], "levels": 1, "counter": "n"},
    {"name": "edge_index", "dtype": "i64", "shape": [2], "levels": 1, "counter": "e"},
    {"name": "k", "dtype": "i64"},
]
WAYS = {
    "budget": dict(budget={"X/data": 3000}, columns=["X/data", "X/indices", "k"], tier="pinned"),
    "budget, padded": dict(budget={"X/data": 3000}, columns=["X/data", "k"], jagged="pad"),
    "budget, lent": dict(budget={"X/data": 3000}, columns=["X/data", "k"], copy=False),
    "sparse": dict(batch_size=40, columns=["X/*", "k"], sparse="dense"),
    "sparse by a budget": dict(budget={"X/data": 3000}, columns=["X/*", "k"], sparse="dense", tier="stream"),
    "graph": dict(batch_size=40, columns=["x", "edge_index", "k"], collate="graph"),
    "graph by a budget": dict(budget={"x": 900, "edge_index": 1500}, columns=["x", "edge_index", "k"], collate="graph"),
    "stream": dict(batch_size=40, tier="stream"),
    "block": dict(batch_size=40, tier="stream", shuffle="block"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    r = np.random.default_rng(5)
    rows = []
    for k in range(N):
        columns, n, e = np.sort(r.choice(500, int(r.integers(0, 200)), replace=False)), int(r.integers(1, 30)), int(r.integers(0, 60))
        row = {"X/data": r.random(len(columns), np.float32), "X/indices": columns.astype("i4"), "k": k}
        rows.append({**row, "x": r.random((n, 8), np.float32), "edge_index": r.integers(0, n, (e, 2))})
    folder = tmp_path_factory.mktemp("lasting") / "set"
    fixture.write(folder, SCHEMA, rows, shards=[250, 350])
    return str(folder)


def given(way):
    return {"shuffle": "global", "seed": 2, "last": "short", "framework": "numpy", "device": "cpu", "workers": 2, **WAYS[way]}


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
@pytest.mark.parametrize("way", WAYS)
def test_memory_stays(data, way):
    """An epoch of a leak of every batch takes more than what memory may grow by in a half of the epochs."""
    epochs = 50 if LONG else 24
    out = run(
        """
        import gc, os, json
        import shardify
        given, epochs = json.loads(%r), %d
        def rss():
            gc.collect()
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        def kilobytes(v):
            if isinstance(v, dict):
                return sum(map(kilobytes, v.values()))
            return getattr(v, "nbytes", 0)
        size = 0
        with shardify.Loader(%r, **given) as loader:
            for epoch in range(epochs):
                for batch in loader:
                    size += kilobytes(dict(batch)) if epoch == 0 else 0
                if epoch == epochs // 2:
                    half = rss()
            print(json.dumps([rss() - half, size]))
        """
        % (json.dumps(given(way)), epochs, data)
    )
    grown, epoch = json.loads(out)
    assert epoch > 100_000
    assert grown < max(epoch * (epochs - epochs // 2 - 1) // 2, 3 << 20), "memory grew by %d KiB" % (grown >> 10)


@pytest.mark.parametrize("way, threads", some(("budget", 0), ("sparse", 2), ("graph by a budget", 0), ("stream", 2), ("stream", 0), ("budget, lent", 0)))
def test_an_interrupt_ends_an_epoch_at_once(data, way, threads):
    out = run(
        """
        import faulthandler, json, os, signal, threading, time
        faulthandler.dump_traceback_later(240, exit=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
        import shardify
        loader = shardify.Loader(%r, transform=lambda b: b, transform_threads=%d, **json.loads(%r))
        for batch in loader:
            pass
        sent = []
        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.2, send).start()
        try:
            while True:
                for batch in loader:
                    pass
        except KeyboardInterrupt:
            late = time.monotonic() - sent[0]
        # It goes on from there, which may be the end of an epoch.
        state = loader.state_dict()
        rest = sum(1 for b in loader) or sum(1 for b in loader)
        print(late < 100, rest > 0, state["epoch"] > 0)
        loader.close()
        """
        % (data, threads, json.dumps(given(way)))
    )
    assert out == "True True True\n"


STEP = """
import json, sys
import shardify
given, state = json.loads(sys.argv[2]), json.loads(sys.argv[3])
with shardify.Loader(sys.argv[1], **given) as loader:
    if state:
        loader.load_state_dict(state)
    for batch in loader:
        print(json.dumps([batch.ids.tolist(), loader.state_dict()]), flush=True)
print("end", flush=True)
"""


@pytest.mark.parametrize("way", some("budget", "block", "sparse by a budget", "graph"))
def test_killed_at_a_batch_and_gone_on_with(data, way):
    """What was printed before each kill and what comes after it is the epoch, each sample once."""
    argv = [sys.executable, "-c", textwrap.dedent(STEP), data, json.dumps(given(way))]
    env = {**os.environ, "PYTHONPATH": PYTHON}
    whole = subprocess.run([*argv, "null"], env=env, capture_output=True, text=True, check=True, timeout=300).stdout.splitlines()[:-1]
    want = [json.loads(line)[0] for line in whole]
    assert sorted(sum(want, [])) == list(range(N))
    dice, got, state, kills = random.Random(way), [], None, 0
    for _ in range(100):
        p = subprocess.Popen([*argv, json.dumps(state)], env=env, stdout=subprocess.PIPE, text=True)
        left = dice.randint(1, max(len(want) // 2, 1)) if kills < (8 if LONG else 2) else len(want) + 1
        ended = False
        for line in p.stdout:
            ended = line == "end\n"
            if ended:
                break
            ids, state = json.loads(line)
            got.append(ids)
            left -= 1
            if left == 0:
                p.send_signal(signal.SIGKILL)
                break
        p.stdout.close()
        p.wait(timeout=120)
        if ended:
            break
        kills += 1
    assert kills > 0 and got == want


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("way", some("sparse by a budget", "graph", "budget", "stream"))
def test_workers(data, tmp_path, way, method):
    """A process that is forked or spawned before the parent has a loader makes its own."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import faulthandler, json, multiprocessing, sys
            import shardify

            def work(folder, given, rank, q):
                faulthandler.dump_traceback_later(240, exit=True)
                with shardify.Loader(folder, rank=rank, world_size=2, **given) as loader:
                    q.put([[int(i) for b in loader for i in b.ids] for _ in range(2)])

            if __name__ == "__main__":
                folder, given = sys.argv[1], json.loads(sys.argv[2])
                context = multiprocessing.get_context(sys.argv[3])
                q = context.Queue()
                ps = [context.Process(target=work, args=(folder, given, rank, q)) for rank in range(2)]
                [p.start() for p in ps]
                got = [q.get(timeout=200) for _ in ps]
                [p.join() for p in ps]
                print(json.dumps([sorted(a + b) for a, b in zip(*got)]))
            """
        )
    )
    argv = [sys.executable, str(script), data, json.dumps(given(way)), method]
    out = subprocess.run(argv, env={**os.environ, "PYTHONPATH": PYTHON}, capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stderr
    assert json.loads(out.stdout) == [list(range(N))] * 2
