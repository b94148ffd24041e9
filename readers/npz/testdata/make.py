"""Writes axis_N.npz and want_N.npz: arrays of many ranks and types, and what
numpy.moveaxis(a, N, 0) makes of them. Run it here: python make.py"""

import numpy as np

rng = np.random.default_rng(14)
struct = np.dtype([("a", ">i2"), ("s", "S2"), ("b", "u1", (2,))])
types = {"u1": "u1", "i2": "<i2", "f4": ">f4", "f8": "<f8", "c8": "<c8", "V3": "V3", "U2": "<U2", "S3": "S3", "t": struct}
shapes = {1: [(3, 6), (1, 6), (2, 6, 3), (2, 6, 1), (2, 6, 2, 3), (1, 6, 2, 1, 2), (3, 6, 0)], -1: [(3, 6), (1, 6), (2, 3, 6), (2, 1, 6), (2, 2, 3, 6), (2, 0, 6)],
          -2: [(6, 3), (2, 6, 3), (2, 3, 6, 2)], 2: [(2, 3, 6), (2, 3, 6, 2), (3, 1, 6, 2, 2)]}
for axis, of in shapes.items():
    arrays = {"label": np.arange(6, dtype="i8"), "one": np.float32(2.5)}
    for k, shape in enumerate(of):
        for name, t in types.items():
            if k != 2 and name in ("S3", "f8", "V3", "i2"):
                continue
            n = int(np.prod(shape))
            b = rng.integers(1, 120, n * np.dtype(t).itemsize, dtype="u1")
            if name == "U2":
                a = np.array([chr(97 + v % 26) * (1 + v % 2) for v in range(n)], dtype=t)
            else:
                a = np.frombuffer(b.tobytes(), dtype=t)
            a = a.reshape(shape)
            arrays[f"{name}_{k}_c"] = a
            arrays[f"{name}_{k}_f"] = np.asfortranarray(a)
    np.savez(f"axis_{axis}.npz", **arrays)
    np.savez_compressed(f"want_{axis}.npz", **{k: np.ascontiguousarray(np.moveaxis(a, axis, 0)) if np.ndim(a) > 1 else a for k, a in arrays.items()})
