package resize

import (
	"math"

	"github.com/shardify/shardify/numbers/elementary"
)

// Filter is a kernel of resampling.
type Filter byte

// The filters.
const (
	Bilinear Filter = iota
	Box
	Bicubic
	Lanczos
)

var names = [...]string{"bilinear", "box", "bicubic", "lanczos"}

// FilterOf is the filter of a name: box, bilinear, bicubic or lanczos.
func FilterOf(name string) (f Filter, ok bool) {
	for i, n := range names {
		if n == name {
			return Filter(i), true
		}
	}
	return 0, false
}

// support is the half width at scale 1.
func (f Filter) support() float64 { return [...]float64{1, 0.5, 2, 3}[f] }

// at is the weight at x.
func (f Filter) at(x float64) float64 {
	switch f {
	case Box:
		if x > -0.5 && x <= 0.5 {
			return 1
		}
		return 0
	case Bicubic:
		const a = -0.5
		switch x = math.Abs(x); {
		case x < 1:
			return float64((float64((a+2)*x)-(a+3))*x*x) + 1
		case x < 2:
			return (float64((float64((x-5)*x)+8)*x) - 4) * a
		}
		return 0
	case Lanczos:
		if x <= -3 || x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	}
	return max(0, 1-math.Abs(x))
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return elementary.Sin(math.Pi*x) / (math.Pi * x)
}

const precision = 32 - 8 - 2 // bits behind the point of weights

// low is how many bits of a weight the kernels multiply separately: both parts fit 16 bits.
const low = 11

// axis is the weights of one pass: output k is made of taps inputs from lo[k] on.
type axis struct {
	span
	taps    int
	lo      []int32
	first   int     // the least of lo
	end     int     // of the inputs that count
	weights []int32 // taps for each output
	pairs   int
	split   []uint32 // for each two taps: the upper parts of both weights, the lower parts
	one     []float64
}

// span is what the weights depend on: the part [from, to) of in pixels becomes out pixels.
type span struct {
	in, out  int
	from, to float32 // as Pillow has them
	filter   Filter
}

// same reports whether the pass changes nothing.
func (s span) same() bool { return s.in == s.out && s.from == 0 && s.to == float32(s.in) }

// set computes the weights. When the axis shrinks, the filter is as wide as the input of one output
// pixel, so that nothing aliases.
func (a *axis) set(s span) {
	if a.span == s {
		return
	}
	a.span = s
	scale := float64(s.to-s.from) / float64(s.out)
	wide := max(scale, 1)
	narrow := 1 / wide
	support := float64(s.filter.support() * wide)
	room := min(int(math.Ceil(support))*2+1, s.in)
	a.lo, a.weights, a.one = grown(a.lo, s.out), grown(a.weights, s.out*room), grown(a.one, room)
	a.taps = 1
	for o := range s.out {
		centre := float64(s.from) + float64((float64(o)+0.5)*scale)
		lo := max(int(centre-support+0.5), 0)
		hi := min(int(centre+support+0.5), s.in)
		sum := 0.0
		for i := lo; i < hi; i++ {
			w := s.filter.at((float64(i) - centre + 0.5) * narrow)
			a.one[i-lo] = w
			sum += w
		}
		row := a.weights[o*room : (o+1)*room]
		clear(row)
		first, last := lo, lo // that are not zero
		for i := lo; i < hi && sum != 0; i++ {
			w := int32(math.Copysign(0.5, a.one[i-lo]/sum) + float64(a.one[i-lo]/sum*(1<<precision)))
			if w == 0 && last == lo {
				continue
			}
			if last == lo {
				first = i
			}
			row[i-first] = w
			if w != 0 {
				last = i + 1
			}
		}
		a.lo[o] = int32(min(first, s.in-1))
		a.taps = max(a.taps, last-first)
	}
	a.compact(room)
}

// compact gives all outputs the same number of taps, which do not leave the input.
func (a *axis) compact(room int) {
	a.pairs = (a.taps + 1) / 2
	a.split = grown(a.split, 2*a.pairs*a.out)
	a.first, a.end = a.in, 0
	for o := range a.out {
		row := a.weights[o*a.taps : (o+1)*a.taps]
		copy(row, a.weights[o*room:o*room+a.taps])
		if over := int(a.lo[o]) + a.taps - a.in; over > 0 {
			copy(row[over:], row[:a.taps-over])
			clear(row[:over])
			a.lo[o] -= int32(over)
		}
		a.first, a.end = min(a.first, int(a.lo[o])), max(a.end, int(a.lo[o])+a.taps)
		for p := range a.pairs {
			x, y := row[2*p], int32(0)
			if 2*p+1 < a.taps {
				y = row[2*p+1]
			}
			at := 2 * (o*a.pairs + p)
			a.split[at] = uint32(uint16(x>>low)) | uint32(y>>low)<<16
			a.split[at+1] = uint32(x&(1<<low-1)) | uint32(y&(1<<low-1))<<16
		}
	}
}

// grown is n elements, in the memory of s if they fit.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
