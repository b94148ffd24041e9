"""anndata, scipy and torch: the matrices that Loader(sparse=) makes of AnnData files are theirs.

python3 peer_sparse.py WORK     SHARDIFY names the program; SETS random files from SEED
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from typing import Any, List, Tuple

import anndata
import h5py
import numpy as np
import scipy.sparse as sp
from expect import Skip, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402
from shardify import clib  # noqa: E402

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

BINARY = os.path.abspath(os.environ.get("SHARDIFY", "shardify"))
WORK = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "."), "scratch", "sparse")
SETS, SEED = int(os.environ.get("SETS", "200")), int(os.environ.get("SEED", "1"))
HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.environ.get("SHARDIFY_CORPUS_ANNDATA") or os.path.join(HERE, "..", "..", "..", "..", "shared", "corpus", "anndata")
UINT16 = getattr(torch, "uint16", "none before torch 2.3")
FRAMEWORKS = ["numpy"] + ["torch"] * (torch is not None)
warnings.filterwarnings("ignore")


def convert(source: str, name: str) -> str:
    out = os.path.join(WORK, name)
    done = subprocess.run([BINARY, "convert", source, "-o", out, "--sync", "none"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def array(x: Any) -> Any:
    """A matrix as NumPy has it, by the means of its own library."""
    if sp.issparse(x):
        x.check_format() if x.format == "csr" else None
        return x.toarray()
    if isinstance(x, np.ndarray):
        return x
    if x.layout == torch.sparse_csr:
        torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), x.values(), x.shape, **({"check_invariants": True} if hasattr(torch.sparse, "check_sparse_tensor_invariants") else {}))
        if x.dtype == UINT16:  # which torch adds no values of
            return sp.csr_matrix((x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()), shape=x.shape).toarray()
    if x.dtype == UINT16 and x.layout == torch.sparse_coo:
        return sp.coo_matrix((x.values().numpy(), tuple(x.indices().numpy())), shape=x.shape).toarray()
    return (x.to_dense() if x.layout != torch.strided else x).numpy()


def batches(folder: str, how: Any, framework: str, r: np.random.Generator) -> Tuple[Any, Any]:
    """All rows in an order, and their numbers."""
    options: dict[str, Any] = {"batch_size": int(r.integers(1, 40))} if r.random() < 0.7 else {"budget": shardify.Budget({"X/data": 40}, oversize="alone", max_batch=20)}
    shuffle = str(r.choice(["none", "block", "global"]))
    copy = bool(r.integers(2))
    rows: List[Any] = []
    ids: List[int] = []
    with shardify.Loader(folder, sparse={"X": how}, framework=framework, device="cpu", shuffle=shuffle, last="short", seed=int(r.integers(99)), copy=copy, **options) as loader:
        for b in loader:
            rows.append(np.array(array(b["X"])))
            ids += b.ids.tolist()
    assert sorted(ids) == list(range(len(ids)))
    return np.concatenate(rows), np.array(ids)


def random_file(path: str, r: np.random.Generator) -> Any:
    """An h5ad of a random matrix, which is returned."""
    n, width = int(r.integers(1, 60)), int(r.integers(1, 300))
    values, indices = r.choice(["f4", "f8", "u1", "i4"]), r.choice(["i4", "i8"])
    m = sp.random_array((n, width), density=float(r.choice([0.0, 0.01, 0.1, 0.5])), format="csr", rng=r)
    m.data = r.integers(0 if r.random() < 0.3 else 1, 100, m.nnz).astype(values)
    a = anndata.AnnData(X=sp.csr_matrix(m))
    a.write_h5ad(path)
    indptr, columns = m.indptr.astype(indices), m.indices.astype(indices)
    mixed = r.random() < 0.3
    if mixed:  # in any order, and some columns twice
        for lo, hi in zip(indptr, indptr[1:]):
            r.shuffle(columns[lo:hi])
            if hi - lo > 1 and r.random() < 0.5:
                columns[lo] = columns[hi - 1]
    with h5py.File(path, "r+") as f:
        for name, v in (("data", m.data), ("indices", columns), ("indptr", indptr)):
            del f["X"][name]
            f["X"][name] = v
    return sp.csr_matrix((m.data, columns, indptr), shape=m.shape)


def reference(m: Any, columns: Any, normalize: Any, log1p: bool) -> Any:
    """By scipy and numpy, with float64 in between."""
    m = sp.csr_matrix(m, copy=True)
    m.sum_duplicates()
    kind = m.dtype
    if columns is not None:
        m = m[:, columns]
    if normalize is None and not log1p:
        return m.toarray()
    d = m.toarray().astype("f8")
    if normalize is not None:
        s = d.sum(1, keepdims=True)
        d = np.divide(normalize * d, s, out=d, where=s != 0)
    return (np.log1p(d) if log1p else d).astype("f8" if kind == np.float64 else "f4")


def check_random() -> str:
    if not os.path.exists(clib.path()):
        raise Skip("%s is not built" % clib.path())
    counts: Counter[str] = Counter()
    os.makedirs(WORK, exist_ok=True)
    for i in range(SETS):
        r = np.random.default_rng(SEED * 1_000_003 + i)
        path = os.path.join(WORK, "set.h5ad")
        try:
            m = random_file(path, r)
            folder = convert(path, "set%d" % i)
            for layout in ("csr", "coo", "dense"):
                framework = FRAMEWORKS[int(r.integers(len(FRAMEWORKS)))]
                columns = r.permutation(m.shape[1])[: int(r.integers(0, m.shape[1] + 1))] if r.random() < 0.3 else None
                normalize, log1p = (float(r.choice([1.0, 1e4])) if r.random() < 0.4 else None), bool(r.random() < 0.4)
                got, ids = batches(folder, shardify.Sparse(layout, columns=columns, normalize=normalize, log1p=log1p), framework, r)  # type: ignore[arg-type]
                want = reference(m, columns, normalize, log1p)[ids]
                assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
                if normalize is None and not log1p:
                    assert np.array_equal(got, want)
                else:
                    np.testing.assert_allclose(got, want, rtol=1e-6)
                counts[framework] += 1
            shutil.rmtree(folder)
        except Exception:
            print("set %d of SEED=%d" % (i, SEED))
            raise
    return "%d random files: %s are those of scipy" % (SETS, " and ".join("%d matrices of %s" % (n, f) for f, n in sorted(counts.items())))


def check_corpus() -> str:
    if not os.path.exists(clib.path()):
        raise Skip("%s is not built" % clib.path())
    files = sorted(glob.glob(os.path.join(CORPUS, "*.h5ad")))
    if not files:
        raise Skip("the corpus of AnnData files is not here")
    os.makedirs(WORK, exist_ok=True)
    done, lacks, r = 0, set(), np.random.default_rng(SEED)
    for path in files:
        a = anndata.read_h5ad(path)
        if not sp.isspmatrix_csr(a.X) or 0 in a.shape:
            continue
        folder = convert(path, "corpus%d" % done)
        for framework in FRAMEWORKS:
            if framework == "torch" and not hasattr(torch, a.X.dtype.name):
                lacks.add(a.X.dtype.name)
                continue
            for layout in ("csr", "coo", "dense"):
                got, ids = batches(folder, layout, framework, r)
                assert got.dtype == a.X.dtype and np.array_equal(got, a.X.toarray()[ids]), (path, framework, layout)
        done += 1
    shutil.rmtree(WORK, ignore_errors=True)
    said = "; torch %s has no %s" % (torch.__version__, " and ".join(sorted(lacks))) if lacks else ""
    return "X of %d files of the corpus is that of anndata and scipy%s" % (done, said)


def page() -> str:
    """The commands of docs/tutorials/recipe-cells.md: from folders of 10x Genomics to a classifier."""
    if torch is None:
        raise Skip("PyTorch is not here")
    root, work = os.path.abspath(os.path.join(HERE, "..", "..", "..")), os.path.join(WORK, "page")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    os.symlink(os.path.join(root, "examples"), os.path.join(work, "examples"))
    with open(os.path.join(root, "docs", "tutorials", "recipe-cells.md")) as f:
        lines = f.read().split("```sh\n")[1].split("```")[0].splitlines()
    env = dict(os.environ, PYTHONPATH=os.path.join(root, "python"))
    said = ""
    for line in lines:
        line = line.replace("python3 ", sys.executable + " ", 1).replace("shardify convert", BINARY + " convert")
        p = subprocess.run(line, shell=True, cwd=work, env=env, capture_output=True, text=True)
        assert p.returncode == 0, "%s: %s" % (line, p.stderr)
        said = p.stdout
    said = said.strip().splitlines()[-1]
    assert float(said.split()[1]) > 0.9, said
    return "the page of cells trains a classifier: " + said


main([("sparse random", check_random), ("sparse corpus", check_corpus), ("page of cells", page)])
