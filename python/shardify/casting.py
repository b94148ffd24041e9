"""`cast=`: to which types numbers and pixels are converted, with which scales."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

import numpy as np

from .schema import DTYPES

_LONG = {"half": "f16", "float": "f32", "double": "f64"}


def dtype(d: Any) -> str:
    """The name of a type as shardify has it, from that of NumPy or torch."""
    if d in DTYPES:
        return str(d)
    text = str(d).split(".")[-1]
    if text == "bfloat16":
        return "bf16"
    if text in _LONG:
        return _LONG[text]
    try:
        plain = np.dtype(text if text != str(d) or isinstance(d, str) else d)
    except TypeError:
        raise ValueError("cast to %r: want one of %s" % (d, ", ".join(DTYPES))) from None
    for name, (code, _) in DTYPES.items():
        if np.dtype(code) == plain and name != "bf16":
            return name
    raise ValueError("cast to %r: want one of %s" % (d, ", ".join(DTYPES)))


def casts(cast: Optional[Mapping[str, Any]]) -> Dict[str, Dict[str, Any]]:
    """{"x": "float16"}, {"x": ("float16", scale, shift)} or {"x": dict(dtype=, scale=, shift=, axis=)}."""
    out = {}
    for name, c in (cast or {}).items():
        if isinstance(c, Mapping):
            given: Dict[str, Any] = dict(c)
        elif isinstance(c, tuple):
            names: Tuple[str, ...] = ("dtype", "scale", "shift")
            given = dict(zip(names, c))
        else:
            given = {"dtype": c}
        unknown = set(given) - {"dtype", "scale", "shift", "axis"}
        if unknown or "dtype" not in given:
            raise ValueError("cast of %s: want dtype and perhaps scale, shift and axis, not %r" % (name, c))
        entry: Dict[str, Any] = {"dtype": dtype(given["dtype"]), "axis": int(given.get("axis", 0))}
        for key in ("scale", "shift"):
            if given.get(key) is not None:
                entry[key] = np.atleast_1d(np.asarray(given[key], np.float64)).ravel().tolist()
        out[name] = entry
    return out
