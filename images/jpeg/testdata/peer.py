"""Writes random JPEGs with the sums of what Pillow decodes, for TestAgainstPillow."""
import hashlib
import io
import struct
import sys

import numpy as np
from PIL import Image

rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
out = sys.stdout.buffer
for n in range(int(sys.argv[1])):
    w, h = (int(x) for x in rng.integers(1, [8, 24, 70, 200][rng.integers(4)], 2))
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([127 + rng.uniform(0, 127) * np.sin(x / rng.uniform(1, 30) + y / rng.uniform(1, 30) + k) for k in range(4)], -1)
    a = np.clip(a + rng.normal(0, rng.choice([0, 3, 20, 100]), a.shape), 0, 255).astype("u1")
    mode = rng.choice(["RGB", "RGB", "RGB", "RGB", "L", "CMYK"])
    image = Image.fromarray(a[..., 0] if mode == "L" else a[..., : len(mode)], str(mode))
    options = {"quality": int(rng.integers(1, 101)), "progressive": bool(rng.integers(2)), "optimize": bool(rng.integers(2))}
    if mode == "RGB":
        options["subsampling"] = ["4:4:4", "4:2:2", "4:2:0", "4:2:0"][rng.integers(4)]
        if rng.integers(10) == 0:
            del options["subsampling"]
            options["keep_rgb"] = True
    if rng.integers(3) == 0:
        options["restart_marker_blocks"] = int(rng.integers(1, 9))
    b = io.BytesIO()
    try:
        image.save(b, "JPEG", **options)
    except OSError:  # its buffer is too small for some
        continue
    b = b.getvalue()
    image = Image.open(io.BytesIO(b))
    scale = 1
    if rng.integers(3) == 0 and mode != "CMYK":
        image.draft(None, (max(1, w // 2 ** int(rng.integers(0, 4))), max(1, h)))
        scale = 1
    whole = image.size
    image = image.convert("RGB")
    for s in (1, 2, 4, 8):
        if (-(-w // s), -(-h // s)) == whole:
            scale = s
            break
    x0, y0, x1, y1 = 0, 0, *whole
    if rng.integers(2):
        x0, y0 = int(rng.integers(whole[0])), int(rng.integers(whole[1]))
        x1, y1 = int(rng.integers(x0, whole[0])) + 1, int(rng.integers(y0, whole[1])) + 1
    pixels = image.crop((x0, y0, x1, y1)).tobytes()
    out.write(struct.pack("<6I64s", len(b), scale, x0, y0, x1 - x0, y1 - y0, hashlib.sha256(pixels).hexdigest().encode()))
    out.write(b)
