package array

import (
	"context"
	"errors"
	"slices"

	"github.com/shardify/shardify/readers/internal/grid"
)

// stretch is rows [lo, hi) in the stored array, where these are whole rows side by side in
// one run.
func (a *Array) stretch(lo, hi int64) (at, n int64, ok bool) {
	for i, k := range a.Order.Perm {
		if k != i || i > 0 && a.Order.pick(k) != nil {
			return 0, 0, false
		}
	}
	if c := a.base.chunks; a.Order.Text || c != nil && !c.plain && c.dims[0] > 1 && !a.rows().Single() {
		return 0, 0, false // several runs may need one chunk
	}
	at, ok = a.rows().Stretch(lo, hi)
	return at, hi - lo, ok
}

// rows are the places of the samples' axis.
func (a *Array) rows() *grid.Places { return &a.places[a.Order.Perm[0]] }

// block is the rows that are in the row of chunks of row n.
func (a *Array) block(n int64) (start, end int64) {
	return a.rows().Block(n, a.base.chunks.dims[a.Order.Perm[0]])
}

// Stop is where a reader of rows from lo on, about n of them, had best stop: behind whole
// chunks.
func (a *Array) Stop(lo, n int64) int64 {
	c := int64(1)
	if dims := a.Set.Layout.ChunkDims; len(dims) > 0 {
		c = dims[a.Axis()]
	}
	n = max(n/c, 1) * c
	if a.Order == nil || a.Order.pick(a.Axis()) == nil {
		return (lo/n + 1) * n
	}
	return max(a.rows().Before((a.rows().Stored(lo)/c+n/c)*c), lo+1)
}

// atRow makes the stored row of an error the row that is read, as far as that is known.
func (a *Array) atRow(err error) error {
	var re *RowError
	if a.Order.Perm[0] != 0 || a.Order.pick(0) == nil || !errors.As(err, &re) {
		return err
	}
	return &RowError{min(a.rows().Before(re.Row), max(a.Rows-1, 0)), re.Err}
}

// portions are what is taken of places [x, y) of a stored axis; of the samples' axis for rows
// [lo, hi).
func (a *Array) portions(d int, x, y, lo, hi int64) []grid.Portion {
	if d != a.Order.Perm[0] {
		lo, hi = 0, a.places[d].Len
	}
	return a.places[d].Portions(x, y, lo, hi)
}

// scatter puts what is taken of a block of the stored array into rows [lo, hi) of what is
// read. The block begins at origin; its rows have the lengths of full, of which shape are
// values; src begins skip bytes behind its first value.
func (a *Array) scatter(dst, src []byte, skip int64, origin, shape, full []int64, lo, hi int64) {
	s := scatterer{dst: dst, src: src, from: strides(full, a.base.Elem), to: a.strides, unit: a.base.Elem}
	for d := range shape {
		p := a.portions(d, origin[d], origin[d]+shape[d], lo, hi)
		if len(p) == 0 {
			return
		}
		s.axes = append(s.axes, p)
	}
	// Axes that are taken whole and are alike in both are one piece.
	for s.last = len(shape) - 1; s.last > 0; s.last-- {
		d := s.last
		p := s.axes[d]
		if len(p) != 1 || p[0].Step != 1 || p[0].From != 0 || p[0].To != 0 || s.from[d] != s.unit || s.to[d] != s.unit ||
			p[0].N != full[d] || p[0].N*s.unit != s.from[d-1] || p[0].N != a.places[d].Len {
			break
		}
		s.unit *= p[0].N
	}
	s.scatter(0, 0, -skip)
}

// scatterer copies portions of each axis.
type scatterer struct {
	dst, src []byte
	axes     [][]grid.Portion
	from, to []int64 // bytes from one place of an axis to the next
	last     int     // the axis whose places are copied as a whole
	unit     int64   // bytes of such a place
}

