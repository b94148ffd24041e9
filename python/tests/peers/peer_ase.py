"""Random databases of ASE, SQLite and LMDB: samples have the values that ASE reads.

python3 peer_ase.py WORK     SHARDIFY names the program; FILES files from SEED
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from typing import Any, Dict, List

import ase
import numpy as np
from ase.calculators.singlepoint import SinglePointCalculator
from ase.db import connect
from expect import main
from safetensors import safe_open

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "ase")
FILES, SEED = int(os.environ.get("FILES", "200")), int(os.environ.get("SEED", "1"))


def converted(path: str) -> List[Dict[str, Any]]:
    """The values of each sample of the set of a database; what is missing is not there."""
    out = path + "-set"
    command = [BINARY, "convert", path, "-o", out, "--format", "mmap", "--jobs", "2", "--null-items", "fill", "--shard-size", "64KiB"]
    p = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 0, "%s: %s" % (path, p.stderr)
    rows: List[Dict[str, Any]] = []
    for name in sorted(n for n in os.listdir(out) if n.endswith(".safetensors")):
        with safe_open(os.path.join(out, name), "numpy") as f:
            have, meta = {k: f.get_tensor(k) for k in f.keys()}, f.metadata()
        part: List[Dict[str, Any]] = [{} for _ in range(int(meta["shardify.samples"]))]
        for field in json.loads(meta["shardify.schema"]):
            n = field["name"]
            for i, sample in enumerate(part):
                if n + "#valid" in have and not have[n + "#valid"][i]:
                    continue
                if field.get("levels", 0) == 0:
                    sample[n] = have[n][i]
                    continue
                ends = have[field.get("counter", n) + "#offsets"]
                value = have[n + "#values"][ends[i] : ends[i + 1]]
                sample[n] = value.tobytes().decode() if field.get("media") == "txt" else value
        rows += part
    shutil.rmtree(out)
    return rows


def same(what: str, got: Any, want: Any) -> None:
    if isinstance(want, str):
        assert got == want, "%s: %r, want %r" % (what, got, want)
        return
    g, w = np.asarray(got), np.asarray(want)
    assert g.shape == w.shape, "%s: shape %r, want %r" % (what, g.shape, w.shape)
    if w.dtype.kind == "f":
        assert g.astype("f8").tobytes() == w.astype("f8").tobytes(), "%s: %r, want %r" % (what, g, w)
    else:
        assert np.array_equal(g, w), "%s: %r, want %r" % (what, g, w)


def write(r: random.Random, path: str) -> None:
    g = np.random.default_rng(r.randrange(1 << 30))
    every = {k: r.random() < 0.5 for k in ("tags", "momenta", "magmoms", "charges", "masses", "cell", "calc")}
    sqlite = path.endswith(".db")
    with connect(path, **({"use_lock_file": False} if sqlite else {})) as db:
        for k in range(r.choice([1, 3, 40])):
            n = r.choice([1, 2, 3, 6, 9, 30])
            a = ase.Atoms(g.integers(1, 100, n), g.normal(size=(n, 3)) * 10.0 ** r.randrange(-3, 4))
            if every["cell"]:
                a.cell, a.pbc = g.normal(size=(3, 3)), [r.random() < 0.5 for _ in range(3)]
            if every["tags"]:
                a.set_tags(g.integers(1, 5, n))
            if every["momenta"]:
                a.set_momenta(g.normal(size=(n, 3)))
            if every["magmoms"]:
                a.set_initial_magnetic_moments(g.normal(size=n))
            if every["charges"] and r.random() < 0.8:
                a.set_initial_charges(g.normal(size=n))
            if every["masses"]:
                a.set_masses(g.random(n) + 1)
            if every["calc"] and r.random() < 0.9:
                results: Dict[str, Any] = {"energy": r.choice([-3.0, float(g.normal())]), "forces": g.normal(size=(n, 3))}
                if r.random() < 0.5:
                    results.update(stress=g.normal(size=6), dipole=g.normal(size=3))
                a.calc = SinglePointCalculator(a, **results)
            pairs = {"name": r.choice(["bulk", "two words", "ü \"q\" \\"]), "gap": float(g.normal()), "count": r.randrange(1 << 30), "good": r.random() < 0.5}
            data = {"dos": g.normal(size=4), "grid": g.normal(size=(2, 3)), "whole": g.integers(-9, 9, 3)} if r.random() < 0.5 else {}
            db.write(a, key_value_pairs={k: v for k, v in pairs.items() if r.random() < 0.8}, data=data)
        if r.random() < 0.5 and k > 4:
            db.delete([2, k])
    if hasattr(db, "close"):
        db.close()


NAMES = {"positions": "pos", "numbers": "Z"}


def check(r: random.Random, path: str) -> int:
    write(r, path)
    sqlite = path.endswith(".db")
    db = connect(path, **({"use_lock_file": False} if sqlite else {"readonly": True}))
    wanted = list(db.select())
    got = converted(path)
    assert len(got) == len(wanted), "%s: %d rows, want %d" % (path, len(got), len(wanted))
    for f, row in zip(got, wanted):
        at = "%s id %d " % (path, row.id)
        same(at + "id", f["id"], row.id)
        for k in ("numbers", "positions", "tags", "momenta", "initial_magmoms", "initial_charges", "masses", "forces", "stress", "dipole", "energy"):
            if k in row:
                same(at + k, f[NAMES.get(k, k)], row[k])
            else:
                assert NAMES.get(k, k) not in f or np.isnan(f[k]).all(), at + k
        if np.asarray(row.cell).any():
            same(at + "cell", f["Lattice"], np.asarray(row.cell))
        else:
            assert "Lattice" not in f, at + "a cell of zeros"
        same(at + "pbc", f["pbc"], row.pbc)
        for k, v in row.key_value_pairs.items():
            same(at + k, f[k], v)
        for k, v in row.data.items():
            same(at + k, f["data." + k], v)
    return len(got)


def run() -> str:
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    rows = 0
    for i in range(FILES):
        rows += check(random.Random("%d ase %d" % (SEED, i)), os.path.join(WORK, "%d%s" % (i, (".db", ".aselmdb")[i % 2])))
    return "%d databases, %d rows as ASE %s reads them" % (FILES, rows, ase.__version__)


main([("ase", run)])
