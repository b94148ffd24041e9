package numeric

import (
	"math/rand/v2"
	"strconv"
	"strings"
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
		v, ok := Float(m, e)
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

func TestDigits(t *testing.T) {
	for _, s := range []string{"00000000", "12345678", "99999999", "1234567a", "/2345678", ":2345678", "\xb12345678", "1 345678", "12\xba45678", "123\xff5678", "1234\x005678", "98765\n12", "1\xb0\xb9/:000", "999999.9"} {
		n := 0
		for n < 8 && s[n]-'0' <= 9 {
			n++
		}
		want, _ := strconv.ParseUint("0"+s[:n], 10, 64)
		if v, k := Digits([]byte(s)); k != n || v != want {
			t.Errorf("%q: %d of %d digits, want %d of %d", s, v, k, want, n)
		}
	}
	for c := range 256 { // behind each number of digits, and before any byte
		for n := range 8 {
			b := []byte("98765432")
			b[n], b[7] = byte(c), byte(c*7)
			want := 0
			for want < 8 && b[want]-'0' <= 9 {
				want++
			}
			if _, k := Digits(b); k != want {
				t.Errorf("%q: %d digits, want %d", b, k, want)
			}
		}
	}
}

// FuzzFloat compares the numbers of quick cells with those of strconv.
func FuzzFloat(f *testing.F) {
	for _, s := range []string{"0", "1.5", "123456789012345678.9", "0.1234567890123456789", "9007199254740993.1", "1e22", "1e-19", "8888888888888888888e-19"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) == 0 || strings.ContainsAny(s, "_\n\"") || s[0]-'0' > 9 && s[0] != '.' {
			return
		}
		b := []byte(s + "\n")
		m, e, n, end := Decimal(b, 0)
		if n == 0 || n > 19 || end != len(s) {
			return
		}
		v, ok := Float(m, e)
		if want, err := ParseFloat([]byte(s)); ok && (err != nil || v != want) {
			t.Errorf("%s: %v, want %v (%v)", s, v, want, err)
		}
	})
}
