#!/usr/bin/env python3
"""Boxes of a CSV beside images: shardify against a script with pandas and tarfile, in turns.

    python3 bench/labels.py SHARDIFY WORK [IMAGES] [ROWS]     needs pandas and numpy
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
import time

ROUNDS = 2


def make(work: str, images: int, rows: int) -> None:
    if os.path.exists(os.path.join(work, "boxes.csv")):
        return
    rng, body = random.Random(1), os.urandom(1000)
    for d in range(100):
        os.makedirs(os.path.join(work, "im", "%02d" % d), exist_ok=True)
    for i in range(images):
        with open(os.path.join(work, "im", "%02d" % (i % 100), "%06d.jpg" % i), "wb") as f:
            f.write(b"\xff\xd8\xff\xe0" + body)
    with open(os.path.join(work, "boxes.csv"), "w") as f:
        f.write("image_id,x,y,w,h,cls\n")
        for _ in range(rows):
            box = ",".join("%.2f" % (100 * rng.random()) for _ in range(4))
            f.write("%06d,%s,%s\n" % (rng.randrange(images), box, rng.choice(["cat", "dog", "bird"])))


def pandas_script(work: str, out: str) -> None:
    """What is written by hand: rows by image, and a tar of images with their boxes and classes."""
    import tarfile

    import numpy as np
    import pandas as pd

    d = pd.read_csv(os.path.join(work, "boxes.csv"), dtype={"image_id": str}).sort_values("image_id", kind="stable")
    ids = d["image_id"].to_numpy()
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    boxes = np.split(d[["x", "y", "w", "h"]].to_numpy("float32"), starts[1:])
    classes = np.split(d["cls"].to_numpy(), starts[1:])
    of = {ids[s]: k for k, s in enumerate(starts)}
    none = np.zeros((0, 4), "float32")
    os.makedirs(out)
    tar = None
    names = sorted(os.path.join(r, f) for r, _, fs in os.walk(os.path.join(work, "im")) for f in fs)
    for n, path in enumerate(names):
        if n % 10000 == 0:
            if tar:
                tar.close()
            tar = tarfile.open(os.path.join(out, "%03d.tar" % (n // 10000)), "w")
        key = os.path.basename(path)[:-4]
        k = of.get(key)
        npy = io.BytesIO()
        np.save(npy, none if k is None else boxes[k])
        with open(path, "rb") as f:
            members = [(".jpg", f.read()), (".boxes.npy", npy.getvalue()), (".cls.json", json.dumps([] if k is None else classes[k].tolist()).encode())]
        for ext, data in members:
            info = tarfile.TarInfo(key + ext)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    if tar:
        tar.close()


def timed(args: list) -> tuple:
    start = time.time()
    p = subprocess.Popen(args, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit("%s: status %d" % (" ".join(args), status))
    return time.time() - start, used.ru_maxrss / 1024


def main() -> None:
    if sys.argv[1] == "--script":
        return pandas_script(sys.argv[2], sys.argv[3])
    binary, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    images, rows = (int(x) for x in (sys.argv[3:] + ["100000", "1000000"][len(sys.argv) - 3 :]))
    make(work, images, rows)
    table = "boxes=%s on=image_id rows=many" % os.path.join(work, "boxes.csv")
    contenders = {
        "shardify": [binary, "convert", os.path.join(work, "im"), "-o", "OUT", "--quiet", "--labels", table, "--missing", "fill", "--memory", "128MiB"]
        + ["--stack", "boxes=x,y,w,h", "--cast", "boxes=f32", "--format", "wds"],
        "pandas": [sys.executable, os.path.abspath(__file__), "--script", work, "OUT"],
    }
    for _ in range(ROUNDS):
        for name, args in contenders.items():
            out = os.path.join(work, "out")
            seconds, peak = timed([out if a == "OUT" else a for a in args])
            shutil.rmtree(out)
            print("%-10s %6.1f s %8.0f images/s %6.0f MiB peak" % (name, seconds, images / seconds, peak), flush=True)


if __name__ == "__main__":
    main()
