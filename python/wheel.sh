#!/bin/sh
# make wheel: the wheel for this machine into dist/, then the tests of what was built. $1 is a folder for zig, $2 the
# virtual environment of the tests, $3 the machines: empty for this one, all, or some of amd64 and arm64.
# Needs Go, python3 with venv, and from PyPI once: ziglang, setuptools, numpy and pytest.
set -eu
cd "$(dirname "$0")/.."
work=$1
venv=$2
case $(uname -m) in
aarch64 | arm64) this=arm64 other=amd64 ;;
*) this=amd64 other=arm64 ;;
esac
case ${3:-} in
"") archs=$this ;;
all) archs="$this $other" ;;
amd64 | arm64 | "amd64 arm64" | "arm64 amd64") archs=$3 ;;
*) echo "make wheel: ARCH=$3: want all, amd64 or arm64" >&2; exit 2 ;;
esac
[ -n "${3:-}" ] || echo "make wheel: builds for this machine, $this; make wheel ARCH=all for $other, too"
[ "${DRY:-}" = "" ] || { echo "$archs"; exit 0; }
sh python/venv.sh "$venv"
if ! "$work/zig/bin/python" -c 'import ziglang' 2>/dev/null; then
	echo "make wheel: fetches ziglang from PyPI, the C compiler for old and other systems, once, into $work"
	mkdir -p "$work"
	python3 -m venv "$work/zig"
	"$work/zig/bin/python" -m pip install --quiet --disable-pip-version-check ziglang
fi
rm -f dist/*.whl
echo "make wheel: compiles the library of the Loader and the command, some minutes the first time: $archs"
# shellcheck disable=SC2086
"$work/zig/bin/python" python/build_wheel.py --out dist $archs
echo "make wheel: tests the wheels in an empty environment"
PYTHONPATH=python SHARDIFY_WHEELS=dist SHARDIFY_ARCHS="$archs" exec "$venv/bin/python" -m pytest -q -rs python/tests/test_wheel.py
