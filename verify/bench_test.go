package verify

import (
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/writertest"
)

// BenchmarkRun verifies sets in memory on one core: large columns, large
// members, and a small array per sample, where headers are most of the work.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		name, format string
		field        shardify.Field
		samples      int
	}{
		{"mmap", "mmap", shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{4096}}, 4000},
		{"wds-64KiB", "wds", shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{16384}}, 1000},
		{"wds-8KiB", "wds", shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{2048}}, 8000},
		{"wds-40B", "wds", shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{10}}, 40000},
	} {
		b.Run(c.name, func(b *testing.B) {
			src := makeSource(writertest.Schema{Fields: []shardify.Field{c.field}}, c.samples, 1)
			m := memory.New()
			if _, err := job(b, m, c.format, src, c.samples).Convert(b.Context()); err != nil {
				b.Fatal(err)
			}
			man, err := index.DecodeManifest(m.Files()[index.ManifestName])
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(man.Bytes)
			b.ReportAllocs()
			for b.Loop() {
				if r := check(b, m, nil); !r.OK() {
					b.Fatal(list(r))
				}
			}
			b.ReportMetric(float64(c.samples)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
