"""MosaicML Streaming reads MDS sets by index.json: every value of every sample."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import warnings
from typing import Any, Dict, List
from urllib.parse import unquote

import numpy as np
from expect import Skip, expected, fingerprint, folder, main
from PIL import Image
from streaming import MDSWriter, StreamingDataset

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402
from shardify import clib  # noqa: E402


def opened(name: str) -> Any:
    return StreamingDataset(local=folder(name), batch_size=1, shuffle=False)


def source(key: str) -> bytes:
    """The image file of a key."""
    stem = os.path.join(folder("src"), "images", unquote(key))
    for ext in (".png", ".jpg", ".jpeg"):
        if os.path.exists(stem + ext):
            with open(stem + ext, "rb") as f:
                return f.read()
    raise FileNotFoundError(stem)


def numbers(name: str = "numbers-mds") -> str:
    """Arrays and scalars: dtype, shape and bytes."""
    ds, want = opened(name), expected("numbers")
    assert len(ds) == len(want), (len(ds), len(want))
    values = 0
    for i, w in enumerate(want):
        got: Dict[str, Any] = {}
        for field, value in ds[i].items():
            if field == "flag":  # MDS has no booleans
                value = np.asarray(value).astype(bool)
            got[field + ".npy"] = fingerprint(field, np.asarray(value))
        for member, value in w["members"].items():
            if member.endswith(".npy"):
                assert got[member] == value, (i, member, got[member], value)
                values += 1
    return "%s: %d samples, %d values" % (name, len(want), values)


def images(name: str = "images-mds") -> str:
    """Names, labels and pixels, as its decoder makes them."""
    ds, want = opened(name), expected("images")
    assert len(ds) == len(want), (len(ds), len(want))
    for i, w in enumerate(want):
        s = ds[i]
        assert s["__key__"] == w["key"], (i, s["__key__"], w["key"])
        assert fingerprint("cls", str(int(s["cls"]))) == w["members"]["cls"], (i, s["cls"])
        field: List[str] = [k for k in s if k not in ("__key__", "cls")]
        have, good = s[field[0]], Image.open(io.BytesIO(source(w["key"])))
        assert np.array_equal(np.asarray(have), np.asarray(good)), (i, w["key"])
    return "%s: %d samples" % (name, len(want))


def compressed() -> str:
    """Shards that it unpacks itself: the same values."""
    assert not [f for f in os.listdir(folder("numbers-zstd")) if f.endswith(".mds")]
    return numbers("numbers-zstd") + "; " + images("images-zstd")


COLUMNS = {
    "i": "int", "s": "str", "b": "bytes", "f": "float64", "h": "float16", "u": "uint64", "n": "str_int", "a": "ndarray", "t": "ndarray:int32",
    "x": "ndarray:float32:2,3", "p": "pil", "g": "png", "j": "json",
}  # fmt: skip


def written(name: str, compression: Any) -> str:
    """A set of its writer, with most of its encodings."""
    out = os.path.join(folder("scratch"), name)
    shutil.rmtree(out, ignore_errors=True)
    rng = np.random.default_rng(7)
    with MDSWriter(out=out, columns=COLUMNS, compression=compression, size_limit=1 << 14) as w:
        for i in range(60):
            image = Image.fromarray(rng.integers(0, 256, (5 + i % 3, 4, 3), dtype="u1"))
            w.write({
                "i": i - 30, "s": "t\u00e9xt" * (i % 4), "b": bytes(range(i)), "f": i / 7, "h": np.float16(i / 3), "u": np.uint64(2**63 + i), "n": 10**12 - i,
                "a": rng.normal(size=(1 + i % 4, 2)), "t": rng.integers(0, 9, 1 + i % 5, dtype="i4"), "x": rng.normal(size=(2, 3)).astype("f4"),
                "p": image, "g": image, "j": {"i": [i, None]},
            })  # fmt: skip
    return out


def alike(have: Any, want: Any) -> bool:
    """Our value is the file of an image, or the text of JSON, where it decodes."""
    if isinstance(want, Image.Image):
        image = np.asarray(Image.open(io.BytesIO(have)) if isinstance(have, bytes) else have)
        return bool(np.array_equal(image.reshape(np.asarray(want).shape), np.asarray(want)))
    if isinstance(want, dict):
        return bool(json.loads(have) == want)
    if isinstance(want, (str, bytes)):
        return type(have) is type(want) and have == want
    a, b = np.asarray(have), np.asarray(want)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def unconverted() -> str:
    """shardify.open of its folders, without our manifest: the values that it gives, and the Loader's samples."""
    if not clib.available():
        raise Skip("the loader's library is not built: make pylib")
    sets = [written("mosaic-plain", None), written("mosaic-zstd", "zstd")]
    for name in ("numbers-mds", "images-mds", "numbers-zstd", "images-zstd"):
        sets.append(os.path.join(folder("scratch"), "mosaic-" + name))
        shutil.rmtree(sets[-1], ignore_errors=True)
        # StreamingDataset leaves decompressed shards beside the others.
        left = ["*.mds"] if name.endswith("-zstd") else []
        shutil.copytree(folder(name), sets[-1], ignore=shutil.ignore_patterns("shardify.json", ".*", "_*", *left))
    values = 0
    for path in sets:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a column that is left out
            ours = shardify.open(path)
        with shardify.Loader(path, 7, shuffle="global", last="short", device="cpu", framework="numpy") as loader:
            ids = sorted(i for batch in loader for i in batch.ids.tolist())
        theirs = StreamingDataset(local=path, batch_size=1, shuffle=False)
        assert len(ours) == len(theirs) and ids == list(range(len(ours))), (path, len(ours), len(theirs), len(ids))
        for i in range(len(ours)):
            have, want = ours[i], {k.strip("_"): v for k, v in theirs[i].items()}
            assert sorted(have) == sorted(want), (path, sorted(have), sorted(want))
            for field, value in want.items():
                assert alike(have[field], value), (path, i, field, have[field], value)
                values += 1
    return "%d sets opened without conversion: %d values" % (len(sets), values)


if __name__ == "__main__":
    main([("streaming 0.13.0", numbers), ("streaming 0.13.0", images), ("streaming 0.13.0", compressed), ("streaming 0.13.0", unconverted)])
