package arrow

import (
	"bytes"
	"encoding/binary"
)

// Align is what messages and buffers begin at multiples of.
const Align = 64

// Node is a field of a batch: how many values it has, and how many of them are missing.
type Node struct{ Values, Nulls int64 }

// Block is where a batch is in a file.
type Block struct{ Off, Head, Body int64 }

// Heads are the heads of the batches of a schema. All are as long, and differ in numbers alone.
type Heads struct {
	Nodes []Node  // of the next head
	Sizes []int64 // of its buffers

	b                       []byte
	rows, nodes, bufs, body int // places
}

// NewHeads makes those of a schema.
func NewHeads(fields []Field) *Heads {
	x := &Heads{}
	nodes, bufs := count(fields)
	x.Nodes, x.Sizes = make([]Node, nodes), make([]int64, bufs)
	b := builder{b: make([]byte, 4)}
	root := b.message(3)
	batch := b.table(slot{1, 8, 0}, slot{3, 0, 0}, slot{5, 0, 0})
	b.refer(root, 2, batch)
	x.nodes = b.structs(batch, 1, nodes, 16)
	x.bufs = b.structs(batch, 2, bufs, 16)
	x.rows, x.body = b.at(batch, 0)+8, b.at(root, 3)+8
	x.nodes, x.bufs = x.nodes+8, x.bufs+8 // behind the length of the message
	x.b = b.done(0, Align)
	return x
}

// count are the nodes and buffers of fields.
func count(fields []Field) (nodes, bufs int) {
	for i := range fields {
		n, b := count(fields[i].Children)
		nodes, bufs = nodes+n+1, bufs+b+1 // marks of what is missing
		switch fields[i].Kind {
		case Struct, FixedList:
		case Text, Binary:
			bufs += 2
		default:
			bufs++
		}
	}
	return nodes, bufs
}

// Padded is a length with what follows up to the next multiple of Align.
func Padded(n int64) int64 { return (n + Align - 1) / Align * Align }

// Next is the head of a batch with Nodes and Sizes, until the next call, and the length of its body.
func (x *Heads) Next(rows int64) (head []byte, body int64) {
	put := func(at int, v int64) { binary.LittleEndian.PutUint64(x.b[at:], uint64(v)) }
	put(x.rows, rows)
	for i, n := range x.Nodes {
		put(x.nodes+16*i, n.Values)
		put(x.nodes+16*i+8, n.Nulls)
	}
	for i, size := range x.Sizes {
		put(x.bufs+16*i, body)
		put(x.bufs+16*i+8, size)
		body += Padded(size)
	}
	put(x.body, body)
	return x.b, body
}

// Bytes is how long each head is.
func (x *Heads) Bytes() int { return len(x.b) }

// Parse takes Nodes and Sizes of a head that was written, and how many rows it has. It reports whether
// these are all that it says.
func (x *Heads) Parse(head []byte) (rows, body int64, ok bool) {
	if len(head) != len(x.b) {
		return 0, 0, false
	}
	get := func(at int) int64 { return int64(binary.LittleEndian.Uint64(head[at:])) }
	rows, ok = get(x.rows), get(x.rows) > 0
	for i := range x.Nodes {
		x.Nodes[i] = Node{get(x.nodes + 16*i), get(x.nodes + 16*i + 8)}
		ok = ok && x.Nodes[i].Nulls >= 0 && x.Nodes[i].Nulls <= x.Nodes[i].Values
	}
	for i := range x.Sizes {
		x.Sizes[i] = get(x.bufs + 16*i + 8)
		ok = ok && x.Sizes[i] >= 0 && x.Sizes[i] < 1<<40
	}
	if !ok {
		return 0, 0, false
	}
	want, body := x.Next(rows)
	return rows, body, bytes.Equal(want, head)
}

// Footer is the end of a file, with its length and mark.
func Footer(fields []Field, metadata [][2]string, blocks []Block) []byte {
	b := builder{b: make([]byte, 4)}
	root := b.table(slot{1, 2, 4}, slot{3, 0, 0}, slot{5, 0, 0}, slot{7, 0, 0})
	b.place(0, root)
	b.refer(root, 1, b.schema(fields, metadata))
	b.structs(root, 2, 0, 24)
	at := b.structs(root, 3, len(blocks), 24)
	for i, k := range blocks {
		p := b.b[at+24*i:]
		binary.LittleEndian.PutUint64(p, uint64(k.Off))
		binary.LittleEndian.PutUint32(p[8:], uint32(k.Head))
		binary.LittleEndian.PutUint64(p[16:], uint64(k.Body))
	}
	return append(binary.LittleEndian.AppendUint32(b.b, uint32(len(b.b))), "ARROW1"...)
}

// structs makes field i of a table a vector of n structures of size bytes.
func (b *builder) structs(table, i, n, size int) (at int) {
	for len(b.b)%8 != 4 {
		b.b = append(b.b, 0)
	}
	b.refer(table, i, len(b.b))
	b.b = binary.LittleEndian.AppendUint32(b.b, uint32(n))
	at = len(b.b)
	b.b = append(b.b, make([]byte, n*size)...)
	return at
}
