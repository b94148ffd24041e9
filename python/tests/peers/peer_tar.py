"""Python's tarfile, GNU tar, Energon's .tar.idx, and the arithmetic of DALI's wds2idx."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
from typing import Any, Dict, Iterator, List, Tuple

from expect import Skip, compare, main, tars

SETS = ("images", "mixed", "numbers")
Members = List[Tuple[str, int, int]]  # name, offset of the data, size


def split(name: str) -> Tuple[str, str]:
    m = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", name)
    assert m is not None, name
    return m.group(1), m.group(2)


def grouped(members: Iterator[Tuple[str, bytes]]) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Adjacent members of one key are a sample."""
    key, sample = None, {}
    for name, data in members:
        k, field = split(name)
        if k != key and key is not None:
            yield key, sample
            sample = {}
        key = k
        assert field not in sample, name
        sample[field] = data
    if key is not None:
        yield key, sample


def by_tarfile(name: str) -> Iterator[Tuple[str, bytes]]:
    for path in tars(name):
        with tarfile.open(path, "r:") as t:
            for m in t:
                assert m.isreg() and (m.mode, m.mtime, m.uid, m.gid, m.uname, m.gname) == (0o444, 0, 0, 0, "", "")
                f = t.extractfile(m)
                assert f is not None
                yield m.name, f.read()


def gnu_tar() -> str:
    tar = shutil.which("tar")
    if tar is None or "GNU tar" not in subprocess.run([tar, "--version"], stdout=-1).stdout.decode():
        raise Skip("GNU tar is not installed")
    return tar


def output(*command: str) -> str:
    p = subprocess.run(command, stdout=-1, stderr=-1, env={**os.environ, "LC_ALL": "C"})
    assert p.returncode == 0 and not p.stderr, (command, p.stderr)
    return p.stdout.decode()


def by_gnu_tar(name: str) -> Iterator[Tuple[str, bytes]]:
    """Extracted without a warning, in the order of its listing."""
    tar = gnu_tar()
    for path in tars(name):
        with tempfile.TemporaryDirectory() as d:
            output(tar, "-xf", path, "-C", d)
            for member in output(tar, "--quoting-style=literal", "-tf", path).splitlines():
                with open(os.path.join(d, member), "rb") as f:
                    yield member, f.read()


def blocks(path: str) -> Members:
    """As wds2idx does it: GNU tar numbers the header blocks, the data follow."""
    out = []
    for line in output(gnu_tar(), "--quoting-style=literal", "--list", "--block-number", "--verbose", "--file", path).splitlines():
        m = re.match(r"^block (\d+): (-\S+) +\S+ +(\d+) \S+ \S+ (.*)$", line)
        if m is not None:
            out.append((m.group(4), (int(m.group(1)) + 1) * 512, int(m.group(3))))
        else:
            assert "** Block of NULs **" in line, line
    return out


def dali_arithmetic(name: str) -> Iterator[Tuple[str, bytes]]:
    for path in tars(name):
        with open(path, "rb") as f:
            for member, offset, size in blocks(path):
                f.seek(offset)
                yield member, f.read(size)


def dali_index(name: str) -> Iterator[Tuple[str, bytes]]:
    """shard.idx of --dali: its lines equal the arithmetic, and point at the data."""
    for path in tars(name):
        with open(path.rpartition(".")[0] + ".idx") as f:
            version, count = f.readline().split()
            lines = f.read().splitlines()
        assert version == "v1.2" and int(count) == len(lines)
        seen: Members = []
        with open(path, "rb") as t:
            for line in lines:
                words = line.split()
                assert len(words) % 4 == 0
                for ext, offset, size, member in zip(*(words[k::4] for k in range(4))):
                    assert os.path.basename(member).partition(".")[2] == ext and int(offset) % 512 == 0
                    seen.append((member, int(offset), int(size)))
                    t.seek(int(offset))
                    yield member, t.read(int(size))
        assert seen == blocks(path), path


def energon_index(name: str) -> Iterator[Tuple[str, bytes]]:
    """shard.tar.idx: a tar cut out between two entries is that sample alone."""
    import io

    for path in tars(name):
        with open(path + ".idx", "rb") as f:
            raw = f.read()
        offsets = struct.unpack("<%dQ" % (len(raw) // 8), raw)
        assert offsets[0] == 0 and offsets[-1] == os.path.getsize(path) - 1024
        with open(path, "rb") as f:
            for lo, hi in zip(offsets, offsets[1:]):
                f.seek(lo)
                keys = set()
                with tarfile.open(fileobj=io.BytesIO(f.read(hi - lo) + bytes(1024)), mode="r:") as t:
                    for m in t:
                        data = t.extractfile(m)
                        assert data is not None
                        keys.add(split(m.name)[0])
                        yield m.name, data.read()
                assert len(keys) == 1, keys


if __name__ == "__main__":
    ways = [
        ("tarfile", by_tarfile, SETS),
        ("GNU tar", by_gnu_tar, SETS),
        ("DALI wds2idx arithmetic", dali_arithmetic, SETS),
        ("DALI .idx", dali_index, ("images", "numbers")),
        (".tar.idx", energon_index, SETS),
    ]
    main([(p, lambda f=f, n=n: compare(n, grouped(f(n)))) for p, f, names in ways for n in names])
