"""The data set under everything that PyTorch puts around a data set."""

from __future__ import annotations

import os

import numpy as np
import pytest
from conftest import SCHEMAS, N, same, samples, shown

import shardify

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.utils.data import (  # noqa: E402
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    Subset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)

SETS = [
    ("fixed", "mmap"),
    ("fixed", "wds"),
    ("text", "mmap"),
    ("jagged", "mmap"),
    ("text", "wds"),
    ("image", "wds"),
    ("image", "mmap"),
    ("jagged", "wds"),
]
LONG = bool(os.environ.get("SHARDIFY_LONG"))
WORKERS = [(0, None), (2, "fork"), (2, "spawn")]


def number(s):
    """Marks a sample, so that batches can be distinguished."""
    s["number"] = int(sum(np.sum(np.asarray(v, "f8")) for v in s.values() if isinstance(v, (np.ndarray, np.generic))))
    return s


def unbatch(batch):
    """Samples of a collated batch, as ds[i] would give them."""
    size = min(len(v) if not isinstance(v, dict) else len(v["offsets"]) - 1 for v in batch.values())
    out = []
    for k in range(size):
        s = {}
        for name, v in batch.items():
            if isinstance(v, dict):
                a = v["values"][v["offsets"][k] : v["offsets"][k + 1]].numpy()
                s[name] = a.reshape(tuple(v["shapes"][k])) if "shapes" in v else a
            else:
                s[name] = v[k].numpy() if isinstance(v, torch.Tensor) else v[k]
        out.append(s)
    return out


def widened(kind, s):
    """uint16 is not a type of older torch: collate widens it."""
    wide = {"uint16": np.int32, "uint32": np.int64, "uint64": np.int64}
    return {
        k: v.astype(wide.get(v.dtype.name, v.dtype))
        if isinstance(v, np.ndarray) and not hasattr(torch, v.dtype.name)
        else v
        for k, v in shown(kind, s).items()
    }


def equal(got, kind, rows):
    every = samples(kind)
    assert len(got) == len(rows)
    return all(same(widened(kind, every[i]), g) for i, g in zip(rows, got))


@pytest.mark.parametrize(
    "kind,format,workers,start",
    # Each spawned worker imports torch, which takes seconds: two sets of each kind of shard.
    [s + w for s in SETS for w in WORKERS if w[1] != "spawn" or s in SETS[3:5] or LONG],
)
def test_dataloader(make, kind, format, workers, start):
    ds = shardify.open(make(kind, format, shards=[5, 9, N - 14]))
    ds[0]  # maps that are open already must survive the start of a worker
    loader = DataLoader(
        ds,
        batch_size=4,
        num_workers=workers,
        multiprocessing_context=start,
        collate_fn=shardify.collate(),
        timeout=60 * (workers > 0),
    )
    for _ in range(2 if start != "spawn" else 1):
        got = [s for b in loader for s in unbatch(b)]
        assert equal(got, kind, range(N))


@pytest.mark.parametrize("kind,format", SETS)
def test_subset_split_and_concat(make, kind, format):
    ds = shardify.open(make(kind, format))
    collate = shardify.collate()

    def load(d):
        return [s for b in DataLoader(d, batch_size=5, collate_fn=collate) for s in unbatch(b)]

    assert equal(load(Subset(ds, [7, 3, 3, 22])), kind, [7, 3, 3, 22])
    assert equal(load(Subset(ds[2:20:2], [1, 4])), kind, [4, 10])
    parts = random_split(ds, [15, N - 15], generator=torch.Generator().manual_seed(0))
    for part in parts:
        assert equal(load(part), kind, part.indices)
    assert sorted(parts[0].indices + parts[1].indices) == list(range(N))
    assert equal(load(ConcatDataset([Subset(ds, [1]), ds[20:], ds])), kind, [1, 20, 21, 22] + list(range(N)))


@pytest.mark.parametrize("kind,format", SETS)
def test_samplers(make, kind, format):
    ds = shardify.open(make(kind, format))
    weights = torch.zeros(N)
    weights[[2, 11, 19]] = 1.0
    sampler = WeightedRandomSampler(weights, 40, generator=torch.Generator().manual_seed(3))
    rows = list(WeightedRandomSampler(weights, 40, generator=torch.Generator().manual_seed(3)))
    got = [s for b in DataLoader(ds, 8, sampler=sampler, collate_fn=shardify.collate()) for s in unbatch(b)]
    assert set(rows) == {2, 11, 19} and equal(got, kind, rows)
    seen = []
    for rank in range(3):
        sampler = DistributedSampler(ds, num_replicas=3, rank=rank, shuffle=True, seed=5)
        rows = list(sampler)
        got = [s for b in DataLoader(ds, 4, sampler=sampler, collate_fn=shardify.collate()) for s in unbatch(b)]
        assert equal(got, kind, rows)
        seen += rows
    assert set(seen) == set(range(N))


