"""JPEG and PNG bytes of a batch become one array of pixels, decoded on threads of the library.

    images = decode.make("image", resize=256, crop=224)
    pixels = images(values, offsets, ids, epoch)  # u8 [batch, 3, 224, 224]

Loader(decode=...) does this for every batch. The library gives Pillow's pixels, to the bit; what it does not
decode goes to Pillow. On a GPU one kernel of the library makes pixels of decoded
images, with the sums that Pillow has on the host. Pixels depend on the image, the options
and, where they are random, on (seed, epoch, sample) alone: neither on threads nor on
which batch or rank a sample is in. Orientation tags and colour profiles are ignored.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import ceil
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import clib, following, near
from . import pixels as gpu
from .errors import CorruptError, ForkedError, SchemaError, ShardifyError, UnsupportedError, corrupt
from .geometry import DRAWS, MAX_PIXELS, Cut, Shaping, Size, draws
from .options import MAX_THREADS
from .pixels import Cast
from .schema import Field

Array = npt.NDArray[Any]

BACKENDS = ("auto", "native", "pillow", "torchvision", "nvjpeg", "nvimgcodec")
LAYOUTS = ("nchw", "nhwc")
COLORS = {"rgb": ("RGB", 3), "gray": ("L", 1), "index": ("", 1)}
# Those that Pillow is asked to try, as far as it has them; the last two come with packages that register them.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM", "AVIF", "JPEG2000", "HEIF", "JXL")
# Kinds that not every Pillow decodes, by their first bytes: place, bytes, Pillow's name, and what decodes them.
RARE = (
    (4, (b"ftypavif", b"ftypavis"), "AVIF", "an AVIF image, which Pillow 11.3 or later decodes"),
    (4, (b"ftypheic", b"ftypheix", b"ftyphevc", b"ftypmif1", b"ftypmsf1"), "HEIF", "a HEIC image: pip install pillow-heif, and call pillow_heif.register_heif_opener()"),
    (0, (b"\x00\x00\x00\x0cjP  ", b"\xff\x4f\xff\x51"), "JPEG2000", "a JPEG 2000 image, which a Pillow with OpenJPEG decodes"),
    (0, (b"\xff\x0a", b"\x00\x00\x00\x0cJXL "), "JXL", "a JPEG XL image: pip install pillow-jxl-plugin, and import pillow_jxl"),
)  # fmt: skip

YOURSELF = "leave out decode=, and decode in transform="

# What is wrong with the damaged images of a batch, by row. Texts, as an exception keeps the
# batch through its traceback.
Bad = Dict[int, str]


class NoImage(SchemaError):
    """A sample without the bytes of an image."""


class TooLarge(UnsupportedError):
    """More pixels than any decoder here takes, as damaged sizes ask for."""


DAMAGE = (CorruptError, NoImage, TooLarge)


@near.keywords("shardify.decode.make", near.DECODE)
def make(
    field: str,
    backend: str = "auto",
    resize: Optional[Size] = None,
    crop: Optional[Size] = None,
    *,
    random_crop: Union[bool, Tuple[float, float]] = False,
    flip: float = 0.0,
    augment: Sequence[str] = (),
    targets: Any = "",
    seed: int = 0,
    layout: str = "nchw",
    color: str = "rgb",
    threads: Optional[int] = None,
    scaled: bool = True,
    cast: Any = None,
    device: Optional[str] = None,
) -> "Decoder":
    """A function that decodes the images of a batch.

    field        name of the field, for errors
    backend      "native" (the library of Loader; what is neither JPEG nor PNG, or of a rare kind, is decoded by
                 Pillow), "pillow", "torchvision", "nvjpeg" (torchvision on a GPU), "nvimgcodec" (nvImageCodec on a
                 GPU; where it or a GPU is missing, "auto", and `note` says why), or "auto": the first of native,
                 Pillow and torchvision that is there
    resize       an int: the shorter side becomes that long; (height, width): exactly that
    crop         an int or (height, width): the middle of the resized image
    random_crop  True: any place instead of the middle; (low, high): a part of the image with that share of
                 its area and sides of 3:4 to 4:3, brought to the size of `crop` (RandomResizedCrop)
    flip         chance that an image is mirrored left to right
    augment      operations on what is shown, in this order, as `shardify convert --augment` has them:
                 ["colour-jitter,brightness=0.4", "rotate=10"] (native only; docs/guides/augment.md)
    targets      the masks, boxes and points beside the image that a Loader moves with it: the settings of
                 `shardify convert --augment targets,...`, as "mask=mask,boxes=boxes:xyxy,points=points:xyv", or a
                 dict of them (native only; docs/guides/augment.md). Default: what the attributes of the fields say
    seed         of what is random, together with the epoch and each sample's number
    layout       "nchw" or "nhwc"
    color        "rgb", "gray", or "index": [batch, height, width] of class numbers, those in grey PNG or the
                 palette's indices in a PNG with one (native only). With rgb such a PNG becomes its colours, as
                 Pillow's convert("RGB") makes them
    threads      default: the cores this process may use, at most 16
    scaled       JPEGs that become smaller are decoded at 1/2, 1/4 or 1/8 of their size (native and Pillow), never
                 below the size asked for; False decodes every pixel
    cast         "float16", "bfloat16", "float32", or (type, scale, shift) with a number or one of each channel:
                 pixels become x * scale + shift, as with Loader(cast=). Default: they stay bytes
    device       of nvjpeg and nvimgcodec: "cuda" or "cuda:N"

    Without resize and crop all images of a batch must have one size.
    """
    for name, value, known in ("backend", backend, BACKENDS), ("layout", layout, LAYOUTS), ("color", color, COLORS):
        if value not in known:
            raise ValueError("%s=%r: want one of %s" % (name, value, ", ".join(known)))
    shaping = Shaping.make(resize, crop, random_crop, flip)
    note = ""
    if backend == "nvimgcodec":
        try:
            _nvimgcodec()
        except UnsupportedError as e:
            backend = "auto"
            note = str(e)
    if backend == "auto":
        backend = "native" if os.path.exists(clib.path()) else _first_here()
    threads = threads or min(16, _cores())
    if not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise ValueError("threads=%r: want a number from 1 to %d" % (threads, MAX_THREADS))
    if isinstance(augment, str):
        raise ValueError("augment=%r: want a list of operations" % augment)
    if augment and (backend != "native" or color != "rgb"):
        raise ValueError(
            "augment=: is for backend='native' and color='rgb', which runs on the host, not %r and %r; "
            "torchvision.transforms.v2 or dm-pix in transform= runs where the batch is" % (backend, color)
        )
    targets = following.text(targets)
    if targets and (backend != "native" or not os.path.exists(clib.path())):
        raise ValueError("targets=: is for backend='native', not %r" % backend)
    if color == "index":
        _check_index(str(field), backend, shaping, cast, layout)
    to = None if cast is None else Cast.make(str(field), cast, COLORS[color][1])
    made = Decoder(str(field), backend, shaping, seed, layout, color, threads, scaled, device or "cuda", to, augment=tuple(augment), targets=targets)
    made.note = note and "%s; %s decodes on the host" % (note, backend)
    made.backend_function()  # an absent library is an error here, not at the first batch
    if augment:
        made.size_of_all(clib.load())  # and a wrong operation
        runs = "runs" if len(augment) == 1 else "run"
        made.note = "%s: %s %s on the host, in threads of the library; transform= runs where the batch is" % (field, ", ".join(augment), runs)
    return made


def _check_index(field: str, backend: str, shaping: Shaping, cast: Any, layout: str) -> None:
    if backend != "native":
        raise ValueError("color='index': is for backend='native', not %r" % backend)
    if cast is not None or layout != "nchw":
        raise ValueError("color='index': class numbers are [batch, height, width], without cast= and layout=")
    if shaping.moves:
        raise ValueError("color='index': class numbers are resized, cropped and mirrored with their image: decode the image, with targets='mask=%s'" % field)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _first_here() -> str:
    for name, module in ("pillow", "PIL.Image"), ("torchvision", "torchvision.io"):
        try:
            __import__(module)
        except ImportError:
            continue
        return name
    raise UnsupportedError("decoding images needs Pillow or torchvision: pip install pillow")


@dataclasses.dataclass
class Decoder:
    """What `make` returns; picklable, and good in a forked process."""

    field: str
    backend: str
    shaping: Shaping
    seed: int
    layout: str
    color: str
    threads: int
    scaled: bool
    device: str
    cast: Optional[Cast] = None
    augment: Tuple[str, ...] = ()
    targets: str = ""
    following: Optional[following.Following] = None  # what a loader moves with the images
    images: int = 0  # decoded so far
    seconds: float = 0.0  # that callers waited for them
    note: str = ""  # why it is not the backend that was asked for
    _pool: Optional[ThreadPoolExecutor] = dataclasses.field(default=None, repr=False, compare=False)
    _pid: int = dataclasses.field(default=0, repr=False, compare=False)
    _lock: Any = dataclasses.field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def moves(self) -> List[str]:
        """All operations, as those of --augment, if any of them changes places in the image."""
        still = ("colour-jitter",)
        ops = self.shaping.moves + list(self.augment)
        return ops if any(op.split("=")[0].split(",")[0].strip() not in still for op in ops) else []

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_pool": None, "_lock": None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __call__(
        self, values: Any, offsets: Any, ids: Any, epoch: int = 0, out: Any = None, bad: Optional[Bad] = None, moves: Any = None
    ) -> Any:
        """Pixels of all samples, u8 or what `cast` makes of them (of bf16 on the host the bits): values[offsets[k]:offsets[k+1]] is the file of sample ids[k].

        Samples with id -1 are padding and become zeros. `out` is an array to write to.
        nvjpeg and nvimgcodec return a tensor on their device, the others an array. Where `bad` is a dict, a
        damaged image becomes zeros and its error bad[k]. `moves` takes what was done to the places of each image.
        """
        start = time.perf_counter()
        values, offsets, ids = _host(values, np.uint8), _host(offsets, np.int64), _host(ids, np.int64)
        if values.ndim != 1 or len(offsets) != len(ids) + 1:
            raise ValueError("%s: %d offsets for %d samples" % (self.field, len(offsets), len(ids)))
        if (np.diff(offsets) < 0).any() or (len(offsets) and (offsets[0] < 0 or offsets[-1] > len(values))):
            raise SchemaError("%s: offsets leave the %d bytes of the batch" % (self.field, len(values)))
        batch = Encoded(self, values, offsets, ids, epoch)
        lib = self._library()
        if self.color == "index":
            pixels = self._indices(batch, out, bad)
        else:
            pixels = self.backend_function()(batch.files(), out, bad) if lib is None else self._natively(lib, batch, out, bad, moves)
        self.images += len(ids)
        self.seconds += time.perf_counter() - start
        return pixels

    def _library(self) -> Optional[clib.Library]:
        """What decodes for "native"; None for the others, and in a process that cannot use it."""
        if self.backend != "native":
            return None
        try:
            return clib.load()
        except ForkedError:
            if self.whole or self.color == "index":
                raise
            return None

    @property
    def whole(self) -> bool:
        """Whether the library shapes what Pillow decodes."""
        return bool(self.augment) or self.following is not None

    def _form(self, h: int, w: int, fields: Any = None) -> bytes:
        """images.Form of gpuload/internal/images, in JSON."""
        s, cast, known = self.shaping, self.cast, self.following
        if fields is None:
            fields = known.fields if known else ()
        form = {
            "width": w, "height": h, "channels": COLORS[self.color][1], "last": self.layout == "nhwc", "dtype": cast.kind if cast else "u8",
            "scale": cast.scale if cast else (), "shift": cast.shift if cast else (), "scaled": self.scaled,
            "resize": s.resize[::-1] if s.resize else (0, 0), "shorter": s.shorter, "crop": s.crop[::-1] if s.crop else (0, 0),
            "anywhere": s.anywhere, "area": s.area or (0, 0), "flip": s.flip, "augment": self.augment,
            "seed": self.seed & (1 << 64) - 1, "threads": self.threads,
            "image": "" if self.color == "index" else self.field, "targets": self.targets if fields else "", "fields": fields, "doubt": bool(known and known.doubt),
        }  # fmt: skip
        return json.dumps(form).encode()

    def _shape(self, n: int, h: int, w: int) -> Tuple[int, ...]:
        channels = COLORS[self.color][1]
        return (n, channels, h, w) if self.layout == "nchw" else (n, h, w, channels)

    def size_in(self, shape: Sequence[int]) -> Tuple[int, int]:
        """Height and width in the shape of a batch."""
        h, w = shape[1:3] if self.layout == "nhwc" or self.color == "index" else shape[2:4]
        return int(h), int(w)

    def _indices(self, batch: "Encoded", out: Any, bad: Optional[Bad]) -> Array:
        """Class numbers, without an image that they follow."""
        known = self.following
        if known is None:  # without a loader
            known = self.index_of(Field(self.field, "u8", levels=1, media="image"))
        columns = {self.field: following.Arrays(batch.values, [batch.offsets - batch.offsets[:1]], None)}
        if len(batch.offsets):
            columns[self.field].values = batch.values[batch.offsets[0] : batch.offsets[-1]]
        size = batch.size(_no_class_numbers, bad)
        moves = np.zeros((len(batch.ids), known.numbers))
        pixels = known.moved(dataclasses.replace(self, following=known, targets=""), columns, batch.ids, moves, size, bad)[self.field].mask
        assert pixels is not None
        if out is None:
            return pixels
        out[...] = pixels
        return out  # type: ignore[no-any-return]

    def index_of(self, f: Field) -> following.Following:
        """What the library has to know to decode class numbers."""
        made = dataclasses.replace(self, targets=self.targets or "mask=" + self.field)
        known = following.Following.ask(made, [dataclasses.replace(f, attrs={})])
        marked = dict(known.fields[0], attrs={"mask": "classes", **({"mask.dtype": "u16"} if known.kinds[self.field][1] == "u16" else {})})
        return dataclasses.replace(known, fields=(marked,))

    def form_of(self, n: int) -> Optional[Tuple[Tuple[int, ...], str]]:
        """Shape and type of n images, None where the size is that of the first one."""
        lib = self._library()
        size = None if lib is None or self.color == "index" else self.size_of_all(lib)
        return None if size is None else (self._shape(n, *size), self.cast.kind if self.cast else "u8")

    def size_of_all(self, lib: clib.Library) -> Optional[Tuple[int, int]]:
        """Height and width of every image, None where they are those of the first image."""
        if not self.augment:
            return self.shaping.size
        form, size = self._form(0, 0), np.zeros(2, np.int64)
        lib.call(lib.image_size, form, len(form), size.ctypes.data)
        if not size.all():
            raise ValueError("augment=: the images would have many sizes: give crop=SIZE, resize=(HEIGHT, WIDTH) or an operation with a size")
        return int(size[1]), int(size[0])

    def _natively(self, lib: clib.Library, batch: "Encoded", out: Any, bad: Optional[Bad], moves: Any = None) -> Array:
        """One call decodes all; what it leaves goes to Pillow, one by one."""
        one = self._fallback()
        ids, many = batch.ids, len(batch.ids)
        h, w = self.size_of_all(lib) or batch.size(one, bad)
        shape, kind = self._shape(many, h, w), self.cast.kind if self.cast else "u8"
        dtype = {"u8": np.uint8, "f16": np.float16, "bf16": np.uint16, "f32": np.float32}[kind]
        if out is None:
            out = np.empty(shape, dtype)
        elif out.shape != shape or out.dtype != dtype:
            raise ValueError("out is %s %s, the images are %s %s" % (out.dtype, out.shape, np.dtype(dtype), shape))
        made: Array = out if out.flags.carray else np.empty(shape, dtype)
        if bad:  # those that are known already
            ids = ids.copy()
            ids[list(bad)] = -1
        form = self._form(h, w)

        def fill(values: Array, offsets: Array, ids: Array, to: Array, moves: Any) -> Any:
            values, offsets, ids = np.ascontiguousarray(values), np.ascontiguousarray(offsets), np.ascontiguousarray(ids)
            at = values.ctypes.data, values.nbytes, offsets.ctypes.data, ids.ctypes.data, len(ids), to.ctypes.data, to.nbytes
            at += (None, 0) if moves is None else (moves.ctypes.data, moves.size)
            return lib.ask(lib.decode, form, len(form), batch.epoch, *at) or ()

        for x in fill(batch.values, batch.offsets, ids, made, moves):
            f, row = batch.file(x["row"]), made[x["row"]][None]
            if x["refused"]:
                raise f.refused(following.words(x["why"]))
            do = partial(_damaged, offset=x["offset"]) if x["corrupt"] else one
            pixels = _sound(partial(do, why=x["why"]), bad, f)
            if pixels is None:
                continue
            if self.whole:
                f.cut(self.shaping, pixels.shape[1], pixels.shape[0])
                ppm = np.frombuffer(b"P6 %d %d 255\n" % pixels.shape[1::-1] + pixels.tobytes(), np.uint8)
                for y in fill(ppm, np.array([0, len(ppm)]), ids[f.row : f.row + 1], row, None if moves is None else moves[f.row : f.row + 1]):
                    raise f.refused(y["why"])
                continue
            if pixels.shape[:2] != (h, w):
                raise f.differs(pixels.shape[:2], (h, w), batch.first)
            pixels = pixels[None] if self.layout == "nhwc" else pixels.transpose(2, 0, 1)[None]
            row[...] = pixels if self.cast is None else self.cast.of(pixels, self.layout == "nhwc", ())
        if made is not out:
            out[...] = made
        return out  # type: ignore[no-any-return]

    def _fallback(self) -> Callable[..., Array]:
        """Pillow, and where it is not installed an error for what the library leaves. Where the library is
        to augment them, images are whole."""
        whole = dataclasses.replace(self, shaping=Shaping.make(None, None, False, 0.0), scaled=False, color="rgb") if self.whole else self
        try:
            pillow = _pillow(whole)
        except UnsupportedError:

            def none(f: File, why: str) -> Array:
                f.probe()
                raise f.refused("%s: decoding it needs Pillow: pip install pillow" % why)

            return none
        return lambda f, why: pillow(f)

    def backend_function(self) -> Callable[[List["File"], Any, Optional[Bad]], Any]:
        if self.backend == "nvjpeg":
            return partial(self._on_device, *_by_nvjpeg(self))
        if self.backend == "nvimgcodec":
            return partial(self._on_device, *_by_nvimgcodec(self))
        if self.backend == "native" and not os.path.exists(clib.path()):
            raise UnsupportedError("decode='native' needs the library of shardify.Loader, and %s is not there" % clib.path())
        if self.backend == "native":
            return partial(self._on_host, partial(self._fallback(), why="this process was forked from one that had used the library"))
        return partial(self._on_host, _pillow(self) if self.backend == "pillow" else _torchvision(self))

    def _on_host(self, decode: Callable[["File"], Array], files: List["File"], out: Any, bad: Optional[Bad]) -> Any:
        if self.cast is None:
            return self._on_threads(decode, files, out, bad)
        pixels = self._on_threads(decode, files, None, bad)
        cast = self.cast.of(pixels, self.layout == "nhwc", [f.row for f in files if f.sample < 0 or bad and f.row in bad])
        if out is None:
            return cast
        if out.shape != cast.shape or out.dtype != cast.dtype:
            raise ValueError("out is %s %s, the images are %s %s" % (out.dtype, out.shape, cast.dtype, cast.shape))
        out[...] = cast
        return out

    def _on_threads(self, decode: Callable[["File"], Array], files: List["File"], out: Any, bad: Optional[Bad]) -> Any:
        """`decode` gives pixels [height, width, channels]; the size is that of the first image."""
        one = partial(_sound, decode, bad)
        there = [k for k, f in enumerate(files) if f.sample >= 0]
        channels = COLORS[self.color][1]
        size = self.shaping.size
        first: Optional[Array] = None
        while size is None and there:
            first = one(files[there[0]])
            if first is None:
                there = there[1:]
            else:
                size = first.shape[:2]
        h, w = size or (0, 0)
        shape = (len(files), channels, h, w) if self.layout == "nchw" else (len(files), h, w, channels)
        if out is None:
            out = np.empty(shape, np.uint8)
        elif out.shape != shape or out.dtype != np.uint8:
            raise ValueError("out is %s %s, the images are uint8 %s" % (out.dtype, out.shape, shape))
        rows = out.transpose(0, 2, 3, 1) if self.layout == "nchw" else out

        def some(part: Sequence[int]) -> None:
            for k in part:
                pixels = first if first is not None and k == there[0] else one(files[k])
                if pixels is None:
                    rows[k] = 0
                    continue
                if pixels.shape[:2] != (h, w):
                    raise files[k].differs(pixels.shape[:2], (h, w), files[there[0]].sample)
                rows[k] = pixels

        for k, f in enumerate(files):
            if f.sample < 0 or bad and k in bad:
                rows[k] = 0
        step = max(1, ceil(len(there) / (4 * self.threads)))
        parts = [there[i : i + step] for i in range(0, len(there), step)]
        if self.threads == 1 or len(parts) < 2:
            some(there)
        else:
            for _ in self._threads().map(some, parts):
                pass
        return out

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None or self._pid != os.getpid():  # threads do not survive a fork
                self._pool = ThreadPoolExecutor(self.threads, "shardify-decode")
                self._pid = os.getpid()
            return self._pool

    def _on_device(
        self, jpegs: "OnGPU", whole: Callable[["File"], Any], shaped: Callable[["File"], Any], files: List["File"], out: Any, bad: Optional[Bad]
    ) -> Any:
        """The GPU decodes JPEGs, in one call for all; the host decodes other files, and those that the GPU
        cannot. One launch converts all of them to pixels."""
        there = [f for f in files if f.sample >= 0]
        kinds = {f.row: _sound(File.probe, bad, f) for f in there}
        some = [f for f in there if (kinds[f.row] or ("",))[0] == "jpeg"]
        decoded = dict(zip([f.row for f in some], jpegs(some, bad) if some else ()))
        there = [f for f in there if not bad or f.row not in bad]
        shown: List[Optional[gpu.Shown]] = [None] * len(files)
        size: Optional[Tuple[int, int]] = None
        for f in there:
            image = decoded.get(f.row)
            if image is None:
                image = _sound(lambda f: f.guarded(partial(whole, f)), bad, f)
                if image is None:
                    continue
                image = image.to(self.device)
            cut = f.cut(self.shaping, int(image.shape[2]), int(image.shape[1]))
            size = size or cut.out
            if cut.out != size:
                raise f.differs(cut.out[::-1], size[::-1], there[0].sample)
            if not gpu.fits(cut):
                image = f.guarded(partial(shaped, f)).to(self.device)
                cut = Cut(size, (0, 0) + size, size, (0, 0), size, False)
            shown[f.row] = image, cut
        height, width = (size[1], size[0]) if size else self.shaping.size or (0, 0)
        shape = COLORS[self.color][1], height, width
        pixels = gpu.paint(shown, shape, self.layout == "nhwc", self.cast, self.device)
        if out is None:
            return pixels
        out.copy_(pixels)
        return out


class Encoded:
    """The images of a batch, as bytes."""

    def __init__(self, decoder: Decoder, values: Array, offsets: Array, ids: Array, epoch: int) -> None:
        self.decoder, self.values, self.offsets, self.ids, self.epoch = decoder, values, offsets, ids, epoch
        self.first = -1  # the sample that gives the size

    def file(self, k: int) -> "File":
        return self.files([k])[0]

    def files(self, rows: Optional[Sequence[int]] = None) -> List["File"]:
        """Those of some rows, or all."""
        d, ids = self.decoder, self.ids if rows is None else self.ids[rows]
        chance = draws(d.seed, self.epoch, ids) if d.shaping.random else np.zeros((len(ids), DRAWS))
        where = range(len(ids)) if rows is None else rows
        return [
            File(d.field, self.values[self.offsets[k] : self.offsets[k + 1]], sample, u, k)
            for k, sample, u in zip(where, ids.tolist(), chance)
        ]

    def size(self, one: Callable[..., Array], bad: Optional[Bad]) -> Tuple[int, int]:
        """Height and width, those of the first image."""
        for f in self.files():
            size = _sound(partial(self._size, one), bad, f) if f.sample >= 0 else None
            if size is not None:
                self.first = f.sample
                return size  # type: ignore[no-any-return]
        return 0, 0

    def _size(self, one: Callable[..., Array], f: "File") -> Tuple[int, int]:
        kind, width, height = f.probe(self.decoder.color == "index")
        if kind:
            width, height = f.cut(self.decoder.shaping, width, height).out
            return height, width
        shape: Tuple[int, ...] = one(f, why="neither JPEG nor PNG").shape
        if self.decoder.whole:
            return f.cut(self.decoder.shaping, shape[1], shape[0]).out[::-1]
        return shape[0], shape[1]


def _no_class_numbers(f: "File", why: str) -> Array:
    raise SchemaError("%s: sample %d: no PNG: class numbers are read of grey or palette PNG" % (f.field, f.sample))


def _damaged(f: "File", why: str, offset: int) -> Array:
    f.probe()  # which knows more of some files: too large, say
    raise corrupt(f.field, why, sample=f.sample, offset=offset if offset >= 0 else None)


# What decodes JPEGs on a GPU, None for those that it leaves to the host.
OnGPU = Callable[[List["File"], Optional[Bad]], List[Any]]


def _sound(decode: Callable[["File"], Any], bad: Optional[Bad], f: "File") -> Any:
    """What `decode` makes of an image, None for a damaged one where `bad` takes its error."""
    try:
        return decode(f)
    except DAMAGE as e:
        if bad is None:
            raise
        bad[f.row] = str(e)
        return None


@dataclasses.dataclass
class File:
    """The bytes of one sample's image."""

    field: str
    data: Array
    sample: int
    chance: Array
    row: int

    def differs(self, size: Sequence[int], want: Sequence[int], other: int) -> SchemaError:
        return SchemaError(
            "%s: sample %d is %dx%d, sample %d is %dx%d (height x width): give resize=(HEIGHT, WIDTH) or crop=SIZE"
            % (self.field, self.sample, size[0], size[1], other, want[0], want[1])
        )

    def bound(self, width: int, height: int) -> None:
        if width * height > MAX_PIXELS:
            why = "%d x %d pixels: more than %d" % (width, height, MAX_PIXELS)
            raise TooLarge("%s: sample %d: %s" % (self.field, self.sample, why))

    def refused(self, why: str) -> UnsupportedError:
        return UnsupportedError("%s: sample %d: %s" % (self.field, self.sample, why))

    def guarded(self, decode: Callable[[], Any]) -> Any:
        """Errors of an image library say neither field nor sample."""
        try:
            return decode()
        except (ShardifyError, MemoryError):
            raise
        except Exception as e:
            raise corrupt(self.field, str(e) or type(e).__name__, sample=self.sample) from e

    def cut(self, shaping: Shaping, width: int, height: int) -> Cut:
        if width < 1 or height < 1:
            raise corrupt(self.field, "an image of %dx%d" % (height, width), sample=self.sample)
        try:
            return shaping.cut(width, height, self.chance)
        except SchemaError as e:
            raise SchemaError("%s: sample %d: %s" % (self.field, self.sample, e)) from None

    def probe(self, deep: bool = False) -> Tuple[str, int, int]:
        """Format, width and height; refuses what no decoder here shows rightly."""
        if len(self.data) == 0:
            raise NoImage("%s: sample %d has no image" % (self.field, self.sample))
        kind, width, height, bits = _header(self.data)
        self.bound(width, height)
        if bits > 8 and not deep:
            ways = ""
            if kind == "png":
                ways = "shardify convert --augment decode=u8,bits16=upper keeps the upper 8 bits; "
                if self.data[25:26].tolist() == [0]:  # grey
                    ways = "shardify convert --augment decode=u16 makes u16 pixels, and " + ways[len("shardify convert ") :]
            raise self.refused("%d bits a channel, and pixels of a batch have 8: %s%s" % (bits, ways, YOURSELF))
        return kind, width, height


