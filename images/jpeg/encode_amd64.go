package jpeg

import "golang.org/x/sys/cpu"

// haveKernels chooses the kernels of kernels_amd64.s and encode_amd64.s, which the tests
// hold to those in Go.
var haveKernels = cpu.X86.HasAVX2

//go:noescape
func forwardPairAVX2(out *[2][64]int16, sets *[2]uint64, src *byte, stride int, d *divisors)

//go:noescape
func rgbToYCCAVX2(y, cb, cr, src *byte, turns int)

//go:noescape
func halveRowAVX2(dst, src *byte, turns int)

//go:noescape
func halveAVX2(dst, a, b *byte, turns int)

// forwardPair is forwardGo of two blocks beside each other.
func forwardPair(out *[2][64]int16, sets *[2]uint64, src []byte, stride int, d *divisors) {
	if !haveKernels {
		sets[0], sets[1] = forwardGo(&out[0], src, stride, d), forwardGo(&out[1], src[8:], stride, d)
		return
	}
	_ = src[7*stride+15]
	forwardPairAVX2(out, sets, &src[0], stride, d)
}

// rgbToYCC converts n pixels, and reads no byte more.
func rgbToYCC(y, cb, cr, src []byte, n int) {
	if !haveKernels || n < turn {
		rgbToYCCGo(y, cb, cr, src, n)
		return
	}
	_, _, _, _ = y[n-1], cb[n-1], cr[n-1], src[3*n-1]
	rgbToYCCAVX2(&y[0], &cb[0], &cr[0], &src[0], n/turn)
	if last := n - turn; n%turn != 0 { // overlaps
		rgbToYCCAVX2(&y[last], &cb[last], &cr[last], &src[3*last], 1)
	}
}

// halveRow may write and read beyond n, to whole turns.
func halveRow(dst, src []byte, n int) {
	if !haveKernels {
		halveRowGo(dst, src, n)
		return
	}
	turns := above(n, turn)
	_, _ = dst[turn*turns-1], src[2*turn*turns-1]
	halveRowAVX2(&dst[0], &src[0], turns)
}

// halve may write and read beyond n, to whole turns.
func halve(dst, a, b []byte, n int) {
	if !haveKernels {
		halveGo(dst, a, b, n)
		return
	}
	turns := above(n, turn)
	_, _, _ = dst[turn*turns-1], a[2*turn*turns-1], b[2*turn*turns-1]
	halveAVX2(&dst[0], &a[0], &b[0], turns)
}
