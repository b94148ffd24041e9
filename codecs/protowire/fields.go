package protowire

import "github.com/shardify/shardify"

// The wire types of Protocol Buffers that are read. Groups (3 and 4) are old and in no record.
const (
	Varint  = 0
	Fixed64 = 1
	Bytes   = 2
	Fixed32 = 5
)

// Fields walks through the fields of a message. N and Val are of the latest field of their wire types.
type Fields struct {
	B    []byte // the message
	I    int    // where the next field begins
	Num  uint32
	Wire uint8
	Val  []byte // of Bytes, Fixed32 and Fixed64: a part of B
	N    uint64 // of Varint
	Err  error  // its offset counts from B
}

// varint reads a number; its bytes are at most ten.
func (f *Fields) varint() (v uint64, ok bool) {
	if f.I < len(f.B) && f.B[f.I] < 0x80 {
		f.I++
		return uint64(f.B[f.I-1]), true
	}
	for s := 0; s < 70; s += 7 {
		if f.I >= len(f.B) {
			return 0, f.fail("a number is cut")
		}
		c := f.B[f.I]
		f.I++
		v |= uint64(c&0x7f) << s
		if c < 0x80 {
			return v, true
		}
	}
	return 0, f.fail("a number of more than 10 bytes")
}

func (f *Fields) fail(format string, args ...any) bool {
	f.Err = shardify.Corrupt(int64(f.I), format, args...)
	return false
}

// Next goes to the next field; false at the end, or with Err set.
func (f *Fields) Next() bool {
	if f.I >= len(f.B) {
		return false
	}
	tag, ok := f.varint()
	if !ok {
		return false
	}
	if tag>>3 == 0 || tag>>32 != 0 {
		return f.fail("field number %d", tag>>3)
	}
	f.Num, f.Wire = uint32(tag>>3), uint8(tag&7)
	size := uint64(0)
	switch f.Wire {
	case Varint:
		f.N, ok = f.varint()
		return ok
	case Bytes:
		if size, ok = f.varint(); !ok {
			return false
		}
	case Fixed64:
		size = 8
	case Fixed32:
		size = 4
	default:
		return f.fail("wire type %d", f.Wire)
	}
	if size > uint64(len(f.B)-f.I) {
		return f.fail("a field of %d bytes is cut", size)
	}
	f.Val = f.B[f.I : f.I+int(size)]
	f.I += int(size)
	return true
}
