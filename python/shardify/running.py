"""`run`: the tasks of a plan on any engine that takes functions, with one set of rules for what fails."""

from __future__ import annotations

import heapq
import os
import queue
import time
from concurrent.futures import BrokenExecutor, CancelledError
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import tasks as worker
from .errors import ShardifyError, UsageError

Path = Union[str, "os.PathLike[str]"]

NEVER = (1, 2, 3, 4, 126, 127)  # failed, wrong usage, incomplete, no such program: the same again would not help
_KILLED = (-9, 137)
_LONGEST = 60.0  # seconds between two tries
_MOST = 100_000  # futures at a time
# Errors of an engine that come again wherever the task runs.
_FINAL = (ImportError, AttributeError, TypeError, NameError, FileNotFoundError, PermissionError)


def again(code: int) -> bool:
    """Whether a task that ended with this code is run again: stopped on request, or killed."""
    return code != 0 and code not in NEVER


@dataclass(frozen=True)
class Done:
    """A complete data set, and what its tasks took."""

    output: str
    samples: int
    bytes: int
    tasks: int  # that were run to their end
    tries: int  # of all tasks
    lost: int  # tries that ended with their worker, or were stopped or killed
    seconds: float


@dataclass(frozen=True)
class State:
    """How far a run is."""

    stage: str
    done: int  # tasks of this stage
    total: int
    running: int  # with the engine
    tries: int  # of all tasks so far
    lost: int
    seconds: float


class TaskError(ShardifyError):
    """A task failed, and running it again would not help, or did not. `code` is its exit code, or None if its worker was lost."""

    code: Optional[int] = None
    task: int = -1


def run(
    out: Path,
    *,
    executor: Any,
    tasks: Optional[int] = None,
    cores: Optional[int] = None,
    memory: Optional[Union[int, str]] = None,
    grow: Optional[str] = None,
    tries: int = 5,
    backoff: float = 1.0,
    at_once: int = _MOST,
    work: Sequence[str] = (),
    program: Optional[str] = None,
    progress: Optional[Callable[[State], Any]] = None,
) -> Done:
    """Carry out the plan in the folder `out`, which `shardify plan INPUTS -o OUT` has made.

    executor   anything with submit(function, *arguments) -> future: a pool of concurrent.futures, a Client of
               Dask, MPIPoolExecutor, ParslPoolExecutor, shardify.RayExecutor(); or a function that makes one,
               so that a pool whose processes were killed is replaced
    tasks      that the plan is divided into; by its size if left out
    cores, memory  of a task: what its engine gives it. By the plan if left out
    grow       "double": a task that was killed, as for its memory, gets twice as much at its next try
    tries      of one task, before the run ends
    backoff    seconds before a second try, doubled with each further one, at most a minute
    at_once    tasks that are with the engine at a time
    work       further flags of `shardify work`
    program    the program where the workers run; that of the wheel if left out
    progress   called with a State when a task ends

    Tasks that were stopped or killed (exit codes 75, 130, 137, 143, ...; a lost worker) are run again. Those that
    failed (1, 2, 3) are not: their error is raised when what runs has ended. The folder has the state: a run
    that was itself killed is started again by the same call, and does what is not done.
    """
    if grow not in (None, "double"):
        raise UsageError('shardify.run: grow=%r: want "double", or leave it out' % (grow,))
    for name, n in (("tasks", tasks), ("cores", cores), ("tries", tries), ("at_once", at_once)):
        if n is not None and (not isinstance(n, int) or n < 1):
            raise UsageError("shardify.run: %s=%r: want a number from 1" % (name, n))
    d = _Driver(os.fspath(out), executor, program)
    d.tasks, d.cores, d.memory, d.grow = tasks, cores, None if memory is None else size(memory), grow == "double"
    d.tries, d.backoff, d.at_once, d.work, d.progress = tries, backoff, at_once, list(work), progress
    return d.run()


def size(text: Union[int, str]) -> int:
    """A number of bytes: 5368709120, "5GiB", "512MB"."""
    if isinstance(text, int):
        return text
    for i, unit in enumerate(("K", "M", "G", "T"), 1):
        for suffix, base in ((unit + "iB", 1024), (unit + "B", 1000)):
            if text.endswith(suffix):
                return int(float(text[: -len(suffix)]) * base**i)
    return int(text)


