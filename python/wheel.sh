#!/bin/sh
# make wheel: wheels for linux x86_64 and aarch64 into dist/, then the tests of what was built. $1 is a folder for zig,
# $2 the virtual environment of the tests.
# Needs Go, python3 with venv, and from PyPI once: ziglang, setuptools, numpy and pytest.
set -eu
cd "$(dirname "$0")/.."
work=$1
venv=$2
sh python/venv.sh "$venv"
if ! "$work/zig/bin/python" -c 'import ziglang' 2>/dev/null; then
	mkdir -p "$work"
	python3 -m venv "$work/zig"
	"$work/zig/bin/python" -m pip install --quiet --disable-pip-version-check ziglang
fi
rm -f dist/*.whl
"$work/zig/bin/python" python/build_wheel.py --out dist amd64 arm64
PYTHONPATH=python SHARDIFY_WHEELS=dist exec "$venv/bin/python" -m pytest -q -rs python/tests/test_wheel.py
