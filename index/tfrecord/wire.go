package tfrecord

import (
	"math/bits"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// The wire types of Protocol Buffers that are read. Groups (3 and 4) are old and in no record.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// fields walks through the fields of a message.
type fields struct {
	b    []byte
	i    int
	num  uint32
	wire uint8
	val  []byte // of wireBytes, wire32 and wire64
	n    uint64 // of wireVarint
	err  error
}

// varint reads a number; its bytes are at most ten.
func (f *fields) varint() (v uint64, ok bool) {
	if f.i < len(f.b) && f.b[f.i] < 0x80 {
		f.i++
		return uint64(f.b[f.i-1]), true
	}
	for s := 0; s < 70; s += 7 {
		if f.i >= len(f.b) {
			return 0, f.fail("a number is cut")
		}
		c := f.b[f.i]
		f.i++
		v |= uint64(c&0x7f) << s
		if c < 0x80 {
			return v, true
		}
	}
	return 0, f.fail("a number of more than 10 bytes")
}

func (f *fields) fail(format string, args ...any) bool {
	f.err = shardify.Corrupt(int64(f.i), format, args...)
	return false
}

// next goes to the next field; false at the end, or with err set.
func (f *fields) next() bool {
	if f.i >= len(f.b) {
		return false
	}
	tag, ok := f.varint()
	if !ok {
		return false
	}
	if tag>>3 == 0 || tag>>32 != 0 {
		return f.fail("field number %d", tag>>3)
	}
	f.num, f.wire = uint32(tag>>3), uint8(tag&7)
	size := uint64(0)
	switch f.wire {
	case wireVarint:
		f.n, ok = f.varint()
		return ok
	case wireBytes:
		if size, ok = f.varint(); !ok {
			return false
		}
	case wire64:
		size = 8
	case wire32:
		size = 4
	default:
		return f.fail("wire type %d", f.wire)
	}
	if size > uint64(len(f.b)-f.i) {
		return f.fail("a field of %d bytes is cut", size)
	}
	f.val = f.b[f.i : f.i+int(size)]
	f.i += int(size)
	return true
}

// Entry is an entry of a map: a key, and the message of a feature, or of a list of features.
type Entry struct{ Key, Value []byte }

// Example is a record: an Example, or a SequenceExample, which has Lists, too. Entries are in the
// order of the record; of several with one key the last counts.
type Example struct {
	Features []Entry
	Lists    []Entry
	// Sequence: it has the field of the lists, which an Example has not.
	Sequence bool
}

// Parse reads a record. What it finds are parts of b. The error's offset counts from b.
func (x *Example) Parse(b []byte) error {
	x.Features, x.Lists, x.Sequence = x.Features[:0], x.Lists[:0], false
	f := fields{b: b}
	for f.next() {
		if f.wire != wireBytes || f.num > 2 {
			continue
		}
		to := &x.Features
		if f.num == 2 {
			to, x.Sequence = &x.Lists, true
		}
		if err := entries(to, f.val, f.i-len(f.val)); err != nil {
			return err
		}
	}
	return f.err
}

func entries(to *[]Entry, b []byte, base int) error {
	f := fields{b: b}
	for f.next() {
		if f.num != 1 || f.wire != wireBytes {
			continue
		}
		var e Entry
		in, values := fields{b: f.val}, 0
		for in.next() {
			if in.wire != wireBytes {
				continue
			}
			switch in.num {
			case 1:
				e.Key = in.val
			case 2:
				e.Value = in.val
				values++
			}
		}
		if in.err != nil {
			return shifted(in.err, base+f.i-len(f.val))
		}
		if values > 1 {
			return shardify.Unsupported("the feature %.100q has several messages", e.Key)
		}
		*to = append(*to, e)
	}
	return shifted(f.err, base)
}

// shifted adds to the offset of an error of a message inside of another one.
func shifted(err error, by int) error {
	if err == nil {
		return nil
	}
	return shardify.Amend(err, func(e *shardify.Error) {
		if e.Offset >= 0 {
			e.Offset += int64(by)
		}
	})
}

// CheckKey refuses a key that Protocol Buffers have not.
func CheckKey(key []byte) error {
	if !utf8.Valid(key) {
		return shardify.Corrupt(-1, "the key %.100q is not UTF-8", key)
	}
	return nil
}

// numbers counts the numbers in b, and reports whether the last one is whole. A number of more
// than ten bytes is an error.
func numbers(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	if b[len(b)-1] >= 0x80 {
		return 0, shardify.Corrupt(-1, "a number is cut")
	}
	i := 0
	for ; i+8 <= len(b); i += 8 {
		n += 8 - bits.OnesCount64(eight(b[i:])&highBits)
	}
	for ; i < len(b); i++ {
		if b[i] < 0x80 {
			n++
		}
	}
	if len(b) >= n+10 { // otherwise none can have more than ten bytes
		run := 0
		for _, c := range b {
			if run++; run > 10 {
				return 0, shardify.Corrupt(-1, "a number of more than 10 bytes")
			}
			if c < 0x80 {
				run = 0
			}
		}
	}
	return n, nil
}
