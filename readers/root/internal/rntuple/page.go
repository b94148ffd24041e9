package rntuple

import (
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/root/internal/block"
)

// scratch is memory that pages are decoded in; one per goroutine.
type scratch struct {
	raw    []byte
	native []byte
}

// grown returns n bytes of b, with any content. It is aligned to 8 as every
// allocation of that size is.
func grown(b *[]byte, n int) []byte {
	if cap(*b) < n {
		*b = make([]byte, n+n/4+64)
	}
	return (*b)[:n]
}

// rawBytes is the bytes of a page before compression.
func (p *page) rawBytes(c *Column) int64 { return (int64(p.n)*int64(c.Bits) + 7) / 8 }

// verify checks the page in the file, disk, against its checksum and returns it
// without.
func (p *page) verify(disk []byte, c *Column) ([]byte, error) {
	body := disk[:p.size]
	if p.summed {
		if err := p.check(body, disk[p.size:]); err != nil {
			return nil, err
		}
	}
	switch n := p.rawBytes(c); {
	case p.size > n:
		return nil, shardify.Corrupt(p.offset, "page of %d bytes for %d elements of %d bits", p.size, p.n, c.Bits)
	case p.size < n:
		if err := block.Check(n, body); err != nil {
			return nil, p.located(err)
		}
	}
	return body, nil
}

func (p *page) check(body, stored []byte) error {
	if sum, want := xxh3.Hash(body), le.Uint64(stored); sum != want {
		return shardify.Corrupt(p.offset, "page: xxh3 is %016x, stored %016x", sum, want)
	}
	return nil
}

// raw verifies a page and returns its bytes before compression.
func (p *page) raw(disk []byte, c *Column, s *scratch) ([]byte, error) {
	body, err := p.verify(disk, c)
	n := p.rawBytes(c)
	if err != nil || p.size == n {
		return body, err
	}
	raw := grown(&s.raw, int(n))
	if err := block.Decode(raw, body); err != nil {
		return nil, p.located(err)
	}
	return raw, nil
}

// decode turns elements [from, to) of a page into values at dst, which has room for
// exactly these. disk is the page in the file with its checksum.
func (p *page) decode(dst, disk []byte, c *Column, from, to int, s *scratch) error {
	if columnTypes[c.Type].enc == stored && from == 0 && to == int(p.n) && p.size < p.rawBytes(c) {
		// The decompressed bytes are the values: no copy between.
		body, err := p.verify(disk, c)
		if err == nil {
			err = p.located(block.Decode(dst, body))
		}
		return err
	}
	raw, err := p.raw(disk, c, s)
	if err != nil {
		return err
	}
	p.kernel(dst, raw, c, from, to)
	return nil
}

// located puts a fault of the compression at the page; the block's place in it
// becomes part of the text.
func (p *page) located(err error) error {
	var e *shardify.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Err, c.Offset = fmt.Errorf("page, byte %d: %w", e.Offset, e.Err), p.offset
	return &c
}

const cacheBlock = 1024

func (p *page) kernel(dst, raw []byte, c *Column, from, to int) {
	n := int(p.n)
	t := &columnTypes[c.Type]
	w := t.width
	switch t.enc {
	case stored:
		copy(dst, raw[from*w:to*w])
	case bit:
		bits(dst, raw, from)
	case split, zigzag, delta:
		// In blocks that stay in the first cache between the two steps.
		sum := uint64(0)
		if t.enc == delta {
			sum = before(raw, n, from, w)
		}
		for ; from < to; from += cacheBlock {
			b := dst[:min(cacheBlock, to-from)*w]
			dst = dst[len(b):]
			unsplit(b, raw, n, from, w)
			switch t.enc {
			case zigzag:
				unzigzag(b, w)
			case delta:
				sum = undelta(b, w, sum)
			}
		}
	case packed:
		truncated(shardify.View[uint32](dst), raw, from, c.Bits)
	case quantum:
		quantised(shardify.View[float32](dst), raw, from, c)
	}
}

func unsplit(dst, raw []byte, n, from, width int) {
	switch width {
	case 2:
		unsplit16(dst, raw, n, from)
	case 4:
		unsplit32(dst, raw, n, from)
	case 8:
		unsplit64(dst, raw, n, from)
	}
}

// values is decode for a field of type dt, which may be wider than the column.
func (p *page) values(dst, disk []byte, dt shardify.DType, c *Column, from, to int, s *scratch) error {
	st := columnTypes[c.Type].dtype
	if sameValues(dt, st) {
		return p.decode(dst, disk, c, from, to, s)
	}
	if c.Type == colReal32Quant { // a step between the bounds is exact in float64 only
		raw, err := p.raw(disk, c, s)
		if err == nil {
			quantised(shardify.View[float64](dst), raw, from, c)
		}
		return err
	}
	native := grown(&s.native, (to-from)*c.Type.Width())
	if err := p.decode(native, disk, c, from, to, s); err != nil {
		return err
	}
	numeric.Convert(dst, dt, native, st)
	return nil
}
