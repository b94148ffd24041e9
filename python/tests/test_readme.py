from __future__ import annotations

import io
import os
import re
import subprocess
import sys

import fixture
import numpy as np
import pytest
from loading import PYTHON, needs_library

PROGRAM = os.environ.get("SHARDIFY", os.path.join(os.path.dirname(PYTHON), "bin", "shardify"))

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


def photos(folder, kinds):
    """A folder for each class, with images of other sizes and kinds."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    rng = np.random.default_rng(0)
    for k in range(30):
        kind, mode = kinds[k % len(kinds)]
        size = int(rng.integers(9, 90)), int(rng.integers(9, 90))
        pixels = rng.integers(0, 255, size[::-1] + (4,), "u1")
        at = folder / ("cat" if k % 2 else "dog")
        at.mkdir(parents=True, exist_ok=True)
        image.fromarray(pixels, "RGBA").convert(mode).save(at / ("%02d.%s" % (k, kind)))


def run(folder, commands):
    """What a shell does in an environment that has the wheel's program, and no other of ours."""
    (folder / "bin").mkdir(exist_ok=True)
    for name, target in ("shardify", PROGRAM), ("python", sys.executable):
        (folder / "bin" / name).unlink(missing_ok=True)
        (folder / "bin" / name).write_text("#!/bin/sh\nexec '%s' \"$@\"\n" % target)
        (folder / "bin" / name).chmod(0o755)
    env = dict(os.environ, PATH="%s:/usr/bin:/bin" % (folder / "bin"), PYTHONPATH=PYTHON, OMP_NUM_THREADS="1")
    p = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, env=env, capture_output=True, text=True, timeout=250)
    assert p.returncode == 0, p.stdout + p.stderr
    return p.stdout


MIXTURES = {
    "kinds": [("png", "RGB"), ("jpg", "RGB"), ("png", "RGBA"), ("jpeg", "L"), ("png", "P")],
    "png": [("png", "RGB"), ("png", "L")],
    "jpg": [("jpg", "RGB")],
}


@needs_library
@pytest.mark.skipif(not os.path.exists(PROGRAM), reason="%s is not built" % PROGRAM)
@pytest.mark.parametrize("kinds", MIXTURES)
def test_the_first_page_trains_on_images_of_many_sizes(tmp_path, kinds):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    photos(tmp_path / "photos", MIXTURES[kinds])
    with open(os.path.join(os.path.dirname(PYTHON), "README.md"), encoding="utf-8") as f:
        page = f.read()
    script = re.search(r"```python\n# train.py\n(.*?)```", page, re.S)
    commands = re.search(r"```sh\n(shardify inspect photos\n.*?)```", page, re.S)
    assert script and commands
    (tmp_path / "train.py").write_text(script[1])
    out = run(tmp_path, commands[1])
    assert out.count("epoch ") >= 5 and "epoch 4: loss" in out
