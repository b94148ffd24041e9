"""`convert`: the conversions of the program shardify, in this process."""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import clib, near
from .errors import InputNotFoundError, NotADatasetError, ShardifyError
from .settings import PAIRS, Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Progress:
    """How far a conversion is; what an earlier call has done counts."""

    samples: int
    total_samples: int
    bytes: int  # decoded
    total_bytes: int
    shards: int
    total_shards: int
    seconds: float


@dataclass(frozen=True)
class Converted:
    """A complete data set."""

    output: str
    format: str
    samples: int
    shards: int
    bytes: int
    skipped: int  # samples that were left out, with on_error="skip"
    splits: Dict[str, int]  # samples of each
    already: bool  # it was complete before
    seconds: float


_POLL_MS = 50  # a signal is noticed after this time at most


def convert(
    inputs: Union[Path, Sequence[Path]],
    out: Path,
    *,
    progress: Optional[Callable[[Progress], Any]] = None,
    **settings: Unpack[Settings],
) -> Converted:
    """Convert inputs into the data set `out`, as `shardify convert INPUTS -o OUT` does.

    inputs     files, folders and patterns of one format
    progress   called with a Progress several times a second, from this thread
    settings   the flags of `shardify convert`, with _ for -: format="mmap", shard_size="256MiB",
               columns=["x", "y"], where=["pt > 30"], shuffle="global", split="train=0.9,val=0.1",
               labels="folder", from_="npz"; a flag that may be repeated takes a list;
               NAME=VALUE may be a dict: split={"train": 0.9, "val": 0.1}, rename={"new": "old"}

    While it runs, Go's runtime in this library, which loaders share, collects garbage rather than
    grow past `memory` (of several conversions: past their sum). A lower GOMEMLIMIT wins, and the
    limit from before counts again when the last of them has ended.

    Nothing is ever overwritten, and a complete data set is left unchanged. An
    exception, also KeyboardInterrupt, stops the conversion; the same call goes on from there.
    """
    lib = clib.load()
    text = _settings(inputs, out, dict(settings))
    handle, ended = ctypes.c_uint64(), False
    try:
        lib.call(lib.convert, text, len(text), ctypes.byref(handle))
        while True:
            answer, err = ctypes.c_void_p(), ctypes.c_void_p()
            code = lib.convert_wait(handle, _POLL_MS, ctypes.byref(answer), ctypes.byref(err))
            ended = code != clib.AGAIN
            if code < 0:
                lib.fail(code, err)
            about = json.loads(lib.text(answer))
            if ended:
                return Converted(**about)
            if about and progress is not None:
                progress(Progress(**about))
    except ShardifyError as e:
        made = InputNotFoundError(*e.args) if isinstance(e, NotADatasetError) else e  # it is an input that is not there
        made.__dict__.update(e.__dict__)
        made.hints = [*e.hints, *_calls(e.ways, inputs, out, settings)]
        raise made from None
    finally:
        if handle.value and not ended:
            _stop(lib, handle)


def _stop(lib: clib.Library, handle: ctypes.c_uint64) -> None:
    """Ends a conversion; what is published is kept."""
    err = ctypes.c_void_p()
    code = lib.convert_stop(handle, ctypes.byref(err))
    while code in (clib.OK, clib.AGAIN):  # what comes then is that it was stopped
        lib.free(err)
        answer, err = ctypes.c_void_p(), ctypes.c_void_p()
        code = lib.convert_wait(handle, 1000, ctypes.byref(answer), ctypes.byref(err))
        lib.free(answer)
        if code == clib.OK:
            break
    lib.free(err)


def _calls(ways: Sequence[Mapping[str, Any]], inputs: Union[Path, Sequence[Path]], out: Path, settings: Mapping[str, Any]) -> List[str]:
    """The calls for the ways of which the user has to choose one."""
    given = [os.fspath(p) for p in ([inputs] if isinstance(inputs, (str, os.PathLike)) else inputs)]
    calls = []
    for w in ways:
        paths = [w["input"] if os.path.normpath(p) == os.path.normpath(w["of"]) else p for p in given] if w.get("of") else given
        words = ["%r" % (paths[0] if len(paths) == 1 else paths), "%r" % os.fspath(out)]
        words += ["%s=%r" % (k, os.fspath(v) if isinstance(v, os.PathLike) else v) for k, v in {**settings, **w["set"]}.items() if k != w.get("without")]
        calls.append("%s: shardify.convert(%s)" % (w["makes"], ", ".join(words)))
    return calls


def _settings(inputs: Union[Path, Sequence[Path]], out: Path, settings: Dict[str, Any]) -> bytes:
    if inputs is None or isinstance(inputs, (int, float)):
        raise TypeError("shardify.convert: want an input or a list of inputs, not %r" % (inputs,))
    keys: Dict[str, Any] = {}
    paths = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if paths:
        keys["inputs"] = [os.fspath(p) for p in paths]
    keys["output"] = os.fspath(out)
    for name, value in settings.items():
        if name in near.CONVERT:
            raise near.keyword("shardify.convert", name, value, (), near.CONVERT)
        key = name.rstrip("_").replace("_", "-")
        if value is None:
            continue
        if key in keys:
            raise TypeError("shardify.convert: %s is given already" % key)
        keys[key] = _plain(key, value)
    return json.dumps(keys, ensure_ascii=False, allow_nan=False).encode("utf-8")


def _plain(key: str, value: Any) -> Any:
    """A setting as JSON has it."""
    if isinstance(value, Mapping):  # split={"train": 0.9, "val": 0.1}; of a list, a word for each
        words = ["%s=%s" % (k, _plain(key, v)) for k, v in value.items()]
        return ",".join(words) if key in PAIRS else words
    if isinstance(value, (list, tuple)):
        return [_plain(key, v) for v in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item") and callable(value.item):  # a number of NumPy
        value = value.item()
    if not isinstance(value, (str, bool, int, float)):
        raise TypeError("shardify.convert: %s=%r: want text, a number, a bool, or a list of them" % (key, value))
    return value
