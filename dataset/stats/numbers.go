package stats

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
)

// Numbers gathers facts of a stream of numbers: extremes, moments about one of the first
// ones, and a sketch from which quantiles and histograms are made.
type Numbers struct {
	Count         int64 // finite ones
	NaN, Inf      int64
	Zeros         int64
	Min, Max      float64
	pivot         float64
	pivoted       bool
	sum, sumOfSqs float64
	sketch        sketch
	// Extremes of 64-bit integers, which a float64 does not hold.
	minInt, maxInt   int64
	minUint, maxUint uint64
	dtype            shardify.DType
	plain            bool // without a sketch: extremes and moments alone
}

func newNumbers(d shardify.DType) *Numbers {
	return &Numbers{dtype: d, Min: math.Inf(1), Max: math.Inf(-1), minInt: math.MaxInt64, maxInt: math.MinInt64, minUint: math.MaxUint64}
}

// part is an empty one that can be merged.
func (n *Numbers) part() *Numbers {
	p := newNumbers(n.dtype)
	p.pivot, p.pivoted, p.plain = n.pivot, n.pivoted, n.plain
	return p
}

// add counts x.
func (n *Numbers) add(x float64) {
	if x-x != 0 { // NaN and infinities
		if x != x {
			n.NaN++
		} else {
			n.Inf++
		}
		return
	}
	if !n.pivoted {
		n.pivot, n.pivoted = x, true
	}
	n.Count++
	if x == 0 {
		n.Zeros++
	}
	if x < n.Min {
		n.Min = x
	}
	if x > n.Max {
		n.Max = x
	}
	d := x - n.pivot
	n.sum += d
	n.sumOfSqs += float64(d * d)
	if !n.plain {
		n.sketch.add(d)
	}
}

// column adds the values in data.
func (n *Numbers) column(data []byte) {
	switch n.dtype {
	case shardify.Bool, shardify.U8:
		values(n, data)
	case shardify.I8:
		values(n, shardify.View[int8](data))
	case shardify.I16:
		values(n, shardify.View[int16](data))
	case shardify.I32:
		values(n, shardify.View[int32](data))
	case shardify.U16:
		values(n, shardify.View[uint16](data))
	case shardify.U32:
		values(n, shardify.View[uint32](data))
	case shardify.F32:
		values(n, shardify.View[float32](data))
	case shardify.F64:
		values(n, shardify.View[float64](data))
	case shardify.F16:
		for _, h := range shardify.View[uint16](data) {
			n.add(float64(half.F16(h)))
		}
	case shardify.BF16:
		for _, h := range shardify.View[uint16](data) {
			n.add(float64(half.BF16(h)))
		}
	case shardify.I64:
		v := shardify.View[int64](data)
		for _, x := range v {
			n.minInt, n.maxInt = min(n.minInt, x), max(n.maxInt, x)
		}
		values(n, v)
	case shardify.U64:
		v := shardify.View[uint64](data)
		for _, x := range v {
			n.minUint, n.maxUint = min(n.minUint, x), max(n.maxUint, x)
		}
		values(n, v)
	}
}

// values is add for each of v, with the sums kept in registers.
func values[T shardify.Number](n *Numbers, v []T) {
	if !n.pivoted {
		n.choosePivot(float64s(v))
	}
	lo, hi, sum, sumOfSqs, pivot := n.Min, n.Max, 0.0, 0.0, n.pivot
	count := 0
	for _, y := range v {
		x := float64(y)
		if x-x != 0 {
			n.add(x)
			continue
		}
		count++
		if x == 0 {
			n.Zeros++
		}
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
		d := x - pivot
		sum += d
		sumOfSqs += float64(d * d)
		if !n.plain {
			n.sketch.add(d)
		}
	}
	n.Min, n.Max = lo, hi
	n.Count += int64(count)
	n.sum += sum
	n.sumOfSqs += sumOfSqs
}

// pivotOf is how many values the pivot is chosen from.
const pivotOf = 255

// float64s are the first values of v that the pivot is chosen from.
func float64s[T shardify.Number](v []T) []float64 {
	out := make([]float64, 0, min(len(v), pivotOf))
	for _, x := range v {
		if len(out) == cap(out) {
			break
		}
		if x := float64(x); x-x == 0 {
			out = append(out, x)
		}
	}
	return out
}

// choosePivot takes the median of some values, since the sketch is finest next to it: the
// first value alone may be a -999 that means "missing".
func (n *Numbers) choosePivot(v []float64) {
	if len(v) > 0 {
		slices.Sort(v)
		n.pivot, n.pivoted = v[len(v)/2], true
	}
}

// lengths adds the differences of neighbouring offsets.
func (n *Numbers) lengths(o []int64) {
	for i := 1; i < len(o); i++ {
		n.add(float64(o[i] - o[i-1]))
	}
}

// merge adds what m, a part of n, has gathered.
func (n *Numbers) merge(m *Numbers) {
	if !n.pivoted {
		n.pivot, n.pivoted = m.pivot, m.pivoted
	}
	shift := m.pivot - n.pivot
	n.NaN += m.NaN
	n.Inf += m.Inf
	n.Zeros += m.Zeros
	n.Min, n.Max = min(n.Min, m.Min), max(n.Max, m.Max)
	n.minInt, n.maxInt = min(n.minInt, m.minInt), max(n.maxInt, m.maxInt)
	n.minUint, n.maxUint = min(n.minUint, m.minUint), max(n.maxUint, m.maxUint)
	n.sumOfSqs += m.sumOfSqs + float64(2*shift*m.sum) + float64(shift*shift*float64(m.Count))
	n.sum += m.sum + float64(shift*float64(m.Count))
	n.Count += m.Count
	n.sketch.merge(&m.sketch, shift)
}

