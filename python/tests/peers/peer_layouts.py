"""Random folders of files: a conversion has the samples that the rules of docs/formats/inputs.md give, or is refused.

python3 peer_layouts.py WORK     SHARDIFY names the program; LAYOUTS folders from SEED
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from typing import Any, Dict, List, Optional, Set, Tuple
from urllib.parse import unquote

from expect import main

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "layouts")
LAYOUTS, SEED = int(os.environ.get("LAYOUTS", "200")), int(os.environ.get("SEED", "1"))

IMAGES = set("jpg png gif bmp webp tif ppm pgm pbm pnm avif heic jp2 jxl".split())
ABOUT = set("readme license licence copying notice authors citation changelog changes contributing".split())
ABOUT_ENDS = set(["", "md", "txt", "rst", "html", "org", "adoc", "cff", "bib", "bin"])
LISTS = {s + ".txt" for s in ("train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval", "trainval")}
ABOUT_FILES = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}
NOTES = set("txt csv tsv json jsonl md html xml yaml yml ini toml log pdf parquet names data".split())
SPLITS = {"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval"}
LEARN = {"train", "training"}
PARTS = {"images", "masks", "labels", "annotations", "depth", "rgb", "left", "right", "input", "target"}
SPLITS |= {s + y for s in SPLITS for y in ("2017", "_2014")}
LEARN |= {s + y for s in LEARN for y in ("2017", "_2014")}
Sample = Dict[str, bytes]  # by field; "cls" is the name of the class
Result = Optional[Dict[str, Dict[str, Sample]]]  # by split and key; None is refused


def ends(name: str, rule: str) -> Tuple[str, str]:
    """The stem and the extension of a name, rule 2 and 3."""
    at = len(name)
    if rule == "number":
        parts, k = name.split("."), len(name.split(".")[0])
        for i, p in enumerate(parts[1:], 1):
            last = i == len(parts) - 1
            if not re.match(r"[0-9]", p) or last and not p.isdigit():
                at = k
                break
            k += len(p) + 1
    elif "." in name:
        at = name.index(".") if rule == "first" else name.rindex(".")
    ext = name[at + 1 :].lower() or "bin"
    *head, tail = ext.split(".")
    return name[:at], ".".join(head + [{"jpeg": "jpg", "jpe": "jpg", "tiff": "tif"}.get(tail, tail)])


def samples_by(files: Dict[str, bytes], rule: str) -> Optional[Dict[str, Dict[str, Tuple[str, bytes]]]]:
    """Rule 4: by path of the stem, the names and bytes by extension; None for two files of one extension."""
    out: Dict[str, Dict[str, Tuple[str, bytes]]] = {}
    for path, data in files.items():
        folder, name = os.path.split(path)
        stem, ext = ends(name, rule)
        s = out.setdefault(os.path.join(folder, stem), {})
        if ext in s:
            return None
        s[ext] = (name, data)
    by: Dict[str, Set[str]] = {}
    for s in out.values():
        for ext in s:
            head, _, tail = ext.rpartition(".")
            if tail in IMAGES:
                by.setdefault(head, set()).add(ext)
    exts = {e for s in out.values() for e in s}
    for head, same in by.items():
        if len(same) > 1 and (head or "image") not in exts and not any(len(same & set(s)) > 1 for s in out.values()):
            for s in out.values():
                for ext in same & set(s):
                    s[head or "image"] = s.pop(ext)
    return out


def without_strays(samples: Dict[str, Dict[str, Tuple[str, bytes]]], missing: bool) -> Dict[str, Dict[str, Tuple[str, bytes]]]:
    """Rule 5."""

    def about(s: Dict[str, Tuple[str, bytes]]) -> bool:
        return all(n in ABOUT_FILES or n in LISTS or (n.lower().split(".")[0] in ABOUT and n.lower().partition(".")[2] in ABOUT_ENDS) for n, _ in s.values())

    def mains(of: List[Dict[str, Any]]) -> Set[str]:
        count = Counter(f for s in of for f in s)
        return {f for f, n in count.items() if 2 * n > len(of)}

    others = [s for s in samples.values() if not about(s)]
    main_fields, have = mains(others), {f for s in others for f in s}
    lacked = {f for f in have if not all(f in s for s in others)}
    if others:
        samples = {k: s for k, s in samples.items() if not about(s) or main_fields and main_fields <= set(s) and not lacked & set(s) and set(s) <= have}
    if missing:
        return samples
    others = list(samples.values())
    main_fields = mains(others)
    with_main = {f for s in others if set(s) & main_fields for f in s}
    few = {k: s for k, s in samples.items() if not set(s) & main_fields and not set(s) & with_main}
    size = lambda all: sum(len(d) for s in all for _, d in s.values())
    if len(few) == len(samples) or 2 * size(few.values()) > size(samples.values()):
        return samples
    if 10 * len(few) <= len(samples) or len(few) <= 3 and all(e.split(".")[-1] in NOTES for s in few.values() for e in s):
        return {k: s for k, s in samples.items() if k not in few}
    return samples


def stem_rule(files: Dict[str, bytes], missing: bool) -> str:
    first, number = samples_by(files, "first"), samples_by(files, "number")
    if first is None or number is None or all(ends(os.path.basename(p), "first") == ends(os.path.basename(p), "number") for p in files):
        return "first"
    first = without_strays(first, missing)
    exts = [sorted(s) for s in first.values()]
    same = len(first) > 1 and all(e == exts[0] for e in exts) and not any(e.split(".")[0].isdigit() for e in exts[0])
    return "first" if same else "number"


def reference(files: Dict[str, bytes], options: Dict[str, str]) -> Result:
    """The samples of a folder, or None where it must be refused."""
    files = {p: d for p, d in files.items() if not os.path.basename(p).startswith(".") and os.path.basename(p) not in ("Thumbs.db", "desktop.ini")}
    missing, labels, split_from = options.get("missing", "fail"), options.get("labels", "auto"), options.get("split-from", "")
    found = samples_by(files, options.get("stem") or stem_rule(files, missing != "fail"))
    if not found:
        return None
    found = without_strays(found, missing != "fail")
    wanted = {e for s in found.values() for e in s}
    if missing == "drop":  # rule 9 comes before rule 6
        found = {k: s for k, s in found.items() if set(s) == wanted}
    folders = {k: k.split(os.sep)[:-1] for k in found}
    firsts = {f[0] if f else "" for f in folders.values()}
    low = {f.lower() for f in firsts}
    all_splits = low <= SPLITS
    # Rule 8: classes are the first folders, or the second where the first are splits.
    level = 1 if (all_splits or split_from == "dirs") and any(len(f) > 1 for f in folders.values()) else 0
    names = [f[level] if len(f) > level else "" for f in folders.values()]
    images = any(e.split(".")[-1] in IMAGES | {"image"} for s in found.values() for e in s)
    classes = "" not in names and len(set(names)) > 1 and images and not (level == 0 and {n.lower() for n in names} <= SPLITS)
    if labels not in ("folder", "none") and beside(found, folders, level, classes):
        return None
    # Rule 7.
    splits = all_splits and len(firsts) > 1 and split_from == "" and not (labels == "folder" and level == 0) or split_from == "dirs"
    if split_from == "dirs" and "" in firsts:
        return None
    if not all_splits and split_from == "" and labels == "auto" and low & LEARN and low & SPLITS - LEARN:
        return None
    if labels == "folder":
        if "" in names:
            return None
        classes = True
    classes = classes and labels != "none"
    if missing != "drop" and any(set(s) != wanted for s in found.values()):
        return None
    out: Dict[str, Dict[str, Sample]] = {}
    for key, s in found.items():
        f = folders[key]
        sample = {e: d for e, (_, d) in s.items()}
        if classes:
            sample["cls"] = f[level].encode()
        out.setdefault(f[0] if splits else "", {})[key] = sample
    return out or None


def beside(found: Dict[str, Any], folders: Dict[str, List[str]], level: int, classes: bool) -> bool:
    """Rule 6: two folders hold parts of the same samples."""
    for depth in range(8):
        names: Dict[str, List[str]] = {}
        for key, f in folders.items():
            if len(f) > depth:
                names.setdefault(f[depth], []).append(key)
        if len(names) > 32 or {n.lower() for n in names} <= SPLITS:
            continue
        rest = {n: {os.sep.join(k.split(os.sep)[:depth] + k.split(os.sep)[depth + 1 :]) for k in keys} for n, keys in names.items()}

        def exts(n: str) -> Set[str]:
            count = Counter(e for k in names[n] for e in found[k])
            return {e for e, c in count.items() if 2 * c > len(names[n])} or set(count)

        for a in names:
            for b in names:
                x, y = sorted((rest[a], rest[b]), key=len)
                if a >= b or not x or len(x & y) < 1 or 2 * len(x & y) < len(x):
                    continue
                if {a.lower(), b.lower()} <= PARTS or not exts(a) & {e for k in names[b] for e in found[k]} or not exts(b) & {e for k in names[a] for e in found[k]}:
                    return True
                if depth == level and classes and rest[a] == rest[b]:
                    return True
    return False


def layout(rng: random.Random) -> Tuple[Dict[str, bytes], Dict[str, str]]:
    """A random folder and the options of its conversion."""
    pick, files = rng.choice, {}
    classes = rng.sample(["cat", "dog", "golden retriever", "7", "bus", "\u00e9t\u00e9", "a%20b", "train"], pick([0, 0, 1, 2, 2, 3]))
    splits = rng.sample(["train", "val", "test", "Training", "dev", "train2017", "val2017", "Test_2014"], pick([0, 0, 0, 1, 2, 3]))
    if rng.random() < 0.12:
        classes = rng.sample(["images", "masks", "depth", "notes"], 2)
    kinds = pick([["png"], ["jpg"], ["png", "txt"], ["jpg", "seg.png"], ["wav"], ["npy", "json"], ["PNG"], ["jpeg"]])
    mixed, dotted, same = rng.random() < 0.15, rng.random() < 0.15, rng.random() < 0.3
    n = 0
    for split in splits or [""]:
        for name in classes or [""]:
            for i in range(rng.randint(1, 4)):
                stem = "%s%d" % (pick(["", "x", "img_"]) if rng.random() < 0.1 else "x", i if same else n)
                n += 1
                if dotted:
                    stem += pick([".0", ".5", ".10"])
                for k in kinds:
                    k = pick(["png", "jpg"]) if mixed and k in ("png", "jpg") else k
                    if len(kinds) < 2 or rng.random() > 0.02:
                        files[os.path.join(split, name, stem + "." + k)] = rng.randbytes(rng.randint(10, 30)).hex().encode()
    for stray, chance in (("README.md", 0.2), ("LICENSE", 0.1), ("desktop.ini", 0.1), (".gitattributes", 0.1), ("dataset_infos.json", 0.05), ("notes.txt", 0.05), ("extra/1.bin", 0.03)):
        if rng.random() < chance:
            where = pick([""] + splits + [os.path.join(s, c) for s in splits or [""] for c in classes])
            files[os.path.join(where, stray)] = rng.randbytes(rng.randint(1, 5)).hex().encode()
    options: Dict[str, str] = {}
    if rng.random() < 0.15:
        options["labels"] = pick(["folder", "none"])
    if rng.random() < 0.1 and splits:
        options["split-from"] = pick(["dirs", "none"])
    if rng.random() < 0.1:
        options["missing"] = "drop"
    if rng.random() < 0.05:
        options["stem"] = pick(["first", "last", "number"])
    return files, options


def converted(root: str, options: Dict[str, str]) -> Tuple[Result, str]:
    """The samples of a conversion; None if it is refused, and what it says."""
    out = root + "-out"
    shutil.rmtree(out, ignore_errors=True)
    flags = ["--%s=%s" % (k, v) for k, v in options.items()]
    p = subprocess.run([BINARY, "convert", root, "-o", out, "--from", "files", "--format", "wds", "--sync", "none"] + flags, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if p.returncode != 0:
        assert not os.path.exists(os.path.join(out, "shardify.json")), p.stderr
        return None, p.stderr
    with open(os.path.join(out, "shardify.json")) as f:
        m = json.load(f)
    got: Dict[str, Dict[str, Sample]] = {}
    for split in m.get("splits") or [""]:
        with open(os.path.join(out, split, "shardify.json")) as f:
            part = json.load(f)
        labels = next((x["attrs"]["labels"].split("\n") for x in part["schema"] if x["name"] == "cls" and "labels" in x.get("attrs", {})), None)
        fields = {x["name"] for x in part["schema"]}
        for shard in part["shards"]:
            with tarfile.open(os.path.join(out, split, shard["name"])) as t:
                for member in t:
                    folder, name = os.path.split(member.name)
                    stem, _, field = name.partition(".")
                    head, _, tail = field.rpartition(".")
                    if tail in IMAGES and (head or "image") in fields:  # members keep their type
                        field = head or "image"
                    data = t.extractfile(member).read()  # type: ignore[union-attr]
                    if field == "cls" and labels:
                        data = labels[int(data)].encode()
                    got.setdefault(split, {}).setdefault(unquote(os.path.join(folder, stem)), {})[field] = data
    return got, p.stderr


def layouts() -> str:
    rng, equal, refused, both = random.Random(SEED), 0, 0, 0
    for i in range(LAYOUTS):
        root = os.path.join(WORK, "set")
        shutil.rmtree(root, ignore_errors=True)
        files, options = layout(rng)
        for path, data in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "wb") as f:
                f.write(data)
        want = reference(files, options)
        got, said = converted(root, options)
        if got is None:
            assert "hint: " in said or "shardify " in said or "--" in said, said
            refused, both = refused + 1, both + (want is None)
            continue
        assert got == want, "layout %d: %s with %s\n got %s\nwant %s\n%s" % (i, sorted(files), options, show(got), show(want), said)
        equal += 1
    assert 2 * equal > LAYOUTS, "%d of %d are refused" % (refused, LAYOUTS)
    return "%d random layouts: %d equal the rules of docs/formats/inputs.md, %d are refused (%d by the rules, too)" % (LAYOUTS, equal, refused, both)


def show(r: Result) -> str:
    return "refused" if r is None else json.dumps({s: {k: sorted(v) + [v.get("cls", b"").decode()] for k, v in x.items()} for s, x in r.items()}, sort_keys=True)


main([("layouts", layouts)])
