"""Trains a small model on the digits from shards, is killed in the middle of an epoch, and resumes.

    python train.py build/demo/arrays-mmap         the demo: an unbroken run, a killed one, its continuation
    python train.py SET --run FOLDER [--epochs 6]  one run; FOLDER keeps checkpoint and log

The model is PyTorch's if PyTorch is installed, else a softmax regression in numpy: what is shown is the data path.
"""
import argparse
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import shardify

try:
    import torch
except ImportError:
    torch = None

BATCH, TRAIN, CHECKPOINT = 64, 1500, 5  # samples a step, samples to train on (the others test), steps between checkpoints


class Network:
    """A convolution and a linear layer, trained by PyTorch."""

    name = "PyTorch, a convolutional network"

    def __init__(self):
        torch.manual_seed(0)
        torch.set_num_threads(1)
        layers = torch.nn
        self.net = layers.Sequential(layers.Conv2d(1, 16, 3, padding=1), layers.ReLU(), layers.Flatten(), layers.Linear(16 * 64, 10))
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.05, momentum=0.9)

    def outputs(self, x):
        return self.net(torch.as_tensor(x, dtype=torch.float32)[:, None] / 16)

    def step(self, batch):
        loss = torch.nn.functional.cross_entropy(self.outputs(batch["x"]), batch["y"])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def predict(self, x):
        with torch.no_grad():
            return self.outputs(np.array(x)).argmax(1).numpy()

    def state(self):
        return self.net.state_dict(), self.optimizer.state_dict()

    def load(self, state):
        self.net.load_state_dict(state[0])
        self.optimizer.load_state_dict(state[1])


class Softmax:
    """A softmax regression."""

    name = "numpy, a softmax regression (PyTorch is not installed)"

    def __init__(self):
        self.w = np.zeros((65, 10))

    def inputs(self, x):
        x = np.asarray(x).reshape(len(x), 64) / 16
        return np.concatenate([x, np.ones((len(x), 1))], 1)

    def step(self, batch):
        x, y = self.inputs(batch["x"]), np.asarray(batch["y"])
        z = x @ self.w
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        loss = -np.log(p[np.arange(len(y)), y]).mean()
        p[np.arange(len(y)), y] -= 1
        self.w -= 0.5 * x.T @ p / len(y)
        return float(loss)

    def predict(self, x):
        return (self.inputs(x) @ self.w).argmax(1)

    def state(self):
        return self.w

    def load(self, state):
        self.w = state


def train(data, folder, epochs, hang):
    """Trains to the end from the last checkpoint in the folder, if there is one. Step `hang` never ends."""
    os.makedirs(folder, exist_ok=True)
    checkpoint = os.path.join(folder, "checkpoint")
    model = Network() if torch else Softmax()
    loader = shardify.Loader(data, BATCH, shuffle="global", seed=7, indices=range(TRAIN), device="cpu")
    step = 0
    if os.path.exists(checkpoint):
        with open(checkpoint, "rb") as f:
            step, place, weights = pickle.load(f)
        loader.load_state_dict(place)
        model.load(weights)
    with open(os.path.join(folder, "log-%d" % os.getpid()), "w") as log:
        while loader.epoch < epochs:
            for batch in loader:
                loss = model.step(batch)
                step += 1
                print(json.dumps({"step": step, "epoch": batch.epoch, "loss": loss, "samples": batch.ids.tolist()}), file=log, flush=True)
                if step % CHECKPOINT == 0:
                    save(checkpoint, (step, loader.state_dict(), model.state()))
                if step == hang:
                    time.sleep(600)
            save(checkpoint, (step, loader.state_dict(), model.state()))
    ds = shardify.open(data)
    x, y = np.asarray(ds.column("x"))[TRAIN:], np.asarray(ds.column("y"))[TRAIN:]
    print("%.1f %% of %d digits it never saw are read rightly" % (100 * (model.predict(x) == y).mean(), len(y)))


def save(path, what):
    """A kill leaves the old checkpoint or the new one."""
    with open(path + ".new", "wb") as f:
        pickle.dump(what, f)
    os.replace(path + ".new", path)


def log_of(folder, pid):
    with open(os.path.join(folder, "log-%d" % pid)) as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def start(data, folder, epochs, hang=0):
    cmd = [sys.executable, __file__, data, "--run", folder, "--epochs", str(epochs), "--hang", str(hang)]
    return subprocess.Popen(cmd, stdout=subprocess.PIPE, text=True)


def finish(p):
    out = p.communicate()[0]
    if p.returncode:
        sys.exit("training failed")
    return out.strip()


def kill(p, folder, step):
    """Kills a run when it has taken so many steps."""
    path = os.path.join(folder, "log-%d" % p.pid)
    while p.poll() is None and not (os.path.exists(path) and len(log_of(folder, p.pid)) >= step):
        time.sleep(0.02)
    p.send_signal(signal.SIGKILL)
    p.communicate()


def demo(data, epochs):
    print("model: %s" % (Network if torch else Softmax).name)
    with tempfile.TemporaryDirectory() as work:
        whole, broken = os.path.join(work, "whole"), os.path.join(work, "broken")
        p = start(data, whole, epochs)
        tested = finish(p)
        want = log_of(whole, p.pid)
        for e in range(epochs):
            losses = [s["loss"] for s in want if s["epoch"] == e]
            print("epoch %d: %d steps, mean loss %.4f" % (e, len(losses), np.mean(losses)))
        print(tested)
        steps = len(want) // epochs
        middle = steps + steps // 2
        p = start(data, broken, epochs, hang=middle)
        kill(p, broken, middle)
        first = log_of(broken, p.pid)
        print("a second run, killed in epoch %d after step %d of %d" % (first[-1]["epoch"], len(first), len(want)))
        p = start(data, broken, epochs)
        tested = finish(p)
        rest = log_of(broken, p.pid)
        at = rest[0]["step"]
        print("resumed behind the checkpoint of step %d: %s" % (at - 1, tested))
        got = first[: at - 1] + rest
        assert 1 < at <= len(first) + 1 < len(want), "the run was not killed in the middle"
        assert [s["samples"] for s in got] == [s["samples"] for s in want], "the order of the samples differs"
        assert np.allclose([s["loss"] for s in got], [s["loss"] for s in want], rtol=1e-4), "the losses differ"
        assert np.mean([s["loss"] for s in want[-steps:]]) < 0.5 * np.mean([s["loss"] for s in want[:steps]]), "the loss does not go down"
        print("all %d batches have the samples of the unbroken run, in its order; the losses are the same" % len(want))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("data")
    p.add_argument("--run")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--hang", type=int, default=0, help=argparse.SUPPRESS)
    a = p.parse_args()
    train(a.data, a.run, a.epochs, a.hang) if a.run else demo(a.data, a.epochs)


if __name__ == "__main__":
    main()
