"""copy=False: tensors over the loader's memory, which waits for the last of them."""

from __future__ import annotations

import ctypes
import gc
import threading

import fixture
import numpy as np
import pytest
from loading import FRAMEWORKS, SHARDS, N, alone, as_numpy, needs_library, numbered, torch

import shardify
from shardify import clib, dlpack

pytestmark = needs_library


def wide(folder, n=64):
    """A set whose sample i is 300 times i."""
    return fixture.write(
        folder, [{"name": "x", "dtype": "f32", "shape": [300]}], [{"x": np.full(300, i)} for i in range(n)]
    )


def held(batch_or_lease):
    return ctypes.c_int64.from_address(batch_or_lease).value


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_tensors_stay_what_they_are_as_long_as_they_are_held(tmp_path, framework):
    """However many are kept, by a view of a part or by a thread: none changes."""
    path = wide(tmp_path / "s")
    with shardify.Loader(path, 4, framework=framework, device="cpu", copy=False, depth=2) as loader:
        kept = []
        for _ in range(3):
            for b in loader:
                kept.append((b.ids[1], b["x"][1][5:7]))
                if len(kept) > 9:
                    kept.pop(0)
                for i, part in kept:
                    assert part.tolist() == [i, i]
        del b
    # What is held outlives the loader, too.
    assert all(part.tolist() == [i, i] for i, part in kept)


def test_nothing_is_copied_while_few_are_held(tmp_path):
    with alone(wide(tmp_path / "s"), 4, framework="numpy", copy=False) as loader:
        for _ in range(5):
            places = {b["x"].ctypes.data for b in loader}
        assert len(places) <= loader._info["slots"]
        b = next(iter(loader))
        again = np.asarray(b["x"])
        assert again.ctypes.data == b["x"].ctypes.data and again.flags.writeable
        b.release()
        assert list(b) == []


def test_groups_are_not_copied_while_few_are_held(tmp_path):
    """Batches that come together are adjacent in the loader's memory; keeping one keeps it
    as it is, and when all memory is held the next ones are copies."""
    with shardify.Loader(wide(tmp_path / "s"), 4, framework="numpy", copy=False, depth=2) as loader:
        assert loader._info["group"] == 16
        for _ in range(5):
            places = [b["x"].ctypes.data for b in loader]
            assert places == list(range(places[0], places[0] + 16 * 4800, 4800))
        kept = []
        for _ in range(8):
            kept.append([(b.ids, b["x"]) for b in loader][3:5])
        for ids, x in sum(kept, []):
            assert x[:, 7].tolist() == ids.tolist()
        assert len({x.ctypes.data for _, x in sum(kept, [])}) == 16


def test_release_gives_the_memory_back(tmp_path):
    with shardify.Loader(wide(tmp_path / "s"), 4, framework="numpy", copy=False, depth=1) as loader:
        kept = []
        for b in loader:
            kept.append(b)
            assert int(loader._delivery.step[clib.LENT]) == 1
            b.release()
        assert len(kept) == 16 and not any(kept)


def test_dlpack_capsules(tmp_path):
    """Consumed, not consumed, of either form: each holds the batch once and lets go once."""
    with shardify.Loader(wide(tmp_path / "s"), 4, framework="dlpack", device="cpu", copy=False) as loader:
        it = iter(loader)
        b = next(it)
        lease = int(loader._delivery.step[clib.LEASE])
        t = b["x"]
        assert held(lease) == 1 and t.shape == (4, 300) and t.__dlpack_device__() == (1, 0)
        c = t.__dlpack__()
        assert held(lease) == 2
        del c
        assert held(lease) == 1
        c = t.__dlpack__(max_version=(1, 0))
        assert 'capsule object "dltensor_versioned"' in repr(c) and held(lease) == 2
        del c
        a = np.from_dlpack(t)
        assert held(lease) == 2 and a[:, 7].tolist() == [0, 1, 2, 3]
        if torch is not None:
            u = torch.from_dlpack(t)
            v = u[1:]
            del u
            assert held(lease) == 3 and v[0, 0] == 1
            # The deleter may run on any thread.
            box = [v]
            del v
            thread = threading.Thread(target=box.clear)
            thread.start()
            thread.join()
            assert held(lease) == 2
        with pytest.raises(BufferError):
            t.__dlpack__(copy=True)
        with pytest.raises(BufferError):
            t.__dlpack__(dl_device=(2, 0))
        b.release()
        del t
        gc.collect()
        assert held(lease) == 1  # a
        next(it)
        assert a[:, 7].tolist() == [0, 1, 2, 3]