def _host(a: Any, dtype: Any) -> Array:
    """Numbers of whatever holds them, on the host."""
    if hasattr(a, "detach"):
        a = a.detach().cpu().numpy()
    elif isinstance(a, (bytes, bytearray, memoryview)):
        a = np.frombuffer(a, np.uint8)
    array: Array = np.asarray(a)
    if dtype is not np.uint8:
        return array.astype(dtype, copy=False)
    if array.dtype.itemsize != 1:
        raise SchemaError("values of an image are bytes, these are %s" % array.dtype)
    return array.view(np.uint8)


def _header(data: Array) -> Tuple[str, int, int, int]:
    """Format, width, height and bits a channel, as far as the first bytes show; zeros otherwise."""
    head = bytes(data[:32])
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 25:
        return "png", int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big"), head[24]
    if head[:2] != b"\xff\xd8":
        return "", 0, 0, 0
    at, end = 2, len(data)
    while at + 9 < end:
        if data[at] != 0xFF:
            break
        marker = int(data[at + 1])
        if marker == 0xFF:  # padding
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            bits, h1, h0, w1, w0 = (int(b) for b in data[at + 4 : at + 9])
            return "jpeg", w1 << 8 | w0, h1 << 8 | h0, bits
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # without a length
            at += 2
        else:
            at += 2 + (int(data[at + 2]) << 8 | int(data[at + 3]))
    return "jpeg", 0, 0, 0


