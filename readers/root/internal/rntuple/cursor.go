package rntuple

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
)

var le = binary.LittleEndian

// cursor reads an envelope front to back. After the first fault all reads give zero and err
// is the fault, so that callers check once per record.
type cursor struct {
	b   []byte
	pos int
	end int
	err error
}

func newCursor(b []byte) cursor { return cursor{b: b, end: len(b)} }

func (c *cursor) left() int { return c.end - c.pos }

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = shardify.Corrupt(int64(c.pos), format, args...)
		c.pos = c.end
	}
}

// next returns the next n bytes, or nil.
func (c *cursor) next(n int) []byte {
	if n < 0 || n > c.left() {
		c.fail("%d bytes wanted, %d are left", n, c.left())
		return nil
	}
	c.pos += n
	return c.b[c.pos-n : c.pos]
}

func (c *cursor) u16() uint16 {
	if b := c.next(2); b != nil {
		return le.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.next(4); b != nil {
		return le.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.next(8); b != nil {
		return le.Uint64(b)
	}
	return 0
}

func (c *cursor) f64() float64 { return math.Float64frombits(c.u64()) }

func (c *cursor) str() string {
	n := c.u32()
	if uint64(n) > uint64(c.left()) {
		c.fail("string of %d bytes, %d are left", n, c.left())
		return ""
	}
	return string(c.next(int(n)))
}

// record enters a record frame and moves behind it. Its unknown tail is legal.
func (c *cursor) record() cursor {
	start := c.pos
	size := int64(c.u64())
	if c.err == nil && (size < 8 || size > int64(c.end-start)) {
		c.pos = start
		c.fail("record frame of %d bytes, %d are left", size, c.end-start)
	}
	return c.enter(start, size)
}

// list enters a list frame and moves behind it. Each item has at least least
// bytes.
func (c *cursor) list(least int) (in cursor, items int) {
	start := c.pos
	size := int64(c.u64())
	n := c.u32()
	switch {
	case c.err != nil:
	case size > -12 || size < -int64(c.end-start):
		c.pos = start
		c.fail("list frame of %d bytes, %d are left", -size, c.end-start)
	case int64(n)*int64(least) > -size-12:
		c.pos = start
		c.fail("list frame of %d items in %d bytes", n, -size)
		n = 0
	}
	if c.err != nil {
		n = 0
	}
	return c.enter(start, -size), int(n)
}

func (c *cursor) enter(start int, size int64) cursor {
	if c.err != nil {
		return cursor{err: c.err}
	}
	in := cursor{b: c.b, pos: c.pos, end: start + int(size)}
	c.pos = in.end
	return in
}

// join takes over the fault of a frame inside.
func (c *cursor) join(in *cursor) {
	if c.err == nil && in.err != nil {
		c.err = in.err
		c.pos = c.end
	}
}

// locator reads where something is. offset is -1 for a place outside of files.
func (c *cursor) locator() (offset, size int64) {
	start := c.pos
	head := int32(c.u32())
	if head >= 0 {
		return c.place(c.u64()), int64(head)
	}
	// The upper byte of the absolute value is the type, the lower two the length.
	a := -int64(head)
	kind, length := a>>24, int(a&0xffff)
	if c.err == nil && (length < 4 || length > c.end-start) {
		c.fail("locator of %d bytes, %d are left", length, c.end-start)
	}
	if c.err != nil {
		return 0, 0
	}
	in := cursor{b: c.b, pos: c.pos, end: start + length}
	c.pos = in.end
	if kind != 1 {
		return -1, 0
	}
	size = in.place(in.u64())
	offset = in.place(in.u64())
	c.join(&in)
	return offset, size
}

// place makes an offset or a length of an unsigned number.
func (c *cursor) place(v uint64) int64 {
	if v > math.MaxInt64/2 {
		c.fail("offset or length of %d", v)
		return 0
	}
	return int64(v)
}
