package filter

import "github.com/shardify/shardify"

// nbit is filter 5: only the significant bits of each number, in one run without
// alignment, most significant first. Client data: their count; 1 if data are stored
// as they are; number of elements; and the description of an element:
//
//	1 size order precision offset     a number, order 0 little-endian
//	2 size description                an array of what is described
//	3 size n, n x (offset description)  a compound
//	4 size                            bytes stored as they are
//
// What no bits are stored for is zero.
type nbit struct {
	elems int
	size  int // of an element
	bits  int // stored of an element
	parts []nbitPart
}

// nbitPart is a number in an element. Bytes stored as they are make a big-endian
// number of full precision.
type nbitPart struct {
	at, size          int // bytes
	precision, offset int // bits, offset from the least significant
	big               bool
}

const (
	// nbitMaxParts bounds the memory that a description can ask for.
	nbitMaxParts = 1 << 16
	nbitMaxDepth = 32
)

func newNBit(f *Spec, chunkBytes int64) (stage, error) {
	c := f.Client
	if len(c) < 3 {
		return nil, shardify.Corrupt(-1, "nbit: %d parameters", len(c))
	}
	if c[1] != 0 {
		return identity{}, nil
	}
	p := nbitParser{words: c[3:]}
	size, err := p.parse(0, nbitMaxDepth)
	if err != nil {
		return nil, err
	}
	n := nbit{elems: int(c[2]), size: size, parts: p.parts}
	if len(n.parts) == 0 {
		return nil, shardify.Corrupt(-1, "nbit: elements without a number")
	}
	if int64(c[2])*int64(size) != chunkBytes {
		return nil, shardify.Corrupt(-1, "nbit: %d elements of %d bytes in a chunk of %d", n.elems, size, chunkBytes)
	}
	for _, part := range p.parts {
		n.bits += part.precision
	}
	return n, nil
}

type nbitParser struct {
	words []uint32
	parts []nbitPart
}

// next returns the next word, or 0, which nothing valid starts with or contains
// where sizes are needed.
func (p *nbitParser) next() int {
	if len(p.words) == 0 {
		return 0
	}
	w := p.words[0]
	p.words = p.words[1:]
	return int(w)
}

// parse reads the description of the type at byte at and returns its size.
func (p *nbitParser) parse(at, depth int) (size int, err error) {
	class := p.next()
	size = p.next()
	if depth == 0 || size <= 0 || size > 1<<24 || len(p.parts) >= nbitMaxParts {
		return 0, shardify.Corrupt(-1, "nbit: description of the elements makes no sense")
	}
	switch class {
	case 1:
		big, precision, offset := p.next() != 0, p.next(), p.next()
		if precision == 0 || precision+offset > 8*size {
			return 0, shardify.Corrupt(-1, "nbit: %d bits at %d of %d bytes", precision, offset, size)
		}
		p.parts = append(p.parts, nbitPart{at, size, precision, offset, big})
	case 2:
		return size, p.array(at, size, depth)
	case 3:
		for range min(p.next(), nbitMaxParts) {
			off := p.next()
			n, err := p.parse(at+off, depth-1)
			if err != nil {
				return 0, err
			}
			if off+n > size {
				return 0, shardify.Corrupt(-1, "nbit: member of %d bytes at %d of %d", n, off, size)
			}
		}
	case 4:
		p.parts = append(p.parts, nbitPart{at, size, 8 * size, 0, true})
	default:
		return 0, shardify.Corrupt(-1, "nbit: class %d", class)
	}
	return size, nil
}

// array reads the description of the first element and repeats its parts.
func (p *nbitParser) array(at, size, depth int) error {
	first := len(p.parts)
	base, err := p.parse(at, depth-1)
	if err != nil {
		return err
	}
	one := p.parts[first:len(p.parts):len(p.parts)]
	if size%base != 0 || len(p.parts)+len(one)*(size/base) > nbitMaxParts {
		return shardify.Corrupt(-1, "nbit: array of %d bytes of %d", size, base)
	}
	for i := 1; i < size/base; i++ {
		for _, part := range one {
			part.at += i * base
			p.parts = append(p.parts, part)
		}
	}
	return nil
}

func (f nbit) encoded(n int) (int, bool) {
	// The reference library stores up to one byte more than needed.
	return f.elems*f.bits/8 + 2, false
}

func (f nbit) decode(dst, src []byte, _ bool, _ *Scratch) ([]byte, error) {
	total := f.elems * f.size
	need := (int64(f.elems)*int64(f.bits) + 7) / 8
	if total != len(dst) || need > int64(len(src)) {
		return nil, shardify.Corrupt(-1, "nbit: %d bytes for %d, needed %d for %d", len(src), len(dst), need, total)
	}
	r := bitReader{src: src}
	if p := f.parts[0]; len(f.parts) == 1 && p.size == f.size && (p.size <= 2 || p.size == 4 || p.size == 8) {
		for i := 0; i < len(dst); i += f.size {
			put(dst[i:i+f.size], r.read(p.precision)<<p.offset, f.size, p.big)
		}
		return dst, nil
	}
	clear(dst)
	for i := 0; i < len(dst); i += f.size {
		for _, p := range f.parts {
			p.read(dst[i+p.at:i+p.at+p.size], &r)
		}
	}
	return dst, nil
}

// read reads the number byte by byte to dst, which is zero.
func (p *nbitPart) read(dst []byte, r *bitReader) {
	for high := p.offset + p.precision; high > p.offset; {
		at := (high - 1) / 8
		low := max(p.offset, 8*at)
		c := byte(r.read(high-low) << (low - 8*at))
		if p.big {
			at = p.size - 1 - at
		}
		dst[at] |= c
		high = low
	}
}
