#!/bin/sh
# make bench-remote: sets in an object store 20 ms away, shardify.Loader against its peers, into bench/REMOTE.md.
# PYTHON names an interpreter that has the peers; without it an environment is made, once, with what pip can install.
set -eu
cd "$(dirname "$0")/.."
venv=build/bench/remote-venv
python=${PYTHON:-$venv/bin/python}
if [ -z "${PYTHON:-}" ] && ! "$python" -c 'import numpy, torch, boto3' 2>/dev/null; then
	python3 -m venv --system-site-packages "$venv"
	"$python" -m pip install --quiet --disable-pip-version-check numpy torch boto3 webdataset==1.0.2
	for peer in s3torchconnector==1.5.0 mosaicml-streaming==0.13.0 litdata==0.2.76; do
		"$python" -m pip install --quiet --disable-pip-version-check "$peer" || echo "$peer cannot be installed: it is left out"
	done
fi
export SHARDIFY_LIBRARY="$PWD/build/bench/_shardify.so"
sh python/pylib.sh "$SHARDIFY_LIBRARY"
go build -o build/bench/delay ./bench/delay
${CC:-cc} -O2 -D_GNU_SOURCE -pthread -o build/bench/drop bench/floor/socket/drop.c
exec "$python" bench/remote.py --out bench/REMOTE.md "$@"
