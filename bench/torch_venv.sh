#!/bin/sh
# Makes, once, the virtual environment of the benchmarks that use PyTorch, in build/bench/loader-venv. PyTorch and
# torchvision are taken from the system (Debian: python3-torch, python3-torchvision).
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/bench
venv=build/bench/loader-venv
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
"$venv/bin/python" -c 'import spdl' 2>/dev/null || "$venv/bin/python" -m pip install --quiet --disable-pip-version-check spdl==0.8.0 || echo "SPDL is not installed, and left out"
