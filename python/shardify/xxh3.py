"""XXH3-128 (seed 0) of inputs longer than 240 bytes, in NumPy.

Manifests and shard headers, which is what this package hashes, are always
longer; shorter input has other formulas and is refused.
"""

from __future__ import annotations

from typing import Any, Union

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MASK = (1 << 64) - 1

_STRIPE = 64
_STRIPES = (len(_SECRET) - _STRIPE) // 8  # per block
_BLOCK = _STRIPE * _STRIPES
MIN_BYTES = 241


def _key(at: int) -> U64:
    return np.frombuffer(_SECRET, "<u8", 8, at).astype(np.uint64)


_KEYS = np.stack([_key(8 * s) for s in range(_STRIPES)])
_SCRAMBLE = _key(len(_SECRET) - _STRIPE)
_LAST = _key(len(_SECRET) - _STRIPE - 7)
_SWAP = np.array([1, 0, 3, 2, 5, 4, 7, 6])
_LOW, _32, _47 = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(47)
_PRIME = np.uint64(_P32_1)


def _mix(data: U64, keys: U64) -> U64:
    """What each lane of each stripe adds to the accumulators."""
    v = data ^ keys
    mixed: U64 = (v & _LOW) * (v >> _32) + data[..., _SWAP]
    return mixed


def _stripes(buf: memoryview, lo: int, n: int) -> U64:
    return np.frombuffer(buf, "<u8", n * 8, lo).reshape(n, 8).astype(np.uint64)


def _merge(acc: U64, at: int, start: int) -> int:
    a, k = acc.tolist(), _key(at).tolist()
    h = start
    for i in range(0, 8, 2):
        m = (a[i] ^ k[i]) * (a[i + 1] ^ k[i + 1])
        h += (m & _MASK) ^ (m >> 64)
    h &= _MASK
    h ^= h >> 37
    h = h * 0x165667919E3779F9 & _MASK
    return h ^ (h >> 32)


def hexdigest(data: Union[bytes, bytearray, memoryview, Any]) -> str:
    """The 32 hexadecimal digits of XXH3-128, high half first."""
    buf = memoryview(data).cast("B")
    n = len(buf)
    if n < MIN_BYTES:
        raise ValueError("xxh3 of %d bytes: only %d or more" % (n, MIN_BYTES))
    acc = np.array([_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1], np.uint64)
    blocks = (n - 1) // _BLOCK
    group = 1024  # blocks mixed at once: bounds the memory for long input
    for b in range(0, blocks, group):
        m = min(group, blocks - b)
        data3 = _stripes(buf, b * _BLOCK, m * _STRIPES).reshape(m, _STRIPES, 8)
        for mixed in _mix(data3, _KEYS).sum(axis=1, dtype=np.uint64):
            acc += mixed
            acc = (acc ^ (acc >> _47) ^ _SCRAMBLE) * _PRIME
    rest = (n - 1 - blocks * _BLOCK) // _STRIPE
    if rest:
        acc += _mix(_stripes(buf, blocks * _BLOCK, rest), _KEYS[:rest]).sum(axis=0, dtype=np.uint64)
    acc += _mix(_stripes(buf, n - _STRIPE, 1)[0], _LAST)
    low = _merge(acc, 11, n * _P64_1 & _MASK)
    high = _merge(acc, len(_SECRET) - _STRIPE - 11, ~(n * _P64_2) & _MASK)
    return "%016x%016x" % (high, low)
