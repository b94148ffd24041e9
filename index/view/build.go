package view

import (
	"fmt"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
)

// Rows is what is known of the rows of a set.
type Rows struct {
	N int64
	// Values are those of the axis, by row; nil where the axis is the number of the row.
	Values []int64
	// Nanos is what one step of Values takes, 0 if that is no time.
	Nanos int64
	// Borders are rows, in rising order, with which something new begins: no window without an
	// axis goes over one.
	Borders []int64
	// Each is how many rows that follow each other are the patches of one: windows are of the same
	// patch of several. 0 is one.
	Each int64
}

// Found says what became of the rows.
type Found struct {
	Windows int64
	// ByPosition is how many there would be if the axis were the number of the row.
	ByPosition int64
	// Spacing is the most frequent distance of neighbours on the axis.
	Spacing int64
	// Gaps are how often neighbours have another one.
	Gaps int64
}

// Note says how many windows there are, and how many there were by position.
func (f *Found) Note(s *Spec) string {
	text := fmt.Sprintf("%s of %s", printable.Of(f.Windows, "window"), s.Text)
	lost := f.ByPosition - f.Windows
	switch {
	case s.Axis == "" || lost < 0:
		return text
	case lost == 0:
		return text + ": none crosses a gap of " + s.Axis
	case lost == 1:
		return fmt.Sprintf("%s: of %s by position 1 crosses a gap of %s", text, printable.Count(f.ByPosition), s.Axis)
	}
	return fmt.Sprintf("%s: of %s by position %s cross gaps of %s", text, printable.Count(f.ByPosition), printable.Count(lost), s.Axis)
}

// Build finds the windows of a Spec without a View.
func (s *Spec) Build(r Rows) (*index.View, Found, error) {
	build := s.build
	if r.Each > 1 {
		build = s.ofPatches
	}
	v, f, err := build(r)
	if err != nil {
		return nil, f, shardify.Mismatch("window %q: %v", s.Text, err)
	}
	return v, f, nil
}

func (s *Spec) build(r Rows) (*index.View, Found, error) {
	f := Found{Spacing: 1}
	// The distance of a single row from others is unknown; it makes no window either.
	single := s.Axis != "" && r.N < 2
	if s.Axis != "" && !single {
		if f.Spacing = spacing(r.Values); f.Spacing == 0 {
			return nil, f, fmt.Errorf("the values of %s do not rise: there is no distance of rows", s.Axis)
		}
	}
	var rows [3]int64 // of step, lead and stride
	for k, d := range []Distance{s.Step, s.Lead, s.Stride} {
		n, err := s.rows(d, f.Spacing, r.Nanos)
		if single {
			n, err = d.Rows, nil
		}
		if err != nil {
			return nil, f, fmt.Errorf("%s %v", [3]string{"step", "lead", "stride"}[k], err)
		}
		rows[k] = n
	}
	step, lead, stride := max(rows[0], 1), rows[1], max(rows[2], 1)
	if lead == 0 {
		lead = step
	}
	if most := int64(1) << 40; step > most || lead > most || stride > most || f.Spacing > math.MaxInt64/stride {
		return nil, f, fmt.Errorf("more than %d rows from one to the next", most)
	}
	v := &index.View{Window: s.Text, Anchors: []index.Anchors{}}
	for k := range s.In {
		v.In = append(v.In, (k-s.In+1)*step)
	}
	for k := range s.Out {
		v.Out = append(v.Out, lead+k*step)
	}
	lo, hi := v.Span()
	f.ByPosition = strided(r.N-hi+lo, stride)
	add := adder{v: v, lo: lo, hi: hi, stride: stride, spacing: f.Spacing, values: r.Values}
	if s.Axis == "" {
		from := int64(0)
		for _, b := range append(r.Borders[:len(r.Borders):len(r.Borders)], r.N) {
			add.stretch(from, b)
			from = b
		}
	} else {
		f.Gaps = add.regular(r.Values)
	}
	f.Windows = v.Len()
	return v, f, nil
}

// strided is how many of n rows are left of which each stride-th is taken.
func strided(n, stride int64) int64 { return (max(n, 0) + stride - 1) / stride }

// rows is a distance in rows.
func (s *Spec) rows(d Distance, spacing, nanos int64) (int64, error) {
	err := s.timed(d, nanos)
	switch {
	case err != nil || d.Nanos == 0:
		return d.Rows, err
	case spacing > math.MaxInt64/nanos || d.Nanos%(spacing*nanos) != 0:
		return 0, fmt.Errorf("%v: no multiple of the distance of rows, %v", d, Distance{Nanos: spacing * nanos})
	}
	return d.Nanos / (spacing * nanos), nil
}

// spacing is the most frequent positive difference of neighbours, the smaller of two; 0: there is
// none.
func spacing(values []int64) (best int64) {
	counts := map[int64]int{}
	for i := 1; i < len(values); i++ {
		if d, ok := rise(values[i-1], values[i]); ok && (len(counts) < 1<<16 || counts[d] > 0) {
			counts[d]++
		}
	}
	most := 0
	for d, n := range counts {
		if n > most || n == most && d < best {
			best, most = d, n
		}
	}
	return best
}

// rise is b - a where that is positive and a number. The least number of all stands for no value.
func rise(a, b int64) (int64, bool) {
	d := b - a
	return d, a != math.MinInt64 && b > a && d > 0
}

// adder collects anchors.
type adder struct {
	v               *index.View
	lo, hi          int64
	stride, spacing int64
	values          []int64
	first           int64 // the value of the first anchor
}

// regular adds the stretches of rows whose values rise evenly. It returns how many borders there
// are between them.
func (a *adder) regular(values []int64) (gaps int64) {
	from := 0
	for i := 1; i <= len(values); i++ {
		if i < len(values) {
			if d, ok := rise(values[i-1], values[i]); ok && d == a.spacing {
				continue
			}
			gaps++
		}
		a.stretch(int64(from), int64(i))
		from = i
	}
	return gaps
}

// stretch adds the anchors of rows [from, to), which nothing parts. Strides go on from the first
// anchor of all: by value on an axis, else from the first row of the stretch.
func (a *adder) stretch(from, to int64) {
	first, end := from-a.lo, to-a.hi
	if first >= end {
		return
	}
	if len(a.values) > 0 && a.stride > 1 {
		if len(a.v.Anchors) == 0 {
			a.first = a.values[first]
		}
		period := a.stride * a.spacing
		over := ((a.values[first]-a.first)%period + period) % period
		if over%a.spacing != 0 {
			a.first, over = a.values[first], 0 // no row of this stretch is on the way
		}
		if over > 0 {
			first += a.stride - over/a.spacing
		}
		if first >= end {
			return
		}
	}
	a.v.Anchors = append(a.v.Anchors, index.Anchors{Lo: first, Hi: end, Step: a.stride})
}
