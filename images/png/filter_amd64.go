package png

import "golang.org/x/sys/cpu"

// haveAVX chooses filter_amd64.s; tests change it to compare with the generic form.
var haveAVX = cpu.X86.HasAVX2

// The kernels read and write four bytes at each of n pixels of bpp bytes.

//go:noescape
func subAVX(dst, src *byte, n, bpp int)

//go:noescape
func averageAVX(dst, src, above *byte, n, bpp int)

//go:noescape
func paethAVX(dst, src, above *byte, n, bpp int)

// unfilterFast undoes a filter at the start of a row and returns how many bytes are done.
func unfilterFast(filter byte, dst, src, above []byte, bpp int) int {
	n := (len(dst)-4)/bpp + 1 // the last pixels have no four bytes
	if !haveAVX || bpp > 4 || len(dst) < 4 {
		return 0
	}
	_, _ = src[len(dst)-1], above[len(dst)-1]
	switch filter {
	case sub:
		subAVX(&dst[0], &src[0], n, bpp)
	case average:
		averageAVX(&dst[0], &src[0], &above[0], n, bpp)
	case paeth:
		paethAVX(&dst[0], &src[0], &above[0], n, bpp)
	}
	return n * bpp
}
