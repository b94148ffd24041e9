from __future__ import annotations

import faulthandler
import importlib.util
import multiprocessing
import os
import sys
from typing import Any, Callable, Dict

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import fixture  # noqa: E402

# Workers of a fork server start in its image: it imports torch once, which takes seconds.
if importlib.util.find_spec("torch"):
    multiprocessing.set_forkserver_preload(["torch"])

# Seconds after which a test that waits for ever ends all, with the stack of each thread.
LIMIT = 300


@pytest.fixture(scope="session")
def stderr(pytestconfig):
    """The process's own, which pytest has taken."""
    with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        return os.dup(2)


@pytest.fixture(autouse=True)
def time_limit(stderr):
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=stderr)
    yield
    faulthandler.cancel_dump_traceback_later()


N = 23
SCHEMAS: Dict[str, fixture.Schema] = {
    "fixed": [
        {"name": "x", "dtype": "f32", "shape": [3, 2]},
        {"name": "energy", "dtype": "f64"},
        {"name": "cls", "dtype": "i64", "attrs": {"labels": "cat\ndog\nbird"}},
        {"name": "small", "dtype": "u8"},
        {"name": "pass", "dtype": "bool"},
    ],
    "jagged": [
        {"name": "Jet_pt", "dtype": "f32", "levels": 1, "counter": "Jet"},
        {"name": "Jet_p4", "dtype": "f64", "shape": [4], "levels": 1, "counter": "Jet"},
        {"name": "hits", "dtype": "i16", "levels": 1},
        {"name": "volume", "dtype": "u16", "levels": 1, "ragged": True},
        {"name": "volume.shape", "dtype": "i64", "shape": [3]},
        {"name": "run", "dtype": "i32"},
    ],
    "text": [
        {"name": "txt", "dtype": "u8", "levels": 1, "media": "txt"},
        {"name": "meta", "dtype": "u8", "levels": 1, "media": "json"},
        {"name": "words", "dtype": "u8", "levels": 2, "media": "txt"},
        {"name": "cls", "dtype": "i32"},
    ],
    "image": [
        {"name": "image", "dtype": "u8", "levels": 1, "media": "image"},
        {"name": "image.ext", "dtype": "u8", "attrs": {"labels": "png\njpg"}},
        {"name": "bin", "dtype": "u8", "levels": 1, "media": "bin"},
        {"name": "cls", "dtype": "i64", "attrs": {"labels": "zero\none"}},
    ],
    "nullable": [
        {"name": "note", "dtype": "u8", "levels": 1, "media": "txt", "nullable": True},
        {"name": "jpg", "dtype": "u8", "levels": 1, "media": "jpg", "nullable": True},
        {"name": "words", "dtype": "u8", "levels": 2, "media": "txt", "nullable": True},
        {"name": "cls", "dtype": "i64"},
    ],
}
# What a tar does not carry.
MMAP_ONLY: fixture.Schema = [
    {"name": "tracks", "dtype": "f32", "levels": 2},
    {"name": "half", "dtype": "bf16", "shape": [2]},
    {"name": "half1", "dtype": "bf16"},
    {"name": "maybe", "dtype": "f32", "nullable": True},
    {"name": "maybes", "dtype": "i32", "levels": 1, "nullable": True},
    {"name": "note", "dtype": "u8", "levels": 1, "media": "txt", "nullable": True},
    {"name": "empty", "dtype": "f32", "shape": [0, 3]},
]
SCHEMAS["mmap_only"] = MMAP_ONLY
BOTH = ["fixed", "jagged", "text", "image", "nullable"]
KINDS = [(k, f) for k in BOTH for f in ("mmap", "wds")] + [("mmap_only", "mmap")]


def value(f: Dict[str, Any], i: int, r: np.random.Generator) -> Any:
    """Sample i's value as it is stored."""
    name, shape = f["name"], tuple(f.get("shape", ()))
    if f.get("nullable") and i % 3 == 1:
        return None
    if f.get("media") in ("txt", "json"):
        words = ["w%d é" % k for k in range(i % 4)]
        return words if f["levels"] == 2 else '{"i": %d}' % i if f["media"] == "json" else "text %d ü" % i
    if f.get("media"):
        return r.integers(0, 256, 5 + i * 7 % 300, "u1").tobytes()
    if name == "cls":
        return i % 3
    if name == "image.ext":
        return i % 2
    dtype = fixture.numpy_dtype(f)
    if f.get("levels") == 2:
        return [r.integers(0, 99, k).astype(dtype) for k in range(i % 4)]
    if f.get("levels"):
        return r.integers(0, 99, (i % 5,) + shape).astype(dtype)
    if f["dtype"] == "bf16":
        return r.integers(0x3F00, 0x4100, shape).astype(dtype)
    return r.integers(0, 2 if dtype.kind == "b" else 99, shape).astype(dtype)


def samples(kind: str, n: int = N, seed: int = 0) -> fixture.Samples:
    r = np.random.default_rng(seed)
    out = []
    for i in range(n):
        s = {"__key__": "k/%04d" % i}
        s.update((f["name"], value(f, i, r)) for f in SCHEMAS[kind])
        if "volume" in s:
            shape = (i % 3, 2, 1 + i % 2)
            s["volume"], s["volume.shape"] = np.arange(i, i + np.prod(shape)).astype("<u2").reshape(shape), shape
        if kind == "jagged":
            s["Jet_p4"] = np.resize(s["Jet_p4"], (len(s["Jet_pt"]), 4))
        out.append(s)
    return out


def shown(kind: str, s: Dict[str, Any]) -> Dict[str, Any]:
    """What a reader is to get for a stored sample."""
    out = {}
    for f in SCHEMAS[kind]:
        v = s[f["name"]]
        if f["name"].endswith((".shape", ".ext")):
            continue
        if f["dtype"] == "bf16":
            v = np.array([int(b) << 16 for b in np.ravel(v)], "u4").view("f4").reshape(v.shape)
        elif v is not None and not f.get("media"):
            v = np.asarray(v, fixture.numpy_dtype(f)) if f.get("levels") != 2 else v
        out[f["name"]] = v
    return out


def same(a: Any, b: Any) -> bool:
    """Equal in value, type and shape."""
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if a is None or isinstance(a, (str, bytes)):
        return type(a) is type(b) and a == b
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b))


Make = Callable[..., str]


@pytest.fixture
def make(tmp_path: Any) -> Make:
    """Writes a set of a kind below the test's folder."""

    def make(kind: str, format: str = "mmap", name: str = "set", n: int = N, seed: int = 0, **kw: Any) -> str:
        kw.setdefault("shards", [n // 2, n - n // 2])
        return fixture.write(tmp_path / name, SCHEMAS[kind], samples(kind, n, seed), format, **kw)

    return make
