"""The way through a GPU, on a stand-in for its driver: batches on the device, streams, hand-over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

import pytest
from loading import SHARDS, N, needs_library, run

CC = shutil.which(os.environ.get("CC", "cc"))
ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
SOURCE = os.path.join(ROOT, "tests", "fakecuda", "driver", "fakecuda.c")
pytestmark = [
    needs_library,
    pytest.mark.skipif(CC is None, reason="no C compiler to build the driver's stand-in with"),
]


@pytest.fixture(scope="module")
def driver():
    """A stand-in for libcuda.so.1 that launches the PTX of the library, every access checked."""
    folder = tempfile.mkdtemp()
    path, kernels = os.path.join(folder, "libcuda.so.1"), os.path.join(folder, "kernels.")
    tool = os.path.join(ROOT, "tests", "fakecuda", "ptxcpu")
    ptx = os.path.join(ROOT, "gpuload", "internal", "cuda", "kernels.ptx")
    flags = ["-O1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-w"]
    for command in (
        [sys.executable, os.path.join(tool, "ptxcpu.py"), ptx, "-o", kernels + "c"],
        [CC, "-c", *flags, "-frounding-math", "-fno-strict-aliasing", "-o", kernels + "o", kernels + "c"],
        [CC, "-shared", *flags, "-DFAKECUDA_BATCH=2", "-DFAKECUDA_PTX", "-I" + tool]
        + ["-I" + os.path.dirname(ptx), "-fno-strict-aliasing"]
        + ["-o", path, SOURCE, SOURCE.replace("fakecuda.c", "kernels.cc"), kernels + "o", "-lpthread", "-lm"],
    ):
        p = subprocess.run(command, capture_output=True, text=True)
        if p.returncode:
            pytest.skip("the driver's stand-in cannot be built: " + p.stderr)
    yield path
    shutil.rmtree(folder)


# What the tests' programs begin with: the driver beside the library, and a framework whose
# arrays are NumPy's, copied from the device in order of a stream.
BEGIN = """
import ctypes, gc, os, sys, threading, time
sys.modules["torch"] = None  # not needed here, and it takes seconds to import
import numpy as np
import conftest, loading, shardify
from shardify import clib, dlpack, frameworks

fake = ctypes.CDLL(os.environ["GPULOAD_LIBCUDA"])
u64 = ctypes.c_uint64
context, stream = ctypes.c_void_p(), ctypes.c_void_p()

def must(name, *args):
    code = getattr(fake, name)(*args)
    assert code == 0, (name, code)

def begin():
    must("cuInit", 0)
    must("cuDevicePrimaryCtxRetain", ctypes.byref(context), 7)
    must("cuCtxSetCurrent", context)
    must("cuStreamCreateWithPriority", ctypes.byref(stream), 1, 0)

def text(name):
    b = ctypes.create_string_buffer(16 << 10)
    getattr(fake, "fakecuda_" + name)(b, u64(len(b)))
    return b.value.decode()

def end():
    nothing = "registered 0, host 0, device 0, streams 1, events 0, modules 0, contexts 1"
    for _ in range(200):  # what outlived its loader is looked for ten times a second
        if text("alive") == nothing: break
        time.sleep(0.05)
    assert text("alive") == nothing, text("alive")
    must("cuStreamDestroy_v2", stream)
    must("cuDevicePrimaryCtxRelease_v2", 7)
    assert text("report") == "", text("report")

def fetch(t):
    must("cuStreamSynchronize", stream)
    dtype = frameworks.Spec(t.dtype, (), "samples").dtype
    n = int(np.prod(t.shape)) * dtype.itemsize
    return np.frombuffer(ctypes.string_at(t._address, n) if n else b"", dtype).reshape(t.shape)

class Own(frameworks.DLPack):
    name, grows = "torch", False
    def stream(self): return stream.value
    def own(self, t): return self.to_host(t)
    def to_host(self, t): return fetch(t)

class Filling(Own):
    # Has memory of its own on the device, as torch and CuPy do.
    class Tensor:
        def __init__(self, shape, dtype, at, base=None):
            self.shape, self.dtype, self._address, self.base = shape, dtype, at, base
        def __getitem__(self, rows): return Filling.Tensor((rows.stop,) + self.shape[1:], self.dtype, self._address, self.base or self)
        def __del__(self):
            if self.base is None and self._address:
                must("cuStreamSynchronize", stream)  # a framework orders the use of its memory by stream
                must("cuMemFree_v2", u64(self._address))
    def fills(self, spec): return True
    def address(self, t): return t._address
    def to_host(self, t):
        return np.asarray(fetch(t))
    def empty(self, shape, spec):
        at, n = ctypes.c_void_p(), int(np.prod(shape)) * spec.dtype.itemsize
        if n: must("cuMemAlloc_v2", ctypes.byref(at), u64(n))
        return self.Tensor(shape, spec.kind, at.value or 0)

def new_stream(flags=1):
    s = ctypes.c_void_p()
    must("cuStreamCreateWithPriority", ctypes.byref(s), flags, 0)
    return s

