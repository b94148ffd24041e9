package labels

import (
	"bytes"
	"testing"

	"github.com/shardify/shardify"
)

// stateFields are those of lists that share a counter, of texts in lists, and of values that may be missing.
func stateFields() []shardify.Field {
	return []shardify.Field{
		{Name: "x", DType: shardify.I64, Levels: 1, Counter: "boxes"},
		{Name: "text", DType: shardify.U8, Levels: 2, Media: "txt", Counter: "boxes"},
		{Name: "deep", DType: shardify.F64, Levels: 2},
		{Name: "y", DType: shardify.F64, Nullable: true},
		{Name: "ok", DType: shardify.Bool},
		{Name: "caption", DType: shardify.U8, Levels: 1, Media: "txt"},
	}
}

// FuzzReadState: bytes that are no state are an error, and what is read is written and read again as it is.
func FuzzReadState(f *testing.F) {
	cols := []shardify.Column{
		{Data: shardify.Bytes([]int64{1, -2, 3}), Offsets: [][]int64{{0, 2, 2, 3}}},
		{Data: []byte("abcd"), Offsets: [][]int64{{0, 2, 2, 3}, {0, 1, 1, 4}}},
		{Data: shardify.Bytes([]float64{1, 2, 3}), Offsets: [][]int64{{0, 1, 1, 2}, {0, 2, 3}}},
		{Data: shardify.Bytes([]float64{1, 0, 3}), Valid: []byte{1, 0, 1}},
		{Data: []byte{1, 0, 1}},
		{Data: []byte("onetwo"), Offsets: [][]int64{{0, 3, 3, 6}}},
	}
	fields := stateFields()
	for i := range cols {
		cols[i].Field = fields[i]
	}
	f.Add(appendState(nil, cols, 3), 3)
	f.Add([]byte{0, 255, 255, 255, 255, 255, 255, 255, 255, 127}, 2)
	f.Fuzz(func(t *testing.T, b []byte, samples int) {
		if samples < 0 || samples > 1<<20 {
			return
		}
		got, rest, err := readState(b, fields, samples)
		if err != nil {
			return
		}
		for i := range got {
			c := &got[i]
			n := int64(samples)
			for _, o := range c.Offsets {
				if int64(len(o)) != n+1 || o[0] != 0 {
					t.Fatalf("%s: %d offsets of %d", c.Name, len(o), n)
				}
				n = o[n]
			}
			if n*int64(c.DType.Size()) != int64(len(c.Data)) {
				t.Fatalf("%s: %d bytes of %d values", c.Name, len(c.Data), n)
			}
		}
		again := appendState(nil, got, samples)
		same, left, err := readState(again, fields, samples)
		if err != nil || len(left) > 0 || len(rest) > len(b) {
			t.Fatalf("read again: %v, %d bytes left", err, len(left))
		}
		if !bytes.Equal(appendState(nil, same, samples), again) {
			t.Fatal("read again it differs")
		}
	})
}
