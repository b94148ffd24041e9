package rntuple

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
)

// TestKernelsDecodeAnyPart compares every encoding with the tests' plain encoder,
// for pages long enough for all loops, and parts that begin and end anywhere.
func TestKernelsDecodeAnyPart(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for id := range columnTypes {
		ct := colType(id)
		if e := columnTypes[ct].enc; e == packed || e == quantum {
			continue // the models have them
		}
		for range 60 {
			n := 1 + rng.IntN(2*cacheBlock+100)
			per, mask := 1, ^uint64(0)>>(64-min(columnTypes[ct].maxBits, 64))
			if ct == colSwitch {
				per = 2
			}
			v := make([]uint64, n*per)
			var want []byte
			for i := range v {
				if v[i] = rng.Uint64() & mask; ct.index() && i > 0 {
					v[i] = (v[i-1] + v[i]>>14) & mask
				}
				if ct == colSwitch && i%2 == 1 {
					v[i] &= math.MaxUint32
					want = append(want, le.AppendUint32(nil, uint32(v[i]))...)
					continue
				}
				want = append(want, le.AppendUint64(nil, v[i])[:min(ct.Width(), 8)]...)
			}
			c := &written{Column: Column{Type: ct, Bits: columnTypes[ct].maxBits}}
			disk := encode(c, v)
			p := page{n: int32(n), size: int64(len(disk))}
			from := rng.IntN(n)
			to := from + rng.IntN(n-from+1)
			w := ct.Width()
			dst := make([]byte, (to-from)*w)
			var s scratch
			if err := p.decode(dst, disk, &c.Column, from, to, &s); err != nil || !bytes.Equal(dst, want[from*w:to*w]) {
				t.Errorf("%v: elements %d to %d of %d: %v", ct, from, to, n, err)
			}
		}
	}
}

func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		sign, e, m := 1.0, h>>10&31, float64(h&1023)
		if h>>15 != 0 {
			sign = -1
		}
		want := sign * math.Ldexp(1024+m, e-25)
		switch {
		case e == 0:
			want = sign * math.Ldexp(m, -24)
		case e == 31 && m == 0:
			want = math.Inf(int(sign))
		case e == 31:
			want = math.NaN()
		}
		got := float64(half.F16(uint16(h)))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != (sign < 0) {
			t.Fatalf("%04x is %v, want %v", h, got, want)
		}
	}
}

// TestCutsAreNotFinerThanPages: most pages would be decoded twice otherwise.
func TestCutsAreNotFinerThanPages(t *testing.T) {
	m := makeShared(10<<16, 10, 1<<16, make([]byte, 4<<16))
	s := m.open(t).Select([]int{0})
	if n := s.Inside(1); n != 2<<16 {
		t.Errorf("pieces of %d entries with pages of %d", n, 1<<16)
	}
	if n := s.Inside(1 << 40); n != 10<<16 {
		t.Errorf("pieces of %d entries for a large target", n)
	}
	if f := s.Fields(); len(f) != 1 || f[0].DType != shardify.I32 {
		t.Error(f)
	}
}
