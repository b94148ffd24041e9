#!/bin/sh
# make bench-loader: shardify.Loader against PyTorch's DataLoader, np.take and webdataset, into bench/LOADER.md.
# SHARDIFY_BENCH_DATA names a folder with about 5 GB free (default build/bench/data). PyTorch and torchvision are taken
# from the system (Debian: python3-torch, python3-torchvision); without them their part is left out, which the report says.
set -eu
cd "$(dirname "$0")/.."
data=${SHARDIFY_BENCH_DATA:-build/bench/data}
venv=build/bench/loader-venv
mkdir -p "$data"
if ! "$venv/bin/python" -c 'import numpy, webdataset, PIL' 2>/dev/null; then
	python=${PYTHON:-}
	if [ -z "$python" ]; then
		for p in python3 /usr/bin/python3; do
			command -v "$p" >/dev/null || continue
			python=${python:-$p}
			if "$p" -c 'import torch' 2>/dev/null; then python=$p; break; fi
		done
	fi
	rm -rf "$venv"
	"$python" -m venv --system-site-packages "$venv"
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy webdataset==1.0.2 pillow
fi
"$venv/bin/python" -c 'import torch' 2>/dev/null || echo "PyTorch is not installed for $(readlink -f "$venv/bin/python"): DataLoader is left out"
[ -f "$data/jpegs.done" ] || "$venv/bin/python" bench/gen.py "$data" jpegs
export SHARDIFY_LIBRARY="$PWD/build/bench/_shardify.so"
sh python/pylib.sh "$SHARDIFY_LIBRARY"
PYTHONPATH=python exec "$venv/bin/python" bench/loader_peers.py --data "$data" --shardify bin/shardify --out bench/LOADER.md "$@"
