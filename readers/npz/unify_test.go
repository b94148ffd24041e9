package npz

import (
	"fmt"
	"math"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/zips"
)

// numbers are values that all of the types hold, and the ends of some.
var numbers = map[string][]float64{
	"<f2": {0, 1, -2.5, 65504}, "<f4": {0, 0.125, -2.5, math.MaxFloat32}, ">f4": {7, -0.5}, "<f8": {0, 0.1, 1e300},
	"|i1": {-128, 127, 0}, "<i2": {-32768, 32767}, ">i2": {-1, 300}, "<i4": {-1 << 31, 1<<31 - 1}, "<i8": {-1 << 53, 1 << 53},
	"|u1": {0, 255}, "<u2": {65535, 1}, ">u4": {1<<32 - 1, 9}, "<u8": {1 << 53, 0},
}

// encode writes values of a type.
func encode(descr string, values []float64) []byte {
	s, err := npy.ParseScalar(descr)
	if err != nil {
		panic(err)
	}
	var b []byte
	for _, v := range values {
		bits := uint64(int64(v))
		switch {
		case s.Kind == 'f' && s.Size == 2:
			bits = map[float64]uint64{0: 0, 1: 0x3c00, -2.5: 0xc100, 65504: 0x7bff}[v]
		case s.Kind == 'f' && s.Size == 4:
			bits = uint64(math.Float32bits(float32(v)))
		case s.Kind == 'f':
			bits = math.Float64bits(v)
		}
		p := le.AppendUint64(nil, bits)[:s.Size]
		if s.Big {
			for i := range p {
				b = append(b, p[len(p)-1-i])
			}
			continue
		}
		b = append(b, p...)
	}
	return b
}

// decode reads the values of a column.
func decode(c *shardify.Column) (all []float64) {
	size := c.DType.Size()
	for i := 0; i < len(c.Data); i += size {
		bits := le.Uint64(append(c.Data[i:i+size:i+size], make([]byte, 8)...))
		switch {
		case c.DType == shardify.F32:
			all = append(all, float64(math.Float32frombits(uint32(bits))))
		case c.DType == shardify.F64:
			all = append(all, math.Float64frombits(bits))
		case c.DType < shardify.U8: // sign
			all = append(all, float64(int64(bits<<(64-8*size))>>(64-8*size)))
		default:
			all = append(all, float64(bits))
		}
	}
	return all
}

// TestWidenedValuesAreThoseOfTheFiles in whatever way they are stored.
func TestWidenedValuesAreThoseOfTheFiles(t *testing.T) {
	for _, c := range []struct {
		types []string
		want  shardify.DType
	}{
		{[]string{"<f4", "<f8"}, shardify.F64}, {[]string{"<f2", "<f4"}, shardify.F32}, {[]string{">f4", "<f8", "<f2"}, shardify.F64},
		{[]string{"<i4", "<i8"}, shardify.I64}, {[]string{"|u1", "<i2"}, shardify.I16}, {[]string{"|i1", "<u2"}, shardify.I32},
		{[]string{">u4", "|i1"}, shardify.I64}, {[]string{"|u1", "<u8"}, shardify.U64}, {[]string{"<i4", "<f4"}, shardify.F64},
		{[]string{">i2", "<f4"}, shardify.F32}, {[]string{"|i1", "<f2"}, shardify.F32}, {[]string{"<i4", "|u1", ">i2"}, shardify.I32},
	} {
		for _, l := range []struct {
			name   string
			method uint16
			make   func(descr string, v []float64) []byte
		}{
			{"stored", zips.Stored, func(descr string, v []float64) []byte {
				return npyBytes(descr, false, []int{len(v)}, encode(descr, v))
			}},
			{"deflated", zips.Deflated, func(descr string, v []float64) []byte {
				return npyBytes(descr, false, []int{len(v)}, encode(descr, v))
			}},
			{"Fortran order", zips.Stored, func(descr string, v []float64) []byte {
				return npyBytes(descr, true, []int{len(v), 1}, encode(descr, v))
			}},
			{"in a struct", zips.Deflated, func(descr string, v []float64) []byte {
				var b []byte
				for i := range v {
					b = append(append(b, '_'), encode(descr, v[i:i+1])...)
				}
				return npyBytes(fmt.Sprintf("[('', '|V1'), ('v', '%s')]", descr), false, []int{len(v)}, b)
			}},
		} {
			var files []member
			var want []float64
			for i, descr := range c.types {
				files = append(files, npz(fmt.Sprintf("%d.npz", i), member{"x.npy", l.method, l.make(descr, numbers[descr])}))
				want = append(want, numbers[descr]...)
			}
			for _, target := range []int64{1, 1 << 30} {
				got, err := loadTable(folder(t, files...), nil, nil, target)
				if err != nil {
					t.Errorf("%v %s: %v", c.types, l.name, err)
					continue
				}
				col := got.cols[got.order[0]]
				if is := fmt.Sprint(decode(col)); col.DType != c.want || is != fmt.Sprint(want) {
					t.Errorf("%v %s: %v %s, want %v %v", c.types, l.name, col.DType, is, c.want, want)
				}
			}
		}
	}
}

// TestWidenedBigSamplesAreNotHandedOnAsTheyStandInTheFile while those of files that have
// the type of all are. They take the memory that was said, and no second buffer.
func TestWidenedBigSamplesAreNotHandedOnAsTheyStandInTheFile(t *testing.T) {
	const n = 1 << 18
	src, err := Format.Open(t.Context(), format.OpenArgs{Table: folder(t,
		npz("0.npz", member{"x.npy", 0, zeros("<f4", 1, n)}), npz("1.npz", member{"x.npy", 0, zeros("<f8", 1, n)}))})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	pool := shardify.NewPool(1 << 30)
	for sp, err := range src.Spans(t.Context(), 1<<16) {
		if err != nil || sp.Bytes != 8*n {
			t.Fatalf("%+v, error %v", sp, err)
		}
		sp.Stream = true
		r, _ := src.Reader(0)
		mem, _ := pool.Grant(t.Context(), sp.Bytes)
		b, err := r.Read(t.Context(), sp, mem)
		if err != nil {
			t.Fatal(err)
		}
		if c := &b.Columns[0]; (c.Stream == nil) != (sp.Input == 0) || c.Stream == nil && len(c.Data) != 8*n {
			t.Errorf("input %d: stream %v, %d bytes", sp.Input, c.Stream != nil, len(c.Data))
		}
		if mem.Used() > shardify.ClassBytes(sp.Bytes) {
			t.Errorf("took %d bytes for a span of %d", mem.Used(), sp.Bytes)
		}
		mem.Release()
		r.Close()
	}
}
