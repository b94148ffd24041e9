"""What all peers share: the expected samples, and saying whether they came."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import traceback
from typing import Any, Callable, Dict, Iterable, List, Tuple

import numpy as np

WORK = sys.argv[1] if len(sys.argv) > 1 else "."


class Skip(Exception):
    """Not to be checked here, and why."""


def fingerprint(member: str, value: Any) -> str:
    """Of bytes, of an array, or of the array in the bytes of an NPY file."""
    if isinstance(value, memoryview):
        value = value.tobytes()
    if member.endswith(".npy") and isinstance(value, bytes):
        value = np.load(io.BytesIO(value), allow_pickle=False)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return "bytes " + hashlib.sha256(value).hexdigest()
    a = np.asarray(value)
    return "array %s %r %s" % (a.dtype.str, list(a.shape), hashlib.sha256(a.tobytes()).hexdigest())


def folder(name: str) -> str:
    return os.path.join(WORK, name)


def tars(name: str) -> List[str]:
    with open(os.path.join(folder(name), "shardify.json")) as f:
        return [os.path.join(folder(name), s["name"]) for s in json.load(f)["shards"]]


shards = tars


def expected(name: str) -> List[Dict[str, Any]]:
    with open(os.path.join(WORK, "src", "expected.json")) as f:
        samples: List[Dict[str, Any]] = json.load(f)[name]
    return samples


def compare(name: str, got: Iterable[Tuple[str, Dict[str, Any]]]) -> str:
    """All samples in order, each with exactly its members. Says how many."""
    want, n = expected(name), 0
    for key, members in got:
        assert n < len(want), "more than %d samples: %s" % (len(want), key)
        w = want[n]
        assert key == w["key"], "sample %d is %s, want %s" % (n, key, w["key"])
        have = {m: fingerprint(m, v) for m, v in members.items()}
        assert have == w["members"], "sample %d %s: %r, want %r" % (n, key, have, w["members"])
        n += 1
    assert n == len(want), "%d samples, want %d" % (n, len(want))
    return "%s: %d samples, %d members" % (name, n, sum(len(w["members"]) for w in want))


def tables(one: Callable[[int], None], rounds: int, what: str) -> Callable[[], str]:
    """The check of `rounds` random tables, or of as many as ROUNDS says, from FIRST on."""
    rounds, first = int(os.environ.get("ROUNDS", rounds)), int(os.environ.get("FIRST", "0"))

    def check() -> str:
        for i in range(first, first + rounds):
            try:
                one(i)
            except AssertionError as e:
                raise AssertionError("table %d: %s" % (i, e)) from e
        return "%d random tables are %s" % (rounds, what)

    return check


def main(checks: List[Tuple[str, Callable[[], str]]]) -> None:
    """Runs every check and prints a JSON line for each, which run.py reads."""
    for peer, check in checks:
        try:
            status, what = "ok", check()
        except Skip as e:
            status, what = "skipped", str(e)
        except Exception as e:
            traceback.print_exc()
            status, what = "FAILED", "%s: %s" % (type(e).__name__, str(e)[:800])
        print(json.dumps({"peer": peer, "status": status, "what": what}), flush=True)
