"""Token sets: pairs of Megatron-LM without a conversion."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys

import numpy as np
import pytest
from loading import needs_library, why_not

import shardify

CODES = {"u1": 1, "i4": 4, "i8": 5, "u2": 8}


def pair(path, docs, dtype="u2", modes=False):
    """Documents, each a list of sequences, as Megatron-LM writes them."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    sequences = [np.asarray(s, dtype) for d in docs for s in d]
    lengths = np.array([len(s) for s in sequences], "<i4")
    places = np.cumsum(lengths, dtype="<i8") - lengths
    ends = np.cumsum([0] + [len(d) for d in docs]).astype("<i8")
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, CODES[dtype], len(sequences), len(ends))
    with open(path + ".idx", "wb") as f:
        f.write(head + lengths.tobytes() + (places * np.dtype(dtype).itemsize).tobytes() + ends.tobytes() + bytes(len(sequences)) * modes)
    with open(path + ".bin", "wb") as f:
        f.write(b"".join(s.tobytes() for s in sequences))


def corpus(seed, n, top=60000):
    rng = np.random.default_rng(seed)
    return [[rng.integers(0, top, rng.integers(0, 9)) for _ in range(rng.integers(0, 4))] for _ in range(n)]


def joined(docs):
    return [np.concatenate([np.zeros(0, int)] + list(d)).astype(int) for d in docs]


@pytest.fixture
def pairs(tmp_path):
    """Three pairs in folders, and the tokens of all documents in the order of their names."""
    want = []
    for k, name in enumerate(["a/part-2", "a/part-10", "b"]):
        docs = corpus(k, 20 + k)
        pair(str(tmp_path / name), docs)
        want += joined(docs)
    return str(tmp_path), want


def test_pairs_are_opened_without_a_conversion(pairs):
    path, want = pairs
    ds = shardify.open(path)
    assert len(ds) == len(want) and ds.fields == ["tokens"] and ds.field("tokens").jagged
    column = ds.column("tokens")
    for i, w in enumerate(want):
        assert ds[i]["tokens"].dtype == np.uint16 and np.array_equal(ds[i]["tokens"], w) and np.array_equal(column[i], w)
    rows = [40, 3, 21, 3]
    assert all(np.array_equal(s["tokens"], want[i]) for s, i in zip(ds[rows], rows))
    assert np.array_equal(np.asarray(column.values), np.concatenate(want))
    one = os.path.join(path, "a", "part-10")
    for name in (one, one + ".idx", one + ".bin"):
        assert len(shardify.open(name)) == 21


@needs_library
@pytest.mark.parametrize("shuffle", ["none", "block", "global"])
def test_the_loader_reads_pairs(pairs, shuffle):
    path, want = pairs
    seen = []
    with shardify.Loader(path, 7, shuffle=shuffle, last="short", framework="numpy") as loader:
        for b in loader:
            v, o = b["tokens"]["values"], b["tokens"]["offsets"]
            for k, i in enumerate(b.ids):
                assert np.array_equal(v[o[k] : o[k + 1]], want[i])
                seen.append(int(i))
        assert any("no checksums" in n for n in loader.notes())
    assert sorted(seen) == list(range(len(want)))


@needs_library
def test_sets_of_pairs_are_opened(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.arange(60, dtype="u2").reshape(20, 3))
    out = str(tmp_path / "set")
    shardify.convert(str(tmp_path / "x.npz"), out, format="megatron", shard_samples=7)
    ds = shardify.open(out)
    assert len(ds) == 20 and np.array_equal(np.asarray(ds.column("x")), np.arange(60).reshape(20, 3))
    with shardify.Loader(out, 20, framework="numpy") as loader:
        assert np.array_equal(next(iter(loader))["x"], np.arange(60).reshape(20, 3))
    with pytest.raises(shardify.SchemaError, match="open its folder"):
        shardify.open(os.path.join(out, "shard-000000"))


def damage(path, at=0, more=b"", cut=0):
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        if more:
            data[at : at + len(more)] = more
        f.seek(0)
        f.truncate()
        f.write(data[: len(data) - cut])


