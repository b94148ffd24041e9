//go:build !amd64 && !arm64

package jpeg

// haveKernels is false; a test sets it to itself.
var haveKernels = false

func idctPair(in *[2][128]int16, a []byte, strideA int, b []byte, strideB int) {
	idct8(&in[0], a, strideA)
	idct8(&in[1], b, strideB)
}

func upH2V1(dst, src []byte, n int) { upH2V1Go(dst, src, n) }

func upH1V2(dst, near, far []byte, n int, bias byte) { upH1V2Go(dst, near, far, n, bias) }

func upH2V2(dst, near, far []byte, n int) { upH2V2Go(dst, near, far, n) }

func yccToRGB(dst, y, cb, cr []byte, n int) { yccToRGBGo(dst, y, cb, cr, n) }
