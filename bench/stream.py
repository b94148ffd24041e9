"""Times random order from files beside random order from memory: python3 bench/stream.py WORK

    --other PROGRAM   another build of shardify, to compare with
    --rounds N        medians of N interleaved rounds (3)
    --epochs N        of each warm measurement (4)
    --seconds N       after the first batch (2)
    --out FILE.md     the tables

SHARDIFY names the program. Sets are made in WORK (1 GB). Warm: the files are in the page cache, and the
figure is processor seconds a GiB of so many epochs. Tier stream checks the files during the first of them; pinned has
done so before its first batch, which does not count: `stream, checked` is without the check, and what pinned is
compared with. Cold: their pages are dropped first (posix_fadvise; figures of
shardify's own statistics say what came from storage), and the figure is bytes a second, beside as many
random reads of the same sizes by 32 threads that call pread.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import platform
import random
import statistics
import subprocess
import time

import page

SETS = {  # name: schema, samples, bytes of each read, steps of a cold run
    "jagged": ("a:f32*1200@C,b:i32*1200@C", 40_000, [2400, 2400], 60),
    "64 B": ("x:f32[16]", 2_000_000, [64], 20),
    "512 B": ("x:f32[128]", 400_000, [512], 20),
    "4 KiB": ("x:f32[1024]", 64_000, [4096], 100),
    "64 KiB": ("x:f32[16384]", 4_000, [65536], 8),
}
GIB = 1 << 30


def make(program, work, name):
    folder = os.path.join(work, name.replace(" ", ""))
    if not os.path.exists(os.path.join(folder, "shardify.json")):
        schema, samples = SETS[name][:2]
        subprocess.run(
            [program, "convert", "--from", "synth", "--schema", schema, "--samples", str(samples), "-o", folder],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return folder


def bench(program, folder, tier, *more, shuffle="global"):
    out = subprocess.run(
        [program, "bench", folder, "--tier", tier, "--shuffle", shuffle, "--json", *more],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(out.stdout)


def warm(folder):
    for name in glob.glob(os.path.join(folder, "*.safetensors")):
        with open(name, "rb") as f:
            while f.read(1 << 20):
                pass


def drop(folder):
    for name in glob.glob(os.path.join(folder, "*.safetensors")):
        fd = os.open(name, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def reads(folder, sizes, rows, threads=32):
    """Bytes a second of random reads from files that were dropped."""
    drop(folder)
    files = [(os.open(n, os.O_RDONLY), os.path.getsize(n)) for n in sorted(glob.glob(os.path.join(folder, "*.safetensors")))]
    rng, work = random.Random(1), []
    for size in sizes:
        each = (min(n for _, n in files) - 4096) // size
        for k in rng.sample(range(len(files) * each), rows):  # none twice
            work.append((files[k // each][0], size, 4096 + k % each * size))
    rng.shuffle(work)

    def some(k):
        return sum(len(os.pread(fd, s, at)) for fd, s, at in work[k::threads])

    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        n = sum(pool.map(some, range(threads)))
    rate = n / (time.perf_counter() - start)
    for fd, _ in files:
        os.close(fd)
    return rate


def median(values):
    return statistics.median(values) if values else float("nan")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("work")
    p.add_argument("--other")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--seconds", type=int, default=2)
    p.add_argument("--out")
    args = p.parse_args()
    program = os.environ.get("SHARDIFY", "bin/shardify")
    os.makedirs(args.work, exist_ok=True)
    builds = [("stream", program, "stream"), ("pinned", program, "pinned")] + ([("before", args.other, "stream")] if args.other else [])
    lines = []

    def say(text):
        print(text, flush=True)
        lines.append(text)

    say("# Random order from files")
    say("")
    say("`make bench-stream` makes these tables (bench/stream.py says how). %s, %d cores, Linux %s. Medians of %d rounds, the contenders one after the other in each. Load %.1f at the beginning, commit %s." % (platform.machine(), os.cpu_count(), platform.release(), args.rounds, os.getloadavg()[0], page.commit()))
    if args.other:
        say("`before` is the build that read each row and field by a call of the system.")
    say("")
    say("## Warm: processor seconds a GiB, batches of 256, shuffle global, %d epochs" % args.epochs)
    say("")
    checked = builds[:1] + [("stream, checked", program, "stream")] + builds[1:]
    say("| rows | " + " | ".join(n for n, _, _ in checked) + " | stream, checked / pinned | peak memory of samples, stream |")
    say("|---|" + "---|" * (len(checked) + 2))
    for name in SETS:
        folder, got, memory = make(program, args.work, name), {n: [] for n, _, _ in checked}, 0
        warm(folder)
        for _ in range(args.rounds):
            for n, prog, tier in checked:
                d = bench(prog, folder, tier, "--epochs", str(args.epochs), "--verify", "none" if n == "stream, checked" else "whole")
                got[n].append(d["cpu"]["seconds_per_gb"] * GIB / 1e9)
                if n == "stream":
                    memory = max(memory, d["memory"]["host_bytes"])
        ratio = median(got["stream, checked"]) / median(got["pinned"])
        say("| %s | %s | %.2f | %.1f MiB |" % (name, " | ".join("%.3f" % median(got[n]) for n, _, _ in checked), ratio, memory / (1 << 20)))
    say("")
    say("## Cold: MB/s, shuffle global, tier stream")
    say("")
    say("| rows | " + " | ".join(n for n, _, t in builds if t == "stream") + " | random reads by 32 threads | stream / reads | of it from storage, stream |")
    say("|---|" + "---|" * (len([1 for b in builds if b[2] == "stream"]) + 3))
    for name in SETS:
        _, _, sizes, steps = SETS[name]
        folder, got, base, stored = make(program, args.work, name), {n: [] for n, _, t in builds if t == "stream"}, [], 0
        for _ in range(args.rounds):
            for n, prog, tier in builds:
                if tier == "stream":
                    d = bench(prog, folder, tier, "--steps", str(steps), "--cold", "--verify", "none")
                    got[n].append(d["bytes"] / (d["seconds"] + d["first_batch"]["wait_seconds"]) / 1e6)
                    stored = d["storage_bytes"] if n == "stream" else stored
            base.append(reads(folder, sizes, steps * 256) / 1e6)
        say("| %s | %s | %.1f | %.2f | %.1f MB |" % (name, " | ".join("%.1f" % median(v) for v in got.values()), median(base), median(got["stream"]) / median(base), stored / 1e6))
    say("")
    say("## First batch: seconds, jagged rows, and the rate afterwards")
    say("")
    say("| tier | first batch, s | MB/s of the following %d s |" % args.seconds)
    say("|---|---|---|")
    folder = make(program, args.work, "jagged")
    warm(folder)
    rows = [("auto", program, "auto"), ("stream", program, "stream"), ("pinned", program, "pinned")] + ([("auto, before", args.other, "auto")] if args.other else [])
    got = {n: [] for n, _, _ in rows}
    for _ in range(args.rounds):
        for n, prog, tier in rows:
            got[n].append(bench(prog, folder, tier, "--seconds", str(args.seconds)))
    for n, _, _ in rows:
        say("| %s | %.3f | %.0f |" % (n, median([d["first_batch"]["wait_seconds"] for d in got[n]]), median([d["bytes_per_second"] for d in got[n]]) / 1e6))
    say("")
    say("## Once memory is full: processor seconds a GiB, jagged rows")
    say("")
    say("What 96 epochs take more than 24, so that the fill of `auto` does not count.")
    say("")
    say("| tier | seconds a GiB |")
    say("|---|---|")
    steady = {"auto": [], "pinned": []}
    for _ in range(args.rounds):
        for tier in steady:
            few, many = (bench(program, folder, tier, "--epochs", n) for n in ("24", "96"))
            steady[tier].append((many["cpu"]["seconds"] - few["cpu"]["seconds"]) / (many["bytes"] - few["bytes"]) * GIB)
    for tier, v in steady.items():
        say("| %s | %.3f |" % (tier, median(v)))
    say("")
    say("## Block shuffle of jagged rows: memory of samples")
    say("")
    say("| `memory` | " + " | ".join(n for n, _, t in builds if t == "stream") + " |")
    say("|---|" + "---|" * len([1 for b in builds if b[2] == "stream"]))
    for memory in ["64MiB", "1GiB"]:
        cells = []
        for _, prog, tier in builds:
            if tier == "stream":
                d = bench(prog, folder, tier, "--seconds", str(args.seconds), "--memory", memory, shuffle="block")
                cells.append("%.1f MiB" % (d["memory"]["host_bytes"] / (1 << 20)))
        say("| %s | %s |" % (memory, " | ".join(cells)))
    if args.out:
        with open(args.out, "w") as f:
            f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
