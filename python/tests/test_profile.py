"""shardify.profile: what a loop waits for, of any loader."""

from __future__ import annotations

import os
import sys
import time
import types

import numpy as np
import pytest

from shardify import profiling
from shardify.profiling import Profile, length, profile, size
from shardify.usage import Usage

BATCH = {"x": np.zeros((8, 16), "f4"), "y": np.zeros(8, "i8")}


def sleepy(seconds, n=1000, first=0.0):
    time.sleep(first)
    for _ in range(n):
        time.sleep(seconds)
        yield BATCH


@pytest.fixture
def clock(monkeypatch):
    """A clock that sleep() alone moves: the figures are exact, whatever else the machine does."""
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    fake = types.SimpleNamespace(perf_counter=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(profiling, "time", fake)
    monkeypatch.setattr(sys.modules[__name__], "time", fake)


def busy(seconds, n=1000):
    for _ in range(n):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
        yield BATCH


def test_waiting_and_stepping_add_up(clock):
    p = profile(sleepy(0.004), 20, 0.008, quiet=True)
    assert p.steps == 20 and p.warmup == 3 and p.samples == 160 and p.bytes == 20 * (8 * 16 * 4 + 64)
    assert (p.wait, p.step, p.seconds) == pytest.approx((0.08, 0.16, 0.24))
    assert p.utilization == pytest.approx(2 / 3) and p.samples_per_second == pytest.approx(160 / 0.24)


def test_what_comes_first_is_not_counted(clock):
    """A slow start, and batches that workers made ahead, say nothing about the rate."""

    def starts():
        time.sleep(0.3)
        for _ in range(3):
            time.sleep(0.1)
            yield BATCH
        yield from sleepy(0.001, 10)

    p = profile(starts(), 10, quiet=True)
    assert (p.first_wait, p.wait) == pytest.approx((0.4, 0.01)) and p.steps == 10

    class Workers:
        num_workers, prefetch_factor, batch_size = 3, 4, 6

        def __iter__(self):
            return sleepy(0)

    p = profile(Workers(), 5, quiet=True)
    assert p.warmup == 13 and p.loader == "Workers(num_workers=3)" and p.samples == 5 * 6


def test_the_bottleneck_is_named(clock):
    assert profile(sleepy(0.01), 15, 0.001, quiet=True).bound == "read"
    assert profile([BATCH] * 30, 15, 0.02, quiet=True).bound == "consumer"


def test_a_process_that_computes_is_the_bottleneck():
    assert profile(busy(0.01), 15, 0.001, quiet=True).bound == "process"


USED = {
    "handover": dict(wait_wanting=0.7, used=Usage(0.8, {1: 0.3}, {1: 0.3}, 0)),
    "workers": dict(wait_wanting=0.1, used=Usage(0.2, {1: 0.4, 2: 0.4, 3: 0.0}, {1: 0.9, 2: 0.9, 3: 0.0}, 0)),
    "cores": dict(wait_wanting=0.1, used=Usage(1.8, {}, {}, 0)),
    "threads": dict(wait_wanting=0.1, used=Usage(0.9, {}, {}, 0)),
    "process": dict(wait_wanting=0.9, used=Usage(0.9, {7: 0.0}, {7: 0.0}, 0)),
    "read": dict(wait_wanting=0.1, used=Usage(0.2, {1: 0.1}, {1: 0.1}, 5_000_000)),
}


@pytest.mark.parametrize("bound", USED)
def test_the_verdict_follows_from_who_computes(bound):
    p = Profile("L", 2, 3, True, waits=[0.1] * 9, computes=[0.01] * 9, seconds=1.0, **USED[bound])
    assert p.bound == bound and "never waiting, it would be 11.0 times as fast" in p.verdict
    p.cores = 1
    assert ("affinity mask" in p.verdict) == (os.cpu_count() > 1)
    p.computes = [10.0] * 9
    assert p.bound == "consumer" and "consumer" in p.verdict


def test_without_a_step_it_tells_the_shortest_that_does_not_wait(capsys):
    p = profile(sleepy(0.005), 10)
    out = capsys.readouterr().out
    assert p.utilization is None and "a step shorter than" in p.verdict and "utilisation" not in out
    assert "10 steps, after 3 that are not counted" in out and "samples/s" in out and "verdict" in out


def test_a_loader_that_ends_early_is_measured_as_far_as_it_goes():
    assert profile(sleepy(0, 7), 100, quiet=True).steps == 4
    with pytest.raises(ValueError, match="warmup=0"):
        profile(sleepy(0, 2), 100)
    assert profile(sleepy(0, 2), 100, warmup=0, quiet=True).steps == 2
    with pytest.raises(ValueError, match="steps"):
        profile(sleepy(0), 0)


def test_errors_of_loader_and_step_come_through():
    def broken():
        yield BATCH
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        profile(broken(), 5)
    with pytest.raises(ZeroDivisionError):
        profile(sleepy(0), 5, lambda batch: 1 // 0)


@pytest.mark.parametrize(
    "batch,n,bytes_",
    [
        (np.zeros((4, 3), "u1"), 4, 12),
        ((np.zeros((4, 3)), np.zeros(4)), 4, 128),
        ([np.zeros((4, 3)), ["a", "bc", "d", "e"]], 4, 101),
        ({"j": {"values": np.zeros(9, "f4"), "offsets": np.zeros(5, "i8")}, "y": np.zeros(4)}, 4, 108),
        ([{"jpg": b"abc"}, {"jpg": b"d"}], 2, 4),
        ({"jpg": b"abc", "cls": 3}, None, 3),
        (np.float32(3), None, 4),
        (None, None, 0),
    ],
)
def test_samples_and_bytes_of_a_batch(batch, n, bytes_):
    assert length(batch) == n and size(batch) == bytes_


def test_samples_may_be_given():
    assert profile(sleepy(0), 5, samples=3, quiet=True).samples == 15
    assert profile(sleepy(0), 5, samples=lambda b: len(b["y"]), quiet=True).samples == 40


class Slow:
    """Samples that take a worker's core."""

    def __len__(self):
        return 4000

    def __getitem__(self, i):
        end = time.thread_time() + 0.0005
        while time.thread_time() < end:
            pass
        return np.zeros(16, "f4")


def test_a_dataloader_and_its_workers():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    loader = torch.utils.data.DataLoader(Slow(), batch_size=16, num_workers=1)
    p = profile(loader, 60, 0.0005, quiet=True)
    assert p.warmup == 3 and p.samples == 60 * 16 and p.bytes == 60 * 16 * 64
    if os.path.exists("/proc/self/schedstat"):
        assert p.bound == "workers" and "the workers: 1 of them" in p.verdict
    assert profile(torch.utils.data.DataLoader(Slow(), batch_size=16), 20, quiet=True).bound == "process"


def test_a_loader_tells_its_stages(tmp_path):
    import fixture

    import shardify

    schema = [{"name": "x", "dtype": "f32", "shape": [256]}, {"name": "y", "dtype": "i64"}]
    fixture.write(tmp_path / "set", schema, [{"x": np.full(256, k), "y": k} for k in range(2000)], shards=[2000])
    try:
        loader = shardify.Loader(str(tmp_path / "set"), 32, transform=lambda b: time.sleep(0.03) or b, device="cpu")
    except shardify.UnsupportedError as e:
        pytest.skip(str(e))
    p = profile(loader, 20, 0.001, quiet=True)
    assert p.samples == 20 * 32 and p.bytes == 20 * 32 * (1024 + 8)
    assert p.bound == "transform" and "the transform" in p.verdict and p.stages["transform"] >= 0.5
