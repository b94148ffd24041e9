"""make.py: one AnnData of every kind of field, in HDF5 and in Zarr 2 and 3. Needs anndata and zarr.

python3 make.py     writes all.h5ad, all_v2.zarr.zip, all_v3.zarr.zip, twice.h5ad, tenx.h5, tenx_gzip.h5, small.loom,
names.h5ad, nameless.h5ad, odd.h5ad, genes.h5ad, genes_v3.zarr.zip and genes_other.h5ad beside it
"""

import os
import shutil
import zipfile

import anndata
import h5py
import numpy as np
import pandas as pd
import scipy.sparse as sp

HERE = os.path.dirname(os.path.abspath(__file__))
CELLS, GENES = 11, 7


def counts(seed, dtype):
    r = np.random.default_rng(seed)
    return sp.csr_matrix(((r.random((CELLS, GENES)) < 0.4) * r.integers(1, 90, (CELLS, GENES))).astype(dtype))


def whole():
    r = np.random.default_rng(1)
    obs = pd.DataFrame(index=["cell%d" % i for i in range(CELLS)])
    obs["type"] = pd.Categorical.from_codes(r.integers(-1, 3, CELLS), ["B", "T cell", "é"])
    obs["depth"] = r.integers(0, 900, CELLS).astype("i4")
    obs["age"] = pd.array([None if i % 4 == 1 else i for i in range(CELLS)], dtype="Int16")
    obs["note"] = ["n%d" % (i * i) for i in range(CELLS)]
    a = anndata.AnnData(counts(2, "f4"), obs=obs, var=pd.DataFrame(index=["g%d" % i for i in range(GENES)]))
    a.layers["dense"] = counts(3, "f8").toarray()
    a.obsm["pca"] = r.normal(size=(CELLS, 2)).astype("f4")
    a.obsp["graph"] = sp.csr_matrix(np.eye(CELLS, dtype="f4"))
    return a


def write_zarr(a, version, name=None):
    anndata.settings.zarr_write_format = version
    folder = os.path.join(HERE, "tmp.zarr")
    a.write_zarr(folder)
    with zipfile.ZipFile(os.path.join(HERE, name or "all_v%d.zarr.zip" % version), "w", zipfile.ZIP_STORED) as z:
        for base, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                p = os.path.join(base, name)
                z.writestr(zipfile.ZipInfo(os.path.relpath(p, folder).replace(os.sep, "/")), open(p, "rb").read())
    shutil.rmtree(folder)


def write_h5ad(a, name):
    path = os.path.join(HERE, name)
    a.write_h5ad(path + ".tmp")
    with h5py.File(path + ".tmp") as old, h5py.File(path, "w", libver="latest") as new:
        for k, v in old.attrs.items():
            new.attrs[k] = v
        for k in old:
            old.copy(k, new)
    os.remove(path + ".tmp")


def others():
    """A file of 10x Genomics, and one of Loom whose chunks are smaller than the matrix."""
    r = np.random.default_rng(5)
    rows = sp.csr_matrix(r.poisson(0.7, (6, 5)).astype("i4"))
    for name, kw in (("tenx.h5", {}), ("tenx_gzip.h5", {"compression": "gzip", "chunks": (8,), "maxshape": (None,)})):
        with h5py.File(os.path.join(HERE, name), "w", libver="earliest") as f:
            g = f.create_group("matrix")
            for part, values in (("data", rows.data), ("indices", rows.indices.astype("i8")), ("indptr", rows.indptr.astype("i8")), ("barcodes", np.array([b"AAAC-%d" % i for i in range(6)]))):
                g.create_dataset(part, data=values, **kw)
            g["shape"] = np.array([5, 6], "i4")
            g["features/id"], g["features/name"] = np.array([b"ENSG%d" % i for i in range(5)]), np.array([b"gene%d" % i for i in range(5)])
            g["features/feature_type"] = np.array([b"Gene Expression"] * 4 + [b"Antibody Capture"])
    with h5py.File(os.path.join(HERE, "small.loom"), "w", libver="earliest") as f:
        f.create_dataset("matrix", data=rows.toarray().T.astype("f4"), chunks=(2, 4), compression="gzip")
        f.create_dataset("layers/spliced", data=rows.toarray().T * 2, chunks=(5, 6), compression="gzip")
        f["row_attrs/Gene"] = np.array([f"gene{i}" for i in range(5)], dtype=object)
        f["col_attrs/CellID"] = np.array([f"c{i}" for i in range(6)], dtype=object)
        f.create_dataset("col_attrs/xy", data=r.normal(size=(6, 2)), chunks=(6, 2), compression="gzip")
        f["attrs/LOOM_SPEC_VERSION"] = "3.0.0"