def _rare(data: Array) -> Optional[Tuple[str, str]]:
    """Pillow's name for a kind that it may lack, and what decodes it."""
    head = bytes(data[:16])
    for at, begins, name, what in RARE:
        if head[at:].startswith(begins):
            return name, what
    return None


def _deep(image: Any) -> bool:
    """Whether Pillow makes 8 bits a channel of more: of colours in TIFF and PPM."""
    for tile in getattr(image, "tile", ()):
        args = tile[3] if isinstance(tile[3], tuple) else (tile[3],)
        if any(isinstance(a, str) and ";16" in a for a in args) or tile[0] == "ppm" and any(isinstance(a, int) and a > 255 for a in args):
            return True
    return False


def _rows_first(pillow: Any) -> Callable[..., Any]:
    """Pillow's bilinear resize, rows before columns. From 12.2 on Pillow begins with columns where that is
    less work, which rounds otherwise: two calls give what its older versions give in one."""
    bilinear = getattr(getattr(pillow, "Resampling", pillow), "BILINEAR")
    version = tuple(int(x) for x in pillow.__version__.split(".")[:2])

    def resized(image: Any, out: Tuple[int, int], box: Tuple[float, float, float, float]) -> Any:
        if version >= (12, 2):
            image = image.resize((out[0], image.height), bilinear, (box[0], 0, box[2], image.height))
            box = (0, box[1], out[0], box[3])
        return image.resize(out, bilinear, box)

    return resized


