"""wids: random access by index.json, and its own sampler."""

from __future__ import annotations

import os
import random
from typing import Any, Dict, Iterator, List, Tuple

import wids
from expect import compare, expected, fingerprint, folder, main


def dataset(name: str, **kw: Any) -> Any:
    return wids.ShardListDataset(os.path.join(folder(name), "index.json"), transformations=[], **kw)


def members(sample: Dict[str, Any]) -> Dict[str, bytes]:
    return {k[1:]: v.read() for k, v in sample.items() if k.startswith(".")}


def in_order(name: str) -> Iterator[Tuple[str, Dict[str, Any]]]:
    ds = dataset(name)
    for i in range(len(ds)):
        s = ds[i]
        yield s["__key__"], members(s)


def at_random(name: str) -> str:
    """With one open shard, so that each change of shard reopens a file."""
    ds, want = dataset(name, lru_size=1), expected(name)
    rows: List[int] = random.Random(1).sample(range(len(want)), 60)
    for i in rows:
        s = ds[i]
        got = {m: fingerprint(m, v) for m, v in members(s).items()}
        assert (s["__key__"], got) == (want[i]["key"], want[i]["members"]), i
    return "%s: %d samples at random" % (name, len(rows))


def chunked(name: str) -> str:
    ds = dataset(name)
    rows = list(wids.ChunkedSampler(ds, chunksize=64, shuffle=True))
    assert sorted(rows) == list(range(len(ds)))
    return "%s: ChunkedSampler over %d samples" % (name, len(rows))


if __name__ == "__main__":
    main(
        [("wids 0.2.111", lambda name=name: compare(name, in_order(name))) for name in ("images", "mixed", "numbers")]
        + [("wids 0.2.111", lambda: at_random("images")), ("wids 0.2.111", lambda: chunked("numbers"))]
    )
