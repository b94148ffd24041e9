package mrc

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "github.com/shardify/shardify/tests/race"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile/arrayfiletest"
	"github.com/shardify/shardify/readers/readertest"
)

// TestCorpus compares with mrcfile, by samples and by files.
func TestCorpus(t *testing.T) {
	arrayfiletest.Corpus(t, "mrc", Format, nil)
}

var tested = arrayfiletest.Kind{Input: Format, Samples: []string{"auto", "section", "file"},
	Seeds: []string{"stack.mrcs", "mode1_big.mrc", "mode4.mrc", "mode12.mrc", "volumes_401.mrc", "image.mrc", "gz.mrc.gz"}}

func TestConformance(t *testing.T) {
	tested.Conform(t, "auto", "stack.mrcs", "stack.mrcs")
	tested.Conform(t, "file", "mode12.mrc", "mode12.mrc")
	tested.Conform(t, "section", "gz.mrc.gz", "gz.mrc.gz")
}

func TestMutants(t *testing.T) { tested.Mutants(t, 1024) }

func FuzzFile(f *testing.F) { tested.Fuzz(f) }

// TestSamples: what a sample is, by file and option.
func TestSamples(t *testing.T) {
	for _, c := range []struct {
		name, sample string
		n            int64
		shape        []int
	}{
		{"stack.mrcs", "auto", 8, []int{5, 6}},
		{"stack.mrcs", "file", 1, []int{8, 5, 6}},
		{"image.mrc", "auto", 1, []int{5, 6}},
		{"image.mrc", "file", 1, []int{5, 6}},
		{"volumes_401.mrc", "auto", 3, []int{4, 5, 6}},
		{"volumes_401.mrc", "file", 1, []int{3, 4, 5, 6}},
		{"volumes_401.mrc", "section", 12, []int{5, 6}},
		{"mode12.mrc", "auto", 1, []int{3, 4, 5}},
		{"mode12.mrc", "section", 3, []int{4, 5}},
		{"mode4.mrc", "section", 3, []int{4, 5, 2}},
	} {
		src, err := arrayfiletest.Open(Format, format.Options{"sample": c.sample}, nil, filepath.Join("testdata", c.name))
		if err != nil {
			t.Fatal(err)
		}
		all, err := readertest.Load(src, 100)
		src.Close()
		if err != nil {
			t.Fatal(err)
		}
		if col := all.ByName["image"]; all.Samples != c.n || !slices.Equal(col.Shape, c.shape) {
			t.Errorf("%s, --sample %s: %d samples of %v; want %d of %v", c.name, c.sample, all.Samples, col.Shape, c.n, c.shape)
		}
		b, err := os.ReadFile(filepath.Join("testdata", c.name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(b, all.ByName["image"].Data) {
			t.Errorf("%s, --sample %s: other values than in the file", c.name, c.sample)
		}
	}
}
