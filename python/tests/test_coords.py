"""Coordinates of grids: what the manifest keeps of the inputs."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest

import shardify
from shardify.manifest import Manifest, coords

GRID = os.path.join(os.path.dirname(__file__), "..", "..", "readers", "hdf5", "testdata", "grid_a.nc")


def grid(out, sel, **more):
    shardify.convert(GRID, str(out), sel=sel, channels="x=deep@850,plain", **more)
    return str(out)


def test_coordinates_of_what_was_taken(tmp_path):
    a = grid(tmp_path / "a", "latitude=-30..60,longitude=-60..30")
    ds = shardify.open(a)
    assert ds.field("x").dims == ["channel", "latitude", "longitude"]
    assert sorted(ds.coords) == ["channel", "latitude", "latitude.weight_area", "latitude.weight_cos", "longitude"]
    lat = ds.coords["latitude"]
    assert lat.dtype == np.float32 and np.array_equal(lat, [60, 30, 0, -30])
    cos = np.cos(np.deg2rad(lat.astype("f8")))
    assert np.allclose(ds.coords["latitude.weight_cos"], cos / cos.mean(), rtol=1e-14)
    edges = np.sin(np.deg2rad([75, 45, 15, -15, -45]))
    assert np.allclose(ds.coords["latitude.weight_area"], -np.diff(edges) / -np.diff(edges).mean(), rtol=1e-14)
    assert np.array_equal(ds.coords["longitude"], [300, 330, 0, 30])
    assert list(ds.coords["channel"]) == ["deep@850", "plain"]
    assert ds.field("x").shape == tuple(len(ds.coords[d]) for d in ds.field("x").dims)
    b = grid(tmp_path / "b", "latitude=-60..30,longitude=-60..30")
    with pytest.raises(shardify.SchemaError, match="coordinate latitude has other values"):
        shardify.open([a, b]).coords
    assert shardify.open([a, a]).coords["latitude"][0] == 60


def test_coordinates_of_several_sets():
    def manifest(**coords):
        return Manifest("set", "mmap", 0, False, (), {}, (), {}, "", {"coords": coords})

    def floats(kind, *values):
        return {"dtype": kind, "values": list(values)}

    single = manifest(lat=floats("f32", 0.1, 1), **{"lat.weight_cos": floats("f64", 0.90001, 1.1)})
    double = manifest(lat=floats("f64", 0.1, 1), **{"lat.weight_cos": floats("f64", 0.9, 1.1)})
    both = coords([double, single])
    assert sorted(both) == ["lat", "lat.weight_cos"] and both["lat"].dtype == np.float64
    assert coords([manifest(lat=floats("i64", 0, 1)), manifest(lat=floats("f64", 0, 1.0000001))])["lat"][1] == 1
    assert coords([manifest(), double, single]) == {}
    for other in (floats("f64", 0.2, 1), floats("f64", 0.1, 1, 2), {"dtype": "txt", "values": ["0.1", "1"]}):
        with pytest.raises(shardify.SchemaError, match="coordinate lat has other values"):
            coords([manifest(), double, manifest(lat=other)])


def test_figures_of_channels(tmp_path):
    a = grid(tmp_path / "a", "latitude=-30..60")
    x = shardify.open(a).column("x")[:].astype("f8")
    run = [os.environ["SHARDIFY"], "inspect", a, "--npy", str(tmp_path / "figures")]
    assert "x[plain]" in subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name, want in (("mean", x.mean((0, 2, 3))), ("std", x.std((0, 2, 3))), ("min", x.min((0, 2, 3))), ("max", x.max((0, 2, 3)))):
        got = np.load(tmp_path / "figures" / ("x.%s.npy" % name))
        assert got.shape == (2, 1, 1) and got.dtype == np.float32
        assert np.array_equal(got.ravel(), want.astype("f4")), name
    assert np.load(tmp_path / "figures" / "time.mean.npy").shape == ()
    b = grid(tmp_path / "b", "latitude=-30..60", augment=["normalise=x,by=first"])
    ds = shardify.open(b)
    assert np.allclose([float(v) for v in ds.field("x").attrs["normalise.mean"].split(",")], x.mean((0, 2, 3)), rtol=1e-12)
    y = ds.column("x")[:].astype("f8")
    assert np.allclose(y.mean((0, 2, 3)), 0, atol=1e-9) and np.allclose(y.std((0, 2, 3)), 1)
