"""Numbers look as those of the program: internal/printable has the same test."""
import json
import os

import pytest

from shardify import amounts

TABLE = os.path.join(os.path.dirname(__file__), "..", "..", "internal", "printable", "testdata", "numbers.json")


def rows():
    with open(TABLE, encoding="utf-8") as f:
        table = json.load(f)
    del table["about"]  # Python has no times that people wait for
    return [(name, x, want) for name, list_ in table.items() for x, want in list_]


@pytest.mark.parametrize("name,x,want", rows())
def test_numbers_look_the_same_in_both_languages(name, x, want):
    assert getattr(amounts, name)(x) == want
