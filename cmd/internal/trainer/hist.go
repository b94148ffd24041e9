package trainer

import (
	"math"
	"math/bits"
)

// histogram counts durations in nanoseconds, to 1.6 percent: 64 classes for each
// power of two. It takes the same memory for five steps and for a billion.
type histogram struct {
	counts [classes]int64
	n, sum int64
	max    int64
}

const (
	classBits = 6
	classes   = (64 - classBits) << classBits
)

func classOf(ns int64) int {
	if ns < 1<<classBits {
		return int(max(ns, 0))
	}
	shift := bits.Len64(uint64(ns)) - 1 - classBits
	return (shift+1)<<classBits + int(ns>>shift)&(1<<classBits-1)
}

// lower is the smallest duration of a class.
func lower(class int) int64 {
	if class < 1<<classBits {
		return int64(class)
	}
	shift := class>>classBits - 1
	return (1<<classBits + int64(class&(1<<classBits-1))) << shift
}

func (h *histogram) add(ns int64) {
	h.counts[classOf(ns)]++
	h.n++
	h.sum += max(ns, 0)
	h.max = max(h.max, ns)
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.n, h.sum, h.max = h.n+o.n, h.sum+o.sum, max(h.max, o.max)
}

// quantile is the duration that a share q of all does not exceed.
func (h *histogram) quantile(q float64) int64 {
	if h.n == 0 {
		return 0
	}
	want := max(int64(math.Ceil(q*float64(h.n))), 1)
	for i, n := range h.counts {
		if want -= n; want <= 0 {
			return min((lower(i)+lower(i+1))/2, h.max)
		}
	}
	return h.max
}

// Bin is how many waits took from Lo up to but without Hi seconds.
type Bin struct {
	Lo, Hi float64
	Count  int64
}

// bins groups the classes by the borders 1, 2, 5, 10, ... microseconds and leaves
// out the empty ones at both ends.
func (h *histogram) bins() []Bin {
	var out []Bin
	lo := int64(0)
	for scale := int64(1000); scale <= 1e12; scale *= 10 {
		for _, k := range []int64{1, 2, 5} {
			out = append(out, Bin{Lo: float64(lo) * 1e-9, Hi: float64(k*scale) * 1e-9})
			lo = k * scale
		}
	}
	out = append(out, Bin{Lo: float64(lo) * 1e-9, Hi: math.Inf(1)})
	i := 0
	for c, n := range h.counts {
		if n == 0 {
			continue
		}
		at := float64(lower(c)) * 1e-9
		for at >= out[i].Hi {
			i++
		}
		out[i].Count += n
	}
	for len(out) > 0 && out[len(out)-1].Count == 0 {
		out = out[:len(out)-1]
	}
	for len(out) > 0 && out[0].Count == 0 {
		out = out[1:]
	}
	return out
}
