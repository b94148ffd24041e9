"""Images of a batch, decoded: the pixels that Pillow and torchvision show, whatever the threads."""

from __future__ import annotations

import base64
import functools
import io
import os
import pickle
import re
import struct
import subprocess
import sys
import threading
import types

import fixture
import numpy as np
import pytest
from loading import needs_library

import shardify
from shardify import decode, skipping

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
BACKENDS = [pytest.param("native", marks=needs_library), "pillow", "torchvision"]


def picture(k, width=80, height=60, kind="RGB"):
    """Smooth, so that a scaled decode may be compared with an exact one."""
    y, x = np.mgrid[0:height, 0:width].astype("f8")
    planes = [127 + 110 * np.sin((x * (c + 1) + 3 * k) / 37 + y / (19 + 5 * c)) for c in range(3)]
    image = Image.fromarray(np.stack(planes, -1).astype("u1"))
    return image.convert(kind)


def coded(image, format="png", **kw):
    out = io.BytesIO()
    image.save(out, format, **kw)
    return out.getvalue()


def packed(files):
    offsets = np.cumsum([0] + [len(f) for f in files])
    return np.frombuffer(b"".join(files), np.uint8), offsets, np.arange(len(files))


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "torchvision":
        pytest.importorskip("torchvision", reason="torchvision is not installed")
    return request.param


@pytest.mark.parametrize("format", ["png", "jpeg"])
def test_pixels_are_those_of_the_file(backend, format):
    files = [coded(picture(k), format) for k in range(5)]
    want = np.stack([np.asarray(Image.open(io.BytesIO(f))) for f in files])
    got = decode.make("image", backend, layout="nhwc")(*packed(files))
    assert got.dtype == np.uint8 and np.array_equal(got, want)
    assert np.array_equal(decode.make("image", backend)(*packed(files)), want.transpose(0, 3, 1, 2))
    gray = decode.make("image", backend, color="gray")(*packed([coded(picture(1, kind="L"), format)]))
    assert np.array_equal(gray[0, 0], np.asarray(Image.open(io.BytesIO(coded(picture(1, kind="L"), format)))))


@pytest.mark.parametrize("width,height", [(80, 60), (60, 80), (61, 97), (40, 40)])
def test_resize_and_crop_are_those_of_torchvision(backend, width, height):
    transforms = pytest.importorskip("torchvision.transforms", reason="torchvision is not installed")
    files = [coded(picture(k, width, height)) for k in range(3)]
    for options, steps in [
        ({"resize": 32, "crop": 28}, [transforms.Resize(32), transforms.CenterCrop(28)]),
        ({"resize": (24, 33)}, [transforms.Resize((24, 33))]),
        ({"crop": (20, 31)}, [transforms.CenterCrop((20, 31))]),
        ({"resize": 120, "crop": 100}, [transforms.Resize(120), transforms.CenterCrop(100)]),
    ]:
        known = transforms.Compose(steps)
        want = np.stack([np.asarray(known(Image.open(io.BytesIO(f)))) for f in files]).astype("i2")
        got = decode.make("image", backend, layout="nhwc", scaled=False, **options)(*packed(files))
        assert got.shape == want.shape and abs(got - want).max() <= 1, options


def test_a_scaled_decode_shows_the_same_part():
    files = [coded(picture(k, 640, 480), "jpeg", quality=95) for k in range(3)]
    for options in {"resize": 64, "crop": 56}, {"resize": (50, 70)}, {"crop": 48, "random_crop": (0.3, 1), "flip": 0.5}:
        exact = decode.make("image", "pillow", scaled=False, **options)(*packed(files)).astype("i2")
        scaled = decode.make("image", "pillow", **options)(*packed(files))
        assert abs(exact - scaled).max() <= 10 and abs(exact - scaled).mean() < 2, options
        shifted = abs(exact[..., 1:] - scaled[..., :-1]).mean()  # the tolerance sees one pixel
        assert shifted > 2 * abs(exact - scaled).mean()


def test_a_scaled_decode_keeps_the_detail_that_was_asked_for():
    grain = Image.fromarray(np.random.default_rng(1).integers(0, 256, (120, 160, 3), np.uint8)).resize((640, 480), 0)
    for size in (120, 160), (100, 130), (240, 320):
        exact = decode.make("image", "pillow", scaled=False, resize=size)(*packed([coded(grain, "jpeg", quality=95)]))
        scaled = decode.make("image", "pillow", resize=size)(*packed([coded(grain, "jpeg", quality=95)]))
        assert scaled.std() > 0.9 * exact.std(), size


@pytest.mark.parametrize("options", [{"random_crop": True}, {"random_crop": (0.08, 1), "flip": 0.5}])
def test_chance_depends_on_seed_epoch_and_sample_alone(backend, options):
    files = [coded(picture(k)) for k in range(12)]
    values, offsets, ids = packed(files)
    make = lambda **kw: decode.make("image", backend, crop=24, **{**options, **kw})  # noqa: E731
    whole = make(threads=1)(values, offsets, ids, 3)
    assert np.array_equal(make(threads=3)(values, offsets, ids, 3), whole)
    order = [7, 0, 11, 3]  # another batch
    some = make()(*packed([files[k] for k in order])[:2], np.array(order), 3)
    assert np.array_equal(some, whole[order])
    assert not np.array_equal(make()(values, offsets, ids, 4), whole)
    assert not np.array_equal(make(seed=1)(values, offsets, ids, 3), whole)


def test_chance_is_fair():
    from shardify.geometry import Shaping, draws

    u = draws(5, 2, np.arange(20000))
    assert ((0 <= u) & (u < 1)).all() and abs(u.mean(0) - 0.5).max() < 0.02
    assert abs(np.corrcoef(u.T) - np.eye(u.shape[1])).max() < 0.04
    assert draws(2**64 - 1, 2**31 - 1, np.array([2**48])).shape == (1, u.shape[1])
    shaping = Shaping.make(None, 32, (0.25, 1.0), 0.5)
    cuts = [shaping.cut(100, 80, row) for row in u[:4000]]
    shares = [c.part[2] * c.part[3] / 8000 for c in cuts]
    assert 0.24 < min(shares) and 0.5 < np.mean(shares) < 0.62 and 0.45 < np.mean([c.mirrored for c in cuts]) < 0.55
    assert all(x >= 0 and y >= 0 and x + w <= 100 and y + h <= 80 for x, y, w, h in (c.part for c in cuts))


