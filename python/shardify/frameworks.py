"""What the tensors of a batch are: torch, NumPy, CuPy, JAX, or anything that reads DLPack."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple, Type

import numpy as np
import numpy.typing as npt

from . import clib, dlpack
from .collating import tensor as widen
from .dlpack import Lease
from .errors import UnsupportedError
from .schema import DTYPES, bf16_to_f32

Array = npt.NDArray[Any]
NAMES = ("auto", "torch", "numpy", "cupy", "jax", "dlpack")


class Spec:
    """One tensor of every batch: all of it but its memory and first dimension."""

    def __init__(self, kind: str, inner: Sequence[int], lead: str) -> None:
        self.kind, self.inner, self.lead = kind, tuple(inner), lead
        self.dtype = np.dtype(DTYPES[kind][0])  # of the bits for bf16
        self.row = self.dtype.itemsize * int(np.prod(self.inner, dtype=np.int64))
        self.plain = kind != "bf16"
        self.usual = kind not in ("bf16", "u16", "u32", "u64")  # any torch has it
        # How many more than samples the first dimension counts; -1: it depends on the data.
        self.extra = {"samples": 0, "offsets": 1}.get(lead, -1)


class Framework:
    """Makes tensors, on the host unless device is a GPU."""

    name = ""
    lends = True  # memory of the loader may be the framework's
    grows = False  # has no memory of its own on a GPU: the loader has as much as is held

    def __init__(self, device: str) -> None:
        self.device = device
        self.number = int(device.split(":")[1]) if device.startswith("cuda") else -1
        self.place: Tuple[int, int] = (dlpack.CUDA, self.number) if self.number >= 0 else (dlpack.CPU, 0)

    @staticmethod
    def default_device() -> str:
        """What device="auto" is."""
        return "host"

    @staticmethod
    def supports(device: str) -> None:
        """Raises where the framework has no tensors of a device."""

    def stream(self) -> int:
        """The handle of the stream that the consumer works on."""
        return clib.NOBODY

    def prepare(self, spec: Spec) -> Any:
        """What `from_lent` wants to know beforehand."""
        return dlpack.describe(spec.dtype, spec.inner, self.place, spec.kind == "bf16")

    def from_array(self, a: Array, spec: Spec) -> Any:
        """A tensor over an array, whose memory is its own."""
        raise NotImplementedError

    def from_lent(self, lease: Lease, spec: Spec, ready: Any, address: int, count: int, stream: int) -> Any:
        """A tensor over memory of a lent batch."""
        raise NotImplementedError

    def own(self, t: Any) -> Any:
        """A copy in memory of the framework."""
        raise NotImplementedError

    def to_host(self, t: Any) -> Array:
        raise NotImplementedError

    def fills(self, spec: Spec) -> bool:
        """Whether `empty` makes what the library writes a GPU's batch to."""
        return False

    def address(self, t: Any) -> int:
        """The address of a tensor of `empty` on a GPU."""
        raise NotImplementedError

    def empty(self, shape: Tuple[int, ...], spec: Spec) -> Any:
        """A tensor for values of spec, as they are stored."""
        raise UnsupportedError("ring=: framework=%r has no memory of its own on %s: give tensors with out=" % (self.name, self.device))

    def look(self, t: Any, spec: Spec) -> Tuple[int, Tuple[int, ...], Optional[str], bool]:
        """Address and shape of a tensor that is to hold values of spec; its type, if that is
        another one; whether it is contiguous and may be written."""
        kind = "__array_interface__" if self.number < 0 else "__cuda_array_interface__"
        facts = getattr(t, kind, None)
        if not isinstance(facts, dict):
            raise TypeError("out: %s is not an array of framework=%r on %s" % (type(t).__name__, self.name, self.device))
        address, fixed = facts["data"]
        shape = tuple(facts["shape"])
        dtype = np.dtype(facts["typestr"])
        strides, step = facts.get("strides"), dtype.itemsize
        plain = not fixed
        for k in range(len(shape) - 1, -1, -1):
            plain = plain and (strides is None or shape[k] == 1 or strides[k] == step)
            step *= shape[k]
        return address, shape, None if dtype == spec.dtype else str(dtype), plain


