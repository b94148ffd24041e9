"""Data sets on a web server, and the cache on disk."""

from __future__ import annotations

import http.server
import os
import re
import threading
import time

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
    s.root, s.sent = str(tmp_path), 0
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
