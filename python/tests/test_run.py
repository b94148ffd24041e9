"""shardify.run: plans on engines. Those of PyPI are in peers/peer_engines.py."""

import json
import os
import random
import subprocess
import sys
import textwrap
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import engines
import pytest

import shardify
from shardify import running, tasks

HERE = os.path.dirname(os.path.abspath(__file__))
CODES = os.path.join(HERE, "..", "..", "pipeline", "driver", "testdata", "codes.json")
LONG = bool(os.environ.get("SHARDIFY_LONG"))

pytestmark = pytest.mark.skipif("SHARDIFY" not in os.environ, reason="SHARDIFY names no program")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return engines.make_inputs(str(tmp_path_factory.mktemp("run") / "in"))


@pytest.fixture(scope="module")
def wanted(inputs, tmp_path_factory):
    return engines.serial(inputs, str(tmp_path_factory.mktemp("serial") / "out"))


def test_codes_are_those_of_the_program_run():
    with open(CODES) as f:
        for code, want in json.load(f).items():
            assert running.again(int(code)) == (want == "again"), code


def test_threads(inputs, wanted, tmp_path):
    out = engines.plan(inputs, str(tmp_path / "out"))
    seen = []
    with ThreadPoolExecutor(2) as pool:
        r = shardify.run(out, executor=pool, tasks=engines.TASKS, progress=seen.append)
        assert (r.samples, r.tasks, r.tries, r.lost) == (48000, engines.TASKS + 1, engines.TASKS + 1, 0)
        assert [s.done for s in seen] == [1, 2, 3, 4, 5, 6, 1] and seen[-1].stage == "merge"
        assert engines.digests(out) == wanted
        again = shardify.run(out, executor=pool, tasks=engines.TASKS)
        assert again.tries == 0 and again.samples == 48000


def test_both_stages_of_a_global_shuffle(inputs, tmp_path):
    flags = ("--shuffle", "global", "--seed", "3")
    wanted = engines.serial(inputs, str(tmp_path / "serial"), *flags)
    out = engines.plan(inputs, str(tmp_path / "out"), *flags)
    stages = []
    with ThreadPoolExecutor(2) as pool:
        shardify.run(out, executor=pool, tasks=3, progress=lambda s: stages.append(s.stage))
    assert stages == ["scatter"] + ["gather"] * 3 + ["merge"]  # so few bytes are one unit to scatter
    assert engines.digests(out) == wanted


def test_what_fails_is_not_run_again(inputs, tmp_path):
    folder = engines.make_inputs(str(tmp_path / "in"), rows=20)
    out = engines.plan(folder, str(tmp_path / "out"))
    os.remove(os.path.join(folder, "a007.csv"))
    with ThreadPoolExecutor(1) as pool, pytest.raises(shardify.TaskError, match="a007.csv") as e:
        shardify.run(out, executor=pool, tasks=engines.TASKS)
    assert e.value.code == 1 and e.value.task >= 0


def test_no_plan(tmp_path):
    with ThreadPoolExecutor(1) as pool, pytest.raises(shardify.TaskError, match="shardify convert"):
        shardify.run(tmp_path / "absent", executor=pool)


@pytest.mark.parametrize("what", [dict(grow="half"), dict(tasks=0), dict(tries=0), dict(cores=1.5)])
def test_bad_arguments(what):
    with pytest.raises(shardify.UsageError):
        shardify.run("x", executor=None, **what)


class Scripted:
    """An engine whose tasks end as a script says: a code, an exception, or None, which runs them."""

    def __init__(self, script):
        self.script, self.words = script, []

    def submit(self, function, words, program):
        self.words.append(words)
        f = Future()
        how = self.script.pop(0) if self.script else None
        if isinstance(how, BaseException):
            f.set_exception(how)
        elif how is None:
            f.set_result(function(words, program))
        else:
            f.set_result({"code": how, "objects": {}, "text": "said", "host": "h", "seconds": 0.0})
        return f


def test_a_merge_that_left_input_out_has_made_the_set(inputs, wanted, tmp_path):
    class Incomplete(Scripted):
        def submit(self, function, words, program):
            f = super().submit(function, words, program)
            if words[0] == "merge":
                f.result()["code"] = 3  # as with --on-error skip
            return f

    out = engines.plan(inputs, str(tmp_path / "out"))
    assert shardify.run(out, executor=Incomplete([]), tasks=1).samples == 48000
    assert engines.digests(out) == wanted


def memories(engine):
    return [w[w.index("--memory") + 1] for w in engine.words if "--memory" in w]


