"""safetensors (NumPy and PyTorch), and numpy alone as docs/reference/format.md section 5 has it."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np
import safetensors
from expect import Skip, compare, main, shards

VERSION = "safetensors " + safetensors.__version__
Tensors = Dict[str, np.ndarray]
Samples = Iterator[Tuple[str, Dict[str, Any]]]


def by_numpy(path: str) -> Tensors:
    from safetensors.numpy import load_file

    return load_file(path)


def by_torch(path: str) -> Tensors:
    try:
        from safetensors.torch import load_file
    except ImportError:
        raise Skip("PyTorch is not installed") from None
    return {k: v.numpy() for k, v in load_file(path).items()}


def by_slices(path: str) -> Tensors:
    """safe_open reads single tensors and rows of them."""
    out = {}
    with safetensors.safe_open(path, "np") as f:
        assert f.metadata()["shardify"] == "1"
        for k in f.keys():
            part = f.get_slice(k)
            n = part.get_shape()[0]
            out[k] = np.concatenate([part[: n // 2], part[n // 2 :]])
    return out


def by_memmap(path: str) -> Tensors:
    types = {"I64": "<i8", "F32": "<f4", "F16": "<f2", "BOOL": "?", "U8": "u1"}
    n = int(np.fromfile(path, "<u8", 1)[0])
    with open(path, "rb") as f:
        h = json.loads(f.read(8 + n)[8:])
    h.pop("__metadata__")
    out = {}
    for k, t in h.items():
        lo, hi = t["data_offsets"]
        shape = tuple(t["shape"])
        out[k] = (
            np.memmap(path, types[t["dtype"]], "r", 8 + n + lo, shape)
            if hi > lo
            else np.empty(shape, types[t["dtype"]])
        )
    return out


def opaque(t: Tensors, name: str, i: int) -> bytes:
    offsets = t[name + "#offsets"]
    return t[name + "#values"][offsets[i] : offsets[i + 1]].tobytes()


def images(read: Callable[[str], Tensors]) -> Samples:
    for path in shards("images-mmap"):
        t = read(path)
        for i in range(len(t["cls"])):
            members = {"png": opaque(t, "png", i), "txt": opaque(t, "txt", i), "cls": b"%d" % t["cls"][i]}
            yield opaque(t, "__key__", i).decode(), members


def mixed(read: Callable[[str], Tensors]) -> Samples:
    for path in shards("mixed-mmap"):
        t = read(path)
        with safetensors.safe_open(path, "np") as f:
            schema = {e["name"]: e for e in json.loads(f.metadata()["shardify.schema"])}
        exts = schema["image.ext"]["attrs"]["labels"].split("\n")
        for i in range(len(t["image.ext"])):
            ext = exts[t["image.ext"][i]]
            yield opaque(t, "__key__", i).decode(), {ext: opaque(t, "image", i), "json": opaque(t, "json", i)}


def numbers(read: Callable[[str], Tensors]) -> Samples:
    """Rows without keys: number them as the tars do."""
    n = 0
    for path in shards("numbers-mmap"):
        t = read(path)
        for i in range(len(t["y"])):
            key = "000000-%09d" % n if n < 700 else "000001-%09d" % (n - 700)
            yield key, {k + ".npy": np.asarray(v[i]) for k, v in t.items()}
            n += 1


def checks(peer: str, how: str, read: Callable[[str], Tensors]) -> List[Tuple[str, Callable[[], str]]]:
    return [
        (peer, lambda: compare("images", images(read)) + how),
        (peer, lambda: compare("mixed", mixed(read)) + how),
        (peer, lambda: compare("numbers", numbers(read)) + how),
    ]


if __name__ == "__main__":
    main(
        checks(VERSION, " by numpy", by_numpy)
        + checks(VERSION, " by torch", by_torch)
        + checks(VERSION, " by slices", by_slices)
        + checks("numpy " + np.__version__, " by np.memmap", by_memmap)
    )
