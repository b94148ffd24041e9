"""Writes digits.jsonl, digits.feather, digits.db and digits.txt of digits.npz (needs numpy and pyarrow)."""

import json
import os
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.feather

os.chdir(os.path.dirname(os.path.abspath(__file__)))
z = np.load("digits.npz")
x, y = z["x"], z["y"]
rows = [(i, int(y[i]), round(float(x[i].mean()), 4), [int(k) for k in np.flatnonzero(x[i].ravel() > 12)]) for i in range(0, 1797, 9)]
with open("digits.jsonl", "w") as f:
    for i, d, ink, dark in rows:
        f.write(json.dumps({"image": i, "digit": d, "means": {"ink": ink}, "dark": dark}, separators=(",", ":")) + "\n")
t = pa.table({"image": [r[0] for r in rows], "digit": pa.array([r[1] for r in rows], pa.int8()), "ink": pa.array([r[2] for r in rows], pa.float32()), "dark": pa.array([r[3] for r in rows], pa.list_(pa.uint8()))})
pyarrow.feather.write_feather(t, "digits.feather", compression="lz4")
if os.path.exists("digits.db"):
    os.remove("digits.db")
c = sqlite3.connect("digits.db")
c.execute("create table images (image integer primary key, digit integer, ink real)")
c.executemany("insert into images values (?,?,?)", [r[:3] for r in rows])
c.execute("create table dark (image integer, place integer)")
c.executemany("insert into dark values (?,?)", [(r[0], p) for r in rows for p in r[3]])
c.commit()
c.execute("vacuum")
c.close()
words = "zero one two three four five six seven eight nine".split()
with open("digits.txt", "w") as f:
    for lo in range(0, len(rows), 10):
        f.write(" ".join(words[r[1]] for r in rows[lo:lo+10]) + "\n")
