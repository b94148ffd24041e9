package numeric

import (
	"encoding/binary"
	"fmt"
	"math"
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
		if v, k := digits([]byte(s)); k != n || v != want {
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
			if _, k := digits(b); k != want {
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

// FuzzReals compares numbers in columns with those of strconv, one by one.
func FuzzReals(f *testing.F) {
	for _, s := range []string{"1.5", "   -0.0 1.", "  12345678.12345678 -0.12345678901234567 3", "0.1234567890123456789012 2.5", "9007199270000000. 9007199254740993.1 1e5 -.5 +1.5", "1.5x", "\t1.5", "        -1.25         7.125\t8.5\r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\n") {
			return
		}
		b, i := []byte(s+"\n"), 0
		for range 8 {
			out, end, n := AppendReals(nil, b, i, 1)
			if n == 0 {
				if end != i || len(out) != 0 {
					t.Fatalf("%q: %d bytes and place %d of no number at %d", s, len(out), end, i)
				}
				return
			}
			word := strings.TrimLeft(s[i:end], " ")
			want, err := strconv.ParseFloat(word, 64)
			if got := binary.LittleEndian.Uint64(out); err != nil || got != math.Float64bits(want) || strings.ContainsAny(word, "eE+_xX") || b[end] > ' ' {
				t.Fatalf("%q: %x of %q, want %v %v", s, got, word, want, err)
			}
			i = end
		}
	})
}

// TestAllRealsAreRead looks at how many are read at once, in the forms that programs write.
func TestAllRealsAreRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, form := range []string{"%16.8f", "%.10f", "%v", "%20.15f", "%8.3f"} {
		var b []byte
		var want []float64
		for range 1000 {
			word := fmt.Sprintf(form, 0.01+rng.Float64()*100-50)
			v, _ := strconv.ParseFloat(strings.TrimSpace(word), 64)
			b, want = append(append(b, ' '), word...), append(want, v)
		}
		b = append(b, " 1.5\n        "...)
		out, _, n := AppendReals(nil, b, 0, 1001)
		if form != "%v" && n != 1001 {
			t.Errorf("%s: %d of 1001 numbers", form, n)
		}
		for i := range min(n, 1000) {
			if got := binary.LittleEndian.Uint64(out[8*i:]); got != math.Float64bits(want[i]) {
				t.Fatalf("%s: number %d is %v, want %v", form, i, math.Float64frombits(got), want[i])
			}
		}
	}
}
