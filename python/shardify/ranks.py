"""Which of how many processes this is."""

from __future__ import annotations

import os
import sys
from typing import Mapping, Optional, Tuple

# (rank, world size, ranks on this node), by launcher. A Slurm batch script has the
# variables of its job as well, so those of the step, which only srun sets, go first.
_PAIRS = (
    ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"),
)


def find(
    rank: Optional[int], world_size: Optional[int], env: Mapping[str, str] = os.environ
) -> Tuple[int, int, int, str]:
    """Rank, world size, ranks on this node, and where they were found."""
    if (rank is None) != (world_size is None):
        raise ValueError("rank=%r, world_size=%r: give both, or neither" % (rank, world_size))
    if rank is not None and world_size is not None:
        return int(rank), int(world_size), _local(env, int(world_size)), "arguments"
    dist = getattr(sys.modules.get("torch"), "distributed", None)
    if dist is not None and dist.is_available() and dist.is_initialized():
        world = dist.get_world_size()
        return dist.get_rank(), world, _local(env, world), "torch.distributed"
    for r, w, _ in _PAIRS:
        if r in env and w in env:
            world = _number(env, w)
            return _number(env, r), world, _local(env, world), "%s and %s" % (r, w)
        if r == "RANK" and (r in env) != (w in env):
            raise ValueError(
                "the environment has %s but not %s: set both, or give rank= and world_size="
                % ((r, w) if r in env else (w, r))
            )
    return 0, 1, 1, ""


def _number(env: Mapping[str, str], name: str) -> int:
    try:
        return int(env[name])
    except ValueError:
        raise ValueError("%s=%r is not a number" % (name, env[name])) from None


def _local(env: Mapping[str, str], world: int) -> int:
    for _, _, name in _PAIRS:
        text = env.get(name, "").split("(")[0].split(",")[0]  # "4(x2),3" of Slurm
        if text.isdigit() and int(text) > 0:
            return min(int(text), world)
    return 1
