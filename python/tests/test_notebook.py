"""What Jupyter shows: well-formed HTML, nothing of the data as markup, and not too much of it."""

from __future__ import annotations

import base64
import html.parser
import struct
import zlib

import fixture
import numpy as np
import pytest
from conftest import KINDS
from loading import needs_library

import shardify
import shardify.pieces

PNG = b"\x89PNG\r\n\x1a\n"


class Tags(html.parser.HTMLParser):
    """The tags, the text, and whether each is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize("kind,format", KINDS)
def test_every_kind_of_set(make, kind, format):
    ds = shardify.open(make(kind, format))
    page = Tags(ds._repr_html_())
    for f in ds.schema:
        assert f.name in page.words and f.describe() in page.words
    assert "23 samples, 2 shards" in page.words[0]


def images(tmp_path, pictures, name="image"):
    schema = [{"name": name, "dtype": "u8", "levels": 1, "media": "png"}, {"name": "x", "dtype": "f32"}]
    return shardify.open(fixture.write(tmp_path / "set", schema, [{name: p, "x": 0} for p in pictures]))


def test_images_are_a_row_that_is_bounded(tmp_path):
    ds = images(tmp_path, [PNG + bytes([i]) for i in range(50)])
    shown = [a for tag, a in Tags(ds._repr_html_()).seen if tag == "img"]
    assert len(shown) == 8 and all(a["src"].startswith("data:image/png;base64,") for a in shown) and shown[-1]["title"] == "sample 43"


def test_what_is_no_image_or_too_large_is_not_shown(tmp_path):
    ds = images(tmp_path, [b"<svg onload=alert(1)>", PNG + bytes(1 << 20), b""])
    assert "img" not in [tag for tag, _ in Tags(ds._repr_html_()).seen] and len(ds._repr_html_()) < 2000


def test_names_are_text(tmp_path):
    odd = "<script>alert(1)</script>'\"&"
    schema = [{"name": odd, "dtype": "i64", "attrs": {"labels": "<b>\n</td>"}}]
    schema.append({"name": "png'><b", "dtype": "u8", "levels": 1, "media": "png"})
    ds = shardify.open(fixture.write(tmp_path / "<i>", schema, [{odd: 0, "png'><b": PNG}]))
    page = Tags(ds._repr_html_())
    assert odd in page.words and {tag for tag, _ in page.seen} == {"div", "b", "table", "tr", "th", "td", "img"}


def test_the_table_of_many_fields_ends(tmp_path):
    schema = [{"name": "f%d" % i, "dtype": "u8"} for i in range(300)]
    ds = shardify.open(fixture.write(tmp_path / "set", schema, [{f["name"]: 0 for f in schema}]))
    page = Tags(ds._repr_html_())
    assert [t for t, _ in page.seen].count("tr") == 102 and "and 200 more fields" in page.words


@needs_library
def test_a_loader(make):
    with shardify.Loader(make("fixed"), 5, framework="numpy", device="cpu") as loader:
        page = Tags(loader._repr_html_())
    assert "batches of 5" in page.words[0] and "energy" in page.words


def pixels(source):
    """The values of a PNG of 8 bits, by a reader of its own."""
    data = base64.b64decode(source.partition(",")[2])
    at, rows, width, channels = 8, b"", 0, 1
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0]
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", body[:10])
            channels = {0: 1, 2: 3, 6: 4}[colour]
            assert depth == 8
        rows += body if kind == b"IDAT" else b""
        at += 12 + size
    lines = np.frombuffer(zlib.decompress(rows), np.uint8).reshape(-1, 1 + width * channels)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(len(lines), width, channels).squeeze()


def images_of(text):
    return [a["src"] for tag, a in Tags(text).seen if tag == "img"]


def test_a_sample_shows_its_pieces(tmp_path):
    odd = "<script>alert(1)</script>'\"&\x1b[2J"
    schema = [
        {"name": "rgb", "dtype": "u8", "shape": [10, 12, 3]},
        {"name": "first", "dtype": "u8", "shape": [3, 10, 12]},
        {"name": "volume", "dtype": "f32", "shape": [5, 9, 8]},
        {"name": "signal", "dtype": "f32", "shape": [1000], "attrs": {"unit": "mV"}},
        {"name": "few", "dtype": "f32", "shape": [4]},
        {"name": "note", "dtype": "u8", "levels": 1, "media": "txt"},
        {"name": "cls", "dtype": "i64", "attrs": {"labels": "cat\n<b>dog"}},
        {"name": "gone", "dtype": "u8", "levels": 1, "media": "txt", "nullable": True},
    ]
    rng = np.random.default_rng(1)
    rgb = rng.integers(0, 256, (10, 12, 3), np.uint8)
    first = np.moveaxis(rgb, 2, 0).copy()
    volume = np.arange(360, dtype=np.float32).reshape(5, 9, 8)
    signal = np.where(np.arange(1000) // 100 == 5, np.nan, np.sin(np.arange(1000) / 30)).astype(np.float32)
    values = {"rgb": rgb, "first": first, "volume": volume, "signal": signal, "few": np.arange(4, dtype=np.float32), "note": odd, "cls": 1, "gone": None}
    ds = shardify.open(fixture.write(tmp_path / "set", schema, [values]))
    shown = ds[0]._repr_html_()
    page = Tags(shown)
    words = "".join(page.words)
    assert "script" not in [t for t, _ in page.seen] and "<script>" in words and "\x1b" not in shown and "1 (<b>dog)" in words and "nothing" in words and "mV" in words
    a, b, c = map(pixels, images_of(shown))
    assert (a == rgb).all() and (b == rgb).all()
    middle = volume[2]
    assert c.shape == (9, 8) and c.min() == 0 and c.max() == 255 and (np.diff(c.ravel().astype(int)) >= 0).all() and (c == shardify.pieces._grey(middle)).all()
    line = next(a["d"] for tag, a in page.seen if tag == "path")
    assert line.count("M") > 1 and "nan" not in line and 200 < line.count("L") + line.count("M") <= 240


def test_a_view_shows_samples_and_what_is_damaged(tmp_path):
    ds = images(tmp_path, [PNG + bytes([i]) for i in range(30)])
    view = ds.view(5, 3)
    page = Tags(view._repr_html_())
    assert len(images_of(view._repr_html_())) == 3 and [w for w in page.words if w.startswith("sample ")] == ["sample 5", "sample 6", "sample 7"]
    assert "5, 6, 7 of 30" in repr(view) and "none of 30" in repr(ds.view(30))
    shard = next((tmp_path / "set").glob("shard-*"))
    ds = shardify.open(tmp_path / "set")
    shard.write_bytes(shard.read_bytes()[:100])
    broken = ds.view(0, 2)._repr_html_()
    assert "".join(Tags(broken).words).count(shard.name) >= 1 and not images_of(broken)
