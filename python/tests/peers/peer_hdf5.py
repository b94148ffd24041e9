"""h5py: random HDF5 files, freshly written, must come out as h5py reads them.

    python3 peer_hdf5.py WORK     SHARDIFY names the program, ROUNDS and SEED the files

What is left out must be left out for a reason that is true. A file that fails is kept.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import traceback
from typing import Any, Callable, Dict, List, Optional, Tuple

import h5py
import hdf5_foreign
import numpy as np
from expect import Skip, main
from hdf5_random import Maker, Member, Plan

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402
from shardify.schema import bf16_to_f32  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "hdf5")
ROUNDS = int(os.environ.get("ROUNDS", "40"))
SEED = int(os.environ.get("SEED", "1"))
FIRST = int(os.environ.get("FIRST", "0"))

Leaf = Tuple[np.ndarray, List[np.ndarray]]  # values, and the lengths of their lists by level


class Unreadable(Exception):
    """Nor does h5py read what it wrote."""


class Refused(Exception):
    """The converter left nothing to compare, for a reason that is true."""


# ---- what h5py reads


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


def read(d: h5py.Dataset, m: Member) -> np.ndarray:
    if m.special != "odd":
        if d.shape != () or not d.dtype.hasobject:
            return np.asarray(d[()])
        one = np.empty((), d.dtype)
        one[()] = d[()]
        return one
    a = np.empty(d.shape, m.dtype.kind + "8")
    d.id.read(h5py.h5s.ALL, h5py.h5s.ALL, a, m.dtype.native())
    return a


def join(parts: List[Leaf]) -> Leaf:
    return np.concatenate([p[0] for p in parts]), [np.concatenate(x) for x in zip(*(p[1] for p in parts))]


def wanted(p: Plan) -> Tuple[Dict[str, Leaf], Dict[str, List[Tuple[int, ...]]]]:
    """All fields, and the shapes of those that differ from sample to sample."""
    parts: Dict[str, List[Leaf]] = {}
    shapes: Dict[str, List[Tuple[int, ...]]] = {}
    for path, n in zip(p.paths, p.samples):
        with h5py.File(path) as f:
            for m in p.members:
                if m.refused:
                    continue
                if p.mode == "axis":
                    a = read(f[m.path], m)
                    samples = [np.broadcast_to(a, (n,) + a.shape) if m.once else a]
                else:
                    samples = [read(f["data/ev_%d/%s" % (i, m.path)], m)[None] for i in range(n)]
                for a in samples:
                    for name, leaf in leaves(a, m.path).items():
                        parts.setdefault(name, []).append(leaf)
    for name, list_ in parts.items():
        if len({x[0].shape[1:] for x in list_}) > 1 and not list_[0][1]:
            shapes[name] = [x[0].shape[1:] for x in list_]
            parts[name] = [(x[0].reshape(-1), [np.array([x[0].size])]) for x in list_]
    return {name: join(x) for name, x in parts.items()}, shapes


# ---- what was converted


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
            a = np.asarray(c)
            got[f.name] = bf16_to_f32(a) if f.dtype == "bf16" else a, []
            continue
        levels = [np.diff(np.asarray(c.offsets).astype("i8"))]
        if f.levels == 2:
            levels.append(np.diff(np.asarray(c.offsets1).astype("i8")))
        got[f.name] = np.asarray(c.values), levels
    return ds, got


def same(name: str, want: Leaf, got: Leaf, odd: bool = False) -> int:
    w, g = want[0], got[0]
    if w.dtype.kind == "b":
        w = w.view("u1") != 0  # of bytes that are neither 0 nor 1
    if odd:
        assert w.dtype.kind == g.dtype.kind and g.dtype.itemsize <= 8, "%s is %s" % (name, g.dtype)
        g = g.astype(w.dtype)
    w = w.astype(w.dtype.newbyteorder("<"))
    assert w.dtype == g.dtype and w.shape == g.shape, "%s is %s %s, h5py has %s %s" % (name, g.dtype, g.shape, w.dtype, w.shape)
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


def check_left(p: Plan, left: List[Dict[str, str]], missing: List[str]) -> None:
    """Every line of the list of what was left out is true, and nothing is missing without one."""
    assert not missing, "missing: %s; left out: %s" % (missing, left)
    seen = set()
    for x in left:
        name, why = x["name"], x["reason"]
        for m in p.members:
            if m.refused and m.refused in why and (name.endswith(m.path) or name.startswith("(")):
                seen.add(m.path)
                break
        else:
            assert name in p.left and p.left[name] in why, "left out without need: %s" % x
            seen.add(name)
    want = {m.path for m in p.members if m.refused} | set(p.left)
    assert want == seen, "not in the list of what was left out: %s" % sorted(want - seen)


def differ(p: Plan, rng: np.random.Generator, out: str) -> Tuple[int, int]:
    flags = list(p.flags) + ["--shard-samples", str(rng.choice([3, 7, 50, 1000])), "--jobs", str(rng.choice([1, 2, 3]))]
    if rng.random() < 0.3:
        flags += ["--memory", str(rng.choice(["64MiB", "200MiB"]))]
    try:
        want, shapes = wanted(p)
    except OSError as e:  # written by libhdf5 and its plugins, but they do not read it
        raise Unreadable(str(e)) from None
    code, err = convert(p.paths, out, flags)
    if code != 0 and (
        not want
        and any(m.refused and m.refused in err for m in p.members)
        or "aside" in p.left
        and ("no common first dimension" in err or "/aside has" in err or "field aside is in" in err)
        or "no field has any values" in err
        and sum(v.size + sum(map(len, levels)) for v, levels in want.values()) == 0
        or sum(p.samples) == 0
        and "no samples" in err
    ):
        raise Refused(err)
    assert code == 0, "exit code %d: %s (%s)" % (code, err.strip()[-700:], " ".join(flags))
    ds, got = fields(out)
    assert len(ds) == sum(p.samples), "%d samples, want %d" % (len(ds), sum(p.samples))
    check_left(p, ds.manifest.get("left_out", []), sorted(set(want) - set(got)))
    assert set(got) <= set(want), "fields that are not there: %s" % sorted(set(got) - set(want))
    odd = {m.path for m in p.members if m.special == "odd"}
    values = 0
    for name in want:
        values += same(name, want[name], got[name], name in odd)
        for i, shape in enumerate(shapes.get(name, [])):
            assert ds[i][name].shape == shape, "%s of sample %d is %s, h5py has %s" % (name, i, ds[i][name].shape, shape)
    return len(want), values


# ---- files of other libraries


def foreign(kind: str, rng: np.random.Generator, folder: str) -> Tuple[int, int]:
    path, out = os.path.join(folder, kind + ".h5"), os.path.join(folder, "out")
    want, may_lack, flags = hdf5_foreign.MAKERS[kind](rng, path)
    code, err = convert([path], out, flags)
    assert code == 0, "exit code %d: %s" % (code, err.strip()[-700:])
    ds, got = fields(out)
    for x in ds.manifest.get("left_out", []):
        assert any(x["name"].endswith(n) for n in may_lack), "left out: %s" % x
    if "frame" in want:
        return framed(want["frame"], ds, got)
    values = 0
    for name, a in want.items():
        for leaf, w in leaves(objects(a), name).items():
            assert leaf in got, "%s is missing; there are %s" % (leaf, sorted(got))
            values += same(leaf, w, got[leaf])
    return len(want), values


def objects(a: Any) -> np.ndarray:
    """Lists and texts as h5py gives them."""
    if isinstance(a, np.ndarray) and a.dtype.kind != "O":
        return a
    text = len(a) > 0 and isinstance(a[0], str)
    out = np.empty(len(a), h5py.string_dtype() if text else object)
    for i, x in enumerate(a):
        out[i] = x.encode() if text else x
    return out


def framed(df: Any, ds: Any, got: Dict[str, Leaf]) -> Tuple[int, int]:
    """Each column of a frame is a field, or is in the one whose attributes name it."""
    seen = []
    for f in ds.schema:
        a = got[f.name][0]
        if "columns" in f.attrs:
            assert a.ndim == 2, "%s is %s" % (f.name, a.shape)
            for k, c in enumerate(f.attrs["columns"].split("\n")):
                same(c, (df[c].to_numpy(), []), (np.ascontiguousarray(a[:, k]), []))
                seen.append(c)
        elif f.name.rpartition("/")[2] in df.columns:
            c = f.name.rpartition("/")[2]
            same(c, (df[c].to_numpy(), []), got[f.name])
            seen.append(c)
        else:
            assert f.name.rpartition("/")[2] in ("index", "axis1"), f.name
            assert np.array_equal(a, np.arange(len(df))), f.name
    assert sorted(seen) == sorted(df.columns), "columns %s, want %s" % (sorted(seen), sorted(df.columns))
    return len(seen), int(df.size)


# ---- rounds


def foreign_round(kind: str, k: int, folder: str) -> Dict[str, Any]:
    try:
        return {"counts": foreign(kind, np.random.default_rng([SEED, k]), folder)}
    except ImportError as e:
        return {"unmade": str(e)}
    except Exception as e:
        traceback.print_exc()
        return {"failed": "%s: %s" % (type(e).__name__, e)}


def random_round(what: str, k: int, folder: str) -> Dict[str, Any]:
    maker = Maker(np.random.default_rng([SEED, k, len(what)]), folder)
    try:
        plan = maker.plan()
    except Exception as e:  # h5py writes no such thing
        return {"unmade": "%s: %s: %s" % (type(e).__name__, str(e)[:200], maker.log[-1:])}
    try:
        return {"counts": differ(plan, maker.rng, os.path.join(folder, "out"))}
    except Unreadable as e:
        return {"unmade": str(e)}
    except Refused as e:
        return {"refused": str(e)}
    except Exception as e:
        if not isinstance(e, AssertionError):
            traceback.print_exc()
        with open(os.path.join(folder, "log.txt"), "w") as f:
            f.write("\n".join(maker.log + [str(e)]) + "\n")
        return {"failed": "%s: %s" % (type(e).__name__, e)}


def apart(work: Callable[[], Dict[str, Any]]) -> Dict[str, Any]:
    """In a process of its own: some files make libhdf5 divide by zero."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(w, json.dumps(work()).encode()[:60000])
        finally:
            os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        text = f.read()
    status = os.waitpid(pid, 0)[1]
    result: Dict[str, Any] = json.loads(text) if text else {"unmade": "the process ended by signal %d" % (status & 127)}
    return result


