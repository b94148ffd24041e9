package protowire_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/protowire"
)

func ExampleFields() {
	f := protowire.Fields{B: []byte{0x08, 0x96, 0x01, 0x12, 0x02, 'h', 'i', 0x1d, 1, 2, 3, 4}}
	for f.Next() {
		fmt.Println(f.Num, f.Wire, f.N, f.Val)
	}
	fmt.Println(f.Err)
	// Output:
	// 1 0 150 []
	// 2 2 150 [104 105]
	// 3 5 150 [1 2 3 4]
	// <nil>
}

func TestDamage(t *testing.T) {
	for name, b := range map[string][]byte{
		"a cut tag": {0x88}, "field 0": {0x00}, "a cut number": {0x08, 0x80}, "eleven bytes": {0x08, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1},
		"a length behind the end": {0x12, 3, 1, 2}, "a length of 2^63": {0x12, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1},
		"eight bytes of seven": {0x09, 1, 2, 3, 4, 5, 6, 7}, "four bytes of three": {0x0d, 1, 2, 3}, "a group": {0x0b, 0x0c}, "wire type 7": {0x0f},
	} {
		f := protowire.Fields{B: b}
		for f.Next() {
		}
		if !errors.Is(f.Err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", name, f.Err)
		}
	}
}

func FuzzFields(f *testing.F) {
	f.Add([]byte{0x08, 0x96, 0x01, 0x12, 0x02, 'h', 'i'})
	f.Fuzz(func(t *testing.T, b []byte) {
		x := protowire.Fields{B: b}
		for at := 0; x.Next(); at = x.I {
			if x.I <= at || x.I > len(b) || x.Num == 0 {
				t.Fatalf("field %d at %d, from %d", x.Num, x.I, at)
			}
		}
	})
}
