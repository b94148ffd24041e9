"""scanpy, anndata and SciPy: their own readers of 10x Genomics, Loom and Matrix Market find the values and names of our sets.

python3 peer_scanpy.py WORK     SHARDIFY names the program; ROUNDS files from SEED
"""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from typing import Any, List

import anndata
import numpy as np
import scanpy
import scipy.io
import scipy.sparse as sp
from expect import main
from peer_cells import BINARY, ROUNDS, SEED, WORK, others_of

import shardify

warnings.simplefilter("ignore")


# Where names of genes are that are no ids.
SYMBOLS = {"v2": "GRCh38/gene_names", "v3": "matrix/features/name"}


def theirs(kind: str, path: str) -> Any:
    """The file as the library of its users reads it."""
    if kind in ("v2", "v3"):
        return scanpy.read_10x_h5(path, gex_only=False)
    if kind == "loom":
        return anndata.io.read_loom(path, sparse=False)
    return scanpy.read_10x_mtx(path, var_names="gene_symbols", gex_only=False)


def texts(ds: Any, name: str) -> List[str]:
    c = ds.column(name)
    return [bytes(c.values[c.offsets[k] : c.offsets[k + 1]]).decode() for k in range(len(ds))]


def compare(kind: str, path: str, fields: List[str], ds: Any, width: int, what: str) -> None:
    a = theirs(kind, path)
    n = len(ds)
    assert a.shape == (n, width), "%s: %r, want %r" % (what, (n, width), a.shape)
    assert texts(ds, fields[2]) == list(a.obs_names), what + ": other cells"
    genes = ds.field(fields[0 if kind == "loom" else 1]).attrs["columns"].split("\n")
    assert genes == list(a.var_names if kind == "loom" else a.var["gene_ids"]), what + ": other genes"
    if kind in SYMBOLS:
        assert list(ds.static[SYMBOLS[kind]]) == list(a.var_names), what + ": other names of genes"
    want = a.X.toarray() if sp.issparse(a.X) else np.asarray(a.X)
    if kind == "loom":
        have = np.asarray(ds.column(fields[0])).reshape(n, width)
        twice = a.layers["twice"]
        assert np.array_equal(np.asarray(ds.column(fields[1])).reshape(n, width), twice.toarray() if sp.issparse(twice) else twice), what + ": another layer"
    else:
        d, i = ds.column(fields[0]), ds.column(fields[1])
        have = sp.csr_matrix((d.values[:], i.values[:], d.offsets[:]), shape=(n, width)).toarray()
    assert np.array_equal(have.astype(want.dtype), want) and np.array_equal(have, want.astype(have.dtype)), what + ": other values"
    if kind == "mtx":
        name = next(x for x in os.listdir(path) if x.startswith("matrix.mtx"))
        exact = scipy.io.mmread(os.path.join(path, name)).toarray().T
        assert np.array_equal(have, exact) and have.dtype.kind == exact.dtype.kind, what + ": SciPy reads other values"


def readers() -> str:
    r = np.random.default_rng(SEED)
    for k in range(ROUNDS):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        n, width, kind = int(r.integers(1, 60)), int(r.integers(1, 40)), ["v2", "v3", "loom", "mtx"][k % 4]
        dense = (r.random((n, width)) < r.choice([0.05, 0.1, 0.6])) * r.integers(1, 60, (n, width))
        m = sp.csr_matrix(dense.astype(r.choice(["f4", "i4"] if kind != "mtx" else ["f8", "i8"])))
        path, fields = others_of(r, kind, m)
        out, what = os.path.join(WORK, "set"), "file %d of seed %d, %s" % (k, SEED, kind)
        p = subprocess.run([BINARY, "convert", path, "-o", out, "-q"] + ["--static=" + SYMBOLS.get(kind, "")] * (kind in SYMBOLS), capture_output=True, text=True)
        assert p.returncode == 0, what + ": " + p.stderr
        compare(kind, path, fields, shardify.open(out), width, what)
    return "%d random files of 10x Genomics, Loom and Matrix Market: as scanpy %s, anndata %s and SciPy read them" % (ROUNDS, scanpy.__version__, anndata.__version__)


if __name__ == "__main__":
    main([("scanpy", readers)])
