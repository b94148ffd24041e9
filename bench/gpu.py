"""The calls of bench/gpu.sh: runs their steps, each for a bounded time, and writes the report.

    python3 gpu.py checks|figures|python OUT
    python3 gpu.py report OUT [FOLDER]
"""

import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Lines:
    """A file of one JSON object per line, each on disk as soon as it is known."""

    def __init__(self, path):
        self.path = path
        self.fd = os.open(path, os.O_APPEND | os.O_CREAT | os.O_RDWR, 0o666)

    def add(self, **v):
        n = os.fstat(self.fd).st_size
        torn = n > 0 and os.pread(self.fd, 1, n - 1) != b"\n"  # by a cut
        os.write(self.fd, ("\n" * torn + json.dumps(v) + "\n").encode())
        os.fsync(self.fd)


def read(path):
    """The objects of a file of lines. What is not JSON was torn by a cut."""
    found = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                try:
                    v = json.loads(line)
                except ValueError:
                    continue
                if isinstance(v, dict) and "type" in v:
                    found.append(v)
    return found


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Call:
    """One call: steps until its time is up."""

    MARGIN = 5  # seconds that a step gets to end by itself, and the call to write

    def __init__(self, name, out):
        os.makedirs(out, exist_ok=True)
        self.out, self.failed, self.child = out, False, None
        limit = float(os.environ.get("SHARDIFY_GPU_LIMIT", 540))
        self.margin = min(self.MARGIN, limit / 10)
        self.end = time.monotonic() + limit - self.margin
        self.lines = Lines(os.path.join(out, "lines.jsonl"))
        self.lines.add(type="call", call=name, time=int(time.time()), limit=limit)
        for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(s, self.stopped)

    def stopped(self, number, _):
        self.kill(signal.SIGKILL)
        sys.exit(128 + number)

    def kill(self, number):
        if self.child is not None and self.child.poll() is None:
            try:
                os.killpg(self.child.pid, number)
            except ProcessLookupError:
                pass

    def step(self, name, seconds, args):
        """Runs a program, for at most so many seconds and the rest of the call."""
        seconds = min(seconds, float(os.environ.get("SHARDIFY_GPU_STEP", seconds)))
        limit = min(seconds, self.end - time.monotonic())
        if limit < min(seconds, 2 * self.margin):
            self.failed = True
            self.lines.add(type="step", step=name, left_out="time is up")
            return
        env = dict(os.environ, SHARDIFY_GPU="1", SHARDIFY_GPU_LINES=os.path.abspath(self.lines.path))
        env["SHARDIFY_GPU_SECONDS"] = "%g" % max(limit - 2 * self.margin, limit / 2)
        env.setdefault("TMPDIR", "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp")
        env["PYTHONPATH"] = os.path.join(HERE, "python")
        said, start, cut = os.path.join(self.out, name + ".txt"), time.monotonic(), False
        with open(said, "wb") as f:
            try:
                self.child = subprocess.Popen(
                    args, cwd=HERE, env=env, stdout=f, stderr=f, start_new_session=True, preexec_fn=die_with_parent
                )
            except OSError as e:
                self.lines.add(type="step", step=name, left_out=str(e))
                self.failed = True
                return
            try:
                self.child.wait(limit)
            except subprocess.TimeoutExpired:
                cut = True
                self.kill(signal.SIGTERM)
                try:
                    self.child.wait(self.margin / 2)
                except subprocess.TimeoutExpired:
                    pass
            self.kill(signal.SIGKILL)
            rc = self.child.wait()
        self.tests(name, said)
        self.failed |= cut or rc != 0
        self.lines.add(type="step", step=name, seconds=round(time.monotonic() - start, 2), rc=rc, **({"cut": True} if cut else {}))

    def tests(self, name, said):
        """Notes the tests of a Go program, and what they found out about pinned memory."""
        with open(said, encoding="utf-8", errors="replace") as f:
            for line in f:
                if m := re.match(r"\s*--- (PASS|FAIL|SKIP): (\S+) \((\S+)s\)", line):
                    self.lines.add(type="check", step=name, check=m[2], status=m[1], seconds=float(m[3]))
                elif m := re.match(r"\s*\S+_test.go:\d+: ((pool of|tmpfs,|disk,).*)", line):
                    self.lines.add(type="note", step=name, note=m[1])

    def close(self):
        self.lines.add(type="done", failed=self.failed)
        return 1 if self.failed else 0


