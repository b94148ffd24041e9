"""Random extended XYZ: frames have the values that ASE and the extxyz package read.

python3 peer_atoms.py WORK     SHARDIFY names the program; FILES files from SEED
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Sequence

import ase
import ase.io
import extxyz
import numpy as np
from ase.calculators.singlepoint import SinglePointCalculator
from expect import Skip, main
from safetensors import safe_open

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "atoms")
FILES, SEED = int(os.environ.get("FILES", "1000")), int(os.environ.get("SEED", "1"))


def converted(path: str, options: Sequence[str] = ("--columns", "*")) -> List[Dict[str, Any]]:
    """The values of each sample of the set of a file; what is missing is not there."""
    out = os.path.join(WORK, os.path.basename(path) + "-set")
    command = [BINARY, "convert", path, "-o", out, "--format", "mmap", "--jobs", "1", *options]
    p = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 0, "%s: %s" % (path, p.stderr)
    frames: List[Dict[str, Any]] = []
    for name in sorted(n for n in os.listdir(out) if n.endswith(".safetensors")):
        with safe_open(os.path.join(out, name), "numpy") as f:
            have = {k: f.get_tensor(k) for k in f.keys()}
            meta = f.metadata()
        part: List[Dict[str, Any]] = [{} for _ in range(int(meta["shardify.samples"]))]
        for field in json.loads(meta["shardify.schema"]):
            n, levels = field["name"], field.get("levels", 0)
            for i, sample in enumerate(part):
                if n + "#valid" in have and not have[n + "#valid"][i]:
                    continue
                if levels == 0:
                    sample[n] = have[n][i]
                    continue
                ends = have[field.get("counter", n) + "#offsets"]
                lo, hi = ends[i], ends[i + 1]
                values = have[n + "#values"]
                if levels == 2:
                    inner = have[n + "#offsets1"]
                    sample[n] = [values[inner[j] : inner[j + 1]].tobytes().decode() for j in range(lo, hi)]
                else:
                    sample[n] = values[lo:hi].tobytes().decode() if field.get("media") == "txt" else values[lo:hi]
        frames += part
    shutil.rmtree(out)
    return frames


def same(what: str, got: Any, want: Any) -> None:
    if isinstance(want, str):
        assert got == want, "%s: %r, want %r" % (what, got, want)
        return
    if isinstance(want, dict):  # JSON
        assert json.loads(got) == want, "%s: %r, want %r" % (what, got, want)
        return
    g, w = np.asarray(got), np.asarray(want)
    if w.shape == () and g.shape == (1,):  # a vector in other frames
        w = w.reshape(1)
    assert g.shape == w.shape, "%s: shape %r, want %r" % (what, g.shape, w.shape)
    if w.dtype.kind == "f":
        g, w = g.astype("f8"), w.astype("f8")
        assert g.tobytes() == w.tobytes() or np.array_equal(g, w, equal_nan=True), "%s: %r, want %r" % (what, g, w)
    else:
        assert np.array_equal(g, w), "%s: %r, want %r" % (what, g, w)


SYMBOLS = ["H", "C", "O", "Si", "Cl", "Cu", "Og", "X"]


def by_ase(r: random.Random, path: str) -> int:
    """A file that ASE writes; compared with what ASE reads."""
    g = np.random.default_rng(r.randrange(1 << 30))
    periodic, forces, tags = r.random() < 0.7, r.random() < 0.6, r.random() < 0.5
    info = [k for k in ("weight", "count", "ok", "label", "vector", "whole", "matrix") if r.random() < 0.5]
    images = []
    for _ in range(r.choice([1, 2, 7, 40])):
        n = r.choice([1, 2, 5, 33])
        a = ase.Atoms([r.choice(SYMBOLS) for _ in range(n)], g.normal(size=(n, 3)) * 10 ** float(r.randrange(-3, 4)))
        if periodic:
            a.cell, a.pbc = g.normal(size=(3, 3)), [r.random() < 0.5 for _ in range(3)]
        made = {"weight": g.normal(), "count": r.randrange(1 << 20), "ok": r.random() < 0.5, "label": r.choice(["bulk", "two words", "ü"])}
        made.update(vector=g.normal(size=3), whole=g.integers(0, 99, 4), matrix=g.normal(size=(2, 4)))
        a.info.update({k: made[k] for k in info if k != "weight" or r.random() < 0.8})
        if tags:
            a.new_array("tag", g.integers(-5, 5, n))
            a.new_array("q", g.normal(size=n))
            a.new_array("fixed", g.integers(0, 2, n).astype(bool))
        if forces:
            a.calc = SinglePointCalculator(a, energy=float(g.normal() * 100), forces=g.normal(size=(n, 3)), stress=g.normal(size=6))
        images.append(a)
    ase.io.write(path, images, format="extxyz")
    return as_ase(path, converted(path), path)


def as_ase(path: str, got: List[Dict[str, Any]], text: str, leave: Any = ()) -> int:
    """Compare samples with what ASE reads, but for keys that are known to differ."""
    wanted = ase.io.read(text, ":", format="extxyz")
    assert len(got) == len(wanted), "%s: %d frames, want %d" % (path, len(got), len(wanted))
    for i, (f, a) in enumerate(zip([dict(f) for f in got], wanted)):
        at = "%s frame %d " % (path, i)
        same(at + "pos", f["pos"], a.positions)
        same(at + "Z", f["Z"], a.numbers)
        same(at + "pbc", f["pbc"], a.pbc)
        if a.cell.rank:
            same(at + "Lattice", f["Lattice"], a.cell.array)
        for k, v in a.info.items():
            if k not in leave and "comment" not in f:  # words of plain XYZ, which ASE makes keys of
                same(at + k, f[k], v)
        for k, v in a.arrays.items():
            if k not in ("positions", "numbers", *leave):
                same(at + k, f[k], v)
        results = a.calc.results if a.calc else {}
        for k, v in results.items():
            if k == "stress":  # ASE keeps six of nine
                s = f["stress"]
                v, f["stress"] = np.asarray(v), np.array([s[0, 0], s[1, 1], s[2, 2], s[1, 2], s[0, 2], s[0, 1]])
            same(at + k, f[k], v)
    return len(got)


def word(r: random.Random, kind: str) -> str:
    if kind == "i":
        return str(r.choice([0, -7, 12, r.randrange(-(1 << 31), 1 << 31)]))
    if kind == "f":
        x = r.choice([r.gauss(0, 1), r.gauss(0, 1) * 10 ** r.randrange(-300, 300), float(r.randrange(99))])
        return r.choice(["%r", "%.8f", "%.17e", "%.3G"]) % x if abs(x) < 1e15 else repr(x)
    if kind == "b":
        return r.choice("TF")
    return r.choice(["bulk", "a-b", "x.y", "C60"])


def by_grammar(r: random.Random, path: str) -> int:
    """A file in the forms that the libraries' specification has; compared with the extxyz package."""
    keys = {"k%d" % i: (r.choice("ifbs"), r.choice(["", "v", "w", "m"])) for i in range(r.randrange(6))}
    columns = [("c%d" % i, r.choice("RIS L".replace(" ", "")), r.choice([1, 1, 2, 3])) for i in range(r.randrange(4))]
    columns = [(n, t, 1 if t == "S" else c) for n, t, c in columns]
    lattice, blanks = r.random() < 0.5, r.choice([" ", "  ", "\t"])
    frames = r.choice([1, 3, 20])
    text = ""
    for _ in range(frames):
        n = r.choice([1, 2, 9])
        line = ["Properties=species:S:1:pos:R:3" + "".join(":%s:%s:%d" % c for c in columns)]
        if lattice:
            line.append('Lattice="%s"' % " ".join(word(r, "f") for _ in range(9)))
        for k, (kind, form) in keys.items():
            if kind == "s":
                line.append('%s=%s' % (k, r.choice(["bulk", '"two words"', '"it is = not"'])))
            elif form == "v":
                line.append("%s=[%s]" % (k, ", ".join(word(r, kind) for _ in range(3))))
            elif form == "w":
                line.append('%s="%s"' % (k, " ".join(word(r, kind) for _ in range(4))))
            elif form == "m":
                line.append("%s=[%s]" % (k, ", ".join("[%s]" % ", ".join(word(r, kind) for _ in range(3)) for _ in range(2))))
            else:
                line.append("%s=%s" % (k, word(r, kind)))
        r.shuffle(line)
        text += "%d\n%s\n" % (n, " ".join(line))
        for _ in range(n):
            cells = [r.choice(SYMBOLS)] + [word(r, "f") for _ in range(3)]
            for _, t, c in columns:
                cells += [word(r, {"R": "f", "I": "i", "S": "s", "L": "b"}[t]) for _ in range(c)]
            text += blanks.join(cells) + "\n"
    with open(path, "w") as f:
        f.write(text)
    return as_extxyz(path, converted(path), path)