// Mean of the finite values.
func (n *Numbers) Mean() float64 { return n.pivot + n.sum/float64(n.Count) }

// Std is the standard deviation of the finite values.
func (n *Numbers) Std() float64 {
	m := n.sum / float64(n.Count)
	return math.Sqrt(max(n.sumOfSqs/float64(n.Count)-float64(m*m), 0))
}

// Quantile is the value with a share q of the finite values below it, within half a percent of its
// distance from the pivot.
func (n *Numbers) Quantile(q float64) float64 {
	if n.Count == 0 {
		return math.NaN()
	}
	x := n.pivot + n.sketch.quantile(int64(q*float64(n.Count-1)))
	if n.dtype.IsInt() || n.dtype == shardify.Bool {
		x = math.Round(x)
	}
	return min(max(x, n.Min), n.Max)
}

// Histogram shares the finite values out to bins of equal width between two
// quantiles that leave out at most a thousandth on each side; Below and Above are
// those outside.
func (n *Numbers) Histogram(bins int) Histogram {
	h := Histogram{Lo: n.Min, Hi: n.Max}
	if n.Count == 0 || math.IsInf(n.Max-n.Min, 0) {
		return h
	}
	// Outliers are cut off only where they squeeze the rest.
	if lo, hi := n.Quantile(0.001), n.Quantile(0.999); hi > lo && (h.Hi-h.Lo) > 3*(hi-lo) {
		h.Lo, h.Hi = lo, hi
	}
	whole := n.dtype.IsInt() || n.dtype == shardify.Bool
	if whole {
		step := math.Max(1, math.Ceil((h.Hi-h.Lo+1)/float64(bins)))
		bins = int(math.Ceil((h.Hi - h.Lo + 1) / step))
		h.Lo, h.Hi, h.Step = h.Lo-0.5, h.Hi+0.5, step
	} else if h.Hi == h.Lo {
		bins = 1
	} else {
		h.Step = (h.Hi - h.Lo) / float64(bins)
	}
	h.Counts = make([]float64, bins)
	edge := 0.0
	if whole {
		edge = 0.5
	}
	n.sketch.each(func(lo, hi float64, count int64) {
		if whole {
			lo, hi = wholes(lo, hi)
		}
		h.share(max(n.pivot+lo, n.Min-edge), min(n.pivot+hi, n.Max+edge), float64(count))
	})
	return h
}

// wholes is the range of the whole numbers in a bucket, with half a unit on both sides if there are
// several.
func wholes(lo, hi float64) (float64, float64) {
	switch {
	case hi-lo > 1 && lo >= 0:
		return lo - 0.5, hi - 0.5
	case hi-lo > 1:
		return lo + 0.5, hi + 0.5
	case lo >= 0:
		return lo, lo
	}
	return hi, hi
}

// Histogram is counts in bins of the width Step over [Lo, Hi]; the last bin of whole
// numbers may be narrower. Counts are estimates where bins are narrower than the sketch.
type Histogram struct {
	Lo, Hi, Step float64
	Counts       []float64
	Below, Above float64
}

// Edge is where bin k begins, and where the one before it ends.
func (h *Histogram) Edge(k int) float64 {
	if k == len(h.Counts) {
		return h.Hi
	}
	return h.Lo + float64(float64(k)*h.Step)
}

// MarshalJSON writes counts and the edges between them, as numpy.histogram returns them.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	edges := make([]float64, len(h.Counts)+1)
	for k := range edges {
		edges[k] = h.Edge(k)
	}
	return json.Marshal(struct {
		Counts []float64 `json:"counts"`
		Edges  []float64 `json:"edges"`
		Below  float64   `json:"below"`
		Above  float64   `json:"above"`
	}{h.Counts, edges, h.Below, h.Above})
}

// Densities are how many values there are per unit of length in each of n parts of
// equal width. A bin that is in several parts is shared out between them.
func (h *Histogram) Densities(n int) []float64 {
	parts := Histogram{Lo: h.Lo, Hi: h.Hi, Step: (h.Hi - h.Lo) / float64(n), Counts: make([]float64, n)}
	for k, c := range h.Counts {
		parts.share(h.Edge(k), h.Edge(k+1), c)
	}
	for k := range parts.Counts {
		parts.Counts[k] /= parts.Step
	}
	return parts.Counts
}

// share puts count values from [lo, hi] into the bins.
func (h *Histogram) share(lo, hi, count float64) {
	if hi <= lo || h.Step <= 0 {
		h.put(lo, count)
		return
	}
	// Few bins are crossed: the sketch is finer than most of them.
	for at := lo; at < hi; {
		next := hi
		if at < h.Lo {
			next = min(hi, h.Lo)
		} else if at < h.Hi {
			next = min(hi, h.Edge(min(int((at-h.Lo)/h.Step), len(h.Counts)-1)+1))
		}
		if next <= at {
			next = hi
		}
		h.put(float64((at+next)/2), count*(next-at)/(hi-lo))
		at = next
	}
}

func (h *Histogram) put(x, count float64) {
	switch {
	case x < h.Lo:
		h.Below += count
	case x > h.Hi:
		h.Above += count
	case h.Step <= 0:
		h.Counts[0] += count
	default:
		h.Counts[min(int((x-h.Lo)/h.Step), len(h.Counts)-1)] += count
	}
}
