"""`Loader`: shards to batches, without worker processes.

Threads of a library read, shuffle and gather; Python only wraps what they made.
"""

from __future__ import annotations

import atexit
import os
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterator, List, Literal, Mapping, NoReturn, Optional, Sequence, Tuple, Union

from . import amounts, callbacks, casting, clib, identity, loaderconfig, near, opening, options, orders, outputs, ranks, sequences, skipping
from .columns import Plan
from .dataset import Dataset
from .delivery import Delivery
from .epochs import Epoch
from .errors import ClosedError, NotADatasetError, UnsupportedError
from .frameworks import choose, device_name
from .graphs import Collate, Graph
from .groups import GROUPED, Made
from .loaderbatch import LoaderBatch
from .matrices import Given, Matrices, named
from .options import MAX_THREADS, Backend, Decode, Documents, Ids, Jagged, Labels, Last, OnError, Shuffle, Size, Tier, Verify
from .schema import Field, parse_schema, unlabelled

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from .decode import Decoder

    B = TypeVar("B", default=LoaderBatch)  # what the loop gets
else:
    from typing import TypeVar

    B = TypeVar("B")

_DEPTH = 3
_MAX_RING = 1024

_open: "weakref.WeakSet[Loader[Any]]" = weakref.WeakSet()


def _close_all() -> None:
    for loader in list(_open):
        loader.close()


atexit.register(_close_all)


