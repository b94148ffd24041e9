"""Times sets in an object store: shardify.Loader against webdataset, s3torchconnector, MosaicML streaming and litdata.

    python bench/remote.py --shardify BIN [--server versitygw] [--rounds 5] [--only shardify] [--out bench/REMOTE.md]

versitygw is behind bench/delay, which takes so much time for each byte in each direction. A contender is a process that
imports what it needs and then, on request, opens its set and reads it once in batches of 64: samples/s and CPU seconds (of the
process and its workers) count from there, so that connections and manifests count and imports do not. Rounds are interleaved.
Peers hand out the bytes of samples as they are, undecoded; the Loader hands out tensors.
"""
import argparse
import importlib
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES, BYTES, SHARD, BATCH = 10_000, 20_000, 500, 64
KEY, SECRET = "testkey", "testsecret-of-servers"
COPIES = 4  # of the set, for shares of a line
# name -> what reads, with its options
OURS = {
    "Loader, mmap": ("ours", {"sets": ["mmap"]}),
    "Loader, mmap, block": ("ours", {"sets": ["mmap"], "shuffle": "block", "seed": 1}),
    "Loader, tar": ("ours", {"sets": ["wds"]}),
    "Loader, mmap, 64 MB of memory": ("ours", {"sets": ["mmap"], "memory": 64_000_000}),
}
FLOOR = {"a C client that drops the bytes": ("floor", {"how": []}), "a C client that keeps the bytes": ("floor", {"how": ["keep"]})}
PEERS = {f"{peer}, {workers} workers": (peer, {"workers": workers}) for peer in ("webdataset", "s3torchconnector", "streaming", "litdata") for workers in (0, 4)}
TARGETS = {"webdataset": 4, "s3torchconnector": 5, "streaming": 7, "litdata": None}
SHARES = {"1ms": 0.95, "10ms": 0.95, "50ms": 0.90}  # of 125 MB/s, by round trip
CPU = 2.5  # s/GB


# What the contenders do. Each returns the number of its samples' bytes after its import, in batches.


