package xyz

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// FuzzReals compares numbers in columns with those of strconv, one by one.
func FuzzReals(f *testing.F) {
	for _, s := range []string{"1.5", "   -0.0 1.", "  12345678.12345678 -0.12345678901234567 3", "0.1234567890123456789012 2.5", "9007199270000000. 9007199254740993.1 1e5 -.5 +1.5", "1.5x", "\t1.5", "        -1.25         7.125\t8.5\r", "      1.23456789     -0.12345678  -999.00000001 -1.5", " 1234567.12345678 -123456.12345678        .12345678"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\n") {
			return
		}
		b, i := []byte(s+"\n"), 0
		for range 8 {
			out, end, n := appendReals(nil, b, i, 1)
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
	defer func(have bool) { haveFixed = have }(haveFixed)
	for _, have := range []bool{haveFixed, false} {
		haveFixed = have
		allReals(t)
	}
}

func allReals(t *testing.T) {
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
		out, _, n := appendReals(nil, b, 0, 1001)
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

// TestFixedNumbersAreThoseOfStrconv puts each byte into each place of a number, and each length of its parts.
func TestFixedNumbersAreThoseOfStrconv(t *testing.T) {
	read := 0
	check := func(cell []byte) {
		cell = append(cell, " 1.5\n\n\n\n"...)
		v, ok := fixed(cell)
		var out [8]byte
		if n := haveFixed && fixedReals(&out[0], &cell[0], 1) == 1; haveFixed && (n != ok || ok && binary.LittleEndian.Uint64(out[:]) != math.Float64bits(v)) {
			t.Fatalf("%q: %v %x in assembly, %v %x", cell, n, out, ok, math.Float64bits(v))
		}
		if !ok {
			return
		}
		read++
		want, err := strconv.ParseFloat(strings.TrimLeft(string(cell[:width]), " "), 64)
		if err != nil || math.Float64bits(v) != math.Float64bits(want) || cell[0] != ' ' || cell[width] > ' ' {
			t.Fatalf("%q: %v, want %v %v", cell, v, want, err)
		}
	}
	for _, v := range []string{"9.87654321", "-0.00000000", "1234567.00000001", "-999999.99999999", "", "-", ".12345678", "-.12345678"} {
		cell := []byte(" " + strings.Repeat(" ", width-1-len(v)) + v + " ")
		for at := range cell {
			for c := range 256 {
				b := bytes.Clone(cell)
				b[at] = byte(c)
				check(b)
			}
		}
	}
	if read < 500 {
		t.Errorf("only %d numbers were read", read)
	}
}
