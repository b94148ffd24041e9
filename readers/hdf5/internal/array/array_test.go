package array

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/storage/local"
)

// open opens a file of the reader's testdata.
func open(t *testing.T, name string) *File {
	t.Helper()
	p := filepath.Join("../../testdata", name)
	in, err := local.Files.Open(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(local.Files, in, p, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// paths are the data sets of a file's root.
func paths(t *testing.T, f *File) (out []string) {
	t.Helper()
	root, err := f.H5.Object(f.H5.Root, "/")
	if err != nil {
		t.Fatal(err)
	}
	links, err := root.Children()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if o, err := f.H5.Object(l.Addr, "/"+l.Name); l.Kind == h5.HardLink && err == nil && o.Kind == h5.KindDataset {
			out = append(out, "/"+l.Name)
		}
	}
	return out
}

// Rows are the same however many are read at once, and in whichever order, whatever the
// layout and the order of axes.
func TestRowsArePartsOfTheWhole(t *testing.T) {
	ctx, read := context.Background(), 0
	for _, name := range []string{"features_first.h5", "rows_a.h5", "virtual.h5", "calo.hdf5"} {
		f := open(t, name)
		for _, p := range paths(t, f) {
			for axis := range 2 {
				a, err := f.Array(p)
				if err != nil || a.Usable() != nil {
					break
				}
				if axis == 1 {
					if len(a.Dims) != 2 {
						break
					}
					f.SetOrder(p, &Order{Perm: []int{1, 0}})
					if a, err = f.Array(p); err != nil {
						t.Fatal(err)
					}
				}
				whole := make([]byte, a.Rows*a.RowBytes)
				if err := a.Read(ctx, new(Buffers), whole, 0, a.Rows); err != nil {
					t.Fatalf("%s %s: %v", name, p, err)
				}
				var w Buffers
				for _, step := range []int64{1, 3, a.Rows/2 + 1} {
					for hi := a.Rows; hi > 0; hi -= step {
						lo := max(hi-step, 0)
						part := make([]byte, (hi-lo)*a.RowBytes)
						if err := a.Read(ctx, &w, part, lo, hi); err != nil || !bytes.Equal(part, whole[lo*a.RowBytes:hi*a.RowBytes]) {
							t.Fatalf("%s %s: rows %d to %d of %d, axis %d first, differ (%v)", name, p, lo, hi, a.Rows, axis, err)
						}
					}
				}
				read++
			}
			f.SetOrder(p, nil)
		}
	}
	if read < 20 {
		t.Errorf("%d data sets were read", read)
	}
}

// A selection's elements are those that its ranges say, in order, and rows are between
// those before them.
func TestSlabs(t *testing.T) {
	dims := []int64{7, 5}
	for _, sel := range []dataset.Selection{
		{Kind: dataset.SelectAll},
		{Kind: dataset.SelectSlab, Start: []int64{1, 0}, Stride: []int64{3, 1}, Count: []int64{2, 1}, Block: []int64{2, 5}},
		{Kind: dataset.SelectSlab, Start: []int64{0, 1}, Stride: []int64{2, 2}, Count: []int64{3, 2}, Block: []int64{1, 1}},
		{Kind: dataset.SelectSlab, Boxes: []dataset.Box{{First: []int64{0, 1}, Last: []int64{1, 2}}, {First: []int64{4, 1}, Last: []int64{4, 2}}}},
	} {
		s, err := newSlab(&sel, dims)
		if err != nil {
			t.Fatalf("%+v: %v", sel, err)
		}
		last, before := int64(-1), int64(0)
		for n := int64(0); n < s.count; {
			at, run := s.at(n)
			if at <= last || run < 1 || at+run > dims[0]*dims[1] {
				t.Fatalf("%+v: element %d at %d after %d, %d side by side", sel, n, at, last, run)
			}
			if row := s.row(n / s.perRow()); row != at/dims[1] {
				t.Errorf("%+v: element %d is in row %d, not %d", sel, n, at/dims[1], row)
			}
			last, n = at+min(run, s.count-n)-1, n+run
		}
		for x := range dims[0] {
			a, b := s.rows(x, x+1)
			if a != before || b < a {
				t.Errorf("%+v: row %d has selected rows %d to %d", sel, x, a, b)
			}
			before = b
		}
		if before*s.perRow() != s.count {
			t.Errorf("%+v: %d rows of %d for %d elements", sel, before, s.perRow(), s.count)
		}
	}
	for _, sel := range []dataset.Selection{
		{Kind: dataset.SelectSlab, Start: []int64{6, 0}, Stride: []int64{1, 1}, Count: []int64{2, 1}, Block: []int64{1, 5}},
		{Kind: dataset.SelectSlab, Start: []int64{0}, Stride: []int64{1}, Count: []int64{1}, Block: []int64{1}},
		{Kind: dataset.SelectSlab, Boxes: []dataset.Box{{First: []int64{0, 0}, Last: []int64{7, 0}}}},
	} {
		if _, err := newSlab(&sel, dims); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%+v: %v", sel, err)
		}
	}
}
