"""numpy: images, masks, boxes and points after random chains of --augment, and from Loader(decode=), must be those of a reference.

python3 peer_augment.py WORK     SHARDIFY names the program; PAIRS and SEED what is tried
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from expect import main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from moving import FORMS, Draws, chain, kept, loaded, one, sample  # noqa: E402

import shardify  # noqa: E402
from shardify import clib  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "augment")
PAIRS = int(os.environ.get("PAIRS", "10000"))
SEED = int(os.environ.get("SEED", "1"))
EACH = 100  # pairs of a conversion
def conversion(number: int) -> int:
    r = np.random.default_rng([SEED, number])
    wide = bool(r.random() < 0.3)
    o = {"wide": wide, "palette": not wide and r.random() < 0.5, "form": str(r.choice(FORMS)), "size": int(r.choice([2, 3])),
         "visible": float(r.choice([0, 0, 0.25, 0.9])), "fill": int(r.choice([0, 255])), "dropped": 0}  # fmt: skip
    pairs, rows = zip(*(sample(r, o) for _ in range(EACH)))
    vectors = {"boxes": pa.list_(pa.float32(), 4), "points": pa.list_(pa.list_(pa.float32(), o["size"]), 2), "class": pa.int32()}
    table = {k: pa.array([x[k] for x in rows], pa.binary() if k in ("image", "mask") else pa.list_(vectors[k])) for k in rows[0]}
    name, out = "pairs%d.parquet" % number, os.path.join(WORK, "set%d" % number)
    pq.write_table(pa.table(table), os.path.join(WORK, name))
    targets = "targets,mask=mask%s,boxes=boxes:%s,points=points:%s,with=class+points,min-visible=%g,fill=%d" % (
        ":u16" if wide else "", o["form"], "xy" if o["size"] == 2 else "xyv", o["visible"], o["fill"])  # fmt: skip
    ops = chain(r)
    command = [BINARY, "convert", name, "-o", out, "--format", "mmap", "--jobs", str(r.integers(1, 4))]
    if any(op.startswith(("flip", "rotate", "random")) for op in ops):
        command += ["--seed", str(number)]
    for op in [targets] + ops:
        command += ["--augment", op]
    p = subprocess.run(command, cwd=WORK, capture_output=True, text=True, timeout=300)
    assert p.returncode == 0, "%s: %s" % (" ".join(command), (p.stdout + p.stderr)[-800:])
    got = shardify.open(out)
    assert len(got) == EACH
    what = "%s (%s)" % (" ".join(command), o)
    for i, s in enumerate(pairs):
        for place, op in enumerate(ops):
            one(op, s, Draws(number, place + 1, name, i), o)
        g = got[i]
        for field in ("image", "mask", "class"):
            have = np.asarray(g[field])
            alike = have.shape == s[field].shape and have.dtype == s[field].dtype
            assert alike, "%s: sample %d: %s is %s %s, want %s %s" % (what, i, field, have.dtype, have.shape, s[field].dtype, s[field].shape)
            assert (have == s[field]).all(), "%s: sample %d: %d values of %s differ" % (what, i, (have != s[field]).sum(), field)
        for field in ("boxes", "points"):
            have = np.asarray(g[field]).reshape(s[field].shape)
            assert np.allclose(have, s[field], rtol=0, atol=1e-4), "%s: sample %d: %s %s, want %s" % (what, i, field, have, s[field])
    text = p.stdout + p.stderr
    assert o["dropped"] == 0 or "boxes that left the image" in text and format(o["dropped"], ",") in text, "%s: %d boxes dropped: %s" % (what, o["dropped"], text)
    shutil.rmtree(out)
    os.remove(os.path.join(WORK, name))
    return int(o["dropped"])


def loads(number: int) -> int:
    """The pairs of one set, by five random Decode."""
    path, o, pairs = kept(os.path.join(WORK, "kept%d" % number), np.random.default_rng([SEED, 1, number]), EACH)
    done = sum(loaded(path, o, pairs, 10 * number + k) for k in range(5))
    shutil.rmtree(path)
    return done


def check() -> str:
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    dropped = sum(conversion(k) for k in range(-(-PAIRS // EACH)))
    if not os.path.exists(clib.path()):
        return "%d pairs, %d boxes left their image; Loader skipped: %s is not built" % (PAIRS, dropped, clib.path())
    done = sum(loads(k) for k in range(-(-PAIRS // (5 * EACH))))
    return "%d pairs, %d boxes left their image; %d pairs of Loader(decode=)" % (PAIRS, dropped, done)


if __name__ == "__main__":
    main([("augment", check)])