def test_padding_is_zeros_and_out_is_filled(backend):
    files = [coded(picture(k)) for k in range(3)]
    values, offsets, _ = packed(files)
    offsets = np.append(offsets, [offsets[-1], offsets[-1]])
    out = np.full((5, 3, 60, 80), 9, "u1")
    d = decode.make("image", backend)
    assert d(values, offsets, np.array([4, 5, 6, -1, -1]), out=out) is out
    assert (out[3:] == 0).all() and (out[:3] != 9).any() and d.images == 5 and d.seconds > 0
    assert decode.make("image", backend, crop=8)(b"", [0, 0], [-1]).shape == (1, 3, 8, 8)
    assert decode.make("image", backend, crop=8)(b"", [0], []).shape == (0, 3, 8, 8)


@functools.lru_cache(None)
def kinds():
    """Files of the forms that PNG and JPEG have, those that go to Pillow among them."""
    grain = np.random.default_rng(2).integers(0, 256, (55, 70, 3), np.uint8)
    rough = Image.fromarray(grain).resize((140, 110), 2)
    clear = rough.convert("RGBA")
    clear.putalpha(rough.convert("L"))
    few = rough.quantize(17)
    out = {"%s jpeg" % s: coded(rough, "jpeg", quality=q, subsampling=n) for n, (s, q) in enumerate([("4:4:4", 90), ("4:2:2", 75), ("4:2:0", 30)])}
    out["progressive"] = coded(rough, "jpeg", progressive=True)
    out["optimised, restarts"] = coded(rough, "jpeg", optimize=True, restart_marker_blocks=3)
    out["grey jpeg"] = coded(rough.convert("L"), "jpeg")
    out["CMYK"] = coded(rough.convert("CMYK"), "jpeg")
    out.update({"png " + m: coded(rough.convert(m)) for m in ("RGB", "L", "1", "LA", "P")})
    out["png RGBA"] = coded(clear)
    out["png of few colours"] = coded(few)
    out["png of a transparent colour"] = coded(few, transparency=3)
    out["png of a transparent RGB"] = coded(rough, transparency=rough.getpixel((5, 5)))
    out["png of a transparent grey"] = coded(rough.convert("L"), transparency=77)
    out["png of 4 bits"] = coded(rough.convert("L").quantize(9), bits=4)
    out["webp"] = coded(rough, "webp")
    out["gif"] = coded(few, "gif")
    out["bmp"] = coded(rough, "bmp")
    return out


SHAPES = [
    {},
    {"resize": 64, "crop": 56},
    {"resize": (90, 31)},
    {"resize": (201, 150)},
    {"crop": (20, 101)},
    {"resize": 40},
    {"crop": 70, "random_crop": True, "flip": 0.5},
    {"resize": 100, "crop": (64, 96), "random_crop": True, "flip": 1.0},
    {"crop": (60, 44), "random_crop": (0.08, 1), "flip": 0.5},
    {"crop": 17, "random_crop": (0.5, 0.9)},
    {"crop": 124, "random_crop": (0.08, 0.3), "flip": 0.5},
]


@needs_library
@pytest.mark.parametrize("color", ["rgb", "gray"])
@pytest.mark.parametrize("scaled", [True, False])
def test_the_library_gives_the_bytes_of_pillow(scaled, color, monkeypatch):
    every = kinds()
    values, offsets, ids = packed(list(every.values()))
    left = []
    monkeypatch.setattr(decode, "_sound", lambda do, bad, f, was=decode._sound: left.append(f.row) or was(do, bad, f))
    for options in SHAPES:
        for epoch in range(2 if "random_crop" in options else 1):
            del left[:]
            how = {"scaled": scaled, "color": color, "seed": 7, **options}
            got = decode.make("image", "native", **how)(values, offsets, ids, epoch)
            ours = set(left)
            want = decode.make("image", "pillow", **how)(values, offsets, ids, epoch)
            for k, name in enumerate(every):
                assert np.array_equal(got[k], want[k]), (name, options, epoch)
            if options.get("crop") or isinstance(options.get("resize"), tuple):
                assert {list(every)[k] for k in ours} == {"webp", "gif", "bmp"} | ({"CMYK"} if color == "gray" else set())


@needs_library
def test_a_native_batch_is_cast_and_laid_out_as_pillows_is():
    files = list(kinds().values())
    values, offsets, ids = packed(files)
    ids[3] = -1
    for layout in "nchw", "nhwc":
        for cast in "float16", ("float32", (1 / 58.4, 1 / 57.1, 1 / 57.4), (-2.1, -2.0, -1.8)), ("bfloat16", 1 / 255, -0.5), ("float16", 3000.0), None:
            how = {"crop": 23, "random_crop": (0.1, 1), "flip": 0.5, "layout": layout, "cast": cast}
            want = decode.make("image", "pillow", **how)(values, offsets, ids, 1)
            for threads in 1, 7:
                made = decode.make("image", "native", threads=threads, **how)
                got = made(values, offsets, ids, 1)
                assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), (layout, cast)
                out = np.empty(got.shape[::-1], got.dtype).transpose()
                assert made(values, offsets, ids, 1, out=out) is out and np.array_equal(out, got, equal_nan=True)
    with pytest.raises(ValueError, match="the images are"):
        decode.make("image", "native", crop=8)(values, offsets, ids, out=np.empty((1, 2)))


@needs_library
def test_damage_is_left_out_natively_as_by_pillow():
    every = kinds()
    files = [every["4:2:0 jpeg"], every["progressive"][:900], b"", every["webp"][:200], every["png RGB"][:3000], bomb(), every["webp"]]
    for options in {"crop": 24, "resize": 30}, {}:
        bad = {"native": {}, "pillow": {}}
        got = [decode.make("image", b, **options)(*packed(files), bad=bad[b]) for b in bad]
        assert sorted(bad["native"]) == sorted(bad["pillow"]) == [1, 2, 3, 4, 5] and np.array_equal(*got)
        assert all("sample %d" % k in why for k, why in bad["native"].items())


@needs_library
def test_after_a_fork_pillow_stands_in():
    args = packed(list(kinds().values()))
    d = decode.make("image", "native", crop=20)
    want = d(*args)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if np.array_equal(d(*args), want) else 1)
    assert os.waitpid(pid, 0)[1] == 0


