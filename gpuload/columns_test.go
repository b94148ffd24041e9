package gpuload

import (
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/writers"
	"github.com/shardify/shardify/writers/writertest"
)

// companions has fields that others describe: shapes of ragged arrays, extensions
// of images.
func companions() []shardify.Field {
	return []shardify.Field{
		{Name: "x", DType: shardify.F32, Shape: []int{2, 3}},
		{Name: "none", DType: shardify.I16, Shape: []int{0}, Levels: 1},
		{Name: "v", DType: shardify.F64, Levels: 1, Ragged: true},
		{Name: "v" + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{2}},
		{Name: "cls", DType: shardify.I16},
		{Name: "words", DType: shardify.U8, Levels: 2, Media: "txt"},
		{Name: "image", DType: shardify.U8, Levels: 1, Media: "image"},
		{Name: "image" + shardify.ExtSuffix, DType: shardify.U8, Attrs: map[string]string{"labels": "png\nbmp\njpg"}},
	}
}

func TestSomeColumnsAndTheirCompanions(t *testing.T) {
	s := writertest.Schema{Name: "companions", Fields: companions()}
	for _, format := range []string{index.FormatMmap, index.FormatWDS} {
		f, _ := writers.Lookup(format)
		dir := t.TempDir()
		var batches []*shardify.Batch
		for i, n := range []int{31, 1, 17} {
			b := writertest.Batches(s, n, uint64(i+1), n)[0]
			b.First.Sample = int64(i * 100)
			batches = append(batches, b)
		}
		m := writertest.WriteSet(t, f, s, dir, batches...)
		if format == index.FormatWDS {
			m.Members, _ = tar.MemberNames(m.Schema)
		}
		writertest.WriteManifest(t, dir, m)
		all := contents(t, format, dir)
		d := mustOpen(t, dir)
		for _, globs := range [][]string{nil, {"v"}, {"image"}, {"cls", "words"}, {"x", "n*"}, {"v.shape"}, {"image.ext", "cls"}} {
			c := Config{Batch: 6, Shuffle: Global, Last: Pad, Columns: globs, Tier: TierStream}
			l := mustLoader(t, d, c)
			want := *all
			want.Columns = slices.DeleteFunc(slices.Clone(all.Columns), func(c shardify.Column) bool { return !slices.Contains(l.Columns(), c.Name) })
			if len(want.Columns) != len(l.Columns()) || len(want.Columns) == 0 {
				t.Fatalf("%v: columns %v", globs, l.Columns())
			}
			if n := len(slices.Concat(epochIDs(t, l, &want)...)); n != 49 {
				t.Errorf("%s, %v: %d samples", format, globs, n)
			}
		}
	}
}
