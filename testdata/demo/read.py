"""Reads the data sets of the demo and compares them with the source."""
import sys

import numpy as np

import shardify

work = sys.argv[1]
want = np.load(f"{work}/digits.npz")

arrays = shardify.open(f"{work}/arrays-mmap")
assert len(arrays) == 1797
assert (np.asarray(arrays.column("x")) == want["x"]).all()
assert (np.asarray(arrays.column("y")) == want["y"]).all()
print(f"arrays-mmap: {len(arrays)} samples, ds[42] has", {k: getattr(v, "shape", v) for k, v in arrays[42].items()})

tar = shardify.open(f"{work}/arrays-wds")
assert all((tar[i]["x"] == want["x"][i]).all() and tar[i]["y"] == want["y"][i] for i in range(len(tar)))
print(f"arrays-wds:  {len(tar)} samples, equal to the NPZ")

hdf5 = shardify.open(f"{work}/hdf5-mmap")
assert (np.asarray(hdf5.column("x")) == want["x"]).all() and (np.asarray(hdf5.column("y")) == want["y"]).all()
print(f"hdf5-mmap:   {len(hdf5)} samples, equal to the NPZ")

events = shardify.open(f"{work}/root-mmap")
assert len(events) == 2421 and all(len(events[i]["Jet_Px"]) == events[i]["NJet"] for i in range(0, len(events), 100))
print(f"root-mmap:   {len(events)} events, ds[5]['Jet_Px'] is", events[5]["Jet_Px"])

for name in "images-wds", "images-mmap":
    ds = shardify.open(f"{work}/{name}")
    s = ds[0]
    assert len(ds) == 1797 and s["png"][:4] == b"\x89PNG"
    counts = np.bincount([int(ds[i]["cls"]) for i in range(len(ds))])
    assert (counts == np.bincount(want["y"])).all()
    print(f"{name}: {len(ds)} samples, first key {s['__key__']!r}, images per class {counts.tolist()}")

try:
    import torch
except ImportError:
    print("torch is not installed: the DataLoader part is left out")
else:
    loader = torch.utils.data.DataLoader(arrays, batch_size=256, shuffle=True)
    n = sum(len(b["y"]) for b in loader)
    print(f"torch DataLoader: {len(loader)} batches, {n} samples")
