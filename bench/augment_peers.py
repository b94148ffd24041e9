#!/usr/bin/env python3
"""Throughput of --augment against Pillow, torchvision and numpy doing the same work.

    python3 bench/augment_peers.py --shardify bin/shardify --data FOLDER --out bench/AUGMENT.md

FOLDER holds jpegs/ (bench/gen.py makes it); a part of it is used. Both sides read the
same files, use as many processes or jobs, and write what they make. Pairs are
interleaved; the ratios are medians. Contenders whose module is missing are left out by
name.
"""

import argparse
import io
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

IMAGES, ALL = 4000, 20_000
ROWS, WIDTH = 400_000, 256


def work_pillow(job):
    """One process's share: crop, scale, mirror (scale: only that), encode into a tar."""
    import random
    import tarfile

    from PIL import Image

    files, out, kind = job
    rng = random.Random(out)
    crop = None
    if kind == "torchvision":
        from torchvision import transforms

        crop = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()])
    with tarfile.open(out, "w") as tar:
        for i, name in enumerate(files):
            image = Image.open(name).convert("RGB")
            if crop is not None:
                image = crop(image)
            elif kind == "scale":
                w, h = image.size
                image = image.resize((256, 256 * h // w) if w <= h else (256 * w // h, 256), Image.BILINEAR)
            else:
                w, h = image.size
                area, ratio = w * h * rng.uniform(0.08, 1), rng.uniform(0.75, 4 / 3)
                cw, ch = min(w, max(1, int((area * ratio) ** 0.5))), min(h, max(1, int((area / ratio) ** 0.5)))
                x, y = rng.randint(0, w - cw), rng.randint(0, h - ch)
                image = image.resize((224, 224), Image.BILINEAR, box=(x, y, x + cw, y + ch))
                if rng.random() < 0.5:
                    image = image.transpose(Image.FLIP_LEFT_RIGHT)
            b = io.BytesIO()
            image.save(b, "JPEG", quality=90)
            info = tarfile.TarInfo("%06d.jpg" % i)
            info.size = len(b.getvalue())
            tar.addfile(info, io.BytesIO(b.getvalue()))


def work_shards(job):
    """One process's share as img2dataset makes it: shards of 10,000, each image scaled and written beside what is known of it."""
    import hashlib

    import webdataset
    from PIL import Image

    files, out, first = job
    with webdataset.ShardWriter(out + "-%05d.tar", maxcount=10_000, verbose=0) as writer:
        for i, name in enumerate(files, first):
            with open(name, "rb") as f:
                data = f.read()
            image = Image.open(io.BytesIO(data)).convert("RGB")
            w, h = image.size
            image = image.resize((256, 256 * h // w) if w <= h else (256 * w // h, 256), Image.BILINEAR)
            b = io.BytesIO()
            image.save(b, "JPEG", quality=90)
            known = {"key": "%09d" % i, "status": "success", "width": image.width, "height": image.height, "original_width": w, "original_height": h, "sha256": hashlib.sha256(data).hexdigest()}
            writer.write({"__key__": "%09d" % i, "jpg": b.getvalue(), "json": json.dumps(known).encode()})


def work_raw(job):
    """One process's share: shorter side 256, middle 224, raw pixels."""
    import numpy as np
    from PIL import Image

    files, out, lo, total = job
    m = np.memmap(out, dtype="u1", mode="r+", shape=(total, 224, 224, 3))
    for i, name in enumerate(files):
        image = Image.open(name).convert("RGB")
        w, h = image.size
        n = (256, 256 * h // w) if w <= h else (256 * w // h, 256)
        image = image.resize(n, Image.BILINEAR)
        x, y = (n[0] - 224) // 2, (n[1] - 224) // 2
        m[lo + i] = np.asarray(image.crop((x, y, x + 224, y + 224)))
    m.flush()


def work_numpy(job):
    """Noise added to an array, then mean 0 and deviation 1 by column."""
    import numpy as np

    source, out = job
    x = np.load(source)["x"]
    x = x + np.random.default_rng(0).standard_normal(x.shape, dtype=np.float32) * np.float32(0.1)
    x = (x - x.mean(0, dtype=np.float64).astype("f4")) / x.std(0, dtype=np.float64).astype("f4")
    x.tofile(out)


def contender(a):
    """Runs in a process of its own, so that its seconds are counted separately."""
    from multiprocessing import Pool

    files = json.load(open(a.files))
    os.makedirs(a.work)
    kind = a.contender
    if kind == "numpy":
        return work_numpy((a.files.replace("files.json", "x.npz"), os.path.join(a.work, "x.bin")))
    parts = [files[i * len(files) // a.jobs : (i + 1) * len(files) // a.jobs] for i in range(a.jobs)]
    if kind == "raw":
        out = os.path.join(a.work, "raw.bin")
        with open(out, "wb") as f:
            f.truncate(len(files) * 224 * 224 * 3)
        starts = [i * len(files) // a.jobs for i in range(a.jobs)]
        with Pool(a.jobs) as pool:
            pool.map(work_raw, [(p, out, lo, len(files)) for p, lo in zip(parts, starts)])
    elif kind == "shards":
        with Pool(a.jobs) as pool:
            pool.map(work_shards, [(p, os.path.join(a.work, str(i)), i * len(files) // a.jobs) for i, p in enumerate(parts)])
    else:
        with Pool(a.jobs) as pool:
            pool.map(work_pillow, [(p, os.path.join(a.work, "%d.tar" % i), kind) for i, p in enumerate(parts)])


def timed(command):
    """Seconds, seconds of processors, MiB of the largest process."""
    start = time.time()
    with tempfile.TemporaryFile() as said:
        p = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        _, status, use = os.wait4(p.pid, 0)
        wall = time.time() - start
        if status != 0:
            said.seek(0)
            raise RuntimeError(said.read().decode()[-400:])
    return wall, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shardify")
    p.add_argument("--data")
    p.add_argument("--out")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--commit", default="")
    p.add_argument("--images", type=int, default=IMAGES, help="of the short rows; the long one has %d times as many" % (ALL // IMAGES))
    p.add_argument("--only", help="what rows have in their name")
    p.add_argument("--contender")
    p.add_argument("--files")
    p.add_argument("--work")
    a = p.parse_args()
    if a.contender:
        return contender(a)
    scratch = tempfile.mkdtemp(prefix="shardify-augment-")
    try:
        folder = os.path.join(a.data, "jpegs")
        every = sorted(os.path.join(d, n) for d, _, names in os.walk(folder) for n in names)[: a.images * ALL // IMAGES]
        files = every[: a.images]

        def listed(files, name):
            """A list for the peer, and one for us."""
            with open(os.path.join(scratch, name + ".json"), "w") as f:
                json.dump(files, f)
            with open(os.path.join(scratch, name), "w") as f:
                f.write("\n".join(files) + "\n")
            return ["--files-from", os.path.join(scratch, name), "--from", "files", "--keys", "ordinal"]

        images, long = listed(files, "files"), listed(every, "all")
        if not a.only:  # in a process of its own: the peak memory of others begins with that of this one
            make = "import numpy as np; np.savez(%r, x=np.random.default_rng(1).standard_normal((%d, %d), dtype=np.float32) * 3 + 1)"
            subprocess.run([sys.executable, "-c", make % (os.path.join(scratch, "x.npz"), ROWS, WIDTH)], check=True)
        ours = [a.shardify, "convert", "--quiet", "--fresh", "--sync", "none", "--jobs", str(a.jobs), "-o", os.path.join(scratch, "ours")]
        cases = [
            ("crop, scale, mirror, encode", "Pillow", "pillow", images + ["--format", "wds"] + aug("random-resized-crop=224", "flip", "encode=jpg")),
            ("crop, scale, mirror, encode", "torchvision", "torchvision", images + ["--format", "wds"] + aug("random-resized-crop=224", "flip", "encode=jpg")),
            ("scale, encode", "Pillow", "scale", images + ["--format", "wds"] + aug("resize=256", "encode=jpg")),
            ("%s JPEGs, scaled, to shards" % format(len(every), ","), "a script like img2dataset", "shards", long + ["--format", "wds"] + aug("resize=256", "encode=jpg")),
            ("scale and crop to raw pixels", "Pillow", "raw", images + ["--format", "mmap"] + aug("resize=256", "centre-crop=224")),
            ("noise and normalise", "numpy", "numpy", [os.path.join(scratch, "x.npz"), "--format", "mmap"] + aug("noise=x,sigma=0.1", "normalise=x")),
        ]
        rows, memory = [], ""
        for what, peer, kind, args in cases:
            if a.only and a.only not in what:
                continue
            listing = os.path.join(scratch, "all.json" if kind == "shards" else "files.json")
            theirs = [sys.executable, __file__, "--contender", kind, "--files", listing, "--jobs", str(a.jobs), "--work"]
            pairs, missing = [], ""
            for k in range(a.rounds + 1):
                work = os.path.join(scratch, "theirs")
                shutil.rmtree(work, ignore_errors=True)
                shutil.rmtree(os.path.join(scratch, "ours"), ignore_errors=True)
                try:
                    pair = timed(ours + args), timed(theirs + [work])
                except RuntimeError as e:
                    missing = str(e).strip().splitlines()[-1]
                    break
                if k > 0:  # the first warms the cache
                    pairs.append(pair)
            if missing:
                print("skipped %s against %s: %s" % (what, peer, missing))
                continue
            wall = sorted(t[0] / o[0] for o, t in pairs)
            cpu = statistics.median(t[1] / o[1] for o, t in pairs)
            n = {"numpy": ROWS, "shards": len(every)}.get(kind, len(files))
            rows.append(
                "| %s | %s | %.2f [%.2f-%.2f] | %.2f | %.0f/s | %.0f/s |"
                % (what, peer, statistics.median(wall), wall[0], wall[-1], cpu, n / statistics.median(o[0] for o, _ in pairs), n / statistics.median(t[0] for _, t in pairs))
            )
            print(rows[-1], flush=True)
            if kind == "shards":
                shutil.rmtree(os.path.join(scratch, "ours"), ignore_errors=True)
                few = timed(ours + images + args[len(long) :])[2]
                memory = "\nPeak memory of the row to shards: %.0f MiB for %s files, %.0f MiB for %s; the peer's largest process %.0f MiB. Its aim is a ratio of 2.\n" % (
                    few, format(len(files), ","), max(o[2] for o, _ in pairs), format(n, ","), max(t[2] for _, t in pairs))
                print(memory)
        head = "# Augmenting\n\n%d cores, %s, commit %s. Made by `make bench-augment`: %d JPEGs of bench/gen.py, an array of %d x %d f32; %d jobs against as many processes (numpy: one), %d interleaved pairs, warm page cache.\n\n" % (
            os.cpu_count(), platform.system() + " " + platform.release(), a.commit, len(files), ROWS, WIDTH, a.jobs, a.rounds)
        head += "| what | peer | wall ratio | CPU ratio | ours | peer |\n|---|---|---|---|---|---|\n"
        with open(a.out, "w") as f:
            f.write(head + "\n".join(rows) + "\n" + memory)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def aug(*specs):
    return [w for s in specs for w in ("--augment", s)]


if __name__ == "__main__":
    main()
