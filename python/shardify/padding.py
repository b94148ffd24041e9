"""Padding of jagged columns in the memory of a GPU, as `collate` does it on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import UnsupportedError


def on_device(part: Any, s: Any, pad: float, jagged: str, framework: Any) -> Any:
    """`jagged` is pad or nested; sizes come from the offsets, of which the host has a copy."""
    torch = framework.torch
    if part.shapes >= 0:
        raise UnsupportedError("%s: ragged fields are not padded on a GPU: use jagged='values'" % part.name)
    values, lengths = s.tensor(part.values), np.diff(s.array(part.offsets))
    if jagged == "nested":
        if part.offsets1 >= 0:
            raise UnsupportedError("%s: torch.nested has no lists of lists: use jagged='pad' or 'values'" % part.name)
        return torch.nested.nested_tensor(list(values.split(lengths.tolist())))

    def device(a: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(a)).to(values.device, non_blocking=True)

    if part.offsets1 >= 0:
        each = np.diff(s.array(part.offsets1))
        outer = np.arange(lengths.max(initial=0)) < lengths[:, None]
        lengths1 = np.zeros(outer.shape, np.int64)
        lengths1[outer] = each
        mask = np.arange(each.max(initial=0)) < lengths1[..., None]
        more = {"lengths": device(lengths), "lengths1": device(lengths1)}
    else:
        mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
        more = {"lengths": device(lengths)}
    shown = device(mask)
    out = torch.full(mask.shape + tuple(values.shape[1:]), pad, dtype=values.dtype, device=values.device)
    out[shown] = values
    return {"values": out, "mask": shown, **more}
