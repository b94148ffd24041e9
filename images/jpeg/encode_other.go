//go:build !amd64

package jpeg

func forwardPair(out *[2][64]int16, sets *[2]uint64, src []byte, stride int, d *divisors) {
	sets[0], sets[1] = forwardGo(&out[0], src, stride, d), forwardGo(&out[1], src[8:], stride, d)
}

func rgbToYCC(y, cb, cr, src []byte, n int) { rgbToYCCGo(y, cb, cr, src, n) }

func halve(dst, a, b []byte, n int) { halveGo(dst, a, b, n) }

func halveRow(dst, src []byte, n int) { halveRowGo(dst, src, n) }