class _Driver:
    tasks: Optional[int]
    cores: Optional[int]
    memory: Optional[int]
    grow: bool
    tries: int
    backoff: float
    at_once: int
    work: List[str]
    progress: Optional[Callable[[State], Any]]

    def __init__(self, out: str, executor: Any, program: Optional[str]) -> None:
        self.out, self.program, self.start = out, program, time.monotonic()
        self.make = None if hasattr(executor, "submit") else executor
        self.use(executor if self.make is None else executor())
        self.breaks = 0  # pools that broke since a task was done
        self.seconds = 0.0  # time limit of a task of this stage
        self.n_tries = self.n_done = self.n_lost = 0

    def use(self, engine: Any) -> None:
        self.engine = engine
        asks = _ASKS.get(type(engine).__module__.partition(".")[0])
        self.asks: _Asks = asks(engine) if asks else lambda cores, memory, seconds: {}

    def run(self) -> Done:
        rounds = self.tries + 2
        try:
            for _ in range(rounds):  # two stages and the merge; more where receipts were damaged meanwhile
                r = self.status()
                if r["state"] == "complete":
                    return Done(self.out, r["samples"], r["bytes"], self.n_done, self.n_tries, self.n_lost, time.monotonic() - self.start)
                todo = r["todo"]
                self.tasks = todo["tasks"]
                left = [s for s in todo["stages"] if s["tasks"]]
                if left:
                    self.seconds = todo["seconds"]
                    self.stage(left[0]["stage"], left[0]["tasks"], self.cores or todo["cores"], self.memory or todo["memory_bytes"])
                else:
                    self.seconds = todo["merge_seconds"]
                    self.stage("merge", [0], 1, todo["merge_memory_bytes"])
            raise ShardifyError("%s is not complete after %d rounds; this shows why: shardify status %s" % (self.out, rounds, self.out))
        finally:
            if self.make is not None:
                # Of a pool whose last worker is killed while it takes a task, Python waits for the others for ever.
                getattr(self.engine, "kill_workers", lambda: self.engine.shutdown(wait=False))()

    def status(self) -> Dict[str, Any]:
        for k in range(self.tries):
            r = worker.call(["status", self.out, "--tasks", str(self.tasks or "auto")], self.program)
            if not again(r["code"]):
                break
            time.sleep(min(self.backoff * 2**k, _LONGEST))
        found: Optional[Dict[str, Any]] = r["objects"].get("status")
        if found is None or found["state"] != "complete" and "todo" not in found:
            raise _failure("status", r)
        return found

    def stage(self, name: str, todo: Sequence[int], cores: int, memory: int) -> None:
        """Runs the tasks of a stage until all are done; raises the error of one that failed for good."""
        ended: "queue.Queue[Any]" = queue.Queue()
        waiting = [(0.0, t) for t in todo]  # when each may start; a heap
        tries, sizes = dict.fromkeys(todo, 0), dict.fromkeys(todo, memory)
        running: Dict[Any, int] = {}
        failed: Optional[TaskError] = None
        while running or waiting and failed is None:
            open_ = failed is None and len(running) < self.at_once
            if open_ and waiting and waiting[0][0] <= time.monotonic():
                t = heapq.heappop(waiting)[1]
                try:
                    f = self.submit(self.words(name, t, cores, sizes[t]), cores, sizes[t])
                except TaskError as e:  # no worker is large enough, or they all broke: what runs ends first
                    failed = e
                    continue
                running[f], tries[t] = t, tries[t] + 1
                self.n_tries += 1
                f.add_done_callback(ended.put)
                continue
            try:
                f = ended.get(timeout=max(0.0, waiting[0][0] - time.monotonic()) if open_ and waiting else None)
            except queue.Empty:
                continue
            t = running.pop(f)
            how, error = self.outcome(f, name, t)
            if how == _DONE:
                self.n_done, self.breaks = self.n_done + 1, 0
            elif failed is not None:
                pass  # the others end, and are not started again
            elif how == _FAILED or how == _AGAIN and tries[t] >= self.tries:
                failed = error
                for f in running:
                    f.cancel()
            else:
                self.n_lost += 1
                wait = min(self.backoff * 2 ** (tries[t] - 1), _LONGEST)
                if how == _BROKEN:  # the process that was killed may be that of any of its tasks
                    tries[t], wait = tries[t] - 1, 0.0
                elif self.grow and error is not None and error.code in (None, *_KILLED):
                    sizes[t] *= 2
                heapq.heappush(waiting, (time.monotonic() + wait, t))
            if self.progress is not None:
                at = len(todo) - len(running) - len(waiting)
                self.progress(State(name, at, len(todo), len(running), self.n_tries, self.n_lost, time.monotonic() - self.start))
        if failed is not None:
            raise failed

    def words(self, stage: str, task: int, cores: int, memory: int) -> List[str]:
        if stage == "merge":
            return ["merge", self.out]
        words = ["work", self.out, "--task", str(task), "--tasks", str(self.tasks), "--jobs", str(cores), "--memory", str(memory)]
        return [*words, *([] if stage == "work" else ["--stage", stage]), *self.work]

    def submit(self, words: List[str], cores: int, memory: int) -> Any:
        """A future of the engine; one whose processes were killed is replaced."""
        while True:
            try:
                return self.engine.submit(worker.call, words, self.program, **self.asks(cores, memory, self.seconds))
            except BrokenExecutor as e:
                self.breaks += 1
                if self.make is None:
                    raise _lost("the executor is broken: %s" % e, "pass a function that makes one, and it is replaced: executor=lambda: ProcessPoolExecutor(8)") from e
                if self.breaks > self.tries:
                    raise _lost("the executor broke %d times, and no task was done between" % self.breaks, "the workers may need more memory; dmesg shows what the kernel has killed") from e
                self.use(self.make())

    def outcome(self, f: Any, stage: str, task: int) -> Tuple[int, Optional[TaskError]]:
        """What to do after a task has ended."""
        try:
            r = f.result()
        except BrokenExecutor as e:
            return _BROKEN, _lost(str(e))
        except _FINAL as e:
            return _FAILED, _lost("%s: %s" % (type(e).__name__, e), "the workers need the wheel of shardify, of the version of the driver")
        except (Exception, CancelledError) as e:  # what engines call a lost worker differs
            made = _lost("%s of task %d of %s: the worker is lost: %s: %s" % (stage, task, self.tasks, type(e).__name__, e))
            made.task = task
            return _AGAIN, made
        if r["code"] == 0 or stage == "merge" and r["code"] == 3:  # left out input, or shards are missing: the status says which
            return _DONE, None
        return _AGAIN if again(r["code"]) else _FAILED, _failure(stage, r, task, self.tasks, self.grow)


