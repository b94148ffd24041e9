package megatron

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/shardify/shardify"
)

// FuzzIndex reads any bytes as an index: no panic, and errors of a kind. What is read without an
// error covers all of the data, once.
func FuzzIndex(f *testing.F) {
	good := Append(nil, shardify.U16, []int32{3, 0, 5})
	f.Add(good, int64(16))
	f.Add(append(good, 0, 1, 0), int64(16))
	f.Add(good[:40], int64(16))
	f.Add([]byte("TNTIDX\x00\x00"), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, size int64) {
		r := bytes.NewReader(b)
		h, err := ReadHead(r, int64(len(b)))
		if err == nil {
			err = h.CheckDocuments(context.Background(), r)
		}
		total := int64(0)
		if err == nil {
			var w Walk
			_, err = w.Lengths(context.Background(), r, &h, 0, h.Sequences, size, func(n int32) { total += int64(n) })
		}
		switch {
		case err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported):
			t.Fatalf("error of no kind: %v", err)
		case err == nil && h.Sequences > 0 && total*int64(h.DType.Size()) != size:
			t.Fatalf("%d tokens of %d data bytes", total, size)
		}
	})
}
