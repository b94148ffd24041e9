package rows

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/numeric"
)

// Reader implements shardify.Source.
func (s *Source) Reader(run uint32) (shardify.Reader, error) {
	r, err := s.Rows.Reader(run)
	if err != nil {
		return nil, err
	}
	return &reader{s: s, run: run, rows: r}, nil
}

// reader reads the samples of one run, and the rows of the last ones that are in other runs.
type reader struct {
	s       *Source
	run     uint32
	rows    shardify.Reader
	other   shardify.Reader // of the run after
	after   uint32
	v       view
	scratch shardify.Scratch
}

// Close implements shardify.Reader.
func (r *reader) Close() error {
	if r.other != nil {
		r.other.Close()
	}
	r.scratch.Close()
	return r.rows.Close()
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	s := r.s
	if s.parts != nil {
		return r.collected(ctx, sp, mem)
	}
	k := s.unitOf(sp)
	if k == len(s.units) || s.units[k].span.Input != sp.Input || s.units[k].span.Run != sp.Run || sp.Run != r.run ||
		sp.Lo < s.units[k].first || sp.Hi <= sp.Lo || sp.Hi > s.units[k].first+s.units[k].groups {
		return nil, fmt.Errorf("grouped rows: no span [%d, %d) of input %d, run %d", sp.Lo, sp.Hi, sp.Input, sp.Run)
	}
	u := &s.units[k]
	rows, err := r.read(ctx, slices.Collect(s.pieces(k)), mem)
	if err != nil {
		return nil, err
	}
	if rows, err = s.keys.look(&r.v, rows, mem); err != nil {
		return nil, s.located(err, sp.Input)
	}
	var starts []int64
	if rows.Samples > 0 {
		if starts, err = r.v.starts(s, u.base, u.groups, mem); err != nil {
			return nil, s.located(err, sp.Input)
		}
	}
	if int64(len(starts)-1) != u.groups || mark(s.keys.identity(&r.v, 0), s.keys.identity(&r.v, rows.Samples-1)) != u.mark {
		err := fmt.Errorf("rows [%d, ...) have other keys than when the plan was made: %w", u.span.Lo+u.head, shardify.ErrChanged)
		return nil, s.located(err, sp.Input)
	}
	b, err := s.group(rows, &r.v, starts, u.base, mem)
	if err != nil || sp.Samples() == u.groups {
		return b, err
	}
	return part(b, int(sp.Lo-u.first), int(sp.Hi-u.first), mem)
}

// part is samples [lo, hi) of a batch. The first part has the proofs of all.
func part(b *shardify.Batch, lo, hi int, mem *shardify.Arena) (*shardify.Batch, error) {
	var rows []int32
	for i := lo; i < hi; i++ {
		rows = append(rows, int32(i))
	}
	out, err := b.Take(rows, mem)
	if err == nil && lo == 0 {
		out.Proofs = b.Proofs
	}
	return out, err
}

// starts is where each sample begins, and the end of the last one. Samples that a table lists
// are first and those that follow it.
func (v *view) starts(s *Source, first, samples int64, mem *shardify.Arena) ([]int64, error) {
	if s.keys.listed != nil {
		starts := mem.Int64s(int(samples) + 1)[:0]
		for i, x := range v.cols[0].vals[:v.n] {
			k := int64(x) - first
			if k < int64(len(starts))-1 || k >= samples {
				return nil, fmt.Errorf("rows are in another order than when the plan was made: %w", shardify.ErrChanged)
			}
			for k >= int64(len(starts)) {
				starts = append(starts, int64(i))
			}
		}
		for samples >= int64(len(starts)) {
			starts = append(starts, int64(v.n))
		}
		return starts, nil
	}
	v.at = v.changes(v.at[:0])
	starts := mem.Int64s(len(v.at) + 2)
	starts[0] = 0
	for i, x := range v.at {
		starts[i+1] = int64(x)
	}
	starts[len(v.at)+1] = int64(v.n)
	return starts, nil
}

