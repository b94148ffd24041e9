#!/usr/bin/env python3
"""Processor time of converting volumes, stacks and recordings, and of reading sections, beside their libraries.

    python3 bench/science.py WORK --out bench/SCIENCE.md     SHARDIFY and FLOOR name programs; wants numpy, nibabel, mrcfile, scipy, astropy, pydicom

A library reads each file and writes it with numpy.save. Each round runs the two, and the floor of both, after each other.
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

import astropy
import mrcfile
import nibabel
import numpy as np
import page
import pydicom
import science_fdm
import scipy
from scipy.io import wavfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import shardify  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "bin/shardify")
FLOOR = os.environ.get("FLOOR", "build/bench/floor")
BATCH = 32
ALIKE = ("nii.gz", "nii", "mrcs", "wav", "ct", "small")  # what is written is what is read, or unpacked
# What keeps the program from its aims, measured by hand: perf record of these conversions, and pip install deflate isal.
REST = (
    "What keeps the program from its aims (perf, shares of the processor time):",
    "",
    "- NIfTI, gzip, 5 times: 54 % is `inflate`, 19 % the kernel, 12 % the turning of the axes, 8 % copies, 4 % checksums. libdeflate alone, which writes nothing, takes 0.13 s for these files, igzip 0.19 s, zlib 0.26 s. With the writing that leaves about 4 times at most.",
    "- MRC stacks, 1.0 of `cp`: 81 % is the kernel, 7 % CRC-32C. `cp` copies within the kernel; a checksum has to see each byte, so that there is a second copy. The start is another tenth.",
)
SINGLE, OPENED, HELD = "single random sections", "batches of random sections", "batches of random sections, open files"


def make(work: str) -> Dict[str, str]:
    """Folders of files."""
    r = np.random.default_rng(1)
    folders = {k: os.path.join(work, k) for k in ("nii.gz", "nii", "scaled", "mrcs", "wav")}
    for f in folders.values():
        shutil.rmtree(f, ignore_errors=True)
        os.makedirs(f)
    x, y, z = np.ogrid[:192, :192, :96]
    for i in range(24):  # a body with noise in empty space, as scans have it; so many that the start does not count
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


def program(*args: str) -> float:
    """Seconds of the processor that a program takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(args, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def convert(source: str, out: str) -> float:
    shutil.rmtree(out, ignore_errors=True)
    return program(BINARY, "convert", source, "-o", out, "-q", "--sync", "none", "--jobs", "1")


def empty(out: str) -> str:
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    return out


def saved(read: Callable[[str], Any]) -> Callable[[str, str], float]:
    def run(source: str, out: str) -> float:
        empty(out)
        start = page.processor()
        for name in sorted(os.listdir(source)):
            np.save(os.path.join(out, name), np.ascontiguousarray(read(os.path.join(source, name))))
        return page.processor() - start

    return run


def copied(source: str, out: str) -> float:
    return program("cp", "-r", source, os.path.join(empty(out), "copy"))


def floor(source: str, out: str) -> float:
    """What no program does without: unpacking alone, or a copy with a checksum."""
    return program(FLOOR, "inflate", source) if source.endswith(".gz") else program(FLOOR, "copy", source, empty(out))


def nifti(name: str) -> Any:
    return nibabel.load(name).dataobj


def sections(work: str, source: str, count: int) -> Tuple[float, float]:
    """Seconds for single random sections of a set, and by mrcfile.mmap, which opens the file of each."""
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


def epochs(work: str, source: str, held: bool) -> Tuple[float, float]:
    """Seconds for an epoch of batches of random sections: of the Loader, and of numpy.stack over mrcfile.mmap, which
    opens the file of each section, or holds all files open."""
    loader = shardify.Loader(os.path.join(work, "out-mrcs"), BATCH, seed=1, columns=["image"], drop_last=False)
    start, a, n = page.processor(), 0.0, 0
    for batch in loader:
        x = np.asarray(batch["image"])
        a, n = a + float(x[:, 0, 0].sum(dtype="f8")), n + len(x)
    ours = page.processor() - start
    files = sorted(glob.glob(os.path.join(source, "*.mrcs")))
    maps = [mrcfile.mmap(f) for f in files] if held else []
    order = np.random.default_rng(3).permutation(n)
    start, b = page.processor(), 0.0
    for k in range(0, n, BATCH):
        rows = []
        for i in order[k : k + BATCH]:
            if held:
                rows.append(maps[i // 1000].data[i % 1000])
                continue
            with mrcfile.mmap(files[i // 1000]) as m:
                rows.append(np.array(m.data[i % 1000]))
        b += float(np.stack(rows)[:, 0, 0].sum(dtype="f8"))
    theirs = page.processor() - start
    for m in maps:
        m.close()
    assert n == 1000 * len(files) and abs(a - b) < 1e-6, "other sections: %d, %r, %r" % (n, a, b)
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
    one = os.path.join(empty(os.path.join(a.work, "one")), "one.nii")
    nibabel.Nifti1Image(np.zeros((1, 1, 1), "u1"), np.eye(4)).to_filename(one)
    found: Dict[str, List[Tuple[float, ...]]] = {}
    for _ in range(a.rounds):
        found.setdefault("start", []).append((convert(one, os.path.join(a.work, "peer")),))
        for title, folder, _, peer in cases:
            ours = convert(folders[folder], os.path.join(a.work, "out-" + folder))
            theirs = peer(folders[folder], os.path.join(a.work, "peer"))
            least = (floor(folders[folder], os.path.join(a.work, "peer")),) if folder in ALIKE else ()
            found.setdefault(title, []).append((ours, theirs, *least))
        found.setdefault(SINGLE, []).append(sections(a.work, folders["mrcs"], 2000))
        found.setdefault(HELD, []).append(epochs(a.work, folders["mrcs"], True))
        found.setdefault(OPENED, []).append(epochs(a.work, folders["mrcs"], False))
    size = {k: sum(os.path.getsize(os.path.join(f, n)) for n in os.listdir(f)) / 2**20 for k, f in folders.items()}
    rows = [(title, "%.0f MiB" % size[folder], peer) for title, folder, peer, _ in cases]
    rows.append((SINGLE, "2,000 of 64 KiB", "mrcfile.mmap, a file opened for each"))
    rows.append((OPENED, "4,000 of 64 KiB", "the same, and `numpy.stack`"))
    rows.append((HELD, "4,000 of 64 KiB", "mrcfile.mmap of open files, and `numpy.stack`"))
    medians = {title: [statistics.median(x[k] for x in runs) for k in range(len(runs[0]))] for title, runs in found.items()}
    lines = [
        "# Volumes, stacks and recordings",
        "",
        "Made by `make bench-science`. Processor time, user and system, of `shardify convert --jobs 1` with its start (%.2f s with one volume of one voxel), beside that of a library that reads each file and writes it with `numpy.save`, without its start. The floor (`bench/floor`): of files packed by gzip, `inflate` alone, with nothing written; of others, reading, CRC-32C and writing each file in pieces of 1 MiB. DICOM files have the elements of pydicom's CT_small.dcm. Sections are read in Python: single ones by `shardify.open`, batches of %d of an epoch by `shardify.Loader`."
        % (medians["start"][0], BATCH),
        "%d rounds in turns on %d cores, load %.1f at the end; medians, and those of the ratios. Commit %s, Python %s, nibabel %s, mrcfile %s, scipy %s, astropy %s, pydicom %s."
        % (a.rounds, os.cpu_count() or 0, os.getloadavg()[0], page.commit(), platform.python_version(), nibabel.__version__, mrcfile.__version__, scipy.__version__, astropy.__version__, pydicom.__version__),
        "",
        "| input | size | beside | shardify | the other | the floor | times as fast | at the floor |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for title, what, peer in rows:
        runs, m = found[title], medians[title]
        ratio = [statistics.median(x[1] / max(x[k], 1e-9) for x in runs) for k in (0, 2) if k < len(m)]
        last = ("%.2f s" % m[2], "%.1f" % ratio[1]) if len(m) > 2 else ("", "")
        lines.append("| %s | %s | %s | %.2f s | %.2f s | %s | %.2f | %s |" % (title, what, peer, m[0], m[1], last[0], ratio[0], last[1]))
    page.publish("\n".join(lines + ["", *REST]) + "\n", a.out)


if __name__ == "__main__":
    main()
