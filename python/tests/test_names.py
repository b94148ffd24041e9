"""Keywords of other tools and names of fields that are not there: the error says what to write."""

from __future__ import annotations

import dataclasses
import inspect
import re

import fixture
import numpy as np
import pytest
from loading import needs_library

import shardify
from shardify import near

SCHEMA = [
    {"name": "image", "dtype": "f32", "shape": [2, 2]},
    {"name": "energy", "dtype": "f64"},
    {"name": "cls", "dtype": "i64", "attrs": {"labels": "cat\ndog"}},
]


@pytest.fixture
def data(tmp_path):
    rows = [{"image": np.full((2, 2), k), "energy": k, "cls": k % 2} for k in range(8)]
    fixture.write(tmp_path / "set", SCHEMA, rows, shards=[8])
    return str(tmp_path / "set")


FOREIGN = {
    "num_workers": (4, "workers=4"),
    "num_threads": (4, "workers=4"),
    "pin_memory": (True, "pinned"),
    "persistent_workers": (True, "leave it out"),
    "worker_init_fn": (None, "leave it out"),
    "multiprocessing_context": ("spawn", "leave it out"),
    "prefetch_factor": (2, "depth=2"),
    "collate_fn": (list, "transform="),
    "sampler": ([1], "indices="),
    "batch_sampler": ([[1]], "indices="),
    "generator": (None, "seed="),
    "num_replicas": (2, "world_size=2"),
    "dtype": ("float16", "cast="),
    "fields": (["x"], r"columns=\['x'\]"),
    "image_size": (32, "resize=32"),
    "augment": (["rotate=10"], r"decode=shardify.Decode\(augment=\['rotate=10'\]\)"),
    "random_crop": (True, r"decode=shardify.Decode\(random_crop=True\)"),
    "shufle": ("block", "shuffle='block'"),
    "colums": ("x", "columns='x'"),
    "wombat": (1, "no argument wombat=; help"),
}


@needs_library
@pytest.mark.parametrize("word", FOREIGN)
@pytest.mark.parametrize("kind", ["Loader", "LoaderDataset"])
def test_keywords_of_other_loaders(data, word, kind):
    if kind == "LoaderDataset":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    value, want = FOREIGN[word]
    with pytest.raises(TypeError, match=want) as e:
        getattr(shardify, kind)(data, 4, **{word: value})
    assert str(e.value).startswith(kind + ": no argument %s=" % word), str(e.value)


@needs_library
def test_what_is_said_works(data):
    """The arguments that errors name, unchanged."""
    ran = 0
    for word, (value, _) in FOREIGN.items():
        try:
            shardify.Loader(data, 4, **{word: value})
        except TypeError as e:
            for argument in re.findall(r"\b(?:workers|depth|world_size|resize|columns)=(?:\w+|\[[^]]*\])", str(e)):
                names = {"columns=['x']": "columns=['image']", "world_size=2": "world_size=2, rank=0", "resize=32": "resize=None"}
                eval("shardify.Loader(data, 4, device='cpu', %s)" % names.get(argument, argument)).close()
                ran += 1
    assert ran >= 6


def test_other_functions(data):
    for call, want in {
        lambda: shardify.open(data, batch_size=4): r"shardify.open: no argument batch_size=.*shardify.Loader\(DATA, batch_size=4\)",
        lambda: shardify.open(data, shuffle=True): "shardify.Loader",
        lambda: shardify.open(data, fields=["image"]): r"columns=\['image'\]",
        lambda: shardify.open(data, tranform=len): "transform=",
        lambda: shardify.collate(padding=1): "shardify.collate: no argument padding=",
        lambda: shardify.Decode(rezise=3): "resize=3",
        lambda: shardify.Decode(size=3): "resize=3",
        lambda: shardify.Device(pinned=True): "shardify.Device: no argument pinned=",
        lambda: shardify.grain.source(data, num_workers=3): "shardify.grain.source: no argument",
        lambda: shardify.profile([], step=1, step_time=3): "shardify.profile: no argument step_time=",
    }.items():
        with pytest.raises(TypeError, match=want):
            call()


@needs_library
@pytest.mark.parametrize("word, value, want", [("num_workers", 2, "jobs=2"), ("overwrite", True, "fresh=True"), ("output_format", "wds", "format='wds'"), ("resize", 32, "augment="), ("batch_size", 4, "Loader")])
def test_keywords_of_other_converters(data, tmp_path, word, value, want):
    with pytest.raises(TypeError, match="shardify.convert: no argument %s=.*%s" % (word, want)):
        shardify.convert(data, tmp_path / "out", **{word: value})
    if word in ("num_workers", "overwrite", "output_format"):  # what is said works
        assert shardify.convert(data, tmp_path / "out", **eval("dict(%s)" % want)).samples == 8


