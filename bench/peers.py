"""The scripts that users write today, as good as we could make them.

columns DIR OUT      npz files -> one safetensors-like file each: np.load, tofile
wds-files DIR OUT    a tree of small files -> webdataset.ShardWriter
wds-events FILE OUT  one event a sample -> webdataset.ShardWriter
load DIR OUT         one sample per npz: np.load and tofile
"""
import json
import os
import sys

import numpy as np


def columns(src, out):
    os.makedirs(out, exist_ok=True)
    names = {"float32": "F32", "int64": "I64", "uint8": "U8"}
    for i, name in enumerate(sorted(os.listdir(src))):
        with np.load(f"{src}/{name}") as z, open(f"{out}/{i:06d}.safetensors", "wb") as f:
            arrays = {k: z[k] for k in ("y", "x", "mask") if k in z.files}
            head, at = {}, 0
            for k, a in arrays.items():
                head[k] = {"dtype": names[a.dtype.name], "shape": a.shape, "data_offsets": [at, at + a.nbytes]}
                at += a.nbytes
            text = json.dumps(head).encode()
            text += b" " * (-(len(text) + 8) % 4096)
            f.write(len(text).to_bytes(8, "little") + text)
            for a in arrays.values():
                a.tofile(f)


def wds_files(src, out):
    import webdataset as wds

    os.makedirs(out, exist_ok=True)
    with wds.ShardWriter(f"{out}/shard-%06d.tar", maxsize=64 << 20, maxcount=1 << 30, verbose=0) as w:
        for d, dirs, names in os.walk(src):
            dirs.sort()
            for n in sorted(names):
                key, ext = os.path.splitext(n)
                with open(f"{d}/{n}", "rb") as f:
                    w.write({"__key__": f"{os.path.basename(d)}/{key}", ext[1:]: f.read()})


def wds_events(src, out):
    import webdataset as wds

    os.makedirs(out, exist_ok=True)
    with np.load(src) as z:
        x, y, mask = z["x"], z["y"], z["mask"]
    with wds.ShardWriter(f"{out}/shard-%06d.tar", maxsize=64 << 20, maxcount=1 << 30, verbose=0) as w:
        for i in range(len(x)):
            w.write({"__key__": f"000000-{i:09d}", "x.npy": x[i], "y.npy": y[i], "mask.npy": mask[i]})


{"columns": columns, "wds-files": wds_files, "wds-events": wds_events, "load": columns}[sys.argv[1]](*sys.argv[2:4])
