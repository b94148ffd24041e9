"""What starts and plans take, beside what the file system takes for the same files: a section of bench/limits.py."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from typing import Any, Dict, List, Tuple

Cost = Tuple[float, float]


def ran(cmd: List[str]) -> Cost:
    """Processor and wall seconds of a program."""
    begin = time.perf_counter()
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    if status:
        raise SystemExit("%s: status %d" % (" ".join(cmd), status))
    return used.ru_utime + used.ru_stime, time.perf_counter() - begin


def many(folder: str, name: str, content: bytes, n: int) -> str:
    """A folder of n files with the same content, a thousand in each folder below it."""
    folder += "-%d" % n
    if os.path.exists(folder + ".made"):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for k in range(n):
        below = os.path.join(folder, "%04d" % (k // 1000))
        if k % 1000 == 0:
            os.makedirs(below)
        with open(os.path.join(below, name % k), "wb", buffering=0) as f:
            f.write(content)
    open(folder + ".made", "w").close()
    return folder


def examples(work: str) -> Dict[str, bytes]:
    """A small file of each format whose footer or tree is read for the plan."""
    import h5py
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    import uproot

    x = np.arange(64, dtype="f4")
    path = os.path.join(work, "example")
    with h5py.File(path, "w") as f:
        f["x"], f["y"] = x, x.astype("i4")
    found = {"HDF5": open(path, "rb").read()}
    with uproot.recreate(path) as f:
        f["t"] = {"x": x, "y": x.astype("i4")}
    found["ROOT"] = open(path, "rb").read()
    pq.write_table(pa.table({"x": x, "y": x.astype("i4")}), path)
    found["Parquet"] = open(path, "rb").read()
    os.remove(path)
    return found


def section(a: Any, shardify: str, floor: str, inputs: List[str]) -> List[str]:
    """Lines of the page."""
    plan = os.path.join(a.work, "start.plan")
    rows: List[Tuple[str, List[str], str, List[str]]] = [("`shardify --help`", [shardify, "--help"], "", [])]
    rows += [("`shardify inspect`, %s" % os.path.basename(f), [shardify, "inspect", f], "", []) for f in inputs]
    pictures = many(os.path.join(a.work, "pictures"), "%07d.jpg", b"\xff\xd8\xff\xe0" + bytes(12), a.files)
    rows.append(("`shardify plan`, {:,} files .jpg".format(a.files), [shardify, "plan", pictures, "-o", plan], "`find -type f -size +0`", ["find", pictures, "-type", "f", "-size", "+0"]))
    for name, content in examples(a.work).items():
        folder = many(os.path.join(a.work, name.lower()), "%06d." + name.lower(), content, a.files // 10)
        row = "`shardify plan`, {:,} {} files of {:,} bytes".format(a.files // 10, name, len(content))
        rows.append((row, [shardify, "plan", folder, "-o", plan], "each opened, its head and end read", [floor, "ends", folder]))
    seen: Dict[str, List[Tuple[Cost, Cost]]] = {r[0]: [] for r in rows}
    for k in range(a.rounds + 1):
        for row, cmd, _, other in rows:
            shutil.rmtree(plan, ignore_errors=True)
            one = ran(cmd)
            two = ran(other) if other else (0.0, 0.0)
            if k > 0:
                seen[row].append((one, two))
    shutil.rmtree(plan, ignore_errors=True)
    lines = ["", "## Starts and plans", "", "Milliseconds, with a warm page cache; plans look at all files. The other program is `find`, or `floor ends` (bench/floor), which does on one core what no plan avoids.", ""]
    lines += ["| what | processor | wall | the other | processor | wall | ratio of processor time |", "|---|---|---|---|---|---|---|"]
    for row, _, other, _ in rows:
        m = [statistics.median(s[i][j] for s in seen[row]) for i in (0, 1) for j in (0, 1)]
        beside = "%.0f | %.0f | %.2f" % (1e3 * m[2], 1e3 * m[3], statistics.median(s[0][0] / s[1][0] for s in seen[row])) if other else " | | "
        lines.append("| %s | %.0f | %.0f | %s | %s |" % (row, 1e3 * m[0], 1e3 * m[1], other, beside))
    return lines


def ways(floor: str, source: str, to: str) -> List[str]:
    """Lines of the page: what ways to copy a file take."""
    out = subprocess.run([floor, "ways", source, to], check=True, capture_output=True, text=True).stdout
    lines = ["", "## Ways to write", "", "A file of %.0f MiB becomes another one, in milliseconds; medians of 7 turns (`floor ways`, bench/floor). Sums are CRC-32C." % (os.path.getsize(source) / 2**20), ""]
    lines += ["| way | processor | wall |", "|---|---|---|"]
    for line in out.splitlines():
        r = json.loads(line)
        lines.append("| %s | %.0f | %.0f |" % (r["way"], 1e3 * r["processor"], 1e3 * r["wall"]))
    return lines
