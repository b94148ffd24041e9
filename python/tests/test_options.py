"""Grouped arguments of Loader are its keywords; and what starting costs."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time

import pytest
from loading import PYTHON, needs_library

import shardify
from shardify import loaderconfig, options

PROGRAM = os.environ.get("SHARDIFY", os.path.join(os.path.dirname(PYTHON), "bin", "shardify"))


@needs_library
def test_a_device_is_its_keywords(make, tmp_path):
    folder = make("fixed")
    (tmp_path / "stage").mkdir()
    at = shardify.Device("cpu", tier="staged", stage=tmp_path / "stage", keep_stage=True)
    for given in {"device": at}, {"device": "cpu", "tier": "staged", "stage": tmp_path / "stage", "keep_stage": True}:
        with shardify.Loader(folder, 4, framework="numpy", **given) as loader:
            assert loader.device == "host" and loader.stats()["tier"] == "staged" and loader.remaining == 6
    with pytest.raises(ValueError, match=r"tier=: device=Device\(...\) has it already"):
        shardify.Loader(folder, 4, framework="numpy", device=at, tier="stream")
    with pytest.raises(ValueError, match="tier='disk': want one of auto, device, pinned, staged, stream"):
        shardify.Loader(folder, 4, framework="numpy", device=shardify.Device("cpu", tier="disk"))  # type: ignore[arg-type]


def test_a_decode_is_its_keywords(make):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    fields = shardify.open(make("image")).schema
    grouped = loaderconfig.decoders(shardify.Decode("pillow", crop=8, flip=0.5, threads=2), None, None, fields, 7)
    plain = loaderconfig.decoders({"backend": "pillow", "flip": 0.5, "threads": 2}, None, 8, fields, 7)
    assert {k: vars(d.shaping) for k, d in grouped.items()} == {k: vars(d.shaping) for k, d in plain.items()}
    assert shardify.Decode().given() == {} and pickle.loads(pickle.dumps(shardify.Decode(seed=3))).given() == {"seed": 3}


def test_the_groups_have_all_arguments():
    import dataclasses
    import inspect

    from shardify import decode

    known = set(inspect.signature(decode.make).parameters) - {"device"}
    assert {f.name for f in dataclasses.fields(shardify.Decode)} == known
    assert {f.name for f in dataclasses.fields(shardify.Device)} <= set(inspect.signature(shardify.Loader.__init__).parameters)
    assert options.Framework.__args__ == shardify.frameworks.NAMES


def cpu(command):
    """Seconds of processors that a program takes, the best of some runs: other work does not count."""
    best = 1e9
    for _ in range(5):
        before = os.times()
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": PYTHON}, stdout=subprocess.DEVNULL)
        after = os.times()
        best = min(best, after.children_user + after.children_system - before.children_user - before.children_system)
    return best


def test_it_starts_at_once():
    text = "import sys, shardify; assert not {'torch', 'jax', 'PIL', 'grain'} & set(sys.modules)"
    alone = cpu([sys.executable, "-c", "import numpy"])
    took = cpu([sys.executable, "-c", text])
    print("import shardify: %.3f s of a processor, %.3f of them numpy's" % (took, alone))
    assert took - alone < 0.25 and took < 0.6


@pytest.mark.skipif(not os.path.exists(PROGRAM), reason="%s is not built" % PROGRAM)
def test_the_program_starts_at_once():
    start = time.perf_counter()
    took = cpu([PROGRAM, "version"])
    print("shardify version: %.3f s of a processor, %.3f s each" % (took, (time.perf_counter() - start) / 5))
    assert took < 0.1
