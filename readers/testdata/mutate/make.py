"""Makes the files that mutated_test.go damages: small, with metadata that nothing compresses. The
data sets beside them are made of set.npz: see the end.

    python make.py && shardify convert set.npz -o mmap -q && shardify convert set.npz -o wds --format wds -q && rm -r */.shardify
"""
import io
import os
import sqlite3
import tarfile

import ase.db
import awkward as ak
import h5py
import lmdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import uproot
from ase.calculators.singlepoint import SinglePointCalculator

N = 12
x = np.arange(2 * N, dtype="<f4").reshape(N, 2)
y = np.arange(N, dtype="<i8")
flag = np.arange(N) % 2 == 0
text = np.array([f"text {i}" for i in range(N)])

np.savez("stored.npz", x=x, y=y, flag=flag, text=text)
np.savez_compressed("deflated.npz", x=x, y=y, flag=flag)
np.save("rows.npy", x)
np.savez("set.npz", x=x, y=y, flag=flag, text=text)

for libver in ("earliest", "latest"):
    with h5py.File(f"rows_{libver}.h5", "w", libver=libver) as f:
        f["x"] = x
        f["y"] = y
        f.create_dataset("chunked", data=x, chunks=(4, 2), maxshape=(None, 2))
        f.create_dataset("in/packed", data=y, chunks=(5,), compression="gzip", fletcher32=True, shuffle=True)
        f.create_dataset("in/text", data=[s.encode() for s in text], dtype=h5py.string_dtype())
        f["y"].attrs["units"] = "GeV"
    with h5py.File(f"groups_{libver}.h5", "w", libver=libver) as f:
        for i in range(4):
            f[f"data/demo_{i}/actions"] = np.full((2, 3), i, "<f4")
            f[f"data/demo_{i}/obs"] = np.full(4 + i, i, "<f8")

jagged = ak.Array([[float(i)] * (i % 4) for i in range(N)])
with uproot.recreate("tree.root", compression=None) as f:
    t = f.mktree("Events", {"x": "float32", "y": "int64", "flag": "bool", "pt": "var * float64"})
    for lo in range(0, N, 4):
        t.extend({"x": x[lo:lo + 4, 0], "y": y[lo:lo + 4], "flag": flag[lo:lo + 4], "pt": jagged[lo:lo + 4]})
with uproot.recreate("ntuple.root", compression=None) as f:
    t = f.mkrntuple("Events", ak.Array({"x": x[:, 0], "y": y, "pt": jagged}))

table = pa.table({"x": x[:, 0], "y": y, "flag": flag, "text": text, "list": pa.array([list(range(i % 3)) for i in range(N)], pa.list_(pa.int32()))})
pq.write_table(table, "plain.parquet", compression=None, use_dictionary=False, row_group_size=5)
pq.write_table(table, "snappy.parquet", row_group_size=5, write_page_index=True, write_page_checksum=True)

with tarfile.open("samples.tar", "w", format=tarfile.USTAR_FORMAT) as t:
    for i in range(N):
        b = io.BytesIO()
        np.save(b, x[i])
        for ext, data in {"npy": b.getvalue(), "cls": str(i).encode(), "txt": text[i].encode()}.items():
            info = tarfile.TarInfo(f"{i:04d}.{ext}")
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))

if os.path.exists("rows.db"):
    os.remove("rows.db")
db = sqlite3.connect("rows.db")
db.execute("pragma page_size=512")
db.execute("create table rows(id integer primary key, x real, n integer, t text, b blob)")
db.executemany("insert into rows values(?,?,?,?,?)", [(i + 1, i * 0.5, i * i, f"text {i}", bytes([i] * (i % 5 + 1))) for i in range(24)])
db.commit()
db.close()

for name in ("atoms.db", "atoms.aselmdb"):  # needs ase and ase-db-backends
    if os.path.exists(name):
        os.remove(name)
    with ase.db.connect(name) as frames:
        for i in range(9):
            n = 1 + i % 3
            a = ase.Atoms("HOC"[:n], positions=np.arange(3 * n).reshape(n, 3) * 0.5 + i, cell=np.eye(3) * (9 + i), pbc=[True, i % 2 == 0, True])
            a.calc = SinglePointCalculator(a, energy=-i - 0.25, forces=np.full((n, 3), i / 8))
            frames.write(a, key_value_pairs={"name": f"frame {i}"}, data={"q": np.arange(n, dtype="i4") + i})
        del frames[4]
    if os.path.exists(name + "-lock"):
        os.remove(name + "-lock")
db = sqlite3.connect("atoms.db")
for table in ("number_key_values", "text_key_values", "keys", "species"):  # which are indexes
    db.execute(f"drop table {table}")
db.execute("pragma page_size=512")
db.commit()
db.execute("vacuum")
db.close()

# 24 entries of 0 to 161 bytes, and one in overflow pages; JSON in a named database that is the only one
for name in "entries.lmdb", "named.lmdb":
    if os.path.exists(name):
        os.remove(name)
env = lmdb.open("entries.lmdb", subdir=False, map_size=1 << 20, lock=False)
with env.begin(write=True) as w:
    for i in range(24):
        w.put(b"%08d" % i, (b"value %d " % i) * (i if i != 7 else 600))
env.close()
env = lmdb.open("named.lmdb", subdir=False, map_size=1 << 20, lock=False, max_dbs=1)
db = env.open_db(b"data")
with env.begin(write=True, db=db) as w:
    for i in range(24):
        w.put(b"k%d" % i, b'{"id": %d, "text": "text %d"}' % (i, i))
env.close()
