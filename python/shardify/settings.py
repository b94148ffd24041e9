"""The keywords of shardify.convert, for editors and type checkers. Made of the settings of the program by
go test ./pipeline -run Python -update."""

from __future__ import annotations

import os
from typing import Any, Literal, Mapping, Sequence, SupportsIndex, TypedDict, Union

Text = Union[str, float, "os.PathLike[str]"]
Pairs = Union[Text, Mapping[str, Any]]  # NAME=VALUE,...
Texts = Union[Pairs, Sequence[Any]]
Size = Union[str, SupportsIndex]  # "256MiB", or bytes


class Settings(TypedDict, total=False):
    from_: Text
    files_from: Text
    follow_symlinks: bool
    group_rows: Pairs
    group_rows_per_file: bool
    group_order: Literal["auto", "adjacent"]
    samples_from: Pairs
    group_index: Pairs
    null_keys: Literal["fail", "drop"]
    unused_rows: Literal["fail", "drop"]
    once: Texts
    format: Text
    shard_size: Size
    shard_samples: SupportsIndex
    max_output: Size
    fresh: bool
    columns: Texts
    static: Texts
    limit: SupportsIndex
    range: str
    max_sample: Size
    on_error: Literal["fail", "skip"]
    join: Texts
    set: Texts
    fraction: Texts
    where: Texts
    drop_duplicates: Texts
    augment: Texts
    check_images: bool
    copies: SupportsIndex
    patch: Texts
    define: Texts
    nan: Texts
    encode: Texts
    tokenize: Texts
    pick: Texts
    sort: Texts
    stack: Texts
    pad: Texts
    rename: Texts
    cast: Texts
    pack: Texts
    sequences: Texts
    window: Texts
    shuffle: Literal["none", "block", "global"]
    seed: SupportsIndex
    split: Pairs
    split_from: Pairs
    identity: Texts
    stratify: Text
    group_by: Text
    scratch: Text
    provenance: bool
    jobs: SupportsIndex
    memory: Size
    sync: Literal["shard", "end", "none"]
    ignore_times: bool
    assume_size: Size
    axis: Text
    bad_utf8: Literal["fail", "replace"]
    cf: Literal["auto", "off", "on"]
    channels: Text
    counters: Literal["own", "share"]
    csv: Text
    dali: bool
    end_mark: Literal["any", "required"]
    external: bool
    frame: Literal["auto", "blocks", "columns"]
    friend: Text
    jsonl: Text
    key: Text
    keyed: bool
    keys: Literal["auto", "ordinal", "path", "shard"]
    labels: Text
    lists: Literal["auto", "off"]
    mds_compression: Literal["none", "zstd"]
    missing: Literal["drop", "fail", "fill", "intersect"]
    missing_chunks: Literal["auto", "fail", "fill"]
    null_items: Literal["fail", "fill"]
    object: Text
    on: Text
    repeated: Literal["allow", "fail"]
    run_samples: SupportsIndex
    sample: Literal["auto", "axis", "chunk", "dataset", "document", "file", "group", "row", "sequence"]
    samples: SupportsIndex
    schema: Text
    sel: Text
    sqlite: Text
    stem: Literal["auto", "first", "last", "number"]
    synth_seed: SupportsIndex
    text: Literal["bytes", "utf8"]
    text_docs: Text
    unmatched: Literal["fail", "fill"]
    view: Text
    zip: bool


# Of these a dict is one text, NAME=VALUE,...; of others it is a list of such words.
PAIRS = frozenset(["group-rows", "samples-from", "group-index", "split", "split-from"])
