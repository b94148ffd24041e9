"""TensorFlow: tf.data and TensorFlow Datasets read exports of twelve kinds of sets; shardify reads what these two write.

python3 peer_tensorflow.py WORK     SHARDIFY names the program; ROUNDS the random files
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any, Callable, Dict, List

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", NO_GCE_CHECK="true")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tensorflow_datasets as tfds  # noqa: E402
import twelve  # noqa: E402
from expect import main, tables  # noqa: E402
from twelve import Set, compare, convert, export, samples, shards  # noqa: E402

WORK = os.path.join(sys.argv[1] if len(sys.argv) > 1 else ".", "scratch", "tensorflow")
SEED = int(os.environ.get("SEED", "1"))
IN_ORDER = tfds.ReadConfig(interleave_cycle_length=1)

Rows = List[Dict[str, Any]]


def like(want: Any, got: List[Any]) -> Any:
    """The list of a feature in the form of a value: an Example has no shapes, and no bool."""
    if isinstance(want, list):
        if want and isinstance(want[0], list):
            n = len(want[0])
            return [like(want[0], got[i : i + n]) for i in range(0, len(got), n)]
        first = want[0] if want else None
        return [one(first, v) for v in got]
    assert len(got) == 1, (want, got)
    return one(want, got[0])


def one(want: Any, v: Any) -> Any:
    if isinstance(want, bool):
        return bool(v)
    return v.decode() if isinstance(want, str) else v


def parsed(s: Set, files: List[str], names: List[str]) -> Rows:
    rows: Rows = []
    for raw in tf.data.TFRecordDataset(files):
        e = tf.train.Example.FromString(raw.numpy()).features.feature
        row: Dict[str, Any] = {}
        for name in names:
            want = s.values[name][len(rows)]
            kind = e[name].WhichOneof("kind") if name in e else None
            row[name] = None if kind is None else like(want, list(getattr(e[name], kind).value))
        rows.append(row)
    return rows


def data() -> str:
    total = 0
    for s in SETS:
        names = s.fields("tfrecord")
        total += compare(s, parsed(s, shards(export(s, WORK, "tfrecord"), "tfrecord"), names), names, "tf.data")
    return "%d values of %d sets" % (total, len(SETS))


def member(x: Any, name: str) -> Any:
    """A feature of a sample of TensorFlow Datasets: names with a / are dictionaries there."""
    for part in name.split("/"):
        x = x[part]
    return x


def value(want: Any, v: Any) -> Any:
    if hasattr(v, "dtype") and v.dtype == tf.bfloat16.as_numpy_dtype:
        v = np.asarray(v, np.float32)
    v = twelve.plain(v)
    if isinstance(want, list):
        return [value(want[0] if want else "", x) for x in v]
    return v.decode() if isinstance(want, str) and isinstance(v, bytes) else v


def described(s: Set, kind: str) -> int:
    """builder_from_directory: types, names of classes, values, images decoded."""
    folder = export(s, WORK, kind)
    b = tfds.builder_from_directory(folder)
    names = s.fields(kind)
    for n, classes in s.labels.items():
        assert b.info.features[n].names == classes, (n, b.info.features[n].names)
    pictures = [n for n in names if n == "png"]
    skip = {n: tfds.decode.SkipDecoding() for n in pictures}
    read = (
        b.as_data_source(split="train", decoders=skip)
        if kind == "arrayrecord"
        else tfds.as_numpy(b.as_dataset(split="train", shuffle_files=False, read_config=IN_ORDER, decoders=skip))
    )
    rows = [{n: value(s.values[n][i], member(x, n)) for n in names} for i, x in enumerate(read)]
    for n in pictures:
        first = next(iter(tfds.as_numpy(b.as_dataset(split="train"))))[n] if kind == "tfrecord" else b.as_data_source(split="train")[0][n]
        assert first.ndim == 3 and first.shape[2] == 3, first.shape
    assert b.info.splits["train"].num_examples == len(rows)
    return compare(s, rows, names, "TensorFlow Datasets")


def builders(kind: str) -> Callable[[], str]:
    def check() -> str:
        sets = [s for s in SETS if s.name != "missing"]  # a record without a feature is an error there
        total = sum(described(s, kind) for s in sets)
        return "%s: %d values, and classes, of %d sets" % (kind, total, len(sets))

    return check


def splits() -> str:
    s = next(s for s in SETS if s.name == "classes")
    b = tfds.builder_from_directory(export(s, WORK, "tfrecord", "--split", "train=rest,val=10,test=5"))
    counts = {k: v.num_examples for k, v in b.info.splits.items()}
    assert counts == {"train": twelve.ROWS - 15, "val": 10, "test": 5}, counts
    have = sorted(repr(float(x["w"])) for k in counts for x in tfds.as_numpy(b.as_dataset(split=k)))
    assert have == sorted(repr(v) for v in s.values["w"])
    return "three splits"


FEATURES = {
    "image": tfds.features.Image(shape=(None, None, 3), encoding_format="png"),
    "jpeg": tfds.features.Image(shape=(6, 5, 3), encoding_format="jpeg"),
    "label": tfds.features.ClassLabel(names=["cat", "dog", "emu"]),
    "text": tfds.features.Text(),
    "u8": tfds.features.Tensor(shape=(3,), dtype=np.uint8),
    "flag": tfds.features.Scalar(dtype=np.bool_),
    "big": tfds.features.Scalar(dtype=np.uint64),
    "half": tfds.features.Tensor(shape=(2,), dtype=np.float16),
    "packed": tfds.features.Tensor(shape=(4, 2), dtype=np.float64, encoding=tfds.features.Encoding.ZLIB),
    "rows": tfds.features.Tensor(shape=(None, 2), dtype=np.int32),
    "box": tfds.features.BBoxFeature(),
    "list": tfds.features.Sequence(tfds.features.Text()),
    "objects": tfds.features.Sequence({"box": tfds.features.BBoxFeature(), "kind": tfds.features.ClassLabel(names=["a", "b"])}),
    "nested": {"a": {"b": np.int64}},
}
STEPS = {
    "observation": {
        "state": tfds.features.Tensor(shape=(4,), dtype=np.float32),
        "image": tfds.features.Image(shape=(4, 5, 3), encoding_format="png"),
        "goal": tfds.features.Text(),
    },
    "action": tfds.features.Tensor(shape=(2,), dtype=np.float32),
    "reward": np.float32,
    "discount": np.float32,
    "is_first": np.bool_,
    "is_last": np.bool_,
    "is_terminal": np.bool_,
}


def sample(r: np.random.Generator, i: int) -> Dict[str, Any]:
    n = int(r.integers(0, 4))
    box = lambda: np.sort(r.random(4).astype(np.float32)[:4])[[0, 1, 2, 3]]  # noqa: E731
    return {
        "image": r.integers(0, 256, (int(r.integers(1, 9)), 7, 3), np.uint8),
        "jpeg": r.integers(0, 256, (6, 5, 3), np.uint8),
        "label": int(r.integers(0, 3)),
        "text": "ü" * (i % 3),
        "u8": r.integers(0, 256, 3, np.uint8),
        "flag": bool(i % 2),
        "big": np.uint64(2**64 - 1 - i),
        "half": r.normal(size=2).astype(np.float16),
        "packed": r.normal(size=(4, 2)),
        "rows": r.integers(-9, 9, (n, 2), np.int32),
        "box": tfds.features.BBox(*box()),
        "list": ["x" * k for k in range(n)],
        "objects": [{"box": tfds.features.BBox(*box()), "kind": int(r.integers(0, 2))} for _ in range(n)],
        "nested": {"a": {"b": i}},
    }


def episode(r: np.random.Generator, i: int) -> Dict[str, Any]:
    n = int(r.integers(1, 6))
    step = lambda k: {  # noqa: E731
        "observation": {"state": r.normal(size=4).astype(np.float32), "image": r.integers(0, 256, (4, 5, 3), np.uint8), "goal": "g%d" % k},
        "action": r.normal(size=2).astype(np.float32),
        "reward": np.float32(k),
        "discount": np.float32(1),
        "is_first": k == 0,
        "is_last": k == n - 1,
        "is_terminal": False,
    }
    return {"steps": [step(k) for k in range(n)], "episode_metadata": {"file_path": "e%d" % i}}


def stored(name: str, features: Any, rows: Rows) -> str:
    """A folder that TensorFlow Datasets write: two splits."""
    top = os.path.join(WORK, "tfds")
    split = {"train": list(enumerate(rows[:-3])), "val": list(enumerate(rows[-3:]))}
    b = tfds.dataset_builders.store_as_tfds_dataset(name, "1.0.0", tfds.features.FeaturesDict(features), split, data_dir=top, disable_shuffling=True)
    return str(b.data_dir)


def leaves(x: Any, at: str, to: Dict[str, Any]) -> Dict[str, Any]:
    if isinstance(x, dict):
        for k, v in x.items():
            leaves(v, at + "/" + k if at else k, to)
    else:
        to[at] = x
    return to


def written(name: str, features: Any, make: Callable[[np.random.Generator, int], Dict[str, Any]], raw: List[str]) -> Callable[[], str]:
    """What TensorFlow Datasets have written: shardify has its values. Images in `raw` are compared as files."""

    def check() -> str:
        r = np.random.default_rng(3)
        folder = stored(name, features, [make(r, i) for i in range(23)])
        out = convert(folder, os.path.join(WORK, name + "-set"), "--format", "mmap", "--split-from", "objects")
        b = tfds.builder_from_directory(folder)
        skip: Dict[str, Any] = {}
        for n in raw:
            at = skip
            for part in n.split("/")[:-1]:
                at = at.setdefault(part, {})
            at[n.split("/")[-1]] = tfds.decode.SkipDecoding()
        total = 0
        for split in ("train", "val"):
            ours = samples(os.path.join(out, split))
            read = b.as_dataset(split=split, shuffle_files=False, read_config=IN_ORDER, decoders=skip)
            n = 0
            for x, got in zip(read, ours):
                have = dict(got)
                for k, v in leaves(whole(x), "", {}).items():
                    g = have.pop(k)
                    assert same(g, v), (split, n, k, g, v)
                    total += 1
                assert not have, sorted(have)
                n += 1
            assert n == len(ours) == b.info.splits[split].num_examples, (split, n, len(ours))
        return "%s: %d values as TensorFlow Datasets read them" % (name, total)

    return check


def steps() -> str:
    """Steps as samples, each with what its episode has once, are those of all episodes one after the other."""
    folder = stored("steps", EPISODES, [episode(np.random.default_rng([4, i]), i) for i in range(19)])
    out = convert(folder, os.path.join(WORK, "steps-set"), "--format", "mmap", "--split-from", "objects", "--sample", "step")
    b = tfds.builder_from_directory(folder)
    skip = {"steps": {"observation": {"image": tfds.decode.SkipDecoding()}}}
    total = 0
    for split in ("train", "val"):
        ours = samples(os.path.join(out, split))
        n = 0
        for x in b.as_dataset(split=split, shuffle_files=False, read_config=IN_ORDER, decoders=skip):
            once = whole(x["episode_metadata"])
            for step in x["steps"]:
                want = leaves({"steps": whole(step), "episode_metadata": once}, "", {})
                assert sorted(want) == sorted(ours[n]), (sorted(want), sorted(ours[n]))
                for k, v in want.items():
                    assert same(ours[n][k], v), (split, n, k, ours[n][k], v)
                    total += 1
                n += 1
        assert n == len(ours), (split, n, len(ours))
    return "%d values of steps as TensorFlow Datasets read them" % total


def whole(x: Any) -> Any:
    """A sample with the steps of an episode as arrays."""
    if isinstance(x, tf.data.Dataset):
        rows = list(x)
        keys = leaves(tf.nest.map_structure(lambda v: 0, rows[0]), "", {}) if rows else {}
        return {k: [member(row, k).numpy() for row in rows] for k in keys}
    if isinstance(x, dict):
        return {k: whole(v) for k, v in x.items()}
    return x.numpy() if hasattr(x, "numpy") else x


def same(a: Any, b: Any) -> bool:
    a, b = twelve.plain(a), twelve.plain(np.asarray(b) if not isinstance(b, list) else b)
    return twelve.equal(words(a), words(b))


def words(v: Any) -> Any:
    if isinstance(v, list):
        return [words(x) for x in v]
    return v.encode() if isinstance(v, str) else v


def tensors() -> str:
    """Features of tf.io.serialize_tensor and of make_tensor_proto are bytes, or arrays by --parse."""
    path, total = os.path.join(WORK, "tensors.tfrecord"), 0
    for dtype in (tf.float32, tf.float64, tf.float16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64):
        arrays = [np.arange(i * (i + 2)).reshape(i, i + 2).astype(dtype.as_numpy_dtype) for i in range(1, 9)] + [np.ones((2, 3), dtype.as_numpy_dtype)]
        raw = [tf.io.serialize_tensor(a).numpy() for a in arrays[:-1]] + [tf.make_tensor_proto(1, dtype=dtype, shape=[2, 3]).SerializeToString()]
        with tf.io.TFRecordWriter(path) as w:
            for b in raw:
                w.write(tf.train.Example(features=tf.train.Features(feature={"t": bytes_of(b)})).SerializeToString())
        whole = samples(convert(path, os.path.join(WORK, "tensors-set"), "--format", "mmap"))
        assert [bytes(s["t"]) for s in whole] == raw
        for got, want, message in zip(samples(convert(path, os.path.join(WORK, "tensors-set"), "--format", "mmap", "--parse", "t=tensor")), arrays, raw):
            assert got["t"].dtype == want.dtype and np.array_equal(got["t"], tf.io.parse_tensor(message, dtype).numpy()), (dtype, got, want)
            assert np.array_equal(got["t"], want)
            total += want.size
    return "%d values of serialize_tensor and make_tensor_proto, as parse_tensor has them" % total


def bytes_of(*v: bytes) -> Any:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=v))


def random_file(i: int) -> None:
    """A file of random Examples, as tf.data parses it."""
    r = np.random.default_rng([SEED, i])
    path = os.path.join(WORK, "random.tfrecord")
    kinds = {"f%d" % k: (str(r.choice(["bytes", "float", "int"])), int(r.choice([1, 1, 3, -1]))) for k in range(int(r.integers(1, 6)))}
    form = str(r.choice(["", "GZIP", "ZLIB"]))
    with tf.io.TFRecordWriter(path, form) as w:
        for _ in range(int(r.integers(1, 60))):
            f = {}
            for name, (kind, n) in kinds.items():
                n = int(r.integers(0, 5)) if n < 0 else n
                if kind == "bytes":
                    f[name] = bytes_of(*[b"\xff" + r.bytes(int(r.integers(0, 40))) for _ in range(n)])
                elif kind == "float":
                    f[name] = tf.train.Feature(float_list=tf.train.FloatList(value=r.normal(size=n)))
                else:
                    f[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=r.integers(-(2**63), 2**63 - 1, n) >> r.integers(0, 64, n)))
            w.write(tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString())
    ours = samples(convert(path, os.path.join(WORK, "random-set"), "--format", "mmap"))
    spec = {name: tf.io.RaggedFeature({"bytes": tf.string, "float": tf.float32, "int": tf.int64}[kind]) for name, (kind, _) in kinds.items()}
    n = 0
    for raw in tf.data.TFRecordDataset(path, form):
        for name, v in tf.io.parse_single_example(raw, spec).items():
            got = ours[n][name]
            have = words(twelve.plain(got))
            have = have if isinstance(have, list) else [have]
            want = twelve.plain(v.numpy())
            assert twelve.equal(have, want), (n, name, have, want)
        n += 1
    assert n == len(ours), (n, len(ours))


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    SETS = twelve.twelve(WORK)
    EPISODES = {"steps": tfds.features.Dataset(STEPS), "episode_metadata": {"file_path": tfds.features.Text()}}
    main(
        [
            ("tf.data", data),
            ("tfds", builders("tfrecord")),
            ("tfds", builders("arrayrecord")),
            ("tfds", splits),
            ("tfds", written("folder", FEATURES, sample, ["image", "jpeg"])),
            ("tfds", written("episodes", EPISODES, episode, ["steps/observation/image"])),
            ("tfds", steps),
            ("tf.io", tensors),
            ("tf.data", tables(random_file, 60, "as tf.data parses them")),
        ]
    )
