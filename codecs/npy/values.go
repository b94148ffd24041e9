package npy

import "github.com/shardify/shardify/codecs/voxels"

// Gather copies the leaf's bytes of every item to dst.
func Gather(dst, items []byte, size int, l *Leaf) {
	if len(dst) == 0 {
		return
	}
	if len(l.Runs) == 1 {
		src := items[l.Runs[0]:]
		switch l.RunBytes {
		case 1:
			for i := range dst {
				dst[i] = src[i*size]
			}
			return
		case 2:
			for ; len(dst) >= 2; dst = dst[2:] {
				*(*[2]byte)(dst) = *(*[2]byte)(src)
				src = src[min(size, len(src)):]
			}
			return
		case 4:
			for ; len(dst) >= 4; dst = dst[4:] {
				*(*[4]byte)(dst) = *(*[4]byte)(src)
				src = src[min(size, len(src)):]
			}
			return
		case 8:
			for ; len(dst) >= 8; dst = dst[8:] {
				*(*[8]byte)(dst) = *(*[8]byte)(src)
				src = src[min(size, len(src)):]
			}
			return
		}
	}
	for len(dst) > 0 {
		for _, at := range l.Runs {
			dst = dst[copy(dst[:l.RunBytes], items[at:]):]
		}
		items = items[size:]
	}
}

// Repairs reports whether stored values differ from delivered ones of equal size.
func (s scalar) Repairs() bool {
	return s.Kind == 'b' || s.Big && s.Kind != 'S' && s.Kind != 'V' && s.unitSize() > 1
}

// unitSize is the bytes that byte order applies to: of half a complex number.
func (s scalar) unitSize() int {
	if s.Kind == 'c' {
		return s.Size / 2
	}
	return s.Size
}

// Repair turns big-endian values round and other bools than 0 and 1 to 1.
func (s scalar) Repair(p []byte) {
	if !s.Repairs() {
		return
	}
	if s.Kind == 'b' {
		for i, v := range p {
			if v > 1 {
				p[i] = 1
			}
		}
		return
	}
	voxels.Swap(p, s.unitSize())
}

// TextEnd is the length without trailing zero units.
func TextEnd(v []byte, unit int) int {
	n := len(v)
	for n > 0 && v[n-1] == 0 {
		n--
	}
	return (n + unit - 1) / unit * unit
}
