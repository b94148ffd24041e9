#!/usr/bin/env python3
"""Processor time of reading TFRecord and LMDB, and of writing Parquet, Arrow and TFRecord, beside the libraries of each.

    python3 bench/records.py WORK --tensorflow PYTHON --walk mdb.test --read tfrecord.test --floor floor --out bench/RECORDS.md

SHARDIFY names the program, PYTHON one that has TensorFlow, which does not load beside tfrecord; mdb.test and tfrecord.test
are `go test -c` of ./readers/lmdb/mdb and ./readers/tfrecord, floor is ./bench/floor. Wants numpy, pyarrow, lmdb, tfrecord. Each round runs all, one after the other.
"""

from __future__ import annotations

import argparse
import glob
import importlib.metadata
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import lmdb
import numpy as np
import page
import pyarrow as pa
import pyarrow.parquet as pq
import tfrecord
import tfrecord.reader

BINARY = os.environ.get("SHARDIFY", "bin/shardify")
HERE = os.path.dirname(os.path.abspath(__file__))
RECORDS, ROWS = 60_000, 2_000_000
DATABASES = {"100 B": (100, 1_000_000), "3 kB": (3000, 100_000), "50 kB": (50_000, 6000)}


class Case(NamedTuple):
    what: str
    peer: str
    ours: Callable[[], float]
    theirs: Callable[[], float]
    floor: Callable[[], float]


class Programs(NamedTuple):
    tensorflow: str
    walk: str
    read: str
    floor: str


