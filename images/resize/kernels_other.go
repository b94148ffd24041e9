//go:build !amd64 && !arm64

package resize

// haveKernels is false; a test sets it to itself.
var haveKernels = false

func acrossRows(dst []byte, dstStride int, src []byte, srcStride int, a *axis, x int) {
	for i := range lines {
		acrossRowGo(dst[i*dstStride:], src[i*srcStride:], a, x)
	}
}

func downRow(dst, rows []byte, stride int, a *axis, k int) { downRowGo(dst, rows, stride, a, k) }
