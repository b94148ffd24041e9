#!/usr/bin/env python3
"""Makes own-*.root beside it, with uproot: trees in which each branch has a counter of its own.

    python3 make_own.py

Jet_pt, Jet_eta and Jet_id are equally long in both files. Jet_sub has as many elements in all,
but others in each entry; Muon_eta differs from Muon_pt in own-1.root only. In own-late.root
Jet_eta differs from Jet_pt near the end alone, and the counters' baskets are equally large.
"""

import awkward as ak
import numpy as np
import uproot


def lists(counts, dtype, seed):
    rng = np.random.default_rng(seed)
    return ak.unflatten((rng.normal(size=int(counts.sum())) * 100).astype(dtype), counts)


def write(name, branches, compression):
    with uproot.recreate(name, compression=compression) as f:
        f.mktree("Events", branches)


for k, n in enumerate([300, 170]):
    rng = np.random.default_rng(k)
    jets, muons = rng.poisson(2.0, n), rng.poisson(0.7, n)
    write("own-%d.root" % k, {
        "event": np.arange(n),
        "Jet_pt": lists(jets, np.float32, 1), "Jet_eta": lists(jets, np.float64, 2), "Jet_id": lists(jets, np.int8, 3),
        "Jet_sub": lists(jets[::-1].copy(), np.float32, 4),
        "Muon_pt": lists(muons, np.float32, 5), "Muon_eta": lists(muons if k == 0 else np.roll(muons, 1), np.float32, 6),
    }, [uproot.ZLIB(4), None][k])


def zipped(name):
    b = uproot.open(name)["Events"]
    return [list(b[c].member("fBasketBytes")[:b[c].num_baskets]) for c in ("nJet_pt", "nJet_eta")]


for seed in range(1000):
    jets = np.random.default_rng(seed).poisson(2.0, 400)
    other = jets.copy()
    other[350:] = np.roll(jets[350:], 1 + seed % 40)
    write("own-late.root", {"Jet_pt": lists(jets, np.float32, 1), "Jet_eta": lists(other, np.float32, 2)}, uproot.ZLIB(4))
    (a,), (b,) = zipped("own-late.root")
    if a + 1 == b and (jets != other).any():
        break
else:
    raise SystemExit("no such file was found")
