"""The id of a data set: one digest of what training reads of it, as `shardify id` prints it."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import manifest as mf
from . import remote, xxh3
from .errors import SchemaError, UnsupportedError, corrupt

_HEAD = b"shardify id 1".ljust(255) + b"\n"
# The keys of a manifest that say how a set came to be, or name files that follow from its shards.
_ORIGINS = frozenset(
    "files inputs recipe operations surveys dropped copied counts skipped left_out documents parts previous change splits xxh3".split()
)
_ID = re.compile(r"id1:[0-9a-f]{32}\Z")
_KEY = re.compile(r"[a-z0-9_]+\Z")
_SPACE = re.compile(r"[ \t\r\n]*")

Ids = Union[None, str, Sequence[str]]


def listed(ids: Ids, sets: int) -> Optional[List[str]]:
    """One id for each data set; None: any."""
    if ids is None:
        return None
    every = [ids] if isinstance(ids, str) else list(ids)
    if len(every) != sets:
        raise ValueError("id: %d ids for %d data sets: want one for each" % (len(every), sets))
    for one in every:
        if not isinstance(one, str) or not _ID.match(one):
            raise ValueError("id=%r: want id1: and 32 digits, as `shardify id FOLDER` prints it" % (one,))
    return every


def of(m: mf.Manifest) -> str:
    """The id of a set, or of a split by itself."""
    path = os.path.join(m.folder, mf.NAME)
    text = mf.text(m.folder)
    if mf.parse(m.folder, path, text).digest != m.digest:
        raise SchemaError("open %s: the set was changed while it was opened" % path)
    splits: Dict[str, str] = {}
    for name in m.splits:
        sub = mf.load(os.path.join(m.folder, name))
        want = m.splits[name].get("xxh3")
        where = os.path.join(sub.folder, mf.NAME)
        if sub.digest != want:
            raise corrupt(where, "xxh3 is %s, %s says %s" % (sub.digest, path, want))
        if sub.splits:
            raise corrupt(where, "splits inside a split")
        splits[name] = of(sub)
    return _of(path, text.decode("utf-8"), splits)


def _of(path: str, text: str, splits: Mapping[str, str]) -> str:
    decoder, out = json.JSONDecoder(), [_HEAD]
    at = _skip(text, 0) + 1  # behind the brace: the text was parsed before
    while True:
        at = _skip(text, at)
        if text[at] in "},":
            if text[at] == "}":
                break
            at = _skip(text, at + 1)
        name, at = decoder.raw_decode(text, at)
        lo = _skip(text, _skip(text, at) + 1)  # behind the colon
        _, at = decoder.raw_decode(text, lo)
        if name in _ORIGINS:
            continue
        if not _KEY.match(name):
            raise UnsupportedError("read %s: key %r in a set with an id: want lower-case letters, digits and _" % (path, name))
        out.append(("%s:%s\n" % (name, text[lo:at])).encode("utf-8"))
    for name in sorted(splits, key=lambda n: n.encode("utf-8")):
        out.append(("%s %s\n" % (name, splits[name])).encode("utf-8"))
    return "id1:" + xxh3.hexdigest(b"".join(out))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def check(m: mf.Manifest, want: str) -> None:
    """Makes sure that a set has an id, or that the set has it of which this is a split."""
    have = of(m)
    if have == want:
        return
    folder = m.folder.rstrip("/")
    parent = os.path.dirname(folder) if remote.is_remote(folder) else os.path.dirname(os.path.abspath(folder))
    name = os.path.basename(folder if remote.is_remote(folder) else os.path.abspath(folder))
    root: Any = None
    try:
        root = mf.load(parent)
    except Exception:  # it is no split of a set
        pass
    if root is not None and root.splits.get(name, {}).get("xxh3") == m.digest and of(root) == want:
        return
    raise SchemaError("open %s: this is not the set %s: its id is %s" % (os.path.join(m.folder, mf.NAME), want, have))
