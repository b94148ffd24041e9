"""The NPY parser: what it refuses, and that it reads what NumPy writes."""

from __future__ import annotations

import os
import random

import fixture
import numpy as np
import pytest

from shardify import npy

LONG = bool(os.environ.get("SHARDIFY_LONG"))

NPYS = [
    b"",
    b"\x93NUMPY",
    b"\x93NUMPY\x01\x00\xff\xff{}",
    b"\x93NUMPY\x09\x00\x02\x00{}",
    fixture.npy(np.zeros(4))[:-1],
    fixture.npy(np.zeros(4)) + b"\0",
    fixture.npy(np.zeros(4)).replace(b"<f8", b"|O8"),
    fixture.npy(np.zeros(4)).replace(b"(4,)", b"(-4)"),
    fixture.npy(np.zeros(4)).replace(b"(4,)", b"[4] "),
    fixture.npy(np.zeros(4)).replace(b"(4,), ", b"(99**99,"),
    fixture.npy(np.zeros(4)).replace(b"'shape'", b"'shapE'"),
    fixture.npy(np.zeros(4)).replace(b"False", b"0    "),
]


@pytest.mark.parametrize("data", NPYS)
def test_npy_files_that_break_a_rule(data):
    with pytest.raises(ValueError):
        npy.parse(memoryview(data))


def test_npy_reads_what_numpy_writes():
    for a in (
        np.arange(6).reshape(2, 3),
        np.float32(3),
        np.zeros((0, 3), "f2"),
        np.asfortranarray(np.eye(3)),
        np.array([True]),
    ):
        got = npy.parse(memoryview(fixture.npy(a)))
        assert got.dtype == a.dtype and got.shape == a.shape and np.array_equal(got, a) and got.flags.writeable


def test_mutated_npy_never_does_anything_else():
    r, whole, parsed = random.Random(2), fixture.npy(np.arange(4, dtype="i2")), 0
    for _ in range(100000 if LONG else 3000):
        data = bytearray(whole)
        for _ in range(r.randrange(1, 4)):
            data[r.randrange(len(data))] = r.randrange(256)
        try:
            npy.parse(memoryview(data))
            parsed += 1
        except ValueError:
            pass
    print("%d parsed" % parsed)
    assert parsed
