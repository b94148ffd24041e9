package crc32c

import "golang.org/x/sys/cpu"

// wide chooses fold_amd64.s; a test changes it.
var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasSSE42

// update adds n bytes at p to the remainder of those before.
//
//go:noescape
func update(crc uint32, p *byte, n int, factors *[16]uint64) uint32
