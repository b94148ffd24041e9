package csv

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestFloatsAreRoundedCorrectly compares with strconv, at halves between two numbers too.
func TestFloatsAreRoundedCorrectly(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	quick := 0
	for range 200000 {
		m := rng.Uint64() >> rng.IntN(64)
		if m > 9999999999999999999 {
			m /= 10
		}
		e := rng.IntN(46) - 23
		if rng.IntN(3) == 0 { // near the middle of two numbers
			m = (rng.Uint64()>>11|1<<52)<<11 | 1<<10
			m += uint64(rng.IntN(3)) - 1
			e = 0
			for m > 9999999999999999999 {
				m /= 10
			}
		}
		v, ok := float(m, e)
		if !ok {
			continue
		}
		quick++
		want, err := strconv.ParseFloat(strconv.FormatUint(m, 10)+"e"+strconv.Itoa(e), 64)
		if err != nil || v != want {
			t.Fatalf("%de%d: %v, want %v", m, e, v, want)
		}
	}
	t.Logf("%d of 200000 without strconv", quick)
}

func TestEightDigits(t *testing.T) {
	for _, s := range []string{"00000000", "12345678", "99999999", "1234567a", "/2345678", ":2345678", "\xb12345678", "1 345678"} {
		want, err := strconv.ParseUint(s[:8], 10, 64)
		if v, ok := eight([]byte(s)); ok != (err == nil) || ok && v != want {
			t.Errorf("%q: %d %v", s, v, ok)
		}
	}
}