def _pillow(d: Decoder) -> Callable[[File], Array]:
    try:
        from PIL import Image
    except ImportError:
        raise UnsupportedError("decode='pillow' needs Pillow: pip install pillow") from None
    Image.init()
    known = tuple(name for name in FORMATS if name in Image.OPEN)
    mode, channels = COLORS[d.color]
    resized = _rows_first(Image)

    def decode(f: File) -> Array:
        f.probe()
        rare = _rare(f.data)
        if rare is not None and rare[0] not in Image.OPEN:
            raise f.refused("%s; this Pillow does not" % rare[1] if "which" in rare[1] else rare[1])
        with Image.open(io.BytesIO(f.data.data), formats=known) as image:
            width, height = image.size
            f.bound(width, height)
            if image.mode[0] in "IF" or _deep(image):
                raise f.refused("%s with more than 8 bits a channel, and pixels of a batch have 8: %s" % (image.format, YOURSELF))
            cut = f.cut(d.shaping, width, height)
            by = 1.0
            if image.format in ("JPEG", "MPO") and (d.scaled and cut.smaller or mode == "L"):
                # libjpeg leaves out the frequencies that a smaller image does not show.
                least = (width, height) if not d.scaled else cut.least(width, height)
                drafted = image.draft("L" if mode == "L" else None, least)
                if drafted is not None:
                    by = width / drafted[1][2]
            shown = image if image.mode == mode else image.convert(mode)
            if not cut.whole:
                box = cut.box(by, shown.size)
                exact = by == 1 and cut.same_scale
                shown = shown.crop((round(box[0]), round(box[1]), round(box[2]), round(box[3]))) if exact else resized(shown, cut.out, box)
            pixels = np.asarray(shown).reshape(shown.size[1], shown.size[0], channels)
        return pixels[:, ::-1] if cut.mirrored else pixels

    return lambda f: f.guarded(partial(decode, f))


