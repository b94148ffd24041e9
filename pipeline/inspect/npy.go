package inspect

import (
	"fmt"
	"math"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/stats"
	"github.com/shardify/shardify/index/npy"
)

// NPY calls write with arrays of the figures of each field of numbers: NAME.mean.npy, NAME.std.npy,
// NAME.min.npy and NAME.max.npy, f32. Where a field has channels, there is a number for each, in a
// shape that goes with the field's ([C, 1, 1]); else one alone.
// Two fields whose files would have one name are an error.
func NPY(r *stats.Report, write func(name string, data []byte) error) error {
	taken := map[string]string{}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Values == nil {
			continue
		}
		stem := strings.ReplaceAll(f.Name, "/", ".")
		if other, ok := taken[stem]; ok {
			return fmt.Errorf("fields %s and %s would have the same file %s.mean.npy: choose one by --columns", other, f.Name, stem)
		}
		taken[stem] = f.Name
		all, dims := []*stats.Summary{f.Values}, []int64(nil)
		if len(f.Channels) > 0 {
			all = nil
			for _, c := range f.Channels {
				all = append(all, c.Values)
			}
			dims = append(dims, int64(len(all)))
			for range f.Field.Shape[1:] {
				dims = append(dims, 1)
			}
		}
		for k, kind := range []string{"mean", "std", "min", "max"} {
			values := make([]float32, len(all))
			for at, s := range all {
				values[at] = float32(figure(s, k))
			}
			data := append(npy.AppendHeader(nil, shardify.F32, dims), shardify.Bytes(values)...)
			if err := write(stem+"."+kind+".npy", data); err != nil {
				return err
			}
		}
	}
	return nil
}

// figure is the mean, the deviation, the least or the greatest number; NaN if it does not exist.
func figure(s *stats.Summary, k int) float64 {
	switch {
	case k == 0 && s.Mean != nil:
		return *s.Mean
	case k == 1 && s.Std != nil:
		return *s.Std
	case k == 2 && s.Count > 0:
		return orNaN(s.Min.Float64())
	case k == 3 && s.Count > 0:
		return orNaN(s.Max.Float64())
	}
	return math.NaN()
}

func orNaN(x float64, err error) float64 {
	if err != nil {
		return math.NaN()
	}
	return x
}
