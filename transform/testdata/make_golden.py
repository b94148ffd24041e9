"""Writes golden.json: what numpy and awkward make of the expressions and operations that
the tests run. python3 make_golden.py > golden.json"""
import json
import warnings

import awkward as ak
import numpy as np

warnings.simplefilter("ignore")
r = np.random.default_rng(7)
N = 60
DT = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64"}


def plain(v):
    v = np.asarray(v)
    if v.dtype.kind == "f":
        return [repr(float(x)) if not np.isfinite(x) else float(x) for x in v.ravel()]
    return [x.item() for x in v.ravel()]


def column(v, valid=None, name=None):
    out = {}
    if name:
        out["name"] = name
    if isinstance(v, ak.Array) and v.ndim > 1:
        n = ak.to_numpy(ak.num(v))
        flat = ak.to_numpy(ak.flatten(v))
        out["offsets"] = [0] + np.cumsum(n).tolist()
    else:
        flat = ak.to_numpy(v) if isinstance(v, ak.Array) else np.asarray(v)
        if flat.ndim > 1:
            out["shape"] = list(flat.shape[1:])
    out["dtype"] = DT[flat.dtype.name]
    out["data"] = plain(flat)
    if valid is not None:
        out["valid"] = [int(x) for x in valid]
    return out


def masked(v):
    """An option array as values (0 where missing) and validity."""
    valid = ~ak.to_numpy(ak.is_none(v))
    return column(ak.fill_none(v, 0), valid)


counts = r.integers(0, 6, N)
counts[:3] = [0, 5, 1]
total = int(counts.sum())
pt = ak.unflatten(np.round(r.exponential(40, total), 1).astype("f4"), counts)
eta = ak.unflatten(r.normal(0, 2, total).astype("f4"), counts)
jid = ak.unflatten(r.integers(-3, 8, total).astype("i4"), counts)
tag = ak.unflatten(r.random(total) < 0.3, counts)
hits_n = r.integers(0, 4, N)
hits = ak.unflatten(r.integers(0, 100, int(hits_n.sum())).astype("i2"), hits_n)
n = counts.astype("u1")
x = r.normal(0, 3, N)
x[5], x[6], x[7] = np.nan, np.inf, -0.0
y = r.normal(0, 3, N).astype("f4")
y[8] = 0
h = r.normal(0, 100, N).astype("f2")
i = r.integers(-50, 50, N)
k = r.integers(-5, 6, N).astype("i2")
k[k == 0] = 3
flag = r.random(N) < 0.5
v3 = r.normal(0, 1, (N, 3)).astype("f4")
m = r.normal(0, 1, N).astype("f4")
mv = r.random(N) < 0.7
m[~mv] = 0
mm = ak.mask(ak.Array(m), mv)

columns = [
    column(pt, name="pt"), column(eta, name="eta"), column(jid, name="jid"), column(tag, name="tag"), column(hits, name="hits"),
    column(n, name="n"), column(x, name="x"), column(y, name="y"), column(h, name="h"), column(i, name="i"), column(k, name="k"),
    column(flag, name="flag"), column(v3, name="v3"), column(m, mv, name="m"),
]
f8 = lambda a: ak.values_astype(a, "f8") if isinstance(a, ak.Array) else np.asarray(a).astype("f8")
X, Y, H, PT, ETA, V3 = x, f8(y), f8(h), f8(pt), f8(eta), f8(v3)
f4 = lambda a: ak.values_astype(a, "f4") if isinstance(a, ak.Array) else np.asarray(a).astype("f4")
i8 = lambda a: ak.values_astype(a, "i8") if isinstance(a, ak.Array) else np.asarray(a).astype("i8")
first = lambda a: ak.pad_none(a, 1)[:, 0]
none = lambda a, d: ak.fill_none(a, d)

