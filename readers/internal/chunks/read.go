package chunks

import (
	"bytes"
	"context"
	"fmt"

	"github.com/shardify/shardify"
)

// Reader implements shardify.Source.
func (s *Source) Reader(run uint32) (shardify.Reader, error) {
	r, err := s.Rows.Reader(run)
	if err != nil {
		return nil, err
	}
	return &reader{s: s, rows: r}, nil
}

// reader reads the rows of chunks; their bytes stay where they are.
type reader struct {
	s    *Source
	rows shardify.Reader
}

// Close implements shardify.Reader.
func (r *reader) Close() error { return r.rows.Close() }

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	in, err := r.s.input(sp)
	if err != nil {
		return nil, err
	}
	lo, hi := in.at(sp.Lo), in.at(sp.Hi)
	b, err := r.rows.Read(ctx, shardify.Span{Input: sp.Input, Lo: lo, Hi: hi, Bytes: sp.Bytes}, mem)
	if err != nil {
		return nil, shardify.Amend(err, func(e *shardify.Error) {
			if e.Sample >= 0 {
				e.Sample = (e.Sample + in.skipped()) / in.Rows
			}
		})
	}
	if int64(b.Samples) != hi-lo {
		return nil, fmt.Errorf("%d rows for span [%d, %d)", b.Samples, lo, hi)
	}
	// Where each sample begins, among the rows of the batch.
	ends := mem.Int64s(int(sp.Samples()) + 1)
	for k := range ends {
		ends[k] = in.at(sp.Lo+int64(k)) - lo
	}
	for i := range b.Columns {
		if err := r.s.column(&b.Columns[i], i, ends, mem); err != nil {
			return nil, err
		}
	}
	b.Samples, b.First = int(sp.Samples()), shardify.ID{Input: sp.Input, Sample: sp.Lo}
	if r.s.number {
		c := shardify.Column{Field: r.s.schema[len(b.Columns)], Data: mem.Alloc(8 * b.Samples)}
		numbers := shardify.View[int64](c.Data)
		for k := range numbers {
			numbers[k] = in.From/in.Rows + sp.Lo + int64(k)
		}
		b.Columns = append(b.Columns, c)
	}
	return b, nil
}

// column makes that of chunks of one of rows.
func (s *Source) column(c *shardify.Column, i int, ends []int64, mem *shardify.Arena) error {
	n := len(ends) - 1
	if v := c.Valid; v != nil {
		c.Valid = nil
		switch missing := bytes.Count(v, []byte{0}); {
		case missing == len(v): // the input has no such field
			c.Valid = mem.Alloc(n)
			clear(c.Valid)
			c.Field, c.Data = s.schema[i], nil
			c.Offsets = nil
			if c.Levels == 0 {
				c.Data = mem.Alloc(n * c.ElemBytes())
				clear(c.Data)
			}
			none := mem.Int64s(n + 1)
			clear(none)
			c.Offsets = [][]int64{none, none[:1]}[:c.Levels]
			return nil
		case missing > 0:
			return shardify.Unsupported("--sample chunk: field %s has missing values in some rows", c.Name)
		}
	}
	c.Field = s.schema[i]
	if c.Levels > 0 {
		c.Offsets = append([][]int64{ends}, c.Offsets...)
	} else if len(c.Data) != n*c.ElemBytes() {
		return fmt.Errorf("field %s: %d bytes for %d chunks of %d", c.Name, len(c.Data), n, c.ElemBytes())
	}
	return nil
}
