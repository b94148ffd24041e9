package filter

import "encoding/binary"

// unshuffle gathers byte planes to elements: byte j of element e is at
// src[j*n+e], where n is the number of whole elements of the given size. len(dst)
// is len(src); bytes behind the last whole element are copied.
func unshuffle(dst, src []byte, size int) {
	n := len(src) / size
	whole := n * size
	copy(dst[whole:len(src)], src[whole:])
	dst, src = dst[:whole], src[:whole]
	if n == 0 {
		return
	}
	if n < 8 {
		for j := range size {
			spread(dst[j:], src[j*n:j*n+n], size)
		}
		return
	}
	switch size {
	case 1:
		copy(dst, src)
	case 2:
		gather2(dst, src, n)
	case 3:
		gather3(dst, src[:n], src[n:2*n], src[2*n:])
	case 4:
		gather4(dst, src, n)
	case 8:
		gather8(dst, src, n, n, 8)
	default:
		unshuffleAny(dst, src, n, size)
	}
}

// unshuffleAny gathers elements of any size. It works in blocks of elements, so
// that planes are read a cache line at a time and the parts of an element are
// written while they are near.
func unshuffleAny(dst, src []byte, n, size int) {
	const block = 64
	for e := 0; e < n; e += block {
		e = min(e, max(0, n-block)) // the last block overlaps the one before
		m := min(block, n)
		to := dst[e*size : (e+m)*size]
		j := 0
		for ; j+8 <= size; j += 8 {
			gather8(to[j:], src[j*n+e:], m, n, size)
		}
		// The last groups of planes overlap those before, too.
		if size-j > 4 {
			k := max(0, size-8)
			gather4Wide(to[k:], src[k*n+e:], m, n, size)
		}
		if size > j {
			k := size - 4
			gather4Wide(to[k:], src[k*n+e:], m, n, size)
		}
	}
}

// spread copies a plane to every size-th byte of dst.
func spread(dst, plane []byte, size int) {
	at := 0
	for _, c := range plane {
		dst[at] = c
		at += size
	}
}

const (
	bytesEven = 0x00ff00ff00ff00ff
	pairsEven = 0x0000ffff0000ffff
)

// The kernels below read words of 8 bytes of each plane and interleave them as
// numbers: first the bytes of two planes to pairs, then pairs to fours, then fours
// to eights. Each step takes what is at even places of both words to one of them
// and what is at odd places to the other, by exchanging through t what differs:
//
//	a0 a1 a2 a3 .. | b0 b1 b2 b3 ..  ->  a0 b0 a2 b2 .. | a1 b1 a3 b3 ..
//
// They gather eight elements a turn. The last turn overlaps the one before if the
// number of elements is not a multiple of eight; it must be eight at least.
// The steps are written out, since as functions of arrays they would go through
// memory: half the speed.

// gather2Go gathers two planes of the same length to elements of two bytes.
func gather2Go(dst, a, b []byte) {
	n := len(a)
	b = b[:n]
	for i := 0; ; {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		t := (x>>8 ^ y) & bytesEven
		y ^= t      // 1 3 5 7
		x ^= t << 8 // 0 2 4 6
		t = (x>>16 ^ y) & pairsEven
		y ^= t       // 2 3 6 7
		x ^= t << 16 // 0 1 4 5
		to := (*[16]byte)(dst[2*i:])
		binary.LittleEndian.PutUint64(to[0:], uint64(uint32(x))|y<<32)
		binary.LittleEndian.PutUint64(to[8:], x>>32|y>>32<<32)
		if i += 8; i > n-8 {
			if i >= n {
				return
			}
			i = n - 8
		}
	}
}

// gather3 gathers three planes of the same length to elements of three bytes.
func gather3(dst, a, b, c []byte) {
	m := len(a)
	b, c = b[:m], c[:m]
	for i := 0; ; {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		z := binary.LittleEndian.Uint64(c[i:])
		t := (x>>8 ^ y) & bytesEven
		y ^= t      // the first two bytes of 1 3 5 7
		x ^= t << 8 // of 0 2 4 6
		w := z >> 8 // the third, in the low byte of each pair
		to := (*[24]byte)(dst[3*i:])
		const two, one = 0xffff, 0xff
		e0, e1 := x&two|z&one<<16, y&two|w&one<<16
		e2, e3 := x>>16&two|z>>16&one<<16, y>>16&two|w>>16&one<<16
		e4, e5 := x>>32&two|z>>32&one<<16, y>>32&two|w>>32&one<<16
		e6, e7 := x>>48|z>>48&one<<16, y>>48|w>>48&one<<16
		binary.LittleEndian.PutUint64(to[0:], e0|e1<<24|e2<<48)
		binary.LittleEndian.PutUint64(to[8:], e2>>16|e3<<8|e4<<32|e5<<56)
		binary.LittleEndian.PutUint64(to[16:], e5>>8|e6<<16|e7<<40)
		if i += 8; i > m-8 {
			if i >= m {
				return
			}
			i = m - 8
		}
	}
}

