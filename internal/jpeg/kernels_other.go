//go:build !amd64

package jpeg

// haveAVX2 is false; a test sets it to itself.
var haveAVX2 = false

func idctPair(in *[2][128]int16, a []byte, strideA int, b []byte, strideB int) {
	idct8(&in[0], a, strideA)
	idct8(&in[1], b, strideB)
}

func upH2V1(dst, src []byte, n int) { upH2V1Go(dst, src, n) }

func upH1V2(dst, near, far []byte, n int, bias byte) { upH1V2Go(dst, near, far, n, bias) }

func upH2V2(dst, near, far []byte, n int) { upH2V2Go(dst, near, far, n) }

func yccToRGB(dst, y, cb, cr []byte, n int) { yccToRGBGo(dst, y, cb, cr, n) }

func forwardPair(out *[2][64]int16, sets *[2]uint64, src []byte, stride int, d *divisors) {
	sets[0], sets[1] = forwardGo(&out[0], src, stride, d), forwardGo(&out[1], src[8:], stride, d)
}

func rgbToYCC(y, cb, cr, src []byte, n int) { rgbToYCCGo(y, cb, cr, src, n) }

func halve(dst, a, b []byte, n int) { halveGo(dst, a, b, n) }

func halveRow(dst, src []byte, n int) { halveRowGo(dst, src, n) }