def as_extxyz(path: str, got: List[Dict[str, Any]], text: str, leave: Any = ()) -> int:
    """Compare samples with what extxyz reads, but for keys that are known to differ."""
    wanted = list(extxyz.iread_dicts(text))
    assert len(got) == len(wanted), "%s: %d frames, want %d" % (path, len(got), len(wanted))
    for i, (f, a) in enumerate(zip(got, wanted)):
        at = "%s frame %d " % (path, i)
        for k, v in a.info.items():
            if k not in leave and (k != "comment" or v):  # an empty comment is missing
                same(at + k, f[k], v)
        for name, v in a.arrays.items():
            if name in leave:
                continue
            if v.dtype.kind == "U":
                assert f[name] == list(v), at + name
            else:
                same(at + name, f[name], v)
        if np.any(a.cell) and "Lattice" not in leave:
            same(at + "Lattice", f["Lattice"], np.asarray(a.cell).T)
    return len(got)


def check(which: Any, what: str, files: int) -> str:
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    frames = 0
    for i in range(files):
        frames += which(random.Random("%d %s %d" % (SEED, what, i)), os.path.join(WORK, "f%d.xyz" % i))
        os.remove(os.path.join(WORK, "f%d.xyz" % i))
    return "%d files, %d frames as %s reads them" % (files, frames, what)