@needs_library
def test_without_pillow_the_library_names_what_it_does_not_decode(monkeypatch):
    every = kinds()
    for name in "PIL", "PIL.Image":
        monkeypatch.setitem(sys.modules, name, None)
    d = decode.make("image", crop=20)
    assert d.backend == "native" and d(*packed([every["4:2:0 jpeg"], every["png P"]])).any()
    with pytest.raises(shardify.UnsupportedError, match="sample 1: neither JPEG nor PNG.*pip install pillow"):
        d(*packed([every["4:2:0 jpeg"], every["gif"]]))


def of_pillow(files, *steps):
    """What functions of Pillow's images make of files."""
    out = []
    for f in files:
        image = Image.open(io.BytesIO(f)).convert("RGB")
        for step in steps:
            image = step(image)
        out.append(np.asarray(image))
    return np.stack(out)


@needs_library
def test_operations_of_a_list_are_those_of_pillow():
    every = kinds()
    files, args = list(every.values()), packed(list(every.values()))
    mirror, turn = (lambda m, k=k: m.transpose(k) for k in (0, 1))  # FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM
    for ops, options, steps in [
        (["resize=64x48"], {}, [lambda m: m.resize((64, 48), 2)]),
        (["resize=64x48,filter=lanczos", "flip,p=1"], {}, [lambda m: m.resize((64, 48), 1), mirror]),
        (["resize=50", "centre-crop=40x44", "flip=vertical,p=1"], {}, [lambda m: m.resize((63, 50), 2), lambda m: m.crop((12, 3, 52, 47)), turn]),
        (["random-resized-crop=30,scale=1:1,ratio=1.2727272:1.2727273"], {}, [lambda m: m.resize((30, 30), 2)]),
        (["flip,p=1"], {"resize": (33, 44), "flip": 1.0}, [lambda m: m.resize((44, 33), 2)]),
        (["flip,p=1", "centre-crop=20"], {"crop": 24}, [lambda m: m.crop((58, 43, 82, 67)), mirror, lambda m: m.crop((2, 2, 22, 22))]),
    ]:
        made = decode.make("image", augment=ops, layout="nhwc", scaled=False, **options)
        got, want = made(*args), of_pillow(files, *steps)
        for k, name in enumerate(every):
            assert np.array_equal(got[k], want[k]), (name, ops)
        assert np.array_equal(pickle.loads(pickle.dumps(made))(*args), got)


@needs_library
def test_chance_in_a_list_depends_on_seed_epoch_and_sample_alone():
    values, offsets, ids = packed([coded(picture(k)) for k in range(12)])
    ops = ["random-resized-crop=24,scale=0.3:1", "flip", "rotate=20", "colour-jitter,brightness=0.4,contrast=0.4,saturation=0.4,hue=0.1"]
    make = lambda **kw: decode.make("image", augment=ops, **kw)  # noqa: E731
    whole = make(threads=1)(values, offsets, ids, 3)
    assert whole.shape == (12, 3, 24, 24) and np.array_equal(make(threads=3)(values, offsets, ids, 3), whole)
    some = make()(values, offsets[5:8], ids[5:7], 3)
    assert np.array_equal(some, whole[5:7])
    for other in make()(values, offsets, ids, 4), make(seed=1)(values, offsets, ids, 3):
        assert all(not np.array_equal(a, b) for a, b in zip(other, whole))
    left = decode.make("image", augment=["flip", "flip=vertical"], crop=60)(*packed([coded(picture(0))] * 200))
    ways = {p.tobytes() for p in left}
    assert len(ways) == 4  # the two draw for themselves


@needs_library
def test_a_list_that_cannot_be_is_refused():
    for ops, options, words in [
        (["spin=3"], {}, "no operation"),
        (["resize=8x8", "encode=png"], {}, "a loader does what makes pixels"),
        (["train:resize=8x8"], {}, "one split"),
        (["resize=8x8,field=mask"], {}, "names the field"),
        (["resize=8x8", "orient"], {}, "before all others"),
        (["flip"], {}, "many sizes"),
        (["resize=8x8", "resize=9"], {}, "many sizes"),
        ("flip", {}, "want a list"),
        (["resize=8x8"], {"backend": "pillow"}, "backend='native'"),
        (["resize=8x8"], {"color": "gray"}, "color='rgb'"),
    ]:
        with pytest.raises(ValueError, match=words):
            decode.make("image", augment=ops, **options)
    small = packed([coded(picture(0, 20, 20)), coded(picture(1, 20, 20), "webp")])
    with pytest.raises(shardify.UnsupportedError, match="sample 0.*smaller than the crop"):
        decode.make("image", augment=["centre-crop=24"])(*small)
    with pytest.raises(shardify.SchemaError, match="sample 0.*smaller than crop"):
        decode.make("image", augment=["flip"], crop=24)(*small)
    bad = {}
    decode.make("image", augment=["resize=8x8"])(*packed([coded(picture(0), "jpeg")[:700], coded(picture(1), "webp")[:90], coded(picture(2))]), bad=bad)
    assert sorted(bad) == [0, 1]


def wide_strip():
    return coded(Image.new("L", (60000, 1)))


def bomb():
    """A PNG that says it is 65,000 x 65,000."""
    good = coded(Image.new("L", (8, 8)))
    return good[:16] + (65000).to_bytes(4, "big") * 2 + good[24:]


def big_jpeg():
    good = coded(picture(0), "jpeg")
    at = good.index(b"\xff\xc0") + 5
    return good[:at] + b"\xff\xff\xff\xff" + good[at + 4 :]


HOSTILE = {
    "no image": (b"", shardify.SchemaError, "has no image"),
    "text": (b"this is no image at all", shardify.CorruptError, "sample 1"),
    "cut png": (coded(picture(0))[:300], shardify.CorruptError, "sample 1"),
    "cut jpeg": (coded(picture(0), "jpeg")[:400], shardify.CorruptError, "sample 1"),
    "jpeg head": (b"\xff\xd8\xff\xe0", shardify.CorruptError, "sample 1"),
    "endless jpeg": (b"\xff\xd8" + b"\xff\xe0\x00\x00" * 50, shardify.CorruptError, "sample 1"),
    "bomb": (bomb(), shardify.UnsupportedError, "65000 x 65000 pixels"),
    "big jpeg": (big_jpeg(), shardify.UnsupportedError, "65535 x 65535 pixels"),
    "16 bits": (coded(Image.fromarray(np.zeros((60, 80), "u2"))), shardify.UnsupportedError, "16 bits a channel"),
    "another size": (coded(picture(0, 81, 60)), shardify.SchemaError, "sample 1 is 60x81, sample 0 is 60x80"),
}


