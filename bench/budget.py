"""Batches by a budget of tokens beside what PyTorch users have: padding, and samples for a second of processor time.

    python bench/budget.py BIN DIR [--samples 20000] [--rounds 3] [--seconds 2] [--out bench/BUDGET.md]

All run in one process, on samples of log-normal length (median 300, sigma 1, at most the budget), 32,768 tokens a batch, page cache
and memory warm. In each round every contender in turn delivers epochs of a global shuffle, as many as take 2 s of processor time;
an epoch of each before the first round is not counted.

Loader         shardify.Loader(budget={"tokens": 32768}), values one after the other; padded: Budget(padded=True, window=64 batches)
               with jagged="pad"; x 8: 262,144 tokens a batch
np.take        the tokens of the samples of the same batches, from memory into one buffer that stays: the numbers of a batch's
               tokens are there before the clock runs; x 8: of 262,144 tokens a batch
np.take, rows of one length  what np.take can do where no sample differs: as many tokens and batches, rows of one length, no
               offsets to make, to new arrays
rows, NumPy    np.concatenate of the samples of the same batches, from memory
group_by_length  the rule of LengthGroupedSampler of transformers, as of 4.57 (trainer_pt_utils.get_length_grouped_indices): megabatches
               of 50 batches, sorted falling; batches of as many samples as have 32,768 tokens in the mean
BatchSampler   torch's BatchSampler over a RandomSampler, batches of as many samples
token buckets  a BatchSampler as users write it: windows of 64 batches sorted by length, cut where length times samples is over the budget
Those of torch are under DataLoader without workers, over np.memmap, padded by pad_sequence.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import time

import numpy as np
import page
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, Sampler

import shardify
from shardify import Budget

MOST = 32768


def group_by_length(lengths, batch):
    mult = min(len(lengths) // (batch * 4), 50) or 1
    indices = torch.randperm(len(lengths))
    size = mult * batch
    mega = [sorted(indices[i : i + size].tolist(), key=lambda k: lengths[k], reverse=True) for i in range(0, len(lengths), size)]
    longest = int(np.argmax([lengths[m[0]] for m in mega]))
    mega[0][0], mega[longest][0] = mega[longest][0], mega[0][0]
    return [k for m in mega for k in m]


class Grouped(Sampler):
    def __init__(self, lengths, batch):
        self.lengths, self.batch = lengths, batch

    def __len__(self):
        return len(self.lengths)

    def __iter__(self):
        return iter(group_by_length(self.lengths, self.batch))


class Buckets(Sampler):
    def __init__(self, lengths, window):
        self.lengths, self.window = lengths, window

    def __iter__(self):
        order = torch.randperm(len(self.lengths)).tolist()
        for at in range(0, len(order), self.window):
            batch, batches = [], []
            for k in sorted(order[at : at + self.window], key=lambda k: self.lengths[k]):
                if batch and self.lengths[k] * (len(batch) + 1) > MOST:
                    batches.append(batch)
                    batch = []
                batch.append(k)
            batches.append(batch)
            for j in torch.randperm(len(batches)).tolist():
                yield batches[j]


class Rows(Dataset):
    def __init__(self, values, offsets):
        self.values, self.offsets = values, offsets

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, k):
        return torch.from_numpy(self.values[self.offsets[k] : self.offsets[k + 1]])


def collate(rows):
    return pad_sequence(rows, batch_first=True)


def make(binary, folder, n):
    """A set, and the same values in memory."""
    r = np.random.default_rng(1)
    lengths = np.minimum(300 * np.exp(r.normal(size=n)), MOST).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = r.integers(0, 50000, offsets[-1], np.int32)
    name = os.path.join(folder, "budget-%d" % n)
    if not os.path.exists(name):
        os.makedirs(folder, exist_ok=True)
        with open(name + ".jsonl", "w") as f:
            for a, b in zip(offsets, offsets[1:]):
                f.write('{"tokens":%s}\n' % json.dumps(values[a:b].tolist(), separators=(",", ":")))
        subprocess.run([binary, "convert", name + ".jsonl", "-o", name, "--cast", "tokens=i32"], check=True, stdout=subprocess.DEVNULL)
        os.remove(name + ".jsonl")
    np.save(name + ".npy", values)
    return name, np.load(name + ".npy", mmap_mode="r+"), offsets, lengths


def contenders(name, values, offsets, lengths):
    n, total = len(lengths), int(offsets[-1])
    size = round(MOST * n / total)  # samples of a batch
    window = 64 * size
    given = dict(shuffle="global", last="short", framework="torch", device="cpu", tier="pinned", workers=1)
    packed = shardify.Loader(name, budget={"tokens": MOST}, **given)
    padded = shardify.Loader(name, budget=Budget({"tokens": MOST}, padded=True, window=window), jagged="pad", **given)
    rows = np.ascontiguousarray(values[: total // n * n].reshape(n, -1))
    held = np.array(values)
    data = Rows(values, offsets)

    larger = shardify.Loader(name, budget={"tokens": 8 * MOST}, **given)

    def ours(loader):
        for b in loader:
            t = b["tokens"]
            # An epoch has all samples: how much of the padded batches is padding is counted at its end.
            yield b.size, t["values"].numel() if "offsets" in t else 0, t["values"].numel()

    def of_one_length(size):
        order = np.random.permutation(n)
        for at in range(0, n, size):
            t = np.take(rows, order[at : at + size], 0)
            yield len(t), t.size, t.size

    def tokens_of(batch):
        """The numbers of a batch's tokens."""
        some = lengths[batch]
        ends = np.cumsum(some)
        return np.arange(ends[-1]) + np.repeat(offsets[batch] - (ends - some), some)

    def taking(loader):
        known = [(b.size, tokens_of(b.ids)) for b in loader]
        buffer = np.empty(max(len(k) for _, k in known), np.int32)

        def take():
            for rows, k in known:
                t = np.take(held, k, out=buffer[: len(k)], mode="clip")
                yield rows, t.size, t.size

        return take

    def joined():
        for b in plain:
            t = np.concatenate([held[offsets[k] : offsets[k + 1]] for k in b])
            yield len(b), t.size, t.size

    def loaded(sampler):
        real = []

        class Noted(Dataset):
            def __len__(self):
                return n

            def __getitem__(self, k):
                t = data[k]
                real.append(len(t))
                return t

        for t in DataLoader(Noted(), batch_sampler=sampler, collate_fn=collate):
            yield len(t), sum(real), t.numel()
            real.clear()

    plain = [b.ids.tolist() for b in packed]
    return {
        "Loader": lambda: ours(packed),
        "Loader, padded": lambda: ours(padded),
        "np.take": taking(packed),
        "Loader, x 8": lambda: ours(larger),
        "np.take, x 8": taking(larger),
        "np.take, rows of one length": lambda: of_one_length(size),
        "rows, NumPy": joined,
        "group_by_length": lambda: loaded(BatchSampler(Grouped(lengths.tolist(), size), size, False)),
        "BatchSampler": lambda: loaded(BatchSampler(RandomSampler(data), size, False)),
        "token buckets": lambda: loaded(Buckets(lengths.tolist(), window)),
    }


