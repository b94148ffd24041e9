"""A reference in numpy for images, masks, boxes and points that are moved together: by --augment, and by Loader(decode=)."""

from __future__ import annotations

import io
import math
import os
from typing import Any, Dict, List, Optional, Tuple

import fixture
import numpy as np
from PIL import Image

import shardify
from shardify import geometry


WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
FORMS = ("xyxy", "xywh", "cxcywh", "cxcywhn")
Sample = Dict[str, Any]


def mix(x: int) -> int:
    x &= WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


class Draws:
    """The random numbers of one sample in one operation (docs/design/loader.md; format/identity.go)."""

    def __init__(self, seed: int, place: int, name: str, sample: int) -> None:
        h = 0xCBF29CE484222325
        for c in name.encode():
            h = (h ^ c) * 0x100000001B3 & WORD
        identity = mix(mix(h) + mix((sample + 1) * GOLDEN))
        self.state = mix(mix(identity + mix(mix(seed) + place + 1) * GOLDEN))

    @staticmethod
    def of_loader(seed: int, epoch: int, sample: int, place: int) -> "Draws":
        """In operation `place` of Decode(augment=)."""
        d = object.__new__(Draws)
        h = mix(seed + GOLDEN)
        for word in (epoch, 9, sample):
            h = mix(h ^ mix(word + GOLDEN))
        d.state = mix(h + place)
        return d

    def next(self) -> int:
        self.state = self.state + GOLDEN & WORD
        return mix(self.state)

    def between(self, lo: float, hi: float) -> float:
        return lo + (hi - lo) * ((self.next() >> 11) * 2.0**-53)

    def below(self, n: int) -> int:
        return self.next() * n >> 64


def half_up(x: float) -> int:
    return math.floor(x + 0.5)


def part(w: int, h: int, r: Draws) -> Tuple[int, int, int, int]:
    """The part of random-resized-crop=...,scale=0.2:1."""
    for _ in range(10):
        area, ratio = w * h * r.between(0.2, 1), math.exp(r.between(math.log(0.75), math.log(1.3333)))
        pw, ph = half_up(math.sqrt(area * ratio)), half_up(math.sqrt(area / ratio))
        if 1 <= pw <= w and 1 <= ph <= h:
            return r.below(w - pw + 1), r.below(h - ph + 1), pw, ph
    pw, ph = w, h
    if w / h < 0.75:
        ph = max(1, half_up(w / 0.75))
    elif w / h > 1.3333:
        pw = max(1, half_up(h * 1.3333))
    return (w - pw) // 2, (h - ph) // 2, pw, ph


def turned(image: np.ndarray, mask: np.ndarray, degrees: float, fill: int) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    h, w = mask.shape
    angle = degrees * math.pi / 180
    s, c = math.sin(angle), math.cos(angle)
    y, x = np.mgrid[:h, :w]
    dx, dy = x + 0.5 - w / 2, y + 0.5 - h / 2
    u, v = dx * c - dy * s + w / 2 - 0.5, dx * s + dy * c + h / 2 - 0.5

    def at(a: np.ndarray, u: np.ndarray, v: np.ndarray, fill: int) -> np.ndarray:
        inside = (u >= 0) & (v >= 0) & (u < w) & (v < h)
        out = np.full(u.shape + a.shape[2:], fill, a.dtype)
        out[inside] = a[v[inside], u[inside]]
        return out

    nearest = at(mask, np.floor(u + 0.5).astype(int), np.floor(v + 0.5).astype(int), fill)
    x0, y0 = np.floor(u).astype(int), np.floor(v).astype(int)
    a, b = ((u - x0) * 256 + 0.5).astype(int)[..., None], ((v - y0) * 256 + 0.5).astype(int)[..., None]
    wide = image.astype(int)
    top = at(wide, x0, y0, 0) * (256 - a) + at(wide, x0 + 1, y0, 0) * a
    low = at(wide, x0, y0 + 1, 0) * (256 - a) + at(wide, x0 + 1, y0 + 1, 0) * a
    pixels = ((top * (256 - b) + low * b + (1 << 15)) >> 16).astype(np.uint8)
    # [x y 1] becomes places @ [x y 1]
    centre = np.array([[1, 0, -w / 2], [0, 1, -h / 2], [0, 0, 1]])
    back = np.array([[1, 0, w / 2], [0, 1, h / 2], [0, 0, 1]])
    return pixels, nearest, back @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) @ centre


