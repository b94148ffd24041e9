#!/bin/sh
# make bench: makes the data once, then times shardify against its peers.
# SHARDIFY_BENCH_DATA names a folder with about 35 GB free (default build/bench).
set -eu
cd "$(dirname "$0")/.."
data=${SHARDIFY_BENCH_DATA:-build/bench/data}
venv=build/bench/venv
mkdir -p "$data"
if ! "$venv/bin/python" -c 'import numpy, webdataset, PIL, h5py, hdf5plugin, uproot, pyarrow' 2>/dev/null; then
	python3 -m venv "$venv"
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy webdataset==1.0.2 pillow h5py hdf5plugin uproot awkward pyarrow
fi
"$venv/bin/python" bench/gen.py "$data" files layouts jpegs npz volumes big hdf5 hdf5-big root root-big parquet
go build -o build/bench/opentime ./bench/opentime
status=0
"$venv/bin/python" bench/run.py --data "$data" --shardify bin/shardify --work build/bench/work --results bench/RESULTS.md "$@" || status=$?
"$venv/bin/python" bench/headline.py # the rows of README.md
exit $status
