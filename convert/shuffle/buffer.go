package shuffle

import (
	"slices"

	"github.com/shardify/shardify"
)

// buffer keeps samples of all splits in memory, column by column.
type buffer struct {
	b     shardify.Batch
	keys  []uint64
	split []uint16
}

// newBuffer keeps the names of samples only if they have names of their own. A shuffle drops
// anything else that a reader reports about them, whether or not the samples go through a fragment.
func newBuffer(l *Layout) *buffer {
	h := &buffer{}
	schema := l.Schema
	if l.Keyed {
		c := emptyColumn(keyField)
		h.b.Keys = &c
	}
	h.b.Columns = make([]shardify.Column, len(schema))
	for i := range schema {
		h.b.Columns[i] = emptyColumn(schema[i])
	}
	return h
}

func emptyColumn(f shardify.Field) shardify.Column {
	c := shardify.Column{Field: f, Offsets: make([][]int64, f.Levels)}
	for l := range c.Offsets {
		c.Offsets[l] = []int64{0}
	}
	return c
}

// reset forgets the samples and keeps the memory.
func (h *buffer) reset() {
	h.b.Samples, h.b.IDs, h.keys, h.split = 0, h.b.IDs[:0], h.keys[:0], h.split[:0]
	for i := range h.b.Columns {
		resetColumn(&h.b.Columns[i])
	}
	if h.b.Keys != nil {
		resetColumn(h.b.Keys)
	}
}

func resetColumn(c *shardify.Column) {
	c.Data, c.Valid = c.Data[:0], c.Valid[:0]
	for l := range c.Offsets {
		c.Offsets[l] = c.Offsets[l][:1]
	}
}

// bytes is the memory that the samples take.
func (h *buffer) bytes() int64 { return h.b.Bytes() + int64(h.b.Samples)*(24+8+2) }

// add copies the samples of a batch.
func (h *buffer) add(split int, b *shardify.Batch, s *Shuffle) (err error) {
	for i := range b.Samples {
		h.b.IDs = append(h.b.IDs, b.ID(i))
		h.split = append(h.split, uint16(split))
	}
	if s.Bucket == nil {
		h.keys = s.Keyer.keys(h.keys, b)
	} else if h.keys, err = s.Bucket(h.keys, b); err != nil {
		return err
	}
	for i := range b.Columns {
		if err := appendColumn(&h.b.Columns[i], &b.Columns[i], b.Samples); err != nil {
			return err
		}
	}
	if h.b.Keys != nil {
		if b.Keys == nil {
			return shardify.Mismatch("samples without names in a set that has them")
		}
		if err := appendColumn(h.b.Keys, b.Keys, b.Samples); err != nil {
			return err
		}
	}
	h.b.Samples += b.Samples
	return nil
}

func appendColumn(dst, src *shardify.Column, samples int) error {
	if src.Stream != nil || src.Framed {
		return shardify.Unsupported("field %s comes as a stream", src.Name)
	}
	if dst.Nullable {
		dst.Valid = room(dst.Valid, samples)
		if src.Valid != nil {
			dst.Valid = append(dst.Valid, src.Valid...)
		} else {
			for range samples {
				dst.Valid = append(dst.Valid, 1)
			}
		}
	}
	for l, o := range src.Offsets {
		d := slices.Grow(dst.Offsets[l], len(o)-1)
		base := d[len(d)-1]
		for _, v := range o[1:] {
			d = append(d, base+v)
		}
		dst.Offsets[l] = d
	}
	dst.Data = append(room(dst.Data, len(src.Data)), src.Data...)
	return nil
}

// room makes place for n more bytes. Buffers begin at a page, so that their values are
// aligned, and grow by half.
func room(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	grown := make([]byte, len(b), max(4096, len(b)+n, cap(b)+cap(b)/2))
	copy(grown, b)
	return grown
}

// sorted gives the rows of one split in the order of their keys.
func (h *buffer) sorted(split int) []int32 {
	var s sorter
	for i := range h.keys {
		if int(h.split[i]) == split {
			s.list = append(s.list, ranked{h.keys[i], int32(i)})
		}
	}
	return s.rows(h.b.IDs)
}
