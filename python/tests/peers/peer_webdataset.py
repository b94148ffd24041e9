"""webdataset: raw members, decoded values, and through PyTorch's workers."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any, Dict, Iterator, Tuple
from urllib.parse import unquote

import numpy as np
import webdataset as wds
from expect import Skip, compare, expected, fingerprint, folder, main, tars
from sources import CLASSES

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402
from shardify import clib  # noqa: E402

Samples = Iterator[Tuple[str, Dict[str, Any]]]
VERSION = "webdataset " + wds.__version__ if hasattr(wds, "__version__") else "webdataset"


def own(sample: Dict[str, Any]) -> Dict[str, Any]:
    return {k: v for k, v in sample.items() if not k.startswith("__")}


def raw(name: str) -> Samples:
    for s in wds.WebDataset(tars(name), shardshuffle=False, empty_check=True):
        yield s["__key__"], own(s)


def decoded(name: str) -> Samples:
    """Its decoders give numbers and texts; back to bytes for the comparison."""
    for s in wds.WebDataset(tars(name), shardshuffle=False).decode():
        out = own(s)
        for k, v in out.items():
            if k == "cls":
                assert type(v) is int, v
                out[k] = b"%d" % v
            elif k == "txt":
                assert type(v) is str, v
            elif k.endswith(".npy"):
                assert isinstance(v, np.ndarray), v
        yield s["__key__"], out


def pictures() -> str:
    n = 0
    for s, w in zip(wds.WebDataset(tars("images"), shardshuffle=False).decode("rgb8"), expected("images")):
        assert s["__key__"] == w["key"] and s["png"].dtype == np.uint8 and s["png"].ndim == 3
        n += 1
    assert n == len(expected("images"))
    return "images: %d pictures decoded" % n


def classes() -> str:
    """Keys are escaped as addresses of the web are: the folder's name comes back, and is that of the class."""
    with open(os.path.join(folder("images"), "shardify.json")) as f:
        labels = next(x["attrs"]["labels"] for x in json.load(f)["schema"] if x["name"] == "cls").split("\n")
    got = {(int(s["cls"]), unquote(s["__key__"]).split("/")[0]) for s in wds.WebDataset(tars("images"), shardshuffle=False)}
    assert got == set(enumerate(CLASSES)) == set(enumerate(labels)), got
    return "images: %d classes, %s" % (len(got), ", ".join(CLASSES))


def workers() -> str:
    """Two workers share the shards: every sample once, in some order."""
    try:
        from torch.utils.data import DataLoader
    except ImportError:
        raise Skip("PyTorch is not installed") from None
    ds = wds.WebDataset(tars("numbers"), shardshuffle=False, nodesplitter=wds.split_by_node)
    loader = DataLoader(ds, batch_size=None, num_workers=2)
    got = sorted(((s["__key__"], own(s)) for s in loader), key=lambda s: s[0])
    return compare("numbers", iter(got)) + " through 2 workers"


def unconverted() -> str:
    """shardify.open of tars without our index: its samples, and the Loader's."""
    if not clib.available():
        raise Skip("the loader's library is not built: make pylib")
    values = 0
    for name in ("images", "mixed", "numbers"):
        path = os.path.join(folder("scratch"), "loose-" + name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        for tar in tars(name):
            shutil.copy(tar, path)
        ours, theirs = shardify.open(path), list(wds.WebDataset(tars(name), shardshuffle=False))
        with shardify.Loader(path, 7, shuffle="global", last="short", device="cpu", framework="numpy") as loader:
            ids = sorted(i for batch in loader for i in batch.ids.tolist())
        assert len(ours) == len(theirs) and ids == list(range(len(ours))), (name, len(ours), len(theirs), len(ids))
        for i, want in enumerate(theirs):
            have = {k: v for k, v in ours[i].items() if v is not None}
            members = own(want)
            assert have.pop("__key__") == want["__key__"], (name, i)
            assert len(have) == len(members), (name, i, sorted(have), sorted(members))
            for member, data in members.items():
                v = have.get(member[:-4] if member.endswith(".npy") else member)
                if isinstance(v, (int, np.integer)) and member == "cls":
                    assert v == int(data), (name, i, member)
                else:
                    assert fingerprint(member, v) == fingerprint(member, data), (name, i, member, v)
                values += 1
    return "3 sets of tars opened without conversion: %d values" % values


if __name__ == "__main__":
    main(
        [(VERSION, lambda name=name: compare(name, raw(name))) for name in ("images", "mixed", "numbers")]
        + [
            (VERSION, lambda: compare("images", decoded("images")) + " decoded"),
            (VERSION, lambda: compare("numbers", decoded("numbers")) + " decoded"),
            (VERSION, pictures),
            (VERSION, classes),
            (VERSION, workers),
            (VERSION, unconverted),
        ]
    )
