"""Steps of `gpu.sh python`: what a training program in Python sees. Each is a process of its own, which appends
a line of JSON to $SHARDIFY_GPU_LINES for every figure and every check.

    python3 gpu_python.py ours|resident|dataloader|spdl|images|torch|graph|cupy|jax
"""

import json
import os
import re
import sys
import tempfile
import time

SECONDS = float(os.environ.get("SHARDIFY_GPU_SECONDS", 60))
END = time.monotonic() + SECONDS
BYTES = int(os.environ.get("SHARDIFY_GPU_BYTES", 1 << 30))
ROWS = (64, 4096, 600_000)


def line(**v):
    text = json.dumps(v) + "\n"
    sys.stdout.write(text)
    sys.stdout.flush()
    if os.environ.get("SHARDIFY_GPU_LINES"):
        fd = os.open(os.environ["SHARDIFY_GPU_LINES"], os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o666)
        os.write(fd, text.encode())
        os.fsync(fd)
        os.close(fd)


class LeftOut(Exception):
    """Something that is not here."""


def need_torch():
    try:
        import torch
    except ImportError as e:
        raise LeftOut(str(e)) from None
    return torch


def need_gpu():
    torch = need_torch()
    if not torch.cuda.is_available():
        raise LeftOut("torch %s sees no GPU" % torch.__version__)
    return torch


