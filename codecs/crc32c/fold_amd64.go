package crc32c

import "golang.org/x/sys/cpu"

// wide chooses fold_amd64.s; a test changes it.
var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ

// fold moves the bits of state by a block and adds the next one, for n bytes at p: a positive
// multiple of block.
//
//go:noescape
func fold(state *[block]byte, p *byte, n int, factors *[2]uint64)

// remainder is the remainder of state: hash/crc32 would allocate it.
//
//go:noescape
func remainder(state *[block]byte) uint32
