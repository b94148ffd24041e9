"""Makes the files of cells beside it: python3 make.py (anndata 0.12.19, zarr 3.1.6). The values are invented; licence: that of the project."""
import os
import shutil
import warnings

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr

warnings.simplefilter("ignore")
here = os.path.dirname(os.path.abspath(__file__))


def cells(n, genes, seed, categories):
    r = np.random.default_rng(seed)
    dense = r.poisson(0.6, (n, len(genes))).astype("f4")
    dense[1] = 0
    obs = pd.DataFrame(index=[f"s{seed}c{i}" for i in range(n)])
    obs["kind"] = pd.Categorical.from_codes([i % (len(categories) + 1) - 1 for i in range(n)], categories)
    obs["n"] = np.arange(n) * 10
    obs["maybe"] = pd.array([None if i % 4 == 1 else i for i in range(n)], dtype="Int32")
    a = anndata.AnnData(sp.csr_matrix(dense), obs=obs, var=pd.DataFrame({"k": np.arange(len(genes))}, index=genes))
    a.layers["dense"] = dense * 2
    a.obsm["pca"] = r.normal(size=(n, 3)).astype("f4")
    a.obsp["near"] = sp.csr_matrix(np.eye(n, dtype="f4"))
    a.uns["scale"] = 3
    return a


def main():
    names = ["ENSG01.1", "ENSG02.1", "ENSG03.4", "ENSG04.2", "ENSG05.1", "ENSG06.1"]
    a, b = cells(8, names, 1, ["B", "T"]), cells(5, names[::-1][:4] + ["ENSG09.1"], 2, ["B", "T"])
    a.write_h5ad(f"{here}/a.h5ad", compression="gzip")
    b.write_h5ad(f"{here}/b.h5ad", compression="gzip")
    for version in (2, 3):
        anndata.settings.zarr_write_format = version
        store = f"{here}/a.zarr"
        a.write_zarr(store, chunks=(3, 6))
        name = f"{here}/a_v{version}.zarr"
        shutil.make_archive(name, "zip", store)
        shutil.rmtree(store)
    c = anndata.AnnData(sp.csc_matrix(a.X), obs=pd.DataFrame(index=a.obs_names), var=pd.DataFrame(index=a.var_names))
    anndata.settings.zarr_write_format = 2
    c.write_zarr(store)
    shutil.make_archive(f"{here}/csc_v2.zarr", "zip", store)
    shutil.rmtree(store)


main()