def tiff16():
    """Colours of 16 bits a channel, 5 x 4 pixels, of which Pillow has the upper 8."""
    tags = [(256, 5), (257, 4), (258, 122), (259, 1), (262, 2), (273, 128), (277, 3), (278, 4), (279, 120)]
    entries = b"".join(struct.pack("<HHII", t, 4 if t in (273, 279) else 3, 3 if t == 258 else 1, v) for t, v in tags)
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + struct.pack("<IHHH", 0, 16, 16, 16) + bytes(range(120))


DEEP = {
    "grey png": coded(Image.fromarray(np.arange(4800, dtype="u2").reshape(60, 80))),
    "colours png": base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABEAIAAADA54+dAAAAD0lEQVR4nGNgZGJmYWUDAAA/ABYhutRUAAAAAElFTkSuQmCC"),
    "grey pgm": b"P5 5 4 65535\n" + bytes(range(40)),
    "colours ppm": b"P6 5 4 65535\n" + bytes(range(120)),
    "colours ppm of 12 bits": b"P6 5 4 4095\n" + bytes(120),
    "colours tiff": tiff16(),
}


@pytest.mark.parametrize("name", DEEP)
def test_no_bits_are_lost(backend, name):
    """What has more than 8 bits a channel is refused, whatever Pillow makes of it."""
    Image.open(io.BytesIO(DEEP[name])).load()  # it is sound
    if backend == "torchvision" and not name.endswith("png"):
        return  # it takes neither PPM nor TIFF
    for color in "rgb", "gray":
        with pytest.raises(shardify.UnsupportedError, match="more than 8 bits|16 bits a channel") as e:
            decode.make("photo", backend, resize=(4, 4), color=color)(*packed([DEEP[name]]))
        assert "leave out decode=, and decode in transform=" in str(e.value)
        hints = re.findall(HINT, str(e.value))
        assert hints == {"grey png": ["decode=u16", "decode=u8,bits16=upper"], "colours png": ["decode=u8,bits16=upper"]}.get(name, [])


HINT = r"--augment (\S+?)(?=[,;:]? |$)"
PROGRAM = os.environ.get("SHARDIFY", "")


@pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="the converter is not built: SHARDIFY=bin/shardify names it")
def test_what_the_error_of_16_bits_names_gives_pillows_values(tmp_path):
    rng, want = np.random.default_rng(16), []
    (tmp_path / "in").mkdir()
    for k in range(7):
        want.append(rng.integers(0, 65536, (12 + k % 2, 9), dtype="u2"))
        Image.fromarray(want[-1]).save(str(tmp_path / "in" / ("%d.png" % k)))
    # Older versions of Pillow give i32.
    want = [np.asarray(Image.open(str(tmp_path / "in" / ("%d.png" % k)))).astype("u2") for k in range(7)]

    def convert(name, *options):
        subprocess.run([PROGRAM, "convert", "-q", str(tmp_path / "in"), "-o", str(tmp_path / name), *options], check=True)
        return str(tmp_path / name)

    plain = convert("plain")
    with shardify.Loader(plain, 3, framework="numpy", decode="pillow") as loader:
        with pytest.raises(shardify.UnsupportedError, match="16 bits a channel") as e:
            next(iter(loader))
    deep, upper = re.findall(HINT, str(e.value))

    def rows(path):
        with shardify.Loader(path, 3, framework="numpy", last="short") as loader:
            for b in loader:
                x = b["png"]
                yield from (x["values"][lo:hi].reshape(s) for lo, hi, s in zip(x["offsets"], x["offsets"][1:], x["shapes"]))

    for got, a in zip(list(rows(convert("deep", "--augment", deep))), want):
        assert got.dtype == np.uint16 and np.array_equal(got, a)
    for got, a in zip(list(rows(convert("upper", "--augment", upper))), want):
        assert got.dtype == np.uint8 and np.array_equal(got, np.repeat((a >> 8)[..., None], 3, 2))

    def pixels(batch):
        batch["png"] = [np.asarray(Image.open(io.BytesIO(f))) for f in batch["png"]]
        return batch

    with shardify.Loader(plain, 3, framework="numpy", transform=pixels, last="short") as loader:
        got = [x for b in loader for x in b["png"]]
    assert len(got) == 7 and all(np.array_equal(x, a) for x, a in zip(got, want))


@needs_library
@pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="the converter is not built: SHARDIFY=bin/shardify names it")
def test_images_are_not_moved_away_from_their_boxes(tmp_path):
    (tmp_path / "in").mkdir()
    boxes = [[[4, 6, 20, 30]], [], [[0, 0, 79, 59], [40, 10, 50, 50]], [[1, 2, 3, 4]]]
    for k, b in enumerate(boxes):
        (tmp_path / "in" / ("%d.png" % k)).write_bytes(coded(picture(k)))
        Image.fromarray(np.full((60, 80), k, "u1")).save(str(tmp_path / "in" / ("%d.mask.png" % k)))
        (tmp_path / "in" / ("%d.txt" % k)).write_text("".join("a %s\n" % " ".join("0 0 0 %d %d %d %d 0 0 0 0 0 0 0".split()) % tuple(x) for x in b))

    def convert(source, name, *options):
        subprocess.run([PROGRAM, "convert", "-q", str(source), "-o", str(tmp_path / name), *options], check=True)
        return str(tmp_path / name)

    plain = convert(tmp_path / "in", "plain", "--parse", "txt=kitti", "--augment", "targets,mask=mask.png")
    assert [f.name for f in shardify.open(plain).schema if f.target] == ["mask.png", "txt_boxes"]

    def loader(backend="pillow", **options):
        return shardify.Loader(plain, 2, framework="numpy", decode=shardify.Decode(backend, field="png", **options))

    crops = [{"crop": 8, **more} for more in ({"random_crop": True}, {"random_crop": (0.1, 1), "flip": 1.0}, {})]
    for options in [{"resize": (30, 40)}, {"resize": 30}, {"flip": 0.5}, *crops]:
        with pytest.raises(shardify.UnsupportedError, match="png would be moved, and mask.png and txt_boxes not: backend='native' moves all of them") as e:
            loader(**options)
        hints = re.findall("--augment '([^']*)'", str(e.value))
        seed = ["--seed=1"] if any(h.startswith(("flip", "random", "rotate")) for h in hints) else []
        moved = convert(plain, "moved", "--fresh", *seed, *[x for h in hints for x in ("--augment", h)])
        with shardify.Loader(moved, 2, framework="numpy") as made:
            shapes = {tuple(x)[:2] for b in made for x in (b["png"]["shapes"] if isinstance(b["png"], dict) else [b["png"].shape[1:]])}
        assert shapes == {(8, 8) if "crop" in options else (30, 40) if "resize" in options else (60, 80)}
        columns = eval(str(e.value).partition("columns=")[2])
        with shardify.Loader(plain, 2, framework="numpy", columns=columns, decode=shardify.Decode("pillow", field="png", **options)) as made:
            assert "txt_boxes" not in next(iter(made))
        with loader("native", **options) as made:
            b = next(iter(made))
            assert b["png"].shape[2:] == b["mask.png"].shape[1:]
    with pytest.raises(shardify.UnsupportedError, match="mask.png holds class numbers: Decode.field='mask.png', color='index'. delivers them"):
        shardify.Loader(plain, 2, framework="numpy", decode=shardify.Decode(field="mask.png", resize=8))
    for color in "rgb", "gray":
        with loader(color=color) as made:
            assert next(iter(made))["png"].shape[2:] == (60, 80)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_decoded_is_named(backend, name):
    data, error, words = HOSTILE[name]
    files = [coded(picture(0)), data, coded(picture(2))]
    with pytest.raises(error, match=words) as e:
        decode.make("photo", backend)(*packed(files))
    assert "photo" in str(e.value)