class Late:
    # Reads what a tensor holds on a stream, which runs as late as it may.
    def __init__(self): self.all = []
    def read(self, t, ids, on):
        host, n = ctypes.c_void_p(), 8 * len(ids)
        must("cuMemHostAlloc", ctypes.byref(host), u64(n), 0)
        must("cuMemcpyDtoHAsync_v2", host, u64(t._address), u64(n), ctypes.c_void_p(on))
        self.all.append((host, n, ids.tolist()))
    def check(self):
        must("cuCtxSynchronize")
        for host, n, ids in self.all:
            assert np.frombuffer(ctypes.string_at(host.value, n), "i8").tolist() == ids
            must("cuMemFreeHost", host)
        n = len(self.all)
        self.all = []
        return n

Plain = frameworks.DLPack
frameworks._ALL["dlpack"] = Own
begin()
"""


def program(driver, text, **env):
    return run(BEGIN + text, GPULOAD_LIBCUDA=driver, FAKECUDA_ORDER="3", **env)


KINDS = [("fixed", "mmap"), ("text", "wds"), ("mmap_only", "mmap")]
if os.environ.get("SHARDIFY_LONG"):
    KINDS += [("jagged", "mmap"), ("jagged", "wds"), ("image", "mmap"), ("image", "wds"), ("nullable", "wds")]


@pytest.mark.parametrize("kind,format", KINDS)
def test_every_sample_arrives_bit_for_bit(driver, make, kind, format):
    path = make(kind, format, n=N, shards=SHARDS)
    program(
        driver,
        """
path, kind = %r, %r

def plain(v):
    if isinstance(v, dict): return {k: plain(x) for k, x in v.items()}
    if isinstance(v, (dlpack.DLTensor, Filling.Tensor)): v = fetch(v)
    return v

def floats(v, f):
    return shardify.bf16_to_f32(v) if f.dtype == "bf16" else v

ways = dict(shuffle="global"), dict(shuffle="block", shuffle_window=24, streams=3, tier="stream"), dict(tier="pinned")
for framework, copy in (Own, True), (Own, False), (Filling, True):
    frameworks._ALL["dlpack"] = framework
    for kw in ways:
        with shardify.Loader(path, 5, framework="dlpack", device="cuda:0", copy=copy, last="pad", **kw) as loader:
            assert loader.device == "cuda:0"
            for _ in range(2):
                seen = []
                for b in loader:
                    got = shardify.LoaderBatch({k: plain(v) for k, v in b.items()})
                    got.__dict__.update(b.__dict__)
                    for f in loader.schema:
                        if f.dtype == "bf16":
                            got[f.name] = shardify.bf16_to_f32(got[f.name])
                    seen += loading.check(kind, got, loader.schema)
                    want = Filling.Tensor if framework is Filling else np.ndarray if copy else dlpack.DLTensor
                    assert isinstance(b.get("x"), want) or kind != "fixed"
                assert sorted(seen) == list(range(loading.N))
            b = got = None
end()
"""
        % (path, kind),
    )


def test_the_gpu_writes_the_ids_down(driver, tmp_path):
    """`device_ids` has the bytes of `ids`, padding too, and is held as a field is."""
    from loading import numbered

    path = numbered(tmp_path / "s", 150)
    program(
        driver,
        """
path = %r
ways = dict(tier="pinned"), dict(shuffle="global", tier="pinned"), dict(shuffle="global", tier="device", device_memory="1MiB"), dict(shuffle="block", shuffle_window=24, streams=3, tier="stream")
for framework, copy in (Own, True), (Own, False), (Filling, True):
    frameworks._ALL["dlpack"] = framework
    for last in "pad", "short":
        for kw in ways:
            with shardify.Loader(path, 8, framework="dlpack", device="cuda:0", ids="device", copy=copy, last=last, seed=3, **kw) as loader:
                n = 0
                for b in loader:
                    have = b.device_ids
                    have = have if isinstance(have, np.ndarray) else fetch(have)
                    assert have.dtype == np.int64 and have.tobytes() == b.ids.tobytes(), (have, b.ids)
                    n += b.rows
                assert n == 150
                b.release()
                try: b.device_ids
                except AttributeError as e: assert 'ids="device"' in str(e)
                else: assert False
                b = have = None
with shardify.Loader(path, 8, framework="dlpack", device="cuda:0", tier="pinned") as loader:
    b = next(iter(loader))
    assert not hasattr(b, "device_ids")
    b = None
for kw, says in (dict(shuffle="global", tier="stream"), "tier stream"), (dict(ring=2), "out= and ring="):
    try: shardify.Loader(path, 8, framework="dlpack", device="cuda:0", ids="device", **kw)
    except shardify.UnsupportedError as e: assert says in str(e), e
    else: assert False, kw
end()
"""
        % path,
    )


def test_memory_is_not_used_again_before_its_stream_is_done(driver, tmp_path):
    """Slow streams: what is read late, in order of the stream, is still the batch. Held batches stay."""
    from loading import numbered

    path = numbered(tmp_path / "s", 400)
    program(
        driver,
        """
