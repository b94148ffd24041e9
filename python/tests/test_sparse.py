"""Batches of sparse rows: sparse=."""

from __future__ import annotations

import json
import os

import fixture
import numpy as np
import pytest
from loading import FRAMEWORKS, needs_library

import shardify
from shardify import Sparse

pytestmark = needs_library
try:
    import scipy.sparse as scipy_sparse
except ImportError:
    scipy_sparse = None

CASES = os.path.join(
    os.environ.get("SHARDIFY_CORPUS_ANNDATA") or os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "corpus", "anndata"), "sparse", "cases.json"
)
KINDS = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "uint16": "u16", "uint8": "u8", "bool": "bool"}
# Matrices of NumPy are scipy's: without it there are dense ones alone.
WAYS = [(f, lay) for f in FRAMEWORKS for lay in ("csr", "coo", "dense") if f == "torch" or lay == "dense" or scipy_sparse]


def pair(values="f32", indices="i32", width=None, name="X", counters=("X", "X")):
    attrs = {} if width is None else {"attrs": {"sparse_columns": str(width)}}
    return [
        {"name": name + "/data", "dtype": values, "levels": 1, "counter": counters[0], **attrs},
        {"name": name + "/indices", "dtype": indices, "levels": 1, "counter": counters[1], **attrs},
        {"name": "label", "dtype": "i64"},
    ]


def write(folder, rows, schema):
    schema = [{k: v for k, v in f.items() if k != "counter" or v != f["name"]} for f in schema]
    fixture.write(folder, schema, rows, shards=[len(rows)])
    return str(folder)


def cells(count, width, seed, values="f4", indices="i4", most=9):
    r = np.random.default_rng(seed)
    out = []
    for k in range(count):
        columns = np.sort(r.choice(width, int(r.integers(0, min(most, width) + 1)), replace=False))
        out.append({"X/data": r.integers(1, 100, len(columns)).astype(values), "X/indices": columns.astype(indices), "label": k})
    return out


def dense(rows, width, dtype="f4"):
    out = np.zeros((len(rows), width), dtype)
    for k, row in enumerate(rows):
        np.add.at(out[k], row["X/indices"].astype("i8"), row["X/data"])
    return out


def array(x):
    """A matrix of any framework as a dense array, after its own checks."""
    if hasattr(x, "toarray"):
        assert x.has_canonical_format
        return x.toarray()
    if hasattr(x, "numpy"):
        import torch

        if x.layout == torch.sparse_csr:
            checks = {"check_invariants": True} if hasattr(torch.sparse, "check_sparse_tensor_invariants") else {}  # always before 2.0
            torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), x.values(), x.shape, **checks)
            assert x.crow_indices().dtype == x.col_indices().dtype
            out = np.zeros(tuple(x.shape), x.values().numpy().dtype)
            rows = np.repeat(np.arange(x.shape[0]), np.diff(x.crow_indices().numpy()))
            out[rows, x.col_indices().numpy()] = x.values().numpy()
            return out
        if x.layout == torch.sparse_coo:
            assert x.is_coalesced()
            out = np.zeros(tuple(x.shape), x.values().numpy().dtype)
            out[tuple(x.indices().numpy())] = x.values().numpy()
            return out
        return x.numpy().copy()
    return np.array(x)


def all_of(loader, name="X"):
    parts = [array(b[name]) for b in loader]
    return np.concatenate(parts)


@pytest.fixture(params=["host", "operations of the device"])
def where(request, monkeypatch):
    """Matrices by the library, and by the operations of torch that a GPU has."""
    if request.param != "host":
        from shardify.matrices import Matrices

        if "torch" not in FRAMEWORKS:
            pytest.skip("there is no torch")
        init = Matrices.__init__

        def there(self, *args):
            init(self, *args)
            self.device = self.framework.name == "torch"

        monkeypatch.setattr(Matrices, "__init__", there)
    return request.param


