package sparse

import (
	"math"

	"github.com/shardify/shardify/numbers/elementary"
)

// change normalises a row and takes logarithms. Sums and products are f64, and rounded once.
func change[V numeric, O float](f *Form, to []O, from []V) {
	factor := 1.0
	if f.Normalize != 0 {
		sum := 0.0
		for _, v := range from {
			sum += float64(v)
		}
		if sum != 0 {
			factor = f.Normalize / sum
		}
	}
	if factor == 1 {
		for i, v := range from {
			to[i] = O(v)
		}
	} else {
		for i, v := range from {
			to[i] = O(float64(v) * factor)
		}
	}
	if !f.Log1p {
		return
	}
	if narrow, ok := any(to).([]float32); ok {
		logarithms(narrow)
		return
	}
	for i, x := range to {
		to[i] = O(elementary.Log1p(float64(x)))
	}
}

// parts has, for each of 128 steps of m from 1 to 2, about 1/m and its logarithm's negative.
var parts = func() (t [128]struct{ inverse, log float64 }) {
	for i := range t {
		// The first step has 1 itself, so that log1p of what is small keeps its digits.
		middle := 1.0
		if i > 0 {
			middle = 1 + (float64(i)+0.5)/128
		}
		t[i].inverse = 1 / middle
		t[i].log = -elementary.Log(t[i].inverse)
	}
	return t
}()

// logarithms replaces each x by log(1+x). The results are exact to about 2^-38 of them before they are rounded.
func logarithms(to []float32) {
	for i, v := range to {
		x := float64(v)
		if !(x >= 0x1p-13 && x <= math.MaxFloat32) {
			to[i] = float32(rare(x))
			continue
		}
		// 1+x = 2^k * m, and log(m) = log(c) + log(1+r), where 1/c is of the table.
		bits := math.Float64bits(1 + x)
		k := float64(int(bits>>52) - 1023)
		p := &parts[bits>>45&127]
		m := math.Float64frombits(bits&(1<<52-1) | 0x3ff0000000000000)
		r := float64(m*p.inverse) - 1
		z := float64(r * r)
		low := 0.5 - float64(r*(1.0/3))
		high := 0.25 - float64(r*(1.0/5))
		to[i] = float32(float64(k*math.Ln2) + p.log + (r - float64(z*(low+float64(z*high)))))
	}
}

// rare is log(1+x) of what is small, negative, or no number.
func rare(x float64) float64 {
	if x >= 0 && x < 1 {
		return x - float64(x*x*(0.5-float64(x*(1.0/3))))
	}
	return elementary.Log1p(x)
}
