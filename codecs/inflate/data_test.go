package inflate

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// kinds are data sets like those that people deflate, made from a seed.
var kinds = []struct {
	name string
	make func(n int) []byte
}{
	{"energies", energies},
	{"gauss", gauss},
	{"shuffled", func(n int) []byte { return shuffle(energies(n), 4) }},
	{"gauss-shuffled", func(n int) []byte { return shuffle(gauss(n), 4) }},
	{"indices", indices},
	{"text", text},
	{"mask", mask},
	{"labels", labels},
	{"noise", noise},
}

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func floats(n int, next func() float64) []byte {
	p := make([]byte, 0, n+3)
	for len(p) < n {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(next())))
	}
	return p[:n]
}

// energies are log-normal float32, 60 % of them zero, as in a calorimeter.
func energies(n int) []byte {
	r := rng()
	return floats(n, func() float64 {
		if r.Float64() < 0.6 {
			return 0
		}
		return math.Exp(r.NormFloat64())
	})
}

// gauss are float32 with 10 bits of mantissa, as after lossy rounding.
func gauss(n int) []byte {
	r := rng()
	return floats(n, func() float64 {
		return float64(math.Float32frombits(math.Float32bits(float32(r.NormFloat64())) &^ (1<<13 - 1)))
	})
}

// shuffle groups the bytes of equal significance, as HDF5 does.
func shuffle(p []byte, width int) []byte {
	out := make([]byte, 0, len(p))
	for lane := range width {
		for i := lane; i < len(p); i += width {
			out = append(out, p[i])
		}
	}
	return out
}

// indices are increasing int32 with small steps.
func indices(n int) []byte {
	r := rng()
	p := make([]byte, 0, n+3)
	for v := uint32(0); len(p) < n; v += r.Uint32N(7) {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	return p[:n]
}

// text has words from a vocabulary of Zipf-like frequency.
func text(n int) []byte {
	r := rng()
	words := make([][]byte, 4000)
	for i := range words {
		w := make([]byte, 2+r.IntN(9))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgkjqxz"[min(r.IntN(26), r.IntN(26))]
		}
		words[i] = w
	}
	p := make([]byte, 0, n+16)
	for len(p) < n {
		p = append(p, words[int(math.Pow(float64(len(words)), r.Float64()))-1]...)
		p = append(p, " \n"[min(1, r.IntN(12)/11)])
	}
	return p[:n]
}

// mask is a plane of bytes 0 and 1 with runs.
func mask(n int) []byte {
	r := rng()
	p := make([]byte, n)
	v := byte(0)
	for i := range p {
		if r.IntN(20) == 0 {
			v = 1 - v
		}
		p[i] = v
	}
	return p
}

// labels are independent classes of uneven frequency.
func labels(n int) []byte {
	r := rng()
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(math.Abs(r.NormFloat64()) * 4)
	}
	return p
}

func noise(n int) []byte {
	r := rng()
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// deflated is p as compress/flate writes it.
func deflated(tb testing.TB, p []byte, level int) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, level)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(p); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}
