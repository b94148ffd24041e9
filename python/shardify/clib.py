"""The library behind `Loader` and `convert`: found, loaded on first use, its errors as exceptions.

gpuload/capi/shardify.h says what each function does. ctypes gives up Python's lock
during every call.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Dict, NoReturn, Optional, Type

from .errors import (
    ChangedError,
    ClosedError,
    CorruptError,
    DeniedError,
    DeviceError,
    ExistsError,
    ForkedError,
    InputNotFoundError,
    NotADatasetError,
    SchemaError,
    ShardifyError,
    StateError,
    StoppedError,
    UnsupportedError,
    UsageError,
)

ABI = 14
VARIABLE = "SHARDIFY_LIBRARY"
OK, END, AGAIN, ERROR, FORKED = 0, 1, 2, -1, -2

# Places in what shardify_next writes.
BATCH, LEASE, EPOCH, INDEX, ROWS, FROM, POSITION, LENT, STEPS, HEAD = range(10)
ADDRESS, COUNT, HOST, EACH = range(4)
DETACH = -1  # instead of an address for shardify_take
NOBODY = UNKNOWN = -1  # instead of a stream
CALLER = -2  # the host waits

_KINDS: Dict[str, Type[Exception]] = {
    "corrupt": CorruptError,
    "unsupported": UnsupportedError,
    "schema": SchemaError,
    "state": StateError,
    "device": DeviceError,
    "closed": ClosedError,
    "missing": NotADatasetError,
    "denied": DeniedError,
    "absent": InputNotFoundError,
    "exists": ExistsError,
    "changed": ChangedError,
    "usage": UsageError,
    "stopped": StoppedError,
    "value": ValueError,
}


class Tensor(ctypes.Structure):
    """shardify_tensor: what a DLPack view needs but address and count."""

    _fields_ = [
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("code", c_int32),
        ("bits", c_int32),
        ("ndim", c_int32),
        ("read_only", c_int32),
        ("shape", c_int64 * 16),
    ]


_error = POINTER(c_void_p)
_FUNCTIONS: Dict[str, Any] = {
    "open": [c_char_p, c_size_t, c_void_p, c_int64, c_void_p, c_int64, POINTER(c_uint64), POINTER(c_void_p), _error],
    "next": [c_uint64, c_int64, c_uint64, c_int, c_void_p, _error],
    "fetch": [c_uint64, c_int64, c_uint64, c_void_p, c_void_p, _error],
    "place": [c_uint64, c_uint64, _error],
    "take": [c_uint64, c_uint64, c_void_p, c_void_p, c_int64, _error],
    "ids": [c_uint64, c_void_p, c_int64, _error],
    "ids_at": [c_uint64, c_int64, c_int64, c_void_p, c_int64, _error],
    "documents": [c_void_p, c_int64, c_void_p, c_int64, c_int64, c_int64, c_void_p, c_int64, c_void_p, c_void_p, c_void_p, _error],
    "ready": [c_uint64, c_uint64, _error],
    "use": [c_uint64, c_uint64, c_int, _error],
    "release": [c_uint64, _error],
    "settle": [c_uint64, _error],
    "state": [c_uint64, POINTER(c_void_p), _error],
    "restore": [c_uint64, c_char_p, c_size_t, _error],
    "batches": [c_uint64, c_int64, c_int64, c_int, POINTER(c_void_p), _error],
    "order": [c_uint64, c_int64, c_void_p, c_int64, c_char_p, POINTER(c_void_p), _error],
    "stats": [c_uint64, POINTER(c_void_p), _error],
    "close": [c_uint64, _error],
    "probe": [c_char_p, POINTER(c_void_p), _error],
    "pixels": [c_char_p, c_uint64, c_void_p, c_void_p, c_void_p, c_int64, _error],
    "dense": [c_char_p, c_uint64, c_void_p, _error],
    "sparse": [c_void_p, c_void_p, c_void_p, c_void_p, c_int64, c_void_p, c_int64, c_void_p, c_void_p, c_void_p, _error],
    "decode": [c_char_p, c_size_t, c_int64, c_void_p, c_int64, c_void_p, c_void_p, c_int64, c_void_p, c_int64, c_void_p, c_int64, POINTER(c_void_p), _error],
    "following": [c_char_p, c_size_t, POINTER(c_void_p), _error],
    "follow": [c_char_p, c_size_t, c_void_p, c_int64, c_void_p, c_int64, c_void_p, c_int64, POINTER(c_void_p), _error],
    "image_size": [c_char_p, c_size_t, c_void_p, _error],
    "file_size": [c_char_p, POINTER(c_int64), _error],
    "file": [c_char_p, c_size_t, c_void_p, c_int64, _error],
    "describe": [c_char_p, POINTER(c_void_p), _error],
    "convert": [c_char_p, c_size_t, POINTER(c_uint64), _error],
    "convert_wait": [c_uint64, c_int64, POINTER(c_void_p), _error],
    "convert_stop": [c_uint64, _error],
    "abi": [],
    "forked": [],
}


class Library:
    """The functions of the library, without their prefix."""

    def __init__(self, path: str) -> None:
        self.path = path
        lib = ctypes.CDLL(path)
        for name, types in _FUNCTIONS.items():
            f = getattr(lib, "shardify_" + name)
            f.argtypes, f.restype = types, c_int
            setattr(self, name, f)
        # These are a few instructions: giving up the lock would cost more. They are
        # called with it, by destructors too.
        quick = ctypes.PyDLL(path)
        self.view = _typed(quick.shardify_view, [c_void_p, POINTER(Tensor), c_int64, c_int64, c_int], c_void_p)
        self.unview = _typed(quick.shardify_unview, [c_void_p, c_int], None)
        self.drop = _typed(quick.shardify_drop, [c_void_p], None)
        self.keep = _typed(quick.shardify_keep, [c_void_p], None)
        self.free = _typed(quick.shardify_free, [c_void_p], None)
        python = ctypes.pythonapi
        quick.shardify_python.argtypes, quick.shardify_python.restype = [c_void_p, c_void_p], None
        quick.shardify_python(
            ctypes.cast(python.PyCapsule_IsValid, c_void_p), ctypes.cast(python.PyCapsule_GetPointer, c_void_p)
        )
        self.capsule_destructor = ctypes.cast(quick.shardify_capsule, c_void_p)

    open: Any
    next: Any
    fetch: Any
    place: Any
    take: Any
    ids: Any
    ids_at: Any
    documents: Any
    ready: Any
    release: Any
    use: Any
    settle: Any
    state: Any
    restore: Any
    batches: Any
    order: Any
    stats: Any
    close: Any
    probe: Any
    pixels: Any
    dense: Any
    decode: Any
    sparse: Any
    following: Any
    follow: Any
    image_size: Any
    file_size: Any
    file: Any
    describe: Any
    convert: Any
    convert_wait: Any
    convert_stop: Any
    abi: Any
    forked: Any

    def text(self, p: c_void_p) -> str:
        """A text of the library, which is freed."""
        try:
            return ctypes.string_at(p.value or 0).decode("utf-8", "replace")
        finally:
            self.free(p)

    def call(self, f: Any, *args: Any) -> int:
        """The result of a function of the library; its error as an exception."""
        err = c_void_p()
        code: int = f(*args, byref(err))
        if code < 0:
            self.fail(code, err)
        return code

    def ask(self, f: Any, *args: Any) -> Any:
        """The JSON that a function answers with."""
        out = c_void_p()
        self.call(f, *args, byref(out))
        return json.loads(self.text(out))

    def fail(self, code: int, err: c_void_p) -> NoReturn:
        if code == FORKED:
            raise forked()
        raise translate(json.loads(self.text(err)))


def _typed(f: Any, args: Any, result: Any) -> Any:
    f.argtypes, f.restype = args, result
    return f


def forked() -> ForkedError:
    return ForkedError(
        "this process was forked from one that had used shardify.Loader, and a fork copies no threads. Start new processes instead:\n"
        '    if __name__ == "__main__":\n'
        '        loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context="forkserver")\n'
        "What shardify.open gives may be forked."
    )


def translate(e: Dict[str, Any]) -> Exception:
    """The exception for an error of the library, with its facts as attributes."""
    kind = _KINDS.get(e["kind"], ShardifyError)
    hints = e.get("hints", [])
    made = kind(e["message"]) if issubclass(kind, ShardifyError) else kind("\nhint: ".join([e["message"], *hints]))
    if isinstance(made, ShardifyError):
        made.file, made.object, made.field = e.get("file", ""), e.get("object", ""), e.get("field", "")
        made.sample = e["sample"] if e["sample"] >= 0 else None
        made.offset = e["offset"] if e["offset"] >= 0 else None
        made.hints = hints
        made.ways = e.get("ways", ())
    return made


_lock = threading.Lock()
_loaded: Optional[Library] = None


def path() -> str:
    return os.environ.get(VARIABLE) or os.path.join(os.path.dirname(os.path.abspath(__file__)), "_shardify.so")


def loaded() -> bool:
    """Whether this process has the library; one that was forked from such a process has not."""
    return _loaded is not None and not _loaded.forked()


def load() -> Library:
    """The library, loaded by the first call. It starts Go's threads, so not before it is needed."""
    global _loaded
    if _loaded is not None:
        if _loaded.forked():
            raise forked()
        return _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load(path())
        return _loaded


