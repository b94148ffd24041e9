"""Writes random resizings by Pillow for TestAgainstPillow: sizes, part, filter, the digest of the result, the pixels."""
import hashlib
import struct
import sys

import numpy as np
from PIL import Image

rng = np.random.default_rng(3)
out = sys.stdout.buffer
filters = [Image.BILINEAR, Image.BOX, Image.BICUBIC, Image.LANCZOS]
for n in range(int(sys.argv[1])):
    most = [4, 30, 120, 400][rng.integers(4)]
    w, h = (int(x) for x in rng.integers(1, most, 2))
    to = tuple(int(x) for x in rng.integers(1, [4, 30, 120, 400][rng.integers(4)], 2))
    if rng.integers(6) == 0:
        to = (w, to[1])
    if rng.integers(6) == 0:
        to = (to[0], h)
    a = rng.integers(0, 256, (h, w, 3), dtype="u1")
    if rng.integers(4) == 0:
        a = (a > 127).astype("u1") * 255
    box = (0.0, 0.0, float(w), float(h))
    if rng.integers(2):
        x, y = np.sort(rng.uniform(0, w, 2)), np.sort(rng.uniform(0, h, 2))
        if x[1] - x[0] > 0.01 and y[1] - y[0] > 0.01:
            box = tuple(float(np.float32(v)) for v in (x[0], y[0], x[1], y[1]))
    f = int(rng.integers(4))
    # Pillow 13 begins with the columns for some sizes; two calls begin with the rows.
    b = Image.fromarray(a).resize((to[0], h), filters[f], box=(box[0], 0, box[2], h)).resize(to, filters[f], box=(0, box[1], to[0], box[3])).tobytes()
    out.write(struct.pack("<5I4f64s", w, h, *to, f, *box, hashlib.sha256(b).hexdigest().encode()))
    out.write(a.tobytes())
