"""Makes the HDF5 files beside it: h5py 3.16, PyTables and pandas of the day.

    python make.py

Numbers count up from 0 in C order in every data set, so that tests can tell any value
from its place. The files are committed; the tests need no Python.
"""
import gzip
import os
import zlib
import h5py
import numpy as np
import pandas as pd
import tables


def count(shape, dtype):
    return np.arange(int(np.prod(shape, dtype=int))).reshape(shape).astype(dtype)


def new(name, **kw):
    if os.path.exists(name):
        os.remove(name)
    return h5py.File(name, "w", **kw)


def rows(name, n, **kw):
    """Every layout and filter that can be read by rows."""
    with new(name, **kw) as f:
        d = f.create_dataset
        d("contiguous", data=count((n, 3), "<f4"))
        d("big", data=count((n, 5), ">i2"))
        d("gzip", data=count((n, 4, 3), "<f4"), chunks=(7, 4, 3), compression="gzip", shuffle=True, fletcher32=True)
        d("edges", data=count((n, 10), "<i4"), chunks=(8, 4), compression="lzf")
        d("deep", data=count((n, 4, 6), "<u2"), chunks=(5, 3, 4), compression="gzip")
        d("channels", data=count((n, 6), "<f8"), chunks=(n, 1), compression="gzip")
        d("stored", data=count((n, 2), "<i8"), chunks=(6, 2))
        d("tiled", data=count((n, 9), "<u1"), chunks=(4, 5))
        s = d("sparse", (n, 2), "<i4", chunks=(4, 2), compression="gzip", fillvalue=-7)
        s[4:8] = count((n, 2), "<i4")[4:8]
        d("never", (n,), "<i4", fillvalue=9)
        d("group/inside", data=count((n,), "<u8"))
        d("group/constant", data=np.float32(2.5))
        f["group/constant"].attrs["units"] = "GeV"
        f["contiguous"].attrs["units"] = "cm"
        f["contiguous"].attrs["scale_factor"] = 0.5
        f["second"] = f["big"]
        f["soft"] = h5py.SoftLink("/gzip")


def dims(name, sizes, variables, grow=(), bare=(), attach=True, **kw):
    """NetCDF-4 as its libraries write it: the sizes of dimensions, the dimensions of variables."""
    with new(name, **kw) as f:
        for i, (d, n) in enumerate(sizes.items()):
            f.create_dataset(d, data=count((n,), "<i4"), maxshape=(None,) if d in grow else None)
            f[d].make_scale("This is a netCDF dimension but not a netCDF variable%10d" % n if d in bare else d)
            f[d].attrs["_Netcdf4Dimid"] = np.int32(i)
            if d == "time":
                f[d].attrs["units"] = "days since 1850-01-01"
        for v, axes in variables.items():
            shape = tuple(sizes[d] for d in axes)
            f.create_dataset(v, data=count(shape, "<f4"), maxshape=[None if d in grow else sizes[d] for d in axes] if grow else None)
            f[v].attrs["_Netcdf4Coordinates"] = np.array([list(sizes).index(d) for d in axes], "<i4")
            for i, d in enumerate(axes if attach else ()):
                f[v].dims[i].attach_scale(f[d])


def scales(name):
    """Scales beside data without any, two scales of one dimension, and edges."""
    with new(name) as f:
        for v, shape in {"x": (9, 30), "y": (9,), "bins": (9, 2), "free": (9,), "t": (9,), "t2": (9,), "edges": (10,), "short": (7,)}.items():
            f[v] = count(shape, "<f4")
        for s, of in {"t": "x", "t2": "xy", "edges": ["bins"]}.items():
            f[s].make_scale(s)
            for v in of:
                f[v].dims[0].attach_scale(f[s])