def test_a_versioned_capsule_has_the_layout_of_dlpack_1(tmp_path):
    class DLTensor(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p),
            ("device", ctypes.c_int32 * 2),
            ("ndim", ctypes.c_int32),
            ("code", ctypes.c_uint8),
            ("bits", ctypes.c_uint8),
            ("lanes", ctypes.c_uint16),
            ("shape", ctypes.POINTER(ctypes.c_int64)),
            ("strides", ctypes.POINTER(ctypes.c_int64)),
            ("offset", ctypes.c_uint64),
        ]

    class Versioned(ctypes.Structure):
        _fields_ = [
            ("major", ctypes.c_uint32),
            ("minor", ctypes.c_uint32),
            ("context", ctypes.c_void_p),
            ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
            ("flags", ctypes.c_uint64),
            ("tensor", DLTensor),
        ]

    assert (ctypes.sizeof(DLTensor), ctypes.sizeof(Versioned)) == (48, 80)
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = (
        ctypes.c_void_p,
        [ctypes.py_object, ctypes.c_char_p],
    )
    api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    with shardify.Loader(wide(tmp_path / "s"), 4, framework="dlpack", device="cpu", copy=False) as loader:
        b = next(iter(loader))
        lease = int(loader._delivery.step[clib.LEASE])
        c = b["x"].__dlpack__(max_version=(1, 1))
        p = api.PyCapsule_GetPointer(c, b"dltensor_versioned")
        v = Versioned.from_address(p)
        t = v.tensor
        assert (v.major, v.flags, t.ndim, t.code, t.bits, t.lanes, t.offset) == (1, 0, 2, 2, 32, 1, 0)
        assert (t.shape[0], t.shape[1], t.strides[0], t.strides[1]) == (4, 300, 300, 1)
        assert ctypes.cast(t.data, ctypes.POINTER(ctypes.c_float))[300] == 1
        name = b"used_dltensor_versioned"
        api.PyCapsule_SetName(c, name)
        del c  # consumed: the end of the capsule is not that of the tensor
        assert held(lease) == 2
        v.deleter(p)
        assert held(lease) == 1


def test_every_type_and_shape_is_lent(make):
    """Empty tensors, booleans, bf16 and types that a torch lacks come without a copy or with one,
    and are let go."""
    for kind in ("fixed", "jagged", "mmap_only", "nullable"):
        path = make(kind, n=N, shards=SHARDS, name=kind)
        for framework in FRAMEWORKS:
            with shardify.Loader(
                path, 4, framework=framework, device="cpu", copy=False, depth=1, shuffle="global"
            ) as loader:
                for _ in range(3):
                    for _b in loader:
                        assert int(loader._delivery.step[clib.LENT]) <= 2, kind


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
def test_unsigned_types_that_torch_lacks_are_widened_the_same_way(tmp_path):
    schema = [{"name": "u%d" % b, "dtype": "u%d" % b} for b in (16, 32, 64)]
    rows = [{"u16": 2**16 - 1 - i, "u32": 2**32 - 1 - i, "u64": 2**62 + i} for i in range(8)]
    path = fixture.write(tmp_path / "s", schema, rows)
    for copy in (True, False):
        with shardify.Loader(path, 4, device="cpu", copy=copy) as loader:
            b = next(iter(loader))
            for name, v in b.items():
                assert [int(x) for x in v] == [r[name] for r in rows[:4]], name


def test_a_loader_that_was_closed_leaves_its_tensors(tmp_path):
    import time

    path = wide(tmp_path / "s")
    kept = []
    for _ in range(20):
        loader = shardify.Loader(path, 4, framework="numpy", copy=False)
        it = iter(loader)
        kept.append((next(it), next(it)))
        loader.close()
    time.sleep(0.3)
    for a, b in kept:
        assert a["x"][:, 0].tolist() == [0, 1, 2, 3] and b["x"][:, 9].tolist() == [4, 5, 6, 7]