fake.fakecuda_configure(b"FAKECUDA_ORDER", b"late")
late = Late()
with shardify.Loader(%r, 4, framework="dlpack", device="cuda:0", copy=False, depth=2, shuffle="global") as loader:
    it = iter(loader)
    for k, b in enumerate(it):
        t = b["x"]
        if isinstance(t, dlpack.DLTensor):
            late.read(t, b.ids, stream.value)  # looked at much later: the batch is let go before that
        del b, t
    assert late.check() == 100
    # More than there are to lend: the rest comes as copies, and all stays good.
    kept = []
    for b in loader:
        kept.append((b.ids, b["x"]))
        if len(kept) > 6: kept.pop(0)
    assert {type(x) for _, x in kept} == {dlpack.DLTensor, np.ndarray}
    for ids, x in kept:
        assert (fetch(x) if isinstance(x, dlpack.DLTensor) else x).tolist() == ids.tolist()
    # Closed while batches are held: they stay until they are let go.
    tail = [(b.ids, b["x"]) for b, _ in zip(loader, range(2))]
for ids, x in tail:
    assert (fetch(x) if isinstance(x, dlpack.DLTensor) else x).tolist() == ids.tolist()
kept = tail = x = b = it = None
end()
"""
        % path,
    )


# How a consumer comes to a tensor, and where it reads it. `t` is the tensor, `b` its batch.
CONSUMERS = {
    "dlpack, its own stream": "t.__dlpack__(stream=other); late.read(t, b.ids, other)",
    "dlpack, the stream of the framework": "t.__dlpack__(stream=mine); late.read(t, b.ids, mine)",
    "dlpack, the stream of the framework and another": "t.__dlpack__(stream=mine); t.__dlpack__(stream=other); late.read(t, b.ids, other)",
    "dlpack, the default stream": "t.__dlpack__(stream=1); late.read(t, b.ids, 1)",
    "dlpack, none": "t.__dlpack__(); late.read(t, b.ids, 0)",
    "dlpack, the thread's own": "t.__dlpack__(stream=2); late.read(t, b.ids, 2)",
    "dlpack, another thread's own": "elsewhere(lambda: (t.__dlpack__(stream=2), late.read(t, b.ids, 2)))",
    "dlpack, no stream named": "wait(mine); t.__dlpack__(stream=-1); late.read(t, b.ids, other)",
    "dlpack, stream named at release": "wait(mine); t.__dlpack__(stream=-1); late.read(t, b.ids, other); b.release(stream=other)",
    "record_stream": "follow(other, mine); late.read(t, b.ids, other); b.record_stream(other)",
    "release": "follow(other, mine); late.read(t, b.ids, other); b.release(stream=other)",
    "a stream that ends before the batch": "s = new_stream(); t.__dlpack__(stream=s.value); late.read(t, b.ids, s.value); b.release(stream=s.value); must('cuStreamDestroy_v2', s)",
    "again after it left": "t.__dlpack__(stream=mine); b.release(stream=mine); t.__dlpack__(stream=mine); late.read(t, b.ids, mine)",
}


@pytest.mark.parametrize("order", ["late", "3"])
def test_a_consumer_on_a_stream_of_its_own_may_read_late(driver, tmp_path, order):
    """The loader knows every stream that a consumer named, and writes the memory behind all."""
    from loading import numbered

    path = numbered(tmp_path / "s", 160)
    program(
        driver,
        """
fake.fakecuda_configure(b"FAKECUDA_ORDER", %r)
mine, other, late = stream.value, new_stream().value, Late()

def elsewhere(f):
    def run():
        must("cuCtxSetCurrent", context)
        f()
    t = threading.Thread(target=run)
    t.start(); t.join()

def follow(one, two):
    e = ctypes.c_void_p()
    must("cuEventCreate", ctypes.byref(e), 2)
    must("cuEventRecord", e, ctypes.c_void_p(two))
    must("cuStreamWaitEvent", ctypes.c_void_p(one), e, 0)
    must("cuEventDestroy_v2", e)

def wait(s): must("cuStreamSynchronize", ctypes.c_void_p(s))

def epochs(how):
    use = {}
    exec("def f(t, b): " + how, globals(), use)
    with shardify.Loader(%r, 4, framework="dlpack", device="cuda:0", copy=False, depth=1, shuffle="global") as loader:
        for epoch in range(2):
            for b in loader:
                t = b["x"]
                assert isinstance(t, dlpack.DLTensor)
                use["f"](t, b)
                del b, t
        assert late.check() == 80

for name, how in %r.items():
    for kind in Own, Plain:
        if kind is Own or "mine" not in how:
            frameworks._ALL["dlpack"] = kind
            epochs(how)
            assert text("report") == "", (name, text("report"))
