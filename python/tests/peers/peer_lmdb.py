"""Random LMDB databases: samples have the values that py-lmdb reads.

python3 peer_lmdb.py WORK     SHARDIFY names the program; FILES files from SEED
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Tuple

import lmdb

from expect import main
from safetensors import safe_open

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "lmdb")
FILES, SEED = int(os.environ.get("FILES", "300")), int(os.environ.get("SEED", "1"))
LIVE = int(os.environ.get("LIVE", "40"))


def converted(path: str, out: str, more: List[str]) -> Dict[str, List[Any]]:
    """The values of each field of the set of a database, as bytes."""
    command = [BINARY, "convert", path, "-o", out, "--format", "mmap", "--jobs", "2", *more]
    p = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 0, "%s: %s" % (path, p.stderr)
    fields: Dict[str, List[Any]] = {}
    for name in sorted(n for n in os.listdir(out) if n.endswith(".safetensors")):
        with safe_open(os.path.join(out, name), "numpy") as f:
            for field in json.loads(f.metadata()["shardify.schema"]):
                n = field["name"]
                to = fields.setdefault(n, [])
                if field.get("levels", 0) == 0:
                    to.extend(f.get_tensor(n))
                    continue
                ends, values = f.get_tensor(field.get("counter", n) + "#offsets"), f.get_tensor(n + "#values")
                to.extend(values[a:b].tobytes() for a, b in zip(ends[:-1], ends[1:]))
    shutil.rmtree(out)
    return fields


def key_text(key: bytes) -> bytes:
    try:
        key.decode()
        return key
    except UnicodeDecodeError:
        return key.hex().encode()


def write(r: random.Random, path: str) -> Tuple[str, bool]:
    """A database of a random form: its name, and whether its keys are integers."""
    named = r.random() < 0.4
    flags: Dict[str, Any] = {}
    integers = named and r.random() < 0.3
    if named:
        flags = {"integerkey": integers, "reverse_key": not integers and r.random() < 0.3, "dupsort": r.random() < 0.4}
        flags["dupfixed"] = flags["dupsort"] and r.random() < 0.5
    form = r.choice(["bytes", "numbers", "padded", "unicode"])
    env = lmdb.open(path, subdir=False, map_size=1 << 28, max_dbs=4, lock=False, writemap=r.random() < 0.2, sync=False)
    name = "data" if named else ""
    db = env.open_db(name.encode(), **flags) if named else env.open_db()
    if named and r.random() < 0.5:
        env.open_db(b"other")
    count = r.choice([1, 2, 30, 400, 3000])
    fixed = r.randrange(1, 40)
    keys: List[bytes] = []
    for commit in range(r.choice([1, 1, 3])):
        with env.begin(write=True, db=db) as t:
            for i in range(count):
                if integers:
                    key = r.randrange(1 << 31).to_bytes(4, "little")
                elif form == "numbers":
                    key = b"%d" % r.randrange(count * 2)
                elif form == "padded":
                    key = b"%08d" % i
                elif form == "unicode":
                    key = ("ü%d" % r.randrange(1 << 20)).encode()
                else:
                    key = r.randbytes(r.randrange(1, 60)) + b"\xff"
                size = fixed if flags.get("dupfixed") else r.choice([r.randrange(0, 60), r.randrange(0, 60), r.randrange(1900, 2200), r.randrange(0, 500)])
                if flags.get("dupsort"):
                    size = min(size, 500) or 1
                elif r.random() < 0.02:
                    size = r.randrange(1 << 17)
                t.put(key, r.randbytes(size), dupdata=True)
                keys.append(key)
            for key in keys:
                if commit and r.random() < 0.4:
                    t.delete(key)
    env.close()
    return name, integers


def check(r: random.Random, i: int) -> int:
    path = os.path.join(WORK, "%d.lmdb" % i)
    name, integers = write(r, path)
    env = lmdb.open(path, subdir=False, readonly=True, lock=False, max_dbs=4)
    db = env.open_db(name.encode(), create=False) if name else None
    with env.begin(db=db) as t:
        wanted = list(t.cursor())
        flags = t.stat(db) and (db.flags(t) if db else {})
    env.close()
    if not wanted:
        return 0
    plain = not any(flags.get(k) for k in ("reverse_key", "dupsort", "integerkey"))
    if plain and all(k.isdigit() and str(int(k)).encode() == k for k, _ in wanted):
        wanted.sort(key=lambda e: int(e[0]))
    source = "%s:%s" % (path, name) if name else path
    got = converted(source, path + "-set", ["--value-type", "bytes", "--shard-size", "64KiB"])
    assert got["value"] == [bytes(v) for _, v in wanted], "%s: values" % path
    if "key" in got:
        if integers:
            want: List[Any] = [int.from_bytes(k, "little") for k, _ in wanted]
        elif isinstance(got["key"][0], bytes):
            want = [key_text(k) for k, _ in wanted]
        else:
            want = [int(k) for k, _ in wanted]
        assert list(got["key"]) == want, "%s: keys" % path
    else:
        assert [int(k) for k, _ in wanted] == list(range(int(wanted[0][0]), int(wanted[0][0]) + len(wanted))), path
    os.remove(path)
    return len(wanted)


def run() -> str:
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    total = 0
    for i in range(FILES):
        total += check(random.Random(SEED * 1000003 + i), i)
    assert total > 0
    return "%d databases, %d entries as py-lmdb %s reads them" % (FILES, total, lmdb.__version__)


WRITER = """
import itertools, lmdb, sys
env = lmdb.open(sys.argv[1], subdir=False, map_size=1 << 28, sync=False)
for n in itertools.count(1):
    with env.begin(write=True) as t:
        for i in range(400):
            t.put(b"%06d" % i, n.to_bytes(8, "little") * (8 if i % 4 else 600))
    if n == 1:
        print("ready", flush=True)
"""


def live() -> str:
    """A database that a program writes to all the time is read as one state of it, or refused."""
    path = os.path.join(WORK, "live.lmdb")
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE)
    read = refused = 0
    try:
        assert writer.stdout and writer.stdout.readline() == b"ready\n"
        for k in range(LIVE):
            shutil.rmtree(path + "-set", ignore_errors=True)
            command = [BINARY, "convert", path, "-o", path + "-set", "--format", "mmap", "--value-type", "bytes", "--sync", "none"]
            command += ["--ignore-times"] if k % 2 else []
            p = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
            if p.returncode != 0:
                assert "a program writes to it" in p.stderr or "changed since the plan" in p.stderr, p.stderr
                refused += 1
                continue
            values = numbered(path + "-set")
            assert len(values) == 400 and len(set(values)) == 1, "a mixture of %d states" % len(set(values))
            read += 1
    finally:
        writer.kill()
        writer.wait()
    assert refused > 0, "no writer was seen"
    return "a database with a live writer: %d times one state, %d times refused" % (read, refused)


def numbered(out: str) -> List[int]:
    """The state that each value of a set is of. All numbers of a value are the same."""
    states = []
    for name in sorted(n for n in os.listdir(out) if n.endswith(".safetensors")):
        with safe_open(os.path.join(out, name), "numpy") as f:
            ends, values = f.get_tensor("value#offsets"), f.get_tensor("value#values")
        for a, b in zip(ends[:-1], ends[1:]):
            v = values[a:b].tobytes()
            assert v == v[:8] * (len(v) // 8), "a value of two states"
            states.append(int.from_bytes(v[:8], "little"))
    return states


main([("lmdb", run), ("lmdb", live)])