@pytest.mark.skipif(not os.path.exists(CASES), reason="the cases of sparse rows are not here")
@pytest.mark.parametrize("framework, layout", WAYS)
def test_cases(tmp_path, framework, layout, where):
    done = 0
    for k, c in enumerate(json.load(open(CASES))):
        width, offsets = c["width"], c["offsets"]
        if len(offsets) < 2:
            continue
        kind = "i64" if "i64" in c["name"] else "i32"
        rows = [
            {"X/data": np.array(c["data"][a:b], c["dtype"]), "X/indices": np.array(c["indices"][a:b], kind.replace("i", "int")), "label": 0}
            for a, b in zip(offsets, offsets[1:])
        ]
        folder = write(tmp_path / str(k), rows, pair(KINDS[c["dtype"]], kind, width))
        how = Sparse(layout, columns=c.get("columns"), normalize=c.get("normalise"), log1p=bool(c.get("log1p")))
        cast = {"X/data": c["cast"]} if "cast" in c else None
        if c["dtype"] == "uint16" and not cast and (where != "host" or framework == "torch" and not hasattr(pytest.importorskip("torch"), "uint16")):
            continue  # torch computes little with them, and has none before 2.3
        with shardify.Loader(folder, len(rows), sparse=how, framework=framework, device="cpu", cast=cast) as loader:
            got = all_of(loader)
        want = np.array(c["dense"], c["csr"]["dtype"]).reshape(got.shape)
        assert got.dtype == want.dtype, c["name"]
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=c["name"])
        done += 1
    assert done > 16


