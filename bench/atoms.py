#!/usr/bin/env python3
"""Processor time of reading extended XYZ, beside ASE and the extxyz package (C).

    python3 bench/atoms.py WORK --out bench/ATOMS.md     SHARDIFY names the program; wants numpy, ase, extxyz

Frames of 8 to 80 atoms with positions and forces. Each program reads the same file to the end, in turns; ASE, the slowest,
reads the first tenth of it. shardify reads, plans and writes shards.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
from typing import Dict, List

import numpy as np

READ = {
    "ASE": "import ase.io; n = sum(len(a) for a in ase.io.iread(%r, index=':', format='extxyz'))",
    "extxyz (C)": "import extxyz; n = sum(1 for _ in extxyz.iread_dicts(%r))",
}
EMPTY = {"ASE": "import ase.io, ase.io.extxyz", "extxyz (C)": "import extxyz"}


def make(path: str, size: int) -> None:
    r = np.random.default_rng(1)
    with open(path, "wb", buffering=4 << 20) as f:  # in pages as large as those of a file that was copied or read
        while size > 0:
            n = int(r.integers(8, 81))
            frame = '%d\nLattice="9.0 0 0 0 9.0 0 0 0 9.0" Properties=species:S:1:pos:R:3:forces:R:3 energy=%.8f config_type=bulk pbc="T T T"\n' % (n, r.normal())
            frame += "".join("Si" + " %16.8f" * 6 % tuple(x) + "\n" for x in r.normal(size=(n, 6)))
            f.write(frame.encode())
            size -= len(frame)


def processor(command: List[str]) -> float:
    """Processor time of a program and what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    p = argparse.ArgumentParser(description="extended XYZ beside ASE and extxyz")
    p.add_argument("work")
    p.add_argument("--out")
    p.add_argument("--mb", type=int, default=320)
    p.add_argument("--rounds", type=int, default=5)
    a = p.parse_args()
    os.makedirs(a.work, exist_ok=True)
    whole, part, out = (os.path.join(a.work, n) for n in ("whole.extxyz", "part.extxyz", "set"))
    make(whole, a.mb * 1_000_000)
    make(part, a.mb * 100_000)
    rates: Dict[str, List[float]] = {"shardify": [], **{k: [] for k in READ}}
    for _ in range(a.rounds):
        shutil.rmtree(out, ignore_errors=True)
        used = processor([os.environ.get("SHARDIFY", "shardify"), "convert", whole, "-o", out, "--format", "mmap", "--jobs", "1", "--sync", "none", "-q"])
        rates["shardify"].append(os.path.getsize(whole) / used)
        for name, code in READ.items():
            path = part if name == "ASE" else whole
            used = processor([sys.executable, "-c", code % path]) - processor([sys.executable, "-c", EMPTY[name]])
            rates[name].append(os.path.getsize(path) / used)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, universal_newlines=True, cwd=os.path.dirname(os.path.abspath(__file__))).stdout.strip()
    mid = {k: statistics.median(v) / 1e6 for k, v in rates.items()}
    text = "# Atoms\n\nMade by `bench/atoms.py`. Extended XYZ of %d MB, frames of 8 to 80 atoms with positions and forces, in page cache: MB for each second of processor time, which the start of Python is not part of. " % a.mb
    text += "shardify also starts, plans and writes shards; ASE reads a tenth. The file is written in pieces of 4 MiB: in pieces of 8 KiB, which the page cache keeps as small pages, shardify takes a fifth more. %d rounds in turns on %d cores, load %.1f at the end; medians. Commit %s, Python %s, numpy %s.\n\n" % (a.rounds, os.cpu_count() or 0, os.getloadavg()[0], commit, platform.python_version(), np.__version__)
    text += "| program | MB a second | lowest to highest | shardify is faster |\n|---|---|---|---|\n"
    for name, list_of in rates.items():
        text += "| %s | %.1f | %.1f to %.1f | %s |\n" % (name, mid[name], min(list_of) / 1e6, max(list_of) / 1e6, "" if name == "shardify" else "%.1f times" % (mid["shardify"] / mid[name]))
    print(text)
    if a.out:
        with open(a.out, "w") as f:
            f.write(text)


main()
