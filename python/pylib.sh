#!/bin/sh
# Builds the library behind shardify.Loader for this machine.
set -eu
out=${1:-python/shardify/_shardify.so}
command -v "${CC:-cc}" >/dev/null || { echo "shardify.Loader is not built: there is no C compiler"; exit 1; }
CGO_ENABLED=1 go build -tags cuda -buildmode=c-shared -trimpath -ldflags "-s -w" -o "$out" ./gpuload/capi
rm -f "${out%.so}.h" # gpuload/capi/shardify.h is the interface
