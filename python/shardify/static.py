"""Fields that are the same for all samples: one file beside the manifest."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Dict, Optional, Sequence, Tuple

from .errors import SchemaError, corrupt
from .manifest import NAME, Manifest, Shard, parse_shard
from .mmapshard import MmapShard
from .schema import Field, parse_schema

FILE = "static.safetensors"


def values(manifests: Sequence[Manifest]) -> Dict[str, Any]:
    """The static fields that all data sets have. Other ones in one of them are an error."""
    all_of = [(m, _record(m)) for m in manifests]
    some = [(m, r) for m, r in all_of if r is not None]
    for m, r in some[1:]:
        if r != some[0][1]:
            raise SchemaError("the static fields of %s are others than in %s" % (m.folder, some[0][0].folder))
    if not some or len(some) < len(all_of):
        return {}
    m, (fields, shard, _) = some[0]
    shard = replace(shard, path=os.path.join(m.folder, FILE))
    return MmapShard(replace(m, fields=fields, keyed=False), shard, fields).sample(0)


def _record(m: Manifest) -> Optional[Tuple[Tuple[Field, ...], Shard, str]]:
    raw = m.raw.get("static")
    if raw is None:
        return None
    try:
        fields, shard = parse_schema(raw["schema"]), parse_shard("", raw["shard"])
        digest = next(str(f["digest"]) for f in m.raw["files"] if f["name"] == FILE)
        if shard.path != FILE or shard.samples != 1 or any(f.nullable or f.ragged for f in fields):
            raise ValueError("%s of %d samples" % (shard.path, shard.samples))
    except (SchemaError, StopIteration, KeyError, TypeError, ValueError, AttributeError) as e:
        raise corrupt(os.path.join(m.folder, NAME), "static: %s: %s" % (type(e).__name__, e)) from None
    return fields, shard, digest
