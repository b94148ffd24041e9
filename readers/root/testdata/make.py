#!/usr/bin/env python3
"""Makes the ROOT files beside it, with uproot: the same events as TTree and as RNTuple.

    python3 make.py

events-*.root hold the tree Events and a tree Runs; ntuple-*.root the same Events as
RNTuple; friend-*.root a tree of as many entries with one more column; order.root a
tree whose baskets stand in another order than its entries.
"""

import awkward as ak
import numpy as np
import uproot


def events(rng, n):
    jets = rng.poisson(2.0, n)
    muons = rng.poisson(0.7, n)
    total = int(jets.sum())
    return {
        "run": np.full(n, 7, np.uint32),
        "event": rng.integers(0, 1 << 60, n, dtype=np.uint64),
        "weight": rng.normal(size=n),
        "flag": rng.random(n) < 0.3,
        "cat": rng.integers(-100, 100, n).astype(np.int8),
        "short": rng.integers(-30000, 30000, n).astype(np.int16),
        "vertex": rng.normal(size=(n, 3)).astype(np.float32),
        "cov": rng.normal(size=(n, 2, 3)),
        "Jet": ak.zip(
            {
                "pt": ak.unflatten(rng.exponential(30, total).astype(np.float32), jets),
                "eta": ak.unflatten(rng.normal(size=total).astype(np.float32), jets),
                "id": ak.unflatten(rng.integers(0, 8, total).astype(np.int32), jets),
                "tag": ak.unflatten(rng.random(total) < 0.1, jets),
            }
        ),
        "Muon_pt": ak.unflatten(rng.exponential(20, int(muons.sum())), muons),
        "label": ["".join("abcxyz"[k] for k in rng.integers(0, 6, rng.integers(0, 12))) for _ in range(n)],
    }


def tree(f, name, parts):
    w = f.mktree(name, parts[0])
    for p in parts[1:]:
        w.extend(p)


def main():
    for k, (n, compression) in enumerate([(300, uproot.ZLIB(4)), (170, uproot.LZ4(4))]):
        rng = np.random.default_rng(k)
        parts = [events(rng, m) for m in ([n // 3, n - n // 3] if k == 0 else [n])]
        with uproot.recreate("events-%d.root" % k, compression=compression) as f:
            tree(f, "Events", parts)
            tree(f, "Runs", [{"run": np.array([7], np.uint32)}])
        with uproot.recreate("friend-%d.root" % k, compression=None) as f:
            tree(f, "extra", [{"score": rng.random(n).astype(np.float32), "weight": rng.random(n)}])
        with uproot.recreate("ntuple-%d.root" % k, compression=uproot.ZSTD(3)) as f:
            w = f.mkrntuple("Events", parts[0])
            for p in parts[1:]:
                w.extend(p)
    # Its baskets do not stand in the order of their entries: later ones fill gaps.
    rng = np.random.default_rng(9)
    with uproot.recreate("order.root", compression=None) as f:
        tree(f, "t", [{"x": np.arange(100 * i, 100 * i + m), "y": rng.random(m)} for i, m in enumerate([5, 90, 1] * 8)])


main()
