package number

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/shardify/shardify"
)

func TestFloatFormsAreExact(t *testing.T) {
	for _, f := range []struct {
		form  Float
		width int
	}{{F16, 16}, {Float{3, 4, 0, 3, 7, 7, true}, 8}, {Float{2, 5, 0, 2, 7, 15, true}, 8}} {
		n, err := Floating(f.width/8, false, 0, f.width, f.form)
		if err != nil || n.DType != shardify.F16 {
			t.Fatalf("%+v: %v, %v", f.form, n.DType, err)
		}
		for w := range uint64(1) << f.width {
			v := f.form.Value(w)
			if back := F16.Value(uint64(half(v))); back != v && !(math.IsNaN(v) && math.IsNaN(back)) {
				t.Fatalf("%x is %v, as F16 %v", w, v, back)
			}
		}
	}
}

// The loops for neighbouring values do what those for single ones do, at every length, and
// with gaps between them.
func TestLoopsAgreeWithSingleValues(t *testing.T) {
	for _, size := range []int{1, 2, 4, 8} {
		for _, big := range []bool{false, true} {
			n, err := Integer(size, big, false, 0, 8*size)
			if err != nil || !n.Whole() || !n.InPlace() {
				t.Fatalf("%+v, %v", n, err)
			}
			for _, stride := range []int{size, size + 3} {
				for count := range 19 {
					src := make([]byte, count*stride)
					for i := range src {
						src[i] = byte(37*i + 11)
					}
					want, got := make([]byte, count*size), make([]byte, count*size)
					n.integers(want, src, count, stride)
					n.Converter()(got, src, count, stride)
					if !bytes.Equal(got, want) {
						t.Errorf("%d numbers of %d bytes, one every %d, big-endian %v: %x, want %x", count, size, stride, big, got, want)
					}
				}
			}
		}
	}
}

// Arrays in arrays are gathered in the order of their indices, whatever levels are joined.
func TestGather(t *testing.T) {
	src := make([]byte, 96)
	for i := range src {
		src[i] = byte(i)
	}
	n, _ := Integer(2, false, false, 0, 16)
	for _, s := range []Strided{
		{Off: 4},
		{Off: 2, Count: []int{3}, Step: []int{2}},
		{Off: 0, Count: []int{3}, Step: []int{8}},
		{Off: 0, Count: []int{2, 3}, Step: []int{6, 2}},
		{Off: 2, Count: []int{2, 1, 2}, Step: []int{12, 12, 4}},
		{Off: 0, Count: []int{2, 2, 2}, Step: []int{12, 6, 2}},
	} {
		const elements, stride = 3, 32
		var want []byte
		for e := range elements {
			places := []int{s.Off + e*stride}
			for d, c := range s.Count {
				var next []int
				for _, p := range places {
					for k := range c {
						next = append(next, p+k*s.Step[d])
					}
				}
				places = next
			}
			for _, p := range places {
				want = append(want, src[p:p+2]...)
			}
		}
		simple := s
		simple.Simplify()
		for _, s := range []Strided{s, simple} {
			got := make([]byte, elements*s.Values()*2)
			s.Gather(got, src, elements, stride, 2, n.Converter())
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v: %v, want %v", s, got, want)
			}
		}
	}
}
