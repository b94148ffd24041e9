#!/bin/sh
# Makes the virtual environment $1 with numpy and pytest, once. $PYTHON names the
# interpreter; without it one that has torch is preferred, so that the PyTorch
# tests take part.
set -eu
venv=$1
[ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import numpy, pytest' 2>/dev/null && exit 0
python=${PYTHON:-}
if [ -z "$python" ]; then
	for p in python3 /usr/bin/python3; do
		command -v "$p" >/dev/null || continue
		python=${python:-$p}
		if "$p" -c 'import torch' 2>/dev/null; then python=$p; break; fi
	done
fi
[ -n "$python" ] || { echo "python3 is not installed"; exit 1; }
rm -rf "$venv"
# System packages are visible so that an installed torch takes part in the tests.
"$python" -m venv --system-site-packages "$venv" 2>/dev/null || { echo "$python -m venv does not work here (Debian: apt install python3-venv)"; exit 1; }
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy pytest || { echo "pip could not install numpy and pytest"; exit 1; }