def _torchvision(d: Decoder) -> Callable[[File], Array]:
    try:
        from torchvision.io import decode_image
    except (ImportError, OSError) as e:
        raise UnsupportedError("decode='torchvision' needs torchvision: %s" % e) from None
    mode = _mode(d)

    def decode(f: File) -> Array:
        f.probe()
        image = _shape_tensor(decode_image(_tensor(f.data), mode), d.shaping, f)
        pixels: Array = image.permute(1, 2, 0).numpy()
        return pixels

    return lambda f: f.guarded(partial(decode, f))


def _mode(d: Decoder) -> Any:
    from torchvision.io import ImageReadMode

    return ImageReadMode.RGB if d.color == "rgb" else ImageReadMode.GRAY


def _tensor(data: Array) -> Any:
    import torch

    return torch.from_numpy(data if data.flags.writeable else data.copy())


def _shape_tensor(image: Any, shaping: Shaping, f: File) -> Any:
    """The image [channels, height, width] cut, resized and mirrored."""
    from torchvision.transforms.functional import resize

    cut = f.cut(shaping, int(image.shape[2]), int(image.shape[1]))
    if not cut.whole:
        x, y, w, h = cut.part
        image = image[:, y : y + h, x : x + w]
        if not cut.same_scale:
            image = resize(image, [cut.resized[1], cut.resized[0]], antialias=True)
        (x, y), (w, h) = cut.at, cut.out
        image = image[:, y : y + h, x : x + w]
    return image.flip(2) if cut.mirrored else image


