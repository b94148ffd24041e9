"""Writes chunks.json.gz: chunks as h5py and hdf5plugin store them, for the test
of the same name. Run with a Python that has both:

    python make_chunks.py
"""
import base64, gzip, json, os, tempfile
import numpy as np
import h5py, hdf5plugin


def data(n, size):
    """n elements of size bytes: the same as synth of the Go test."""
    out = bytearray()
    for e in range(n):
        e %= 1501
        v = (e * e >> 11) * 7 + ((e * 2654435761 & 0xFFFFFFFF) >> 31)
        b = v.to_bytes(8, "little")
        out += (b + (v // 3).to_bytes(8, "little") + b)[:size]
    return bytes(out)


cases = []


def store(name, array, n, want=None, **kw):
    """Store array as one chunk of n elements and note what the file holds."""
    with tempfile.TemporaryDirectory() as d:
        with h5py.File(os.path.join(d, "x.h5"), "w") as f:
            kw.setdefault("chunks", (n,))
            ds = f.create_dataset("x", data=array, **kw)
            note(name, ds, want)


def note(name, ds, want=None):
    f = ds.file
    f.flush()
    p = ds.id.get_create_plist()
    filters = []
    for i in range(p.get_nfilters()):
        fid, flags, client, fname = p.get_filter(i)
        filters.append(dict(ID=fid, Flags=flags, Client=list(client), Name=fname.decode()))
    mask, stored = ds.id.read_direct_chunk((0,) * ds.ndim)
    c = dict(Name=name, Filters=filters, Size=ds.dtype.itemsize, N=int(np.prod(ds.chunks)), Mask=mask,
             Stored=base64.b64encode(stored).decode())
    if want is not None:
        c["Want"] = base64.b64encode(want).decode()
    cases.append(c)


P = hdf5plugin
FILTERS = {
    "none+fletcher": dict(fletcher32=True),
    "gzip": dict(compression="gzip", compression_opts=4),
    "gzip+fletcher": dict(compression="gzip", fletcher32=True),
    "lzf": dict(compression="lzf"),
    "lzf+fletcher": dict(compression="lzf", fletcher32=True),
    "lz4": P.LZ4(),
    "lz4-small": P.LZ4(nbytes=256),
    "zstd": P.Zstd(clevel=3),
    "bzip2": P.BZip2(blocksize=1),
    "bitshuffle": P.Bitshuffle(cname="none"),
    "bitshuffle-64": P.Bitshuffle(nelems=64, cname="none"),
    "bitshuffle-lz4": P.Bitshuffle(cname="lz4"),
    "bitshuffle-lz4-64": P.Bitshuffle(nelems=64, cname="lz4"),
    "bitshuffle-zstd": P.Bitshuffle(cname="zstd"),
}
for c in "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd":
    for s, sname in (P.Blosc.NOSHUFFLE, "none"), (P.Blosc.SHUFFLE, "byte"), (P.Blosc.BITSHUFFLE, "bit"):
        try:
            FILTERS[f"blosc-{c}-{sname}"] = P.Blosc(cname=c, clevel=5, shuffle=s)
        except ValueError as e:
            print(c, e)
FILTERS["blosc-memcpy"] = P.Blosc(clevel=0)

for size, dt in (1, "u1"), (2, "<u2"), (3, "V3"), (4, "<u4"), (8, "<u8"), (16, "V16"):
    for n in 1, 9, 64, 333, 1000:
        a = np.frombuffer(data(n, size), dt)
        for name, kw in FILTERS.items():
            if n in (64, 1000) and size != 4 and "blosc" not in name:
                continue
            for shuffle in (False, True):
                if shuffle and ("blosc" in name or "bitshuffle" in name or n in (64, 1000)):
                    continue
                kw2 = dict(kw)
                if shuffle:
                    kw2["shuffle"] = True
                store(f"{name}/{'shuffle/' if shuffle else ''}{size}/{n}", a, n, **kw2)

# Chunks large enough for several blocks, and for split ones.
for name, kw in FILTERS.items():
    if "blosc" in name or "bitshuffle" in name or "lz4" in name:
        n = 7003 if name in ("bitshuffle", "bitshuffle-64", "blosc-memcpy", "lz4-small") else 35008 if "bit" in name else 35011
        store(f"large/{name}", np.frombuffer(data(n, 4), "<u4"), n, **kw)
        if "blosc-lz4-b" in name or "bitshuffle-lz4" in name:
            n = 9001
            store(f"large8/{name}", np.frombuffer(data(n, 8), "<u8"), n, **kw)

for c in "blosclz", "lz4", "zstd", "zlib", "snappy":
    for n, dt in (100003, "<u4"), (50001, "<u8"), (20006, "V16"), (20006, "V20"):
        a = np.frombuffer(data(n, np.dtype(dt).itemsize), dt)
        store(f"blocks/{c}/{dt}", a, n, **P.Blosc(cname=c, clevel=1, shuffle=P.Blosc.SHUFFLE))

# Orders of filters that h5py does not make by itself, and filters of the library.
def low(name, dtype, shape, fill, *, values, want=True):
    with tempfile.TemporaryDirectory() as d:
        with h5py.File(os.path.join(d, "x.h5"), "w") as f:
            p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            p.set_chunk(shape)
            for step in fill:
                getattr(p, step[0])(*step[1:])
            t = dtype if isinstance(dtype, h5py.h5t.TypeID) else h5py.h5t.py_create(np.dtype(dtype))
            i = h5py.h5d.create(f.id, b"x", t, h5py.h5s.create_simple(shape), p)
            mem = h5py.h5t.py_create(values.dtype)
            i.write(h5py.h5s.ALL, h5py.h5s.ALL, values, mem)
            f.flush()
            f.close()
        with h5py.File(os.path.join(d, "x.h5"), "r") as f:
            ds = f["x"]
            out = np.empty(shape, values.dtype)
            ds.id.read(h5py.h5s.ALL, h5py.h5s.ALL, out, ds.id.get_type())
            note(name, ds, out.tobytes())


def rnd(n, seed=1):
    return np.random.default_rng(seed)


n = 101
F = lambda *a: ("set_filter", *a)
low("fletcher-shuffle-gzip", "<f4", (n,), [("set_fletcher32",), ("set_shuffle",), ("set_deflate", 4)], values=np.frombuffer(data(n, 4), "<f4"))
low("gzip-shuffle", "<u2", (n,), [("set_deflate", 4), ("set_shuffle",)], values=np.frombuffer(data(n, 2), "<u2"))
low("gzip-gzip", "<u2", (n,), [("set_deflate", 1), ("set_deflate", 9)], values=np.frombuffer(data(n, 2), "<u2"))
low("lzf-gzip-fletcher-fletcher", "<u4", (n,), [("set_filter", 32000, 0), ("set_deflate", 9), ("set_fletcher32",), ("set_fletcher32",)], values=(np.arange(n) // 10).astype("<u4"))
low("scaleoffset-gzip", "<i4", (n,), [("set_scaleoffset", 2, 0), ("set_deflate", 9)], values=np.arange(n, dtype="<i4") * 17)
for z in 32015, 307, 32004:
    low(f"scaleoffset-{z}", "<i4", (n,), [("set_scaleoffset", 2, 0), ("set_filter", z, 0)], values=np.arange(n, dtype="<i4") * 17)
for fill in (None, 5):
    for dt in "i1 u1 <i2 >i2 <u2 <i4 >u4 <i8 >i8 <u8".split():
        t = np.dtype(dt)
        for name, v in (("const", np.full(n, 7)), ("small", rnd(1).integers(0, 60, n)), ("fill", np.where(np.arange(n) % 3 == 0, 5, np.arange(n) % 50 + 60)),
                        ("all", np.array([np.iinfo(t).min, np.iinfo(t).max] * n, dtype=object)[:n])):
            v = v.astype(t)
            steps = [("set_scaleoffset", 2, 0)]
            if fill is not None:
                steps.append(("set_fill_value", np.array(fill, t)))
            low(f"scaleoffset/{dt}/{name}/{fill}", dt, (n,), steps, values=v)
    for dt in "<f4 >f4 <f8 >f8".split():
        for d in 0, 3:
            v = (rnd(2).normal(size=n) * 50).astype(dt)
            v[::10] = 5
            steps = [("set_scaleoffset", 0, d)]
            if fill is not None:
                steps.append(("set_fill_value", np.array(fill, dt)))
            low(f"scaleoffset/{dt}/D{d}/{fill}", dt, (n,), steps, values=v)
low("scaleoffset/given", "<i4", (n,), [("set_scaleoffset", 2, 9)], values=np.arange(n, dtype="<i4"))
low("scaleoffset/plain", "<i4", (n,), [("set_scaleoffset", 2, 32)], values=np.arange(n, dtype="<i4"))

# n-bit
def itype(base, prec, off, signed=None):
    t = base.copy()
    t.set_precision(prec)
    t.set_offset(off)
    return t

T = h5py.h5t
NB = [("set_nbit",)] if hasattr(h5py.h5p.PropDCID, "set_nbit") else [F(5, 0)]
for name, base in (("<i4", T.STD_I32LE), (">i4", T.STD_I32BE), ("<u2", T.STD_U16LE), (">i8", T.STD_I64BE), ("u1", T.STD_U8LE)):
    bits = base.get_size() * 8
    for prec, off in ((bits - 1, 0), (bits // 2 - 1, 3), (3, bits - 3), (bits, 0), (1, 0)):
        v = rnd(3).integers(0, 2 ** min(prec - (prec > 1), 31), n).astype(name)
        try:
            low(f"nbit/{name}/{prec}+{off}", itype(base, prec, off), (n,), NB, values=v)
        except ValueError:
            print("newer libraries refuse to write", name, prec, off)
t = T.IEEE_F32LE.copy()  # 20 significant bits
t.set_fields(26, 20, 6, 7, 13)
t.set_offset(7)
t.set_precision(20)
t.set_size(4)
low("nbit/float", t, (n,), NB, values=rnd(4).normal(size=n).astype("<f4"))
inner = T.array_create(itype(T.STD_I16LE, 10, 2), (3,))
c = T.create(T.COMPOUND, 24)
c.insert(b"a", 0, itype(T.STD_I32BE, 17, 5))
c.insert(b"b", 6, inner)
c.insert(b"s", 13, T.FORTRAN_S1)
c.insert(b"d", 16, T.IEEE_F64LE)
mem = np.dtype({"names": ["a", "b", "s", "d"], "formats": [">i4", ("<i2", (3,)), "S1", "<f8"], "offsets": [0, 6, 13, 16], "itemsize": 24})
v = np.zeros(n, mem)
v["a"] = np.arange(n) * 3; v["b"] = (np.arange(3 * n) % 500).reshape(n, 3); v["s"] = b"x"; v["d"] = rnd(5).normal(size=n)
low("nbit/compound", c, (n,), NB, values=v)
low("nbit-gzip", itype(T.STD_I32LE, 21, 0), (n,), [*NB, ("set_deflate", 6)], values=(np.arange(n) * 7).astype("<i4"))

out = json.dumps(cases, indent=0, sort_keys=True).encode()
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "chunks.json.gz"), "wb") as f:
    with gzip.GzipFile(fileobj=f, mode="wb", mtime=0, compresslevel=9) as g:
        g.write(out)
print(len(cases), "cases")
