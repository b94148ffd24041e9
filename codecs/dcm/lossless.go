package dcm

import (
	"encoding/binary"

	"github.com/shardify/shardify"
)

// lossless decodes frames of lossless JPEG: each number is the difference from one that is predicted from the numbers
// to the left and above. It keeps its memory.
type lossless struct {
	tables [4]huffman
	src    []byte
	at     int // in src

	acc  uint64 // its n top bits are the next ones
	n    int
	past bool // beyond the last bits

	precision, components int
	ids                   [3]byte
	every                 int // numbers between restarts; 0 without
	rows, columns         int
	lines                 [2][]int32 // the one above and the current one, of all components
}

// huffman is a table of codes.
type huffman struct {
	there  bool
	short  [512]uint16 // by the next 9 bits: bits of the code << 8 | value
	first  [18]int32   // the first code of a length, and behind it the end
	offset [17]int32   // from a code of a length to the place of its value
	most   [17]int32
	values [17]byte
}

func broken(at int, format string, args ...any) error {
	return shardify.Corrupt(int64(at), "JPEG: "+format, args...)
}

// decode decodes a frame into numbers of 1 or 2 bytes.
func (l *lossless) decode(dst, src []byte, im *Image) error {
	if im.allocated != 8 && im.allocated != 16 {
		return shardify.Unsupported("lossless JPEG with BitsAllocated %d", im.allocated)
	}
	if len(src) < 2 || src[0] != 0xff || src[1] != 0xd8 {
		return broken(0, "no image begins here")
	}
	l.src, l.at, l.every, l.components = src, 2, 0, 0
	for i := range l.tables {
		l.tables[i].there = false
	}
	left := im.Samples
	for {
		marker, body, err := l.segment()
		if err != nil {
			return err
		}
		switch {
		case marker == 0xc3:
			err = l.frame(body, im)
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xcc && marker != 0xc8:
			err = shardify.Unsupported("a JPEG frame of another process than lossless (marker ff%02x)", marker)
		case marker == 0xc4:
			err = l.huffmans(body)
		case marker == 0xdd:
			if len(body) != 2 {
				return broken(l.at, "a restart interval of %d bytes", len(body))
			}
			l.every = int(binary.BigEndian.Uint16(body))
		case marker == 0xda:
			var n int
			if n, err = l.scan(dst, body, im); err == nil {
				if left -= n; left == 0 {
					return nil
				}
			}
		case marker == 0xd9:
			return broken(l.at, "the image ends before all samples are there")
		}
		if err != nil {
			return err
		}
	}
}

// segment is the next marker and what belongs to it.
func (l *lossless) segment() (marker byte, body []byte, err error) {
	for l.at+1 < len(l.src) && l.src[l.at] == 0xff && l.src[l.at+1] == 0xff {
		l.at++
	}
	if l.at+2 > len(l.src) || l.src[l.at] != 0xff {
		return 0, nil, broken(l.at, "a marker is missing")
	}
	marker = l.src[l.at+1]
	l.at += 2
	if marker == 0xd9 || marker >= 0xd0 && marker <= 0xd8 || marker == 0x01 {
		return marker, nil, nil
	}
	if l.at+2 > len(l.src) {
		return 0, nil, broken(l.at, "the image ends within a marker")
	}
	n := int(binary.BigEndian.Uint16(l.src[l.at:]))
	if n < 2 || l.at+n > len(l.src) {
		return 0, nil, broken(l.at, "a marker of %d bytes goes beyond the image", n)
	}
	body = l.src[l.at+2 : l.at+n]
	l.at += n
	return marker, body, nil
}