def rounds(one: Callable[[str, int, str], Dict[str, Any]], what: str, count: int) -> str:
    if shutil.which(BINARY) is None:
        raise Skip("SHARDIFY names no program")
    n = values = refused = unmade = 0
    failed: List[str] = []
    r: Dict[str, Any] = {"unmade": "no rounds"}
    for k in range(FIRST, FIRST + count):
        folder = os.path.join(WORK, "%s-%d-%d" % (what, SEED, k))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        r = apart(lambda: one(what, k, folder))
        if os.environ.get("VERBOSE") and "counts" not in r:
            print("round %d: %s" % (k, r), file=sys.stderr, flush=True)
        if "failed" in r:
            failed.append("round %d of seed %d: %s" % (k, SEED, r["failed"]))
            continue
        unmade, refused = unmade + ("unmade" in r), refused + ("refused" in r)
        a, b = r.get("counts", (0, 0))
        n, values = n + a, values + b
        shutil.rmtree(folder)
    if unmade == count:
        raise Skip("none could be made: %s" % r["unmade"])
    assert not failed, "%d of %d: %s; kept in %s" % (len(failed), count, failed[0], WORK)
    return "seed %d, %d rounds of %s files (%d refused, %d not made): %d fields, %d values, no difference" % (
        SEED,
        count,
        what,
        refused,
        unmade,
        n,
        values,
    )


if __name__ == "__main__":
    h5 = "HDF5 " + h5py.version.hdf5_version
    checks = [("h5py %s %s" % (h5py.__version__, h5), lambda: rounds(random_round, "random", ROUNDS))]
    for kind in hdf5_foreign.MAKERS:
        checks.append((kind, lambda kind=kind: rounds(foreign_round, kind, ROUNDS // 4)))  # type: ignore
    main([c for c in checks if os.environ.get("ONLY", "") in c[0]])
