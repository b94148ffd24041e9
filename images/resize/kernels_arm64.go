package resize

// haveKernels chooses the kernels of kernels_arm64.s, which the tests hold to those in Go. All
// processors have what they need.
var haveKernels = true

// turn is how many bytes the second pass makes at once.
const turn = 16

//go:noescape
func acrossNEON(dst, src *byte, lo *int32, first int, weights *int32, out, taps int)

//go:noescape
func downNEON(dst, src *byte, stride int, weights *int32, taps, turns int)

// acrossRows makes four rows of the first pass; src begins at pixel x. It writes a byte
// beyond a row, and reads up to margin bytes beyond it.
func acrossRows(dst []byte, dstStride int, src []byte, srcStride int, a *axis, x int) {
	at := 3 * (a.first - x)
	for i := range lines {
		to, from := dst[i*dstStride:], src[i*srcStride:]
		if !haveKernels {
			acrossRowGo(to, from, a, x)
			continue
		}
		_, _ = to[3*a.out], from[at+3*(a.end-a.first)+4]
		acrossNEON(&to[0], &from[at], &a.lo[0], a.first, &a.weights[0], a.out, a.taps)
	}
}

// downRow makes row k of the second pass. rows begin with its first input.
func downRow(dst, rows []byte, stride int, a *axis, k int) {
	n := len(dst)
	if !haveKernels || n < turn {
		downRowGo(dst, rows, stride, a, k)
		return
	}
	weights := &a.weights[k*a.taps]
	_ = rows[(a.taps-1)*stride+n-1]
	downNEON(&dst[0], &rows[0], stride, weights, a.taps, n/turn)
	if n%turn != 0 { // overlaps
		downNEON(&dst[n-turn], &rows[n-turn], stride, weights, a.taps, 1)
	}
}
