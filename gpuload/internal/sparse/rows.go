package sparse

import (
	"runtime"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
)

type numeric interface {
	whole | float32 | float64
}

type float interface{ float32 | float64 }

type maker func(f *Form, in *Rows, out *Result, take taker) Found

var makers = map[shardify.DType]maker{
	shardify.Bool: kept[uint8, float32], shardify.U8: kept[uint8, float32], shardify.I8: kept[int8, float32],
	shardify.U16: kept[uint16, float32], shardify.I16: kept[int16, float32], shardify.U32: kept[uint32, float32], shardify.I32: kept[int32, float32],
	shardify.U64: kept[uint64, float32], shardify.I64: kept[int64, float32], shardify.F32: kept[float32, float32], shardify.F64: kept[float64, float64],
}

// kept makes rows of values that stay V, or become O where they are changed.
func kept[V numeric, O float](f *Form, in *Rows, out *Result, take taker) Found {
	if f.Normalize == 0 && !f.Log1p {
		w := work[V, V]{form: f, in: in, out: out, take: take}
		return w.run()
	}
	w := work[V, O]{form: f, in: in, out: out, take: take, change: change[V, O]}
	return w.run()
}

// work is one call of Make.
type work[V, O numeric] struct {
	form *Form
	in   *Rows
	out  *Result
	take taker
	// change computes values; nil where V is O.
	change func(f *Form, to []O, from []V)

	columns []int32
	order   []uint64
	some    []V // the values of a row where they are not those that are stored
	values  []O
	row     []O // of zeros, in which a row is made that leaves the caches alone
}

// Dense results from pastResult bytes on do not stay in the caches near a core. A row, if it is not short, is made there and
// stored past them: the zeros and the values of a row are then one pass over memory. Several goroutines make such a result,
// each at least partResult of it.
const pastResult, pastRow, partResult = 8 << 20, 4 << 10, 4 << 20

// spread makes a result, of which a large dense one is made in parts.
func (m maker) spread(f *Form, in *Rows, out *Result, take taker) (found Found) {
	rows, size := len(in.Offsets)-1, len(out.Values)
	if !f.Dense || size < pastResult {
		return m(f, in, out, take)
	}
	row := size / rows
	out.past = row >= pastRow
	parts := make([]Found, min(size/partResult, runtime.GOMAXPROCS(0), rows))
	var wg sync.WaitGroup
	for k := range parts {
		lo, hi := rows*k/len(parts), rows*(k+1)/len(parts)
		wg.Go(func() {
			parts[k] = m(f, &Rows{Values: in.Values, Indices: in.Indices, Offsets: in.Offsets[lo : hi+1]}, &Result{Values: out.Values[lo*row : hi*row], past: out.past}, take)
			if parts[k].Bad != nil {
				parts[k].Bad.Row += lo
			}
		})
	}
	wg.Wait()
	for _, p := range parts {
		found.Elements, found.Mixed = found.Elements+p.Elements, found.Mixed+p.Mixed
		if found.Bad == nil {
			found.Bad = p.Bad
		}
	}
	return found
}

func (w *work[V, O]) run() (found Found) {
	f, rows := w.form, len(w.in.Offsets)-1
	longest := int64(0)
	for r := range rows {
		longest = max(longest, w.in.Offsets[r+1]-w.in.Offsets[r])
	}
	w.columns = make([]int32, longest)
	if w.change != nil {
		w.values = make([]O, longest)
	}
	stored, to := shardify.View[V](w.in.Values), shardify.View[O](w.out.Values)
	if w.out.past {
		w.row = make([]O, f.Kept)
	}
	w.start(0, 0)
	for r := range rows {
		lo, hi := int(w.in.Offsets[r]), int(w.in.Offsets[r+1])
		columns := w.columns[:hi-lo]
		rising, bad := w.take(columns, w.in.Indices, lo, f.Width)
		if bad >= 0 {
			found.Bad = &Bad{Row: r, Element: bad}
			found.Bad.Column, found.Bad.Huge = number(w.in.Indices, f.Indices, lo+bad)
			return found
		}
		values := stored[lo:hi]
		if f.Columns != nil {
			columns, values, rising = w.choose(columns, values)
		}
		if !rising {
			found.Mixed++
			if w.change != nil || w.out.Starts != nil {
				columns, values = w.merge(columns, values)
			}
		}
		switch {
		case f.Dense:
			w.scatter(to[r*f.Kept:(r+1)*f.Kept], columns, w.changed(values))
		case w.out.Starts != nil:
			copy(to[found.Elements:], w.changed(values))
			w.number(found.Elements, columns)
			w.start(r+1, found.Elements+len(columns))
		}
		found.Elements += len(columns)
	}
	return found
}

