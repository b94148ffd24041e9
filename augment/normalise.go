package augment

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/transform/op"
)

// Attributes that a normalised field has, for the trainer to undo it: x = y*std + mean.
// Several numbers are those of the entries of the last axis, or of the first.
const (
	AttrMean = "normalise.mean"
	AttrStd  = "normalise.std"
)

// normalise brings fields to mean 0 and deviation 1.
type normalise struct {
	text     string
	globs    []string
	sentinel float64
	guarded  bool // there is a sentinel
	by       string
	cols     []int
	from     []shardify.Field
	n        int
	found    map[string]moments // by field
}

// moments are the figures of a field.
type moments struct {
	Mean  []float64 `json:"mean"`
	Std   []float64 `json:"std"`
	Left  int64     `json:"left_out,omitempty"` // NaN, infinite, sentinel
	Count []int64   `json:"count"`
}

func newNormalise(a *args, _ Env) (shardify.Transform, error) {
	n := &normalise{text: a.text(""), globs: a.fields()}
	if s := a.text("sentinel"); s != "" {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("sentinel=%s: want a number", s)
		}
		n.sentinel, n.guarded = x, true
	}
	switch by := a.text("by"); by {
	case "last", "first", "all":
		n.by = by
	default:
		return nil, fmt.Errorf("by=%s: want last, first or all", by)
	}
	return n, nil
}

// Needs names the fields.
func (n *normalise) Needs() []string { return plain(n.globs) }

// Schema finds the fields; integers become f32. Once the figures are known they are in the
// attributes.
func (n *normalise) Schema(in []shardify.Field) (_ []shardify.Field, err error) {
	if n.cols, err = find(in, n.globs, numbers); err != nil {
		return nil, err
	}
	n.n, n.from = len(in), slices.Clone(in)
	out := slices.Clone(in)
	for _, k := range n.cols {
		f := &out[k]
		if n.by == "first" && (f.Levels > 0 || len(f.Shape) == 0) {
			return nil, shardify.Mismatch("field %s has no first axis of a fixed length: by=last or by=all", f.Name)
		}
		if f.Attrs["labels"] != "" {
			return nil, shardify.Mismatch("field %s holds codes of labels: their mean means nothing", f.Name)
		}
		if !f.DType.IsFloat() {
			f.DType = shardify.F32
		}
		if m, ok := n.found[f.Name]; ok {
			if f.Attrs = maps.Clone(f.Attrs); f.Attrs == nil {
				f.Attrs = map[string]string{}
			}
			f.Attrs[AttrMean], f.Attrs[AttrStd] = list(m.Mean), list(m.Std)
		}
	}
	return out, nil
}

func list(x []float64) string {
	out := make([]string, len(x))
	for i := range x {
		out[i] = strconv.FormatFloat(x[i], 'g', -1, 64)
	}
	return strings.Join(out, ",")
}

// width is of how many entries a field has figures, and each how many values that follow each other
// are of one.
func (n *normalise) width(f *shardify.Field) (width, each int) {
	switch {
	case n.by == "last" && len(f.Shape) > 0:
		return f.Shape[len(f.Shape)-1], 1
	case n.by == "first":
		return f.Shape[0], f.Elem() / max(f.Shape[0], 1)
	}
	return 1, 1
}

// entries goes through the entries that the values of a field are of.
type entries struct{ at, k, width, each int }

// next is the entry of the next value.
func (e *entries) next() (at int) {
	at = e.at
	if e.k++; e.k == e.each {
		if e.k, e.at = 0, e.at+1; e.at == e.width {
			e.at = 0
		}
	}
	return at
}

func (n *normalise) entries(f *shardify.Field) entries {
	width, each := n.width(f)
	return entries{width: width, each: each}
}

// Cost is a copy, of f32 at least.
func (n *normalise) Cost([]shardify.Field) shardify.Cost {
	most := 1.0
	for _, k := range n.cols {
		most = max(most, 4/float64(max(n.from[k].DType.Size(), 1)))
	}
	return shardify.Cost{Growth: most}
}

// Surveys says that the values must be seen.
func (n *normalise) Surveys() string { return "mean and standard deviation of " + n.text }

// NewSurvey begins with nothing.
func (n *normalise) NewSurvey() shardify.Survey {
	s := &sums{of: n}
	for _, k := range n.cols {
		width, _ := n.width(&n.from[k])
		s.fields = append(s.fields, make([]sum, width))
	}
	s.left = make([]int64, len(n.cols))
	return s
}

// sum is moments that are being added up (Welford; parts are joined by Chan's formula).
type sum struct {
	n          int64
	mean, sqrs float64
}

func (s *sum) add(x float64) {
	s.n++
	d := x - s.mean
	s.mean += d / float64(s.n)
	s.sqrs += float64(d * (x - s.mean))
}

