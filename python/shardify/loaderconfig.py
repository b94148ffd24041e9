"""The arguments of `Loader` as the library's configuration."""

from __future__ import annotations

import os
import warnings
from dataclasses import fields as fields_of
from dataclasses import replace
from operator import index
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union, get_args

import numpy as np

from . import following, near
from .errors import SchemaError, UnsupportedError
from .options import Budget, Decode, Device, Last, Oversize, Shuffle
from .schema import Field, visible

Path = Union[str, "os.PathLike[str]"]
LAST = get_args(Last)

# Keywords of other loaders, and those of decode=.
FOREIGN = {**{f.name: "give decode=shardify.Decode(%s=%%s)" % f.name for f in fields_of(Decode)}, **near.LOADER}


def paths(data: Any, batch: Any) -> Tuple[List[str], Optional[List[float]]]:
    """Folders, and their shares of a mixture."""
    mix = None
    made = getattr(data, "folders", None)  # of shardify.open
    if made is not None:
        raise TypeError("Loader: want a folder, not the data set that shardify.open makes of it: shardify.Loader(%r, %r)" % (made[0] if len(made) == 1 else made, batch))
    if isinstance(data, (str, os.PathLike)):
        data = [data]
    elif data is None or isinstance(data, (int, float)):
        raise TypeError("Loader: want a folder, a list of folders, or {folder: share}, not %r" % (data,))
    elif isinstance(data, Mapping):
        mix = [float(w) for w in data.values()]
        for path, w in zip(data, mix):
            if not 0 < w < float("inf"):
                raise ValueError("data: the share of %s is %r: want a positive number" % (path, w))
        data = list(data)
    folders = [os.fspath(p) for p in data]
    if not folders:
        raise ValueError("Loader of no data set")
    if any(not isinstance(p, str) for p in folders):
        raise TypeError("Loader: paths are text, not bytes")
    return folders, mix


def last_policy(last: Optional[str], drop_last: Optional[bool]) -> Optional[Last]:
    """What is to happen to the samples that fill no batch; None: the default."""
    if drop_last is not None:
        if last is not None:
            raise ValueError("last=%r and drop_last=%r: give one" % (last, drop_last))
        return "drop" if drop_last else "short"
    for word in LAST:
        if word == last:
            return word  # type: ignore[no-any-return]
    if last is None:
        return None
    raise ValueError("last=%r: want one of %s" % (last, ", ".join(LAST)))


def in_order(shuffle: str, weights: Any, balance: Any) -> bool:
    """Whether an epoch goes through the samples once, one after the other."""
    return shuffle == "none" and weights is None and not balance


def choice(name: str, value: Any, among: Any) -> str:
    """One of the words of a Literal."""
    words = get_args(among)
    if not isinstance(value, str) or value not in words:
        raise ValueError("%s=%r: want one of %s" % (name, value, ", ".join(words)))
    return value


def shuffle(value: Any) -> str:
    """The word of a shuffle. For True and False of DataLoader the error has the words: it shuffles in one way, this in two."""
    if isinstance(value, bool):
        what = "'global', which is DataLoader's, or 'block', from any storage as fast as in order" if value else "'none'"
        raise ValueError("shuffle=%r: want %s" % (value, what))
    return choice("shuffle", value, Shuffle)


def whole(name: str, n: Any, least: int = 0, bits: int = 63, most: Optional[int] = None) -> Any:
    """A whole number; None stays where 0 may be. 64.5, "64" and True are errors."""
    if n is None and least == 0:
        return n
    try:
        i = index(n)  # type: ignore[arg-type,unused-ignore]
    except TypeError:
        i = None
    if i is None or isinstance(n, bool):
        raise ValueError("%s=%r: want a whole number" % (name, n))
    if not least <= i < 1 << bits:
        raise ValueError("%s=%d: want %d or more%s" % (name, i, least, "" if i < least else ", less than 2^%d" % bits))
    if most is not None and i > most:
        raise ValueError("%s=%d: want at most %d" % (name, i, most))
    return i


