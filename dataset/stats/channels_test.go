package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
)

// TestChannelsHaveFiguresOfTheirOwn: they are those of the values of each channel alone, whatever
// the parts.
func TestChannelsHaveFiguresOfTheirOwn(t *testing.T) {
	f := shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{3, 5, 2}, Attrs: map[string]string{"channels": "a,b@500,c"}}
	const n = 40
	values := make([]float32, n*30)
	r := rand.New(rand.NewPCG(1, 2))
	var channels [3][]float64
	nan := 0
	for i := range values {
		k := i % 30 / 10
		if values[i] = float32(1e5*float64(k) + r.NormFloat64()); r.IntN(50) == 0 {
			values[i] = float32(math.NaN())
			if k == 1 {
				nan++
			}
			continue
		}
		channels[k] = append(channels[k], float64(values[i]))
	}
	batch := func(lo, hi int) *shardify.Batch {
		return &shardify.Batch{Samples: hi - lo, Columns: []shardify.Column{{Field: f, Data: shardify.Bytes(values[lo*30 : hi*30])}}}
	}
	whole := New([]shardify.Field{f}, Options{})
	if err := whole.Add(batch(0, 3)); err != nil {
		t.Fatal(err)
	}
	for lo := 3; lo < n; lo += 10 {
		p := whole.Part(int64(lo))
		for at := lo; at < min(lo+10, n); at += 4 {
			if err := p.Add(batch(at, min(at+4, lo+10, n))); err != nil {
				t.Fatal(err)
			}
		}
		if err := whole.Merge(p); err != nil {
			t.Fatal(err)
		}
	}
	list := whole.Report().Fields[0].Channels
	if len(list) != 3 || list[1].Name != "b@500" || list[1].Values.NaN != int64(nan) || nan == 0 {
		t.Fatalf("%+v", list)
	}
	for k, c := range list {
		mean, sq := 0.0, 0.0
		for _, x := range channels[k] {
			mean += x / float64(len(channels[k]))
		}
		for _, x := range channels[k] {
			sq += (x - mean) * (x - mean) / float64(len(channels[k]))
		}
		v := c.Values
		lo, _ := v.Min.Float64()
		hi, _ := v.Max.Float64()
		if v.Count != int64(len(channels[k])) || float32(lo) != float32(slices.Min(channels[k])) || float32(hi) != float32(slices.Max(channels[k])) ||
			math.Abs(*v.Mean-mean) > 1e-8 || math.Abs(*v.Std-math.Sqrt(sq)) > 1e-9 || v.Quantiles != nil || v.Histogram != nil {
			t.Errorf("channel %s: %+v, mean %v of %v, std %v of %v", c.Name, v, *v.Mean, mean, *v.Std, math.Sqrt(sq))
		}
	}
	f.Attrs = map[string]string{"channels": "a,b"}
	if Channels(&f) != nil {
		t.Error("two names for three places")
	}
}
