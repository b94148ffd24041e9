"""Writes blosc2.json.gz: chunks as hdf5plugin stores them with Blosc2, in frames and as
boxes (b2nd). Run with a Python that has h5py and hdf5plugin."""
import base64, gzip, json, os
import h5py, hdf5plugin
import numpy as np

cases = []
with h5py.File("x.h5", "w", driver="core", backing_store=False) as f:
    def note(name, a, **kw):
        d = f.create_dataset(name, data=a, chunks=a.shape, **hdf5plugin.Blosc2(**kw))
        mask, stored = d.id.read_direct_chunk((0,) * d.ndim)
        fid, flags, client, fname = d.id.get_create_plist().get_filter(0)
        cases.append(dict(Name=name, Filters=[dict(ID=fid, Flags=flags, Client=list(client), Name=fname.decode())], Size=a.itemsize, N=a.size, Mask=mask,
                          Stored=base64.b64encode(stored).decode(), Want=base64.b64encode(a.tobytes()).decode()))

    for cname in "blosclz", "lz4", "lz4hc", "zlib", "zstd":
        for filters in range(4):
            for shape, dtype in ((1000,), "<f4"), ((25, 20), "<i8"), ((10, 15, 7), "<i2"), ((77,), "u1"):
                n = int(np.prod(shape))
                note("%s %d %s" % (cname, filters, dtype), (np.arange(n) // 3 % 97).astype(dtype).reshape(shape), cname=cname, filters=filters)
    note("truncated", (np.arange(500) * 0.25).astype("<f8"), filters=4)
    note("zeros", np.zeros((20, 10), "<f4"))
    note("sevens", np.full(500, 7, "<i4"))
    note("nan", np.full((20, 10), np.nan, "<f4"))
    note("noise", np.random.default_rng(1).integers(0, 256, (20, 30), dtype="u1"))
    note("blocks", (np.arange(90000) // 7 % 251).astype("<u2").reshape(300, 300))

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "blosc2.json.gz"), "wb") as f:
    with gzip.GzipFile(fileobj=f, mode="wb", mtime=0, compresslevel=9) as g:
        g.write(json.dumps(cases, indent=0, sort_keys=True).encode())
print(len(cases), "cases")
