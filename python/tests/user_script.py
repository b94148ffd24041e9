"""What a user writes, for the type checkers of test_types.py. It is not run."""

from typing import Dict, List, Optional

import numpy as np

import shardify


def train(path: str) -> float:
    ds = shardify.open(path, split="train")
    names: List[str] = [f.name for f in ds.schema]
    first: shardify.Sample = ds[0]
    total = float(np.asarray(first["x"]).sum()) + float(ds.column("x")[:10].sum()) + len(ds) + len(names)
    state: Dict[str, object] = {}
    with shardify.Loader(path, 256, shuffle="global", seed=1, device="host", framework="numpy") as loader:
        for _ in range(2):
            for batch in loader:
                total += float(np.asarray(batch["x"]).sum()) + len(batch.ids)
            state = loader.state_dict()
        loader.load_state_dict(state)
    return total


def typed(path: str) -> int:
    pairs = shardify.open(path, transform=lambda s: (float(s["x"]), int(s["cls"])))
    x, cls = pairs[3]
    total = cls + len([y for y, _ in pairs[:10]]) + sum(c for _, c in pairs[[1, 2]]) + int(x)
    place = shardify.Device("cuda:0", tier="pinned", memory="8GiB")
    images = shardify.Decode(crop=224, random_crop=(0.08, 1.0), flip=0.5)

    def size(batch: shardify.LoaderBatch) -> int:
        return batch.size

    for n in shardify.Loader(path, 256, last="pad", device=place, decode=images, transform=size):
        total += n
    return total


def convert(source: str, out: str) -> str:
    def show(p: shardify.Progress) -> None:
        print(p.shards, "of", p.total_shards)

    made = shardify.convert(source, out, where="y < 5", shuffle="global", split={"train": 0.9, "val": 0.1}, shard_size="64MiB", columns=["x"], jobs=2, progress=show)
    return made.output


def place(path: str) -> Optional[int]:
    try:
        shardify.open(path)
    except shardify.CorruptError as e:
        print(e.file, e.object, e.field, e.sample, *e.hints)
        return e.offset
    return None
