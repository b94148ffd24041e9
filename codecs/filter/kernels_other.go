//go:build !amd64

package filter

// haveAVX2 is false; a test sets it to itself.
var haveAVX2 = false

func gather2(dst, src []byte, n int) { gather2Go(dst, src[:n], src[n:2*n]) }

func gather4(dst, src []byte, n int) {
	gather4Go(dst, src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n])
}

func gather8(dst, src []byte, m, n, size int) { gather8Go(dst, src, m, n, size) }

func bitTurn(dst, src []byte, m, row, plane int) { bitTurnGo(dst, src, m, row, plane) }
