"""Megatron-Energon: opens the folder as it is, without `energon prepare`."""

from __future__ import annotations

import os
import sys
import types
from typing import Any, Dict, Iterator, List, Tuple

from expect import compare, folder, main


def mend_torch() -> None:
    """Debian's PyTorch 1.13 cannot import one private module under Python 3.11.
    Energon wants a class of it for isinstance alone."""
    name = "torch.distributed._shard.sharded_tensor"
    try:
        __import__(name)
    except Exception:
        for n in [k for k in sys.modules if k.startswith("torch.distributed._shard")]:
            del sys.modules[n]
        parent, module = types.ModuleType("torch.distributed._shard"), types.ModuleType(name)
        parent.__path__ = []  # type: ignore[attr-defined]
        module.ShardedTensorBase = type("ShardedTensorBase", (), {})  # type: ignore[attr-defined]
        sys.modules["torch.distributed._shard"], sys.modules[name] = parent, module


mend_torch()
import megatron.energon as energon  # noqa: E402

VERSION = "megatron-energon " + energon.__version__


@energon.edataclass
class Parts(energon.Sample):  # type: ignore[misc]
    parts: Dict[str, Any]


@energon.stateless
def cook(sample: Dict[str, Any]) -> Parts:
    parts = {k: v for k, v in sample.items() if not k.startswith("__")}
    return Parts(**energon.basic_sample_keys(sample), parts=parts)


class Encoder(energon.DefaultTaskEncoder):  # type: ignore[misc]
    decoder = None
    cookers = [energon.Cooker(cook)]

    @energon.stateless
    def encode_sample(self, sample: Parts) -> Parts:
        return sample

    @energon.stateless
    def batch(self, samples: List[Parts]) -> List[Parts]:
        return samples


def samples(name: str) -> Iterator[Tuple[str, Dict[str, Any]]]:
    before = sorted(os.listdir(folder(name)))
    ds = energon.get_train_dataset(
        folder(name),
        worker_config=energon.WorkerConfig(rank=0, world_size=1, num_workers=0),
        batch_size=16,
        shuffle_buffer_size=None,
        max_samples_per_sequence=None,
        shuffle_over_epochs_multiplier=None,
        parallel_shard_iters=1,
        repeat=False,
        task_encoder=Encoder(),
    )
    for batch in energon.get_loader(ds):
        for s in batch:
            yield s.__key__, s.parts
    assert sorted(os.listdir(folder(name))) == before, "Energon had to write into the folder"


if __name__ == "__main__":
    main([(VERSION, lambda name=name: compare(name, samples(name))) for name in ("images", "mixed", "numbers")])
