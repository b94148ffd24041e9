"""anndata: random AnnData in HDF5, Zarr 2 and 3, sharded and in zip must come out as it holds them, and as equal sets.

python3 peer_cells.py WORK     SHARDIFY names the program; ROUNDS objects from SEED (300 is the long form)
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import warnings
import zipfile
from typing import Any, Dict, List, Tuple

import anndata
import h5py
import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse as sp
import zarr
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
    genes = ds.static
    assert genes["var/_index"] == list(a.var_names), what + ": other names of genes"
    assert "var/k" not in genes or genes["var/k"].dtype == a.var.k.dtype and np.array_equal(genes["var/k"], a.var.k), what + ": another column of genes"
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


def sharded(r: np.random.Generator, old: str, new: str) -> None:
    """The store again, with chunks of any length within shards."""
    source, out = zarr.open_group(old, mode="r"), zarr.open_group(new, mode="w", zarr_format=3)
    out.attrs.update(source.attrs.asdict())
    for path, x in sorted(source.members(max_depth=None)):
        if isinstance(x, zarr.Group):
            out.create_group(path, attributes=x.attrs.asdict())
            continue
        how: Dict[str, Any] = {}
        if x.size > 0 and x.ndim > 0:
            how["chunks"] = tuple(int(r.integers(1, n + 1)) for n in x.shape)
            how["shards"] = tuple(c * int(r.integers(1, 4)) for c in how["chunks"])
        y = out.create_array(path, shape=x.shape, dtype=x.dtype, attributes=x.attrs.asdict(), **how)
        y[...] = x[...]


def zipped(old: str, new: str) -> None:
    with zipfile.ZipFile(new, "w") as z:
        for folder, _, files in os.walk(old):
            for name in files:
                path = os.path.join(folder, name)
                z.write(path, os.path.relpath(path, old))


def all_containers() -> str:
    r = np.random.default_rng(SEED)
    for k in range(ROUNDS):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        a = cells(r)
        path, sets = os.path.join(WORK, "a."), []
        a.write_h5ad(path + "h5ad", compression=r.choice([None, "gzip"]))
        for version in (2, 3):
            anndata.settings.zarr_write_format = version
            a.write_zarr("%s%d.zarr" % (path, version))
        sharded(r, path + "3.zarr", path + "sharded.zarr")
        zipped(path + r.choice(["2", "3", "sharded"]) + ".zarr", path + "zarr.zip")
        for ext in ("h5ad", "2.zarr", "3.zarr", "sharded.zarr", "zarr.zip"):
            out = os.path.join(WORK, "set." + ext)
            p = subprocess.run([BINARY, "convert", path + ext, "-o", out, "-q"] + ["--static=var/k"] * (k % 2), capture_output=True, text=True)
            assert p.returncode == 0, "object %d of seed %d, %s: %s" % (k, SEED, ext, p.stderr)
            assert len(shardify.open(out).static) == 1 + k % 2
            sets.append(digest(out))
            if len(sets) == 1:  # the others are its bytes
                compare(shardify.open(out), a, "object %d of seed %d, %s" % (k, SEED, ext))
            assert sets[0] == sets[-1], "object %d of seed %d: other bytes from %s" % (k, SEED, ext)
    return "%d random AnnData in HDF5, Zarr 2 and 3, sharded and in zip: equal to anndata, and equal sets byte for byte" % ROUNDS


def others_of(r: np.random.Generator, kind: str, m: Any) -> Tuple[str, List[str]]:
    """A matrix of cells as another program stores it: the path, and the fields of values, columns and names of cells."""
    n, width = m.shape
    cells_of, genes = [b"AAAC%d-1" % i for i in range(n)], [b"ENSG%d" % i for i in range(width)]
    if kind in ("v2", "v3"):
        path, group = os.path.join(WORK, "a.h5"), "matrix" if kind == "v3" else "GRCh38"
        with h5py.File(path, "w") as f:
            g = f.create_group(group)
            chunks = {"chunks": (int(r.integers(1, 90)),), "maxshape": (None,), "compression": "gzip"} if r.random() < 0.6 else {}
            for part, values in (("data", m.data), ("indices", m.indices.astype("i8")), ("indptr", m.indptr.astype("i8")), ("barcodes", np.array(cells_of))):
                g.create_dataset(part, data=values, **chunks)
            g["shape"] = np.array([width, n], "i4")
            for part in ("features/id", "features/name", "features/feature_type", "features/genome") if kind == "v3" else ("genes", "gene_names"):
                g[part] = np.array(genes if part.endswith(("id", "genes")) else [x.replace(b"ENSG", b"name") for x in genes])
        return path, [group + "/data", group + "/indices", group + "/barcodes"]
    if kind == "loom":
        path = os.path.join(WORK, "a.loom")
        with h5py.File(path, "w") as f:
            f.create_dataset("matrix", data=m.toarray().T, chunks=(int(r.integers(1, width + 1)), int(r.integers(1, n + 1))), compression=r.choice([None, "gzip"]))
            f["layers/twice"] = m.toarray().T * 2
            f["row_attrs/Gene"], f["col_attrs/CellID"] = np.array(genes, dtype=object), np.array(cells_of, dtype=object)
            f["attrs/LOOM_SPEC_VERSION"] = "3.0.0"
        return path, ["matrix", "layers/twice", "col_attrs/CellID"]
    path = os.path.join(WORK, "a")
    os.makedirs(path)
    ext = str(r.choice(["", ".gz"]))
    entries = m.T.tocoo()
    order = r.permutation(entries.nnz) if r.random() < 0.5 else np.arange(entries.nnz)
    text = io.BytesIO()
    scipy.io.mmwrite(text, sp.coo_matrix((entries.data[order], (entries.row[order], entries.col[order])), shape=entries.shape))
    tables = {"barcodes.tsv": cells_of, "features.tsv" if ext else "genes.tsv": [x + b"\t" + x.replace(b"ENSG", b"name") + b"\tGene Expression" * bool(ext) for x in genes]}
    for name, b in [("matrix.mtx", text.getvalue())] + [(k, b"".join(x + b"\n" for x in v)) for k, v in tables.items()]:
        with open(os.path.join(path, name + ext), "wb") as f:
            f.write(gzip.compress(b) if ext else b)
    return path, ["X/data", "X/indices", "obs/_index"]


def others() -> str:
    r = np.random.default_rng(SEED)
    for k in range(ROUNDS):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        n, width, kind = int(r.integers(1, 60)), int(r.integers(1, 40)), ["v2", "v3", "loom", "mtx", "csc"][k % 5]
        dense = ((r.random((n, width)) < r.choice([0.0, 0.1, 0.6])) * r.integers(1, 60, (n, width))).astype(r.choice(["f4", "i4", "f8"] if kind != "mtx" else ["f8", "i8"]))
        m, what = sp.csr_matrix(dense), "object %d of seed %d, %s" % (k, SEED, kind)
        if kind == "csc":
            path, fields = os.path.join(WORK, "a.h5ad"), ["X/data", "X/indices", "obs/_index"]
            anndata.AnnData(sp.csc_matrix(dense), obs=pd.DataFrame(index=["AAAC%d-1" % i for i in range(n)])).write_h5ad(path)
        else:
            path, fields = others_of(r, kind, m)
        out = os.path.join(WORK, "set")
        p = subprocess.run([BINARY, "convert", path, "-o", out, "-q"] + ["--csc=transpose"] * (kind == "csc"), capture_output=True, text=True)
        assert p.returncode == 0, what + ": " + p.stderr
        ds = shardify.open(out)
        names = ds.column(fields[2])
        have = [bytes(names.values[names.offsets[i] : names.offsets[i + 1]]).decode() for i in range(len(ds))]
        assert have == ["AAAC%d-1" % i for i in range(n)], what + ": other cells"
        genes = ds.field(fields[0 if kind == "loom" else 1]).attrs.get("columns", "").split("\n")
        assert kind == "csc" or genes == ["ENSG%d" % g for g in range(width)], what + ": other genes"
        if kind == "loom":
            a, b = (np.asarray(ds.column(f)).reshape(n, width) for f in fields[:2])
            assert a.dtype == dense.dtype and np.array_equal(a, dense) and np.array_equal(b, dense * 2), what + ": other values"
            continue
        d, i = ds.column(fields[0]), ds.column(fields[1])
        got = sp.csr_matrix((d.values[:], i.values[:], d.offsets[:]), shape=m.shape)
        assert (d.values.dtype == m.dtype or m.nnz == 0) and np.array_equal(got.toarray(), dense) and got.nnz == m.nnz, what + ": other values"
    return "%d random matrices in files of 10x Genomics, Loom, Matrix Market and by columns: equal to h5py and scipy" % ROUNDS


if __name__ == "__main__":
    main([("cells", all_containers), ("others", others)])
