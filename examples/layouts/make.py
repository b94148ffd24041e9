"""Small folders in the layouts of docs/guides/your-layout.md: a few images each, random and always the same.

python make.py FOLDER [SEED]

Images are JPEG if Pillow is here, else PNG. Files of Parquet, HDF5 and ROOT are made if
pyarrow, h5py and uproot are here, else copied from beside this script (they are those of seed 0).
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import shutil
import struct
import sys
import wave
import zlib
from typing import Any, Callable, Dict, List, Sequence, Tuple

try:
    from PIL import Image
except ImportError:
    Image = None  # type: ignore

HERE = os.path.dirname(os.path.abspath(__file__))
EXT = "jpg" if Image else "png"
Row = Dict[str, Any]
LAYOUTS: Dict[str, Callable[["Maker"], None]] = {}


def layout(f: Callable[["Maker"], None]) -> Callable[["Maker"], None]:
    LAYOUTS[f.__name__.replace("_", "-")] = f
    return f


def png(width: int, height: int, pixels: bytes) -> bytes:
    """An image of 8 bits a pixel, grey or RGB."""
    channels = len(pixels) // (width * height)
    rows = b"".join(b"\0" + pixels[y * width * channels : (y + 1) * width * channels] for y in range(height))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Maker:
    """Writes the files of one layout below a folder."""

    def __init__(self, folder: str, seed: int) -> None:
        self.folder, self.rng = folder, random.Random("%s %d" % (os.path.basename(folder), seed))
        self.n = self.rng.randint(5, 13)

    def put(self, path: str, data: Any) -> None:
        full = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as f:
            f.write(data.encode() if isinstance(data, str) else data)

    def photo(self, path: str, ext: str = EXT) -> Tuple[str, int, int]:
        """Writes an image; its name with the extension, its width and height."""
        w, h = self.rng.randint(8, 32), self.rng.randint(8, 32)
        name, pixels = "%s.%s" % (path, ext), bytes(self.rng.choices(range(256), k=3 * w * h))
        self.put(name, png(w, h, pixels) if ext == "png" else jpeg(w, h, pixels))
        return name, w, h

    def mask(self, path: str, width: int, height: int) -> None:
        self.put(path, png(width, height, bytes(self.rng.choices(range(4), k=width * height))))

    def table(self, path: str, rows: Sequence[Row]) -> None:
        out = io.StringIO()
        w = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        w.writeheader()
        w.writerows(rows)
        self.put(path, out.getvalue())

    def lines(self, path: str, rows: Sequence[Row]) -> None:
        self.put(path, "".join(json.dumps(r) + "\n" for r in rows))

    def word(self) -> str:
        return self.rng.choice(["cat", "dog", "owl"])

    def text(self) -> str:
        return " ".join(self.rng.choices("a small grey dog, sits beside the red house \u00e9t\u00e9".split(), k=self.rng.randint(3, 9)))

    def box(self, w: int, h: int) -> Tuple[int, int, int, int]:
        """x, y, width, height within an image."""
        x, y = self.rng.randint(0, w - 4), self.rng.randint(0, h - 4)
        return x, y, self.rng.randint(1, w - x), self.rng.randint(1, h - y)

    def boxes(self, w: int, h: int, least: int = 0) -> List[Tuple[int, int, int, int]]:
        return [self.box(w, h) for _ in range(self.rng.randint(least, 4))]

    def library(self, name: str, path: str) -> Any:
        """A module; where it is not here, the file that it would write is copied."""
        try:
            return __import__(name, fromlist=["x"])
        except ImportError:
            os.makedirs(os.path.dirname(os.path.join(self.folder, path)), exist_ok=True)
            shutil.copy(os.path.join(HERE, os.path.basename(path)), os.path.join(self.folder, path))


def jpeg(width: int, height: int, pixels: bytes) -> bytes:
    out = io.BytesIO()
    Image.frombytes("RGB", (width, height), pixels).save(out, "JPEG", quality=90)
    return out.getvalue()


# ---- classes


@layout
def class_folders(m: Maker) -> None:
    for name in ("dog", "cat", "golden retriever"):
        for i in range(m.n):
            m.photo("%s/%d" % (name, i))


@layout
def split_class_folders(m: Maker) -> None:
    for split, names in (("train", "cat dog owl"), ("val", "cat owl"), ("test", "cat dog owl")):
        for name in names.split():
            for i in range(m.n if split == "train" else 2):
                m.photo("%s/%s/%d" % (split, name, i))


@layout
def class_split_folders(m: Maker) -> None:
    for name in ("cat", "dog"):
        for split, n in (("train", m.n), ("test", 3)):
            for i in range(n):
                m.photo("%s/%s/%d" % (name, split, i))


@layout
def class_in_name(m: Maker) -> None:
    for name in ("cat", "dog"):
        for i in range(m.n):
            m.photo("train/%s.%d" % (name, i))


# ---- a table of labels


@layout
def labels_csv(m: Maker) -> None:
    m.table("labels.csv", [{"filename": m.photo("images/%03d" % i)[0].split("/")[1], "label": m.word(), "age": m.rng.randint(1, 9)} for i in range(m.n)])


@layout
def labels_ids(m: Maker) -> None:
    """Dog breeds of Kaggle: names without extension; images without a row to predict."""
    m.table("labels.csv", [{"id": os.path.basename(os.path.splitext(m.photo("train/%08x" % m.rng.getrandbits(32))[0])[0]), "breed": m.word()} for i in range(m.n)])
    tests = [os.path.basename(m.photo("test/%08x" % m.rng.getrandbits(32))[0]).split(".")[0] for _ in range(3)]
    m.table("sample_submission.csv", [{"id": t, "cat": 0.5, "dog": 0.5} for t in tests])


@layout
def train_csv(m: Maker) -> None:
    """Kaggle: a table for each split, that of the test without labels."""
    m.table("train.csv", [{"image": m.photo("train/%d" % i)[0].split("/")[1], "label": m.rng.randint(0, 4)} for i in range(m.n)])
    m.table("test.csv", [{"image": m.photo("test/t%d" % i)[0].split("/")[1]} for i in range(4)])


@layout
def metadata_csv(m: Maker) -> None:
    for split, n in (("train", m.n), ("test", 3)):
        m.table("%s/metadata.csv" % split, [{"file_name": os.path.relpath(m.photo("%s/%04d" % (split, i))[0], split), "text": m.text(), "stars": m.rng.randint(1, 5)} for i in range(n)])


@layout
def metadata_jsonl(m: Maker) -> None:
    for split, n in (("train", m.n), ("validation", 3)):
        m.lines("%s/metadata.jsonl" % split, [{"file_name": os.path.relpath(m.photo("%s/img/%04d" % (split, i))[0], split), "text": m.text(), "score": m.rng.random()} for i in range(n)])


@layout
def metadata_parquet(m: Maker) -> None:
    names = [m.photo("%04d" % i, "png")[0] for i in range(m.n)]
    rows = {"file_name": names, "text": [m.text() for _ in names], "width": [m.rng.randint(1, 100) for _ in names]}
    pq = m.library("pyarrow.parquet", "metadata.parquet")
    if pq:
        import pyarrow

        pq.write_table(pyarrow.table(rows), os.path.join(m.folder, "metadata.parquet"))


@layout
def metadata_two_files(m: Maker) -> None:
    """A second column names a second file of the sample."""
    rows = []
    for i in range(m.n):
        name, w, h = m.photo("images/%02d" % i)
        m.mask("masks/%02d.png" % i, w, h)
        rows.append({"file_name": name, "mask_file_name": "masks/%02d.png" % i, "text": m.text()})
    m.lines("metadata.jsonl", rows)


@layout
def metadata_two_csv(m: Maker) -> None:
    """Two columns name the files of a sample, whose names say nothing; a table for each split."""
    for split, n in (("train", m.n), ("test", 3)):
        rows = []
        for i in range(n):
            name, w, h = m.photo("%s/rgb/%04d" % (split, i))
            seg = "seg/%02x.png" % ((37 * i + 11) % 256)
            m.mask("%s/%s" % (split, seg), w, h)
            rows.append({"image_file_name": os.path.relpath(name, split), "mask_file_name": seg, "stars": m.rng.randint(1, 5)})
        m.rng.shuffle(rows)
        m.table("%s/metadata.csv" % split, rows)


@layout
def metadata_depth(m: Maker) -> None:
    """A second file beside each image."""
    rows = []
    for i in range(m.n):
        name, w, h = m.photo("%04d" % i, "png")
        m.mask("%04d-depth.png" % i, w, h)
        rows.append({"file_name": name, "depth_file_name": "%04d-depth.png" % i, "focal": m.rng.random()})
    m.rng.shuffle(rows)
    m.put("metadata.csv", "file_name,depth_file_name,focal\n" + "".join("%(file_name)s,%(depth_file_name)s,%(focal)r\n" % r for r in rows))


@layout
def captions_txt(m: Maker) -> None:
    """Flickr8k: five captions an image."""
    rows = []
    for i in range(m.n):
        name = m.photo("Images/%d_%010x" % (1000 + i, m.rng.getrandbits(40)))[0]
        rows += [{"image": name.split("/")[1], "caption": m.text()} for _ in range(5)]
    m.table("captions.txt", rows)


@layout
def boxes_csv(m: Maker) -> None:
    """Global wheat: a row a box, and no row for images without boxes."""
    rows = []
    for i in range(m.n):
        name, w, h = m.photo("train/%09x" % m.rng.getrandbits(36))
        rows += [{"image_id": os.path.splitext(os.path.basename(name))[0], "width": w, "height": h, "bbox": "[%d, %d, %d, %d]" % b, "source": m.word()} for b in m.boxes(w, h, 1)]
    m.table("train.csv", rows)


# ---- files of the same name


@layout
def image_txt(m: Maker) -> None:
    for i in range(m.n):
        m.photo("%05d/%05d%04d" % (i // 6, i // 6, i))
        m.put("%05d/%05d%04d.txt" % (i // 6, i // 6, i), m.text())


@layout
def image_json(m: Maker) -> None:
    for i in range(m.n):
        name, w, h = m.photo("%04d" % i)
        m.put("%04d.json" % i, json.dumps({"caption": m.text(), "width": w, "height": h, "similarity": m.rng.random()}))


@layout
def images_masks(m: Maker) -> None:
    for i in range(m.n):
        name, w, h = m.photo("images/%d" % i)
        m.mask("masks/%d.png" % i, w, h)


@layout
def masks_suffix(m: Maker) -> None:
    for split, n in (("train", m.n), ("val", 3)):
        for i in range(n):
            name, w, h = m.photo("%s/images/s%d" % (split, i))
            m.mask("%s/masks/s%d_mask.png" % (split, i), w, h)


def yolo(m: Maker, w: int, h: int) -> str:
    return "".join("%d %.6f %.6f %.6f %.6f\n" % (m.rng.randint(0, 2), (x + bw / 2) / w, (y + bh / 2) / h, bw / w, bh / h) for x, y, bw, bh in m.boxes(w, h))


@layout
def yolo_folders(m: Maker) -> None:
    for split, n in (("train", m.n), ("val", 3)):
        for i in range(n):
            name, w, h = m.photo("images/%s/%06d" % (split, i))
            m.put("labels/%s/%06d.txt" % (split, i), yolo(m, w, h))
    m.put("data.yaml", "path: .\ntrain: images/train\nval: images/val\nnames:\n  0: person\n  1: bicycle\n  2: car\n")


@layout
def yolo_one_folder(m: Maker) -> None:
    for i in range(m.n):
        name, w, h = m.photo("obj_train_data/%04d" % i)
        m.put("obj_train_data/%04d.txt" % i, yolo(m, w, h))
    m.put("obj.names", "person\nbicycle\ncar\n")


@layout
def voc(m: Maker) -> None:
    lists: Dict[str, List[str]] = {"train": [], "val": []}
    for i in range(m.n + 3):
        stem = "2007_%06d" % i
        name, w, h = m.photo("JPEGImages/" + stem)
        objects = "".join(
            "<object><name>%s</name><pose>Unspecified</pose><truncated>%d</truncated><difficult>%d</difficult><bndbox><xmin>%d</xmin><ymin>%d</ymin><xmax>%d</xmax><ymax>%d</ymax></bndbox></object>"
            % (m.word(), m.rng.randint(0, 1), m.rng.randint(0, 1), x + 1, y + 1, x + bw, y + bh)
            for x, y, bw, bh in m.boxes(w, h, 1)
        )
        m.put("Annotations/%s.xml" % stem, "<annotation><folder>VOC2007</folder><filename>%s</filename><size><width>%d</width><height>%d</height><depth>3</depth></size>%s</annotation>\n" % (os.path.basename(name), w, h, objects))
        lists["train" if i < m.n else "val"].append(stem)
    for split, stems in lists.items():
        m.put("ImageSets/Main/%s.txt" % split, "".join(s + "\n" for s in stems))
    m.put("ImageSets/Main/trainval.txt", "".join(s + "\n" for stems in lists.values() for s in stems))


@layout
def coco(m: Maker) -> None:
    categories = [{"id": 1, "name": "person", "supercategory": "person"}, {"id": 3, "name": "car", "supercategory": "vehicle"}, {"id": 18, "name": "dog", "supercategory": "animal"}]
    number = 0
    for split, n in (("train2017", m.n), ("val2017", 3)):
        images, annotations = [], []
        for i in range(n):
            number += 1
            name, w, h = m.photo("%s/%012d" % (split, number))
            images.append({"id": number, "file_name": os.path.basename(name), "width": w, "height": h})
            for x, y, bw, bh in m.boxes(w, h):
                annotations.append({"id": len(annotations) + 1, "image_id": number, "category_id": m.rng.choice(categories)["id"], "bbox": [x, y, bw, bh], "area": bw * bh, "iscrowd": 0, "segmentation": [[x, y, x + bw, y, x + bw, y + bh]]})
        m.rng.shuffle(annotations)
        m.put("annotations/instances_%s.json" % split, json.dumps({"info": {}, "images": images, "annotations": annotations, "categories": categories}))


@layout
def coco_captions(m: Maker) -> None:
    for split, n in (("train2017", m.n), ("val2017", 3)):
        images, annotations = [], []
        for i in range(n):
            name, w, h = m.photo("%s/%012d" % (split, 100 * n + i))
            images.append({"id": 100 + i, "file_name": os.path.basename(name), "width": w, "height": h})
            annotations += [{"id": 10 * i + k, "image_id": 100 + i, "caption": m.text()} for k in range(5)]
        m.rng.shuffle(annotations)
        m.put("annotations/captions_%s.json" % split, json.dumps({"images": images, "annotations": annotations}))


@layout
def kitti(m: Maker) -> None:
    for i in range(m.n):
        w, h = m.photo("training/image_2/%06d" % i, "png")[1:]
        m.put("training/velodyne/%06d.bin" % i, struct.pack("<%df" % (4 * (5 + i)), *(m.rng.random() for _ in range(4 * (5 + i)))))
        m.put("training/calib/%06d.txt" % i, "P2: %s\n" % " ".join("%e" % m.rng.random() for _ in range(12)))
        m.put("training/label_2/%06d.txt" % i, "".join("%s 0.00 0 -1.57 %.2f %.2f %.2f %.2f 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59\n" % (m.rng.choice(["Car", "Pedestrian", "DontCare"]), x, y, x + bw, y + bh) for x, y, bw, bh in m.boxes(w, h, 1)))


def nifti(m: Maker) -> bytes:
    import gzip

    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, 3, 4, 4, 2, 1, 1, 1, 1)
    struct.pack_into("<2h", head, 70, 2, 8)
    head[344:348] = b"n+1\0"
    struct.pack_into("<f", head, 108, 352)
    return gzip.compress(bytes(head) + bytes(m.rng.choices(range(256), k=32)), mtime=0)


@layout
def nnunet(m: Maker) -> None:
    for i in range(m.n):
        for channel in range(2):
            m.put("imagesTr/BRATS_%03d_%04d.nii.gz" % (i, channel), nifti(m))
        m.put("labelsTr/BRATS_%03d.nii.gz" % i, nifti(m))
    for channel in range(2):
        m.put("imagesTs/BRATS_900_%04d.nii.gz" % channel, nifti(m))
    m.put("dataset.json", json.dumps({"channel_names": {"0": "T1", "1": "T2"}, "labels": {"background": 0, "tumour": 1}, "numTraining": m.n, "file_ending": ".nii.gz"}))


@layout
def bids(m: Maker) -> None:
    m.put("dataset_description.json", json.dumps({"Name": "demo", "BIDSVersion": "1.9.0"}))
    rows = ["participant_id\tage\tsex"]
    for i in range(1, m.n + 1):
        for kind in ("T1w", "T2w"):
            m.put("sub-%02d/anat/sub-%02d_%s.nii.gz" % (i, i, kind), nifti(m))
        rows.append("sub-%02d\t%d\t%s" % (i, m.rng.randint(20, 60), m.rng.choice("FM")))
    m.put("participants.tsv", "\n".join(rows) + "\n")


# ---- text


@layout
def alpaca(m: Maker) -> None:
    m.put("alpaca.json", json.dumps([{"instruction": m.text(), "input": m.rng.choice(["", m.text()]), "output": m.text()} for _ in range(m.n)], indent=1))


@layout
def llava(m: Maker) -> None:
    rows = []
    for i in range(m.n):
        name = m.photo("images/%06d" % i)[0]
        talk = [{"from": "human", "value": "<image>\n" + m.text()}, {"from": "gpt", "value": m.text()}] * m.rng.randint(1, 2)
        rows.append({"id": "%06d" % i, "image": name.split("/")[1], "conversations": talk})
    m.put("llava.json", json.dumps(rows))


# ---- files that hold files


@layout
def images_zip(m: Maker) -> None:
    import zipfile

    inner = Maker(m.folder, 0)
    inner.rng, inner.n, held = m.rng, m.n, {}
    inner.put = lambda path, data: held.__setitem__(path, data)  # type: ignore
    split_class_folders(inner)
    os.makedirs(m.folder, exist_ok=True)
    with zipfile.ZipFile(os.path.join(m.folder, "images.zip"), "w") as z:
        for i, (name, data) in enumerate(held.items()):
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED if i % 2 else zipfile.ZIP_STORED
            z.writestr(info, data)


@layout
def parquet_images(m: Maker) -> None:
    """As the Hugging Face Hub stores images."""
    pq = m.library("pyarrow.parquet", "data/train-00000-of-00001.parquet")
    if not pq:
        return
    import pyarrow as pa

    inner: Dict[str, bytes] = {}
    put, m.put = m.put, lambda path, data: inner.__setitem__(path, data)  # type: ignore
    names = [m.photo("%d" % i)[0] for i in range(m.n)]
    m.put = put  # type: ignore
    about = {"info": {"features": {"image": {"_type": "Image"}, "label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
    t = pa.table({"image": [{"bytes": inner[n], "path": n} for n in names], "label": pa.array([m.rng.randint(0, 1) for _ in names], pa.int64())})
    os.makedirs(os.path.join(m.folder, "data"), exist_ok=True)
    pq.write_table(t.replace_schema_metadata({"huggingface": json.dumps(about)}), os.path.join(m.folder, "data", "train-00000-of-00001.parquet"))


@layout
def audio(m: Maker) -> None:
    rows = []
    for i in range(m.n):
        out = io.BytesIO()
        with wave.open(out, "wb") as w:
            w.setnchannels(1 + i % 2)
            w.setsampwidth(2)
            w.setframerate(8000)
            w.writeframes(bytes(m.rng.choices(range(256), k=4 * m.rng.randint(10, 99))))
        m.put("clips/%03d.wav" % i, out.getvalue())
        rows.append({"file_name": "clips/%03d.wav" % i, "transcription": m.text()})
    m.table("metadata.csv", rows)


# ---- arrays


def npy(kind: str, shape: str, data: bytes) -> bytes:
    """An array as numpy.save writes it."""
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, shape)
    head += " " * (53 - len(head) + 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + data


@layout
def npy_folders(m: Maker) -> None:
    """An array a sample, its class the folder."""
    for name in ("noise", "signal"):
        for i in range(m.n):
            m.put("%s/%d.npy" % (name, i), npy("<f4", "6, 4", struct.pack("<24f", *(m.rng.random() for _ in range(24)))))


@layout
def npy_pairs(m: Maker) -> None:
    """An image and its mask are arrays in parallel folders."""
    for i in range(m.n):
        h = m.rng.randint(2, 5)
        m.put("images/s%d.npy" % i, npy("<f4", "3, %d, 4" % h, struct.pack("<%df" % (12 * h), *(m.rng.random() for _ in range(12 * h)))))
        m.put("labels/s%d.npy" % i, npy("|u1", "%d, 4" % h, bytes(m.rng.choices(range(3), k=4 * h))))


@layout
def events_root(m: Maker) -> None:
    uproot = m.library("uproot", "events.root")
    if not uproot:
        return
    import numpy as np

    n = 3 * m.n
    os.makedirs(m.folder, exist_ok=True)
    with uproot.recreate(os.path.join(m.folder, "events.root")) as f:
        event = np.arange(1000, 1000 + n, dtype=np.int64)
        counts = np.array([m.rng.randint(0, 3) for _ in range(n)])
        import awkward

        pt = awkward.unflatten(np.array([m.rng.random() for _ in range(int(counts.sum()))], np.float32), counts)
        f["events"] = {"event": event, "met": np.array([m.rng.random() for _ in range(n)], np.float32), "jet_pt": pt}


@layout
def nwb(m: Maker) -> None:
    h5py = m.library("h5py", "session.nwb")
    if not h5py:
        return
    os.makedirs(m.folder, exist_ok=True)
    import numpy as np

    counts = [m.rng.randint(0, 6) for _ in range(m.n)]
    with h5py.File(os.path.join(m.folder, "session.nwb"), "w") as f:
        f.attrs["nwb_version"] = "2.6.0"
        f.attrs["namespace"], f.attrs["neurodata_type"] = "core", "NWBFile"
        u = f.create_group("units")
        u.attrs["neurodata_type"], u.attrs["namespace"] = "Units", "core"
        u.attrs["colnames"] = ["spike_times", "quality"]
        u["id"] = np.arange(m.n)
        u["id"].attrs["neurodata_type"] = "ElementIdentifiers"
        u["spike_times"] = np.array(sorted(m.rng.random() for _ in range(sum(counts))))
        u["spike_times_index"] = np.cumsum(counts).astype("u1")
        u["spike_times"].attrs["neurodata_type"] = "VectorData"
        u["spike_times_index"].attrs["neurodata_type"] = "VectorIndex"
        u["spike_times_index"].attrs["target"] = u["spike_times"].ref
        u["quality"] = np.array([m.rng.random() for _ in counts])
        u["quality"].attrs["neurodata_type"] = "VectorData"


def make(folder: str, seed: int = 0) -> None:
    for name, f in LAYOUTS.items():
        f(Maker(os.path.join(folder, name), seed))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    make(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
