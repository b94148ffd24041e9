package meta

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
)

// Decoder reads fields in order. Running out of bytes is remembered, so that a
// caller checks once per structure with err; until then fields read as 0, and
// loops are bounded by counts compared with rest.
type Decoder struct {
	Data []byte
	Pos  int
	File *File
	At   int64 // file offset of b[0]; -1 if b was decoded from something
	What string
	Bad  bool
}

func (f *File) Decode(b []byte, at int64, what string) Decoder {
	return Decoder{Data: b, File: f, At: at, What: what}
}

// Corrupt makes an error at the current position.
func (d *Decoder) Corrupt(format string, args ...any) error {
	return d.CorruptAt(d.Pos, format, args...)
}

func (d *Decoder) CorruptAt(pos int, format string, args ...any) error {
	at := int64(-1)
	if d.At >= 0 {
		at = d.At + int64(pos)
	}
	return shardify.Corrupt(at, d.What+": "+format, args...)
}

// Err reports whether the structure was shorter than its fields.
func (d *Decoder) Err() error {
	if d.Bad {
		return d.CorruptAt(0, "%d bytes are too few", len(d.Data))
	}
	return nil
}

func (d *Decoder) Rest() int { return len(d.Data) - d.Pos }

// Bytes returns the next n bytes, nil if there are fewer.
func (d *Decoder) Bytes(n int) []byte {
	if n < 0 || n > d.Rest() {
		d.Bad, d.Pos = true, len(d.Data)
		return nil
	}
	d.Pos += n
	return d.Data[d.Pos-n : d.Pos : d.Pos]
}

func (d *Decoder) Skip(n int) { d.Bytes(n) }

func (d *Decoder) U8() uint8 {
	if b := d.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *Decoder) U16() uint16 {
	if b := d.Bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *Decoder) U32() uint32 {
	if b := d.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint reads an unsigned integer of n <= 8 bytes.
func (d *Decoder) Uint(n int) uint64 { return Uint(d.Bytes(n)) }

// Uint is the unsigned integer of up to 8 bytes, the lowest first.
func Uint(b []byte) uint64 {
	if len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	var v uint64
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// Length reads a field of the length size.
func (d *Decoder) Length() uint64 { return d.Uint(d.File.LengthSize) }

// Size reads a length that counts bytes of this file; a larger number than fits
// an int64 becomes one that no file can hold.
func (d *Decoder) Size() int64 { return int64(min(d.Length(), math.MaxInt64)) }

// Addr reads an address: an offset from the start of the file, or Undefined.
func (d *Decoder) Addr() int64 { return d.File.Offset(d.Bytes(d.File.OffsetSize)) }

// Offset turns a stored address into an offset of the file. One that no file can
// hold becomes MaxInt64, which every check refuses.
func (f *File) Offset(b []byte) int64 {
	v := Uint(b)
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
func (f *File) Address(raw []byte) (int64, error) {
	if len(raw) < f.OffsetSize {
		return Undefined, shardify.Corrupt(-1, "address of %d bytes, not %d", len(raw), f.OffsetSize)
	}
	a := f.Offset(raw[:f.OffsetSize])
	if a == f.Base {
		return Undefined, nil
	}
	return a, nil
}

// Magic reads a signature.
func (d *Decoder) Magic(want string) error {
	if got := d.Bytes(len(want)); string(got) != want {
		return d.CorruptAt(d.Pos-len(got), "signature is %q, not %q", got, want)
	}
	return nil
}

// Version reads a version byte of which one value is known.
func (d *Decoder) Version(want uint8) error {
	if v := d.U8(); v != want && !d.Bad {
		return d.CorruptAt(d.Pos-1, "version is %d, not %d", v, want)
	}
	return nil
}

// Text reads up to and including a NUL.
func (d *Decoder) Text() (string, error) {
	for i := d.Pos; i < len(d.Data); i++ {
		if d.Data[i] == 0 {
			s := string(d.Data[d.Pos:i])
			d.Pos = i + 1
			return s, nil
		}
	}
	return "", d.Corrupt("text without an end")
}

// Checksum compares the u32 that follows with the lookup3 hash of everything
// before it.
func (d *Decoder) Checksum() error {
	sum := codecs.Lookup3(d.Data[:d.Pos])
	if stored := d.U32(); stored != sum && !d.File.NoSums || d.Bad {
		return d.CorruptAt(0, "checksum is %08x, stored %08x", sum, stored)
	}
	return nil
}

// UntilNUL is the text before the first NUL.
func UntilNUL(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// Width is the number of bytes needed to write n.
func Width(n uint64) int { return (bits.Len64(n|1)-1)/8 + 1 }

// Product multiplies; ok is false when the product exceeds an int64.
func Product(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo <= math.MaxInt64
}
