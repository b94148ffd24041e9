"""Random annotation files beside images: --parse has what the rules of the field give.

python3 peer_annotations.py WORK     SHARDIFY names the program; LAYOUTS sets from SEED

VOC is read as torchvision.datasets.VOCDetection reads it (xml.etree), YOLO as ultralytics does (rows of float32), KITTI as
the table in the devkit's readme says.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections import Counter
from typing import Any, Dict, List

import numpy as np
from expect import main

BINARY = os.environ.get("SHARDIFY", "shardify")
WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "annotations")
LAYOUTS, SEED = int(os.environ.get("LAYOUTS", "60")), int(os.environ.get("SEED", "1"))
CLASSES = ["dog", "cat", "traffic light", "Über", "x<y"]


def put(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(text)


def number(r: random.Random, lo: float, hi: float) -> str:
    return r.choice([str(r.randint(int(lo), int(hi))), "%.2f" % r.uniform(lo, hi), repr(r.uniform(lo, hi))])


def box(r: random.Random, lo: float, hi: float) -> List[str]:
    x, y = sorted([number(r, lo, hi), number(r, lo, hi)], key=float), sorted([number(r, lo, hi), number(r, lo, hi)], key=float)
    return [x[0], y[0], x[1], y[1]]


def voc_file(r: random.Random) -> str:
    root = ET.Element("annotation")
    ET.SubElement(root, "folder").text = "VOC2007"
    if r.random() < 0.9:
        size = ET.SubElement(root, "size")
        for name in "width", "height", "depth":
            ET.SubElement(size, name).text = str(r.randint(1, 600))
    for _ in range(r.choice([0, 1, 2, 7])):
        o = ET.SubElement(root, "object")
        b = box(r, 1, 500)
        children = ["name", "bndbox"] + [t for t in ("pose", "truncated", "difficult", "part", "actions") if r.random() < 0.7]
        for tag in r.sample(children, len(children)):
            e = ET.SubElement(o, tag)
            if tag == "bndbox":
                for k in r.sample(range(4), 4):
                    ET.SubElement(e, ["xmin", "ymin", "xmax", "ymax"][k]).text = b[k]
            elif tag == "part":
                ET.SubElement(e, "name").text = "head"
                ET.SubElement(ET.SubElement(e, "bndbox"), "xmin").text = "1"
            else:
                e.text = {"name": r.choice(CLASSES), "pose": r.choice(["Left", "Unspecified"]), "actions": "1"}.get(tag, r.choice("01"))
    if r.random() < 0.5:
        ET.indent(root)
    return ET.tostring(root, encoding="unicode")


def voc_read(text: str) -> Dict[str, Any]:
    root = ET.fromstring(text)
    objects = root.findall("object")
    size = root.find("size")
    return {
        "boxes": np.array([[float(o.find("bndbox").find(k).text) for k in ("xmin", "ymin", "xmax", "ymax")] for o in objects], np.float32),  # type: ignore[union-attr, arg-type]
        "class": [o.findtext("name") for o in objects],
        "difficult": np.array([int(o.findtext("difficult", "0")) for o in objects], np.uint8),
        "truncated": np.array([int(o.findtext("truncated", "0")) for o in objects], np.uint8),
        "pose": [o.findtext("pose", "") for o in objects],
        "width": 0 if size is None else int(size.findtext("width", "0")),
        "height": 0 if size is None else int(size.findtext("height", "0")),
    }


def yolo_file(r: random.Random) -> str:
    lines = [" ".join([str(r.randrange(len(CLASSES)))] + [number(r, 0, 1) for _ in range(4)]) for _ in range(r.choice([0, 1, 2, 9]))]
    return r.choice(["\n", "\r\n"]).join(lines) + r.choice(["", "\n", "\n\n"])


def yolo_read(text: str) -> Dict[str, Any]:
    rows = [x.split() for x in text.strip().splitlines() if len(x)]
    lb = np.array(rows, dtype=np.float64).astype(np.float32) if rows else np.zeros((0, 5), np.float32)
    assert lb.shape[1] == 5 and lb[:, 1:].max(initial=0) <= 1 and lb.min(initial=0) >= 0
    return {"boxes": lb[:, 1:], "class": [CLASSES[int(c)] for c in lb[:, 0]]}


def kitti_file(r: random.Random) -> str:
    out = ""
    for _ in range(r.choice([0, 1, 2, 9])):
        b = box(r, 0, 1200)
        rest = [number(r, -50, 50) for _ in range(7)]
        out += " ".join([r.choice(["Car", "DontCare", "Van"]), number(r, 0, 1), str(r.randint(-1, 3)), number(r, -10, 3)] + b + rest) + "\n"
    return out


def kitti_read(text: str) -> Dict[str, Any]:
    rows = [x.split(" ") for x in text.splitlines()]

    def of(*columns: int) -> Any:
        return np.array([[float(x[c]) for c in columns] for x in rows], np.float32)

    return {
        "class": [x[0] for x in rows],
        "truncated": of(1),
        "occluded": np.array([int(x[2]) for x in rows], np.int32),
        "alpha": of(3),
        "boxes": of(4, 5, 6, 7),
        "dimensions": of(8, 9, 10),
        "location": of(11, 12, 13),
        "rotation_y": of(14),
    }


FORMS = {
    "voc": (voc_file, voc_read, "JPEGImages", "Annotations", ".xml"),
    "yolo": (yolo_file, yolo_read, "images", "labels", ".txt"),
    "kitti": (kitti_file, kitti_read, "image_2", "label_2", ".txt"),
}


def one(r: random.Random, form: str) -> None:
    write, read, images, labels, ext = FORMS[form]
    src, out = os.path.join(WORK, "src"), os.path.join(WORK, "out")
    shutil.rmtree(WORK, ignore_errors=True)
    want: Dict[str, Dict[str, Any]] = {}
    for i in range(r.choice([1, 5, 40])):
        key = "%s%d" % (r.choice(["", "a/"]), i)
        put(os.path.join(src, images, key + ".jpg"), key)
        text = write(r)
        if form == "yolo" and not text.strip() and r.random() < 0.5:
            want[key] = read("")
            continue
        put(os.path.join(src, labels, key + ext), text)
        want[key] = read(text)
    if not os.path.exists(os.path.join(src, labels)):
        return
    parse = "label=" + form
    if form == "yolo":
        put(os.path.join(src, "data.yaml"), "names: " + r.choice([json.dumps(CLASSES), json.dumps(dict(enumerate(CLASSES)))]) + "\n")
        parse += " names=" + os.path.join(src, "data.yaml")
    command = [BINARY, "convert", src, "-o", out, "--sync", "none", "--pair", "image=%s,label=%s" % (images, labels)]
    command += ["--format", "wds", "--missing", "fill", "--parse", parse, "--jobs", str(r.randint(1, 3))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(os.path.join(out, "shardify.json"), encoding="utf-8") as f:
        schema = {x["name"]: x for x in json.load(f)["schema"]}
    names = [x for x in schema["label_class"].get("attrs", {}).get("labels", "").split("\n") if x]
    used = sorted({c for s in want.values() for c in s["class"]}, key=lambda c: c.encode())
    assert names == (CLASSES if form == "yolo" else used), names
    got: Dict[str, Dict[str, Any]] = {}
    for name in sorted(os.listdir(out)):
        if not name.endswith(".tar"):
            continue
        with tarfile.open(os.path.join(out, name)) as t:
            for m in t:
                key, _, rest = m.name.partition(".")
                field, _, kind = rest.rpartition(".")
                data = t.extractfile(m).read()  # type: ignore[union-attr]
                if field.startswith("label_"):
                    got.setdefault(key, {})[field[6:]] = np.load(io.BytesIO(data)) if kind == "npy" else json.loads(data)
    assert sorted(got) == sorted(want), (sorted(got), sorted(want))
    for key, fields in want.items():
        assert sorted(got[key]) == sorted(fields), (sorted(got[key]), sorted(fields))
        for field, value in fields.items():
            have = got[key][field]
            if field == "class":
                have = [names[c] for c in have]
            if isinstance(value, np.ndarray):
                assert have.dtype == value.dtype and have.tobytes() == value.tobytes(), (key, field, have, value)
            else:
                assert have == value, (key, field, have, value)


def check() -> str:
    counts: Counter[str] = Counter()
    for i in range(LAYOUTS):
        r = random.Random(SEED * 1_000_003 + i)
        form = list(FORMS)[i % len(FORMS)]
        try:
            one(r, form)
        except Exception:
            print("layout %d of SEED=%d, %s" % (i, SEED, form))
            raise
        counts[form] += 1
    shutil.rmtree(WORK, ignore_errors=True)
    return ", ".join("%d sets of %s" % (n, form) for form, n in sorted(counts.items())) + " are as the rules of the field give"


main([("annotations", check)])
