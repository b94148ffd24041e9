package view

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// Ints are the values of a column of integers.
func Ints(b []byte, d shardify.DType) []int64 {
	size := d.Size()
	list := make([]int64, len(b)/size)
	var word [8]byte
	for i := range list {
		clear(word[:])
		copy(word[:], b[i*size:(i+1)*size])
		shift := 64 - 8*size
		list[i] = int64(binary.LittleEndian.Uint64(word[:])<<shift) >> shift
		if d >= shardify.U8 && d <= shardify.U32 {
			list[i] = int64(binary.LittleEndian.Uint64(word[:]))
		}
	}
	return list
}

// Axis checks that a field can say where rows are.
func Axis(schema []shardify.Field, name string) (*shardify.Field, error) {
	i := shardify.FieldIndex(schema, name)
	if i < 0 {
		var some []string
		for k := range schema {
			if Coordinate(&schema[k]) {
				some = append(some, schema[k].Name)
			}
		}
		if len(some) == 0 {
			some = []string{"none that has one number for each row"}
		}
		return nil, shardify.Mismatch("window: no field %s; there is %s", name, strings.Join(some, ", "))
	}
	if !Coordinate(&schema[i]) {
		return nil, shardify.Mismatch("window: field %s is not one number for each row", name)
	}
	return &schema[i], nil
}

// Coordinate reports a field of one number for each row.
func Coordinate(f *shardify.Field) bool {
	return f.Levels == 0 && len(f.Shape) == 0 && f.Media == "" && (f.DType.IsInt() || f.DType == shardify.F32 || f.DType == shardify.F64)
}

// Fits checks that fields are those that windows need.
func (s *Spec) Fits(schema []shardify.Field) error {
	nanos := int64(0)
	if s.Axis != "" {
		f, err := Axis(schema, s.Axis)
		if err != nil {
			return err
		}
		nanos = nanosOf(f)
	}
	for _, d := range []Distance{s.Step, s.Lead, s.Stride} {
		if err := s.timed(d, nanos); err != nil {
			return shardify.Mismatch("window %q: %v", s.Text, err)
		}
	}
	return nil
}

// timed refuses a time where rows have none.
func (s *Spec) timed(d Distance, nanos int64) error {
	switch {
	case d.Nanos == 0:
	case s.Axis == "":
		return fmt.Errorf("%v: a time wants a field that has times, such as time=%d+%d", d, s.In, s.Out)
	case nanos == 0:
		return fmt.Errorf("%v: the values of %s are not times (no attribute time): give rows", d, s.Axis)
	}
	return nil
}

// nanosOf is what one step of a field takes in nanoseconds, 0 if that is no time.
func nanosOf(f *shardify.Field) int64 {
	for _, u := range units {
		if f.DType.IsInt() && f.Attrs["time"] == u.name {
			return u.nanos
		}
	}
	return 0
}

// Values are those of an axis as rows want them, and what one step of them takes in nanoseconds,
// 0 if that is no time. valid has a byte for each row, 0 where it has no value; nil: all have one.
func Values(f *shardify.Field, b, valid []byte) (list []int64, nanos int64) {
	switch f.DType {
	case shardify.F32:
		x := make([]float64, 0, len(b)/4)
		for _, v := range shardify.View[float32](b) {
			x = append(x, float64(v))
		}
		list = grid(x, valid, 0x1p-23)
	case shardify.F64:
		list = grid(slices.Clone(shardify.View[float64](b)), valid, 0x1p-52)
	default:
		list = Ints(b, f.DType)
	}
	for i, ok := range valid {
		if ok == 0 {
			list[i] = math.MinInt64
		}
	}
	return list, nanosOf(f)
}

// grid returns numbers as multiples of their most frequent distance. A number that is not a
// multiple has no value; it may be off by a millionth of the distance, and by what the precision
// of its type hides.
func grid(x []float64, valid []byte, precision float64) []int64 {
	for i, ok := range valid {
		if ok == 0 {
			x[i] = math.NaN()
		}
	}
	list := make([]int64, len(x))
	each := distanceOf(x)
	last := -1 // that has a value
	for i, v := range x {
		list[i] = math.MinInt64
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
		case last < 0:
			list[i], last = 0, i
		case each > 0:
			d := v - x[last]
			n := math.Round(d / each)
			far := float64(1e-6*each) + float64(4*precision*max(math.Abs(v), math.Abs(x[last])))
			if at := n + float64(list[last]); math.Abs(at) < 1<<52 && math.Abs(d-float64(n*each)) <= min(far, each/4) {
				list[i], last = int64(at), i
			}
		}
	}
	return list
}

// distanceOf is the median distance of neighbours that rise, 0 if none do. It is the mean of those
// that are near it: numbers are rounded, which adds up over many of them.
func distanceOf(x []float64) float64 {
	var steps []float64
	for i := 1; i < len(x); i++ {
		if d := x[i] - x[i-1]; d > 0 && !math.IsInf(d, 0) {
			steps = append(steps, d)
		}
	}
	if len(steps) == 0 {
		return 0
	}
	slices.Sort(steps)
	median, sum, n := steps[len(steps)/2], 0.0, 0.0
	for _, d := range steps {
		if math.Abs(d-median) <= median/8 {
			sum, n = sum+d/median, n+1
		}
	}
	return median * (sum / n)
}
