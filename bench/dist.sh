#!/bin/sh
# make dist: binaries, completions, man pages and checksums below dist/.
set -eu
cd "$(dirname "$0")/.."
mkdir -p dist build
rm -rf dist/shardify-linux-*
go run ./bench/licences >build/THIRD_PARTY_LICENSES
go build -trimpath -o build/shardify-host ./cmd/shardify
go build -trimpath -o build/verify-host ./cmd/verify
go build -trimpath -o build/shardify-gpu-host ./cmd/shardify-gpu
for arch in amd64 arm64; do
	top=dist/shardify-linux-$arch/shardify
	mkdir -p "$top/bin" "$top/share/man/man1" "$top/share/completions"
	for p in shardify verify shardify-gpu; do
		tags= # static, but for what opens the CUDA driver
		[ $p != shardify-gpu ] || tags=cuda
		CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -tags "$tags" -ldflags "-s -w" -o "$top/bin/$p" ./cmd/$p
	done
	for shell in bash zsh fish; do
		build/shardify-host completion $shell >"$top/share/completions/shardify.$shell"
		build/verify-host --completion $shell >"$top/share/completions/verify.$shell"
		build/shardify-gpu-host completion $shell >"$top/share/completions/shardify-gpu.$shell"
	done
	build/shardify-host man "$top/share/man/man1"
	build/shardify-gpu-host man "$top/share/man/man1"
	cp LICENSE build/THIRD_PARTY_LICENSES README.md CHANGELOG.md "$top"
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "dist/shardify-linux-$arch" -cf - shardify | gzip -n >"dist/shardify-linux-$arch.tar.gz"
	rm -rf "dist/shardify-linux-$arch"
done
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)} go run ./bench/licences -spdx "$(build/shardify-host version | cut -d" " -f2)" >dist/sbom.spdx.json
(cd dist && sha256sum *.tar.gz sbom.spdx.json >SHA256SUMS)
cat dist/SHA256SUMS
