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
import time

COLUMNS = ["b%03d" % i for i in range(3, 100, 10)]

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
    """bench/delay before a port. count() is the bytes that came back."""

    def __init__(self, port, delay="10ms"):
        with tempfile.TemporaryDirectory() as top:
            subprocess.run(["go", "build", "-o", top + "/delay", "./bench/delay"], check=True, cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            self.process = subprocess.Popen([top + "/delay", "-to", "127.0.0.1:%d" % port, "-each", delay], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.address = self.process.stdout.readline().strip()

    def count(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[0])


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
        address = "root://%s//pub/wide.root" % link.address
        print("floor: %d bytes (header, tree, baskets)" % floor)
        for _ in range(o.rounds):
            for name in "uproot", "shardify":
                before, start = link.count(), time.perf_counter()
                if name == "uproot":
                    out = subprocess.run([sys.executable, "-c", UPROOT, address] + COLUMNS, check=True, capture_output=True, text=True).stdout
                    took, whole = float(out.split()[0]), time.perf_counter() - start
                else:
                    out = top + "/out"
                    command = [o.shardify, "convert", address, "--object", "Events", "--columns", ",".join(COLUMNS), "-o", out, "--sync", "none"]
                    subprocess.run(command, check=True, capture_output=True)
                    took = whole = time.perf_counter() - start  # with the start of the program, planning and writing
                    shutil.rmtree(out)
                down = link.count() - before
                print("%-8s %.3f s, the process %.3f s, %d bytes, %.4f of the floor" % (name, took, whole, down, down / floor))
    finally:
        if process:
            process.kill()
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()