// read reads rows, those of several pieces one after the other.
func (r *reader) read(ctx context.Context, pieces []shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if len(pieces) == 1 {
		return r.rows.Read(ctx, pieces[0], mem)
	}
	var total int64
	for _, p := range pieces {
		total += p.Bytes + p.Bytes/4
	}
	if err := r.scratch.Hold(ctx, mem, total); err != nil {
		return nil, err
	}
	defer r.scratch.Hold(ctx, mem, 0)
	list := make([]*shardify.Batch, len(pieces))
	for i, p := range pieces {
		beside := mem.Overdraft()
		defer beside.Release()
		from, err := r.reader(p.Run)
		if err == nil {
			list[i], err = from.Read(ctx, p, beside)
		}
		if err != nil {
			return nil, r.s.table.LocateIn(err, int(p.Input))
		}
		if int64(list[i].Samples) != p.Samples() {
			return nil, fmt.Errorf("%d rows for span [%d, %d)", list[i].Samples, p.Lo, p.Hi)
		}
	}
	return concat(list, mem)
}

// reader is one of a run: what follows on the reader's own may be of the next.
func (r *reader) reader(run uint32) (shardify.Reader, error) {
	if run == r.run {
		return r.rows, nil
	}
	if r.other != nil && r.after == run {
		return r.other, nil
	}
	if r.other != nil {
		r.other.Close()
	}
	var err error
	r.other, err = r.s.Rows.Reader(run)
	r.after = run
	return r.other, err
}

// concat joins batches of one schema.
func concat(list []*shardify.Batch, mem *shardify.Arena) (*shardify.Batch, error) {
	out := &shardify.Batch{}
	for _, b := range list {
		out.Samples += b.Samples
		out.Proofs = append(out.Proofs, b.Proofs...)
	}
	for _, b := range list {
		for i := range b.Samples {
			out.IDs = append(out.IDs, b.ID(i))
		}
	}
	for i := range list[0].Columns {
		c := shardify.Column{Field: list[0].Columns[i].Field}
		size, lists, valid := 0, make([]int, c.Levels), false
		for _, b := range list {
			x := &b.Columns[i]
			size += len(x.Data)
			valid = valid || x.Valid != nil
			for l := range lists {
				lists[l] += len(x.Offsets[l]) - 1
			}
		}
		c.Data = mem.Alloc(size)[:0]
		if valid {
			c.Valid = mem.Alloc(out.Samples)[:0]
		}
		for l := range lists {
			o := mem.Int64s(lists[l] + 1)[:1]
			o[0] = 0
			c.Offsets = append(c.Offsets, o)
		}
		have := 0
		for _, b := range list {
			c.Append(&b.Columns[i], have, b.Samples)
			have += b.Samples
		}
		out.Columns = append(out.Columns, c)
	}
	return out, nil
}

