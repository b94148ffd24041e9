"""The programs of docs/guides/frameworks.md, each run where its framework is installed.

With UPDATE=1 the page's table gets the versions that ran.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest
from loading import PYTHON, needs_library

ROOT = os.path.dirname(PYTHON)
PAGE = os.path.join(ROOT, "docs", "guides", "frameworks.md")
PROGRAM = os.environ.get("SHARDIFY", os.path.join(ROOT, "bin", "shardify"))
OURS = {"shardify", "io", "itertools", "json", "os"}
PACKAGES = {"tensorflow": "tensorflow-cpu", "PIL": "pillow"}

with open(PAGE, encoding="utf-8") as f:
    SECTIONS = dict(s.split("\n", 1) for s in f.read().split("\n## ")[1:])
TABLE = re.compile(r"^\| (.+) \| (.*)\|$", re.M)


def modules(text):
    """What a program imports that is neither ours nor Python's."""
    names = re.findall(r"^(?:import|from) (\w+)", text, re.M)
    return list(dict.fromkeys(n for n in names if n not in OURS))


def version(module):
    """None where it is not installed."""
    for name in (PACKAGES.get(module, module), module):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return None


def ran(section, used):
    """Prints the versions, and writes them into the page where that is wanted."""
    versions = ", ".join("%s %s" % (m, version(m)) for m in used if m != "PIL")
    print("%s: %s" % (section, versions))
    if os.environ.get("UPDATE"):
        with open(PAGE, encoding="utf-8") as f:
            page = f.read()
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(re.sub(r"(?m)^\| %s \|.*$" % re.escape(section), "| %s | %s |" % (section, versions), page))


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """The sets of the quickstart."""
    if not os.path.exists(PROGRAM):
        pytest.skip("%s is not built" % PROGRAM)
    folder = tmp_path_factory.mktemp("digits")
    demo = os.path.join(ROOT, "testdata", "demo")
    subprocess.run([PROGRAM, "convert", "-q", os.path.join(demo, "digits.npz"), "-o", "digits-train", "--format", "mmap"], cwd=folder, check=True)
    if version("PIL") is None:
        return folder
    import PIL.Image

    with np.load(os.path.join(demo, "digits.npz")) as z:
        for i, (x, y) in enumerate(zip(z["x"], z["y"])):
            os.makedirs(folder / "digits" / str(y), exist_ok=True)
            PIL.Image.fromarray((x * 15.9).astype("u1")).save(folder / "digits" / str(y) / ("%04d.png" % i))
    subprocess.run([PROGRAM, "convert", "-q", "digits", "-o", "digits-wds"], cwd=folder, check=True)
    return folder


def test_the_table_has_every_section():
    with open(PAGE, encoding="utf-8") as f:
        rows = [name for name, _ in TABLE.findall(f.read()) if name not in ("section",)]
    assert rows == list(SECTIONS)


@needs_library
@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_runs(section, digits):
    blocks = [(lang, text, modules(text)) for lang, text in re.findall(r"```(python|sh)\n(.*?)```", SECTIONS[section], re.S)]
    for m in sum((used for _, _, used in blocks), []):
        if version(m) is None:
            pytest.skip("%s is not installed" % m)
    for lang, text, used in blocks:
        path = os.path.dirname(os.path.abspath(PROGRAM)) + os.pathsep + os.environ["PATH"]
        env = dict(os.environ, PATH=path, PYTHONPATH=PYTHON, HF_HUB_OFFLINE="1", HF_HOME=str(digits / "hf"), CUDA_VISIBLE_DEVICES="")
        command = [sys.executable, "-c", text] if lang == "python" else ["sh", "-e", "-c", text]
        p = subprocess.run(command, cwd=digits, env=env, capture_output=True, text=True, timeout=280)
        assert p.returncode == 0, p.stdout + p.stderr
        if used:
            ran(section, used)
