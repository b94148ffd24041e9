package stats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
)

// Report is what was found, ready to be shown.
type Report struct {
	Samples    int64       `json:"samples"`
	Fields     []Field     `json:"fields"`
	Duplicates *Duplicates `json:"duplicates,omitempty"`
}

// Field is what was found of one field.
type Field struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Missing int64    `json:"missing,omitempty"`
	Values  *Summary `json:"values,omitempty"`
	Lengths *Summary `json:"lengths,omitempty"` // of lists in elements, of opaque data in bytes
	Inner   *Summary `json:"inner_lengths,omitempty"`
	Classes []Class  `json:"classes,omitempty"`
	// Channels are the places of the first dimension, where it is that of channels.
	Channels []Channel      `json:"channels,omitempty"`
	Images   *Images        `json:"images,omitempty"`
	Field    shardify.Field `json:"-"`
	Slices   []Thumbnail    `json:"-"` // pictures of the middle of volumes
}

// Channel is what was found of a channel: no quantiles, and no histogram.
type Channel struct {
	Name   string   `json:"name"`
	Values *Summary `json:"values"`
}

// Summary is what was found of numbers. Extremes are exact: a 64-bit integer is more than
// a float64 holds. Mean and Std are absent where float64 overflows.
type Summary struct {
	Count     int64        `json:"count"`
	NaN       int64        `json:"nan,omitempty"`
	Inf       int64        `json:"inf,omitempty"`
	Zeros     int64        `json:"zeros"`
	Min       json.Number  `json:"min,omitempty"`
	Max       json.Number  `json:"max,omitempty"`
	Mean      *float64     `json:"mean,omitempty"`
	Std       *float64     `json:"std,omitempty"`
	Quantiles []QuantileOf `json:"quantiles,omitempty"`
	Histogram *Histogram   `json:"histogram,omitempty"` // absent where Max - Min overflows
	Whole     bool         `json:"-"`
}

// QuantileOf is the value with a share Q of the values below it.
type QuantileOf struct {
	Q     float64 `json:"q"`
	Value float64 `json:"value"`
}

// Images is what was found of encoded images.
type Images struct {
	Types      map[string]int64 `json:"types"`
	Unreadable int64            `json:"unreadable,omitempty"`
	Width      *Summary         `json:"width,omitempty"`
	Height     *Summary         `json:"height,omitempty"`
	Thumbnails []Thumbnail      `json:"-"`
}

// Duplicates is the samples that occur more than once.
type Duplicates struct {
	Samples int64     `json:"samples"` // beyond the first of each
	Groups  int64     `json:"groups"`
	First   [][]int64 `json:"first,omitempty"` // numbers of the samples of some groups
}

var quantiles = []float64{0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999}

// Bins of the histograms.
const Bins = 60

// Report sums up.
func (s *Set) Report() *Report {
	r := &Report{Samples: s.Samples}
	for i := range s.columns {
		c, f := &s.columns[i], &s.fields[i]
		if shardify.Companion(s.fields, i) {
			continue
		}
		x := Field{Name: f.Name, Missing: c.missing, Field: *f, Values: c.numbers.summary(), Lengths: c.lengths.summary(), Inner: c.inner.summary(), Slices: c.slices}
		if c.classes != nil && !c.classes.Many {
			x.Classes = c.classes.List(f.Codes())
		}
		if m := c.images; m != nil {
			x.Images = &Images{Types: maps.Clone(m.types), Unreadable: m.bad, Width: m.width.summary(), Height: m.height.summary(), Thumbnails: m.thumbs}
		}
		for k, name := range Channels(f)[:len(c.channels)] {
			x.Channels = append(x.Channels, Channel{name, c.channels[k].summary()})
		}
		r.Fields = append(r.Fields, x)
	}
	if s.o.Duplicates > 0 {
		r.Duplicates = s.duplicates()
	}
	return r
}

func (n *Numbers) summary() *Summary {
	if n == nil {
		return nil
	}
	x := &Summary{Count: n.Count, NaN: n.NaN, Inf: n.Inf, Zeros: n.Zeros, Whole: n.dtype.IsInt() || n.dtype == shardify.Bool}
	if n.Count == 0 {
		return x
	}
	x.Mean, x.Std = finite(n.Mean()), finite(n.Std())
	lo, hi := n.extremes()
	x.Min, x.Max = json.Number(lo), json.Number(hi)
	if n.plain {
		return x
	}
	if h := n.Histogram(Bins); h.Counts != nil {
		x.Histogram = &h
	}
	for _, q := range quantiles {
		x.Quantiles = append(x.Quantiles, QuantileOf{q, n.Quantile(q)})
	}
	return x
}

func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

func (n *Numbers) extremes() (lo, hi string) {
	switch {
	case n.dtype == shardify.I64 && n.maxInt >= n.minInt:
		return strconv.FormatInt(n.minInt, 10), strconv.FormatInt(n.maxInt, 10)
	case n.dtype == shardify.U64 && n.maxUint >= n.minUint:
		return strconv.FormatUint(n.minUint, 10), strconv.FormatUint(n.maxUint, 10)
	}
	bits := 64
	if n.dtype.IsFloat() && n.dtype != shardify.F64 {
		bits = 32
	}
	text := func(x float64) string {
		if !n.dtype.IsFloat() && math.Abs(x) < 1e15 {
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
		return strconv.FormatFloat(x, 'g', -1, bits)
	}
	return text(n.Min), text(n.Max)
}

// At is the quantile q, which must be one of those that are listed.
func (s *Summary) At(q float64) float64 {
	for _, x := range s.Quantiles {
		if x.Q == q {
			return x.Value
		}
	}
	return math.NaN()
}

// duplicates groups equal digests.
func (s *Set) duplicates() *Duplicates {
	slices.SortFunc(s.digests, func(a, b digest) int {
		if c := bytes.Compare(a.sum[:], b.sum[:]); c != 0 {
			return c
		}
		return cmp.Compare(a.sample, b.sample)
	})
	d := &Duplicates{}
	for lo := 0; lo < len(s.digests); {
		hi := lo + 1
		for hi < len(s.digests) && s.digests[hi].sum == s.digests[lo].sum {
			hi++
		}
		if hi-lo > 1 {
			d.Groups++
			d.Samples += int64(hi - lo - 1)
			var g []int64
			for _, x := range s.digests[lo:min(hi, lo+5)] {
				g = append(g, x.sample)
			}
			if len(d.First) < 100_000 {
				d.First = append(d.First, g)
			}
		}
		lo = hi
	}
	slices.SortFunc(d.First, func(a, b []int64) int { return cmp.Compare(a[0], b[0]) })
	d.First = d.First[:min(len(d.First), 10)]
	return d
}
