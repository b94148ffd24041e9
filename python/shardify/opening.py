"""From a path to a checked manifest, and to a data set."""

from __future__ import annotations

import os
from typing import Any, Callable, Optional, Sequence, Union, overload

from . import manifest as mf
from . import amounts, foreign, identity, megatron, near, remote
from .batch import Sample
from .dataset import Dataset, T
from .errors import NotADatasetError, SchemaError, ShardifyError, UnsupportedError, corrupt

Path = Union[str, "os.PathLike[str]"]


@overload
def open(
    path: Union[Path, Sequence[Path]],
    *,
    split: Optional[str] = ...,
    columns: Optional[Sequence[str]] = ...,
    transform: None = ...,
    check: bool = ...,
    id: identity.Ids = ...,
) -> Dataset[Sample]: ...


@overload
def open(
    path: Union[Path, Sequence[Path]],
    *,
    split: Optional[str] = ...,
    columns: Optional[Sequence[str]] = ...,
    transform: Callable[[Sample], T],
    check: bool = ...,
    id: identity.Ids = ...,
) -> Dataset[T]: ...


@near.keywords("shardify.open", near.OPEN)
def open(
    path: Union[Path, Sequence[Path]],
    *,
    split: Optional[str] = None,
    columns: Optional[Sequence[str]] = None,
    transform: Optional[Callable[[Sample], Any]] = None,
    check: bool = True,
    id: identity.Ids = None,
) -> Dataset[Any]:
    """Open a data set, or several of one schema as one, in the order given. Folders may be
    addresses: s3://bucket/set, https://server/set. Pairs of .bin and .idx, as Megatron-LM, NeMo and
    BlendCorpus write them, are a data set with the field "tokens": of a folder, or one that is named.
    So are folders that MosaicML Streaming wrote (MDS), and tars as WebDataset writes them: a folder, a
    pattern such as "shard-*.tar", or one.

    split      which part of a set that has splits: "train"
    columns    only these fields, as names or globs: others are not read
    transform  called with each sample's dict; its result is what ds[i] gives
    check      look at every file's size now rather than when it is first read
    id         the id that the set must have, or the whole set of which this is a split, as `shardify id` prints it;
               a list, if there are several folders. The manifest is compared; `shardify verify` compares the shards
    """
    if path is None or isinstance(path, (int, float)):
        raise TypeError("shardify.open: want a folder or a list of folders, not %r" % (path,))
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise ValueError("shardify.open of no data set")
    ids: Sequence[Optional[str]] = identity.listed(id, len(paths)) or [None] * len(paths)
    return Dataset([load(p, split, check, id=i) for p, i in zip(paths, ids)], columns, transform)


def load(path: Path, split: Optional[str], check: bool, call: str = "shardify.open(%r, split=%r)", id: Optional[str] = None) -> mf.Manifest:
    """The manifest of one folder, or of one split of it."""
    folder = os.fspath(path)
    if remote.is_remote(folder):
        folder = folder[: -len(mf.NAME)] if folder.endswith("/" + mf.NAME) else folder
        folder = folder.rstrip("/")
        check = False  # the size of a file is compared when it is read
    elif os.path.basename(folder) == mf.NAME and os.path.isfile(folder):
        folder = os.path.dirname(folder) or "."
    try:
        m = mf.load(folder)
    except NotADatasetError:
        pairs = None if remote.is_remote(folder) else megatron.find(folder if split is None else os.path.join(folder, split))
        if pairs is None and mf.unfinished(folder) is None:
            pairs = foreign.find(folder if split is None else os.path.join(folder, split))
        if pairs is None:
            raise
        if id is not None:
            raise UnsupportedError("open %s: a set without %s has no id: `shardify convert` makes a set that has one" % (folder, mf.NAME)) from None
        return pairs
    if m.splits or split is not None:
        m = _split(m, folder, split, call)
    if id is not None:
        identity.check(m, id)
    if m.format == "mds":
        m = foreign.find(m.folder) or m
    elif m.format not in ("mmap", "wds", "megatron"):
        raise UnsupportedError(
            "%s: a data set of %s shards; this package reads mmap, wds, megatron and mds: `shardify convert %s -o DIR` converts it"
            % (folder, m.format, folder)
        )
    if check:
        mf.check_files(m)
    return m


def _split(m: mf.Manifest, folder: str, split: Optional[str], call: str) -> mf.Manifest:
    """One split of a set. call is what names one."""
    if not m.splits:
        raise SchemaError("%s has no splits: leave out split=%r" % (folder, split))
    if split is None or split not in m.splits:
        full = [n for n in sorted(m.splits) if m.splits[n].get("samples") != 0]
        some = "train" if "train" in full else (full or sorted(m.splits))[0]
        names = ", ".join("%s (%s)" % (n, _samples(m.splits[n].get("samples"))) for n in sorted(m.splits))
        wrong = "" if split is None else " and no split %r" % split
        raise SchemaError("%s has the splits %s%s: name one, as in %s" % (folder, names, wrong, call % (folder, some)))
    sub = mf.load(os.path.join(folder, split))
    want = m.splits[split].get("xxh3")
    if sub.digest != want:
        root = os.path.join(folder, mf.NAME)
        raise corrupt(os.path.join(sub.folder, mf.NAME), "xxh3 is %s, %s says %s" % (sub.digest, root, want))
    return sub


def _samples(n: Any) -> str:
    return "empty" if n == 0 else "%s samples" % amounts.count(n) if isinstance(n, int) else "?"


def explain(data: Sequence[Path], split: Optional[str], call: str) -> Optional[SchemaError]:
    """What is wrong with the splits of data sets, if that is why they cannot be opened."""
    for path in data:
        try:
            load(path, split, False, call)
        except SchemaError as e:
            return e
        except ShardifyError:
            pass
    return None
