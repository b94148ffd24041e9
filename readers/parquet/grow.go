package parquet

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// maxColumn bounds the bytes of one column in one batch: a dictionary makes any number
// of long values of a few bytes.
const maxColumn = 4 << 30

// grower is bytes in an arena, of which it is not known how many will be needed.
type grower struct {
	mem  *shardify.Arena
	b    []byte
	hint int64
}

// more appends n bytes of any content and returns them.
func (g *grower) more(n int64) ([]byte, error) {
	have := int64(len(g.b))
	if need := have + n; need > int64(cap(g.b)) {
		if need > maxColumn {
			return nil, shardify.Unsupported("%s in one batch, at most %s are held", shardify.FormatSize(need), shardify.FormatSize(maxColumn))
		}
		b := g.mem.Alloc(int(max(need, have+have/2, min(g.hint, need*8))))
		copy(b, g.b)
		g.b = b[:have]
	}
	g.b = g.b[:have+n]
	return g.b[have:], nil
}

// offsets64 are the ends of values.
type offsets64 struct {
	mem  *shardify.Arena
	o    []int64
	hint int64
}

// more appends n ends, to be filled in. Before the first is a 0.
func (x *offsets64) more(n int64) []int64 {
	have := len(x.o)
	if have == 0 {
		have = 1
	}
	need := have + int(n)
	if need > cap(x.o) {
		o := x.mem.Int64s(int(max(int64(need), int64(have+have/2), min(x.hint, int64(need)*8))))
		o[0] = 0
		copy(o, x.o)
		x.o = o
	}
	x.o = x.o[:need]
	return x.o[have:]
}

func (x *offsets64) finish() []int64 {
	x.more(0)
	return x.o
}

// gather copies values of w bytes from a dictionary. The indices were checked.
func gather(dst, dict []byte, index []int32, w int) {
	if len(index) == 0 {
		return
	}
	switch w {
	case 1:
		for i, x := range index {
			dst[i] = dict[x]
		}
	case 2:
		for i, x := range index {
			binary.LittleEndian.PutUint16(dst[2*i:], binary.LittleEndian.Uint16(dict[2*int(x):]))
		}
	case 4:
		pick(shardify.View[uint32](dst), shardify.View[uint32](dict), index)
	case 8:
		pick(shardify.View[uint64](dst), shardify.View[uint64](dict), index)
	default:
		for i, x := range index {
			copy(dst[i*w:(i+1)*w], dict[int(x)*w:])
		}
	}
}

func pick[T uint32 | uint64](dst, dict []T, index []int32) {
	dst = dst[:len(index)]
	for i, x := range index {
		dst[i] = dict[x]
	}
}

// putNaNs makes missing floating-point numbers NaN; others stay 0.
func putNaNs(b []byte, t shardify.DType) {
	for ; len(b) > 0; b = b[t.Size():] {
		coltype.PutNaN(b, t)
	}
}
