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
SOURCE = os.path.join(ROOT, "internal", "fakecuda", "driver", "fakecuda.c")
pytestmark = [
    needs_library,
    pytest.mark.skipif(
        CC is None or not os.path.exists(SOURCE), reason="no C compiler to build the driver's stand-in with"
    ),
]


@pytest.fixture(scope="module")
def driver():
    """A stand-in for libcuda.so.1 that launches the PTX of the library, every access checked."""
    folder = tempfile.mkdtemp()
    path, kernels = os.path.join(folder, "libcuda.so.1"), os.path.join(folder, "kernels.")
    tool = os.path.join(ROOT, "internal", "fakecuda", "ptxcpu")
    ptx = os.path.join(ROOT, "gpuload", "internal", "cuda", "kernels.ptx")
    flags = ["-O1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-w"]
    for command in (
        [sys.executable, os.path.join(tool, "ptxcpu.py"), ptx, "-o", kernels + "c"],
        [CC, "-c", *flags, "-frounding-math", "-fno-strict-aliasing", "-o", kernels + "o", kernels + "c"],
        [CC, "-shared", *flags, "-DFAKECUDA_BATCH=2", "-DFAKECUDA_PTX", "-I" + tool]
        + ["-o", path, SOURCE, kernels + "o", "-lpthread", "-lm"],
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
    name = "torch"
    def stream(self): return stream.value
    def own(self, t): return self.to_host(t)
    def to_host(self, t): return fetch(t)
    def join(self, handover, other): joined.append((handover, other))

joined = []
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
    if isinstance(v, dlpack.DLTensor): v = fetch(v)
    return v

def floats(v, f):
    return shardify.bf16_to_f32(v) if f.dtype == "bf16" else v

ways = dict(shuffle="global"), dict(shuffle="block", window=24, streams=3, tier="stream"), dict(tier="pinned")
for copy in True, False:
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
                    assert copy != isinstance(b.get("x"), dlpack.DLTensor) or kind != "fixed"
                assert sorted(seen) == list(range(loading.N))
            b = got = None
end()
"""
        % (path, kind),
    )


def test_memory_is_not_used_again_before_its_stream_is_done(driver, tmp_path):
    """Slow streams: what is read late, in order of the stream, is still the batch. Held batches stay."""
    from loading import numbered

    path = numbered(tmp_path / "s", 400)
    program(
        driver,
        """
fake.fakecuda_configure(b"FAKECUDA_ORDER", b"late")
late = []
with shardify.Loader(%r, 4, framework="dlpack", device="cuda:0", copy=False, depth=2, shuffle="global") as loader:
    it = iter(loader)
    for k, b in enumerate(it):
        t = b["x"]
        if isinstance(t, dlpack.DLTensor):
            # Copied on the stream, looked at much later: the batch is let go before that.
            out = np.full(4, -1)
            host = ctypes.c_void_p()
            must("cuMemHostAlloc", ctypes.byref(host), u64(32), 0)
            must("cuMemcpyDtoHAsync_v2", host, u64(t._address), u64(32), stream)
            late.append((b.ids, host))
        del b, t
    must("cuStreamSynchronize", stream)
    for ids, host in late:
        assert np.frombuffer(ctypes.string_at(host.value, 32), "i8").tolist() == ids.tolist()
        must("cuMemFreeHost", host)
    assert len(late) == 100
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


def test_record_stream_puts_off_the_return(driver, tmp_path):
    from loading import numbered

    path = numbered(tmp_path / "s", 80)
    program(
        driver,
        """
with shardify.Loader(%r, 4, framework="dlpack", device="cuda:0", copy=False) as loader:
    it = iter(loader)
    b = next(it)
    b.record_stream("other")
    b.record_stream("third")
    next(it)
    assert joined == [] and len(loader._delivery.recorded) == 1
    b.release()
    next(it)
    assert joined == [(stream.value, "other"), (stream.value, "third")] and not loader._delivery.recorded
    b = next(it)
    b.record_stream("never settled")
    b = None
end()
"""
        % path,
    )


def test_dlpack_on_the_device_waits_for_the_consumers_stream(driver, tmp_path):
    from loading import numbered

    path = numbered(tmp_path / "s", 80)
    program(
        driver,
        """
other = ctypes.c_void_p()
must("cuStreamCreateWithPriority", ctypes.byref(other), 1, 0)
calls = lambda: dict(l.rsplit(" ", 1) for l in text("calls").splitlines()).get("cuStreamWaitEvent", "0")
with shardify.Loader(%r, 4, framework="dlpack", device="cuda:0", copy=False) as loader:
    b = next(iter(loader))
    t = b["x"]
    assert t.__dlpack_device__() == (2, 0)
    time.sleep(0.1)
    for s, waits in ((stream.value, 0), (-1, 0), (other.value, 1), (None, 1), (1, 1)):
        before = int(calls())
        t.__dlpack__(stream=s)
        assert (int(calls()) > before) == bool(waits), s
    del t, b
must("cuStreamDestroy_v2", other)
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
way = dict(framework="dlpack", device="cuda:0", tier="stream", window=16, shuffle="block")
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
