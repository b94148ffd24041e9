package ttree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/tests/corpus"
)

// BenchmarkOpen opens a file and reads the metadata of its widest tree.
func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct{ file, tree string }{
		{"ttree/nano_dimuon.root", "Events"}, {"ttree/PHYSLITE_example.root", "CollectionTree"},
		{"rntuple/uproot-physlite-rntuple_v1-0-0-0.root", "MetaData"},
	} {
		b.Run(filepath.Base(c.file), func(b *testing.B) {
			name := filepath.Join(corpus.Dir(b, "root"), c.file)
			branches := 0
			b.ReportAllocs()
			for b.Loop() {
				branches = openOnce(b, name, c.tree)
			}
			b.ReportMetric(float64(branches), "branches")
		})
	}
}

func openOnce(b *testing.B, name, tree string) int {
	r, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	st, err := r.Stat()
	if err != nil {
		b.Fatal(err)
	}
	f, err := rfile.Open(r, st.Size(), name)
	if err != nil {
		b.Fatal(err)
	}
	o, err := f.Lookup(tree)
	if err != nil {
		b.Fatal(err)
	}
	t, err := Read(f, o)
	if err != nil {
		b.Fatal(err)
	}
	return len(t.All)
}
