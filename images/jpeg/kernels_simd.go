//go:build amd64 || arm64

package jpeg

// turn is how many samples a kernel handles at once. Rows have a margin for that.
const turn = 32

//go:noescape
func idctPairSIMD(in *[2][128]int16, a *byte, strideA int, b *byte, strideB int)

//go:noescape
func yccToRGBSIMD(dst, y, cb, cr *byte, turns int)

//go:noescape
func upH2V1SIMD(dst, src *byte, turns int)

//go:noescape
func upH1V2SIMD(dst, near, far *byte, turns, bias int)

//go:noescape
func upH2V2SIMD(dst, near, far *byte, turns int)

// idctPair is idct8 of two blocks.
func idctPair(in *[2][128]int16, a []byte, strideA int, b []byte, strideB int) {
	if !haveKernels {
		idct8(&in[0], a, strideA)
		idct8(&in[1], b, strideB)
		return
	}
	_, _ = a[7*strideA+7], b[7*strideB+7]
	idctPairSIMD(in, &a[0], strideA, &b[0], strideB)
}

// yccToRGB writes n pixels and no byte more.
func yccToRGB(dst, y, cb, cr []byte, n int) {
	if !haveKernels || n < turn {
		yccToRGBGo(dst, y, cb, cr, n)
		return
	}
	_, _, _, _ = dst[3*n-1], y[n-1], cb[n-1], cr[n-1]
	yccToRGBSIMD(&dst[0], &y[0], &cb[0], &cr[0], n/turn)
	if last := n - turn; n%turn != 0 { // overlaps
		yccToRGBSIMD(&dst[3*last], &y[last], &cb[last], &cr[last], 1)
	}
}

// The others may write and read beyond n, to whole turns.

func upH2V1(dst, src []byte, n int) {
	if !haveKernels {
		upH2V1Go(dst, src, n)
		return
	}
	turns := above(n, turn)
	_, _ = dst[2*turn*turns-1], src[turn*turns+1]
	upH2V1SIMD(&dst[0], &src[0], turns)
}

func upH1V2(dst, near, far []byte, n int, bias byte) {
	if !haveKernels {
		upH1V2Go(dst, near, far, n, bias)
		return
	}
	turns := above(n, turn)
	_, _, _ = dst[turn*turns-1], near[turn*turns-1], far[turn*turns-1]
	upH1V2SIMD(&dst[0], &near[0], &far[0], turns, int(bias))
}

func upH2V2(dst, near, far []byte, n int) {
	if !haveKernels {
		upH2V2Go(dst, near, far, n)
		return
	}
	turns := above(n, turn)
	_, _, _ = dst[2*turn*turns-1], near[turn*turns+1], far[turn*turns+1]
	upH2V2SIMD(&dst[0], &near[0], &far[0], turns)
}
