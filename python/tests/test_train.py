"""The demo's training: loss goes down; killed in an epoch and resumed it sees the same samples."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import fixture
import numpy as np
import pytest

import shardify

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEMO = os.path.join(ROOT, "testdata", "demo")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits") / "set"
    with np.load(os.path.join(DEMO, "digits.npz")) as z:
        x, y = z["x"], z["y"]
    schema = [{"name": "x", "dtype": "u8", "shape": [8, 8]}, {"name": "y", "dtype": "i64"}]
    rows = [{"x": a, "y": b} for a, b in zip(x, y)]
    fixture.write(folder, schema, rows, shards=[900, len(rows) - 900])
    try:
        shardify.Loader(str(folder), 8, device="cpu").close()
    except shardify.UnsupportedError as e:
        pytest.skip(str(e))
    return folder


@pytest.mark.parametrize("model", ["numpy", "PyTorch"])
def test_a_killed_run_goes_on_where_it_was(model, digits, tmp_path):
    path = [os.path.join(ROOT, "python")]
    if model == "PyTorch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    else:  # hide it
        (tmp_path / "torch.py").write_text("raise ImportError('hidden')\n")
        path.insert(0, str(tmp_path))
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(path))
    cmd = [sys.executable, os.path.join(DEMO, "train.py"), str(digits), "--epochs", "4"]
    p = subprocess.run(cmd, env=env, capture_output=True, text=True, timeout=120)
    assert p.returncode == 0, p.stdout + p.stderr
    assert "model: " + model in p.stdout and "in its order; the losses are the same" in p.stdout
    losses = [float(x) for x in re.findall(r"mean loss ([0-9.]+)", p.stdout)]
    assert len(losses) == 4 and losses[-1] < 0.5 * losses[0]
    killed, steps = map(int, re.search(r"after step (\d+) of (\d+)", p.stdout).groups())
    assert steps // 4 < killed < steps // 2, "killed in the middle of the second epoch"
