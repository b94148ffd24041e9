"""One contender of bench/loader_peers.py: batches without end, timed on request.

Peers are what their documentation shows, in the variant that was fastest here: persistent workers, arrays copied once, no
conversion of images to float.
"""
import glob
import importlib
import json
import os
import sys
import time

import numpy as np

BATCH, IMAGES = 256, 64
PIXELS = 3 * 224 * 224
AHEAD = 10  # batches that may have been ready before a round begins, at most


class Absent(Exception):
    """What the contender needs is not installed."""


def need(name):
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise Absent(f"{name} is not installed ({e})") from None


def versions():
    found = [f"Python {sys.version.split()[0]}, numpy {np.__version__}"]
    for name in "torch", "torchvision", "webdataset", "PIL":
        try:
            found.append(f"{'Pillow' if name == 'PIL' else name} {importlib.import_module(name).__version__}")
        except ImportError:
            found.append(f"no {name}")
    return ", ".join(found) + "."


def column(data):
    import shardify

    return shardify.open(os.path.join(data, "mmap")).column("x")


def sample_bytes(data):
    x = column(data)
    return x[0].nbytes if len(x) else 0


def forever(batches):
    while True:
        yield from batches


def loader(spec):
    """The one that all is about. The first batch is compared with the source."""
    import shardify

    l = shardify.Loader(os.path.join(spec["data"], spec["set"]), BATCH, seed=1, columns=["x"], **spec["options"])
    note = f"tier {l.stats()['tier']}" if spec["set"] == "mmap" else ""
    x = column(spec["data"])
    first = next(iter(l))
    if not (np.asarray(first["x"]) == x[first.ids]).all():
        sys.exit("the loader's batch is not that of the source")
    return forever(l), BATCH, note


class Rows:
    """Sample by sample, as a map-style data set over np.memmap is written."""

    def __init__(self, data):
        self.x = column(data)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        import torch

        return torch.from_numpy(self.x[i].copy())


class Batches(Rows):
    """All rows of a batch at once, by fancy indexing."""

    def __getitem__(self, rows):
        import torch

        return torch.from_numpy(np.asarray(self.x[rows]))


def dataloader(spec):
    data = need("torch.utils.data")
    workers = {"num_workers": spec["workers"], "persistent_workers": spec["workers"] > 0}
    if spec["kind"] == "dataloader":
        return forever(data.DataLoader(Rows(spec["data"]), BATCH, shuffle=True, drop_last=True, **workers)), BATCH, ""
    rows = Batches(spec["data"])
    sampler = data.BatchSampler(data.RandomSampler(rows), BATCH, drop_last=True)
    return forever(data.DataLoader(rows, batch_size=None, sampler=sampler, **workers)), BATCH, ""


def take(spec):
    """What a loop does without a loader: a permutation for each epoch, tensors over the same memory again and again.
    known: nothing but the copy, of rows that were there before the clock ran."""
    x = column(spec["data"])
    out = np.empty((BATCH,) + x.shape[1:], x.dtype)
    x = np.asarray(x)
    if spec.get("known"):
        known = np.random.default_rng(1).permutation(len(x))
        permutation, tensor = lambda: known, lambda a: a
    else:
        torch = need("torch")
        permutation, tensor = lambda: torch.randperm(len(x)).numpy(), torch.from_numpy

    def batches():
        rows = permutation()
        for i in range(0, len(rows) - BATCH + 1, BATCH):
            yield tensor(np.take(x, rows[i : i + BATCH], axis=0, out=out, mode="clip"))

    class Epochs:
        __iter__ = staticmethod(batches)

    return forever(Epochs()), BATCH, ""


def tars(folder):
    found = sorted(glob.glob(os.path.join(folder, "*.tar")))
    if not found:
        raise Absent(f"no tars in {folder}")
    return found


def webdataset(spec):
    wds = need("webdataset")
    urls = tars(os.path.join(spec["data"], "wds"))
    set = wds.WebDataset(urls, shardshuffle=len(urls), nodesplitter=wds.split_by_node).shuffle(1000).decode().to_tuple("x.npy").batched(BATCH, partial=False)
    return web(wds, set, spec), BATCH, ""


def web(wds, set, spec):
    if spec["workers"] == 0:
        return forever(set)
    need("torch")
    return forever(wds.WebLoader(set, batch_size=None, num_workers=spec["workers"], persistent_workers=True))


def images(spec):
    import shardify

    folder = os.path.join(spec["data"], "loader", "images")
    if not os.path.isdir(folder):
        raise Absent("there is no folder of JPEGs")
    need("PIL.Image")
    how = {"backend": "pillow", "random_crop": (0.08, 1.0), "flip": 0.5, "threads": spec["threads"], **spec["options"]}
    return forever(shardify.Loader(folder, IMAGES, shuffle="global", seed=1, crop=224, decode=how)), IMAGES, ""


def train_transform():
    t = need("torchvision.transforms")
    return t.Compose([t.RandomResizedCrop(224), t.RandomHorizontalFlip(), t.PILToTensor()])


def imagefolder(spec):
    data, datasets = need("torch.utils.data"), need("torchvision.datasets")
    folder = os.path.join(spec["data"], "jpegs")
    if not os.path.isdir(folder):
        raise Absent("there is no folder of JPEGs")
    set = datasets.ImageFolder(folder, train_transform())
    return forever(data.DataLoader(set, IMAGES, shuffle=True, drop_last=True, num_workers=spec["workers"], persistent_workers=spec["workers"] > 0)), IMAGES, ""


def webimages(spec):
    wds, torch = need("webdataset"), need("torch")
    urls = tars(os.path.join(spec["data"], "loader", "images"))
    stack = lambda samples: (torch.stack([s[0] for s in samples]), [s[1] for s in samples])
    set = wds.WebDataset(urls, shardshuffle=len(urls), nodesplitter=wds.split_by_node).shuffle(1000).decode("pil").to_tuple("jpg", "cls")
    set = set.map_tuple(train_transform(), lambda y: y).batched(IMAGES, collation_fn=stack, partial=False)
    return web(wds, set, spec), IMAGES, ""


KINDS = {"loader": loader, "dataloader": dataloader, "dataloader-batch": dataloader, "take": take, "webdataset": webdataset, "images": images, "imagefolder": imagefolder, "webimages": webimages}


def main():
    from shardify.usage import Usage

    spec = json.loads(sys.argv[1])
    start = time.perf_counter()
    try:
        batches, each, note = KINDS[spec["kind"]](spec)
        next(batches)
    except Absent as e:
        print(json.dumps({"absent": str(e)}), flush=True)
        return
    print(json.dumps({"note": note, "first": time.perf_counter() - start}), flush=True)
    for line in sys.stdin:
        seconds = float(line)
        begin = time.perf_counter()
        for _ in range(AHEAD):  # those that were ready come at once; no need to wait long for others
            next(batches)
            if time.perf_counter() - begin > seconds / 2:
                break
        n, before, begin = 0, Usage.now(), time.perf_counter()
        while time.perf_counter() - begin < seconds:
            next(batches)
            n += each
        took = time.perf_counter() - begin
        used = Usage.now().since(before)
        print(json.dumps({"samples": n, "seconds": took, "cpu": used.own + sum(used.workers.values())}), flush=True)


if __name__ == "__main__":
    main()
