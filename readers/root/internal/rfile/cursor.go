package rfile

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
)

// Cursor reads big-endian values from a record in memory. The first read past
// the limit fails, and from then on all reads give zero: check Err after a group
// of reads. Positions count from the start of the record's key.
type Cursor struct {
	buf   []byte
	pos   int // index of the next byte in buf
	limit int // index where the innermost frame ends
	// origin is the position of buf[0]: the key's bytes when buf is a payload
	// alone.
	origin int
	err    error
}

// NewCursor reads buf, whose first byte has the given position in its record.
func NewCursor(buf []byte, origin int) *Cursor {
	return &Cursor{buf: buf, limit: len(buf), origin: origin}
}

// Reset starts again with another buffer, which spares an allocation.
func (c *Cursor) Reset(buf []byte, origin int) {
	*c = Cursor{buf: buf, limit: len(buf), origin: origin}
}

// Err is the first failure, nil if there was none.
func (c *Cursor) Err() error { return c.err }

// Fail notes an error at the current position unless there is one already.
func (c *Cursor) Fail(format string, args ...any) {
	if c.err == nil {
		c.err = shardify.Corrupt(int64(c.Pos()), format, args...)
	}
}

// FailWith notes err unless there is an error already.
func (c *Cursor) FailWith(err error) {
	if c.err == nil {
		c.err = err
	}
}

// ClearErr returns the error and forgets it, for a caller that continues behind
// the damage.
func (c *Cursor) ClearErr() error {
	err := c.err
	c.err = nil
	return err
}

// Pos is the position of the next byte, counted from the start of the key.
func (c *Cursor) Pos() int { return c.pos + c.origin }

// Len is the number of bytes up to the limit.
func (c *Cursor) Len() int { return c.limit - c.pos }

// SeekTo moves to a position between the start of the buffer and the limit.
func (c *Cursor) SeekTo(pos int) {
	if i := pos - c.origin; i < 0 || i > c.limit {
		c.Fail("position %d is outside of the %d bytes here", pos, c.limit+c.origin)
	} else {
		c.pos = i
	}
}

// Bytes returns the next n bytes without copying; nil on failure.
func (c *Cursor) Bytes(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.limit-c.pos {
		c.Fail("%d bytes wanted, %d left", n, c.limit-c.pos)
		return nil
	}
	b := c.buf[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return b
}

// Skip passes n bytes.
func (c *Cursor) Skip(n int) { c.Bytes(n) }

// U8 reads one byte.
func (c *Cursor) U8() uint8 {
	if c.err != nil || c.pos >= c.limit {
		c.Fail("1 byte wanted, none left")
		return 0
	}
	v := c.buf[c.pos]
	c.pos++
	return v
}

// U16 reads two bytes.
func (c *Cursor) U16() uint16 {
	if b := c.Bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (c *Cursor) U32() uint32 {
	if b := c.Bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (c *Cursor) u64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// I16 reads two bytes.
func (c *Cursor) I16() int16 { return int16(c.U16()) }

// I32 reads four bytes.
func (c *Cursor) I32() int32 { return int32(c.U32()) }

// I64 reads eight bytes.
func (c *Cursor) I64() int64 { return int64(c.u64()) }

// F64 reads eight bytes.
func (c *Cursor) F64() float64 { return math.Float64frombits(c.u64()) }

// Count reads a 4-byte count of items of at least itemBytes each and fails if
// so many cannot follow.
func (c *Cursor) Count(itemBytes int) int {
	n := int(c.I32())
	if c.err == nil && (n < 0 || n > c.Len()/max(itemBytes, 1)) {
		c.Fail("count %d with %d bytes left", n, c.Len())
		return 0
	}
	return n
}

// CStr reads a counted string without copying.
func (c *Cursor) CStr() []byte {
	n := int(c.U8())
	if n == 255 {
		n = int(c.I32())
	}
	return c.Bytes(n)
}

// Str reads a counted string.
func (c *Cursor) Str() string { return string(c.CStr()) }

// zstr reads bytes up to a NUL, as in class tags.
func (c *Cursor) zstr() []byte {
	if c.err != nil {
		return nil
	}
	for i := c.pos; i < c.limit; i++ {
		if c.buf[i] == 0 {
			b := c.buf[c.pos:i]
			c.pos = i + 1
			return b
		}
	}
	c.Fail("class name without end")
	return nil
}

// Frame is the start of an object: its version and, unless End is -1, the
// position behind it.
type Frame struct {
	Version int16
	End     int
	outer   int // limit to go back to
}

const byteCountBit = 0x40000000

// Frame reads the optional byte count and the version, and puts the limit to the
// end of the object until Leave.
func (c *Cursor) Frame() Frame {
	f := Frame{End: -1, outer: c.limit}
	if c.Len() >= 4 && c.err == nil && c.buf[c.pos]&0x40 != 0 {
		n := int(c.U32() &^ byteCountBit)
		if n > c.limit-c.pos || n < 2 {
			c.Fail("object of %d bytes with %d left", n, c.limit-c.pos)
			return f
		}
		c.limit = c.pos + n
		f.End = c.limit + c.origin
	}
	f.Version = c.I16()
	return f
}

// Leave goes behind the object that f began, whatever was read of it.
func (c *Cursor) Leave(f Frame) {
	c.limit = f.outer
	if f.End >= 0 && c.err == nil {
		c.pos = f.End - c.origin
	}
}

// Rest is the number of bytes of the frame not read yet; 0 if it has no count.
func (c *Cursor) Rest(f Frame) int {
	if f.End < 0 || c.err != nil {
		return 0
	}
	return f.End - c.Pos()
}

// SkipFrame passes a whole framed object. One without a byte count cannot be
// passed.
func (c *Cursor) SkipFrame() {
	f := c.Frame()
	if f.End < 0 {
		c.Fail("object without a byte count")
	}
	c.Leave(f)
}

// TObject passes the body of a TObject and returns its bits.
func (c *Cursor) TObject() (bits uint32) {
	c.Skip(2 + 4)
	bits = c.U32()
	if bits&isReferenced != 0 {
		c.Skip(2)
	}
	return bits
}

const isReferenced = 0x10

// TNamed reads a TNamed without copying.
func (c *Cursor) TNamed() (name, title []byte) {
	f := c.Frame()
	c.TObject()
	name, title = c.CStr(), c.CStr()
	c.Leave(f)
	return name, title
}
