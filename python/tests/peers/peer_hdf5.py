"""h5py: random HDF5 files, freshly written, must come out as h5py reads them.

    python3 peer_hdf5.py WORK     SHARDIFY names the program, ROUNDS and SEED the files

What is left out must be left out for a reason that is true. A file that fails is kept.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from typing import Any, Callable, Dict, List, Tuple

import h5py
import hdf5_foreign
import numpy as np
from expect import Skip, main
from hdf5_compare import BINARY, Leaf, convert, fields, leaves, part, same
from hdf5_random import Maker, Member, Plan

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "hdf5")
ROUNDS = int(os.environ.get("ROUNDS", "40"))
SEED = int(os.environ.get("SEED", "1"))
FIRST = int(os.environ.get("FIRST", "0"))


Round = Callable[[str, int, str], Dict[str, Any]]


class Unreadable(Exception):
    """Nor does h5py read what it wrote."""


class Refused(Exception):
    """The converter left nothing to compare, for a reason that is true."""


# ---- what h5py reads


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
                elif p.mode == "file":
                    samples = [read(f[m.path], m)[None]]
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
    lo, hi, columns = 0, sum(p.samples), sorted(want)
    if rng.random() < 0.2 and hi > 1:
        lo = int(rng.integers(0, hi - 1))
        hi = int(rng.integers(lo + 1, hi + 1))
        flags += ["--range", "%d:%d" % (lo, hi)]
        want = {name: part(leaf, lo, hi) for name, leaf in want.items()}
        shapes = {name: x[lo:hi] for name, x in shapes.items()}
    if rng.random() < 0.2 and want:
        columns = [str(c) for c in rng.permutation(columns)[: int(rng.integers(1, 1 + len(columns)))]]
        flags += ["--columns", ",".join(columns)]
        want = {name: leaf for name, leaf in want.items() if name in columns}
    code, err = convert(p.paths, out, flags)
    if code != 0 and (
        not want
        and any(m.refused and m.refused in err for m in p.members)
        or ("aside" in p.left or all(m.refused or m.once for m in p.members))
        and ("no common first dimension" in err or "/aside has" in err or "field aside is in" in err)
        or "no field has any values" in err
        and sum(v.size + sum(map(len, levels)) for v, levels in want.values()) == 0
        or sum(p.samples) == 0
        and "no samples" in err
    ):
        raise Refused(err)
    assert code == 0, "exit code %d: %s (%s)" % (code, err.strip()[-700:], " ".join(flags))
    ds, got = fields(out)
    assert len(ds) == hi - lo, "%d samples, want %d" % (len(ds), hi - lo)
    if "--columns" not in flags:
        check_left(p, ds.manifest.get("left_out", []), sorted(set(want) - set(got)))
    assert set(want) <= set(got), "missing: %s" % sorted(set(want) - set(got))
    assert set(got) <= set(want), "fields that are not there: %s" % sorted(set(got) - set(want))
    odd = {m.path for m in p.members if m.special == "odd"}
    values = 0
    for name in want:
        values += same(name, want[name], got[name], name in odd)
        for i, shape in enumerate(shapes.get(name, [])):
            assert ds[i][name].shape == shape, "%s of sample %d is %s, h5py has %s" % (
                name,
                i,
                ds[i][name].shape,
                shape,
            )
    return len(want), values


# ---- rounds


def foreign_round(kind: str, k: int, folder: str) -> Dict[str, Any]:
    try:
        return {"counts": hdf5_foreign.check(kind, np.random.default_rng([SEED, k]), folder)}
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


def apart(one: Round, what: str, k: int, folder: str) -> Dict[str, Any]:
    """In a process of its own: some files make libhdf5 divide by zero."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(w, json.dumps(one(what, k, folder)).encode()[:60000])
        finally:
            os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        text = f.read()
    status = os.waitpid(pid, 0)[1]
    result: Dict[str, Any] = json.loads(text) if text else {"unmade": "the process ended by signal %d" % (status & 127)}
    return result


def rounds(one: Round, what: str, count: int) -> str:
    if shutil.which(BINARY) is None:
        raise Skip("SHARDIFY names no program")
    n = values = refused = unmade = 0
    failed: List[str] = []
    r: Dict[str, Any] = {"unmade": "no rounds"}
    for k in range(FIRST, FIRST + count):
        folder = os.path.join(WORK, "%s-%d-%d" % (what, SEED, k))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        r = apart(one, what, k, folder)
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