@pytest.mark.parametrize("framework, layout", WAYS)
def test_types_and_changes(tmp_path, framework, layout, where):
    r = np.random.default_rng(4)
    for values, indices in [("f32", "i32"), ("f64", "i64"), ("u8", "u16"), ("i32", "i64"), ("i64", "u8"), ("i16", "i16"), ("bool", "i32")]:
        width = int(r.integers(1, 100))
        kind = {"f32": "f4", "f64": "f8", "u8": "u1", "i32": "i4", "i64": "i8", "i16": "i2", "bool": "?"}[values]
        rows = cells(23, width, 1, kind, "i8")
        folder = write(tmp_path / (values + indices), rows, pair(values, indices, width))
        want = dense(rows, width, kind)
        with shardify.Loader(folder, 5, sparse={"X": layout}, framework=framework, device="cpu") as loader:
            got = all_of(loader)
        assert got.dtype == want.dtype and np.array_equal(got, want)
        some = r.permutation(width)[: (width + 1) // 2]
        how = Sparse(layout, columns=some, normalize=1e4, log1p=True)
        with shardify.Loader(folder, 5, sparse={"X": how}, framework=framework, device="cpu") as loader:
            got = all_of(loader)
        w = want[:, some].astype("f8")
        sums = w.sum(1, keepdims=True)
        w = np.log1p(np.divide(1e4 * w, sums, out=w.copy(), where=sums != 0))
        assert got.dtype == ("f8" if values == "f64" else "f4")
        np.testing.assert_allclose(got, w, rtol=1e-6)


@pytest.mark.parametrize("framework, shuffle, copy", [("numpy", "none", True), ("numpy", "global", False), (FRAMEWORKS[-1], "block", True), (FRAMEWORKS[-1], "global", False)])
def test_it_goes_with_the_rest(tmp_path, framework, shuffle, copy):
    width, rows = 50, cells(64, 50, 2)
    folder, want = write(tmp_path / "set", rows, pair(width=width)), dense(rows, width)
    for tier in ("stream", "pinned", "auto"):
        for size in (dict(batch_size=7), dict(budget={"X/data": 40})):
            options = dict(sparse="dense", framework=framework, device="cpu", shuffle=shuffle, seed=3, tier=tier, copy=copy, workers=2, last="short", **size)
            with shardify.Loader(folder, **options) as loader:
                seen = []
                for k, b in enumerate(loader):
                    assert list(b) == ["X", "label"]
                    assert np.array_equal(array(b["X"]), want[b.ids])
                    assert np.array_equal(np.asarray(b["label"]), b.ids)
                    seen += b.ids.tolist()
                    if k == 2:
                        state = loader.state_dict()
                        at = len(seen)
                assert sorted(seen) == list(range(64))
            with shardify.Loader(folder, **options) as loader:
                loader.load_state_dict(state)
                rest = [(b.ids.tolist(), array(b["X"])) for b in loader]
                assert sum((i for i, _ in rest), []) == seen[at:]
                assert all(np.array_equal(x, want[i]) for i, x in rest)


@pytest.mark.parametrize("size", [dict(batch_size=7), dict(budget={"X/data": 40})], ids=["count", "budget"])
@pytest.mark.parametrize("how", ["weights", "balance", "mix", "order", "indices"])
def test_drawn_rows(tmp_path, how, size):
    """Samples by weight, class, share of an input or an order of the user's own are the rows of those samples."""
    width, rows = 50, [dict(r, label=k % 3) for k, r in enumerate(cells(64, 50, 2))]
    folder, want = write(tmp_path / "set", rows, pair(width=width)), dense(rows, width)
    chosen = np.random.default_rng(4).permutation(64)[:40]
    given = {
        "weights": dict(weights=np.arange(64.0), samples=90, shuffle="global"),
        "balance": dict(balance="label", samples=90, shuffle="global"),
        "mix": dict(samples=90, shuffle="global"),
        "order": dict(order=chosen),
        "indices": dict(indices=chosen, shuffle="global"),
    }[how]
    paths = {folder: 3, folder + "/": 1} if how == "mix" else folder
    seen = []
    with shardify.Loader(paths, sparse="dense", framework="numpy", device="cpu", seed=3, last="short", **size, **given) as loader:
        for b in loader:
            assert np.array_equal(array(b["X"]), want[b.ids % 64]) and ("budget" not in size or np.count_nonzero(b["X"]) <= 40)
            seen += b.ids.tolist()
    assert len(seen) == {"order": 40, "indices": 40}.get(how, 90)
    if how in ("order", "indices"):
        assert sorted(seen) == sorted(chosen.tolist())
    if how == "weights":
        assert 0 not in seen


def test_kept_batches_stay(tmp_path):
    rows = cells(64, 30, 5)
    folder, want = write(tmp_path / "set", rows, pair(width=30)), dense(rows, 30)
    with shardify.Loader(folder, 4, sparse="dense", framework="numpy") as loader:
        kept = [(b.ids, b["X"]) for b in loader]
        for ids, x in kept:
            assert np.array_equal(x, want[ids])
        address = {x.ctypes.data for _, x in kept}
        assert len(address) == 16
        kept.clear()
        used = set()
        for _ in range(5):
            for b in loader:
                b["X"] += 1  # a batch is the user's: the next one in its memory is right all the same
                assert np.array_equal(b["X"] - 1, want[b.ids])
                used.add(b["X"].ctypes.data)
        assert len(used) < 16


def test_padding_is_empty_rows(tmp_path):
    rows = cells(10, 30, 5)
    folder, want = write(tmp_path / "set", rows, pair(width=30)), dense(rows, 30)
    with shardify.Loader(folder, 8, sparse="dense", framework="numpy", last="pad") as loader:
        _, b = list(loader)
    assert b.rows == 2 and b["X"].shape == (8, 30) and not b["X"][2:].any() and np.array_equal(b["X"][:2], want[8:])


def test_names_of_fields_and_columns(tmp_path):
    rows = [{"v": r["X/data"], "i": r["X/indices"], "label": r["label"]} for r in cells(20, 4, 6)]
    schema = [
        {"name": "v", "dtype": "f32", "levels": 1, "counter": "n"},
        {"name": "i", "dtype": "i32", "levels": 1, "counter": "n", "attrs": {"columns": "w\nx\ny\nz"}},
        {"name": "label", "dtype": "i64"},
    ]
    folder = write(tmp_path / "set", rows, schema)
    want = dense([{"X/data": r["v"], "X/indices": r["i"]} for r in rows], 4)
    how = Sparse("dense", indices="i", values="v", width=4)
    names = ["a", "b", "c", "d"]
    for sparse, key, columns in [
        (how, "v", [0, 1, 2, 3]),
        ({"counts": how}, "counts", [0, 1, 2, 3]),
        ({"one": Sparse("dense", indices="i", values="v", width=4, names=names, columns=["d", "b"])}, "one", [3, 1]),
        ({"one": Sparse("dense", indices="i", values="v", width=4, columns=["z", "x"])}, "one", [3, 1]),
        ({"one": Sparse("dense", indices="i", values="v", width=4, columns=[False, True, True, False])}, "one", [1, 2]),
        ({"one": Sparse("dense", indices="i", values="v", width=4, columns=[])}, "one", []),
    ]:
        with shardify.Loader(folder, 6, sparse=sparse, framework="numpy", last="short") as loader:
            assert np.array_equal(all_of(loader, key), want[:, columns])
            assert set(next(iter(loader))) == {key, "label"}
    two = {"a": Sparse("dense", indices="i", values="v", width=4), "b": Sparse("dense", indices="i", values="v", width=4, log1p=True)}
    with shardify.Loader(folder, 6, sparse=two, framework="numpy", last="short") as loader:
        for b in loader:
            assert np.array_equal(b["a"], want[b.ids])
            np.testing.assert_allclose(b["b"], np.log1p(want[b.ids]), rtol=1e-6)


def test_static_names():
    from shardify.matrices import named

    static = {"var/id": ["x", "y"], "var/_index": ["a", "b"], "raw/var/_index": ["a", "b", "c"], "lat": np.zeros(4)}
    assert named(static, 2) == ["a", "b"] and named(static, 3) == ["a", "b", "c"] and named(static, 4) is None


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("bad, word", [(9, "value 1: column 9 of 9 columns"), (-1, "value 1: column -1 of 9 columns"), (2**31 - 1, "column 2147483647 of 9 columns")])
def test_numbers_that_are_no_columns(tmp_path, framework, bad, word, where):
    rows = cells(12, 9, 1)
    rows[7] = {"X/data": np.ones(3, "f4"), "X/indices": np.array([0, bad, 3], "i4"), "label": 7}
    folder = write(tmp_path / "set", rows, pair(width=9))
    for layout in ["dense"] + ["csr"] * (framework == "torch"):
        with shardify.Loader(folder, 5, sparse=layout, framework=framework, device="cpu", last="short") as loader:
            it = iter(loader)
            next(it)
            with pytest.raises(shardify.CorruptError, match="read X/indices sample 7: .*%s: corrupt data" % word) as e:
                next(it)
        assert e.value.field == "X/indices" and e.value.sample == 7


def test_lengths_that_differ(tmp_path):
    rows = cells(12, 9, 1)
    rows[8] = {"X/data": np.ones(3, "f4"), "X/indices": np.array([0, 1], "i4"), "label": 7}
    folder = write(tmp_path / "set", rows, pair(width=9, counters=("X/data", "X/indices")))
    with shardify.Loader(folder, 5, sparse="dense", framework="numpy") as loader:
        it = iter(loader)
        next(it)
        with pytest.raises(shardify.CorruptError, match="read X/indices sample 8: 2 numbers of columns, and X/data has 3 values"):
            next(it)


@pytest.mark.parametrize(
    "sparse, error, words",
    [
        ("bsr", ValueError, "want 'csr', 'coo', 'dense' or shardify.Sparse"),
        ({"Y": "csr"}, shardify.SchemaError, "Y/indices"),
        ({"X": Sparse("csr", width=8)}, shardify.SchemaError, "width=8, and the set says 9"),
        (Sparse(columns=[9]), ValueError, "column 9 of 9 columns"),
        (Sparse(columns=[-1]), ValueError, "column -1 of 9 columns"),
        (Sparse(columns=[1, 2, 1]), ValueError, "has column 1 twice"),
        (Sparse(columns=["a"]), shardify.SchemaError, "no names of columns"),
        (Sparse(columns=["a"], names=["a"] * 8), ValueError, "8 names of 9 columns"),
        (Sparse(columns=["z"], names=list("abcdefghi")), ValueError, "no column 'z'"),
        (Sparse(columns=["a"], names=list("aacdefghi")), ValueError, "more than one column is named a"),
        (Sparse(normalize=-1), ValueError, "normalize=-1"),
        (Sparse(indices="X/indices"), ValueError, "wants values="),
        (Sparse(indices="X/data", values="X/data"), shardify.SchemaError, "numbers of columns are whole"),
        ({"label": Sparse(indices="X/indices", values="X/data")}, shardify.SchemaError, "the set has a field label"),
    ],
)
def test_before_the_first_batch(tmp_path, sparse, error, words):
    folder = write(tmp_path / "set", cells(12, 9, 1), pair(width=9))
    with pytest.raises(error, match=words):
        shardify.Loader(folder, 5, sparse=sparse, framework=FRAMEWORKS[-1], device="cpu")


def test_what_it_does_not_go_with(tmp_path):
    folder = write(tmp_path / "set", cells(12, 9, 1), pair())
    with pytest.raises(shardify.SchemaError, match="how many columns has X"):
        shardify.Loader(folder, 5, sparse="dense", framework="numpy")
    how = Sparse("dense", width=9)
    for options, error, words in [
        (dict(jagged="pad"), ValueError, "leave out jagged="),
        (dict(collate="graph"), ValueError, "collate= and sparse="),
        (dict(cast={"X/data": "float16"}), shardify.UnsupportedError, "X/data is f16"),
        (dict(framework="dlpack"), shardify.UnsupportedError, "sparse= is for framework="),
        (dict(ring=2), shardify.UnsupportedError, "out= and ring="),
    ]:
        with pytest.raises(error, match=words):
            shardify.Loader(folder, 5, **{"sparse": how, "framework": "numpy", **options})


@pytest.mark.skipif("torch" not in FRAMEWORKS, reason="there is no torch")
def test_under_dataloader(tmp_path):
    import torch

    rows = cells(30, 9, 1)
    folder, want = write(tmp_path / "set", rows, pair(width=9)), dense(rows, 9)
    made = shardify.LoaderDataset(folder, 4, sparse="dense", shuffle="global")
    seen = []
    for b in torch.utils.data.DataLoader(made, batch_size=None, num_workers=1, multiprocessing_context="forkserver"):
        assert np.array_equal(b["X"].numpy(), want[b["label"].numpy()])
        seen += b["label"].tolist()
    assert sorted(seen) == list(range(30))
