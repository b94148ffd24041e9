#!/bin/sh
# make bench-loader: shardify.Loader against PyTorch's DataLoader, np.take and webdataset, into bench/LOADER.md.
# SHARDIFY_BENCH_DATA names a folder with about 5 GB free (default build/bench/data). PyTorch and torchvision are taken
# from the system (Debian: python3-torch, python3-torchvision); without them their part is left out, which the report says.
set -eu
cd "$(dirname "$0")/.."
data=${SHARDIFY_BENCH_DATA:-build/bench/data}
venv=build/bench/loader-venv
[ -x bin/shardify ] || CGO_ENABLED=0 go build -trimpath -o bin/shardify ./cmd/shardify
mkdir -p "$data"
sh bench/torch_venv.sh
"$venv/bin/python" -c 'import torch' 2>/dev/null || echo "PyTorch is not installed for $(readlink -f "$venv/bin/python"): DataLoader is left out"
[ -f "$data/jpegs.done" ] || "$venv/bin/python" bench/gen.py "$data" jpegs
export SHARDIFY_LIBRARY="$PWD/build/bench/_shardify.so"
sh python/pylib.sh "$SHARDIFY_LIBRARY"
PYTHONPATH=python exec "$venv/bin/python" bench/loader_peers.py --data "$data" --shardify bin/shardify --out bench/LOADER.md "$@"
