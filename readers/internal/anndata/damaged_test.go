package anndata_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

var errOther = errors.New("a file that is no AnnData")

// TestOtherWordsLoseNoField changes the names of groups and attributes in a file, and the texts of attributes, one at a
// time: all fields are there, or there is an error, or the names of fields that are left out.
func TestOtherWordsLoseNoField(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "all.h5ad"))
	if err != nil {
		t.Fatal(err)
	}
	fields := func(data []byte) (names []string, unread int, err error) {
		name := readertest.Put(t, "a.h5ad", string(data))
		src, err := open(name, format.OpenArgs{Table: readertest.TableOf(name), Jobs: 1})
		if err != nil {
			return nil, 0, err
		}
		defer src.Close()
		for _, f := range src.Schema() {
			names = append(names, f.Name)
		}
		for _, l := range src.(format.Reporter).Leftovers() {
			if l.Unreadable {
				unread++
			}
		}
		cells, ok := src.(format.Constant)
		if !ok {
			return nil, 0, errOther
		}
		once, err := cells.Static(context.Background(), nil, shardify.NewPool(1<<20))
		for _, c := range once {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		return names, unread, err
	}
	want, _, err := fields(whole)
	if err != nil || len(want) != 10 {
		t.Fatal(want, err)
	}
	refused, named := 0, 0
	for _, word := range []string{"encoding-type\x00", "_index\x00", "shape\x00", "column-order\x00", "var\x00", "X\x00", "obs\x00", "obsm\x00", "dict\x00", "dataframe\x00", "csr_matrix\x00", "anndata\x00", "HEAP"} {
		for at := 0; ; at++ {
			k := bytes.Index(whole[at:], []byte(word))
			if k < 0 {
				break
			}
			at += k
			for _, n := range []int{1, len(word) + 16} { // also the reference to the text behind this one
				b := slices.Clone(whole)
				if last := at + len(word) - 2; n == 1 {
					b[last]++
				} else {
					clear(b[last:][:n])
				}
				got, unread, err := fields(b)
				switch {
				case errors.Is(err, errOther) && word == "anndata\x00":
				case err != nil && !kind(err):
					t.Errorf("%q at %d: error of no kind: %v", word, at, err)
				case err != nil:
					refused++
				case unread > 0:
					named++
				case !slices.Equal(got, want):
					t.Errorf("%q at %d, %d bytes: fields %v", word, at, n, got)
				}
			}
		}
	}
	if refused < 40 {
		t.Errorf("%d refused, %d with names of fields that are left out", refused, named)
	}
	if _, _, err := fields(bytes.Replace(whole, []byte("dict\x00\x00\x00\x00"), make([]byte, 24), 1)); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error(err)
	}
}
