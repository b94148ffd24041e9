#!/usr/bin/env python3
"""What is in the program, by bytes: sections, modules, and rooms of ours.

    python3 bench/binary.py STRIPPED WITH_SYMBOLS --out bench/BINARY.md

Code and data are those of symbols, by the package in their names; instances of generic functions count where these are declared.
Tables are what the runtime has of each function, for stacks and panics; they have no symbols, and are shared out by code.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import struct
import subprocess
from typing import Dict, List, Tuple

import page

OURS = "github.com/shardify/shardify"
NAMED = re.compile(r"^(?:go:itab\.|type:\.eq\.|type:\.hash\.|type:|go:(?:string|map)\.)?[*\[\]]*((?:[\w.\-~%]+/)*[\w\-%]+)\.")
LARGEST = 24


def sections(path: str) -> List[Tuple[str, int, int, bool]]:
    """Name, address, size of each section of a 64-bit ELF file, and whether its bytes are in the file."""
    with open(path, "rb") as f:
        b = f.read()
    if b[:5] != b"\x7fELF\x02":
        raise SystemExit("%s: want a 64-bit ELF file" % path)
    (at,), (size, n, names) = struct.unpack_from("<Q", b, 40), struct.unpack_from("<HHH", b, 58)
    heads = [struct.unpack_from("<IIQQQQ", b, at + k * size) for k in range(n)]
    text = heads[names][4]
    return [(b[text + h[0] : b.index(0, text + h[0])].decode(), h[3], h[5], h[1] != 8) for h in heads]


def room(symbol: str) -> str:
    """The module of a symbol, or the room of ours."""
    m = NAMED.match(symbol)
    parts = (m.group(1) if m else "other").replace("%2e", ".").split("/")
    name = "/".join(parts)
    if name.startswith(OURS):
        inner = name[len(OURS) + 1 :].split("/")
        return "/".join(inner[:2]) or "package shardify"
    if "." in parts[0]:
        return "/".join(parts[: 3 if parts[0] == "github.com" else 2])
    return "Go: " + ("crypto" if parts[0] == "crypto" else "net" if parts[0] in ("net", "vendor") else parts[0] if m else "other")


def symbols(path: str) -> Dict[str, List[int]]:
    """Bytes of code and of data, by room."""
    filled = [(a, a + n) for _, a, n, there in sections(path) if there and a]
    out: Dict[str, List[int]] = collections.defaultdict(lambda: [0, 0])
    listed = subprocess.run(["go", "tool", "nm", "-size", path], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        address, size, kind, name = line.split(None, 3) if len(line.split(None, 3)) == 4 else ("0", "0", "U", "")
        if int(size) > 0 and any(lo <= int(address, 16) < hi for lo, hi in filled):
            out[room(name)][kind not in "Tt"] += int(size)
    return out


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("stripped")
    p.add_argument("symbols")
    p.add_argument("--out", default="")
    a = p.parse_args()
    total, held = os.path.getsize(a.stripped), [(n, size) for n, _, size, there in sections(a.stripped) if there]
    tables = dict(held).get(".gopclntab", 0)
    rooms = symbols(a.symbols)
    code, data = sum(c for c, _ in rooms.values()), sum(d for _, d in rooms.values())
    ours = sum(c for n, (c, _) in rooms.items() if "." not in n.split("/")[0] and not n.startswith("Go: "))
    lines = [
        "# What is in the program",
        "",
        "Made by `make bench-binary` (`bench/binary.py`). `bin/shardify` has %.1f MB (10^6 bytes): no symbols, no tables for debuggers, no paths of the machine that built it. Commit %s." % (total / 1e6, page.commit()),
        "",
        "| section | MB |",
        "|---|---|",
    ]
    lines += ["| `%s` | %.1f |" % (n, size / 1e6) for n, size in sorted(held, key=lambda s: -s[1]) if size > 1e5]
    lines += [
        "",
        "`.gopclntab` is what the runtime has of each function, to unwind stacks and print panics: the linker writes it always. It is %.2f bytes for each byte of code, and is shared out so below." % (tables / code),
        "",
        "Code of ours is %.0f %% of all code. The %d largest of %d rooms and modules:" % (100 * ours / code, LARGEST, len(rooms)),
        "",
        "| room of ours, module, or part of Go | code, kB | data, kB | with tables, MB |",
        "|---|---|---|---|",
    ]
    whole = {n: c + d + tables * c / code for n, (c, d) in rooms.items()}
    lines += ["| %s | %s | %s | %.2f |" % (n, *(format(round(v / 1e3), ",") for v in rooms[n]), whole[n] / 1e6) for n in sorted(whole, key=lambda n: -whole[n])[:LARGEST]]
    others = [n for n in whole if "." in n.split("/")[0]]
    lines += ["", "Modules of others: %d, %.1f MB with their tables and data. All symbols: %.1f MB of code, %.1f MB of data." % (len(others), sum(whole[n] for n in others) / 1e6, code / 1e6, data / 1e6)]
    page.publish("\n".join(lines) + "\n", a.out)


if __name__ == "__main__":
    main()