must("cuStreamDestroy_v2", ctypes.c_void_p(other))
end()
"""
        % (order.encode(), path, CONSUMERS),
    )


def test_dlpack_on_the_device_waits_once_for_each_stream(driver, tmp_path):
    from loading import numbered

    path = numbered(tmp_path / "s", 80)
    program(
        driver,
        """
other = new_stream()
calls = lambda: dict(l.rsplit(" ", 1) for l in text("calls").splitlines()).get("cuStreamWaitEvent", "0")
with shardify.Loader(%r, 4, framework="dlpack", device="cuda:0", copy=False) as loader:
    b = next(iter(loader))
    t = b["x"]
    assert t.__dlpack_device__() == (2, 0)
    time.sleep(0.1)
    for s, waits in ((stream.value, 0), (-1, 0), (other.value, 1), (other.value, 0), (None, 1), (1, 0), (2, 1), (2, 1)):
        before = int(calls())
        t.__dlpack__(stream=s)
        assert (int(calls()) > before) == bool(waits), s
    for bad in "a stream", None, 1.5:
        try:
            b.record_stream(bad)
            assert False
        except TypeError as e:
            assert "is not a stream" in str(e)
    del t, b
must("cuStreamDestroy_v2", other)
end()
"""
        % path,
    )


def test_a_batch_costs_its_consumer_one_visit(driver, make):
    """One bracket of the driver for each batch, however it is delivered: copied into memory of the
    framework, lent, or to one that names no stream; and one launch copies all tensors."""
    path, jagged = (make(kind, "mmap", kind, n=160) for kind in ("fixed", "jagged"))
    program(
        driver,
        """
class HostWaits(Own):  # as JAX
    def stream(self): return clib.CALLER
    def own(self, t):
        t.__dlpack__(stream=stream.value)
        return fetch(t)

def counts(): return {k: int(n) for k, n in (l.rsplit(" ", 1) for l in text("calls").splitlines())}

work = "cuLaunchKernel", "cuMemcpyDtoDAsync_v2", "cuStreamWaitEvent", "cuEventRecord", "cuEventSynchronize", "cuMemcpyHtoDAsync_v2", "cuMemcpyBatchAsync_v2"
for path, lists in (%r, 0), (%r, 1):
    for framework, copy in (Filling, True), (Own, False), (HostWaits, True):
        frameworks._ALL["dlpack"] = framework
        with shardify.Loader(path, 4, framework="dlpack", device="cuda:0", tier="pinned", copy=copy, last="pad", shuffle="global") as loader:
            for _ in range(2):
                for b in loader: b = None
            before, n = counts(), 0
            for _ in range(2):
                for b in loader: b, n = None, n + 1
            after = counts()
            each = {k: (after[k] - before.get(k, 0)) / n for k in after}
            calls = sum(each.get(k, 0) for k in work)
            assert n == 80 and each["cuCtxGetCurrent"] <= 1.1, (framework, each)
            if framework is Filling: assert each["cuLaunchKernel"] <= 2.1 and each.get("cuMemcpyDtoDAsync_v2", 0) == 0, each
            assert each["cuStreamIsCapturing"] <= (2 if framework is Own else 1), each
            # Of lists one more, and what it takes until their slots are large enough. Batches are made ahead.
            assert framework is HostWaits or calls <= 6.4 + 1.3 * lists, (framework, calls, each)
end()
"""
        % (path, jagged),
    )


def test_pixels_of_the_gpu_are_those_of_pillow(driver):
    """Parts of images of every size and layout, resized, mirrored and cast by the kernel: to the bit."""
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    program(
        driver,
        """
import types
from PIL import Image
from shardify import decode, pixels
from shardify.geometry import Cut, Shaping, draws

class Memory:
    # Bytes on the device, as far as a tensor of torch describes them.
    def __init__(self, data, strides=None):
        self.at, self.n, self.strides = ctypes.c_void_p(), len(data), strides
        must("cuMemAlloc_v2", ctypes.byref(self.at), u64(max(self.n, 1)))
        ctypes.memmove(self.at, bytes(data), self.n)
    def data_ptr(self): return self.at.value
    def stride(self): return self.strides
    def numel(self): return self.n
    def free(self): must("cuMemFree_v2", self.at)

kinds = {"u8": "u1", "f16": "f2", "bf16": "u2", "f32": "f4"}
torch = types.ModuleType("torch")
torch.uint8, torch.float16, torch.bfloat16, torch.float32 = kinds.values()
torch.empty = lambda shape, dtype, device: Memory(np.full(shape, 77, dtype).tobytes())
torch.device = lambda d: types.SimpleNamespace(index=0)
torch.cuda = types.SimpleNamespace(current_stream=lambda n: types.SimpleNamespace(cuda_stream=stream.value))
sys.modules["torch"] = torch
rng = np.random.default_rng(7)
whole = lambda n: int(rng.integers(n))

