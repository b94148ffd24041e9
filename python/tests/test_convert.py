"""shardify.convert: the conversions of the program, through the library."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import zipfile

import numpy as np
import pytest
from engines import digests
from loading import PYTHON, needs_library

import shardify

pytestmark = needs_library


@pytest.fixture
def npz(tmp_path):
    path = tmp_path / "a.npz"
    x = np.arange(400, dtype=np.float32).reshape(100, 4)
    np.savez(path, x=x, y=np.arange(100) % 10)
    return path


BIG = dict(from_="synth", samples=400_000, schema="x:f32[64]", shard_samples=4000, sync="none", jobs=1)


def test_settings_are_flags(npz, tmp_path):
    r = shardify.convert(
        npz,
        tmp_path / "out",
        where="y < 5",
        define=["z=y*2"],
        cast=["z=i32"],
        shuffle="global",
        seed=np.int64(3),
        split="train=0.8,val=0.2",
        provenance=True,
    )
    assert (r.samples, r.format, r.already, r.skipped) == (50, "mmap", False, 0)
    assert r.splits["train"] + r.splits["val"] == 50 and r.shards == 2
    rows = [s for name in ("train", "val") for s in shardify.open(r.output, split=name)]
    assert sorted(int(s["x"][0]) for s in rows) == [4 * i for i in range(100) if i % 10 < 5]
    assert all(s["z"] == 2 * s["y"] and s["z"].dtype == np.int32 for s in rows)
    again = shardify.convert(
        [npz],
        str(tmp_path / "out"),
        where=["y < 5"],
        define="z=y*2",
        cast="z=i32",
        shuffle="global",
        seed=3,
        split="train=0.8,val=0.2",
        provenance=True,
    )
    assert again.already and again.splits == r.splits


def test_options_of_formats(tmp_path):
    for cls in "ab":
        (tmp_path / "in" / cls).mkdir(parents=True)
        for i in range(3):
            (tmp_path / "in" / cls / ("é%d.bin" % i)).write_bytes(bytes([i]))
    r = shardify.convert(tmp_path / "in", tmp_path / "out", labels="none", format="mmap", shard_size=1 << 20)
    assert r.samples == 6 and "cls" not in [f.name for f in shardify.open(r.output).schema]


@pytest.mark.parametrize(
    "settings, kind, words",
    [
        (dict(shard_sise=3), shardify.UsageError, 'unknown key "shard-sise"'),
        (dict(shuffle="some"), shardify.UsageError, "want one of none, block, global"),
        (dict(limit=[1, 2]), shardify.UsageError, "want one value"),
        (dict(where="q > 1"), shardify.UsageError, "no field q; did you mean x"),
        (dict(friend="a.root"), shardify.UsageError, "--friend is an option of root"),
        (dict(limit=object()), TypeError, "limit"),
        (dict(limit={"a": 1}), shardify.UsageError, "limit: .*want a whole number"),
        (dict(output="x"), TypeError, "given already"),
        (dict(seed=float("nan")), ValueError, "JSON"),
    ],
)
def test_wrong_settings(npz, tmp_path, settings, kind, words):
    with pytest.raises(kind, match=words) as e:
        shardify.convert(npz, tmp_path / "out", **settings)
    if "shard_sise" in settings:
        assert e.value.hints == ["did you mean: shard_size"] and str(e.value).endswith("\nhint: did you mean: shard_size")
    if "friend" in settings:
        assert str(e.value).endswith("\nhint: without it: shardify.convert(%r, %r)" % (str(npz), str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


def test_errors_have_their_fields(npz, tmp_path):
    with pytest.raises(shardify.InputNotFoundError, match="none.npz"):
        shardify.convert(tmp_path / "none.npz", tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    with pytest.raises(shardify.ExistsError) as e:
        shardify.convert(npz, tmp_path / "full")
    assert isinstance(e.value, FileExistsError) and e.value.hints
    with zipfile.ZipFile(npz) as z:
        at = z.getinfo("x.npy").header_offset + 400
    b = bytearray(npz.read_bytes())
    b[at] ^= 1
    npz.write_bytes(bytes(b))
    with pytest.raises(shardify.CorruptError) as e:
        shardify.convert(npz, tmp_path / "out")
    assert e.value.file == str(npz) and e.value.object == "x.npy"
    assert (e.value.sample, e.value.offset) == (None, None) and e.value.hints[0] in str(e.value)
    with pytest.raises(TypeError):
        shardify.convert(None, tmp_path / "out")


def test_calls_in_hints_work(npz, tmp_path):
    both = tmp_path / "it's both.npz"
    np.savez(both, x_train=np.arange(6), x_test=np.arange(3))
    halves = shardify.convert(npz, tmp_path / "halves", split="train=0.5,val=0.5").splits
    for given, setting, samples in (both, {"jobs": 1}, [6, 3, 1]), ([both], {"columns": "*"}, [6, 3, 1]), (tmp_path / "halves", {"seed": 1, "shuffle": "block"}, [*halves.values()]):
        with pytest.raises(shardify.ShardifyError) as e:
            shardify.convert(given, tmp_path / "one", **setting)
        calls = [line.partition(": shardify.")[2] for line in str(e.value).splitlines() if line.startswith("hint: ")]
        made = []
        for call in calls:
            assert setting.get("columns") or all("%s=%r" % kv in call for kv in setting.items()), call
            made.append(eval("shardify." + call).samples)
            shutil.rmtree(tmp_path / "one")
        assert made == samples, calls
    shardify.convert(npz, tmp_path / "two")
    with pytest.raises(shardify.ExistsError) as e:
        shardify.convert(npz, tmp_path / "two", limit=2)
    assert str(e.value).endswith("fresh=True") and 'out="%s-2"' % (tmp_path / "two") in str(e.value)
    assert shardify.convert(npz, tmp_path / "two", limit=2, fresh=True).samples == 2


def test_an_exception_stops_and_the_same_call_goes_on(tmp_path):
    seen = []

    def stop(p):
        seen.append(p)
        if p.shards >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shardify.convert([], tmp_path / "a", progress=stop, **BIG)
    assert seen[-1].total_samples == 400_000 and 2 <= seen[-1].shards < seen[-1].total_shards == 100
    published = [n for n in os.listdir(tmp_path / "a") if n.startswith("shard-")]
    assert len(published) >= 2 and not (tmp_path / "a" / "shardify.json").exists()
    r = shardify.convert([], tmp_path / "a", **BIG)
    assert not r.already and r.samples == 400_000
    shardify.convert([], tmp_path / "b", **BIG)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


@pytest.mark.parametrize(
    "split, want",
    [
        ({"train": 0.9, "val": 0.1}, {"train": 90, "val": 10}),
        ({"train": 80, "val": 10, "test": "rest"}, {"train": 80, "val": 10, "test": 10}),
        ({"train": np.float64(0.9), "val": "rest"}, {"train": 90, "val": 10}),
        ({"train": 0.9}, None),
    ],
)
def test_a_split_is_a_dict(tmp_path, split, want):
    np.savez(tmp_path / "in.npz", x=np.arange(100.0))
    if want is None:  # what is to happen to the others is not said
        with pytest.raises(shardify.UsageError, match="NAME=rest"):
            shardify.convert(tmp_path / "in.npz", tmp_path / "out", split=split)
        split, want = {**split, "val": "rest"}, {"train": 90, "val": 10}
    got = shardify.convert(tmp_path / "in.npz", tmp_path / "out", split=split, rename={"y": "x"})
    assert got.splits == want and shardify.open(tmp_path / "out", split="train").fields == ["y"]


def test_control_c(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    code = """
        import os, signal, sys, threading, shardify
        def stop(p):
            if p.shards >= 2 and not sent:
                sent.append(1)
                threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
        sent = []
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
        try:
            shardify.convert([], sys.argv[1], progress=stop, **%r)
        except KeyboardInterrupt:
            sys.exit(7)
    """ % (dict(BIG, samples=2_000_000),)
    p = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "a")],
        env=dict(os.environ, PYTHONPATH=PYTHON),
        timeout=300,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert p.returncode == 7, p.stderr
    assert signal.getsignal(signal.SIGINT) is before
    assert not (tmp_path / "a" / "shardify.json").exists()


def test_other_threads_run(tmp_path):
    turns, done = [0], threading.Event()

    def count():
        while not done.is_set():
            turns[0] += 1
            done.wait(0.001)

    t = threading.Thread(target=count)
    t.start()
    r = shardify.convert([], tmp_path / "out", **dict(BIG, samples=100_000))
    done.set()
    t.join()
    assert turns[0] >= 5 * r.seconds