def child(command: List[str], **kw: Any) -> Tuple[float, str]:
    """Seconds of the processor, and what was printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **kw).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, text


def convert(source: List[str], out: str, *args: str) -> float:
    shutil.rmtree(out, ignore_errors=True)
    return child([BINARY, "convert", *source, "-o", out, "-q", "--sync", "none", "--jobs", "1", *args])[0]


def make(work: str) -> None:
    """Records of 2 kB of bytes, 64 f32 and a number; a set of a list of 32 f32 and two numbers; databases."""
    r = np.random.default_rng(1)
    os.makedirs(work, exist_ok=True)
    w = tfrecord.TFRecordWriter(os.path.join(work, "a.tfrecord"))
    for i in range(RECORDS):
        w.write({"image": (b"\xff" + r.bytes(2047), "byte"), "x": (r.random(64, np.float32), "float"), "label": (i % 1000, "int")})
    w.close()
    schema = "x:f32[32],y:i64,z:f32"
    convert([], os.path.join(work, "set"), "--from", "synth", "--samples", str(ROWS), "--schema", schema, "--format", "mmap")
    small = os.path.join(work, "short")
    convert([], small, "--from", "synth", "--samples", str(ROWS // 4), "--schema", schema, "--format", "tfrecord", "--shard-size", "1GiB")
    convert([], os.path.join(work, "small"), "--from", "synth", "--samples", str(ROWS // 20), "--schema", schema, "--format", "mmap")
    for name, (size, n) in DATABASES.items():
        path = os.path.join(work, name.replace(" ", "") + ".lmdb")
        if os.path.exists(path):
            os.remove(path)
        v = r.bytes(size - 8)
        with lmdb.open(path, subdir=False, map_size=1 << 34, lock=False, sync=False) as env, env.begin(write=True) as t:
            for i in range(n):
                t.put(b"%08d" % i, i.to_bytes(8, "little") + v)


def timed(f: Callable[[], Any]) -> float:
    start = page.processor()
    f()
    return page.processor() - start


def cursor(path: str) -> None:
    with lmdb.open(path, subdir=False, readonly=True, lock=False) as env, env.begin() as t:
        for _key, _value in t.cursor():
            pass


def benchmark(program: str, name: str, **env: str) -> float:
    """Seconds of one round of a benchmark, by the test program of a package."""
    _, text = child([program, "-test.run", "xxx", "-test.bench", name, "-test.benchtime", "3x", "-test.cpu", "1"], env=dict(os.environ, **env))
    found = re.search(r"([\d.]+) cpu-ns/op", text)
    assert found, text
    return float(found.group(1)) / 1e9


def least(program: str, source: str, out: str, *parts: str) -> float:
    """Seconds of the least that some parts take: read what is below source, sum it, write as many bytes."""
    size = sum(os.path.getsize(f) for f in [source] + glob.glob(source + "/**", recursive=True) if os.path.isfile(f))
    took = json.loads(child([program, "parts", source, str(size), out])[1])
    os.remove(out)
    return sum(took[p] for p in parts)


def loader(path: str, kinds: Dict[str, str]) -> None:
    for _ in tfrecord.reader.tfrecord_loader(path, None, kinds):
        pass


def parquet(files: List[str], out: str) -> None:
    """Columns in memory maps, to row groups as ours: 1,000 rows, nothing compressed."""
    for i, f in enumerate(files):
        pq.write_table(pa.ipc.open_file(pa.memory_map(f)).read_all(), os.path.join(out, "%d.parquet" % i), row_group_size=1000, use_dictionary=False, compression="none")


def cases(work: str, p: Programs) -> List[Case]:
    at = lambda name: os.path.join(work, name)  # noqa: E731
    other = lambda *args: float(child([p.tensorflow, os.path.join(HERE, "records_tensorflow.py"), *args])[1].split()[-1])  # noqa: E731
    records, out = at("a.tfrecord"), at("out")
    convert([at("set")], at("arrow"), "--format", "arrow")
    mapped = sorted(glob.glob(at("arrow/*.arrow")))
    os.makedirs(at("pyarrow"), exist_ok=True)

    short = os.path.join(work, "short", "shard-000000.tfrecord")
    kinds = {"image": "byte", "x": "float", "label": "int"}, {"x": "float", "y": "int", "z": "float"}

    def read(path: str) -> Callable[[], float]:
        return lambda: convert([path], out, "--format", "mmap")

    def copied() -> float:
        shutil.rmtree(out, ignore_errors=True)
        return child(["cp", "-r", at("set"), out])[0]

    def floor(source: str, *parts: str) -> Callable[[], float]:
        return lambda: least(p.floor, source, at("floor"), *parts)

    all_cases: List[Case] = []
    for size, path, kind, how in (("2.3 kB", records, kinds[0], "read"), ("0.2 kB", short, kinds[1], "short")):
        alone = lambda path=path: benchmark(p.read, "Read", SHARDIFY_TFRECORD=path)  # noqa: E731
        loop = lambda path=path, kind=kind: timed(lambda: loader(path, kind))  # noqa: E731
        batches = lambda path=path, how=how: other(how, path)  # noqa: E731
        for what, ours, parts in (("read", alone, ("read", "sum")), ("converted", read(path), ("read", "sum", "write"))):
            title = "TFRecord in, %s a record, %s" % (size, what)
            all_cases.append(Case(title, "tfrecord, a loop", ours, loop, floor(path, *parts)))
            all_cases.append(Case(title, "tf.data, `batch(256)`, `parse_example`", ours, batches, floor(path, *parts)))
    for name in DATABASES:
        path = at(name.replace(" ", "") + ".lmdb")
        ours = lambda path=path: benchmark(p.walk, "Walk", SHARDIFY_LMDB=path)  # noqa: E731
        all_cases.append(Case("LMDB, a walk over values of " + name, "py-lmdb", ours, lambda path=path: timed(lambda: cursor(path)), floor(path, "read")))  # type: ignore
    out_of = floor(at("set"), "read", "sum", "write")
    all_cases += [
        Case("Parquet out", "pyarrow", lambda: convert([at("set")], out, "--format", "parquet"), lambda: timed(lambda: parquet(mapped, at("pyarrow"))), out_of),
        Case("Arrow out", "`cp -r` of the mmap set", lambda: convert([at("set")], out, "--format", "arrow"), copied, out_of),
        Case(
            "TFRecord out",
            "a TensorFlow loop",
            lambda: convert([at("small")], out, "--format", "tfrecord"),
            lambda: other("write", at("loop.tfrecord"), str(ROWS // 20)),
            floor(at("small"), "read", "sum", "write"),
        ),
    ]
    return all_cases


def versions(tensorflow: str) -> Tuple[str, ...]:
    theirs = child([tensorflow, os.path.join(HERE, "records_tensorflow.py"), "version"])[1].strip()
    return importlib.metadata.version("tfrecord"), theirs, lmdb.__version__, pa.__version__


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("work")
    p.add_argument("--tensorflow", required=True)
    p.add_argument("--walk", required=True)
    p.add_argument("--read", required=True)
    p.add_argument("--floor", required=True)
    p.add_argument("--out", default="")
    p.add_argument("--rounds", type=int, default=5)
    a = p.parse_args()
    pa.set_cpu_count(1)
    make(a.work)
    todo = cases(a.work, Programs(a.tensorflow, a.walk, a.read, a.floor))
    found: List[List[Tuple[float, float, float]]] = [[] for _ in todo]
    for _ in range(a.rounds):
        for times, case in zip(found, todo):
            times.append((case.ours(), case.theirs(), case.floor()))
    lines = [
        "# Records in, sets out",
        "",
        "Made by `make bench-records`. Processor time, user and system: of `shardify convert --jobs 1` with its start, and of the libraries without theirs.",
        "%d rounds in turns on %d cores, load %.1f at the end; medians, and those of the ratios."
        " Commit %s, Python %s, tfrecord %s, TensorFlow %s, py-lmdb %s, pyarrow %s."
        % (a.rounds, os.cpu_count() or 0, os.getloadavg()[0], page.commit(), platform.python_version(), *versions(a.tensorflow)),
        "",
        "- TFRecord: %s records of 2 kB of bytes, 64 f32 and a number, and %s of 33 f32 and a number."
        " Read: the reader alone, into batches, as the others; converted: an mmap set is written." % (format(RECORDS, ","), format(ROWS // 4, ",")),
        "  shardify reads all records twice, for the plan and for the set, with both checksums each time; tfrecord checks none.",
        "- LMDB: a walk over all keys and values. py-lmdb copies values out of a memory map; shardify reads pages, so that a file that is cut is an error.",
        "  Nothing is lost by that: a look at each page of the 412 MB of values of 3 kB takes 40 to 43 ms in a map, reading them all 37 to 39 ms (a C program).",
        "- Out: %s samples of `f32[32]`, an i64 and an f32, from an mmap set; for TFRecord a twentieth." % format(ROWS, ","),
        "  pyarrow writes the same columns in the same row groups from memory maps.",
        "",
        "- The floor (`bench/floor parts`): reading the file or the set once in pieces of 1 MiB, summing it by CRC-32C (not for LMDB, which has no checksums),"
        " and where a set is written, writing as many bytes; without the start of a program. No converter that reads with calls of read takes less;"
        " `cp` has the kernel copy, which sums nothing.",
        "",
        "| what | beside | shardify | the other | the floor | times as fast | at the floor |",
        "|---|---|---|---|---|---|---|",
    ]
    for times, case in zip(found, todo):
        ours, theirs, floor = (statistics.median(x[k] for x in times) for k in (0, 1, 2))
        fast, most = (statistics.median(x[k] / max(x[by], 1e-9) for x in times) for k, by in ((1, 0), (1, 2)))
        lines.append("| %s | %s | %.2f s | %.2f s | %.2f s | %.2f | %.1f |" % (case.what, case.peer, ours, theirs, floor, fast, most))
    page.publish("\n".join(lines) + "\n", a.out)


if __name__ == "__main__":
    main()
