"""How long a training loop waits for its data, whatever loads them."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from . import amounts, near, usage
from .loader import Loader
from .usage import Usage

Step = Union[Callable[[Any], Any], float, None]
ENOUGH = 0.95  # the utilisation from which the step is what limits the rate, as in gpuload.Stats
_STAGES = {
    "read": "reading shards",
    "gather": "gathering samples into batches",
    "copy": "copying to the device",
    "decode": "decoding images",
    "transform": "the transform",
    "python": "wrapping batches in Python: take larger ones",
}
BUSY = 0.6  # of a core, from which a thread counts as computing


@near.keywords("shardify.profile")
def profile(
    loader: Iterable[Any],
    steps: int = 100,
    step: Step = None,
    *,
    warmup: Optional[int] = None,
    samples: Union[int, Callable[[Any], int], None] = None,
    quiet: bool = False,
) -> "Profile":
    """Take batches from any iterable and report what the loop waits for.

    step     the work on a batch: a function of it, or seconds to sleep instead; without it the
             batch is dropped, and what is measured is how fast the loader can be
    warmup   batches that are not counted; by default 3, or those that a DataLoader's workers make ahead
    samples  in a batch, a number or a function of it; by default the length of the batch's first dimension

    Prints the result (unless quiet) and returns it. Work that a step leaves to the GPU is waited for.
    Utilisation is that of the accelerator as DLIO defines it: step / (step + wait), without the first batch.
    """
    if steps < 1 or (warmup is not None and warmup < 0):
        raise ValueError("steps=%r, warmup=%r: want steps of 1 or more" % (steps, warmup))
    count = _counter(loader, samples)
    run = _function(step)
    warmup = _ahead(loader) if warmup is None else warmup
    p = Profile(_describe(loader), usage.cores(), warmup, stepped=step is not None)
    start = time.perf_counter()
    batches = iter(loader)
    begin, stages, whole = Usage.now(), _stages(loader), start
    for k in range(-warmup, steps):
        if k == 0:
            begin, stages, whole = Usage.now(), _stages(loader), time.perf_counter()
        t0, cpu0 = time.perf_counter(), usage.thread()
        try:
            batch = next(batches)
        except StopIteration:
            break
        t1, cpu1 = time.perf_counter(), usage.thread()
        if k == -warmup:
            p.first_wait = t1 - start
        run(batch)
        t2 = time.perf_counter()
        if k >= 0:
            p.waits.append(t1 - t0)
            p.computes.append(t2 - t1)
            p.wait_wanting += cpu1 - cpu0
            p.samples += count(batch)
            p.bytes += size(batch)
        batch = None  # as a loop does that has nothing else to do with it
    if not p.waits:
        raise ValueError("the loader ended within the %d batches that are not counted: give warmup=0" % warmup)
    p.seconds = time.perf_counter() - whole
    p.used = Usage.now().since(begin)
    p.stages = {k: v - stages.get(k, 0.0) for k, v in _stages(loader).items()}
    if not quiet:
        print(p)
    return p


@dataclass
class Profile:
    """What `profile` measured. Seconds are sums over the steps counted."""

    loader: str
    cores: int
    warmup: int
    stepped: bool
    first_wait: float = 0.0
    waits: List[float] = field(default_factory=list, repr=False)
    computes: List[float] = field(default_factory=list, repr=False)
    samples: int = 0
    bytes: int = 0
    seconds: float = 0.0
    wait_wanting: float = 0.0  # of the waits: this thread computed, or waited for a core
    used: Usage = field(default_factory=lambda: Usage(0, {}, {}, 0), repr=False)
    stages: Dict[str, float] = field(default_factory=dict)  # of a shardify.Loader, by thread

    @property
    def steps(self) -> int:
        return len(self.waits)

    @property
    def wait(self) -> float:
        return sum(self.waits)

    @property
    def step(self) -> float:
        return sum(self.computes)

    @property
    def utilization(self) -> Optional[float]:
        """None without a step: nothing was there to be utilised."""
        return self.step / max(self.step + self.wait, 1e-12) if self.stepped else None

    @property
    def samples_per_second(self) -> float:
        return self.samples / max(self.wait + self.step, 1e-12)

    @property
    def bytes_per_second(self) -> float:
        return self.bytes / max(self.wait + self.step, 1e-12)

    @property
    def core_seconds(self) -> float:
        return self.used.own + sum(self.used.workers.values())

    @property
    def bound(self) -> str:
        """consumer, cores, process, handover, workers, threads or read; of a shardify.Loader
        consumer, or the stage that took longest: read, gather, copy, decode, transform or python."""
        if self.stepped and (self.utilization or 0) >= ENOUGH:
            return "consumer"
        if any(v > 0 for v in self.stages.values()):
            return max(self.stages, key=lambda k: self.stages[k])
        if self.wait_wanting >= BUSY * self.wait:
            return "handover" if self._active else "process"
        busy = [s for s in self._active if s >= BUSY * self.seconds]
        if busy and len(busy) >= len(self._active) / 2:
            return "workers"
        if self.core_seconds >= 0.85 * self.cores * self.seconds:
            return "cores"
        return "threads" if self.used.own >= BUSY * self.seconds else "read"

    @property
    def verdict(self) -> str:
        if not self.stepped:
            head = "a step shorter than %s waits" % amounts.seconds(self.wait / self.steps)
        else:
            head = "the step waits %s of the time" % amounts.percent(1 - (self.utilization or 0))
        if self.bound == "consumer":
            return "bound by the consumer: " + head
        why = "%s; bound by %s" % (head, self._cause())
        if self.stepped:
            why += "; never waiting, it would be %.1f times as fast" % ((self.step + self.wait) / max(self.step, 1e-9))
        machine = os.cpu_count() or 1
        if self.cores == 1 and machine > 1:
            why += "; this process may use 1 of %d cores (affinity mask)" % machine
            why += ": check --cpu-bind, taskset or cpusets"
        return why

    @property
    def _active(self) -> List[float]:
        """Processes that hardly do anything are not workers."""
        return [s for s in self.used.wanting.values() if s >= 0.05 * self.seconds]

    def _cause(self) -> str:
        workers, bound = len(self._active), self.bound
        if bound in self.stages:
            return _STAGES[bound]
        return {
            "cores": "the cores: all %d are busy" % self.cores,
            "process": "this process: it makes the batches itself, on one core",
            "handover": "this process: it takes over what its workers made (unpickling, copying)",
            "workers": "the workers: %d of them compute all the time" % workers,
            "threads": "threads of this process: they compute all the time",
            "read": "reading: while the step waits nothing computes; %s/s came from storage"
            % amounts.size(self.used.disk / self.seconds),
        }[bound]

    def __str__(self) -> str:
        n, workers = self.steps, sum(self.used.workers.values())
        slow = sorted(self.waits)[-1 - n // 20]
        lines = [
            "%s: %s steps, after %d that are not counted" % (self.loader, amounts.count(n), self.warmup),
            "  wait         %s a step, one in 20 over %s; first batch %s"
            % (amounts.seconds(self.wait / n), amounts.seconds(slow), amounts.seconds(self.first_wait)),
            "  step         " + (amounts.seconds(self.step / n) if self.stepped else "-"),
            "  utilisation  " + amounts.percent(self.utilization or 0) if self.stepped else "",
            "  rate         %s samples/s, %s/s"
            % (amounts.count(self.samples_per_second), amounts.size(self.bytes_per_second)),
            "  cores        %.2f busy: %.2f here, %.2f in %d workers"
            % (
                self.core_seconds / self.seconds,
                self.used.own / self.seconds,
                workers / self.seconds,
                len(self._active),
            ),
            "  verdict      " + self.verdict,
        ]
        return "\n".join(line for line in lines if line)


def _function(step: Step) -> Callable[[Any], Any]:
    if step is None:
        return lambda batch: None
    if isinstance(step, (int, float)):
        seconds = float(step)
        return lambda batch: time.sleep(seconds)
    run: Callable[[Any], Any] = step

    def finished(batch: Any) -> None:
        run(batch)
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()

    return finished


def _describe(loader: Any) -> str:
    name = type(loader).__name__
    workers = getattr(loader, "num_workers", None)
    return name if workers is None else "%s(num_workers=%s)" % (name, workers)


def _ahead(loader: Any) -> int:
    """The batches that are ready before the first is asked for: they do not count for the rate."""
    workers, each = getattr(loader, "num_workers", 0), getattr(loader, "prefetch_factor", 0)
    return max(3, (workers or 0) * (each or 0) + 1)


def _stages(loader: Any) -> Dict[str, float]:
    """Seconds for each thread that a shardify.Loader has spent on its stages."""
    if not isinstance(loader, Loader):
        return {}
    s = loader.stats()
    threads = {"read": s.get("workers") or 1, "gather": s.get("workers") or 1}
    return {k: float(s.get(k, 0.0)) / threads.get(k, 1) for k in _STAGES}


def _counter(loader: Any, samples: Union[int, Callable[[Any], int], None]) -> Callable[[Any], int]:
    if callable(samples):
        return samples
    if samples is not None:
        fixed = int(samples)
        return lambda batch: fixed
    most = getattr(loader, "batch_size", None)
    limit = most if isinstance(most, int) and most > 0 else sys.maxsize

    def count(batch: Any) -> int:
        n = length(batch)
        return min(limit, 1 if n is None else n)

    return count


def length(batch: Any) -> Optional[int]:
    """The samples in a batch, from its first dimensions; None if unknown."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    if isinstance(batch, Mapping):
        if "values" in batch and "offsets" in batch:
            return max(0, (length(batch["offsets"]) or 1) - 1)
        return _least(batch.values())
    if isinstance(batch, (list, tuple)):
        if batch and all(isinstance(v, (str, bytes, Mapping)) for v in batch):
            return len(batch)
        return _least(batch)
    return None


def _least(parts: Iterable[Any]) -> Optional[int]:
    return min((n for n in map(length, parts) if n is not None), default=None)


def size(batch: Any) -> int:
    """Bytes of all arrays, tensors, texts and bytes in a batch."""
    if isinstance(batch, (str, bytes, bytearray)):
        return len(batch)
    if isinstance(batch, Mapping):
        return sum(map(size, batch.values()))
    if isinstance(batch, (list, tuple)):
        return sum(map(size, batch))
    if hasattr(batch, "element_size"):  # a tensor; old ones have no nbytes
        return int(batch.element_size() * batch.nelement())
    return int(getattr(batch, "nbytes", 0))
