"""What only a real GPU shows: torch's tensors over the loader's memory, in order of torch's streams."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import KINDS
from loading import SHARDS, N, as_numpy, check, needs_library, same

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import fixture  # noqa: E402

import shardify  # noqa: E402

pytestmark = [
    needs_library,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that torch can use"),
]

WAYS = [
    {"shuffle": "none"},
    {"shuffle": "global", "tier": "pinned"},
    {"shuffle": "block", "shuffle_window": 24, "streams": 3, "tier": "stream"},
    {"shuffle": "global", "tier": "device", "device_memory": "1GiB"},
]


def on_host(batch):
    def host(v):
        if isinstance(v, dict):
            return {k: host(x) for k, x in v.items()}
        if isinstance(v, torch.Tensor):
            assert v.device.type == "cuda"
            return v.cpu()
        return v

    made = shardify.LoaderBatch({k: host(v) for k, v in batch.items()})
    made.__dict__.update(batch.__dict__)
    return made


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("kind,format", KINDS)
def test_every_sample_arrives_bit_for_bit(make, kind, format, copy):
    path = make(kind, format, n=N, shards=SHARDS)
    for way in WAYS:
        with shardify.Loader(path, 5, last="pad", copy=copy, **way) as loader:
            assert loader.device == "cuda:%d" % torch.cuda.current_device()
            for _ in range(2):
                got = [i for b in loader for i in check(kind, on_host(b), loader.schema)]
                assert sorted(got) == list(range(N))


@pytest.mark.parametrize("copy", [True, False])
def test_late_kernels_still_see_their_batch(tmp_path, copy):
    """The loop runs far ahead of a slow stream; memory must not be written under it."""
    rows = [{"x": np.full(50000, i)} for i in range(64)]
    path = fixture.write(tmp_path / "s", [{"name": "x", "dtype": "f32", "shape": [50000]}], rows)
    side = torch.cuda.Stream()
    with shardify.Loader(path, 4, copy=copy, shuffle="global", depth=2) as loader:
        sums, ids = [], []
        for _ in range(5):
            for k, b in enumerate(loader):
                x = b["x"]
                ids.append(b.ids)
                if k % 2:
                    side.wait_stream(torch.cuda.current_stream())
                    with torch.cuda.stream(side):
                        torch.cuda._sleep(2_000_000)
                        sums.append(x.double().mean(dim=1))
                    b.record_stream(side)
                    if copy:
                        x.record_stream(side)
                else:
                    torch.cuda._sleep(2_000_000)
                    sums.append(x.double().mean(dim=1))
                del x, b
        torch.cuda.synchronize()
        for s, i in zip(sums, ids):
            assert s.cpu().tolist() == i.tolist()


@pytest.mark.parametrize("jagged", ["pad", "nested"])
def test_padding_on_the_gpu_is_that_of_collate(make, jagged):
    path = make("mmap_only", n=N, shards=SHARDS)
    columns = ["maybes"] + (["tracks"] if jagged == "pad" else [])
    collate = shardify.collate(jagged=jagged, pad_value=7, fill={"maybes": 0})
    ds = shardify.open(path, columns=columns)
    with shardify.Loader(path, 6, jagged=jagged, pad_value=7, columns=columns, shuffle="global") as loader:
        for b in loader:
            want = collate(ds[b.ids])
            for name, v in want.items():
                if jagged == "nested" and v.is_nested:
                    assert all(torch.equal(x, y.cpu()) for x, y in zip(v.unbind(), b[name].unbind()))
                else:
                    got = {k: x.cpu() for k, x in b[name].items()} if isinstance(v, dict) else b[name].cpu()
                    assert same(as_numpy(v), as_numpy(got))


def test_casts_on_the_gpu(tmp_path):
    rows = [{"x": np.arange(12).reshape(3, 4) + i} for i in range(16)]
    path = fixture.write(tmp_path / "s", [{"name": "x", "dtype": "u8", "shape": [3, 4]}], rows)
    with shardify.Loader(path, 8, cast={"x": ("bfloat16", 1 / 255)}) as loader:
        x = next(iter(loader))["x"]
        want = (torch.tensor(np.stack([r["x"] for r in rows[:8]])).float() * np.float32(1 / 255)).bfloat16()
        assert x.dtype == torch.bfloat16 and torch.equal(x.cpu(), want)
