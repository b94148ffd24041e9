"""anndata: random AnnData in HDF5, Zarr 2 and Zarr 3 must come out as it holds them, and as equal sets.

python3 peer_cells.py WORK     SHARDIFY names the program; ROUNDS objects from SEED (300 is the long form)
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import warnings
from typing import Any, Dict, List, Tuple

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp
from expect import main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

import shardify  # noqa: E402

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "cells")
BINARY = os.environ.get("SHARDIFY", "shardify")
ROUNDS, SEED = int(os.environ.get("ROUNDS", "50")), int(os.environ.get("SEED", "1"))
warnings.simplefilter("ignore")


def matrix(r: np.random.Generator, n: int, width: int) -> Any:
    """Sparse by rows or dense, of any type."""
    dtype = r.choice(["f4", "f8", "i4", "i8", "u2"])
    dense = (r.random((n, width)) < r.choice([0.0, 0.1, 0.6])) * r.integers(1, 60, (n, width))
    dense[: n // 3 if r.random() < 0.3 else 0] = 0
    if r.random() < 0.3:
        return dense.astype(dtype)
    out = sp.csr_matrix(dense.astype(dtype))
    if r.random() < 0.3:
        out.indices, out.indptr = out.indices.astype("i8"), out.indptr.astype("i8")
    return out


def frame(r: np.random.Generator, names: List[str]) -> pd.DataFrame:
    """Columns of every kind that anndata writes."""
    n = len(names)
    f = pd.DataFrame(index=pd.Index(names, name=r.choice([None, "barcode"])))
    kinds = ["int", "float", "bool", "codes", "ordered", "numbers", "nullable", "flags", "text", "empty"]
    for i, kind in enumerate(r.permutation(kinds)[: int(r.integers(0, len(kinds) + 1))]):
        name = "%s%d" % (kind, i)
        if kind == "int":
            f[name] = r.integers(-9, 9, n).astype(r.choice(["i1", "i2", "i4", "i8", "u1", "u4"]))
        elif kind == "float":
            f[name] = np.where(r.random(n) < 0.2, np.nan, r.normal(size=n)).astype(r.choice(["f4", "f8"]))
        elif kind == "bool":
            f[name] = r.random(n) < 0.5
        elif kind in ("codes", "ordered"):
            names_of = ["a", "", "é %d" % i, "T cell", "9"][: int(r.integers(1, 6))]
            f[name] = pd.Categorical.from_codes(r.integers(-1, len(names_of), n), names_of, ordered=kind == "ordered")
        elif kind == "numbers":
            f[name] = pd.Categorical.from_codes(r.integers(0, 3, n), [10, 2, 7])
        elif kind == "nullable":
            f[name] = pd.array([None if r.random() < 0.3 else int(r.integers(0, 9)) for _ in range(n)], dtype="Int16")
        elif kind == "flags":
            f[name] = pd.array([None if r.random() < 0.3 else bool(r.random() < 0.5) for _ in range(n)], dtype="boolean")
        elif kind == "text":
            f[name] = ["t%d" % k for k in range(n)]
        else:
            f[name] = np.zeros(n, "i4")
    return f


def cells(r: np.random.Generator) -> anndata.AnnData:
    n, width = int(r.integers(1, 60)), int(r.integers(1, 30))
    a = anndata.AnnData(matrix(r, n, width), obs=frame(r, ["c%d" % i for i in range(n)]), var=pd.DataFrame({"k": np.arange(width)}, index=["g%d" % i for i in range(width)]))
    for name in ("counts", "x y")[: int(r.integers(0, 3))]:
        a.layers[name] = matrix(r, n, width)
    if r.random() < 0.5:
        a.obsm["pca"] = r.normal(size=(n, 3)).astype("f4")
    if r.random() < 0.3:
        a.obsm["near"] = sp.csr_matrix(r.poisson(0.3, (n, 5)).astype("f8"))
    if r.random() < 0.5:
        a.obsp["graph"] = sp.csr_matrix(np.eye(n))
    a.varm["loads"] = np.zeros((width, 2))
    a.uns["k"] = {"x": 1}
    return a


def expected(a: anndata.AnnData) -> Dict[str, Any]:
    """Field -> values, and marks of missing ones."""
    out: Dict[str, Any] = {"obs/_index": (list(a.obs_names), None)}
    for group, many in (("", {"X": a.X}), ("layers/", a.layers), ("obsm/", a.obsm)):
        for name, m in many.items():
            out[group + name] = (m, None)
    for name, col in a.obs.items():
        if isinstance(col.dtype, pd.CategoricalDtype):
            out["obs/" + name] = (col.cat.codes.to_numpy(), col.cat.codes.to_numpy() < 0)
        elif col.isna().any() and col.dtype.kind not in "f":
            out["obs/" + name] = (col.fillna(col.dtype.type(0)).to_numpy(col.dtype.numpy_dtype), col.isna().to_numpy())
        else:
            out["obs/" + name] = (list(col) if col.dtype == object or str(col.dtype) in ("str", "string") else col.to_numpy(getattr(col.dtype, "numpy_dtype", col.dtype)), None)
    return out


def compare(ds: Any, a: anndata.AnnData, what: str) -> None:
    samples = [ds[k] for k in range(len(ds))]
    for name, (want, missing) in expected(a).items():
        if missing is not None or not sp.issparse(want):
            marks = [x[name] is None for x in samples]
            assert marks == ([False] * len(ds) if missing is None else list(missing)), "%s: %s has other missing marks" % (what, name)
        if sp.issparse(want):
            d, i = ds.column(name + "/data"), ds.column(name + "/indices")
            have = sp.csr_matrix((d.values[:], i.values[:], d.offsets[:]), shape=want.shape)
            same = np.array_equal(have.data, want.data) and np.array_equal(have.indices, want.indices) and np.array_equal(have.indptr, want.indptr) and have.data.dtype == want.data.dtype
            assert same, "%s: %s has other values" % (what, name)
            continue
        col = ds.column(name)
        if isinstance(want, list):
            have = [bytes(col.values[col.offsets[k] : col.offsets[k + 1]]).decode() for k in range(len(ds))]
            assert have == [str(x) for x in want], "%s: %s has other texts" % (what, name)
            continue
        have = np.asarray(getattr(col, "values", col)[:]).reshape(np.shape(want))
        assert have.dtype == want.dtype, "%s: %s is %s, want %s" % (what, name, have.dtype, want.dtype)
        assert np.array_equal(have, want, equal_nan=want.dtype.kind == "f"), "%s: %s has other values" % (what, name)


def digest(folder: str) -> List[Tuple[str, str]]:
    """All files of a set but the manifest, which names the inputs."""
    out = []
    for name in sorted(os.listdir(folder)):
        if name != "shardify.json" and not name.startswith("."):
            with open(os.path.join(folder, name), "rb") as f:
                out.append((name, hashlib.sha256(f.read()).hexdigest()))
    return out


def all_containers() -> str:
    r = np.random.default_rng(SEED)
    for k in range(ROUNDS):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        a = cells(r)
        sets = []
        for ext in ("h5ad", "2.zarr", "3.zarr"):
            path, out = os.path.join(WORK, "a." + ext), os.path.join(WORK, "set." + ext)
            if ext == "h5ad":
                a.write_h5ad(path, compression=r.choice([None, "gzip"]))
            else:
                anndata.settings.zarr_write_format = int(ext[0])
                a.write_zarr(path)
            p = subprocess.run([BINARY, "convert", path, "-o", out, "-q"], capture_output=True, text=True)
            assert p.returncode == 0, "object %d of seed %d, %s: %s" % (k, SEED, ext, p.stderr)
            compare(shardify.open(out), a, "object %d of seed %d, %s" % (k, SEED, ext))
            sets.append(digest(out))
        assert sets[0] == sets[1] == sets[2], "object %d of seed %d: other bytes from other containers" % (k, SEED)
    return "%d random AnnData in HDF5, Zarr 2 and Zarr 3: equal to anndata, and equal sets byte for byte" % ROUNDS


if __name__ == "__main__":
    main([("cells", all_containers)])