def astray(name):
    """Names of dimensions that are none: all that is wrong is ignored."""
    refs = h5py.vlen_dtype(h5py.ref_dtype)
    with new(name) as f:
        for v in "abcdefgh":
            f[v] = count((9, 2), "<f4")
        f["s"] = count((5,), "<f4")
        f["s"].make_scale("s")
        f["group/x"] = count((5,), "<f4")

        def attached(v, n, *to):
            a = np.empty(n, object)
            for i in range(n):
                a[i] = np.array([x.ref for x in to] if to else [h5py.Reference()], h5py.ref_dtype)
            f[v].attrs.create("DIMENSION_LIST", a, dtype=refs)

        attached("a", 2, f)  # the root
        attached("b", 3, f["s"])  # an axis too many
        attached("c", 2)  # a null reference
        f["d"].attrs["DIMENSION_LIST"] = "s"
        f["e"].attrs["DIMENSION_LIST"] = f["s"].ref
        f["f"].attrs["_Netcdf4Coordinates"] = np.array([99, -1], "<i8")
        f["g"].attrs["_Netcdf4Dimid"] = 0.5
        f["s"].attrs["_Netcdf4Dimid"] = np.array([1, 2, 3], "<i4")
        f["h"].attrs["DIMENSION_LIST"] = np.zeros((2, 2), "<i8")


