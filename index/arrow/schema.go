// Package arrow writes the messages of Apache Arrow: what the columns of a table are, and where their
// values are in a file.
//
// They are flatbuffers: a table is the place of its vtable (i32, backwards), and its fields; a vtable is
// its size, that of the table, and where each field is in it (u16 each, 0 for none). Places are u32,
// forwards. All are little-endian and aligned to their size.
//
//	schema.go  flatbuffers, and the message of a schema
//	batch.go   the heads of batches, and the footer of a file
package arrow

import (
	"encoding/binary"
)

// Kind is a type of Arrow, by its number in the union of types.
type Kind uint8

// The kinds that are written.
const (
	Int       Kind = 2
	Float     Kind = 3
	Binary    Kind = 4
	Text      Kind = 5
	Bool      Kind = 6
	List      Kind = 12
	Struct    Kind = 13
	FixedList Kind = 16
)

// Field is a column, or one inside of another. All may lack values.
type Field struct {
	Name     string
	Kind     Kind
	Bits     int  // of Int and Float
	Signed   bool // of Int
	Size     int  // of FixedList
	Children []Field
}

// Schema is the encapsulated message of a schema with its metadata, pairs of names and values. Where it is
// at byte at of a file, it ends at a multiple of Align; of 8, if at is negative.
func Schema(fields []Field, metadata [][2]string, at int) []byte {
	b := builder{b: make([]byte, 4)}
	b.refer(b.message(1), 2, b.schema(fields, metadata))
	if at < 0 {
		return b.done(0, 8)
	}
	return b.done(at, Align)
}

// message begins a message with a header of this kind.
func (b *builder) message(kind uint64) (root int) {
	root = b.table(
		slot{1, 2, 4}, // V5
		slot{3, 1, kind},
		slot{5, 0, 0}, // the header, which follows
		slot{7, 8, 0}, // bytes of a body
	)
	b.place(0, root)
	return root
}

// schema appends a schema.
func (b *builder) schema(fields []Field, metadata [][2]string) int {
	schema := b.table(slot{1, 2, 0}, slot{3, 0, 0}, slot{5, 0, 0})
	b.refer(schema, 1, b.vector(len(fields), func(i int) int { return b.field(&fields[i]) }))
	b.refer(schema, 2, b.vector(len(metadata), func(i int) int {
		pair := b.table(slot{1, 0, 0}, slot{3, 0, 0})
		b.refer(pair, 0, b.text(metadata[i][0]))
		b.refer(pair, 1, b.text(metadata[i][1]))
		return pair
	}))
	return schema
}

// done is the encapsulated message, which begins at byte at and ends at a multiple of n.
func (b *builder) done(at, n int) []byte {
	for (at+len(b.b)+8)%n != 0 {
		b.b = append(b.b, 0)
	}
	head := binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(len(b.b)))
	return append(head, b.b...)
}

// slot is a field of a table: its size, 0 for a place, and its value. number is only for the reader: 2n+1.
type slot struct {
	number int
	size   int
	value  uint64
}

type builder struct{ b []byte }

func (b *builder) align(n int) {
	for len(b.b)%n != 0 {
		b.b = append(b.b, 0)
	}
}

// table appends a table of fields in this order, and their vtable; a field of number 0 is left out.
func (b *builder) table(fields ...slot) int {
	b.align(8)
	vtable := len(b.b)
	size := 4 + 2*len(fields)
	at := 4
	offsets := make([]int, len(fields))
	for i, f := range fields {
		if f.number == 0 {
			continue
		}
		n := max(f.size, 1)
		if f.size == 0 {
			n = 4
		}
		at = (at + n - 1) / n * n
		offsets[i] = at
		at += n
	}
	b.b = binary.LittleEndian.AppendUint16(b.b, uint16(size))
	b.b = binary.LittleEndian.AppendUint16(b.b, uint16(at))
	for _, o := range offsets {
		b.b = binary.LittleEndian.AppendUint16(b.b, uint16(o))
	}
	b.align(8)
	table := len(b.b)
	b.b = append(b.b, make([]byte, at)...)
	binary.LittleEndian.PutUint32(b.b[table:], uint32(table-vtable))
	for i, f := range fields {
		p := b.b[table+offsets[i]:]
		switch {
		case f.number == 0 || f.size == 0:
		case f.size == 1:
			p[0] = byte(f.value)
		case f.size == 2:
			binary.LittleEndian.PutUint16(p, uint16(f.value))
		case f.size == 4:
			binary.LittleEndian.PutUint32(p, uint32(f.value))
		default:
			binary.LittleEndian.PutUint64(p, f.value)
		}
	}
	return table
}

// place writes at byte at where something is.
func (b *builder) place(at, target int) {
	binary.LittleEndian.PutUint32(b.b[at:], uint32(target-at))
}

// refer makes field i of a table the place of something.
func (b *builder) refer(table, i, target int) {
	b.place(b.at(table, i), target)
}

// at is where field i of a table is.
func (b *builder) at(table, i int) int {
	vtable := table - int(binary.LittleEndian.Uint32(b.b[table:]))
	return table + int(binary.LittleEndian.Uint16(b.b[vtable+4+2*i:]))
}

func (b *builder) vector(n int, item func(i int) int) int {
	b.align(4)
	at := len(b.b)
	b.b = binary.LittleEndian.AppendUint32(b.b, uint32(n))
	b.b = append(b.b, make([]byte, 4*n)...)
	for i := range n {
		b.place(at+4+4*i, item(i))
	}
	return at
}

func (b *builder) text(s string) int {
	b.align(4)
	at := len(b.b)
	b.b = binary.LittleEndian.AppendUint32(b.b, uint32(len(s)))
	b.b = append(append(b.b, s...), 0)
	return at
}

// field appends the table Field: name, nullable, type_type, type, dictionary, children.
func (b *builder) field(f *Field) int {
	at := b.table(slot{1, 0, 0}, slot{3, 1, 1}, slot{5, 1, uint64(f.Kind)}, slot{7, 0, 0}, slot{}, slot{9, 0, 0})
	b.refer(at, 0, b.text(f.Name))
	var kind int
	switch f.Kind {
	case Int:
		signed := uint64(0)
		if f.Signed {
			signed = 1
		}
		kind = b.table(slot{1, 4, uint64(f.Bits)}, slot{3, 1, signed})
	case Float:
		kind = b.table(slot{1, 2, map[int]uint64{16: 0, 32: 1, 64: 2}[f.Bits]})
	case FixedList:
		kind = b.table(slot{1, 4, uint64(f.Size)})
	default:
		kind = b.table()
	}
	b.refer(at, 3, kind)
	b.refer(at, 5, b.vector(len(f.Children), func(i int) int { return b.field(&f.Children[i]) }))
	return at
}
