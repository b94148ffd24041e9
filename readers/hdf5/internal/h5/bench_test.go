package h5

import (
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"os"
	"path/filepath"
	"testing"
)

// benchFile opens a file of the folder $SHARDIFY_BENCH_HDF5, which
// testdata/bench.py fills: what matters here are files too large for the repository.
func benchFile(b *testing.B, name string) (*os.File, int64) {
	dir := os.Getenv("SHARDIFY_BENCH_HDF5")
	if dir == "" {
		b.Skip("SHARDIFY_BENCH_HDF5 is not set")
	}
	r, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { r.Close() })
	st, err := r.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return r, st.Size()
}

// BenchmarkChunkTable opens a file with one data set /x and reads its chunk index.
func BenchmarkChunkTable(b *testing.B) {
	for _, name := range []string{"c200k_v1.h5", "c200k_v1_gz.h5", "c200k_fa.h5", "c200k_ea_gz.h5", "c200k_b2_gz.h5"} {
		b.Run(name, func(b *testing.B) {
			r, size := benchFile(b, name)
			b.ReportAllocs()
			for b.Loop() {
				f, err := Open(r, size, name)
				if err != nil {
					b.Fatal(err)
				}
				l, err := f.Lookup("/x")
				if err != nil {
					b.Fatal(err)
				}
				o, err := f.Object(l.Addr, "/x")
				if err != nil {
					b.Fatal(err)
				}
				ds, err := o.Dataset()
				if err != nil {
					b.Fatal(err)
				}
				t, err := ds.Chunks()
				if err != nil || t.Stored() != 200_000 {
					b.Fatal(t.Stored(), err)
				}
			}
		})
	}
}

// BenchmarkDatasets opens a file with many small data sets in the root, lists them
// (list) and parses each (parse).
func BenchmarkDatasets(b *testing.B) {
	for _, name := range []string{"m10k_old.h5", "m10k_new.h5", "m100k_old.h5", "m100k_new.h5"} {
		for _, parse := range []bool{false, true} {
			what := name + "/list"
			if parse {
				what = name + "/parse"
			}
			b.Run(what, func(b *testing.B) {
				r, size := benchFile(b, name)
				b.ReportAllocs()
				for b.Loop() {
					f, err := Open(r, size, name)
					if err != nil {
						b.Fatal(err)
					}
					root, err := f.Object(f.Root, "/")
					if err != nil {
						b.Fatal(err)
					}
					links, err := root.Children()
					if err != nil {
						b.Fatal(err)
					}
					for _, l := range links {
						if !parse {
							break
						}
						o, err := f.Object(l.Addr, l.Name)
						if err != nil {
							b.Fatal(err)
						}
						if _, err := o.Dataset(); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// BenchmarkVLen reads 200,000 variable-length strings.
func BenchmarkVLen(b *testing.B) {
	r, size := benchFile(b, "vlen200k.h5")
	f, err := Open(r, size, "vlen200k.h5")
	if err != nil {
		b.Fatal(err)
	}
	l, err := f.Lookup("/s")
	if err != nil {
		b.Fatal(err)
	}
	o, err := f.Object(l.Addr, "/s")
	if err != nil {
		b.Fatal(err)
	}
	ds, err := o.Dataset()
	if err != nil {
		b.Fatal(err)
	}
	n := ds.Space.Elements()
	refs := make([]byte, n*int64(ds.Type.Size))
	if _, err := r.ReadAt(refs, ds.Layout.Addr); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		h := heap.New(f.File, 0)
		for i := 0; i < len(refs); i += ds.Type.Size {
			if _, err = h.View(refs[i:], 1); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "strings/s")
}
