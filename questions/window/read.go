package window

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/index/view"
)

// Reader implements shardify.Source.
func (s *Source) Reader(run uint32) (shardify.Reader, error) {
	return &reader{s: s, run: s.flow.NewRunner(s.Rows, nil, 0, nil), open: map[uint32]*place{}}, nil
}

// reader reads the rows of a span, and keeps those that the next span may want too.
type reader struct {
	s       *Source
	run     *flow.Runner
	open    map[uint32]*place
	set     int
	have    []held // in the order of their rows
	spare   [][]byte
	anchors []int64
	need    []view.Stretch
	want    []int
	scratch shardify.Scratch
}

// place is a reader of rows, and the unit that a stream goes on with.
type place struct {
	shardify.Reader
	next int
}

// held is the rows of a unit, as operations have left them.
type held struct {
	unit int
	view.Stretch
	buf    []byte
	sums   []shardify.Proof
	counts []shardify.Count
}

// Close implements shardify.Reader.
func (r *reader) Close() error {
	var err error
	for _, p := range r.open {
		if e := p.Close(); err == nil {
			err = e
		}
	}
	r.scratch.Close()
	*r = reader{}
	return err
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	s := r.s
	i := sort.Search(len(s.inputs), func(i int) bool { return s.inputs[i].input >= sp.Input })
	if i == len(s.inputs) || s.inputs[i].input != sp.Input || sp.Lo < 0 || sp.Hi <= sp.Lo || sp.Hi > s.inputs[i].n {
		return nil, fmt.Errorf("windows: no span [%d, %d) of input %d", sp.Lo, sp.Hi, sp.Input)
	}
	in := &s.inputs[i]
	set := &s.sets[in.set]
	lo, hi := in.first+sp.Lo, in.first+sp.Hi
	r.anchors = set.Rows(r.anchors[:0], lo, hi)
	r.need = set.samples.Need(r.need[:0], r.anchors)
	r.want = r.want[:0]
	for _, x := range r.need {
		for k := set.unitAt(x.Lo); k < len(set.units) && set.units[k].at < x.Hi; k++ {
			if n := len(r.want); n == 0 || r.want[n-1] < k {
				r.want = append(r.want, k)
			}
		}
	}
	if err := r.load(ctx, in.set, mem); err != nil {
		return nil, err
	}
	rows := make([]view.Stretch, len(r.have))
	for k := range r.have {
		rows[k] = r.have[k].Stretch
	}
	b, err := set.samples.Copy(r.anchors, rows, mem)
	if err != nil {
		return nil, err
	}
	b.First = shardify.ID{Input: sp.Input, Sample: sp.Lo}
	// What is known of rows is said once, with the first window that has one of them.
	for k := range r.have {
		h := &r.have[k]
		if len(h.sums)+len(h.counts) == 0 {
			continue
		}
		if first := set.firstWith(h.Lo, h.Hi); first >= lo && first < hi {
			b.Proofs, b.Counts = append(b.Proofs, h.sums...), append(b.Counts, h.counts...)
		}
	}
	return b, nil
}

// firstWith is the first window that has one of rows [lo, hi), or a number that none has.
func (set *rowSet) firstWith(lo, hi int64) int64 {
	first := set.Len()
	var one [1]int64
	for _, side := range [][]int64{set.In, set.Out} {
		for _, o := range side {
			if w := set.Below(lo - o); w < first && set.Rows(one[:0], w, w+1)[0]+o < hi {
				first = w
			}
		}
	}
	return first
}

// load reads the units that are wanted and not held, and drops the others.
func (r *reader) load(ctx context.Context, in int, mem *shardify.Arena) error {
	set := &r.s.sets[in]
	if r.set != in {
		r.drop(func(*held) bool { return true })
		r.set = in
	}
	r.drop(func(h *held) bool { _, ok := slices.BinarySearch(r.want, h.unit); return !ok })
	row := int64(0)
	for i := range r.s.flow.Schema {
		row += int64(r.s.flow.Schema[i].ElemBytes())
	}
	total, beside := int64(0), int64(0)
	for _, k := range r.want {
		n, bytes := set.units[k].span.Samples(), set.units[k].span.Bytes
		total += n * row
		beside = max(beside, bytes+bytes/4+r.s.flow.Memory(int(n), bytes))
	}
	for _, b := range r.spare {
		total += int64(cap(b))
	}
	if total > r.scratch.Share() { // spare buffers are the first to go
		for _, b := range r.spare {
			total -= int64(cap(b))
		}
		r.spare = nil
	}
	if err := r.scratch.Hold(ctx, mem, total+beside); err != nil {
		return err
	}
	r.closeOthers(set)
	at := 0
	for _, k := range r.want {
		if at < len(r.have) && r.have[at].unit == k {
			at++
			continue
		}
		h, err := r.unit(ctx, in, k, row, mem)
		if err != nil {
			r.drop(func(*held) bool { return true })
			return err
		}
		r.have = slices.Insert(r.have, at, h)
		at++
	}
	return r.scratch.Hold(ctx, mem, total)
}

