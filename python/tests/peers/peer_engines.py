"""shardify.run on the engines of PyPI, whose workers, tasks and driver are killed at random.

ENGINES_RUNS runs of each (3 if not set), a third of those of processes with a driver that is killed, too. 24 inputs, 6 tasks. The bytes have
to be those of the serial run, and no task may run again unless its worker, its process or its driver died. Names of ENGINES_ONLY that begin with
s3- have inputs, plan, receipts and output in an object store, and no other folder in common.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "..", "..")
for folder in (os.path.join(HERE, ".."), PYTHON):
    sys.path.insert(0, os.path.abspath(folder))
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # for the programs of engines
os.environ["PYTHONPATH"] = os.pathsep.join([os.path.abspath(PYTHON), HERE])

import engines  # noqa: E402

import shardify  # noqa: E402

RUNS = int(os.environ.get("ENGINES_RUNS", "3"))
KILLS = 6  # of a run, at most


class Absent(Exception):
    """An engine is not installed."""


def say(status, what):
    print(json.dumps({"status": status, "peer": "engines", "what": what}), flush=True)


def workers_of(pid, word):
    return [p for p in engines.children(pid) if word in line_of(p)]


def line_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


class Processes:
    """concurrent.futures; a pool that is broken is replaced."""

    def __init__(self):
        self.made = []

    def executor(self):
        from concurrent.futures import ProcessPoolExecutor

        def make():
            self.made.append(ProcessPoolExecutor(2))
            return self.made[-1]

        return make

    def victims(self):
        return [p for m in self.made for p in list(m._processes or {})]

    def close(self):
        pass


class Dask:
    def __init__(self):
        try:
            import dask
            from distributed import Client, LocalCluster
        except ImportError as e:
            raise Absent(str(e)) from None
        dask.config.set({"distributed.scheduler.allowed-failures": 1000})
        self.cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=60)
        self.client = Client(self.cluster)

    def executor(self):
        return self.client

    def victims(self):  # below their nannies, which replace them
        return workers_of(os.getpid(), "spawn_main")

    def close(self):
        self.client.close()
        self.cluster.close()


class Ray:
    def __init__(self):
        try:
            import ray
        except ImportError as e:
            raise Absent(str(e)) from None
        self.ray = ray
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False, object_store_memory=100 << 20)

    def executor(self):
        return shardify.RayExecutor()

    def victims(self):
        return [p for p in engines.children(os.getpid()) if line_of(p).startswith("ray::call")]

    def close(self):
        self.ray.shutdown()


class Parsl:
    def __init__(self):
        try:
            import parsl
            from parsl.concurrent import ParslPoolExecutor
            from parsl.config import Config
            from parsl.executors import HighThroughputExecutor
            from parsl.providers import LocalProvider
        except ImportError as e:
            raise Absent(str(e)) from None
        self.folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), "parsl-%d" % os.getpid())
        self.parsl = parsl
        htex = HighThroughputExecutor(label="htex", max_workers_per_node=2, address="127.0.0.1", provider=LocalProvider(init_blocks=1, max_blocks=1), heartbeat_period=1, heartbeat_threshold=4)
        self.pool = ParslPoolExecutor(Config(executors=[htex], run_dir=self.folder, usage_tracking=0, retries=0))

    def executor(self):
        return self.pool

    def victims(self):  # workers of the manager, which replaces them
        return [p for p in engines.processes("HTEX-Worker") if p in engines.children(os.getpid())]

    def close(self):
        self.pool.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)


def run_killed(engine, place, wanted, seed):
    out, folder = place.of("engine-%d" % seed)
    engines.plan(place.of("in")[0], out)
    rng = random.Random(seed)

    def victims():
        return engine.victims() + engines.processes("work " + out)

    with engines.Killer(victims, rng, most=KILLS, every=(0.02, 0.25)) as k:
        r = shardify.run(out, executor=engine.executor(), tasks=engines.TASKS, tries=50, backoff=0.01)
    assert engines.digests(folder) == wanted, "the bytes differ"
    assert r.tries - r.lost == r.tasks <= engines.TASKS + 2, "a task that was done ran again: %r" % (r,)
    assert r.lost == 0 or k.killed > 0, "a task was lost without a kill"
    shutil.rmtree(folder)
    return k.killed


DRIVER = """\
import sys
from concurrent.futures import ProcessPoolExecutor
import shardify
if __name__ == "__main__":
    shardify.run(sys.argv[1], executor=lambda: ProcessPoolExecutor(2), tasks=6)
