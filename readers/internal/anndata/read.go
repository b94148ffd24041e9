package anndata

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// reader implements set.Worker.
type reader struct {
	src    *source
	in     *input
	input  uint32
	read   Reader
	fields []*field // by field of the facts

	ctx  context.Context
	mem  *shardify.Arena
	span shardify.Span
	rows map[*matrix]*stretch

	views map[*matrix]*bandView // bands of scratch files
	held  shardify.Scratch      // of those
}

// stretch is where the values of a span's rows are in a matrix.
type stretch struct {
	lo, hi  int64
	offsets []int64 // of the rows, from 0
	named   bool    // genes are found by name:
	places  []int32 // which of the values stay, in order
	indices []byte  // their columns

	own [2][]byte // data and indices of the rows, where a scratch file has them
}

// Take implements set.Worker.
func (r *reader) Take(in *input, at *set.Input, _ *shardify.Batch) error {
	known, err := blobOf(at)
	if err != nil {
		return err
	}
	r.in, r.input, r.read, r.fields = in, at.Index, in.Tree.Reader(), nil
	for _, name := range known.Names {
		f := in.model.find(name)
		if f == nil {
			return errChanged
		}
		r.fields = append(r.fields, f)
	}
	return nil
}

// blobOf is what the plan has of an input.
func blobOf(at *set.Input) (b blob, err error) {
	if err := json.Unmarshal(at.Blob, &b); err != nil {
		return b, shardify.Corrupt(-1, "state of AnnData: %v", err)
	}
	return b, nil
}

// Drop implements set.Worker.
func (r *reader) Drop() {
	if r.read != nil {
		r.read.Close()
	}
	r.drop()
	*r = reader{src: r.src}
}

// Close implements set.Worker.
func (r *reader) Close() {}

// Read implements set.Worker.
func (r *reader) Read(ctx context.Context, in *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	r.ctx, r.mem, r.span, r.rows = ctx, mem, sp, map[*matrix]*stretch{}
	if err := r.read.Begin(ctx, mem); err != nil {
		return err
	}
	for i := range b.Columns {
		k, c := in.Field(i), &b.Columns[i]
		if k < 0 {
			continue
		}
		if k >= len(r.fields) {
			return shardify.Corrupt(-1, "state of AnnData: no field %d", k)
		}
		f := r.fields[k]
		if f.DType != c.DType || f.Levels != c.Levels || !slices.Equal(f.Shape, c.Shape) {
			return errChanged
		}
		if err := r.column(f, c); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Object = cmp.Or(e.Object, f.path) })
		}
	}
	return r.read.End(ctx)
}

func (r *reader) column(f *field, c *shardify.Column) (err error) {
	lo, hi := r.span.Lo, r.span.Hi
	switch {
	case f.kind == data || f.kind == indices:
		return r.values(f, c)
	case f.to != nil:
		return r.recoded(f, c)
	case f.Levels > 0:
		err = r.texts(f, c)
	case f.wide && r.in.by != nil:
		err = r.spread(f, c)
	default:
		c.Data = r.mem.Alloc(int(hi-lo) * c.ElemBytes())
		err = r.read.Numbers(r.ctx, f.path, lo, hi, c.Data)
	}
	if err != nil {
		return err
	}
	switch f.kind {
	case codes:
		return r.codes(f, c)
	case marked:
		return r.marks(f, c)
	}
	return nil
}

// at says of which cell an error is.
func (r *reader) at(i int, format string, args ...any) error {
	e := shardify.Corrupt(-1, format, args...)
	e.Sample = r.span.Lo + int64(i)
	return e
}

// codes checks the codes of categories, and marks those of missing values.
func (r *reader) codes(f *field, c *shardify.Column) error {
	size := c.DType.Size()
	for i := range int(r.span.Samples()) {
		code := integer(c.DType, c.Data[i*size:])
		switch {
		case code >= 0 && code < f.many:
		case code == -1:
			r.missing(c, i)
		default:
			return r.at(i, "%s: code %d of %d categories in row %d", f.Name, code, f.many, r.span.Lo+int64(i))
		}
	}
	return nil
}