CORPUS = os.environ.get("SHARDIFY_CORPUS_ATOMS") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "shared", "corpus", "atoms")
# What some files need: arrays that frames lack, a key and an array of one name, a key that is a number and a text.
OPTIONS = {"columns_differ.extxyz": ["--columns", "*", "--null-items", "fill"], "name_clash.extxyz": ["--columns", "*,!q"], "types_differ.extxyz": ["--columns", "*,!a"]}
# Keys that are left out so, and a cell in brackets, which extxyz has by columns.
LEFT = {"name_clash.extxyz": {"q"}, "types_differ.extxyz": {"a"}, "lattice.extxyz": {"Lattice"}}


def corpus() -> str:
    """Each text of the corpus as both libraries read it today, but for what its list says that they read in another way."""
    if not os.path.isdir(CORPUS):
        raise Skip("the corpus of atoms is not here")
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    counts = {"equal": 0, "differ": 0, "refuse": 0}
    files = 0
    for name in sorted(os.listdir(CORPUS)):
        if "xyz" not in name or not name.endswith(".json"):
            continue
        name = name[:-5]
        if name.endswith(".xz"):  # not read
            continue
        with open(os.path.join(CORPUS, name + ".json")) as f:
            oracles = json.load(f).get("oracles")
        path = os.path.join(CORPUS, name)
        got, text = converted(path, OPTIONS.get(name, ["--columns", "*"])), os.path.join(WORK, name.replace(".gz", "").replace(".zst", ""))
        plain(path, text)
        files += 1
        for library, compare in (("ase", as_ase), ("extxyz", as_extxyz)):
            says = (oracles or {}).get(library, "killed")
            if says.startswith("refuses"):
                try:
                    compare(name, got, text)
                except AssertionError:
                    raise
                except Exception:
                    counts["refuse"] += 1
                else:
                    raise AssertionError("%s: %s reads it" % (name, library))
            elif not says.startswith("killed"):
                compare(name, got, text, LEFT.get(name, set()) | set(says.split()[1:]))
                counts["equal" if says == "equal" else "differ"] += 1
    return "%d texts of the corpus beside ASE and extxyz: %d equal, %d but for keys that are known to differ, %d refused by the library" % (files, counts["equal"], counts["differ"], counts["refuse"])


def plain(path: str, text: str) -> None:
    """Unpack a file."""
    opened = gzip.open if path.endswith(".gz") else open
    if path.endswith(".zst"):
        if shutil.which("zstd") is None:
            raise Skip("no zstd here")
        with open(text, "wb") as f:
            subprocess.run(["zstd", "-dc", path], stdout=f, check=True)
        return
    with opened(path, "rb") as g, open(text, "wb") as f:  # type: ignore[operator]
        shutil.copyfileobj(g, f)


main([("atoms corpus", corpus), ("atoms ASE", lambda: check(by_ase, "ASE %s" % ase.__version__, FILES // 2)), ("atoms extxyz", lambda: check(by_grammar, "extxyz", FILES - FILES // 2))])
