"""What a shared library asks of the system: machine, libraries, versions of their symbols."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Dict, List, Tuple

MACHINES = {62: "x86_64", 183: "aarch64"}
PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_STRTAB, DT_VERNEED, DT_VERNEEDNUM = 1, 5, 0x6FFFFFFE, 0x6FFFFFFF


@dataclass(frozen=True)
class Elf:
    machine: str
    needed: List[str]
    versions: Dict[str, List[str]]  # library -> "GLIBC_2.17", ...

    @property
    def glibc(self) -> Tuple[int, int]:
        """The oldest glibc that has all the symbols asked for."""
        return max(map(_number, self._glibc()), default=(0, 0))

    def newer(self, than: Tuple[int, int]) -> List[str]:
        return sorted(v for v in self._glibc() if _number(v) > than)

    def _glibc(self) -> List[str]:
        every = [v for versions in self.versions.values() for v in versions if v.startswith("GLIBC_")]
        strange = [v for v in every if not re.fullmatch(r"GLIBC_\d+(\.\d+)+", v)]
        if strange:  # GLIBC_PRIVATE belongs to one glibc alone
            raise ValueError("asks for %s" % ", ".join(strange))
        return every


def _number(version: str) -> Tuple[int, int]:
    major, minor = version[len("GLIBC_") :].split(".")[:2]
    return int(major), int(minor)


def parse(data: bytes) -> Elf:
    """Reads a little-endian 64-bit ELF file by its dynamic segment, as the loader does: sections may be stripped."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no little-endian 64-bit ELF file")
    try:
        return _parse(data)
    except (struct.error, OverflowError, UnicodeDecodeError) as e:
        raise ValueError("a damaged ELF file: %s" % e) from None


def _parse(data: bytes) -> Elf:
    machine, offset = struct.unpack_from("<H12xQ", data, 18)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + size * k) for k in range(count)]
    loads = [(at, where, length) for kind, _, where, at, _, length in headers if kind == PT_LOAD]

    def place(address: int) -> int:
        for at, where, length in loads:
            if at <= address < at + length:
                return int(address - at + where)
        raise ValueError("address %#x is in no segment" % address)

    dynamic: List[Tuple[int, int]] = []
    for kind, _, where, _, _, length in headers:
        if kind == PT_DYNAMIC:
            words = struct.unpack_from("<%dQ" % (length // 8), data, where)
            dynamic = list(zip(words[::2], words[1::2]))
    tags = dict(dynamic)
    strings = place(tags[DT_STRTAB]) if DT_STRTAB in tags else 0

    def text(at: int) -> str:
        return data[strings + at : data.index(b"\0", strings + at)].decode()

    versions: Dict[str, List[str]] = {}
    at = place(tags[DT_VERNEED]) if DT_VERNEED in tags else 0
    for _ in range(tags.get(DT_VERNEEDNUM, 0)):
        _, entries, file, first, following = struct.unpack_from("<HHIII", data, at)
        entry = at + first
        for _ in range(entries):
            _, _, _, name, step = struct.unpack_from("<IHHII", data, entry)
            versions.setdefault(text(file), []).append(text(name))
            entry += step
        at += following
    return Elf(MACHINES.get(machine, str(machine)), [text(v) for t, v in dynamic if t == DT_NEEDED], versions)
