"""The scripts that users write today, as good as we could make them.

columns DIR OUT      npz files -> one safetensors-like file each: np.load, tofile
wds-files DIR OUT    a tree of small files -> webdataset.ShardWriter
wds-events FILE OUT  one event a sample -> webdataset.ShardWriter
load DIR OUT         one sample per npz: np.load and tofile
hdf5 DIR OUT         h5py -> one safetensors-like file each: read_direct of whole chunk rows into one buffer, tofile
parquet DIR OUT      pyarrow with two threads -> one safetensors-like file each: values and offsets of every column
root DIR OUT         uproot with two threads -> one safetensors-like file each: values and offsets of every branch
open-hdf5 FILE       seconds to open, learn every data set's shape and type, find all chunks' rows and read the first (best of 5)
open-root FILE       seconds to open, interpret every branch and read the first entries (best of 5)
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


NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL"}


def header(f, arrays):
    """arrays: name -> (dtype, shape)"""
    head, at = {}, 0
    for k, (dtype, shape) in arrays.items():
        n = int(np.prod(shape)) * dtype.itemsize
        head[k] = {"dtype": NAMES[dtype.name], "shape": list(shape), "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(head).encode()
    text += b" " * (-(len(text) + 8) % 4096)
    f.write(len(text).to_bytes(8, "little") + text)


def hdf5(src, out):
    import h5py
    import hdf5plugin  # noqa: F401  the filters beyond gzip and lzf

    os.makedirs(out, exist_ok=True)
    for i, name in enumerate(sorted(os.listdir(src))):
        with h5py.File(f"{src}/{name}") as h, open(f"{out}/{i:06d}.safetensors", "wb") as f:
            sets = {k: d for k, d in h.items() if isinstance(d, h5py.Dataset)}
            header(f, {k: (d.dtype, d.shape) for k, d in sets.items()})
            for d in sets.values():
                row = max(d.dtype.itemsize * int(np.prod(d.shape[1:])), 1)
                step = d.chunks[0] if d.chunks else 1
                rows = max((4 << 20) // row // step, 1) * step
                buf = np.empty((min(rows, len(d)), *d.shape[1:]), d.dtype)
                for lo in range(0, len(d), rows):
                    n = min(rows, len(d) - lo)
                    d.read_direct(buf, np.s_[lo:lo + n], np.s_[:n])
                    buf[:n].tofile(f)


def root(src, out):
    import awkward as ak
    import uproot
    from concurrent.futures import ThreadPoolExecutor

    os.makedirs(out, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        for i, name in enumerate(sorted(os.listdir(src))):
            with uproot.open(f"{src}/{name}") as r, open(f"{out}/{i:06d}.safetensors", "wb") as f:
                t = r["Events"]
                kw = {} if isinstance(t, uproot.behaviors.RNTuple.RNTuple) else dict(decompression_executor=pool)
                data = {}
                whole = t.arrays(**kw)
                for k in whole.fields:
                    flatten(data, k, ak.to_packed(whole[k]).layout)
                header(f, {k: (a.dtype, a.shape) for k, a in data.items()})
                for a in data.values():
                    a.tofile(f)


def flatten(data, name, layout):
    import awkward as ak

    if layout.is_record:
        for k in layout.fields:
            flatten(data, f"{name}_{k}", layout[k])
    elif layout.is_list:
        a = layout.to_ListOffsetArray64(True)
        data[name + "#offsets"] = np.asarray(a.offsets)
        flatten(data, name, a.content)
    else:
        data[name] = np.asarray(ak.to_numpy(layout))


def parquet(src, out):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(2)
    os.makedirs(out, exist_ok=True)
    for i, name in enumerate(sorted(os.listdir(src))):
        t = pq.read_table(f"{src}/{name}")
        data = {}
        for k, column in zip(t.column_names, t.columns):
            for a in column.chunks:
                arrow(data, k, a)
        with open(f"{out}/{i:06d}.safetensors", "wb") as f:
            header(f, {k: (a[0].dtype, (sum(map(len, a)),)) for k, a in data.items()})
            for parts in data.values():
                for a in parts:
                    a.tofile(f)


def arrow(data, name, a):
    """The arrays of a column, a chunk after the other; offsets count on."""
    import pyarrow as pa

    if pa.types.is_struct(a.type):
        for x, child in zip(a.type, a.flatten()):
            arrow(data, f"{name}.{x.name}", child)
        return
    if pa.types.is_list(a.type) or pa.types.is_string(a.type) or pa.types.is_binary(a.type):
        if pa.types.is_list(a.type):
            offsets, values = a.offsets.to_numpy(), a.values
        else:
            o, v = a.buffers()[1:]
            offsets = np.frombuffer(o, np.int32)[a.offset:a.offset + len(a) + 1]
            values = pa.Array.from_buffers(pa.uint8(), int(offsets[-1]), [None, v]) if v else pa.array([], pa.uint8())
        have = data.setdefault(name + "#offsets", [])
        at = int(have[-1][-1]) if have else 0
        have.append(offsets[1 if have else 0:].astype(np.int64) + (at - int(offsets[0])))
        arrow(data, name + "#values", values[int(offsets[0]):int(offsets[-1])])
        return
    data.setdefault(name, []).append(a.to_numpy(zero_copy_only=False))


def best(once):
    import time

    times = []
    for _ in range(5):
        start = time.perf_counter()
        once()
        times.append(time.perf_counter() - start)
    print(f"{min(times):.6f}")


def open_hdf5(name):
    import h5py

    def once():
        with h5py.File(name) as h:
            sets = []
            h.visititems(lambda k, o: sets.append((k, o.shape, o.dtype, o.chunks)) if isinstance(o, h5py.Dataset) else None)
            d = h[sets[0][0]]
            d[: (d.chunks or d.shape)[0]]

    best(once)


def open_root(name):
    import uproot

    def once():
        with uproot.open(name) as r:
            t = r["Events"]
            [b.interpretation for b in t.branches]
            t.arrays(t.keys()[:1], entry_stop=100, library="np")

    best(once)


{"columns": columns, "wds-files": wds_files, "wds-events": wds_events, "load": columns, "hdf5": hdf5, "root": root, "parquet": parquet, "open-hdf5": open_hdf5, "open-root": open_root}[sys.argv[1]](*sys.argv[2:4])
