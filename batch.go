package shardify

import (
	"fmt"
	"slices"
)

// ID is the identity of a sample, from input to disk. Input indexes the
// source's table, Sample counts within that input from 0.
type ID struct {
	Input  uint32
	Sample int64
	Copy   uint16
}

// Span is consecutive samples [Lo, Hi) of one input, read together. Spans of
// one Run > 0 are cheap only in order (a deflated member, a tar.gz); spans of
// run 0 are independent.
type Span struct {
	Input  uint32
	Run    uint32
	Lo, Hi int64
	Bytes  int64 // decoded: exact or an upper bound where the format knows, else an estimate
	// Stream is set for one large sample whose receiver takes columns as Stream;
	// readers may ignore it.
	Stream bool
	// Frame is set for a receiver that wants the values laid out so; readers may ignore it.
	Frame *Frame
}

// Samples is Hi - Lo.
func (s Span) Samples() int64 { return s.Hi - s.Lo }

// Column is the data of one field in one batch.
type Column struct {
	Field
	// Data holds the elements: little-endian, row-major, 64-byte aligned.
	Data []byte
	// Offsets has Levels slices, outermost first. Each starts at 0 and is
	// relative to this batch: Offsets[0][i] is where sample i's list begins,
	// counted in elements (Levels 1) or in entries of Offsets[1] (Levels 2).
	Offsets [][]int64
	// Valid has one byte per sample, 0 or 1; nil means all are present.
	Valid []byte
	// Stream, if set, replaces Data: it yields the StreamBytes bytes in order, in
	// pieces that are valid during the call. It is called once, before the arena is
	// released. Only a span with Stream set brings such columns.
	Stream      func(yield func(piece []byte) error) error
	StreamBytes int64
	// Framed: the values are in the batch's Framed; Data is nil.
	Framed bool
}

// Bytes is the memory that the column's data takes.
func (c *Column) Bytes() int64 {
	n := int64(len(c.Data) + len(c.Valid))
	for _, o := range c.Offsets {
		n += int64(len(o)) * 8
	}
	return n
}

// Range is the bytes of Data that belong to samples [lo, hi).
func (c *Column) Range(lo, hi int) (from, to int) {
	size := c.ElemBytes()
	a, b := int64(lo), int64(hi)
	for _, o := range c.Offsets {
		a, b = o[a], o[b]
	}
	return int(a) * size, int(b) * size
}

// Batch is samples in memory. It lives as long as the Arena it was read into.
type Batch struct {
	Samples int
	// First is the identity of sample 0; sample i is First.Sample+i unless IDs
	// lists them one by one (after a route or a filter).
	First   ID
	IDs     []ID
	Columns []Column
	// Keys are the samples' own names, where the source has them (files: the
	// stem's path). nil for rows, whose names are made from ID.
	Keys *Column
	// Proofs are checksums over parts of the input, for the pipeline to join.
	Proofs []Proof
	// Counts are what readers and transforms report.
	Counts []Count
	// Frame, if set, is how Framed holds the values of the columns that are marked
	// Framed. The receiver may write to the free bytes.
	Frame  *Frame
	Framed []byte
}

// ID returns the identity of sample i.
func (b *Batch) ID(i int) ID {
	if b.IDs != nil {
		return b.IDs[i]
	}
	id := b.First
	id.Sample += int64(i)
	return id
}

// Key returns the name of sample i, or nil where the source gives none.
func (b *Batch) Key(i int) []byte {
	if b.Keys == nil {
		return nil
	}
	o := b.Keys.Offsets[0]
	return b.Keys.Data[o[i]:o[i+1]]
}

// Bytes is the memory that the batch's data takes.
func (b *Batch) Bytes() int64 {
	n := int64(len(b.Framed))
	for i := range b.Columns {
		n += b.Columns[i].Bytes()
	}
	if b.Keys != nil {
		n += b.Keys.Bytes()
	}
	return n
}

