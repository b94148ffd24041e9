package voxels

import "github.com/shardify/shardify"

// words turns columns of a tile, as many at once as have room in a word, and returns how many it has turned: none where
// the planes are no multiple of that.
func words[T shardify.Number](d, tile []T, item, next, n, side int) (i int) {
	var turn func(d, tile []byte, next, n int)
	var at int
	switch {
	case item == 2 && n%16 == 0 && haveAVX2:
		turn, at = turn16, 8
	case item == 1 && n%8 == 0:
		turn, at = turn8, 8
	case item == 2 && n%4 == 0:
		turn, at = turn4, 4
	default:
		return 0
	}
	b, t := shardify.Bytes(d), shardify.Bytes(tile)
	for ; i+at <= side; i += at {
		turn(b[i*next*item:], t[i*item:], next*item, n)
	}
	return i
}

// swap exchanges the upper parts of a with the lower parts of b, those under the mask.
func swap(a, b uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (a>>shift ^ b) & mask
	return a ^ t<<shift, b ^ t
}

const (
	low32 = 0x00000000ffffffff
	low16 = 0x0000ffff0000ffff
	low8  = 0x00ff00ff00ff00ff
)

// turn4 turns four columns of 2 bytes.
func turn4(d, tile []byte, next, n int) {
	const pitch = 2 * tileSide
	d0, d1, d2, d3 := d[:n*2], d[next:][:n*2], d[2*next:][:n*2], d[3*next:][:n*2]
	for k := 0; k < n; k += 4 {
		t := tile[k*pitch:][:3*pitch+8]
		v0, v1, v2, v3 := le.Uint64(t), le.Uint64(t[pitch:]), le.Uint64(t[2*pitch:]), le.Uint64(t[3*pitch:])
		v0, v2 = swap(v0, v2, 32, low32)
		v1, v3 = swap(v1, v3, 32, low32)
		v0, v1 = swap(v0, v1, 16, low16)
		v2, v3 = swap(v2, v3, 16, low16)
		le.PutUint64(d0[k*2:], v0)
		le.PutUint64(d1[k*2:], v1)
		le.PutUint64(d2[k*2:], v2)
		le.PutUint64(d3[k*2:], v3)
	}
}

// turn8 turns eight columns of a byte.
func turn8(d, tile []byte, next, n int) {
	const pitch = tileSide
	for k := 0; k < n; k += 8 {
		var v [8]uint64
		for i := range v {
			v[i] = le.Uint64(tile[(k+i)*pitch:])
		}
		for i := range 4 {
			v[i], v[i+4] = swap(v[i], v[i+4], 32, low32)
		}
		for _, i := range [4]int{0, 1, 4, 5} {
			v[i], v[i+2] = swap(v[i], v[i+2], 16, low16)
		}
		for i := 0; i < 8; i += 2 {
			v[i], v[i+1] = swap(v[i], v[i+1], 8, low8)
		}
		for i := range v {
			le.PutUint64(d[i*next+k:], v[i])
		}
	}
}