// frame reads the size of the image.
func (l *lossless) frame(b []byte, im *Image) error {
	if l.components != 0 || len(b) < 6 || len(b) != 6+3*int(b[5]) {
		return broken(l.at, "a frame header of %d bytes", len(b))
	}
	l.precision, l.rows, l.columns, l.components = int(b[0]), int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:])), int(b[5])
	if l.rows != im.Rows || l.columns != im.Columns || l.components != im.Samples || l.precision > im.allocated || l.precision < 2 {
		return broken(l.at, "%d x %d pixels of %d samples of %d bits, the elements say %d x %d of %d of %d", l.rows, l.columns, l.components, l.precision, im.Rows, im.Columns, im.Samples, im.stored)
	}
	for i := range l.components {
		c := b[6+3*i:]
		if l.ids[i] = c[0]; c[1] != 0x11 {
			return shardify.Unsupported("lossless JPEG with samples that several pixels share")
		}
	}
	return nil
}

// huffmans reads tables of codes.
func (l *lossless) huffmans(b []byte) error {
	for len(b) > 0 {
		if len(b) < 17 {
			return broken(l.at, "a table of codes is cut")
		}
		class, id := b[0]>>4, b[0]&15
		n := 0
		for _, c := range b[1:17] {
			n += int(c)
		}
		if id > 3 || class > 1 || len(b) < 17+n {
			return broken(l.at, "table %d of codes, of class %d", id, class)
		}
		if class == 0 {
			if n > 17 {
				return broken(l.at, "a table of %d codes, lossless JPEG has at most 17", n)
			}
			if err := l.tables[id].make(b[1:17], b[17:17+n]); err != nil {
				return err
			}
		}
		b = b[17+n:]
	}
	return nil
}

func (h *huffman) make(counts, values []byte) error {
	*h = huffman{there: true}
	code, place := int32(0), int32(0)
	for length := 1; length <= 16; length++ {
		n := int32(counts[length-1])
		h.first[length], h.offset[length], h.most[length] = code, place-code, code+n
		if code+n > 1<<length {
			return broken(0, "more codes of %d bits than there are", length)
		}
		for i := range n {
			v := values[place+i]
			if v > 16 {
				return broken(0, "a difference of %d bits", v)
			}
			h.values[place+i] = v
			if length <= 9 {
				from := (code + i) << (9 - length)
				for k := range int32(1) << (9 - length) {
					h.short[from+k] = uint16(length)<<8 | uint16(v)
				}
			}
		}
		place += n
		code = (code + n) << 1
	}
	return nil
}

// fill makes more than 48 bits available while the bytes last.
func (l *lossless) fill() {
	for l.n <= 56 {
		if l.at >= len(l.src) {
			return
		}
		c := l.src[l.at]
		if c == 0xff {
			if l.at+1 >= len(l.src) || l.src[l.at+1] != 0 {
				return // a marker
			}
			l.at++
		}
		l.at++
		l.acc |= uint64(c) << (56 - l.n)
		l.n += 8
	}
}

// difference decodes one.
func (l *lossless) difference(h *huffman) int32 {
	if l.n < 32 {
		l.fill()
	}
	var size, length int
	if s := h.short[l.acc>>55]; s != 0 {
		size, length = int(s&0xff), int(s>>8)
	} else {
		for length = 10; ; length++ {
			if length > 16 {
				l.past = true
				return 0
			}
			if code := int32(l.acc >> (64 - length)); code < h.most[length] && code >= h.first[length] {
				size = int(h.values[code+h.offset[length]])
				break
			}
		}
	}
	extra := size
	if size == 16 {
		extra = 0
	}
	if length+extra > l.n {
		l.past = true
		return 0
	}
	l.acc <<= length
	l.n -= length + extra
	if size == 0 {
		return 0
	}
	if size == 16 {
		return 32768
	}
	v := int32(l.acc >> (64 - extra))
	l.acc <<= extra
	if v < 1<<(size-1) {
		v += -1<<size + 1
	}
	return v
}