_DONE, _AGAIN, _BROKEN, _FAILED = range(4)


def _lost(text: str, *hints: str) -> TaskError:
    e = TaskError("shardify.run: " + text)
    e.hints = hints
    return e


def _failure(stage: str, r: Dict[str, Any], task: int = -1, tasks: Optional[int] = None, grow: bool = False) -> TaskError:
    about = r["objects"].get("error", {})
    who = stage if task < 0 or stage == "merge" else "%s, task %d of %s" % (stage, task, tasks)
    hints = list(about.get("hints", ()))
    if r["code"] in _KILLED and not grow:
        hints.append('it was killed, most often for its memory: give a task more with memory=, or twice as much at each try with grow="double"')
    e = TaskError("%s on %s ended with %d: %s" % (who, r["host"], r["code"], about.get("message") or r["text"] or "no message"))
    e.code, e.task, e.hints = r["code"], task, hints
    return e


# What submit of an engine is asked for a task of so many cores, bytes and seconds.
_Asks = Callable[[int, int, float], Dict[str, Any]]


def _dask(client: Any) -> _Asks:
    """A task is no function of its arguments: each try runs. What the workers declare is asked for."""
    most: Dict[str, float] = {}
    for w in client.scheduler_info()["workers"].values():
        for k, v in w.get("resources", {}).items():
            most[k] = max(v, most.get(k, 0))

    def asks(cores: int, memory: int, seconds: float) -> Dict[str, Any]:
        resources = {k: v for k, v in (("cores", cores), ("memory", memory)) if k in most}
        for k, v in resources.items():  # it would wait without end
            if v > most[k]:
                raise _too_small(k, v, "the largest worker of Dask declares %d" % most[k], 'start workers with more: dask worker --resources "%s=%d"' % (k, v))
        return {"pure": False, "retries": 0, "resources": resources or None}

    return asks


def _parsl(pool: Any) -> _Asks:
    """Work Queue and TaskVine give each task what it asks for; workers of other executors are as large as the configuration says."""
    executors = [e for label, e in pool._dfk.executors.items() if label != "_parsl_internal" and (pool.executors == "all" or label in pool.executors)]
    by_task = all(type(e).__name__ in ("WorkQueueExecutor", "TaskVineExecutor") for e in executors)

    def asks(cores: int, memory: int, seconds: float) -> Dict[str, Any]:
        if by_task:
            # Megabytes and minutes. Results go to the output, not to the disk of the worker; Work Queue wants a number.
            return {"parsl_resource_specification": {"cores": cores, "memory": -(-memory // 10**6), "disk": 1000, "running_time_min": -(-int(seconds) // 60)}}
        for e in executors:
            has = getattr(e, "mem_per_worker", None)  # GiB
            if has is not None and memory > has * 2**30:
                raise _too_small("memory", memory, "a worker of Parsl's %s has mem_per_worker=%s" % (e.label, has), "give the executor a larger mem_per_worker=")
        return {}

    return asks


def _too_small(what: str, wanted: float, has: str, cure: str) -> TaskError:
    return _lost("a task needs %d %s, and %s" % (wanted, "bytes of memory" if what == "memory" else what, has), "give a task less: %s=" % what, cure)


# By the module of the executor.
_ASKS: Dict[str, Callable[[Any], _Asks]] = {
    "distributed": _dask,
    "parsl": _parsl,
    "shardify": lambda _: lambda cores, memory, seconds: {"cores": cores, "memory": memory},
}


class RayExecutor:
    """Ray as an executor: `shardify.run(OUT, executor=shardify.RayExecutor())`, after ray.init()."""

    def submit(self, function: Callable[..., Any], *arguments: Any, cores: int = 1, memory: int = 0) -> Any:
        import ray

        remote = ray.remote(function).options(num_cpus=cores, memory=memory, max_retries=0)
        return remote.remote(*arguments).future()
