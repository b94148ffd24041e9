"""numpy: random pipelines of convert must leave exactly the samples that an oracle computes.

python3 peer_shape.py WORK     SHARDIFY names the program, VERIFY the checker, ROUNDS, FIRST and SEED the pipelines
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any, Dict, List, Tuple

import numpy as np
from expect import Skip, main
from shape_oracle import Pipeline, Random, Samples, same, sources

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402

BINARY = os.environ.get("SHARDIFY", "shardify")
VERIFY = os.environ.get("VERIFY", os.path.join(os.path.dirname(BINARY), "verify"))
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "shape")
ROUNDS = int(os.environ.get("ROUNDS", "60"))
FIRST = int(os.environ.get("FIRST", "0"))
SEED = int(os.environ.get("SEED", "1"))


def run(args: List[str], codes: Tuple[int, ...] = (0,)) -> Tuple[int, str]:
    p = subprocess.run(args, capture_output=True, text=True, timeout=120)
    text = p.stdout + p.stderr
    assert "panic" not in text and "goroutine " not in text, text[-2000:]
    assert p.returncode in codes, "exit code %d of %s: %s" % (p.returncode, " ".join(args), text[-800:])
    return p.returncode, text


def tree(folder: str) -> Dict[str, bytes]:
    """All published files; what is private to the converter may differ."""
    out = {}
    for at, dirs, files in os.walk(folder):
        dirs[:] = [d for d in dirs if d != ".shardify"]
        for name in files:
            path = os.path.join(at, name)
            with open(path, "rb") as f:
                out[os.path.relpath(path, folder)] = f.read()
    return out


def convert(r: Random, inputs: List[str], out: str, flags: List[str], running: List[str], way: str) -> None:
    """Carries a conversion out in one of the ways that must not show in the result."""
    shutil.rmtree(out, ignore_errors=True)
    command = inputs + ["-o", out, "--quiet"] + flags
    if way == "tasks":
        run([BINARY, "plan"] + command)
        tasks = int(r.one(1, 2, 3))
        for stage in ("scatter", "gather") if "global" in flags else ("all",):
            for task in range(tasks):
                work = [BINARY, "work", out, "--quiet", "--stage", stage, "--sync", "none", "--task", str(task)]
                run(work + ["--tasks", str(tasks)] + running)
        run([BINARY, "merge", out, "--quiet"])
        return
    command += running + ["--sync", "none"]
    if way == "kill":
        for _ in range(3):
            p = subprocess.Popen([BINARY, "convert"] + command, stdout=-3, stderr=-3)
            time.sleep(float(r.rng.random() * 0.06))
            p.send_signal(signal.SIGKILL)
            p.wait()
    run([BINARY, "convert"] + command)


def folders(out: str) -> Dict[str, str]:
    with open(os.path.join(out, "shardify.json")) as f:
        splits = json.load(f).get("splits")
    return {"": out} if splits is None else {name: os.path.join(out, name) for name in splits}


def read(folder: str) -> Samples:
    ds = shardify.open(folder)
    samples = [ds[i] for i in range(len(ds))]
    if ds._columnar and len(ds):
        for f in ds.schema:  # the other way to read must give the same
            if not f.media and not f.ragged and not f.nullable:
                column = ds.column(f.name)
                for i in (0, len(ds) - 1):
                    assert same(column[i], samples[i][f.name]), "column %s" % f.name
    return samples


def check(p: Pipeline, out: str) -> int:
    with open(os.path.join(out, "shardify.json")) as f:
        manifest = json.load(f)
    parts = {name: read(folder) for name, folder in folders(out).items()}
    got = sum(len(s) for s in parts.values())
    assert manifest["samples"] == got, "the manifest has %d samples, there are %d" % (manifest["samples"], got)
    dropped, copied = manifest.get("dropped", 0), manifest.get("copied", 0)
    skipped = sum(s["hi"] - s["lo"] for s in manifest.get("skipped", []))
    sums = "%d read, %d copied, %d written, %d dropped, %d skipped" % (p.read, copied, got, dropped, skipped)
    assert p.read + copied == got + dropped + skipped, sums
    p.members(parts)
    for name, folder in folders(out).items():
        p.schemas[name] = {f.name: f.vocab for f in shardify.open(folder).schema}
    for name, samples in parts.items():
        for s in samples:
            p.sample(name, s)
        inputs = os.path.join(folders(out)[name], "inputs.jsonl")
        if p.provenance:
            with open(inputs) as f:
                p.origins([json.loads(line)["file"] for line in f], samples)
    p.order(parts, manifest)
    return got


def recipe(inputs: List[str], flags: List[str], path: str) -> List[str]:
    """The same flags as a recipe (JSON is YAML)."""
    keys: Dict[str, Any] = {"inputs": inputs}
    at = 0
    while at < len(flags):
        name = flags[at][2:]
        if name == "provenance":
            keys[name], at = True, at + 1
            continue
        if name in keys:
            old = keys[name]
            keys[name] = (old if isinstance(old, list) else [old]) + [flags[at + 1]]
        else:
            keys[name] = flags[at + 1]
        at += 2
    with open(path, "w", encoding="utf-8") as f:
        json.dump(keys, f, ensure_ascii=False)
    return ["--recipe", path]


def refuse(inputs: List[str], out: str, flags: List[str], r: Random) -> None:
    """Another option in the same folder: refused, the difference shown, nothing touched."""
    before = tree(out)
    other = r.one(["--set", "other_field=1"], ["--range", "0:1"], ["--define", "other_field=uid+1"])
    if other[0] == "--set" and "--set" in flags and "label" not in " ".join(flags):
        return
    code, text = run([BINARY, "convert"] + inputs + ["-o", out, "--quiet"] + flags + other, (1, 2))
    assert tree(out) == before, "%s changed a set that was there" % other
    assert "another conversion" in text or code == 1, text


def one(k: int, made: Counter) -> int:
    r = Random(np.random.default_rng([SEED, k]))
    work = os.path.join(WORK, "run")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    src = sources(r, os.path.join(work, "src"))
    p = Pipeline(r, src)
    flags = p.flags()
    if src.kind == "hdf5":
        flags += ["--sample", "axis"]
    out = os.path.join(work, "out")
    running = ["--jobs", str(r.one(1, 2, 7)), "--memory", str(r.one("32MiB", "1GiB"))]
    way = r.one("convert", "convert", "tasks", "kill")
    try:
        if p.refused:
            code, text = run([BINARY, "convert"] + src.inputs + ["-o", out, "--quiet"] + flags, (1, 2))
            assert not os.path.exists(os.path.join(out, "shardify.json")), "refused, and there is a set"
            assert p.refused in text, "want %r in %s" % (p.refused, text)
            made["refused"] += 1
            return 0
        convert(r, src.inputs, out, flags, running, way)
        n = check(p, out)
        run([VERIFY, out])
        if r.chance(0.15):
            refuse(src.inputs, out, flags, r)
            made["other options refused"] += 1
        if r.chance(0.3):
            again = os.path.join(work, "again")
            jobs = ["--jobs", str(r.one(1, 2, 7))]
            if r.chance(0.5):
                convert(r, src.inputs, again, flags, jobs, "convert")
            else:
                convert(r, [], again, recipe(src.inputs, flags, os.path.join(work, "recipe.yaml")), jobs, "convert")
                made["recipe"] += 1
            assert tree(out) == tree(again), "another way gives other bytes: %s" % way
            made["equal bytes"] += 1
    except Exception as e:
        command = " ".join("'%s'" % f for f in ["convert"] + src.inputs + flags + running)
        raise AssertionError("round %d of seed %d (%s): %s\n%s" % (k, SEED, way, e, command)) from e
    made[way] += 1
    made[src.kind] += 1
    made[p.format] += 1
    for name in p.used:
        made["--" + name] += 1
    return n


def rounds() -> str:
    if shutil.which(BINARY) is None or shutil.which(VERIFY) is None:
        raise Skip("SHARDIFY names no program, or VERIFY none")
    made: Counter = Counter()
    samples, wrong = 0, []
    for k in range(FIRST, FIRST + ROUNDS):
        try:
            samples += one(k, made)
        except AssertionError as e:
            wrong.append(str(e))
            print(e, file=sys.stderr)
    said = ", ".join("%s %d" % x for x in sorted(made.items()))
    assert not wrong, "%d of %d pipelines differ: %s" % (len(wrong), ROUNDS, wrong[0])
    shutil.rmtree(WORK, ignore_errors=True)
    return "%d pipelines, %d samples: no difference (%s)" % (ROUNDS, samples, said)


if __name__ == "__main__":
    main([("numpy shaping", rounds)])
