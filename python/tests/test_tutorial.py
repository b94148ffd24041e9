"""The loops of torch's quickstart tutorial, unchanged, with each loader of the package."""

from __future__ import annotations

import os
import subprocess
import sys

import fixture
import numpy as np
import pytest
from loading import PYTHON, needs_library

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = needs_library

# pytorch.org/tutorials/beginner/basics/optimization_tutorial.html: the two loops and what calls them.
LOOPS = '''
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader
import shardify

batch_size = 16


def train_loop(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    # Set the model to training mode - important for batch normalization and dropout layers
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        # Compute prediction and loss
        pred = model(X)
        loss = loss_fn(pred, y)

        # Backpropagation
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        if batch % 100 == 0:
            loss, current = loss.item(), batch * batch_size + len(X)
            print(f"loss: {loss:>7f}  [{current:>5d}/{size:>5d}]")


def test_loop(dataloader, model, loss_fn):
    # Set the model to evaluation mode - important for batch normalization and dropout layers
    model.eval()
    size = len(dataloader.dataset)
    num_batches = len(dataloader)
    test_loss, correct = 0, 0

    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()

    test_loss /= num_batches
    correct /= size
    print(f"Test Error: \\n Accuracy: {(100*correct):>0.1f}%, Avg loss: {test_loss:>8f} \\n")
    print("counts", size, num_batches)


def main(train_dataloader, test_dataloader):
    model = nn.Linear(4, 2)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)

    epochs = 3
    for t in range(epochs):
        print(f"Epoch {t+1}\\n-------------------------------")
        train_loop(train_dataloader, model, loss_fn, optimizer)
        test_loop(test_dataloader, model, loss_fn)
    print("Done!")


def pair(b):
    return b["x"], b["y"]


'''
MADE = {
    "Loader": """
main(shardify.Loader("train", 16, shuffle="global", transform=pair, device="cpu"), shardify.Loader("val", 16, transform=pair, device="cpu"))
""",
    "open": """
main(DataLoader(shardify.open("train", transform=pair), 16, shuffle=True, num_workers=2), DataLoader(shardify.open("val", transform=pair), 16))
""",
    "LoaderDataset": """
main(DataLoader(shardify.LoaderDataset("train", 16, shuffle="global", transform=pair), batch_size=None, num_workers=2),
     DataLoader(shardify.LoaderDataset("val", 16, transform=pair), batch_size=None, num_workers=2))
""",
    "forked after a Loader": """
main(DataLoader(shardify.LoaderDataset("train", 16, transform=pair), batch_size=None, num_workers=2), shardify.Loader("val", 16, transform=pair, device="cpu"))
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    at = tmp_path_factory.mktemp("tutorial")
    schema = [{"name": "x", "dtype": "f32", "shape": [4]}, {"name": "y", "dtype": "i64"}]
    for name, n in ("train", 200), ("val", 50):
        rows = [{"x": np.full(4, (-1) ** k), "y": k % 2} for k in range(n)]
        fixture.write(at / name, schema, rows, shards=[n])
    return at


def run(folder, text):
    (folder / "script.py").write_text(text)
    env = dict(os.environ, PYTHONPATH=PYTHON, OMP_NUM_THREADS="1")
    return subprocess.run([sys.executable, "script.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize("how", ["Loader", "open", "LoaderDataset"])
def test_the_loops_run(folder, how):
    p = run(folder, LOOPS + MADE[how])
    assert p.returncode == 0 and "Done!" in p.stdout, p.stdout + p.stderr
    # What torch calls the length of a data set of whole batches is batches.
    assert p.stdout.count("counts %d 4" % (4 if how == "LoaderDataset" else 50)) == 3, p.stdout
    assert how == "LoaderDataset" or "Accuracy: 100.0%" in p.stdout


def test_a_fork_after_a_loader_says_the_cure(folder):
    """And the cure is one: the lines of the error, pasted."""
    p = run(folder, LOOPS + MADE["forked after a Loader"])
    assert p.returncode == 1 and "counts" not in p.stdout
    lines = p.stderr.splitlines()
    k = max(i for i, line in enumerate(lines) if "a fork copies no threads" in line)
    cure = "\n".join(line[4:] for line in lines[k + 1 : k + 3])
    assert cure.startswith("if __name__") and "forkserver" in cure, p.stderr
    text = 'dataset = shardify.LoaderDataset("train", 16, transform=pair)\n' + cure
    p = run(folder, LOOPS + text + '\n    main(loader, shardify.Loader("val", 16, transform=pair, device="cpu"))\n')
    assert p.returncode == 0 and p.stdout.count("counts") == 3, p.stdout + p.stderr


LENGTHS = [
    dict(),
    dict(shuffle="global"),
    dict(shuffle="global", rank=1, world_size=3),
    dict(rank=0, world_size=3),
    dict(drop_last=True),
    dict(last="pad", rank=2, world_size=3),
    dict(indices=list(range(7))),
    dict(shuffle="block", seed=3),
    dict(balance="y", samples=33),
    dict(drop_last=True, shuffle="block", rank=1, world_size=2),
]


@pytest.mark.parametrize("options", LENGTHS)
def test_the_length_is_what_comes(folder, options):
    """Asked of another process, which leaves the library out of this one, and of this one."""
    import shardify
    from shardify import clib, workers

    ds = shardify.LoaderDataset(str(folder / "train"), 16, **options)
    was, clib._loaded = clib._loaded, None
    try:
        away = len(ds)
        assert clib._loaded is None
    finally:
        clib._loaded = was or clib.load()
    assert away == len(shardify.LoaderDataset(str(folder / "train"), 16, **options))
    assert away == len(torch.utils.data.DataLoader(ds, batch_size=None)) == sum(1 for _ in ds)
    if options.get("shuffle") != "block":
        for n in 2, 3:  # workers
            rank, world = options.get("rank", 0), options.get("world_size", 1)
            rest = {k: v for k, v in options.items() if k not in ("rank", "world_size")}
            shares = [workers.Share(str(folder / "train"), 16, worker=w, workers=n, rank=rank, world_size=world, **rest) for w in range(n)]
            assert sum(sum(1 for _ in s) for s in shares) == away


def test_errors_of_the_length(folder):
    import shardify
    from shardify import clib

    was, clib._loaded = clib._loaded, None
    try:
        with pytest.raises(shardify.NotADatasetError):
            len(shardify.LoaderDataset(str(folder / "nothing"), 16))
    finally:
        clib._loaded = was