func (r *reader) drop(gone func(*held) bool) {
	kept := r.have[:0]
	for i := range r.have {
		if h := &r.have[i]; gone(h) {
			r.spare = append(r.spare, h.buf)
		} else {
			kept = append(kept, *h)
		}
	}
	clear(r.have[len(kept):])
	r.have = kept
}

// closeOthers closes the readers of streams that are behind.
func (r *reader) closeOthers(set *rowSet) {
	for run, p := range r.open {
		if run > 0 && !slices.ContainsFunc(r.want, func(k int) bool { return set.units[k].span.Run == run }) {
			p.Close()
			delete(r.open, run)
		}
	}
}

// reader is one for a unit: a stream that is beyond it starts again.
func (r *reader) reader(run uint32, unit int) (*place, error) {
	p := r.open[run]
	if p != nil && (run == 0 || p.next <= unit) {
		return p, nil
	}
	if p != nil {
		p.Close()
		delete(r.open, run)
	}
	x, err := r.s.Rows.Reader(run)
	if err != nil {
		return nil, err
	}
	p = &place{Reader: x}
	r.open[run] = p
	return p, nil
}

// unit reads rows and does the operations to them.
func (r *reader) unit(ctx context.Context, in, k int, row int64, mem *shardify.Arena) (h held, err error) {
	s := r.s
	u := &s.sets[in].units[k]
	from, err := r.reader(u.span.Run, k)
	if err != nil {
		return h, err
	}
	beside := mem.Overdraft()
	defer beside.Release()
	b, err := from.Read(ctx, u.span, beside)
	if err != nil {
		from.Close() // what a failed read leaves behind is not defined
		delete(r.open, u.span.Run)
		return h, s.table.LocateIn(err, int(u.span.Input))
	}
	from.next = k + 1
	n := u.span.Samples()
	if int64(b.Samples) != n {
		return h, fmt.Errorf("%d rows for span [%d, %d)", b.Samples, u.span.Lo, u.span.Hi)
	}
	if s.column >= 0 && !s.axis.same(u, &b.Columns[s.column]) {
		return h, s.table.LocateIn(fmt.Errorf("rows [%d, %d) have other values of %s than when the plan was made: %w", u.span.Lo, u.span.Hi, s.spec.Axis, shardify.ErrChanged), int(u.span.Input))
	}
	proofs := b.Proofs
	tally := flow.Tally{Written: make([]int64, len(s.flow.Splits))}
	b, err = r.run.Whole(b, in, beside, &tally)
	switch {
	case err != nil:
		return h, err
	case b == nil || int64(b.Samples) != n:
		return h, shardify.Unsupported("windows of rows that operations leave out")
	case s.made >= 0 && !s.axis.same(u, &b.Columns[s.made]):
		return h, s.changes()
	}
	h = held{unit: k, Stretch: view.Stretch{Lo: u.at, Hi: u.end()}, sums: proofs, counts: tally.Counts, buf: r.buffer(int(n * row))}
	rest := h.buf
	for i := range b.Columns {
		c := &b.Columns[i]
		if c.Valid != nil && bytes.IndexByte(c.Valid, 0) >= 0 || len(c.Data) > len(rest) {
			return h, shardify.Unsupported("windows of field %s: %d bytes for %d rows, or missing values", c.Name, len(c.Data), n)
		}
		h.Data = append(h.Data, rest[:copy(rest, c.Data)])
		rest = rest[len(c.Data):]
	}
	return h, nil
}

// buffer is a spare one that is large enough, or a new one.
func (r *reader) buffer(n int) []byte {
	for i, b := range r.spare {
		if cap(b) >= n && cap(b) <= 2*n {
			r.spare = slices.Delete(r.spare, i, i+1)
			return b[:n]
		}
	}
	return make([]byte, n)
}

// same reports whether a column has the values of the plan.
func (a *axisValues) same(u *unit, c *shardify.Column) bool {
	size, n := int64(c.DType.Size()), u.span.Samples()
	if int64(len(c.Data)) != n*size {
		return false
	}
	if a.valid == nil {
		return bytes.Equal(c.Data, a.data[u.all*size:(u.all+n)*size]) && (c.Valid == nil || bytes.IndexByte(c.Valid, 0) < 0)
	}
	for i := range n {
		ok := c.Valid == nil || c.Valid[i] != 0
		if at := (u.all + i) * size; ok != (a.valid[u.all+i] != 0) || ok && !bytes.Equal(c.Data[i*size:(i+1)*size], a.data[at:at+size]) {
			return false
		}
	}
	return true
}