def budget(given: Any, batch: Any) -> Tuple[Dict[str, Any], int]:
    """The library's configuration of a budget, and the samples of a batch, at most with a budget."""
    if given is None:
        if batch is None:
            raise TypeError("batch_size=None: want a whole number, or budget={field: most} for batches of other numbers of samples")
        return {}, whole("batch_size", batch, 1)
    if batch is not None:
        raise ValueError("batch_size=%r and budget=: give one; Budget(..., max_batch=%r) is the most samples of a batch" % (batch, batch))
    b = given if isinstance(given, Budget) else Budget(given)
    if not isinstance(b.limits, Mapping) or not b.limits:
        raise TypeError("budget=%r: want {field: most}, or shardify.Budget" % (given,))
    limits = [{"field": str(f), "most": whole("budget of %s" % f, n)} for f, n in b.limits.items()]
    config = {"budget": limits, "padded": bool(b.padded), "budget_window": whole("window", b.window, 1), "oversize": choice("oversize", b.oversize, Oversize)}
    return config, whole("max_batch", b.max_batch, 1, bits=31)


def window(given: Any, drawn_from: Any) -> Tuple[Optional[str], Any]:
    """The text of a window of rows, and from how many samples a batch of a block shuffle is drawn,
    which window= was once."""
    if given is None or isinstance(given, str):
        return given, drawn_from
    if isinstance(given, Mapping):
        return _window_text(dict(given)), drawn_from
    n = whole("window", given)
    if drawn_from is not None:
        raise ValueError("window=%d: a window of rows is text, such as \"3+1\"" % n)
    warnings.warn("Loader(window=%d) is now shuffle_window=%d; window= says which rows make a sample" % (n, n), FutureWarning, stacklevel=4)
    return None, n


def _window_text(given: Dict[str, Any]) -> str:
    unknown = set(given) - {"name", "axis", "in", "out", "step", "lead", "stride"}
    if unknown:
        raise ValueError("window: no %s; there is name, axis, in, out, step, lead and stride" % ", ".join(sorted(unknown)))
    out = given.get("out")
    if "name" in given:
        return "%s%s" % (given["name"], "" if out is None else ",out=%d" % whole("out", out))
    if "in" not in given:
        raise ValueError("window: want the name of a view, or in= rows of a window")
    text = "%s%d+%d" % ("%s=" % given["axis"] if given.get("axis") else "", whole("in", given["in"], 1), whole("out", out or 0))
    return text + "".join(",%s=%s" % (key, given[key]) for key in ("step", "lead", "stride") if given.get(key) is not None)


def globs(columns: Union[None, str, Sequence[str]]) -> List[str]:
    if columns is None:
        return []
    return columns.split(",") if isinstance(columns, str) else [str(c) for c in columns]


def indices(rows: Any) -> Any:
    if rows is None:
        return None
    rows = np.asarray(rows)
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise TypeError("indices: want a list of integers, not %s %r" % (rows.dtype, rows.shape))
    return np.ascontiguousarray(rows, np.int64)


def weights(w: Any) -> Any:
    if w is None:
        return None
    w = np.asarray(w)
    if w.ndim != 1 or w.dtype.kind not in "iufb":
        raise TypeError("weights: want a list of numbers, not %s %r" % (w.dtype, w.shape))
    return np.ascontiguousarray(w, np.float64)


def size(n: Any) -> Any:
    """Bytes: a number, or text such as "8GiB", which the library reads."""
    return n if n is None or isinstance(n, str) else int(n)


