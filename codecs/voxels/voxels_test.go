package voxels

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify"
)

// TestPlace compares with one value at a time, for arrays larger and smaller than tiles, in one call and in several.
func TestPlace(t *testing.T) {
	for _, haveAVX2 = range []bool{haveAVX2, false} {
		testPlace(t)
	}
}

func testPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dims := range [][]int{{2, 3}, {37, 5, 130}, {70, 65}, {33, 2, 3, 66}, {1, 4, 1}, {64, 1, 128}} {
		for _, item := range []int{1, 2, 3, 4, 8, 16} {
			n := item
			for _, d := range dims {
				n *= d
			}
			src, want, dst := Grow(nil, n), make([]byte, n), Grow(nil, n)
			for i := range src {
				src[i] = byte(rng.Uint32())
			}
			index := make([]int, len(dims))
			for at := 0; at < n; at += item {
				to := 0
				for k, d := range dims {
					to = to*d + index[k]
				}
				copy(want[to*item:], src[at:at+item])
				for k := range index {
					if index[k]++; index[k] < dims[k] {
						break
					}
					index[k] = 0
				}
			}
			last := dims[len(dims)-1]
			for _, each := range []int{last, max(last/3, 1)} {
				clear(dst)
				for from := 0; from < last; from += each {
					some := min(each, last-from)
					Place(dst, append(Grow(nil, n/last*some)[:0], src[n/last*from:n/last*(from+some)]...), dims, item, from, some)
				}
				if !bytes.Equal(dst, want) {
					t.Errorf("dimensions %v, items of %d bytes, %d planes at once: other values", dims, item, each)
				}
			}
		}
	}
}

// TestSwapAndScale: each unit is reversed, and products are rounded before they are added to.
func TestSwapAndScale(t *testing.T) {
	for _, width := range []int{1, 2, 3, 4, 8} {
		b := make([]byte, 11*width)
		for i := range b {
			b[i] = byte(i)
		}
		c := make([]byte, len(b))
		SwapTo(c, b, width)
		if Swap(b, width); !bytes.Equal(b, c) {
			t.Errorf("width %d: a copy is %v", width, c)
		}
		for i := range b {
			if want := byte(i/width*width + width - 1 - i%width); b[i] != want {
				t.Errorf("width %d: byte %d is %d; want %d", width, i, b[i], want)
			}
		}
	}
	slope, inter := 0.1, 1e-17-0.1*3
	src, dst := []int16{3, -7}, make([]float64, 2)
	Scale(shardify.I16, slope, inter, false)(shardify.Bytes(dst), shardify.Bytes(src))
	for i, v := range src {
		product := float64(v) * slope
		if want := product + inter; math.Float64bits(dst[i]) != math.Float64bits(want) {
			t.Errorf("%d becomes %v; want %v", v, dst[i], want)
		}
	}
}
