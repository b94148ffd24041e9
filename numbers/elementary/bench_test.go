package elementary

import (
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify/tests/rivals"
)

// BenchmarkRivals has ours beside package math's.
func BenchmarkRivals(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	x, y := make([]float64, 1024), make([]float64, 1024)
	for i := range x {
		x[i], y[i] = r.Float64()*2-1, r.Float64()*10
	}
	var sink float64
	for _, f := range functions {
		for _, who := range []struct {
			name string
			f    func(float64) float64
		}{{"ours", f.ours}, {"stdlib", f.theirs}} {
			in := y
			switch f.name {
			case "asin", "acos", "atanh", "atan":
				in = x
			case "acosh":
				in = make([]float64, len(y))
				for i, v := range y {
					in[i] = v + 1
				}
			}
			rivals.Run(b, f.name+"/"+who.name, 0, func() error {
				for i := range 1024 {
					sink += who.f(in[i&1023])
				}
				return nil
			})
		}
	}
	for _, f := range functions2 {
		for _, who := range []struct {
			name string
			f    func(x, y float64) float64
		}{{"ours", f.ours}, {"stdlib", f.theirs}} {
			rivals.Run(b, f.name+"/"+who.name, 0, func() error {
				for i := range 1024 {
					sink += who.f(y[i&1023], x[i&1023])
				}
				return nil
			})
		}
	}
	_ = sink
}
