package resize

import "golang.org/x/sys/cpu"

// haveKernels chooses the kernels of kernels_amd64.s, which the tests hold to those in Go.
var haveKernels = cpu.X86.HasAVX2

// turn is how many bytes the second pass makes at once.
const turn = 32

//go:noescape
func acrossAVX2(dst *byte, dstStride int, src *byte, srcStride int, lo *int32, first int, split *uint32, out, pairs int)

//go:noescape
func downAVX2(dst, src *byte, stride int, split *uint32, pairs, turns int)

// acrossRows makes four rows of the first pass; src begins at pixel x. It writes a byte
// beyond a row, and reads up to margin bytes beyond it.
func acrossRows(dst []byte, dstStride int, src []byte, srcStride int, a *axis, x int) {
	if !haveKernels {
		for i := range lines {
			acrossRowGo(dst[i*dstStride:], src[i*srcStride:], a, x)
		}
		return
	}
	at := 3 * (a.first - x)
	_, _ = dst[3*dstStride+3*a.out], src[3*srcStride+at+3*(a.end-a.first)+12]
	acrossAVX2(&dst[0], dstStride, &src[at], srcStride, &a.lo[0], a.first, &a.split[0], a.out, a.pairs)
}

// downRow makes row k of the second pass. rows begin with its first input; one row more
// than there are taps may be read, and whole registers of each.
func downRow(dst, rows []byte, stride int, a *axis, k int) {
	n := len(dst)
	if !haveKernels || n < turn {
		downRowGo(dst, rows, stride, a, k)
		return
	}
	split := &a.split[2*k*a.pairs]
	_ = rows[(2*a.pairs-1)*stride+n-1]
	downAVX2(&dst[0], &rows[0], stride, split, a.pairs, n/turn)
	if n%turn != 0 { // overlaps
		downAVX2(&dst[n-turn], &rows[n-turn], stride, split, a.pairs, 1)
	}
}
