"""Random sources, random pipelines, and what numpy says must come out of them."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

Samples = List[Dict[str, Any]]


class Random:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def one(self, *of: Any) -> Any:
        return of[int(self.rng.integers(0, len(of)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)


class Source:
    """Files in sig/ and bg/, and their samples in the order of the inputs."""

    def __init__(self, kind: str, inputs: List[str], rows: Samples, text: bool, lists: Tuple[str, ...]) -> None:
        self.kind, self.inputs, self.rows, self.text, self.lists = kind, inputs, rows, text, lists


WORDS = ["", "cat", "dog", "\u00e9t\u00e9", "\u4e2d", "a b", "Z"]


def rows(r: Random, n: int, first: int, kind: str) -> Samples:
    out = []
    for i in range(n):
        s: Dict[str, Any] = {"uid": np.int64(first + i)}
        s["x"] = np.float32(np.nan if r.chance(0.1) else r.rng.normal())
        s["y"] = np.float64(r.one(r.rng.normal(), float(r.rng.integers(-9, 9)), 1e6 * r.rng.normal()))
        s["k"] = np.int32(r.rng.integers(-3, 4))
        s["big"] = np.int64(r.rng.integers(-(2**62), 2**62))
        s["flag"] = np.bool_(r.chance(0.5))
        if kind != "root":
            s["vx"] = r.rng.normal(size=3).astype("f4")
            s["m"] = r.rng.integers(-100, 100, (2, 2)).astype("i2")
            s["s"] = r.one(*WORDS)
        if kind != "npz":
            k = int(r.one(0, 1, r.rng.poisson(2), r.rng.poisson(4)))
            s["J.pt"] = r.rng.integers(0, 6, k).astype("f4") / np.float32(2)
            s["J.eta"] = r.rng.normal(size=k)
            s["J.q"] = r.rng.integers(-1, 2, k).astype("i4")
        out.append(s)
    return out


def put(kind: str, path: str, samples: Samples, r: Random) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    like = samples or rows(r, 1, 0, kind)
    table = {c: [s[c] for s in samples] for c in like[0]}
    if kind == "npz":
        arrays = {c: np.asarray(v, "U3" if c == "s" else np.asarray(like[0][c]).dtype) for c, v in table.items()}
        arrays = {c: a.reshape((len(samples),) + np.shape(like[0][c])) for c, a in arrays.items()}
        r.one(np.savez, np.savez_compressed)(path, **arrays)
    elif kind == "hdf5":
        import h5py

        with h5py.File(path, "w") as f:
            for c, v in table.items():
                if c == "s":
                    f.create_dataset(c, (len(v),), h5py.string_dtype(), v)
                elif c.startswith("J."):
                    d = f.create_dataset(c, (len(v),), h5py.vlen_dtype(like[0][c].dtype))
                    for i, x in enumerate(v):
                        d[i] = x
                else:
                    f.create_dataset(c, data=np.asarray(v, np.asarray(like[0][c]).dtype))
    else:
        import awkward as ak
        import uproot

        def jagged(c: str) -> Any:
            flat = np.concatenate([like[0][c][:0]] + table[c])
            return ak.unflatten(flat, [len(v) for v in table[c]])

        with uproot.recreate(path) as f:
            flat = {c: np.asarray(v, np.asarray(like[0][c]).dtype) for c, v in table.items() if not c.startswith("J.")}
            whole = dict(flat, J=ak.zip({c[2:]: jagged(c) for c in table if c.startswith("J.")}))
            f["T"] = whole


def sources(r: Random, folder: str) -> Source:
    kind = r.one("npz", "npz", "hdf5", "root")
    names, first, every = [], 0, {}
    twins = r.chance(0.5)  # files of both folders have the same names
    for side in ("sig", "bg"):
        for i in range(int(r.one(1, 1, 2, 4))):
            n = int(r.one(0 if kind == "npz" else 1, 1, 7, 40, 150))
            samples = rows(r, n, first, kind)
            first += n
            name = "%s/f%d%s.%s" % (side, i, "" if twins else side, {"npz": "npz", "hdf5": "h5", "root": "root"}[kind])
            put(kind, os.path.join(folder, name), samples, r)
            names.append(name)
            every[name] = samples
    if r.chance(0.5):
        inputs, order = [os.path.join(folder, d) for d in ("sig", "bg")], names
    else:
        inputs, order = [folder], sorted(names)
    out: Samples = []
    for name in order:
        below = name if len(inputs) == 1 else name.split("/")[1]
        for i, s in enumerate(every[name]):
            out.append(dict(s, _file=below, _at=i, _side=name.split("/")[0], _input=order.index(name)))
    return Source(kind, inputs, out, kind != "root", ("J.pt", "J.eta", "J.q") if kind != "npz" else ())


def same(want: Any, got: Any) -> bool:
    if want is None or got is None:
        return want is got
    if isinstance(want, str):
        return isinstance(got, str) and want == got
    a, b = np.asarray(want), np.asarray(got)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(np.array_equal(a, b, equal_nan=True)) if a.dtype.kind == "f" else bool(np.array_equal(a, b))


Test = Tuple[str, Callable[[Dict[str, Any]], bool]]
WHERE: List[Test] = [
    ("uid % 3 != 0", lambda s: s["uid"] % 3 != 0),
    ("x > 0.1", lambda s: float(s["x"]) > 0.1),
    ("!(x > 0.1)", lambda s: not float(s["x"]) > 0.1),
    ("isfinite(x) && y < 3", lambda s: bool(np.isfinite(s["x"])) and s["y"] < 3),
    ("k in [1, 2] || flag", lambda s: s["k"] in (1, 2) or bool(s["flag"])),
    ("k in -1..2", lambda s: -1 <= s["k"] <= 2),
    ("-1 < y <= 5", lambda s: -1 < s["y"] <= 5),
    ("big > 4611686018427387 and k != 0", lambda s: s["big"] > 4611686018427387 and s["k"] != 0),
    ("7 % k > 0", lambda s: s["k"] != 0 and 7 % int(s["k"]) > 0),
    ("x != x", lambda s: bool(np.isnan(s["x"]))),
    ("uid < 0", lambda s: False),
]
TEXTS: List[Test] = [
    ('s == "cat"', lambda s: s["s"] == "cat"),
    ('s in ["\u00e9t\u00e9", "dog", ""]', lambda s: s["s"] in ("\u00e9t\u00e9", "dog", "")),
    ("sum(vx) > 0", lambda s: sum(float(v) for v in s["vx"]) > 0),
    ("any(m > 90)", lambda s: bool((s["m"] > 90).any())),
]
LISTS: List[Test] = [
    ("max(J.pt) > 1", lambda s: len(s["J.pt"]) > 0 and s["J.pt"].max() > 1),
    (
        "len(J.pt) >= 2 && any(abs(J.eta) < 0.5)",
        lambda s: len(s["J.pt"]) >= 2 and bool((abs(s["J.eta"]) < 0.5).any()),
    ),
    ("J.pt[0] > 0.5", lambda s: len(s["J.pt"]) > 0 and s["J.pt"][0] > 0.5),
    ("count(J.q == 1) == 1", lambda s: (s["J.q"] == 1).sum() == 1),
    ("sum(J.eta[J.pt > 1]) < 0", lambda s: _sum(s["J.eta"][s["J.pt"] > 1]) < 0),
    ("all(J.q >= 0)", lambda s: bool((s["J.q"] >= 0).all())),
]


def _has_nan(v: Any) -> bool:
    return v is not None and np.asarray(v).dtype.kind == "f" and bool(np.isnan(v).any())


def _sum(values: Any) -> float:
    total = 0.0
    for v in values:
        total += float(v)
    return total


Made = Tuple[str, str, Callable[[Dict[str, Any]], Any]]
DEFINE: List[Made] = [
    ("d", "x * 2 + 1", lambda s: np.float32(float(s["x"]) * 2 + 1)),
    ("d", "x + y", lambda s: np.float64(float(s["x"]) + float(s["y"]))),
    ("d", "uid % 7 - k", lambda s: np.int64(int(s["uid"]) % 7 - int(s["k"]))),
    ("d", "uid / 4", lambda s: np.float64(int(s["uid"]) / 4)),
    ("d", "flag && k > 0", lambda s: np.bool_(bool(s["flag"]) and s["k"] > 0)),
    ("d:i8", "k * k", lambda s: np.int8(int(s["k"]) ** 2)),
    ("d", "k > 0 ? y : -y", lambda s: np.float64(s["y"] if s["k"] > 0 else -s["y"])),
    ("d", "(7 % k) ?? -1", lambda s: np.int64(7 % int(s["k"]) if s["k"] != 0 else -1)),
]
DEFINE_LISTS: List[Made] = [
    ("d", "sum(J.pt)", lambda s: np.float32(_sum(s["J.pt"]))),
    ("d", "len(J.eta)", lambda s: np.int64(len(s["J.eta"]))),
    ("d", "max(J.eta) ?? -9", lambda s: np.float64(max(map(float, s["J.eta"])) if len(s["J.eta"]) else -9)),
    ("d", "J.q[-1] ?? 5", lambda s: np.int64(s["J.q"][-1] if len(s["J.q"]) else 5)),
    ("d", "J.eta[argmax(J.pt)] ?? 0", lambda s: np.float64(s["J.eta"][s["J.pt"].argmax()] if len(s["J.pt"]) else 0)),
    ("d", "min(J.pt)", lambda s: np.float32(s["J.pt"].min()) if len(s["J.pt"]) else None),
    ("d:i32", "sum(J.q)", lambda s: np.int32(s["J.q"].sum())),
]


class Pipeline:
    """Flags, and the samples that they must leave."""

    def __init__(self, r: Random, src: Source) -> None:
        self.r, self.src = r, src
        self.rows = [dict(s) for s in src.rows]
        self.read = len(self.rows)
        self.used: List[str] = []
        self.refused = ""
        self.part = 1.0  # of --fraction
        self.split: Dict[str, Any] = {}
        self.by = ("", "")
        self.copies, self.provenance, self.shuffle = 1, False, "none"
        self.fuzzy: Dict[str, str] = {}  # field -> what is random about it
        self.expected: Optional[Dict[str, int]] = {}
        self.codes: Dict[str, str] = {}
        self.hidden: List[str] = []
        self.format = "mmap"
        self.schemas: Dict[str, Dict[str, Any]] = {}

    def flags(self) -> List[str]:
        out: List[str] = []
        p = self.r.chance
        for name, chance in CHANCES:
            if p(chance):
                made = getattr(self, "_" + name)()
                if made:
                    self.used.append(name)
                    out += made
        self.format = "mmap" if self.expected is None else self.r.one("mmap", "mmap", "wds")
        self.shuffle = self.r.one("none", "block", "global")
        random = self.shuffle != "none" or self.fuzzy or "fraction" in self.used
        out += ["--format", self.format, "--seed", str(self.r.one(0, 1, 77) if random else 0)]  # a seed of nothing is refused
        size = self.r.one("--shard-samples", "--shard-samples", "--shard-size")
        of = (1, 13, 60, 1000) if size == "--shard-samples" else ("4KiB", "16KiB", "64MiB")
        out += [size, str(self.r.one(*of))]
        if len(self.rows) > 300 and out[-1] == "1":
            out[-1] = "5"
        self.provenance = p(0.4)
        order = list(range(0, len(out), 2))
        self.r.rng.shuffle(order)
        if not self.repeated(out):
            out = [x for i in order for x in out[i : i + 2]]
        return out + ["--shuffle", self.shuffle] + ["--provenance"] * self.provenance

    @staticmethod
    def repeated(out: List[str]) -> bool:
        return len(set(out[::2])) < len(out[::2])

    def names(self) -> List[str]:
        return [c for c in (self.rows[0] if self.rows else {}) if not c.startswith("_")]

    def has(self, *names: str) -> bool:
        return bool(self.rows) and all(n in self.rows[0] for n in names)

    # ---- operations, in the order in which they run

    def _set(self) -> List[str]:
        kind = self.r.one("int", "float", "text", "rest")
        values: Dict[str, Tuple[Any, Any]] = {
            "int": (np.int64(1), np.int64(0)),
            "float": (np.float32(0.25), np.float32(2)),
            "text": ("\u00fc b", ""),
            "rest": (np.int64(7), np.int64(-7)),
        }
        sig, bg = values[kind]
        for s in self.rows:
            s["label"] = sig if s["_side"] == "sig" else bg
        if kind == "float":
            return ["--set", "label:f32=0.25@sig/*", "--set", "label:f32=2@bg/"]
        if kind == "text":
            return ["--set", "label:txt=\u00fc b@sig/*", "--set", "label:txt=\"\"@bg/**"]
        if kind == "rest":
            return ["--set", "label=7@sig/f*", "--set", "label=-7"]
        return ["--set", "label=1@**/sig/*", "--set", "label=0@bg/*"]

    def _fraction(self) -> List[str]:
        self.part = float(self.r.one(0.5, 0.9, 0.1))
        return ["--fraction", "bg/*=%s" % self.part]

    def _where(self) -> List[str]:
        tests = WHERE + (TEXTS if self.src.text else []) + (LISTS if self.src.lists else [])
        text, test = self.r.one(*tests)
        if text == "uid < 0" and self.r.chance(0.7):
            return []
        self.rows = [s for s in self.rows if test(s)]
        return ["--where", text]

    def _split(self) -> List[str]:
        kind = self.r.one("shares", "rest", "count", "stratify", "group", "identity", "dirs", "globs")
        if kind in ("dirs", "globs"):
            self.split = {"sides": True}
            if kind == "dirs":
                self.split = {"sides": {"sig": "sig", "bg": "bg"}}
                return ["--split-from", "dirs"]
            self.split = {"sides": {"sig": "train", "bg": "val"}}
            return ["--split-from", "train=sig/*,val=bg/*"]
        if kind == "count":
            n = int(self.r.one(2, 5, 20))
            self.split = {"names": ["train", "val"], "count": n}
            if n > len(self.rows) and self.part == 1:
                self.refused = "samples there are"
            if self.part < 1 and n > sum(s["_side"] == "sig" for s in self.rows):
                self.split = {}
                return []
            return ["--split", "train=rest,val=%d" % n]
        self.split = {"names": ["train", "val"], "share": 0.7}
        text = "train=0.7,val=0.3"
        if kind == "rest":
            text, self.split["names"] = "train=0.7,val=0.2,test=rest", ["train", "val", "test"]
        out = ["--split", text]
        if kind in ("stratify", "group"):
            field = self.r.one("k", "flag") if not self.src.text else self.r.one("k", "s", "flag")
            self.by = (kind, field)
            out += ["--%s" % {"stratify": "stratify", "group": "group-by"}[kind], field]
            self.used.append(out[-2][2:])
        if kind == "identity":
            self.by = ("group", "big")
            out += ["--identity", "big"]
            self.used.append("identity")
        return out

    def _copies(self) -> List[str]:
        self.copies = int(self.r.one(2, 3))
        return ["--copies", str(self.copies)]

    def _augment(self) -> List[str]:
        train = "train" if self.split and self.split.get("sides", {}).get("sig") != "sig" else ""
        kinds = ["twice", "zero"] + (["permute"] if self.src.lists else []) + (["phi"] if self.src.lists else [])
        kind = self.r.one(*kinds)
        self.splits_with = train
        if kind == "twice":
            self.fuzzy["y"] = "twice"
            return ["--augment", "scale=y,range=2:2"]
        if kind == "zero":
            return ["--augment", "mask=y,p=0"]
        if kind == "phi":
            self.fuzzy["J.eta"] = "phi"
            return ["--augment", "rotate-phi=J.eta"]
        if self.src.kind == "root":
            self.fuzzy.update({c: "permute" for c in self.src.lists})
            return ["--augment", "permute=J"]
        self.fuzzy["J.pt"] = "permute"
        return ["--augment", "permute=J.pt"]

    def _define(self) -> List[str]:
        if self.fuzzy:
            return []
        name, text, f = self.r.one(*(DEFINE + (DEFINE_LISTS if self.src.lists else [])))
        for s in self.rows:
            s["d"] = f(s)
        if text == "min(J.pt)" or "%" in text and "??" not in text:
            self.expected = None  # nullable whether or not a value lacks
        return ["--define", "%s=%s" % (name, text)]

    def _nan(self) -> List[str]:
        kind = self.r.one("drop", "fill", "x")
        bad = [any(_has_nan(v) for c, v in s.items() if c[0] != "_") for s in self.rows]
        if kind == "drop":
            if "count" in self.split or self.by[0] == "stratify":
                self.split = {"names": self.split["names"]}
                self.by = ("", "")
            self.rows = [s for s, b in zip(self.rows, bad) if not b]
            return ["--nan", "drop"]
        if kind == "fill":
            for s in self.rows:
                for c in self.names():
                    v = s[c]
                    if v is not None and np.asarray(v).dtype.kind == "f":
                        s[c] = np.where(np.isnan(v), np.asarray(-1, v.dtype), v)[()]
            return ["--nan", "fill=-1"]
        for s in self.rows:
            s["x"] = np.float32(0.5) if np.isnan(s["x"]) else s["x"]
        return ["--nan", "x=fill=0.5", "--nan", "*=keep"]

    def _encode(self) -> List[str]:
        field = self.r.one("s", "k") if self.src.text else "k"
        if not self.rows:
            return []
        self.codes[field] = field
        return ["--encode", field]

    def _sort(self) -> List[str]:
        if not self.src.lists or self.fuzzy:
            return []
        down = self.r.chance(0.7)
        fields = self.src.lists if self.src.kind == "root" else ("J.pt",)
        for s in self.rows:
            key = s["J.pt"].astype("f8")
            order = np.argsort(-key if down else key, kind="stable")
            for c in fields:
                s[c] = s[c][order]
        return ["--sort", "%s=%sJ.pt" % ("J" if self.src.kind == "root" else "J.pt", "-" if down else "")]

    def _stack(self) -> List[str]:
        if self.fuzzy:
            return []
        parts = ("J.pt", "J.eta") if self.src.lists else ("x", "k")
        if self.r.chance(0.5) and self.src.lists:
            parts = ("J.pt", "J.q")
        if not self.src.lists and "k" in self.codes:
            return []
        for s in self.rows:
            joined = np.result_type(*[np.asarray(s[c]).dtype for c in parts])
            s["st"] = np.stack([s[c] for c in parts], -1).astype(joined)
            for c in parts:
                del s[c]
        return ["--stack", "st=" + ",".join(parts)]

    def _pad(self) -> List[str]:
        field = "st" if "stack" in self.used else "J.q"
        if not self.src.lists or self.fuzzy:
            return []
        if self.rows and not self.has(field):
            return []
        n, fill = int(self.r.one(1, 3, 8, 200)), int(self.r.one(0, -1))
        for s in self.rows:
            v = s[field]
            out = np.full((n,) + v.shape[1:], fill, v.dtype)
            out[: min(n, len(v))] = v[:n]
            s[field] = out
            s[field + "_mask"] = np.arange(n) < len(v)
        return ["--pad", "%s=%d" % (field, n) + (":%d" % fill if fill else "")]

    def _rename(self) -> List[str]:
        new = self.r.one("other", "\u00f1 o", "x.y", "a-b")
        if not self.has("big") or "\u00f1" in new and self.r.chance(0.5):
            return []
        for s in self.rows:
            s[new] = s.pop("big")
        return ["--rename", new + "=big"]

    def _cast(self) -> List[str]:
        if self.fuzzy:
            return []
        kind = self.r.one("f64=f32", "*=f32", "y=f16", "uid=i32", "*=f64", "flag=u8")
        with np.errstate(over="ignore"):
            for s in self.rows:
                for c in self.names():
                    v = s[c]
                    if v is None or isinstance(v, str):
                        continue
                    dt = np.asarray(v).dtype
                    to = None
                    if kind == "f64=f32" and dt == "f8" or kind == "*=f32" and dt.kind == "f":
                        to = "f4"
                    elif kind == "*=f64" and dt.kind == "f":
                        to = "f8"
                    elif c == kind.split("=")[0]:
                        to = {"f16": "f2", "i32": "i4", "u8": "u1"}[kind.split("=")[1]]
                    if to:
                        s[c] = np.asarray(v).astype(to)[()]
        return ["--cast", kind]

    def _pack(self) -> List[str]:
        if not self.has("y", "uid", "x") or self.fuzzy:
            return []
        if np.asarray(self.rows[0]["y"]).dtype != np.asarray(self.rows[0]["x"]).dtype:
            return []
        for s in self.rows:
            s["features"] = np.asarray([s["y"], s["x"]], np.asarray(s["x"]).dtype)
            del s["y"], s["x"]
        return ["--pack", "features=y,x"]

    # ---- what was found

    def members(self, parts: Dict[str, Samples]) -> None:
        want = {int(s["uid"]): s for s in self.rows}
        count: Dict[int, int] = {}
        for name, samples in parts.items():
            copies = self.copies if name in ("", "train") or "train" not in parts else 1
            times: Dict[int, int] = {}
            for s in samples:
                times[int(s["uid"])] = times.get(int(s["uid"]), 0) + 1
            for uid, n in times.items():
                assert uid in want, "%r: sample %d should have been left out" % (name, uid)
                assert n == copies, "%r: sample %d is there %d times, not %d" % (name, uid, n, copies)
                assert uid not in count, "sample %d is in two splits" % uid
                count[uid] = 1
        missing = [u for u in want if u not in count and (self.part == 1 or want[u]["_side"] == "sig")]
        assert not missing, "samples are missing: %s" % missing[:10]
        if self.part < 1:
            of = sum(s["_side"] == "bg" for s in self.rows)
            kept = sum(s["_side"] == "bg" and int(s["uid"]) in count for s in self.rows)
            sigma = (of * self.part * (1 - self.part)) ** 0.5
            assert abs(kept - of * self.part) <= 5.5 * sigma + 1, "%d of %d samples kept for %s" % (kept, of, self.part)
        self.lookup = want
        if self.split:
            self.shares(parts, {u: want[u] for u in count})

    def shares(self, parts: Dict[str, Samples], there: Dict[int, Dict[str, Any]]) -> None:
        uids = {name: {int(s["uid"]) for s in samples} for name, samples in parts.items()}
        if "sides" in self.split:
            for uid, s in there.items():
                assert uid in uids[self.split["sides"][s["_side"]]], "sample %d is in the wrong split" % uid
            return
        assert sorted(parts) == sorted(self.split["names"]), "splits %s" % sorted(parts)
        if "count" in self.split:
            assert len(uids["val"]) == self.split["count"], "%d samples in val" % len(uids["val"])
        raw = {int(s["uid"]): s for s in self.src.rows}
        kind, field = self.by
        if kind == "group":
            seen: Dict[Any, str] = {}
            for name, of in uids.items():
                for u in of:
                    v = raw[u][field]
                    assert seen.setdefault(v, name) == name, "%s=%s is in two splits" % (field, v)
        elif kind == "stratify":
            classes: Dict[Any, List[int]] = {}
            for u in there:
                classes.setdefault(raw[u][field], []).append(u)
            for v, of in classes.items():
                n = len(uids["train"].intersection(of))
                assert abs(n - 0.7 * len(of)) <= 0.5001, "%d of %d with %s=%s in train" % (n, len(of), field, v)
        elif "share" in self.split and there:
            n, p = len(there), 0.7
            k = len(uids["train"])
            assert abs(k - n * p) <= 5.5 * (n * p * (1 - p)) ** 0.5 + 1, "%d of %d in train" % (k, n)

    def sample(self, part: str, s: Dict[str, Any]) -> None:
        want = self.lookup[int(s["uid"])]
        names = {c for c in want if not c.startswith("_")} | ({"origin"} if self.provenance else set())
        got = {c for c in s if c != "__key__"}
        assert got == names, "fields %s, want %s" % (sorted(got), sorted(names))
        for c in names - {"origin"}:
            w, g = want[c], s[c]
            if c in self.codes:
                vocab = self.vocab(part, c)
                g = vocab[int(g)]
                assert g == (w if isinstance(w, str) else int(w)), "%s of sample %d: %r, want %r" % (c, s["uid"], g, w)
                continue
            if c in self.fuzzy:
                self.random(part, c, w, g)
                continue
            assert same(w, g), "%s of sample %d: %r, want %r" % (c, s["uid"], g, w)

    def vocab(self, part: str, name: str) -> List[Any]:
        return self.schemas[part][name]

    def random(self, part: str, c: str, w: Any, g: Any) -> None:
        kind = self.fuzzy[c]
        if part == "val" or part == "test":
            ok = same(w, g)
        elif kind == "twice":
            ok = same(w * 2, g)
        elif kind == "permute":
            ok = same(np.sort(w), np.sort(g))
        else:
            turn = np.remainder(g - w, 2 * np.pi)
            z = np.exp(1j * turn)
            ok = g.dtype == w.dtype and len(g) == len(w) and (len(g) == 0 or bool(np.allclose(z, z[0], atol=1e-6)))
        assert ok, "%s of %s: %r from %r" % (kind, c, g, w)

    def origins(self, files: List[str], samples: Samples) -> None:
        seen = set()
        for s in samples:
            want, o = self.lookup[int(s["uid"])], s["origin"].tolist()
            place = (want["_file"], want["_input"], want["_at"])
            assert (files[o[0]], o[0], o[1]) == place, "origin %s of %s" % (o, place)
            assert len(o) == (3 if self.copies > 1 else 2), "origin %s" % o
            assert tuple(o) not in seen and (len(o) == 2 or 0 <= o[2] < self.copies), "origin %s again" % o
            seen.add(tuple(o))

    def order(self, parts: Dict[str, Samples], manifest: Dict[str, Any]) -> None:
        at = {int(s["uid"]): i for i, s in enumerate(self.src.rows)}
        for name, samples in parts.items():
            places = [at[int(s["uid"])] for s in samples]
            if self.shuffle == "none":
                assert places == sorted(places), "%r is out of order" % name
            elif self.shuffle == "global" and self.copies == 1 and len(places) > 60:
                c = np.corrcoef(np.arange(len(places)), places)[0, 1]
                assert abs(c) < 5 / len(places) ** 0.5, "%r is in order: %.2f" % (name, c)
                assert places != sorted(places)


CHANCES = [
    ("set", 0.4),
    ("fraction", 0.15),
    ("where", 0.5),
    ("split", 0.5),
    ("copies", 0.2),
    ("augment", 0.2),
    ("define", 0.4),
    ("nan", 0.25),
    ("encode", 0.25),
    ("sort", 0.4),
    ("stack", 0.35),
    ("pad", 0.4),
    ("rename", 0.2),
    ("cast", 0.3),
    ("pack", 0.25),
]
