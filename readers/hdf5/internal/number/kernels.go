package number

import (
	"encoding/binary"
	"math/bits"
)

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

// The loops that most bytes go through. Each has a form for numbers that are
// side by side, where the compiler keeps bounds checks out of the loop.

var copiers = [9]Convert{1: copy1, 2: copy2, 4: copy4, 8: copy8}

func copy1(dst, src []byte, count, stride int) {
	if stride == 1 {
		copy(dst[:count], src)
		return
	}
	dst = dst[:count]
	for i := range dst {
		dst[i] = src[i*stride]
	}
}

func copy2(dst, src []byte, count, stride int) {
	if stride == 2 {
		copy(dst[:2*count], src)
		return
	}
	for ; count > 0; count-- {
		le.PutUint16(dst, le.Uint16(src))
		dst = dst[2:]
		src = src[min(stride, len(src)):]
	}
}

func copy4(dst, src []byte, count, stride int) {
	if stride == 4 {
		copy(dst[:4*count], src)
		return
	}
	for ; count > 0; count-- {
		le.PutUint32(dst, le.Uint32(src))
		dst = dst[4:]
		src = src[min(stride, len(src)):]
	}
}

func copy8(dst, src []byte, count, stride int) {
	if stride == 8 {
		copy(dst[:8*count], src)
		return
	}
	for ; count > 0; count-- {
		le.PutUint64(dst, le.Uint64(src))
		dst = dst[8:]
		src = src[min(stride, len(src)):]
	}
}

// swap2 turns big-endian numbers of 2 bytes, four at a time.
func swap2(dst, src []byte, count, stride int) {
	if stride == 2 {
		dst, src = dst[:2*count], src[:2*count]
		for len(src) >= 8 && len(dst) >= 8 {
			w := le.Uint64(src)
			le.PutUint64(dst, w>>8&0x00ff00ff00ff00ff|w&0x00ff00ff00ff00ff<<8)
			src, dst = src[8:], dst[8:]
		}
		count = len(src) / 2
	}
	for ; count > 0; count-- {
		le.PutUint16(dst, be.Uint16(src))
		dst = dst[2:]
		src = src[min(stride, len(src)):]
	}
}

func swap4(dst, src []byte, count, stride int) {
	if stride == 4 {
		dst, src = dst[:4*count], src[:4*count]
		for len(src) >= 8 && len(dst) >= 8 {
			le.PutUint64(dst, bits.RotateLeft64(bits.ReverseBytes64(le.Uint64(src)), 32))
			src, dst = src[8:], dst[8:]
		}
		count = len(src) / 4
	}
	for ; count > 0; count-- {
		le.PutUint32(dst, be.Uint32(src))
		dst = dst[4:]
		src = src[min(stride, len(src)):]
	}
}

func swap8(dst, src []byte, count, stride int) {
	if stride == 8 {
		dst, src = dst[:8*count], src[:8*count]
		for len(src) >= 8 && len(dst) >= 8 {
			le.PutUint64(dst, be.Uint64(src))
			src, dst = src[8:], dst[8:]
		}
		return
	}
	for ; count > 0; count-- {
		le.PutUint64(dst, be.Uint64(src))
		dst = dst[8:]
		src = src[min(stride, len(src)):]
	}
}

// Strided is where values are inside an element: arrays in arrays, outermost first. From
// one of count[i] pieces to the next it is step[i] bytes.
type Strided struct {
	Off   int
	Count []int
	Step  []int
}

// Values is the number of values in one element.
func (s *Strided) Values() int {
	n := 1
	for _, c := range s.Count {
		n *= c
	}
	return n
}

// Simplify joins neighbouring levels whose pieces are side by side, and drops
// those of one piece.
func (s *Strided) Simplify() {
	var count, step []int
	for i := range s.Count {
		k := len(count)
		switch {
		case s.Count[i] == 1:
		case k > 0 && step[k-1] == s.Step[i]*s.Count[i]:
			count[k-1] *= s.Count[i]
			step[k-1] = s.Step[i]
		default:
			count, step = append(count, s.Count[i]), append(step, s.Step[i])
		}
	}
	s.Count, s.Step = count, step
}

// Gather converts the values of n elements, with stride bytes from one to the next. size is
// that of one value in dst.
func (s *Strided) Gather(dst, src []byte, n, stride, size int, f Convert) {
	if n == 0 || s.Values() == 0 {
		return
	}
	switch len(s.Count) {
	case 0:
		f(dst, src[s.Off:], n, stride)
	case 1:
		c, step := s.Count[0], s.Step[0]
		if step*c == stride {
			f(dst, src[s.Off:], n*c, step)
			return
		}
		for i := range n {
			f(dst[i*c*size:], src[s.Off+i*stride:], c, step)
		}
	default:
		inner := s.Values()
		for i := range n {
			s.nested(dst[i*inner*size:], src[s.Off+i*stride:], 0, size, f)
		}
	}
}

func (s *Strided) nested(dst, src []byte, level, size int, f Convert) {
	if level == len(s.Count)-1 {
		f(dst, src, s.Count[level], s.Step[level])
		return
	}
	inner := 1
	for _, c := range s.Count[level+1:] {
		inner *= c
	}
	for i := range s.Count[level] {
		s.nested(dst[i*inner*size:], src[i*s.Step[level]:], level+1, size, f)
	}
}
