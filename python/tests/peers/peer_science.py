"""NIfTI, MRC and WAV: files come out as their libraries read them.

python3 peer_science.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the random files

Each format has a line: files of the library's own tests, and random files that it has written, are equal, or
refused for a reason that is listed. A format is a Science: how to write a random file, and what the library reads.
"""

from __future__ import annotations

import collections
import glob
import os
import shutil
import subprocess
import sys
import warnings
from typing import Any, Callable, Counter, Dict, Iterator, List, NamedTuple, Optional, Tuple

import mrcfile
import nibabel
import numpy as np
import scipy
from expect import main
from scipy.io import wavfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "science")
SEED, FIRST, ROUNDS = (int(os.environ.get(k, v)) for k, v in (("SEED", "1"), ("FIRST", "0"), ("ROUNDS", "200")))
warnings.simplefilter("ignore")


class Science(NamedTuple):
    field: str
    flags: List[str]
    files: Callable[[], List[str]]  # of the tests of the library
    write: Callable[[np.random.Generator, str], str]  # a random file below a folder: its name
    read: Callable[[str], Any]
    # Reasons to refuse a file that the library reads, as parts of our errors.
    differ: List[str]


def package(module: Any, *patterns: str) -> List[str]:
    root = os.path.dirname(module.__file__)
    return sorted(f for p in patterns for f in glob.glob(os.path.join(root, p), recursive=True))


def mrc_files() -> List[str]:
    """Those of the source archive of mrcfile, which its wheel does not have, where MRC_FILES names their folder."""
    return sorted(f for p in ("*.mrc", "*.map", "*.map.gz") for f in glob.glob(os.path.join(os.environ.get("MRC_FILES", "?"), p)))


def random_shape(rng: np.random.Generator, low: int, high: int) -> Tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(1, 12, int(rng.integers(low, high))))


def values(rng: np.random.Generator, dtype: str, shape: Tuple[int, ...]) -> np.ndarray:
    d = np.dtype(dtype)
    n = int(np.prod(shape)) * d.itemsize
    if d.kind in "iu":
        return np.frombuffer(rng.bytes(n), d).reshape(shape)
    x = rng.normal(0, 100, shape)
    return (x + 1j * rng.normal(0, 1, shape) if d.kind == "c" else x).astype(d)


def write_nifti(rng: np.random.Generator, folder: str) -> str:
    order = str(rng.choice(["<", ">"]))
    dtype = str(rng.choice(["u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"]))
    kind = [nibabel.Nifti1Image, nibabel.Nifti2Image, nibabel.Nifti1Pair, nibabel.Nifti2Pair][int(rng.integers(4))]
    header = kind.header_class(endianness=order)
    header.set_data_dtype(dtype)
    a = values(rng, dtype, random_shape(rng, 1, 6))
    image = kind(a, np.diag([*rng.uniform(0.5, 3, 3), 1]), header)
    image.header.set_data_dtype(dtype)
    pair = "Pair" in kind.__name__
    name = os.path.join(folder, "a" + str(rng.choice([".hdr"] if pair else [".nii", ".nii.gz"])))
    image.to_filename(name)
    if rng.random() < 0.5 and not name.endswith(".gz"):  # a scale of any kind, which the library does not write itself
        at = (176, 184, order + "f8") if "2" in kind.__name__ else (112, 116, order + "f4")
        with open(name, "r+b") as f:
            for offset, v in zip(at[:2], (rng.choice([0.1, 1, 2.5, -3, 0, np.nan]), rng.choice([0, 7, -0.3]))):
                f.seek(offset)
                f.write(np.array(v, at[2]).tobytes())
    return name


def read_nifti(name: str) -> Any:
    image = nibabel.load(name)
    if not isinstance(image, nibabel.Nifti1Pair):
        raise ValueError("not NIfTI: %s" % type(image).__name__)
    a = np.asarray(image.dataobj)
    return np.stack([a[k] for k in a.dtype.names], -1) if a.dtype.names else a