def types(name, n=11):
    with new(name) as f:
        d = f.create_dataset
        for t in ["i1", "u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]:
            d("n_" + t.replace("<", "le_").replace(">", "be_"), data=count((n, 2), t))
        d("bool", data=count((n,), "i4") % 2 == 1)
        d("enum", data=count((n,), "i4").astype("u1") % 3, dtype=h5py.enum_dtype({"cat": 0, "dog": 1, "owl": 2}, "u1"))
        d("codes", data=count((n,), "<i2") % 2 * 5 - 3, dtype=h5py.enum_dtype({"LOW": -3, "HIGH": 2}, "<i2"))
        d("complex", data=count((n,), "f4") + 1j)
        d("fixed", data=np.array([b"x" * (i % 5) for i in range(n)], "S5"))
        d("text", data=["é%d" % i * (i % 3) for i in range(n)], dtype=h5py.string_dtype())
        d("words", data=np.array([["a%d" % i, "b"] for i in range(n)], dtype=object), dtype=h5py.string_dtype())
        v = d("jagged", (n,), h5py.vlen_dtype(">i4"))
        w = d("hits", (n,), h5py.vlen_dtype(np.dtype([("t", "<f8"), ("ch", "<i2")])))
        for i in range(n):
            v[i] = np.arange(i % 4)
            w[i] = np.array([(k + i, k) for k in range(i % 3)], [("t", "<f8"), ("ch", "<i2")])
        t = np.dtype([("id", "<i4"), ("p4", ">f4", (4,)), ("jet", [("pt", "<f8"), ("tag", "u1", (2, 3))]), ("name", "S3")])
        a = np.zeros(n, t)
        a["id"] = count((n,), "i4")
        a["p4"] = count((n, 4), "f4")
        a["jet"]["pt"] = count((n,), "f8")
        a["jet"]["tag"] = count((n, 2, 3), "u1")
        a["name"] = [b"n%d" % i for i in range(n)]
        d("table", data=a, chunks=(4,), compression="gzip")
        d("time", data=count((n,), "i8").astype("<M8[ns]").astype(h5py.opaque_dtype("<M8[ns]")))
        d("void", data=np.array([bytes([i, i + 1, i + 2]) for i in range(n)], "V3"))
        odd = h5py.h5t.STD_I32BE.copy()
        odd.set_size(3), odd.set_precision(20), odd.set_offset(2)
        h5py.h5d.create(f.id, b"bits", odd, h5py.h5s.create_simple((n,))).write(h5py.h5s.ALL, h5py.h5s.ALL, count((n,), "i4") - 5)
        small = h5py.h5t.IEEE_F16LE.copy()
        small.set_fields(7, 3, 4, 0, 3), small.set_size(1), small.set_ebias(7)
        h5py.h5d.create(f.id, b"e4m3", small, h5py.h5s.create_simple((n,))).write(h5py.h5s.ALL, h5py.h5s.ALL, count((n,), "f4"))
        d("refs", data=[f["bool"].ref] * n, dtype=h5py.ref_dtype)
        d("long", data=np.zeros(n, np.longdouble))


def groups(name, sizes):
    """robomimic: a demonstration is a group; the order of names is not that of numbers."""
    with new(name) as f:
        for i, n in enumerate(sizes):
            g = f.create_group("data/demo_%d" % i)
            g.create_dataset("actions", data=count((n, 7), "<f8") + 1000 * i)
            g.create_dataset("obs/pixels", data=count((n, 2, 2), "u1"), chunks=(1, 2, 2), compression="gzip")
            g["label"] = np.int64(i)
            g["goal"] = count((3,), "<f4") + i
            g["task"] = "task %d" % i
        f["mask/train"] = np.array([b"demo_0", b"demo_1"])


def files():
    for i in range(3):
        with new("cosmo_%d.hdf5" % i) as f:
            f["full"] = count((4, 4, 4, 2), "<i2") + i
            f["unitPar"] = count((4,), "<f4") + i
            f["namePar"] = np.array([b"Omega_m", b"sigma_8"])
    for i in range(2):
        with new("volume_%d.h5" % i) as f:
            f.create_dataset("image", data=count((2 + i, 3, 4), "<f4"), chunks=(1, 3, 4), compression="gzip")
            f["spacing"] = count((3,), "<f8")
            f["patient"] = "p%d" % i


def conventions():
    with new("netcdf.nc") as f:
        f.attrs["_NCProperties"] = "version=2,netcdf=4.9.2"
        for dim, n in [("time", 6), ("lat", 3)]:
            f.create_dataset(dim, data=count((n,), "<f8"), maxshape=(None if dim == "time" else n,), chunks=(3,))
            f[dim].make_scale(dim)
        f.create_dataset("x", (5,), "<f4")
        f["x"].make_scale("This is a netCDF dimension but not a netCDF variable.         5")
        t = f.create_dataset("t2m", data=count((6, 3), "<f4"), maxshape=(None, 3), chunks=(4, 3), compression="gzip", fillvalue=9e36)
        t.attrs["units"], t.attrs["long_name"], t.attrs["_FillValue"] = "K", "temperature", np.float32(9e36)
    with new("matlab.mat", userblock_size=512) as f:
        f["x"] = count((4, 6), "<f8")
        f["x"].attrs["MATLAB_class"] = np.bytes_("double")
        f["c"] = np.array([f["x"].ref] * 4, dtype=h5py.ref_dtype)
        f["#refs#/a"] = count((2,), "<f8")
    with open("matlab.mat", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
    with new("weights.h5") as f:
        f.attrs["layer_names"], f.attrs["keras_version"] = [b"dense"], "2.15.0"
        f["dense/kernel"] = count((3, 4), "<f4")
    with new("deepcam.h5") as f:
        f["climate/data"] = count((4, 6, 3), "<f4")
        f["climate/labels_0"] = count((4, 6), "<f4")
    with new("calo.hdf5") as f:
        f.create_dataset("incident_energies", data=count((20, 1), "<f8"), chunks=(20, 1), compression="gzip")
        f.create_dataset("showers", data=count((20, 30), "<f8"), chunks=(3, 30), compression="gzip")

    class Row(tables.IsDescription):
        id = tables.Int32Col(pos=0)
        when = tables.Time32Col(pos=1)
        exact = tables.Time64Col(pos=2)
        good = tables.BoolCol(pos=3)
        word = tables.StringCol(4, pos=4)
        vec = tables.Float32Col(shape=(3,), pos=5)

    with tables.open_file("pytables.h5", "w") as f:
        t = f.create_table("/", "events", Row, filters=tables.Filters(5, "blosc:lz4", shuffle=True), chunkshape=8, expectedrows=20)
        r = t.row
        for i in range(20):
            r["id"], r["when"], r["exact"], r["good"], r["word"], r["vec"] = i, i, i + 0.25, i % 2, b"w%d" % i, [3 * i, 3 * i + 1, 3 * i + 2]
            r.append()
        t.flush()
        v = f.create_vlarray("/", "objects", tables.ObjectAtom(), chunkshape=4)
        for i in range(20):
            v.append([i])
    with h5py.File("pytables.h5", "a") as f:  # an index takes a megabyte: only its name
        f["_i_events/id/sorted"] = count((20,), "<i4")
    df = pd.DataFrame({"a": count((15,), "f8"), "b": count((15,), "f8") + 1, "n": count((15,), "i8")})
    df.to_hdf("frame_table.h5", key="df", mode="w", format="table", complib="blosc", complevel=5)
    df.to_hdf("frame_fixed.h5", key="df", mode="w", format="fixed", complib="zlib", complevel=5)


def others():
    with new("source.h5") as f:
        f["x"] = count((8, 3), "<i4")
    with new("virtual.h5", libver=("earliest", "v110")) as f:
        v = h5py.VirtualLayout((12, 3), "<i4")
        s = h5py.VirtualSource("source.h5", "x", (8, 3))
        v[0:8] = s
        v[9:11] = s[1:5:2]
        f.create_virtual_dataset("v", v, fillvalue=-1)
        f["y"] = count((12,), "<i8")
        w = h5py.VirtualLayout((12, 2), "<i8")
        w[:, 0] = h5py.VirtualSource(".", "y", (12,))
        f.create_virtual_dataset("own", w, fillvalue=5)
    for name, raw in [("external.h5", "external.raw"), ("escape.h5", "../testdata/external.raw")]:
        with new(name) as f:
            f.create_dataset("x", (6, 2), "<i4", external=[(raw, 8, 24), (raw, 0, 24)])
            f["link"] = h5py.ExternalLink("source.h5" if name == "external.h5" else "../testdata/source.h5", "/x")
    count((12,), "<i4").tofile("external.raw")
    with new("claims.h5") as f:
        f.create_dataset("rows", (2**45, 0), "<f4", chunks=(1024, 1), maxshape=(None, None))
        f.create_dataset("huge", (2**45,), "u1", chunks=(2**20,))
        f.create_dataset("row", (4, 2**33), "u1", chunks=(1, 2**20))
        f.create_dataset("chunk", (2**29,), "u1", chunks=(2**29,), compression="gzip")
        f.create_dataset("few", (4,), "i4", chunks=(2,), fillvalue=3)
    with new("claims_groups.h5") as f:
        for i in range(2):
            f.create_dataset("event_%d/x" % i, (2**28, 8), "<f8")
            f["event_%d/y" % i] = i
    with new("latin1.h5") as f:
        f["name"] = np.array([b"a", b"b", b"M\xfcller"])
    with new("links.h5") as f:
        f["x"] = count((7, 2), "<f4")
        f["group/y"] = count((7,), "<i4")
        f["again"] = f["group/y"]  # another name, before the first in the order of names
        f["soft"], f["nowhere"], f["self"] = h5py.SoftLink("/x"), h5py.SoftLink("/absent"), h5py.SoftLink("/self")
        f["second"] = f["group"]
        f["group/back"] = f["/"]
        t = np.zeros(7, [("a", "<f4"), ("b", "<i8")])
        t["b"] = count((7,), "<i8")
        f["table"], f["view"] = t, h5py.SoftLink("/table")
        f["few"], f["few_too"] = count((3,), "<f4"), h5py.SoftLink("/few")
    df = pd.DataFrame({"n": count((9,), "i8"), "kind": pd.Categorical(["sig", "bg", None] * 3, categories=["sig", "bg"])})
    df.to_hdf("frame_categories.tmp", key="df", mode="w", format="table", index=False)
    with h5py.File("frame_categories.tmp") as f, new("frame_categories.h5") as g:  # without indexes and chunks, 300 KB
        for k in "df/table", "df/meta/values_block_1/meta/table":
            g[k] = f[k][:]
            g[k].attrs.update(f[k].attrs)
        g.attrs.update(f.attrs)
    os.remove("frame_categories.tmp")
    for n in 1, 7:
        with new("part_%d.h5" % n) as f:
            f["x"], f["y"] = count((n, 2), "<f4"), count((n,), "<i4")
    with new("missing_source.h5", libver=("earliest", "v110")) as f:
        v = h5py.VirtualLayout((4,), "<i4")
        v[:] = h5py.VirtualSource("nowhere.h5", "x", (4,))
        f.create_virtual_dataset("v", v)


def varying():
    """Groups whose members of every kind differ in shape, and texts far larger than their file."""
    with new("varying.h5") as f:
        record = np.dtype([("n", "<i2"), ("word", "S4"), ("pair", ">f4", (2,))])
        for i in range(4):
            g = f.create_group("event_%d" % i)
            g["before"] = np.int32(i)
            g["words"] = np.array([b"w%d" % k for k in range(i)], "S2")
            d = g.create_dataset("lists", (i + 1,), h5py.vlen_dtype("<i4"))
            for k in range(i + 1):
                d[k] = np.arange(k, dtype="<i4")
            r = np.zeros((i, 2), record)
            r["n"], r["word"], r["pair"] = count((i, 2), "i2"), b"ab", count((i, 2, 2), "f4")
            g["records"] = r
            g["track"] = count((i + 1, 3), "<f4")
    with new("virtual_records.h5", libver=("earliest", "v110")) as f:
        r = np.zeros((12, 2), record)
        r["n"], r["word"], r["pair"] = count((12, 2), "i2"), [[b"a%d" % i, b"b%d" % i] for i in range(12)], count((12, 2, 2), "f4")
        f["source"] = r
        v = h5py.VirtualLayout((12,), record)
        v[::2] = h5py.VirtualSource(".", "source", (12, 2))[6:, 1]
        v[1::2] = h5py.VirtualSource(".", "source", (12, 2))[:6, 0]
        f.create_virtual_dataset("v", v)
    # The user block makes it too large for a seed of mutations, each of which would decode 72 MB.
    with new("repeated.h5", userblock_size=32768) as f:
        d = f.create_dataset("text", (72,), "S1000000", chunks=(72,), compression="gzip", compression_opts=9)
        d.id.write_direct_chunk((0,), zlib.compress(b"x" * 72000000, 9), 0)


def dimensions():
    """As many latitudes as times, few times, several files, names by number, dimensions that grow."""
    fields = {"t2m": ["time", "lat", "x"], "orog": ["lat", "x"], "index": ["time"]}
    nine = {"time": 9, "lat": 9, "x": 2}
    dims("dims_nine.nc", nine, fields, bare=["x"])
    dims("dims_ids.nc", nine, fields, bare=["time"], attach=False)
    dims("dims_swapped.nc", nine, fields | {"t2m": ["lat", "time", "x"]})
    dims("dims_few.nc", {"time": 2, "lat": 9, "x": 2}, fields | {"orog%d" % i: ["lat", "x"] for i in range(4)}, libver="latest")
    dims("dims_levels.nc", {"lev": 3, "lat": 4}, {"t": ["lev", "lat"], "p": ["lat"], "q": ["lat"]})
    dims("dims_stations.nc", {"time": 6, "station": 6, "two": 2}, {"v": ["station", "time"], "bounds": ["time", "two"]}, grow=["time"])
    dims("dims_records.nc", {"profile": 6, "station": 6, "z": 5}, {"v": ["profile", "z"], "id": ["profile"], "height": ["station"], "w": ["z", "z"]}, grow=["profile", "station"], bare=["z"])
    dims("dims_growing.nc", {"step": 3, "case": 7}, {"loss": ["step"], "w": ["case"]}, grow=["step"])
    dims("dims_one.nc", {"case": 1, "lat": 3}, {"a": ["case", "lat"], "b": ["case"]})
    scales("dims_scales.h5")
    astray("dims_astray.h5")


def matrix(f, group, counts, columns, dtype="<f4", index="<i4", form="csr", **kw):
    """A sparse matrix: row i has counts[i] values, in the columns i, i+1, ..."""
    g = f.create_group(group)
    n = sum(counts)
    g.create_dataset("data", data=count((n,), dtype), **kw)
    g.create_dataset("indices", data=np.array([(i + k) % columns for i, c in enumerate(counts) for k in range(c)], index), **kw)
    g.create_dataset("indptr", data=np.cumsum([0] + counts).astype(index), maxshape=kw.get("maxshape"))
    g.attrs["encoding-type"], g.attrs["shape"] = form + "_matrix", [len(counts), columns][:: 1 if form == "csr" else -1]
    return g


def sparse():
    """AnnData and 10x Genomics, and matrices that contradict themselves."""

    def anndata(name, counts, form="csr", **kw):
        with new(name) as f:
            f.attrs["encoding-type"] = "anndata"
            matrix(f, "X", counts, 7 if form == "csc" else 5, form=form, maxshape=(None,), chunks=(4,), compression="gzip")
            matrix(f, "layers/counts", counts[::-1] if form == "csr" else [1] * 7, 5, ">i2", "<u8", **kw)
            f["obs/n"] = count((7 if form == "csc" else len(counts),), "<i8")
            f["varm/PCs"] = count((5, 40), "<f4")

    anndata("anndata.h5ad", [2, 0, 5, 1, 3, 0, 0])
    anndata("anndata_more.h5ad", [0, 4, 1])
    anndata("anndata_csc.h5ad", [2, 0, 3, 1, 3], form="csc")
    with new("tenx_tall.h5") as f:  # one feature: as many values as barcodes
        n, g = 40, f.create_group("matrix")
        g["data"], g["indices"], g["indptr"] = np.arange(n, dtype="i4"), np.zeros(n, "i8"), np.arange(n + 1)
        g["shape"], g["features/id"] = np.array([1, n], "i4"), np.array([b"ENSG0000"])
        g["barcodes"] = np.array([b"A%d" % i for i in range(n)], "S8")
    with new("tenx.h5") as f:
        g = matrix(f, "matrix", [3, 1, 0, 2], 6, "<i4", "<i8", maxshape=(None,))
        del g.attrs["encoding-type"], g.attrs["shape"]
        g["shape"] = np.array([6, 4], "<i4")
        g["barcodes"] = np.array([b"AAAC-%d" % i for i in range(4)])
        g["features/id"] = np.array([b"ENSG%028d" % i for i in range(6)])
    with new("sparse_old.h5ad") as f:
        g = matrix(f, "X", [1, 2], 3)
        del g.attrs["encoding-type"], g.attrs["shape"]
        g.attrs["h5sparse_format"], g.attrs["h5sparse_shape"] = "csr", [2, 3]
    with new("sparse_damaged.h5") as f:
        f["obs/n"] = count((4,), "<i4")

        def bad(group, part, values):
            g = matrix(f, group, [2, 1, 0, 2], 3)
            del g[part]
            g[part] = np.array(values)

        bad("late", "indptr", [1, 2, 3, 3, 5])
        bad("early", "indptr", [0, 2, 3, 3, 4])
        bad("behind", "indptr", [0, 2, 3, 3, 6])
        bad("few", "indptr", [0, 2, 3, 5])
        bad("floats", "indptr", [0.0, 2.0, 3.0, 3.0, 5.0])
        bad("uneven", "indices", [0, 1, 1, 0])
        bad("plane", "data", [[0.0]] * 5)
        bad("falls", "indptr", [0, 4, 3, 3, 5])
        bad("leaps", "indptr", [0, 9, 9, 9, 5])
        bad("outside", "indices", [0, 1, 1, 3, 0])
        bad("negative", "indices", [0, 1, 1, -1, 0])
        bad("shape", "indices", [0, 1, 1, 2, 0])
        f["shape"].attrs["shape"] = [-4, 3]


def categories():
    """AnnData's columns of categories, as many rows as there are names."""
    text = h5py.string_dtype()
    for name, cells in ("categories_a.h5ad", ["B", "T", "NK"]), ("categories_b.h5ad", ["NK", "T", "B"]):
        with new(name) as f:
            f.attrs["encoding-type"] = "anndata"
            f["X"] = count((3, 2), "<f4")
            for column, names, kind in ("cell", cells, text), ("batch", [3, 5], "<i8"), ("odd", ["id=1", "id=2", cells[0]], text):
                g = f.create_group("obs/" + column)
                g.attrs["encoding-type"] = "categorical"
                g["codes"] = np.array([1, -1, 0], "<i1")
                g.create_dataset("categories", data=names, dtype=kind)
            f["obs/old"] = np.array([0, 1, 2], "<i1")
            f.create_dataset("obs/__categories/old", data=cells, dtype=text)


def packed():
    """CF: one series in three files, each with another origin of time and other factors;
    time is 6 hours apart and f64, x counts but for the missing ones."""
    for k, (unit, hour, origin, scale, offset) in enumerate([("days", 24, 0, 0.5, 0), ("hours", 1, 24, 0.25, 3), ("seconds", 1 / 3600, 60, 0.5, 40)]):
        with new("cf_%d.nc" % k) as f:
            n = np.arange(4 * k, 4 * k + 4)
            date = ["2000-01-01", "2000-01-02", "2000-01-03 12:00"][k]
            t = f.create_dataset("time", data=(6 * n - origin) / hour, dtype="<f8", maxshape=(None,), chunks=(4,))
            t.make_scale("time")
            t.attrs["units"], t.attrs["bounds"] = "%s since %s" % (unit, date), "time_bnds"
            b = f.create_dataset("time_bnds", data=np.stack([6 * n - origin, 6 * n + 6 - origin], 1) / hour, dtype="<f8", maxshape=(None, 2), chunks=(4, 2))
            v = np.arange(12 * k, 12 * k + 12)
            codes = ((v - offset) / scale).astype("<i2")
            codes[v % 7 == 3] = -999
            x = f.create_dataset("x", data=codes.reshape(4, 3), maxshape=(None, 3), chunks=(2, 3), compression=1)
            x.attrs["scale_factor"], x.attrs["add_offset"], x.attrs["_FillValue"] = np.float32(scale), np.float32(offset), np.int16(-999)
            x.attrs["units"] = "K"
            for d in b, x:
                d.dims[0].attach_scale(t)


def flips():
    """Little but metadata, as the oldest and the newest library write them."""
    for name, lib in ("flips_old.h5", "earliest"), ("flips_new.h5", "latest"):
        with h5py.File(name, "w", libver=lib) as f:
            f["i"] = count((4, 2), "<i2")
            f.create_dataset("x", data=count((4, 3), "<f4"), chunks=(2, 3), compression=1, shuffle=True, fletcher32=True)
            f["t/label"] = count((4,), "<u8")
            f["x"].attrs["units"] = "K"


def turned():
    """Arrays whose samples are along another axis, and count in the order of samples."""
    def first(*shape, dtype="<f4", axis=1):
        return np.moveaxis(count((shape[axis],) + shape[:axis] + shape[axis + 1:], dtype), 0, axis)

    with new("features_first.h5") as f:
        f["plain"] = first(3, 20)
        f["big"] = first(3, 20, dtype=">i8")
        f.create_dataset("gzip", data=first(3, 20), chunks=(2, 7), compression=1, shuffle=True)
        f.create_dataset("volume", data=first(4, 20, 5, dtype="<i2"), chunks=(3, 6, 2), compression=1)
        f.create_dataset("stored", data=first(3, 20, dtype="u1"), chunks=(1, 20))
        f["wide"] = first(2, 20, 3, dtype="<f8")
        c = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        c.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(f.id, b"compact", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((3, 20)), c)
        f["compact"][...] = first(3, 20)
        e = f.create_dataset("empty", (3, 20), "<i4", chunks=(2, 6), fillvalue=9)
        e[:2, 6:12] = 4
        f["label"] = count((20,), "<i4")
    with new("table.mat", userblock_size=512) as f:
        def put(name, data, kind):
            f[name] = data
            f[name].attrs["MATLAB_class"] = np.bytes_(kind)

        put("X", first(3, 20, dtype="<f8"), "double")  # 20 x 3
        put("Y", count((1, 20), "<f8"), "double")      # 20 x 1
        put("w", count((20, 1), "<f8"), "double")      # 1 x 20
        put("images", np.arange(20 * 3 * 2 * 4, dtype="u1").reshape(20, 4, 2, 3).transpose(0, 3, 2, 1), "uint8")  # 4 x 2 x 3 x 20
        put("rate", np.array([[2.5]]), "double")
        put("name", np.frombuffer("Gr\u00fc\u00dfe \U0001f600".encode("utf-16le"), "<u2").reshape(-1, 1), "char")
        put("kinds", np.array([[ord(c) for c in "%-4d" % i] for i in range(20)], "<u2").T, "char")  # 20 x 4
    with open("table.mat", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file, written by h5py")


def wide():
    """Six columns of 4 MB, three of them chunked: for tests of what is read of a file on another machine."""
    with new("wide.h5") as f:
        for i in range(6):
            kind = {"chunks": (50_000,)} if i % 2 else {}
            f.create_dataset("c%d" % i, data=np.resize(np.arange(1000, dtype="f4") + i, 1_000_000), **kind)
    with open("wide.h5", "rb") as plain, open("wide.h5.gz", "wb") as packed:
        packed.write(gzip.compress(plain.read(), 9, mtime=0))
    os.remove("wide.h5")


def gridded(name, first, n):
    """Steps of 6 h on a grid whose latitudes fall, in every layout."""
    scales = {"time": (np.arange(first, first + 6 * n, 6, dtype="<i4"), {"units": "hours since 2018-01-01"}),
              "level": (np.array([1000, 850, 500], "<i4"), {"units": "hPa"}),
              "latitude": (np.arange(90, -91, -30, dtype="<f4"), {"units": "degrees_north"}),
              "longitude": (np.arange(0, 360, 30, dtype="<f4"), {"units": "degrees_east"}),
              "kind": (np.array([b"a", b"bc", b"d"]), {})}
    with new(name) as f:
        for key, (values, attrs) in scales.items():
            f[key] = values
            f[key].make_scale(key)
            for k, v in attrs.items():
                f[key].attrs[k] = np.bytes_(v)

        def put(name, dims, dtype, **kw):
            d = f.create_dataset(name, data=count([len(f[k]) for k in dims], dtype), **kw)
            for i, k in enumerate(dims):
                d.dims[i].attach_scale(f[k])
            return d

        near, deep = ("time", "latitude", "longitude"), ("time", "level", "latitude", "longitude")
        put("plain", near, "<f4")
        put("plain_deep", deep, ">i4")
        put("step", near, "<f4", chunks=(1, 7, 12), compression="gzip")
        put("deep", deep, "<i4", chunks=(8, 2, 3, 5), compression="gzip", shuffle=True)
        put("stored", deep, "<i4", chunks=(3, 3, 7, 4))
        put("last", near + ("level",), "<i4", chunks=(8, 3, 5, 3), compression="gzip")
        put("one_chunk", near, "<u2", chunks=(n, 7, 12), compression="gzip")
        put("kinds", ("time", "kind"), "<u2", chunks=(7, 2), compression="gzip")
        put("series", ("time",), "<i8")
        packed = put("packed", near, "<i2", chunks=(16, 4, 6), compression="gzip")
        packed.attrs["scale_factor"], packed.attrs["add_offset"], packed.attrs["_FillValue"] = np.float32(0.5), np.float32(100), np.int16(-1)
        put("lsm", ("latitude", "longitude"), "<f4")
        holes = f.create_dataset("holes", (n, 7), "<i4", chunks=(4, 3), compression="gzip", fillvalue=-5)
        holes.dims[0].attach_scale(f["time"])
        holes.dims[1].attach_scale(f["latitude"])
        holes[4:8, 3:6] = count((n, 7), "<i4")[4:8, 3:6]
        f["free"] = count((n,), "<i4")


def characters():
    """Arrays of characters, as netCDF has texts: of several bytes a character, one for each sample, beside numbers."""
    import netCDF4

    with netCDF4.Dataset("characters.nc", "w") as d:
        for name, n in {"Time": None, "len": 7, "pair": 2, "x": 3, "titles": 5}.items():
            d.createDimension(name, n)

        def chars(name, dims, texts, **attrs):
            v = d.createVariable(name, "S1", dims)
            v.set_auto_chartostring(False)
            v.setncatts(attrs)
            sizes = [4 if k == "Time" else len(d.dimensions[k]) for k in dims]
            v[:] = np.array([list(t.encode().ljust(sizes[-1], b"\0")) for t in texts], "u1").view("S1").reshape(sizes)

        chars("Times", ("Time", "len"), ["2020-01", "2020-02", "a b", ""])
        chars("name", ("Time", "len"), ["Z\u00fcrich", "\u65e5\u672c", "\u00e9", "x "], _Encoding="utf-8")
        chars("two", ("Time", "pair", "len"), ["a", "bb", "ccc", "dddd", "", "f", "ggggggg", "h"])
        chars("title", ("titles",), ["hello"])
        chars("solid", ("Time", "x"), ["abc", "def", "ghi", "jkl"])
        d.createVariable("flag", "S1", ("Time",))[:] = np.array([b"R", b"D", b"A", b"R"])
        d.createVariable("T2", "f4", ("Time", "x"))[:] = np.arange(12).reshape(4, 3)


if __name__ == "__main__":
    gridded("grid_a.nc", 0, 40)
    gridded("grid_b.nc", 240, 22)
    rows("rows_a.h5", 23)
    rows("rows_b.h5", 9, libver="latest")
    types("types.h5")
    groups("groups.h5", [3, 1, 4, 1, 5, 2, 2, 3, 1, 1, 2, 6])
    groups("groups_more.h5", [2, 2])
    files()
    conventions()
    others()
    varying()
    dimensions()
    sparse()
    categories()
    packed()
    flips()
    for i in range(2):
        with new("image_%d.h5" % i) as f:
            f["image"] = count((4, 5, 3), "<u1")
            f["mask"] = count((4, 5, 2), "<u1")
            f["label"] = i
    turned()
    wide()
    characters()
