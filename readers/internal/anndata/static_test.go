package anndata_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// staticOf are the static fields of inputs, as text.
func staticOf(t *testing.T, o format.Options, wanted []string, names ...string) (out map[string]string, left string, err error) {
	t.Helper()
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join("testdata", name))
	}
	src, err := open(names[0], format.OpenArgs{Table: readertest.TableOf(paths...), Options: o})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	list, err := src.(format.Constant).Static(context.Background(), wanted, shardify.NewPool(1<<20))
	out = map[string]string{}
	for _, c := range list {
		text := fmt.Sprintf("%v %v %v %q %v", c.DType, c.Shape, c.Nullable, c.Attrs["labels"], c.Data)
		if c.Levels == 2 {
			text = ""
			for k := range c.Offsets[0][1] {
				text += string(c.Data[c.Offsets[1][k]:c.Offsets[1][k+1]]) + ","
			}
		}
		out[c.Name] = text
	}
	for _, l := range src.(format.Reporter).Leftovers() {
		left += l.Name + " "
	}
	return out, left, err
}

// TestColumnsOfGenesAreStaticFields: the names of genes are always, other columns where they are wanted, in the order of the
// genes of the set.
func TestColumnsOfGenesAreStaticFields(t *testing.T) {
	want := map[string]string{
		"var/_index": "g0,g1,g2,g3,", "var/symbol": "A,,CC,é,",
		"var/n": "i32 [4] false \"\" [0 0 0 0 10 0 0 0 20 0 0 0 30 0 0 0]", "var/mean": "f32 [4] false \"\" [0 0 0 63 0 0 192 63 0 0 192 127 0 0 0 64]",
		"var/kind": "i8 [4] false \"long\\nshort\" [1 255 0 1]", "var/spike": "bool [4] false \"\" [1 0 0 1]", "var/whole": "i16 [4] false \"\" [1 0 2 0 3 0 4 0]",
	}
	all := []string{"var/n", "var/m*", "var/kind", "var/s[yp]*", "var/whole"}
	for what, c := range map[string]struct {
		o     format.Options
		names []string
	}{
		"HDF5": {nil, []string{"genes.h5ad"}}, "Zarr": {nil, []string{"genes_v3.zarr.zip"}}, "twice": {nil, []string{"genes.h5ad", "genes.h5ad"}},
		"by name": {format.Options{"genes": "first"}, []string{"genes.h5ad", "genes_other.h5ad"}},
		"both":    {format.Options{"genes": "intersection"}, []string{"genes.h5ad", "genes_other.h5ad"}},
	} {
		got, left, err := staticOf(t, c.o, all, c.names...)
		if err != nil || len(got) != len(want) || strings.TrimSpace(left) != "var/some" {
			t.Errorf("%s: %d columns, left out %s: %v", what, len(got), left, err)
		}
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: %s is %q, want %q", what, name, got[name], want[name])
			}
		}
		if got, _, err := staticOf(t, c.o, nil, c.names...); err != nil || len(got) != 1 || got["var/_index"] != want["var/_index"] {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	both := []string{"genes.h5ad", "genes_other.h5ad"}
	for _, c := range []struct {
		wanted string
		o      format.Options
		names  []string
		want   string
	}{
		{"var/some", nil, both[:1], "var/some has missing values"},
		{"var/nosuch", nil, both[:1], "--static var/nosuch: no column of genes; there are: var/_index, var/n, var/mean"},
		{"var/n", format.Options{"genes": "union"}, both, `var/n: gene "h" of the set is not in this input`},
		{"var/symbol", nil, []string{"all.h5ad"}, "there are: var/_index"},
	} {
		if _, _, err := staticOf(t, c.o, []string{c.wanted}, c.names...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.wanted, err, c.want)
		}
	}
	for name, want := range map[string]string{"tenx.h5": "matrix/features/name gene0,gene1,gene2,gene3,gene4,", "small.loom": "row_attrs/Gene gene0,gene1,gene2,gene3,gene4,"} {
		field, want, _ := strings.Cut(want, " ")
		if got, _, err := staticOf(t, nil, []string{field}, name); err != nil || got[field] != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