def test_lost_workers_and_stopped_tasks_are_run_again(inputs, wanted, tmp_path):
    out = engines.plan(inputs, str(tmp_path / "out"))
    engine = Scripted([75, RuntimeError("worker lost"), 137, 143, -15, None])
    r = shardify.run(out, executor=engine, tasks=1, tries=6, backoff=0.001, memory="1GiB")
    assert (r.tries, r.lost) == (7, 5) and set(memories(engine)) == {str(1 << 30)}
    assert engines.digests(out) == wanted


def test_twice_the_memory_after_a_kill(inputs, tmp_path):
    out = engines.plan(inputs, str(tmp_path / "out"))
    engine = Scripted([137, 75, -9, None])
    shardify.run(out, executor=engine, tasks=1, backoff=0.001, memory="1GiB", grow="double")
    assert memories(engine) == [str(n << 30) for n in (1, 2, 2, 4)]


def test_tries_come_to_an_end(inputs, tmp_path):
    out = engines.plan(inputs, str(tmp_path / "out"))
    engine = Scripted([137] * 9)
    with pytest.raises(shardify.TaskError, match="with memory=") as e:
        shardify.run(out, executor=engine, tasks=1, tries=3, backoff=0.001)
    assert e.value.code == 137 and len(engine.words) == 3


def test_a_worker_without_the_wheel(inputs, tmp_path):
    out = engines.plan(inputs, str(tmp_path / "out"))
    with pytest.raises(shardify.TaskError, match="need the wheel"):
        shardify.run(out, executor=Scripted([ModuleNotFoundError("no module named shardify")]), tasks=1)


def test_a_task_that_needs_more_memory_than_its_limit(inputs, wanted, tmp_path):
    """A real limit: the shell gives a task as much address space of data as it asked for."""
    out = engines.plan(inputs, str(tmp_path / "out"))
    limited = str(tmp_path / "limited")
    with open(limited, "w") as f:
        f.write(
            textwrap.dedent("""\
            #!/bin/sh
            # A task is killed, as for its memory, unless it was given 8 MiB.
            case "$1 $*" in work*"--memory 8388608"*) ;; work*) kill -9 $$ ;; esac
            exec %s "$@"
            """)
            % engines.program()
        )
    os.chmod(limited, 0o755)
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(shardify.TaskError, match="memory="):
            shardify.run(out, executor=pool, tasks=2, memory=1 << 20, program=limited, tries=2, backoff=0.01)
        shardify.run(out, executor=pool, tasks=2, memory=1 << 20, grow="double", program=limited, backoff=0.01)
    assert engines.digests(out) == wanted


