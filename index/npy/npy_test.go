package npy

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/shardify/shardify"
)

// Headers as numpy.lib.format writes them: length, and text without the spaces.
var npyHeaders = []struct {
	dtype shardify.DType
	dims  []int64
	size  int
	text  string
}{
	{shardify.F32, []int64{64, 7}, 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 7), }"},
	{shardify.I64, nil, 128, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }"},
	{shardify.Bool, []int64{3}, 128, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }"},
	{shardify.F16, []int64{0}, 128, "{'descr': '<f2', 'fortran_order': False, 'shape': (0,), }"},
	{shardify.U8, []int64{0, 3}, 128, "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 3), }"},
	{shardify.F64, []int64{1, 2, 3, 4}, 128, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3, 4), }"},
	{shardify.U32, []int64{10000000000}, 128, "{'descr': '<u4', 'fortran_order': False, 'shape': (10000000000,), }"},
	{shardify.F32, []int64{1000000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }"},
	{shardify.F32, []int64{7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 192, "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }"},
}

func TestNPYHeaderEqualsNumPy(t *testing.T) {
	for _, c := range npyHeaders {
		h := AppendHeader(nil, c.dtype, c.dims)
		if len(h) != c.size || string(bytes.TrimRight(h[10:], " \n")) != c.text || h[len(h)-1] != '\n' || int(h[8])|int(h[9])<<8 != c.size-10 {
			t.Errorf("%v %v: %d bytes %q, want %d %q", c.dtype, c.dims, len(h), h, c.size, c.text)
		}
		size, ok := Bytes(c.dtype, c.dims)
		if !ok {
			continue
		}
		dims, n, err := Parse([]int64{9}, h, int64(len(h))+size, c.dtype, len(c.dims))
		if err != nil || n != len(h) || !slices.Equal(dims[1:], c.dims) {
			t.Errorf("%v %v: parsed %v, %d bytes, error %v", c.dtype, c.dims, dims, n, err)
		}
		if _, _, err := Parse(nil, h, int64(len(h))+size+1, c.dtype, len(c.dims)); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%v %v: a byte too many: %v", c.dtype, c.dims, err)
		}
	}
}

// TestNPYHeaderOfAField: the quick way to a jagged field's header gives the same
// bytes as the plain one, for every count.
func TestNPYHeaderOfAField(t *testing.T) {
	for _, shape := range [][]int{nil, {7}, {2, 3}, {0}} {
		f := shardify.Field{Name: "x", DType: shardify.F32, Shape: shape, Levels: 1}
		h := NewHeader(&f)
		scratch := make([]byte, 0, 8)
		for n := int64(0); n < 1e18; n = n*11 + 1 {
			want := AppendHeader(nil, f.DType, dimsOf(nil, &f, n))
			if scratch = h.Append(scratch[:0], n); !bytes.Equal(scratch, want) || h.Len() != len(want) {
				t.Errorf("shape %v, %d elements: %q, want %q", shape, n, scratch, want)
			}
		}
	}
	f := shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{3}}
	h := NewHeader(&f)
	if want := AppendHeader(nil, f.DType, []int64{3}); !bytes.Equal(h.Fixed(), want) {
		t.Errorf("fixed field: %q, want %q", h.Fixed(), want)
	}
}

// TestEveryNPYFlipIsSeen: the header is checked as a whole.
func TestEveryNPYFlipIsSeen(t *testing.T) {
	h := AppendHeader(nil, shardify.F32, []int64{5, 7})
	for i := range h {
		for bit := range 8 {
			b := bytes.Clone(h)
			b[i] ^= 1 << bit
			dims, _, err := Parse(nil, b, int64(len(h))+140, shardify.F32, 2)
			if !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("bit %d of byte %d: dimensions %v, error %v", bit, i, dims, err)
			}
		}
	}
	for n := range h {
		if _, _, err := Parse(nil, h[:n], int64(n), shardify.F32, 2); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

func FuzzNPY(f *testing.F) {
	for _, c := range npyHeaders {
		f.Add(AppendHeader(nil, c.dtype, c.dims), uint8(c.dtype), int64(100), uint8(len(c.dims)))
	}
	f.Fuzz(func(t *testing.T, b []byte, dtype uint8, data int64, rank uint8) {
		d := shardify.DType(dtype % uint8(shardify.F64+1))
		if d == shardify.Invalid || d == shardify.BF16 {
			return
		}
		dims, n, err := Parse(nil, b, int64(n64(b))+data, d, int(rank))
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if again := AppendHeader(nil, d, dims); !bytes.Equal(again, b[:n]) {
			t.Fatalf("written again: %q, was %q", again, b[:n])
		}
	})
}

func n64(b []byte) int { return min(len(b), 1<<20) }
