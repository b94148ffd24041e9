//go:build !race && !invariants

package gpuload

func poison([]byte) {}
