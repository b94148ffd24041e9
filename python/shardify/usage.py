"""What a process and its workers have used so far, as Linux reports it; elsewhere only its own time."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Dict, List, Optional


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read(name: str) -> str:
    try:
        with open(name, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:  # a process that ended, or another system
        return ""


def thread() -> float:
    """Seconds that the calling thread has computed or waited for a core."""
    fields = _read("/proc/thread-self/schedstat").split()
    return (int(fields[0]) + int(fields[1])) * 1e-9 if len(fields) == 3 else time.thread_time()


def descendants(pid: Optional[int] = None) -> List[int]:
    children: Dict[int, List[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            # The command, in brackets, may hold anything.
            fields = _read("/proc/%s/stat" % name).rpartition(")")[2].split()
            if len(fields) > 1:
                children.setdefault(int(fields[1]), []).append(int(name))
    found, new = [], [pid or os.getpid()]
    while new:
        new = [c for p in new for c in children.get(p, ())]
        found += new
    return found


@dataclass(frozen=True)
class Usage:
    """Seconds of cores since each process began."""

    own: float
    workers: Dict[int, float]
    wanting: Dict[int, float]  # of workers' first threads: computed, or waited for a core
    disk: int  # bytes that came from storage, all processes; 0 where unknown

    @staticmethod
    def now() -> "Usage":
        tick = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
        seconds: Dict[int, float] = {}
        wanting: Dict[int, float] = {}
        disk = _disk(os.getpid())
        for pid in descendants():
            fields = _read("/proc/%d/stat" % pid).rpartition(")")[2].split()
            if len(fields) > 12:
                seconds[pid] = (int(fields[11]) + int(fields[12])) / tick
            wait = _read("/proc/%d/schedstat" % pid).split()
            wanting[pid] = (int(wait[0]) + int(wait[1])) * 1e-9 if len(wait) == 3 else seconds.get(pid, 0)
            disk += _disk(pid)
        return Usage(time.process_time(), seconds, wanting, disk)

    def since(self, begin: "Usage") -> "Usage":
        """The difference; workers that are new count from their begin, those that ended not at all."""
        return Usage(
            self.own - begin.own,
            {p: s - begin.workers.get(p, 0) for p, s in self.workers.items()},
            {p: s - begin.wanting.get(p, 0) for p, s in self.wanting.items()},
            max(0, self.disk - begin.disk),
        )


def _disk(pid: int) -> int:
    for line in _read("/proc/%d/io" % pid).splitlines():
        if line.startswith("read_bytes:"):
            return int(line.split()[1])
    return 0