def cut(image: np.ndarray, mask: np.ndarray, x: int, y: int, w: int, h: int, W: int, H: int) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    # Rows, then columns: Pillow 12.2 and later begin some images with columns, which rounds otherwise.
    rows = Image.fromarray(image[y : y + h, x : x + w]).resize((W, h), Image.Resampling.BILINEAR)
    pixels = np.asarray(rows.resize((W, H), Image.Resampling.BILINEAR))
    below, right = y + (2 * np.arange(H) + 1) * h // (2 * H), x + (2 * np.arange(W) + 1) * w // (2 * W)
    scale = np.array([[W / w, 0, -x * W / w], [0, H / h, -y * H / h], [0, 0, 1]])
    return pixels, mask[below][:, right], scale


def one(op: str, s: Sample, r: Draws, o: Sample) -> None:
    """Changes a sample as one operation does."""
    image, mask = s["image"], s["mask"]
    h, w = mask.shape
    name, _, rest = op.partition("=")
    value = rest.partition(",")[0]
    W, _, H = value.partition("x")
    if name == "flip":
        matrix = np.eye(3)
        if r.between(0, 1) < 0.5:
            axis = 0 if value == "vertical" else 1
            image, mask = np.flip(image, axis), np.flip(mask, axis)
            matrix = np.array([[1, 0, 0], [0, -1, h], [0, 0, 1]]) if axis == 0 else np.array([[-1, 0, w], [0, 1, 0], [0, 0, 1]])
    elif name == "rotate":
        image, mask, matrix = turned(image, mask, r.between(-float(value), float(value)), o["fill"])
    elif name == "resize" and not H:
        n = int(W)
        size = (n, max(1, n * h // w)) if w <= h else (max(1, n * w // h), n)
        image, mask, matrix = cut(image, mask, 0, 0, w, h, *size)
    else:
        tw, th = int(W), int(H or W)
        if name == "resize":
            place = (0, 0, w, h)
        elif name == "centre-crop":
            place = (round((w - tw) / 2), round((h - th) / 2), tw, th)
        elif name == "random-crop":
            place = (r.below(w - tw + 1), r.below(h - th + 1), tw, th)
        else:
            place = part(w, h, r)
        image, mask, matrix = cut(image, mask, *place, tw, th)
    s["image"], s["mask"] = image, mask
    places(s, matrix, w, h, o)


def places(s: Sample, matrix: np.ndarray, w: int, h: int, o: Sample) -> None:
    """Moves boxes and points of an image that had w x h pixels."""
    H2, W2 = s["mask"].shape
    keep = np.zeros(len(s["boxes"]), bool)
    boxes = np.array(s["boxes"], np.float64).reshape(-1, 4)
    for k, box in enumerate(boxes):
        a, b, c, d = box * ((w, h, w, h) if o["form"] == "cxcywhn" else 1)
        if o["form"] == "xywh":
            c, d = a + c, b + d
        elif o["form"] != "xyxy":
            a, b, c, d = a - c / 2, b - d / 2, a + c / 2, b + d / 2
        corners = matrix @ np.array([[a, c, a, c], [b, b, d, d], [1, 1, 1, 1]])
        (a, b), (c, d) = corners[:2].min(1), corners[:2].max(1)
        area = (c - a) * (d - b)
        a, c, b, d = max(a, 0), min(c, W2), max(b, 0), min(d, H2)
        seen = max(c - a, 0) * max(d - b, 0) / area
        keep[k] = seen > 0 and seen >= o["visible"]
        if o["form"] == "xywh":
            c, d = c - a, d - b
        elif o["form"] != "xyxy":
            a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
        boxes[k] = np.array([a, b, c, d]) / ((W2, H2, W2, H2) if o["form"] == "cxcywhn" else 1)
    points = np.array(s["points"], np.float64).reshape(-1, 2, o["size"])
    for p in points.reshape(-1, o["size"]):
        if o["size"] == 3 and p[2] == 0:
            continue
        p[:2] = (matrix @ np.array([p[0], p[1], 1]))[:2]
        if o["size"] == 3 and not (0 <= p[0] <= W2 and 0 <= p[1] <= H2):
            p[2] = 0
    s["boxes"], s["points"], s["class"] = boxes[keep].astype(np.float32), points[keep].astype(np.float32), s["class"][keep]
    o["dropped"] += int((~keep).sum())


def chain(r: np.random.Generator) -> List[str]:
    ops, least = [], 24
    for _ in range(r.integers(1, 5)):
        kind = r.choice(["flip", "flip=vertical", "rotate", "resize", "short", "centre-crop", "random-crop", "random-resized-crop"])
        n, m = int(r.integers(max(4, least // 2), least + 1)), int(r.integers(max(4, least // 2), least + 1))
        size = "%dx%d" % (n, m)
        if kind.startswith("flip"):
            ops.append(str(kind))
        elif kind == "rotate":
            ops.append("rotate=%d" % r.choice([10, 45, 180]))
        elif kind == "short":
            least = int(r.integers(12, 70))
            ops.append("resize=%d" % least)
        else:
            if kind == "resize" or kind == "random-resized-crop":
                n, m = (int(x) for x in r.integers(12, 70, 2))
                size = "%dx%d" % (n, m)
            ops.append("%s=%s%s" % (kind, size, ",scale=0.2:1" if kind == "random-resized-crop" else ""))
            least = min(n, m)
    return ops


def png(image: Image.Image) -> bytes:
    f = io.BytesIO()
    image.save(f, "PNG")
    return f.getvalue()


def sample(r: np.random.Generator, o: Sample) -> Tuple[Sample, Sample]:
    """A random sample, and it as a row of a table."""
    w, h = (int(x) for x in r.integers(24, 65, 2))
    n = int(r.choice([0, 0, 1, 2, 3, 9]))
    image = r.integers(0, 256, (h, w, 3), dtype=np.uint8)
    mask = r.integers(0, 60000 if o["wide"] else 200, (h, w)).astype(np.uint16 if o["wide"] else np.uint8)
    stored = Image.fromarray(mask)
    if o["palette"]:
        stored.putpalette(r.integers(0, 256, 768, dtype=np.uint8).tobytes())
    low = r.uniform(-8, [w, h], (n, 2))
    size = r.uniform(0.5, [w, h], (n, 2))
    boxes = {
        "xyxy": np.hstack([low, low + size]),
        "xywh": np.hstack([low, size]),
        "cxcywh": np.hstack([low + size / 2, size]),
        "cxcywhn": np.hstack([low + size / 2, size]) / [w, h, w, h],
    }[o["form"]].astype(np.float32)
    points = r.uniform(-3, w, (n, 2, o["size"]))
    if o["size"] == 3:
        points[:, :, 2] = r.integers(0, 3, (n, 2))
    points = points.astype(np.float32)
    s = {"image": image, "mask": mask, "boxes": boxes, "points": points, "class": np.arange(n, dtype=np.int32)}
    return s, {"image": png(Image.fromarray(image)), "mask": png(stored), **{k: s[k].tolist() for k in ("boxes", "points", "class")}}


def shaped(s: Sample, shaping: geometry.Shaping, u: np.ndarray, o: Sample) -> None:
    """What resize=, crop=, random_crop= and flip= of Decode make: the same as operations, one after the other."""
    h, w = s["mask"].shape
    c = shaping.cut(w, h, u)

    def do(x: int, y: int, pw: int, ph: int, W: int, H: int) -> None:
        h, w = s["mask"].shape
        s["image"], s["mask"], matrix = cut(s["image"], s["mask"], x, y, pw, ph, W, H)
        places(s, matrix, w, h, o)

    if shaping.resize or shaping.area:
        do(*c.part, *c.resized)
    if shaping.crop and not shaping.area:
        do(*c.at, *c.out, *c.out)
    if shaping.flip:
        h, w = s["mask"].shape
        if c.mirrored:
            s["image"], s["mask"] = np.flip(s["image"], 1), np.flip(s["mask"], 1)
        places(s, np.array([[-1, 0, w], [0, 1, 0], [0, 0, 1]]) if c.mirrored else np.eye(3), w, h, o)


FORMATS = ("PNG", "JPEG", "BMP")  # the last is decoded by Pillow


def decoding(r: np.random.Generator) -> Dict[str, Any]:
    """Random arguments of Decode that give all images one size."""
    n, m = (int(x) for x in r.integers(12, 24, 2))
    size: Any = n if r.random() < 0.5 else (n, m)
    shape: Dict[str, Any] = [
        {},
        {"resize": (m, n)},
        {"resize": int(r.integers(24, 50)), "crop": size},
        {"crop": size},
        {"crop": size, "random_crop": True},
        {"resize": 30, "crop": size, "random_crop": True},
        {"crop": size, "random_crop": (0.2, 1.0)},
    ][r.integers(7)]
    if r.random() < 0.5:
        shape["flip"] = 0.5
    ops = chain(r) if not shape or r.random() < 0.4 else []
    if not shape.get("crop") and not isinstance(shape.get("resize"), tuple) or ops:
        ops = [op for op in ops if "crop" not in op or "random-resized" in op] if shape else ops
        ops.append("resize=%dx%d" % (n, m))
    return {**shape, "augment": ops}


def kept(path: str, r: np.random.Generator, many: int) -> Tuple[str, Sample, List[Sample]]:
    """A set of random pairs, which are returned too."""
    wide = bool(r.random() < 0.3)
    o = {"wide": wide, "palette": not wide and r.random() < 0.5, "form": str(r.choice(FORMS)), "size": int(r.choice([2, 3])),
         "visible": float(r.choice([0, 0, 0.25, 0.9])), "fill": int(r.choice([0, 255])), "dropped": 0, "attrs": bool(r.random() < 0.5), "array": bool(r.random() < 0.3)}  # fmt: skip
    pairs, rows = zip(*(sample(r, o) for _ in range(many)))
    marks = {"mask": {"mask": "classes", "mask.fill": str(o["fill"]), **({"mask.dtype": "u16"} if wide else {})},
             "boxes": {"boxes": o["form"], "boxes.min-visible": str(o["visible"])}, "points": {"points": "xy" if o["size"] == 2 else "xyv"}}  # fmt: skip
    attrs = {k: {"attrs": v} for k, v in marks.items()} if o["attrs"] else {k: {} for k in marks}
    mask: Dict[str, Any] = {"name": "mask", "dtype": "u8", "levels": 1, "media": "png", **attrs["mask"]}
    if o["array"]:
        mask = {"name": "mask", "dtype": "u16" if wide else "u8", "levels": 1, "ragged": True, **attrs["mask"]}
    one_counter = {"counter": "object"} if o["attrs"] else {}
    schema = [
        {"name": "image", "dtype": "u8", "levels": 1, "media": "image"},
        {"name": "image.ext", "dtype": "u8", "attrs": {"labels": "png\njpg\nbmp"}},
        mask,
        {"name": "boxes", "dtype": "f32", "shape": [4], "levels": 1, **one_counter, **attrs["boxes"]},
        {"name": "points", "dtype": "f32", "shape": [2, o["size"]], "levels": 1, **one_counter, **attrs["points"]},
        {"name": "class", "dtype": "i32", "levels": 1, **one_counter},
        {"name": "names", "dtype": "u8", "levels": 2, "media": "txt", **one_counter},
    ]
    if o["array"]:
        schema.append({"name": "mask.shape", "dtype": "i64", "shape": [2]})
    for k, (s, row) in enumerate(zip(pairs, rows)):
        kind = int(r.integers(3))
        f = io.BytesIO()
        Image.fromarray(s["image"]).save(f, FORMATS[kind])
        s["image"] = np.asarray(Image.open(io.BytesIO(f.getvalue())).convert("RGB"))
        s["names"] = ["%d of %d" % (i, k) for i in range(len(s["class"]))]
        row.update(__key__="%05d" % k, image=f.getvalue(), names=s["names"])
        row["image.ext"] = kind
        if o["array"]:
            row["mask"], row["mask.shape"] = s["mask"].reshape(-1), s["mask"].shape
    o["targets"] = "mask=mask%s,boxes=boxes:%s,points=points:%s,with=class+points+names,min-visible=%g,fill=%d" % (
        ":u16" if wide and not o["array"] else "", o["form"], "xy" if o["size"] == 2 else "xyv", o["visible"], o["fill"])  # fmt: skip
    return fixture.write(path, schema, list(rows)), o, list(pairs)


def lists(b: Any, name: str, k: int) -> Any:
    """List k of a batch of jagged="values"."""
    v = b[name]
    if isinstance(v, list):
        return v[k]
    return np.asarray(v["values"][v["offsets"][k] : v["offsets"][k + 1]])


def compare(b: Any, k: int, s: Sample, pixels: bool, what: str) -> None:
    """Row k of a batch is the sample s."""
    got = np.asarray(b["mask"][k])
    assert got.dtype == s["mask"].dtype and np.array_equal(got, s["mask"]), "%s: mask %s" % (what, got.shape)
    if pixels:
        assert np.array_equal(np.asarray(b["image"][k]).transpose(1, 2, 0), s["image"]), "%s: image" % what
    for name in ("boxes", "points"):
        have = lists(b, name, k)
        assert have.shape == s[name].shape and np.allclose(have, s[name], rtol=0, atol=1e-4), "%s: %s %s, want %s" % (what, name, have, s[name])
    assert lists(b, "class", k).tolist() == s["class"].tolist() and lists(b, "names", k) == [s["names"][i] for i in s["class"]], what


def loaded(path: str, o: Sample, pairs: List[Sample], number: int, given: Optional[Dict[str, Any]] = None) -> int:
    """Every sample of an epoch as a loader gives it is that of the reference. Returns how many there were."""
    r = np.random.default_rng([number, 7])
    arguments = decoding(r) if given is None else given
    epoch, batch = int(r.integers(3)), int(r.choice([1, 7, 16]))
    targets = "" if o["attrs"] else o["targets"]
    decode = shardify.Decode(field="image", targets=targets, seed=number, scaled=False, threads=int(r.integers(1, 4)), **arguments)
    shaping = geometry.Shaping.make(*(arguments.get(k, d) for k, d in (("resize", None), ("crop", None), ("random_crop", False), ("flip", 0.0))))
    done = 0
    with shardify.Loader(path, batch, shuffle="global", last="short", epoch=epoch, seed=number, decode=decode, framework="numpy") as loader:
        for b in loader:
            for k, i in enumerate(b.ids.tolist()):
                s = dict(pairs[i])
                u = geometry.draws(number, epoch, np.array([i]))[0]
                shaped(s, shaping, u, o)
                for place, op in enumerate(arguments["augment"]):
                    one(op, s, Draws.of_loader(number, epoch, i, place), o)
                compare(b, k, s, shaping.resize is None and shaping.crop is None and shaping.flip == 0, "%s, %r, sample %d" % (decode, o, i))
                done += 1
    assert done == len(pairs)
    return done