func (s *sum) merge(t sum) {
	if t.n == 0 {
		return
	}
	d, n := t.mean-s.mean, float64(s.n+t.n)
	s.sqrs += t.sqrs + d*d*float64(s.n)*float64(t.n)/n
	s.mean += d * float64(t.n) / n
	s.n += t.n
}

type sums struct {
	of     *normalise
	fields [][]sum
	left   []int64
}

// Add counts all finite values but the sentinel.
func (s *sums) Add(b *shardify.Batch) error {
	if err := op.Match(b, s.of.n); err != nil {
		return err
	}
	for j, k := range s.of.cols {
		c := &b.Columns[k]
		into, at, sentinel := s.fields[j], s.of.entries(&s.of.from[k]), rounded(s.of.sentinel, c.DType)
		add := func(x float64) {
			if e := at.next(); x-x != 0 || s.of.guarded && x == sentinel {
				s.left[j]++
			} else {
				into[e].add(x)
			}
		}
		for i := range b.Samples {
			if !present(c, i) {
				continue
			}
			lo, hi := span(c, i)
			eachNumber(c, lo, hi, add)
		}
	}
	return nil
}

// Merge joins the parts.
func (s *sums) Merge(next shardify.Survey) error {
	t := next.(*sums)
	for j := range s.fields {
		for e := range s.fields[j] {
			s.fields[j][e].merge(t.fields[j][e])
		}
		s.left[j] += t.left[j]
	}
	return nil
}

// Result is the figures by field.
func (s *sums) Result() ([]byte, error) {
	out := map[string]moments{}
	for j, k := range s.of.cols {
		f := &s.of.from[k]
		m := moments{Left: s.left[j]}
		for e, x := range s.fields[j] {
			std := math.Sqrt(x.sqrs / float64(max(x.n, 1)))
			where := f.Name
			if len(s.fields[j]) > 1 {
				where = fmt.Sprintf("%s, entry %d of its %s axis,", f.Name, e, s.of.by)
			}
			switch {
			case x.n == 0:
				return nil, shardify.Mismatch("--augment normalise: %s has no finite values in the samples that count", where)
			case std == 0 || std < 1e-12*math.Abs(x.mean):
				return nil, shardify.Mismatch("--augment normalise: %s is constant (%v): leave it out", where, x.mean)
			}
			m.Mean, m.Std, m.Count = append(m.Mean, x.mean), append(m.Std, std), append(m.Count, x.n)
		}
		out[f.Name] = m
	}
	return json.Marshal(out)
}

// Learn takes the figures.
func (n *normalise) Learn(result []byte) error {
	var found map[string]moments
	if err := json.Unmarshal(result, &found); err != nil {
		return shardify.Corrupt(-1, "figures to normalise by: %v", err)
	}
	for _, k := range n.cols {
		f := &n.from[k]
		m, ok := found[f.Name]
		if w, _ := n.width(f); !ok || len(m.Mean) != w || len(m.Std) != w || slices.Contains(m.Std, 0) {
			return shardify.Corrupt(-1, "no figures to normalise %s by", f.Name)
		}
	}
	n.found = found
	return nil
}

// Apply rebuilds the fields.
func (n *normalise) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, n.n); err != nil {
		return nil, err
	}
	out := op.Fork(b)
	for _, k := range n.cols {
		src, dst := &b.Columns[k], &out.Columns[k]
		m := n.found[src.Name]
		values := len(src.Data) / src.DType.Size()
		if !src.DType.IsFloat() {
			dst.DType = shardify.F32
			dst.Data = mem.Alloc(4 * values)
			v, at := shardify.View[float32](dst.Data), 0
			eachNumber(src, 0, values, func(x float64) { v[at] = float32(x); at++ })
		} else {
			own(dst, mem)
		}
		at, sentinel := n.entries(&n.from[k]), rounded(n.sentinel, dst.DType)
		apply(dst, 0, values, func(x float64) float64 {
			e := at.next()
			if n.guarded && x == sentinel {
				return x
			}
			return (x - m.Mean[e]) / m.Std[e]
		})
	}
	return out, nil
}

// rounded is x as a field of the type holds it.
func rounded(x float64, d shardify.DType) float64 {
	switch d {
	case shardify.F32:
		return float64(float32(x))
	case shardify.F16:
		return float64(half.F16(half.ToF16(half.Narrow(x))))
	case shardify.BF16:
		return float64(half.BF16(half.ToBF16(half.Narrow(x))))
	}
	return x
}

// eachNumber calls f for the numbers [lo, hi) of a column.
func eachNumber(c *shardify.Column, lo, hi int, f func(x float64)) {
	var buf [64]float64
	for size := c.DType.Size(); lo < hi; {
		n := min(len(buf), hi-lo)
		numeric.Convert(shardify.Bytes(buf[:n]), shardify.F64, c.Data[lo*size:(lo+n)*size], c.DType)
		for _, x := range buf[:n] {
			f(x)
		}
		lo += n
	}
}
