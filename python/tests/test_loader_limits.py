"""Numbers and folders that no machine has: an error at once, and of the right class."""

from __future__ import annotations

import fixture
import pytest
from loading import needs_library

import shardify

pytestmark = needs_library


@pytest.fixture
def data(tmp_path):
    fixture.write(tmp_path / "set", [{"name": "y", "dtype": "i64"}], [{"y": k} for k in range(20)], shards=[20])
    return str(tmp_path / "set")


@pytest.mark.parametrize(
    "given, want",
    [
        (dict(depth=10**9), "depth 1000000000: want at most 65536 batches ahead"),
        (dict(workers=10**9), "workers 1000000000: want at most 4096 threads"),
        (dict(batch_size=2**31 - 1, depth=1000), "a batch of 2,147,483,647 samples takes .* an epoch has 20 samples"),
        (dict(batch_size=2**31 - 1, depth=1000, last="pad"), "a smaller batch or depth fits"),
        (dict(batch_size=2**40), "want 1 to 2\\^31-1 samples"),
        (dict(transform=len, transform_threads=10**9), "transform_threads=1000000000: want at most 1024"),
        (dict(transform=len, transform_threads=-1), "transform_threads=-1: want 0 or more"),
        (dict(transform=len, transform_threads=1.5), "transform_threads=1.5: want a whole number"),
        (dict(ring=10**9), "ring=1000000000: want at most 1024"),
    ],
)
def test_too_much(data, given, want):
    with pytest.raises(ValueError, match=want):
        shardify.Loader(data, given.pop("batch_size", 4), device="cpu", **given)


@pytest.mark.parametrize("threads", [0, -1, 10**9, 2.5, "4"])
def test_threads_of_decoders(threads):
    if threads == 0:  # as many as there are cores
        assert shardify.decode.make("png", threads=0).threads > 0
        return
    with pytest.raises(ValueError, match="threads=.*: want a number from 1 to 1024"):
        shardify.decode.make("png", threads=threads)


@pytest.mark.parametrize("option", ["stage", "trace", "cache"])
@pytest.mark.parametrize("what", ["absent", "a file"])
def test_folders_that_are_not_there(data, tmp_path, option, what):
    (tmp_path / "file").write_text("-")
    if what == "absent" and option == "cache":
        pytest.skip("a cache makes its folder")
    path = tmp_path / ("absent" if what == "absent" else "file") / "x"
    given = {option: path, "tier": "staged" if option == "stage" else "auto"}
    with pytest.raises(shardify.InputNotFoundError, match="^%s %s: there is no such folder: make it first" % (option, path)) as e:
        shardify.Loader(data, 4, device="cpu", **given)
    assert not isinstance(e.value, shardify.NotADatasetError) and isinstance(e.value, FileNotFoundError)
