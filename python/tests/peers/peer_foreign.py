"""Tars of other making: webdataset reads them, shardify rewrites them, webdataset reads the same samples again.

python3 peer_foreign.py WORK     SHARDIFY names the program, ROUNDS and SEED the random tars
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
from typing import Any, Dict, List

import numpy as np
import webdataset as wds
from expect import fingerprint, main

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "foreign")
ROUNDS = int(os.environ.get("ROUNDS", "40"))
SEED = int(os.environ.get("SEED", "1"))
FORMATS = {"pax": tarfile.PAX_FORMAT, "gnu": tarfile.GNU_FORMAT, "ustar": tarfile.USTAR_FORMAT}


def npy(a: Any) -> bytes:
    b = io.BytesIO()
    np.save(b, a)
    return b.getvalue()


def value(r: random.Random, field: str, i: int, utf8: bool) -> bytes:
    last = field.rsplit(".", 1)[-1]
    if last == "cls":
        return b"%d" % r.randrange(-5, 1000)
    if last == "json":
        return json.dumps({"i": i, "t": "\u00e9" * r.randrange(4)}).encode()
    if field == "fixed.npy":
        return npy(np.arange(6, dtype="<f4").reshape(2, 3) + i)
    if field == "list.npy":
        return npy(np.arange(r.randrange(5) * 2, dtype="<i8").reshape(-1, 2))
    if field == "vol.npy":
        return npy(np.full((r.randrange(4), 1 + r.randrange(3)), i % 256, "u1"))
    if field == "odd.npy":
        return npy(np.array([i, "x"], dtype=object))
    data = r.randbytes(r.choice([0, 1, 511, 512, 513, r.randrange(5000)]))
    return data.decode("latin1").encode() if last == "txt" and utf8 else data


FIELDS = ["jpg", "seg.png", "txt", "json", "cls", "fixed.npy", "list.npy", "vol.npy", "odd.npy", "pyd", "pth", "mp4", "JPEG", "Meta.Json"]


def make(r: random.Random, path: str, first: int, utf8: bool) -> None:
    """A tar as tools other than ours write it, with every sample in one place."""
    fields = r.sample(FIELDS, 1 + r.randrange(6))
    form = r.choice(list(FORMATS))
    folder = r.choice(["", "a/", "a.v2/b/", "long/" * 30 if form != "ustar" else "u/"])
    compressed = r.random() < 0.3
    with tarfile.open(path, "w:gz" if compressed else "w", format=FORMATS[form]) as t:
        if folder and r.random() < 0.5:
            d = tarfile.TarInfo(folder.rstrip("/"))
            d.type = tarfile.DIRTYPE
            t.addfile(d)
        for i in range(first, first + 1 + r.randrange(30)):
            r.shuffle(fields)
            for field in fields:
                data = value(r, field.lower(), i, utf8)
                m = tarfile.TarInfo("%sk%05d.%s" % (folder, i, field))
                m.size, m.mtime, m.uid, m.uname = len(data), r.choice([0, 3, 1.5]) if form == "pax" else 7, r.choice([0, 3000000]) if form != "ustar" else 5, "someone"
                t.addfile(m, io.BytesIO(data))
            if r.random() < 0.05:
                m = tarfile.TarInfo(folder + "README")
                t.addfile(m)


def samples(paths: List[str]) -> Dict[str, Dict[str, str]]:
    """What webdataset yields, arrays by their values."""
    out = {}
    for path in paths:
        for s in wds.WebDataset(path, shardshuffle=False):
            key = s["__key__"]
            assert key not in out, key
            out[key] = {}
            for k, v in s.items():
                if not k.startswith("__"):
                    try:
                        out[key][k] = fingerprint(k, v)
                    except ValueError:  # an array of objects
                        out[key][k] = fingerprint("bytes", v)
    return out


def rewritten() -> str:
    r = random.Random(SEED)
    total = members = 0
    for n in range(ROUNDS):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        utf8 = n % 3 > 0  # else texts are any bytes
        state, paths = r.getstate(), []
        for k in range(1 + r.randrange(3)):
            r.setstate(state)  # the same fields in all of them
            paths.append(os.path.join(WORK, "f%d.tar" % k))
            make(r, paths[-1], 1000 * k, utf8)
        with open(paths[0], "rb") as f:
            zipped = f.read(2) == b"\x1f\x8b"
        if zipped:  # webdataset decompresses by itself; others need the name
            for i, p in enumerate(paths):
                os.rename(p, p + ".gz")
                paths[i] = p + ".gz"
        out = os.path.join(WORK, "strict")
        long = any(len(k) > 60 for k in samples(paths[:1]))
        args = (["--keys", "ordinal"] if long else []) + ([] if utf8 else ["--text", "bytes"])
        p = subprocess.run([BINARY, "convert"] + paths + ["-o", out, "--format", "wds", "--quiet", "--shard-samples", "11"] + args, capture_output=True, text=True)
        assert p.returncode == 0, "round %d: %s" % (n, p.stderr)
        with open(os.path.join(out, "shardify.json")) as f:
            strict = [os.path.join(out, s["name"]) for s in json.load(f)["shards"]]
        want, got = samples(paths), samples(strict)
        if not utf8:  # which are no longer called texts
            want = {k: {m + ".bin" if m.rsplit(".", 1)[-1] in ("txt", "json") else m: v for m, v in s.items()} for k, s in want.items()}
        if long:
            want = {"%06d" % i: v for i, v in enumerate(want.values())}
        assert want == got, "round %d: %r" % (n, [(k, want.get(k), got.get(k)) for k in want if want.get(k) != got.get(k)][:2])
        total += len(want)
        members += sum(len(v) for v in want.values())
        p = subprocess.run([BINARY, "verify", out, "--quiet"], capture_output=True, text=True)
        assert p.returncode == 0, p.stdout + p.stderr
    shutil.rmtree(WORK, ignore_errors=True)
    return "%d rounds of foreign tars: %d samples, %d members" % (ROUNDS, total, members)


if __name__ == "__main__":
    main([("webdataset 1.0.2", rewritten)])
