package parquet

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/readertest"
)

// TestReadersCountWhatTheyHold: what a reader says that it holds is what its pages,
// dictionaries and window take, and no more than its share between spans.
func TestReadersCountWhatTheyHold(t *testing.T) {
	files, err := filepath.Glob(testdata("*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	dropped := 0
	for _, name := range files {
		src, err := openFiles(nil, nil, name)
		if err != nil {
			continue // damage: for other tests
		}
		defer src.Close()
		for _, limit := range []int64{1 << 10, 64 << 10, 1 << 30} {
			pool := shardify.NewPool(limit)
			s := src.(*source)
			p := &reader{s: s}
			r := set.NewReader(s.Table, p)
			for _, sp := range readertest.Spans(t, src, 200) {
				mem, err := pool.Grant(context.Background(), sp.Bytes)
				if err != nil {
					t.Fatal(err)
				}
				_, err = r.Read(context.Background(), sp, mem)
				mem.Release()
				if err != nil {
					break
				}
				if held := p.memory(); held != p.bytes || held > limit/4 {
					t.Errorf("%s in %d: holds %d and counts %d", name, limit, held, p.bytes)
				}
				if p.window.buf == nil {
					dropped++
				}
			}
			if r.Close(); p.scratch.Share() != 0 {
				t.Errorf("%s: a closed reader has a share of memory", name)
			}
		}
	}
	if dropped == 0 {
		t.Error("nothing was ever too much to keep")
	}
}

// memory is what the buffers of a reader take.
func (r *reader) memory() int64 {
	n := int64(cap(r.window.buf))
	for _, c := range r.cursors {
		if c != nil && c.page != nil {
			n += c.page.Memory()
		}
		if c != nil && c.dict != nil {
			n += c.dict.Memory()
		}
	}
	for _, p := range r.spare {
		n += p.Memory()
	}
	return n
}
