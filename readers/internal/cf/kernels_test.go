package cf

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify"
)

// The kernels give the bytes of the loops of decode.go, and no byte more.
func TestKernelsAgreeWithTheLoops(t *testing.T) {
	if !haveAVX2 {
		t.Skip("no kernels on this machine")
	}
	defer func() { haveAVX2 = true }()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, to := range []shardify.DType{shardify.F32, shardify.F64} {
		packed := map[string]Attribute{"scale_factor": number(to, 0.001953), "add_offset": number(to, 273.15)}
		filled := map[string]Attribute{"scale_factor": number(to, 1.5), "add_offset": number(to, -0.25), "_FillValue": number(shardify.I16, -32767)}
		for name, c := range map[string]struct {
			stored shardify.DType
			attrs  map[string]Attribute
		}{
			"packed":          {shardify.I16, packed},
			"packed, filled":  {shardify.I16, filled},
			"zero":            {to, map[string]Attribute{"_FillValue": number(to, 0)}},
			"a value":         {to, map[string]Attribute{"_FillValue": number(to, -9999)}},
			"no value of f32": {to, map[string]Attribute{"missing_value": number(shardify.F64, 1e300)}},
		} {
			d, err := New(c.stored, lookup(c.attrs))
			if err != nil || d == nil || d.To != to {
				t.Fatalf("%s: %+v, %v", name, d, err)
			}
			quick := 0
			for n := range 70 {
				src := shardify.Bytes(values(rng, c.stored, n))[:n*c.stored.Size()]
				width := n * to.Size()
				dst := [2][]byte{shardify.Bytes(make([]uint64, n+8)), shardify.Bytes(make([]uint64, n+8))}
				for i, fast := range []bool{false, true} {
					haveAVX2 = fast
					if fast {
						quick = max(quick, d.quick(dst[i], src))
					}
					if err := d.Decode(dst[i][:width], src); err != nil {
						t.Fatal(err)
					}
					if c.stored == to { // in place, as readers do it
						copy(dst[i][width:], src[:min(len(src), 64)])
						same := shardify.Bytes(make([]uint64, n))[:width]
						copy(same, src)
						if err := d.Decode(same, same); err != nil || !bytes.Equal(same, dst[i][:width]) {
							t.Fatalf("%s to %s: in place %x, else %x, %v", name, to, same, dst[i][:width], err)
						}
					}
				}
				if !bytes.Equal(dst[0], dst[1]) {
					t.Fatalf("%s to %s: %d values: %x, the loops %x", name, to, n, dst[1], dst[0])
				}
			}
			if quick != 64 {
				t.Errorf("%s to %s: kernels took %d values", name, to, quick)
			}
		}
	}
}

// values are n numbers of a type, some of them special.
func values(rng *rand.Rand, stored shardify.DType, n int) []uint64 {
	out := make([]uint64, n+1)
	p := shardify.Bytes(out)
	special := []float64{0, math.Copysign(0, -1), math.NaN(), -9999, math.Inf(1), 1e-310, -32767}
	for i := range n {
		x := rng.NormFloat64() * 1000
		if rng.IntN(3) == 0 {
			x = special[rng.IntN(len(special))]
		}
		switch stored {
		case shardify.I16:
			shardify.View[int16](p)[i] = int16(rng.Uint32())
			if rng.IntN(3) == 0 {
				shardify.View[int16](p)[i] = -32767
			}
		case shardify.F32:
			shardify.View[float32](p)[i] = float32(x)
		default:
			shardify.View[float64](p)[i] = x
		}
	}
	return out
}