@pytest.mark.parametrize(
    "what, words",
    [
        (dict(path=".bin", cut=2), "the data have"),
        (dict(path=".idx", cut=1), "in an index of"),
        (dict(path=".idx", at=34, more=b"\x01"), "begins at byte"),
        (dict(path=".idx", at=37, more=b"\x80"), "tokens begins"),
        (dict(path=".idx", at=17, more=b"\x63"), "type 99"),
        (dict(path=".idx", at=0, more=b"TNTIDX\0\0"), "TNTIDX"),
        (dict(path=".idx", at=0, more=b"nothing"), "no index of Megatron-LM"),
        (dict(path=".idx", at=34 + 12 * 3 + 8, more=b"\x09"), "documents"),
        (dict(path=".idx", at=34 + 12 * 3 + 24, more=b"\x02"), "documents"),
    ],
)
def test_damaged_pairs_are_refused(tmp_path, what, words):
    path = str(tmp_path / "a")
    pair(path, [[[1, 2]], [[3], [4, 5, 6]], []])
    damage(path + what.pop("path"), **what)
    with pytest.raises((shardify.CorruptError, shardify.UnsupportedError), match=words) as e:
        shardify.open(str(tmp_path))
    assert "a.idx" in str(e.value)


def test_what_cannot_be_read_is_named(tmp_path):
    pair(str(tmp_path / "m" / "a"), [[[1]]], modes=True)
    with pytest.raises(shardify.UnsupportedError, match="multimodal"):
        shardify.open(str(tmp_path / "m"))
    pair(str(tmp_path / "t" / "a"), [[[1]]])
    pair(str(tmp_path / "t" / "b"), [[[1]]], "i4")
    with pytest.raises(shardify.SchemaError, match="tokens are i32, but u16"):
        shardify.open(str(tmp_path / "t"))
    os.mkdir(str(tmp_path / "mds"))
    with open(str(tmp_path / "mds" / "index.json"), "w") as f:
        f.write('{"shards": [], "version": 2}')
    with pytest.raises((shardify.NotADatasetError, shardify.UnsupportedError), match="index.json"):
        shardify.open(str(tmp_path / "mds"))
    if not why_not():
        with pytest.raises((shardify.NotADatasetError, shardify.UnsupportedError), match="index.json"):
            shardify.Loader(str(tmp_path / "mds"), 2)


M = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix64(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M
    return x ^ x >> 31


def derive(seed, *words):
    h = mix64(seed + GOLDEN & M)
    for w in words:
        h = mix64(h ^ mix64(w + GOLDEN & M))
    return h


def offset(seed, epoch, sample, n):
    """As docs/design/loader.md, section 11 says."""
    return mix64(derive(seed, epoch, 10) + GOLDEN * (sample + 1) & M) % n


@pytest.fixture(params=["pairs", "mmap"])
def tokens(tmp_path, request):
    """A set, and the tokens of each shard."""
    streams = []
    for k in range(3):
        docs = corpus(k, 60)
        pair(str(tmp_path / "in" / ("p%d" % k)), docs)
        streams.append(np.concatenate(joined(docs)))
    path = str(tmp_path / "in")
    if request.param == "mmap":
        out = str(tmp_path / "out")
        shardify.convert(path, out, format="mmap", shard_samples=60)
        path = out
    return path, streams


@needs_library
@pytest.mark.parametrize("shuffle", ["none", "block", "global"])
@pytest.mark.parametrize("tier", ["pinned", "stream"])
@pytest.mark.parametrize("how", ["", ",offset=3", ",offset=random"])
def test_samples_of_the_stream_of_tokens(tokens, shuffle, tier, how):
    path, streams = tokens
    n, seed = 16, 5
    starts = np.cumsum([0] + [len(s) for s in streams])
    whole = np.concatenate(streams)
    most = n - 1 if "random" in how else 3 if how else 0
    want = {int(a) + (most if how == ",offset=3" else 0) + i * n for a, s in zip(starts, streams) for i in range((len(s) - most - 1) // n)}
    options = dict(tokens="tokens=16" + how, labels="shift", shuffle=shuffle, tier=tier, seed=seed, last="short", cast={"tokens": "i64"})
    moved = 0
    with shardify.Loader(path, 4, framework="numpy", **options) as loader:
        for epoch in range(2):
            seen = []
            for b in loader:
                assert b["tokens"].shape == b["labels"].shape == (len(b.ids), n) and b["tokens"].dtype == np.int64
                for k, i in enumerate(b.ids.tolist()):
                    at = i + (offset(seed, epoch, i, n) if "random" in how else 0)
                    moved += at != i
                    assert np.array_equal(b["tokens"][k], whole[at : at + n]) and np.array_equal(b["labels"][k], whole[at + 1 : at + n + 1])
                    seen.append(i)
            assert sorted(seen) == sorted(want)
        assert (moved > len(want)) == ("random" in how)
        state = loader.state_dict()
    if "random" in how:
        with shardify.Loader(path, 4, framework="numpy", **{**options, "tokens": "tokens=16"}) as loader:
            with pytest.raises(shardify.StateError):
                loader.load_state_dict(state)


def packed(tmp_path, pad=0, how="best-fit"):
    """Sequences of 17 tokens, and what each sample holds."""
    docs = corpus(7, 80, 40000)
    pair(str(tmp_path / "in" / "a"), docs)
    out = str(tmp_path / "packed")
    shardify.convert(str(tmp_path / "in"), out, format="mmap", sequences="tokens=17,%s,pad=%d" % (how, pad))
    return out, shardify.open(out)


FRAMEWORKS = ["numpy", "torch"]


def framework(name):
    if name == "torch":
        pytest.importorskip("torch")
    return dict(framework=name, device="cpu")


@needs_library
@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("labels", [None, "same", "shift"])
@pytest.mark.parametrize("shuffle", ["none", "block"])
def test_documents_of_sequences(tmp_path, name, labels, shuffle):
    path, ds = packed(tmp_path)
    more = dict(labels=labels, label_pad=-100) if labels else {}
    n = 16 if labels == "shift" else 17
    with shardify.Loader(path, 4, shuffle=shuffle, documents=["position_ids", "cu_seqlens", "mask"], cast={"tokens": "i64"}, **more, **framework(name)) as loader:
        batches = 0
        for b in loader:
            cu, position, mask, rest = [], [], np.zeros((len(b.ids), 1, n, n), bool), []
            for k, i in enumerate(b.ids.tolist()):
                lens = ds[i]["lens"].tolist()
                document = np.repeat(np.arange(len(lens)), lens).tolist()
                document = np.array(document + [-1] * (17 - len(document)))  # -1 is padding
                at = 0
                for d in range(n):
                    at = 0 if d and document[d] != document[d - 1] else at
                    if at == 0:
                        cu.append(k * n + d)
                    position.append(at)
                    at += 1
                    mask[k, 0, d, : d + 1] = document[: d + 1] == document[d]
                tokens = ds[i]["tokens"].astype(int)
                first = np.array([d == 0 or document[d] != document[d - 1] for d in range(17)]) | (document < 0)
                y = np.where(first, -100, tokens)
                rest.append((tokens[:n], y[17 - n :]))
            cu.append(len(b.ids) * n)
            assert np.array_equal(np.asarray(b["cu_seqlens"]), cu) and b["max_seqlen"] == max(np.diff(cu))
            assert str(b["cu_seqlens"].dtype).endswith("int32") and str(b["position_ids"].dtype).endswith("int32")
            assert np.array_equal(np.asarray(b["position_ids"]), np.reshape(position, (-1, n)))
            assert np.array_equal(np.asarray(b["mask"]), mask)
            for k, (x, y) in enumerate(rest):
                assert np.array_equal(np.asarray(b["tokens"])[k], x)
                if labels:
                    assert np.array_equal(np.asarray(b["labels"])[k], y)
            batches += 1
        assert batches > 3


@needs_library
def test_rows_of_padding_are_one_document(tmp_path):
    path, ds = packed(tmp_path)
    n = len(ds)
    with shardify.Loader(path, n + 2, last="pad", documents=True, labels="same", label_pad=-100, cast={"tokens": "i32"}, framework="numpy") as loader:
        b = next(iter(loader))
    assert "mask" not in b and b["cu_seqlens"].tolist()[-3:] == [n * 17, (n + 1) * 17, (n + 2) * 17]
    assert (b["labels"][n:] == -100).all() and (b["position_ids"][n:] == np.arange(17)).all() and (b["tokens"][n:] == 0).all()


@needs_library
def test_labels_without_lens(tmp_path):
    path, ds = packed(tmp_path, how="concat")
    for name in FRAMEWORKS:
        with shardify.Loader(path, 3, labels="shift", columns=["tokens"], cast={"tokens": "i32"}, **framework(name)) as loader:
            for b in loader:
                for k, i in enumerate(b.ids):
                    assert np.array_equal(np.asarray(b["tokens"])[k], ds[int(i)]["tokens"][:-1]) and np.array_equal(np.asarray(b["labels"])[k], ds[int(i)]["tokens"][1:])
    with shardify.Loader(path, 3, tokens="tokens=8", labels="same", framework="numpy") as loader:
        b = next(iter(loader))
        assert b["labels"] is b["tokens"] and b["tokens"].shape == (3, 8)


@needs_library
@pytest.mark.parametrize(
    "options, words",
    [
        (dict(labels="next"), "shift, same"),
        (dict(label_pad=-100), "for labels="),
        (dict(labels="shift", label_pad=-100), "cast="),
        (dict(labels="shift", label_pad=-100, columns=["tokens"], cast={"tokens": "i64"}), "lens"),
        (dict(documents=True, columns=["tokens"]), "lens"),
        (dict(documents=["segments"]), "position_ids"),
        (dict(documents=True, tokens=4), "no lens"),
        (dict(tokens=True), "want 2048"),
        (dict(tokens=0), "of 1 to"),
        (dict(tokens=4, window="1+1"), "give one"),
        (dict(labels="shift", columns=["lens"]), "there are none"),
        (dict(documents=True, ring=2), "fixed size"),
    ],
)
def test_wrong_arguments_are_named(tmp_path, options, words):
    path, _ = packed(tmp_path)
    with pytest.raises((ValueError, shardify.ShardifyError), match=words):
        shardify.Loader(path, 2, framework="numpy", **options)


RUN = """
import hashlib, json, os, signal, sys
import shardify
out, state, stop = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = {"foreign": 0.5, "pairs": 0.3, "mmap": 0.2}
with shardify.Loader(data, 8, tokens="16,offset=random", labels="shift", shuffle="block", streams=4, seed=3, samples=240, drop_last=True, cast={"tokens": "i64"}, framework="numpy") as loader:
    if os.path.exists(state):
        with open(state) as f:
            loader.load_state_dict(json.load(f))
    with open(out, "a") as log:
        while loader.epoch < 3:
            for b in loader:
                print(loader.epoch, b.index, hashlib.sha1(b["tokens"].tobytes() + b["labels"].tobytes()).hexdigest(), b.ids.tolist(), file=log, flush=True)
                with open(state + ".tmp", "w") as f:
                    json.dump(loader.state_dict(), f)
                os.replace(state + ".tmp", state)
                stop -= 1
                if stop == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
"""


@needs_library
def test_a_mixture_of_token_sets_goes_on_where_it_was_killed(tmp_path):
    for k, name in enumerate(["foreign", "in", "more"]):
        pair(str(tmp_path / name / "a_text_document"), corpus(k, 300 + 50 * k))
    shardify.convert(str(tmp_path / "in"), str(tmp_path / "pairs"), format="megatron", shard_samples=90)
    shardify.convert(str(tmp_path / "more"), str(tmp_path / "mmap"), format="mmap", shard_samples=70)
    (tmp_path / "run.py").write_text(RUN)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(name, stop):
        return subprocess.run([sys.executable, "run.py", name + ".log", name + ".json", str(stop)], cwd=str(tmp_path), env=env).returncode

    def lines(name):
        rows = (line.split(" ", 2) for line in (tmp_path / (name + ".log")).read_text().splitlines())
        return [rest for _, _, rest in rows]  # the number of a step counts from where a run began

    assert run("whole", -1) == 0
    assert run("killed", 7) == run("killed", 38) == -signal.SIGKILL and run("killed", -1) == 0
    want = lines("whole")
    assert len(want) == 3 * 30 and len(set(want)) == len(want) and lines("killed") == want
    # Half of all samples are of the first set, whose tokens have the first numbers.
    first = len(np.concatenate(joined(corpus(0, 300))))
    shares = [int(i) < first for line in want for i in line.split("[")[1].rstrip("]").split(",")]
    assert abs(sum(shares) - len(shares) // 2) <= 4  # one for each stream


@needs_library
def test_splits_of_pairs(tmp_path):
    pair(str(tmp_path / "in" / "a"), corpus(1, 400))
    out = str(tmp_path / "out")
    shardify.convert(str(tmp_path / "in"), out, format="megatron", split="train=0.8,val=0.2", shard_samples=90)
    sizes = {name: len(shardify.open(out, split=name)) for name in ("train", "val")}
    assert 250 < sizes["train"] < 400 and sum(sizes.values()) == 400
    with shardify.Loader(out, 8, split="train", framework="numpy", last="short") as loader:
        assert sum(b.rows for b in loader) == sizes["train"]
    with pytest.raises(shardify.SchemaError, match=r"train \(\d+ samples\), val"):
        shardify.open(out)


@needs_library
def test_pairs_of_a_set_are_not_opened_one_by_one(tmp_path):
    pair(str(tmp_path / "in" / "a"), corpus(1, 40))
    below = tmp_path / "top" / "below"
    shardify.convert(str(tmp_path / "in"), str(below), format="megatron", shard_samples=9)
    with pytest.raises(shardify.SchemaError, match="open its folder"):
        shardify.open(str(tmp_path / "top"))
    os.remove(str(below / "shardify.json"))
    os.makedirs(str(below / ".shardify"), exist_ok=True)
    for path in (below, tmp_path / "top", below / "shard-000000"):
        with pytest.raises(shardify.NotADatasetError):
            shardify.open(str(path))
    with pytest.raises(shardify.NotADatasetError, match="not finished"):
        shardify.open(str(below))


def test_documents_without_tokens(tmp_path):
    pair(str(tmp_path / "a"), [[], [[]], []])
    pair(str(tmp_path / "b"), [])
    pair(str(tmp_path / "c"), [[[1, 2]], []])
    ds = shardify.open(str(tmp_path))
    assert [s["tokens"].tolist() for s in ds] == [[], [], [], [1, 2], []] and ds.column("tokens")[3].tolist() == [1, 2]
    if not why_not():
        with shardify.Loader(str(tmp_path), 5, framework="numpy") as loader:
            b = next(iter(loader))
            assert b["tokens"]["values"].tolist() == [1, 2] and b["tokens"]["offsets"].tolist() == [0, 0, 0, 0, 2, 2]
        with shardify.Loader(str(tmp_path), 1, tokens=2, framework="numpy") as loader:
            assert [b["tokens"].tolist() for b in loader] == [[[1, 2]]]


def test_mutated_indexes_give_errors_or_tokens_of_the_file(tmp_path):
    rng = np.random.default_rng(3)
    docs = corpus(5, 12)
    whole = np.concatenate(joined(docs))
    path = str(tmp_path / "a")
    pair(path, docs)
    with open(path + ".idx", "rb") as f:
        good = f.read()
    refused = 0
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(rng.integers(1, 3)):
            bad[rng.integers(len(bad))] = rng.integers(256)
        with open(path + ".idx", "wb") as f:
            f.write(bad)
        try:
            ds = shardify.open(path)
            got = [s["tokens"] for s in ds]
        except shardify.ShardifyError:
            refused += 1
            continue
        # Another type, or documents that end elsewhere: all tokens are there, in order.
        assert b"".join(t.tobytes() for t in got) == whole.astype("u2").tobytes()
    assert refused > 250