def _in_child() -> None:
    for loader in list(_open):
        if loader._delivery is not None:
            loader._delivery.in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class Loader(Generic[B]):
    """Batches of a data set, epoch after epoch.

        loader = shardify.Loader("data/train", 256, shuffle="block", seed=1)
        for epoch in range(10):
            for batch in loader:
                step(batch["x"], batch["cls"])

    data           a folder that shardify wrote, a list of them, or {folder: share} to mix them
    batch_size     samples of each batch on each rank
    budget         {"tokens": 4096} in place of batch_size: batches of as many samples as have no more tokens in
                   all; shardify.Budget has more arguments. plan_report() says what the batches hold
    split          which part of sets that have splits
    id             the id that the set must have, as `shardify id` prints it, or the whole set of which this is a
                   split: else it is an error. A list, if data has several folders
    columns        only these fields, as names or globs
    keys           the samples' own names as "__key__"
    shuffle        "none"; "block": fast from any storage; "global": every order is possible
    window         samples are windows of rows: the name of a view that the set has, or rows around an anchor,
                   "time=2+1,step=6h,lead=1d,stride=1d" by the values of a field or "3+1" by number; a dict of
                   name, or axis, in and out, and step, lead, stride. A field comes as "x" [batch, in, ...] and
                   "x.next" [batch, out, ...]; `columns` chooses by these names; ids are the anchors' rows
    tokens         samples of one length of the stream that the tokens of all documents of a shard are: 2048, or
                   "text=2048,offset=random". Sample i begins at token i*2048 + offset: N, or random, another one
                   for each sample in each epoch. ids are the numbers of first tokens, without a random offset
    labels         "shift": the tokens come as [batch, n - 1], and as "labels" those that follow each; with tokens=
                   both are [batch, n]. "same": "labels" is the tokens, for models that shift them
    label_pad      labels=: the number, such as -100, where no token is to be predicted from others of its document
                   before it, as the field lens of --sequences says: padding, and the first token of each
    documents      of sequences with lens: True, or some of "position_ids" [batch, n], which begin at 0 with each
                   document; "cu_seqlens", with "max_seqlen"; "mask" [batch, 1, n, n] of attention within documents
    shuffle_window  block: samples from which a batch is drawn
    streams        block: parts of the set that are read side by side
    seed, epoch    of the order; the epoch to begin with
    last           "drop" samples that fill no batch; "pad" them with zeros to a whole batch; "short": a
                   last batch that is shorter, on some ranks perhaps empty. drop_last=True is "drop",
                   drop_last=False "short". Default: "short" in the order of the set, "drop" with a
                   shuffle, weights or balance. Steps are as many on every rank with each of them. A
                   set smaller than a batch of every rank has no batch with "drop", which is warned of
    rank, world_size  default: torch.distributed, else what torchrun, mpirun or srun set
    indices        numbers of the samples to use, or a bool for every sample
    order          the samples of an epoch, one after the other, in place of a shuffle: an array or np.memmap of their
                   numbers, each at most once, or a function that is called with an epoch, as it begins, and returns one
    weights        draw with replacement, each sample by its weight
    balance        draw the values of this field equally often
    samples        length of an epoch of a mixture, or with weights or balance
    device         "auto": what the framework computes on; "cpu", "cuda:N"; or a shardify.Device, which has
                   this and the arguments up to keep_stage
    tier           "auto", "stream", "pinned", "staged", "device": where the samples wait
    memory, device_memory  what they may take, as bytes or "8GiB"; tier="device" keeps as many samples as fit
    stage, keep_stage  tier="staged": the folder (/dev/shm), and whether the copy stays there
    cache, cache_size  a folder for what is read from other machines, which all processes of the node
                   share, and the bytes it may take. Default: $SHARDIFY_CACHE, else none; 64 GiB
    depth          batches made ahead (3)
    workers        threads that read and gather
    verify         checksums of the shards: "whole", "open" or "none"
    framework      "torch" (default where it is installed), "numpy", "cupy", "jax", "dlpack"
    copy           True: tensors are yours for ever. False: they are the loader's memory, valid as long as
                   you hold them, and later batches are copied while you hold too many
    out            tensors that every batch is delivered in, by field name, or a list of such dicts that are
                   used in turn: their addresses stay, as CUDA graphs want it. `ring` makes a list of so
                   many
    jagged, pad_value  as in shardify.collate
    cast           {"x": "float16"}, {"x": ("float16", scale, shift)}: convert on the way
    decode, resize, crop  images to pixels: True, a backend's name, a shardify.Decode, a dict of
                   shardify.decode.make's arguments, or decoders
    on_error       "fail": a damaged image is an error. "skip": its sample is left out of the batch, which
                   becomes shorter (with last="pad" it is padding), and `skipped` counts and names it
    ids            "device": batches have `device_ids` beside `ids`, on the GPU and written by it. It wants
                   tier="pinned" or "device", or shuffle="block"
    collate        "graph", or a shardify.Graph: a batch is one graph, as torch_geometric's Batch
    sparse         "csr", "coo", "dense": matrices [batch, width] of sparse rows, "X" in place of "X/data" and
                   "X/indices"; {"X": "dense", "counts": shardify.Sparse(...)} for some, and for normalize, log1p, columns
    transform      called with every batch; its result is what the loop gets
    transform_threads  for transform and decode. 0: on the thread of the loop; N: on N threads, ahead of
                   it, in order. Default: 1 with decode= or sparse= on the host, else 0
    synthetic      the same few batches again and again: the rate that no reading can exceed
    trace          a file for the timeline, in Chrome's format, written by close()

    A `for` over the loader is one epoch and the next `for` the next one, also after a
    `break`. After load_state_dict it goes on where the state was taken.
    """

    # Small batches come several at a time, up to so many bytes: what a call of the library
    # costs is shared.
    _GROUP = 256 << 10
    _PACKED = 4 << 20  # of those by a budget
    _NAME = "Loader"

    @near.keywords("Loader", loaderconfig.FOREIGN)
    def __init__(
        self,
        data: Any,
        batch_size: Optional[int] = None,
        *,
        budget: Union[None, Mapping[str, int], options.Budget] = None,
        split: Optional[str] = None,
        id: identity.Ids = None,
        columns: Union[None, str, Sequence[str]] = None,
        keys: bool = False,
        shuffle: Shuffle = "none",
        window: Union[None, str, Mapping[str, Any], int] = None,
        tokens: Union[None, int, str] = None,
        labels: Optional[Labels] = None,
        label_pad: Optional[int] = None,
        documents: Union[bool, Documents, Sequence[Documents]] = False,
        shuffle_window: Optional[int] = None,
        streams: Optional[int] = None,
        seed: int = 0,
        epoch: int = 0,
        last: Optional[Last] = None,
        drop_last: Optional[bool] = None,
        rank: Optional[int] = None,
        world_size: Optional[int] = None,
        indices: Any = None,
        order: Any = None,
        weights: Any = None,
        balance: Optional[str] = None,
        samples: Optional[int] = None,
        device: Any = "auto",
        tier: Tier = "auto",
        memory: Union[None, int, str] = None,
        device_memory: Union[None, int, str] = None,
        stage: Any = None,
        keep_stage: bool = False,
        cache: Any = None,
        cache_size: Union[None, int, str] = None,
        depth: Optional[int] = None,
        workers: Optional[int] = None,
        verify: Verify = "whole",
        framework: options.Framework = "auto",
        copy: bool = True,
        out: Any = None,
        ring: Optional[int] = None,
        jagged: Jagged = "values",
        pad_value: float = 0,
        cast: Optional[Mapping[str, Any]] = None,
        decode: Union[None, bool, Backend, Decode, Mapping[str, Any], Decoder, Sequence[Decoder]] = None,
        resize: Optional[Size] = None,
        crop: Optional[Size] = None,
        on_error: OnError = "fail",
        ids: Ids = "host",
        collate: Union[None, Literal["graph"], Graph] = None,
        sparse: Given = None,
        transform: Optional[Callable[[LoaderBatch], B]] = None,
        transform_threads: Optional[int] = None,
        synthetic: bool = False,
        trace: Any = None,
    ) -> None:
        self._delivery: Optional[Delivery] = None
        self._dataset: Optional[Dataset[Any]] = None
        self._pool: Optional[ThreadPoolExecutor] = None
        loaderconfig.choice("jagged", jagged, Jagged)
        at = options.placed(device, tier=tier, memory=memory, device_memory=device_memory, stage=stage, keep_stage=keep_stage)
        clib.load()  # first, so that a library that is missing is not hidden by another mistake
        kind = choose(framework)
        name = device_name(kind, at["device"])
        ahead = [k for k, v in (("decode", decode), ("transform_threads", transform_threads)) if v]
        fixed = outputs.check(out, ring, ahead)
        if not copy and not kind.lends:
            raise UnsupportedError(
                "copy=False: framework=%r may still read what it has let go of, and write into what it was lent: leave copy=True" % kind.name
            )
        self.rank, self.world_size, local, source = ranks.find(rank, world_size)
        packed, self.batch_size = loaderconfig.budget(budget, batch_size)
        self._packed = bool(packed)
        self._differ = self._packed or callable(order)  # epochs, in their lengths
        self._limits = {b["field"]: b["most"] for b in packed.get("budget", ())}
        if transform is not None and not callable(transform):
            raise TypeError("transform=%r: want a function of a batch" % (transform,))
        mixed = loaderconfig.shuffle(shuffle)
        given = loaderconfig.last_policy(last, drop_last)
        transform_threads = loaderconfig.whole("transform_threads", transform_threads, most=MAX_THREADS)
        ring = loaderconfig.whole("ring", ring, most=_MAX_RING)
        loaderconfig.choice("ids", ids, Ids)
        if ids == "device" and fixed:
            raise UnsupportedError('ids="device" does not go with out= and ring=, which have tensors of the fields alone')
        self._last = given or ("short" if loaderconfig.in_order(mixed, weights, balance) else "drop")
        given_paths, mix = loaderconfig.paths(data, batch_size)
        if packed and (fixed or self._last == "pad"):
            raise UnsupportedError("budget= makes batches of different numbers of samples: not with out=, ring= and last='pad'")
        self._folders = folders = [os.path.join(p, split) if split else p for p in given_paths]
        loaderconfig.choice("on_error", on_error, OnError)
        deep: int = _DEPTH if depth is None else loaderconfig.whole("depth", depth)
        seed = loaderconfig.whole("seed", seed, bits=64)
        rows, drawn_from = loaderconfig.window(window, loaderconfig.whole("shuffle_window", shuffle_window))
        stream, more = sequences.stream(tokens, sequences.wanted(labels, label_pad, documents))
        config = {
            "paths": folders,
            "ids": identity.listed(id, len(folders)),
            "mix": mix,
            "columns": loaderconfig.globs(columns),
            "keys": bool(keys),
            "batch": self.batch_size,
            "shuffle": mixed,
            "window": rows,
            "tokens": stream,
            "shuffle_window": drawn_from,
            "streams": loaderconfig.whole("streams", streams),
            "seed": seed,
            "epoch": loaderconfig.whole("epoch", epoch, bits=31),
            "last": self._last if packed else "drop" if self._last == "drop" else "pad",
            "rank": self.rank,
            "world": self.world_size,
            "local_ranks": local,
            "balance": balance,
            "samples": loaderconfig.whole("samples", samples),
            "device": name,
            "tier": loaderconfig.choice("tier", at["tier"], Tier),
            "memory": loaderconfig.size(at["memory"]),
            "device_memory": loaderconfig.size(at["device_memory"]),
            "stage": None if at["stage"] is None else os.fspath(at["stage"]),
            "keep_stage": bool(at["keep_stage"]),
            "cache": None if cache is None else os.fspath(cache),
            "cache_size": loaderconfig.size(cache_size),
            # The loop still holds a batch while it asks for the next one.
            "depth": deep if copy else deep + 1,
            "workers": loaderconfig.whole("workers", workers),
            "verify": loaderconfig.choice("verify", verify, Verify),
            "synthetic": bool(synthetic),
            "numbers": ids == "device" and name != "host",
            "trace": None if trace is None else os.fspath(trace),
            "grow": kind.grows and name != "host",
            "group": 0 if name != "host" or kind.name not in GROUPED or fixed or more.any else self._PACKED if packed and not decode else 0 if packed else self._GROUP,
            "cast": casting.casts(cast),
            **packed,
        }
        chosen, weighed = loaderconfig.indices(indices), loaderconfig.weights(weights)
        self._asks: Optional[orders.Order] = None  # for the order of each epoch
        if order is not None:
            taken = {"shuffle": None if mixed == "none" else mixed, "indices": indices, "weights": weights, "balance": balance, "samples": samples}
            chosen, self._asks, more_config = orders.given(order, epoch, {**taken, "data={folder: share}": mix})
            config.update(more_config)
        try:
            self._delivery = made = Delivery(config, chosen, weighed)
        except (NotADatasetError, UnsupportedError) as e:
            call = "shardify.%s(%%r, %s, split=%%r)" % (self._NAME, "budget=%r" % (self._limits,) if packed else self.batch_size)
            raise opening.explain(given_paths, split, call) or e from None
        self._info = info = made.info
        if self._asks is not None:
            self._asks.text, self._asks.first = info["order"], None
        _open.add(self)
        try:
            fields = parse_schema(info["schema"])
            self.framework = kind.name
            if collate is not None and sparse is not None:
                raise ValueError("collate= and sparse=: the lists of a batch become one graph, or matrices")
            graph = None if collate is None else Collate(collate, fields, kind.name, jagged)
            self._decoders = decoders = loaderconfig.decoders(decode, resize, crop, fields, seed)
            self._skipped = skipping.made(on_error, decoders, kind.name, folders, self._last == "pad")
            self._plan = Plan(info, fields, kind(info["device"]), jagged, pad_value, decoders, more)
            self._matrices = None if sparse is None else Matrices(sparse, self._plan, jagged, lambda m: named(self.dataset.static, m.width))
            if sparse is not None and fixed:
                raise UnsupportedError("sparse= makes matrices of any number of values: not with out= and ring=")
            to = None
            if fixed:
                to = outputs.Outputs(self._plan, self.batch_size, out, ring or 0, made.place)
            made.prepare(self._plan, 0 if packed else self.batch_size, self._last == "short", not copy or not self._plan.copied, copy, to)
        except BaseException:
            self.close()
            raise
        self._sends = False
        if not packed and info["steps"] == 0:
            self._warn_of_none(self.batch_size * self.world_size, self.world_size, 4)
        if transform_threads is None:
            # On a GPU the stream of the loop's thread counts, which another thread does not have: it sends
            # there what the library decoded ahead, and transforms.
            self._sends = self._plan.on_device and all(p.on_host for p in self._plan.images)
            ahead_too = decoders and (self._sends or not self._plan.on_device) or sparse is not None and not self._plan.on_device
            transform_threads = 1 if ahead_too else 0
        whole: Any = graph or self._matrices
        self.transform: Any = transform if whole is None else whole if transform is None else lambda batch: transform(whole(batch))
        self._threads = transform_threads
        self._notes: List[str] = list(info["notes"] or ())
        self._notes += [d.note for d in decoders.values() if getattr(d, "note", "")]
        if given is None and not packed and self._asks is None:
            self._note_last()
        if source not in ("", "arguments") and self.world_size > 1:
            self._notes.append("rank %d of %d, from %s" % (self.rank, self.world_size, source))
        # The place behind what the loop got; whether it is inside an epoch that the loop
        # began; a place that was asked for since.
        self._at: Tuple[int, int] = (info["state"]["epoch"], 0)
        self._begun = False
        self._pending: Optional[Tuple[int, int]] = None
        self._turn = 0
        self._host_ids = ids == "device" and name == "host"
        self._seconds = {"decode": 0.0, "transform": 0.0}

    def _warn_of_none(self, want: int, ranks: int, level: int) -> None:
        warnings.warn(
            "shardify.Loader has no batch: an epoch has %s samples, batch_size=%d on %d rank%s and drop_last want %d or "
            "more; a smaller batch_size or drop_last=False delivers them"
            % (amounts.count(self._info["length"]), self.batch_size, ranks, "s"[: ranks > 1], want),
            stacklevel=level,
        )

    def _note_last(self) -> None:
        """Adds a note on what the default of last= does at the end of an epoch."""
        length = self._info["length"]
        left = length % (self.batch_size * self.world_size)
        if left == 0 or len(self) == 0:
            return
        if self._last == "drop":
            text = "an epoch leaves out %s of %s samples, which fill no batch on every rank: the default with a shuffle; "
            text %= amounts.count(left), amounts.count(length)
            text += 'last="short" delivers them'
        else:
            rows = min(max(left - self.rank * self.batch_size, 0), self.batch_size)
            text = "the last batch of an epoch has %d of %d samples on this rank: the default without a shuffle; " % (rows, self.batch_size)
            text += 'last="drop" leaves it out on every rank'
            if rows == 0:
                text += ', and last="pad" makes it whole'
        self._notes.append(text)

    # ---- what it is

    def __len__(self) -> int:
        """Batches of a whole epoch, the same on every rank. With budget=, and a function as order=, epochs differ: of the
        next batch's."""
        if not self._differ or self._delivery is None or not self._delivery.handle:
            return int(self._info["steps"])
        return self._steps(self.epoch, 0)

    def _steps(self, epoch: int, position: int) -> int:
        """Asks the library how many batches there are to the end of an epoch."""
        made = self._made()
        if self._asks is not None:
            self._asks.know(made, epoch)
        return int(made.batches(epoch, position)["steps"])

    def plan_report(self, epoch: Optional[int] = None) -> Dict[str, Any]:
        """What the batches of an epoch by budget= hold, over all ranks: how many there are, their samples, the samples
        in none, and by limit what all have, what the largest has, and how full they are: fill."""
        if not self._packed:
            raise UnsupportedError("plan_report: batches of one size need none; it is for budget=")
        if self._asks is not None and epoch not in (None, self.epoch):
            raise UnsupportedError("plan_report(%d): with a function as order= the order of an epoch is asked for as it begins; set_epoch(%d) first" % (epoch, epoch))
        epoch = self.epoch if epoch is None else epoch
        self._steps(epoch, 0)
        out: Dict[str, Any] = self._made().batches(epoch, 0, 1)["report"]
        limits = self._limits
        for key in ("used", "largest"):
            out[key] = dict(zip(limits, out[key]))
        out["fill"] = {f: out["used"][f] / max(out["batches"] * most, 1) for f, most in limits.items()}
        return out

    def __repr__(self) -> str:
        return "shardify.Loader(%d samples, %d batches of %d, rank %d of %d, %s on %s%s)" % (
            self._info["samples"],
            len(self),
            self.batch_size,
            self.rank,
            self.world_size,
            self.framework,
            self.device,
            "" if self._delivery is not None and self._delivery.handle else ", closed",
        )

    def _repr_html_(self) -> str:
        from . import notebook

        return notebook.summary(repr(self), self.schema)

    @property
    def device(self) -> str:
        """Where the batches are: "host" or "cuda:N"."""
        return str(self._info["device"])

    @property
    def schema(self) -> Tuple[Field, ...]:
        return self._plan.schema

    @property
    def fields(self) -> List[str]:
        return [f.name for f in self.schema]

    @property
    def images(self) -> List[str]:
        """The fields that decode= makes pixels of: "png" or "jpg" where all files are of one kind, "image" where
        they are of several."""
        return list(self._decoders)

    @property
    def dataset(self) -> Dataset[Any]:
        """The data set as `shardify.open` gives it: len(loader.dataset) is its samples, len(loader) the batches."""
        if self._dataset is None:
            self._dataset = opening.open(self._folders, check=False)
        return self._dataset

    def labels(self, name: str) -> List[str]:
        """Names of the codes 0, 1, ... of a field: class names."""
        f = next((f for f in self.schema if f.name == name), None)
        if f is None:
            raise KeyError(near.unknown("field", name, self.fields))
        if f.labels is None:
            raise KeyError(unlabelled(name, self.schema))
        return f.labels

    def notes(self) -> List[str]:
        """What the loader chose, and settings that do not work out as asked."""
        skips = [self._skipped.note] if self._skipped is not None and self._skipped.note else []
        return self._notes + skips

    @property
    def skipped(self) -> Optional[skipping.Skipped]:
        """The samples that on_error="skip" left out; None with on_error="fail"."""
        return self._skipped

    def stats(self) -> Dict[str, Any]:
        """What was done so far, and what limits the rate: see docs/design/loader.md."""
        made = self._made()
        out = {_snake(k): v for k, v in made.stats().items()}
        return {**out, "python": made.seconds, **self._seconds}

    # ---- where it is

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return self._place()[0]

    @property
    def remaining(self) -> int:
        """Batches from here to the end of the epoch."""
        if self._differ:
            return self._steps(*self._place())
        left = self._info["length"] - self._place()[1]
        step = self.batch_size * self.world_size
        return int(left // step if self._last == "drop" else -(-left // step))

    def _place(self) -> Tuple[int, int]:
        return self._at if self._pending is None else self._pending

    def set_epoch(self, epoch: int) -> None:
        """The next `for` is this epoch, from its beginning; but a place that load_state_dict set in
        the same epoch stays."""
        epoch = int(epoch)
        if not 0 <= epoch < 1 << 31:
            raise ValueError("epoch %d: want 0 to 2^31-1" % epoch)
        if self._pending is None or self._pending[0] != epoch:
            self._pending = (epoch, 0)

    def state_dict(self) -> Dict[str, Any]:
        """The place after the last batch that the loop got, as values for JSON."""
        epoch, position = self._place()
        return self._state(epoch, position)

    def _state(self, epoch: int, position: int) -> Dict[str, Any]:
        out = {**self._info["state"], "epoch": epoch, "position": position}
        if self._asks is not None and position > 0:
            self._asks.know(self._made(), epoch)
            out["order"] = self._asks.text
        return out

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state, also one of another world or batch size: the next `for` is the rest
        of its epoch."""
        state = dict(state)
        made = self._made()
        at = state.get("epoch")
        if self._asks is not None and state.get("position") and isinstance(at, int) and 0 <= at < 1 << 31:
            self._asks.know(made, at)
        with made.lock:
            made.restore(state)
            self._turn += 1
            self._pending = (state["epoch"], state["position"])

    # ---- batches

    def __iter__(self) -> Iterator[B]:
        made = self._made()
        if self._asks is not None:
            self._asks.know(made, self._coming()[0])
        with made.lock:
            place = self._coming()
            made.restore(self._state(*place))
            self._at, self._pending, self._begun = place, None, False
            self._turn += 1
            return Epoch(self, self._turn)

    def _coming(self) -> Tuple[int, int]:
        """Where the next `for` begins."""
        if self._pending is not None:
            return self._pending
        return (self._at[0] + 1, 0) if self._begun else self._at

    def _made(self) -> Delivery:
        """What makes the batches; an error where it cannot any more."""
        if self._delivery is None:
            raise ClosedError("the loader is closed")
        self._delivery.usable()
        return self._delivery

    def _next(self, turn: int) -> Optional[Made]:
        """The next batch of an iteration, None at the end of the epoch."""
        delivery = self._delivery or self._made()
        with delivery.lock:
            if turn != self._turn:
                raise RuntimeError("this iteration ended: another one of the same loader began, or a state was loaded")
            made = delivery.next()
            if made is not None and self._asks is not None:
                made.batch.ids  # while the order of its epoch is known
            return made

    def _finish(self, made: Made) -> Any:
        """Decodes and transforms: may run on any thread."""
        out = made.batch
        if self._host_ids:
            out._device_ids = True
        if self.transform is None and not made.images:
            return out
        if made.images:
            start = time.perf_counter()
            callbacks.call("Loader: decode=", made.decode, self._skipped is not None)
            if not self._sends:
                made.arrive(self._plan, self._skipped)
            self._seconds["decode"] += time.perf_counter() - start
        return out if self._sends else self._transformed(out)

    def _sent(self, made: Made) -> Any:
        """On the loop's thread, what `_finish` left to it."""
        made.arrive(self._plan, self._skipped)
        return self._transformed(made.batch)

    def _transformed(self, out: Any) -> Any:
        if self.transform is None:
            return out
        start = time.perf_counter()
        result = callbacks.call("Loader: transform=", self.transform, out)
        self._seconds["transform"] += time.perf_counter() - start
        return result

    def _pool_of_threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, "shardify-transform")
        return self._pool

    # ---- the end

    def close(self) -> None:
        """Ends the loader's threads and gives its memory back. Existing tensors stay valid."""
        made = self._delivery
        if made is None or not made.handle or os.getpid() != made.pid:
            return
        _open.discard(self)
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        made.close()

    def __enter__(self) -> "Loader[B]":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # while the interpreter ends, modules may be gone
            pass

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a shardify.Loader is of this process alone: it cannot be pickled, copied or sent to workers. "
            "It needs none; for torch's DataLoader use shardify.LoaderDataset, and send state_dict() to go on elsewhere"
        )


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
