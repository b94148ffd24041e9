"""Batches of graphs: what torch_geometric's Batch makes of a list, made of columns at once."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional, Sequence, Tuple

import numpy as np

from . import near
from .errors import CorruptError, SchemaError, UnsupportedError
from .loaderbatch import LoaderBatch
from .schema import Field

# Fields that mostly have one row for each node.
_NODES = ("x", "pos", "z", "positions", "numbers", "atomic_numbers")


@near.keywords("shardify.Graph")
@dataclass(frozen=True)
class Graph:
    """Batches as one graph: Loader(..., collate="graph"), or shardify.Graph(...) for other names.

    Lists of one counter are nodes, those of another edges. Rows of all graphs follow each other, numbers of nodes are
    raised by the nodes of the graphs before, "batch" is the graph of each node and "ptr" where each graph begins.

    nodes      a field with a row for each node; default: x, pos, z, positions, numbers or atomic_numbers
    index      fields whose values are numbers of nodes; default: lists of whole numbers, not of nodes, whose names
               contain "index", and "face", as in torch_geometric. [E, 2] becomes [2, E]
    edges      ("src", "dst"): two fields that become "edge_index"
    to         "dict": a dict of tensors; "pyg": torch_geometric.data.Batch; "jraph": jraph.GraphsTuple; "dgl": a DGLGraph
    """

    nodes: Optional[str] = None
    index: Optional[Sequence[str]] = None
    edges: Optional[Tuple[str, str]] = None
    to: Literal["dict", "pyg", "jraph", "dgl"] = "dict"


class Collate:
    """Graphs of the batches of one loader."""

    def __init__(self, how: Any, schema: Sequence[Field], framework: str, jagged: str) -> None:
        g = Graph() if how == "graph" else how
        if not isinstance(g, Graph):
            raise ValueError('collate=%r: want "graph" or shardify.Graph(...)' % (how,))
        if framework not in ("numpy", "torch"):
            raise UnsupportedError("collate=: graphs are made with framework='torch' or 'numpy', not %r" % framework)
        if jagged != "values":
            raise ValueError("collate= makes a graph of lists: leave out jagged=%r" % jagged)
        if g.to not in ("dict", "pyg", "jraph", "dgl"):
            raise ValueError('to=%r: want "dict", "pyg", "jraph" or "dgl"' % (g.to,))
        self.how, self.fields = g, {f.name: f for f in schema}
        self.lists = {f.name: f.counter or f.name for f in schema if f.jagged and f.levels == 1}
        self.nodes = self._nodes()
        self.index = self._index()
        for name in ("batch", "ptr") + (("edge_index",) if g.edges else ()):
            if name in self.fields:
                raise SchemaError("collate: the set has a field %s, which a graph has, too: rename it, or leave it out of columns=" % name)

    def _known(self, name: str, what: str) -> str:
        if name not in self.lists:
            raise SchemaError("collate: %s: %s is not a list of numbers; there is %s" % (what, name, ", ".join(self.lists) or "none"))
        return name

    def _nodes(self) -> str:
        if self.how.nodes is not None:
            return self.lists[self._known(self.how.nodes, "nodes")]
        for name in _NODES:
            if name in self.lists:
                return self.lists[name]
        raise SchemaError(
            "collate: which lists count nodes? shardify.Graph(nodes=%r) says it; there is %s" % (next(iter(self.lists), "x"), ", ".join(self.lists) or "no list")
        )

    def _index(self) -> List[str]:
        if self.how.index is not None:
            names = [self._known(n, "index") for n in self.how.index]
        else:
            names = [n for n, c in self.lists.items() if c != self.nodes and ("index" in n or n == "face") and self.fields[n].dtype[0] in "iu"]
        names += [self._known(n, "edges") for n in self.how.edges or ()]
        for n in names:
            if self.fields[n].dtype[0] not in "iu":
                raise SchemaError("collate: %s is %s, and numbers of nodes are whole" % (n, self.fields[n].dtype))
        return list(dict.fromkeys(names))

    def __call__(self, batch: LoaderBatch) -> Any:
        first = next(n for n, c in self.lists.items() if c == self.nodes)
        ptr = batch[first]["offsets"]
        math: Any = _numpy if isinstance(ptr, np.ndarray) else _Torch(ptr)
        graphs, total = len(ptr) - 1, len(batch[first]["values"])
        out = LoaderBatch()
        out.__dict__.update(batch.__dict__)
        starts: Dict[str, Any] = {}
        for name, v in batch.items():
            counter = self.lists.get(name)
            if counter is None:
                out[name] = v
                continue
            values = v["values"]
            starts[name] = v["offsets"]
            if name in self.index:
                values = self._raised(batch, name, values, v["offsets"], ptr, math)
            out[name] = values
        if self.how.edges is not None:
            src, dst = self.how.edges
            starts["edge_index"] = starts[src]
            out["edge_index"] = math.stack([out.pop(src), out.pop(dst)])
        out["batch"] = math.repeat(graphs, ptr, total)
        out["ptr"] = ptr
        out.__dict__["num_nodes"], out.__dict__["num_graphs"] = total, graphs
        if self.how.to == "dict":
            return out
        return getattr(self, "_" + self.how.to)(out, starts, math)

    def _raised(self, batch: LoaderBatch, name: str, values: Any, offsets: Any, ptr: Any, math: Any) -> Any:
        """Numbers of nodes of all graphs, the last axis first."""
        if len(offsets) != len(ptr):
            raise SchemaError("collate: %s has another number of graphs than nodes" % name)
        of = math.repeat(len(ptr) - 1, offsets, len(values))
        base, count = ptr[:-1][of], (ptr[1:] - ptr[:-1])[of]
        if values.ndim > 1:
            values = values.T
        wrong = (values < 0) | (values >= count)
        if bool(wrong.any()):
            row = int(math.first(wrong.reshape(-1, len(of)).any(0)))
            sample = int(batch.ids[int(of[row])])
            e = CorruptError("read %s sample %d: node %s of a graph of %d nodes: corrupt data" % (name, sample, _numbers(values, row), int(count[row])))
            e.file, e.object, e.field, e.sample, e.offset = "", "", name, sample, None
            raise e
        return values + math.cast(base, values)

    # ---- other libraries

    def _pyg(self, out: LoaderBatch, starts: Dict[str, Any], math: Any) -> Any:
        Batch = _library("torch_geometric.data", "pyg").Batch
        if math is _numpy:
            raise UnsupportedError("to='pyg' wants framework='torch'")
        made = Batch(**{k: v for k, v in out.items() if k not in ("batch", "ptr")})
        made.batch, made.ptr, made._num_graphs = out["batch"], out["ptr"], out.__dict__["num_graphs"]
        each = math.torch.arange(made._num_graphs + 1)
        # What to_data_list needs: where each graph's part begins, and what was added to it.
        made._slice_dict = {k: starts[k].cpu() if k in starts else each for k in made.keys() if k not in ("batch", "ptr")}
        zero = math.torch.zeros(made._num_graphs, dtype=math.torch.int64)
        raised = set(self.index) | ({"edge_index"} if self.how.edges else set())
        made._inc_dict = {k: out["ptr"][:-1].cpu() if k in raised else zero for k in made._slice_dict}
        return made

    def _parts(self, out: LoaderBatch) -> Tuple[Dict[str, Any], Dict[str, Any], Dict[str, Any], Any]:
        """Fields of nodes, of edges and of graphs, and where edges go."""
        where = "edge_index" if "edge_index" in out else next(iter(self.index), None)
        if where is None:
            raise SchemaError("collate: to=%r wants edges: shardify.Graph(index=[...]) or edges=(src, dst) names them" % self.how.to)
        counter = self.lists[self.how.edges[0]] if self.how.edges else self.lists[where]
        nodes: Dict[str, Any] = {}
        edges: Dict[str, Any] = {}
        rest: Dict[str, Any] = {}
        for k, v in out.items():
            if k in (where, "batch", "ptr"):
                continue
            c = self.lists.get(k)
            (nodes if c == self.nodes else edges if c == counter else rest)[k] = v
        return nodes, edges, rest, out[where]

    def _jraph(self, out: LoaderBatch, starts: Dict[str, Any], math: Any) -> Any:
        jraph = _library("jraph", "jraph")
        nodes, edges, rest, index = self._parts(out)
        where = "edge_index" if "edge_index" in starts else self.index[0]
        counts = {"n_node": _lengths(out["ptr"]), "n_edge": _lengths(starts[where])}
        return jraph.GraphsTuple(nodes=nodes, edges=edges, globals=rest, senders=index[0], receivers=index[1], **counts)

    def _dgl(self, out: LoaderBatch, starts: Dict[str, Any], math: Any) -> Any:
        dgl = _library("dgl", "dgl")
        if math is _numpy:
            raise UnsupportedError("to='dgl' wants framework='torch'")
        nodes, edges, _, index = self._parts(out)
        where = "edge_index" if "edge_index" in starts else self.index[0]
        g = dgl.graph((index[0], index[1]), num_nodes=out.__dict__["num_nodes"])
        g.set_batch_num_nodes(_lengths(out["ptr"]))
        g.set_batch_num_edges(_lengths(starts[where]))
        g.ndata.update(nodes)
        g.edata.update(edges)
        return g


def _library(name: str, to: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise UnsupportedError("to=%r wants %s: %s" % (to, name.partition(".")[0], e)) from None


def _lengths(offsets: Any) -> Any:
    return offsets[1:] - offsets[:-1]


def _numbers(values: Any, row: int) -> str:
    v = values.reshape(-1, values.shape[-1])[:, row]
    return ", ".join(str(int(n)) for n in v)


class _Numpy:
    """What graphs need of NumPy."""

    @staticmethod
    def repeat(n: int, offsets: Any, total: int) -> Any:
        return np.repeat(np.arange(n), np.diff(offsets))

    @staticmethod
    def stack(list: Any) -> Any:
        return np.stack(list)

    @staticmethod
    def cast(v: Any, like: Any) -> Any:
        return v.astype(like.dtype)

    @staticmethod
    def first(mask: Any) -> Any:
        return np.argmax(mask)


class _Torch:
    """What graphs need of torch, on the device of a tensor."""

    def __init__(self, of: Any) -> None:
        import torch

        self.torch, self.device = torch, of.device

    def repeat(self, n: int, offsets: Any, total: int) -> Any:
        t = self.torch
        return t.repeat_interleave(t.arange(n, device=self.device), offsets[1:] - offsets[:-1], output_size=total)

    def stack(self, list: Any) -> Any:
        return self.torch.stack(list)

    @staticmethod
    def cast(v: Any, like: Any) -> Any:
        return v.to(like.dtype)

    def first(self, mask: Any) -> Any:
        return self.torch.nonzero(mask)[0, 0]


_numpy = _Numpy()
