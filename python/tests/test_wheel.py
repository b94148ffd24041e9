"""The wheels of `make wheel`: what they ask of a system, and that they work in an empty one."""

from __future__ import annotations

import base64
import csv
import glob
import hashlib
import json
import os
import platform
import subprocess
import sys
import zipfile

import fixture
import numpy as np
import pytest
import shardify

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
import build_wheel  # noqa: E402
import elf  # noqa: E402

WHEELS = os.environ.get("SHARDIFY_WHEELS", "")
needs_wheels = pytest.mark.skipif(not WHEELS, reason="`make wheel` builds the wheels and runs these tests")
glibc = platform.libc_ver()
on_glibc = pytest.mark.skipif(
    glibc[0] != "glibc" or platform.machine() not in build_wheel.ARCHS, reason="no wheels for this system"
)


def wheels(which="manylinux*"):
    return sorted(glob.glob(os.path.join(WHEELS, "*-py3-none-%s.whl" % which)))


def library(wheel):
    with zipfile.ZipFile(wheel) as z:
        return z.read(build_wheel.LIBRARY)


def own_binary():
    """A library of this Python that uses glibc."""
    import _ctypes

    name = getattr(_ctypes, "__file__", None) or sys.executable
    with open(name, "rb") as f:
        return f.read()


@on_glibc
def test_symbol_versions_are_found():
    e = elf.parse(own_binary())
    assert "libc.so.6" in e.needed and e.machine == platform.machine()
    assert (2, 0) < e.glibc <= tuple(map(int, glibc[1].split(".")))
    assert e.newer(e.glibc) == [] and e.newer((2, 0)) != []


@on_glibc
def test_a_library_that_needs_a_newer_glibc_is_refused(monkeypatch):
    data = own_binary()
    e = elf.parse(data)
    with pytest.raises(SystemExit, match="which not every system has"):
        build_wheel.platform(data.replace(b"libc.so.6\0", b"libz.so.6\0"), build_wheel.ARCHS[e.machine])
    monkeypatch.setattr(build_wheel, "SYSTEM", set(e.needed))
    arch = build_wheel.ARCHS[e.machine]
    symbol = ("GLIBC_%d.%d" % e.glibc).encode()
    newer = data.replace(symbol + b"\0", b"GLIBC_9" + b"9" * (len(symbol) - 9) + b".9\0")
    assert newer != data
    with pytest.raises(SystemExit, match=r"needs GLIBC_9"):
        build_wheel.platform(newer, arch)
    with pytest.raises(SystemExit, match="is for"):
        build_wheel.platform(data, "arm64" if arch == "amd64" else "amd64")


def test_what_is_no_library_is_an_error():
    for data in b"", b"MZ", b"\x7fELF\x02\x01" + b"\xff" * 200:
        with pytest.raises(ValueError):
            elf.parse(data)


@needs_wheels
def test_there_is_a_wheel_for_each_platform():
    machines = [build_wheel.MACHINES[arch] for arch in os.environ["SHARDIFY_ARCHS"].split()]
    tags = [os.path.basename(w)[: -len(".whl")].rsplit("-", 1)[1] for w in wheels("*")]
    assert sorted(t.split("_", 3)[-1] for t in tags) == sorted(["any", *machines]), tags


@needs_wheels
def test_libraries_run_on_old_systems():
    for wheel in wheels():
        e = elf.parse(library(wheel))
        assert e.newer(build_wheel.NEWEST) == [] and set(e.needed) <= build_wheel.SYSTEM, wheel
        tag = os.path.basename(wheel)[: -len(".whl")].split("-")[-1]
        assert tag == "manylinux_%d_%d_%s" % (max(e.glibc, (2, 17)) + (e.machine,))
        newer = library(wheel).replace(b"GLIBC_2.", b"GLIBC_9.")
        with pytest.raises(SystemExit, match="needs GLIBC_9"):
            build_wheel.platform(newer, "arm64" if "aarch64" in tag else "amd64")


@needs_wheels
def test_wheels_say_what_they_hold():
    for wheel in wheels("*"):
        tag = "-".join(os.path.basename(wheel)[: -len(".whl")].split("-")[-3:])
        with zipfile.ZipFile(wheel) as z:
            assert z.testzip() is None
            names = z.namelist()
            info = next(n for n in names if n.endswith(".dist-info/WHEEL"))
            text = z.read(info).decode()
            pure = tag.endswith("-any")
            assert ("Tag: %s\n" % tag) in text and ("Root-Is-Purelib: %s\n" % ("true" if pure else "false")) in text
            rows = list(csv.reader(z.read(info[: -len("WHEEL")] + "RECORD").decode().splitlines()))
            assert sorted(r[0] for r in rows) == sorted(names)
            for name, digest, size in rows:
                if digest:
                    want = base64.urlsafe_b64encode(hashlib.sha256(z.read(name)).digest()).rstrip(b"=").decode()
                    assert digest == "sha256=" + want and int(size) == len(z.read(name))
            assert (build_wheel.LIBRARY in names) != pure and "shardify/py.typed" in names
            assert not [n for n in names if "test" in n or n.startswith("build")]
            exe = [n for n in names if n.endswith(".data/scripts/shardify")]
            assert (len(exe) == 0) == pure and any(n.endswith("entry_points.txt") for n in names) == pure
            if exe:
                e = elf.parse(z.read(exe[0]))
                assert e.machine in tag and e.needed == [] and z.getinfo(exe[0]).external_attr >> 16 & 0o111 == 0o111
                assert any(n.endswith("/licenses/THIRD_PARTY_LICENSES") for n in names)
                bom = json.loads(z.read(next(n for n in names if n.endswith("/sboms/shardify.spdx.json"))))
                assert bom["name"] == "shardify-" + shardify.__version__ and len(bom["packages"]) > 15


