"""Files of data sets on other machines: the library reads and checks them."""

from __future__ import annotations

import ctypes
import json
import mmap
import re
from typing import TYPE_CHECKING, Any, Optional, Sequence

from .errors import corrupt

if TYPE_CHECKING:
    from . import clib

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+-]*://")

# What the shards of a data set that are open may take, unless one alone takes more.
ROOM = 1 << 30


def is_remote(path: str) -> bool:
    """Whether a name is an address: s3://, https:// and others."""
    return _ADDRESS.match(path) is not None


def _library() -> clib.Library:
    from . import clib  # local data sets are opened without it

    return clib.load()


def text(path: str, most: int) -> bytes:
    """All of a small file."""
    lib, size = _library(), ctypes.c_int64()
    lib.call(lib.file_size, path.encode(), ctypes.byref(size))
    if size.value > most:
        raise corrupt(path, "more than %d bytes" % most)
    return bytes(File(path, size.value).read()) if size.value else b""


class File:
    """A file in memory, as far as it was read. What was not is zero, and takes none."""

    def __init__(self, path: str, size: int) -> None:
        if size == 0:
            raise corrupt(path, "the file is empty")
        self.path, self.size = path, size
        self.map = mmap.mmap(-1, size)

    def read(self, digest: str = "", samples: Optional[int] = None, tensors: Sequence[str] = ()) -> memoryview:
        """All of the file; of an mmap shard, which has samples, the header and some tensors."""
        wanted = {"name": self.path, "digest": digest, "samples": samples, "tensors": list(tensors)}
        request = json.dumps(wanted).encode()
        lib = _library()
        to = (ctypes.c_char * self.size).from_buffer(self.map)
        lib.call(lib.file, request, len(request), ctypes.addressof(to), self.size)
        return memoryview(self.map).toreadonly()


def whole(path: str, size: int, digest: str = "") -> Any:
    """A file in memory, read and checked."""
    return File(path, size).read(digest)
