"""The package and what a user writes with it pass strict type checkers, where these are installed."""

import importlib.util
import os
import subprocess
import sys

import pytest

TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
CHECKERS = {
    "mypy": ["--strict", "--follow-imports", "silent"],
    "pyright": ["--pythonpath", sys.executable],
}


def check(checker, *files):
    if importlib.util.find_spec(checker) is None:
        pytest.skip("%s is not installed" % checker)
    env = dict(os.environ, MYPYPATH=ROOT, PYTHONPATH=ROOT)
    command = [sys.executable, "-m", checker, *CHECKERS[checker], *files]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


MISTAKES = {
    'shuffle="global", seed=1, device': 'shuffle="all", seed=1, device',
    'tier="pinned"': 'tier="pinnned"',
    "flip=0.5": "flop=0.5",
    "x, cls = pairs[3]": "x, cls, more = pairs[3]",
    "total += n": "total += n.size",
    "-> str:": "-> int:",
    "Optional[int]": "bytes",
    "p.total_shards": "p.sharts",
    'shard_size="64MiB"': 'shardsize="64MiB"',
    'jobs=2': 'jobs="2"',
    "e.field": "e.feeld",
}


@pytest.mark.parametrize("checker", sorted(CHECKERS))
def test_a_script_of_a_user_has_types(checker, tmp_path):
    script = os.path.join(TESTS, "user_script.py")
    p = check(checker, script)
    assert p.returncode == 0, p.stdout + p.stderr
    with open(script) as f:
        text = f.read()
    for right, mistake in MISTAKES.items():
        assert right in text
        text = text.replace(right, mistake)
    wrong = tmp_path / "wrong.py"
    wrong.write_text(text)
    p = check(checker, str(wrong))
    assert p.stdout.count("error:") >= len(MISTAKES), p.stdout


@pytest.mark.parametrize("checker", sorted(CHECKERS))
def test_the_package_is_strict(checker):
    p = check(checker, *(["-p", "shardify"] if checker == "mypy" else ["shardify"]))
    assert p.returncode == 0, p.stdout + p.stderr
