package inspect

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/stats"
	"github.com/shardify/shardify/internal/printable"
)

// summaryOf gathers the statistics of one column of numbers.
func summaryOf[T shardify.Number](t *testing.T, d shardify.DType, v []T) *stats.Report {
	t.Helper()
	f := shardify.Field{Name: "x", DType: d}
	s := stats.New([]shardify.Field{f}, stats.Options{})
	if err := s.Add(&shardify.Batch{Samples: len(v), Columns: []shardify.Column{{Field: f, Data: shardify.Bytes(v)}}}); err != nil {
		t.Fatal(err)
	}
	return s.Report()
}

// levels are the heights of the bars of a terminal histogram, 0 to 8.
func levels(s string) (out []int) {
	for _, r := range s {
		out = append(out, slices.Index(sparks, r))
	}
	return out
}

// TestTerminalHistogramsHaveNoTeeth: flat data make a flat line and a bell one hill,
// however many bins the histogram has.
func TestTerminalHistogramsHaveNoTeeth(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	floats := func(f func() float64) string {
		v := make([]float64, n)
		for i := range v {
			v[i] = f()
		}
		return spark(summaryOf(t, shardify.F64, v).Fields[0].Values.Histogram)
	}
	ints := func(f func(i int) int64) string {
		v := make([]int64, n)
		for i := range v {
			v[i] = f(i)
		}
		return spark(summaryOf(t, shardify.I64, v).Fields[0].Values.Histogram)
	}
	flat := map[string]string{"f64": floats(r.Float64), "far from zero": floats(func() float64 { return 1e9 + 1e6*r.Float64() })}
	for _, k := range []int{2, 7, 24, 25, 30, 37, 59, 60, 61, 100, 101, 121, 1000, 100_003} {
		flat["i64 below "+printable.Value(float64(k))] = ints(func(i int) int64 { return int64(i % k) })
		flat["negative i64 above -"+printable.Value(float64(k))] = ints(func(i int) int64 { return -int64(i % k) })
	}
	for name, s := range flat {
		l := levels(s)
		if slices.Min(l) < 7 || len(l) < 2 {
			t.Errorf("flat %s: %q", name, s)
		}
	}
	hills := map[string]string{"f64": floats(r.NormFloat64), "far from zero": floats(func() float64 { return 300 + r.NormFloat64() })}
	for _, std := range []float64{3, 5, 7, 8, 9, 10, 15, 30, 1000} {
		hills["i64 of std "+printable.Value(std)] = ints(func(int) int64 { return int64(math.Round(std * r.NormFloat64())) })
	}
	for name, s := range hills {
		l := levels(s)
		top := slices.Index(l, slices.Max(l))
		last := len(l) - 1 - slices.Index(reversed(l), slices.Max(l))
		if !slices.IsSorted(l[:top+1]) || !slices.IsSorted(reversed(l[last:])) || last-top > len(l)/3 {
			t.Errorf("a bell of %s: %q", name, s)
		}
	}
}

func reversed(l []int) []int {
	l = slices.Clone(l)
	slices.Reverse(l)
	return l
}

// TestStatisticsInJSONAreNumbers: extremes are exact numbers, and the histograms are there.
func TestStatisticsInJSONAreNumbers(t *testing.T) {
	v := []int64{math.MinInt64, 0, 3, math.MaxInt64}
	b, err := json.Marshal(summaryOf(t, shardify.I64, v))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); !strings.Contains(s, `"min":-9223372036854775808,"max":9223372036854775807,`) {
		t.Errorf("extremes of i64: %s", s)
	}
	b, err = json.Marshal(summaryOf(t, shardify.F32, []float32{1, 1.25, 1.5, 4e30}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Fields []struct {
			Values struct {
				Min, Max  float64
				Histogram struct {
					Below, Above  float64
					Counts, Edges []float64
				}
			}
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	x := got.Fields[0].Values
	h := x.Histogram
	sum := h.Below + h.Above
	for _, c := range h.Counts {
		sum += c
	}
	if x.Min != 1 || x.Max != 4e30 || math.Abs(sum-4) > 1e-9 || len(h.Counts) != stats.Bins || len(h.Edges) != stats.Bins+1 || !slices.IsSorted(h.Edges) || h.Edges[0] != 1 {
		t.Errorf("%s", b)
	}
	b, err = json.Marshal(summaryOf(t, shardify.F32, []float32{float32(math.NaN())}))
	if err != nil || strings.Contains(string(b), "min") || strings.Contains(string(b), "histogram") {
		t.Errorf("without a value: %s %v", b, err)
	}
}

// TestStatisticsBeyondFloat64 are left out of JSON, which has no infinity.
func TestStatisticsBeyondFloat64(t *testing.T) {
	r := summaryOf(t, shardify.F64, []float64{-math.MaxFloat64, 1, math.MaxFloat64})
	var text strings.Builder
	WriteStats(&text, r)
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"min":-1.7976931348623157e+308,`) {
		t.Errorf("%s %v", b, err)
	}
}

// TestImageSizesInJSON have names like all the others.
func TestImageSizesInJSON(t *testing.T) {
	r := statistics(t, folder(t))
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"width":{"count":9,`) || !strings.Contains(string(b), `"height":{"count":9,`) {
		t.Errorf("%s %v", b, err)
	}
}