// group builds samples from rows that are in the order of their samples. first is the number of the
// first one, if a table lists them.
func (s *Source) group(rows *shardify.Batch, v *view, starts []int64, first int64, mem *shardify.Arena) (*shardify.Batch, error) {
	n := len(starts) - 1
	firsts := make([]int32, n)
	out := &shardify.Batch{Samples: n, IDs: make([]shardify.ID, n), Proofs: rows.Proofs}
	for i := range n {
		at := min(int(starts[i]), rows.Samples-1)
		firsts[i] = int32(at)
		if at >= 0 {
			out.IDs[i].Input = rows.ID(at).Input
		}
		if s.keys.listed == nil {
			out.IDs[i].Sample = s.keys.identity(v, at)
		}
	}
	fixed := shardify.Batch{Samples: rows.Samples, First: rows.First, IDs: rows.IDs}
	for i := range rows.Columns {
		c := &rows.Columns[i]
		if s.role[i] == once {
			if err := s.constant(rows, c, starts); err != nil {
				return nil, err
			}
		}
		if s.role[i] != list && s.keys.listed == nil {
			fixed.Columns = append(fixed.Columns, *c)
		}
	}
	var taken *shardify.Batch
	var err error
	if l := s.keys.listed; l != nil {
		if taken, err = l.fields(first, n, mem); err == nil {
			err = l.identities(&s.keys, first, n, taken, func(i int, id int64) { out.IDs[i].Sample = id })
		}
	} else {
		taken, err = fixed.Take(firsts, mem)
	}
	if err != nil {
		return nil, err
	}
	if n > 0 {
		out.First = out.IDs[0]
	}
	next := 0
	for i := range rows.Columns {
		c := rows.Columns[i]
		if s.role[i] == list {
			if err := s.lists(rows, &c); err != nil {
				return nil, err
			}
			c.Offsets = append([][]int64{starts}, c.Offsets...)
		} else {
			from := next
			if next++; s.keys.listed != nil {
				from = slices.Index(s.keys.names, c.Name)
			}
			c = taken.Columns[from]
			if s.role[i] == ofKey {
				whole(&c, s.out[i].DType, mem)
			}
		}
		c.Field = s.out[i]
		out.Columns = append(out.Columns, c)
	}
	for i := len(rows.Columns); i < len(s.out); i++ {
		c := taken.Columns[len(s.keys.names)+i-len(rows.Columns)]
		c.Field = s.out[i]
		out.Columns = append(out.Columns, c)
	}
	return out, nil
}

// whole makes floating-point keys whole numbers, and forgets that keys might be missing.
func whole(c *shardify.Column, to shardify.DType, mem *shardify.Arena) {
	c.Valid = nil
	if c.DType == to {
		return
	}
	n := len(c.Data) / c.DType.Size()
	out := mem.Int64s(n)
	numeric.Convert(shardify.Bytes(out), shardify.F64, c.Data, c.DType)
	for i, bits := range out {
		out[i] = int64(math.Float64frombits(uint64(bits)))
	}
	c.Data = shardify.Bytes(out)
}

// lists takes the marks of missing values off a field.
func (s *Source) lists(rows *shardify.Batch, c *shardify.Column) error {
	if c.Valid == nil {
		return nil
	}
	for i, ok := range c.Valid {
		if ok != 0 {
			continue
		}
		if !s.fill {
			return atRow(format.MissingItem("the value"), rows, i, c.Name)
		}
		if c.Levels > 0 {
			continue // empty
		}
		from, to := c.Range(i, i+1)
		nan(c.Data[from:to], c.DType)
	}
	c.Valid = nil
	return nil
}

// nan writes NaN, or 0 for types without NaN.
func nan(b []byte, t shardify.DType) {
	clear(b)
	switch t {
	case shardify.F64:
		for i := 6; i < len(b); i += 8 {
			b[i], b[i+1] = 0xf8, 0x7f
		}
	case shardify.F32:
		for i := 2; i < len(b); i += 4 {
			b[i], b[i+1] = 0xc0, 0x7f
		}
	case shardify.F16:
		for i := 1; i < len(b); i += 2 {
			b[i] = 0x7e
		}
	case shardify.BF16:
		for i := 0; i < len(b); i += 2 {
			b[i], b[i+1] = 0xc0, 0x7f
		}
	}
}

// constant checks a field that is to be the same in all rows of a sample.
func (s *Source) constant(rows *shardify.Batch, c *shardify.Column, starts []int64) error {
	value := func(i int64) ([]byte, bool) {
		from, to := c.Range(int(i), int(i)+1)
		return c.Data[from:to], c.Valid == nil || c.Valid[i] != 0
	}
	for k := range len(starts) - 1 {
		first, ok := value(starts[k])
		for i := starts[k] + 1; i < starts[k+1]; i++ {
			if x, valid := value(i); valid != ok || ok && !bytes.Equal(x, first) {
				a, b := rows.ID(int(starts[k])), rows.ID(int(i))
				return atRow(shardify.Mismatch("--once %s: rows %d and %d are of one sample and differ", c.Name, a.Sample, b.Sample), rows, int(i), c.Name)
			}
		}
	}
	return nil
}
