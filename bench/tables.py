"""Times tables of text, Arrow and SQLite that become data sets, against what people write for it in Python.

    python3 bench/tables.py WORK [--rows 2000000] [--rounds 5] [--only NAME,...] [--out FILE.md]

SHARDIFY names the program; numpy, pandas and pyarrow are wanted, polars is timed where it is
installed. The contenders of a case run one after the other in each round, two jobs or threads each.
It prints the medians of processor time and wall time, also as multiples of shardify's; --out keeps
them as a table.

    csv-typed     CSV with --csv types=..., pyarrow.csv and np.save, polars.read_csv and an Arrow file
    csv           the same, types from all cells
    feather       Feather with LZ4; pyarrow and np.save
    sqlite        a table of SQLite; fetchmany, numpy and np.save
    sqlite-truth  it grouped, with a row of another table for each event; pandas.read_sql in chunks,
                  the places where the key changes, truth by them, and np.save

A row is a hit: an event, a sensor, eleven numbers; 95 rows an event.
"""

import argparse
import importlib.util
import os
import sqlite3
import statistics
import sys

from events import run

SHARDIFY = os.environ.get("SHARDIFY", "shardify")


def make(work, rows):
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.feather as feather

    rng = np.random.default_rng(1)
    t = {"event_no": np.arange(rows) // 95, "dom": rng.integers(0, 5160, rows)}
    t.update({"x%d" % i: np.round(rng.normal(size=rows) * 500, 3) for i in range(11)})
    t = pd.DataFrame(t)
    t.to_csv(os.path.join(work, "p.csv"), index=False)
    feather.write_feather(pa.Table.from_pandas(t), os.path.join(work, "p.feather"), compression="lz4")
    name = os.path.join(work, "p.db")
    if os.path.exists(name):
        os.remove(name)
    db = sqlite3.connect(name)
    db.execute("create table pulses(event_no, dom INT, " + ", ".join("x%d FLOAT" % i for i in range(11)) + ")")
    db.executemany("insert into pulses values (" + ", ".join("?" * 13) + ")", t.itertuples(index=False, name=None))
    db.execute("create table truth(event_no INTEGER PRIMARY KEY, azimuth FLOAT, zenith FLOAT)")
    db.executemany("insert into truth values (?, ?, ?)", [(i, i * 0.1, i * 0.2) for i in range(rows // 95 + 1)])
    db.commit()
    db.close()


SAVE = "\nimport os; os.makedirs(%r)\nfor n in t.column_names: np.save(os.path.join(%r, n), t[n].to_numpy())\n"
CSV = "import numpy as np, pyarrow as pa, pyarrow.csv as c; pa.set_cpu_count(2); t = c.read_csv(%r)"
POLARS = "import polars as pl; pl.read_csv(%r, infer_schema_length=None).write_ipc(%r)"
FEATHER = "import numpy as np, pyarrow as pa, pyarrow.feather as f; pa.set_cpu_count(2); t = f.read_table(%r)"
FETCH = """
import os, sqlite3, numpy as np
db = sqlite3.connect(%r); c = db.execute("select * from pulses"); parts = []
while rows := c.fetchmany(65536): parts.append(np.array(rows, "f8"))
os.makedirs(%r); np.save(os.path.join(%r, "pulses"), np.concatenate(parts))
"""
PANDAS = """
import os, sqlite3, numpy as np, pandas as pd
db = sqlite3.connect(%r); os.makedirs(%r)
truth = pd.read_sql("select * from truth order by event_no", db).set_index("event_no")
key, columns = [], []
for d in pd.read_sql("select * from pulses", db, chunksize=1 << 18):
    key.append(d.pop("event_no").to_numpy()); columns.append(d.to_numpy("f8"))
key, x = np.concatenate(key), np.concatenate(columns)
first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
for name, v in ("x", x), ("first", first), ("truth", truth.loc[key[first]].to_numpy()): np.save(os.path.join(%r, name), v)
"""


def cases(work):
    at = lambda name: os.path.join(work, name)
    out = at("out")
    python = lambda text: [sys.executable, "-c", text]
    convert = lambda name, *more: [SHARDIFY, "convert", at(name), "-o", out, "-q", "--sync", "none", "--jobs", "2", *more]
    save = SAVE % (out, out)
    truth = at("p.db") + ":truth on=event_no"
    return {
        "csv-typed": {"shardify": convert("p.csv", "--csv", "types=event_no:i64,dom:i64,*:f64"), "pyarrow": python(CSV % at("p.csv") + save), "polars": python(POLARS % (at("p.csv"), out))},
        "csv": {"shardify": convert("p.csv"), "pyarrow": python(CSV % at("p.csv") + save), "polars": python(POLARS % (at("p.csv"), out))},
        "feather": {"shardify": convert("p.feather"), "pyarrow": python(FEATHER % at("p.feather") + save)},
        "sqlite": {"shardify": convert("p.db:pulses"), "fetchmany": python(FETCH % (at("p.db"), out, out))},
        "sqlite-truth": {"shardify": convert("p.db:pulses", "--group-rows", "event_no", "--join", truth), "pandas": python(PANDAS % (at("p.db"), out, out))},
    }


def main():
    a = argparse.ArgumentParser()
    a.add_argument("work")
    a.add_argument("--rows", type=int, default=2_000_000)
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--only", default="")
    a.add_argument("--out")
    a = a.parse_args()
    os.makedirs(a.work, exist_ok=True)
    mark = os.path.join(a.work, "rows-%d" % a.rows)
    if not os.path.exists(mark):
        make(a.work, a.rows)
        open(mark, "w").close()
    load = os.getloadavg()[0]
    polars = importlib.util.find_spec("polars")
    list_ = {k: {n: c for n, c in v.items() if n != "polars" or polars} for k, v in cases(a.work).items() if not a.only or k in a.only.split(",")}
    seen = {k: {n: [] for n in v} for k, v in list_.items()}
    for _ in range(a.rounds):
        for k, v in list_.items():
            for n, command in v.items():
                seen[k][n].append(run(command, a.work)[:2])
    rows = ["| case | | processor | wall | times shardify's processor, wall |", "|---|---|---|---|---|"]
    for k, v in seen.items():
        base = None
        for n, times in v.items():
            cpu, wall = (statistics.median(x[i] for x in times) for i in range(2))
            base = base or (cpu, wall)
            rows.append("| %s | %s | %.2f s | %.2f s | %.2f, %.2f |" % (k, n, cpu, wall, cpu / base[0], wall / base[1]))
    print("\n".join(rows))
    if a.out:
        with open(a.out, "w") as f:
            f.write(HEAD % (a.rows, a.rounds, os.cpu_count(), load, os.getloadavg()[0], "\n".join(rows)))


HEAD = """# Tables

`make bench-tables`: %d rows of 13 columns, medians of %d rounds, in which the contenders take turns, on %d cores. Processor times include starting the program and what it imports. The load of the machine was %.1f at the start and %.1f at the end: where it is more than 1, wall times are worth little, and ratios of processor times are what to go by.

%s
"""


if __name__ == "__main__":
    main()
