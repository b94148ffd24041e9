#!/usr/bin/env python3
"""Boxes of a CSV beside images, and pairs of image and mask: shardify against scripts with pandas, Pillow and tarfile, in turns.

    python3 bench/labels.py SHARDIFY WORK [IMAGES] [ROWS]     needs pandas, numpy and Pillow
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


def make_pairs(work: str, images: int) -> None:
    if os.path.exists(os.path.join(work, "pairs", "masks")):
        return
    import numpy as np
    from PIL import Image

    r, kept = np.random.default_rng(1), []
    for mode, shape in (("RGB", (24, 24, 3)), ("L", (24, 24))):
        for _ in range(64):
            b = io.BytesIO()
            Image.fromarray(r.integers(0, 256, shape, dtype=np.uint8), mode).save(b, "PNG")
            kept.append(b.getvalue())
    for name, lo in (("images", 0), ("masks", 64)):
        for i in range(images):
            folder = os.path.join(work, "pairs", name, "%02d" % (i % 100))
            if i < 100:
                os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, "%06d%s.png" % (i, "_mask" if lo else "")), "wb") as f:
                f.write(kept[lo + i % 64])


def pairs_script(work: str, out: str) -> None:
    """What is written by hand: a table of both folders joined by stem, and a tar of images and masks that open."""
    import tarfile

    import pandas as pd
    from PIL import Image

    def files(name: str, suffix: str) -> pd.DataFrame:
        found = [os.path.join(r, f) for r, _, fs in os.walk(os.path.join(work, "pairs", name)) for f in fs]
        return pd.DataFrame({name: found, "stem": [os.path.basename(f)[: -len(suffix)] for f in found]})

    both = files("images", ".png").merge(files("masks", "_mask.png"), on="stem", validate="one_to_one").sort_values("stem")
    os.makedirs(out)
    tar = None
    for n, row in enumerate(both.itertuples(index=False)):
        if n % 10000 == 0:
            if tar:
                tar.close()
            tar = tarfile.open(os.path.join(out, "%03d.tar" % (n // 10000)), "w")
        for ext, path in ((".image.png", row.images), (".mask.png", row.masks)):
            with open(path, "rb") as f:
                data = f.read()
            with Image.open(io.BytesIO(data)) as image:
                image.verify()
            info = tarfile.TarInfo(row.stem + ext)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    if tar:
        tar.close()


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
    return time.time() - start, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def main() -> None:
    scripts = {"--boxes": pandas_script, "--pairs": pairs_script}
    if sys.argv[1] in scripts:
        return scripts[sys.argv[1]](sys.argv[2], sys.argv[3])
    binary, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    images, rows = (int(x) for x in (sys.argv[3:] + ["100000", "1000000"][len(sys.argv) - 3 :]))
    make(work, images, rows)
    make_pairs(work, images)
    table = "boxes=%s on=image_id rows=many" % os.path.join(work, "boxes.csv")
    contenders = {
        "shardify": [binary, "convert", os.path.join(work, "im"), "-o", "OUT", "--quiet", "--labels", table, "--missing", "fill", "--memory", "128MiB"]
        + ["--stack", "boxes=x,y,w,h", "--cast", "boxes=f32", "--format", "wds"],
        "pandas": [sys.executable, os.path.abspath(__file__), "--boxes", work, "OUT"],
        "shardify, pairs": [binary, "convert", os.path.join(work, "pairs"), "-o", "OUT", "--quiet", "--pair", "image=images,mask=masks:_mask", "--check-images", "--memory", "128MiB"],
        "Pillow, pairs": [sys.executable, os.path.abspath(__file__), "--pairs", work, "OUT"],
    }
    for _ in range(ROUNDS):
        for name, args in contenders.items():
            out = os.path.join(work, "out")
            seconds, peak, cores = timed([out if a == "OUT" else a for a in args])
            shutil.rmtree(out)
            print("%-16s %6.1f s %8.0f images/s %6.0f MiB peak %6.1f s of processor" % (name, seconds, images / seconds, peak, cores), flush=True)


if __name__ == "__main__":
    main()
