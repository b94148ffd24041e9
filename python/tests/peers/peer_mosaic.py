"""MosaicML Streaming reads MDS sets by index.json: every value of every sample."""

from __future__ import annotations

import io
import os
from typing import Any, Dict, List
from urllib.parse import unquote

import numpy as np
from expect import expected, fingerprint, folder, main
from PIL import Image
from streaming import StreamingDataset


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


if __name__ == "__main__":
    main([("streaming 0.13.0", numbers), ("streaming 0.13.0", images), ("streaming 0.13.0", compressed)])
