package tfrecord

import (
	"encoding/binary"
	"math/bits"
)

// Encoder makes the message of an Example, feature by feature, as TensorFlow serializes it in order:
// the keys must come in the order of their bytes. Lists are packed.
type Encoder struct {
	b   []byte // the entries
	tmp []byte
}

// Begin begins the next Example.
func (e *Encoder) Begin() { e.b = e.b[:0] }

func sizeOf(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

// entry appends all of a feature but its list, which has so many bytes.
func (e *Encoder) entry(key string, kind Kind, list int) {
	feature := 1 + sizeOf(list) + list
	e.b = append(e.b, 0x0a)
	e.b = binary.AppendUvarint(e.b, uint64(1+sizeOf(len(key))+len(key)+1+sizeOf(feature)+feature))
	e.b = append(e.b, 0x0a)
	e.b = append(binary.AppendUvarint(e.b, uint64(len(key))), key...)
	e.b = append(e.b, 0x12)
	e.b = append(binary.AppendUvarint(e.b, uint64(feature)), byte(kind)<<3|2)
	e.b = binary.AppendUvarint(e.b, uint64(list))
}

// packed appends the one field of a list of numbers.
func (e *Encoder) packed(key string, kind Kind, b []byte) {
	if len(b) == 0 {
		e.entry(key, kind, 0)
		return
	}
	e.entry(key, kind, 1+sizeOf(len(b))+len(b))
	e.b = append(e.b, 0x0a)
	e.b = append(binary.AppendUvarint(e.b, uint64(len(b))), b...)
}

// Floats appends f32 in little-endian order.
func (e *Encoder) Floats(key string, b []byte) { e.packed(key, Floats, b) }

// Ints appends i64 in little-endian order.
func (e *Encoder) Ints(key string, b []byte) {
	e.tmp = e.tmp[:0]
	for ; len(b) >= 8; b = b[8:] {
		e.tmp = binary.AppendUvarint(e.tmp, binary.LittleEndian.Uint64(b))
	}
	e.packed(key, Ints, e.tmp)
}

// Bytes appends values: those in data between ends.
func (e *Encoder) Bytes(key string, data []byte, ends []int64) {
	size := 0
	for i := range len(ends) - 1 {
		n := int(ends[i+1] - ends[i])
		size += 1 + sizeOf(n) + n
	}
	e.entry(key, Bytes, size)
	for i := range len(ends) - 1 {
		e.b = append(e.b, 0x0a)
		e.b = binary.AppendUvarint(e.b, uint64(ends[i+1]-ends[i]))
		e.b = append(e.b, data[ends[i]:ends[i+1]]...)
	}
}

// Example is the message, until the next call.
func (e *Encoder) Example() []byte {
	e.tmp = append(binary.AppendUvarint(append(e.tmp[:0], 0x0a), uint64(len(e.b))), e.b...)
	return e.tmp
}
