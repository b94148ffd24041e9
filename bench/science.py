#!/usr/bin/env python3
"""Processor time of converting volumes, stacks and recordings, and of reading sections, beside their libraries.

    python3 bench/science.py WORK --out bench/SCIENCE.md     SHARDIFY names the program; wants numpy, nibabel, mrcfile, scipy, astropy, pydicom

A library reads each file and writes it with numpy.save. Each round runs the two after each other.
"""

from __future__ import annotations

import argparse
import glob
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
from typing import Any, Callable, Dict, List, Tuple

import mrcfile
import nibabel
import numpy as np
import page
import science_fdm
import scipy
from scipy.io import wavfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import shardify  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "bin/shardify")


def make(work: str) -> Dict[str, str]:
    """Folders of files."""
    r = np.random.default_rng(1)
    folders = {k: os.path.join(work, k) for k in ("nii.gz", "nii", "scaled", "mrcs", "wav")}
    for f in folders.values():
        shutil.rmtree(f, ignore_errors=True)
        os.makedirs(f)
    x, y, z = np.ogrid[:192, :192, :96]
    for i in range(6):  # a body with noise in empty space, as scans have it
        body = ((x - 96) ** 2 + (y - 90 - i) ** 2 + 3 * (z - 48) ** 2 < 7000) * (400 + x + y)
        a = (body + (body > 0) * r.normal(0, 20, (192, 192, 96))).astype("i2")
        image = nibabel.Nifti1Image(a, np.eye(4))
        image.to_filename(os.path.join(folders["nii.gz"], "%d.nii.gz" % i))
        image.to_filename(os.path.join(folders["nii"], "%d.nii" % i))
        name = os.path.join(folders["scaled"], "%d.nii" % i)
        image.to_filename(name)
        with open(name, "r+b") as f:
            f.seek(112)
            f.write(np.array([0.5, 3], "<f4").tobytes())
    for i in range(4):
        with mrcfile.new(os.path.join(folders["mrcs"], "%d.mrcs" % i)) as m:
            m.set_data(r.normal(0, 1, (1000, 128, 128)).astype("f4"))
            m.set_image_stack()
    for i in range(100):
        wavfile.write(os.path.join(folders["wav"], "%03d.wav" % i), 16000, r.integers(-9000, 9000, 16000 * 20).astype("i2"))
    return folders


def convert(source: str, out: str) -> float:
    """Seconds of the processor."""
    shutil.rmtree(out, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([BINARY, "convert", source, "-o", out, "-q", "--sync", "none", "--jobs", "1"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def saved(read: Callable[[str], Any]) -> Callable[[str, str], float]:
    def run(source: str, out: str) -> float:
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        start = page.processor()
        for name in sorted(os.listdir(source)):
            np.save(os.path.join(out, name), np.ascontiguousarray(read(os.path.join(source, name))))
        return page.processor() - start

    return run


def copied(source: str, out: str) -> float:
    shutil.rmtree(out, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["cp", "-r", source, out], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def nifti(name: str) -> Any:
    return nibabel.load(name).dataobj


def sections(work: str, source: str, count: int) -> Tuple[float, float]:
    """Seconds for random sections of a set, and by mrcfile.mmap, which opens the file of each."""
    ds = shardify.open(os.path.join(work, "out-mrcs"))
    at = np.random.default_rng(2).integers(len(ds), size=count)
    start = page.processor()
    a = sum(float(ds[int(i)]["image"].sum()) for i in at)
    ours = page.processor() - start
    files = sorted(glob.glob(os.path.join(source, "*.mrcs")))
    start, b = page.processor(), 0.0
    for i in at:
        with mrcfile.mmap(files[int(i) // 1000]) as m:
            b += float(m.data[int(i) % 1000].sum())
    theirs = page.processor() - start
    assert a == b, "other sections"
    return ours, theirs


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("work")
    p.add_argument("--out", default="")
    p.add_argument("--rounds", type=int, default=5)
    a = p.parse_args()
    os.makedirs(a.work, exist_ok=True)
    folders = {**make(a.work), **science_fdm.make(a.work)}
    cases: List[Tuple[str, str, str, Callable[[str, str], float]]] = [
        ("NIfTI, gzip, i16", "nii.gz", "nibabel", saved(nifti)),
        ("NIfTI, i16", "nii", "nibabel", saved(nifti)),
        ("NIfTI, i16 scaled to f64", "scaled", "nibabel", saved(nifti)),
        ("MRC stacks, f32", "mrcs", "`cp`", copied),
        ("WAV, i16", "wav", "scipy", saved(lambda name: wavfile.read(name)[1])),
        *science_fdm.cases(saved),
    ]
    found: Dict[str, List[Tuple[float, float]]] = {}
    for _ in range(a.rounds):
        for title, folder, _, peer in cases:
            ours = convert(folders[folder], os.path.join(a.work, "out-" + folder))
            found.setdefault(title, []).append((ours, peer(folders[folder], os.path.join(a.work, "peer"))))
        found.setdefault("random sections of stacks", []).append(sections(a.work, folders["mrcs"], 2000))
    size = {k: sum(os.path.getsize(os.path.join(f, n)) for n in os.listdir(f)) / 2**20 for k, f in folders.items()}
    rows = [(title, "%.0f MiB" % size[folder], peer) for title, folder, peer, _ in cases]
    rows.append(("random sections of stacks", "2,000 of 64 KiB", "mrcfile.mmap, a file opened for each"))
    lines = [
        "# Volumes, stacks and recordings",
        "",
        "Made by `bench/science.py`. Processor time, user and system, of `shardify convert --jobs 1` with its start, beside that of a library that reads each file and writes it with `numpy.save`, without its start; random sections are read in Python by `shardify.open` and by mrcfile.",
        "%d rounds in turns on %d cores, load %.1f at the end; medians, and those of the ratios. Commit %s, Python %s, nibabel %s, mrcfile %s, scipy %s."
        % (a.rounds, os.cpu_count() or 0, os.getloadavg()[0], page.commit(), platform.python_version(), nibabel.__version__, mrcfile.__version__, scipy.__version__),
        "",
        "| input | size | beside | shardify | the other | times as fast |",
        "|---|---|---|---|---|---|",
    ]
    for title, what, peer in rows:
        ours, theirs = (statistics.median(x[k] for x in found[title]) for k in (0, 1))
        ratio = statistics.median(x[1] / max(x[0], 1e-9) for x in found[title])
        lines.append("| %s | %s | %s | %.2f s | %.2f s | %.2f |" % (title, what, peer, ours, theirs, ratio))
    page.publish("\n".join(lines) + "\n", a.out)


if __name__ == "__main__":
    main()
