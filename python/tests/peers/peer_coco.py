"""pycocotools and datasets: random annotation files and JSON arrays must come out as they read them.

python3 peer_coco.py WORK     SHARDIFY names the program; ROUNDS and SEED the files
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, List

import numpy as np
from expect import main
from pycocotools import mask as masks
from pycocotools.coco import COCO

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import shardify  # noqa: E402

BINARY = os.path.abspath(os.environ.get("SHARDIFY", "shardify"))
WORK = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "."), "scratch", "coco")
SEED, ROUNDS = int(os.environ.get("SEED", "1")), int(os.environ.get("ROUNDS", "40"))
H, W = 48, 64


def annotations(rng: np.random.Generator, packed: bool) -> Dict[str, Any]:
    """A file of COCO: ids in no order, crowds, key points, captions, images without annotations."""
    cats = [{"id": int(i), "name": "c%d" % i} for i in rng.permutation(30)[: rng.integers(1, 9)] * 3]
    images = [{"id": int(i), "file_name": "%d.png" % i, "height": H, "width": W} for i in rng.permutation(90)[: rng.integers(1, 12)]]
    out: List[Dict[str, Any]] = []
    for i in rng.permutation(int(rng.integers(1, 60))).tolist():
        a: Dict[str, Any] = {"id": i + 1, "image_id": images[rng.integers(0, len(images))]["id"], "category_id": cats[rng.integers(0, len(cats))]["id"]}
        x, y = round(float(rng.random()) * W / 2, 2), round(float(rng.random()) * H / 2, 2)
        a.update(bbox=[x, y, round(float(rng.random()) * W / 2, 2), 9], area=float(rng.random()) * 99, keypoints=rng.integers(0, 40, 51).tolist(), caption="é, \"%d\" ]" % i)
        if rng.random() < 0.3:
            rle = masks.encode(np.asfortranarray(rng.random((H, W)) < 0.3, np.uint8))
            flat = (masks.decode(rle).T.ravel() > 0).astype(int)
            runs = np.diff(np.flatnonzero(np.diff(flat, prepend=0, append=2))).tolist()
            counts = [int(np.argmax(flat))] + runs if flat.any() else [H * W]
            a.update(iscrowd=1, segmentation={"size": [H, W], "counts": rle["counts"].decode() if packed else counts})
        else:
            a.update(iscrowd=0, segmentation=[(rng.integers(0, 160, 2 * rng.integers(3, 9)) / 4).tolist() for _ in range(rng.integers(1, 4))])
        out.append(a)
    return {"info": {"x": "]}"}, "images": images, "annotations": out, "categories": cats}


def convert(out: str, *args: str) -> str:
    shutil.rmtree(out, ignore_errors=True)
    r = subprocess.run([BINARY, "convert", *args, "-o", out, "-q"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert r.returncode == 0, r.stdout
    return out


def reference(name: str) -> COCO:
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(name)


def segmentation(polygons: Any, counts: Any, size: Any) -> Any:
    if counts is None:
        return [p.astype(float).tolist() for p in polygons]
    return {"size": [int(n) for n in size], "counts": counts if isinstance(counts, str) else [int(n) for n in counts]}


def same(got: Any, want: Any, what: str) -> None:
    assert np.array_equal(np.asarray(got), np.asarray(want)), (what, got, want)


def coco_tables() -> str:
    """Each table by itself: a mask made of what the set has is that of pycocotools."""
    n = 0
    for k in range(ROUNDS):
        rng = np.random.default_rng([SEED, k])
        name = os.path.join(WORK, "instances.json")
        with open(name, "w") as f:
            json.dump(annotations(rng, k % 3 == 0), f, indent=[None, 1][int(rng.integers(0, 2))])
        c = reference(name)
        ds = shardify.open(convert(os.path.join(WORK, "set"), name, "--object", "annotations"))
        assert len(ds) == len(c.dataset["annotations"])
        for s, a in zip(ds, c.dataset["annotations"]):
            for field in ("id", "image_id", "category_id", "iscrowd", "caption", "area"):
                assert s[field] == a[field], (field, s[field], a[field])
            same(s["bbox"], np.array(a["bbox"], np.float32), "bbox")
            same(s["keypoints"], np.array(a["keypoints"], np.float32).reshape(17, 3), "keypoints")
            mine = dict(a, segmentation=segmentation(s.get("segmentation"), s.get("segmentation.counts"), s.get("segmentation.size")))
            same(c.annToMask(mine), c.annToMask(a), "mask")  # corners that f32 has
            n += 1
        ds = shardify.open(convert(os.path.join(WORK, "set"), name + ":categories"))
        assert [(s["id"], s["name"]) for s in ds] == [(x["id"], x["name"]) for x in c.dataset["categories"]]
    return "%d annotations in %d files" % (n, ROUNDS)


def coco_images() -> str:
    """--labels: what torchvision.datasets.CocoDetection gives, an image and loadAnns(getAnnIds(image))."""
    n = 0
    for k in range(ROUNDS):
        rng = np.random.default_rng([SEED, 3, k])
        shutil.rmtree(os.path.join(WORK, "images"), ignore_errors=True)
        files = {split: annotations(rng, k % 3 == 0) for split in ("train2017", "val2017")[: 1 + k % 2]}
        tables = []
        for split, d in files.items():
            os.makedirs(os.path.join(WORK, "images", split))
            for im in d["images"]:
                im["file_name"] = "%s%s" % (split[0], im["file_name"])
                with open(os.path.join(WORK, "images", split, im["file_name"]), "wb") as f:
                    f.write(b"\x89PNG\r\n\x1a\n" + rng.bytes(9))
            tables.append(os.path.join(WORK, "instances_%s.json" % split))
            with open(tables[-1], "w") as f:
                json.dump(d, f)
        out = os.path.join(WORK, "set")
        convert(out, os.path.join(WORK, "images"), "--labels", ",".join(tables), "--split-from", "dirs")
        names = {a["id"]: a["name"] for d in files.values() for a in d["categories"]}
        for split, name in zip(files, tables):
            c, ds = reference(name), shardify.open(os.path.join(out, split))
            assert [names[i] for i in sorted(names)] == ds.labels("class")
            got = {int(s["image_id"]): s for s in ds}
            assert sorted(got) == sorted(c.imgs) and len(ds) == len(got)
            for i, s in got.items():
                want = c.loadAnns(c.getAnnIds(imgIds=i))
                with open(os.path.join(WORK, "images", split, c.imgs[i]["file_name"]), "rb") as f:
                    assert bytes(s["png"]) == f.read()
                assert (s["height"], s["width"]) == (H, W) and len(s["boxes"]) == len(want)
                same(s["boxes"], np.array([a["bbox"] for a in want], np.float32).reshape(-1, 4), "boxes")
                same(s["keypoints"], np.array([a["keypoints"] for a in want], np.float32).reshape(-1, 17, 3), "keypoints")
                assert [names[a["category_id"]] for a in want] == [ds.labels("class")[j] for j in s["class"]]
                for field, key in (("annotation_id", "id"), ("category_id", "category_id"), ("area", "area"), ("iscrowd", "iscrowd"), ("caption", "caption")):
                    assert list(s[field]) == [a[key] for a in want], (field, s[field])
                for j, a in enumerate(want):
                    mine = [p for p, at in zip(s["polygons"], s["polygons.of"]) if at == j] if "polygons" in s else []
                    runs = [q for q, at in enumerate(s["rle.of"]) if at == j] if "rle" in s else []
                    seg = segmentation(mine, s["rle"][runs[0]], s["rle.size"][runs[0]]) if runs else segmentation(mine, None, None)
                    same(c.annToMask(dict(a, segmentation=seg)), c.annToMask(a), "mask")
                    n += 1
    return "%d annotations of images" % n


def arrays() -> str:
    """datasets.load_dataset("json") of an array, and of a member of an object."""
    import datasets

    datasets.disable_progress_bars()
    n = 0
    for k in range(max(ROUNDS // 8, 1)):
        rng = np.random.default_rng([SEED, 7, k])
        rows = []
        for i in range(int(rng.integers(1, 300))):
            talk = [{"from": ["human", "gpt"][j % 2], "value": "t,]\n\"%d" % rng.integers(0, 9)} for j in range(int(rng.integers(0, 4)))]
            rows.append({"id": i, "x": int(rng.integers(-9999, 9999)) / 64, "text": "é\u20ac" * int(rng.integers(0, 3)), "v": (rng.integers(-999, 999, rng.integers(0, 4)) / 8).tolist(), "conversations": talk, "o": {"a": int(rng.integers(0, 9)), "b": "y"}})
        for field in (None, "data"):
            name = os.path.join(WORK, "rows%d%s.json" % (k, field))
            with open(name, "w") as f:
                json.dump({"version": "1", "data": rows} if field else rows, f, indent=[None, 2][k % 2])
            want = datasets.load_dataset("json", data_files=name, field=field, split="train", cache_dir=os.path.join(WORK, "cache"))
            ds = shardify.open(convert(os.path.join(WORK, "set"), name, *(["--object", field] if field else [])))
            assert len(ds) == len(want)
            for s, w, r in zip(ds, want, rows):
                assert s["x"] == r["x"] and abs(s["x"] - w["x"]) < 1e-9, (s, w)  # datasets rounds numbers of an array
                assert s["id"] == w["id"] and s["text"] == w["text"] and s["o.a"] == w["o"]["a"] and s["o.b"] == w["o"]["b"], (s, w)
                same(s["v"], r["v"], "v")
                for part in ("from", "value"):
                    got = s.get("conversations." + part, [])
                    assert list(got) == [t[part] for t in w["conversations"]], (s, w)
                n += 1
    return "%d objects" % n


if __name__ == "__main__":
    os.makedirs(WORK, exist_ok=True)
    main([("COCO tables", coco_tables), ("COCO beside images", coco_images), ("JSON arrays", arrays)])
