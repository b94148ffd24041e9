package xyz

import "golang.org/x/sys/cpu"

// haveFixed chooses reals_amd64.s; a test changes it.
var haveFixed = cpu.X86.HasAVX2

// fixedReals is fixed for n numbers at b, one behind the other: a positive number of them, with the byte
// behind the last. It returns how many it has read when it meets one that is written in another way.
//
//go:noescape
func fixedReals(dst, b *byte, n int) int