// gather4Go gathers four planes of the same length to elements of four bytes.
func gather4Go(dst, a, b, c, d []byte) {
	m := len(a)
	b, c, d = b[:m], c[:m], d[:m]
	for i := 0; ; {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		z, w := binary.LittleEndian.Uint64(c[i:]), binary.LittleEndian.Uint64(d[i:])
		t := (x>>8 ^ y) & bytesEven
		y ^= t
		x ^= t << 8
		t = (z>>8 ^ w) & bytesEven
		w ^= t
		z ^= t << 8
		t = (x>>16 ^ z) & pairsEven
		z ^= t       // 2 6
		x ^= t << 16 // 0 4
		t = (y>>16 ^ w) & pairsEven
		w ^= t       // 3 7
		y ^= t << 16 // 1 5
		to := (*[32]byte)(dst[4*i:])
		binary.LittleEndian.PutUint64(to[0:], uint64(uint32(x))|y<<32)
		binary.LittleEndian.PutUint64(to[8:], uint64(uint32(z))|w<<32)
		binary.LittleEndian.PutUint64(to[16:], x>>32|y>>32<<32)
		binary.LittleEndian.PutUint64(to[24:], z>>32|w>>32<<32)
		if i += 8; i > m-8 {
			if i >= m {
				return
			}
			i = m - 8
		}
	}
}

// gather4Wide gathers m elements of four planes, which begin every n bytes, to four bytes at every
// size-th byte of dst.
func gather4Wide(dst, src []byte, m, n, size int) {
	a, b, c, d := src[:m], src[n:n+m], src[2*n:2*n+m], src[3*n:3*n+m]
	for i := 0; ; {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		z, w := binary.LittleEndian.Uint64(c[i:]), binary.LittleEndian.Uint64(d[i:])
		t := (x>>8 ^ y) & bytesEven
		y ^= t
		x ^= t << 8
		t = (z>>8 ^ w) & bytesEven
		w ^= t
		z ^= t << 8
		t = (x>>16 ^ z) & pairsEven
		z ^= t       // 2 6
		x ^= t << 16 // 0 4
		t = (y>>16 ^ w) & pairsEven
		w ^= t       // 3 7
		y ^= t << 16 // 1 5
		to := dst[i*size:]
		binary.LittleEndian.PutUint32(to, uint32(x))
		binary.LittleEndian.PutUint32(to[size:], uint32(y))
		binary.LittleEndian.PutUint32(to[2*size:], uint32(z))
		binary.LittleEndian.PutUint32(to[3*size:], uint32(w))
		binary.LittleEndian.PutUint32(to[4*size:], uint32(x>>32))
		binary.LittleEndian.PutUint32(to[5*size:], uint32(y>>32))
		binary.LittleEndian.PutUint32(to[6*size:], uint32(z>>32))
		binary.LittleEndian.PutUint32(to[7*size:], uint32(w>>32))
		if i += 8; i > m-8 {
			if i >= m {
				return
			}
			i = m - 8
		}
	}
}

// gather8Go is gather4Wide for eight planes.
func gather8Go(dst, src []byte, m, n, size int) {
	a, b, c, d := src[:m], src[n:n+m], src[2*n:2*n+m], src[3*n:3*n+m]
	e, f, g, h := src[4*n:4*n+m], src[5*n:5*n+m], src[6*n:6*n+m], src[7*n:7*n+m]
	for i := 0; ; {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		z, w := binary.LittleEndian.Uint64(c[i:]), binary.LittleEndian.Uint64(d[i:])
		t := (x>>8 ^ y) & bytesEven
		y ^= t
		x ^= t << 8
		t = (z>>8 ^ w) & bytesEven
		w ^= t
		z ^= t << 8
		t = (x>>16 ^ z) & pairsEven
		z ^= t
		x ^= t << 16
		t = (y>>16 ^ w) & pairsEven
		w ^= t
		y ^= t << 16
		p, q := binary.LittleEndian.Uint64(e[i:]), binary.LittleEndian.Uint64(f[i:])
		r, s := binary.LittleEndian.Uint64(g[i:]), binary.LittleEndian.Uint64(h[i:])
		t = (p>>8 ^ q) & bytesEven
		q ^= t
		p ^= t << 8
		t = (r>>8 ^ s) & bytesEven
		s ^= t
		r ^= t << 8
		t = (p>>16 ^ r) & pairsEven
		r ^= t
		p ^= t << 16
		t = (q>>16 ^ s) & pairsEven
		s ^= t
		q ^= t << 16
		if size == 8 {
			to := (*[64]byte)(dst[8*i:])
			binary.LittleEndian.PutUint64(to[0:], uint64(uint32(x))|p<<32)
			binary.LittleEndian.PutUint64(to[8:], uint64(uint32(y))|q<<32)
			binary.LittleEndian.PutUint64(to[16:], uint64(uint32(z))|r<<32)
			binary.LittleEndian.PutUint64(to[24:], uint64(uint32(w))|s<<32)
			binary.LittleEndian.PutUint64(to[32:], x>>32|p>>32<<32)
			binary.LittleEndian.PutUint64(to[40:], y>>32|q>>32<<32)
			binary.LittleEndian.PutUint64(to[48:], z>>32|r>>32<<32)
			binary.LittleEndian.PutUint64(to[56:], w>>32|s>>32<<32)
		} else {
			to := dst[i*size:]
			binary.LittleEndian.PutUint64(to, uint64(uint32(x))|p<<32)
			binary.LittleEndian.PutUint64(to[size:], uint64(uint32(y))|q<<32)
			binary.LittleEndian.PutUint64(to[2*size:], uint64(uint32(z))|r<<32)
			binary.LittleEndian.PutUint64(to[3*size:], uint64(uint32(w))|s<<32)
			binary.LittleEndian.PutUint64(to[4*size:], x>>32|p>>32<<32)
			binary.LittleEndian.PutUint64(to[5*size:], y>>32|q>>32<<32)
			binary.LittleEndian.PutUint64(to[6*size:], z>>32|r>>32<<32)
			binary.LittleEndian.PutUint64(to[7*size:], w>>32|s>>32<<32)
		}
		if i += 8; i > m-8 {
			if i >= m {
				return
			}
			i = m - 8
		}
	}
}
