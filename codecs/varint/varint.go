// Package varint reads tables of variable-length numbers from untrusted bytes.
package varint

import "encoding/binary"

// Reader reads from B and remembers the first failure; after it everything is 0.
type Reader struct {
	B   []byte
	Bad bool
}

func (r *Reader) fail() { r.Bad, r.B = true, nil }

// U is an unsigned number.
func (r *Reader) U() uint64 {
	x, n := binary.Uvarint(r.B)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.B = r.B[n:]
	return x
}

// I is a signed number.
func (r *Reader) I() int64 {
	x, n := binary.Varint(r.B)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.B = r.B[n:]
	return x
}

// Bytes is the next n bytes.
func (r *Reader) Bytes(n uint64) []byte {
	if n > uint64(len(r.B)) {
		r.fail()
		return nil
	}
	x := r.B[:n]
	r.B = r.B[n:]
	return x
}

// Count is a number of entries that take at least each bytes apiece, so that a wild
// number is found before anything is allocated for it.
func (r *Reader) Count(each int) int {
	n := r.U()
	if n > uint64(len(r.B)/each) {
		r.fail()
		return 0
	}
	return int(n)
}
