"""Runs of a plan on engines whose workers, tasks and driver are killed at random."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

INPUTS, TASKS = 24, 6


def make_inputs(folder, rows=2000):
    os.makedirs(folder)
    rng = random.Random(1)
    for i in range(INPUTS):
        with open(os.path.join(folder, "a%03d.csv" % i), "w") as f:
            f.write("x,y\n" + "".join("%d,%f\n" % (k, rng.random()) for k in range(rows)))
    return folder


def program():
    return os.environ["SHARDIFY"]


class Disk:
    """Inputs and outputs in a folder."""

    def __init__(self, folder):
        self.folder = self.address = folder

    def of(self, name):
        """The address of a data set, and where its files are."""
        return os.path.join(self.address, name), os.path.join(self.folder, name)

    def close(self):
        pass


class Store(Disk):
    """Inputs and outputs in a bucket of versitygw, which has each object as a file. It is at AWS_ENDPOINT_URL until it is closed."""

    def __init__(self, folder):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        path = os.pathsep.join([os.environ.get("SHARDIFY_SERVERS", ""), os.path.join(root, "build", "servers"), os.environ["PATH"]])
        server = shutil.which("versitygw", path=path)
        if server is None:
            raise ImportError("no versitygw (make servers builds it; SHARDIFY_SERVERS names its folder)")
        self.folder, self.address = os.path.join(folder, "data"), "s3://data"
        os.makedirs(self.folder)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            host = "127.0.0.1:%d" % s.getsockname()[1]
        self.before = dict(os.environ)
        for name in [n for n in os.environ if n.startswith("AWS_")]:
            del os.environ[name]
        os.environ.update(AWS_ACCESS_KEY_ID="testkey", AWS_SECRET_ACCESS_KEY="testsecret", AWS_ENDPOINT_URL="http://" + host)
        self.log = open(os.path.join(folder, "log"), "wb")
        words = ["--port", host, "--access", "testkey", "--secret", "testsecret", "--keep-alive", "--quiet", "posix", folder]
        self.server = subprocess.Popen([server, *words], stdout=self.log, stderr=self.log)
        for _ in range(600):
            try:
                socket.create_connection(host.split(":"), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("versitygw does not answer")

    def of(self, name):
        return "%s/%s" % (self.address, name), os.path.join(self.folder, name)

    def adopt(self, folder):
        """Makes objects of files: the server keeps an ETag beside each."""
        for n in os.listdir(folder):
            with open(os.path.join(folder, n), "rb") as f:
                os.setxattr(f.fileno(), "user.etag", b'"%s"' % hashlib.md5(f.read()).hexdigest().encode())

    def close(self):
        self.server.kill()
        self.server.wait()
        self.log.close()
        os.environ.clear()
        os.environ.update(self.before)


def plan(inputs, out, *flags):
    subprocess.run([program(), "plan", inputs, "-o", out, "--shard-size", "50KiB", "--quiet", *flags], check=True, stdout=subprocess.DEVNULL)
    return str(out)


def serial(inputs, out, *flags, folder=None):
    plan(inputs, out, *flags)
    if "--shuffle" in flags:
        subprocess.run([program(), "work", out, "--stage", "scatter", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program(), "work", out, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program(), "merge", out, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return digests(folder or out)


def count(ranges):
    """How many elements an array such as 0-1,3 has."""
    return sum(int(b or a) - int(a) + 1 for a, _, b in (r.partition("-") for r in ranges.split(",")))


def digests(folder):
    """What readers see of a data set."""
    found = {}
    for top, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f != ".shardify"]
        for n in names:
            with open(os.path.join(top, n), "rb") as f:
                found[os.path.relpath(os.path.join(top, n), folder)] = hashlib.sha256(f.read()).hexdigest()
    return found


def processes(*words):
    """The processes whose command line has all the words."""
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    line = f.read().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if line and all(w in line for w in words):
                found.append(int(pid))
    return found


class Killer:
    """Kills a random process of those that `victims` lists, `most` times, until it is left."""

    def __init__(self, victims, rng, most=10**9, every=(0.05, 0.4)):
        self.victims, self.rng, self.most, self.every, self.killed = victims, rng, most, every, 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while self.killed < self.most and not self.over.wait(self.rng.uniform(*self.every)):
            alive = self.victims()
            if alive:
                try:
                    os.kill(self.rng.choice(alive), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def children(pid):
    """The processes below one, and theirs."""
    parents = {}
    for p in os.listdir("/proc"):
        if p.isdigit():
            try:
                with open("/proc/%s/stat" % p) as f:
                    parents.setdefault(int(f.read().rpartition(")")[2].split()[1]), []).append(int(p))
            except OSError:
                continue
    found, todo = [], [pid]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found


def driver(script, *args, kills, rng, limit=120):
    """Runs a script that calls shardify.run again and again until it succeeds; all but the last are killed."""
    killed = 0
    end = time.monotonic() + limit
    while True:
        p = subprocess.Popen([sys.executable, script, *args])
        try:
            code = p.wait(timeout=rng.uniform(0.2, 1.5) if killed < kills else max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            assert killed < kills, "the driver hangs"
            below = children(p.pid)
            p.kill()
            p.wait()
            for c in below:  # the workers of a pool outlive it
                try:
                    os.kill(c, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            killed += 1
            continue
        assert code == 0, "the driver ended with %d" % code
        return killed