def image(w, h, c):
    # An image and the memory that a decoder might have it in.
    a = rng.integers(0, 256, (h, w, c), dtype="u1")
    if whole(2):
        pixel = c + whole(2)
        row = w * pixel + whole(9)
        m = np.full(row * (h - 1) + (w - 1) * pixel + c, 9, "u1")
        to = np.lib.stride_tricks.as_strided(m, (h, w, c), (row, pixel, 1))
        strides = 1, row, pixel
    else:
        row = w + whole(5)
        plane = row * h + whole(7)
        m = np.full(plane * (c - 1) + row * (h - 1) + w, 9, "u1")
        to = np.lib.stride_tricks.as_strided(m, (h, w, c), (row, 1, plane))
        strides = plane, row, 1
    to[...] = a
    return a, Memory(m, strides)

def shaping():
    size = 1 + whole(40), 1 + whole(40)
    k = whole(4)
    if k == 0: return Shaping.make(size, None, False, 0.5)
    if k == 1: return Shaping.make(None, size, (0.05, 1), 0.5)
    if k == 2: return Shaping.make((size[0] + whole(30), size[1] + whole(30)), size, True, 0.5)
    return Shaping.make(int(max(size)) + whole(20), (min(size),) * 2, False, 0.0)

def shown(a, cut):
    # What the host makes of it.
    p = Image.fromarray(a[:, :, 0] if a.shape[2] == 1 else a)
    p = decode._rows_first(Image)(p, cut.out, cut.box(1.0, cut.source))
    p = np.asarray(p).reshape(cut.out[1], cut.out[0], -1)
    return p[:, ::-1] if cut.mirrored else p

