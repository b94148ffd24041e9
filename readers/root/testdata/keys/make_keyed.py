#!/usr/bin/env python3
"""Makes keyed-*.root beside it, with uproot: trees that are joined by key.

    python3 make_keyed.py

keyed-0.root and keyed-1.root hold the tree Events with run, event and pt; the tree Scores of
keyed-friend.root has the events of both in another order, and some more. The friend's values
follow from the key: score = run * 1000 + event, hits has event % 4 elements event, event + 1, ...
keyed-few.root lacks the event 7 of run 1, keyed-twice.root has it twice. Their keys have other types.
"""

import awkward as ak
import numpy as np
import uproot


def friend(name, run, event):
    counts = event % 4
    total = int(counts.sum())
    first = np.repeat(event, counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    with uproot.recreate(name, compression=uproot.ZLIB(4)) as f:
        f.mktree("Scores", {
            "runNumber": run.astype(np.int64), "event": event.astype(np.int32),
            "score": (run * 1000 + event).astype(np.float64), "pt": -event.astype(np.float32),
            "hits": ak.unflatten((first + within).astype(np.int32), counts),
        })


def main():
    runs, events = [], []
    for k in range(2):
        event = np.arange(200)[k::2] if k else np.arange(150)
        run = np.full(len(event), k + 1)
        runs, events = runs + [run], events + [event]
        with uproot.recreate("keyed-%d.root" % k, compression=uproot.ZLIB(4)) as f:
            f.mktree("Events", {"run": run.astype(np.uint32), "event": event.astype(np.uint64), "pt": event.astype(np.float32)})
    run = np.concatenate(runs + [np.full(40, 3)])
    event = np.concatenate(events + [np.arange(40)])
    order = np.random.default_rng(3).permutation(len(run))
    friend("keyed-friend.root", run[order], event[order])
    keep = ~((run == 1) & (event == 7))
    friend("keyed-few.root", run[keep], event[keep])
    friend("keyed-twice.root", np.append(run, 1), np.append(event, 7))


main()
