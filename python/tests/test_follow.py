"""Masks, boxes and points that Loader(decode=) moves with their images."""

from __future__ import annotations

import fixture
import numpy as np
import pytest
from loading import needs_library

import shardify
from shardify import decode

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
moving = pytest.importorskip("moving")
pytestmark = needs_library

IMAGE = {"name": "image", "dtype": "u8", "levels": 1, "media": "png"}
MASK = {"name": "mask", "dtype": "u8", "levels": 1, "media": "png"}
BOXES = {"name": "boxes", "dtype": "f32", "shape": [4], "levels": 1}
CLASS = {"name": "class", "dtype": "i32", "levels": 1}
TARGETS = "mask=mask,boxes=boxes:xyxy,with=class"


def pair(k, width=40, height=30, palette=True):
    """An image whose red channel is its mask."""
    y, x = np.mgrid[:height, :width]
    mask = ((x // 5 + 3 * (y // 5) + k) % 11).astype("u1")
    image = Image.fromarray(np.stack([mask, 0 * mask, 255 - mask], -1))
    stored = Image.fromarray(mask)
    if palette:
        stored.putpalette(bytes(255 - v // 3 for v in range(768)))
    return moving.png(image), moving.png(stored), mask


def rows(n=6, **changes):
    made = []
    for k in range(n):
        image, mask, _ = pair(k)
        made.append({"__key__": "%03d" % k, "image": image, "mask": mask, "boxes": [[1, 2, 20, 25], [30, 20, 40, 30]], "class": [k, k + 1]})
    for k, row in changes.items():
        made[int(k[1:])].update(row)
    return made


def write(folder, schema=(IMAGE, MASK, BOXES, CLASS), **changes):
    made = [{k: v for k, v in r.items() if k == "__key__" or k in {f["name"] for f in schema}} for r in rows(**changes)]
    return fixture.write(folder, [dict(f) for f in schema], made)


def load(path, size=4, targets=TARGETS, **options):
    more = {k: options.pop(k) for k in ("on_error", "last", "columns", "jagged", "workers", "transform_threads", "rank", "world_size") if k in options}
    decoding = shardify.Decode(**{"seed": 3, "targets": targets, **options})
    return shardify.Loader(path, size, framework="numpy", decode=decoding, **{"last": "short", **more})


@pytest.mark.parametrize("number", range(4))
def test_random_pairs_are_those_of_the_reference(tmp_path, number):
    path, o, pairs = moving.kept(str(tmp_path / "set"), np.random.default_rng([5, number]), 40)
    assert sum(moving.loaded(path, o, pairs, 10 * number + k) for k in range(3)) == 120


def test_flips_are_those_of_torchvision(tmp_path):
    """functional.resize, center_crop and horizontal_flip of BoundingBoxes: scaled, moved and cut, mirrored."""
    with load(write(tmp_path / "set"), resize=(60, 80), crop=40, flip=1.0, targets=TARGETS + ",min-visible=0") as loader:
        b = next(iter(loader))
    boxes = np.array([[1, 2, 20, 25], [30, 20, 40, 30]], "f8") * 2 - [20, 10, 20, 10]
    boxes = np.clip(boxes, 0, 40)[:, [2, 1, 0, 3]] * [-1, 1, -1, 1] + [40, 0, 40, 0]
    assert b["boxes"]["offsets"].tolist() == [0, 1, 2, 3, 4] and np.allclose(b["boxes"]["values"], boxes[:1], atol=1e-4)  # the second is outside
    assert b["class"]["values"].tolist() == [0, 1, 2, 3] and b["mask"].shape == (4, 40, 40)


def test_the_mask_is_where_the_image_is(tmp_path):
    with load(write(tmp_path / "set"), crop=16, random_crop=True, flip=0.5) as loader:
        for b in loader:
            assert np.array_equal(b["image"][:, 0], b["mask"])
            assert list(b) == ["image", "mask", "boxes", "class"]


def test_targets_follow_from_the_sample_alone(tmp_path):
    """Whatever the threads, the ranks, the batches and a resumption."""
    path = write(tmp_path / "set", n=24)
    options = {"crop": 16, "random_crop": (0.2, 1.0), "flip": 0.5, "augment": ["rotate=20"]}

    def every(loader, batches=None):
        out = {}
        with loader:
            for b in loader:
                for k, i in enumerate(b.ids.tolist()):
                    if i >= 0:
                        out[i] = [b["image"][k], b["mask"][k], moving.lists(b, "boxes", k), moving.lists(b, "class", k)]
                if batches is not None and len(out) >= batches * 4:
                    return out, loader.state_dict()
        return out

    def same(a):
        return all(np.array_equal(x, y) for i, v in a.items() for x, y in zip(v, whole[i]))

    whole = every(load(path, **options))
    assert len(whole) == 24 and len({v[1].tobytes() for v in whole.values()}) > 20
    assert same(every(load(path, size=7, threads=3, last="pad", transform_threads=2, **options)))
    ranks = [every(load(path, rank=r, world_size=2, workers=1, threads=1, **options)) for r in (0, 1)]
    assert same(ranks[0]) and same(ranks[1]) and sorted({**ranks[0], **ranks[1]}) == list(range(24))
    begun, state = every(load(path, **options), 2)
    again = load(path, **options)
    again.load_state_dict(state)
    rest = every(again)
    assert same(begun) and same(rest) and sorted([*begun, *rest]) == list(range(24))


def test_padded_lists_and_dicts_of_targets(tmp_path):
    path = write(tmp_path / "set")
    with load(path, jagged="pad", crop=(30, 28), targets={"mask": "mask", "boxes": "boxes:xyxy", "with": ["class"]}) as loader:
        b = next(iter(loader))
    assert b["boxes"]["values"].shape == (4, 2, 4) and b["boxes"]["lengths"].tolist() == [2] * 4 and b["class"]["values"].shape == (4, 2)
    with load(path, jagged="pad", crop=(20, 20), targets=TARGETS + ",min-visible=0.9") as loader:
        assert next(iter(loader))["boxes"]["lengths"].tolist() == [0] * 4


def test_integers_become_floats_and_masks_may_be_arrays_of_one_size(tmp_path):
    ints = {"name": "boxes", "dtype": "i32", "shape": [4], "levels": 1, "attrs": {"boxes": "xywh", "boxes.alone": "yes"}}
    array = {"name": "mask", "dtype": "u16", "shape": [30, 40], "nullable": True, "attrs": {"mask": "classes"}}
    y, x = np.mgrid[:30, :40]
    path = write(tmp_path / "set", (IMAGE, array, ints), n=3, **{"r%d" % k: {"mask": (x + 100 * y) if k else None} for k in range(3)})
    with load(path, targets="", flip=1.0) as loader:
        b = next(iter(loader))
    assert b["mask"].dtype == np.uint16 and np.array_equal(b["mask"][1], (x + 100 * y)[:, ::-1]) and not b["mask"][0].any()
    assert b["mask.valid"].tolist() == [False, True, True]
    assert b["boxes"]["values"].dtype == np.float32 and b["boxes"]["values"][0].tolist() == [19, 2, 20, 25]
    with load(path, targets="") as loader:  # nothing moves: they stay as they are
        b = next(iter(loader))
    assert b["boxes"]["values"].dtype == np.int32 and np.array_equal(b["mask"][2], x + 100 * y)


def test_colours_or_class_numbers_of_a_palette(tmp_path):
    path = write(tmp_path / "set")
    _, file, mask = pair(0)
    stored = Image.open(moving.io.BytesIO(file))
    with load(path, field="mask", targets="") as loader:  # as Pillow's convert("RGB")
        assert np.array_equal(next(iter(loader))["mask"][0].transpose(1, 2, 0), np.asarray(stored.convert("RGB")))
    with load(path, field="mask", targets="", color="index") as loader:
        b = next(iter(loader))
    assert b["mask"].dtype == np.uint8 and b["mask"].shape == (4, 30, 40) and np.array_equal(b["mask"][0], mask) and isinstance(b["image"][0], bytes)
    one = np.frombuffer(file, np.uint8), np.array([0, len(file)]), np.array([0])
    for _ in range(2):
        assert np.array_equal(decode.make("mask", color="index")(*one)[0], mask)
    deep = moving.png(Image.fromarray(mask.astype("u2") * 999))
    one = np.frombuffer(deep, np.uint8), np.array([0, len(deep)]), np.array([0])
    made = decode.make("mask", color="index", targets="mask=mask:u16")
    for _ in range(2):
        assert np.array_equal(made(*one)[0], mask.astype("u2") * 999)
    with pytest.raises(shardify.SchemaError, match="mask: sample 0: a PNG of 16 bits: targets='mask=mask:u16' keeps its class numbers"):
        decode.make("mask", color="index")(*one)
    for options, words in [({"resize": 8}, "with their image"), ({"backend": "pillow"}, "native"), ({"cast": "float32"}, "without cast"), ({"layout": "nhwc"}, "layout")]:
        with pytest.raises(ValueError, match="color='index'.*" + words):
            decode.make("mask", **{"color": "index", **options})
    with pytest.raises(shardify.SchemaError, match="mask: sample 0 is .*, a PNG of colours|a PNG of colours"):
        image = pair(0)[0]
        decode.make("mask", color="index")(np.frombuffer(image, np.uint8), np.array([0, len(image)]), np.array([0]))


def test_class_numbers_or_a_picture_is_asked(tmp_path):
    path = write(tmp_path / "set", (IMAGE, MASK))
    with shardify.Loader(path, 4, framework="numpy", decode=True) as loader:
        with pytest.raises(shardify.ShardifyError, match="targets='mask=mask' keeps class numbers; targets='mask=mask:colours' makes RGB pixels"):
            next(iter(loader))
    with load(path, targets="mask=mask:colours") as loader:
        assert next(iter(loader))["mask"].shape == (4, 3, 30, 40)
    with load(path, targets="mask=mask") as loader:
        b = next(iter(loader))
        assert b["mask"].shape == (4, 30, 40) and b["image"].shape == (4, 3, 30, 40)


@pytest.mark.parametrize(
    "options,words",
    [
        ({"targets": "mask=mask,boxes=boxes:xyxy"}, r"do the lists class lose the same elements\? targets='boxes=boxes:xyxy,with=class' says"),
        ({"targets": "boxes=bxes:xyxy"}, "there is no field bxes"),
        ({"targets": "boxes=boxes:yxyx"}, "want FIELD:FORM with one of xyxy, xywh, cxcywh, cxcywhn"),
        ({"targets": "points=class:xy,with=none"}, "with= is for lists that go with boxes"),
        ({"targets": "boxes=class:xyxy"}, "class is .*, no list .n, 4. of boxes"),
        ({"targets": "masks=mask"}, "want KEY=VALUE with one of mask, boxes"),
        ({"backend": "pillow"}, "targets=: is for backend='native'"),
        ({"field": "mask"}, "field= names the image, and targets= what follows it"),
    ],
)
def test_targets_that_do_not_fit_are_refused(tmp_path, options, words):
    with pytest.raises((shardify.ShardifyError, ValueError), match=words):
        load(write(tmp_path / "set"), flip=1.0, **options).close()


BAD = [
    ({"mask": moving.png(Image.fromarray(np.zeros((30, 41), "u1")))}, "mask.* sample 4: a mask of 41 x 30 pixels for an image of 40 x 30"),
    ({"mask": moving.png(Image.fromarray(np.zeros((30, 40, 3), "u1")))}, "mask.* sample 4: a PNG of colours"),
    ({"boxes": [[1, 2, np.nan, 3], [0, 0, 1, 1]]}, "boxes sample 4: box .* has no width and height"),
    ({"boxes": [[9, 2, 3, 3], [0, 0, 1, 1]]}, "boxes sample 4: box .* has no width and height"),
    ({"class": [1]}, "sample 4: boxes has 2 elements, class has 1"),
]


@pytest.mark.parametrize("change,words", BAD)
def test_bad_targets_name_field_and_sample(tmp_path, change, words):
    with load(write(tmp_path / "set", r4=change), flip=0.5) as loader:
        with pytest.raises(shardify.ShardifyError, match=words):
            list(loader)


def test_points_of_odd_length_are_named(tmp_path):
    flat = {"name": "points", "dtype": "f32", "levels": 1}
    changes = {"r%d" % k: {"points": [1, 2, 3, 4] if k != 4 else [1, 2, 3]} for k in range(6)}
    with load(write(tmp_path / "set", (IMAGE, flat), **changes), flip=1.0, targets="points=points:xy") as loader:
        with pytest.raises(shardify.CorruptError, match="points sample 4: a list of 3 numbers, no whole points of 2"):
            for b in loader:
                assert b["points"]["values"].tolist()[:4] == [39, 2, 37, 4]


def test_damaged_masks_are_left_out(tmp_path):
    _, whole, _ = pair(0)
    path = write(tmp_path / "set", r2={"mask": whole[:60]}, r3={"image": b"\x89PNG\r\n\x1a\n"})
    with load(path, flip=1.0) as loader:
        with pytest.raises(shardify.CorruptError, match="sample [23]"):
            list(loader)
    with pytest.warns(UserWarning, match="damaged images are left out"), load(path, size=6, flip=1.0, on_error="skip") as loader:
        b = next(iter(loader))
        assert b.ids.tolist() == [0, 1, 4, 5] and loader.skipped.count == 2
        assert b["mask"].shape[0] == 4 and b["boxes"]["offsets"].tolist() == [0, 2, 4, 6, 8] and np.array_equal(b["image"][:, 0], b["mask"])


def test_the_image_that_is_followed_is_named(tmp_path):
    other = dict(IMAGE, name="left")
    changes = {"r%d" % k: {"left": pair(k)[0]} for k in range(6)}
    path = write(tmp_path / "set", (IMAGE, other, MASK), **changes)
    with pytest.raises(shardify.SchemaError, match="does mask follow image or left. targets='image=image' or targets='image=left'"):
        load(path, targets="mask=mask", flip=1.0)
    with load(path, targets="mask=mask,image=left", flip=1.0) as loader:
        b = next(iter(loader))
        assert np.array_equal(b["left"][:, 0], b["mask"])


def test_an_upright_image_asks_for_which_pixels_targets_were_made(tmp_path):
    y, x = np.mgrid[:32, :48]
    image = Image.fromarray(np.stack([5 * x, 7 * y, 0 * x], -1).astype("u1"))
    exif = Image.Exif()
    exif[0x0112] = 6
    f = moving.io.BytesIO()
    image.save(f, "JPEG", exif=exif)
    mask = (x // 8 + 8 * (y // 8)).astype("u1")
    changes = {"r0": {"image": f.getvalue(), "mask": moving.png(Image.fromarray(mask)), "boxes": [[0, 0, 8, 4]], "class": [1]}}
    path = write(tmp_path / "set", (dict(IMAGE, media="jpg"), MASK, BOXES, CLASS), n=1, **changes)
    with load(path, augment=["orient", "resize=32x48"]) as loader:
        with pytest.raises(shardify.ShardifyError, match=r"image: sample 0: .*augment=\['orient,targets=turn'\]"):
            next(iter(loader))
    with load(path, augment=["orient,targets=turn", "resize=32x48"]) as loader:
        b = next(iter(loader))
    assert np.array_equal(b["mask"][0], np.rot90(mask, -1)) and b["boxes"]["values"].tolist() == [[28, 0, 32, 8]]
