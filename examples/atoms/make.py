"""Clusters of argon and neon with the energies and forces of pair potentials, as extended XYZ: python3 make.py FILE [FRAMES]"""

import sys

import numpy as np

rng = np.random.default_rng(1)
sizes = {"Ne": 2.7, "Ar": 3.4}
with open(sys.argv[1], "w") as f:
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 600):
        n = int(rng.integers(4, 17))
        grid = rng.permutation(27)[:n]
        pos = 3.6 * np.stack([grid // 9, grid // 3 % 3, grid % 3], 1) + rng.normal(0, 0.25, (n, 3))
        symbols = rng.choice(["Ne", "Ar"], n)
        size = np.array([sizes[s] for s in symbols])
        d = pos[:, None] - pos
        r = np.sqrt((d**2).sum(-1)) + 1e9 * np.eye(n)
        x = np.exp(-1.5 * (r - 0.55 * (size[:, None] + size)))  # Morse potentials, 0.1 eV deep
        energy = 0.05 * (x * x - 2 * x).sum()
        forces = (0.1 * 1.5 * (2 * x * x - 2 * x) / r)[..., None] * d
        print("%d\nProperties=species:S:1:pos:R:3:forces:R:3 energy=%.10f pbc=\"F F F\"" % (n, energy), file=f)
        for s, p, g in zip(symbols, pos, forces.sum(1)):
            print(s, *("%.8f" % v for v in (*p, *g)), file=f)
