"""One contender of bench/loader_peers.py: batches without end, timed on request.

Peers are what their documentation shows, in the variant that was fastest here: persistent workers, arrays copied once, no
conversion of arrays to float.
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
    for name in "torch", "torchvision", "webdataset", "spdl", "PIL":
        try:
            found.append(f"{'Pillow' if name == 'PIL' else name} {importlib.import_module(name).__version__}")
        except (ImportError, AttributeError):
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


# What models of ImageNet are trained on: float16 of (x / 255 - mean) / deviation.
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def images(spec):
    import shardify

    folder = os.path.join(spec["data"], "loader", "images")
    if not os.path.isdir(folder):
        raise Absent("there is no folder of JPEGs")
    cast = ("float16", [1 / (255 * d) for d in DEVIATION], [-m / d for m, d in zip(MEAN, DEVIATION)])
    how = {"random_crop": (0.08, 1.0), "flip": 0.5, "threads": spec["threads"], "cast": cast, **spec["options"]}
    return forever(shardify.Loader(folder, IMAGES, shuffle="global", seed=1, crop=224, decode=how)), IMAGES, ""


def train_transform(t, first):
    return t.Compose([t.RandomResizedCrop(224, antialias=True), t.RandomHorizontalFlip(), first, t.Normalize(MEAN, DEVIATION), Half()])


class Half:
    def __call__(self, image):
        return image.half()


def jpegs(spec):
    folder = os.path.join(spec["data"], "jpegs")
    if not os.path.isdir(folder):
        raise Absent("there is no folder of JPEGs")
    return folder


def imagefolder(spec):
    """How PyTorch's documentation reads images; "io": with torchvision's decoder, on tensors."""
    data, datasets, t = need("torch.utils.data"), need("torchvision.datasets"), need("torchvision.transforms")
    read = {}
    if spec.get("io"):
        io = need("torchvision.io")
        read = {"loader": lambda path: io.read_image(path, io.ImageReadMode.RGB)}
    first = t.ConvertImageDtype(need("torch").float32) if read else t.ToTensor()
    set = datasets.ImageFolder(jpegs(spec), train_transform(t, first), **read)
    return forever(data.DataLoader(set, IMAGES, shuffle=True, drop_last=True, num_workers=spec["workers"], persistent_workers=spec["workers"] > 0)), IMAGES, ""


def webimages(spec):
    wds, torch, t = need("webdataset"), need("torch"), need("torchvision.transforms")
    urls = tars(os.path.join(spec["data"], "loader", "images"))
    stack = lambda samples: (torch.stack([s[0] for s in samples]), [s[1] for s in samples])
    set = wds.WebDataset(urls, shardshuffle=len(urls), nodesplitter=wds.split_by_node).shuffle(1000).decode("pil").to_tuple("jpg", "cls")
    set = set.map_tuple(train_transform(t, t.ToTensor()), lambda y: y).batched(IMAGES, collation_fn=stack, partial=False)
    return web(wds, set, spec), IMAGES, ""


def spdl(spec):
    """SPDL's pipeline of threads: FFmpeg decodes, cuts, scales and mirrors each image by one call, torch casts batches."""
    io, pipeline, torch = need("spdl.io"), need("spdl.pipeline"), need("torch")
    folder = jpegs(spec)
    files = sorted(glob.glob(os.path.join(folder, "*", "*.jpg")))
    rng = np.random.default_rng(1)
    mean, deviation = (torch.tensor(v).view(1, 3, 1, 1) * 255 for v in (MEAN, DEVIATION))

    def paths():
        while True:
            for k in rng.permutation(len(files)):
                yield files[k], rng.random(23)

    def part(w, h, u):
        for a, r in zip(u[3::2], u[4::2]):
            area, ratio = w * h * (0.08 + 0.92 * a), (3 / 4) ** (2 * r - 1)
            cw, ch = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
            if 0 < cw <= w and 0 < ch <= h:
                return cw, ch, int(u[1] * (w - cw + 1)), int(u[2] * (h - ch + 1))
        return min(w, h), min(w, h), 0, 0

    def decode(item):
        packets = io.demux_image(item[0])
        crop = "crop=%d:%d:%d:%d:exact=1" % part(packets.width, packets.height, item[1])
        flip = ",hflip" if item[1][0] < 0.5 else ""
        return io.decode_packets(packets, filter_desc=crop + ",scale=224:224:flags=bilinear" + flip + ",format=pix_fmts=rgb24")

    def collate(frames):
        pixels = torch.from_numpy(io.to_numpy(io.convert_frames(frames))).permute(0, 3, 1, 2)
        return pixels.sub(mean).div_(deviation).half()

    made = pipeline.PipelineBuilder().add_source(paths()).pipe(decode, concurrency=spec["threads"]).aggregate(IMAGES).pipe(collate).add_sink(3).build(num_threads=spec["threads"])

    def batches():
        with made.auto_stop():
            yield from made

    return batches(), IMAGES, ""


KINDS = {"loader": loader, "dataloader": dataloader, "dataloader-batch": dataloader, "take": take, "webdataset": webdataset, "images": images, "imagefolder": imagefolder, "webimages": webimages, "spdl": spdl}


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