def test_python_sees_the_signatures():
    for f in shardify.open, shardify.collate, shardify.Loader, shardify.Decode, shardify.profile:
        assert "kw" not in inspect.signature(f).parameters and f.__doc__
    assert dataclasses.replace(shardify.Decode(crop=3), flip=0.5) == shardify.Decode(crop=3, flip=0.5)


@needs_library
def test_a_data_set_is_named_by_its_folder(data):
    with pytest.raises(TypeError, match=r"Loader: want a folder.*shardify.Loader\('%s', 4\)" % re.escape(data)):
        shardify.Loader(shardify.open(data), 4)


FIELDS = {
    "field": lambda ds, loader: ds.field("imge"),
    "column": lambda ds, loader: ds.column("imge"),
    "labels": lambda ds, loader: ds.labels("imge"),
    "vocab": lambda ds, loader: ds.vocab("imge"),
    "sample": lambda ds, loader: ds[0]["imge"],
    "batch": lambda ds, loader: ds.__getitems__([0])[0]["imge"],
    "columns": lambda ds, loader: shardify.open(ds.manifests and ds._manifests[0].folder, columns=["imge"]),
    "loader labels": lambda ds, loader: loader().labels("imge"),
    "loader batch": lambda ds, loader: next(iter(loader()))["imge"],
    "loader columns": lambda ds, loader: loader(columns=["imge"]),
    "balance": lambda ds, loader: loader(balance="imge"),
    "cast": lambda ds, loader: loader(cast={"imge": "f16"}),
    "decode": lambda ds, loader: loader(decode={"field": "imge"}),
    "decoders": lambda ds, loader: loader(decode=shardify.decode.make("imge")),
    "tokens": lambda ds, loader: loader(tokens="imge=4"),
    "window": lambda ds, loader: loader(window="imge=2+1"),
}


@needs_library
@pytest.mark.parametrize("where", FIELDS)
def test_fields_that_are_not_there(data, where):
    def loader(**given):
        return shardify.Loader(data, 4, device="cpu", **given)

    with pytest.raises((KeyError, ValueError)) as e:
        FIELDS[where](shardify.open(data), loader)
    text = str(e.value)
    assert "no field" in text and "imge" in text
    if where == "window":  # only those that count rows
        assert "energy" in text
    else:
        assert re.search(r"near: image\b", text) and "energy" in text and "cls" in text, text


def test_of_many_names_the_nearest():
    names = ["Jet_pt", "Jet_eta", "Jet_phi"] + ["other%d" % k for k in range(300)]
    text = near.unknown("field", "Jet_pz", names)
    assert text.startswith("no field 'Jet_pz' (near: Jet_pt") and text.endswith("and 283 more") and len(text) < 400
    assert near.unknown("field", "x", []) == "no field 'x'; there are none"


@pytest.mark.parametrize("size", ["32", 0, -3, 3.5, (32,), (32, 0), (3, 4, 5), "32x32", True, [16, 16.5]])
@pytest.mark.parametrize("name", ["resize", "crop"])
def test_sizes_of_images(name, size):
    with pytest.raises(ValueError, match=r"%s=.*: want a number of pixels, or \(height, width\)" % name):
        shardify.decode.make("png", **{name: size})


@needs_library
def test_sizes_want_decode(data):
    with pytest.raises(ValueError, match=r"resize= is for images: Loader\(..., decode=True, resize=32\)"):
        shardify.Loader(data, 4, resize=32)


def test_the_package_shows_its_names():
    assert dir(shardify) == sorted([*shardify.__all__, "__version__"])
    for name in dir(shardify):
        assert name == "LoaderDataset" or getattr(shardify, name) is not None


def test_names_of_codes():
    """labels are names of 0, 1, ...; codes below 0 or far apart have names, too."""
    from shardify.schema import Field, unlabelled

    near, far = Field("near", "i8", attrs={"labels": "a\n\nc"}), Field("far", "i8", attrs={"enum": "a=b=-1\nc=300"})
    assert near.names == {0: "a", 2: "c"} and far.names == {-1: "a=b", 300: "c"} and Field("x", "i8").names == {}
    assert "field('far').names" in unlabelled("far", [near, far]) and "fields with labels: near" in unlabelled("x", [near])
