"""Times shardify.Loader against PyTorch's DataLoader, np.take and webdataset on the same files.

    python bench/loader_peers.py --data DIR --shardify BIN [--rounds 7] [--only 64B,1.8KB,150KB,images] [--out bench/LOADER.md]

Each contender is a process that opens the set, delivers a few batches and then waits; in each round every one in turn
delivers batches for --seconds, after a few that are not counted (those that were ready before). So pairs are interleaved,
the page cache is warm for all, and start-up is not what is asked. CPU is user + system of the process and its workers.
A target is met when the median of the rounds' ratios of samples/s reaches it or that of CPU seconds per byte does.

The report is written after every group, so a run that breaks off leaves what it has. After --minutes no group begins.
Exit codes: 0 all targets met, 3 some missed, 1 something failed or was left for lack of time.
"""
import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import loader_contenders as contenders

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = contenders.BATCH
# name -> samples as arrays, samples as tar members, how a sample is made
SIZES = {
    "64B": (2 << 20, 1 << 17, lambda rng, n: {"x": rng.standard_normal((n, 16), np.float32)}),
    "1.8KB": (1 << 18, 1 << 16, lambda rng, n: {"x": rng.standard_normal((n, 64, 7), np.float32)}),
    "150KB": (4096, 2048, lambda rng, n: {"x": rng.integers(0, 256, (n, 224, 224, 3), np.uint8)}),
}


