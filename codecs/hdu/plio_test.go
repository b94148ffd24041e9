package hdu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shardify/shardify"
)

// list is a line list of words behind a header.
func list(words ...uint16) []byte {
	var b []byte
	for _, w := range append([]uint16{0, 7, 0xff9c, uint16(len(words) + 7), 0, 0, 0}, words...) {
		b = binary.BigEndian.AppendUint16(b, w)
	}
	return b
}

// TestPLIO decodes each instruction, and refuses lists that make other numbers than the tile has. The files of the corpus
// and of astropy's tests are compared with astropy elsewhere.
func TestPLIO(t *testing.T) {
	all := list(2<<12|4, 4<<12|2, 0<<12|1, 5<<12|3, 3<<12|1, 4<<12|1, 6<<12|9, 7<<12|2, 1<<12|7, 1, 4<<12|1)
	dst := make([]byte, 2*10)
	if err := plio(dst, all, 2); err != nil {
		t.Fatal(err)
	}
	var got []uint16
	for i := 0; i < len(dst); i += 2 {
		got = append(got, binary.BigEndian.Uint16(dst[i:]))
	}
	if want := []uint16{5, 5, 0, 0, 0, 5, 4, 13, 11, 4103}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for what, src := range map[string][]byte{
		"too few": all[:len(all)-2], "too many": append(slices.Clone(all[:6]), list(4<<12 | 11)[6:]...), "negative": list(3<<12|9, 4<<12|10), "unknown": list(8<<12, 4<<12|10),
		"no number": list(5<<12, 4<<12|10), "cut value": list(4<<12|9, 1<<12|1), "wide": list(1<<12, 16, 4<<12|10), "nothing": nil, "short": all[:8],
	} {
		if err := plio(dst, src, 2); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", what, fmt.Sprint(err))
		}
	}
}