READ = """
import sys
import numpy as np
import shardify

assert "torch" not in sys.modules
ds = shardify.open("set")
assert sorted(np.asarray(ds.column("y")).tolist()) == list(range(500))
"""

LOAD = (
    READ
    + """
loader = shardify.Loader("set", 32, shuffle="global", seed=1, last="pad", device="host")
seen = []
for batch in loader:
    x, y = np.asarray(batch["x"]), np.asarray(batch["y"])
    assert (x == y[:, None] * np.arange(1, 5)).all()
    seen += y.tolist()
assert sorted(seen)[-500:] == list(range(500)) and len(loader) == 16, len(seen)
assert shardify.profile(loader, 5, quiet=True).steps == 5
print("loaded with Python %d.%d, numpy %s" % (sys.version_info[:2] + (np.__version__,)))
"""
)

NO_LIBRARY = (
    READ
    + """
try:
    shardify.Loader("set", 32)
except shardify.ShardifyError as e:
    print("refused:", e)
"""
)


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    schema = [{"name": "x", "dtype": "f32", "shape": [4]}, {"name": "y", "dtype": "i64"}]
    rows = [{"x": k * np.arange(1, 5), "y": k} for k in range(500)]
    fixture.write(folder / "set", schema, rows, shards=[250, 250])
    return folder


def fresh(python, folder, wheel):
    """An environment with numpy and the wheel, and nothing else."""
    venv = os.path.join(folder, "venv")
    subprocess.run([python, "-m", "venv", venv], check=True)
    new = os.path.join(venv, "bin", "python")
    pip = [new, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "numpy"], capture_output=True).returncode:
        pytest.skip("pip could not install numpy")
    subprocess.run([*pip, "--no-deps", "--no-index", os.path.abspath(wheel)], check=True)
    return new


def run(python, code, cwd):
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run([python, "-c", code], cwd=cwd, env=env, capture_output=True, text=True)


def pythons():
    """The oldest Python that we know, this one, and those of $SHARDIFY_PYTHONS."""
    out = {}
    for name in (
        *os.environ.get("SHARDIFY_PYTHONS", "").split(),
        "python3.9",
        getattr(sys, "_base_executable", sys.executable),
    ):
        p = subprocess.run(
            ["sh", "-c", '"$0" -c "import sys, venv; print(sys.version_info[:2])"', name], capture_output=True
        )
        if p.returncode == 0:
            out.setdefault(p.stdout, name)
    return list(out.values())


@needs_wheels
@pytest.mark.parametrize("python", pythons() if WHEELS else [])
def test_an_environment_with_numpy_alone_reads(python, where, tmp_path):
    mine = wheels("*_" + platform.machine())
    if not mine:
        pytest.skip("no wheel for this machine")
    new = fresh(python, tmp_path, mine[0])
    for command in ([os.path.join(os.path.dirname(new), "shardify")], [new, "-m", "shardify"]):
        told = subprocess.run([*command, "version"], capture_output=True, text=True)
        assert told.returncode == 0 and told.stdout.startswith("shardify " + shardify.__version__), told
    p = run(new, LOAD, where)
    assert p.returncode == 0, p.stderr
    print(p.stdout)
    # The library of a system that is too new, as an old one sees it.
    installed = glob.glob(str(tmp_path / "venv/lib/*/site-packages/shardify/_shardify.so"))[0]
    with open(installed, "rb") as f:
        data = f.read()
    with open(installed, "wb") as f:
        f.write(data.replace(b"GLIBC_2.", b"GLIBC_9."))
    p = run(new, NO_LIBRARY, where)
    assert p.returncode == 0 and "refused:" in p.stdout and "GLIBC_9" in p.stdout, p.stdout + p.stderr
    os.unlink(installed)
    p = run(new, NO_LIBRARY, where)
    assert p.returncode == 0 and "refused:" in p.stdout and "is not there" in p.stdout, p.stdout + p.stderr


@needs_wheels
def test_the_wheel_without_a_program_says_so(tmp_path):
    new = fresh(sys.executable, tmp_path, wheels("any")[0])
    script = os.path.join(os.path.dirname(new), "shardify")
    for command in ([script], [new, "-m", "shardify"]):
        p = subprocess.run([*command, "version"], capture_output=True, text=True, env={"PATH": "/nowhere"})
        assert p.returncode == 2 and "has no program" in p.stderr and "shardify.open" in p.stderr, p
    p = run(new, "import shardify, sys; assert 'torch' not in sys.modules", str(tmp_path))
    assert p.returncode == 0, p.stderr


@pytest.mark.parametrize("arch,want", [("", "%s"), ("all", "%s %s"), ("arm64", "arm64"), ("sparc", None)])
def test_which_wheels_are_built(arch, want):
    """This machine's wheel comes first, and others are built where they are asked for."""
    this = build_wheel.ARCHS.get(platform.machine(), "amd64")
    other = {"amd64": "arm64", "arm64": "amd64"}[this]
    script = os.path.join(ROOT, "wheel.sh")
    r = subprocess.run(["sh", script, "build/none", "build/none", arch], env=dict(os.environ, DRY="1"), capture_output=True, text=True)
    if want is None:
        assert r.returncode == 2 and "want all, amd64 or arm64" in r.stderr
        return
    assert r.stdout.splitlines()[-1] == (want % (this, other)[: want.count("%s")] if "%s" in want else want)