class Process:
    """A contender that runs."""

    def __init__(self, name, spec, data, cores=None):
        self.name, self.rounds = name, []
        cmd = [sys.executable, os.path.join(HERE, "loader_contenders.py"), json.dumps({**spec, "data": data})]
        if cores:
            cmd = ["taskset", "-c", cores, *cmd]
        env = dict(os.environ, PYTHONPATH=os.path.join(HERE, "..", "python"), OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore")
        # A session of its own, so that its workers end with it; a file, since a pipe that is not read fills.
        self.log = tempfile.TemporaryFile("w+")
        self.p = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=env, start_new_session=True)
        self.info = self.answer(180)

    def answer(self, patience):
        timer = threading.Timer(patience, self.kill)
        timer.start()
        line = self.p.stdout.readline()
        timer.cancel()
        if line:
            return json.loads(line)
        self.log.seek(0)
        err = self.log.read().strip() or f"it ended, or gave no answer for {patience:.0f} s"
        print(f"{self.name} ended:\n{err[-3000:]}", flush=True)
        return {"failed": err.splitlines()[-1]}

    def run(self, seconds):
        try:
            self.p.stdin.write(f"{seconds}\n")
            self.p.stdin.flush()
        except BrokenPipeError:
            pass  # answer says why
        self.rounds.append(self.answer(30 + 20 * seconds))
        return "failed" not in self.rounds[-1]

    def kill(self):
        try:
            os.killpg(self.p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end(self):
        try:
            self.p.stdin.close()
            self.p.wait(20)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            pass
        self.kill()
        self.p.wait()

    def rate(self, k):
        return self.rounds[k]["samples"] / self.rounds[k]["seconds"]

    def cpu(self):
        """CPU seconds for each sample."""
        return sum(r["cpu"] for r in self.rounds) / sum(r["samples"] for r in self.rounds)


class Bench:
    def __init__(self, a):
        self.a, self.tables, self.ratios, self.absent, self.failed = a, [], [], {}, False
        self.running, self.end = {}, time.monotonic() + 60 * a.minutes

    def group(self, title, specs, pairs, data, sample_bytes, seconds):
        """specs: name -> (spec, cores); pairs: (ours, peer, target)."""
        if self.a.only and title not in self.a.only:
            return
        if time.monotonic() > self.end:
            self.absent[title], self.failed = f"{self.a.minutes} minutes were over", True
            return
        running = self.running = {}
        for name, (spec, cores) in specs.items():
            p = Process(name, spec, data, cores)
            if "absent" in p.info or "failed" in p.info:
                self.leave_out(title, p, p.info)
            else:
                running[name] = p
        for k in range(self.a.rounds):
            for p in list(running.values())[:: 1 if k % 2 == 0 else -1]:
                if not p.run(seconds):
                    self.leave_out(title, running.pop(p.name), p.rounds[-1])
        rows = []
        for p in running.values():
            p.end()
            rates = sorted(p.rate(k) for k in range(self.a.rounds))
            rows.append({"name": p.name, "rate": statistics.median(rates), "low": rates[0], "high": rates[-1], "gb": statistics.median(rates) * sample_bytes / 1e9,
                         "cpu": p.cpu() / sample_bytes * 1e9, "note": p.info.get("note", ""), "first": p.info["first"]})
            r = rows[-1]
            print(f"{title}: {p.name}: {r['rate']:,.0f} samples/s [{r['low']:,.0f}-{r['high']:,.0f}], {r['gb']:.3f} GB/s, {r['cpu']:.3f} core-s/GB {r['note']}", flush=True)
        self.running = {}
        self.tables.append((title, rows))
        for ours, peer, target in pairs:
            if ours in running and peer in running:
                self.compare(title, running[ours], running[peer], target)
        self.save()

    def save(self):
        if self.a.out:
            with open(self.a.out + ".new", "w") as f:
                f.write(report(self, self.a.head))
            os.replace(self.a.out + ".new", self.a.out)

    def leave_out(self, title, p, answer):
        self.absent[f"{title}: {p.name}"] = answer.get("absent") or "FAILED: " + answer["failed"]
        self.failed |= "failed" in answer
        print(f"{title}: {p.name}: left out: {self.absent[f'{title}: {p.name}']}", flush=True)
        p.end()

    def compare(self, title, us, them, target):
        ratios = sorted(us.rate(k) / them.rate(k) for k in range(self.a.rounds))
        r = {"group": title, "ours": us.name, "peer": them.name, "target": target, "wall": statistics.median(ratios), "low": ratios[0], "high": ratios[-1], "cpu": them.cpu() / us.cpu()}
        r["met"] = target is None or max(r["wall"], r["cpu"]) >= target
        self.ratios.append(r)
        print(f"{title}: {us.name} / {them.name}: {r['wall']:.2f}x [{r['low']:.2f}-{r['high']:.2f}], CPU {r['cpu']:.2f}x" + (f"; target {target}: {'met' if r['met'] else 'MISSED'}" if target else ""), flush=True)


def run(b):
    for size in SIZES:
        if b.a.only and size not in b.a.only:
            continue
        data = folder_of(b.a, size)
        ours = lambda shuffle, **kw: {"kind": "loader", "set": "mmap", "options": {"shuffle": shuffle, **kw}}
        tar = lambda shuffle, **kw: {"kind": "loader", "set": "wds", "options": {"shuffle": shuffle, **kw}}
        cores = sorted(os.sched_getaffinity(0))
        one, two = str(cores[0]), ",".join(map(str, cores[:2]))
        specs = {
            "Loader, global": (ours("global"), None),
            "Loader, block": (ours("block"), None),
            "Loader, global, streamed": (ours("global", tier="stream"), None),
            "Loader, block, streamed": (ours("block", tier="stream"), None),
            "Loader, global, copy=False, 1 core": (ours("global", workers=1, copy=False), one),
            "Loader, global, copy=False, 2 cores": (ours("global", workers=2, copy=False), two),
            "np.take, 1 core": ({"kind": "take"}, one),
            "np.take of known rows, 1 core": ({"kind": "take", "known": True}, one),
            "DataLoader, 0 workers": ({"kind": "dataloader", "workers": 0}, None),
            "DataLoader, 2 workers": ({"kind": "dataloader", "workers": 2}, None),
            "DataLoader by batch, 0 workers": ({"kind": "dataloader-batch", "workers": 0}, None),
            "DataLoader by batch, 2 workers": ({"kind": "dataloader-batch", "workers": 2}, None),
            "Loader, tar, global": (tar("global"), None),
            "Loader, tar, block": (tar("block"), None),
            "webdataset, 0 workers": ({"kind": "webdataset", "workers": 0}, None),
            "webdataset, 2 workers": ({"kind": "webdataset", "workers": 2}, None),
        }
        sample = {"1.8KB": 15, "150KB": 6}.get(size)
        pairs = []
        for peer, target in ("DataLoader", sample), ("DataLoader by batch", 2):
            for how in "global", "block", "global, copy=False, 2 cores":
                pairs += [(f"Loader, {how}", f"{peer}, {w} workers", target) for w in (0, 2)]
        # All of them deliver memory that they will use again.
        for peer, k in ("np.take", 1), ("np.take of known rows", None):
            pairs.append(("Loader, global, copy=False, 1 core", f"{peer}, 1 core", k))
            pairs.append(("Loader, global, copy=False, 2 cores", f"{peer}, 1 core", 1.8 * k if k and len(cores) > 1 else None))
        for how in "global", "block":
            for w in 0, 2:
                pairs.append((f"Loader, tar, {how}", f"webdataset, {w} workers", 20))
        b.group(size, specs, pairs, data, contenders.sample_bytes(data), b.a.seconds)
    images(b)


def images(b):
    cores = sorted(os.sched_getaffinity(0))
    few, one = cores[:2], str(cores[0])
    both = ",".join(map(str, few))
    loader = lambda threads, **kw: {"kind": "images", "threads": threads, "options": kw}
    specs, pairs = {}, []
    for where, cores, n in ("2 cores", both, len(few)), ("1 core", one, 1):
        workers = n if n > 1 else 0
        ours = {"decoded": {}, "every pixel decoded": {"scaled": False}, "by Pillow": {"backend": "pillow"}}
        peers = {
            "DataLoader + ImageFolder": ({"kind": "imagefolder", "workers": workers}, 2.5),
            "DataLoader + torchvision.io": ({"kind": "imagefolder", "workers": workers, "io": True}, None),
            "webdataset + PIL": ({"kind": "webimages", "workers": workers}, None),
            "SPDL": ({"kind": "spdl", "threads": n}, 1.2),
        }
        for name, how in ours.items():
            specs[f"Loader, {name}, {where}"] = (loader(n, **how), cores)
        for name, (spec, target) in peers.items():
            specs[f"{name}, {where}"] = (spec, cores)
            for how in ("decoded", "every pixel decoded"):
                scaled = how == "decoded" and target == 2.5
                pairs.append((f"Loader, {how}, {where}", f"{name}, {where}", 3.5 if scaled else target))
    b.group("images", specs, pairs, b.a.data, contenders.PIXELS, 5 * b.a.seconds)


def folder_of(a, size):
    return os.path.join(a.data, "loader", f"{size}-{SIZES[size][0] // a.divide}")


def make(a):
    """The sets, once: arrays as one mmap shard, which np.memmap reads as well, and a part of them as tar shards."""
    for size, (n, tars, arrays) in SIZES.items():
        folder = folder_of(a, size)
        if a.only and size not in a.only or os.path.exists(os.path.join(folder, "done")):
            continue
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        n, tars = (max(k // a.divide, 4 * BATCH) for k in (n, tars))  # two workers of webdataset want whole batches
        print(f"making {size}: {n:,} samples, {tars:,} in tars", flush=True)
        sample = arrays(np.random.default_rng(1), n)
        for kind, count, flags in ("mmap", n, ["--shard-size", "64GiB"]), ("wds", tars, ["--shard-samples", str(tars // 8)]):
            source = os.path.join(folder, "in.npz")
            np.savez(source, **{k: v[:count] for k, v in sample.items()})
            subprocess.run([a.shardify, "convert", source, "-o", os.path.join(folder, kind), "--format", kind, "--quiet", *flags], check=True, stdout=subprocess.DEVNULL)
            os.unlink(source)
        open(os.path.join(folder, "done"), "w").close()
    jpegs, out = os.path.join(a.data, "jpegs"), os.path.join(a.data, "loader", "images")
    if os.path.isdir(jpegs) and not os.path.exists(os.path.join(out, "shardify.json")):
        print("converting the JPEGs", flush=True)
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([a.shardify, "convert", jpegs, "-o", out, "--format", "wds", "--shard-samples", "2000", "--quiet"], check=True, stdout=subprocess.DEVNULL)


def machine():
    with open("/proc/cpuinfo") as f:
        cpu = next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), platform.machine())
    git = lambda *args: subprocess.run(["git", *args], capture_output=True, text=True, cwd=HERE).stdout.strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return (f"{os.cpu_count()} cores {cpu}, {memory} GiB, Linux {platform.release()}, {time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f} at the start, "
            f"commit {git('rev-parse', '--short', 'HEAD')}{' with changes' if git('status', '--porcelain', '-uno') else ''}. {contenders.versions()}")


def report(b, head):
    lines = ["# The loader against its peers", "", head + " Made by `make bench-loader`.", "",
             f"Batches of {BATCH} ({contenders.IMAGES} for images), delivered as PyTorch tensors where PyTorch is there. Arrays are one mmap shard, of which the peers map the same bytes (np.memmap): float32 [16], float32 [64, 7], uint8 "
             "[224, 224, 3]; tars hold a part of them as .npy members. np.take makes a permutation for each epoch (torch.randperm) and PyTorch tensors, as the others do; \"of known rows\" is its copy alone, of a permutation made "
             "beforehand, to NumPy arrays. Images are 20,000 JPEG files of 38 KB, cropped at random to 224 x 224, flipped and normalised, as float16. Peers shuffle as their users do: DataLoader globally, webdataset shards and a "
             f"buffer of 1,000 samples. Rates are medians of {b.a.rounds} interleaved rounds of {b.a.seconds} s ({5 * b.a.seconds:.1f} s for images) [lowest-highest], page cache warm. First batch: seconds from opening the set to the first "
             "batch; the `auto` tier reads sets that fit into memory before it. `streamed` never holds more than windows of the set.", "",
             "## Ratios", "", "| samples | ours | peer | samples/s | CPU | target | met |", "|---|---|---|---|---|---|---|"]
    for r in b.ratios:
        lines.append(f"| {r['group']} | {r['ours']} | {r['peer']} | {r['wall']:.2f} [{r['low']:.2f}-{r['high']:.2f}] | {r['cpu']:.2f} | {r['target'] or '-'} | {'yes' if r['met'] and r['target'] else '-' if r['met'] else 'NO'} |")
    lines += ["", "CPU: core-seconds for each byte, the peer's divided by ours. A target is met by the rate or by the CPU ratio."]
    for title, rows in b.tables:
        lines += ["", f"## {title}", "", "| | samples/s | GB/s | core-seconds per GB | first batch, s |", "|---|---|---|---|---|"]
        lines += [f"| {r['name']}{' (' + r['note'] + ')' if r['note'] else ''} | {r['rate']:,.0f} [{r['low']:,.0f}-{r['high']:,.0f}] | {r['gb']:.3f} | {r['cpu']:.3f} | {r['first']:.2f} |" for r in rows]
    if b.absent:
        lines += ["", "Left out: " + "; ".join(f"{name}: {why}" for name, why in b.absent.items()) + "."]
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--shardify", required=True)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=0.4)
    p.add_argument("--divide", type=int, default=1, help="make sets that many times smaller, to try the script")
    p.add_argument("--only", type=lambda s: s.split(","), default=[])
    p.add_argument("--minutes", type=float, default=25)
    p.add_argument("--out")
    a = p.parse_args()
    a.data = os.path.abspath(a.data)
    a.head = machine()
    make(a)
    b = Bench(a)
    try:
        run(b)
    except BaseException as e:
        b.absent["the rest"] = f"the run broke off ({type(e).__name__}: {e})"
        b.save()
        raise
    finally:
        for p in b.running.values():
            p.kill()
    b.save()
    sys.exit(1 if b.failed else 0 if all(r["met"] for r in b.ratios) else 3)


main()