"""
MPI = """\
import os, sys, random
import engines, shardify
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    out, seed = sys.argv[1:]
    with engines.Killer(lambda: engines.processes("work " + out), random.Random(int(seed)), most=6, every=(0.02, 0.25)) as k:
        with MPIPoolExecutor() as pool:
            shardify.run(out, executor=pool, tasks=6, tries=50, backoff=0.01)
    print("killed", k.killed)
"""


def with_driver(inputs, wanted, work, seed):
    out = engines.plan(inputs, os.path.join(work, "driver-%d" % seed))
    script = os.path.join(work, "drive.py")
    with open(script, "w") as f:
        f.write(DRIVER)
    killed = engines.driver(script, out, kills=3, rng=random.Random(seed))
    assert engines.digests(out) == wanted, "the bytes differ"
    shutil.rmtree(out)
    return killed


def with_mpi(inputs, wanted, work, seed):
    out = engines.plan(inputs, os.path.join(work, "mpi-%d" % seed))
    script = os.path.join(work, "mpi.py")
    with open(script, "w") as f:
        f.write(MPI)
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([os.environ["PYTHONPATH"], os.path.abspath(os.path.join(HERE, ".."))]), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    p = subprocess.run(["mpiexec", "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures", script, out, str(seed)], env=env, stdout=-1, stderr=-1, universal_newlines=True, timeout=180)
    assert p.returncode == 0, p.stderr[-600:]
    assert engines.digests(out) == wanted, "the bytes differ"
    shutil.rmtree(out)
    return int(p.stdout.split()[-1])


def with_gridengine(inputs, wanted, work, seed):
    """Job files of submit sge; what was killed is submitted again with --missing."""
    out = engines.plan(inputs, os.path.join(work, "sge-%d" % seed))
    with engines.Killer(lambda: engines.processes("work " + out), random.Random(seed), most=4, every=(0.01, 0.15)) as k:
        more = ["--elements", str(engines.TASKS)]
        while not os.path.exists(os.path.join(out, "shardify.json")):
            subprocess.run([engines.program(), "submit", "sge", out, "--now", "--quiet", *more], check=True, stdout=subprocess.DEVNULL)
            more, end = ["--missing"], time.monotonic() + 300
            while subprocess.run(["qstat"], stdout=subprocess.PIPE, check=True).stdout.strip():
                assert time.monotonic() < end, "the queue does not end"
                time.sleep(0.5)
    assert engines.digests(out) == wanted, "the bytes differ"
    shutil.rmtree(out)
    return k.killed


def with_slurm(place, wanted, seed):
    """Scripts of submit slurm; elements that were killed are submitted again with --missing, and no others."""
    out, folder = place.of("slurm-%d" % seed)
    engines.plan(place.of("in")[0], out)
    again, more = 0, ["--elements", str(engines.TASKS), "--cpus", "1", "--mem", "300MiB", "--merge-mem", "300MiB", "--time", "5m", "--merge-time", "5m"]
    with engines.Killer(lambda: engines.processes("work " + out), random.Random(seed), most=4, every=(0.01, 0.15)) as k:
        while not os.path.exists(os.path.join(folder, "shardify.json")):
            p = subprocess.run([engines.program(), "submit", "slurm", out, "--now", "--json", *more], check=True, stdout=subprocess.PIPE, universal_newlines=True)
            arrays = re.findall(r"#SBATCH --array=([0-9,-]+)", json.loads(p.stdout.splitlines()[-1])["scripts"][0]["text"])
            again += engines.count(arrays[0]) if "--missing" in more and arrays else 0
            more, end = ["--missing"], time.monotonic() + 300
            while subprocess.run(["squeue", "-h"], stdout=subprocess.PIPE, check=True).stdout.strip():
                assert time.monotonic() < end, "the queue does not end"
                time.sleep(0.5)
    assert engines.digests(folder) == wanted, "the bytes differ"
    assert again <= k.killed, "%d elements ran again after %d kills" % (again, k.killed)
    shutil.rmtree(folder)
    return k.killed


def with_local(place, wanted, seed):
    """The program's own run; of every fifth run, the driver is killed, too."""
    out, folder = place.of("local-%d" % seed)
    engines.plan(place.of("in")[0], out)
    rng, drivers = random.Random(seed), 0
    with engines.Killer(lambda: engines.processes("work " + out), random.Random(seed), most=KILLS, every=(0.02, 0.25)) as k:
        while True:
            wanted_kills = 3 if seed % 5 == 0 else 0
            words = [engines.program(), "run", out, "--tasks", str(engines.TASKS), "--at-once", "2", "--tries", "50", "--json", "--quiet"]
            p = subprocess.Popen(words, stdout=subprocess.PIPE, universal_newlines=True)
            try:
                text, _ = p.communicate(timeout=rng.uniform(0.2, 1.5) if drivers < wanted_kills else 300)
            except subprocess.TimeoutExpired:
                p.kill()
                p.communicate()
                assert drivers < wanted_kills, "the driver hangs"
                drivers += 1
                continue
            assert p.returncode == 0, text
            break
    r = json.loads(text.splitlines()[-1])
    assert engines.digests(folder) == wanted, "the bytes differ"
    assert r["tries"] - r["lost"] == r["tasks"] <= engines.TASKS + 2, "a task that was done ran again: %r" % (r,)
    shutil.rmtree(folder)
    return k.killed + drivers