def test_every_cut_of_a_file_is_an_error_or_pixels(backend):
    for format in "png", "jpeg":
        good = coded(picture(3, 20, 16), format)
        for n in range(0, len(good), 7):
            try:
                got = decode.make("image", backend, resize=(8, 8))(*packed([good[:n]]))
            except (shardify.CorruptError, shardify.SchemaError, shardify.UnsupportedError):
                continue
            assert got.shape == (1, 3, 8, 8)


def test_a_strip_does_not_become_a_mountain(backend):
    with pytest.raises(shardify.SchemaError, match="too large"):
        decode.make("image", backend, resize=200, crop=100)(*packed([wide_strip()]))
    with pytest.raises(shardify.SchemaError, match="smaller than crop"):
        decode.make("image", backend, crop=100)(*packed([coded(picture(0))]))


@pytest.mark.parametrize(
    "options,words",
    [
        ({"backend": "magick"}, "backend"),
        ({"layout": "chw"}, "layout"),
        ({"random_crop": True}, "needs crop"),
        ({"random_crop": (0, 1), "crop": 8}, "shares"),
        ({"random_crop": (0.1, 1), "crop": 8, "resize": 9}, "no resize"),
        ({"resize": 0}, "resize"),
        ({"flip": 2}, "flip"),
        ({"threads": -1}, "threads"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        decode.make("image", **options)


def test_offsets_that_leave_the_batch_are_refused():
    d = decode.make("image", "pillow")
    for offsets in [0, 5], [-1, 3], [3, 1]:
        with pytest.raises((shardify.SchemaError, ValueError)):
            d(b"abc", offsets, [0])
    with pytest.raises(ValueError, match="offsets for"):
        d(b"abc", [0, 3], [0, 1])
    with pytest.raises(shardify.SchemaError, match="are bytes"):
        d(np.zeros(3, "f4"), [0, 3], [0])


def test_a_decoder_goes_to_workers():
    args = packed([coded(picture(k)) for k in range(8)])
    d = decode.make("image", "pillow", threads=2)
    want = d(*args)
    assert np.array_equal(pickle.loads(pickle.dumps(d))(*args), want)
    if not hasattr(os, "fork"):
        return
    pid = os.fork()
    if pid == 0:  # the parent's threads are not here
        os._exit(0 if np.array_equal(d(*args), want) else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_without_libraries_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setenv("SHARDIFY_LIBRARY", "/nowhere/lib.so")
    for name in "PIL", "PIL.Image", "torchvision", "torchvision.io":
        monkeypatch.setitem(sys.modules, name, None)
    install = "pip install pillow"
    for backend, words in ("auto", install), ("pillow", install), ("torchvision", "needs torchvision"):
        with pytest.raises(shardify.UnsupportedError, match=words):
            decode.make("image", backend)


def test_a_cast_makes_numbers_of_pixels():
    """x * scale + shift of each channel, rounded twice, then to the type; padding is zeros."""
    values, offsets, ids = packed([coded(picture(k)) for k in range(3)])
    ids = np.array([0, -1, 2])
    scale, shift = (1 / 58.4, 1 / 57.1, 1 / 57.4), (-2.1, -2.0, -1.8)
    for layout, places in ("nhwc", (-1,)), ("nchw", (-1, 1, 1)):
        plain = decode.make("image", "pillow", layout=layout, crop=40)(values, offsets, ids)
        want = plain.astype("f4") * np.float32(scale).reshape(places) + np.float32(shift).reshape(places)
        want[1] = 0
        for kind, to in ("float32", "f4"), ("float16", "f2"):
            made = decode.make("image", "pillow", layout=layout, crop=40, cast=(kind, scale, shift))
            got = pickle.loads(pickle.dumps(made))(values, offsets, ids)
            assert got.dtype == to and np.array_equal(got, want.astype(to))
            out = np.empty_like(got)
            assert made(values, offsets, ids, out=out) is out and np.array_equal(out, got)
            for other in np.empty((2,) + got.shape, got.dtype), got.astype("f8"):
                with pytest.raises(ValueError, match="the images are"):
                    made(values, offsets, ids, out=other)
            assert np.array_equal(decode.make("image", "pillow", layout=layout, crop=40, cast=kind)(values, offsets, ids), plain.astype(to))
        bits = decode.make("image", "pillow", layout=layout, crop=40, cast=("bfloat16", scale, shift))(values, offsets, ids)
        assert bits.dtype == np.uint16 and abs(shardify.bf16_to_f32(bits) - want).max() <= 2**-7
    one = decode.make("image", "pillow", crop=40, cast=("float32", 2.0))(values, offsets, ids)
    assert np.array_equal(one, 2.0 * decode.make("image", "pillow", crop=40)(values, offsets, ids))
    for bad, says in ("int32", "want float16"), (("float16", (1, 2)), "2 values of scale for 3 channels"), (5, "cast"):
        with pytest.raises(ValueError, match=says):
            decode.make("image", "pillow", cast=bad)


@needs_library
def test_a_loader_delivers_pixels_that_were_cast(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    schema = [{"name": "image", "dtype": "u8", "levels": 1, "media": "image"}]
    rows = [{"__key__": "%04d" % k, "image": coded(picture(k))} for k in range(8)]
    path = fixture.write(tmp_path / "set", schema, rows)
    ways = {"framework": "torch"}, {"framework": "numpy"}
    for kind, dtypes in ("float16", (torch.float16, np.float16)), ("bfloat16", (torch.bfloat16, np.float32)):
        for way, dtype in zip(ways, dtypes):
            with shardify.Loader(path, 4, decode=shardify.Decode(field="image", crop=8, resize=8, cast=(kind, 1 / 255, -0.5)), **way) as loader:
                for b in loader:
                    assert b["image"].dtype == dtype and abs(b["image"][:]).max() <= 0.5


@needs_library
def images(folder, n=12):
    files = [coded(picture(k, 32, 24)) for k in range(n)]
    fixture.write(folder, [{"name": "png", "dtype": "u8", "levels": 1, "media": "png"}], [{"png": f} for f in files])
    return str(folder), np.stack([np.asarray(picture(k, 32, 24)) for k in range(n)])


@needs_library
def test_torchvision_augments_the_tensors_of_a_loader(tmp_path):
    """Its results are those on tensors made without a loader."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision.transforms.v2 is not installed")
    augment = v2.Compose([v2.RandomHorizontalFlip(), v2.ColorJitter(0.3), v2.RandomCrop(16), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.2] * 3)])
    folder, pixels = images(tmp_path / "s")

    def all_of(batch, epoch, index):
        torch.manual_seed(1_000_003 * epoch + index)
        return torch.stack([augment(image) for image in batch])

    def on_device(batch):
        batch["png"] = all_of(batch["png"], batch.epoch, batch.index)
        return batch

    loader = shardify.Loader(folder, 4, shuffle="global", seed=1, decode=True, framework="torch", transform=on_device, transform_threads=0)
    seen = 0
    for epoch in range(2):
        for batch in loader:
            want = all_of(torch.from_numpy(pixels[batch.ids].transpose(0, 3, 1, 2).copy()), epoch, batch.index)
            assert batch["png"].dtype == torch.float32 and torch.equal(batch["png"], want)
            seen += batch.size
    assert seen == 24


@needs_library
def test_dm_pix_augments_the_arrays_of_a_loader(tmp_path):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    pix = pytest.importorskip("dm_pix", reason="dm-pix is not installed")
    folder, pixels = images(tmp_path / "s")

    @jax.jit
    def augment(key, batch):
        return jax.vmap(pix.random_flip_left_right)(jax.random.split(key, len(batch)), batch)

    decoder = shardify.Decode(layout="nhwc", cast=("float32", 1 / 255, 0))
    flipped = 0
    for batch in shardify.Loader(folder, 4, shuffle="global", seed=1, decode=decoder, framework="jax"):
        got = np.asarray(augment(jax.random.fold_in(jax.random.key(batch.epoch), batch.index), batch["png"]))
        plain = (pixels[batch.ids] * np.float32(1 / 255)).astype("f4")
        for g, w in zip(got, plain):
            mirrored = np.allclose(g, w[:, ::-1], atol=1e-6)
            assert mirrored or np.allclose(g, w, atol=1e-6)
            flipped += mirrored
    assert 0 < flipped < 12


@needs_library
def test_the_loader_says_where_operations_run(tmp_path):
    folder, _ = images(tmp_path / "s")
    loader = shardify.Loader(folder, 4, decode=shardify.Decode(augment=["flip", "rotate=10"]), crop=16, framework="numpy")
    assert "png: flip, rotate=10 run on the host, in threads of the library; transform= runs where the batch is" in loader.notes()
    with pytest.raises(ValueError, match="torchvision.transforms.v2 or dm-pix in transform="):
        decode.make("png", "pillow", augment=["flip"])


def test_a_sample_has_one_picture_in_an_epoch(tmp_path):
    """Whatever the workers, the ranks, the batches, a resumption, and with Pillow."""
    schema = [{"name": "image", "dtype": "u8", "levels": 1, "media": "image"}]
    every = [f for name, f in kinds().items() if "webp" not in name]
    rows = [{"__key__": "%04d" % k, "image": every[k % len(every)]} for k in range(64)]
    path = fixture.write(tmp_path / "set", schema, rows)

    def pictures(loader, batches=None):
        out = {}
        with loader:
            for b in loader:
                out.update(zip(b.ids.tolist(), np.asarray(b["image"])))
                if batches is not None and len(out) >= 8 * batches:
                    return out, loader.state_dict()
        return out

    shape = {"random_crop": (0.08, 1), "flip": 0.5, "crop": 20, "cast": ("float16", 1 / 255)}
    make = lambda decode=shape, size=8, **kw: shardify.Loader(path, size, shuffle="global", seed=3, epoch=2, framework="numpy", decode=decode, **kw)  # noqa: E731
    whole = pictures(make())
    assert len(whole) == 64

    def same(some):
        return all(np.array_equal(whole[k], p) for k, p in some.items())

    assert same(pictures(make({**shape, "backend": "pillow", "scaled": True})))
    assert same(pictures(make({**shape, "threads": 1}, 5, workers=1, transform_threads=0)))
    ranks = [pictures(make(size=4, workers=2, rank=r, world_size=2)) for r in (0, 1)]
    assert same(ranks[0]) and same(ranks[1]) and len({**ranks[0], **ranks[1]}) == 64
    begun, state = pictures(make(), 3)
    again = make()
    again.load_state_dict(state)
    rest = pictures(again)
    assert same(rest) and sorted([*begun, *rest]) == list(range(64))


@needs_library
@pytest.mark.parametrize("cast", [None, "float16", "bfloat16"])
def test_pixels_for_a_gpu_are_written_to_pinned_memory(monkeypatch, cast):
    """The GPU is played by the host."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from shardify.parts import Images

    asked = []

    def empty(*shape, pin_memory=False, was=torch.empty, **kw):
        asked.append(pin_memory)
        return was(*shape, **kw)

    monkeypatch.setattr(torch, "empty", empty)
    framework = types.SimpleNamespace(name="torch", number=0, device="cpu", torch=torch)
    args = packed([coded(picture(k), "jpeg") for k in range(3)])
    part = Images(types.SimpleNamespace(name="image"), 0, 1, decode.make("image", "native", crop=20, cast=cast), framework)
    out = {}
    part.decode(out, *args, 0, None)
    part.arrive(out)
    assert part.on_host and asked == [True]
    want = decode.make("image", "pillow", crop=20, cast=cast and "float32")(*args)
    assert str(out["image"].dtype) == "torch." + (cast or "uint8") and np.array_equal(out["image"].float().numpy(), want)


@needs_library
def test_a_loader_may_leave_sending_and_transforming_to_its_loop(tmp_path):
    """As with a GPU, whose stream only the thread of the loop has."""
    schema = [{"name": "image", "dtype": "u8", "levels": 1, "media": "image"}]
    path = fixture.write(tmp_path / "set", schema, [{"__key__": "%04d" % k, "image": coded(picture(k))} for k in range(12)])
    seen = []
    with shardify.Loader(path, 4, decode="native", resize=(8, 8), framework="numpy", transform=lambda b: seen.append(threading.get_ident()) or b) as loader:
        assert loader._threads == 1 and not loader._sends
        loader._sends = True
        n = sum(len(b["image"]) for b in loader)
    assert n == 12 and set(seen) == {threading.get_ident()} and len(seen) == len(loader)


@needs_library
def test_a_loop_that_sends_leaves_out_damaged_images(tmp_path, monkeypatch):
    """They are decoded ahead of it all the same."""
    schema = [{"name": "image", "dtype": "u8", "levels": 1, "media": "image"}]
    files = [coded(picture(k)) for k in range(12)]
    files[5] = files[5][:300]
    path = fixture.write(tmp_path / "set", schema, [{"__key__": "%04d" % k, "image": f} for k, f in enumerate(files)])
    seen = {"decode": [], "take_out": []}
    for of, name in (decode.Decoder, "__call__"), (skipping.Skipped, "take_out"):
        was = getattr(of, name)
        monkeypatch.setattr(of, name, lambda *a, _was=was, _to=seen[name.strip("_").replace("call", "decode")], **k: _to.append(threading.get_ident()) or _was(*a, **k))
    with shardify.Loader(path, 4, decode="native", resize=(8, 8), framework="numpy", on_error="skip", transform=lambda b: b) as loader, pytest.warns(UserWarning, match="left out"):
        loader._sends = True
        assert sum(len(b["image"]) for b in loader) == 11
        assert loader.skipped.count == 1 and loader.skipped.samples[0].sample == 5
    assert set(seen["take_out"]) == {threading.get_ident()} and threading.get_ident() not in seen["decode"]


def test_nvjpeg_says_what_it_lacks():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(shardify.UnsupportedError, match="nvjpeg"):
        decode.make("image", "nvjpeg")


@pytest.fixture
def painted(monkeypatch):
    """The kernel, played by Pillow, whose sums it has: test_loader_device.py compares the two."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    seen = []

    def paint(images, shape, last, cast, device):
        rows = []
        for shown in images:
            if shown is None:
                rows.append(np.zeros(shape[1:] + shape[:1], np.uint8))
                continue
            image, cut = shown
            seen.append(cut)
            pixels = image.permute(1, 2, 0).numpy()
            whole = Image.fromarray(pixels[:, :, 0] if shape[0] == 1 else pixels)
            pixels = decode._rows_first(Image)(whole, cut.out, cut.box(1.0, cut.source))
            pixels = np.asarray(pixels).reshape(shape[1:] + shape[:1])
            rows.append(pixels[:, ::-1] if cut.mirrored else pixels)
        out = np.stack(rows) if last else np.stack(rows).transpose(0, 3, 1, 2)
        return torch.from_numpy(out.copy() if cast is None else cast.of(out, last, [k for k, i in enumerate(images) if i is None]))

    monkeypatch.setattr(decode.gpu, "paint", paint)
    monkeypatch.setattr(decode.gpu, "available", lambda: None)
    return seen


@pytest.mark.parametrize("lists", [True, False], ids=["decodes lists", "one by one"])
def test_the_path_of_nvjpeg_on_a_stand_in(monkeypatch, lists, painted):
    """The GPU's decoder, played by the host's: order, kinds, padding and shapes are ours."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    io_ = pytest.importorskip("torchvision.io", reason="torchvision is not installed")

    def decode_jpeg(data, mode, device):
        if isinstance(data, list):
            if not lists:
                raise TypeError("expected a tensor")
            return [io_.decode_jpeg(d, mode) for d in data]
        return io_.decode_jpeg(data, mode)

    monkeypatch.setattr(decode, "_nvjpeg", lambda: decode_jpeg)
    files = [coded(picture(k), "png" if k == 2 else "jpeg") for k in range(5)]
    values, offsets, ids = packed(files)
    offsets, ids = np.append(offsets, offsets[-1]), np.append(ids, -1)
    for options in {}, {"resize": 32, "crop": 24}, {"crop": 24, "random_crop": (0.1, 1), "flip": 0.5}:
        for layout in "nchw", "nhwc":
            got = decode.make("image", "nvjpeg", device="cpu", layout=layout, **options)(values, offsets, ids, 1)
            want = decode.make("image", "pillow", layout=layout, scaled=False, **options)(values, offsets, ids, 1)
            assert got.shape == want.shape and abs(got.numpy().astype("i2") - want).max() <= 3
    with pytest.raises(shardify.CorruptError, match="sample 1"):
        decode.make("image", "nvjpeg", device="cpu")(*packed([files[0], files[1][:200]]))
    with pytest.raises(shardify.SchemaError, match="sample 1 is 60x81"):
        decode.make("image", "nvjpeg", device="cpu")(*packed([files[0], coded(picture(0, 81), "jpeg")]))

class StandIn:
    """nvImageCodec's API, played by Pillow: it leaves what it cannot decode, as None."""

    class ColorSpec:
        SRGB, GRAY = "RGB", "L"

    class DecodeParams:
        def __init__(self, apply_exif_orientation=True, color_spec="RGB", allow_any_depth=False):
            assert not apply_exif_orientation
            self.mode = color_spec

    class CodeStream:
        def __init__(self, array):
            assert array.dtype == np.uint8
            self.bytes = array.tobytes()
            Image.open(io.BytesIO(self.bytes))  # the real one raises for what is not an image, too

    calls = 0

    class Decoder:
        def __init__(self, device_id=-1, max_num_cpu_threads=0, options=""):
            assert options == ":fancy_upsampling=1"

        def decode(self, streams, params=None, cuda_stream=0):
            StandIn.calls += 1
            return [self.one(s.bytes, params.mode) for s in streams]

        def one(self, data, mode):
            import torch

            try:
                image = Image.open(io.BytesIO(data))
                if image.mode == "CMYK":
                    return None
                image.draft("L" if mode == "L" else None, image.size)
                pixels = np.asarray(image.convert(mode))
            except OSError:
                return None
            return torch.from_numpy(pixels.reshape(pixels.shape[0], pixels.shape[1], -1).copy())


@pytest.fixture
def nvimgcodec(monkeypatch, painted):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setitem(sys.modules, "nvidia", types.ModuleType("nvidia"))
    monkeypatch.setattr(sys.modules["nvidia"], "nvimgcodec", StandIn, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(decode, "_codecs", decode._Codecs())
    return StandIn


def test_the_path_of_nvimgcodec_on_a_stand_in(nvimgcodec, painted):
    """JPEGs go to the GPU's decoder by one call; what it leaves, and other formats, come from the host.
    Pixels are those of Pillow."""
    files = [coded(picture(k), "png" if k == 2 else "jpeg") for k in range(4)] + [coded(picture(4, kind="CMYK"), "jpeg")]
    values, offsets, ids = packed(files)
    offsets, ids = np.append(offsets, offsets[-1]), np.append(ids, -1)
    for options in {}, {"color": "gray"}, {"crop": (20, 31)}, {"resize": 32, "crop": 24}, {"crop": 24, "random_crop": (0.1, 1), "flip": 0.5}:
        for layout in "nchw", "nhwc":
            before = nvimgcodec.calls
            made = decode.make("image", "nvimgcodec", device="cpu", layout=layout, **options)
            assert made.backend == "nvimgcodec" and not made.note and pickle.loads(pickle.dumps(made)).backend == "nvimgcodec"
            got = made(values, offsets, ids, 1).numpy()
            want = decode.make("image", "pillow", layout=layout, scaled=False, **options)(values, offsets, ids, 1)
            assert nvimgcodec.calls == before + 1
            assert np.array_equal(got, want), options
            assert not got[-1].any()
            cast = {**options, "layout": layout, "cast": ("float16", 1 / 255, -0.5)}
            got = decode.make("image", "nvimgcodec", device="cpu", **cast)(values, offsets, ids, 1).numpy()
            want = decode.make("image", "pillow", scaled=False, **cast)(values, offsets, ids, 1)
            assert got.dtype == np.float16 and np.array_equal(got, want), options
    with pytest.raises(shardify.CorruptError, match="sample 1"):
        decode.make("image", "nvimgcodec", device="cpu")(*packed([files[0], files[1][:200]]))
    with pytest.raises(shardify.SchemaError, match="sample 1 is 60x81"):
        decode.make("image", "nvimgcodec", device="cpu")(*packed([files[0], coded(picture(0, 81), "jpeg")]))
    # A GPU that decodes nothing, without nvJPEG say, is not left unsaid.
    cmyk = packed([coded(picture(k, kind="CMYK"), "jpeg") for k in range(2)])
    with pytest.warns(UserWarning, match="pip install nvidia-nvjpeg-cu12"):
        got = decode.make("image", "nvimgcodec", device="cpu")(*cmyk)
    assert np.array_equal(got.numpy(), decode.make("image", "pillow")(*cmyk))
    # What the kernel has no room for is brought to its size by the host.
    del painted[:]
    strip = packed([coded(picture(1, 4600, 3), "jpeg")])
    got = decode.make("image", "nvimgcodec", device="cpu", resize=(2, 2))(*strip)
    assert np.array_equal(got.numpy(), decode.make("image", "pillow", resize=(2, 2), scaled=False)(*strip)) and painted[0].whole
    bad = {}
    pixels = decode.make("image", "nvimgcodec", device="cpu")(*packed([files[1][:200], files[0], b""]), bad=bad)
    assert sorted(bad) == [0, 2] and [bool(p.any()) for p in pixels] == [False, True, False]


def test_without_nvimgcodec_the_host_decodes(monkeypatch):
    """The note names what is missing: the package, or a GPU."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    files = packed([coded(picture(k), "jpeg") for k in range(2)])
    monkeypatch.setitem(sys.modules, "nvidia", types.ModuleType("nvidia"))
    made = decode.make("image", "nvimgcodec", crop=24)
    host = decode.make("image").backend
    assert made.backend == host and "pip install nvidia-nvimgcodec-cu12" in made.note and "%s decodes on the host" % host in made.note
    assert np.array_equal(made(*files), decode.make("image", "pillow", crop=24)(*files))
    monkeypatch.setattr(sys.modules["nvidia"], "nvimgcodec", StandIn, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "torch.cuda.is_available() is false" in decode.make("image", "nvimgcodec").note
    assert decode.make("image", "pillow").note == ""


@needs_library
def test_the_loader_notes_what_decodes_instead(monkeypatch, make):
    monkeypatch.setitem(sys.modules, "nvidia", types.ModuleType("nvidia"))
    with shardify.Loader(make("image", "wds"), 4, decode="nvimgcodec", device="cpu") as loader:
        assert [n for n in loader.notes() if "nvimgcodec" in n and "native decodes on the host" in n]


def test_sound_images_of_rare_kinds_are_not_called_damaged(monkeypatch):
    """Pillow decodes them where it can; else the error says what does."""
    want = picture(0)
    for name, options in ("AVIF", {"quality": 100}), ("JPEG2000", {}):
        Image.init()
        if name not in Image.SAVE:
            continue
        out = io.BytesIO()
        want.save(out, name, **options)
        got = decode.make("photo", "pillow")(*packed([out.getvalue()]))
        assert got.shape == (1, 3) + want.size[::-1] and abs(got[0].transpose(1, 2, 0).astype(int) - np.asarray(want)).mean() < 4
        with monkeypatch.context() as m:
            m.delitem(Image.OPEN, name)
            with pytest.raises(shardify.UnsupportedError, match="sample 0: an? (AVIF|JPEG 2000) image.*this Pillow does not"):
                decode.make("photo", "pillow")(*packed([out.getvalue()]))
    for head, words in (b"\x00\x00\x00\x18ftypheic", "pillow-heif"), (b"\x00\x00\x00\x0cJXL \r\n\x87\n", "pillow-jxl-plugin"):
        with pytest.raises(shardify.UnsupportedError, match=words):
            decode.make("photo", "pillow")(*packed([head + b"\0" * 40]))