func (s *scatterer) scatter(d int, to, from int64) {
	for _, p := range s.axes[d] {
		t, f := to+p.To*s.to[d], from+p.From*s.from[d]
		step := p.Step * s.from[d]
		if d < s.last {
			for range p.N {
				s.scatter(d+1, t, f)
				t, f = t+s.to[d], f+step
			}
			continue
		}
		if step == s.unit && s.to[d] == s.unit {
			copy(s.dst[t:t+p.N*s.unit], s.src[f:])
			continue
		}
		grid.Copy(s.dst[t:], s.src[f:], p.N, s.unit, s.to[d], step)
	}
}

// turnContiguous reads what is taken of rows [lo, hi) of an array that is stored as it is,
// places that are near each other at once.
func (a *Array) turnContiguous(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	t := &turner{a: a, w: w, dst: dst, lo: lo, hi: hi, step: strides(a.base.Dims, a.base.Elem), origin: make([]int64, len(a.base.Dims)), shape: slices.Clone(a.base.Dims)}
	rank := len(a.base.Dims)
	t.least, t.hull = make([]int64, rank+1), make([]int64, rank+1)
	t.hull[rank] = a.base.Elem
	for d := rank - 1; d >= 0; d-- {
		first, last := int64(-1), int64(-1)
		for _, p := range a.portions(d, 0, a.base.Dims[d], lo, hi) {
			if end := p.From + (p.N-1)*p.Step; end > last {
				last = end
			}
			if first < 0 || p.From < first {
				first = p.From
			}
		}
		if first < 0 {
			return nil
		}
		t.least[d] = t.least[d+1] + first*t.step[d]
		t.hull[d] = t.hull[d+1] + (last-first)*t.step[d]
	}
	return t.read(ctx, 0, a.Set.Layout.Addr)
}

// turner reads a contiguous array part by part.
type turner struct {
	a             *Array
	w             *Buffers
	dst           []byte
	lo, hi        int64
	step          []int64 // bytes from one place of an axis to the next
	least, hull   []int64 // of what is taken from an axis on: where it begins, and how far it reaches
	origin, shape []int64
}

// read reads what is taken from axis d on, for the places of the axes before it in origin;
// at is where these are in the file.
func (t *turner) read(ctx context.Context, d int, at int64) error {
	a := t.a
	list := a.portions(d, 0, a.base.Dims[d], t.lo, t.hi)
	for i := 0; i < len(list); i++ {
		p := list[i]
		for k := int64(0); k < p.N; {
			if err := ctx.Err(); err != nil {
				return err
			}
			x := p.From + k*p.Step
			if t.hull[d+1] > turnBytes {
				t.origin[d], t.shape[d] = x, 1
				if err := t.read(ctx, d+1, at+x*t.step[d]); err != nil {
					return err
				}
				k++
				continue
			}
			n := int64(1) // places that are read at once
			if p.Step*t.step[d]-t.hull[d+1] <= gap {
				n = min(max((turnBytes-t.hull[d+1])/(p.Step*t.step[d])+1, 1), p.N-k)
			}
			last := x + (n-1)*p.Step
			t.origin[d], t.shape[d] = x, last-x+1
			if err := t.block(ctx, at+x*t.step[d]+t.least[d+1], (last-x)*t.step[d]+t.hull[d+1], t.least[d+1]); err != nil {
				return err
			}
			k += n
		}
	}
	t.origin[d], t.shape[d] = 0, a.base.Dims[d]
	return nil
}

// block reads n bytes and puts what is taken of them to its place.
func (t *turner) block(ctx context.Context, at, n, skip int64) error {
	if err := t.w.Grow(ctx, &t.w.turn, n); err != nil {
		return err
	}
	if err := t.a.base.File.ReadFull(t.w.turn, at); err != nil {
		return err
	}
	t.a.scatter(t.dst, t.w.turn, skip, t.origin, t.shape, t.a.base.Dims, t.lo, t.hi)
	return nil
}
