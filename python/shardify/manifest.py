"""The manifest `shardify.json`: found, checked, parsed."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from dataclasses import dataclass
from typing import Any, BinaryIO, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from . import checks, remote, xxh3
from .errors import CorruptError, NotADatasetError, SchemaError, UnsupportedError, corrupt
from .schema import Field, parse_schema

NAME = "shardify.json"
VERSION = 1
MAX_BYTES = 1 << 30
_DIGEST = re.compile(rb'"xxh3": ?"([0-9a-f]{32})"\s*\}\s*\Z')


@dataclass(frozen=True)
class Shard:
    """The record of one shard file; path is absolute or below the working folder."""

    path: str
    samples: int
    bytes: int
    digest: str
    files: Tuple[Tuple[str, int, str], ...]  # path, bytes and digest of what belongs to it


@dataclass(frozen=True)
class Manifest:
    folder: str
    format: str
    samples: int
    keyed: bool
    fields: Tuple[Field, ...]
    members: Mapping[str, str]
    shards: Tuple[Shard, ...]
    splits: Mapping[str, Mapping[str, Any]]
    digest: str
    raw: Dict[str, Any]  # the JSON as it is in the file


def strict_json(text: bytes) -> Any:
    """JSON without the liberties of Python's parser: no duplicate keys, no NaN."""

    def pairs(items: List[Tuple[str, Any]]) -> Dict[str, Any]:
        d = dict(items)
        if len(d) != len(items):
            raise ValueError("a key is there twice")
        return d

    def constant(name: str) -> Any:
        raise ValueError("%s is not JSON" % name)

    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def open_regular(path: str) -> BinaryIO:
    """A file of a data set, which must be a regular one. Anything else in its place, a
    pipe, a device, a symbolic link, is refused without a wait."""
    return open(path, "rb", opener=_open_regular)


def _open_regular(path: str, flags: int) -> int:
    quick = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY"))
    flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        fd = os.open(path, flags | quick)
    except FileNotFoundError:
        raise
    except OSError as e:
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode):
            raise _irregular(path, mode) from None
        if e.errno != errno.EAGAIN:
            raise
        fd = os.open(path, flags)  # a lease on the file is being revoked: wait for that
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        raise _irregular(path, mode)
    return fd


def _irregular(path: str, mode: int) -> UnsupportedError:
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a symbolic link, and those are not followed within a data set"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    what = next((name for test, name in kinds if test(mode)), "a device")
    return UnsupportedError("open %s: not a regular file but %s" % (path, what))


def load(folder: str) -> Manifest:
    """Reads and checks the manifest of a folder."""
    return parse(folder, os.path.join(folder, NAME), text(folder))


def text(folder: str) -> bytes:
    """The manifest of a folder. Of a split it is the one that the manifest of the set names, which a kill may have
    left beside a newer one."""
    whole, again = _text(folder, NAME), 3
    while _replaced(whole):
        above = folder if remote.is_remote(folder) else os.path.abspath(folder)
        parent, split = os.path.split(above.rstrip("/"))
        if not split or remote.is_remote(folder) and not remote.is_remote(parent):
            break
        try:
            root = parse(parent, os.path.join(parent, NAME), _text(parent, NAME))
        except (FileNotFoundError, PermissionError):
            break  # a set by itself, or a server that denies access to it
        want = root.splits.get(split, {}).get("xxh3")
        if want is None or parse(folder, os.path.join(folder, NAME), whole).digest == want:
            break
        raw = root.raw
        version = (raw.get("change") or {}).get("version") or len(raw.get("parts") or [None])
        for name in ("%06d-%s" % (version, split), "split-%s" % want):  # the latter in object stores
            kept = ".shardify/manifests/%s.json" % name
            try:
                old = _text(parent, kept)
                if parse(folder, os.path.join(parent, kept), old).digest == want:
                    return old
            except (FileNotFoundError, PermissionError, CorruptError):
                pass
        now = _text(folder, NAME)
        again -= 1
        if again == 0 or now == whole:
            raise corrupt(
                os.path.join(folder, NAME),
                "the manifest of the set, %s, names another version of this split, which is neither here nor kept"
                % os.path.join(parent, NAME),
            )
        whole = now  # it was published between the two reads
    return whole


def _replaced(text: bytes) -> bool:
    """Whether a manifest may be that of a split that took the place of another one."""
    at = text.rfind(b'"previous": "')
    return at >= 0 and text.find(b'"change": {', at) < 0