class Declared:
    """A client of Dask, as far as it is asked, whose workers declare what they have."""

    __module__ = "distributed.client"

    def __init__(self, **has):
        self.has, self.asked = has, []

    def scheduler_info(self):
        return {"workers": {"a": {"resources": {k: v // 2 for k, v in self.has.items()}}, "b": {"resources": self.has}, "c": {}}}

    def submit(self, function, *words, pure, retries, resources):
        assert (pure, retries) == (False, 0)
        self.asked.append(resources)
        f = Future()
        f.set_result({"code": 137, "objects": {}, "text": "", "host": "h", "seconds": 0.0} if words[0][0] == "work" and len(self.asked) < 3 else function(*words))
        return f


def test_a_task_that_no_worker_has_room_for(inputs, tmp_path):
    out = engines.plan(inputs, str(tmp_path / "out"))
    said = r'needs 1073741824 bytes of memory, and the largest worker of Dask declares 1048576\nhint: .*memory=\nhint: .*"memory=1073741824"'
    with pytest.raises(shardify.TaskError, match=said):
        shardify.run(out, executor=Declared(memory=1 << 20), tasks=1, memory="1GiB")
    grown = Declared(memory=3 << 30)  # room for twice as much, not for four times
    with pytest.raises(shardify.TaskError, match="needs 4294967296 bytes"):
        shardify.run(out, executor=grown, tasks=1, memory="1GiB", grow="double", backoff=0.001)
    assert grown.asked == [{"memory": 1 << 30}, {"memory": 2 << 30}]
    enough = Declared(memory=4 << 30, cores=2)
    assert shardify.run(out, executor=enough, tasks=1, memory="1GiB", grow="double", cores=2, backoff=0.001).samples == 48000
    assert [a["memory"] >> 30 for a in enough.asked[:3]] == [1, 2, 4] and enough.asked[0]["cores"] == 2


class Pool:
    """A ParslPoolExecutor, as far as it is asked."""

    __module__ = "parsl.concurrent"
    executors = "all"

    def __init__(self, kind, **has):
        self.asked = []
        executor = type(kind, (), dict(has, label="htex"))()
        self._dfk = type("DataFlowKernel", (), {"executors": {"htex": executor, "_parsl_internal": object()}})()

    def submit(self, function, *words, **asked):
        self.asked.append(asked)
        f = Future()
        f.set_result(function(*words, **asked))
        return f


def test_sizes_in_the_words_of_parsl(inputs, wanted, tmp_path):
    out = engines.plan(inputs, str(tmp_path / "out"))
    with pytest.raises(shardify.TaskError, match="Parsl's htex has mem_per_worker=0.5"):
        shardify.run(out, executor=Pool("HighThroughputExecutor", mem_per_worker=0.5), tasks=1, memory="1GiB")
    pool = Pool("TaskVineExecutor")
    shardify.run(out, executor=pool, tasks=1, memory="1GiB", cores=2)
    asked = [a["parsl_resource_specification"] for a in pool.asked]
    assert asked[0] == {"cores": 2, "memory": 1074, "disk": 1000, "running_time_min": 10} and asked[1]["running_time_min"] == 60
    assert engines.digests(out) == wanted
    roomy = Pool("HighThroughputExecutor", mem_per_worker=1)
    shardify.run(engines.plan(inputs, str(tmp_path / "other")), executor=roomy, tasks=1, memory="1GiB")
    assert roomy.asked == [{}, {}]


KILLED = """\
import os, random, sys, traceback
from concurrent.futures import ProcessPoolExecutor
sys.path.insert(0, %r)
import engines
import shardify

made = []

def make():
    made.append(ProcessPoolExecutor(2))
    return made[-1]

def victims():
    return [p for m in made for p in list(m._processes or {})] + engines.processes("work " + sys.argv[1])

def main():
    with engines.Killer(victims, random.Random(int(sys.argv[2])), most=6):
        r = shardify.run(sys.argv[1], executor=make, tasks=engines.TASKS, tries=20, backoff=0.01)
    assert r.tries - r.lost == r.tasks, r

if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # Python waits for ever for a pool whose last workers were killed while they took a task
"""


@pytest.mark.parametrize("seed", range(40 if LONG else 2))
def test_a_pool_whose_workers_and_tasks_are_killed(inputs, wanted, tmp_path, seed):
    out = engines.plan(inputs, str(tmp_path / "out"))
    script = tmp_path / "killed.py"
    script.write_text(KILLED % HERE)
    subprocess.run([sys.executable, str(script), out, str(seed)], check=True, timeout=120, env=dict(os.environ, PYTHONPATH=os.path.join(HERE, "..")))
    assert engines.digests(out) == wanted


def test_a_broken_pool_that_nothing_replaces(inputs, tmp_path):
    out = engines.plan(inputs, str(tmp_path / "out"))
    pool = ProcessPoolExecutor(1)
    with pytest.raises(Exception):
        pool.submit(os._exit, 1).result()
    with pytest.raises(shardify.TaskError, match="pass a function"):
        shardify.run(out, executor=pool, tasks=2)


@pytest.mark.parametrize("seed", range(10 if LONG else 1))
def test_a_driver_that_is_killed(inputs, wanted, tmp_path, seed):
    out = engines.plan(inputs, str(tmp_path / "out"))
    script = tmp_path / "drive.py"
    script.write_text(
        textwrap.dedent("""\
        import sys
        from concurrent.futures import ProcessPoolExecutor
        import shardify
        if __name__ == "__main__":
            shardify.run(sys.argv[1], executor=lambda: ProcessPoolExecutor(2), tasks=6)
        """)
    )
    engines.driver(str(script), out, kills=2, rng=random.Random(seed))
    assert engines.digests(out) == wanted


def test_at_once(inputs, tmp_path):
    out = engines.plan(inputs, str(tmp_path / "out"))
    made, most = [], [0]

    class Counted(ThreadPoolExecutor):
        def submit(self, *args):
            f = super().submit(*args)
            made.append(f)  # callbacks of one that is done may come after those who wait for it go on
            most[0] = max(most[0], sum(not f.done() for f in made))
            return f

    with Counted(6) as pool:
        shardify.run(out, executor=pool, tasks=engines.TASKS, at_once=2)
    assert len(made) >= engines.TASKS and 1 <= most[0] <= 2


def test_sizes():
    assert [running.size(x) for x in (5, "5", "2GiB", "3MB", "1.5KiB")] == [5, 5, 2 << 30, 3_000_000, 1536]


def test_a_call_says_what_the_program_said(tmp_path):
    r = tasks.call(["status", str(tmp_path / "absent")])
    assert r["code"] == 1 and "no such" in r["objects"]["error"]["message"] and r["host"]
    assert sys.version_info > (3, 6)