# What a GPU's decoder is: JPEGs there; a whole image by the host, and one as it is shown.
Ways = Tuple[OnGPU, Callable[[File], Any], Callable[[File], Any]]


def _by_host(d: Decoder) -> Tuple[Callable[[File], Any], Callable[[File], Any]]:
    """Every pixel, as a tensor: the GPU cuts and resizes."""
    import torch

    def tensors(of: Shaping) -> Callable[[File], Any]:
        plain = dataclasses.replace(d, backend=_first_here(), shaping=of, scaled=False)
        one = _pillow(plain) if plain.backend == "pillow" else _torchvision(plain)
        return lambda f: torch.from_numpy(one(f).copy()).permute(2, 0, 1)

    return tensors(Shaping.make(None, None, False, 0.0)), tensors(d.shaping)


def _by_nvjpeg(d: Decoder) -> Ways:
    decode_jpeg = _nvjpeg()
    return (partial(_decode_jpegs, decode_jpeg, _mode(d), d.device),) + _by_host(d)


def _nvjpeg() -> Any:
    try:
        import torch
        from torchvision.io import decode_jpeg
    except (ImportError, OSError) as e:
        raise UnsupportedError("decode='nvjpeg' needs torch and torchvision: %s" % e) from None
    if not torch.cuda.is_available():
        raise UnsupportedError("decode='nvjpeg' needs a GPU that torch can use: torch.cuda.is_available() is false")
    if not any(hasattr(torch.ops.image, name) for name in ("decode_jpegs_cuda", "decode_jpeg_cuda")):
        raise UnsupportedError("decode='nvjpeg': this torchvision was built without nvJPEG")
    gpu.available()
    return decode_jpeg


