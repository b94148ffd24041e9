#!/usr/bin/env python3
"""How far conversions are from their limit: the input read once, decoded once by the fastest public decoder, summed once and written once.

    python3 bench/limits.py WORK [--rounds 5] [--mib 128] [--only NAME,...] --out bench/LIMITS.md

SHARDIFY names the program, FLOOR the program bench/floor; wants numpy, h5py, uproot and pyarrow. Decoders are called in C, one core, on the
chunks of the same files: libdeflate, libzstd, liblz4, libblosc and libturbojpeg of the system (Debian: libdeflate0, libzstd1, liblz4-1,
libblosc1, libturbojpeg0). A row whose decoder is not there is left out, and the page says so.

Inputs and decoders are in processes of their own (limits_inputs.py). In each round every row runs one conversion with one job and one with all cores, then its parts; then, with the input dropped from
the page cache, one conversion with all cores, and one reading of the input. Figures are medians.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pickle
import shutil
import statistics
import subprocess
import sys
import time
from typing import Any, Dict, List, Tuple

import page
from limits_inputs import ROWS, WHY
from limits_start import section, ways

SHARDIFY, FLOOR = os.environ.get("SHARDIFY", "bin/shardify"), os.environ.get("FLOOR", "build/bench/floor")
OVER = 1.3


def converted(source: str, out: str, jobs: int, flags: List[str]) -> Tuple[float, float, int, int]:
    """Processor seconds, wall seconds, most bytes of memory, and bytes of the set."""
    shutil.rmtree(out, ignore_errors=True)
    begin = time.perf_counter()
    p = subprocess.Popen([SHARDIFY, "convert", source, "-o", out, "--quiet", "--sync", "none", "--jobs", str(jobs), *flags], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    wall = time.perf_counter() - begin
    if status:
        raise SystemExit("%s: status %d" % (source, status))
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, names in os.walk(out) for f in names)
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss << 10, size


def parts(a: Any, name: str, source: str, size: int, out: str) -> Dict[str, float]:
    """Processor seconds of each part of the floor."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    made = subprocess.run([FLOOR, "parts", source, str(size), os.path.join(out, "floor")], check=True, capture_output=True, text=True).stdout
    found: Dict[str, float] = {k: v for k, v in json.loads(made).items() if k != "crc"}
    found["decode"] = float(step(a, "decode", name))
    return found


def dropped(source: str) -> List[str]:
    """The files of an input, none of which is in the page cache."""
    names = [os.path.join(d, f) for d, _, found in os.walk(source) for f in found]
    for name in names:
        with open(name, "rb") as f:
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return names


def read(source: str) -> float:
    """Wall seconds of reading the files one after the other, from storage."""
    names = dropped(source)
    begin = time.perf_counter()
    for name in names:
        with open(name, "rb", buffering=0) as f:
            while f.read(1 << 20):
                pass
    return time.perf_counter() - begin


