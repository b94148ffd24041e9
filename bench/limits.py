#!/usr/bin/env python3
"""How far conversions are from their limit: the input read once, decoded once by the fastest public decoder, summed once and written once.

    python3 bench/limits.py WORK [--rounds 5] [--mib 128] [--only NAME,...] --out bench/LIMITS.md

SHARDIFY names the program, FLOOR the program bench/floor; wants numpy, and h5py for rows of HDF5. Decoders are called in C, one core, on the
chunks of the same files: libdeflate, libzstd and liblz4 of the system (Debian: libdeflate0, libzstd1, liblz4-1). A row whose decoder is not
there is left out, and the page says so.

Inputs and decoders are in processes of their own. In each round every row runs one conversion with one job and one with all cores, then its parts. Figures are medians; the page cache is warm.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import io
import json
import os
import pickle
import random
import shutil
import statistics
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import page

SHARDIFY, FLOOR = os.environ.get("SHARDIFY", "bin/shardify"), os.environ.get("FLOOR", "build/bench/floor")
OVER = 1.3
CHUNK = 1 << 18  # bytes of a chunk
Payloads = List[Tuple[bytes, int]]  # what is packed, and the bytes that it becomes
Decoder = Callable[[bytes, Any, int], int]  # the bytes of the result


def library(name: str) -> Any:
    found = ctypes.util.find_library(name)
    if found is None:
        raise OSError("no lib%s" % name)
    return ctypes.CDLL(found)


def by_deflate(call: str) -> Decoder:
    lib = library("deflate")
    lib.libdeflate_alloc_decompressor.restype = ctypes.c_void_p
    state, decode, n = ctypes.c_void_p(lib.libdeflate_alloc_decompressor()), getattr(lib, call), ctypes.c_size_t()

    def run(packed: bytes, to: Any, room: int) -> int:
        return n.value if decode(state, packed, ctypes.c_size_t(len(packed)), to, ctypes.c_size_t(room), ctypes.byref(n)) == 0 else -1

    return run


def by_zstd() -> Decoder:
    lib = library("zstd")
    lib.ZSTD_createDCtx.restype, lib.ZSTD_decompressDCtx.restype = ctypes.c_void_p, ctypes.c_size_t
    state = ctypes.c_void_p(lib.ZSTD_createDCtx())
    return lambda packed, to, room: int(lib.ZSTD_decompressDCtx(state, to, ctypes.c_size_t(room), packed, ctypes.c_size_t(len(packed))))


def by_lz4() -> Decoder:
    lib = library("lz4")
    return lambda packed, to, room: int(lib.LZ4_decompress_safe(packed, to, len(packed), room))


def numbers(mib: int) -> Any:
    """Measured values: a slow signal, noise in a few of its bits."""
    import numpy as np

    n = (mib << 20) // 4
    r = np.random.default_rng(1)
    return (np.sin(np.arange(n, dtype="f4") / 997) * 4000 + r.integers(0, 64, n)).astype("i4").reshape(-1, 1024)


# ---- inputs: each is made once, and has its payloads


def files(path: str, a: Any) -> Payloads:
    os.makedirs(path)
    data = random.Random(2).randbytes(7000 * 64)
    for k in range(a.mib * 64):
        with open(os.path.join(path, "%06d.bin" % k), "wb") as f:
            f.write(data[k % 63 * 7000 :][:7000])
    return []


def npz(compression: int) -> Callable[[str, Any], Payloads]:
    def make(path: str, a: Any) -> Payloads:
        import numpy as np

        os.makedirs(path)
        name = os.path.join(path, "x.npz")
        x = numbers(a.mib)
        with zipfile.ZipFile(name, "w", compression, True) as z:
            for k, part in enumerate(np.array_split(x, 1 if compression == zipfile.ZIP_STORED else 4, axis=1)):
                b = io.BytesIO()
                np.save(b, np.ascontiguousarray(part))
                z.writestr("x%d.npy" % k, b.getvalue())
        return list(members(name)) if compression == zipfile.ZIP_DEFLATED else []

    return make


def members(name: str) -> Iterator[Tuple[bytes, int]]:
    with zipfile.ZipFile(name) as z, open(name, "rb") as f:
        for m in z.infolist():
            f.seek(m.header_offset + 26)
            f.seek(sum(struct.unpack("<HH", f.read(4))), os.SEEK_CUR)
            yield f.read(m.compress_size), m.file_size


def hdf5(packed: bool) -> Callable[[str, Any], Payloads]:
    def make(path: str, a: Any) -> Payloads:
        import h5py

        os.makedirs(path)
        x = numbers(a.mib)
        with h5py.File(os.path.join(path, "x.h5"), "w") as f:
            if not packed:
                f.create_dataset("x", data=x)
                return []
            d = f.create_dataset("x", data=x, chunks=(CHUNK // x.strides[0], x.shape[1]), compression="gzip", compression_opts=4)
            return [(d.id.read_direct_chunk(d.id.get_chunk_info(k).chunk_offset)[1], CHUNK) for k in range(d.id.get_num_chunks())]

    return make


def zarr(codec: Optional[str], pack: Callable[[bytes], bytes], skip: int = 0) -> Callable[[str, Any], Payloads]:
    """An array of Zarr 2. The first bytes of a chunk that are of its format, and not of the decoder's, are skipped."""

    def make(path: str, a: Any) -> Payloads:
        x = numbers(a.mib)
        rows = CHUNK // x.strides[0]
        os.makedirs(os.path.join(path, "x.zarr"))
        meta = {"zarr_format": 2, "shape": x.shape, "chunks": [rows, x.shape[1]], "dtype": "<i4", "fill_value": 0, "order": "C", "filters": None}
        meta["compressor"] = {"id": codec} if codec else None
        with open(os.path.join(path, "x.zarr", ".zarray"), "w") as f:
            json.dump(meta, f)
        out: Payloads = []
        for k in range(len(x) // rows):
            packed = pack(x[k * rows : (k + 1) * rows].tobytes())
            with open(os.path.join(path, "x.zarr", "%d.0" % k), "wb") as f:
                f.write(packed)
            out.append((packed[skip:], CHUNK))
        return out if codec else []

    return make


def pack_zstd(b: bytes) -> bytes:
    lib = library("zstd")
    lib.ZSTD_compress.restype = ctypes.c_size_t
    to = ctypes.create_string_buffer(len(b) + len(b) // 128 + 1024)
    n = lib.ZSTD_compress(to, ctypes.c_size_t(len(to)), b, ctypes.c_size_t(len(b)), 3)
    return to.raw[:n]


def pack_lz4(b: bytes) -> bytes:
    lib = library("lz4")
    to = ctypes.create_string_buffer(len(b) + len(b) // 128 + 1024)
    n = lib.LZ4_compress_default(b, to, len(b), len(to))
    return struct.pack("<I", len(b)) + to.raw[:n]


ROWS: List[Tuple[str, Callable[[str, Any], Payloads], str, Optional[Callable[[], Decoder]], List[str]]] = [
    ("files of 7 kB -> wds", files, "none", None, ["--format", "wds"]),
    ("npz stored -> mmap", npz(zipfile.ZIP_STORED), "none", None, []),
    ("npz deflated -> mmap", npz(zipfile.ZIP_DEFLATED), "libdeflate", lambda: by_deflate("libdeflate_deflate_decompress"), []),
    ("hdf5 contiguous -> mmap", hdf5(False), "none", None, []),
    ("hdf5 gzip -> mmap", hdf5(True), "libdeflate", lambda: by_deflate("libdeflate_zlib_decompress"), []),
    ("zarr raw -> mmap", zarr(None, bytes), "none", None, []),
    ("zarr zlib -> mmap", zarr("zlib", lambda b: zlib.compress(b, 4)), "libdeflate", lambda: by_deflate("libdeflate_zlib_decompress"), []),
    ("zarr zstd -> mmap", zarr("zstd", pack_zstd), "libzstd", by_zstd, []),
    ("zarr lz4 -> mmap", zarr("lz4", pack_lz4, 4), "liblz4", by_lz4, []),
]


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
    seen: Dict[str, List[Dict[str, float]]] = {r[0]: [] for r in rows}
    load = os.getloadavg()[0]
    for k in range(a.rounds + 1):
        for name, _, _, _, flags in rows:
            source = source_of(a, name)
            one = converted(source, out, 1, flags)
            many = converted(source, out, cores, flags)
            found = parts(a, name, source, one[3], out)
            if k > 0:  # the first is to be warm
                seen[name].append({"ours": one[0], "wall": many[1], "peak": max(one[2], many[2]), **found})
    shutil.rmtree(out)
    report(a, cores, load, rows, seen, ["%s (%s)" % r for r in why.items() if r[1]])


def report(a: Any, cores: int, load: float, rows: List[Any], seen: Dict[str, List[Dict[str, float]]], absent: List[str]) -> None:
    lines = [
        "# Limits",
        "",
        "Made by `make bench-limits` (`bench/limits.py`). Inputs of about %d MiB, --sync none, page cache warm; medians of %d rounds in turns. %d cores of %s, load %.1f at the start and %.1f at the end, commit %s."
        % (a.mib, a.rounds, cores, page.model(), load, os.getloadavg()[0], page.commit()),
        "",
        "The floor is the sum, in processor time, of what no conversion avoids: the input read once, decoded once by the fastest public decoder, the bytes of the set summed by CRC-32C and written to a fresh file. Ours is a whole `shardify convert --jobs 1` with its start.",
        "The limit of wall time is the largest part over the cores; ours is with %d jobs. Milliseconds." % cores,
        "",
        "| row | decoder | read | decode | sum | write | floor | ours | ours / floor | limit of wall | wall | wall / limit | peak memory |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    over = []
    for name, _, by, _, _ in rows:
        m = {k: statistics.median(s[k] for s in seen[name]) for k in seen[name][0]}
        each = [m[k] for k in ("read", "decode", "sum", "write")]
        floor, limit = sum(each), max(each) / cores
        lines.append(
            "| %s | %s | %s | %.0f | %.0f | %.2f | %.0f | %.0f | %.2f | %.0f MiB |"
            % (name, by, " | ".join("%.0f" % (1e3 * v) for v in each), 1e3 * floor, 1e3 * m["ours"], m["ours"] / floor, 1e3 * limit, 1e3 * m["wall"], m["wall"] / limit, m["peak"] / 2**20)
        )
        if m["ours"] > OVER * floor:
            over.append("%s (%.2f)" % (name, m["ours"] / floor))
    lines += ["", "Over %.1f times the floor in processor time: %s." % (OVER, ", ".join(over) or "no row")]
    if absent:
        lines += ["", "Not measured: %s." % "; ".join(absent)]
    page.publish("\n".join(lines) + "\n", a.out)


if __name__ == "__main__":
    main()
