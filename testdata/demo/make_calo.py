"""Writes calo.hdf5: showers of photons in a layered calorimeter, with the arrays, the voxels and the energies of
data set 1 of the Fast Calorimeter Simulation Challenge. The values come from a simple model, not from GEANT4.

    python make_calo.py calo.hdf5        needs numpy and h5py
"""
import sys

import h5py
import numpy as np

LAYERS = [(8, 1), (16, 10), (19, 10), (5, 1), (5, 1)]  # radial and angular bins: 368 voxels
DEPTH = np.array([0, 1.5, 6, 18, 24, 30])              # borders of the layers, in radiation lengths
SHOWERS = 600

rng = np.random.default_rng(17)
energy = 256.0 * 2.0 ** rng.integers(0, 15, SHOWERS)   # MeV, 256 MeV to 4 TeV
showers = np.zeros((SHOWERS, sum(r * a for r, a in LAYERS)))
t = np.linspace(0, 30, 601)
for i, e in enumerate(energy):
    peak = np.log(e / 20) + rng.normal(0, 0.4)         # the depth of the maximum grows with the logarithm of the energy
    profile = np.where(t > 0, t ** (0.5 * peak) * np.exp(-0.5 * t), 0)
    shares = np.array([profile[(t >= a) & (t < b)].sum() for a, b in zip(DEPTH, DEPTH[1:])]) / profile.sum()
    shares *= 0.9 + 0.3 / np.sqrt(e / 1000) * rng.normal(0, 0.3, len(LAYERS)).clip(-1, 1)
    place = 0
    for share, (radial, angular) in zip(shares, LAYERS):
        r = np.exp(-np.arange(radial) / (1.2 + 0.03 * radial)) * rng.gamma(4, 0.25, radial)
        phi = rng.gamma(3, 1 / 3, angular)
        cells = np.outer(r / r.sum(), phi / phi.sum()).ravel() * max(share, 0) * e
        showers[i, place:place + cells.size] = np.where(cells > 1, cells, 0)   # below 1 MeV nothing is seen
        place += cells.size
# 8 bits of precision are enough for a demo, and compress.
mantissa, exponent = np.frexp(showers)
showers = np.ldexp(np.round(mantissa * 256) / 256, exponent)
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("incident_energies", data=energy[:, None], compression="gzip")
    f.create_dataset("showers", data=showers, chunks=(100, 368), compression="gzip", compression_opts=9)
