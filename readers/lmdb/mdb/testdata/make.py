"""Makes bytes.lmdb by py-lmdb: values of one byte, in a page within a node and in pages of their own.

python3 make.py
"""

import os

import lmdb

if os.path.exists("bytes.lmdb"):
    os.remove("bytes.lmdb")
env = lmdb.open("bytes.lmdb", subdir=False, map_size=1 << 20, max_dbs=1, lock=False)
db = env.open_db(b"d", dupsort=True, dupfixed=True)
with env.begin(write=True, db=db) as t:
    for key, n in (b"few", 3), (b"many", 200), (b"one", 1):
        for i in range(n):
            t.put(key, bytes([i]))
env.close()

# A value of 48 bytes, as many as a record has, in the overflow page of a longer one that it replaced
if os.path.exists("shrunk.lmdb"):
    os.remove("shrunk.lmdb")
env = lmdb.open("shrunk.lmdb", subdir=False, map_size=1 << 20, lock=False)
with env.begin(write=True) as t:
    t.put(b"a", b"x" * 3000)
    t.put(b"a", b"y" * 48)
env.close()
