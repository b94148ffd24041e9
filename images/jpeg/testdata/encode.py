"""Writes pictures and what Pillow encodes of them.

    encode.py N           N random pictures, for TestEncodesAsPillow
    encode.py sums        the digests of encoded.json, for TestEncodedBytes
"""
import hashlib
import io
import json
import struct
import sys

import numpy as np
from PIL import Image

out = sys.stdout.buffer


def encode(a, quality, sampling):
    b = io.BytesIO()
    Image.fromarray(a).save(b, "JPEG", quality=quality, **({} if a.ndim == 2 else {"subsampling": 2 - sampling}))
    return hashlib.sha256(b.getvalue()).hexdigest()


if sys.argv[1] == "sums":
    cases = []
    for n in range(60):
        w, h, quality, sampling, grey = 1 + n * n % 83, 1 + n * 37 % 71, [1 + n * 5 % 100, 91, 100][n % 3], n // 2 % 3, n % 7 == 6
        y, x, c = np.mgrid[0:h, 0:w, 0:3]
        a = (x * 7 + y * 13 + c * 50 + x * y % 31 + (x * 7919 + y * 104729 + c * 271) % 251 * (n % 4) // 2).astype("u1")
        a = np.ascontiguousarray(a[..., 0]) if grey else a
        cases.append([w, h, quality, sampling, int(grey), encode(a, quality, sampling)])
    print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
    sys.exit()
rng = np.random.default_rng(2)
for n in range(int(sys.argv[1])):
    w, h = (int(x) for x in rng.integers(1, [8, 24, 70, 200][rng.integers(4)], 2))
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([127 + rng.uniform(0, 127) * np.sin(x / rng.uniform(1, 30) + y / rng.uniform(1, 30) + k) for k in range(3)], -1)
    a = np.clip(a + rng.normal(0, rng.choice([0, 3, 20, 100]), a.shape), 0, 255).astype("u1")
    if rng.integers(8) == 0:
        a = (a > 127).astype("u1") * 255
    quality, sampling = int(rng.integers(1, 101)), int(rng.integers(3))
    if rng.integers(5) == 0:
        a = np.ascontiguousarray(a[..., 0])
    out.write(struct.pack("<5I64s", w, h, 1 if a.ndim == 2 else 3, quality, sampling, encode(a, quality, sampling).encode()))
    out.write(a.tobytes())