def pandas3():
    """Names of rows as anndata 0.13 writes strings of pandas 3: with a mask. In nameless.h5ad a gene has none."""
    a = anndata.AnnData(counts(6, "f4"), obs=pd.DataFrame(index=["c%d" % i for i in range(CELLS)]), var=pd.DataFrame(index=["g%d" % i for i in range(GENES)]))
    for name, gone in (("names.h5ad", 0), ("nameless.h5ad", 1)):
        write_h5ad(a, name)
        with h5py.File(os.path.join(HERE, name), "a", libver="latest") as f:
            for frame in ("obs", "var"):
                names = ["%s%d" % (frame[0].replace("o", "c").replace("v", "g"), i) for i in range(CELLS if frame == "obs" else GENES)]
                if "_index" in f[frame]:
                    del f[frame]["_index"]
                g = f[frame].create_group("_index")
                g.attrs.update({"encoding-type": "nullable-string-array", "encoding-version": "0.1.0", "na-value": "NaN"})
                g.create_dataset("values", data=np.array(names, dtype=object), dtype=h5py.string_dtype())
                g.create_dataset("mask", data=np.arange(len(names)) == (2 if gone and frame == "var" else -1))
                for part, kind in (("values", "string-array"), ("mask", "array")):
                    g[part].attrs.update({"encoding-type": kind, "encoding-version": "0.2.0"})


def genes():
    """Columns of genes of every kind, in both containers; in genes_other.h5ad the same genes in another order, and one more."""
    var = pd.DataFrame(index=["g0", "g1", "g2", "g3"])
    var["n"], var["mean"] = np.arange(4, dtype="i4") * 10, np.array([0.5, 1.5, np.nan, 2], "f4")
    var["kind"] = pd.Categorical.from_codes([1, -1, 0, 1], ["long", "short"])
    var["symbol"], var["spike"] = ["A", "", "CC", "é"], [True, False, False, True]
    var["whole"] = pd.array([1, 2, 3, 4], dtype="Int16")
    var["some"] = pd.array([1, None, 3, 4], dtype="Int16")
    a = anndata.AnnData(sp.csr_matrix(np.eye(3, 4, dtype="f4")), obs=pd.DataFrame(index=["a", "b", "c"]), var=var)
    write_h5ad(a, "genes.h5ad")
    write_zarr(a, 3, "genes_v3.zarr.zip")
    other = var.iloc[[3, 1, 0, 2]].copy()
    other.loc["h"] = [7, 0, "short", "H", False, 9, 9]
    write_h5ad(anndata.AnnData(sp.csr_matrix(np.ones((2, 5), "f4")), obs=pd.DataFrame(index=["d", "e"]), var=other.astype(var.dtypes)), "genes_other.h5ad")


def odd():
    """A column whose name has a slash, and categories that are no lines of text."""
    obs = pd.DataFrame({"a/b": np.arange(3, dtype="i4"), "kind": pd.Categorical(["x\ny", "z", "z"])}, index=["a", "b", "c"])
    write_h5ad(anndata.AnnData(sp.csr_matrix(np.eye(3, 2, dtype="f4")), obs=obs), "odd.h5ad")


if __name__ == "__main__":
    a = whole()
    write_h5ad(a, "all.h5ad")
    for version in (2, 3):
        write_zarr(a, version)
    b = anndata.AnnData(counts(5, "f4"), obs=pd.DataFrame(index=["x%d" % i for i in range(CELLS)]), var=pd.DataFrame(index=["g3", "g1", "g3", "h", "g0", "g1", "g3"]))
    b.layers["dense"] = b.X.toarray()
    write_h5ad(b, "twice.h5ad")
    others()
    pandas3()
    genes()
    odd()
