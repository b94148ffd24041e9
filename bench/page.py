"""What pages of benches share: the commit, processor time, and how a page is shown and written."""

from __future__ import annotations

import os
import platform
import resource
import subprocess


def commit() -> str:
    folder = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, cwd=folder).stdout.strip()


def model() -> str:
    """The processor, by its name."""
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), platform.machine())


def processor() -> float:
    """Seconds of processor time of this process."""
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_utime + r.ru_stime


def publish(text: str, out: str) -> None:
    print(text, flush=True)
    if out:
        with open(out, "w", encoding="utf-8") as f:
            f.write(text)