// scan decodes one scan, of all components or of one, and returns how many.
func (l *lossless) scan(dst, b []byte, im *Image) (int, error) {
	if l.components == 0 || len(b) < 1 || len(b) != 4+2*int(b[0]) || b[0] == 0 || int(b[0]) > l.components {
		return 0, broken(l.at, "a scan header of %d bytes", len(b))
	}
	n := int(b[0])
	of, tables, err := l.samples(b[1:1+2*n], n)
	if err != nil {
		return 0, err
	}
	predictor, shift := int(b[1+2*n]), int(b[3+2*n]&15)
	if predictor < 1 || predictor > 7 || shift >= l.precision {
		return 0, broken(l.at, "predictor %d, shift %d", predictor, shift)
	}
	l.acc, l.n, l.past = 0, 0, false
	width := l.columns * n
	for i := range l.lines {
		if cap(l.lines[i]) < width {
			l.lines[i] = make([]int32, width)
		}
		l.lines[i] = l.lines[i][:width]
	}
	left := l.every
	fresh := true // the next line is the first, or the first behind a restart
	for y := range l.rows {
		above, line := l.lines[y&1], l.lines[y&1^1]
		for x := range l.columns {
			if l.every > 0 && left == 0 {
				if x != 0 {
					return 0, shardify.Unsupported("lossless JPEG with restarts within lines")
				}
				if err := l.restart(); err != nil {
					return 0, err
				}
				left, fresh = l.every, true
			}
			left--
			for i := range n {
				k := x*n + i
				var p int32
				switch {
				case x == 0 && fresh:
					p = 1 << (l.precision - shift - 1)
				case fresh:
					p = line[k-n]
				case x == 0:
					p = above[k]
				default:
					p = predict(predictor, line[k-n], above[k], above[k-n])
				}
				line[k] = (p + l.difference(tables[i])) & 0xffff
			}
		}
		if l.past {
			return 0, broken(l.at, "the codes end in line %d of %d, or are damaged", y+1, l.rows)
		}
		fresh = false
		l.store(dst, line, y, n, of, shift, im)
	}
	l.next()
	return n, nil
}

// samples finds which samples a scan has, and their tables of codes.
func (l *lossless) samples(b []byte, n int) (of [3]int, tables [3]*huffman, err error) {
	if n != 1 && n != l.components {
		return of, tables, shardify.Unsupported("lossless JPEG with scans of some samples")
	}
	for i := range n {
		k, id := 0, b[2*i+1]>>4
		for k < l.components && l.ids[k] != b[2*i] {
			k++
		}
		if k == l.components || id > 3 || !l.tables[id].there {
			return of, tables, broken(l.at, "a scan of an unknown sample, or without a table of codes")
		}
		of[i], tables[i] = k, &l.tables[id]
	}
	return of, tables, nil
}

// predict is the value that is expected from those to the left, above, and between.
func predict(how int, a, b, c int32) int32 {
	switch how {
	case 1:
		return a
	case 2:
		return b
	case 3:
		return c
	case 4:
		return a + b - c
	case 5:
		return a + (b-c)>>1
	case 6:
		return b + (a-c)>>1
	}
	return (a + b) >> 1
}

// store writes a line.
func (l *lossless) store(dst []byte, line []int32, y, n int, of [3]int, shift int, im *Image) {
	samples := im.Samples
	for x := range l.columns {
		for i := range n {
			v := line[x*n+i] << shift
			at := (y*l.columns+x)*samples + of[i]
			if im.allocated == 8 {
				dst[at] = byte(v)
			} else {
				binary.LittleEndian.PutUint16(dst[2*at:], uint16(v))
			}
		}
	}
}

// next goes to the marker behind a scan, or to the end: the mark of the image's end may be missing.
func (l *lossless) next() {
	for l.at+1 < len(l.src) && (l.src[l.at] != 0xff || l.src[l.at+1] == 0 || l.src[l.at+1] == 0xff) {
		l.at++
	}
}

// restart passes a restart marker.
func (l *lossless) restart() error {
	l.acc, l.n = 0, 0
	if l.at+2 > len(l.src) || l.src[l.at] != 0xff || l.src[l.at+1]&^7 != 0xd0 {
		return broken(l.at, "a restart marker is missing")
	}
	l.at += 2
	return nil
}