def step(a: Any, what: str, name: str) -> str:
    """Runs a step in a process of its own: what a child is said to have had in memory is at least what its parent has when it starts it."""
    return subprocess.run([sys.executable, __file__, a.work, "--mib", str(a.mib), "--step", what, "--only", name], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def source_of(a: Any, name: str) -> str:
    return os.path.join(a.work, name.split(" ->")[0].replace(" ", "-"))


def make(a: Any, row: Any) -> None:
    """Makes an input, and a file with its payloads. It prints why it cannot."""
    name, of, _, decoder, _ = row
    source = source_of(a, name)
    shutil.rmtree(source, ignore_errors=True)
    try:
        if decoder:
            decoder()
        payloads = of(source, a)
    except (OSError, ImportError) as e:
        print(e)
        return
    with open(source + ".payloads", "wb") as f:
        pickle.dump(payloads, f)


def decoded(a: Any, row: Any) -> None:
    """Prints the processor seconds of the decoder."""
    with open(source_of(a, row[0]) + ".payloads", "rb") as f:
        payloads = pickle.load(f)
    seconds = 0.0
    if row[3]:
        decode, to = row[3](), ctypes.create_string_buffer(max(n for _, n in payloads))
        before = time.process_time()
        for packed, n in payloads:
            if decode(packed, to, n) != n:
                raise SystemExit("%s: a chunk is not what was packed" % row[0])
        seconds = time.process_time() - before
    print(seconds)


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("work")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--mib", type=int, default=128, help="of each input")
    p.add_argument("--files", type=int, default=1000000, help="of the largest plan")
    p.add_argument("--only", default="")
    p.add_argument("--step", default="", help="make or decode: what the program calls itself for")
    p.add_argument("--out", default="")
    a = p.parse_args()
    rows = [r for r in ROWS if not a.only or any(o in r[0] for o in a.only.split(","))]
    if a.step:
        {"make": make, "decode": decoded}[a.step](a, rows[0])
        return
    os.makedirs(a.work, exist_ok=True)
    cores, out = os.cpu_count() or 1, os.path.join(a.work, "out")
    why = {r[0]: step(a, "make", r[0]) for r in rows}
    rows = [r for r in rows if not why[r[0]]]
    tiny, starts = os.path.join(a.work, "start.csv"), []
    with open(tiny, "w") as f:
        f.write("x\n1\n")
    seen: Dict[str, List[Dict[str, float]]] = {r[0]: [] for r in rows}
    load = os.getloadavg()[0]
    for k in range(a.rounds + 1):
        for name, _, _, _, flags in rows:
            source = source_of(a, name)
            one = converted(source, out, 1, flags)
            many = converted(source, out, cores, flags)
            found = parts(a, name, source, one[3], out)
            dropped(source)
            cold = converted(source, out, cores, flags)
            if k > 0:  # the first is to be warm
                seen[name].append({"ours": one[0], "wall": many[1], "peak": max(one[2], many[2]), "cold": cold[1], "storage": read(source), **found})
                starts.append(converted(tiny, out, 1, [])[0])
    stored = [os.path.join(source_of(a, r[0]), f) for r in rows for f in sorted(os.listdir(source_of(a, r[0])))[:1] if r[0].startswith(("npz stored", "hdf5 gzip", "root zlib", "parquet zstd"))]
    more = ways(FLOOR, stored[0], os.path.join(out, "copy")) if stored else []
    more += section(a, SHARDIFY, FLOOR, stored)
    shutil.rmtree(out)
    report(a, cores, load, rows, seen, statistics.median(starts), ["%s (%s)" % r for r in why.items() if r[1]], more)


def report(a: Any, cores: int, load: float, rows: List[Any], seen: Dict[str, List[Dict[str, float]]], start: float, absent: List[str], more: List[str]) -> None:
    lines = [
        "# Limits",
        "",
        "Made by `make bench-limits` (`bench/limits.py`). Inputs of about %d MiB, --sync none, page cache warm unless it says cold; medians of %d rounds in turns. %d cores of %s, load %.1f at the start and %.1f at the end, commit %s."
        % (a.mib, a.rounds, cores, page.model(), load, os.getloadavg()[0], page.commit()),
        "",
        "The floor is the sum, in processor time, of what no conversion avoids: the input read once, decoded once by the fastest public decoder, the bytes of the set summed by CRC-32C and written to a fresh file. Ours is a whole `shardify convert --jobs 1` with its start and end, which take %.0f ms with a table of one row; the ratio is given with and without them." % (1e3 * start),
        "The limit of wall time is the largest part over the cores; ours is with %d jobs. Cold: the files of the input were dropped from the page cache; beside it, all of them read one after the other by one thread. Milliseconds." % cores,
        "",
        "| row | decoder | read | decode | sum | write | floor | ours | ours / floor | without start | limit of wall | wall | wall / limit | cold wall | cold read | peak memory |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    over = []
    for name, _, by, _, _ in rows:
        m = {k: statistics.median(s[k] for s in seen[name]) for k in seen[name][0]}
        each = [m[k] for k in ("read", "decode", "sum", "write")]
        floor, limit = sum(each), max(each) / cores
        lines.append(
            "| %s | %s | %s | %.0f | %.0f | %.2f | %.2f | %.0f | %.0f | %.2f | %.0f | %.0f | %.0f MiB |"
            % (name, by, " | ".join("%.0f" % (1e3 * v) for v in each), 1e3 * floor, 1e3 * m["ours"], m["ours"] / floor, (m["ours"] - start) / floor, 1e3 * limit, 1e3 * m["wall"], m["wall"] / limit, 1e3 * m["cold"], 1e3 * m["storage"], m["peak"] / 2**20)
        )
        if m["ours"] > OVER * floor:
            over.append("- %s, %.2f: %s" % (name, m["ours"] / floor, WHY[name]))
    lines += ["", "Over %.1f times the floor in processor time%s" % (OVER, ":" if over else ": no row."), "", *over]
    if absent:
        lines += ["", "Not measured: %s." % "; ".join(absent)]
    page.publish("\n".join(lines + more) + "\n", a.out)


if __name__ == "__main__":
    main()
