"""Makes the sources, and what every data set made from them must hold."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Any, Dict, List

import numpy as np
from expect import fingerprint
from PIL import Image

Samples = List[Dict[str, Any]]
# Names that keys escape, and beyond ASCII; in order.
CLASSES = ("a%20b", "cat", "dög", "golden retriever", "梟")


def picture(r: np.random.Generator, format: str, side: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(r.integers(0, 256, (side, side + 3, 3), "u1")).save(out, format)
    return out.getvalue()


def put(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def sample(key: str, members: Dict[str, Any]) -> Dict[str, Any]:
    return {"key": key, "members": {m: fingerprint(m, v) for m, v in members.items()}}


def images(folder: str, r: np.random.Generator) -> Samples:
    """Class folders of PNG with a caption each; one image spans many tar blocks."""
    out = []
    for i in range(400):
        cls = i * len(CLASSES) // 400
        name = "%s/%05d" % (CLASSES[cls], i)
        key = name.replace("%20", "%2520").replace(" ", "%20")
        data = picture(r, "png", 600 if i == 200 else 5 + i % 20)
        text = ("caption %d, naïve ☃" % i).encode() * (i % 3 + 1)
        put(os.path.join(folder, name + ".png"), data)
        put(os.path.join(folder, name + ".txt"), text)
        out.append(sample(key, {"png": data, "txt": text, "cls": b"%d" % cls}))
    return out


def mixed(folder: str, r: np.random.Generator) -> Samples:
    """Images of two types, upper-case extensions, JSON beside them; no classes."""
    out = []
    for i in range(70):
        ext = "jpg" if i % 3 else "png"
        data = picture(r, "jpeg" if i % 3 else "png", 9)
        about = json.dumps({"id": i, "name": "n%d" % i}).encode()
        key = "%04d" % i
        put(os.path.join(folder, key + "." + ("JPG" if i % 15 == 1 else ext)), data)
        put(os.path.join(folder, key + ".json"), about)
        out.append(sample(key, {ext: data, "json": about}))
    return out


def numbers(folder: str, r: np.random.Generator) -> Samples:
    """Two NPZ files, one stored and one deflated; a row is a sample."""
    out = []
    for k, (name, n) in enumerate((("a", 700), ("b", 301))):
        a = {
            "x": r.normal(size=(n, 3, 4)).astype("f4"),
            "y": r.integers(-(2**40), 2**40, n),
            "flag": r.integers(0, 2, n).astype(bool),
            "half": r.normal(size=(n, 5)).astype("f2"),
        }
        (np.savez if k == 0 else np.savez_compressed)(os.path.join(folder, name + ".npz"), **a)
        for i in range(n):
            row = {c + ".npy": np.asarray(v[i]) for c, v in a.items()}
            out.append(sample("%06d-%09d" % (k, i), row))
    return out


def main(work: str) -> None:
    src, r = os.path.join(work, "src"), np.random.default_rng(7)
    os.makedirs(src)
    expected = {
        "images": images(os.path.join(src, "images"), r),
        "mixed": mixed(os.path.join(src, "mixed"), r),
        "numbers": numbers(src, r),
    }
    np.savez(os.path.join(src, "tokens.npz"), tokens=r.integers(0, 50000, (500, 96)).astype("u2"))
    with open(os.path.join(src, "expected.json"), "w") as f:
        json.dump(expected, f)


if __name__ == "__main__":
    main(sys.argv[1])
