package filter

import "golang.org/x/sys/cpu"

// haveAVX2 chooses the kernels of kernels_amd64.s. They are assembly because the
// generic ones, at 3 to 4 GB/s (bits: 1.5), took as long as LZ4 or Zstandard takes
// to decode the same data, and what reads these chunks elsewhere uses AVX2 too.
// A test changes it to compare both.
var haveAVX2 = cpu.X86.HasAVX2

// kernelTurn is how many elements a kernel handles at once.
const kernelTurn = 32

// The kernels take the same arguments as their namesakes in unshuffle.go and
// bitunshuffle.go, but m, which counts elements (bytes of a plane), must be a
// positive multiple of kernelTurn. They check nothing.

//go:noescape
func gather2AVX2(dst, src []byte, m, n int)

//go:noescape
func gather4AVX2(dst, src []byte, m, n int)

//go:noescape
func gather8AVX2(dst, src []byte, m, n, size int)

//go:noescape
func bitTurnAVX2(dst, src []byte, m, row, plane int)

// gather2 gathers two planes of n bytes to elements of two bytes.
func gather2(dst, src []byte, n int) {
	if !haveAVX2 || n < kernelTurn {
		gather2Go(dst, src[:n], src[n:2*n])
		return
	}
	_, _ = dst[2*n-1], src[2*n-1]
	gather2AVX2(dst, src, n&^(kernelTurn-1), n)
	if last := n - kernelTurn; n%kernelTurn != 0 { // overlaps
		gather2AVX2(dst[2*last:], src[last:], kernelTurn, n)
	}
}

// gather4 gathers four planes of n bytes to elements of four bytes.
func gather4(dst, src []byte, n int) {
	if !haveAVX2 || n < kernelTurn {
		gather4Go(dst, src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n])
		return
	}
	_, _ = dst[4*n-1], src[4*n-1]
	gather4AVX2(dst, src, n&^(kernelTurn-1), n)
	if last := n - kernelTurn; n%kernelTurn != 0 {
		gather4AVX2(dst[4*last:], src[last:], kernelTurn, n)
	}
}

// gather8 gathers m elements of eight planes, which begin every n bytes, to eight bytes at every
// size-th byte of dst.
func gather8(dst, src []byte, m, n, size int) {
	if !haveAVX2 || m < kernelTurn {
		gather8Go(dst, src, m, n, size)
		return
	}
	_, _ = dst[(m-1)*size+7], src[7*n+m-1]
	gather8AVX2(dst, src, m&^(kernelTurn-1), n, size)
	if last := m - kernelTurn; m%kernelTurn != 0 {
		gather8AVX2(dst[last*size:], src[last:], kernelTurn, n, size)
	}
}

// bitTurn turns m bytes of eight rows, which begin every row bytes, to m bytes of eight planes,
// which begin every plane bytes: bit k of a byte of row i becomes bit i of that byte of plane k.
func bitTurn(dst, src []byte, m, row, plane int) {
	if !haveAVX2 || m < kernelTurn {
		bitTurnGo(dst, src, m, row, plane)
		return
	}
	_, _ = dst[7*plane+m-1], src[7*row+m-1]
	bitTurnAVX2(dst, src, m&^(kernelTurn-1), row, plane)
	if last := m - kernelTurn; m%kernelTurn != 0 {
		bitTurnAVX2(dst[last:], src[last:], kernelTurn, row, plane)
	}
}
