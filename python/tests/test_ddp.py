"""docs/guides/ddp.md as it is typed, on two processes: all samples once, equal steps, resumed under one rank."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys

import fixture
import numpy as np
import pytest

import shardify

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "guides", "ddp.md")

# Every batch's samples go to a file for each rank.
SPY = """
import json, os, shardify
plain = shardify.Loader.__iter__
def spied(self):
    with open("rank%d.of%d" % (self.rank, self.world_size), "a") as f:
        for batch in plain(self):
            print(json.dumps([batch.epoch, batch.index, batch.ids.tolist()]), file=f, flush=True)
            yield batch
shardify.Loader.__iter__ = spied
"""


def batches(folder, name):
    with open(folder / name) as f:
        return [json.loads(line) for line in f]


@pytest.fixture
def script(tmp_path):
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    try:
        shardify.Loader("none", 1)
    except shardify.UnsupportedError as e:
        pytest.skip(str(e))
    except shardify.ShardifyError:
        pass
    with open(PAGE, encoding="utf-8") as f:
        code = re.search(r"```python\n(.*?)```", f.read(), re.S).group(1)
    (tmp_path / "ddp.py").write_text(SPY + code)
    rng = np.random.default_rng(1)
    schema = [{"name": "x", "dtype": "u8", "shape": [8, 8]}, {"name": "y", "dtype": "i64"}]
    rows = [{"x": rng.integers(0, 16, (8, 8)), "y": rng.integers(0, 10)} for _ in range(3000)]
    fixture.write(tmp_path / "set", schema, rows, shards=[1600, 1400])
    return tmp_path


def run(folder, ranks):
    """What torchrun does; that of torch 1.13 does not work under Python 3.11."""
    env = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    env.update(PYTHONPATH=os.path.join(ROOT, "python"), OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore")
    running, place = [], socket.socket()
    if ranks > 1:  # kept until the end, so that no other process gets the port: rank 0 may listen on it all the same
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
        env.update(WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    for r in range(ranks):
        env = dict(env, RANK=str(r), LOCAL_RANK=str(r)) if ranks > 1 else env
        cmd = [sys.executable, "ddp.py", "set"]
        running.append(subprocess.Popen(cmd, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    try:
        out = [p.communicate(timeout=120)[0].decode() for p in running]
    finally:
        for p in running:
            p.kill()
            p.wait()
        place.close()
    assert all(p.returncode == 0 for p in running), "".join(out)
    return "".join(out)


def test_ranks_share_the_samples_and_one_goes_on_with_what_is_left(script):
    out = run(script, 2)
    assert "rank 0 of 2: epoch 1, 23 batches" in out and "rank 1 of 2: epoch 1, 23 batches" in out
    ranks = [batches(script, "rank%d.of2" % r) for r in range(2)]
    assert [b[:2] for b in ranks[0]] == [b[:2] for b in ranks[1]] == [[e, k] for e in range(2) for k in range(23)]
    for e in range(2):
        ids = [i for r in ranks for epoch, _, batch in r if epoch == e for i in batch]
        assert len(ids) == len(set(ids)) == 2 * 23 * 64
    # The last checkpoint is that of step 20 of epoch 1. One process goes on: each sample that is left comes once.
    run(script, 1)
    seen = [i for r in ranks for epoch, k, batch in r if epoch == 1 and k < 20 for i in batch]
    rest = [i for epoch, _, batch in batches(script, "rank0.of1") for i in batch]
    assert len(rest) == len(set(rest)) == (3000 - 20 * 128) // 64 * 64 and not set(rest) & set(seen)
