"""A source for Grain, JAX's loader: samples and whole batches by number, from any thread or process.

    import grain
    import shardify

    digits = shardify.grain.source("OUT")
    order = grain.MapDataset.range(len(digits)).shuffle(seed=1).repeat(10)
    batches = order.batch(256, drop_remainder=True).map(digits.gather).to_iter_dataset()

Grain itself is not imported.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from . import dataset, near, opening
from .batch import Sample
from .collating import collate


class Source:
    """What Grain calls a RandomAccessDataSource, also with batched reads; made by `source`."""

    def __init__(self, ds: dataset.Dataset[Any], jagged: str = "pad", pad_value: float = 0) -> None:
        self.ds = ds
        # torch would be imported in every worker, and JAX has no use for its tensors.
        self._collate = collate(jagged, pad_value, schema=ds.schema, to="numpy")

    def __len__(self) -> int:
        return len(self.ds)

    def __getitem__(self, i: Any) -> Any:
        return _plain(self.ds[i])

    def __getitems__(self, indices: Any) -> List[Any]:
        """Many samples, read column by column."""
        return [_plain(s) for s in self.ds.__getitems__(indices)]

    _getitems = __getitems__  # Grain's name for it

    def gather(self, indices: Any) -> Any:
        """A batch of stacked arrays, as `shardify.collate` makes it: the fast way."""
        return self._collate(self.ds.__getitems__(indices))

    def __repr__(self) -> str:
        """The same wherever the set is: Grain's DataLoader refuses a checkpoint of another source."""
        digests = ", ".join(str(m.get("xxh3")) for m in self.ds.manifests)
        return "shardify.grain.Source(%s: %d samples of %s)" % (digests, len(self), ", ".join(self.ds.fields))


def _plain(sample: Any) -> Any:
    # JAX's trees take classes made from dict for leaves.
    if isinstance(sample, Sample):
        out: Dict[str, Any] = dict(sample)
        return out
    return sample


@near.keywords("shardify.grain.source", near.OPEN)
def source(
    data: Any,
    *,
    split: Optional[str] = None,
    columns: Optional[Sequence[str]] = None,
    transform: Optional[dataset.Transform] = None,
    jagged: str = "pad",
    pad_value: float = 0,
    check: bool = True,
) -> Source:
    """The samples of a data set, or of several, for Grain. The arguments are those of `shardify.open`;
    jagged and pad_value are those of `shardify.collate`, for `gather`."""
    return Source(opening.open(data, split=split, columns=columns, transform=transform, check=check), jagged, pad_value)