def test(program, pattern):
    return ["./" + program + ".test", "-test.v", "-test.run", pattern]


def machine():
    def said(*args):
        try:
            return subprocess.run(args, capture_output=True, text=True, timeout=20).stdout.strip()
        except (OSError, subprocess.TimeoutExpired) as e:
            return str(e)

    def first(path):
        try:
            with open(path) as f:
                return f.readline().strip()
        except OSError as e:
            return str(e)

    wanted = "name,driver_version,pcie.link.gen.max,pcie.link.gen.current,pcie.link.width.max,memory.total,ecc.mode.current"
    clocks = "clocks.sm,clocks.max.sm,clocks.mem,clocks_throttle_reasons.active"
    return {
        "gpu": said("nvidia-smi", "--query-gpu=" + wanted, "--format=csv,noheader"),
        "clocks": said("nvidia-smi", "--query-gpu=" + clocks, "--format=csv,noheader"),
        "kernel": os.uname().release,
        "cores": len(os.sched_getaffinity(0)),
        "memory": first("/proc/meminfo"),
        "huge_pages": first("/sys/kernel/mm/transparent_hugepage/enabled"),
        "free_in_shm": shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else 0,
    }


def checks(call):
    call.step("device", 150, test("cuda", "TestOnTheGPU"))
    call.step("loader", 200, test("gpuload", "TestTheDeviceDeliversEverySampleBitExact|TestEveryTierOfTheDeviceCastsAsTheHost"))
    found = shutil.which("compute-sanitizer") or next(iter(sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))), None)
    for tool, seconds in (("memcheck", 100), ("racecheck", 60)):
        if found:
            args = [found, "--tool", tool, "--error-exitcode", "9"]
            call.step(tool, seconds, args + test("cuda", "TestOnTheGPU/(gather|cast|pixels|dense|windows)"))
        else:
            call.lines.add(type="check", step=tool, check=tool, status="SKIP", note="compute-sanitizer is not installed")


def figures(call):
    call.step("peaks", 100, test("cuda", "TestFigures$"))
    call.step("rates", 250, test("gpuload", "TestLoaderFigures"))
    call.step("utilization", 160, test("gpuload", "TestUtilization"))


def python(call):
    # What may hang a GPU comes last.
    for name, seconds in (("ours", 100), ("resident", 40), ("dataloader", 120), ("spdl", 45), ("images", 45), ("jax", 60), ("cupy", 30), ("torch", 50), ("graph", 40)):
        call.step(name, seconds, [sys.executable, os.path.join(HERE, "gpu_python.py"), name])


# ---- the report ----

# What a batch costs, as gpuload's TestWhatABatchCostsTheDriver counts it on the stand-in.
COUNTS = {"launches": 1, "calls that queue or wait": 5, "calls for the thread": 7, "bytes over the link for each delivered": 1.02, "sample numbers made by the host": 0}
# Figures of data sheets and of others' measurements, used where none of ours is there.
SHEET = {
    "P": (55e9, "B/s, copy engine, PCIe 5 x16"),
    "S": (55e9, "B/s, kernel reading pinned memory, PCIe 5 x16"),
    "D": (2.4e12, "B/s, copy in device memory, half of an H200's 4.8 TB/s"),
    "N": (220e9, "sample numbers per second that 132 multiprocessors compute"),
    "launch": (4e-6, "s, host time of a launch"),
    "call": (1.5e-6, "s, host time of another call"),
    "state": (0.2e-6, "s, host time of a call that asks or sets what a thread has"),
    "index": (10e-9, "s, host time of a random index, one core"),
}
BATCH = 16 << 20  # bytes of the batches that targets are about
MEASURED = {"P": "engine peak", "S": "read peak", "D": "device copy"}
SHAPES = {"unet3d h100": (146_600_628 * 7, 0.323), "cosmoflow h100": (2_828_486, 0.0035)}


