package hdf5

import (
	"context"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// TestReadersKeepTheirShare: between spans a reader holds no more than its share of the
// memory, and counts the rows of chunks that it keeps.
func TestReadersKeepTheirShare(t *testing.T) {
	kept := 0
	for _, name := range []string{"rows_a.h5", "rows_b.h5", "calo.hdf5", "types.h5", "virtual.h5", "groups.h5"} {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: tableOf(name)})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		for _, limit := range []int64{400, 64 << 10, 1 << 30} {
			pool := shardify.NewPool(limit)
			r, err := src.Reader(0)
			if err != nil {
				t.Fatal(err)
			}
			w := &r.(*reader).work
			for _, sp := range halves(readertest.Spans(t, src, 1)) {
				mem, err := pool.Grant(context.Background(), sp.Bytes)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.Read(context.Background(), sp, mem); err != nil {
					t.Fatal(err)
				}
				mem.Release()
				rows, bytes, counted := w.Keeps()
				if held := w.Memory(); held > limit/4 || bytes != counted {
					t.Errorf("%s in %d: holds %d, keeps %d and counts %d", name, limit, held, bytes, counted)
				}
				kept += rows
			}
			r.Close()
			if w.Share() != 0 {
				t.Errorf("%s: a closed reader has a share of memory", name)
			}
		}
	}
	if kept == 0 {
		t.Error("nothing was kept, whatever the memory")
	}
}

// halves cuts spans in two, most of them inside of chunks.
func halves(spans []shardify.Span) (out []shardify.Span) {
	for _, s := range spans {
		a, b := s, s
		a.Hi = s.Lo + s.Samples()/2
		b.Lo = a.Hi
		for _, x := range []shardify.Span{a, b} {
			if x.Samples() > 0 {
				out = append(out, x)
			}
		}
	}
	return out
}
