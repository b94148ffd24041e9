"""The rules that every manifest follows: those of package index, which `verify` checks, too.
index/testdata/refused.json has a case of each, and both are tested with it."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Set, Tuple

from .schema import parse_schema

STATIC = "static.safetensors"
_FORMAT = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_DIGEST = re.compile(r"xxh3p?:[0-9a-f]{32}")
_XXH3 = re.compile(r"[0-9a-f]{32}")
_UNSAFE = re.compile(r"[\\:\x00-\x1f\x7f]")
_MOST = (1 << 63) - 1
COORD_TYPES: Dict[str, Tuple[type, ...]] = {
    "f32": (int, float, type(None)),
    "f64": (int, float, type(None)),
    "i64": (int,),
    "txt": (str,),
}


def whole(value: Any, what: str) -> int:
    if type(value) is not int or not 0 <= value <= _MOST:
        raise ValueError("%s is %r" % (what, value))
    return value


def safe(name: Any) -> str:
    """The name of a published file: a clean path inside of the folder, on every system."""
    if not isinstance(name, str) or _UNSAFE.search(name) or any(p in ("", ".", "..") for p in name.split("/")):
        raise ValueError("file name %r leaves the folder or is not a clean path" % (name,))
    return name


def check(raw: Mapping[str, Any]) -> None:
    """Refuses a manifest that cannot be, with ValueError, TypeError or KeyError."""
    splits, shards = raw.get("splits") or {}, raw.get("shards") or []
    _form(raw, splits)
    seen: Set[str] = set()
    for s in shards:
        whole(s["samples"], "samples of %s" % s["name"])
        _file(s, seen)
        for f in s.get("files") or ():
            _file(f, seen)
    for f in raw.get("files") or ():
        _file(f, seen)
    samples = sum(s["samples"] for s in shards) + sum(_split(name, s) for name, s in splits.items())
    if splits and shards:
        raise ValueError("both splits and shards")
    if whole(raw["samples"], "samples") != samples:
        raise ValueError("samples is %r, the list adds up to %d" % (raw["samples"], samples))
    size = whole(raw["bytes"], "bytes")
    if not splits and size != sum(s["bytes"] for s in shards):
        raise ValueError("bytes is %d, the shards add up to %d" % (size, sum(s["bytes"] for s in shards)))
    _history(raw, samples, len(shards) + sum(s["shards"] for s in splits.values()))
    _static(raw)
    for name, v in (raw.get("windows") or {}).items():
        _window(name, v, raw["samples"])
    for name, c in (raw.get("coords") or {}).items():
        kinds = COORD_TYPES[c["dtype"]]
        if not isinstance(c["values"], list) or not c["values"] or any(type(v) not in kinds for v in c["values"]):
            raise ValueError("coordinate %s has values that are not %s" % (name, c["dtype"]))


def _form(raw: Mapping[str, Any], splits: Mapping[str, Any]) -> None:
    kind = raw["format"]
    if not isinstance(kind, str) or not _FORMAT.fullmatch(kind) and (kind or not splits):
        raise ValueError("format is %r" % (kind,))
    if raw.get("keyed", False) not in (True, False) or type(raw.get("keyed", False)) is not bool:
        raise ValueError("keyed is %r" % (raw["keyed"],))
    names = {f.name for f in parse_schema(raw.get("schema") or [])}
    if not names and not splits:
        raise ValueError("no fields")
    for field, name in (raw.get("members") or {}).items():
        if field not in names or not isinstance(name, str) or not name or re.search(r"[/\\\x00]", name):
            raise ValueError("member %r of field %r" % (name, field))


def _file(f: Mapping[str, Any], seen: Set[str]) -> None:
    name = safe(f["name"])
    if name == "shardify.json" or name in seen:
        raise ValueError("the file %r is listed twice, or is the manifest" % name)
    seen.add(name)
    whole(f["bytes"], "bytes of %s" % name)
    if not isinstance(f["digest"], str) or not _DIGEST.fullmatch(f["digest"]):
        raise ValueError("digest of %s is %r" % (name, f["digest"]))


def _split(name: str, s: Mapping[str, Any]) -> int:
    whole(s["shards"], "shards of split %s" % name)
    if "/" in safe(name) or not _XXH3.fullmatch(s["xxh3"]):
        raise ValueError("split %r with xxh3 %r" % (name, s["xxh3"]))
    return whole(s["samples"], "samples of split %s" % name)


def _history(raw: Mapping[str, Any], samples: int, shards: int) -> None:
    for s in raw.get("skipped") or ():
        if whole(s["lo"], "skipped") > whole(s["hi"], "skipped"):
            raise ValueError("skipped samples [%r, %r)" % (s["lo"], s["hi"]))
    inputs: Dict[str, Any] = raw.get("inputs") or {}
    count = whole(inputs.get("count", 0), "inputs")
    whole(inputs.get("bytes", 0), "bytes of inputs")
    names = inputs.get("names") or []
    if names and len(names) != count:
        raise ValueError("%d inputs with %d names" % (count, len(names)))
    if raw.get("previous") and not _XXH3.fullmatch(raw["previous"]):
        raise ValueError("previous is %r" % (raw["previous"],))
    change = raw.get("change")
    if change is not None and not (raw.get("previous") and whole(change["version"], "version") > 1):
        raise ValueError("change is %r" % (change,))
    parts = raw.get("parts") or ()
    for p in parts:
        if not _XXH3.fullmatch(p["xxh3"]):
            raise ValueError("part with xxh3 %r" % (p["xxh3"],))
        samples -= whole(p["samples"], "samples of a part")
        shards -= whole(p["shards"], "shards of a part")
    if parts and (samples or shards):
        raise ValueError("parts lack %d samples and %d shards of the set" % (samples, shards))


def _window(name: str, v: Mapping[str, Any], rows: int) -> None:
    around = list(v["in"]) + list(v.get("out") or ())
    if not v["in"] or any(type(o) is not int for o in around):
        raise ValueError("window %s of rows %r" % (name, around))
    at = 0
    for run in v["anchors"]:
        lo, hi, step = run if len(run) == 3 else [*run, 1]
        if any(type(n) is not int for n in (lo, hi, step)) or step < 1 or lo < at or hi <= lo:
            raise ValueError("window %s: anchors %r behind row %d" % (name, run, at))
        if lo + min(around) < 0 or lo + (hi - lo - 1) // step * step + max(around) >= rows:
            raise ValueError("window %s: anchors %r of %d rows" % (name, run, rows))
        at = hi


def _static(raw: Mapping[str, Any]) -> None:
    static = raw.get("static")
    if static is None:
        return
    for f in parse_schema(static["schema"]):
        if f.nullable or f.ragged:
            raise ValueError("static field %s: want no missing values, and no shape of its own" % f.name)
    shard = static["shard"]
    want = {f["name"]: f["bytes"] for f in raw.get("files") or ()}
    if shard["name"] != STATIC or shard["samples"] != 1 or shard.get("files") or want.get(STATIC) != whole(shard["bytes"], "bytes of " + STATIC):
        raise ValueError("static: %r of %r samples is not one of the files" % (shard["name"], shard["samples"]))