# What Go reserves of the address space when the library starts. Where it is not to be had, Go ends the process.
_RESERVED = 1150 << 20


def _room() -> Optional[tuple[int, int]]:
    """The limit of this process's address space, and how much of it is free, where there is a limit."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        with open("/proc/self/statm") as f:
            used = int(f.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return None
    return None if limit == resource.RLIM_INFINITY else (limit, limit - used)


def _load(file: str) -> Library:
    hint = "shardify.open and shardify.collate need no library: they read the same data with NumPy alone"
    if not os.path.exists(file):
        raise UnsupportedError(
            "shardify.Loader, shardify.convert and data sets on other machines need their library, and %s is not there: install a wheel that has it, or build it "
            "and name it in %s. %s" % (file, VARIABLE, hint)
        )
    room = _room()
    if room is not None and room[1] < _RESERVED:
        raise UnsupportedError(
            "shardify: the address space of this process is limited to %d MiB (ulimit -v), and %d MiB of it are left: the library reserves %d MiB when it starts. "
            "Raise the limit: ulimit -v unlimited. %s" % (room[0] >> 20, room[1] >> 20, _RESERVED >> 20, hint)
        )
    try:
        lib = Library(file)
    except (OSError, AttributeError) as e:
        raise UnsupportedError("shardify: %s cannot be used here: %s. %s" % (file, e, hint)) from None
    if lib.abi() != ABI:
        raise UnsupportedError(
            "shardify: %s has interface %d, this package wants %d: the two are of different releases"
            % (file, lib.abi(), ABI)
        )
    return lib


def available() -> bool:
    """Whether `Loader` can be used here."""
    try:
        load()
    except ShardifyError:
        return False
    return True


def probe(device: str = "host") -> Any:
    """What there is to know about a device: opens and measures it."""
    lib = load()
    return lib.ask(lib.probe, device.encode())
