"""A set of one file of arrays, read without the library: safetensors by hand."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from typing import Any, Dict

import numpy as np

BINARY = os.environ.get("SHARDIFY", "shardify")
TYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?"}


class Refused(Exception):
    """The program refuses a file, and says why."""


def read_set(source: str, out: str, *flags: str) -> Dict[str, Any]:
    """Fields of a source: a list with a value for each sample."""
    shutil.rmtree(out, ignore_errors=True)
    p = subprocess.run([BINARY, "convert", source, "-o", out, "-q", "--format", "mmap", *flags], capture_output=True, text=True)
    if p.returncode != 0:
        assert "panic" not in p.stderr, p.stderr
        raise Refused(p.stderr)
    fields: Dict[str, Any] = {}
    shards = sorted(f for f in os.listdir(out) if f.endswith(".safetensors"))
    if not shards:
        raise Refused("no samples")
    for shard in shards:
        with open(os.path.join(out, shard), "rb") as f:
            b = f.read()
        (n,) = struct.unpack("<Q", b[:8])
        head = json.loads(b[8 : 8 + n])
        schema = json.loads(head.pop("__metadata__")["shardify.schema"])
        t = {k: np.frombuffer(b[8 + n + v["data_offsets"][0] : 8 + n + v["data_offsets"][1]], TYPES[v["dtype"]]).reshape(v["shape"]) for k, v in head.items()}
        for field in schema:
            fields.setdefault(field["name"], []).extend(values(field, t))
            if field["name"] + "#valid" in t:
                fields.setdefault(field["name"] + "#valid", []).extend(t[field["name"] + "#valid"])
    return fields


def values(field: Dict[str, Any], t: Dict[str, Any]) -> Any:
    """The values of a field in one shard."""
    name, levels = field["name"], field.get("levels", 0)
    if levels == 0:
        return list(t[name])
    ends, v = t[name + "#offsets"], t[name + "#values"]
    text = field.get("media") == "txt"

    def cut(e: Any, k: int) -> Any:
        part = v[e[k] : e[k + 1]]
        return part.tobytes().decode() if text else part

    if levels == 1:
        return [cut(ends, i) for i in range(len(ends) - 1)]
    inner = t[name + "#offsets1"]
    return [[cut(inner, k) for k in range(ends[i], ends[i + 1])] for i in range(len(ends) - 1)]