// Check reports whether lengths and offsets are consistent: what every sink may rely on. It costs a
// pass over the offsets, not over the data.
func (b *Batch) Check() error {
	if b.IDs != nil && len(b.IDs) != b.Samples {
		return fmt.Errorf("batch of %d samples has %d ids: %w", b.Samples, len(b.IDs), ErrSchema)
	}
	for i := range b.Columns {
		if err := b.Columns[i].check(b.Samples); err != nil {
			return err
		}
	}
	if err := b.checkFrame(); err != nil {
		return err
	}
	if b.Keys != nil {
		return b.Keys.check(b.Samples)
	}
	return nil
}

func (b *Batch) checkFrame() error {
	if b.Frame != nil {
		return b.Frame.check(b)
	}
	for i := range b.Columns {
		if b.Columns[i].Framed {
			return fmt.Errorf("field %s is framed, but the batch has no frame: %w", b.Columns[i].Name, ErrSchema)
		}
	}
	return nil
}

// Match checks the batch against a sink's schema: its columns, field by field, and
// all that Check does.
func (b *Batch) Match(schema []Field) error {
	if len(b.Columns) != len(schema) {
		return Mismatch("batch of %d columns for a schema of %d fields", len(b.Columns), len(schema))
	}
	if err := b.Check(); err != nil {
		return err
	}
	for i := range b.Columns {
		c, f := &b.Columns[i], &schema[i]
		if c.Name != f.Name || c.DType != f.DType || c.Levels != f.Levels || !slices.Equal(c.Shape, f.Shape) {
			return Mismatch("column %s of %d levels of %s %v for field %s of %d levels of %s %v",
				c.Name, c.Levels, c.DType, c.Shape, f.Name, f.Levels, f.DType, f.Shape)
		}
		if c.Valid != nil && !f.Nullable {
			return Mismatch("field %s is not nullable, but its column marks missing values", f.Name)
		}
	}
	return nil
}

func (c *Column) check(samples int) error {
	n := int64(samples)
	if len(c.Offsets) != c.Levels {
		return fmt.Errorf("field %s has %d levels and %d offset lists: %w", c.Name, c.Levels, len(c.Offsets), ErrSchema)
	}
	for l, o := range c.Offsets {
		if int64(len(o)) != n+1 || o[0] != 0 {
			return fmt.Errorf("field %s offsets of level %d: %d entries for %d lists: %w", c.Name, l, len(o), n, ErrSchema)
		}
		for i := 1; i < len(o); i++ {
			if o[i] < o[i-1] {
				return fmt.Errorf("field %s offsets of level %d fall at %d: %w", c.Name, l, i, ErrCorrupt)
			}
		}
		n = o[len(o)-1]
	}
	have := int64(len(c.Data))
	if c.Stream != nil {
		have = c.StreamBytes
	}
	if size := int64(c.ElemBytes()); !c.Framed && have != n*size {
		return fmt.Errorf("field %s has %d bytes for %d elements of %d: %w", c.Name, have, n, size, ErrSchema)
	}
	if c.Valid != nil && len(c.Valid) != samples {
		return fmt.Errorf("field %s has %d valid marks for %d samples: %w", c.Name, len(c.Valid), samples, ErrSchema)
	}
	return nil
}

// Proof is the CRC-32 (IEEE) of bytes [Lo, Hi) of an input object of Total
// bytes whose whole CRC-32 is Want, or the digests of its pieces. Readers that see
// an object only in parts attach one per read; the pipeline joins neighbours and
// compares when the object is complete, across units, tasks and machines.
type Proof struct {
	Input  uint32 `json:"input"`
	Object uint32 `json:"object"` // a number the source can name, see ObjectNamer
	Lo     int64  `json:"lo"`
	Hi     int64  `json:"hi"`
	Sum    uint32 `json:"sum"`
	Total  int64  `json:"total"`
	Want   uint32 `json:"want"`
	// Castagnoli: the sums are CRC-32C.
	Castagnoli bool `json:"castagnoli,omitempty"`
	// Digest is set instead of Want where the object has a digest of pieces: Lo and Hi are
	// where pieces begin or the object ends, and Pieces are the sums of those between, 16
	// bytes each.
	Digest string `json:"digest,omitempty"`
	Pieces []byte `json:"pieces,omitempty"`
}