class NumPy(Framework):
    name = "numpy"

    @staticmethod
    def supports(device: str) -> None:
        if device != "host":
            raise UnsupportedError("framework='numpy' has no arrays on %s: use torch, cupy, jax or dlpack" % device)

    def prepare(self, spec: Spec) -> Any:
        return None

    def empty(self, shape: Tuple[int, ...], spec: Spec) -> Any:
        return np.empty(shape, spec.dtype)

    def from_array(self, a: Array, spec: Spec) -> Any:
        return a if spec.plain else bf16_to_f32(a)

    def from_lent(self, lease: Lease, spec: Spec, ready: Any, address: int, count: int, stream: int) -> Any:
        a = dlpack.array(address, (count,) + spec.inner, spec.dtype, lease)
        return a if spec.plain else bf16_to_f32(a)

    def own(self, t: Any) -> Any:
        return t.copy()

    def to_host(self, t: Any) -> Array:
        return t  # type: ignore[no-any-return]


class Torch(Framework):
    name = "torch"
    # Types that DLPack of some release, or torch itself, does not know, travel as others:
    # what is exchanged, the type to see it as, the type to widen to, the bits to keep.
    _SIGNED: Dict[str, str] = {"u16": "<i2", "u32": "<i4", "u64": "<i8"}
    _WIDER: Dict[str, Tuple[str, int]] = {"u16": ("int32", 0xFFFF), "u32": ("int64", 0xFFFFFFFF)}

    def __init__(self, device: str) -> None:
        super().__init__(device)
        import torch
        from torch.utils.dlpack import from_dlpack

        self.torch, self._from_dlpack, self._from_numpy = torch, from_dlpack, torch.from_numpy
        self.torch_device = torch.device("cpu" if self.number < 0 else device)
        self._known = {k for k in self._SIGNED if hasattr(torch, DTYPES[k][1].lower().replace("u", "uint"))}

    @staticmethod
    def default_device() -> str:
        import torch

        return "cuda:%d" % torch.cuda.current_device() if torch.cuda.is_available() else "host"

    @staticmethod
    def supports(device: str) -> None:
        import torch

        if device != "host" and not torch.cuda.is_available():
            raise UnsupportedError("device %s: this torch has no CUDA (torch.cuda.is_available() is false)" % device)

    def stream(self) -> int:
        if self.number < 0:
            return 0
        return int(self.torch.cuda.current_stream(self.number).cuda_stream)

    def prepare(self, spec: Spec) -> Any:
        kind, torch = spec.kind, self.torch
        if kind == "bool":
            return dlpack.describe(np.dtype("u1"), spec.inner, self.place), lambda t: t.view(torch.bool)
        if kind == "bf16":
            return dlpack.describe(np.dtype("<i2"), spec.inner, self.place), lambda t: t.view(torch.bfloat16)
        if kind in self._SIGNED:
            t = dlpack.describe(np.dtype(self._SIGNED[kind]), spec.inner, self.place)
            return t, self._known_unsigned(kind) if kind in self._known else self._widened(kind)
        return dlpack.describe(spec.dtype, spec.inner, self.place), None

    def _known_unsigned(self, kind: str) -> Any:
        dtype = getattr(self.torch, kind.replace("u", "uint"))
        return lambda t: t.view(dtype)

    def _widened(self, kind: str) -> Any:
        """As `collate` widens what this torch lacks."""
        if kind == "u64":
            return self._checked
        name, bits = self._WIDER[kind]
        dtype = getattr(self.torch, name)
        return lambda t: t.to(dtype).bitwise_and_(bits)

    def _checked(self, t: Any) -> Any:
        if t.numel() and int(t.min()) < 0:
            raise UnsupportedError("this torch has no uint64, and a value does not fit into int64: leave its field out with columns=, or take torch 2.3 or newer")
        return t

    def from_array(self, a: Array, spec: Spec) -> Any:
        if spec.usual:
            return self._from_numpy(a)
        if not spec.plain:
            return self._from_numpy(a.view("<i2")).view(self.torch.bfloat16)
        return widen(a, self.torch)

    def from_lent(self, lease: Lease, spec: Spec, ready: Any, address: int, count: int, stream: int) -> Any:
        described, change = ready
        if count == 0 or spec.row == 0:  # torch never calls the deleter of a tensor without memory
            return self.from_array(np.empty((count,) + spec.inner, spec.dtype), spec).to(self.torch_device)
        t = self._from_dlpack(dlpack.capsule(lease, described, address, count))
        return t if change is None else change(t)

    def own(self, t: Any) -> Any:
        return t.clone()

    def to_host(self, t: Any) -> Array:
        return t.cpu().numpy()  # type: ignore[no-any-return]

    def _stored(self, spec: Spec) -> Any:
        """The type that has the bits of spec."""
        if spec.kind in self._SIGNED and spec.kind not in self._known:
            raise UnsupportedError("out= and ring=: this torch has no %s: cast the field" % spec.dtype)
        return self.from_array(np.empty(0, spec.dtype), spec).dtype

    def fills(self, spec: Spec) -> bool:
        return spec.kind not in self._SIGNED or spec.kind in self._known

    def address(self, t: Any) -> int:
        return int(t.data_ptr())

    def empty(self, shape: Tuple[int, ...], spec: Spec) -> Any:
        return self.torch.empty(shape, dtype=self._stored(spec), device=self.torch_device)

    def look(self, t: Any, spec: Spec) -> Tuple[int, Tuple[int, ...], Optional[str], bool]:
        if not isinstance(t, self.torch.Tensor):
            raise TypeError("out: %s is not a torch.Tensor" % type(t).__name__)
        if t.device != self.torch_device:
            raise ValueError("out: a tensor on %s, batches are on %s" % (t.device, self.torch_device))
        kind = None if t.dtype == self._stored(spec) else str(t.dtype)
        return t.data_ptr(), tuple(t.shape), kind, t.is_contiguous() and not (t.requires_grad and t.is_leaf)


