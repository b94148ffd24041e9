"""The inputs of limits.py, and the public decoders of what is packed in them.

Each input is made once. Its payloads are what a decoder gets: the packed bytes of each chunk of the same files, and how many bytes they become.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import io
import json
import os
import random
import struct
import zipfile
import zlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

CHUNK = 1 << 18  # bytes of a chunk
SIDE = 256  # of a picture
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


def zarr(codec: Optional[str], pack: Callable[[bytes], bytes], skip: int = 0, **more: Any) -> Callable[[str, Any], Payloads]:
    """An array of Zarr 2. The first bytes of a chunk that are of its format, and not of the decoder's, are skipped."""

    def make(path: str, a: Any) -> Payloads:
        x = numbers(a.mib)
        rows = CHUNK // x.strides[0]
        os.makedirs(os.path.join(path, "x.zarr"))
        meta: Dict[str, Any] = {"zarr_format": 2, "shape": x.shape, "chunks": [rows, x.shape[1]], "dtype": "<i4", "fill_value": 0, "order": "C", "filters": None}
        meta["compressor"] = {"id": codec, **more} if codec else None
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


def blosc() -> Any:
    lib = library("blosc")
    lib.blosc_compress_ctx.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    lib.blosc_decompress_ctx.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return lib


def by_blosc() -> Decoder:
    lib = blosc()
    return lambda packed, to, room: int(lib.blosc_decompress_ctx(packed, to, room, 1))


def pack_blosc(b: bytes) -> bytes:
    to = ctypes.create_string_buffer(len(b) + 1024)
    n = blosc().blosc_compress_ctx(5, 1, 4, len(b), b, to, len(to), b"lz4", 0, 1)
    return to.raw[:n]


def jpeg() -> Any:
    lib = library("turbojpeg")
    for name in ("tjInitCompress", "tjInitDecompress"):
        getattr(lib, name).restype = ctypes.c_void_p
    p, i, n = ctypes.c_void_p, ctypes.c_int, ctypes.c_ulong
    lib.tjCompress2.argtypes = [p, ctypes.c_char_p, i, i, i, i, ctypes.POINTER(p), ctypes.POINTER(n), i, i, i]
    lib.tjDecompress2.argtypes = [p, ctypes.c_char_p, n, p, i, i, i, i, i]
    return lib


def by_jpeg() -> Decoder:
    lib = jpeg()
    state = lib.tjInitDecompress()
    return lambda packed, to, room: room if lib.tjDecompress2(state, packed, len(packed), to, SIDE, 0, SIDE, 0, 0) == 0 else -1


