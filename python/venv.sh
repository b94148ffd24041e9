#!/bin/sh
# Makes the virtual environment $1 with numpy and pytest, once.
set -eu
venv=$1
[ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import numpy, pytest' 2>/dev/null && exit 0
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 1; }
rm -rf "$venv"
# System packages are visible so that an installed torch takes part in the tests.
python3 -m venv --system-site-packages "$venv" 2>/dev/null || { echo "python3 -m venv does not work here (Debian: apt install python3-venv)"; exit 1; }
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy pytest || { echo "pip could not install numpy and pytest"; exit 1; }
