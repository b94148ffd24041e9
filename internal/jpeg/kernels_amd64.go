package jpeg

import "golang.org/x/sys/cpu"

// haveAVX2 chooses the kernels of kernels_amd64.s, which the tests hold to those in Go.
var haveAVX2 = cpu.X86.HasAVX2

// turn is how many samples a kernel handles at once. Rows have a margin for that.
const turn = 32

//go:noescape
func idctPairAVX2(in *[2][128]int16, a *byte, strideA int, b *byte, strideB int)

//go:noescape
func yccToRGBAVX2(dst, y, cb, cr *byte, turns int)

//go:noescape
func upH2V1AVX2(dst, src *byte, turns int)

//go:noescape
func upH1V2AVX2(dst, near, far *byte, turns, bias int)

//go:noescape
func upH2V2AVX2(dst, near, far *byte, turns int)

// idctPair is idct8 of two blocks.
func idctPair(in *[2][128]int16, a []byte, strideA int, b []byte, strideB int) {
	if !haveAVX2 {
		idct8(&in[0], a, strideA)
		idct8(&in[1], b, strideB)
		return
	}
	_, _ = a[7*strideA+7], b[7*strideB+7]
	idctPairAVX2(in, &a[0], strideA, &b[0], strideB)
}

// yccToRGB writes n pixels and no byte more.
func yccToRGB(dst, y, cb, cr []byte, n int) {
	if !haveAVX2 || n < turn {
		yccToRGBGo(dst, y, cb, cr, n)
		return
	}
	_, _, _, _ = dst[3*n-1], y[n-1], cb[n-1], cr[n-1]
	yccToRGBAVX2(&dst[0], &y[0], &cb[0], &cr[0], n/turn)
	if last := n - turn; n%turn != 0 { // overlaps
		yccToRGBAVX2(&dst[3*last], &y[last], &cb[last], &cr[last], 1)
	}
}

// The others may write and read beyond n, to whole turns.

func upH2V1(dst, src []byte, n int) {
	if !haveAVX2 {
		upH2V1Go(dst, src, n)
		return
	}
	turns := above(n, turn)
	_, _ = dst[2*turn*turns-1], src[turn*turns+1]
	upH2V1AVX2(&dst[0], &src[0], turns)
}

func upH1V2(dst, near, far []byte, n int, bias byte) {
	if !haveAVX2 {
		upH1V2Go(dst, near, far, n, bias)
		return
	}
	turns := above(n, turn)
	_, _, _ = dst[turn*turns-1], near[turn*turns-1], far[turn*turns-1]
	upH1V2AVX2(&dst[0], &near[0], &far[0], turns, int(bias))
}

func upH2V2(dst, near, far []byte, n int) {
	if !haveAVX2 {
		upH2V2Go(dst, near, far, n)
		return
	}
	turns := above(n, turn)
	_, _, _ = dst[2*turn*turns-1], near[turn*turns+1], far[turn*turns+1]
	upH2V2AVX2(&dst[0], &near[0], &far[0], turns)
}

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
	if !haveAVX2 {
		sets[0], sets[1] = forwardGo(&out[0], src, stride, d), forwardGo(&out[1], src[8:], stride, d)
		return
	}
	_ = src[7*stride+15]
	forwardPairAVX2(out, sets, &src[0], stride, d)
}

// rgbToYCC converts n pixels, and reads no byte more.
func rgbToYCC(y, cb, cr, src []byte, n int) {
	if !haveAVX2 || n < turn {
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
	if !haveAVX2 {
		halveRowGo(dst, src, n)
		return
	}
	turns := above(n, turn)
	_, _ = dst[turn*turns-1], src[2*turn*turns-1]
	halveRowAVX2(&dst[0], &src[0], turns)
}

// halve may write and read beyond n, to whole turns.
func halve(dst, a, b []byte, n int) {
	if !haveAVX2 {
		halveGo(dst, a, b, n)
		return
	}
	turns := above(n, turn)
	_, _, _ = dst[turn*turns-1], a[2*turn*turns-1], b[2*turn*turns-1]
	halveAVX2(&dst[0], &a[0], &b[0], turns)
}