calls = lambda: int(dict(l.rsplit(" ", 1) for l in text("calls").splitlines()).get("cuLaunchKernel", "0"))
for trial in range(24):
    c, last, how = (1, 3)[whole(2)], bool(whole(2)), shaping()
    n = 86 if trial == 0 else 1 + whole(4)
    if trial == 0: how = Shaping.make((3, 2), None, False, 0.5)
    kind = "u8" if trial == 0 else list(kinds)[whole(4)]
    scale = tuple(float(np.float32(v)) for v in rng.normal(size=2 * c) / 60)
    cast = None if kind == "u8" else pixels.Cast(kind, scale[:c], scale[c:]) if whole(2) else pixels.Cast(kind)
    chance, images, want, none = draws(trial, 1, np.arange(n)), [], [], []
    h = w = 0
    for k in range(n):
        w, h = (1 + whole(3), 1 + whole(3)) if k % 3 == 0 else (1 + whole(130), 1 + whole(130))
        a, m = image(w, h, c)
        if how.area is None and how.resize is not None and how.shorter and min(w, h) < max(w, h) // 20: a, m = image(w := 9, h := 8, c)
        cut = how.cut(w, h, chance[k])
        if k % 5 == 4: images.append(None), want.append(np.zeros((cut.out[1], cut.out[0], c), "u1")), none.append(k)
        else: images.append((m, cut)), want.append(shown(a, cut))
    want = np.stack(want) if last else np.stack(want).transpose(0, 3, 1, 2)
    shape = (c,) + cut.out[::-1]
    before = calls()
    out = pixels.paint(images, shape, last, cast, "cuda:0")
    assert calls() - before == -(-n // 84)
    must("cuStreamSynchronize", stream)
    got = np.frombuffer(ctypes.string_at(out.at, out.n), kinds[kind]).reshape(want.shape)
    if cast: want = cast.of(want, last, none)
    assert want.dtype == got.dtype and want.tobytes() == got.tobytes(), (trial, c, last, kind, how)
    assert text("report") == "", text("report")

# Pixels that the kernel has no room for, and pixels outside of an image, are refused.
a, m = image(9, 8, 1)
for part, says in (((0, 0, 10, 8), "part"), ((3, 2, 0, 4), "part"), ((0, 0, 9, 8), "")):
    class Part(Cut):
        def box(self, by, size): return tuple(float(v) for v in (part[0], part[1], part[0] + part[2], part[1] + part[3]))
    cut = Part((9, 8), part, (4, 4), (0, 0), (4, 4), False)
    try:
        pixels.paint([(m, cut)], (1, 4, 4), False, None, "cuda:0")
        assert not says
    except ValueError as e:
        assert says and says in str(e), e
wide = Cut((60000, 1), (0, 0, 60000, 1), (4, 4), (0, 0), (4, 4), False)
assert not pixels.fits(wide) and pixels.fits(Cut((3000, 40), (0, 0, 3000, 40), (4, 4), (0, 0), (4, 4), False))
try:
    pixels.paint([(m, wide)], (1, 4, 4), False, None, "cuda:0")
    assert False
except shardify.UnsupportedError as e:
    assert "becomes 4x4 on a GPU" in str(e), e
ready = Memory(bytes(16))
torch.empty = lambda shape, dtype, device: ready
fake.fakecuda_capture_on(stream)
try:
    pixels.paint([(m, Cut((9, 8), (0, 0, 9, 8), (4, 4), (0, 0), (4, 4), False))], (1, 4, 4), False, None, "cuda:0")
    assert False
except shardify.DeviceError as e:
    assert "captur" in str(e), e
fake.fakecuda_capture(0)
assert text("report") == "", text("report")
""",
    )


def test_dense_rows_by_the_kernel(driver):
    """Those of NumPy, with and without a choice of columns; rows whose columns do not rise, or do not exist, are left to torch."""
    program(
        driver,
        """
import types
from shardify.matrices import Matrices, Matrix, Sparse

class Memory:
    # An array on the device, as far as a tensor of torch describes it.
    def __init__(self, a):
        self.a, self.at, self.device = a, ctypes.c_void_p(), "cuda:0"
        must("cuMemAlloc_v2", ctypes.byref(self.at), u64(max(a.nbytes, 1)))
        ctypes.memmove(self.at, a.tobytes(), a.nbytes)
    dtype = property(lambda self: "torch." + str(self.a.dtype))
    def __len__(self): return len(self.a)
    def element_size(self): return self.a.itemsize
    def data_ptr(self): return self.at.value
    def to(self, device): return self
    def __getitem__(self, k):
        must("cuStreamSynchronize", stream)
        return np.frombuffer(ctypes.string_at(self.at, self.a.nbytes), self.a.dtype).reshape(self.a.shape)[k]

torch = types.ModuleType("torch")
torch.int32 = "i4"
torch.empty = lambda shape, dtype, device: Memory(np.full(shape, 77, dtype.replace("torch.", "")))
torch.zeros = lambda n, dtype, device: Memory(np.zeros(n, dtype))
torch.from_numpy = Memory
torch.device = lambda d: types.SimpleNamespace(index=0)
torch.cuda = types.SimpleNamespace(current_stream=lambda n: types.SimpleNamespace(cuda_stream=stream.value))
sys.modules["torch"] = torch
made = Matrices.__new__(Matrices)
made.framework = types.SimpleNamespace(torch=torch)
rng = np.random.default_rng(5)
for trial in range(24):
    rows, width = int(rng.integers(0, 6)), int(rng.integers(1, 120))
    dense = (rng.integers(1, 100, (rows, width)) * (rng.random((rows, width)) < 0.3)).astype(["f4", "f8", "u1", "i2"][trial % 4])
    row, columns = np.nonzero(dense)
    data, offsets = dense[row, columns], np.searchsorted(row, np.arange(rows + 1))
    columns = columns.astype(["i4", "i8", "u2", "i1"][trial // 2 % 4])
    choice, want = None, dense
    if trial % 3 == 0:
        some = rng.permutation(width)[: width // 2]
        choice, want = np.full(width, -1, "i4"), dense[:, some]
        choice[some] = np.arange(len(some))
    m = Matrix("X", Sparse("dense"), "i", "v", width, want.shape[1], choice, "f32")
    of = lambda c: made._by_kernel(m, Memory(data), Memory(c), Memory(offsets), rows)
    got = of(columns)[:]
    assert got.dtype == want.dtype and np.array_equal(got, want), trial
    for wrong in (width, int(columns[0]) if len(columns) else 0):
        longest = int(np.argmax(np.diff(offsets))) if rows else 0
        if rows and offsets[longest + 1] - offsets[longest] > 1:
            bad = columns.copy()
            bad[offsets[longest] + 1] = bad[offsets[longest]] if wrong < width else width
            assert of(bad) is None, trial
    assert text("report") == "", text("report")
""",
    )


def test_dlpack_delivers_with_the_default_copy(driver, tmp_path):
    """framework="dlpack": batches are the consumer's as long as it likes, however many it holds."""
    from loading import numbered

    path = numbered(tmp_path / "s", 160)
    program(
        driver,
        """
frameworks._ALL["dlpack"] = Plain
for copy in True, False:
    # By tier: "auto" may take memory of the device for the samples while it delivers.
    with shardify.Loader(%r, 4, framework="dlpack", device="cuda:0", copy=copy, depth=2, tier="pinned") as loader:
        kept = [(b.ids, b["x"]) for b in loader]
        assert len(kept) == 40 and len({t._address for _, t in kept}) == 40
        late = Late()
        for ids, t in kept:
            t.__dlpack__(stream=stream.value)
            late.read(t, ids, stream.value)
        slots = int(text("alive").split("device ")[1].split(",")[0])
        del kept, t
        for b in loader:  # what was held is used again, and no more is made
            b["x"].__dlpack__(stream=stream.value)
            late.read(b["x"], b.ids, stream.value)
        assert int(text("alive").split("device ")[1].split(",")[0]) == slots
        del b
        assert late.check() == 80
        tail = [(b.ids, b["x"]) for b, _ in zip(loader, range(5))]
    for ids, t in tail:
        t.__dlpack__(stream=stream.value)
        assert fetch(t).tolist() == ids.tolist()
    del tail, t
# A device that is full says so, and goes on when a batch is let go of.
with shardify.Loader(%r, 4, framework="dlpack", device="cuda:0", depth=1) as loader:
    it = iter(loader)
    held = [next(it)]
    fake.fakecuda_configure(b"FAKECUDA_FAIL", b"cuMemAlloc_v2:1:2")
    try:
        while True: held.append(next(it))
    except shardify.DeviceError as e:
        assert "cuMemAlloc_v2: CUDA error 2" in str(e), e
    fake.fakecuda_configure(b"FAKECUDA_FAIL", b"")
    del held[0]
    held.append(next(it))
    assert [i for b in held for i in b.ids.tolist()] == list(range(4, 4 + 4 * len(held)))
    del held
end()
"""
        % (path, path),
    )


def test_jax_is_never_lent_anything(driver, tmp_path):
    """JAX computes on an unknown stream: it copies, and the host waits for the copy
    before the memory is used again. A JAX of a few lines, as far as the loader uses it."""
    from loading import numbered

    path = numbered(tmp_path / "s", 160)
    program(
        driver,
        """
import types
compute, external = new_stream(), new_stream()

class Imported:
    def __init__(self, t): self.t, self.capsule = t, t.__dlpack__(stream=external.value)

class Copied:
    def __init__(self, of):
        self.n, self.host = 8 * of.t.shape[0], ctypes.c_void_p()
        e = ctypes.c_void_p()
        must("cuEventCreate", ctypes.byref(e), 2)
        must("cuEventRecord", e, external)
        must("cuStreamWaitEvent", compute, e, 0)
        must("cuEventDestroy_v2", e)
        must("cuMemHostAlloc", ctypes.byref(self.host), u64(self.n), 0)
        must("cuMemcpyDtoHAsync_v2", self.host, u64(of.t._address), u64(self.n), compute)
    def block_until_ready(self):
        must("cuStreamSynchronize", compute)
        return self
    def tolist(self):
        out = np.frombuffer(ctypes.string_at(self.host.value, self.n), "i8").tolist()
        must("cuMemFreeHost", self.host)
        return out

jax = types.ModuleType("jax")
jax.dlpack = types.SimpleNamespace(from_dlpack=Imported)
jax.numpy = types.SimpleNamespace(array=lambda a, copy: Copied(a), bfloat16=None)
jax.config = types.SimpleNamespace(jax_default_device=None)
jax.local_devices = lambda: [types.SimpleNamespace(platform="gpu", id=3, local_hardware_id=0)]
sys.modules["jax"] = jax
fake.fakecuda_configure(b"FAKECUDA_ORDER", b"late")
with shardify.Loader(%r, 4, framework="jax", depth=1, shuffle="global") as loader:
    assert loader.device == "cuda:0"
    kept = [(b.ids.tolist(), b["x"]) for _ in range(2) for b in loader]
    assert len(kept) == 80
    must("cuCtxSynchronize")
    for ids, x in kept: assert x.tolist() == ids
try:
    shardify.Loader(%r, 4, framework="jax", copy=False)
    assert False
except shardify.UnsupportedError as e:
    assert "copy=False" in str(e) and "leave copy=True" in str(e)
jax.local_devices = lambda: [types.SimpleNamespace(platform="cpu", id=0)]
with shardify.Loader(%r, 4, framework="jax") as loader:
    assert loader.device == "host"
del kept, x
for s in compute, external: must("cuStreamDestroy_v2", s)
end()
"""
        % (path, path, path),
    )


def test_batches_in_memory_of_the_consumer_keep_their_addresses(driver, tmp_path):
    """out=: what a CUDA graph reads. Each batch is written behind the consumer's work with the
    one before, nothing is asked for inside a capture, and batches are made ahead meanwhile."""
    from loading import numbered

    path = numbered(tmp_path / "s", 162, y=lambda i: 3 * i)
    program(
        driver,
        """
class Memory:
    # An array on the device, as far as CUDA's array interface describes it.
    def __init__(self, n, shift=0, host=False, kind="<i8", strides=None):
        at = ctypes.c_void_p()
        must("cuMemHostAlloc", ctypes.byref(at), u64(4096), 0) if host else must("cuMemAlloc_v2", ctypes.byref(at), u64(4096))
        self.base, self._address, self.host = at, at.value + shift, host
        self.__cuda_array_interface__ = {"shape": (n,), "typestr": kind, "data": (self._address, False), "strides": strides, "version": 3}
    def __getitem__(self, rows): return self
    def free(self): must("cuMemFreeHost" if self.host else "cuMemFree_v2", self.base)

class Streamed(Plain):
    def stream(self): return stream.value

frameworks._ALL["dlpack"] = Streamed
path, late = %r, Late()
way = dict(framework="dlpack", device="cuda:0", depth=1, shuffle="global", last="pad")
for order in b"late", b"1", b"2":
    fake.fakecuda_configure(b"FAKECUDA_ORDER", order)
    for n in 1, 3:
        sets = [{"x": Memory(4), "y": Memory(4)} for _ in range(n)]
        with shardify.Loader(path, 4, out=sets if n > 1 else sets[0], **way) as loader:
            for epoch in range(2):
                for k, b in enumerate(loader):
                    assert b["x"] is sets[(epoch * 41 + k) %% n]["x"]
                    ids = np.where(b.ids < 0, 0, b.ids)
                    late.read(b["x"], ids, stream.value)
                    late.read(b["y"], 3 * ids, stream.value)
            assert late.check() == 2 * 2 * 41
            # Inside a capture nothing happens, and nothing is lost.
            it = iter(loader)
            first = next(it)["x"]
            fake.fakecuda_capture_on(stream)
            for _ in range(2):
                try:
                    next(it)
                    assert False
                except shardify.DeviceError as e:
                    assert "would replay this one batch for ever" in str(e)
            time.sleep(0.05)  # the next batches are made
            fake.fakecuda_capture(0)
            b = next(it)
            assert b.index == 1
            late.read(b["x"], b.ids, stream.value)
            assert late.check() == 1
        for d in sets:
            for m in d.values(): m.free()

# Without out=, too: memory that was lent comes back when the capture is over.
with shardify.Loader(path, 4, copy=False, **way) as loader:
    it = iter(loader)
    t = next(it)["x"]
    t.__dlpack__(stream=stream.value)
    fake.fakecuda_capture_on(stream)
    del t
    try:
        next(it)
        assert False
    except shardify.DeviceError as e:
        assert "ask for batches before the capture" in str(e)
    fake.fakecuda_capture(0)
    for k, b in enumerate(it): assert b.index == k + 1
    assert k == 39
    del b

good, two = Memory(4), Memory(4)
for bad, says in (
    ({"x": good}, "tensors for x, want x, y"),
    ({"x": good, "y": Memory(5)}, "has shape (5,), want (4,)"),
    ({"x": good, "y": Memory(4, kind="<i4")}, "is of int32"),
    ({"x": good, "y": Memory(4, strides=(16,))}, "is not contiguous"),
    ({"x": good, "y": Memory(4, shift=8)}, "want a multiple of 16"),
    ({"x": good, "y": good}, "x and y are the same memory"),
    ({"x": good, "y": Memory(4, host=True)}, "is not in the memory of a GPU"),
    ({"x": good, "y": np.empty(4, "i8")}, "is not an array of framework='dlpack' on cuda:0"),
    ([], "want a dict of tensors"),
):
    try:
        shardify.Loader(path, 4, out=bad, **way)
        assert False, says
    except (ValueError, TypeError) as e:
        assert says in str(e), (says, e)
    if bad:
        if isinstance(bad["y"] if "y" in bad else 0, Memory) and bad["y"] is not good: bad["y"].free()
for more, says in ((dict(ring=2), "give one"), (dict(transform_threads=1), "transform_threads= does not go with")):
    try:
        shardify.Loader(path, 4, out={}, **more, **way)
        assert False
    except ValueError as e:
        assert says in str(e)
try:
    shardify.Loader(path, 4, ring=2, **way)
    assert False
except shardify.UnsupportedError as e:
    assert "give tensors with out=" in str(e)
good.free(), two.free()
end()
"""
        % path,
    )


def test_a_gpu_that_fails_says_so(driver, tmp_path):
    from loading import numbered

    path = numbered(tmp_path / "s", 200)
    program(
        driver,
        """
path = %r
way = dict(framework="dlpack", device="cuda:0", tier="stream", shuffle_window=16, shuffle="block")
calls = (b"cuMemAlloc_v2", b"2"), (b"cuMemcpyHtoDAsync_v2", b"700"), (b"cuEventRecord", b"700"), (b"cuStreamWaitEvent", b"700")
for name, code in calls:
    for n in 1, 5, 20:
        fake.fakecuda_configure(b"FAKECUDA_FAIL", b"%%s:%%d:%%s" %% (name, n, code))
        try:
            with shardify.Loader(path, 4, **way) as loader:
                for b in loader: pass
            failed = False
        except shardify.DeviceError as e:
            failed = True
            assert name.decode() in str(e) and "CUDA error " + code.decode() in str(e), e
        assert failed or n > 1, name
        fake.fakecuda_configure(b"FAKECUDA_FAIL", b"")
        b = loader = None
        assert "device 0, streams 1" in text("alive") and "registered 0" in text("alive"), text("alive")
try:
    shardify.Loader(path, 4, framework="dlpack", device="cuda:1")
    assert False
except shardify.DeviceError as e:
    assert "no such device" in str(e)
assert clib.probe("cuda:0")["Name"] == "Fake GPU"
end()
"""
        % path,
    )


def test_without_a_driver(tmp_path):
    from loading import numbered

    path = numbered(tmp_path / "s", 20)
    out = run(
        """
        import shardify
        from shardify import clib
        with shardify.Loader(%r, 4, framework="dlpack") as loader:
            print(loader.device)
        try:
            shardify.Loader(%r, 4, framework="dlpack", device="cuda:0")
        except shardify.DeviceError as e:
            print("no driver" in str(e))
        print(clib.probe()["Device"])
        """
        % (path, path),
        GPULOAD_LIBCUDA="/nowhere/libcuda.so.1",
    )
    assert out == "host\nTrue\nhost\n"