def _text(folder: str, name: str) -> bytes:
    """A manifest as it is in the file."""
    path = os.path.join(folder, name)
    if remote.is_remote(path):
        return remote.text(path, MAX_BYTES)
    try:
        with open_regular(path) as f:
            large = os.fstat(f.fileno()).st_size > MAX_BYTES
            whole = b"" if large else f.read()  # read(n) reserves n bytes
    except (FileNotFoundError, NotADirectoryError):
        raise _absent(folder) from None
    if large:
        raise corrupt(path, "more than %d bytes" % MAX_BYTES)
    return whole


def parse(folder: str, path: str, text: bytes) -> Manifest:
    """The manifest of a folder from its text, which is checked."""
    try:
        raw = strict_json(text)
    except ValueError as e:  # also UnicodeDecodeError
        raise corrupt(path, "not a manifest: %s" % e) from None
    if not isinstance(raw, dict) or "shardify" not in raw:
        raise corrupt(path, "no key 'shardify'")
    if type(raw["shardify"]) is not int or raw["shardify"] != VERSION:
        raise UnsupportedError(
            "read %s: version %r of the layout; this package reads version %d: update it with pip"
            % (path, raw["shardify"], VERSION)
        )
    digest = _check_digest(path, text)
    try:
        return _parse(folder, raw, digest)
    except (SchemaError, ValueError, TypeError, KeyError) as e:
        if isinstance(e, CorruptError):
            raise
        raise corrupt(path, "%s: %s" % (type(e).__name__, e)) from None


def _check_digest(path: str, text: bytes) -> str:
    m = _DIGEST.search(text[-200:])
    if m is None:
        raise corrupt(path, "does not end with its digest (key 'xxh3'): truncated or edited")
    at = max(0, len(text) - 200) + m.start(1)
    stored = m.group(1).decode()
    try:
        got = xxh3.hexdigest(text[:at] + b"0" * 32 + text[at + 32 :])
    except ValueError as e:
        raise corrupt(path, str(e)) from None
    if got != stored:
        raise corrupt(path, "xxh3 of the text is %s, stored %s: damaged or edited" % (got, stored), offset=at)
    return stored


def unfinished(folder: str) -> Optional[str]:
    """The folder of the conversion that is not finished, of a data set or a split of it; None: it is."""
    parent = os.path.dirname(os.path.abspath(folder))
    whole = os.path.isfile(os.path.join(parent, NAME))
    for begun in (folder, parent if not whole else folder):  # a split starts with all of its set
        if os.path.isdir(os.path.join(begun, ".shardify")):
            return begun
    return None


def _absent(folder: str) -> NotADatasetError:
    if os.path.isfile(folder):
        if os.path.isfile(os.path.join(os.path.dirname(folder), NAME)):
            return NotADatasetError("%s: a file of a data set: open its folder" % folder)
        return NotADatasetError("%s: a file; `shardify convert %s -o DIR` converts it" % (folder, folder))
    if not os.path.isdir(folder):
        return NotADatasetError("%s: no such folder" % folder)
    parent = os.path.dirname(os.path.abspath(folder))
    whole = os.path.isfile(os.path.join(parent, NAME))
    begun = unfinished(folder)
    if begun is not None:
        return NotADatasetError(
            "%s: the conversion is not finished: run the same `shardify convert` again, "
            "or `shardify merge %s` when all tasks are done" % (folder, begun)
        )
    if os.path.isfile(os.path.join(folder, "index.json")):
        return NotADatasetError(
            "%s: no %s, but an index.json, as sets of MosaicML Streaming have: `shardify convert %s -o DIR` converts it"
            % (folder, NAME, folder)
        )
    hint = "; %s is one" % parent if whole else ""
    return NotADatasetError(
        "%s: no %s, so this is not a shardify data set%s; `shardify convert INPUT -o DIR` makes one"
        % (folder, NAME, hint)
    )