LIMITED = """\
#!/bin/sh
# The kernel gives a task the memory that it was asked for, and kills it where that is not enough.
case "$1" in work)
    group=%s/$$ memory=$(echo "$*" | sed 's/.*--memory \\([0-9]*\\).*/\\1/')
    mkdir -p $group && echo $memory >$group/%s && echo $$ >$group/cgroup.procs || exit 4 ;;
esac
exec "%s" "$@"
"""


def with_limits(place, wanted, seed):
    """Tasks with too little memory: an error that names the option, and with grow= the set."""
    for top, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = os.path.join(top, "shardify-%d" % os.getpid())
        try:
            os.mkdir(group)
        except OSError:
            continue
        if os.path.exists(os.path.join(group, limit)):
            break
        os.rmdir(group)
    else:
        raise Absent("no control group whose memory can be limited")
    out, folder = place.of("limits-%d" % seed)
    engines.plan(place.of("in")[0], out)
    program = os.path.join(place.folder, "limited")
    with open(program, "w") as f:
        f.write(LIMITED % (group, limit, engines.program()))
    os.chmod(program, 0o755)
    common = dict(tasks=2, memory="4MiB", program=program, backoff=0.01)
    try:
        with ThreadPoolExecutor(2) as pool:
            try:
                shardify.run(out, executor=pool, tries=2, **common)
                raise AssertionError("4 MiB were enough")
            except shardify.TaskError as e:
                assert e.code in (-9, 137) and "memory=" in str(e) and 'grow="double"' in str(e), str(e)
            r = shardify.run(out, executor=pool, grow="double", tries=8, **common)
    finally:
        for name in os.listdir(group):
            if os.path.isdir(os.path.join(group, name)):
                os.rmdir(os.path.join(group, name))
        os.rmdir(group)
    assert engines.digests(folder) == wanted, "the bytes differ"
    shutil.rmtree(folder)
    return r.lost


class Image:
    """Threads that start the program in a root with what the image of packaging/container has: the program and a folder to work in."""

    def __init__(self, place):
        root = os.path.abspath(os.path.join(place.folder, "..", "..", "image"))
        os.makedirs(os.path.join(root, "bin"))
        os.makedirs(os.path.join(root, "data"))
        shutil.copy(engines.program(), os.path.join(root, "bin", "shardify"))
        self.before, self.pool = engines.program(), ThreadPoolExecutor(2)
        with open(root + ".sh", "w") as f:
            f.write('#!/bin/sh\nexec chroot %s /bin/shardify "$@"\n' % root)
        os.chmod(root + ".sh", 0o755)
        os.environ["SHARDIFY"] = root + ".sh"

    def executor(self):
        return self.pool

    def victims(self):
        return []

    def close(self):
        self.pool.shutdown()
        os.environ["SHARDIFY"] = self.before


