"""Errors of the functions that users give: none of them ends a loop as if the data had ended."""

from __future__ import annotations

import fixture
import loading
import pytest

import shardify

try:
    import torch
    from torch.utils.data import DataLoader
except ImportError:
    torch = None

N = 12
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")


@pytest.fixture
def data(tmp_path):
    fixture.write(tmp_path / "set", [{"name": "y", "dtype": "i64"}], [{"y": k} for k in range(N)], shards=[N])
    return str(tmp_path / "set")


class AfterSome:
    """A function that raises at the third call."""

    def __init__(self, error):
        self.error, self.calls = error, 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == 3:
            raise self.error("from the user's function")
        return x


class Raising:
    """A decoder that raises."""

    field = "png"

    def __init__(self, error):
        self.error = error

    def __call__(self, *args, **keywords):
        raise self.error


def loaders(data, error, threads):
    return shardify.Loader(data, 4, transform=AfterSome(error), transform_threads=threads, device="cpu")


def count(loop):
    seen = 0
    for _ in loop:
        seen += 1
    return seen


@loading.needs_library
@pytest.mark.parametrize("threads", [0, 2])
def test_a_loaders_transform(data, threads):
    with pytest.raises(RuntimeError, match="transform=.*StopIteration") as e:
        count(loaders(data, StopIteration, threads))
    assert isinstance(e.value.__cause__, StopIteration)
    for error in (GeneratorExit, IndexError, StopAsyncIteration, KeyError):
        with pytest.raises(error):
            count(loaders(data, error, threads))


def png():
    """An image of one pixel."""
    import struct
    import zlib

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


@loading.needs_library
@pytest.mark.parametrize("threads", [0, 1])
def test_a_loaders_decoder(tmp_path, threads):
    fixture.write(tmp_path / "set", [{"name": "png", "dtype": "u8", "levels": 1, "media": "png"}], [{"png": png()}] * 4, shards=[4])
    decoder = shardify.decode.make("png")
    decoder.backend_function = lambda: Raising(StopIteration)
    decoder._library = lambda: None
    with pytest.raises(RuntimeError, match="decode=.*StopIteration"):
        count(shardify.Loader(str(tmp_path / "set"), 2, decode=decoder, transform_threads=threads, device="cpu"))


LOOPS = {
    "items": lambda ds: (ds[k] for k in range(len(ds))),
    "iter": iter,
    "view": lambda ds: ds[2:10],
    "many": lambda ds: ds.__getitems__([1, 2, 3]),
    "map": lambda ds: map(ds.__getitem__, range(len(ds))),
    "grain": lambda ds: map(shardify.grain.Source(ds).__getitem__, range(len(ds))),
    "view many": lambda ds: ds[0:9].__getitems__([1, 2, 3]),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_data_sets_transform(data, loop):
    with pytest.raises(RuntimeError, match="transform=.*StopIteration"):
        count(LOOPS[loop](shardify.open(data, transform=AfterSome(StopIteration))))
    # Python's own loops over what has numbers end at an IndexError.
    for error in (IndexError, GeneratorExit, ValueError):
        with pytest.raises(error):
            count(LOOPS[loop](shardify.open(data, transform=AfterSome(error))))


@needs_torch
@pytest.mark.parametrize("workers", [0, 2])
def test_under_torchs_loader(data, workers):
    """With DataLoader an epoch ended at the sample whose transform raised, without an error."""
    ds = shardify.open(data, transform=AfterSome(StopIteration))
    with pytest.raises(RuntimeError, match="transform=.*StopIteration"):
        count(DataLoader(ds, batch_size=4, num_workers=workers))


@needs_torch
@loading.needs_library
def test_under_torchs_loader_with_whole_batches(data):
    with pytest.raises(RuntimeError, match="transform=.*StopIteration"):
        count(DataLoader(shardify.LoaderDataset(data, 4, transform=AfterSome(StopIteration)), batch_size=None))