def ours(o):
    import torch  # noqa: F401
    from shardify import Loader

    sets = ["s3://data/" + s for s in o.pop("sets")]
    yield  # the imports are over
    with Loader(sets if len(sets) > 1 else sets[0], BATCH, columns=["x"], last="short", **o) as loader:
        for b in loader:
            x = b["x"]
            yield [x.numel() * x.element_size() // len(x)] * len(x)
        yield loader.stats()


def floor(o):
    """The least: bench/floor/socket reads the shards of the mmap set by 16 connections."""
    import boto3
    from botocore.config import Config

    s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
    names = [x["Key"] for x in s3.list_objects_v2(Bucket="data", Prefix="mmap/")["Contents"] if x["Key"].endswith(".safetensors")]
    host, port = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://").split(":")
    urls = [s3.generate_presigned_url("get_object", Params={"Bucket": "data", "Key": k}) for k in names]
    paths = "".join("/" + u.split("/", 3)[3] + "\n" for u in urls)
    yield
    n = int(subprocess.run([os.environ.get("DROP", "build/bench/drop"), host, port, "16", *o["how"]], input=paths, capture_output=True, text=True, check=True).stdout)
    if n < SAMPLES * BYTES:
        sys.exit(f"{n} bytes came")
    yield [BYTES] * SAMPLES


def workers(o, data, **more):
    from torch.utils.data import DataLoader

    return DataLoader(data, num_workers=o["workers"], **more)


def lengths(batch):
    return [len(x) for x in batch]


def webdataset(o):
    import boto3
    import webdataset as wds
    from botocore.config import Config
    from torch.utils.data import DataLoader  # noqa: F401

    s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
    names = [x["Key"] for x in s3.list_objects_v2(Bucket="data", Prefix="wds/")["Contents"] if x["Key"].endswith(".tar")]
    yield
    urls = ["pipe:curl -s -f '%s'" % s3.generate_presigned_url("get_object", Params={"Bucket": "data", "Key": k}) for k in names]
    data = wds.WebDataset(urls, shardshuffle=False, empty_check=False).to_tuple("x.npy").map_tuple(len).batched(BATCH, collation_fn=flat)
    for b in workers(o, data, batch_size=None):
        yield b


def flat(batch):
    return [n for (n,) in batch]


def s3torchconnector(o):
    import tarfile

    from s3torchconnector import S3ClientConfig, S3IterableDataset
    from torch.utils.data import IterableDataset

    class Tars(IterableDataset):
        """Members of tars, as in its documentation, streamed."""

        def __iter__(self):
            objects = S3IterableDataset.from_prefix("s3://data/wds/", region="us-east-1", endpoint=os.environ["AWS_ENDPOINT_URL"], enable_sharding=True,
                                                    s3client_config=S3ClientConfig(force_path_style=True))
            for x in objects:
                if x.key.endswith(".tar"):
                    with tarfile.open(fileobj=x, mode="r|") as t:
                        for m in t:
                            if m.name.endswith(".npy"):
                                yield t.extractfile(m).read()

    yield
    for b in workers(o, Tars(), batch_size=BATCH, collate_fn=lengths):
        yield b


def streaming(o):
    from streaming import StreamingDataset

    class Lengths(StreamingDataset):
        def __getitem__(self, i):
            return super().__getitem__(i)["x"]

    yield
    local = tempfile.mkdtemp()
    try:
        for b in workers(o, Lengths(remote="s3://data/mds", local=local, shuffle=False, batch_size=BATCH), batch_size=BATCH, collate_fn=lengths):
            yield b
    finally:
        shutil.rmtree(local, ignore_errors=True)


def litdata(o):
    import litdata as lit
    from litdata.streaming import downloader

    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = "true"  # it has no option for that
    yield
    local = tempfile.mkdtemp()
    try:
        data = lit.StreamingDataset("s3://data/litdata", cache_dir=local, storage_options={"endpoint_url": os.environ["AWS_ENDPOINT_URL"]})
        for b in lit.StreamingDataLoader(data, batch_size=BATCH, num_workers=o["workers"], collate_fn=lengths):
            yield b
    finally:
        shutil.rmtree(local, ignore_errors=True)


def contend(kind, options):
    """Reads once; prints what it took."""
    used = lambda: sum(r.ru_utime + r.ru_stime for r in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
    steps = globals()[kind](options)
    next(steps)
    print("{}", flush=True)
    sys.stdin.readline()
    start, cpu = time.perf_counter(), used()
    r = {"samples": 0, "bytes": 0, "first": 0}
    for b in steps:
        if isinstance(b, dict):
            r["notes"] = str(b.get("tier"))
            continue
        r["first"] = r["first"] or time.perf_counter() - start
        r["samples"] += len(b)
        r["bytes"] += sum(b)
    r["seconds"] = time.perf_counter() - start
    steps.close()
    r["cpu"] = used() - cpu
    print(json.dumps(r), flush=True)


# What surrounds them.


def make_mds(x, folder):
    import streaming

    with streaming.MDSWriter(out=folder, columns={"x": "bytes"}, size_limit=SHARD * (BYTES + 8)) as w:
        for row in x:
            w.write({"x": row.tobytes()})


def make_litdata(x, folder):
    from litdata.streaming import Cache

    c = Cache(folder, chunk_size=SHARD)
    for i, row in enumerate(x):
        c[i] = row.tobytes()
    c.done()
    c.merge()


def make(a):
    """The sets, once, as folders."""
    import numpy as np

    top = os.path.join(a.data, "remote")
    if os.path.exists(top + "/done"):
        return top
    shutil.rmtree(top, ignore_errors=True)
    os.makedirs(top)
    x = np.random.default_rng(1).integers(0, 256, (SAMPLES, BYTES), np.uint8)
    np.savez(top + "/in.npz", x=x)
    for kind in "mmap", "wds":
        subprocess.run([a.shardify, "convert", top + "/in.npz", "-o", f"{top}/{kind}", "--format", kind, "--shard-samples", str(SHARD), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    os.unlink(top + "/in.npz")
    for name, write in ("mds", make_mds), ("litdata", make_litdata):
        try:
            write(x, f"{top}/{name}")
        except ImportError as e:
            print(f"no {name}: {e}", flush=True)
    open(top + "/done", "w").close()
    return top


class Server:
    """versitygw with the sets in a bucket."""

    def __init__(self, a, sets):
        import boto3

        self.top = tempfile.mkdtemp(dir=a.data)
        os.makedirs(self.top + "/data")
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.address = "127.0.0.1:%d" % s.getsockname()[1]
        self.process = subprocess.Popen([a.server, "--port", self.address, "--access", KEY, "--secret", SECRET, "--keep-alive", "--quiet", "posix", self.top],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        env = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
        os.environ.update(env)
        s3 = boto3.client("s3", endpoint_url="http://" + self.address)
        for _ in range(100):
            try:
                s3.list_buckets()
                break
            except Exception:
                time.sleep(0.1)
        for root, _, files in os.walk(sets):
            for f in files:
                path = os.path.join(root, f)
                key = os.path.relpath(path, sets)
                if "/" not in key:
                    continue
                for n in range(COPIES if a.trips and key.startswith("mmap/") else 1):
                    s3.upload_file(path, "data", key.replace("mmap/", f"mmap{n}/") if n else key)

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.top, ignore_errors=True)


class Line:
    """bench/delay before the server."""

    def __init__(self, a, server, trip, rate=0):
        each = "%dus" % (500 * int(trip[:-2]))
        self.process = subprocess.Popen([a.delay, "-to", server.address, "-each", each, "-rate", str(rate)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def counts(self):
        """Bytes from the server, turns, connections."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [int(n) for n in self.process.stdout.readline().split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def run(name, kind, options, line, watch=None):
    """A contender in a process of its own."""
    env = dict(os.environ, AWS_ENDPOINT_URL="http://" + line.address, S3_ENDPOINT_URL="http://" + line.address, PYTHONPATH=os.path.join(HERE, "..", "python"), PYTHONWARNINGS="ignore", OMP_NUM_THREADS="1")
    log = tempfile.TemporaryFile("w+")
    p = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--contender", kind, json.dumps(options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=env)
    timer = threading.Timer(300, p.kill)
    timer.start()
    lines = []
    if p.stdout.readline():
        before = line.counts()
        p.stdin.write("\n")
        p.stdin.flush()
        if watch:
            watch(p)
        lines = p.stdout.readlines()
        after = line.counts()
    p.wait()
    timer.cancel()
    for text in reversed(lines):  # peers print, too
        try:
            r = json.loads(text)
        except ValueError:
            continue
        r["down"], r["connections"] = after[0] - before[0], after[2] - before[2]
        return r
    log.seek(0)
    print(f"{name}: {log.read()[-2000:]}", flush=True)
    return None


def measure(a, server, done):
    """Calls done after each round with name -> what each round took, of all that could be run."""
    line = Line(a, server, "20ms")
    all = {n: c for n, c in {**FLOOR, **OURS, **PEERS}.items() if not a.only or c[0] in a.only}
    rounds = {n: [] for n in all}
    for k in range(a.rounds):
        for n in list(rounds)[:: 1 if k % 2 == 0 else -1]:
            r = run(n, *all[n], line)
            if r is None or r["samples"] != SAMPLES:
                print(f"{n}: left out: {r}", flush=True)
                del rounds[n]
                continue
            rounds[n].append(r)
            print(f"{n}: {r['samples'] / r['seconds']:,.0f} samples/s, {r['cpu'] / r['bytes'] * 1e9:.2f} CPU s/GB, first batch {r['first']:.2f} s, {r['down'] / r['bytes']:.3f} of the bytes, {r['connections']} connections", flush=True)
        done(rounds)
    line.end()


def share(a, server, trip):
    """What part of 1 Gb/s comes through between the end of the first second and the last byte, in each round."""
    line, total = Line(a, server, trip, 125), COPIES * SAMPLES * BYTES
    shares = []
    for _ in range(min(a.rounds, 3)):
        seen = []

        def watch(p):
            start, before = time.perf_counter(), line.counts()[0]
            while p.poll() is None and (not seen or seen[-1][1] < total):
                seen.append((time.perf_counter() - start, line.counts()[0] - before))
                time.sleep(0.02)

        r = run("share", "ours", {"sets": ["mmap" + str(n or "") for n in range(COPIES)]}, line, watch)
        if r is None or r["samples"] != COPIES * SAMPLES:
            sys.exit(f"a set behind a line was not read: {r}")
        late = [s for s in seen if s[0] >= 1]
        (t0, b0), (t1, b1) = late[0], next((s for s in late if s[1] >= total), late[-1])
        shares.append((b1 - b0) / (t1 - t0) / 125e6)
        print(f"{trip}: {shares[-1]:.3f} of 1 Gb/s, {r['cpu'] / r['bytes'] * 1e9:.2f} CPU s/GB", flush=True)
    line.end()
    return shares


def versions():
    found = []
    for name in "torch", "webdataset", "s3torchconnector", "streaming", "litdata":
        try:
            found.append(f"{name} {importlib.import_module(name).__version__}")
        except (ImportError, AttributeError):
            found.append(f"no {name}")
    return ", ".join(found)


def machine():
    with open("/proc/cpuinfo") as f:
        cpu = next((x.split(":", 1)[1].strip() for x in f if x.startswith("model name")), os.uname().machine)
    git = lambda *args: subprocess.run(["git", *args], capture_output=True, text=True, cwd=HERE).stdout.strip()
    return (f"{os.cpu_count()} cores {cpu}, {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') >> 30} GiB, Linux {os.uname().release}, {time.strftime('%Y-%m-%d')}, "
            f"commit {git('rev-parse', '--short', 'HEAD')}{' with changes' if git('status', '--porcelain', '-uno') else ''}, Python {sys.version.split()[0]}, {versions()}")


def report(a, head, rounds, shares, load):
    rate = lambda r: r["samples"] / r["seconds"]
    n = min(map(len, rounds.values()))
    spread = lambda v, how: f"{how(statistics.median(v))} [{how(min(v))}-{how(max(v))}]"
    lines = ["# Sets in an object store", "", f"{head}. Load {load[0]:.1f} at the start, {load[1]:.1f} at the end: where that is well above 1, ratios and CPU seconds count, and absolute rates are too low. On a machine that is busy, a reader with more processes gets a larger part of it: there only CPU seconds compare. Made by `make bench-remote`.", "",
             f"{SAMPLES:,} samples of {BYTES:,} bytes in shards of {SHARD}, in versitygw behind a line with a round trip of 20 ms and no limit of its own, all on this machine: client, line and server share its cores. Each is a process that "
             f"opens its set and reads it once, in order unless a shuffle is named, in batches of {BATCH}. Imports do not count, opening does. Peers hand out bytes, undecoded and unchecked; the Loader hands out PyTorch tensors, and has compared all "
             f"bytes with checksums, but where memory is too small. webdataset reads by `pipe:curl` with signed addresses, s3torchconnector by tarfile. Medians of {n} interleaved rounds [lowest-highest].", "",
             "| what | samples/s | CPU s/GB | first batch, s | bytes fetched | connections |", "|---|---|---|---|---|---|"]
    for name, v in rounds.items():
        if v:
            lines.append(f"| {name} | {spread([rate(r) for r in v], '{:,.0f}'.format)} | {spread([r['cpu'] / r['bytes'] * 1e9 for r in v], '{:.1f}'.format)} | {statistics.median(r['first'] for r in v):.2f} | "
                         f"{statistics.median(r['down'] / r['bytes'] for r in v):.3f} | {statistics.median(r['connections'] for r in v):.0f} |")
    ok = True
    lines += ["", "Ratios are of rounds, to the faster of a peer's two variants; CPU is theirs by ours.", "", "| ours | against | times faster [of all rounds] | CPU | aim |", "|---|---|---|---|---|"]
    for name in OURS:
        for peer, aim in TARGETS.items():
            both = [(p, v) for p, v in rounds.items() if p.startswith(peer)]
            if not rounds.get(name) or not both:
                continue
            p, v = max(both, key=lambda x: statistics.median(map(rate, x[1])))
            times = [rate(u) / rate(t) for u, t in zip(rounds[name], v)]
            cpu = statistics.median(t["cpu"] / u["cpu"] for u, t in zip(rounds[name], v))
            met = aim is None or statistics.median(times) >= aim
            ok &= met or "," in name.removeprefix("Loader, ")
            lines.append(f"| {name} | {p} | {spread(times, '{:.2f}'.format)} | {cpu:.1f} | {'' if aim is None else f'{aim}, ' + ('met' if met else 'missed')} |")
    if shares:
        lines += ["", f"Of a line of 1 Gb/s, {COPIES} such sets one after the other (after the first second, to the last byte):", "", "| round trip | share | aim |", "|---|---|---|"]
        for trip, v in shares.items():
            met = statistics.median(v) >= SHARES[trip]
            ok &= met
            lines.append(f"| {trip[:-2]} ms | {spread(v, '{:.3f}'.format)} | {SHARES[trip]}, {'met' if met else 'missed'} |")
    for name, v in rounds.items():
        if name in OURS and v:
            ok &= statistics.median(r["cpu"] / r["bytes"] * 1e9 for r in v) <= CPU
    lines += ["", f"The aim for the Loader's CPU is {CPU} s/GB."]
    for name, least in ((n, rounds[n]) for n in FLOOR if rounds.get(n)):
        each = {n: statistics.median((u["cpu"] / u["bytes"]) / (t["cpu"] / t["bytes"]) for u, t in zip(rounds[n], least)) for n in OURS if rounds.get(n)}
        lines += ["", f"Processor time beside that of {name}, of the same shards by 16 connections: " + "; ".join(f"{n} {r:.1f} times" for n, r in each.items()) + "."]
    left = [n for n in PEERS if not rounds.get(n)]
    if left:
        lines += ["", "Left out, since they are not installed or failed: " + ", ".join(left) + "."]
    with open(a.out, "w") as f:
        f.write("\n".join(lines) + "\n")
    return ok


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--contender":
        return contend(sys.argv[2], json.loads(sys.argv[3]))
    p = argparse.ArgumentParser()
    p.add_argument("--shardify", default="bin/shardify")
    p.add_argument("--server", default="build/servers/versitygw")
    p.add_argument("--delay", default="build/bench/delay", help="go build -o build/bench/delay ./bench/delay")
    p.add_argument("--data", default=os.environ.get("SHARDIFY_BENCH_DATA", "build/bench/data"))
    p.add_argument("--rounds", type=int, default=5, help="of the contenders; shares of a line have three at most")
    p.add_argument("--only", type=lambda s: s.split(","), help="contenders by kind: ours, webdataset, ...")
    p.add_argument("--trips", type=lambda s: [x for x in s.split(",") if x], default=list(SHARES), help="round trips of the shares of a line")
    p.add_argument("--out", default="")
    a = p.parse_args()
    os.makedirs(a.data, exist_ok=True)
    head, load = machine(), [os.getloadavg()[0]]
    server = Server(a, make(a))
    met = []
    try:
        shares = {t: share(a, server, t) for t in a.trips}
        # The page is written after each round, so a run that breaks off leaves what it has.
        measure(a, server, lambda rounds: met.append(not a.out or report(a, head, rounds, shares, load + [os.getloadavg()[0]])))
    finally:
        server.end()
    return 0 if met[-1] else 3


if __name__ == "__main__":
    sys.exit(main())
