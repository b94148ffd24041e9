//go:build !amd64

package voxels

// haveAVX2 is false; a test sets it to itself.
var haveAVX2 = false

func turn16(d, tile []byte, next, n int) { turn4(d, tile, next, n) }
