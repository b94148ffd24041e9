"""Writes szip.json.gz: chunks as the HDF5 library stores them with szip. Run with a
Python that has h5py, or with a file as its argument and `many` behind it to write
many more."""
import base64, gzip, json, os, sys
import h5py
import numpy as np

path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "szip.json.gz")
many = "many" in sys.argv
rng = np.random.default_rng(4)
cases = []
f = h5py.File("x.h5", "w", driver="core", backing_store=False)


def note(name, d, want):
    mask, stored = d.read_direct_chunk((0,) * d.get_space().get_simple_extent_ndims())
    plist = d.get_create_plist()
    filters = []
    for i in range(plist.get_nfilters()):
        fid, flags, client, fname = plist.get_filter(i)
        filters.append(dict(ID=fid, Flags=flags, Client=list(client), Name=fname.decode()))
    size = d.get_type().get_size()
    cases.append(dict(Name=name, Filters=filters, Size=size, N=len(want) // size, Mask=mask, Stored=base64.b64encode(stored).decode(), Want=base64.b64encode(want).decode()))


def array(name, a, how, block, **kw):
    d = f.create_dataset(str(len(f)), data=a, chunks=a.shape, compression="szip", compression_opts=(how, block), **kw)
    note("%s %s %s %d %s" % (name, a.dtype.str, how, block, a.shape), d.id, a.tobytes())


def kinds(n, dtype):
    t = np.dtype(dtype)
    yield "smooth", (np.sin(np.arange(n) / 50) * 100).astype(t)
    yield "noise", np.frombuffer(rng.bytes(n * t.itemsize), t)
    yield "constant", np.full(n, 77, t)
    sparse = np.zeros(n, t)
    sparse[rng.integers(0, n, max(1, n // 60))] = 3
    yield "sparse", sparse
    yield "steps", (np.arange(n) // 7 % 3).astype(t)
    edges = np.zeros(n, t)
    edges[::5] = np.iinfo(t).max if t.kind in "iu" else np.finfo(t).max
    yield "edges", edges


shapes = ((40,), (3, 33), (1, 5000), (7, 9, 5)) if not many else ((32,), (40,), (97,), (3, 33), (40, 129), (1, 5000), (7, 9, 5), (6000,), (2, 4097))
types = "u1", ">i2", "<f4", ">i8"
if many:
    types = [o + t for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8") for o in "<>"]
for shape in shapes:
    for dtype in types:
        for how in "nn", "ec":
            for block in (2, 8, 18, 32) if not many else (2, 4, 6, 8, 10, 12, 14, 16, 18, 24, 30, 32):
                for i, (name, a) in enumerate(kinds(int(np.prod(shape)), dtype)):
                    if many or (i + block + len(shape)) % 4 == 0 and a.size < 500 or a.size == 5000 and block == 8 and dtype == "<f4" and name == "sparse":
                        array(name, a.reshape(shape), how, block)
array("shuffled", np.arange(300, dtype="<i4"), "nn", 16, shuffle=True, fletcher32=True)

# Numbers of fewer bits than their bytes have.
for size, precision, offset, big in (2, 12, 0, 0), (2, 12, 0, 1), (4, 24, 0, 0), (4, 24, 0, 1), (4, 17, 0, 1), (4, 20, 0, 0), (1, 5, 0, 0), (1, 1, 0, 0), (2, 9, 3, 0), (4, 25, 0, 0), (8, 40, 0, 0):
    for mask in 32, 4:
        for shape in (36,), (5, 23), (130, 20), (1, 25):
            n = int(np.prod(shape))
            t = (h5py.h5t.STD_U64BE if big else h5py.h5t.STD_U64LE).copy()
            t.set_precision(precision)
            t.set_size(size)
            t.set_offset(offset)
            p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            p.set_chunk(shape)
            p.set_szip(mask, 8)
            space = h5py.h5s.create_simple(shape)
            d = h5py.h5d.create(f.id, b"p%d" % len(f), t, space, p)
            a = (np.arange(n, dtype="u8") ** 3 * 7919 % (1 << precision)).reshape(shape)
            if n > 500:
                a //= 1000
            d.write(space, space, a)
            raw = b"".join((int(v) << offset).to_bytes(size, "big" if big else "little") for v in a.ravel())
            note("%d bits in %d bytes big %d %s" % (precision, size, big, shape), d, raw)

with open(path, "wb") as f:
    with gzip.GzipFile(fileobj=f, mode="wb", mtime=0, compresslevel=9) as g:
        g.write(json.dumps(cases, indent=0, sort_keys=True).encode())
print(len(cases), "cases,", sum(c["Mask"] == 0 for c in cases), "of them compressed")
