package shuffle

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
)

// block is a decoded block of a fragment; its parts refer to the bytes it was read from.
type block struct {
	n       int
	samples []byte
	inputs  []byte
	copies  []byte
	cols    []blockColumn // the last one is the names, if there are any
}

type blockColumn struct {
	valid   []byte
	lengths [2][]byte // u32 each
	data    []byte
}

// cutter takes parts off a piece.
type cutter struct {
	b   []byte
	bad bool
}

// next is the next n bytes; the padding after them goes too.
func (c *cutter) next(n uint64) []byte {
	padded := (n + 7) &^ 7
	if n > math.MaxInt64/2 || padded > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return nil
	}
	part := c.b[:n]
	c.b = c.b[padded:]
	return part
}

// blocks decodes a piece.
func (l *Layout) blocks(dst []block, b []byte) ([]block, error) {
	c := cutter{b: b}
	for len(c.b) > 0 {
		if len(c.b) < 8 {
			return nil, shardify.Corrupt(-1, "a block of %d bytes", len(c.b))
		}
		n := binary.LittleEndian.Uint64(c.b)
		c.b = c.b[8:]
		if n == 0 || n > uint64(len(c.b)) {
			return nil, shardify.Corrupt(-1, "a block of %d samples in %d bytes", n, len(c.b))
		}
		k := block{n: int(n)}
		width := uint64(4)
		if l.Wide {
			width = 8
		}
		k.samples = c.next(n * width)
		if l.Inputs {
			k.inputs = c.next(n * 4)
		}
		if l.Copies {
			k.copies = c.next(n * 2)
		}
		for i := range l.Schema {
			k.cols = append(k.cols, c.column(&l.Schema[i], n))
		}
		if l.Keyed {
			k.cols = append(k.cols, c.column(&keyField, n))
		}
		if c.bad {
			return nil, shardify.Corrupt(-1, "a block of %d samples is longer than its piece", n)
		}
		dst = append(dst, k)
	}
	return dst, nil
}

// keyField is how names of samples are laid out.
var keyField = shardify.Field{Name: "key", DType: shardify.U8, Levels: 1}

func (c *cutter) column(f *shardify.Field, n uint64) (k blockColumn) {
	if f.Nullable {
		k.valid = c.next(n)
	}
	for l := range f.Levels {
		k.lengths[l] = c.next(n * 4)
		n = 0
		for p := k.lengths[l]; len(p) > 0; p = p[4:] {
			n += uint64(binary.LittleEndian.Uint32(p))
		}
		if n > uint64(len(c.b)) && f.ElemBytes() > 0 {
			c.bad = true
			return k
		}
	}
	size := uint64(f.ElemBytes())
	if size > 0 && n > math.MaxInt64/2/size {
		c.bad = true
		return k
	}
	k.data = c.next(n * size)
	return k
}

// join makes one batch of blocks.
func (l *Layout) join(list []block, mem *shardify.Arena) *shardify.Batch {
	b := &shardify.Batch{}
	for i := range list {
		b.Samples += list[i].n
	}
	b.IDs = make([]shardify.ID, 0, b.Samples)
	for i := range list {
		b.IDs = l.ids(b.IDs, &list[i])
	}
	for i := range l.Schema {
		b.Columns = append(b.Columns, joinColumn(list, i, l.Schema[i], b.Samples, mem))
	}
	if l.Keyed {
		c := joinColumn(list, len(l.Schema), keyField, b.Samples, mem)
		b.Keys = &c
	}
	return b
}

func (l *Layout) ids(dst []shardify.ID, k *block) []shardify.ID {
	for i := range k.n {
		var id shardify.ID
		if l.Wide {
			id.Sample = int64(binary.LittleEndian.Uint64(k.samples[i*8:]))
		} else {
			id.Sample = int64(binary.LittleEndian.Uint32(k.samples[i*4:]))
		}
		if l.Inputs {
			id.Input = binary.LittleEndian.Uint32(k.inputs[i*4:])
		}
		if l.Copies {
			id.Copy = binary.LittleEndian.Uint16(k.copies[i*2:])
		}
		dst = append(dst, id)
	}
	return dst
}

func joinColumn(list []block, i int, f shardify.Field, samples int, mem *shardify.Arena) shardify.Column {
	c := shardify.Column{Field: f}
	data := 0
	var lists [2]int
	for k := range list {
		data += len(list[k].cols[i].data)
		for l := range f.Levels {
			lists[l] += len(list[k].cols[i].lengths[l]) / 4
		}
	}
	c.Data = mem.Alloc(data)
	if f.Nullable {
		c.Valid = mem.Alloc(samples)
	}
	for l := range f.Levels {
		o := mem.Int64s(lists[l] + 1)
		o[0] = 0
		at := 1
		for k := range list {
			for p := list[k].cols[i].lengths[l]; len(p) > 0; p = p[4:] {
				o[at] = o[at-1] + int64(binary.LittleEndian.Uint32(p))
				at++
			}
		}
		c.Offsets = append(c.Offsets, o)
	}
	at, v := 0, 0
	for k := range list {
		at += copy(c.Data[at:], list[k].cols[i].data)
		v += copy(c.Valid[v:], list[k].cols[i].valid)
	}
	return c
}
