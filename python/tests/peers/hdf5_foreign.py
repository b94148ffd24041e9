"""HDF5 files of other libraries: PyTables, pandas, netCDF4, MATLAB's form by hdf5storage.

Each maker writes random values and returns what the library itself reads back,
by field; the comparison knows nothing of how they are stored.
"""

from __future__ import annotations

import os
import re
import warnings
from typing import Any, Callable, Dict, List, Tuple

import h5py
import numpy as np
from hdf5_compare import Leaf, convert, fields, leaves, same

warnings.simplefilter("ignore")
# Fields, of each the array whose first axis is the samples; names that may be left out; flags.
Made = Tuple[Dict[str, Any], List[str], List[str]]


def pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def numbers(rng: np.random.Generator, dtype: str, shape: Tuple[int, ...]) -> np.ndarray:
    t = np.dtype(dtype)
    if t.kind == "b":
        return rng.random(shape) < 0.5
    if t.kind in "iu":
        return rng.integers(np.iinfo(t).min, np.iinfo(t).max, shape, dtype=t, endpoint=True)
    if t.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(t)
    return rng.normal(size=shape).astype(t)


def words(rng: np.random.Generator, n: int, most: int = 8) -> List[str]:
    return ["abcdefghij"[: int(k)] for k in rng.integers(0, most + 1, n)]


