"""Times grids of weather that become windows, against what people write for it in Python.

    python3 bench/grids.py WORK [--steps 1000] [--rounds 5] [--only NAME,...] [--out FILE.md]

SHARDIFY names the program, PYTHONPATH the package with its library; numpy, zarr, tensorstore,
xarray, xbatcher, netCDF4 and torch are wanted. Eight variables of 181 x 360 numbers a step, f4 of
codes of 16 bits as in ERA5; 1000 steps of 6 hours are 2.1 GB. The contenders of a case run one
after the other in each round, with two jobs or threads each; what is read is read once before, so
that it is in memory for all of them. Medians of processor and wall time
are printed, also as multiples of shardify's; --out keeps them as a table.

    lz4, blosc-zstd, a store that becomes mmap shards with a view of windows: chunks of one step, Blosc
    zstd             with LZ4 or Zstandard in format 2, Zstandard in shards of 100 steps in format 3.
                     tensorstore and zarr-python only read it; tensorstore-written also writes what
                     it has read to a file for each variable, without checksums
    lz4-mask         lz4 with the fill_value that zarr-python gives it, 0, and the attribute by which it counts as missing
    windows-lz4,     windows of one and one step at random, in batches of 4, from the view by Loader and
    windows-zstd     from the store: the time of all batches but the first, and in the rows -first until
                     that one is there, with all that is opened, and read beforehand, for it. shardify-stream
                     reads the batches from the shards' files, shardify the whole set at first
    packed, packed-raw    NetCDF-4 of codes, deflated and plain, with --cf on and off
    rows             windows of small rows at random, and np.take of as many, likewise
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys

from events import run

SHARDIFY = os.environ.get("SHARDIFY", "shardify")
STORES = "lz4", "lz4-mask", "blosc-zstd", "zstd"
NAMES = ["t2m", "u10", "v10", "msl", "z500", "t850", "q700", "tcwv"]
LAT, LON = 181, 360
STEP_BYTES = len(NAMES) * LAT * LON * 4


def fields(steps):
    """The codes of each variable by steps of 100, with scale and offset."""
    import numpy as np

    rng = np.random.default_rng(1)
    lat, lon = np.linspace(-1, 1, LAT)[:, None], np.linspace(0, 2 * np.pi, LON, endpoint=False)
    shape = [(rng.integers(1, 9), rng.integers(1, 9), rng.uniform(0, 6.28), rng.uniform(0.005, 0.05), rng.uniform(300, 2500)) for _ in range(24)]
    for k, name in enumerate(NAMES):
        noise = (rng.normal(size=(4, LAT, LON)) * 40).astype("f4")
        for lo in range(0, steps, 100):
            x = np.empty((min(100, steps - lo), LAT, LON), "i2")
            for i in range(len(x)):
                t, v = lo + i, np.zeros((LAT, LON), "f4")
                for a, b, phase, speed, high in shape[3 * k : 3 * k + 3]:
                    v += (high * np.cos(a * lat * 3 + phase) * np.cos(b * lon + phase + speed * t)).astype("f4")
                x[i] = v + np.roll(noise[t % 4], t * 7, 1)
            yield name, lo, x, 0.01 + k * 0.003, 273.15 if name[0] == "t" else 0.0


def make(work, steps):
    import netCDF4
    import numpy as np
    import zarr
    import numcodecs
    from zarr.codecs import ZstdCodec

    times = np.arange(steps) * 6
    stores = {}
    for name in STORES:
        g = zarr.open_group(os.path.join(work, name + ".zarr"), mode="w", zarr_format=3 if name == "zstd" else 2)
        stores[name] = g
        values = {"time": times, "latitude": np.linspace(90, -90, LAT), "longitude": np.arange(LON) * 1.0}
        for dim, v in values.items():
            kind = {"dimension_names": [dim]} if name == "zstd" else {"attributes": {"_ARRAY_DIMENSIONS": [dim]}, "fill_value": None}
            a = g.create_array(dim, data=v, chunks=v.shape, compressors=None, **kind)
            if dim == "time":
                a.attrs.update({"units": "hours since 2000-01-01", "calendar": "proleptic_gregorian"})
        for v in NAMES:
            dims = ["time", "latitude", "longitude"]
            if name == "zstd":
                kind = {"dimension_names": dims, "chunks": (1, LAT, LON), "shards": (100, LAT, LON), "compressors": ZstdCodec(level=3), "fill_value": 0.0}
            else:
                kind = {"attributes": {"_ARRAY_DIMENSIONS": dims}, "chunks": (1, LAT, LON), "compressors": numcodecs.Blosc("zstd" if name == "blosc-zstd" else "lz4", 3 if name == "blosc-zstd" else 5, numcodecs.Blosc.SHUFFLE)}
                kind["fill_value"] = float("nan")
                if name == "lz4-mask":
                    kind["fill_value"] = kind["attributes"]["_FillValue"] = 0.0
            g.create_array(v, shape=(steps, LAT, LON), dtype="f4", **kind)
    packed = {n: netCDF4.Dataset(os.path.join(work, n + ".nc"), "w") for n in ("packed", "packed-raw")}
    for n, d in packed.items():
        for dim, size in ("time", steps), ("latitude", LAT), ("longitude", LON):
            d.createDimension(dim, size)
        d.createVariable("time", "i4", ("time",))[:] = times
        d["time"].units = "hours since 2000-01-01"
        more = {"zlib": True, "complevel": 1, "shuffle": True, "chunksizes": (1, LAT, LON)} if n == "packed" else {"contiguous": True}
        for v in NAMES:
            d.createVariable(v, "i2", ("time", "latitude", "longitude"), fill_value=-32767, **more).set_auto_maskandscale(False)
    for name, lo, x, scale, offset in fields(steps):
        value = (x * scale + offset).astype("f4")
        for g in stores.values():
            g[name][lo : lo + len(x)] = value
        for d in packed.values():
            d[name].scale_factor, d[name].add_offset = scale, offset
            d[name][lo : lo + len(x)] = x
    for d in packed.values():
        d.close()


PYTHON_HEAD = """
import sys, time, resource, json, os, random
import numpy as np
NAMES = %r
def cpu(): u = resource.getrusage(resource.RUSAGE_SELF); c = resource.getrusage(resource.RUSAGE_CHILDREN); return u.ru_utime + u.ru_stime + c.ru_utime + c.ru_stime
def told(f):
    c, w = cpu(), time.time(); n = f(); print(json.dumps({"cpu": cpu() - c, "wall": time.time() - w, "bytes": n}))
