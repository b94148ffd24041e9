"""Damage is a CorruptError that names the file, or it changes nothing that is read."""

from __future__ import annotations

import json
import os
import random
import shutil
from functools import partial

import fixture
import numpy as np
import pytest
from conftest import SCHEMAS, same, samples

import shardify
from shardify import manifest, xxh3

LONG = bool(os.environ.get("SHARDIFY_LONG"))


def read_all(folder):
    ds = shardify.open(folder)
    return [dict(s) for s in ds], [dict(s) for s in ds[list(range(len(ds)))]]


def refused_or_same(folder, want, why):
    """True if it was refused, with the file named."""
    try:
        got = read_all(folder)
    except (shardify.CorruptError, shardify.UnsupportedError) as e:
        assert folder in str(e), why
        return True
    assert same(got[0], want) and same(got[1], want), why
    return False


def files_of(folder):
    return sorted(f for f in os.listdir(folder) if os.path.isfile(os.path.join(folder, f)))


def test_no_name_reaches_the_terminal_raw(tmp_path):
    evil = "a\x1b]0;title\x07\u202e\x9b2J"
    with pytest.raises(shardify.NotADatasetError) as e:
        shardify.open(str(tmp_path / evil))
    for text in (str(e.value), str(shardify.CorruptError(evil))):
        assert not any(c in text for c in "\x1b\x07\u202e\x9b") and "\\x1b]0;title\\x07\\u202e\\x9b2J" in text


def pipe(path, whole):
    os.mkfifo(path)


def link(path, whole):
    with open(path + ".real", "wb") as f:
        f.write(whole)
    os.symlink(path + ".real", path)


def device(path, whole):
    os.symlink("/dev/zero", path)