def write_mrc(rng: np.random.Generator, folder: str) -> str:
    a = values(rng, str(rng.choice(["i1", "i2", "f4", "c8", "u2", "f2"])), random_shape(rng, 2, 5))
    name = os.path.join(folder, "a" + str(rng.choice([".mrc", ".mrcs", ".map"])) + str(rng.choice(["", ".gz"])))
    with mrcfile.new(name, compression="gzip" if name.endswith(".gz") else None) as m:
        m.set_data(a)
        if a.ndim == 3 and rng.random() < 0.5:
            m.set_image_stack()
        if rng.random() < 0.3:
            m.set_extended_header(np.frombuffer(rng.bytes(int(rng.integers(0, 3000))), "V1"))
    return name


def read_mrc(name: str) -> Any:
    with mrcfile.open(name) as m:
        return np.array(m.data)


def write_wav(rng: np.random.Generator, folder: str) -> str:
    a = values(rng, str(rng.choice(["u1", "i2", "i4", "f4", "f8"])), (int(rng.integers(1, 5000)), int(rng.integers(1, 5))))
    name = os.path.join(folder, "a.wav")
    wavfile.write(name, int(rng.integers(1, 200000)), a[:, 0] if a.shape[1] == 1 else a)
    return name


FORMATS: Dict[str, Science] = {
    "nifti": Science(
        "image", ["--from", "nifti", "--sample", "file"],
        lambda: package(nibabel, "**/*.nii", "**/*.nii.gz", "**/*.hdr"), write_nifti, read_nifti,
        ["is not beside it", "which is in the header"],
    ),
    "mrc": Science(
        "image", ["--from", "mrc", "--sample", "file"],
        mrc_files, write_mrc, read_mrc, [],
    ),
    "wav": Science(
        "audio", ["--from", "wav"],
        lambda: package(scipy, "io/tests/data/*.wav"), write_wav, lambda name: wavfile.read(name)[1],
        ["at most 32", "and none of them", "are there"],
    ),
}  # fmt: skip


def ours(s: Science, name: str) -> Tuple[Optional[Any], str]:
    """What the program makes of a file, or why it refuses it."""
    out = os.path.join(WORK, "out")
    shutil.rmtree(out, ignore_errors=True)
    p = subprocess.run([BINARY, "convert", name, "-o", out, "-q", *s.flags], capture_output=True, text=True)
    if p.returncode != 0:
        return None, p.stderr.splitlines()[0]
    ds = shardify.open(out)
    assert len(ds) == 1, "%d samples" % len(ds)
    return np.asarray(ds[0][s.field]), ""


def one(s: Science, name: str) -> str:
    """equal, or refused and why."""
    try:
        want = np.asarray(s.read(name))
    except Exception as e:
        have, why = ours(s, name)
        return "refused by both" if have is None else "read here alone: %s" % type(e).__name__
    have, why = ours(s, name)
    if have is None:
        known = [d for d in s.differ if d in why]
        assert known, "%s: %s" % (os.path.basename(name), why)
        return "refused: " + known[0]
    if want.dtype.kind == "c":
        want = np.stack([want.real, want.imag], -1)
    want = want.astype(want.dtype.newbyteorder("="))
    assert have.dtype == want.dtype and have.shape == want.shape, "%s: %s %s, want %s %s" % (name, have.dtype, have.shape, want.dtype, want.shape)
    assert have.tobytes() == want.tobytes() or np.array_equal(have, want, equal_nan=want.dtype.kind == "f"), "%s: other values" % name
    return "equal"


def made(s: Science) -> Iterator[str]:
    for i in range(FIRST, FIRST + ROUNDS):
        folder = os.path.join(WORK, "made")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        yield s.write(np.random.default_rng([SEED, i]), folder)


def line(title: str, s: Science) -> Callable[[], str]:
    def check() -> str:
        os.makedirs(WORK, exist_ok=True)
        texts = []
        for what, files in (("files of the library", s.files()), ("random files", made(s))):
            tally: Counter[str] = collections.Counter(one(s, f) for f in files)
            if not tally:
                continue  # the wheel has no files
            assert tally["equal"] > 0, "no %s of %s is equal: %s" % (what, title, dict(tally))
            texts.append("%s: %s, wrong: 0" % (what, ", ".join("%s: %d" % (k, n) for k, n in sorted(tally.items()))))
        return "; ".join(texts)

    return check


if __name__ == "__main__":
    main([("science", line(title, s)) for title, s in FORMATS.items()])