def batches_of(row):
    n = max(BYTES // row, 64)
    return n, sorted({min(256, n // 4), min(max((16 << 20) // row, 1), n // 4)})


def need_shardify():
    try:
        import shardify
        from shardify import clib
    except ImportError as e:
        raise LeftOut(str(e)) from None
    if not os.path.exists(clib.path()):
        raise LeftOut("%s is not built" % clib.path())
    return shardify


def make(folder, schema, samples):
    """A data set of synthetic samples."""
    path = os.path.join(folder, "set%d" % len(os.listdir(folder)))
    need_shardify().convert([], path, from_="synth", samples=samples, schema=schema, sync="none")
    return path


def timed(steps, moved, synchronize, warm, seconds):
    """Bytes per second: some steps first, then as many as there is time for, with all that they start."""
    for _ in range(warm):
        next(steps)
    synchronize()
    start, total = time.perf_counter(), 0
    while total == 0 or time.perf_counter() - start < seconds:
        total += moved(next(steps))
    synchronize()
    return total / (time.perf_counter() - start), total


def share(left):
    """The seconds of a figure if so many are left to measure: half of it is for what comes before."""
    return max((END - time.monotonic()) / left / 2, 0.05)


def on(torch):
    gpu = torch.cuda.is_available()
    return torch.device("cuda:0" if gpu else "cpu"), torch.cuda.synchronize if gpu else lambda: None


# ---- rates ----


def ours(folder):
    torch, shardify = need_torch(), need_shardify()
    device, synchronize = on(torch)
    only = re.compile(os.environ.get("SHARDIFY_GPU_ONLY", ""))
    tiers = ("pinned", "device") if device.type == "cuda" else ("pinned",)
    wanted = {(row, tier, batch) for row in ROWS for tier in tiers for batch in batches_of(row)[1] if only.search("%d/global/%s/%d" % (row, tier, batch))}
    left = max(len(wanted), 1)
    for row in ROWS:
        n, sizes = batches_of(row)
        path = make(folder, "x:u8[%d]" % row, n)
        for tier in tiers:
            for batch in sizes:
                if (row, tier, batch) not in wanted:
                    continue
                if time.monotonic() > END:
                    return
                memory = {"device_memory": n * row + (64 << 20)} if tier == "device" else {}
                with shardify.Loader(path, batch, shuffle="global", seed=1, tier=tier, copy=False, verify="none", device=str(device), **memory) as loader:

                    def forever():
                        while True:
                            yield from loader

                    rate, _ = timed(forever(), lambda b: b["x"].numel(), synchronize, 20, share(left))
                left -= 1
                line(type="ours", row_bytes=row, tier=tier, batch=batch, bytes_per_second=rate, device=str(device), clock="wall")


def resident(folder):
    """index_select of rows that are all in device memory: the peer of the device tier."""
    torch = need_torch()
    device, synchronize = on(torch)
    left = 2 * 2 * len(ROWS)
    for row in ROWS:
        n, sizes = batches_of(row)
        x = torch.zeros((n, row), dtype=torch.uint8, device=device)
        for batch in sizes:
            for where in ("host", "device"):
                if time.monotonic() > END:
                    return
                out = torch.empty((batch, row), dtype=torch.uint8, device=device)

                def forever():
                    while True:
                        i = torch.randint(n, (batch,), device="cpu" if where == "host" else device)
                        yield torch.index_select(x, 0, i.to(device, non_blocking=True), out=out)

                rate, _ = timed(forever(), lambda b: b.numel(), synchronize, 20, share(left))
                left -= 1
                what = "index_select, %s indices" % where
                line(type="peer", what=what, row_bytes=row, batch=batch, bytes_per_second=rate, device=str(device), clock="wall")


def used(pids):
    """Processor seconds of processes so far."""
    ticks = 0
    for pid in pids:
        with open("/proc/%d/stat" % pid) as f:
            ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def dataloader(folder):
    """torch's DataLoader over np.memmap, its workers started and warm before the clock starts."""
    torch = need_torch()
    import numpy as np
    from torch.utils import data

    class Rows(data.Dataset):
        def __init__(self, name, row):
            self.x = np.memmap(name, np.uint8, "r").reshape(-1, row)

        def __len__(self):
            return len(self.x)

        def __getitem__(self, i):
            return torch.from_numpy(self.x[i].copy() if isinstance(i, int) else self.x[i])

    device, synchronize = on(torch)
    cores = len(os.sched_getaffinity(0))
    left = len(ROWS) * 4
    for row in ROWS:
        n, sizes = batches_of(row)
        rows = Rows(rows_of(folder, n, row), row)
        for workers in sorted({0, cores}):
            for batched in (False, True):
                if time.monotonic() > END:
                    return
                batch = sizes[-1] if batched else sizes[0]
                # Drawn with replacement, which costs less than a permutation and has no end.
                sampler = data.RandomSampler(rows, replacement=True, num_samples=1 << 40)
                options = {"num_workers": workers, "pin_memory": device.type == "cuda"}
                if workers:
                    options.update(persistent_workers=True, prefetch_factor=4)
                if batched:
                    loader = data.DataLoader(rows, sampler=data.BatchSampler(sampler, batch, True), batch_size=None, **options)
                else:
                    loader = data.DataLoader(rows, batch, sampler=sampler, drop_last=True, **options)
                steps = iter(loader)
                pids = [os.getpid()] + [w.pid for w in getattr(steps, "_workers", [])]
                sent = (b.to(device, non_blocking=True) for b in steps)
                timed(sent, lambda b: b.numel(), synchronize, 20 if share(left) > 1 else 2, 0)
                before = used(pids)
                rate, total = timed(sent, lambda b: b.numel(), synchronize, 0, share(left))
                line(
                    type="peer", what="DataLoader", by="batch" if batched else "sample", row_bytes=row, batch=batch, workers=workers, bytes_per_second=rate,
                    core_seconds_per_gb=(used(pids) - before) / total * 1e9, device=str(device), clock="wall",
                )  # fmt: skip
                left -= 1
                if workers:
                    steps._shutdown_workers()
                del steps, sent, loader
        del rows


def rows_of(folder, n, row):
    """A file of n rows."""
    name = os.path.join(folder, "rows")
    some = 1 + (64 << 20) // row
    with open(name, "wb") as f:
        for at in range(0, n, some):
            f.write(os.urandom(1 << 16)[: min(row, 1 << 16)].ljust(row, b"\1") * min(some, n - at))
    return name


def spdl(folder):
    """SPDL's pipeline of threads over np.memmap, a batch by one index."""
    torch = need_torch()
    try:
        from spdl.pipeline import PipelineBuilder
    except ImportError as e:
        raise LeftOut(str(e)) from None
    import numpy as np

    device, synchronize = on(torch)
    cores = len(os.sched_getaffinity(0))
    left = len(ROWS)
    for row in ROWS:
        n, sizes = batches_of(row)
        batch = sizes[-1]
        x = np.memmap(rows_of(folder, n, row), np.uint8, "r").reshape(-1, row)
        rng = np.random.default_rng(1)

        def numbers():
            while True:
                yield rng.integers(n, size=batch)

        def gather(i):
            t = torch.from_numpy(x[i])
            return t.pin_memory() if device.type == "cuda" else t

        pipeline = PipelineBuilder().add_source(numbers()).pipe(gather, concurrency=cores).add_sink(4).build(num_threads=cores)
        with pipeline.auto_stop():
            sent = (b.to(device, non_blocking=True) for b in pipeline.get_iterator())
            timed(sent, lambda b: b.numel(), synchronize, 20, 0)
            before = used([os.getpid()])
            rate, total = timed(sent, lambda b: b.numel(), synchronize, 0, share(left))
            spent = used([os.getpid()]) - before
        line(
            type="peer", what="SPDL", row_bytes=row, batch=batch, workers=cores, bytes_per_second=rate,
            core_seconds_per_gb=spent / total * 1e9, device=str(device), clock="wall",
        )  # fmt: skip
        left -= 1
        del x, sent


# ---- is it right? ----


def expected(path):
    import numpy as np

    ds = need_shardify().open(path)
    return np.stack([ds[i]["x"] for i in range(len(ds))])


def check(step, name, bad, control=False):
    """A check is passed if no batch is wrong; a control, which leaves out what orders streams, may be wrong."""
    status = "NOTE" if control else "FAIL" if bad else "PASS"
    line(type="check", step=step, check=name, status=status, note="%d wrong batches" % bad)
    return bool(bad) and not control


def compare(seen, want):
    """How many of (values, samples) differ from what the data set has."""
    return sum(not (values == want[ids]).all() for values, ids in seen)


def torch_streams(folder):
    """A slow stream of the consumer's own reads each batch, then poisons it."""
    torch, shardify = need_gpu(), need_shardify()
    path = make(folder, "x:i64[4096]", 512)
    want, failed = expected(path), False
    side = torch.cuda.Stream()
    ways = [(copy, tier, True) for copy in (False, True) for tier in ("stream", "pinned", "device")] + [(False, "pinned", False)]
    for copy, tier, told in ways:
        memory = {"device_memory": 1 << 30} if tier == "device" else {}
        seen = []
        with shardify.Loader(path, 16, shuffle="global", seed=1, tier=tier, copy=copy, depth=2, framework="torch", **memory) as loader:
            for _ in range(3):
                for b in loader:
                    x = b["x"]
                    side.wait_stream(torch.cuda.current_stream())
                    with torch.cuda.stream(side):
                        torch.cuda._sleep(2_000_000)  # about a millisecond
                        seen.append((x.clone(), b.ids.copy()))
                        x.fill_(-1)
                    if told:
                        b.record_stream(side)
                    if copy:
                        x.record_stream(side)
                    del x, b
            torch.cuda.synchronize()
        bad = compare([(x.cpu().numpy(), i) for x, i in seen], want)
        failed |= check("torch", "copy=%s, %s%s" % (copy, tier, "" if told else ", stream not named"), bad, not told)
    return failed


def torch_graph(folder):
    """A graph replayed over outputs at fixed addresses, as the manual has it."""
    torch, shardify = need_gpu(), need_shardify()
    path = make(folder, "x:i64[4096]", 512)
    want, failed = expected(path) + 1, False
    for tier in ("stream", "pinned", "device"):
        memory = {"device_memory": 1 << 30} if tier == "device" else {}
        with shardify.Loader(path, 16, shuffle="global", seed=1, tier=tier, ring=1, framework="torch", **memory) as loader:
            batches = iter(loader)
            batch = next(batches)
            made = torch.empty_like(batch["x"])
            work = torch.cuda.Stream()
            work.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(work):
                torch.add(batch["x"], 1, out=made)
            torch.cuda.current_stream().wait_stream(work)
            seen = [(made.clone(), batch.ids.copy())]
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                torch.add(batch["x"], 1, out=made)
            for batch in batches:
                graph.replay()
                seen.append((made.clone(), batch.ids.copy()))
            torch.cuda.synchronize()
        failed |= check("graph", "ring, %s" % tier, compare([(x.cpu().numpy(), i) for x, i in seen], want))
    return failed


def images(folder):
    """Pixels of the kernel beside Pillow's, JPEGs by nvImageCodec where it is installed, and how many a second."""
    torch, shardify = need_gpu(), need_shardify()
    import numpy as np

    try:
        import PIL
        from PIL import Image
    except ImportError as e:
        raise LeftOut(str(e)) from None
    from shardify import decode, pixels
    from shardify.geometry import Shaping, draws

    rng, n, how = np.random.default_rng(1), 256, Shaping.make(None, 224, (0.08, 1), 0.5)
    chance = draws(1, 0, np.arange(n))
    raw = [rng.integers(0, 256, (int(rng.integers(1, 700)), int(rng.integers(1, 700)), 3), dtype=np.uint8) for _ in range(n)]
    shown = [(torch.from_numpy(a).cuda().permute(2, 0, 1), how.cut(a.shape[1], a.shape[0], u)) for a, u in zip(raw, chance)]
    got = pixels.paint(shown, (3, 224, 224), True, None, "cuda").cpu().numpy()
    wrong = []
    for k, (a, (_, cut), have) in enumerate(zip(raw, shown, got)):
        far = np.abs(have.astype(int) - rows_first(Image.fromarray(a), cut))
        if far.any():
            wrong.append("image %d of %dx%d, box %s: %s" % (k, a.shape[1], a.shape[0], cut.box(1.0, cut.source), spread(far)))
    failed = verdict("images", "pixels", "; ".join(wrong[:4]) + "; %d images in all" % len(wrong) if wrong else "", "as Pillow %s, rows before columns" % PIL.__version__)
    cast = pixels.Cast("f16", (1 / 58.4,) * 3, (-2.1,) * 3)

    def painted():
        while True:
            yield pixels.paint(shown, (3, 224, 224), False, cast, "cuda")

    rate, _ = timed(painted(), len, torch.cuda.synchronize, 5, min(share(3), 4))
    line(type="images", what="pixels", images_per_second=rate, device="cuda:0", clock="wall")
    # Smooth: decoders differ at edges. One set keeps the chroma whole, so that only how colours are rounded is left to differ.
    whole, halved = list(waves(n, 0)), list(waves(n, 2))
    offsets, values, ids = packed(halved) + (np.arange(n),)
    options = {"crop": 224, "random_crop": (0.08, 1), "flip": 0.5, "scaled": False}
    for backend in ("nvimgcodec", "nvjpeg", "pillow"):
        try:
            made = decode.make("image", backend, **options)
        except shardify.UnsupportedError as e:
            line(type="check", step="images", check=backend, status="SKIP", note=str(e))
            continue
        if made.backend != backend:
            line(type="check", step="images", check=backend, status="SKIP", note=made.note)
            continue
        for what, files, bound in ("4:4:4", whole, (4, 0.0, 0.6)), ("4:2:0", halved, PLAIN_CHROMA):
            at, v = packed(files)
            have = made(v, at, ids)
            far = np.abs(np.asarray(have.cpu() if backend != "pillow" else have).astype(int) - decode.make("image", "pillow", **options)(v, at, ids))
            said, largest = spread(far), bound[0]
            wrong = far.max() > largest or (far > 6).mean() > bound[1] or far.mean() > bound[2]
            failed |= verdict("images", "%s, %s" % (backend, what), wrong and said + "; bounds %s" % (bound,), said)

        def decoded():
            while True:
                yield made(values, offsets, ids)

        rate, _ = timed(decoded(), len, torch.cuda.synchronize, 2, min(share(3), 4))
        line(type="images", what="decode, " + backend, images_per_second=rate, device="cuda:0", clock="wall")
    return failed


# The largest difference, the share above 6, and the mean, of what decoders may differ by that repeat the chroma of
# 4:2:0 where libjpeg interpolates it: libjpeg-turbo without interpolation has 13, 0.00102 and 0.74 on these images.
PLAIN_CHROMA = (20, 0.003, 1.2)


def waves(n, subsampling):
    """JPEGs of smooth colours."""
    import io

    import numpy as np
    from PIL import Image

    y, x = np.mgrid[0:375, 0:500]
    for k in range(n):
        b = io.BytesIO()
        some = [127 + 110 * np.sin((x * (c + 1) + 3 * k) / 37 + y / (19 + 5 * c)) for c in range(3)]
        Image.fromarray(np.stack(some, -1).astype(np.uint8)).save(b, "JPEG", quality=90, subsampling=subsampling)
        yield np.frombuffer(b.getvalue(), np.uint8)


def packed(files):
    import numpy as np

    return np.cumsum([0] + [len(f) for f in files]), np.concatenate(files)


def rows_first(image, cut):
    """What is shown of an image: Pillow's resize in two calls, as from 12.2 on it begins some images with columns."""
    import numpy as np

    x0, y0, x1, y1 = cut.box(1.0, cut.source)
    image = image.resize((cut.out[0], image.height), 2, (x0, 0, x1, image.height))
    made = np.asarray(image.resize(cut.out, 2, (0, y0, cut.out[0], y1)))
    return made[:, ::-1] if cut.mirrored else made


def spread(far):
    """Differences in words: how many, how large, of which channel and where most."""
    import numpy as np

    k = np.unravel_index(far.argmax(), far.shape)
    channels = ", ".join("%.2f" % far.take(c, -3 if far.shape[-1] != 3 else -1).mean() for c in range(3))
    return "%.4g %% differ, %.4g %% by more than 6, mean %.3g (channels %s), largest %d at %s" % (
        100 * (far > 0).mean(), 100 * (far > 6).mean(), far.mean(), channels, far.max(), tuple(map(int, k)))  # fmt: skip


def verdict(step, name, wrong, note):
    """Notes a check, with what is wrong if it is not passed."""
    line(type="check", step=step, check=name, status="FAIL" if wrong else "PASS", note=wrong or note)
    return bool(wrong)


def cupy_streams(folder):
    try:
        import cupy
    except ImportError as e:
        raise LeftOut(str(e)) from None
    shardify = need_shardify()
    path = make(folder, "x:i64[4096]", 512)
    want, failed = expected(path), False
    for copy in (False, True):
        side, seen = cupy.cuda.Stream(non_blocking=True), []
        slow = cupy.ones((2048, 2048), cupy.float32)
        with shardify.Loader(path, 16, shuffle="global", seed=1, copy=copy, depth=2, framework="cupy") as loader:
            for _ in range(3):
                for b in loader:
                    x = b["x"]
                    side.wait_event(cupy.cuda.get_current_stream().record())
                    with side:
                        for _ in range(4):
                            slow @ slow
                        seen.append((x.copy(), b.ids.copy()))
                        x.fill(-1)
                    b.record_stream(side)
                    if copy:
                        side.synchronize()  # CuPy's pool knows no other stream
                    del x, b
            cupy.cuda.Device().synchronize()
        failed |= check("cupy", "copy=%s" % copy, compare([(cupy.asnumpy(x), i) for x, i in seen], want))
    return failed


def jax_arrays(folder):
    try:
        import jax
    except ImportError as e:
        raise LeftOut(str(e)) from None
    import numpy as np

    shardify = need_shardify()
    if jax.default_backend() not in ("gpu", "cuda"):
        raise LeftOut("jax %s sees no GPU" % jax.__version__)
    jax.config.update("jax_enable_x64", True)
    path = make(folder, "x:i64[4096]", 512)
    want, seen = expected(path), []
    add = jax.jit(lambda x: x + 1, donate_argnums=0)  # may write into the batch
    with shardify.Loader(path, 16, shuffle="global", seed=1, depth=2, framework="jax") as loader:
        for _ in range(3):
            for b in loader:
                seen.append((add(b["x"]), b.ids.copy()))
    return check("jax", "donated batches", compare([(np.asarray(x), i) for x, i in seen], want + 1))


STEPS = {"ours": ours, "resident": resident, "dataloader": dataloader, "spdl": spdl, "images": images, "torch": torch_streams, "graph": torch_graph, "cupy": cupy_streams, "jax": jax_arrays}


def main(name):
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        try:
            return 1 if STEPS[name](folder) else 0
        except LeftOut as e:
            line(type="check", step=name, check=name, status="SKIP", note=str(e))
            return 0
        except Exception as e:
            line(type="check", step=name, check=name, status="FAIL", note="%s: %s" % (type(e).__name__, e))
            raise


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