def folder(path, whole):
    os.mkdir(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("other", [pipe, link, device, folder])
@pytest.mark.parametrize("format", ["mmap", "wds"])
def test_what_is_no_regular_file_is_refused_at_once(make, format, other):
    where = make("text", format, n=4, shards=[2, 2])
    for name in files_of(where):
        path = os.path.join(where, name)
        with open(path, "rb") as f:
            whole = f.read()
        os.remove(path)
        other(path, whole)
        with pytest.raises(shardify.UnsupportedError, match=name + ": not a regular file but"):
            shardify.open(where)
        if name != "shardify.json":
            with pytest.raises(shardify.UnsupportedError, match=name + ": not a regular file but"):
                list(shardify.open(where, check=False))
            if format == "mmap":
                ds = shardify.open(where, check=False)
                with pytest.raises(shardify.UnsupportedError, match=name):
                    [np.asarray(ds.column(f)[k]) for f in ds.fields for k in range(4)]
        os.rmdir(path) if other is folder else os.remove(path)
        with open(path, "wb") as f:
            f.write(whole)
    linked = where + "-link"  # a folder may be one
    os.symlink(where, linked)
    assert len(list(shardify.open(linked))) == 4


@pytest.mark.parametrize("kind,format", [("jagged", "mmap"), ("text", "mmap"), ("text", "wds"), ("jagged", "wds")])
def test_any_shorter_or_longer_file(make, kind, format):
    folder = make(kind, format, n=4, shards=[2, 2])
    for name in files_of(folder):
        path = os.path.join(folder, name)
        with open(path, "rb") as f:
            whole = f.read()
        for cut in {0, 1, 7, 8, len(whole) // 2, len(whole) - 1}:
            for bad in (whole[:cut], whole + b"\0" * (cut + 1)):
                with open(path, "wb") as f:
                    f.write(bad)
                with pytest.raises(shardify.CorruptError, match=name):
                    shardify.open(folder)
                if name != "shardify.json":
                    with pytest.raises(shardify.CorruptError, match=name):
                        read = shardify.open(folder, check=False)
                        list(read)
        os.remove(path)
        with pytest.raises((shardify.CorruptError, FileNotFoundError), match=name):
            shardify.open(folder)
        with open(path, "wb") as f:
            f.write(whole)


@pytest.mark.parametrize("kind,format", [("jagged", "mmap"), ("text", "mmap"), ("text", "wds"), ("image", "wds")])
def test_flipped_bytes_of_headers_and_indexes(make, kind, format):
    """Every byte of manifest and index; of shards a sample, headers first."""
    folder = make(kind, format, n=4, shards=[4])
    want = read_all(folder)[0]
    r, refused, tried = random.Random(1), 0, 0
    for name in files_of(folder):
        path = os.path.join(folder, name)
        with open(path, "rb") as f:
            whole = bytearray(f.read())
        strict = name == "shardify.json" or name.endswith(".idx")
        places = list(range(len(whole)))
        if not strict:
            head = 4096 if format == "mmap" else 512
            places = list(range(head))
        for at in places if LONG else r.sample(places, min(len(places), 150)):
            flipped = bytearray(whole)
            flipped[at] ^= 1 << r.randrange(8)
            with open(path, "wb") as f:
                f.write(flipped)
            hit = refused_or_same(folder, want, (name, at))
            refused, tried = refused + hit, tried + 1
            assert hit, "%s byte %d: a changed byte was read without a word" % (name, at)
        with open(path, "wb") as f:
            f.write(whole)
    print("%d flips, %d refused" % (tried, refused))


def reseal(folder, edit=None):
    """Makes digests fit the files again, as an attacker would."""
    with open(os.path.join(folder, "shardify.json")) as f:
        m = json.load(f)
    for s in m["shards"]:
        with open(os.path.join(folder, s["name"]), "rb") as f:
            data = f.read()
        head = 8 + int.from_bytes(data[:8], "little")
        s["bytes"] = len(data)
        if s["name"].endswith("safetensors") and xxh3.MIN_BYTES <= head <= len(data):
            s["digest"] = "xxh3:" + xxh3.hexdigest(data[:head])
        for x in s.get("files", []):
            x["bytes"] = os.path.getsize(os.path.join(folder, x["name"]))
    m.pop("xxh3")
    if edit is not None:
        edit(m)
    fixture.write_manifest(folder, m)


def edit_header(folder, edit):
    """Rewrites a shard's header, keeping its length."""
    path = os.path.join(folder, "shard-000000.safetensors")
    with open(path, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[:8], "little")
    h = json.loads(data[8 : 8 + n])
    text = edit(h)
    text = (json.dumps(h) if text is None else text).encode()
    assert len(text) <= n
    with open(path, "wb") as f:
        f.write(data[:8] + text.ljust(n) + data[8 + n :])
    reseal(folder)


def set_key(path, value):
    def edit(h):
        at = h
        for k in path[:-1]:
            at = at[k]
        at[path[-1]] = value

    return edit


HEADERS = {
    "overlap": set_key(["run", "data_offsets"], [0, 16]),
    "hole": set_key(["hits#offsets", "data_offsets"], [48, 88]),
    "shape too large": set_key(["run", "shape"], [4000000000]),
    "negative": set_key(["run", "shape"], [-4]),
    "float": set_key(["run", "shape"], [4.0]),
    "true": set_key(["run", "shape"], [True]),
    "huge": set_key(["run", "shape"], [2**62, 4]),
    "dtype": set_key(["run", "dtype"], "F32"),
    "unknown dtype": set_key(["run", "dtype"], "F4"),
    "other samples": set_key(["__metadata__", "shardify.samples"], "5"),
    "other schema": set_key(["__metadata__", "shardify.schema"], "[]"),
    "schema is not JSON": set_key(["__metadata__", "shardify.schema"], "{"),
    "other version": set_key(["__metadata__", "shardify"], "2"),
    "missing tensor": lambda h: h.pop("run") and None,
    "no metadata": lambda h: h.pop("__metadata__") and None,
    "a list": lambda h: "[1]",
    "no JSON": lambda h: "{",
    "deep": lambda h: "[" * 3000,
    "doubled": lambda h: '{"run":1,' + json.dumps(h)[1:],
    "NaN": lambda h: '{"q":NaN,' + json.dumps(h)[1:],
    "long number": lambda h: '{"q":%s,' % ("9" * 700) + json.dumps(h)[1:],
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_break_a_rule(make, name):
    folder = make("jagged", n=4, shards=[4])
    edit_header(folder, HEADERS[name])
    with pytest.raises(shardify.CorruptError, match="shard-000000.safetensors"):
        read_all(folder)


@pytest.mark.parametrize("value", [-1, 1 << 62, -(1 << 62), 1 << 40])
@pytest.mark.parametrize("tensor", ["Jet#offsets", "words#offsets", "words#offsets1", "txt#offsets", "volume#offsets"])
def test_offsets_out_of_bounds(make, tensor, value):
    """Each sample alone: a neighbour's check may not replace its own."""
    kind = "jagged" if tensor[0] in "Jv" else "text"
    name = "Jet_pt" if tensor.startswith("Jet") else tensor.split("#")[0]
    folder = make(kind, n=6, shards=[6])
    want = [s[name] for s in shardify.open(folder)]
    path = os.path.join(folder, "shard-000000.safetensors")
    with open(path, "rb") as f:
        data = bytearray(f.read())
    base = 8 + int.from_bytes(data[:8], "little")
    lo, hi = json.loads(data[8:base])[tensor]["data_offsets"]
    for at in range(base + lo, base + hi, 8):
        bad = bytearray(data)
        bad[at : at + 8] = value.to_bytes(8, "little", signed=True)
        with open(path, "wb") as f:
            f.write(bad)
        reseal(folder)
        refused = 0
        for i in range(6):
            for rows in (i, [i]):
                try:
                    got = shardify.open(folder, columns=[name])[rows]
                except shardify.CorruptError as e:
                    assert "shard-000000.safetensors" in str(e)
                    refused += 1
                else:
                    assert same((got if rows == i else got[0])[name], want[i]), (at, i)
        assert refused >= 2, at


def test_shapes_that_do_not_hold_the_values(make):
    folder = make("jagged", n=6, shards=[6])
    path = os.path.join(folder, "shard-000000.safetensors")
    with open(path, "rb") as f:
        data = bytearray(f.read())
    base = 8 + int.from_bytes(data[:8], "little")
    lo = base + json.loads(data[8:base])["volume.shape"]["data_offsets"][0]
    for shape in ([-1, -1, 2], [1 << 32, 1 << 32, 1], [3, 3, 3]):
        bad = bytearray(data)
        bad[lo + 24 : lo + 48] = np.array(shape, "<i8").tobytes()  # sample 1
        with open(path, "wb") as f:
            f.write(bad)
        reseal(folder)
        ds = shardify.open(folder)
        for rows in (1, [0, 1]):
            with pytest.raises(shardify.CorruptError, match="volume sample 1"):
                ds[rows]
        assert ds[2]["volume"].shape == (2, 2, 1)


MANIFESTS = {
    "path up": lambda m: m["shards"][0].update(name="../x.safetensors"),
    "absolute path": lambda m: m["shards"][0].update(name="/etc/passwd"),
    "backslash": lambda m: m["shards"][0].update(name="a\\b"),
    "name is a number": lambda m: m["shards"][0].update(name=3),
    "sum": lambda m: m.update(samples=7),
    "negative": lambda m: m["shards"][0].update(samples=-4, bytes=-1),
    "float": lambda m: m["shards"][0].update(samples=4.0),
    "no shards": lambda m: m.pop("shards"),
    "shards no list": lambda m: m.update(shards={"a": 1}),
    "schema": lambda m: m["schema"][0].update(dtype="f128"),
    "twice": lambda m: m["schema"].append(m["schema"][0]),
    "levels": lambda m: m["schema"][0].update(levels=3),
    "companion gone": lambda m: m["schema"].pop(4),
    "reserved name": lambda m: m["schema"][0].update(name="__x"),
    "digest no text": lambda m: m["shards"][0].update(digest=None),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_that_break_a_rule(make, name):
    folder = make("jagged", n=4, shards=[4])
    reseal(folder, MANIFESTS[name])
    with pytest.raises(shardify.CorruptError, match="shardify.json"):
        shardify.open(folder)


REFUSED = os.path.join(os.path.dirname(__file__), "..", "..", "index", "testdata", "refused.json")


def signed(manifest):
    """The text of a manifest, with the digest of what it says."""
    text = json.dumps({**manifest, "xxh3": "0" * 32}, indent=2, sort_keys=True).encode() + b"\n"
    return text.replace(b"0" * 32 + b'"\n}', xxh3.hexdigest(text).encode() + b'"\n}')


def test_what_verify_refuses_is_refused():
    """Manifests with a right digest that break a rule: index.DecodeManifest is tested with the same file."""
    with open(REFUSED) as f:
        table = json.load(f)
    manifest.parse("there", "there/shardify.json", signed(table["base"]))
    for case in table["cases"]:
        edited = json.loads(json.dumps(table["base"]))
        at = edited
        for key in case["at"][:-1]:
            at = at[key]
        at[case["at"][-1]] = case["value"]
        with pytest.raises((shardify.CorruptError, shardify.SchemaError, shardify.UnsupportedError)):
            pytest.fail("accepted: %r, %r" % (case, manifest.parse("there", "there/shardify.json", signed(edited))))


def test_another_version_is_refused_by_its_number(make):
    folder = make("jagged", n=4)
    reseal(folder, lambda m: m.update(shardify=2))
    with pytest.raises(shardify.UnsupportedError, match="version 2 of the layout; this package reads version 1"):
        shardify.open(folder)


def test_shards_swapped(make):
    folder = make("jagged", n=8, shards=[4, 4])
    a, b, c = (os.path.join(folder, n) for n in ("shard-000000.safetensors", "shard-000001.safetensors", "t"))
    for x, y in ((a, c), (b, a), (c, b)):
        shutil.move(x, y)
    with pytest.raises(shardify.CorruptError, match="shard-00000"):
        read_all(folder)


TARS = {
    "prefix": lambda h: h.__setitem__(slice(345, 349), b"abcd"),
    "type": lambda h: h.__setitem__(156, ord("5")),
    "size": lambda h: h.__setitem__(slice(124, 135), b"77777777777"),
    "base 256": lambda h: h.__setitem__(124, 0x80),
    "magic": lambda h: h.__setitem__(slice(257, 265), b"ustar  \0"),
    "other key": lambda h: h.__setitem__(0, ord("9")),
    "no dot": lambda h: h.__setitem__(slice(0, 100), b"abc".ljust(100, b"\0")),
    "not UTF-8": lambda h: h.__setitem__(0, 0xC3),
    "no name": lambda h: h.__setitem__(slice(0, 100), bytes(100)),
    "other field": lambda h: h.__setitem__(slice(0, 100), b"000000-000000000.other".ljust(100, b"\0")),
}


@pytest.mark.parametrize("name", TARS)
def test_tar_headers_with_right_checksums(make, name):
    folder = make("text", "wds", n=2, shards=[2])
    path = os.path.join(folder, "shard-000000.tar")
    with open(path, "rb") as f:
        data = bytearray(f.read())
    h = data[:512]
    TARS[name](h)
    h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h)
    data[:512] = h
    with open(path, "wb") as f:
        f.write(data)
    ds = shardify.open(folder)
    with pytest.raises(shardify.CorruptError, match="shard-000000.tar .*sample 0"):
        ds[0]
    assert ds[1]["txt"] == samples("text", 2)[1]["txt"]


def test_members_that_are_no_value_of_their_field(tmp_path, monkeypatch):
    schema = SCHEMAS["text"] + [{"name": "x", "dtype": "f32", "shape": [2]}]
    good = dict(samples("text", 1)[0], x=[1, 2])
    bad = {
        "txt": b"\xff\xfe",
        "cls": b"1 ",
        "words.json": b'["a", 3]',
        "x.npy": fixture.npy(np.zeros(3, "f4")),
    }
    for name, content in {**bad, "x.npy": fixture.npy(np.zeros(2, "f8"))}.items():
        real = fixture._content
        with monkeypatch.context() as m:
            m.setattr(fixture, "_content", partial(instead, name, content, real))
            folder = fixture.write(tmp_path / name, schema, [good], "wds")
        path = os.path.join(folder, "shard-000000.tar")
        with pytest.raises(shardify.CorruptError, match=r"%s .*%s sample 0" % (path, name)) as caught:
            shardify.open(folder)[0]
        e = caught.value
        assert e.file == path and name in e.object and e.sample == 0 and not e.hints, vars(e)


def instead(name, content, real, f, v):
    return content if fixture.member(f) == name else real(f, v)
