"""The errors that the package raises on purpose."""

from __future__ import annotations

from typing import Optional


class ShardifyError(Exception):
    """Base of all errors of this package."""


class CorruptError(ShardifyError, ValueError):
    """The bytes contradict their format or a checksum: damaged or truncated."""


class SchemaError(ShardifyError, ValueError):
    """Data sets or samples do not fit each other."""


class UnsupportedError(ShardifyError, ValueError):
    """Valid, but nothing that this version of the package reads."""


class NotADatasetError(ShardifyError, FileNotFoundError):
    """No data set at this place, or one whose conversion is not finished."""


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
    return CorruptError("%s: %s: corrupt data" % (" ".join(where), why))
