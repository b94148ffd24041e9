"""What a worker of `run` does: one task of a plan, by the program of the wheel. It needs nothing else of the package."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from typing import Any, Dict, List, Optional, Sequence

SHOWN = 4000  # bytes of a failed task's messages that are kept


def call(words: Sequence[str], program: Optional[str] = None, **_: Any) -> Dict[str, Any]:
    """Runs the program: its exit code, the last object of each type that it printed, and its messages if it failed.

    Parsl passes to a function, too, what it was asked for the task.
    """
    start = time.monotonic()
    # A process group of its own: Ctrl-C at the driver ends tasks by the engine, which asks each once.
    p = subprocess.Popen([*_command(program), *words, "--json", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = p.communicate()
    except BaseException:  # the worker has to end
        p.send_signal(signal.SIGTERM)
        p.wait()
        raise
    objects: Dict[str, Any] = {}
    for line in out.splitlines():
        try:
            x = json.loads(line)
        except ValueError:  # cut: the program was killed
            continue
        objects[x.get("type", "")] = x
    return {
        "code": p.returncode,
        "objects": objects,
        "text": err[-SHOWN:].decode("utf-8", "replace").strip() if p.returncode else "",
        "host": socket.gethostname(),
        "seconds": time.monotonic() - start,
    }


def _command(program: Optional[str]) -> List[str]:
    if program is None:
        from .__main__ import program as find

        program = os.environ.get("SHARDIFY") or find()
    if program is None:
        raise ModuleNotFoundError("there is no program shardify on %s: install the wheel there, or name the program with program=" % socket.gethostname())
    return [program]
