"""Comparing the columns of a data set with arrays, and running the converter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Tuple

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402
from shardify.schema import bf16_to_f32  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")
Leaf = Tuple[np.ndarray, List[np.ndarray]]  # values, and the lengths of their lists by level


def leaves(a: np.ndarray, name: str) -> Dict[str, Leaf]:
    """The fields of an array whose first axis is the samples."""
    t = a.dtype
    if t.names:
        out: Dict[str, Leaf] = {}
        for n in t.names:
            out.update(leaves(a[n], name + "/" + n))
        return out
    if t.kind == "O" or t.kind == "S":
        return lists(a, name)
    a = np.ascontiguousarray(a).reshape(a.shape)  # which makes rank 0 to 1
    if t.kind == "c":
        part = t.str.replace("c16", "f8").replace("c8", "f4")
        return {name: (a.view(part).reshape(a.shape + (2,)), [])}
    if t.kind == "V":
        return {name: (a.view("u1").reshape(a.shape + (t.itemsize,)), [])}
    if t.kind in "mM":
        return {name: (a.view(t.str[0] + "i8").reshape(a.shape), [])}
    return {name: (a, [])}


def lists(a: np.ndarray, name: str) -> Dict[str, Leaf]:
    """Texts and lists: one level, and one above it if a sample has several."""
    text = a.dtype.kind == "S" or h5py.check_string_dtype(a.dtype) is not None
    base = np.dtype("u1" if text else h5py.check_vlen_dtype(a.dtype) or a.reshape(-1)[0].dtype)
    # h5py says that big-endian numbers in lists are of this machine's order.
    parts = [np.frombuffer(x, "u1") if text else np.asarray(x).view(base) for x in a.reshape(-1)]
    values = np.concatenate(parts) if parts else np.empty(0, base)
    levels = [np.array([len(x) for x in parts], "i8")]
    if a.ndim > 1:
        levels.insert(0, np.full(len(a), int(np.prod(a.shape[1:]))))
    if not parts and base.names:
        raise AssertionError("lists of records are not made")
    return {name: (values, levels)}


def part(leaf: Leaf, lo: int, hi: int) -> Leaf:
    """Samples [lo, hi)."""
    values, levels = leaf
    out = []
    for lengths in levels:
        out.append(lengths[lo:hi])
        lo, hi = int(lengths[:lo].sum()), int(lengths[:hi].sum())
    return values[lo:hi], out


def convert(paths: List[str], out: str, flags: List[str]) -> Tuple[int, str]:
    shutil.rmtree(out, ignore_errors=True)
    command = [BINARY, "convert"] + paths + ["-o", out, "--format", "mmap", "--quiet"] + flags
    p = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return p.returncode, p.stderr


def fields(out: str) -> Tuple[Any, Dict[str, Leaf]]:
    ds = shardify.open(out)
    got: Dict[str, Leaf] = {}
    for f in ds.schema:
        c = ds.column(f.name)
        if f.levels == 0:
            got[f.name] = numbers(c, f.dtype), []
            continue
        levels = [np.diff(np.asarray(c.offsets).astype("i8"))]
        if f.levels == 2:
            levels.append(np.diff(np.asarray(c.offsets1).astype("i8")))
        got[f.name] = numbers(c.values, f.dtype), levels
    return ds, got


def numbers(a: Any, dtype: str) -> np.ndarray:
    a = np.asarray(a)
    return bf16_to_f32(a) if dtype == "bf16" else a


def same(name: str, want: Leaf, got: Leaf, odd: bool = False) -> int:
    w, g = want[0], got[0]
    if w.dtype.kind == "b":
        w = w.view("u1") != 0  # of bytes that are neither 0 nor 1
    if odd:
        assert w.dtype.kind == g.dtype.kind and g.dtype.itemsize <= 8, "%s is %s" % (name, g.dtype)
        g = g.astype(w.dtype)
    w = w.astype(w.dtype.newbyteorder("<"))
    assert w.dtype == g.dtype and w.shape == g.shape, "%s is %s %s, h5py has %s %s" % (
        name,
        g.dtype,
        g.shape,
        w.dtype,
        w.shape,
    )
    assert len(want[1]) == len(got[1]), "%s has %d levels, want %d" % (name, len(got[1]), len(want[1]))
    for x, y in zip(want[1], got[1]):
        assert np.array_equal(x, y), "%s: lengths %s, h5py has %s" % (name, y[:20], x[:20])
    a = np.ascontiguousarray(w).reshape(-1).view("u1")
    b = np.ascontiguousarray(g).reshape(-1).view("u1")
    if not np.array_equal(a, b):
        at = int(np.flatnonzero(a != b)[0]) // w.dtype.itemsize
        n = int(np.count_nonzero((a != b).reshape(-1, w.dtype.itemsize).any(1)))
        place = np.unravel_index(at, w.shape)
        raise AssertionError(
            "%s: %d of %d values differ, first at %s: %r, h5py has %r"
            % (name, n, w.size, tuple(map(int, place)), g[place], w[place])
        )
    return int(w.size)
