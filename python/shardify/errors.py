"""The errors that the package raises on purpose."""

from __future__ import annotations

import re
from typing import Any, Mapping, Optional, Sequence

_HIDDEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Text for a terminal. Names come from data: control characters in them, which a
    terminal would act on, and what turns the direction of text, are escaped."""
    return _HIDDEN.sub(lambda m: m.group().encode("unicode_escape").decode(), text)


class ShardifyError(Exception):
    """Base of all errors of this package. Its attributes have what is known of the place.

    file     the input or shard, or ""
    object   the tree, data set, member or field in it, or ""
    field    the field, or ""
    sample   the sample's number in the file or data set
    offset   the byte in the file
    hints    what to do next, as sentences; they are also the last lines of the text
    """

    file: str = ""
    object: str = ""
    field: str = ""
    sample: Optional[int] = None
    offset: Optional[int] = None
    hints: Sequence[str] = ()
    ways: Sequence[Mapping[str, Any]] = ()  # of which convert makes hints

    def __str__(self) -> str:
        return printable("\nhint: ".join([super().__str__(), *self.hints]))


class CorruptError(ShardifyError, ValueError):
    """The bytes contradict their format or a checksum: damaged or truncated."""


class SchemaError(ShardifyError, ValueError):
    """Data sets or samples do not fit each other."""


class UnsupportedError(ShardifyError, ValueError):
    """Valid, but nothing that this version of the package reads."""


class NotADatasetError(ShardifyError, FileNotFoundError):
    """No data set at this place, or one whose conversion is not finished."""


class DeniedError(ShardifyError, PermissionError):
    """A server or the system refuses to give a file."""


def corrupt(
    file: str,
    why: str,
    *,
    object: str = "",
    sample: Optional[int] = None,
    offset: Optional[int] = None,
) -> CorruptError:
    """One sentence: which file, object, sample, byte, and why.

    read DIR/shard-000003.safetensors Jet_pt#values sample 12 at byte 480: ...
    """
    where = ["read", file]
    if object:
        where.append(object)
    if sample is not None:
        where.append("sample %d" % sample)
    if offset is not None:
        where.append("at byte %d" % offset)
    made = CorruptError("%s: %s: corrupt data" % (" ".join(where), why))
    made.file, made.object, made.sample, made.offset = file, object, sample, offset
    return made


class StateError(ShardifyError, ValueError):
    """A loader's state that belongs to other data, or to another order of them."""


class DeviceError(ShardifyError, RuntimeError):
    """No driver, no such GPU, or one that failed."""


class ForkedError(ShardifyError, RuntimeError):
    """A loader, or the library behind it, is of the process that this one was forked from."""


class ClosedError(ShardifyError, RuntimeError):
    """The loader was closed."""


class UsageError(ShardifyError, ValueError):
    """Settings that do not fit each other or the inputs."""


class ExistsError(ShardifyError, FileExistsError):
    """The output folder holds something else."""


class ChangedError(ShardifyError):
    """An input is not what it was when its conversion was planned."""


class InputNotFoundError(ShardifyError, FileNotFoundError):
    """An input, or another file that settings name, is not there."""


class StoppedError(ShardifyError):
    """A conversion was stopped. The same call goes on from there."""
