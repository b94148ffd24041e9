package voxels

import (
	"fmt"
	"testing"
)

// BenchmarkPlace turns a volume, as arrayfile does it: 64 planes at once.
func BenchmarkPlace(b *testing.B) {
	dims := []int{192, 192, 96}
	for _, item := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprint(item), func(b *testing.B) {
			n := dims[0] * dims[1] * dims[2] * item
			src, dst := Grow(nil, n), Grow(nil, n)
			plane := n / dims[2]
			b.SetBytes(int64(n))
			for b.Loop() {
				for from := 0; from < dims[2]; from += 64 {
					some := min(64, dims[2]-from)
					Place(dst, src[from*plane:][:some*plane], dims, item, from, some)
				}
			}
		})
	}
}
