"""The layouts of docs/guides/your-layout.md: the set is what the reader of the field gives, by torchvision,
pycocotools, datasets, pandas, h5py, uproot and numpy.

python3 peer_conventions.py WORK     SHARDIFY names the program; SEED; ONLY=LAYOUT,...

Each layout is made small and random. Its set is made three times: by the command of the page, by the
commands that `shardify inspect` proposes (one of them makes the set), and without options: then it is the
same set, or an error or a note of the plan names a command.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
import xml.etree.ElementTree as et
from collections import Counter
from typing import Any, Callable, Dict, List, Optional, Tuple

import h5py
import numpy as np
import pandas as pd
from expect import main

warnings.filterwarnings("ignore")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.join(ROOT, "examples", "layouts")]
import make  # noqa: E402

import shardify  # noqa: E402

BINARY = os.path.abspath(os.environ.get("SHARDIFY", "shardify"))
WORK = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "."), "scratch", "conventions")
SEED = int(os.environ.get("SEED", "0"))
Sample = Dict[str, Any]
Splits = Dict[str, List[Sample]]  # "" is a set without splits
REFERENCES: Dict[str, Callable[[str], Splits]] = {}


def reference(f: Callable[[str], Splits]) -> Callable[[str], Splits]:
    REFERENCES[f.__name__.replace("_", "-")] = f
    return f


def read(*path: str) -> bytes:
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def load(*path: str) -> Any:
    return json.loads(read(*path))


def image_at(folder: str, name: str) -> Sample:
    """The field of an image is called as its type."""
    return {os.path.splitext(name)[1][1:]: read(folder, name)}


def plain(v: Any) -> Any:
    """A value as bytes, numbers and lists of them: texts are their bytes, lists of one array are lists."""
    if v is None or isinstance(v, bytes):
        return v
    if isinstance(v, (memoryview, bytearray)):
        return bytes(v)
    if isinstance(v, str):
        return v.encode()
    if isinstance(v, (bool, np.bool_)):
        return int(v)
    if isinstance(v, (int, np.integer)):
        return int(v)
    if isinstance(v, (float, np.floating)):
        return None if v != v else float(v)
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    return [plain(x) for x in v]


def seen(v: Any) -> str:
    v = plain(v)
    text = repr(v)
    return text if len(text) < 80 else "%s... %s" % (text[:40], hashlib.sha256(text.encode()).hexdigest()[:12])


def flat(s: Sample) -> Tuple[Tuple[str, str], ...]:
    return tuple(sorted((k, seen(v)) for k, v in s.items()))


def samples(folder: str) -> Splits:
    """A set as the Python package reads it; classes by their names."""
    manifest = load(folder, "shardify.json")
    out = {}
    for split in manifest.get("splits") or [""]:
        ds = shardify.open(folder, split=split or None)
        names = {f.name: f.names for f in ds.schema if f.names}
        out[split] = [{k: named(names[k], v) if k in names else v for k, v in ds[i].items() if k != "__key__"} for i in range(len(ds))]
    return out


def named(names: Any, v: Any) -> Any:
    return v if v is None else names[int(v)] if np.ndim(v) == 0 else [names[int(x)] for x in v]


def differ(have: Splits, want: Splits) -> str:
    """What is not the same; "" if all is."""
    if sorted(have) != sorted(want):
        return "splits %s, want %s" % (sorted(have), sorted(want))
    for split in want:
        h, w = Counter(map(flat, have[split])), Counter(map(flat, want[split]))
        if h != w:
            lost, more = list((w - h).elements()), list((h - w).elements())
            return "%s: %d samples, want %d; not there %s; not wanted %s" % (split or "all", sum(h.values()), sum(w.values()), lost[:1], more[:1])
    return ""


# ---- what the readers of the field give


@reference
def class_folders(folder: str) -> Splits:
    return {"": image_folder(folder)}


def image_folder(folder: str) -> List[Sample]:
    """torchvision.datasets.ImageFolder; without torchvision by its rule."""
    try:
        from torchvision.datasets import ImageFolder
    except ImportError:
        classes = sorted(e.name for e in os.scandir(folder) if e.is_dir())
        files = [(p, c) for c in classes for p in sorted(glob.glob(os.path.join(folder, c, "**", "*"), recursive=True)) if p.endswith(("jpg", "png"))]
        return [dict(image_at("", p), cls=c) for p, c in files]
    ds = ImageFolder(folder)
    assert list(ds.class_to_idx.values()) == list(range(len(ds.classes)))
    return [dict(image_at("", path), cls=ds.classes[k]) for path, k in ds.samples]


@reference
def split_class_folders(folder: str) -> Splits:
    return {split: image_folder(os.path.join(folder, split)) for split in ("train", "val", "test")}


@reference
def class_split_folders(folder: str) -> Splits:
    out: Splits = {}
    for cls in sorted(os.listdir(folder)):
        for s in image_folder(os.path.join(folder, cls)):
            out.setdefault(s.pop("cls"), []).append(dict(s, cls=cls))
    return out


@reference
def class_in_name(folder: str) -> Splits:
    folder = os.path.join(folder, "train")
    return {"": [dict(image_at(folder, n), cls=n.split(".")[0]) for n in os.listdir(folder)]}


def column(values: Dict[str, Any]) -> Sample:
    return {k: v for k, v in values.items() if k not in ("file_name", "filename", "id", "image", "image_id")}


@reference
def labels_csv(folder: str) -> Splits:
    rows = pd.read_csv(os.path.join(folder, "labels.csv")).to_dict("records")
    return {"": [dict(image_at(os.path.join(folder, "images"), r["filename"]), **column(r)) for r in rows]}


@reference
def labels_ids(folder: str) -> Splits:
    rows = pd.read_csv(os.path.join(folder, "labels.csv")).to_dict("records")
    tests = os.listdir(os.path.join(folder, "test"))
    return {
        "train": [dict(image_at(folder, "train/%s.%s" % (r["id"], make.EXT)), breed=r["breed"]) for r in rows],
        "test": [dict(image_at(folder, "test/" + n), breed=None) for n in tests],
    }


@reference
def train_csv(folder: str) -> Splits:
    out: Splits = {}
    for split in ("train", "test"):
        rows = pd.read_csv(os.path.join(folder, split + ".csv")).to_dict("records")
        out[split] = [dict(image_at(os.path.join(folder, split), r["image"]), label=r.get("label")) for r in rows]
    return out


def imagefolder(folder: str, images: Tuple[str, ...] = ("image",)) -> Splits:
    """load_dataset("imagefolder"): the images of its rows are files; their fields are called as their types."""
    from datasets import Image, load_dataset

    out: Splits = {}
    for split, ds in load_dataset("imagefolder", data_dir=folder, drop_labels=True).items():
        for name in images:
            ds = ds.cast_column(name, Image(decode=False))
        out[split] = [{k: v if k not in images else v["bytes"] or read(v["path"]) for k, v in r.items()} for r in ds]
    return out


def typed(splits: Splits, ext: str = make.EXT) -> Splits:
    for rows in splits.values():
        for r in rows:
            r[ext] = r.pop("image")
    return splits


@reference
def metadata_csv(folder: str) -> Splits:
    return typed(imagefolder(folder))


@reference
def metadata_jsonl(folder: str) -> Splits:
    return typed(imagefolder(folder))


@reference
def metadata_parquet(folder: str) -> Splits:
    return {"": typed(imagefolder(folder), "png")["train"]}


@reference
def metadata_two_files(folder: str) -> Splits:
    return {"": imagefolder(folder, ("image", "mask"))["train"]}


@reference
def metadata_two_csv(folder: str) -> Splits:
    return imagefolder(folder, ("image", "mask"))


@reference
def metadata_depth(folder: str) -> Splits:
    return {"": imagefolder(folder, ("image", "depth"))["train"]}


@reference
def captions_txt(folder: str) -> Splits:
    rows = pd.read_csv(os.path.join(folder, "captions.txt")).groupby("image")["caption"].apply(list)
    return {"": [dict(image_at(os.path.join(folder, "Images"), name), caption=list(c)) for name, c in rows.items()]}


@reference
def boxes_csv(folder: str) -> Splits:
    d, out = pd.read_csv(os.path.join(folder, "train.csv")), []
    for name, g in d.groupby("image_id"):
        out.append(dict(image_at(folder, "train/%s.%s" % (name, make.EXT)), **{c: g[c].tolist() for c in ("width", "height", "bbox", "source")}))
    return {"": out}


def same_stem(pattern: str) -> List[Sample]:
    out: Dict[str, Sample] = {}
    for path in glob.glob(pattern, recursive=True):
        stem, ext = os.path.splitext(path)
        out.setdefault(stem, {})[ext[1:]] = read(path)
    return list(out.values())


@reference
def image_txt(folder: str) -> Splits:
    return {"": same_stem(os.path.join(folder, "*", "*"))}


@reference
def image_json(folder: str) -> Splits:
    return {"": same_stem(os.path.join(folder, "*"))}


@reference
def images_masks(folder: str) -> Splits:
    images = sorted(glob.glob(os.path.join(folder, "images", "*")))
    return {"": [{"image": read(p), "mask": read(folder, "masks", os.path.basename(p)[:-3] + "png")} for p in images]}


@reference
def masks_suffix(folder: str) -> Splits:
    out = {}
    for split in ("train", "val"):
        images = sorted(glob.glob(os.path.join(folder, split, "images", "*")))
        out[split] = [{"image": read(p), "mask": read(folder, split, "masks", os.path.basename(p)[:-4] + "_mask.png")} for p in images]
    return out


@reference
def nnunet(folder: str) -> Splits:
    labels = sorted(glob.glob(os.path.join(folder, "labelsTr", "*")))
    stem = lambda p, k: os.path.join(folder, "imagesTr", os.path.basename(p)[:-7] + "_%04d.nii.gz" % k)
    return {"": [{"image_0000": read(stem(p, 0)), "image_0001": read(stem(p, 1)), "label": read(p)} for p in labels]}


@reference
def bids(folder: str) -> Splits:
    d = pd.read_csv(os.path.join(folder, "participants.tsv"), sep="\t")
    at = lambda who, kind: read(folder, who, "anat", "%s_%s.nii.gz" % (who, kind))
    return {"": [{"T1w": at(r.participant_id, "T1w"), "T2w": at(r.participant_id, "T2w"), "age": r.age, "sex": r.sex} for r in d.itertuples()]}


@reference
def yolo_folders(folder: str) -> Splits:
    """A line of a label is a class, and x, y of the middle, width and height as parts of those of the image."""
    names = yaml_names(read(folder, "data.yaml").decode())
    out = {}
    for split in ("train", "val"):
        images = sorted(glob.glob(os.path.join(folder, "images", split, "*")))
        out[split] = [dict(yolo(read(folder, "labels", split, os.path.basename(p)[:-3] + "txt"), names, "label"), image=read(p)) for p in images]
    return out


def yaml_names(text: str) -> List[str]:
    return re.findall(r"^  \d+: (\w+)$", text, re.M)


def yolo(text: bytes, names: List[str], field: str) -> Sample:
    a = np.array([line.split() for line in text.decode().splitlines()], np.float32).reshape(-1, 5)
    return {field + "_boxes": a[:, 1:], field + "_class": [names[int(k)] for k in a[:, 0]]}


@reference
def yolo_one_folder(folder: str) -> Splits:
    names = read(folder, "obj.names").decode().split()
    return {"": [dict(yolo(s.pop("txt"), names, "txt"), **s) for s in same_stem(os.path.join(folder, "obj_train_data", "*"))]}


@reference
def voc(folder: str) -> Splits:
    """torchvision.datasets.VOCDetection, train and val: its pairs and its dictionaries."""
    root = os.path.join(os.path.dirname(folder), "voc-root")
    os.makedirs(os.path.join(root, "VOCdevkit"), exist_ok=True)
    link = os.path.join(root, "VOCdevkit", "VOC2007")
    if not os.path.islink(link):
        os.symlink(folder, link)
    return {split: [voc_sample(*files) for files in voc_files(root, folder, split)] for split in ("train", "val")}


def voc_sample(path: str, xml: str) -> Dict[str, Any]:
    s: Dict[str, Any] = {"image": read(path)}
    objects = voc_objects(xml)
    s["annotation_boxes"] = np.array([[float(o["bndbox"][k]) for k in ("xmin", "ymin", "xmax", "ymax")] for o in objects], np.float32).reshape(-1, 4)
    s["annotation_class"] = [o["name"] for o in objects]
    s["annotation_pose"] = [o["pose"] for o in objects]
    for k in ("difficult", "truncated"):
        s["annotation_" + k] = [int(o[k]) for o in objects]
    for k in ("width", "height"):
        s["annotation_" + k] = int(et.parse(xml).findtext("size/" + k) or 0)
    return s


def voc_files(root: str, folder: str, split: str) -> List[Tuple[str, str]]:
    try:
        from torchvision.datasets import VOCDetection

        ds = VOCDetection(root, year="2007", image_set=split)
        return list(zip(ds.images, ds.annotations))
    except ImportError:
        stems = read(folder, "ImageSets", "Main", split + ".txt").decode().split()
        return [(os.path.join(folder, "JPEGImages", s + ".jpg"), os.path.join(folder, "Annotations", s + ".xml")) for s in stems]


def voc_objects(path: str) -> List[Dict[str, Any]]:
    objects = et.parse(path).getroot().findall("object")
    return [{e.tag: {b.tag: b.text for b in e} if len(e) else e.text for e in o} for o in objects]


@reference
def coco(folder: str) -> Splits:
    """pycocotools.COCO; torchvision.datasets.CocoDetection has its images and lists."""
    return {split: coco_samples(folder, split, "instances") for split in ("train2017", "val2017")}


@reference
def coco_captions(folder: str) -> Splits:
    return {split: coco_samples(folder, split, "captions") for split in ("train2017", "val2017")}


def coco_samples(folder: str, split: str, kind: str) -> List[Sample]:
    from contextlib import redirect_stdout

    from pycocotools.coco import COCO

    with redirect_stdout(sys.stderr):
        c = COCO(os.path.join(folder, "annotations", "%s_%s.json" % (kind, split)))
    out = []
    for image in c.loadImgs(sorted(c.getImgIds())):
        s = dict(image_at(os.path.join(folder, split), image["file_name"]), image_id=image["id"], width=image["width"], height=image["height"])
        found = c.loadAnns(c.getAnnIds(imgIds=image["id"]))
        s["caption_id" if kind == "captions" else "annotation_id"] = [a["id"] for a in found]
        if kind == "captions":
            s["caption"] = [a["caption"] for a in found]
        else:
            s["boxes"] = np.array([a["bbox"] for a in found], np.float32).reshape(-1, 4)
            s["class"] = [c.cats[a["category_id"]]["name"] for a in found]
            for k in ("category_id", "area", "iscrowd"):
                s[k] = [a[k] for a in found]
            polygons = [(k, p) for k, a in enumerate(found) for p in a["segmentation"]]
            s["polygons"], s["polygons.of"] = [np.array(p, np.float32) for _, p in polygons], [k for k, _ in polygons]
        out.append(s)
    return out


@reference
def kitti(folder: str) -> Splits:
    """torchvision.datasets.Kitti reads these columns of label_2."""
    folder, out = os.path.join(folder, "training"), []
    for path in sorted(glob.glob(os.path.join(folder, "image_2", "*"))):
        stem = os.path.basename(path)[:-4]
        rows = [line.split() for line in read(folder, "label_2", stem + ".txt").decode().splitlines()]
        s = {"image_2": read(path), "velodyne": read(folder, "velodyne", stem + ".bin"), "calib": read(folder, "calib", stem + ".txt")}
        s["label_2_class"] = [r[0] for r in rows]
        for name, at in [("truncated", 1), ("occluded", 2), ("alpha", 3), ("rotation_y", 14)]:
            s["label_2_" + name] = [int(r[at]) if name == "occluded" else np.float32(r[at]) for r in rows]
        for name, lo, hi in [("boxes", 4, 8), ("dimensions", 8, 11), ("location", 11, 14)]:
            s["label_2_" + name] = np.array([r[lo:hi] for r in rows], np.float32).reshape(-1, hi - lo)
        out.append(s)
    return {"": out}


@reference
def alpaca(folder: str) -> Splits:
    from datasets import load_dataset

    return {"": list(load_dataset("json", data_files=os.path.join(folder, "alpaca.json"), split="train"))}


@reference
def llava(folder: str) -> Splits:
    from datasets import load_dataset

    rows = load_dataset("json", data_files=os.path.join(folder, "llava.json"), split="train")
    talk = lambda r, k: [t[k] for t in r["conversations"]]
    return {"": [dict(image_at(os.path.join(folder, "images"), r["image"]), id=r["id"], **{"conversations." + k: talk(r, k) for k in ("from", "value")}) for r in rows]}


@reference
def images_zip(folder: str) -> Splits:
    import zipfile

    into = os.path.join(os.path.dirname(folder), "unzipped")
    with zipfile.ZipFile(os.path.join(folder, "images.zip")) as z:
        z.extractall(into)
    return split_class_folders(into)


@reference
def audio(folder: str) -> Splits:
    """The rule of load_dataset("audiofolder"), which needs FFmpeg and PyTorch to look at a file."""
    rows = pd.read_csv(os.path.join(folder, "metadata.csv"))
    return {"": [{"wav": read(folder, r.file_name), "transcription": r.transcription} for r in rows.itertuples()]}


@reference
def parquet_images(folder: str) -> Splits:
    from datasets import Image, load_dataset

    ds = load_dataset("parquet", data_files=glob.glob(os.path.join(folder, "data", "*.parquet")), split="train")
    names = ds.features["label"].names
    return {"": [{"image.bytes": r["image"]["bytes"], "image.path": r["image"]["path"], "label": names[r["label"]]} for r in ds.cast_column("image", Image(decode=False))]}


@reference
def npy_folders(folder: str) -> Splits:
    return {"": [{"data": np.load(p), "cls": os.path.basename(os.path.dirname(p))} for p in glob.glob(os.path.join(folder, "*", "*.npy"))]}


@reference
def npy_pairs(folder: str) -> Splits:
    names = sorted(os.listdir(os.path.join(folder, "images")))
    return {"": [{"image": np.load(os.path.join(folder, "images", n)), "label": np.load(os.path.join(folder, "labels", n))} for n in names]}


@reference
def events_root(folder: str) -> Splits:
    import uproot

    with uproot.open(os.path.join(folder, "events.root")) as f:
        rows = f["events"].arrays().to_list()
    for r in rows:
        r["met"], r["jet_pt"] = np.float32(r["met"]), np.array(r["jet_pt"], np.float32)
    return {"val": [r for r in rows if r["event"] % 5 == 0], "train": [r for r in rows if r["event"] % 5 != 0]}


@reference
def nwb(folder: str) -> Splits:
    with h5py.File(os.path.join(folder, "session.nwb")) as f:
        u = f["units"]
        ends = u["spike_times_index"][:].astype(int)
        starts = np.concatenate([[0], ends[:-1]])
        return {"": [{"units/id": u["id"][i], "units/spike_times": u["spike_times"][a:b], "units/quality": u["quality"][i]} for i, (a, b) in enumerate(zip(starts, ends))]}


# ---- the page and the program


def page() -> Dict[str, Tuple[List[str], str]]:
    """The command of each layout on the page, in words without `shardify`, and what the page says of none."""
    out = {}
    for section in read(ROOT, "docs", "guides", "your-layout.md").decode().split("\n## "):
        for line in re.findall(r"^shardify convert .*layouts/.*$", section, re.M):
            layout = re.search(r"layouts/([a-z0-9-]+)", line)
            assert layout
            out[layout.group(1)] = shlex.split(line)[1:], section.partition("Without options:")[2]
    return out


def run(words: List[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([BINARY] + words, cwd=WORK, capture_output=True, text=True, timeout=120)


def convert(words: List[str], want: Splits) -> str:
    """Runs a command, and says what is wrong with the set; "" if it is the one that is wanted."""
    words = list(words)
    at = words.index("-o") + 1
    words[at] = "set"
    shutil.rmtree(os.path.join(WORK, "set"), ignore_errors=True)
    p = run(words + ["--sync", "none"])
    if p.returncode != 0:
        return "exit %d: %s" % (p.returncode, " | ".join(p.stderr.strip().splitlines()))
    return differ(samples(os.path.join(WORK, "set")), want)


def proposals(layout: str) -> Tuple[List[List[str]], str]:
    p = run(["inspect", INPUTS.get(layout, "layouts/" + layout)])
    lines = [line.strip()[len("next: ") if line.startswith("next:") else 0 :] for line in p.stdout.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("shardify convert")], p.stderr


def one(layout: str) -> Callable[[], str]:
    def check() -> str:
        want = REFERENCES[layout](os.path.join(WORK, "layouts", layout))
        assert all(want.values())
        wrong = []
        words, promise = COMMANDS.get(layout, (None, ""))
        if words is None:
            wrong.append("page: no command")
        else:
            why = convert(words, want)
            if why:
                wrong.append("page: %s: %s" % (shlex.join(words), why))
        ways, errors = proposals(layout)
        found, whys = -1, [errors.strip()] if not ways else []
        for k, words in enumerate(ways):
            whys.append(convert(words, want))
            if not whys[-1]:
                found = k
                break
        if found < 0:
            wrong.append("inspect: %s" % " || ".join(whys))
        # Without options.
        shutil.rmtree(os.path.join(WORK, "set"), ignore_errors=True)
        p = run(["convert", INPUTS.get(layout, "layouts/" + layout), "-o", "set", "--sync", "none"])
        said = p.stdout + p.stderr
        hint = re.search(r"shardify convert|--(labels|pair|set|define|split|sample|parse|split-from|from|object)[ =]", re.sub(r"next:.*", "", said))
        if p.returncode == 0:
            have = samples(os.path.join(WORK, "set"))
            if layout in UNSPLIT:
                want = {"": sum(want.values(), [])}
            elif layout in AS_FILES:
                want = {"": same_stem(os.path.join(WORK, "layouts", layout, "*", "*"))}
            plainly = "the set" if not differ(have, want) else "a note" if hint else "ANOTHER SET"
        else:
            plainly = "an error" if hint else "AN ERROR WITHOUT A COMMAND"
        if plainly.isupper():
            wrong.append("without options: %s: %s" % (plainly, said.strip()[-300:]))
        word = {"the set": "one set of all" if layout in UNSPLIT else "", "a note": "note", "an error": "error"}.get(plainly, "")
        if words and (word not in promise or not word and promise):
            wrong.append("page: without options it is %s, and the page says %r" % (plainly, promise.strip()))
        assert not wrong, "\n".join([""] + wrong)
        n = sum(map(len, want.values()))
        return "%d samples; inspect's command %d of %d; without options %s" % (n, found + 1, len(ways), plainly)

    return check


INPUTS = {"images-zip": "layouts/images-zip/images.zip"}
# Nothing but the command says that there are splits.
UNSPLIT = {"events-root"}
# Text is text until a setting says what it means.
AS_FILES = {"yolo-one-folder"}
COMMANDS = page()

if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    make.make(os.path.join(WORK, "layouts"), SEED)
    only = os.environ.get("ONLY", "").split(",")
    main([(name, one(name)) for name in make.LAYOUTS if (only == [""] or name in only)])
