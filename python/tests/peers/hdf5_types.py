"""The types and values of random HDF5 files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple

import h5py
import numpy as np

Shape = Tuple[int, ...]
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


class Types:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

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

    def odd_type(self) -> Odd:
        """Numbers that take some of their bits, or bytes that no NumPy type has."""
        big = self.chance(0.5)
        if self.chance(0.7):
            size, signed = int(self.one(1, 2, 3, 4, 5, 6, 7, 8)), self.chance(0.5)
            precision = int(self.rng.integers(1 if size == 1 else 4 * size, 8 * size + 1))
            return Odd(
                "i" if signed else "u", big, size, precision, int(self.rng.integers(0, 8 * size - precision + 1))
            )
        man, exp = int(self.one(3, 7, 9, 12)), int(self.one(4, 5, 8))
        size = (man + exp + 1 + 7) // 8
        return Odd("f", big, size, man + exp + 1, 0, man)


def put(d: h5py.Dataset, data: np.ndarray) -> None:
    """All values. Lists of equal length h5py itself would take for a further dimension."""
    if h5py.check_vlen_dtype(d.dtype) is None:
        d[...] = data
        return
    mtype = h5py.h5t.py_create(d.dtype)
    d.id.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(data).astype(d.dtype).reshape(d.shape), mtype)


def holds_objects(dtype: Any) -> bool:
    return bool(np.dtype(dtype).hasobject)
