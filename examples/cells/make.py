"""Invents two folders of 10x Genomics, of two donors, and the types of their cells: python3 make.py FOLDER"""

import gzip
import os
import sys

import numpy as np

GENES, CELLS, TYPES = 400, 300, ["B cell", "T cell", "monocyte"]

r = np.random.default_rng(1)
markers = [r.choice(GENES, 40, replace=False) for _ in TYPES]
labels = ["cell,type"]
for donor in ("donor1", "donor2"):
    folder = os.path.join(sys.argv[1], donor)
    os.makedirs(folder, exist_ok=True)
    counts = r.poisson(0.15, (GENES, CELLS))
    kinds = r.integers(0, len(TYPES), CELLS)
    for cell, kind in enumerate(kinds):
        counts[markers[kind], cell] += r.poisson(1.0, 40)
    barcodes = ["%s-%04d" % (donor, i) for i in range(CELLS)]
    labels += ["%s,%s" % (b, TYPES[k]) for b, k in zip(barcodes, kinds)]
    entries = ["%d %d %d" % (g + 1, c + 1, counts[g, c]) for c in range(CELLS) for g in np.flatnonzero(counts[:, c])]
    for name, lines in {
        "matrix.mtx.gz": ["%%MatrixMarket matrix coordinate integer general", "%d %d %d" % (GENES, CELLS, len(entries)), *entries],
        "barcodes.tsv.gz": barcodes,
        "features.tsv.gz": ["ENSG%05d\tgene%d\tGene Expression" % (g, g) for g in range(GENES)],
    }.items():
        with gzip.open(os.path.join(folder, name), "wt") as f:
            f.write("\n".join(lines) + "\n")
with open(os.path.join(sys.argv[1], "types.csv"), "w") as f:
    f.write("\n".join(labels) + "\n")