def test_the_ledger_of_handles(tmp_path):
    """A stale or foreign handle is an error of the library, no crash."""
    loader = alone(numbered(tmp_path / "s", 40), 4, framework="numpy")
    lib, it = loader._delivery.lib, iter(loader)
    next(it)
    batch, handle = int(loader._delivery.step[clib.BATCH]), loader._delivery.handle
    for call in (
        lambda: lib.call(lib.release, batch),  # given back by take
        lambda: lib.call(lib.ready, 10**9, 0),
        lambda: lib.call(lib.settle, batch),
        lambda: lib.call(lib.next, 10**9, 0, 0, 0, loader._delivery._address),
        lambda: lib.ask(lib.stats, 0),
        lambda: lib.call(lib.close, 10**9),
    ):
        with pytest.raises(shardify.ClosedError, match="no such handle"):
            call()
    code = lib.call(lib.next, handle, 1000, 0, 0, loader._delivery._address)
    assert code == clib.OK
    batch = int(loader._delivery.step[clib.BATCH])
    sizes = (ctypes.c_int64 * 2)(1 << 40, 5)
    with pytest.raises(ValueError, match="there is room for"):  # a wrong size is not copied
        lib.call(lib.take, batch, 0, ctypes.addressof(sizes), ctypes.addressof(sizes), 1)
    with pytest.raises(ValueError, match="2 addresses for 1"):
        lib.call(lib.take, batch, 0, ctypes.addressof(sizes), ctypes.addressof(sizes), 2)
    lib.call(lib.release, batch)
    loader.close()
    with pytest.raises(shardify.ClosedError):
        lib.call(lib.close, handle)


def test_a_panic_of_the_library_is_an_exception(tmp_path):
    loader = shardify.Loader(numbered(tmp_path / "s", 40), 4, framework="numpy")
    lib = loader._delivery.lib
    with pytest.raises(shardify.ShardifyError, match="panic: .* bug of shardify"):
        lib.call(lib.next, loader._delivery.handle, 0, 0, 0, None)  # room for nothing
    assert len(list(loader)) == 10
    loader.close()


def test_views_of_no_memory_are_refused():
    lib = clib.load()
    assert lib.view(0, clib.Tensor(1, 0, 2, 32, 0), 0, 4, 0) is None
    assert lib.view(0, clib.Tensor(1, 0, 2, 32, 17), 0, 4, 0) is None
    with pytest.raises(ValueError, match="dimensions"):
        dlpack.describe(np.dtype("f4"), [1] * 16, (1, 0))


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_large_tensors_are_handed_over_and_stay_the_callers(tmp_path, framework):
    """copy=True: memory that was given away is not written again while anything holds it, also
    after close(); memory without references is used again."""
    if framework == "torch":
        pytest.importorskip("torch")
    path = fixture.write(
        tmp_path / "s", [{"name": "x", "dtype": "f32", "shape": [3000]}], [{"x": np.arange(3000) + i} for i in range(64)]
    )
    with shardify.Loader(path, 8, framework=framework, device="cpu", shuffle="global", depth=1) as loader:
        kept, want, places = [], [], set()
        for k, b in enumerate(b for _ in range(3) for b in loader):
            x = np.asarray(b["x"])
            assert x.nbytes >= 64 << 10 and x.flags.writeable
            places.add(x.ctypes.data)
            if k % 3 == 0:
                kept.append(b["x"][1:])
                want.append(x[1:].copy())
            else:
                x[:] = 0
        assert len(places) < k + 1, "no memory was used again"
    for a, b in zip(kept, want):
        assert (np.asarray(a) == b).all()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_batches_are_delivered_in_tensors_of_the_caller(tmp_path, framework):
    """out= and ring= on the host: the same memory again and again, whole or as its first rows."""
    path = numbered(tmp_path / "s", 22, y=lambda i: 2 * i)
    with shardify.Loader(path, 4, framework=framework, ring=2) as loader:
        addresses = []
        for _ in range(2):
            for b in loader:
                assert as_numpy(b["x"]).tolist() == b.ids.tolist() == list(range(b.index * 4, b.index * 4 + b.rows))
                assert as_numpy(b["y"]).tolist() == (2 * b.ids).tolist()
                addresses.append(as_numpy(b["x"]).ctypes.data)
        assert len(addresses) == 12 and len(set(addresses)) == 2 and addresses[0] == addresses[2]
    x, y = np.empty((4,), "i8"), np.empty((4,), "i8")
    with shardify.Loader(path, 4, framework="numpy", out={"x": x, "y": y}, shuffle="global") as loader:
        for b in loader:
            assert b["x"] is x and x.tolist() == b.ids.tolist() and (y == 2 * x).all()
    y.flags.writeable = False
    for out, why in (({"x": x, "y": y}, "may not be written"), ({"x": x, "y": x}, "the same memory"), ({"x": x}, "want x, y")):
        with pytest.raises(ValueError, match=why):
            shardify.Loader(path, 4, framework="numpy", out=out)


def test_tensors_of_the_caller_are_for_fields_of_fixed_size(make):
    with pytest.raises(shardify.UnsupportedError, match="leave it out with columns="):
        shardify.Loader(make("jagged", "mmap", n=N, shards=SHARDS), 4, framework="numpy", ring=1)
