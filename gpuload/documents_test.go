package gpuload

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

func TestDocumentsOfSequences(t *testing.T) {
	lens, offsets := []int32{3, 2, 5, 1}, []int64{0, 2, 3, 4, 4}
	d, err := FindDocuments(nil, lens, offsets, 5, 5)
	if err != nil || !slices.Equal(d.CuSeqlens, []int32{0, 3, 5, 10, 11, 15, 20}) || d.MaxSeqlen != 5 {
		t.Errorf("%v, %v", d, err)
	}
	to := make([]int32, 20)
	d.Positions(to)
	if want := []int32{0, 1, 2, 0, 1, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 0, 1, 2, 3, 4}; !slices.Equal(to, want) {
		t.Errorf("positions %v, want %v", to, want)
	}
	mask := bytes.Repeat([]byte{9}, 20*5)
	d.Mask(mask, 5)
	for i := range 20 {
		for k := range 5 {
			j, sees := i/5*5+k, byte(0)
			if j <= i && i-j <= int(to[i]) {
				sees = 1
			}
			if mask[i*5+k] != sees {
				t.Errorf("token %d sees token %d: %d", i, j, mask[i*5+k])
			}
		}
	}
	// Without the last token of each: documents are cut there.
	if d, err = FindDocuments(d.CuSeqlens, lens, offsets, 5, 3); err != nil || !slices.Equal(d.CuSeqlens, []int32{0, 3, 6, 7, 9, 12}) || d.MaxSeqlen != 3 {
		t.Errorf("cut: %v, %v", d, err)
	}
	for _, bad := range [][]int32{{3, 3, 5, 1}, {3, -1, 5, 1}, {3, 2, 5}} {
		if _, err := FindDocuments(nil, bad, offsets, 5, 5); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := FindDocuments(nil, nil, make([]int64, 1<<20), 1<<20, 1<<20); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("more than an i32 counts: %v", err)
	}
}

// TestDocumentsOfABatch: impossible lengths are damage, and columns that are not lengths are refused.
func TestDocumentsOfABatch(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "tok:u16[9],lens:i32*,x:i64*", samples: 20, shard: 20}))
	b, err := mustLoader(t, d, Config{Batch: 20}).Next(bg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Documents("lens", 9); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("lengths at random: %v", err)
	}
	if _, err := b.Documents("x", 9); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("numbers of another type: %v", err)
	}
	if _, err := b.Documents("none", 9); err == nil {
		t.Error("no column: no error")
	}
}