def _decode_jpegs(decode_jpeg: Any, mode: Any, device: str, files: List[File], bad: Optional[Bad]) -> List[Any]:
    try:  # torchvision 0.19 and later take a list
        return list(decode_jpeg([_tensor(f.data) for f in files], mode, device=device))
    except (TypeError, RuntimeError):  # one by one, which also finds the damaged one
        return [_sound(lambda f: f.guarded(partial(decode_jpeg, _tensor(f.data), mode, device=device)), bad, f) for f in files]


def _nvimgcodec() -> Any:
    try:
        import torch
        from nvidia import nvimgcodec  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except (ImportError, OSError) as e:
        raise UnsupportedError("decode='nvimgcodec' needs torch and nvImageCodec (pip install nvidia-nvimgcodec-cu12[nvjpeg], or -cu13 where CUDA is): %s" % e) from None
    if not torch.cuda.is_available():
        raise UnsupportedError("decode='nvimgcodec' needs a GPU that torch can use: torch.cuda.is_available() is false")
    gpu.available()
    return nvimgcodec


class _Codecs(threading.local):
    """nvImageCodec's decoders of a thread, by process, GPU and threads."""

    def __init__(self) -> None:
        self.made: Dict[Tuple[int, int, int], Any] = {}


_codecs = _Codecs()