def decoders(decode: Any, resize: Any, crop: Any, fields: Sequence[Field], seed: int) -> Dict[str, Any]:
    """Decoders by field. decode is True, a backend's name, decode.make's arguments, or decoders."""
    from . import decode as decoding  # imports threads and image libraries

    if decode is None or decode is False:
        if resize is not None or crop is not None:
            name, size = ("resize", resize) if resize is not None else ("crop", crop)
            raise ValueError("%s= is for images: Loader(..., decode=True, %s=%r)" % (name, name, size))
        return {}
    if isinstance(decode, Decode):
        decode = decode.given()
    elif decode is True:
        decode = "auto"
    if isinstance(decode, (str, Mapping)) and not isinstance(decode, decoding.Decoder):
        given: Dict[str, Any] = {"backend": decode} if isinstance(decode, str) else dict(decode)
        for key, v in (("resize", resize), ("crop", crop)):
            if v is not None:
                given[key] = v
        given.setdefault("seed", seed)
        told = following.masks(following.text(given.get("targets", "")))
        explicit = "field" in given
        names = [given.pop("field")] if explicit else image_fields(fields, told)
        return _bound({name: decoding.make(name, **given) for name in names}, fields, explicit)
    if resize is not None or crop is not None:
        raise ValueError("resize and crop belong to the decoders that decode= has")
    many = decode if isinstance(decode, (list, tuple)) else [decode]
    return _bound({d.field: d for d in many}, fields, True)


def _known(made: Dict[str, Any], fields: Sequence[Field]) -> Dict[str, Any]:
    names = [f.name for f in fields]
    for name in made:
        if name not in names:
            raise SchemaError("decode: " + near.unknown("field", name, names))
    return made


def _bound(made: Dict[str, Any], fields: Sequence[Field], named: bool) -> Dict[str, Any]:
    """Decoders that know which masks, boxes and points follow their images."""
    by_name = {f.name: f for f in _known(made, fields) and fields}
    for name, d in made.items():
        f = by_name[name]
        if getattr(d, "backend", "") != "native" or not f.image:
            continue
        if d.color == "index":
            made[name] = replace(d, following=d.index_of(f), targets="")
            continue
        if f.target and f.attrs.get("mask") == "classes":
            raise UnsupportedError(
                "decode: %s holds class numbers: Decode(field=%r, color='index') delivers them, and decode= of the image that they belong to moves them with it"
                % (name, name)
            )
        if name in following.masks(d.targets):
            raise ValueError("decode: field=%r and targets=%r: field= names the image, and targets= what follows it" % (name, d.targets))
        known = following.Following.ask(d, fields)
        known = replace(known, doubt=known.doubt and not named)
        twice = [t for t in known.kinds if t in made]
        if twice:
            raise UnsupportedError("decode: %s follows %s: leave out the decoder of %s" % (twice[0], name, twice[0]))
        if known.kinds or known.doubt:
            made[name] = replace(d, following=known)
    return _leading(made, fields)


def _leading(made: Dict[str, Any], fields: Sequence[Field]) -> Dict[str, Any]:
    """Refuses to move images whose masks, boxes and points would stay where they are."""
    followed = {t for d in made.values() for t in getattr(getattr(d, "following", None), "kinds", ())}
    targets = {f.name: f.attrs.get("follows") for f in fields if f.target}
    for name in sorted(made, key=targets.__contains__):
        moves = getattr(made[name], "moves", ())
        left = [t for t, image in targets.items() if image not in set(made) - {name} and t not in followed]
        if moves and left:
            how = "%s would be moved, and %s not" % (name, " and ".join(left))
            if name in left:
                how = "%s would be moved as a picture, which mixes class numbers" % name
            raise UnsupportedError(
                "decode: %s: backend='native' moves all of them. Or move all of them while converting: shardify convert ... %s; or leave out what does not move: columns=%r"
                % (how, " ".join("--augment '%s'" % m for m in moves), [f.name for f in visible(fields) if f.name not in left])
            )
    return made


def image_fields(fields: Sequence[Field], masks: Sequence[str] = ()) -> List[str]:
    """The fields of images that are no masks."""
    names = [f.name for f in fields if f.image and not f.target and f.name not in masks]
    if not names and any(f.image for f in fields):
        name = next(f.name for f in fields if f.image)
        raise ValueError("decode: there is no field of images but masks: Decode(field=%r, color='index') delivers class numbers" % name)
    if not names:
        raise ValueError("decode: there is no field of images; decode=dict(field=...) names one")
    return names