def batches(f, most=None):
    c, w, n = cpu(), time.time(), 0
    for k, size in enumerate(f()):
        if k == 0:
            first = [cpu() - c, time.time() - w]
            c, w = cpu(), time.time()
        else: n += size
        if k == (most or BATCHES): break
    print(json.dumps({"cpu": cpu() - c, "wall": time.time() - w, "bytes": n, "first": first}))
"""
TENSORSTORE = """
import tensorstore as ts
context = ts.Context({"data_copy_concurrency": {"limit": 2}, "file_io_concurrency": {"limit": 2}, "cache_pool": {"total_bytes_limit": 0}})
def opened(p): return [ts.open({"driver": "zarr3" if p.endswith("/zstd.zarr") else "zarr", "kvstore": {"driver": "file", "path": p + "/" + v}}, context=context).result() for v in NAMES]
"""
READ = {
    "tensorstore": TENSORSTORE + """
def work():
    n = 0
    for a in opened(%r):
        for lo in range(0, a.shape[0], 20): n += a[lo : lo + 20].read().result().nbytes
    return n
told(work)""",
    "tensorstore-written": TENSORSTORE + """
def work():
    n, out = 0, os.path.join(os.path.dirname(%r), "out")
    os.makedirs(out)
    for v, a in zip(NAMES, opened(%r)):
        room = [np.empty((20,) + a.shape[1:], "f4") for _ in range(2)]
        def fill(lo): x = room[lo // 20 & 1][: a.shape[0] - lo]; return x, ts.array(x).write(a[lo : lo + len(x)])
        with open(os.path.join(out, v), "wb", buffering=0) as f:
            ahead = fill(0)
            for lo in range(0, a.shape[0], 20):
                x, done = ahead
                done.result()
                ahead = fill(lo + 20) if lo + 20 < a.shape[0] else None
                n += f.write(x)
    return n
told(work)""",
    "zarr-python": """
import zarr
def work():
    n, g = 0, zarr.open_group(%r, mode="r")
    for v in NAMES:
        for lo in range(0, g[v].shape[0], 20): n += g[v][lo : lo + 20].nbytes
    return n
told(work)""",
}
LOADER = """
import shardify
def work():
    with shardify.Loader(%%r, 4, window="window", shuffle="global", seed=1, framework="numpy", workers=2, verify="none", tier="%s") as loader:
        while True:
            for b in loader: yield sum(b[v].nbytes + b[v + ".next"].nbytes for v in NAMES)
batches(work)"""
WINDOWS = {
    "shardify": LOADER % "auto",
    "shardify-stream": LOADER % "stream",
    "tensorstore": TENSORSTORE + """
at = random.Random(1)
def work():
    all_ = opened(%r)
    while True:
        anchors = [at.randrange(all_[0].shape[0] - 1) for _ in range(4)]
        reads = [[a[t : t + 2].read() for t in anchors] for a in all_]
        yield sum(np.stack([x.result() for x in r]).nbytes for r in reads)
batches(work)""",
    "xbatcher": """
import xarray, xbatcher, torch
class Windows(torch.utils.data.Dataset):
    def __init__(self, g): self.g = g
    def __len__(self): return len(self.g)
    def __getitem__(self, i):
        b = self.g[i]
        return {v: torch.as_tensor(b[v].values) for v in NAMES}
torch.set_num_threads(2)
def work():
    d = xarray.open_zarr(%r, chunks=None, consolidated=False)[NAMES]
    g = xbatcher.BatchGenerator(d, {"time": 2}, input_overlap={"time": 1}, preload_batch=False)
    loader = torch.utils.data.DataLoader(Windows(g), batch_size=4, shuffle=True)
    while True:
        for b in loader: yield sum(b[v].numel() * 4 for v in NAMES)
batches(work)""",
}
ROWS = {
    "shardify": """
import shardify
def work():
    with shardify.Loader(%r, 256, window="window", shuffle="global", seed=1, framework="numpy", workers=1, verify="none") as loader:
        while True:
            for b in loader: yield b["rows"].nbytes
batches(work, 3000)""",
    "np.take": """
def work():
    x, around = np.load(%r, mmap_mode="r"), np.arange(8)
    out = np.empty((256, 8) + x.shape[1:], x.dtype)
    while True:
        order = np.random.default_rng(1).permutation(len(x) - 7)
        for k in range(0, len(order) - 255, 256):
            np.take(x, order[k : k + 256, None] + around, axis=0, out=out, mode="clip"); yield out.nbytes
batches(work, 3000)""",
}


def told(command, work):
    """What a contender says of itself, without its start and imports; of batches also until the first."""
    shutil.rmtree(os.path.join(work, "out"), ignore_errors=True)
    p = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if p.returncode:
        sys.exit("%s: exit code %d" % (command[:2], p.returncode))
    seen = json.loads(p.stdout.splitlines()[-1])
    return (seen["cpu"], seen["wall"], *seen.get("first", ()))


def cases(work, batches):
    at = lambda name: os.path.join(work, name)
    python = lambda text, *paths: (told, [sys.executable, "-c", PYTHON_HEAD % (NAMES,) + "BATCHES = %d\n" % batches + text % paths])
    convert = lambda name, *more: (run, [SHARDIFY, "convert", at(name), "-o", at("out"), "-q", "--sync", "none", "--jobs", "2", *more])
    out = {}
    for s in STORES:
        store = at(s + ".zarr")
        out[s] = {"shardify": convert(s + ".zarr", "--window", "time=1+1")}
        out[s].update({n: python(t, *[store] * t.count("%r")) for n, t in READ.items()})
        if s in ("lz4", "zstd"):
            out["windows-" + s] = {n: python(t, at("view") if n.startswith("shardify") else store) for n, t in WINDOWS.items()}
    for s in "packed", "packed-raw":
        out[s] = {"--cf " + cf: convert(s + ".nc", "--cf", cf) for cf in ("off", "on")}
    out["rows"] = {"shardify": python(ROWS["shardify"], at("rows-view")), "np.take": python(ROWS["np.take"], at("rows.npy"))}
    return out


def warm(work, case):
    """Reads what the contenders of a case read."""
    name = case.removeprefix("windows-")
    for path in [name + end for end in (".zarr", ".nc", ".npy")] + (["view"] if name != case else ["rows-view"] if case == "rows" else []):
        path = os.path.join(work, path)
        for f in [path] if os.path.isfile(path) else [os.path.join(d, f) for d, _, files in os.walk(path) for f in files]:
            with open(f, "rb") as x:
                while x.read(1 << 20):
                    pass


def views(work):
    """Converts what windows are read from. Returns the bytes of rows, and of the set with 10^6 windows of them."""
    import numpy as np

    convert = [SHARDIFY, "convert", "-q", "--sync", "none"]
    for name, source, more in (
        ("view", "lz4.zarr", ["--window", "time=1+1"]),
        ("rows-view", "rows.npy", ["--window", "8"] + [x for k in range(2, 13) for x in ("--window", "%d,name=w%d" % (k, k))]),
    ):
        if name == "rows-view":
            np.save(os.path.join(work, source), np.random.default_rng(1).normal(size=(100_000, 64)).astype("f4"))
        target = os.path.join(work, name)
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(convert + [os.path.join(work, source), "-o", target] + more, check=True, stdout=subprocess.DEVNULL)
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(target) for f in files)
    return 100_000 * 64 * 4, size, 12 * 100_000 - 7 - sum(range(1, 12))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("work")
    a.add_argument("--steps", type=int, default=1000)
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--batches", type=int, default=60)
    a.add_argument("--only", default="")
    a.add_argument("--out")
    a = a.parse_args()
    os.makedirs(a.work, exist_ok=True)
    mark = os.path.join(a.work, "steps-%d" % a.steps)
    if not os.path.exists(mark):
        make(a.work, a.steps)
        open(mark, "w").close()
    stored, size, windows = views(a.work)
    load = os.getloadavg()[0]
    chosen = {k: v for k, v in cases(a.work, a.batches).items() if not a.only or k in a.only.split(",")}
    seen = {k: {n: [] for n in v} for k, v in chosen.items()}
    for _ in range(a.rounds):
        for k, v in chosen.items():
            for n, (measure, command) in v.items():
                warm(a.work, k)
                figures = measure(command, a.work)
                seen[k][n].append(figures[:2])
                if len(figures) == 4:
                    seen.setdefault(k + "-first", {}).setdefault(n, []).append(figures[2:])
    rows = ["| case | | processor | wall | times the first's processor, wall |", "|---|---|---|---|---|"]
    for k, v in seen.items():
        base = None
        for n, times in v.items():
            cpu, wall = (statistics.median(x[i] for x in times) for i in range(2))
            base = base or (cpu, wall)
            rows.append("| %s | %s | %.2f s | %.2f s | %.2f, %.2f |" % (k, n, cpu, wall, cpu / base[0], wall / base[1]))
    rows += ["", "A set of %d windows of 100000 rows takes %.4f of the bytes of its rows." % (windows, size / stored)]
    print("\n".join(rows))
    if a.out:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip()
        with open(a.out, "w") as f:
            f.write(HEAD % (a.steps, a.steps * STEP_BYTES / 1e9, a.rounds, a.batches, commit, platform.platform(), os.cpu_count(), load, os.getloadavg()[0], "\n".join(rows)))


HEAD = """# Grids

`make bench-grids`: %d steps of 8 fields, %.2f GB, medians of %d rounds, in which the contenders take turns, %d batches of 4 windows. Commit %s, %s, %d cores. The cases are described at the top of bench/grids.py. Processor times of shardify's conversions include the start of the program and the writing; those of the others are of reading alone (tensorstore-written: and of writing), without their start and imports. The load of the machine was %.1f at the start and %.1f at the end: where it is more than 1, wall times are worth little: compare the ratios of processor times.

%s
"""


if __name__ == "__main__":
    main()
