"""Compares images/jpeg, images/resize and images/png with simplejpeg (libjpeg-turbo) and Pillow on one core.

    for p in jpeg resize png; do go test -c -o build/$p.test ./internal/$p; done
    python bench/jpeg.py build [FOLDER]

Pairs of runs alternate, so that a busy machine slows both; the figure is the median of the
ratios of seven pairs (PAIRS). FOLDER holds JPEGs; without it, computed images of 500 x 375
pixels in five kinds are made. Needs numpy, Pillow and simplejpeg."""
import glob
import io
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import simplejpeg
from PIL import Image

KINDS = {
    "4:2:0": {"subsampling": 2},
    "4:4:4": {"subsampling": 0},
    "progressive": {"subsampling": 2, "progressive": True},
    "grey": {},
    "restarts": {"subsampling": 2, "restart_marker_rows": 1},
}


def picture(rng):
    """Noise whose spectrum falls as that of photographs does."""
    h, w = 375, 500
    f = np.hypot(np.fft.fftfreq(h)[:, None], np.fft.rfftfreq(w)[None])
    f[0, 0] = 1
    planes = []
    for _ in range(3):
        p = np.fft.irfft2(np.fft.rfft2(rng.normal(size=(h, w))) / f**1.1, (h, w))
        planes.append(p / p.std())
    a = np.stack([planes[0] * 50 + planes[k] * 12 + 127 for k in range(3)], -1) + rng.normal(0, 4, (h, w, 3))
    return np.clip(a, 0, 255).astype("u1")


def made(kind, folder):
    rng = np.random.default_rng(1)
    for n in range(40):
        a = picture(rng)
        Image.fromarray(a[..., 0] if kind == "grey" else a).save(f"{folder}/{n}.jpg", quality=75 + n % 21, **KINDS[kind])


def rate(work, files, seconds):
    """Megapixels of the whole images a second of processor time."""
    images = [(work[0](f), np.prod(Image.open(f).size)) for f in files]
    pixels, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        for image, n in images:
            work[1](image)
            pixels += n
    return pixels / 1e6 / (time.process_time() - start)


def content(f):
    with open(f, "rb") as g:
        return g.read()


def pixels(f):
    return Image.open(f).convert("RGB")


DECODE = "simplejpeg", content, lambda b: simplejpeg.decode_jpeg(b, "RGB")
ENCODE = "Pillow", pixels, lambda m: m.save(io.BytesIO(), "JPEG", quality=90)
PNG = "Pillow", content, lambda b: Image.open(io.BytesIO(b)).load()
RESIZE = "Pillow", pixels, lambda m: m.resize((224, 224), Image.BILINEAR)


def ours(program, bench, folder, seconds):
    env = dict(os.environ, SHARDIFY_JPEG_DIR=folder, GOMAXPROCS="1")
    before = os.times()
    out = subprocess.run([program, "-test.run", "^$", "-test.bench", bench, "-test.benchtime", f"{seconds}s"], env=env, capture_output=True, text=True, check=True).stdout
    after = os.times()
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    wall = after.elapsed - before.elapsed
    return float(re.search(r"([\d.]+) Mpx/s", out)[1]) * wall / max(busy, 0.01)  # by processor time, too


def compare(name, program, bench, folder, peer):
    files = sorted(glob.glob(folder + ("/*.png" if peer is PNG else "/*.jpg")))
    size, area = sum(map(os.path.getsize, files)), sum(np.prod(Image.open(f).size) for f in files)
    a, b, ratios = [], [], []
    for _ in range(int(os.environ.get("PAIRS", "7"))):
        a.append(ours(os.path.join(sys.argv[1], program), bench, folder, 0.5))
        b.append(rate(peer[1:], files, 0.5))
        ratios.append(a[-1] / b[-1])
    print(f"{name:12} {8 * size / area:4.1f} bit/px: ours {statistics.median(a):4.0f} Mpx/s, {peer[0]} {statistics.median(b):4.0f}: "
          f"{statistics.median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]", flush=True)


def others(folder):
    compare("random part", "jpeg.test", "Crop", folder, DECODE)  # beside the whole
    compare("encode q90", "jpeg.test", "Encode", folder, ENCODE)


if len(sys.argv) > 2:
    compare("files", "jpeg.test", "Folder", sys.argv[2], DECODE)
    others(sys.argv[2])
else:
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            made(kind, folder)
            compare(kind, "jpeg.test", "Folder", folder, DECODE)
            if kind == "4:2:0":
                others(folder)
                compare("resize 224", "resize.test", "Resize/bilinear", folder, RESIZE)
                for f in sorted(glob.glob(folder + "/*.jpg"))[:10]:
                    Image.open(f).save(f[:-3] + "png")
                compare("PNG", "png.test", "Folder", folder, PNG)