@pytest.mark.parametrize("kind,format", SETS)
def test_whole_batches_by_a_batch_sampler(make, kind, format):
    """batch_size=None hands ds[[...]] the rows of a batch, with any release of torch."""
    ds = shardify.open(make(kind, format))
    sampler = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(ds), 6, drop_last=False)
    loader = DataLoader(ds, batch_size=None, sampler=sampler, collate_fn=shardify.collate())
    assert equal([s for b in loader for s in unbatch(b)], kind, range(N))


@pytest.mark.parametrize("kind,format", [("fixed", "mmap"), ("fixed", "wds"), ("text", "mmap"), ("image", "wds")])
def test_default_collate(make, kind, format):
    """Types come out as they are stored; f64 scalars do not become f32."""
    ds = shardify.open(
        make(kind, format),
        columns=[f["name"] for f in SCHEMAS[kind] if f.get("levels") != 2 and ".ext" not in f["name"]],
    )
    for samples_ in (ds[[3, 9, 4]], [ds[3], ds[9], ds[4]]):
        batch = default_collate(samples_)
        assert type(batch["cls"]) is torch.Tensor
        for f in ds.schema:
            if f.levels == 0:
                assert same(batch[f.name].numpy(), np.stack([ds[i][f.name] for i in (3, 9, 4)])), f.name
            else:
                assert list(batch[f.name]) == [ds[i][f.name] for i in (3, 9, 4)]


def test_padded_and_nested_tensors(make):
    ds = shardify.open(make("jagged"), columns=["Jet_pt", "Jet_p4"])
    rows = [2, 4, 8]
    padded = shardify.collate("pad", -1.0)(ds[rows])
    assert padded["Jet_p4"]["values"].shape == (3, 4, 4) and padded["Jet_pt"]["mask"].dtype == torch.bool
    if not hasattr(torch, "nested"):
        pytest.skip("this torch has no nested tensors")
    nested = shardify.collate("nested")(ds[rows])
    for i, t in zip(rows, nested["Jet_pt"].unbind()):
        assert np.array_equal(t.numpy(), ds[i]["Jet_pt"])


def test_tensors_are_writable_and_batches_independent(make):
    ds = shardify.open(make("fixed"))
    a, b = (shardify.collate()(ds[[1, 1]]) for _ in range(2))
    a["x"] += 1000
    assert not torch.equal(a["x"], b["x"]) and torch.equal(b["x"][0], b["x"][1])


def test_unsigned_types_keep_their_values(tmp_path):
    import fixture

    schema = [{"name": "u%d" % b, "dtype": "u%d" % b} for b in (16, 32, 64)]
    top = {"u%d" % b: 2**b - 1 for b in (16, 32, 64)}
    ds = shardify.open(fixture.write(tmp_path / "s", schema, [dict(top, u64=5), top]))
    out = shardify.collate()(ds[[0]])
    assert [int(out[k][0]) for k in ("u16", "u32", "u64")] == [2**16 - 1, 2**32 - 1, 5]
    if not hasattr(torch, "uint64"):
        with pytest.raises(shardify.UnsupportedError, match="no uint64"):
            shardify.collate()(ds[[0, 1]])


@pytest.mark.parametrize("start", ["fork", "spawn"] if LONG else ["fork"])
def test_transforms_in_workers(make, start):
    ds = shardify.open(make("image", "wds"), transform=number)
    loader = DataLoader(ds, 4, num_workers=2, multiprocessing_context=start, collate_fn=shardify.collate(), timeout=60)
    assert [int(n) for b in loader for n in b["number"]] == [ds[i]["number"] for i in range(N)]


def test_damage_in_a_worker_reaches_the_user(make):
    folder = make("text", "wds", shards=[N])
    path = folder + "/shard-000000.tar"
    with open(path, "r+b") as f:
        f.seek(148)
        f.write(b"000000")
    loader = DataLoader(shardify.open(folder), 4, num_workers=1, collate_fn=shardify.collate(), timeout=60)
    with pytest.raises(shardify.CorruptError, match="shard-000000.tar"):
        list(loader)
