"""Random recordings: --parse audio=wav and audio=flac have the values that scipy and soundfile read.

python3 peer_sound.py WORK     SHARDIFY names the program; FILES files from SEED
"""

from __future__ import annotations

import io
import os
import random
import shutil
import struct
import subprocess
import sys
import tarfile
from typing import Dict, List, Tuple

import numpy as np
import soundfile
from expect import main
from scipy.io import wavfile

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "sound")
FILES, SEED = int(os.environ.get("FILES", "200")), int(os.environ.get("SEED", "1"))
KINDS = [("PCM_U8", "u1"), ("PCM_16", "i2"), ("PCM_24", "i4"), ("PCM_32", "i4"), ("FLOAT", "f4"), ("DOUBLE", "f8")]


def signal(r: np.random.Generator, n: int, channels: int) -> np.ndarray:
    """Tones, noise, silence and steps: what encoders treat differently."""
    t = np.arange(n)[:, None]
    kind = r.integers(5)
    if kind == 0:
        return np.zeros((n, channels))
    if kind == 1:
        return r.uniform(-1, 1, (n, channels))
    x = 0.7 * np.sin(t * r.uniform(0.001, 1, (1, channels)) + r.uniform(0, 6, (1, channels)))
    if kind == 2:
        x = np.repeat(x[:, :1], channels, axis=1)
    return np.sign(x) * 0.99 if kind == 3 else x + r.normal(0, 0.01, x.shape)


def chunks(data: bytes, r: random.Random) -> bytes:
    """The file with further chunks, of odd sizes too, or with the sizes of a stream."""
    at = data.index(b"data")
    extra = b"".join(b"junk" + struct.pack("<I", n) + bytes(n + n % 2) for n in r.choice([[], [5], [26, 1, 0]]))
    size, body = data[at + 4 : at + 8], data[at + 8 :]
    if body and r.random() < 0.2 and at + 8 + struct.unpack("<I", size)[0] == len(data):
        head, size = data[:4] + b"\xff\xff\xff\xff", b"\xff\xff\xff\xff"
    else:
        head = data[:4] + struct.pack("<I", len(data) + len(extra) - 8)
    return head + data[8:at] + extra + b"data" + size + body


def write(path: str, r: random.Random, form: str, subtype: str, channels: int, rate: int) -> None:
    x = signal(np.random.default_rng(r.randrange(1 << 30)), r.choice([int(form == "FLAC"), 1, 2, 17, 1000, 4096, 4097, 30000]), channels)
    soundfile.write(path, x, rate, subtype=subtype, format=form)
    if form in ("WAV", "WAVEX"):
        with open(path, "rb") as f:
            data = chunks(f.read(), r)
        with open(path, "wb") as f:
            f.write(data)


def read(path: str, dtype: str) -> Tuple[np.ndarray, int]:
    return soundfile.read(path, dtype={"i2": "int16", "i4": "int32", "f4": "float32", "f8": "float64"}[dtype])


def converted(root: str, parse: str) -> Dict[str, Tuple[np.ndarray, int]]:
    out = root + "-set"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([BINARY, "convert", root, "-o", out, "--parse", parse, "--format", "wds"], check=True, stdout=subprocess.DEVNULL)
    field = parse.split("=")[0]
    got: Dict[str, Dict[str, np.ndarray]] = {}
    for name in sorted(os.listdir(out)):
        if name.endswith(".tar"):
            with tarfile.open(os.path.join(out, name)) as tar:
                for m in tar:
                    key, member, kind = m.name.rsplit(".", 2)
                    if kind == "npy":
                        got.setdefault(key, {})[member] = np.load(io.BytesIO(tar.extractfile(m).read()))  # type: ignore[union-attr]
    return {key: (s[field], int(s[field + "_rate"])) for key, s in got.items()}


def compare(root: str, names: List[str], got: Dict[str, Tuple[np.ndarray, int]], dtype: str, mix: bool = False) -> None:
    assert len(got) == len(names), (len(got), len(names))
    for name in names:
        path = os.path.join(root, name)
        if dtype == "u1":
            rate, want = wavfile.read(path)
        else:
            want, rate = read(path, dtype)
        have, have_rate = got[os.path.splitext(name)[0]]
        if mix and want.ndim == 2:
            want = want.mean(axis=1, dtype=np.float64).astype(np.float32)
        assert have.dtype == want.dtype and have.shape == want.shape and have_rate == rate, (name, have.dtype, have.shape, want.dtype, want.shape, have_rate, rate)
        assert np.array_equal(have, want), name


def check() -> str:
    r = random.Random(SEED)
    shutil.rmtree(WORK, ignore_errors=True)
    files = 0
    groups = [(form, sub, dtype) for form in ("WAV", "WAVEX", "RF64") for sub, dtype in KINDS] + [("FLAC", sub, dtype) for sub, dtype in (("PCM_S8", "i2"), ("PCM_16", "i2"), ("PCM_24", "i4"))] * 3
    for k, (form, sub, dtype) in enumerate(groups):
        channels, ext = r.choice([1, 2, 2, 3, 6]), "flac" if form == "FLAC" else "wav"
        root = os.path.join(WORK, str(k))
        os.makedirs(root)
        names = ["%03d.%s" % (i, ext) for i in range(-(-FILES // len(groups)))]
        for name in names:
            write(os.path.join(root, name), r, form, sub, channels, r.choice([8000, 16000, 44100, 48000, 96000]))
        compare(root, names, converted(root, f"{ext}={ext}"), dtype)
        compare(root, names, converted(root, f"{ext}={ext} as=f32"), "f4")
        files += len(names)
    mixed = os.path.join(WORK, "mixed")
    os.makedirs(mixed)
    names = ["%03d.wav" % i for i in range(24)]
    for i, name in enumerate(names):
        write(os.path.join(mixed, name), r, "WAV", KINDS[i % 6][0], i % 3 + 1, 8000)
    compare(mixed, names, converted(mixed, "wav=wav as=f32 channels=1"), "f4", mix=True)
    shutil.rmtree(WORK)
    return f"{files + len(names)} recordings, 3 forms of WAV and FLAC, have the values of soundfile and scipy"


main([("sound", check)])
