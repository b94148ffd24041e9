"""What Jupyter shows: well-formed HTML, nothing of the data as markup, and not too much of it."""

from __future__ import annotations

import html.parser

import fixture
import pytest
from conftest import KINDS
from loading import needs_library

import shardify

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
