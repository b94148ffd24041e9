"""Hugging Face datasets: the webdataset builder over local files."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Tuple

import datasets
import numpy as np
from expect import compare, expected, main, tars

VERSION = "datasets " + datasets.__version__


def load(name: str, streaming: bool) -> Any:
    return datasets.load_dataset("webdataset", data_files={"train": tars(name)}, split="train", streaming=streaming)


def images(streaming: bool) -> Iterator[Tuple[str, Dict[str, Any]]]:
    for s in load("images", streaming).cast_column("png", datasets.Image(decode=False)):
        assert type(s["cls"]) is int and type(s["txt"]) is str, s
        yield s["__key__"], {"png": s["png"]["bytes"], "txt": s["txt"], "cls": b"%d" % s["cls"]}


def numbers(streaming: bool) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """It turns arrays into lists: give them back the types of the source."""
    types = {"x.npy": "f4", "y.npy": "i8", "flag.npy": "?", "half.npy": "f2"}
    for s in load("numbers", streaming):
        yield s["__key__"], {m: np.asarray(s[m], t) for m, t in types.items()}


def pictures() -> str:
    from PIL import Image

    n = 0
    for s in load("images", False):
        assert isinstance(s["png"], Image.Image) and np.asarray(s["png"]).shape[2] == 3
        n += 1
    assert n == len(expected("images"))
    return "images: %d pictures decoded" % n


if __name__ == "__main__":
    main(
        [
            (VERSION, lambda: compare("images", images(False))),
            (VERSION, lambda: compare("images", images(True)) + " streaming"),
            (VERSION, lambda: compare("numbers", numbers(False))),
            (VERSION, pictures),
        ]
    )