class CuPy(Framework):
    name = "cupy"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        import cupy  # type: ignore[import-not-found,unused-ignore]  # pyright: ignore[reportMissingImports]

        self.cupy = cupy

    @staticmethod
    def default_device() -> str:
        import cupy  # pyright: ignore[reportMissingImports]

        return "cuda:%d" % cupy.cuda.runtime.getDevice()

    @staticmethod
    def supports(device: str) -> None:
        if device == "host":
            raise UnsupportedError("framework='cupy' has no arrays on the host: use numpy")

    def stream(self) -> int:
        return int(self.cupy.cuda.get_current_stream().ptr)

    def prepare(self, spec: Spec) -> Any:
        # CuPy has no bf16 of its own: its bits, as with `ds.column`.
        return dlpack.describe(spec.dtype, spec.inner, self.place)

    def fills(self, spec: Spec) -> bool:
        return True

    def address(self, t: Any) -> int:
        return int(t.data.ptr)

    def empty(self, shape: Tuple[int, ...], spec: Spec) -> Any:
        with self.cupy.cuda.Device(self.number):
            return self.cupy.empty(shape, spec.dtype)

    def from_array(self, a: Array, spec: Spec) -> Any:
        with self.cupy.cuda.Device(self.number):
            return self.cupy.asarray(a)

    def from_lent(self, lease: Lease, spec: Spec, ready: Any, address: int, count: int, stream: int) -> Any:
        return self.cupy.from_dlpack(_tensor(lease, spec, ready, address, count, stream))

    def own(self, t: Any) -> Any:
        return t.copy()

    def to_host(self, t: Any) -> Array:
        return self.cupy.asnumpy(t)  # type: ignore[no-any-return]


