"""Batches of graphs: collate=."""

from __future__ import annotations

import json
import os

import fixture
import numpy as np
import pytest
from loading import FRAMEWORKS, needs_library

import shardify
from shardify import Graph

pytestmark = needs_library

CASES = os.path.join(
    os.environ.get("SHARDIFY_CORPUS_ANNDATA") or os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "corpus", "anndata"), "graph", "cases.json"
)


def nodes(name, dtype, *shape):
    return {"name": name, "dtype": dtype, "shape": list(shape), "levels": 1, "counter": "n"}


def edges(name, dtype, *shape, counter="e"):
    return {"name": name, "dtype": dtype, "shape": list(shape), "levels": 1, "counter": counter}


SCHEMA = [
    nodes("x", "f32", 3),
    nodes("z", "i64"),
    edges("edge_index", "i64", 2),
    edges("edge_attr", "f32", 2),
    {"name": "y", "dtype": "f32"},
    {"name": "cell", "dtype": "f32", "shape": [3, 3]},
    {"name": "name", "dtype": "u8", "levels": 1, "media": "txt"},
]


def graphs(count, seed):
    r = np.random.default_rng(seed)
    out = []
    for k in range(count):
        n = int(r.integers(0, 6))
        e = int(r.integers(0, 9)) if n else 0
        out.append(
            {
                "x": r.normal(size=(n, 3)).astype("f4"),
                "z": r.integers(1, 90, n),
                "edge_index": r.integers(0, max(n, 1), (e, 2)),
                "edge_attr": r.normal(size=(e, 2)).astype("f4"),
                "y": float(k),
                "cell": np.eye(3) * k,
                "name": "g%d" % k,
            }
        )
    return out


def write(folder, rows, schema=SCHEMA):
    schema = [{k: v for k, v in f.items() if k != "shape" or v} for f in schema]
    fixture.write(folder, schema, rows, shards=[len(rows)])
    return str(folder)


def plain(v):
    return v.numpy() if hasattr(v, "numpy") else np.asarray(v)


def reference(rows):
    """As torch_geometric's Batch.from_data_list."""
    counts = [len(r["z"]) for r in rows]
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return {
        "x": np.concatenate([r["x"].reshape(-1, 3) for r in rows]),
        "z": np.concatenate([r["z"] for r in rows]),
        "edge_index": np.concatenate([r["edge_index"].reshape(-1, 2).T + p for r, p in zip(rows, ptr)], 1),
        "edge_attr": np.concatenate([r["edge_attr"].reshape(-1, 2) for r in rows]),
        "y": np.array([r["y"] for r in rows], "f4"),
        "cell": np.stack([r["cell"] for r in rows]),
        "batch": np.repeat(np.arange(len(rows)), counts),
        "ptr": ptr,
    }


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("how", ["batch", "budget", "lent"])
def test_random_batches(tmp_path, framework, how):
    rows = graphs(120, 3)
    data = write(tmp_path / "set", rows)
    size = {"budget": {"x": 17, "edge_attr": 30}} if how == "budget" else {"batch_size": 7}
    loader = shardify.Loader(data, shuffle="global", seed=2, last="short", collate="graph", framework=framework, device="cpu", copy=how != "lent", **size)
    seen = 0
    for batch in loader:
        mine = [rows[i] for i in batch.ids]
        seen += len(mine)
        for k, want in reference(mine).items():
            have = plain(batch[k])
            assert have.shape == want.shape and np.array_equal(have, want), k
        assert batch["name"] == [r["name"] for r in mine]
        assert batch.num_nodes == len(batch["x"]) and batch.num_graphs == len(mine)
        assert how != "budget" or batch.num_nodes <= 17 and len(batch["edge_attr"]) <= 30
    assert seen == 120


