"""Trains on a mixture of pairs by the weights of a file list: python3 train.py blend.txt [STEPS]

The model knows which byte follows which. It says of which corpus the samples were, and how much of each was asked for.
"""

import os
import sys

import numpy as np
import shardify

steps = int(sys.argv[2]) if len(sys.argv) > 2 else 400
LENGTH, BATCH, VOCABULARY, RATE = 48, 32, 257, 20.0

weights, corpora = {}, {}
with open(sys.argv[1]) as f:
    for line in f:
        weight, prefix, corpus = line.split()
        folder = os.path.dirname(prefix)  # of a data set, whose shards are read together
        weights[folder] = weights.get(folder, 0.0) + float(weight)
        corpora[corpus] = corpora.get(corpus, 0.0) + float(weight)


def corpus_of(text):
    """Of which corpus a sample is, as it looks."""
    if b" + " in text and b"=" in text and b"z" not in text:
        return "sums"
    return "code" if b"return" in text or b"def " in text else "stories"


table, losses, seen = np.zeros((VOCABULARY, VOCABULARY)), [], dict.fromkeys(corpora, 0)
with shardify.Loader(weights, BATCH, shuffle="global", seed=1, tokens=LENGTH, labels="shift", samples=BATCH * steps, framework="numpy") as loader:
    for batch in loader:
        now, after = batch["text"].ravel(), batch["labels"].ravel()
        for row in batch["text"]:
            seen[corpus_of(bytes(row[row < 256].astype(np.uint8)))] += 1
        p = np.exp(table[now] - table[now].max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        losses.append(-np.log(p[np.arange(len(now)), after]).mean())
        p[np.arange(len(now)), after] -= 1
        np.subtract.at(table, now, RATE * p / len(now))
for corpus, share in sorted(corpora.items()):
    print("%s: %.3f of the samples, %.3f asked for" % (corpus, seen[corpus] / sum(seen.values()), share))
print("%d steps, loss %.3f to %.3f" % (len(losses), losses[0], np.mean(losses[-10:])))
