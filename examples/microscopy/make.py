"""Volumes with bright balls in noise, and where they are: python3 make.py FOLDER [VOLUMES]"""

import os
import sys

import numpy as np

folder, volumes = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6
os.makedirs(folder)
rng = np.random.default_rng(0)
at = np.stack(np.meshgrid(np.arange(16), np.arange(96), np.arange(96), indexing="ij"), -1)
for v in range(volumes):
    mask = np.zeros(at.shape[:3], bool)
    for _ in range(40):
        mask |= (((at - rng.integers(0, at.shape[:3])) * (2, 1, 1)) ** 2).sum(-1) < rng.integers(9, 50)
    image = rng.normal(400 + 300 * mask, 80).clip(0, 65535).astype("u2")
    np.savez_compressed(os.path.join(folder, "volume_%02d.npz" % v), image=image, mask=mask.astype("u1"))
