"""Errors about unknown names: the nearest names, and those that exist."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence, TypeVar

T = TypeVar("T")

LISTED = 20  # names that an error lists at most, as internal/columns does
SHOWN = 3  # near ones


def unknown(what: str, name: str, names: Iterable[str]) -> str:
    """'no field 'imge' (near: image); there are image, cls'."""
    every = list(names)
    close = nearest(name, every)
    text = "no %s %r%s; there are " % (what, name, " (near: %s)" % ", ".join(close) if close else "")
    more = len(every) - LISTED
    return text + (", ".join(every[:LISTED]) or "none") + (", and %d more" % more if more > 0 else "")


def nearest(name: str, names: Sequence[str]) -> List[str]:
    """The names most like one, at most three."""
    from difflib import get_close_matches

    low: Dict[str, str] = {}
    for n in names:
        low.setdefault(n.lower(), n)
    return [low[n] for n in get_close_matches(name.lower(), list(low), SHOWN, 0.6)]


# The answer to a keyword of another tool; %s is the value.
Words = Mapping[str, str]

_PROCESSES = "there are no worker processes: leave it out"

# Of other loaders: torch.utils.data, DALI, webdataset, datasets.
LOADER: Words = {
    "num_workers": "threads read and gather, without worker processes: leave it out, or give their number, workers=%s",
    "num_threads": "give workers=%s",
    "persistent_workers": "the threads stay from epoch to epoch: leave it out",
    "worker_init_fn": _PROCESSES,
    "multiprocessing_context": _PROCESSES,
    "timeout": _PROCESSES,
    "pin_memory": "batches for a GPU are made in pinned memory: leave it out",
    "pin_memory_device": "give device=%s",
    "prefetch_factor": "batches are made ahead by their number: give depth=%s",
    "prefetch": "give depth=%s",
    "prefetch_queue_depth": "give depth=%s",
    "collate_fn": "batches come stacked: jagged= says how lists come, and transform= is called with each batch",
    "sampler": "give the order of the samples as order=, some of them as indices=, or shuffle=, weights= or balance=",
    **{n: "give budget={field: %s} for batches of so many elements" for n in ("max_tokens", "max_num", "token_budget")},
    "batch_sampler": "give the order of the samples as order=, some of them as indices=, or budget= for batches of other numbers of samples",
    "generator": "the order depends on seed=NUMBER",
    "batch": "give batch_size=%s",
    "bs": "give batch_size=%s",
    "num_replicas": "give world_size=%s, with rank=",
    "num_shards": "give world_size=%s, with rank=",
    "shard_id": "give rank=%s, with world_size=",
    "fields": "give columns=%s",
    "features": "give columns=%s",
    "path": "give it first: Loader(%s, BATCH_SIZE)",
    "root": "give it first: Loader(%s, BATCH_SIZE)",
    "dataset": "give the folder first: Loader(FOLDER, BATCH_SIZE)",
    "dtype": "give it for each field: cast={NAME: %s}",
    "image_size": "give decode=True, resize=%s",
    "size": "give decode=True, resize=%s",
    "map": "give transform=%s",
}

_LOADING = "batches are made later, by shardify.Loader(DATA, {0}) or torch.utils.data.DataLoader(ds, {0})"

OPEN: Words = {
    **{n: _LOADING.format(n + "=%s") for n in ("batch_size", "shuffle", "drop_last")},
    "num_workers": "workers belong to torch.utils.data.DataLoader(ds, num_workers=%s)",
    "fields": "give columns=%s",
    "features": "give columns=%s",
}

DECODE: Words = {"size": "give resize=%s", "image_size": "give resize=%s", "augmentations": "give augment=%s", **{n: "give targets='%s=FIELD'" % w for n, w in (("mask", "mask"), ("masks", "mask"), ("boxes", "boxes"), ("bboxes", "boxes"), ("points", "points"), ("keypoints", "points"))}, "mode": "give color='rgb', 'gray' or 'index'"}


# Of other converters.
CONVERT: Words = {
    **{n: "give jobs=%s" for n in ("num_workers", "workers", "num_proc", "n_jobs", "processes", "num_threads")},
    **{n: "nothing is overwritten; fresh=%s removes an earlier conversion of this program first" for n in ("overwrite", "force")},
    **{n: "give format=%s: mmap, wds, mds or megatron" for n in ("output_format", "to")},
    **{n: _LOADING.format(n + "=%s") for n in ("batch_size", "drop_last", "pin_memory")},
    "resize": "give augment=['resize=%s']",
    "output_dir": "give the folder as the second argument",
    "fields": "give columns=%s",
}


def keyword(where: str, name: str, value: Any, known: Sequence[str], words: Words) -> TypeError:
    """The error of a keyword that is not there."""
    given = repr(value)
    given = given if len(given) <= 60 and not given.startswith("<") else "..."
    close = nearest(name, known)
    if name in words:
        text = words[name].replace("%s", given)
    elif close:
        text = "did you mean %s=%s?" % (close[0], given)
    else:
        text = "help(%s) lists them" % where
    return TypeError("%s: no argument %s=; %s" % (where, name, text))


def keywords(where: str, words: Words = {}) -> Callable[[T], T]:  # noqa: B006
    """A decorator of functions and classes: an unknown keyword is a TypeError that says what was meant."""

    def wrap(f: Any) -> Any:
        from inspect import signature

        if isinstance(f, type):
            f.__init__ = wrap(f.__init__)  # type: ignore[misc]
            return f
        known = list(signature(f).parameters)

        @functools.wraps(f)
        def call(*args: Any, **given: Any) -> Any:
            for name in given:
                if name not in known:
                    raise keyword(where, name, given[name], known, words)
            return f(*args, **given)

        return call

    return wrap
