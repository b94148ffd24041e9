// Package flatbuf reads flatbuffers from untrusted bytes: the metadata of Arrow.
package flatbuf

import "encoding/binary"

// Buf reads tables of a flatbuffer. Positions out of range make it bad and are 0.
type Buf struct {
	B    []byte
	Bad  bool
	Left int // tables still allowed: offsets may make a small buffer a large tree
}

// has reports whether n bytes are there.
func (r *Buf) has(at, n int) bool {
	if at < 0 || n > len(r.B) || at > len(r.B)-n {
		r.Bad = true
		return false
	}
	return true
}

// U8 is a byte.
func (r *Buf) U8(at int) byte {
	if !r.has(at, 1) {
		return 0
	}
	return r.B[at]
}

// U16 is a number of two bytes.
func (r *Buf) U16(at int) int {
	if !r.has(at, 2) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(r.B[at:]))
}

// I32 is a number of four bytes.
func (r *Buf) I32(at int) int {
	if !r.has(at, 4) {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(r.B[at:])))
}

// Follow is where the offset at a position points to.
func (r *Buf) Follow(at int) int {
	n := r.I32(at)
	if n <= 0 || r.Bad {
		r.Bad = true
		return 0
	}
	return at + n
}

// Slot is where a table has its field i; 0 without one.
func (r *Buf) Slot(table, i int) int {
	vtable := table - r.I32(table)
	if r.Bad || !r.has(vtable, 4) || 4+2*i+2 > r.U16(vtable) {
		return 0
	}
	if off := r.U16(vtable + 4 + 2*i); off > 0 {
		return table + off
	}
	return 0
}

// Ref is the table, text or list that field i of a table points to; 0 without one.
func (r *Buf) Ref(table, i int) int {
	at := r.Slot(table, i)
	if at == 0 || r.Bad {
		return 0
	}
	return r.Follow(at)
}

// Text is a string; "" without one.
func (r *Buf) Text(table, i int) string {
	at := r.Ref(table, i)
	if at == 0 {
		return ""
	}
	n := r.I32(at)
	if n < 0 || !r.has(at+4, n) {
		r.Bad = true
		return ""
	}
	return string(r.B[at+4 : at+4+n])
}

// List gives the positions of the tables in a list.
func (r *Buf) List(table, i int) []int {
	at := r.Ref(table, i)
	if at == 0 {
		return nil
	}
	n := r.I32(at)
	if r.Left -= n; n < 0 || n > len(r.B)/4 || r.Left < 0 || !r.has(at+4, 4*n) {
		r.Bad = true
		return nil
	}
	var all []int
	for k := range n {
		all = append(all, r.Follow(at+4+4*k))
	}
	return all
}

// I64 is a number of eight bytes.
func (r *Buf) I64(at int) int64 {
	if !r.has(at, 8) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(r.B[at:]))
}

// Structs is where a list of structs begins, and how many of so many bytes there are.
func (r *Buf) Structs(table, i, size int) (at, n int) {
	if at = r.Ref(table, i); at == 0 {
		return 0, 0
	}
	if n = r.I32(at); n < 0 || n > len(r.B)/size || !r.has(at+4, n*size) {
		r.Bad = true
		return 0, 0
	}
	return at + 4, n
}
