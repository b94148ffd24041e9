"""The loader among processes, threads, signals and the end of the interpreter."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest
from loading import needs_library, numbered, run

import shardify
from shardify import delivery, groups

pytestmark = needs_library


@pytest.fixture
def path(tmp_path):
    return numbered(tmp_path / "s", 1000)


def test_importing_starts_nothing():
    out = run(
        """
        import sys, threading, os, shardify
        from shardify import clib
        assert clib._loaded is None and "torch" not in sys.modules
        assert len(os.listdir("/proc/self/task")) == 1 or "numpy" in sys.modules
        print("fine")
        """,
        OPENBLAS_NUM_THREADS="1",
    )
    assert out == "fine\n"


@pytest.mark.parametrize("copy", [True, False])
def test_a_forked_child_is_told_and_ends(path, copy):
    """Whatever it does with the parent's loader, tensors included; the parent goes on."""
    out = run(
        """
        import os, sys
        import shardify
        loader = shardify.Loader(%r, 10, framework="numpy", copy=%r, transform=lambda b: b, transform_threads=1)
        it = iter(loader)
        b = next(it)
        pid = os.fork()
        if pid == 0:
            wrong = 0
            for what in (lambda: next(it), lambda: iter(loader), lambda: loader.stats(),
                         lambda: shardify.Loader(%r, 10), lambda: loader.load_state_dict(loader.state_dict())):
                try:
                    what()
                    wrong += 1
                except shardify.ForkedError as e:
                    wrong += "forkserver" not in str(e)
            loader.close()
            ds = shardify.open(%r)
            wrong += int(ds[7]["x"]) != 7 or b["x"].tolist() != list(range(10))
            del b, it, loader
            sys.exit(wrong)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sum(1 for _ in it))
        """
        % (path, copy, path, path)
    )
    assert out == "0 99\n"


def test_a_child_forked_before_the_first_loader_works(path):
    out = run(
        """
        import multiprocessing, shardify, faulthandler
        faulthandler.dump_traceback_later(240, exit=True)

        def work(q):
            with shardify.Loader(%r, 10, framework="numpy") as loader:
                q.put(sum(int(b["x"].sum()) for b in loader))

        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            q = context.Queue()
            ps = [context.Process(target=work, args=(q,)) for _ in range(2)]
            [p.start() for p in ps]
            print(q.get(timeout=200), q.get(timeout=200))
            [p.join() for p in ps]
            work(q)
            print(q.get(timeout=200))
        """
        % path
    )
    assert out == "499500 499500\n499500\n"


@pytest.mark.parametrize(
    "end",
    [
        "pass",
        "loader = it = None",
        "os._exit(0)",
        "sys.exit(0)",
        "threading.Thread(target=lambda: [b for _ in [0] * 10**6 for b in loader], daemon=True).start(); time.sleep(0.1)",
        "threading.Thread(target=lambda: (time.sleep(0.3), kept.clear()), daemon=True).start()",
        "atexit.register(lambda: next(it))",
        "loader.__class__.__del__ = lambda self: None",
        "sys.modules.clear()",
    ],
)
@pytest.mark.parametrize("copy", [True, False])
def test_the_process_ends_cleanly_whatever_is_alive(path, copy, end):
    run(
        """
        import atexit, faulthandler, os, sys, threading, time
        faulthandler.dump_traceback_later(240, exit=True)
        import shardify
        loader = shardify.Loader(%r, 10, framework="numpy", copy=%r, shuffle="block")
        it = iter(loader)
        kept = [next(it) for _ in range(3)]
        class Late:
            def __del__(self):
                kept.clear()
        late = Late()
        late.self = late
        %s
        """
        % (path, copy, end)
    )


def test_an_error_in_atexit_is_shown_and_nothing_hangs(path):
    out = run(
        """
        import shardify, atexit, sys
        loader = shardify.Loader(%r, 10, framework="numpy")
        it = iter(loader)
        atexit.register(lambda: print(len(next(it)["x"])))  # before the loader's own, which is older
        """
        % path
    )
    assert out == "10\n"


def test_ctrl_c_ends_a_wait(path):
    out = run(
        """
        import faulthandler, os, signal, threading, time
        faulthandler.dump_traceback_later(240, exit=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
        import shardify
        from shardify import clib
        shardify.Loader._GROUP = 0
        loader = shardify.Loader(%r, 10, framework="numpy")
        it = iter(loader)
        next(it)
        # A call that never has anything to give: the library's answer is "again".
        real = loader._delivery.lib.fetch
        def never(*a):
            time.sleep(0.05)
            return clib.AGAIN
        loader._delivery.lib.fetch = never
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            next(it)
        except KeyboardInterrupt:
            loader._delivery.lib.fetch = real
            print("interrupted", len(next(it)["x"]))
        """
        % path
    )
    assert out == "interrupted 10\n"


