#!/bin/sh
# make bench-augment: --augment against Pillow, torchvision and numpy doing the same work, into bench/AUGMENT.md.
# SHARDIFY_BENCH_DATA names a folder with about 3 GB free (default build/bench/data).
set -eu
cd "$(dirname "$0")/.."
data=${SHARDIFY_BENCH_DATA:-build/bench/data}
venv=build/bench/loader-venv
mkdir -p "$data"
sh bench/torch_venv.sh
[ -f "$data/jpegs.done" ] || "$venv/bin/python" bench/gen.py "$data" jpegs
exec "$venv/bin/python" bench/augment_peers.py --shardify bin/shardify --data "$data" --out bench/AUGMENT.md --commit "$(git rev-parse --short HEAD)" "$@"