class Jax(Framework):
    """JAX does not report which stream it computes on, and may write into what it imports. So it
    gets copies, not memory of the loader: the host waits for the batch, and for JAX's copy of it."""

    name = "jax"
    lends = False

    def __init__(self, device: str) -> None:
        super().__init__(device)
        import jax  # pyright: ignore[reportMissingImports]

        self.jax = jax

    @staticmethod
    def default_device() -> str:
        import jax  # pyright: ignore[reportMissingImports]

        d: Any = getattr(jax.config, "jax_default_device", None) or jax.local_devices()[0]  # jax types no settings
        if isinstance(d, str):  # of a platform
            d = jax.local_devices(backend=d)[0]
        number = getattr(d, "local_hardware_id", None)
        return "cuda:%d" % (d.id if number is None else number) if d.platform in ("gpu", "cuda") else "host"

    def stream(self) -> int:
        return clib.CALLER

    def from_array(self, a: Array, spec: Spec) -> Any:
        return self.jax.numpy.array(a if spec.plain else a.view(self.jax.numpy.bfloat16))

    def from_lent(self, lease: Lease, spec: Spec, ready: Any, address: int, count: int, stream: int) -> Any:
        return self.jax.dlpack.from_dlpack(_tensor(lease, spec, ready, address, count, stream))

    def own(self, t: Any) -> Any:
        return self.jax.numpy.array(t, copy=True).block_until_ready()

    def look(self, t: Any, spec: Spec) -> Tuple[int, Tuple[int, ...], Optional[str], bool]:
        raise UnsupportedError("out= and ring=: arrays of JAX are never written")

    def empty(self, shape: Tuple[int, ...], spec: Spec) -> Any:
        raise UnsupportedError("out= and ring=: arrays of JAX are never written")

    def to_host(self, t: Any) -> Array:
        return np.asarray(t)


class DLPack(Framework):
    """Tensors for consumers that this package does not know. On a GPU they are always the
    loader's memory, which grows with what is held."""

    name = "dlpack"
    grows = True

    def from_array(self, a: Array, spec: Spec) -> Any:
        return a if spec.plain else bf16_to_f32(a)

    def from_lent(self, lease: Lease, spec: Spec, ready: Any, address: int, count: int, stream: int) -> Any:
        return _tensor(lease, spec, ready, address, count, stream)

    def own(self, t: Any) -> Any:
        return np.array(np.from_dlpack(t))


def _tensor(lease: Lease, spec: Spec, ready: Any, address: int, count: int, stream: int) -> dlpack.DLTensor:
    return dlpack.DLTensor(lease, ready, address, (count,) + spec.inner, spec.kind, stream)


_ALL: Dict[str, Type[Framework]] = {f.name: f for f in (Torch, NumPy, CuPy, Jax, DLPack)}


def choose(name: str) -> Type[Framework]:
    """The class of a framework's name; "auto" is torch where it is installed."""
    if name not in NAMES:
        raise ValueError("framework=%r: want one of %s" % (name, ", ".join(NAMES)))
    if name == "auto":
        try:
            import torch  # noqa: F401
        except ImportError:
            return NumPy
        return Torch
    if name in ("torch", "cupy", "jax"):
        try:
            __import__(name)
        except ImportError as e:
            raise UnsupportedError("framework=%r: %s" % (name, e)) from None
    return _ALL[name]


def device_name(kind: Type[Framework], device: Any) -> str:
    """The library's name of a device as users write it."""
    text = "auto" if device is None else str(device)
    if text == "auto":
        text = kind.default_device()
    elif text == "cpu":
        text = "host"
    elif text == "cuda":
        there: Optional[str] = kind.default_device()
        text = there if there and there.startswith("cuda") else "cuda:0"
    if text != "host" and not (text.startswith("cuda:") and text[5:].isdigit()):
        raise ValueError("device=%r: want auto, host, cpu, cuda or cuda:N" % (device,))
    kind.supports(text)
    return text