@pytest.mark.parametrize("lent", [True, False])
def test_an_interrupted_batch_comes_again(path, monkeypatch, lent):
    """Ctrl-C while Python wraps a batch: nothing is left out, and no memory is lost."""
    with shardify.Loader(path, 10, framework="dlpack", device="cpu", copy=not lent, shuffle="global", depth=1) as loader:
        want = [b.ids.tolist() for b in loader]
        loader.set_epoch(0)
        plan, got, it = loader._plan, [], iter(loader)
        build = plan.build

        def interrupted(out, s, early):
            build(out, s, early)
            raise KeyboardInterrupt

        for k in range(12):
            monkeypatch.setattr(plan, "build", interrupted)
            with pytest.raises(KeyboardInterrupt):
                next(it)
            assert loader.state_dict()["position"] == 10 * k
            monkeypatch.setattr(plan, "build", build)
            got.append(next(it).ids.tolist())
        assert got + [b.ids.tolist() for b in it] == want


@pytest.mark.parametrize("lent", [True, False])
def test_an_interrupted_group_comes_again(path, monkeypatch, lent):
    """As above, while a group is made and while it is parted."""
    monkeypatch.setattr(shardify.Loader, "_GROUP", 3 * 10 * 8)
    with shardify.Loader(path, 10, framework="numpy", copy=not lent, shuffle="global", depth=1) as loader:
        assert loader._info["group"] == 3
        want = [b.ids.tolist() for b in loader]
        loader.set_epoch(0)
        got, it = [], iter(loader)
        homes = [(delivery, "Group", delivery.Group), (groups, "LoaderBatch", groups.LoaderBatch)]
        for k in range(24):
            for home, name, real in homes if k % 3 == 0 else homes[1:]:

                def interrupted(*a, real=real):
                    real(*a)
                    raise KeyboardInterrupt

                monkeypatch.setattr(home, name, interrupted)
                with pytest.raises(KeyboardInterrupt):
                    next(it)
                monkeypatch.setattr(home, name, real)
                assert loader.state_dict()["position"] == 10 * k
            got.append(next(it).ids.tolist())
        assert got + [b.ids.tolist() for b in it] == want


def test_pickling_is_refused_and_says_what_to_do(path):
    with shardify.Loader(path, 10, framework="numpy") as loader:
        for what in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="LoaderDataset"):
                what(loader)
        b = next(iter(loader))
        for c in (pickle.loads(pickle.dumps(b)), copy.copy(b), copy.deepcopy(b)):
            assert c["x"].tolist() == b["x"].tolist() and c.ids.tolist() == b.ids.tolist()
            assert (c.epoch, c.index, c.rows, c.size) == (0, 0, 10, 10)


def test_many_threads_share_one_iteration(path):
    """Each batch goes to one of them; close() ends those that wait."""
    with shardify.Loader(path, 10, framework="numpy", shuffle="global") as loader:
        it, seen, lock = iter(loader), [], threading.Lock()

        def take():
            while True:
                try:
                    b = next(it)
                except (StopIteration, RuntimeError):
                    return
                with lock:
                    seen.extend(b["x"].tolist())

        threads = [threading.Thread(target=take) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
    assert sorted(seen) == list(range(1000))
    ended = []
    loader = shardify.Loader(path, 1, framework="numpy")

    def until_closed():
        try:
            while True:
                for _ in loader:
                    pass
        except shardify.ClosedError:
            ended.append(1)

    thread = threading.Thread(target=until_closed)
    thread.start()
    loader.close()
    thread.join(120)
    assert ended == [1]


@pytest.mark.parametrize("how", ["copy", "lent", "loaders", "break"])
def test_a_thousand_epochs_leak_nothing(tmp_path, how):
    """After four times as many, in which Go's heap finds its size: 4 MiB of garbage before it is collected."""
    path = numbered(tmp_path / "s", 64)
    out = run(
        """
        import gc, sys, shardify
        sys.path.insert(0, %r)
        path, how = %r, %r

        def rss():
            gc.collect()
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * 4096

        def loader():
            return shardify.Loader(path, 8, framework="numpy", copy=how != "lent", shuffle="block")

        one = loader()
        epochs = 300 if how == "loaders" else 1000
        for epoch in range(5 * epochs):
            if how == "loaders":
                with loader() as one:
                    list(one)
            for b in one if how != "loaders" else ():
                if how == "break" and b.index == 3:
                    break
            if epoch == 4 * epochs - 1:
                before = rss()
        b = None
        print((rss() - before) >> 10)
        """
        % (str(tmp_path), path, how),
        timeout=300,
    )
    assert int(out) < 1536, "grew by %s KiB" % out