def pictures(path: str, a: Any) -> Payloads:
    """JPEG of quality 90 and 4:2:0, of a smooth picture with some noise."""
    import numpy as np

    lib, r = jpeg(), np.random.default_rng(3)
    state, out = lib.tjInitCompress(), []
    os.makedirs(path)
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    for k in range((a.mib << 20) // (3 * SIDE * SIDE)):
        waves = [128 + 90 * np.sin((x * (k % 7 + c + 1) + y * (k % 5 + 1)) / 40) for c in range(3)]
        pixels = np.clip(np.stack(waves, 2) + r.normal(0, 8, (SIDE, SIDE, 3)), 0, 255).astype("u1").tobytes()
        buf, n = ctypes.c_void_p(), ctypes.c_ulong()
        if lib.tjCompress2(state, pixels, SIDE, 0, SIDE, 0, ctypes.byref(buf), ctypes.byref(n), 2, 90, 0):
            raise OSError("libturbojpeg packs no picture")
        packed = ctypes.string_at(buf.value or 0, n.value)
        lib.tjFree(buf)
        with open(os.path.join(path, "%06d.jpg" % k), "wb") as f:
            f.write(packed)
        out.append((packed, 3 * SIDE * SIDE))
    return out


def root(level: Callable[[Any], Any], skip: int) -> Callable[[str, Any], Payloads]:
    """A tree of eight branches. skip is how many bytes in front of a packed block the decoder has no use for: 9, and a checksum."""

    def make(path: str, a: Any) -> Payloads:
        import uproot

        os.makedirs(path)
        name = os.path.join(path, "x.root")
        x = numbers(a.mib).reshape(-1, 8)
        step = len(x) // 16
        with uproot.recreate(name, compression=level(uproot)) as f:
            tree = f.mktree("t", {"x%d" % k: x.dtype for k in range(8)})
            for at in range(0, len(x), step):
                tree.extend({"x%d" % k: x[at : at + step, k] for k in range(8)})
        out: Payloads = []
        with uproot.open(name) as f, open(name, "rb") as raw:
            for branch in f["t"].branches:
                for at in branch.member("fBasketSeek")[: branch.num_baskets]:
                    raw.seek(at)
                    size, _, _, _, key = struct.unpack(">iHIIH", raw.read(16))
                    raw.seek(at + key)
                    rest = raw.read(size - key)
                    while rest:
                        packed, to = (int.from_bytes(rest[k : k + 3], "little") for k in (3, 6))
                        out.append((rest[skip : 9 + packed], to))
                        rest = rest[9 + packed :]
        return out

    return make


def parquet(codec: str) -> Callable[[str, Any], Payloads]:
    def make(path: str, a: Any) -> Payloads:
        import pyarrow as pa
        import pyarrow.parquet as pq

        os.makedirs(path)
        name = os.path.join(path, "x.parquet")
        x = numbers(a.mib).reshape(-1, 8)
        table = pa.table({"x%d" % k: x[:, k].copy() for k in range(8)})
        pq.write_table(table, name, compression=codec, use_dictionary=False, row_group_size=1 << 19)
        out: Payloads = []
        with open(name, "rb") as f:
            meta = pq.read_metadata(name)
            for g in range(meta.num_row_groups):
                for c in range(meta.num_columns):
                    column = meta.row_group(g).column(c)
                    f.seek(column.data_page_offset)
                    out.extend(pages(f.read(column.total_compressed_size)))
        return out if codec != "none" else []

    return make


def pages(rest: bytes) -> Iterator[Tuple[bytes, int]]:
    """Data pages of version 1 of a column, by their headers in Thrift's compact protocol."""
    while rest:
        at, found = fields(rest, 0)
        yield rest[at : at + found[3]], found[2]
        rest = rest[at + found[3] :]


def fields(b: bytes, at: int) -> Tuple[int, Dict[int, int]]:
    """Where a structure ends, and its numbers by their field."""

    def varint(at: int) -> Tuple[int, int]:
        value = shift = 0
        while True:
            value, shift, at = value | (b[at] & 127) << shift, shift + 7, at + 1
            if b[at - 1] < 128:
                return at, value

    found: Dict[int, int] = {}
    field = 0
    while b[at]:
        kind, step, at = b[at] & 15, b[at] >> 4, at + 1
        if step == 0:
            raise ValueError("a long field number")
        field += step
        if kind in (4, 5, 6):
            at, value = varint(at)
            found[field] = value >> 1 ^ -(value & 1)
        elif kind == 8:
            at, value = varint(at)
            at += value
        elif kind == 12:
            at, _ = fields(b, at)
        elif kind not in (1, 2):
            raise ValueError("a field of type %d" % kind)
    return at + 1, found


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
    ("zarr blosc -> mmap", zarr("blosc", pack_blosc, cname="lz4", clevel=5, shuffle=1, blocksize=0), "libblosc", by_blosc, []),
    ("root zlib -> mmap", root(lambda u: u.ZLIB(1), 9), "libdeflate", lambda: by_deflate("libdeflate_zlib_decompress"), []),
    ("root zstd -> mmap", root(lambda u: u.ZSTD(5), 9), "libzstd", by_zstd, []),
    ("root lz4 -> mmap", root(lambda u: u.LZ4(1), 17), "liblz4", by_lz4, []),
    ("parquet plain -> mmap", parquet("none"), "none", None, []),
    ("parquet zstd -> mmap", parquet("zstd"), "libzstd", by_zstd, []),
    ("jpeg pixels -> mmap", pictures, "libjpeg-turbo", by_jpeg, ["--augment", "centre-crop=%d" % SIDE]),
]

# Why a row is over its floor: from profiles (perf, one job). Without the start, rows that only copy take what `floor ways` takes for the same bytes in one go: the parts of the floor are measured
# one by one, with one mebibyte that never leaves the core's cache.
COPY = "Reading, summing and writing the same bytes in one go takes what the table of ways to write says; the rest is the start, and memory that is touched first (13 %)."
WHY: Dict[str, str] = {
    "files of 7 kB -> wds": "Each file is opened, looked at, read and closed (24 % of the time besides reading), and named in an index and a tar header.",
    "npz stored -> mmap": COPY + " The CRC-32 of the archive is checked beside the sum of the set (12 % both).",
    "npz deflated -> mmap": COPY,
    "hdf5 contiguous -> mmap": COPY,
    "hdf5 gzip -> mmap": "The decoder is as fast as libdeflate; shuffled bytes are put in order.",
    "zarr raw -> mmap": COPY + " A chunk is a file: 512 are opened, looked at and closed.",
    "zarr zlib -> mmap": "The decoder is as fast as libdeflate. A chunk is a file.",
    "zarr zstd -> mmap": "The decoder in Go (klauspost/compress) takes longer than libzstd; a chunk is a file.",
    "zarr lz4 -> mmap": "The decoder in Go takes a little longer than liblz4; a chunk is a file; memory that is touched first.",
    "zarr blosc -> mmap": "The decoder with its shuffle is 25 % of the time, as libblosc's; the rest is the start, memory that is touched first (13 %), and 512 files (6 %).",
    "root zlib -> mmap": "Numbers are turned from big-endian; memory that is touched first.",
    "root zstd -> mmap": "The decoder in Go (klauspost/compress) is 58 % of the time: baskets of 30 kB, for each of which tables are built. Numbers are turned from big-endian (5 %); memory that is touched first (10 %).",
    "root lz4 -> mmap": "The decoder is 27 %. The checksums of the baskets are checked (XXH64, with the sum of the set 7 %), numbers are turned from big-endian (6 %), memory is touched first (14 %).",
    "parquet plain -> mmap": "A span is a row group of 16 MiB, which leaves the caches: memory that is touched first is 22 %, the copy from pages to columns 9 %.",
    "parquet zstd -> mmap": "The decoder in Go (klauspost/compress) is 54 %; memory that is touched first 9 %, the copy from pages to columns 3 %.",
    "jpeg pixels -> mmap": "The decoder is as fast as libjpeg-turbo.",
}
