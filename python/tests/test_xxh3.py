from __future__ import annotations

import pytest

from shardify import xxh3

DATA = bytes(i * 7 + i // 256 & 255 for i in range(5000))


@pytest.mark.parametrize("n", [241, 256, 257, 1023, 1024, 1025, 1088, 1089, 2048, 4096, 4999, 5000])
def test_equals_xxhash(n):
    xxhash = pytest.importorskip("xxhash", reason="needs the xxhash package")
    assert xxh3.hexdigest(DATA[:n]) == xxhash.xxh3_128_hexdigest(DATA[:n])


# From xxhsum -H2, for machines without the package.
VECTORS = {
    241: "75f4da43f23cce5a541b19226f0052e8",
    1024: "a3da96fbd688736171bee625238addb4",
    1025: "a53cd4fd16206676d9b414f4e1bbf7ad",
    4096: "08ef8fc6d37a71915c722d9ceb6f9064",
    5000: "e814573b3db786c4ed0146266d138bd8",
}


@pytest.mark.parametrize("n", VECTORS)
def test_known_digests(n):
    assert xxh3.hexdigest(memoryview(DATA)[:n]) == VECTORS[n]


def test_short_input_is_refused():
    with pytest.raises(ValueError):
        xxh3.hexdigest(bytes(240))