def _str(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError("%s is %r" % (what, value))
    return value


def _inside(folder: str, name: Any) -> str:
    """The path of a published file. Names that leave the folder are refused."""
    return os.path.join(folder, *checks.safe(name).split("/"))


def parse_shard(folder: str, entry: Dict[str, Any]) -> Shard:
    name = entry["name"]
    files = tuple(
        (_inside(folder, f["name"]), checks.whole(f["bytes"], "bytes of %s" % f["name"]), str(f.get("digest", "")))
        for f in entry.get("files") or ()
    )
    return Shard(
        _inside(folder, name),
        checks.whole(entry["samples"], "samples of %s" % name),
        checks.whole(entry["bytes"], "bytes of %s" % name),
        _str(entry["digest"], "digest of %s" % name),
        files,
    )


def _parse(folder: str, raw: Dict[str, Any], digest: str) -> Manifest:
    checks.check(raw)
    shards = tuple(parse_shard(folder, s) for s in raw.get("shards") or ())
    splits = raw.get("splits") or {}
    members = raw.get("members") or {}
    if not isinstance(splits, dict) or not isinstance(members, dict):
        raise ValueError("splits or members are not objects")
    return Manifest(
        folder=folder,
        format=_str(raw["format"], "format"),
        samples=raw["samples"],
        keyed=bool(raw.get("keyed", False)),
        fields=parse_schema(raw["schema"]),
        members={k: _str(v, "member of %s" % k) for k, v in members.items()},
        shards=shards,
        splits=splits,
        digest=digest,
        raw=raw,
    )


COORD_TYPES: Dict[str, Any] = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "txt": np.str_}


_WEIGHTS = re.compile(r"(.*)\.weight_(?:cos|area)", re.DOTALL)


def coords(manifests: Sequence[Manifest]) -> Dict[str, npt.NDArray[Any]]:
    """The coordinates that all data sets have. Other values for one name are an error."""
    first: Dict[str, Tuple[npt.NDArray[Any], Manifest]] = {}
    have: Dict[str, int] = {}
    for m in manifests:
        more = _coords(m)
        for key in sorted(more):
            values, known = first.setdefault(key, (more[key], m))
            have[key] = have.get(key, 0) + 1
            weights = _WEIGHTS.fullmatch(key)  # of latitudes that are compared themselves
            if weights and weights[1] in more and weights[1] in first:
                continue
            if not _same(values, more[key]):
                raise SchemaError(
                    "the coordinate %s has other values in %s than in %s" % (key, m.folder, known.folder)
                )
    return {key: values for key, (values, _) in first.items() if have[key] == len(manifests)}


def _coords(m: Manifest) -> Dict[str, npt.NDArray[Any]]:
    out = {}
    for key, c in (m.raw.get("coords") or {}).items():
        try:
            kind = COORD_TYPES[c["dtype"]]
            values = [float("nan") if v is None else v for v in c["values"]]
            if any(isinstance(v, str) != (kind is np.str_) for v in values):
                raise ValueError("values that are not %s" % c["dtype"])
            out[key] = np.array(values, kind)
        except (TypeError, ValueError, KeyError, OverflowError) as e:
            raise corrupt(os.path.join(m.folder, NAME), "coordinate %s: %s" % (key, e)) from None
    return out


def _same(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Types and differences of rounding do not count."""
    if a.shape != b.shape or a.dtype.kind == "U" or b.dtype.kind == "U" or a.dtype.kind == b.dtype.kind == "i":
        return a.dtype.kind == b.dtype.kind and np.array_equal(a, b)
    x, y = a.astype(np.float64), b.astype(np.float64)
    steps = np.abs(np.diff(x))
    near = min(1e-6 * np.abs(x[~np.isnan(x)]).max(initial=0), steps[steps > 0].min(initial=np.inf) / 10)
    same = (np.abs(x - y) <= near) | (np.isnan(x) & np.isnan(y))
    if np.float32 in (a.dtype, b.dtype):
        same |= a.astype(np.float32) == b.astype(np.float32)
    return bool(same.all())


def check_files(m: Manifest) -> None:
    """Every shard and index is there and has the size that the manifest says."""
    for shard in m.shards:
        for path, want in ((shard.path, shard.bytes),) + tuple(f[:2] for f in shard.files):
            check_size(path, want, None)


def check_size(path: str, want: int, have: Optional[int]) -> None:
    if have is None:
        try:
            st = os.lstat(path)
        except FileNotFoundError:
            raise corrupt(path, "the file is missing; the manifest says %d bytes" % want) from None
        if not stat.S_ISREG(st.st_mode):
            raise _irregular(path, st.st_mode)
        have = st.st_size
    if have != want:
        how = "truncated" if have < want else "too long"
        raise corrupt(path, "%s: %d bytes, the manifest says %d" % (how, have, want), offset=min(have, want))
