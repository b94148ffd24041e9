"""Builds wheels with the program and the loader's library in them, and one without for every other system.

    python build_wheel.py --out ../dist [--zig PYTHON] [amd64 arm64]

The program is static, so pip puts it into bin/ as it is. They hold no code that depends on CPython's ABI, so one wheel serves every Python 3 of its platform. The library is
compiled by zig's C compiler against glibc 2.17; its symbols decide what the wheel is called, and one that needs more
than glibc 2.28 is refused. --zig names a Python that has the package ziglang.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from typing import Dict, List

import elf

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = "shardify/_shardify.so"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
ARCHS = {v: k for k, v in MACHINES.items()}
NEWEST = (2, 28)  # RHEL 8, Debian 10, Ubuntu 20.04
# What manylinux names as parts of every system that it covers.
SYSTEM = {"libc.so.6", "libpthread.so.0", "libdl.so.2", "libm.so.6", "librt.so.1", "ld-linux-x86-64.so.2"}
SYSTEM |= {"ld-linux-aarch64.so.1", "libresolv.so.2"}


def compiler(python: str, machine: str, folder: str) -> str:
    """A program that is zig's C compiler for a machine, with the libraries of glibc 2.17."""
    name = os.path.join(folder, "cc-" + machine)
    with open(name, "w") as f:
        f.write('#!/bin/sh\nexec "%s" -m ziglang cc -target %s-linux-gnu.2.17 "$@"\n' % (python, machine))
    os.chmod(name, 0o755)
    return name


def library(arch: str, zig: str, work: str) -> bytes:
    out = os.path.join(work, "lib-%s.so" % arch)
    env = dict(os.environ, CGO_ENABLED="1", GOOS="linux", GOARCH=arch, CC=compiler(zig, MACHINES[arch], work))
    # Flags for another compiler do not suit this one.
    for name in "CFLAGS", "CXXFLAGS", "LDFLAGS", "CGO_CFLAGS", "CGO_LDFLAGS":
        env.pop(name, None)
    flags = ["-tags", "cuda", "-buildmode=c-shared", "-trimpath", "-ldflags", "-s -w"]
    subprocess.run(["go", "build", *flags, "-o", out, "./gpuload/capi"], cwd=os.path.dirname(HERE), env=env, check=True)
    with open(out, "rb") as f:
        return f.read()


def program(arch: str, work: str) -> bytes:
    out = os.path.join(work, "shardify-%s" % arch)
    env = dict(os.environ, CGO_ENABLED="0", GOOS="linux", GOARCH=arch)
    flags = ["-trimpath", "-ldflags", "-s -w"]
    subprocess.run(["go", "build", *flags, "-o", out, "./cmd/shardify"], cwd=os.path.dirname(HERE), env=env, check=True)
    with open(out, "rb") as f:
        return f.read()


def licences(*flags: str) -> bytes:
    """The licence texts of what is linked into the program and the library; with -spdx VERSION a list as SPDX (PEP 770)."""
    top = os.path.dirname(HERE)
    return subprocess.run(["go", "run", "./bench/licences", *flags], cwd=top, check=True, stdout=subprocess.PIPE).stdout


def platform(lib: bytes, arch: str) -> str:
    """The oldest manylinux that a library runs on."""
    e = elf.parse(lib)
    if e.machine != MACHINES[arch]:
        raise SystemExit("the library is for %s, not for %s" % (e.machine, MACHINES[arch]))
    foreign = set(e.needed) - SYSTEM
    if foreign:
        raise SystemExit("the library needs %s, which not every system has" % ", ".join(sorted(foreign)))
    if e.glibc > NEWEST:
        symbols = ", ".join(e.newer(NEWEST))
        raise SystemExit("the library needs %s: glibc %d.%d is the newest allowed" % ((symbols,) + NEWEST))
    return "manylinux_%d_%d_%s" % (max(e.glibc, (2, 17)) + (e.machine,))


def pure(work: str) -> str:
    """The wheel without a library, as the build system of pyproject.toml makes it."""
    source = os.path.join(work, "source")
    left = shutil.ignore_patterns("*.so", "build", "*.egg-info", "__pycache__", "tests", ".*")
    shutil.copytree(HERE, source, ignore=left)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "-w", work, source], check=True)
    return next(os.path.join(work, n) for n in os.listdir(work) if n.endswith(".whl"))


def record(name: str, data: bytes) -> List[str]:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return [name, "sha256=" + digest, str(len(data))]


def repack(wheel: str, lib: bytes, exe: bytes, legal: Dict[str, bytes], tag: str, out: str) -> str:
    """The wheel with program and library, for one platform. Equal inputs give equal bytes."""
    with zipfile.ZipFile(wheel) as z:
        files: Dict[str, bytes] = {n: z.read(n) for n in z.namelist() if not n.endswith("/RECORD")}
    info = next(n for n in files if n.endswith(".dist-info/WHEEL"))
    dist = info[: -len("/WHEEL")]
    exec_name = dist[: -len(".dist-info")] + ".data/scripts/shardify"
    del files[dist + "/entry_points.txt"]  # its script would take the place of the program
    files.update({LIBRARY: lib, exec_name: exe})
    files.update({dist + "/" + name: text for name, text in legal.items()})
    text = re.sub(r"(?m)^Root-Is-Purelib: .*$", "Root-Is-Purelib: false", files[info].decode())
    files[info] = re.sub(r"(?m)^Tag: .*$", "Tag: py3-none-" + tag, text).encode()
    rows = io.StringIO()
    table = csv.writer(rows, lineterminator="\n")
    table.writerows(record(n, files[n]) for n in sorted(files))
    name = info[: -len("WHEEL")] + "RECORD"
    table.writerow([name, "", ""])
    path = os.path.join(out, os.path.basename(wheel).replace("-py3-none-any", "-py3-none-" + tag))
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED) as z:
        for n in [*sorted(files), name]:
            entry = zipfile.ZipInfo(n, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if n in (LIBRARY, exec_name) else 0o644)) << 16
            z.writestr(entry, files[n] if n != name else rows.getvalue().encode())
    os.replace(path + ".part", path)
    return path


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--zig", default=sys.executable, help="a Python that has ziglang")
    p.add_argument("arch", nargs="*", default=["amd64"], help="amd64, arm64")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        wheel = pure(work)
        version = os.path.basename(wheel).split("-")[1]
        legal = {"sboms/shardify.spdx.json": licences("-spdx", version), "licenses/THIRD_PARTY_LICENSES": licences()}
        for arch in a.arch:
            lib = library(arch, os.path.abspath(a.zig), work)
            print(repack(wheel, lib, program(arch, work), legal, platform(lib, arch), a.out))
        print(shutil.copy(wheel, a.out))


if __name__ == "__main__":
    main()
