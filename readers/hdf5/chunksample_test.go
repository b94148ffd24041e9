package hdf5

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// TestChunksAsSamples: the rows of each chunk of the largest data set are a sample.
func TestChunksAsSamples(t *testing.T) {
	load := func(o format.Options, columns ...string) (*readertest.Columns, error) {
		a := format.OpenArgs{Table: tableOf("grid_a.nc"), Columns: columns, Options: o}
		src, err := Format.Open(context.Background(), a)
		if err != nil {
			return nil, err
		}
		a.State, err = src.(format.Stater).State()
		src.Close()
		if err == nil {
			src, err = Format.Open(context.Background(), a)
		}
		if err != nil {
			return nil, err
		}
		defer src.Close()
		return readertest.Load(src, 2000)
	}
	for _, c := range []struct {
		columns []string
		object  string
		rows    int64
	}{{nil, "", 0}, {[]string{"series", "deep"}, "", 0}, {[]string{"packed", "time"}, "", 0}, {nil, "/plain,/one_chunk", 40}, {nil, "/step,/time", 1}} {
		want, err := load(format.Options{"sample": "axis", "object": c.object}, c.columns...)
		if err != nil {
			t.Fatal(err)
		}
		columns := c.columns
		if columns != nil {
			columns = append(columns, "chunk")
		}
		got, err := load(format.Options{"sample": "chunk", "object": c.object}, columns...)
		if err != nil {
			t.Errorf("%q: %v", c.columns, err)
			continue
		}
		rows := c.rows
		for k, n := range shardify.View[int64](got.ByName["chunk"].Data) {
			if n != int64(k) {
				t.Errorf("%q: chunk %d is number %d", c.columns, k, n)
			}
		}
		for _, name := range want.Order {
			w, g := want.ByName[name], got.ByName[name]
			if !bytes.Equal(w.Data, g.Data) {
				t.Errorf("%q: %s has other values", c.columns, name)
			}
			n := int64(0)
			if g.Levels > 0 {
				n = g.Offsets[0][1]
			} else {
				n = int64(g.Shape[0])
			}
			if rows == 0 {
				rows = n
			}
			if n != rows || n == 40 && c.rows != 40 {
				t.Errorf("%q: a sample has %d rows of %s", c.columns, n, name)
			}
		}
		if (want.Samples+rows-1)/rows != got.Samples {
			t.Errorf("%q: %d samples of %d rows, %d in all", c.columns, got.Samples, rows, want.Samples)
		}
	}
	if _, err := load(format.Options{"sample": "chunk", "object": "/plain"}); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "no array is stored in chunks") {
		t.Errorf("contiguous data: %v", err)
	}
	if _, err := Format.Open(context.Background(), format.OpenArgs{Table: tableOf("grid_a.nc"), Options: format.Options{"sample": "chunk"}, Splits: true}); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("splits: %v", err)
	}
	if i := slices.IndexFunc(options, func(o format.Option) bool { return o.Name == "sample" }); !slices.Contains(options[i].Values, "chunk") {
		t.Error("no --sample chunk")
	}
}
