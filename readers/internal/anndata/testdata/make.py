"""make.py: one AnnData of every kind of field, in HDF5 and in Zarr 2 and 3. Needs anndata and zarr.

python3 make.py     writes all.h5ad, all_v2.zarr.zip, all_v3.zarr.zip and twice.h5ad beside it
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


def write_zarr(a, version):
    anndata.settings.zarr_write_format = version
    folder = os.path.join(HERE, "tmp.zarr")
    a.write_zarr(folder)
    with zipfile.ZipFile(os.path.join(HERE, "all_v%d.zarr.zip" % version), "w", zipfile.ZIP_STORED) as z:
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


if __name__ == "__main__":
    a = whole()
    write_h5ad(a, "all.h5ad")
    for version in (2, 3):
        write_zarr(a, version)
    b = anndata.AnnData(counts(5, "f4"), obs=pd.DataFrame(index=["x%d" % i for i in range(CELLS)]), var=pd.DataFrame(index=["g3", "g1", "g3", "h", "g0", "g1", "g3"]))
    b.layers["dense"] = b.X.toarray()
    write_h5ad(b, "twice.h5ad")
