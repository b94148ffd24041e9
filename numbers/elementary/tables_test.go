package elementary

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"math"
	"math/big"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite tables.go and the digests")

// TestTablesAreWhatTheirFormulasSay computes every constant again.
func TestTablesAreWhatTheirFormulasSay(t *testing.T) {
	want := tables(t)
	if *update {
		if err := os.WriteFile("tables.go", want, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile("tables.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("tables.go differs from what the series give; go test -update rewrites it")
	}
}

type printer struct {
	bytes.Buffer
	t    *testing.T
	cell int // of the table that is written
}

// open begins a table.
func (p *printer) open(declaration string) {
	p.cell = 0
	p.WriteString(declaration + "{")
}

// entry writes an entry of a table, perLine of them on a line.
func (p *printer) entry(perLine int, layout string, values ...any) {
	if p.cell%perLine == 0 {
		p.WriteString("\n")
	}
	p.cell++
	fmt.Fprintf(p, layout+", ", values...)
}

// end ends a table.
func (p *printer) end() { p.WriteString("\n}\n\n") }

func tables(t *testing.T) []byte {
	p := &printer{t: t}
	p.WriteString("package elementary\n\n// Made by go test -run TestTables -update from series in 256 bits; do not edit.\n\n")
	p.WriteString("const (\n")
	p.parts("ln2N", div(ln2(), whole(expSteps)), 33, 53)
	p.parts("ln2", ln2(), 42, 53)
	p.parts("halfPi", half(pi()), 33, 33, 53)
	p.parts("halfPiWhole", half(pi()), 53, 53)
	p.parts("piWhole", pi(), 53, 53)
	p.parts("log2E", div(whole(1), ln2()), 26, 53)
	p.parts("log10E", div(whole(1), bigLog(whole(10))), 26, 53)
	p.one("stepsOverLn2", div(whole(expSteps), ln2()))
	p.one("twoOverPi", div(whole(2), pi()))
	p.one("cbrt2", bigCbrt(whole(2)))
	p.one("cbrt4", bigCbrt(whole(4)))
	p.WriteString(")\n\n")

	p.open("var expTable = [expSteps]split")
	for i := range int64(expSteps) {
		p.pair(bigExp(div(mul(ln2(), whole(i)), whole(expSteps))), 53)
	}
	p.end()

	p.open("var logTable = [logSteps]logStep")
	for i := range uint64(logSteps) {
		c := math.Float64frombits(logFrom + i<<(52-logBits))
		inv := rounded(1/c, 14)
		l := neg(bigLog(num(inv)))
		hi := fixed(l, 42)
		lo, _ := sub(l, num(hi)).Float64()
		p.entry(4, "{%x, %x, %x}", inv, hi, lo)
	}
	p.end()

	p.open("var atanTable = [atanSteps]split")
	for i := range uint64(atanSteps) {
		p.pair(bigAtan(num(math.Float64frombits(atanFrom+i<<(52-atanBits)))), 53)
	}
	p.end()

	p.open("// twoOverPiBits are the bits of 2/pi behind the point.\nvar twoOverPiBits = [...]uint64")
	q := new(big.Float).SetPrec(1700).SetInt64(2)
	q.Quo(q, piBits())
	n, _ := q.SetMantExp(q, 64*20).Int(nil)
	for i := 19; i >= 0; i-- {
		w := new(big.Int).Rsh(n, uint(64*i))
		p.entry(5, "%#x", w.And(w, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
	}
	p.end()

	// Polynomials in z = x*x of an odd function: (f(x)/x - 1) / z.
	odd := func(f func(*big.Float) *big.Float) func(z *big.Float) *big.Float {
		return func(z *big.Float) *big.Float {
			x := root(z)
			return div(sub(div(f(x), x), whole(1)), z)
		}
	}
	eighth := math.Pi * math.Pi / 16 * (1 + 1e-6)
	p.polynomial("sinPoly", 6, 0, eighth, eighth, odd(bigSin))
	p.polynomial("cosPoly", 6, 0, eighth, eighth*eighth, func(z *big.Float) *big.Float {
		return div(sub(bigCos(root(z)), sub(whole(1), half(z))), mul(z, z))
	})
	p.polynomial("asinPoly", 13, 0, 0.25, 0.25, odd(bigAsin))
	p.polynomial("atanPoly", 7, 0, 1.0/64, 1.0/64, odd(bigAtan))
	p.polynomial("sinhPoly", 6, 0, 1.0/16, 1.0/16, odd(bigSinh))
	p.polynomial("tanhPoly", 8, 0, 1.0/16, 1.0/16, odd(bigTanh))
	p.polynomial("asinhPoly", 9, 0, 1.0/16, 1.0/16, odd(bigAsinh))
	p.polynomial("atanhPoly", 9, 0, 1.0/16, 1.0/16, odd(bigAtanh))
	p.polynomial("expm1Poly", 10, -0.25, 0.25, 1.0/16, func(x *big.Float) *big.Float {
		return div(sub(sub(bigExpm1(x), x), half(mul(x, x))), mul(x, mul(x, x)))
	})
	p.polynomial("cbrtPoly", 7, 1, 2, 1, bigCbrt)

	out, err := format.Source(p.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Bytes())
	}
	return out
}

func (p *printer) one(name string, x *big.Float) {
	f, _ := x.Float64()
	fmt.Fprintf(p, "%s = %x\n", name, f)
}

// parts writes x as a sum of numbers of so many bits.
func (p *printer) parts(name string, x *big.Float, bits ...uint) {
	for i, n := range bits {
		f, _ := new(big.Float).SetPrec(n).Set(x).Float64()
		x = sub(x, num(f))
		fmt.Fprintf(p, "%s%d = %x\n", name, i+1, f)
	}
}

func (p *printer) pair(x *big.Float, bits uint) {
	hi, _ := new(big.Float).SetPrec(bits).Set(x).Float64()
	lo, _ := sub(x, num(hi)).Float64()
	p.entry(4, "{%x, %x}", hi, lo)
}

// rounded has so many bits.
func rounded(x float64, bits uint) float64 {
	f, _ := new(big.Float).SetPrec(bits).SetFloat64(x).Float64()
	return f
}

// fixed rounds to a multiple of 2^-bits.
func fixed(x *big.Float, bits int) float64 {
	n, _ := fresh().SetInt(nearest(twoTo(x, bits))).Float64()
	return math.Ldexp(n, -bits)
}

// polynomial writes the one through f at the Chebyshev nodes of [lo, hi], which is as
// good as the best within a bit or two. Its error times weight must not count.
func (p *printer) polynomial(name string, terms int, lo, hi, weight float64, f func(*big.Float) *big.Float) {
	x, d := make([]*big.Float, terms), make([]*big.Float, terms)
	node := func(i, n int) float64 {
		return (lo+hi)/2 + (hi-lo)/2*math.Cos(math.Pi*(float64(i)+0.5)/float64(n))
	}
	for i := range terms {
		x[i] = num(rounded(node(i, terms), 20))
		d[i] = f(x[i])
	}
	for k := 1; k < terms; k++ { // divided differences
		for i := terms - 1; i >= k; i-- {
			d[i] = div(sub(d[i], d[i-1]), sub(x[i], x[i-k]))
		}
	}
	c := []*big.Float{d[terms-1]}
	for k := terms - 2; k >= 0; k-- { // c = c*(z - x[k]) + d[k]
		next := make([]*big.Float, len(c)+1)
		for i := range next {
			next[i] = fresh()
			if i > 0 {
				next[i] = add(next[i], c[i-1])
			}
			if i < len(c) {
				next[i] = sub(next[i], mul(c[i], x[k]))
			}
		}
		next[0] = add(next[0], d[k])
		c = next
	}
	worst := 0.0
	for i := range 3 * terms {
		z := num(rounded(node(i, 3*terms), 20))
		y := fresh()
		for k := terms - 1; k >= 0; k-- {
			ck, _ := c[k].Float64()
			y = add(mul(y, z), num(ck))
		}
		e, _ := sub(y, f(z)).Float64()
		worst = max(worst, math.Abs(e)*weight)
	}
	p.t.Logf("%s: error 2^%.1f", name, math.Log2(worst))
	p.open(fmt.Sprintf("var %s = [%d]float64", name, terms))
	for _, c := range c {
		v, _ := c.Float64()
		p.entry(7, "%x", v)
	}
	p.end()
}
