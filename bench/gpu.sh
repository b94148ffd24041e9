#!/bin/sh
# Measures the loader on a machine with an NVIDIA GPU, in calls of at most ten minutes each:
#
#   bench/gpu.sh build DIR     where Go is: programs, Python package and scripts into DIR (about 35 MB)
#   DIR/gpu.sh checks OUT      where the GPU is, which needs python3 alone: kernels, windows and Loaders compared
#                              bit by bit, which memory can be pinned, compute-sanitizer where it is installed
#   DIR/gpu.sh figures OUT     peaks, rates by row size, host time of a batch, utilisation of trainers with controls
#   DIR/gpu.sh python OUT      torch, CuPy and JAX on streams of their own, CUDA graphs, images; torch's DataLoader and
#                              index_select and SPDL beside ours; what is not installed is left out and said so
#   bench/gpu.sh report OUT    bench/GPU.md and gpu.svg: predictions, and what of OUT/lines.jsonl is there to test them
#
# Every figure is a line of OUT/lines.jsonl as soon as it is known, so a call that is cut keeps what it had. A call
# ends after SHARDIFY_GPU_LIMIT seconds (540) at the latest. SHARDIFY_GPU_BYTES is how much memory is measured
# (1 GiB; Loaders 2 GiB). SHARDIFY_GPU_ONLY is a pattern: of the rates of Loaders, those are measured whose
# ROW/SHUFFLE/TIER/BATCH it matches. Data go to $TMPDIR (default /dev/shm), which wants 8 GB. GPULOAD_LIBCUDA names
# another driver.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
build)
	mkdir -p "$2"
	out=$(cd "$2" && pwd)
	cd "$here/.."
	CGO_ENABLED=0 go test -c -trimpath -ldflags=-s -o "$out/cuda.test" ./gpuload/internal/cuda
	CGO_ENABLED=0 go test -c -tags cuda -trimpath -ldflags=-s -o "$out/gpuload.test" ./gpuload
	mkdir -p "$out/python/shardify"
	cp python/shardify/*.py "$out/python/shardify/"
	sh python/pylib.sh "$out/python/shardify/_shardify.so" || echo "the call python will be left out"
	cp "$here/gpu.sh" "$here/gpu.py" "$here/gpu_python.py" "$out/"
	[ "$(du -sm "$out" | cut -f1)" -le 64 ] || { echo "$out has more than 64 MiB"; exit 1; }
	;;
checks | figures | python | report)
	exec python3 "$here/gpu.py" "$@"
	;;
*)
	sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//'
	exit 2
	;;
esac
