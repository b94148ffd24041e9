"""The commands of docs/tutorials/recipe-atoms.md, with PyTorch: errors of energies and forces fall.

python3 peer_recipe_atoms.py WORK     SHARDIFY names the program
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from expect import Skip, main

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "python"))
from shardify import clib  # noqa: E402

BINARY = os.path.abspath(os.environ.get("SHARDIFY", "shardify"))
WORK = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "."), "scratch", "recipe-atoms")


def recipe() -> str:
    if not os.path.exists(clib.path()):
        raise Skip("the library behind shardify.Loader is not built here")
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(os.path.join(WORK, "bin"))
    os.symlink(BINARY, os.path.join(WORK, "bin", "shardify"))
    os.symlink(os.path.abspath(os.path.join(ROOT, "examples")), os.path.join(WORK, "examples"))
    with open(os.path.join(ROOT, "docs", "tutorials", "recipe-atoms.md")) as f:
        block = re.search(r"```sh\n(.*?)```", f.read(), re.S)
    assert block, "no commands in the page"
    command = block[1].replace("python3 ", sys.executable + " ")
    env = dict(os.environ, PATH=os.path.join(WORK, "bin") + os.pathsep + os.environ["PATH"], PYTHONPATH=os.path.join(ROOT, "python"), OMP_NUM_THREADS="1")
    p = subprocess.run(["sh", "-eu", "-c", command], cwd=WORK, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 0, p.stderr
    off = [(float(a), float(b)) for a, b in re.findall(r"energy off by ([0-9.]+) eV, forces by ([0-9.]+)", p.stdout)]
    first, last = [[sum(x) / 4 for x in zip(*part)] for part in (off[:4], off[-4:])]
    assert last[0] < first[0] / 2 and last[1] < first[1] / 2, "errors fall from %r to %r" % (first, last)
    return "the page's commands: energies off by %.3f, then %.3f eV; forces by %.4f, then %.4f eV/A" % (first[0], last[0], first[1], last[1])


main([("recipe atoms", recipe)])
