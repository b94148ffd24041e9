"""Random HDF5 files: types, shapes, layouts, filters and chunk indexes as h5py can make them.

A schema says what a member holds; every file, and every group that is a sample,
stores it in a layout of its own. What was stored is asked of h5py afterwards.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

import h5py
import hdf5plugin
import numpy as np

Shape = Tuple[int, ...]
LIBVERS = [("earliest", "v108"), ("earliest", "v110"), ("v108", "v108"), ("v110", "v110"), ("latest", "latest"), None]
WORDS = ["", "a", "jet", "é中", " pad ", "trailing  ", "x" * 40, "q" * 300, "\U0001f600", "tab\tnl\n"]


@dataclass
class Odd:
    """A number of a form that NumPy does not have."""

    kind: str
    big: bool
    size: int
    bits: int
    offset: int
    mantissa: int = 0

    def stored(self) -> h5py.h5t.TypeID:
        names = {"i": "STD_I64", "u": "STD_U64", "f": "IEEE_F32"}
        t = getattr(h5py.h5t, names[self.kind] + ("BE" if self.big else "LE")).copy()
        if self.kind == "f":
            exponent = self.bits - 1 - self.mantissa
            t.set_fields(self.bits - 1, self.mantissa, exponent, 0, self.mantissa)
            t.set_ebias((1 << exponent - 1) - 1)
        t.set_precision(self.bits)
        t.set_size(self.size)
        t.set_offset(self.offset)
        return t

    def native(self) -> h5py.h5t.TypeID:
        return {"i": h5py.h5t.NATIVE_INT64, "u": h5py.h5t.NATIVE_UINT64, "f": h5py.h5t.NATIVE_DOUBLE}[self.kind]


@dataclass
class Member:
    """A data set of the schema; inner is its shape without the samples."""

    path: str
    dtype: Any
    inner: Shape
    ragged: bool = False
    once: bool = False
    refused: str = ""
    special: str = ""  # "odd": a type that only the low-level interface makes


@dataclass
class Plan:
    """Members, and the files that hold them."""

    members: List[Member]
    mode: str
    paths: List[str] = field(default_factory=list)
    samples: List[int] = field(default_factory=list)
    left: Dict[str, str] = field(default_factory=dict)  # name -> reason that must be in the list of what was left out
    flags: List[str] = field(default_factory=list)


class Maker:
    def __init__(self, rng: np.random.Generator, folder: str) -> None:
        self.rng, self.folder = rng, folder
        self.log: List[str] = []
        self.sources = 0

    def one(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    # ---- types

    def order(self) -> str:
        return str(self.one("<", "<", ">"))

    def number(self) -> np.dtype:
        return np.dtype(self.order() + self.one("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f4"))

    def simple(self) -> Any:
        kind = self.one("number", "number", "number", "bool", "enum", "S", "Su", "complex", "void", "time")
        if kind == "number":
            return self.number()
        if kind == "bool":
            return np.dtype("?")
        if kind == "enum":
            base = self.one("u1", "<i2", ">i2", "i4", "i1")
            return h5py.enum_dtype(self.one({"A": 0, "B": 1, "C": 2}, {"lo": 3, "hi": 100}, {"x": 1}), basetype=base)
        if kind == "S":
            return np.dtype("S%d" % self.one(1, 3, 8, 17))
        if kind == "Su":
            return h5py.string_dtype("utf-8", int(self.one(4, 9, 33)))
        if kind == "complex":
            return np.dtype(self.order() + self.one("c8", "c16"))
        if kind == "void":
            return np.dtype("V%d" % self.one(1, 3, 7))
        return h5py.opaque_dtype(np.dtype(self.one("<M8[ns]", "<M8[s]", "<m8[us]")))

    def dtype(self, depth: int = 0) -> Any:
        kind = self.one("simple", "simple", "simple", "compound", "array", "vstr", "vlen", "number")
        if kind == "number":
            return self.number()
        if kind == "vstr":
            return h5py.string_dtype(self.one("utf-8", "ascii"))
        if kind == "vlen" and depth == 0:
            return h5py.vlen_dtype(self.one(self.number(), np.dtype("?")))
        if kind == "array" and depth < 2:
            return np.dtype((self.simple(), self.shape(1, 2, 3)))
        if kind == "compound" and depth < 2:
            names = ["m%d" % i for i in range(int(self.rng.integers(1, 5)))]
            if depth == 0 and self.chance(0.2):
                names[0] = "r"  # looks like a part of a complex number
            return np.dtype([(n, self.dtype(depth + 1)) for n in names], align=self.chance(0.3))
        return self.simple()

    def shape(self, lo: int, hi: int, most: int) -> Shape:
        return tuple(int(k) for k in self.rng.integers(1, most + 1, int(self.rng.integers(lo, hi + 1))))

    # ---- values

    def values(self, dtype: Any, shape: Shape) -> np.ndarray:
        rng, n = self.rng, int(np.prod(shape, dtype=np.int64))
        if dtype.subdtype is not None:
            base, inner = dtype.subdtype
            return self.values(base, shape + inner)
        if dtype.names:
            out = np.zeros(shape, dtype)
            for name in dtype.names:
                out[name] = self.values(dtype[name], shape)
            return out
        text, vlen = h5py.check_string_dtype(dtype), h5py.check_vlen_dtype(dtype)
        if text is not None:
            out = np.empty(n, object)
            out[:] = [self.word(text.encoding, text.length) for _ in range(n)]
            return out.reshape(shape).astype(dtype)
        if vlen is not None:
            out = np.empty(n, object)
            for i in range(n):
                out[i] = self.values(np.dtype(vlen), (int(self.one(0, 1, 2, 7, 30)),))
            return out.reshape(shape)
        enum = h5py.check_enum_dtype(dtype)
        if enum is not None:
            return rng.choice(list(enum.values()), shape).astype(dtype)
        if dtype.kind == "b":
            return rng.random(shape) < 0.5
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            if self.chance(0.5):  # such as compress
                return rng.integers(max(info.min, -3), 5, shape).astype(dtype)
            return rng.integers(info.min, info.max, shape, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)
        if dtype.kind in "fc":
            out = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)
            if dtype.kind == "c":
                out = out + 1j * rng.normal(size=shape)
            elif self.chance(0.4) and n:
                out.reshape(-1)[rng.integers(0, n, 1 + n // 9)] = self.one(np.nan, np.inf, -np.inf, -0.0, 1e-7, 0.0)
            return np.asarray(out).astype(dtype)
        return np.frombuffer(rng.bytes(n * dtype.itemsize), dtype).reshape(shape)

    def word(self, encoding: str, length: Optional[int]) -> Any:
        w = str(self.one(*WORDS))
        if length is None:
            return w if encoding == "utf-8" else "".join(c for c in w if c < "\x7f")
        b = w.encode() if encoding == "utf-8" else w.encode("ascii", "ignore")
        return b[:length].decode("utf-8", "ignore").encode()

    # ---- data sets

    def store(self, g: h5py.Group, name: str, m: Member, shape: Shape, log: str) -> None:
        """One data set, in a layout of its own."""
        if m.special == "odd":
            return self.odd(g, name, m.dtype, shape)
        dtype = np.dtype(m.dtype)
        data = self.values(dtype, shape)
        if m.special == "" and shape and 0 not in shape and not holds_objects(dtype) and dtype.subdtype is None and self.chance(0.04):
            return self.virtual(g, name, dtype, shape)
        layout = "contiguous" if not shape else self.one("contiguous", "compact", "chunked", "chunked", "chunked", "resized")
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
            for s in ([tuple(max(1, x - 2) for x in shape), shape] if self.chance(0.3) else [shape]):
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
            f.create_dataset("x%d" % self.sources, data=self.values(dtype, more), chunks=True if self.chance(0.5) else None)
        layout = h5py.VirtualLayout(shape, dtype)
        rest = tuple(slice(a, a + s) for a, s in ((int(self.rng.integers(0, m - s + 1)), s) for s, m in zip(shape[1:], more[1:])))
        n, step = shape[0], int(self.one(1, 2, 3))
        cut = int(self.rng.integers(0, n + 1))
        for lo, hi, by in ((0, cut, 1), (cut, n, step)):
            k = len(range(lo, hi, by))
            if k > 0 and self.chance(0.8):
                layout[lo:hi:by] = h5py.VirtualSource(source, "x%d" % self.sources, more)[(slice(more[0] - k, more[0]),) + rest]
        fill = self.values(dtype, ())[()] if dtype.kind in "iufb" and self.chance(0.6) else None
        self.log.append("%s: virtual %s %s of %s to %d by %d fill %s" % (name, dtype, shape, more, cut, step, fill))
        g.create_virtual_dataset(name, layout, fillvalue=fill)

    def bytes(self, dtype: Any, shape: Shape) -> int:
        return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize

    def filters(self, dtype: Any, m: Member) -> Dict[str, Any]:
        if m.special == "blosc2":
            return dict(hdf5plugin.Blosc2())
        kind = self.one(*["none"] * 2, *["gzip"] * 3, "lzf", "zstd", "lz4", "bitshuffle", *["blosc"] * 3, "bzip2", *["scaleoffset"] * 2)
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

    def odd_type(self) -> Odd:
        """Numbers that take some of their bits, or bytes that no NumPy type has."""
        big = self.chance(0.5)
        if self.chance(0.7):
            size, signed = int(self.one(1, 2, 3, 4, 5, 6, 7, 8)), self.chance(0.5)
            precision = int(self.rng.integers(1 if size == 1 else 4 * size, 8 * size + 1))
            return Odd("i" if signed else "u", big, size, precision, int(self.rng.integers(0, 8 * size - precision + 1)))
        man, exp = int(self.one(3, 7, 9, 12)), int(self.one(4, 5, 8))
        size = (man + exp + 1 + 7) // 8
        return Odd("f", big, size, man + exp + 1, 0, man)

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
            if self.chance(0.6):
                dcpl.set_filter(h5py.h5z.FILTER_NBIT, 0)
                what += " nbit"
            if self.chance(0.3):
                dcpl.set_deflate(3)
        space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
        self.log.append("%s: %s %s%s" % (name, o, shape, what))
        d = h5py.h5d.create(g.require_group(name.rpartition("/")[0] or ".").id, name.rpartition("/")[2].encode(), t, space, dcpl)
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
            elif mode == "group" and self.chance(0.4):
                m.ragged = True
            elif mode == "axis" and self.chance(0.08):
                m.once, m.inner = i > 0, m.inner if i == 0 else ()
            if m.special == "" and not m.once and self.chance(0.03):
                m.special, m.dtype, m.refused = "blosc2", np.dtype("f4"), "blosc2"
                m.ragged, m.inner = False, m.inner or (2,)
            if m.special == "" and self.chance(0.04):
                m.dtype, m.refused = np.dtype(np.longdouble), "long double"
            out.append(m)
        return out

    def plan(self) -> Plan:
        mode = str(self.one("axis", "axis", "axis", "group"))
        p = Plan(self.schema(mode), mode)
        if mode == "group":
            p.flags = ["--sample", "group"]
        elif self.chance(0.5):
            p.flags = ["--sample", "axis"]
        for k in range(int(self.one(1, 1, 1, 2, 4))):
            path = os.path.join(self.folder, "in%d.h5" % k)
            n = int(self.one(2, 5, 17, 40, 130))
            if p.flags and mode == "axis" and self.chance(0.1):
                n = int(self.one(0, 1))
            self.write(path, p, max(n, 2) if mode == "group" else n, k)
            p.paths.append(path)
            p.samples.append(max(n, 2) if mode == "group" else n)
        return p

    def write(self, path: str, p: Plan, n: int, k: int) -> None:
        kw: Dict[str, Any] = {"libver": self.one(*LIBVERS), "track_order": self.chance(0.2)}
        if self.chance(0.2):
            kw["userblock_size"] = int(self.one(512, 1024, 4096))
        self.log.append("%s: %d samples %s" % (os.path.basename(path), n, kw))
        with h5py.File(path, "w", **kw) as f:
            if p.mode == "group":
                for i in self.rng.permutation(n):
                    self.group(f.create_group("data/ev_%d" % i), p, int(i))
            else:
                for m in p.members:
                    self.store(f, m.path, m, m.inner if m.once else (n,) + m.inner, m.path)
                if k == 0 and self.chance(0.15) and n > 1 and not p.members[0].refused:
                    f["aside"] = np.arange(n + 1)
                    p.left["aside"] = "first dimension is %d" % (n + 1)
                if k == 0 and self.chance(0.1) and not p.members[0].refused:
                    f["zz_again"] = f[p.members[0].path]
                    p.left["zz_again"] = "another name of /" + p.members[0].path
                if self.chance(0.1):
                    f["soft"] = h5py.SoftLink("/" + p.members[0].path)
            for m in p.members[: 0 if p.mode == "group" else None]:
                for i in range(int(self.one(0, 0, 2, 12))):
                    f[m.path].attrs["attr%d" % i] = self.one("text", 3.5, np.arange(20), ["a", "b"])
        if "userblock_size" in kw:
            with open(path, "r+b") as raw:
                raw.write(self.rng.bytes(100))

    def group(self, g: h5py.Group, p: Plan, i: int) -> None:
        for m in p.members:
            shape = tuple(int(self.rng.integers(0, d + 4)) for d in m.inner) if m.ragged else m.inner
            self.store(g, m.path, m, shape, "ev_%d/%s" % (i, m.path))


def put(d: h5py.Dataset, data: np.ndarray) -> None:
    """All values. Lists of equal length h5py itself would take for a further dimension."""
    if h5py.check_vlen_dtype(d.dtype) is None:
        d[...] = data
        return
    mtype = h5py.h5t.py_create(d.dtype)
    d.id.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(data).astype(d.dtype).reshape(d.shape), mtype)


def holds_objects(dtype: Any) -> bool:
    return bool(np.dtype(dtype).hasobject)