// start says where a row of the result begins.
func (w *work[V, O]) start(row, at int) {
	switch {
	case w.form.Dense || w.out.Starts == nil:
	case w.form.Wide:
		shardify.View[int64](w.out.Starts)[row] = int64(at)
	default:
		shardify.View[int32](w.out.Starts)[row] = int32(at)
	}
}

// number writes the numbers of a row's columns.
func (w *work[V, O]) number(at int, columns []int32) {
	if !w.form.Wide {
		copy(shardify.View[int32](w.out.Columns)[at:], columns)
		return
	}
	to := shardify.View[int64](w.out.Columns)[at:]
	for i, c := range columns {
		to[i] = int64(c)
	}
}

// spare is memory for n values of a row.
func (w *work[V, O]) spare(n int) []V {
	if n > len(w.some) {
		w.some = make([]V, len(w.columns))
	}
	return w.some[:n]
}

// choose leaves out columns, and gives the others their numbers.
func (w *work[V, O]) choose(columns []int32, values []V) (c []int32, v []V, rising bool) {
	n, last, some := 0, int32(-1), w.spare(len(columns))
	rising = true
	for i, c := range columns {
		to := w.form.Columns[c]
		if to < 0 {
			continue
		}
		rising = rising && to > last
		last = to
		columns[n], some[n] = to, values[i]
		n++
	}
	return columns[:n], some[:n], rising
}

// merge sorts a row by columns, and adds the values of equal ones in the order in which they are stored.
func (w *work[V, O]) merge(columns []int32, values []V) ([]int32, []V) {
	w.order = w.order[:0]
	for i, c := range columns {
		w.order = append(w.order, uint64(c)<<32|uint64(i))
	}
	slices.Sort(w.order)
	sorted := make([]V, len(values))
	n := 0
	for _, o := range w.order {
		c, v := int32(o>>32), values[uint32(o)]
		if n > 0 && columns[n-1] == c {
			sorted[n-1] = w.sum(sorted[n-1], v)
			continue
		}
		columns[n], sorted[n] = c, v
		n++
	}
	return columns[:n], sorted[:n]
}

// sum is that of two values of one column; of flags, whether one of them is set.
func (w *work[V, O]) sum(a, b V) V {
	if w.form.Values == shardify.Bool {
		return min(a+b, 1)
	}
	return a + b
}

// changed are the values of the result, one for each that is stored.
func (w *work[V, O]) changed(values []V) []O {
	if w.change == nil {
		same, _ := any(values).([]O)
		return same
	}
	to := w.values[:len(values)]
	w.change(w.form, to, values)
	return to
}

// scatter fills a dense row.
func (w *work[V, O]) scatter(to []O, columns []int32, values []O) {
	row := w.row
	if row == nil {
		row = to
		clear(row)
	}
	values = values[:len(columns)]
	for i, c := range columns {
		row[c] += values[i]
	}
	if w.form.Values == shardify.Bool && w.change == nil {
		for _, c := range columns {
			row[c] = min(row[c], 1)
		}
	}
	if w.row == nil {
		return
	}
	load.CopyPast(shardify.Bytes(to), shardify.Bytes(row))
	for _, c := range columns {
		row[c] = 0
	}
}