def _by_nvimgcodec(d: Decoder) -> Ways:
    codec = _nvimgcodec()
    import torch
    from torch.utils.dlpack import from_dlpack

    color = codec.ColorSpec.SRGB if d.color == "rgb" else codec.ColorSpec.GRAY
    params = codec.DecodeParams(apply_exif_orientation=False, color_spec=color)
    place = torch.device(d.device)

    def jpegs(files: List[File], bad: Optional[Bad]) -> List[Any]:
        number, stream = -1, 0  # nvImageCodec's for the current GPU
        if place.type == "cuda":
            number, stream = gpu.place(place)
        key = os.getpid(), number, d.threads
        if key not in _codecs.made:
            # Colours are spread between pixels, as the host's decoders do it.
            _codecs.made[key] = codec.Decoder(device_id=number, max_num_cpu_threads=d.threads, options=":fancy_upsampling=1")
        streams, rows = [], []
        for k, f in enumerate(files):
            try:
                streams.append(codec.CodeStream(f.data))
                rows.append(k)
            except Exception:  # of whatever kind: the host says what is wrong
                pass
        out: List[Any] = [None] * len(files)
        for k, image in zip(rows, _codecs.made[key].decode(streams, params=params, cuda_stream=stream) if streams else ()):
            if image is not None:
                pixels = from_dlpack(image)
                out[k] = (pixels if pixels.ndim == 3 else pixels[..., None]).permute(2, 0, 1)
        if len(rows) > 1 and all(image is None for image in out):
            warnings.warn(
                "decode='nvimgcodec': none of the %d JPEGs of a batch is decoded by the GPU, but by the host; "
                "nvImageCodec needs nvJPEG: pip install nvidia-nvjpeg-cu12, or -cu13" % len(rows),
                stacklevel=2,
            )
        return out

    return (jpegs,) + _by_host(d)
