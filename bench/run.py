"""Times shardify against the named peers on the same files, interleaved.

    python bench/run.py --data DIR --shardify BIN [--pairs 7] [--only NAME,...] [--results bench/RESULTS.md] [--against BIN]

With --against, the peer of every row is another build of shardify: how much faster or slower a change made it.

Every figure is the median of interleaved runs with a warm page cache; the spread is the lowest and the highest. A
target is met when the median of the pairs' wall ratios reaches it or the ratio of CPU seconds does. "durable"
compares `--sync shard` with the peer followed by `sync`. Output is removed between runs, outside the clock.
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Run:
    def __init__(self, wall, cpu, rss):
        self.wall, self.cpu, self.rss = wall, cpu, rss


def clock(cmd, out, durable=False):
    shutil.rmtree(out, ignore_errors=True)
    if os.path.exists(out):
        os.unlink(out)
    os.sync()
    start = time.perf_counter()
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = p.stderr.read()
    _, status, use = os.wait4(p.pid, 0)
    if durable:
        os.sync()
    wall = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{' '.join(cmd)}\nfailed with status {status}:\n{err.decode(errors='replace')[-2000:]}")
    return Run(wall, use.ru_utime + use.ru_stime, use.ru_maxrss * 1024)


def mib(n):
    return f"{n / (1 << 20):,.0f} MiB"


class Bench:
    def __init__(self, a):
        self.a, self.rows, self.out, self.compared = a, [], os.path.join(a.work, "out"), set()
        os.makedirs(a.work, exist_ok=True)

    def shardify(self, src, *flags, jobs=2, sync="none"):
        return [self.a.shardify, "convert", src, "-o", self.out, "--quiet", "--sync", sync, "--jobs", str(jobs), *flags]

    def pair(self, name, ours, peer, peer_name, target, pairs=None, peer_out=None, durable=True):
        if self.a.only and not any(name.startswith(o) for o in self.a.only):
            return
        if self.a.against:
            command = tuple(ours("none")[1:])
            if command in self.compared:
                return
            self.compared.add(command)
            peer, peer_name, target, pairs, peer_out, durable = [self.a.against, *command], "the other build", None, None, None, False
        pairs = pairs or self.a.pairs
        us, them = [], []
        clock(ours("none"), self.out), clock(peer, peer_out or self.out)
        for _ in range(pairs):
            us.append(clock(ours("none"), self.out))
            them.append(clock(peer, peer_out or self.out))
        ratios = sorted(t.wall / u.wall for u, t in zip(us, them))
        cpu = statistics.median(t.cpu for t in them) / statistics.median(u.cpu for u in us)
        row = {
            "name": name, "peer": peer_name, "target": target, "pairs": pairs,
            "wall": statistics.median(ratios), "low": ratios[0], "high": ratios[-1], "cpu": cpu,
            "us": statistics.median(u.wall for u in us), "them": statistics.median(t.wall for t in them),
            "us_cpu": statistics.median(u.cpu for u in us), "them_cpu": statistics.median(t.cpu for t in them),
            "us_rss": max(u.rss for u in us), "them_rss": max(t.rss for t in them), "durable": None,
        }
        if durable and self.a.durable:
            d = [(clock(ours("shard"), self.out).wall, clock(peer, peer_out or self.out, durable=True).wall) for _ in range(3)]
            row["durable"] = statistics.median(t / u for u, t in d)
        row["met"] = target is None or max(row["wall"], cpu) >= target
        self.rows.append(row)
        print(f"{name}: {row['wall']:.2f}x [{row['low']:.2f}-{row['high']:.2f}] wall, {cpu:.2f}x CPU of {peer_name}; {row['us']:.3f} s against {row['them']:.3f} s; "
              f"peak {mib(row['us_rss'])} against {mib(row['them_rss'])}" + (f"; target {target}: {'met' if row['met'] else 'MISSED'}" if target else ""), flush=True)
        shutil.rmtree(self.out, ignore_errors=True)

    def inner(self, name, ours, peer, peer_name, target):
        """Compares seconds that the two programs measure and print themselves: start-up is not what is asked."""
        if self.a.only and not any(name.startswith(o) for o in self.a.only) or self.a.against:
            return
        us, them = [], []
        for _ in range(self.a.pairs):
            us.append(float(subprocess.run(ours, check=True, capture_output=True, text=True).stdout))
            them.append(float(subprocess.run(peer, check=True, capture_output=True, text=True).stdout))
        ratios = sorted(t / u for u, t in zip(us, them))
        row = {"name": name, "peer": peer_name, "target": target, "pairs": self.a.pairs, "inner": True, "wall": statistics.median(ratios), "low": ratios[0], "high": ratios[-1],
               "us": statistics.median(us), "them": statistics.median(them)}
        row["met"] = target is None or row["wall"] >= target
        self.rows.append(row)
        print(f"{name}: {row['wall']:.1f}x [{row['low']:.1f}-{row['high']:.1f}] of {peer_name}; {1e3 * row['us']:.2f} ms against {1e3 * row['them']:.2f} ms; target {target}: "
              f"{'met' if row['met'] else 'MISSED'}", flush=True)

    def memory(self, name, src, limit):
        if self.a.only and not any(name.startswith(o) for o in self.a.only):
            return
        r = clock(self.shardify(src, "--memory", "256MiB"), self.out)
        row = {"name": name, "rss": r.rss, "limit": limit, "wall": r.wall, "met": r.rss <= limit}
        self.rows.append(row)
        print(f"{name}: peak {mib(r.rss)}, bound {mib(limit)}, {r.wall:.1f} s: {'met' if row['met'] else 'MISSED'}", flush=True)
        shutil.rmtree(self.out, ignore_errors=True)


def run(b):
    d, py = b.a.data, sys.executable
    peers = os.path.join(HERE, "peers.py")
    tar = os.path.join(b.a.work, "peer.tar")

    def ours(src, *flags, jobs=2):
        return lambda sync: b.shardify(f"{d}/{src}", *flags, jobs=jobs, sync=sync)

    def numpy(src):
        return [py, peers, "columns", f"{d}/{src}", b.out]

    for what, src, targets in ("files", "files", (2.0, 1.35, 10)), ("jpegs", "jpegs", (2.3, None, None)):
        conv = lambda j: ours(src, "--format", "wds", jobs=j)
        b.pair(f"{what} -> wds, 2 jobs", conv(2), ["tar", "-C", d, "-cf", tar, src], "tar cf", targets[0], peer_out=tar)
        b.pair(f"{what} -> wds, 1 job", conv(1), ["tar", "-C", d, "-cf", tar, src], "tar cf", targets[1], peer_out=tar)
        b.pair(f"{what} -> wds, 2 jobs, large blocks", conv(2), ["tar", "-C", d, "-b", "2048", "-cf", tar, src], "tar -b 2048", None, peer_out=tar)
        b.pair(f"{what} -> wds, 2 jobs, ShardWriter", conv(2), [py, peers, "wds-files", f"{d}/{src}", b.out], "webdataset ShardWriter", targets[2], pairs=3, durable=False)
    for folder in 100, 10_000, 100_000:
        b.pair(f"files in folders of {folder:,} -> wds, 2 jobs", ours(f"layouts/{folder}", "--format", "wds"), ["tar", "-C", f"{d}/layouts", "-cf", tar, str(folder)], "tar cf", 2.0, peer_out=tar, durable=False)
    b.pair("npz stored -> mmap", ours("npz-stored", "--format", "mmap"), numpy("npz-stored"), "numpy script", 2.2)
    b.pair("npz deflated -> mmap", ours("npz-deflated", "--format", "mmap"), numpy("npz-deflated"), "numpy script", 2.5)
    b.pair("npz events -> wds", ours("npz-tenth", "--format", "wds"), [py, peers, "wds-events", f"{d}/npz-tenth/events.npz", b.out], "webdataset ShardWriter", 40, pairs=3, durable=False)
    b.pair("volumes -> mmap, cp", ours("volumes", "--format", "mmap", "--sample", "file"), ["cp", "-r", f"{d}/volumes", b.out], "cp -r", 1.0)
    b.pair("volumes -> mmap, np.load", ours("volumes", "--format", "mmap", "--sample", "file"), [py, peers, "load", f"{d}/volumes", b.out], "np.load script", None)
    hdf5(b, ours)
    root(b, ours)
    parquet(b, ours)
    if os.path.exists(f"{d}/big.done"):
        limit = int(1.1 * (256 << 20)) + (40 << 20)
        for kind in "stored", "deflated":
            b.memory(f"4 GiB {kind} npz, --memory 256MiB", f"{d}/big/{kind}", limit)


def hdf5(b, ours):
    d, py, peers = b.a.data, sys.executable, os.path.join(HERE, "peers.py")
    conv = lambda kind, j: ours(f"hdf5/{kind}", "--format", "mmap", jobs=j)
    peer = lambda kind: [py, peers, "hdf5", f"{d}/hdf5/{kind}", b.out]
    for kind, one, two in (("gzip", 1.3, 2.5), ("noise", None, None), ("contiguous", None, 1.5), ("lzf", None, 1.0), ("zstd", None, 1.0), ("blosc", None, 1.0)):
        b.pair(f"hdf5 {kind} -> mmap, 2 jobs", conv(kind, 2), peer(kind), "h5py script", two, durable=kind in ("gzip", "contiguous"))
        b.pair(f"hdf5 {kind} -> mmap, 1 job", conv(kind, 1), peer(kind), "h5py script", one, durable=False)
    b.inner("hdf5 open, 200,000 chunks", [b.a.opentime, f"{d}/hdf5/many/chunks.h5"], [py, peers, "open-hdf5", f"{d}/hdf5/many/chunks.h5"], "h5py", 1.0)
    b.inner("hdf5 open, 10,000 data sets", [b.a.opentime, f"{d}/hdf5/many/datasets.h5"], [py, peers, "open-hdf5", f"{d}/hdf5/many/datasets.h5"], "h5py", 1.0)
    b.pair("hdf5 set of 2.2 GB -> mmap, 2 jobs", ours("hdf5-big", "--format", "mmap"), [py, peers, "hdf5", f"{d}/hdf5-big", b.out], "h5py script", None, pairs=3, durable=False)


def root(b, ours):
    d, py, peers = b.a.data, sys.executable, os.path.join(HERE, "peers.py")
    for kind, target in ("flat-zlib", 2.0), ("flat-lz4", 2.0), ("flat-zstd", 2.0), ("nano", 4.0), ("nano-rntuple", None):
        b.pair(f"root {kind} -> mmap, 2 jobs", ours(f"root/{kind}", "--format", "mmap"), [py, peers, "root", f"{d}/root/{kind}", b.out], "uproot script", target, durable=kind == "flat-zstd")
    b.inner("root open, 2,600 branches", [b.a.opentime, f"{d}/root/wide/wide.root"], [py, peers, "open-root", f"{d}/root/wide/wide.root"], "uproot", 10)
    b.pair("root set of 2 GB -> mmap, 2 jobs", ours("root-big", "--format", "mmap"), [py, peers, "root", f"{d}/root-big", b.out], "uproot script", None, pairs=3, durable=False)


def parquet(b, ours):
    d, py, peers = b.a.data, sys.executable, os.path.join(HERE, "peers.py")
    for kind in "flat-snappy", "flat-zstd", "flat-gzip", "flat-plain", "jagged", "text", "images":
        b.pair(f"parquet {kind} -> mmap, 2 jobs", ours(f"parquet/{kind}", "--format", "mmap"), [py, peers, "parquet", f"{d}/parquet/{kind}", b.out], "pyarrow script", 0.8, durable=kind == "flat-zstd")


def cpu_name():
    with open("/proc/cpuinfo") as f:
        return next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), platform.machine())


def table(rows):
    lines = ["| what | peer | wall ratio | CPU ratio | durable | target | met | ours | peer | peak ours | peak peer |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        if "inner" in r:
            lines.append(f"| {r['name']} | {r['peer']} | {r['wall']:.1f} [{r['low']:.1f}-{r['high']:.1f}] | - | - | {r['target'] or '-'} | {'yes' if r['met'] else 'NO'}"
                         f" | {1e3 * r['us']:.2f} ms | {1e3 * r['them']:.2f} ms | - | - |")
            continue
        durable = f"{r['durable']:.2f}" if r["durable"] else "-"
        lines.append(f"| {r['name']} | {r['peer']} | {r['wall']:.2f} [{r['low']:.2f}-{r['high']:.2f}] | {r['cpu']:.2f} | {durable} | {r['target'] or '-'} | {'yes' if r['met'] else 'NO'}"
                     f" | {r['us']:.3f} s | {r['them']:.3f} s | {mib(r['us_rss'])} | {mib(r['them_rss'])} |")
    return lines


def head():
    def git(*args):
        return subprocess.run(["git", *args], capture_output=True, text=True, cwd=HERE).stdout.strip()

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return (f"{os.cpu_count()} cores {cpu_name()}, {memory} GiB, Linux {platform.release()}, {git('log', '-1', '--format=%cs')}, commit {git('rev-parse', '--short', 'HEAD')}"
            f"{' with changes' if git('status', '--porcelain', '-uno') else ''}.")


def fresh(folder):
    """Seconds of processor time that writing 512 MiB takes, the least and the most of five times."""
    block, path, took = bytes(512 << 10), os.path.join(folder, "fresh"), []
    for _ in range(5):
        start = time.process_time()
        with open(path, "wb", buffering=0) as f:
            for _ in range(1024):
                f.write(block)
        took.append(time.process_time() - start)
        os.unlink(path)
    return min(took), max(took)


def gives_back(folder):
    """What a virtual machine adds to rows that write files, if it gives free memory back to its host."""
    if not os.path.exists("/sys/module/page_reporting"):
        return []
    return ["This machine can give free memory back to its host, and then pays for it when files are written, whichever program writes them: 512 MiB took %.2f to %.2f s of processor time in five tries. "
            "Ratios of rows that are little more than writing vary by that." % fresh(folder), ""]


def report(b, machine):
    lines = ["# Results", "",
             machine + " Made by `make bench`; the data are described in bench/gen.py, the peers in bench/peers.py.", "",
             "Wall ratio: median of interleaved pairs [lowest-highest], warm page cache, `--sync none` against the peer as it is; CPU ratio: user + system seconds; durable: `--sync shard` against the peer "
             "followed by `sync`. A target is met by the wall or by the CPU ratio. Index and checksums are included in our figures.", "", *gives_back(b.a.work), *table([r for r in b.rows if "rss" not in r])]
    mem = [r for r in b.rows if "rss" in r]
    if mem:
        lines += ["", "| memory | peak | bound | met | seconds |", "|---|---|---|---|---|"]
        lines += [f"| {r['name']} | {mib(r['rss'])} | {mib(r['limit'])} | {'yes' if r['met'] else 'NO'} | {r['wall']:.1f} |" for r in mem]
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--shardify", required=True)
    p.add_argument("--opentime", default="build/bench/opentime", help="the program of bench/opentime")
    p.add_argument("--work", default="build/bench")
    p.add_argument("--pairs", type=int, default=7)
    p.add_argument("--only", type=lambda s: s.split(","), default=[])
    p.add_argument("--durable", action=argparse.BooleanOptionalAction, default=True)
    p.add_argument("--against", help="another build of shardify, to be compared with instead of the peers")
    p.add_argument("--results")
    a = p.parse_args()
    b = Bench(a)
    machine = head()  # before the results change the tree
    run(b)
    if a.against:
        slower = [r for r in b.rows if "rss" not in r and max(r["wall"], r["cpu"]) < 0.97]
        print(f"{len(b.rows)} rows, {len(slower)} slower than the other build by more than 3 % in wall and CPU time: {', '.join(r['name'] for r in slower) or 'none'}")
        sys.exit(3 if slower else 0)
    if a.results:
        with open(a.results, "w") as f:
            f.write(report(b, machine))
    sys.exit(0 if all(r["met"] for r in b.rows) else 3)


if __name__ == "__main__":
    main()
