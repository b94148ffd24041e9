package npz

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/zips"
)

// each is the member of an .npy file of one sample.
func each(names ...string) (all []member) {
	for _, n := range names {
		all = append(all, member{n, 0, zeros("<f4", 2, 3)})
	}
	return all
}

// classed are archives of equal names except for their folders.
func classed(names ...string) (all []member) {
	for _, n := range names {
		all = append(all, npz(n, member{"x.npy", zips.Stored, zeros("<f4", 2, 3)}, member{"cls.npy", zips.Stored, zeros("<i2")}))
	}
	return all
}

func TestFilesThatAreSamplesKeepTheirNamesAndClasses(t *testing.T) {
	opts := func(list ...string) format.Options {
		o := format.Options{"sample": "file"}
		for i := 0; i < len(list); i += 2 {
			o[list[i]] = list[i+1]
		}
		return o
	}
	const bad = "error: "
	for _, c := range []struct {
		name    string
		table   *format.Table
		columns []string
		options format.Options
		want    string
	}{
		{"class folders", folder(t, each("cat/a.npy", "cat/deep/a.NPY", "dog/b.npy")...), nil, opts(), "cat/a cls=0, cat/deep/a cls=0, dog/b cls=1 of data,cls(cat dog)"},
		{"archives", folder(t, classed("cat/a.npz", "dog/a.npz")...), []string{"x"}, opts(), "cat/a, dog/a of x"},
		{"no folders", folder(t, each("a.npy", "b.npy")...), nil, opts(), "-, - of data"},
		{"names of bare files", folder(t, each("a.npy", "b.npy")...), nil, opts("keys", "path"), "a, b of data"},
		{"one folder", folder(t, each("cat/a.npy", "cat/b.npy")...), nil, opts(), "-, - of data"},
		{"one folder is a class", folder(t, each("cat/a.npy", "cat/b.npy")...), nil, opts("labels", "folder"), "- cls=0, - cls=0 of data,cls(cat)"},
		{"splits", folder(t, each("test/a.npy", "train/b.npy")...), nil, opts(), "-, - of data"},
		{"beside bare files", folder(t, each("c.npy", "cat/a.npy", "dog/a.npy")...), nil, opts(), "c, cat/a, dog/a of data"},
		{"beside bare files, by wish", folder(t, each("c.npy", "cat/a.npy", "dog/a.npy")...), nil, opts("labels", "folder"), bad + "--labels folder: 1 sample (c) in no folder"},
		{"no labels", folder(t, each("cat/a.npy", "dog/a.npy")...), nil, opts("labels", "none"), "cat/a, dog/a of a"},
		{"no names", folder(t, each("cat/a.npy", "dog/a.npy")...), nil, opts("keys", "ordinal"), "- cls=0, - cls=1 of a,cls(cat dog)"},
		{"as before", folder(t, each("cat/a.npy", "dog/a.npy")...), nil, opts("keys", "ordinal", "labels", "none"), "-, - of a"},
		{"without the column", folder(t, each("cat/a.npy", "dog/a.npy")...), []string{"!cls"}, opts(), "cat/a, dog/a of a"},
		{"the column alone", folder(t, each("cat/a.npy", "dog/a.npy")...), []string{"cls"}, opts(), "cat/a cls=0, dog/a cls=1 of cls(cat dog)"},
		{"no such column", folder(t, each("cat/a.npy", "cat/b.npy")...), []string{"data", "cls"}, opts(), bad + `no field "cls": of the folders that could be classes, one folder only`},
		{"several inputs", roots(t, each("cat/a.npy", "dog/a.npy"), each("cat/a.npy")), nil, opts(), "r0/cat/a cls=0, r0/dog/a cls=1, r1/cat/a cls=0 of a,cls(cat dog)"},
		{"a field of that name", folder(t, classed("cat/a.npz", "dog/a.npz")...), nil, opts(), bad + "--labels none keeps the field, --columns '!cls' leaves out both"},
		{"that field", folder(t, classed("cat/a.npz", "dog/a.npz")...), nil, opts("labels", "none"), "cat/a, dog/a of x,cls"},
		{"neither", folder(t, classed("cat/a.npz", "dog/a.npz")...), []string{"!cls"}, opts(), "cat/a, dog/a of x"},
		{"one name twice", folder(t, each("cat/a.1.npy", "cat/a.2.npy", "dog/b.npy")...), nil, opts(), bad + "cat/a.1.npy and cat/a.2.npy have one name as samples, cat/a: --stem last"},
		{"names with dots", folder(t, each("cat/a.1.npy", "cat/a.2.npy", "dog/b.npy")...), nil, opts("stem", "last"), "cat/a%2E1 cls=0, cat/a%2E2 cls=0, dog/b cls=1 of data,cls(cat dog)"},
		{"one name, two formats", folder(t, append(each("cat/x.npy", "dog/x.npy"), npz("cat/x.npz", member{"x.npy", zips.Stored, zeros("<f4", 2, 3)}))...), nil, opts(),
			bad + "cat/x.npy and cat/x.npz have one name as samples, cat/x: --keys ordinal"},
		{"rows", folder(t, each("cat/a.npy", "dog/a.npy")...), nil, format.Options{"keys": "path"}, bad + "--keys path is for files that are a sample each, as --sample file has them"},
		{"zip", roots(t, each("cat/a.npy", "dog/a.npy"), []member{{"cat/y.npy", 0, zeros("<i2")}, {"dog/y.npy", 0, zeros("<i2")}}), nil, opts("zip", "true"),
			"cat/a cls=0, dog/a cls=1 of a,y,cls(cat dog)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: c.table, Columns: c.columns, Options: c.options})
			if err != nil {
				if got := bad + err.Error(); !strings.HasPrefix(c.want, bad) || !strings.Contains(got, strings.TrimPrefix(c.want, bad)) {
					t.Errorf("got %s, want %s", got, c.want)
				}
				return
			}
			defer src.Close()
			got := readertest.Named(t, src)
			for i, r := range c.table.Roots {
				got = strings.ReplaceAll(got, filepath.Base(r)+"/", fmt.Sprintf("r%d/", i))
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestNamedFilesConform(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var files []member
	for _, n := range []string{"cat/1.npz", "cat/2.npz", "dog/1.npz", "eel/a/9.npz"} {
		files = append(files, npz(n, columnsOf(rng, 5+len(files), uint16(len(files)%2*zips.Deflated))...))
	}
	table, options := folder(t, files...), format.Options{"sample": "file"}
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, State: state, Options: options})
	})
}