def tables(rng: np.random.Generator, path: str) -> Made:
    import tables as tb

    kinds = ["Bool", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float16", "Float32"]
    kinds += ["Float64", "Complex"]
    n = int(pick(rng, 2, 30, 1000))
    cols: Dict[str, Any] = {}
    for i in range(int(rng.integers(1, 8))):
        shape = tuple(int(k) for k in rng.integers(1, 4, int(rng.integers(0, 3))))
        if rng.random() < 0.15:
            cols["c%d" % i] = tb.StringCol(int(pick(rng, 1, 5, 12)), pos=i)
        elif (kind := str(pick(rng, *kinds))) == "Complex":
            cols["c%d" % i] = tb.ComplexCol(int(pick(rng, 8, 16)), shape=shape, pos=i)
        else:
            cols["c%d" % i] = getattr(tb, kind + "Col")(shape=shape, pos=i)
    filters = tb.Filters(
        int(rng.integers(0, 10)), str(pick(rng, "zlib", "blosc:lz4", "blosc:zstd", "blosc:blosclz", "bzip2")),
        shuffle=bool(rng.random() < 0.5), fletcher32=bool(rng.random() < 0.3),
    )  # fmt: skip
    order = str(pick(rng, "little", "big"))
    want: Dict[str, Any] = {}
    with tb.open_file(path, "w", filters=filters) as f:
        t = f.create_table("/", "t", cols, expectedrows=int(pick(rng, 10, 100000)), byteorder=order)
        rows = np.zeros(n, t.dtype)
        for c in cols:
            d = rows.dtype[c]
            if d.kind == "S":
                rows[c] = [w.encode() for w in words(rng, n, d.itemsize)]
            else:
                rows[c] = numbers(rng, d.base.str.replace("|", ""), (n,) + d.shape)
        t.append(rows)
        t.flush()
        if (
            rng.random() < 0.3
            and t.coldtypes["c0"].shape == ()
            and t.coldtypes["c0"].str[1:] not in ("c8", "c16", "u8")
        ):
            t.cols.c0.create_index()
        a = f.create_carray("/", "arr", obj=numbers(rng, "f4", (n, 3)))
        v = f.create_vlarray("/", "lists", tb.Int32Atom(), filters=tb.Filters(3 * int(rng.integers(0, 2))))
        for k in rng.integers(0, 5, n):
            v.append(np.arange(k) * 7)
        back = t.read()
        for c in cols:
            want["t/" + c] = back[c]
        want["arr"], want["lists"] = a.read(), v.read()
    return want, [], []


def frame(rng: np.random.Generator) -> Any:
    import pandas as pd

    n = int(pick(rng, 2, 50, 700))
    cols = {}
    for i in range(int(rng.integers(1, 7))):
        kind = str(pick(rng, "f8", "f4", "i8", "i4", "u1", "?", "f8"))
        cols["%s%d" % (pick(rng, "pt", "eta", "x y"), i)] = numbers(rng, kind, (n,))
    return pd.DataFrame(cols)


def by_columns(df: Any, blocks: Dict[str, np.ndarray], names: Callable[[str], List[str]]) -> None:
    for block, values in blocks.items():
        for k, c in enumerate(names(block)):
            assert np.array_equal(values[:, k], df[c].to_numpy()), (block, c)


def pandas_table(rng: np.random.Generator, path: str) -> Made:
    """Of blocks: what pandas reads, in the columns that the attributes name."""
    df = frame(rng)
    kw = {"complevel": int(rng.integers(0, 10)), "complib": str(pick(rng, "zlib", "blosc", "blosc:zstd"))}
    data_columns = [c for c in df.columns if rng.random() < 0.3 and c.isidentifier()]
    df.to_hdf(path, key="df", format="table", data_columns=data_columns or None, **kw)
    return {"frame": df}, [], []


def pandas_fixed(rng: np.random.Generator, path: str) -> Made:
    df = frame(rng)
    kw = (
        {"complevel": int(rng.integers(0, 10)), "complib": str(pick(rng, "zlib", "blosc"))}
        if rng.random() < 0.5
        else {}
    )
    df.to_hdf(path, key="df", format="fixed", **kw)
    return {"frame": df}, ["df/axis0", "_items"], []


def netcdf(rng: np.random.Generator, path: str) -> Made:
    import netCDF4

    n, want = int(pick(rng, 2, 10, 300)), {}
    with netCDF4.Dataset(path, "w") as f:
        grows = rng.random() < 0.6
        f.createDimension("time", None if grows else n)
        dims = {"y%d" % i: int(pick(rng, min(n, 10), *range(1, 6))) for i in range(3)}
        for d, size in dims.items():
            f.createDimension(d, size)
        for i in range(int(rng.integers(1, 6))):
            kind = str(pick(rng, "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "f4"))
            inner = [str(x) for x in rng.permutation(list(dims))[: int(rng.integers(0, 3))]]
            kw: Dict[str, Any] = {"zlib": True, "complevel": 4} if rng.random() < 0.4 else {}
            if kw and rng.random() < 0.5:
                kw.update(shuffle=bool(rng.random() < 0.5), fletcher32=bool(rng.random() < 0.5))
            name = "v%d" % i
            v = f.createVariable(name, kind, ["time"] + inner, endian=str(pick(rng, "little", "big", "native")), **kw)
            v.set_auto_maskandscale(False)
            v.units = "GeV"
            shape = (n,) + tuple(dims[d] for d in inner)
            lo = int(rng.integers(0, n)) if rng.random() < 0.3 else 0  # the rest has the fill value
            v[lo:n] = numbers(rng, kind, shape)[lo:]
            want[name] = None
        if rng.random() < 0.4:
            s = f.createVariable("name", str, ["time"])
            for i, w in enumerate(words(rng, n)):
                s[i] = w
            want["name"] = None
        # Fields that time does not lead are left out, if they have as many rows, too.
        statics = ["static%d" % i for i in range(int(rng.integers(0, 3)) if grows else 0)]
        for name in statics:
            axes = [str(x) for x in rng.permutation(list(dims))[: int(rng.integers(1, 4))]]
            f.createVariable(name, "f4", axes)[:] = rng.random([dims[d] for d in axes])
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        for name in want:
            want[name] = np.asarray(f[name][:])
    # A variable's rows end where time ends; dimensions without values are not fields.
    return want, list(dims) + ["time"] + statics, ["--sample", "axis"]


def matlab(rng: np.random.Generator, path: str) -> Made:
    """MATLAB stores axes reversed: tables come as MATLAB shows them, --axis takes them as they are stored."""
    import h5py
    import hdf5storage

    n, tables, data = int(pick(rng, 6, 40)), rng.random() < 0.5, {}
    for i in range(int(rng.integers(1, 5))):
        kind = str(pick(rng, "f4", "f8", "i4", "u1", "u2", "c8"))
        inner = tuple(int(k) for k in rng.integers(2, 5, 1 if tables else int(rng.integers(1, 3))))
        shape = (n,) + inner if tables else inner + (n,)
        data["m%d" % i] = numbers(rng, kind, shape)
    if os.path.exists(path):
        os.remove(path)
    hdf5storage.savemat(path, data, format="7.3", appendmat=False, store_python_metadata=False)
    back = hdf5storage.loadmat(path, appendmat=False)
    with h5py.File(path) as f:
        assert sorted(f) == sorted(data)
    if tables:
        return {k: back[k] for k in data}, [], ["--sample", "axis"]
    want = {k: back[k].transpose(tuple(range(back[k].ndim))[::-1]) for k in data}
    return want, [], ["--sample", "axis", "--axis", "0"]


def sparse(rng: np.random.Generator, path: str) -> Made:
    """Rows of AnnData's sparse matrices, or the barcodes of 10x Genomics."""
    tenx, n, columns = rng.random() < 0.3, int(pick(rng, 2, 40, 900)), int(pick(rng, 1, 30, 500))
    want: Dict[str, Any] = {}
    lack = ["indptr", "shape", "features/id", "var/name"]
    with h5py.File(path, "w") as f:
        for group in ["matrix"] if tenx else ["X", "layers/a"][: int(rng.integers(1, 3))]:
            kind, index = str(pick(rng, "<f4", "<f8", "<i4", ">i2", "u1")), str(pick(rng, "<i4", "<i8", "<u4", ">i4"))
            ends = np.concatenate([[0], np.cumsum(rng.integers(0, min(columns, 9) + 1, n))])
            total = int(ends[-1])
            kw: Dict[str, Any] = {}
            if rng.random() < 0.6:
                kw.update(chunks=(int(rng.integers(1, 300)),), maxshape=(None,))
            if kw and rng.random() < 0.7:
                kw.update(compression="gzip", shuffle=True)
            g = f.create_group(group)
            indices = rng.integers(0, columns, total).astype(index)
            for name, a in {"data": numbers(rng, kind[-2:], (total,)).astype(kind), "indices": indices}.items():
                g.create_dataset(name, data=a, **kw)
                want[group + "/" + name] = [a[lo:hi] for lo, hi in zip(ends, ends[1:])]
            g.create_dataset("indptr", data=ends.astype(index), **kw)
            if tenx:
                g["shape"] = np.array([columns, n], index)
                g["features/id"] = np.array([b"ENSG%07d" % i for i in range(columns)])
                want[group + "/barcodes"] = g["barcodes"] = np.array([b"A%d" % i for i in range(n)], "S8")
            else:
                f.attrs["encoding-type"] = "anndata"
                g.attrs["encoding-type"], g.attrs["shape"] = "csr_matrix", [n, columns]
        if not tenx:
            want["obs/n"] = f["obs/n"] = np.arange(n)
            f["var/name"] = np.array([b"g%d" % i for i in range(columns)])
    return want, lack, []


MAKERS: Dict[str, Callable[[np.random.Generator, str], Made]] = {
    "tables": tables,
    "pandas-table": pandas_table,
    "pandas-fixed": pandas_fixed,
    "netcdf4": netcdf,
    "matlab": matlab,
    "sparse": sparse,
}


def check(kind: str, rng: np.random.Generator, folder: str) -> Tuple[int, int]:
    path, out = os.path.join(folder, kind + ".h5"), os.path.join(folder, "out")
    want, may_lack, flags = MAKERS[kind](rng, path)
    code, err = convert([path], out, flags)
    # Where other variables have half of the bytes the user is asked; one command is for those of time.
    ways = [w.split(",") for w in re.findall(r"--object=(\S+)", err)]
    mine = [w for w in ways if {n.lstrip("/") for n in w} <= set(want)]
    if code and mine:
        assert len(mine) == 1 and {n.lstrip("/") for n in mine[0]} == set(want), err
        code, err = convert([path], out, [*flags, "--object", ",".join(mine[0])])
    assert code == 0, "exit code %d: %s" % (code, err.strip()[-700:])
    ds, got = fields(out)
    for x in ds.manifest.get("left_out", []):
        assert any(x["name"].endswith(n) for n in may_lack), "left out: %s" % x
    if "frame" in want:
        return framed(want["frame"], ds, got)
    values = 0
    for name, a in want.items():
        for leaf, w in leaves(objects(a), name).items():
            assert leaf in got, "%s is missing; there are %s" % (leaf, sorted(got))
            values += same(leaf, w, got[leaf])
    extra = [n for n in got if any(n.endswith(m) for m in may_lack)]
    assert not extra, "fields that are not of the samples: %s" % extra
    return len(want), values


def objects(a: Any) -> np.ndarray:
    """Lists and texts as h5py gives them."""
    if isinstance(a, np.ndarray) and a.dtype.kind != "O":
        return a
    text = len(a) > 0 and isinstance(a[0], str)
    out = np.empty(len(a), h5py.string_dtype() if text else object)
    for i, x in enumerate(a):
        out[i] = x.encode() if text else x
    return out


def framed(df: Any, ds: Any, got: Dict[str, Leaf]) -> Tuple[int, int]:
    """Each column of a frame is a field, or is in the one whose attributes name it."""
    seen = []
    for f in ds.schema:
        a = got[f.name][0]
        if "columns" in f.attrs:
            assert a.ndim == 2, "%s is %s" % (f.name, a.shape)
            for k, c in enumerate(f.attrs["columns"].split("\n")):
                same(c, (df[c].to_numpy(), []), (np.ascontiguousarray(a[:, k]), []))
                seen.append(c)
        elif f.name.rpartition("/")[2] in df.columns:
            c = f.name.rpartition("/")[2]
            same(c, (df[c].to_numpy(), []), got[f.name])
            seen.append(c)
        else:
            assert f.name.rpartition("/")[2] in ("index", "axis1"), f.name
            assert np.array_equal(a, np.arange(len(df))), f.name
    assert sorted(seen) == sorted(df.columns), "columns %s, want %s" % (sorted(seen), sorted(df.columns))
    return len(seen), int(df.size)