// missing marks a value.
func (r *reader) missing(c *shardify.Column, i int) {
	if c.Valid == nil {
		c.Valid = r.mem.Alloc(int(r.span.Samples()))
		for k := range c.Valid {
			c.Valid[k] = 1
		}
	}
	c.Valid[i] = 0
}

// marks applies a mask, true where a value is missing. What is below it is 0.
func (r *reader) marks(f *field, c *shardify.Column) error {
	mask := r.mem.Alloc(int(r.span.Samples()))
	if err := r.read.Numbers(r.ctx, f.mask, r.span.Lo, r.span.Hi, mask); err != nil {
		return err
	}
	gone := int64(0)
	for i, m := range mask {
		if m == 0 && gone == 0 {
			continue
		}
		if c.Levels == 0 && m != 0 {
			clear(c.Data[i*c.ElemBytes():][:c.ElemBytes()])
		} else if c.Levels > 0 { // texts move to where the missing ones were
			ends := c.Offsets[0]
			lo, hi := ends[i]+gone, ends[i+1]
			if m != 0 {
				gone += hi - lo
			} else {
				copy(c.Data[ends[i]:], c.Data[lo:hi])
			}
			ends[i+1] = hi - gone
		}
		if m != 0 {
			r.missing(c, i)
		}
	}
	if c.Levels > 0 {
		c.Data = c.Data[:int64(len(c.Data))-gone]
	}
	return nil
}

// texts reads a column of texts.
func (r *reader) texts(f *field, c *shardify.Column) error {
	b, ends, err := r.read.Texts(r.ctx, f.path, r.span.Lo, r.span.Hi)
	if err != nil {
		return err
	}
	c.Data = r.mem.Alloc(len(b))
	copy(c.Data, b)
	offsets := r.mem.Int64s(len(ends) + 1)
	offsets[0] = 0
	copy(offsets[1:], ends)
	c.Offsets = [][]int64{offsets}
	return rows.CheckText(c, r.span.Lo)
}

// spread puts the columns of a dense matrix where their genes go; others are 0.
func (r *reader) spread(f *field, c *shardify.Column) error {
	size, n, wide := c.DType.Size(), len(r.in.by), c.ElemBytes()
	raw := r.mem.Alloc(int(r.span.Samples()) * n * size)
	if err := r.read.Numbers(r.ctx, f.path, r.span.Lo, r.span.Hi, raw); err != nil {
		return err
	}
	c.Data = r.mem.Alloc(int(r.span.Samples()) * wide)
	clear(c.Data)
	for i := range int(r.span.Samples()) {
		from, to := raw[i*n*size:], c.Data[i*wide:]
		for k, at := range r.in.by {
			if at >= 0 {
				copy(to[int(at)*size:][:size], from[k*size:])
			}
		}
	}
	return nil
}

// stretch finds the values of the span's rows of a matrix.
func (r *reader) stretch(x *matrix) (*stretch, error) {
	if s := r.rows[x]; s != nil {
		return s, nil
	}
	if x.entries != nil {
		s, err := r.spooled(x)
		if r.rows[x] = s; err == nil && x.genes && r.in.by != nil {
			err = r.byName(x, s)
		}
		return s, err
	}
	n := int(r.span.Samples())
	a, err := r.in.Array(x.path + "/indptr")
	if err != nil {
		return nil, err
	}
	raw := r.mem.Alloc((n + 1) * a.DType.Size())
	if err := r.read.Numbers(r.ctx, x.path+"/indptr", r.span.Lo, r.span.Hi+1, raw); err != nil {
		return nil, shardify.Amend(err, func(e *shardify.Error) { e.Object = x.path + "/indptr" })
	}
	s := &stretch{offsets: r.mem.Int64s(n + 1)}
	for i := range s.offsets {
		s.offsets[i] = integer(a.DType, raw[i*a.DType.Size():])
		switch {
		case s.offsets[i] < 0 || s.offsets[i] > x.stored:
			return nil, r.at(max(i-1, 0), "%s: indptr is %d at row %d, there are %d values", x.name, s.offsets[i], r.span.Lo+int64(i), x.stored)
		case i > 0 && s.offsets[i] < s.offsets[i-1]:
			return nil, r.at(i-1, "%s: indptr falls at row %d, from %d to %d", x.name, r.span.Lo+int64(i-1), s.offsets[i-1], s.offsets[i])
		}
	}
	if s.lo, s.hi = s.offsets[0], s.offsets[n]; r.span.Lo == 0 && s.lo != 0 || r.span.Hi == x.rows && s.hi != x.stored {
		return nil, r.at(0, "%s: indptr goes from %d to %d, there are %d values", x.name, s.lo, s.hi, x.stored)
	}
	for i := range s.offsets {
		s.offsets[i] -= s.lo
	}
	r.rows[x] = s
	if x.genes && r.in.by != nil {
		return s, r.byName(x, s)
	}
	return s, nil
}

