package npz

import "testing"

func BenchmarkReverseAxes(b *testing.B) {
	for _, c := range []struct {
		name  string
		rows  int
		inner []int64
		size  int
	}{{"4681x64x7 f4", 4681, []int64{64, 7}, 4}, {"20000x100 f4", 20000, []int64{100}, 4}, {"1000x1000 f8", 1000, []int64{1000}, 8}, {"200000x5 f8", 200000, []int64{5}, 8}, {"512x128x128 f4", 128, []int64{128, 128}, 4}} {
		b.Run(c.name, func(b *testing.B) {
			n := c.rows * c.size
			for _, d := range c.inner {
				n *= int(d)
			}
			src, dst := make([]byte, n), make([]byte, n)
			b.SetBytes(int64(n))
			start := cpuTime()
			for b.Loop() {
				reversed(c.rows, c.inner, c.size).run(dst, src)
			}
			b.ReportMetric(float64(n)*float64(b.N)/1e6/(cpuTime()-start).Seconds(), "MB/cpu-s")
		})
	}
}
