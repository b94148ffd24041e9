"""What `inspect --croissant` writes is Croissant, says mlcroissant."""

from __future__ import annotations

import json
import os
import subprocess

import fixture
import pytest
from conftest import KINDS

import shardify

PROGRAM = os.environ.get("SHARDIFY", os.path.join(os.path.dirname(__file__), "..", "..", "bin", "shardify"))
pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="%s is not built" % PROGRAM)


def records(folder, out):
    """The record sets by name, after a check of all."""
    mlc = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    subprocess.run([PROGRAM, "inspect", folder, "--croissant", str(out)], check=True)
    ds = mlc.Dataset(jsonld=str(out))  # raises if it is not a data set
    assert not ds.metadata.ctx.issues.errors
    manifest = shardify.open(folder).manifest
    rows = list(ds.records("shards"))
    assert [(r["shards/file"], r["shards/samples"], r["shards/digest"]) for r in rows] == [(s["name"], s["samples"], s["digest"]) for s in manifest["shards"]]
    return {r.id: r for r in ds.metadata.record_sets}


@pytest.mark.parametrize("kind,format", KINDS)
def test_every_kind_of_field(make, kind, format, tmp_path):
    folder = make(kind, format)
    ds = shardify.open(folder)
    sets = records(folder, tmp_path / "croissant.json")
    assert [f.name for f in sets["samples"].fields] == ds.fields
    shapes = {f.name: f.array_shape for f in sets["samples"].fields if f.is_array}
    assert kind != "fixed" or shapes == {"x": "3,2"}
    assert kind != "jagged" or shapes["Jet_p4"] == "-1,4"
    if "cls" in ds.fields and ds.field("cls").labels:
        assert [row["names/cls/name"] for row in sets["names/cls"].data] == ds.labels("cls")


def test_odd_names(tmp_path):
    odd = 'a "b" é|`x`/y?<z>'
    folder = fixture.write(tmp_path / "set", [{"name": odd, "dtype": "f32"}], [{odd: 1}])
    assert [f.name for f in records(folder, tmp_path / "c.json")["samples"].fields] == [odd]
    with open(tmp_path / "c.json", encoding="utf-8") as f:
        assert json.load(f)["conformsTo"].endswith("/1.1")
