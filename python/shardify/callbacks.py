"""Calls of the functions that users give."""

from __future__ import annotations

from typing import Any


def call(what: str, f: Any, *args: Any) -> Any:
    """f(*args). A StopIteration of f becomes a RuntimeError, as PEP 479 has it for generators: it
    would end the loop that asked for the value, as if there were no more data."""
    try:
        return f(*args)
    except StopIteration as e:
        raise RuntimeError("%s raised StopIteration, which would end the loop as if the data had ended" % what) from e
