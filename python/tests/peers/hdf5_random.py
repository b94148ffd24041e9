"""Random HDF5 files: types, shapes, layouts, filters and chunk indexes as h5py can make them.

A schema says what a member holds; every file, and every group that is a sample,
stores it in a layout of its own. What was stored is asked of h5py afterwards.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Tuple

import h5py
import hdf5plugin
import numpy as np
from hdf5_types import Odd, Shape, Types, holds_objects, put

LIBVERS = [("earliest", "v108"), ("earliest", "v110"), ("v108", "v108"), ("v110", "v110"), ("latest", "latest"), None]
WIDTHS = [("i1", "i2", "i4", "i8"), ("u1", "u2", "u4", "u8"), ("u1", "i2", "i4"), ("f2", "f4", "f8")]
WIDTHS += [("i2", "u1", "f4"), ("i4", "u4", "f8"), ("S3", "S9")]


@dataclass
class Member:
    """A data set of the schema; inner is its shape without the samples."""

    path: str
    dtype: Any
    inner: Shape
    ragged: bool = False
    once: bool = False
    refused: str = ""
    special: str = ""  # "odd": a type that only the low-level interface makes; "blosc2": a filter; "lists"
    widths: Tuple[str, ...] = ()  # types, of which each file has one


@dataclass
class Plan:
    """Members, and the files that hold them."""

    members: List[Member]
    mode: str
    paths: List[str] = field(default_factory=list)
    samples: List[int] = field(default_factory=list)
    left: Dict[str, str] = field(default_factory=dict)  # name -> reason that must be in the list of what was left out
    flags: List[str] = field(default_factory=list)


class Maker(Types):
    def __init__(self, rng: np.random.Generator, folder: str) -> None:
        super().__init__(rng)
        self.folder = folder
        self.log: List[str] = []
        self.sources = 0
        self.virtuals = True

    # ---- data sets

    def store(self, g: h5py.Group, name: str, m: Member, shape: Shape, log: str) -> None:
        """One data set, in a layout of its own."""
        if m.special == "odd":
            return self.odd(g, name, m.dtype, shape)
        dtype = np.dtype(m.dtype)
        data = self.values(dtype, shape)
        if (
            self.virtuals
            and m.special != "blosc2"
            and shape
            and 0 not in shape
            and not holds_objects(dtype)
            and dtype.subdtype is None
            and self.chance(0.04)
        ):
            return self.virtual(g, name, dtype, shape)
        layout = (
            "contiguous" if not shape else self.one("contiguous", "compact", "chunked", "chunked", "chunked", "resized")
        )
        if m.special == "blosc2":
            layout = "resized" if 0 in shape else "chunked"
        if 0 in shape and layout != "resized" or shape and layout == "compact" and self.bytes(dtype, shape) > 60000:
            layout = "contiguous"
        kw: Dict[str, Any] = {}
        fixed = not holds_objects(dtype)
        if fixed and dtype.subdtype is None and self.chance(0.4) and dtype.kind not in "VmM" and not dtype.names:
            kw["fillvalue"] = self.values(dtype, ())[()]
        elif fixed and dtype.names and self.chance(0.3):
            kw["fillvalue"] = self.values(dtype, (1,))[0]
        self.log.append("%s: %s %s %s %s" % (log, dtype, shape, layout, kw))
        if layout == "contiguous" or layout == "compact":
            dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if layout == "compact":
                dcpl.set_layout(h5py.h5d.COMPACT)
            d = g.create_dataset(name, shape, m.dtype, dcpl=dcpl, **kw)
            if shape == () or not fixed or self.chance(0.9):  # else never written
                put(d, data)
            return
        chunks = tuple(int(self.rng.integers(1, max(2, int(s * self.one(0.3, 1, 1.7)) + 1))) for s in shape)
        grows = [self.chance(0.3) or layout == "resized" or c > s for c, s in zip(chunks, shape)]
        if any(grows):
            kw["maxshape"] = tuple(None if g or c > s else s for g, c, s in zip(grows, chunks, shape))
        kw.update(self.filters(dtype, m))
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if self.chance(0.25):
            dcpl.set_alloc_time(self.one(h5py.h5d.ALLOC_TIME_EARLY, h5py.h5d.ALLOC_TIME_INCR, h5py.h5d.ALLOC_TIME_LATE))
        self.log[-1] += " chunks %s %s" % (chunks, kw)
        if layout == "resized":
            first = tuple(max(0, int(s + self.rng.integers(-3, 4))) for s in shape)
            d = g.create_dataset(name, first, m.dtype, chunks=chunks, dcpl=dcpl, **kw)
            if 0 not in first:
                put(d, self.values(dtype, first))
            self.log[-1] += " was %s" % (first,)
            for s in [tuple(max(1, x - 2) for x in shape), shape] if self.chance(0.3) else [shape]:
                d.resize(s)
        else:
            d = g.create_dataset(name, shape, m.dtype, chunks=chunks, dcpl=dcpl, **kw)
        if 0 in shape:
            return
        if self.chance(0.6) or h5py.check_vlen_dtype(dtype):
            put(d, data)
        else:  # some chunks are never written
            for _ in range(int(self.rng.integers(0, 5))):
                lo = [int(self.rng.integers(0, s)) for s in shape]
                hi = [int(self.rng.integers(a, s)) + 1 for a, s in zip(lo, shape)]
                part = tuple(slice(a, b) for a, b in zip(lo, hi))
                d[part] = np.ascontiguousarray(data[part])
            self.log[-1] += " in parts"
        if fixed and "S" not in str(dtype) and self.chance(0.2) and d.id.get_create_plist().get_nfilters():
            raw = self.values(dtype, chunks).tobytes()
            d.flush()
            try:
                d.id.write_direct_chunk((0,) * len(shape), raw, filter_mask=0xFFFFFFFF)
                self.log[-1] += " first chunk unfiltered"
            except (OSError, ValueError, RuntimeError):
                pass

    def virtual(self, g: h5py.Group, name: str, dtype: Any, shape: Shape) -> None:
        """Rows of other files, every second one perhaps, and some of none."""
        self.sources += 1
        source = "src%d.h5" % (self.sources % 5)
        more = tuple(s + int(self.rng.integers(0, 3)) for s in shape)
        with h5py.File(os.path.join(self.folder, source), "a") as f:
            f.create_dataset(
                "x%d" % self.sources, data=self.values(dtype, more), chunks=True if self.chance(0.5) else None
            )
        layout = h5py.VirtualLayout(shape, dtype)
        rest = tuple(
            slice(a, a + s) for a, s in ((int(self.rng.integers(0, t - s + 1)), s) for s, t in zip(shape[1:], more[1:]))
        )
        n, step = shape[0], int(self.one(1, 2, 3))
        cut = int(self.rng.integers(0, n + 1))
        for lo, hi, by in ((0, cut, 1), (cut, n, step)):
            k = len(range(lo, hi, by))
            if k > 0 and self.chance(0.8):
                layout[lo:hi:by] = h5py.VirtualSource(source, "x%d" % self.sources, more)[
                    (slice(more[0] - k, more[0]),) + rest
                ]
        fill = self.values(dtype, ())[()] if dtype.kind in "iufb" and self.chance(0.6) else None
        self.log.append("%s: virtual %s %s of %s to %d by %d fill %s" % (name, dtype, shape, more, cut, step, fill))
        g.create_virtual_dataset(name, layout, fillvalue=fill)

    def bytes(self, dtype: Any, shape: Shape) -> int:
        return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize

    def filters(self, dtype: Any, m: Member) -> Dict[str, Any]:
        if m.special == "blosc2":
            return dict(hdf5plugin.Blosc2())
        kind = self.one(
            *["none"] * 2,
            *["gzip"] * 3,
            "lzf",
            "zstd",
            "lz4",
            "bitshuffle",
            *["blosc"] * 3,
            "bzip2",
            *["scaleoffset"] * 2,
        )
        if kind == "blosc" and holds_objects(dtype):
            kind = "gzip"  # the plugin divides by zero
        kw: Dict[str, Any] = {}
        if kind == "scaleoffset":
            if dtype.kind in "iu" and dtype.subdtype is None and h5py.check_enum_dtype(dtype) is None:
                return {"scaleoffset": int(self.one(0, 0, 0, min(8 * dtype.itemsize - 1, 9)))}
            if dtype.kind == "f" and dtype.itemsize in (4, 8):
                return {"scaleoffset": int(self.one(0, 2, 4))}
            kind = "gzip"
        if kind == "gzip":
            kw = {"compression": "gzip", "compression_opts": int(self.rng.integers(0, 10))}
        elif kind == "lzf":
            kw = {"compression": "lzf"}
        elif kind == "zstd":
            kw = dict(hdf5plugin.Zstd(int(self.one(1, 3, 9))))
        elif kind == "lz4":
            kw = dict(hdf5plugin.LZ4(int(self.one(0, 64, 1000))))
        elif kind == "bitshuffle":
            kw = dict(hdf5plugin.Bitshuffle(nelems=int(self.one(0, 8, 64)), cname=str(self.one("none", "lz4", "zstd"))))
        elif kind == "bzip2":
            kw = dict(hdf5plugin.BZip2(int(self.one(1, 9))))
        elif kind == "blosc":
            codec = str(self.one("blosclz", "lz4", "lz4hc", "zlib", "zstd"))
            kw = dict(hdf5plugin.Blosc(codec, int(self.rng.integers(0, 10)), int(self.rng.integers(0, 3))))
        if self.chance(0.4):
            kw["shuffle"] = True
        if not holds_objects(dtype) and self.chance(0.3):
            kw["fletcher32"] = True
        return kw

    def odd(self, g: h5py.Group, name: str, o: Odd, shape: Shape) -> None:
        what, t = "", o.stored()
        if o.kind == "f":
            data = np.asarray(self.rng.normal(size=shape))
        else:
            lo, hi = (-(1 << o.bits - 1), (1 << o.bits - 1) - 1) if o.kind == "i" else (0, (1 << o.bits) - 1)
            data = np.asarray(self.rng.integers(lo, hi, shape, dtype=o.kind + "8", endpoint=True))
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if shape and 0 not in shape and self.chance(0.7):
            dcpl.set_chunk(tuple(int(self.rng.integers(1, s + 1)) for s in shape))
            what += " chunked"
            if self.chance(0.6) and not (o.kind == "i" and o.big):  # whose signs libhdf5 loses
                dcpl.set_filter(h5py.h5z.FILTER_NBIT, 0)
                what += " nbit"
            if self.chance(0.3):
                dcpl.set_deflate(3)
        space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
        self.log.append("%s: %s %s%s" % (name, o, shape, what))
        d = h5py.h5d.create(
            g.require_group(name.rpartition("/")[0] or ".").id, name.rpartition("/")[2].encode(), t, space, dcpl
        )
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, data, o.native())

    # ---- files

    def schema(self, mode: str) -> List[Member]:
        out = []
        for i in range(int(self.rng.integers(1, 7))):
            where = self.one("", "", "a/", "a/b/", "deep/er/still/")
            m = Member("%sf%d%s" % (where, i, self.one("x", "é", " y")), self.dtype(), self.shape(0, 3, 5))
            if self.chance(0.15):
                m.special, m.dtype = "odd", self.odd_type()
            if self.chance(0.04):
                m.inner = m.inner + (0,)
            elif mode != "axis" and self.chance(0.4):
                m.ragged = True
            elif mode == "axis" and self.chance(0.08):
                m.once, m.inner = i > 0, m.inner if i == 0 else ()
            if m.special == "" and not m.once and self.chance(0.03):
                m.special, m.dtype = "blosc2", np.dtype("f4")
                m.ragged, m.inner = False, m.inner or (2,)
            if m.special == "" and self.chance(0.04):
                m.dtype, m.refused = np.dtype(np.longdouble), "long double"
            if m.special == "" and not m.refused and self.chance(0.12):
                m.widths = self.one(*WIDTHS)
                m.special = "lists" if m.widths[0][0] != "S" and self.chance(0.3) else ""
            out.append(m)
        return out

    def plan(self) -> Plan:
        mode = str(self.one("axis", "axis", "axis", "group", "group", "file"))
        p = Plan(self.schema(mode), mode)
        if mode != "axis":
            p.flags = ["--sample", mode]
        elif self.chance(0.5):
            p.flags = ["--sample", "axis"]
        files = int(self.one(1, 1, 1, 2, 4))
        for k in range(files):
            path = os.path.join(self.folder, "in%d.h5" % k)
            n = int(self.one(2, 5, 17, 40, 130))
            if p.flags and mode == "axis" and self.chance(0.1):
                n = int(self.one(0, 1))
            n = 1 if mode == "file" else max(n, 2) if mode == "group" else n
            self.write(path, p, n, files if k == 0 else 0)
            p.paths.append(path)
            p.samples.append(n)
        return p

    def write(self, path: str, p: Plan, n: int, first: int) -> None:
        kw: Dict[str, Any] = {"libver": self.one(*LIBVERS), "track_order": self.chance(0.2)}
        self.virtuals = kw["libver"] is None or kw["libver"][1] != "v108"
        if self.chance(0.2):
            kw["userblock_size"] = int(self.one(512, 1024, 4096))
        self.log.append("%s: %d samples %s" % (os.path.basename(path), n, kw))
        for m in p.members:
            if m.widths:
                m.dtype = np.dtype(self.one("<", ">") + self.one(*m.widths))
                m.dtype = h5py.vlen_dtype(m.dtype) if m.special == "lists" else m.dtype
        with h5py.File(path, "w", **kw) as f:
            if p.mode == "file":
                for m in p.members:
                    self.store(f, m.path, m, self.vary(m), m.path)
            elif p.mode == "group":
                for i in self.rng.permutation(n):
                    self.group(f.create_group("data/ev_%d" % i), p, int(i))
            else:
                for m in p.members:
                    self.store(f, m.path, m, m.inner if m.once else (n,) + m.inner, m.path)
                if first == 1 and self.chance(0.15) and n > 1 and not p.members[0].refused:
                    f["aside"] = np.arange(n + 1)
                    p.left["aside"] = "first dimension is %d" % (n + 1)
                if first and n > 0 and self.chance(0.1) and not p.members[0].refused:
                    f["zz_again"] = f[p.members[0].path]
                    p.left["zz_again"] = "another name of /" + p.members[0].path
                if self.chance(0.1):
                    f["soft"] = h5py.SoftLink("/" + p.members[0].path)
            for m in p.members if p.mode != "group" else ():
                for i in range(int(self.one(0, 0, 2, 12))):
                    f[m.path].attrs["attr%d" % i] = self.one("text", 3.5, np.arange(20), ["a", "b"])
        if "userblock_size" in kw:
            with open(path, "r+b") as raw:
                raw.write(self.rng.bytes(100))

    def group(self, g: h5py.Group, p: Plan, i: int) -> None:
        for m in p.members:
            self.store(g, m.path, m, self.vary(m), "ev_%d/%s" % (i, m.path))

    def vary(self, m: Member) -> Shape:
        return tuple(int(self.rng.integers(0, d + 4)) for d in m.inner) if m.ragged else m.inner
