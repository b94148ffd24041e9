"""The loader under torch's DataLoader, for those who keep it."""

from __future__ import annotations

from inspect import signature
from typing import Any, Dict, Iterator, Mapping, Optional

import torch
from torch.utils.data import IterableDataset, get_worker_info

from . import loaderconfig, near, ranks
from .loader import Loader
from .workers import Share, batches

_MAX_WORKERS = 1024


class LoaderDataset(IterableDataset):  # type: ignore[misc,type-arg,unused-ignore]
    """Whole batches for `DataLoader(LoaderDataset("data/train", 256), batch_size=None, num_workers=2)`.

    It takes the arguments of `Loader` and makes one in each worker, which share out the
    batches of their rank. `Loader` itself is faster: nothing goes from process to process.

    By default each sample comes exactly once, the last batches shorter, as DataLoader has it;
    but with a shuffle on several ranks last="drop" leaves out what fills no batch on every rank,
    with shuffle="block" on every worker. Every rank gets as many batches; with last="short" a
    last one may be empty on some of several ranks.

    DataLoader rebuilds the dicts that it gets; with collate_fn=LoaderDataset.as_is batches keep
    their epoch, index, rows and ids.

    Each pass is the next epoch; set_epoch(e) chooses it, also for workers that persist.
    `len()` counts batches; with budget=, or a function as order=, epochs differ, and it counts those of the next pass.
    Each worker plans the batches of a budget by itself. An order= is in the memory of each worker; a function that
    returns np.load(FILE, mmap_mode="r") sends none to workers that are not forked. The library's threads do not survive a fork, so
    workers are forked before the parent uses a `Loader`, or started with
    DataLoader(..., multiprocessing_context="forkserver"); a worker that cannot work says so.
    """

    def __init__(self, data: Any, batch_size: Optional[int] = None, **options: Any) -> None:
        known = list(signature(Loader.__init__).parameters)
        for name, value in options.items():
            if name not in known:
                raise near.keyword("LoaderDataset", name, value, known, loaderconfig.FOREIGN)
        for name in ("copy", "trace"):
            if options.get(name) not in (None, True):
                raise ValueError("LoaderDataset: %s=%r is for Loader alone" % (name, options[name]))
        rank, world, _, _ = ranks.find(options.pop("rank", None), options.pop("world_size", None))
        options.setdefault("framework", "torch")
        # Tensors on a GPU do not go from process to process.
        options.setdefault("device", "cpu")
        self.data, self.batch_size, self.options = data, batch_size, options
        self.rank, self.world_size = rank, world
        # The next epoch of each worker, in memory that all of them see.
        self._epochs = torch.full((_MAX_WORKERS,), int(options.pop("epoch", 0)), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call, unused-ignore]
        self._lengths: Dict[int, int] = {}
        self._loader: Optional[Loader[Any]] = None
        self._key: Any = None
        self._state: Optional[Dict[str, Any]] = None

    @staticmethod
    def as_is(batch: Any) -> Any:
        return batch

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_loader": None, "_key": None}

    def set_epoch(self, epoch: int) -> None:
        self._epochs.fill_(int(epoch))

    def __len__(self) -> int:
        """Batches of an epoch on this rank, as `len()` of the DataLoader is then. With shuffle="block" each worker
        may have one more, which is shorter."""
        differ = self.options.get("budget") is not None or callable(self.options.get("order"))
        epoch = int(self._epochs[0]) if differ else 0
        if epoch not in self._lengths:
            self._lengths = {epoch: batches(self.data, self.batch_size, self.rank, self.world_size, self.options, epoch)}
        return self._lengths[epoch]

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        if worker >= _MAX_WORKERS:
            raise ValueError("LoaderDataset: %d workers; at most %d" % (workers, _MAX_WORKERS))
        loader = self._made(worker, workers)
        epoch = int(self._epochs[worker])
        if self._state is not None:
            loader.load_state_dict(self._state)
            epoch, self._state = loader.epoch, None
        else:
            loader.set_epoch(epoch)
        self._epochs[worker] = epoch + 1
        return iter(loader)

    def _made(self, worker: int, workers: int) -> Loader[Any]:
        if self._loader is None or self._key != (worker, workers):
            if self._loader is not None:
                self._loader.close()
            of: Dict[str, Any] = {"rank": self.rank, "world_size": self.world_size, "worker": worker, "workers": workers}
            self._loader = Share(self.data, self.batch_size, **of, **self.options)
            self._key = (worker, workers)
        return self._loader

    def state_dict(self) -> Dict[str, Any]:
        """The place of this process's loader. torchdata's StatefulDataLoader asks each worker."""
        return {} if self._loader is None else self._loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._state = dict(state) or None