def test_two_lists_of_edges(tmp_path):
    schema = [nodes("atoms", "i32"), edges("src", "i32"), edges("dst", "i32")]
    rows = [{"atoms": [1, 2], "src": [0, 1], "dst": [1, 1]}, {"atoms": [3], "src": [0], "dst": [0]}]
    data = write(tmp_path / "set", rows, schema)
    with pytest.raises(shardify.SchemaError, match="which lists count nodes"):
        shardify.Loader(data, 2, collate="graph", device="cpu")
    with pytest.raises(shardify.SchemaError, match="bonds is not a list"):
        shardify.Loader(data, 2, collate=Graph(nodes="atoms", edges=("src", "bonds")), device="cpu")
    seen = []
    shapes = lambda b: seen.append(b) or b["edge_index"].shape  # noqa: E731
    loader = shardify.Loader(data, 2, collate=Graph(nodes="atoms", edges=("src", "dst")), device="cpu", framework="numpy", transform=shapes)
    assert list(loader) == [(2, 3)]
    assert seen[0]["edge_index"].tolist() == [[0, 1, 2], [1, 1, 2]] and seen[0]["edge_index"].dtype == np.int32 and "src" not in seen[0]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("node", [-1, 3])
def test_edges_beyond_the_nodes(tmp_path, framework, node):
    rows = graphs(9, 1)
    rows[4].update(x=np.zeros((3, 3)), z=[1, 2, 3], edge_index=[[0, 1], [2, node]], edge_attr=np.zeros((2, 2)))
    data = write(tmp_path / "set", rows)
    loader = shardify.Loader(data, 4, collate="graph", framework=framework, device="cpu")
    with pytest.raises(shardify.CorruptError, match="read edge_index sample 4: node 2, %d of a graph of 3 nodes" % node) as e:
        list(loader)
    assert e.value.sample == 4 and e.value.field == "edge_index"


@pytest.mark.skipif(not os.path.exists(CASES), reason="no corpus: %s" % CASES)
def test_graph_corpus(tmp_path):
    """Batches that torch_geometric made."""
    with open(CASES) as f:
        cases = json.load(f)
    schema = SCHEMA[:2] + [nodes("pos", "f32", 3)] + SCHEMA[2:] + [{"name": "target", "dtype": "i64", "shape": [2]}, edges("face", "i64", 3, counter="f")]
    for k, case in enumerate(cases):
        c, rows = case["columns"], []
        for i in range(case["graphs"]):
            row = {name: c[name][i] for name in ("x", "z", "pos", "edge_attr", "y", "target", "name")}
            row["cell"], row["edge_index"] = c["cell"][i][0], case["edges_by_row"][i]
            row["face"] = np.array(c["face"][i], np.int64).reshape(3, -1).T
            rows.append(row)
        data = write(tmp_path / str(k), rows, schema)
        for batch in shardify.Loader(data, len(rows), collate="graph", framework="numpy", device="cpu"):
            for name, want in case["batch"].items():
                if isinstance(want, dict):
                    have = batch[name].reshape(-1) if name == "target" else batch[name]  # [B, 2] is [2 B] there
                    assert list(have.shape) == want["shape"] and str(have.dtype) == want["dtype"] and have.reshape(-1).tolist() == want["values"], (k, name)
                else:
                    assert batch[name] == want
            assert batch.num_nodes == case["num_nodes"] and batch.num_graphs == case["num_graphs"]


def test_wrong_use(tmp_path):
    data = write(tmp_path / "set", graphs(4, 1))
    for given, error, want in [
        (dict(collate="pyg"), ValueError, "want \"graph\""),
        (dict(collate="graph", jagged="pad"), ValueError, "leave out jagged"),
        (dict(collate=Graph(index=["edge_attr"])), shardify.SchemaError, "whole"),
        (dict(collate=Graph(to="networkx")), ValueError, "to="),
        (dict(collate="graph", framework="dlpack"), shardify.UnsupportedError, "framework"),
    ]:
        with pytest.raises(error, match=want):
            shardify.Loader(data, 2, device="cpu", **given)


