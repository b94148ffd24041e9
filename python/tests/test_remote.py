"""Data sets on a web server, and the cache on disk."""

from __future__ import annotations

import http.server
import json
import os
import re
import threading
import time

import fixture
import numpy as np
import pytest
from conftest import KINDS
from loading import needs_library

import shardify

pytestmark = needs_library


class Handler(http.server.BaseHTTPRequestHandler):
    """Files of a folder, with ranges and times."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = os.path.join(self.server.root, self.path.lstrip("/"))
        if self.path in self.server.answers:
            self.send_error(self.server.answers[self.path])
            return
        if not os.path.isfile(name):
            self.send_error(404)
            return
        with open(name, "rb") as f:
            data = f.read()
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        lo, hi = (int(span[1]), min(int(span[2]) + 1, len(data))) if span else (0, len(data))
        self.send_response(206 if span else 200)
        self.send_header("Content-Range", "bytes %d-%d/%d" % (lo, hi - 1, len(data)))
        self.send_header("Last-Modified", self.date_time_string(int(os.path.getmtime(name))))
        self.send_header("Content-Length", str(hi - lo))
        self.end_headers()
        self.wfile.write(data[lo:hi])
        self.server.sent += hi - lo

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path):
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    s.root, s.sent, s.answers = str(tmp_path), 0, {}
    thread = threading.Thread(target=s.serve_forever)
    thread.start()
    yield s
    s.shutdown()
    thread.join()
    s.server_close()


@pytest.mark.parametrize("kind,format", KINDS[:1])
def test_a_loader_reads_from_a_web_server_and_keeps_what_it_read(make, kind, format, server, tmp_path):
    path = make(kind, format, n=200, shards=[70, 70, 60])
    os.rename(path, str(tmp_path / "set"))
    old = time.time() - 3600
    for folder, _, names in os.walk(str(tmp_path)):
        for name in names:
            os.utime(os.path.join(folder, name), (old, old))
    address = "http://127.0.0.1:%d/set" % server.server_address[1]
    cache = tmp_path / "cache"

    def batches(data, **more):
        with shardify.Loader(data, 7, shuffle="block", seed=3, last="pad", framework="numpy", **more) as loader:
            return [{k: np.array(v) for k, v in b.items() if isinstance(v, np.ndarray)} for b in loader]

    want = batches(str(tmp_path / "set"))
    for _ in range(2):
        got = batches(address, cache=cache, cache_size="1GiB")
        assert len(got) == len(want)
        for a, b in zip(want, got):
            assert sorted(a) == sorted(b)
            assert all(np.array_equal(a[k], b[k]) for k in a)
    assert (cache / "shardify-cache-1").stat().st_mode & 0o777 == 0o700
    with pytest.raises(ValueError, match="too small"):
        shardify.Loader(address, 7, cache=cache, cache_size=1)


@pytest.mark.parametrize("kind,format", KINDS)
def test_open_reads_addresses(make, kind, format, server):
    """Samples, batches, slices and columns of a set on a web server are those of the folder."""
    path = make(kind, format, n=96, shards=[32, 32, 32])
    os.rename(path, os.path.join(server.root, "far"))
    folder, address = os.path.join(server.root, "far"), "http://127.0.0.1:%d/far" % server.server_address[1]
    here, there = shardify.open(folder), shardify.open(address + "/shardify.json")
    assert there.schema == here.schema and len(there) == 96
    for i in (0, 31, 32, -1):
        same(here[i], there[i])
    for a, b in zip(here[[3, 40, 95]], there[[3, 40, 95]]):
        same(a, b)
    for a, b in zip(here[90:], there[90:]):
        same(a, b)
    if format == "mmap":
        for name in here.fields:
            a, b = here.column(name), there.column(name)
            for i in (0, 95):
                same({"x": a[i]}, {"x": b[i]})
        x = there._open[0].array(next(iter(there._open[0].tensors)))
        assert not x.flags.writeable


def test_a_set_above_that_cannot_be_read_is_an_error(make, server):
    """A server that has, or gives, no manifest above that of a set is one thing, one that fails another."""
    path = make(KINDS[0][0], "mmap")
    split = os.path.join(server.root, "above", "train")
    os.makedirs(os.path.dirname(split))
    os.rename(path, split)
    with open(os.path.join(split, "shardify.json"), encoding="utf-8") as f:
        m = json.load(f)
    fixture.write_manifest(split, {**{k: v for k, v in m.items() if k != "xxh3"}, "previous": "0" * 32})
    address = "http://127.0.0.1:%d/above/train" % server.server_address[1]
    for status in (404, 403, 401):
        server.answers["/above/shardify.json"] = status
        assert len(shardify.open(address)) == m["samples"]
    server.answers["/above/shardify.json"] = 501
    with pytest.raises(shardify.ShardifyError, match="above/shardify.json"):
        shardify.open(address)


def same(a, b):
    assert list(a) == list(b)
    for k in a:
        if isinstance(a[k], np.ndarray):
            assert a[k].dtype == b[k].dtype and np.array_equal(a[k], b[k], equal_nan=a[k].dtype.kind == "f")
        else:
            assert repr(a[k]) == repr(b[k])


def test_open_reads_only_the_columns_that_are_wanted(make, server, monkeypatch):
    path = make(KINDS[0][0], "mmap", n=20000, shards=[10000, 10000])
    os.rename(path, os.path.join(server.root, "far"))
    address = "http://127.0.0.1:%d/far" % server.server_address[1]
    total = sum(s["bytes"] for s in shardify.open(address).manifest["shards"])
    name = "small"
    ds = shardify.open(address, columns=[name])
    before = server.sent
    assert name in ds[0] and name in ds[-1]
    assert server.sent - before < total / 2
    monkeypatch.setattr("shardify.remote.ROOM", 1)
    ds = shardify.open(address)
    assert name in ds[0] and name in ds[-1] and len(ds._open) == 1


def test_a_set_far_away_that_is_not_there_or_damaged(make, server):
    path = make(KINDS[0][0], "mmap")
    os.rename(path, os.path.join(server.root, "far"))
    address = "http://127.0.0.1:%d/" % server.server_address[1]
    with pytest.raises(shardify.NotADatasetError, match="none/shardify.json"):
        shardify.open(address + "none")
    with pytest.raises(shardify.UnsupportedError, match="s3a"):
        shardify.open("s3a://bucket/set")
    shard = os.path.join(server.root, "far", "shard-000000.safetensors")
    with open(shard, "r+b") as f:
        f.seek(-1, 2)
        last = f.read(1)
        f.seek(-1, 2)
        f.write(bytes([last[0] ^ 1]))
    ds = shardify.open(address + "far")
    with pytest.raises(shardify.CorruptError, match="shard-000000"):
        ds[0]
    os.remove(shard)
    with pytest.raises(shardify.CorruptError, match="missing"):
        shardify.open(address + "far")[0]
