"""Ten of a hundred branches over root:// at 20 ms: shardify against uproot with fsspec-xrootd.

    python bench/xrootd.py --shardify bin/shardify

Needs uproot, fsspec-xrootd and Debian's xrootd-server. Every reader is a process of its own. The
first time of uproot is that of its work alone, without imports; that of shardify has everything. Bytes are those that came through a proxy
which delays each direction by 10 ms.
"""
import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

COLUMNS = ["b%03d" % i for i in range(3, 100, 10)]
DELAY = 0.01

UPROOT = """
import sys, time
import uproot, fsspec_xrootd, numpy
columns = sys.argv[2:]
start = time.perf_counter()
with uproot.open(sys.argv[1] + ":Events") as t:
    a = t.arrays(columns, library="np")
print(time.perf_counter() - start, sum(len(v) for v in a.values()))
"""


class Link:
    """Forwards connections to a port, later, and counts the bytes that come back."""

    def __init__(self, port):
        self.to, self.down = port, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.to))
            for source, sink in (client, server), (server, client):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.pump, args=(source, sink, source is server), daemon=True).start()

    def pump(self, source, sink, down):
        queue, ready = [], threading.Condition()

        def send():
            while True:
                with ready:
                    while not queue:
                        ready.wait()
                    due, data = queue.pop(0)
                time.sleep(max(due - time.monotonic(), 0))
                if not data:
                    sink.close()
                    return
                try:
                    sink.sendall(data)
                except OSError:
                    return

        threading.Thread(target=send, daemon=True).start()
        while True:
            try:
                data = source.recv(1 << 20)
            except OSError:
                data = b""
            self.down += len(data) if down else 0
            with ready:
                queue.append((time.monotonic() + DELAY, data))
                ready.notify()
            if not data:
                return


def make(path):
    import numpy as np
    import uproot

    rng = np.random.default_rng(1)
    with uproot.recreate(path) as f:
        names = ["b%03d" % i for i in range(100)]
        t = f.mktree("Events", {n: "f4" for n in names})
        for _ in range(10):
            t.extend({n: rng.normal(size=10_000).astype("f4") for n in names})
    with uproot.open(path) as f:
        t = f["Events"]
        baskets = sum(int(n) for c in COLUMNS for n in t[c].member("fBasketBytes")[: t[c].num_baskets])
        return baskets + f.key("Events").fNbytes + 1024


def serve(top):
    port = socket.create_server(("127.0.0.1", 0)).getsockname()[1]
    with open(top + "/x.cfg", "w") as f:
        f.write("all.export /pub r/o\nall.adminpath %s/adm\nall.pidpath %s/adm\nxrd.network nodnr\noss.localroot %s/data\nxrd.port %d\n" % (top, top, top, port))
    for d in top, top + "/adm", top + "/data", top + "/data/pub":
        os.makedirs(d, exist_ok=True)
        os.chmod(d, 0o777)
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    process = subprocess.Popen(drop + ["xrootd", "-c", top + "/x.cfg", "-l", top + "/adm/log"], cwd=top + "/adm")
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.1)
    return process, port


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--shardify", default="bin/shardify")
    p.add_argument("--rounds", type=int, default=5)
    o = p.parse_args()
    top = tempfile.mkdtemp()
    process = None
    try:
        os.makedirs(top + "/data/pub")
        floor = make(top + "/data/pub/wide.root")
        process, port = serve(top)
        link = Link(port)
        address = "root://127.0.0.1:%d//pub/wide.root" % link.port
        print("floor: %d bytes (header, tree, baskets)" % floor)
        for _ in range(o.rounds):
            for name in "uproot", "shardify":
                before, start = link.down, time.perf_counter()
                if name == "uproot":
                    out = subprocess.run([sys.executable, "-c", UPROOT, address] + COLUMNS, check=True, capture_output=True, text=True).stdout
                    took, whole = float(out.split()[0]), time.perf_counter() - start
                else:
                    out = top + "/out"
                    command = [o.shardify, "convert", address, "--object", "Events", "--columns", ",".join(COLUMNS), "-o", out, "--sync", "none"]
                    subprocess.run(command, check=True, capture_output=True)
                    took = whole = time.perf_counter() - start  # with the start of the program, planning and writing
                    shutil.rmtree(out)
                time.sleep(0.1)
                print("%-8s %.3f s, the process %.3f s, %d bytes, %.4f of the floor" % (name, took, whole, link.down - before, (link.down - before) / floor))
    finally:
        if process:
            process.kill()
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()
