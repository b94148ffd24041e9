from __future__ import annotations

import io
import os
import re

import fixture
import numpy as np
import pytest
from loading import needs_library

README = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "README.md")


@needs_library
def test_the_readme_runs(tmp_path, monkeypatch):
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    schema = [
        {"name": "image", "dtype": "u8", "levels": 1, "media": "image"},
        {"name": "image.ext", "dtype": "u8", "attrs": {"labels": "png"}},
        {"name": "cls", "dtype": "i64", "attrs": {"labels": "a\nb"}},
        {"name": "x", "dtype": "f32", "shape": [2]},
    ]
    samples = []
    for i in range(40):
        out = io.BytesIO()
        image.fromarray(np.full((9, 8, 3), i, "u1")).save(out, "png")
        samples.append({"image": out.getvalue(), "image.ext": 0, "cls": i % 2, "x": [i, i]})
    fixture.write(tmp_path / "OUT", schema, samples)
    monkeypatch.chdir(tmp_path)
    with open(README, encoding="utf-8") as f:
        blocks = re.findall(r"```python\n(.*?)```", f.read(), re.S)
    seen: list = []
    names: dict = {"step": lambda x, cls: seen.append(len(x)), "save": seen.append}
    for block in blocks:
        exec(block, names)
    picture, cls = names["ds"][7]
    assert len(blocks) == 5 and len(seen) == 20 and tuple(picture.shape) == (3, 224, 224) and (picture == 7).all() and cls == 1