def check(name, runs, once, about=""):
    start, killed = time.monotonic(), 0
    try:
        for seed in range(runs):
            killed += once(seed)
    except Absent as e:
        return say("skipped", "%s: %s" % (name, e))
    except BaseException as e:  # of the engines, too
        return say("FAILED", "%s: run %d, %d kills: %s: %s" % (name, seed, killed, type(e).__name__, str(e)[-500:]))
    say("ok", "%s: %d runs%s, %d kills: the bytes of the serial run (%.0f s)" % (name, runs, about, killed, time.monotonic() - start))


POOLS = {"processes": Processes, "dask": Dask, "ray": Ray, "parsl": Parsl}


def pools(prefix, place, wanted, only):
    for name, kind in POOLS.items():
        if prefix + name not in only:
            continue
        try:
            engine = kind()
        except Absent as e:
            say("skipped", "%s%s: %s" % (prefix, name, e))
            continue
        try:
            check(prefix + name, RUNS, lambda seed: run_killed(engine, place, wanted, seed))
        finally:
            engine.close()
    if prefix + "local" in only:
        check(prefix + "local", RUNS, lambda seed: with_local(place, wanted, seed), ", the driver of every fifth killed")


def queues(place, wanted, only):
    inputs = place.of("in")[0]
    for name, command, once, how in (
        ("gridengine", "qstat", lambda seed: with_gridengine(inputs, wanted, place.folder, seed), "no qmaster answers (Debian: gridengine-master, gridengine-exec; SGE_ROOT)"),
        ("slurm", "squeue", lambda seed: with_slurm(place, wanted, seed), "no slurmctld answers (Debian: slurm-wlm, munge; SLURM_CONF)"),
    ):
        if name not in only:
            continue
        if shutil.which(command) is None or subprocess.run([command], stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode != 0:
            say("skipped", "%s: %s" % (name, how))
        else:
            check(name, RUNS, once)


def main():
    work = os.path.join(sys.argv[1], "engines")
    shutil.rmtree(work, ignore_errors=True)
    disk = engines.Disk(work)
    inputs = engines.make_inputs(disk.of("in")[1])
    wanted = engines.serial(inputs, os.path.join(work, "serial"))
    names = [p + n for p in ("", "s3-") for n in [*POOLS, "local"]] + ["driver", "mpi", "gridengine", "slurm", "limits", "s3-image"]
    only = os.environ.get("ENGINES_ONLY", ",".join(names)).split(",")
    pools("", disk, wanted, only)
    if any(n.startswith("s3-") for n in only):
        try:
            store = engines.Store(os.path.join(work, "store"))
        except ImportError as e:
            say("skipped", "s3: %s" % e)
        else:
            store.adopt(engines.make_inputs(store.of("in")[1]))
            expected = engines.serial(store.of("in")[0], store.of("serial")[0], folder=store.of("serial")[1])
            pools("s3-", store, expected, only)
            if "s3-image" in only and os.getuid() == 0:
                engine = Image(store)
                check("s3-image", RUNS, lambda seed: run_killed(engine, store, expected, seed), " in a root of the image")
                engine.close()
            store.close()
    if "driver" in only:
        check("processes", -(-RUNS // 3), lambda seed: with_driver(inputs, wanted, work, seed), " whose driver was killed")
    if "mpi" in only:
        try:
            import mpi4py  # noqa: F401
        except ImportError as e:
            say("skipped", "mpi: %s" % e)
        else:
            if shutil.which("mpiexec") is None:
                say("skipped", "mpi: no mpiexec (Debian: apt install openmpi-bin)")
            else:
                check("mpi", RUNS, lambda seed: with_mpi(inputs, wanted, work, seed))
    queues(disk, wanted, only)
    if "limits" in only:
        check("limits", 1, lambda seed: with_limits(disk, wanted, seed), " with memory from 4 MiB on, doubled")
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Python waits for ever for a pool whose last workers were killed while they took a task