// numbers reads the values of a stretch: its data or its indices.
func (r *reader) numbers(part kind, path string, s *stretch, size int) ([]byte, error) {
	if b := s.own[part-data]; b != nil {
		return b, nil
	}
	b := r.mem.Alloc(int(s.hi-s.lo) * size)
	if len(b) == 0 {
		return b, nil
	}
	return b, r.read.Numbers(r.ctx, path, s.lo, s.hi, b)
}

// outside refuses column numbers beyond the width of the matrix.
func (r *reader) outside(x *matrix, s *stretch, b []byte) error {
	size, row := x.index.Size(), 0
	for i := range len(b) / size {
		if n := integer(x.index, b[i*size:]); n < 0 || n >= x.columns {
			for s.offsets[row+1] <= int64(i) {
				row++
			}
			return r.at(row, "%s: column number %d of %d columns in row %d", x.name, n, x.columns, r.span.Lo+int64(row))
		}
	}
	return nil
}

// byName finds which values of a stretch are of genes that are wanted, with the columns of those, which
// rise within a row.
func (r *reader) byName(x *matrix, s *stretch) error {
	size := x.index.Size()
	b, err := r.numbers(indices, x.path+"/indices", s, size)
	if err != nil {
		return err
	}
	if err := r.outside(x, s, b); err != nil {
		return err
	}
	by := r.in.by
	if s.named = true; len(b)/size > math.MaxInt32 {
		return shardify.Unsupported("%s: %d values to be read together", x.name, len(b)/size)
	}
	s.places = shardify.View[int32](r.mem.Alloc(4 * (len(b) / size)))[:0]
	offsets := r.mem.Int64s(len(s.offsets))
	offsets[0] = 0
	to := func(k int32) int32 { return by[integer(x.index, b[int(k)*size:])] }
	for i := range len(offsets) - 1 {
		first := len(s.places)
		for k := s.offsets[i]; k < s.offsets[i+1]; k++ {
			if to(int32(k)) >= 0 {
				s.places = append(s.places, int32(k))
			}
		}
		slices.SortStableFunc(s.places[first:], func(a, b int32) int { return cmp.Compare(to(a), to(b)) })
		offsets[i+1] = int64(len(s.places))
	}
	s.offsets, s.indices = offsets, r.mem.Alloc(len(s.places)*size)
	for i, k := range s.places {
		var v [8]byte
		le.PutUint64(v[:], uint64(to(k)))
		copy(s.indices[i*size:(i+1)*size], v[:])
	}
	return nil
}

// values reads the data or the indices of a sparse matrix.
func (r *reader) values(f *field, c *shardify.Column) error {
	x := f.matrix
	s, err := r.stretch(x)
	if err != nil {
		return err
	}
	c.Offsets = [][]int64{s.offsets}
	if f.kind == indices && s.named {
		c.Data = s.indices
		return nil
	}
	size := c.DType.Size()
	if c.Data, err = r.numbers(f.kind, f.path, s, size); err != nil {
		return shardify.Amend(err, func(e *shardify.Error) { e.Sample = -1 })
	}
	switch {
	case f.kind == indices:
		return r.outside(x, s, c.Data)
	case s.named:
		all := c.Data
		c.Data = r.mem.Alloc(len(s.places) * size)
		for i, k := range s.places {
			copy(c.Data[i*size:(i+1)*size], all[int(k)*size:])
		}
	}
	return nil
}