cases = [
    ("x + y * 2", X + Y * 2),
    ("y / x", Y / X),
    ("i / k", i / k),
    ("i % k", np.mod(i, k.astype("i8"))),
    ("x % y", np.mod(X, Y)),
    ("i * k - 7", i * k - 7),
    ("-i + 3", -i + 3),
    ("y ** 2 + h", f4(Y ** 2 + H)),
    ("abs(y) ** 0.5", f4(np.abs(Y) ** 0.5)),
    ("x < 1 && y >= 0 || flag", (X < 1) & (Y >= 0) | flag),
    ("not (x < 1) and flag", ~(X < 1) & flag),
    ("x != x", X != X),
    ("0 < x <= 2", (0 < X) & (X <= 2)),
    ("i in [1, 2, 3, -4]", np.isin(i, [1, 2, 3, -4])),
    ("i in [" + ", ".join(map(str, range(-40, 0, 2))) + "]", np.isin(i, range(-40, 0, 2))),
    ("i in -5..5", (i >= -5) & (i <= 5)),
    ("i not in [0, 7]", ~np.isin(i, [0, 7])),
    ("sqrt(abs(y))", f4(np.sqrt(np.abs(Y)))),
    ("floor(x) + ceil(x) + trunc(x) + round(x)", np.floor(X) + np.ceil(X) + np.trunc(X) + np.round(X)),
    ("isnan(x) || isinf(x)", np.isnan(X) | np.isinf(X)),
    ("isfinite(x)", np.isfinite(X)),
    ("flag ? i : -i", np.where(flag, i, -i)),
    ("flag ? x : 1", np.where(flag, X, 1.0)),
    ("min(x, y)", np.minimum(X, Y)),
    ("max(i, k, 0)", np.maximum(np.maximum(i, k), 0)),
    ("len(pt)", i8(ak.num(pt))),
    ("sum(pt)", f4(ak.sum(PT, axis=1))),
    ("sum(jid)", i8(ak.sum(jid, axis=1))),
    ("sum(hits) + n", i8(ak.sum(hits, axis=1)) + n),
    ("count(pt > 30 && abs(eta) < 2.5)", i8(ak.sum((PT > 30) & (np.abs(ETA) < 2.5), axis=1))),
    ("sum(tag)", i8(ak.sum(tag, axis=1))),
    ("any(jid > 5)", ak.any(jid > 5, axis=1)),
    ("all(pt > 10)", ak.all(PT > 10, axis=1)),
    ("all(pt[tag] > 10)", ak.all(PT[tag] > 10, axis=1)),
    ("any(pt > 5 * n)", ak.any(PT > 5 * n.astype("i8"), axis=1)),
    ("max(pt) ?? -1", f4(none(ak.max(PT, axis=1), -1))),
    ("min(jid) ?? 99", i8(none(ak.min(jid, axis=1), 99))),
    ("mean(eta) ?? 0", f4(np.nan_to_num(ak.to_numpy(ak.mean(ETA, axis=1))))),
    ("argmax(pt) ?? -1", i8(none(ak.argmax(PT, axis=1), -1))),
    ("eta[argmax(pt)] ?? 9", f4(none(first(ETA[ak.argmax(PT, axis=1, keepdims=True)]), 9))),
    ("pt[0] ?? -1", f4(none(first(PT), -1))),
    ("pt[-1] ?? -1", f4(none(first(PT[:, ::-1]), -1))),
    ("pt[2] ?? -1", f4(none(ak.pad_none(PT, 3)[:, 2], -1))),
    ("jid[tag][0] ?? -9", i8(none(first(jid[tag]), -9))),
    ("jid[tag][-1] ?? -9", i8(none(first(jid[tag][:, ::-1]), -9))),
    ("len(pt[pt > 30])", i8(ak.num(PT[PT > 30]))),
    ("sum(pt[abs(eta) < 1.5])", f4(ak.sum(PT[np.abs(ETA) < 1.5], axis=1))),
    ("max((pt * 2 + 1)[tag]) ?? 0", f4(none(ak.max((PT * 2 + 1)[tag], axis=1), 0))),
    ("sum(pt * pt) > 1000", ak.sum(PT * PT, axis=1) > 1000),
    ("pt * 0.5 + eta", f4(PT * 0.5 + ETA)),
    ("pt > 20", PT > 20),
    ("x > 0 ? pt : eta", f4(ak.where(ak.broadcast_arrays(ak.Array(X), PT)[0] > 0, PT, ETA))),
    ("jid * 3 - n", i8(jid) * 3 - n.astype("i8")),
    ("v3[1] - v3[-1]", f4(V3[:, 1] - V3[:, 2])),
    ("sum(v3 * v3)", f4((V3 * V3)[:, 0] + (V3 * V3)[:, 1] + (V3 * V3)[:, 2])),
    ("v3 * 2 - y", f4(V3 * 2 - Y[:, None])),
    ("max(v3) > y", V3.max(axis=1) > Y),
    ("int(y)", i8(np.trunc(y)), np.ones(N)),
    ("float(i) / 4", i / 4),
    ("m ?? 5", f4(np.where(mv, m, 5))),
    ("m == nil", ~mv),
]
options = [
    ("m + 1", mm + np.float32(1)),
    ("max(pt)", ak.max(pt, axis=1)),
    ("pt[1]", ak.pad_none(pt, 2)[:, 1]),
]

out = {"samples": N, "columns": columns, "cases": []}
for c in cases:
    e = column(c[1], *c[2:])
    e["expr"] = c[0]
    out["cases"].append(e)
for text, v in options:
    e = masked(v)
    e["expr"] = text
    e["dtype"] = "f32"
    out["cases"].append(e)

casts = []
for name, v in [("x", x), ("y", y), ("h", h), ("i", i), ("k", k), ("n", n), ("flag", flag)]:
    for to in ["float16", "float32", "float64"] + ([] if name == "x" else ["int16", "int32", "int64"]):
        casts.append({"from": name, "to": DT[to], **column(v.astype(to))})
out["casts"] = casts

order = ak.argsort(pt, axis=1, ascending=False, stable=True)
out["sorted"] = [column(a[order], name=s) for s, a in [("pt", pt), ("eta", eta), ("jid", jid), ("tag", tag)]]
p3 = ak.fill_none(ak.pad_none(eta, 3, clip=True), np.float32(-1))
out["padded"] = [column(ak.to_numpy(ak.values_astype(p3, "f4")), name="eta"), column(np.arange(3) < counts[:, None], name="eta_mask")]
both = np.stack([ak.to_numpy(ak.flatten(pt)), ak.to_numpy(ak.flatten(eta)), ak.to_numpy(ak.flatten(jid)).astype("f8")], axis=-1)
out["stacked"] = {"name": "jets", "dtype": "f64", "shape": [3], "offsets": [0] + np.cumsum(counts).tolist(), "data": plain(both)}
print(json.dumps(out).replace('}, {"', '},\n{"'))
