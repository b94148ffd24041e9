package h5

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
)

// decoder reads fields in order. Running out of bytes is remembered, so that a
// caller checks once per structure with err; until then fields read as 0, and
// loops are bounded by counts compared with rest.
type decoder struct {
	b    []byte
	pos  int
	f    *MetaFile
	at   int64 // file offset of b[0]; -1 if b was decoded from something
	what string
	bad  bool
}

func (f *MetaFile) decode(b []byte, at int64, what string) decoder {
	return decoder{b: b, f: f, at: at, what: what}
}

// corrupt makes an error at the current position.
func (d *decoder) corrupt(format string, args ...any) error {
	return d.corruptAt(d.pos, format, args...)
}

func (d *decoder) corruptAt(pos int, format string, args ...any) error {
	at := int64(-1)
	if d.at >= 0 {
		at = d.at + int64(pos)
	}
	return shardify.Corrupt(at, d.what+": "+format, args...)
}

// err reports whether the structure was shorter than its fields.
func (d *decoder) err() error {
	if d.bad {
		return d.corruptAt(0, "%d bytes are too few", len(d.b))
	}
	return nil
}

func (d *decoder) rest() int { return len(d.b) - d.pos }

// bytes returns the next n bytes, nil if there are fewer.
func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > d.rest() {
		d.bad, d.pos = true, len(d.b)
		return nil
	}
	d.pos += n
	return d.b[d.pos-n : d.pos : d.pos]
}

func (d *decoder) skip(n int) { d.bytes(n) }

func (d *decoder) u8() uint8 {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if b := d.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// uint reads an unsigned integer of n <= 8 bytes.
func (d *decoder) uint(n int) uint64 { return leUint(d.bytes(n)) }

func leUint(b []byte) uint64 {
	if len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	var v uint64
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// length reads a field of the length size.
func (d *decoder) length() uint64 { return d.uint(d.f.LengthSize) }

// size reads a length that counts bytes of this file; a larger number than fits
// an int64 becomes one that no file can hold.
func (d *decoder) size() int64 { return int64(min(d.length(), math.MaxInt64)) }

// addr reads an address: an offset from the start of the file, or Undefined.
func (d *decoder) addr() int64 { return d.f.offset(d.bytes(d.f.OffsetSize)) }

// offset turns a stored address into an offset of the file. One that no file can
// hold becomes MaxInt64, which every check refuses.
func (f *MetaFile) offset(b []byte) int64 {
	v := leUint(b)
	if v == math.MaxUint64>>(64-8*f.OffsetSize) {
		return Undefined
	}
	if v > uint64(math.MaxInt64-f.Base) {
		return math.MaxInt64
	}
	return int64(v) + f.Base
}

// Address turns an address stored in data (an object reference, the start of a
// region reference) into an offset of this file: Undefined for all ones and for 0,
// the null reference.
func (f *MetaFile) Address(raw []byte) (int64, error) {
	if len(raw) < f.OffsetSize {
		return Undefined, shardify.Corrupt(-1, "address of %d bytes, not %d", len(raw), f.OffsetSize)
	}
	a := f.offset(raw[:f.OffsetSize])
	if a == f.Base {
		return Undefined, nil
	}
	return a, nil
}

// magic reads a signature.
func (d *decoder) magic(want string) error {
	if got := d.bytes(len(want)); string(got) != want {
		return d.corruptAt(d.pos-len(got), "signature is %q, not %q", got, want)
	}
	return nil
}

// version reads a version byte of which one value is known.
func (d *decoder) version(want uint8) error {
	if v := d.u8(); v != want && !d.bad {
		return d.corruptAt(d.pos-1, "version is %d, not %d", v, want)
	}
	return nil
}

// text reads up to and including a NUL.
func (d *decoder) text() (string, error) {
	for i := d.pos; i < len(d.b); i++ {
		if d.b[i] == 0 {
			s := string(d.b[d.pos:i])
			d.pos = i + 1
			return s, nil
		}
	}
	return "", d.corrupt("text without an end")
}

// checksum compares the u32 that follows with the lookup3 hash of everything
// before it.
func (d *decoder) checksum() error {
	sum := codecs.Lookup3(d.b[:d.pos])
	if stored := d.u32(); stored != sum && !d.f.NoSums || d.bad {
		return d.corruptAt(0, "checksum is %08x, stored %08x", sum, stored)
	}
	return nil
}

// untilNUL is the text before the first NUL.
func untilNUL(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// enc is the number of bytes needed to write n.
func enc(n uint64) int { return (bits.Len64(n|1)-1)/8 + 1 }

// mulFits multiplies; ok is false when the product exceeds an int64.
func mulFits(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo <= math.MaxInt64
}
