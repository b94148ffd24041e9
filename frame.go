package shardify

import "fmt"

// Frame is how a receiver wants the values of samples laid out, so that it can put its own bytes
// between them and pass the whole on without a copy: Lead free bytes; then for each sample and each
// of Values in turn Before free bytes, the value, and free bytes up to a multiple of Block; then
// After free bytes. The content of the free bytes is undefined.
//
// A span that has one asks for it; a reader that knows frames answers with a batch
// whose Frame is the same.
type Frame struct {
	Values []FrameValue
	After  int // a multiple of Block
	Block  int // a power of two
	Lead   int
}

// FrameValue is a field with Levels 1 whose elements are single bytes.
type FrameValue struct {
	Field  int // of the schema
	Before int // a multiple of Block
}

// End is where a value of n bytes at pos ends, its free bytes included. Places
// count from the Lead.
func (f *Frame) End(pos, n int64) int64 {
	block := int64(f.Block)
	return (pos + n + block - 1) &^ (block - 1)
}

// Overhead is the most free bytes that one sample takes.
func (f *Frame) Overhead() int64 {
	n := f.After + len(f.Values)*(f.Block-1)
	for _, v := range f.Values {
		n += v.Before
	}
	return int64(n)
}

// check reports whether the values of the batch fill its frame exactly.
func (f *Frame) check(b *Batch) error {
	n := int64(f.After) * int64(b.Samples)
	framed := 0
	for i := range b.Columns {
		if b.Columns[i].Framed {
			framed++
		}
	}
	for _, v := range f.Values {
		if v.Field < 0 || v.Field >= len(b.Columns) {
			return fmt.Errorf("frame of column %d of %d: %w", v.Field, len(b.Columns), ErrSchema)
		}
		c := &b.Columns[v.Field]
		if !c.Framed || c.Levels != 1 || c.ElemBytes() != 1 {
			return fmt.Errorf("field %s does not fit into a frame: %w", c.Name, ErrSchema)
		}
		n += int64(v.Before) * int64(b.Samples)
		for i, o := 0, c.Offsets[0]; i < b.Samples; i++ {
			n += f.End(0, o[i+1]-o[i])
		}
	}
	if framed != len(f.Values) || n+int64(f.Lead) != int64(len(b.Framed)) {
		return fmt.Errorf("frame of %d bytes for %d of %d columns that take %d: %w", len(b.Framed), len(f.Values), framed, n+int64(f.Lead), ErrSchema)
	}
	return nil
}
