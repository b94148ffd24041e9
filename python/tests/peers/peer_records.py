"""tfrecord: random files of Examples are read as it reads them.

python3 peer_records.py WORK     SHARDIFY names the program; ROUNDS, FIRST and SEED the files
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from typing import Any, Dict, List

import numpy as np
from expect import main, tables
from tfrecord import TFRecordWriter
from tfrecord.reader import tfrecord_loader
from twelve import convert, shardify

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "records")
SEED = int(os.environ.get("SEED", "1"))


def features(rng: np.random.Generator) -> Dict[str, Any]:
    """Kinds and lengths of the features of a file; -1 is any length."""
    out: Dict[str, Any] = {}
    for i in range(int(rng.integers(1, 7))):
        out["f%d/%s" % (i, "xyz"[i % 3])] = (str(rng.choice(["byte", "float", "int"])), int(rng.choice([1, 1, 3, -1])))
    return out


def value(rng: np.random.Generator, kind: str, n: int) -> Any:
    if kind == "byte":
        return b"\xff" + bytes(rng.integers(0, 256, int(rng.integers(0, 300)), np.uint8))
    n = int(rng.integers(0, 20)) if n < 0 else n
    if kind == "float":
        return rng.normal(size=n).astype(np.float32).tolist()
    return [int(v) >> int(s) for v, s in zip(rng.integers(-(2**63), 2**63, n), rng.integers(0, 64, n))]


def one(i: int) -> None:
    rng = np.random.default_rng([SEED, i])
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(os.path.join(WORK, "in"))
    kinds = features(rng)
    parts = int(rng.integers(1, 4))
    want: List[Dict[str, Any]] = []
    for k in range(parts):
        path = os.path.join(WORK, "in", "a.tfrecord-%05d-of-%05d" % (k, parts))
        w = TFRecordWriter(path)
        for _ in range(int(rng.integers(1, 200))):
            w.write({name: (value(rng, kind, n), kind) for name, (kind, n) in kinds.items()})
        w.close()
        want += [dict(r) for r in tfrecord_loader(path, None, {name: kind for name, (kind, _) in kinds.items()})]
        if rng.random() < 0.3:
            with open(path, "rb") as f:
                packed = gzip.compress(f.read())
            with open(path, "wb") as f:
                f.write(packed)
    out = convert(os.path.join(WORK, "in"), os.path.join(WORK, "out"), "--format", "mmap", "--jobs", str(rng.integers(1, 4)))
    ds = shardify.open(out)
    assert len(ds) == len(want), (len(ds), len(want))
    for j, w in enumerate(want):
        got = ds[j]
        for name, (kind, _) in kinds.items():
            g, x = got[name], w[name]
            if kind == "byte":
                assert bytes(g) == bytes(x), (j, name, g, x)
            else:
                a, b = np.atleast_1d(np.asarray(g)), np.atleast_1d(np.asarray(x))
                assert a.tobytes() == b.astype(a.dtype).tobytes(), (j, name, a, b)


if __name__ == "__main__":
    main([("tfrecord", tables(one, 100, "as tfrecord reads them"))])
