#!/bin/sh
# Measures the loader on a machine with an NVIDIA GPU, in one call:
#
#   bench/gpu.sh build DIR   where Go is: the programs and this script into DIR
#   DIR/gpu.sh run OUT       where the GPU is, which needs neither Go nor a compiler
#
# OUT gets machine.txt (GPU, driver, huge pages), check.txt (kernels, windows and the whole path compared bit
# by bit, which memory can be pinned), gpu.json (copy-engine peak, SM-read peak, device copy, and by row size:
# sequential, block, global, device tier), loader.json (the same by a Loader from shards, with core-seconds per
# GB, the share of the copy-engine peak, and the utilisation in the shapes of unet3d and cosmoflow) and
# torch.json (DataLoader with pin_memory on the same samples, and our ratios to it, where torch is installed).
# Peaks and rates are of one run. SHARDIFY_GPU_BYTES (default 2 GiB) is how much is moved; data go to $TMPDIR, which wants
# 8 GB. GPULOAD_LIBCUDA names another driver, as the tests do.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
build)
	mkdir -p "$2"
	out=$(cd "$2" && pwd)
	cd "$here/.."
	CGO_ENABLED=0 go test -c -trimpath -ldflags=-s -o "$out/cuda.test" ./gpuload/internal/cuda
	CGO_ENABLED=0 go test -c -tags cuda -trimpath -ldflags=-s -o "$out/gpuload.test" ./gpuload
	cp "$here/gpu.sh" "$here/gpu_torch.py" "$out/"
	;;
run)
	mkdir -p "$2"
	out=$(cd "$2" && pwd)
	export SHARDIFY_GPU=1 SHARDIFY_GPU_JSON="$out/gpu.json" SHARDIFY_LOADER_JSON="$out/loader.json"
	{
		nvidia-smi --query-gpu=name,driver_version,pcie.link.gen.max,pcie.link.width.max,memory.total --format=csv || echo "no nvidia-smi"
		uname -r
		nproc
		cat /sys/kernel/mm/transparent_hugepage/enabled
		grep -E 'MemTotal|AnonHugePages' /proc/meminfo
		ulimit -l
	} >"$out/machine.txt" 2>&1
	cd "$here"
	status=0
	./cuda.test -test.v -test.run 'TestOnTheGPU' >"$out/check.txt" 2>&1 || status=1
	./cuda.test -test.v -test.run 'TestFigures' >>"$out/check.txt" 2>&1 || status=1
	./gpuload.test -test.v -test.timeout 20m -test.run 'TestLoaderFigures' >>"$out/check.txt" 2>&1 || status=1
	python=${PYTHON:-python3}
	if command -v "$python" >/dev/null; then
		"$python" gpu_torch.py "$out/torch.json" "$out/loader.json" 2>>"$out/check.txt" || status=1
	else
		echo '{"type":"torch","skipped":"no python3","figures":[],"ratios":[]}' >"$out/torch.json"
	fi
	cat "$out/machine.txt"
	grep -E '^(---|    ---|ok|FAIL|PASS|panic)|pinn|pool of|target' "$out/check.txt" || true
	cat "$out/gpu.json" "$out/loader.json" "$out/torch.json"
	exit $status
	;;
*)
	sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//'
	exit 2
	;;
esac
