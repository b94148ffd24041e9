"""Fields that are the same for all samples."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest

import shardify
from shardify.manifest import load
from shardify.static import values

GRID = os.path.join(os.path.dirname(__file__), "..", "..", "readers", "hdf5", "testdata", "grid_a.nc")


def grid(out, **more):
    shardify.convert(GRID, str(out), columns=["plain", "time"], **more)
    return str(out)


def test_static_fields(tmp_path):
    whole_path = grid(tmp_path / "a", static=["lsm"])
    whole = shardify.open(whole_path)
    part = shardify.open(grid(tmp_path / "b", static=["lsm"], sel="latitude=-30..60", format="wds"))
    lsm = whole.static["lsm"]
    assert lsm.shape == (7, 12) and lsm.dtype == np.float32
    assert np.array_equal(part.static["lsm"], lsm[1:5])
    assert np.array_equal(pickle.loads(pickle.dumps(whole)).static["lsm"], lsm)
    m = load(whole_path)
    files = [{**f, "digest": "xxh3:" + "0" * 32} for f in m.raw["files"]]
    with pytest.raises(shardify.SchemaError, match="static fields of .* are others"):
        values([m, replace(m, raw={**m.raw, "files": files})])
    plain = grid(tmp_path / "plain")
    assert shardify.open(plain).static == {}
    assert shardify.open([whole_path, plain]).static == {}


def test_static_fields_that_are_gone(tmp_path):
    a = grid(tmp_path / "a", static=["lsm"])
    name = os.path.join(a, "static.safetensors")
    os.rename(name, name + ".away")
    with pytest.raises(shardify.CorruptError, match="static.safetensors"):
        shardify.open(a).static
    with open(os.path.join(a, "shardify.json"), encoding="utf-8") as f:
        assert [x["name"] for x in json.load(f)["files"]] == ["static.safetensors"]
