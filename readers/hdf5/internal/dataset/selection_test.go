package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
)

// packed writes numbers in little-endian order, each as wide as its type.
func packed(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		b, _ = binary.Append(b, binary.LittleEndian, p)
	}
	return b
}

func selectionOf(b []byte) (Selection, error) {
	d := testMeta().Decode(b, -1, "selection")
	return readSelection(&d)
}

func TestSelectionsOfEveryForm(t *testing.T) {
	box := func(v ...int64) Box { return Box{v[:len(v)/2], v[len(v)/2:]} }
	for _, c := range []struct {
		what string
		b    []byte
		want Selection
	}{
		{"all", packed(uint32(3), uint32(1), uint64(0)), Selection{Kind: SelectAll}},
		{"none", packed(uint32(0), uint32(1), uint64(0)), Selection{Kind: SelectNone}},
		{"slab v1", packed(uint32(2), uint32(1), uint64(0), uint32(2), uint32(1), uint32(1), uint32(2), uint32(3), uint32(4)), Selection{Kind: SelectSlab, Rank: 2, Boxes: []Box{box(1, 2, 3, 4)}}},
		{"regular v2", packed(uint32(2), uint32(2), uint8(1), uint32(0), uint32(1), uint64(5), uint64(10), uint64(1<<64-1), uint64(2)),
			Selection{Kind: SelectSlab, Rank: 1, Start: []int64{5}, Stride: []int64{10}, Count: []int64{datatype.Unlimited}, Block: []int64{2}}},
		{"irregular v2", packed(uint32(2), uint32(2), uint8(0), uint32(0), uint32(1), uint64(1), uint64(3), uint64(9)), Selection{Kind: SelectSlab, Rank: 1, Boxes: []Box{box(3, 9)}}},
		{"regular v3", packed(uint32(2), uint32(3), uint8(1), uint8(2), uint32(1), uint16(5), uint16(10), uint16(3), uint16(65535)),
			Selection{Kind: SelectSlab, Rank: 1, Start: []int64{5}, Stride: []int64{10}, Count: []int64{3}, Block: []int64{datatype.Unlimited}}},
		{"points v1", packed(uint32(1), uint32(1), uint64(0), uint32(2), uint32(2), uint32(1), uint32(2), uint32(3), uint32(4)), Selection{Kind: selectPoints, Rank: 2, Boxes: []Box{box(1, 2, 1, 2), box(3, 4, 3, 4)}}},
		{"points v2", packed(uint32(1), uint32(2), uint8(1), uint32(1), uint8(2), uint8(7), uint8(8)), Selection{Kind: selectPoints, Rank: 1, Boxes: []Box{box(7, 7), box(8, 8)}}},
	} {
		d := testMeta().Decode(c.b, 0, "selection")
		got, err := readSelection(&d)
		if err != nil || d.Rest() != 0 || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, %v, %d bytes left", c.what, got, err, d.Rest())
		}
	}
	for what, b := range map[string][]byte{
		"stride 0":        packed(uint32(2), uint32(2), uint8(1), uint32(0), uint32(1), uint64(5), uint64(0), uint64(2), uint64(2)),
		"blocks overlap":  packed(uint32(2), uint32(2), uint8(1), uint32(0), uint32(1), uint64(5), uint64(1), uint64(2), uint64(2)),
		"rank 0":          packed(uint32(2), uint32(2), uint8(1), uint32(0), uint32(0)),
		"too many blocks": packed(uint32(2), uint32(1), uint64(0), uint32(2), uint32(1<<30), uint32(1), uint32(2), uint32(3), uint32(4)),
		"backwards":       packed(uint32(2), uint32(1), uint64(0), uint32(1), uint32(1), uint32(9), uint32(2)),
		"width 3":         packed(uint32(2), uint32(3), uint8(1), uint8(3), uint32(1), make([]byte, 12)),
		"kind 5":          packed(uint32(5), uint32(1), uint64(0)),
		"cut":             packed(uint32(3), uint32(1), uint32(0)),
	} {
		if _, err := selectionOf(b); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