def epochs(contender, total, seconds):
    """Counts of whole epochs, until they took so much processor time. total: tokens of an epoch."""
    cpu, wall = time.process_time(), time.perf_counter()
    samples = real = cells = largest = count = n = 0
    while n == 0 or time.process_time() - cpu < seconds:
        before, n = real, n + 1
        for s, used, all_of in contender():
            samples, real, cells, largest, count = samples + s, real + used, cells + all_of, max(largest, all_of), count + 1
        if real == before:  # it was not counted
            real += total
    took = dict(cpu=time.process_time() - cpu, wall=time.perf_counter() - wall)
    return dict(took, samples=samples, real=real, cells=cells, largest=largest, batches=count / n, epochs=n)


def report(seen, n, rounds, seconds, first, commit):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    out = ["# Batches by a budget beside samplers of PyTorch", ""]
    out.append(
        "%d cores %s, Linux %s, %s, load %.1f at the start, commit %s. Python %s, numpy %s, torch %s. Made by `make bench-budget`."
        % (os.cpu_count(), cpu, platform.release(), time.strftime("%Y-%m-%d"), first, commit, platform.python_version(), np.__version__, torch.__version__)
    )
    out += ["", __doc__.split("\n\n", 2)[2].split("\n\n")[0].replace("All run", "%s samples, medians of %d rounds [lowest-highest]. All run" % (f"{n:,}", rounds)).replace("as many as take 2 s", "as many as take %g s" % seconds)]
    out += ["", "| | batches | padding | tokens of the largest batch | samples for a CPU second | tokens for a CPU second | ms a batch | of np.take |", "|---|---|---|---|---|---|---|---|"]
    like = lambda name: "np.take, x 8" if name.endswith("x 8") else "np.take"
    ratio = lambda name: [(a["real"] / a["cpu"]) / (b["real"] / b["cpu"]) for a, b in zip(seen[name], seen[like(name)])]
    for name, runs in seen.items():
        r, q = runs[-1], ratio(name)
        rate = lambda key: statistics.median(x[key] / x["cpu"] for x in runs)
        out.append(
            "| %s | %d | %.1f %% | %s | %s | %.0f M | %.3f | %.2f [%.2f-%.2f] |"
            % (name, round(r["batches"]), 100 * (1 - r["real"] / r["cells"]), f"{max(x['largest'] for x in runs):,}", f"{rate('samples'):,.0f}", rate("real") / 1e6, 1e3 * statistics.median(x["cpu"] / x["epochs"] / x["batches"] for x in runs), statistics.median(q), min(q), max(q))
        )
    out += ["", "Padding is the share of the delivered elements that no sample has. The time is of the process with all its threads, sampler and planning included.", ""]
    out += ["What each of them is:", "", "```", *__doc__.split("\n\n")[3].strip().split("\n"), "```", ""]
    return "\n".join(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("binary")
    p.add_argument("folder")
    p.add_argument("--samples", type=int, default=20000)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=2, help="processor time of a contender in a round")
    p.add_argument("--out")
    a = p.parse_args()
    torch.set_num_threads(1)
    first = os.getloadavg()[0]
    data = make(a.binary, a.folder, a.samples)
    made, total = contenders(*data), int(data[2][-1])
    seen = {name: [] for name in made}
    for r in range(a.rounds + 1):
        for name, f in made.items():
            got = epochs(f, total, a.seconds if r else 0)
            if r:  # the first one warms
                seen[name].append(got)
    text = report(seen, a.samples, a.rounds, a.seconds, first, page.commit())
    page.publish(text, a.out)


main()
