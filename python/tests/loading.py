"""What the tests of the loader share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import fixture
import numpy as np
import pytest
from conftest import SCHEMAS, samples, shown

import shardify
from shardify import clib

try:
    import torch
except ImportError:
    torch = None

N = 64  # shards of 32 and more samples: shorter .tar.idx have no digest in fixtures
SHARDS = [32, 32]
FRAMEWORKS = ["numpy"] + (["torch"] if torch else [])
PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def why_not():
    """Why the library cannot be used here; it is not loaded by this question."""
    return "" if os.path.exists(clib.path()) else "%s is not built" % clib.path()


needs_library = pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")


def alone(*args, **options):
    """A loader whose batches come one by one, however small they are."""

    class Alone(shardify.Loader):
        _GROUP = 0

    return Alone(*args, **options)


def as_numpy(v):
    """What a batch holds, as NumPy has it."""
    if torch is not None and isinstance(v, torch.Tensor):
        return v.float().numpy() if v.dtype == torch.bfloat16 else v.numpy()
    if isinstance(v, dict):
        return {k: as_numpy(x) for k, x in v.items()}
    return v


def rows_of(batch, schema):
    """The samples of a batch, as ds[i] would give them, without padding."""
    columns = {k: as_numpy(v) for k, v in batch.items()}
    out = []
    for k in range(batch.rows):
        s = {}
        for f in schema:
            v = columns[f.name]
            there = columns.get(f.name + ".valid")
            if there is not None and not there[k]:
                s[f.name] = None
            elif isinstance(v, list):
                s[f.name] = v[k]
            elif isinstance(v, dict):
                a, b = v["offsets"][k], v["offsets"][k + 1]
                if "offsets1" in v:
                    borders = v["offsets1"][a : b + 1]
                    s[f.name] = [v["values"][x:y] for x, y in zip(borders, borders[1:])]
                else:
                    s[f.name] = v["values"][a:b]
                    if "shapes" in v:
                        s[f.name] = s[f.name].reshape(tuple(v["shapes"][k]))
            else:
                s[f.name] = v[k]
        out.append(s)
    return out


def same(a, b):
    """Equal in value and shape, and in type but for what a torch lacks."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if a is None or isinstance(a, (str, bytes)):
        return type(a) is type(b) and a == b
    a, b = np.asarray(a), np.asarray(b)
    wide = {"uint16": "int32", "uint32": "int64", "uint64": "int64"}
    return a.shape == b.shape and b.dtype.name in (a.dtype.name, wide.get(a.dtype.name)) and bool((a == b).all())


_expected = {}


def expected(kind, i):
    """Sample i of a kind's set, as a loader is to give it."""
    if kind not in _expected:
        _expected[kind] = [shown(kind, s) for s in samples(kind, N)]
    return _expected[kind][i]


def check(kind, batch, schema):
    """All samples of a batch are what their numbers say. Returns the numbers."""
    ids = batch.ids[: batch.rows].tolist()
    for i, s in zip(ids, rows_of(batch, schema)):
        assert same(expected(kind, i), s), "sample %d" % i
    return ids


def run(text, *, ok=True, timeout=300, **env):
    """A Python program of its own. Returns what it wrote."""
    path = os.pathsep.join([PYTHON, os.path.dirname(os.path.abspath(__file__))])
    p = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": path, **env},
    )
    assert (p.returncode == 0) == ok, (p.returncode, p.stdout, p.stderr)
    return p.stdout if ok else p.stdout + p.stderr


def numbered(folder, n, shards=None, **fields):
    """A set whose sample i is i."""
    schema = [{"name": "x", "dtype": "i64"}] + [{"name": k, "dtype": "i64"} for k in fields]
    rows = [dict({"__key__": "%06d" % i, "x": i}, **{k: f(i) for k, f in fields.items()}) for i in range(n)]
    return fixture.write(folder, schema, rows, shards=shards)


def numbers(loader):
    """x of every batch of an epoch."""
    return [np.asarray(b["x"]).tolist() for b in loader]


__all__ = ["N", "SCHEMAS", "SHARDS", "FRAMEWORKS", "PYTHON", "shardify", "torch"]
