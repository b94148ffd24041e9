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
"$venv/bin/python" bench/augment_peers.py --shardify bin/shardify --data "$data" --out bench/AUGMENT.md --commit "$(git rev-parse --short HEAD)" "$@"

# The codec and the resizing alone, beside libjpeg-turbo and a new Pillow.
jpeg=build/bench/jpeg-venv
if ! "$jpeg/bin/python" -c 'import simplejpeg, PIL' 2>/dev/null; then
	rm -rf "$jpeg"
	python3 -m venv "$jpeg"
	"$jpeg/bin/python" -m pip install --quiet --disable-pip-version-check numpy pillow simplejpeg
fi
for p in jpeg resize png; do go test -c -o "build/$p.test" "./internal/$p"; done
{
	printf '\n## JPEG on one core\n\nMedians of the ratios of interleaved pairs, by processor time (bench/jpeg.py).\n\n```\n'
	"$jpeg/bin/python" bench/jpeg.py build
	printf '```\n'
} >>bench/AUGMENT.md