def amount(n):
    return "%g GB/s" % float("%.3g" % (n / 1e9)) if n >= 1e6 else "%.3f" % n


class Report:
    def __init__(self, lines):
        self.lines = lines
        self.base = {k: v for k, (v, _) in SHEET.items()}
        self.origin = {k: "sheet" for k in SHEET}
        for k, what in MEASURED.items():
            found = [v["bytes_per_second"] for v in self.of("figure", what=what)]
            if found:
                self.base[k], self.origin[k] = found[-1], "measured"
        for v in self.of("figure", what="host, per batch"):
            self.base["host"], self.origin["host"] = v["seconds"], "measured"

    def of(self, kind, **want):
        return [v for v in self.lines if v["type"] == kind and all(v.get(k) == x for k, x in want.items())]

    def host(self, b):
        return b.get("host") or COUNTS["launches"] * b["launch"] + COUNTS["calls that queue or wait"] * b["call"] + COUNTS["calls for the thread"] * b["state"]

    def rate(self, link, row, batch, b):
        """The predicted rate of batches: the slowest of link, device memory, numbers and host."""
        sectors = row / (-(-row // 32) * 32)  # 32 bytes are the least that is read
        device = min(b["D"] * sectors, b["N"] * row)
        times = [batch / device, self.host(b)]
        if link:
            times.append(batch * COUNTS["bytes over the link for each delivered"] / link)
        return batch / max(times)

    def best(self, rates):
        return max(rates, default=None)

    def loader(self, row, shuffle, *tiers):
        return self.best(v["bytes_per_second"] for t in tiers for v in self.of("loader", row_bytes=row, shuffle=shuffle, tier=t))

    def device(self, row, *whats):
        return self.best(v["bytes_per_second"] for w in whats for v in self.of("figure", what=w, row_bytes=row))

    def targets(self):
        """Name, least share of a bound, the bound, predicted by sheet and by our peaks, measured on the device and by a Loader."""
        sheet = {k: v for k, (v, _) in SHEET.items()}
        found = []

        def add(name, least, bound, predict, device, loader):
            found.append((name, least, bound, predict(sheet) / bound(sheet), predict(self.base) / bound(self.base), device, loader))

        engine = lambda b: b["P"]  # noqa: E731
        for row in (64, 4096, 600_000):
            at = "%s, %d B" % ("%s", row)
            link = lambda b, row=row: self.rate(b["P"], row, BATCH, b)  # noqa: E731
            add(at % "sequential", 0.95, engine, link, self.device(row, "sequential"), self.loader(row, "none", "pinned", "stream"))
            add(at % "block", 0.95, engine, link, self.device(row, "block"), self.loader(row, "block", "pinned", "stream"))
        either = ("global, kernel", "global, copy engine")
        add("global, 600000 B", 0.95, engine, lambda b: self.rate(max(b["P"], b["S"]), 600_000, BATCH, b),
            self.device(600_000, *either), self.loader(600_000, "global", "pinned"))  # fmt: skip
        add("global, 4096 B", 0.9, lambda b: max(b["S"], 0.7 * b["P"]), lambda b: self.rate(b["S"], 4096, BATCH, b),
            self.device(4096, *either), self.loader(4096, "global", "pinned"))  # fmt: skip
        for row in (128, 1024, 4096, 600_000):
            add("device tier, %d B" % row, 0.8, lambda b: b["D"], lambda b, row=row: self.rate(0, row, 1 << 30, b),
                self.device(row, "device tier"), None)  # fmt: skip
        for row in (64, 4096):
            # Each index is made by the host and crosses the link; the rows are read by the device.
            peer = lambda b, row=row: 1 / (b["index"] / row + 8 / row / b["P"] + 1 / self.rate(0, row, 1 << 30, b))  # noqa: E731
            bound = peer
            peers = [v for v in self.of("peer", what="index_select, host indices", row_bytes=row) if v["device"].startswith("cuda")]
            have = self.best(v["bytes_per_second"] for v in peers)
            if have:
                bound = lambda b, have=have, peer=peer: have if b is self.base else peer(b)  # noqa: E731
            ours = self.best(v["bytes_per_second"] for v in self.of("ours", tier="device", row_bytes=row)) if have else None
            add("device tier to index_select of host indices, %d B" % row, 10, bound, lambda b, row=row: self.rate(0, row, BATCH, b), None, ours)
        for shape, (size, step) in SHAPES.items():
            used = [v["utilization"] for v in self.of("steps", shape=shape, source="loader")]
            # A batch is made while the step before it runs; what the host does for it comes on top.
            au = lambda b, size=size, step=step: step / (max(step, size / self.rate(b["P"], size, size, b)) + self.host(b))  # noqa: E731
            add("utilisation, " + shape, 0.99, lambda b: 1.0, au, None, min(used, default=None))
        return found

    def controls(self):
        """Whether the utilisation that is measured can be high, and can be low."""
        ranges = {"none": (0.99, 1.01), "half": (0.45, 0.55)}
        runs = [v for v in self.of("steps") if v["source"] in ranges]
        if not runs:
            return []
        out = ["%(shape)s, %(source)s: %(utilization).3f" % v for v in runs if not ranges[v["source"]][0] <= v["utilization"] <= ranges[v["source"]][1]]
        text = "Controls without batches (1.00) and with batches half as fast as needed (0.50) "
        return ["", text + ("are as they must be." if not out else "are **not** as they must be: %s." % "; ".join(out))]

    def markdown(self):
        out = ["# The loader on a GPU", ""]
        out += ["Made by `bench/gpu.sh report`; `bench/gpu.sh` describes the measurement. A prediction without a figure was not tested yet.", ""]
        for v in self.of("machine")[-1:]:
            out += ["`%s`, clocks `%s`, %s cores, %s, huge pages %s, Linux %s." % tuple(v[k] for k in ("gpu", "clocks", "cores", "memory", "huge_pages", "kernel")), ""]
        out += ["## Predictions", ""]
        out += ["A batch costs %s. The rest is assumed, or measured by the same call:" % ", ".join("%s %s" % (v, k) for k, v in COUNTS.items()), ""]
        out += ["| | from the sheet | measured | |", "|---|---|---|---|"]
        for k, (v, what) in SHEET.items():
            known = "%.3g" % self.base[k] if self.origin[k] == "measured" else "-"
            out.append("| %s | %.3g | %s | %s |" % (k, v, known, what))
        if "host" in self.base:
            out.append("| host | %.3g | %.3g | s, host time of a batch |" % (self.host({k: v for k, (v, _) in SHEET.items()}), self.base["host"]))
        out += ["", "The rate of a batch is its bytes by the longest of: link (P or S), device memory (D, in sectors of 32 bytes; N numbers), host. Batches are of 16 MiB, those of the device tier against D of 1 GiB.",
                "Shares are of the bound: P; max(S, 0.7 P) for 4096 B rows in global order; D; torch's index_select, to which the host gives random indices; the step's own time.",
                "A prediction below its target says that the target is not expected to be met: an index costs the host as long as the device needs for %.0f KB of rows." % (self.base["index"] * self.base["D"] / 1e3), "",
                "![share of each target](gpu.svg)", ""]  # fmt: skip
        out += ["| target | at least | predicted, sheet | predicted, measured peaks | by the device | by a Loader | prediction | target |", "|---|---|---|---|---|---|---|---|"]
        for name, least, bound, sheet, here, device, loader in self.targets():
            have = [None if v is None else v / bound(self.base) for v in (device, loader)]
            shown = have[1] if have[1] is not None else have[0]
            verdict, held = "-", "-"
            if shown is not None:
                verdict = "met" if shown >= least else "missed"
                held = "holds" if (here >= least) == (shown >= least) else "wrong"
            cells = ["%.3g" % v if v is not None else "-" for v in (sheet, here, *have)]
            out.append("| " + " | ".join([name, "%g" % least, *cells, held, verdict]) + " |")
        out += self.table("## Utilisation", "steps", ("shape", "source", "tier", "steps", "utilization"))
        out += self.controls()
        out += self.table("## Rates by the device's clock", "figure", ("what", "row_bytes", "bytes_per_second", "worst", "seconds"))
        out += self.table("## Rates of a Loader (wall clock around a synchronisation)", "loader",
                          ("row_bytes", "shuffle", "tier", "batch", "bytes_per_second", "core_seconds_per_gb", "verdict"))  # fmt: skip
        out += self.table("## From Python (wall clock around a synchronisation)", "ours", ("row_bytes", "tier", "batch", "bytes_per_second", "device"))
        out += self.table("", "peer", ("what", "row_bytes", "batch", "workers", "bytes_per_second", "core_seconds_per_gb", "device"))
        out += self.table("## Images of 500 x 375, cut to 224 x 224", "images", ("what", "images_per_second", "device"))
        out += self.table("## Checks", "check", ("step", "check", "status", "seconds", "note"))
        out += self.table("", "note", ("step", "note"))
        out += self.table("## Steps", "step", ("step", "seconds", "rc", "cut", "left_out"))
        if not self.lines:
            out += ["", "No call was made yet."]
        return "\n".join(out) + "\n"

    def table(self, title, kind, keys):
        rows = self.of(kind)
        if not rows:
            return []
        out = (["", title] if title else []) + ["", "| " + " | ".join(k.replace("_", " ") for k in keys) + " |", "|---" * len(keys) + "|"]
        for v in rows:
            cells = []
            for k in keys:
                x = v.get(k, "")
                cells.append(amount(x) if k in ("bytes_per_second", "worst") and x else "%.4g" % x if isinstance(x, float) else str(x).replace("|", "/"))
            out.append("| " + " | ".join(cells) + " |")
        return out

    def svg(self):
        """A bar for each target: the prediction as a frame, what was measured inside; the line is the target."""
        targets = self.targets()
        wide, high, left, scale = 900, 26, 380, 300
        out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">' % (wide, high * (len(targets) + 2))]
        out.append('<rect width="100%" height="100%" fill="white"/><text x="8" y="18">share of each target: frame predicted, bar measured</text>')
        for i, (name, least, bound, sheet, here, device, loader) in enumerate(targets):
            y = high * (i + 1)
            have = loader if loader is not None else device
            out.append('<text x="8" y="%d">%s</text>' % (y + 17, name))
            if have is not None:
                share = have / bound(self.base) / least
                color = "#2a7" if share >= 1 else "#c44"
                out.append('<rect x="%d" y="%d" width="%.0f" height="14" fill="%s"/>' % (left, y + 5, min(share, 1.7) * scale, color))
            out.append('<rect x="%d" y="%d" width="%.0f" height="18" fill="none" stroke="#555"/>' % (left, y + 3, min(here / least, 1.7) * scale))
        out.append('<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="black"/></svg>' % (left + scale, left + scale, high, high * (len(targets) + 1)))
        return "\n".join(out) + "\n"


def report(out, folder=HERE):
    r = Report(read(os.path.join(out, "lines.jsonl")))
    for name, text in (("GPU.md", r.markdown()), ("gpu.svg", r.svg())):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    return 0


CALLS = {"checks": checks, "figures": figures, "python": python}


def main(name, out="out", *rest):
    if name == "report":
        return report(out, *rest)
    call = Call(name, out)
    call.lines.add(type="machine", **machine())
    CALLS[name](call)
    return call.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