def test_other_libraries(tmp_path):
    """Where they are installed: a batch splits into the graphs that it is made of."""
    rows = graphs(20, 5)
    data = write(tmp_path / "set", rows)
    pytest.importorskip("torch_geometric")
    for batch in shardify.Loader(data, 5, collate=Graph(to="pyg"), device="cpu"):
        want = reference([rows[int(k)] for k in batch.y])
        for name, v in want.items():
            assert np.array_equal(plain(batch[name]), v), name
        assert batch.num_graphs == 5 and batch.num_nodes == len(want["x"])
        for one in batch.to_data_list():
            r = rows[int(one.y)]
            assert np.array_equal(one.x.numpy(), r["x"].reshape(-1, 3)) and np.array_equal(one.edge_index.numpy(), r["edge_index"].reshape(-1, 2).T)


@pytest.mark.parametrize("to", ["dict", "pyg"])
def test_equal_to_torch_geometric(tmp_path, to):
    """Random batches, 1,000 of them in the long form, as Batch.from_data_list makes them of the same graphs."""
    data = pytest.importorskip("torch_geometric.data")
    torch = pytest.importorskip("torch")
    batches = 1000 if os.environ.get("SHARDIFY_LONG") else 60
    rows = graphs(400, 8)
    one_by_one = [
        data.Data(
            x=torch.from_numpy(r["x"].reshape(-1, 3)),
            z=torch.from_numpy(np.asarray(r["z"], np.int64)),
            edge_index=torch.from_numpy(np.asarray(r["edge_index"], np.int64).reshape(-1, 2).T.copy()),
            edge_attr=torch.from_numpy(r["edge_attr"].reshape(-1, 2).astype("f4")),
            y=torch.tensor([r["y"]]),
            cell=torch.from_numpy(r["cell"].astype("f4")[None]),
        )
        for r in rows
    ]
    folder = write(tmp_path / "set", rows)
    given = dict(shuffle="global", seed=3, last="short", columns=list(one_by_one[0].keys()), collate=Graph(to=to), framework="torch", device="cpu")
    budget = shardify.Loader(folder, budget={"x": 40}, **{**given, "transform": None})
    sizes = [shardify.Loader(folder, n, **given) for n in (1, 7, 32)] + [budget]
    seen = 0
    while seen < batches:
        for loader in sizes:
            for batch in loader:
                ids = batch.y.long().tolist() if to == "pyg" else batch.ids.tolist()
                want = data.Batch.from_data_list([one_by_one[i] for i in ids])
                assert batch.num_graphs == want.num_graphs and batch.num_nodes == want.num_nodes
                for name in [*want.keys()]:
                    have = batch[name]
                    assert have.dtype == want[name].dtype and torch.equal(have, want[name]), (ids, name)
                seen += 1


class _DGLGraph:
    def __init__(self, edges, num_nodes):
        self.edges, self.num_nodes, self.ndata, self.edata = edges, num_nodes, {}, {}

    def set_batch_num_nodes(self, n):
        self.batch_num_nodes = n

    def set_batch_num_edges(self, n):
        self.batch_num_edges = n


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_dgl_by_its_rule(tmp_path, monkeypatch, framework):
    """What dgl.batch documents: numbers of nodes are raised by those of the graphs before, features follow each other, and the
    graph knows the nodes and edges of each. dgl itself is not asked: graph(), set_batch_num_nodes and set_batch_num_edges are."""
    import sys
    import types

    if framework != "torch":
        pytest.skip("dgl takes tensors of torch")
    monkeypatch.setitem(sys.modules, "dgl", types.SimpleNamespace(graph=_DGLGraph))
    rows = graphs(60, 4)
    folder = write(tmp_path / "set", rows)
    at = 0
    for g in shardify.Loader(folder, 9, collate=Graph(to="dgl"), framework=framework, device="cpu"):
        mine = rows[at : at + 9]
        want = reference(mine)
        at += len(mine)
        assert np.array_equal(np.stack([plain(e) for e in g.edges]), want["edge_index"]) and g.num_nodes == len(want["x"])
        assert plain(g.batch_num_nodes).tolist() == [len(r["z"]) for r in mine]
        assert plain(g.batch_num_edges).tolist() == [len(r["edge_attr"]) for r in mine]
        assert np.array_equal(plain(g.ndata["x"]), want["x"]) and np.array_equal(plain(g.edata["edge_attr"]), want["edge_attr"]) and sorted(g.ndata) == ["x", "z"]
    assert at == 60
