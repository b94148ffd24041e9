package frame

import (
	"bytes"
	"math"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
)

// text is the type of texts.
const text = shardify.U8

// whole reads an integer of the grammar of comments: no zeros before others, at most 64 bits.
func whole(w []byte) (int64, bool) {
	if padded(w) {
		return 0, false
	}
	return Integer(w)
}

// Integer reads digits behind a sign, of at most 64 bits.
func Integer(w []byte) (int64, bool) {
	neg, m, d := false, uint64(0), w
	if len(d) > 0 && (d[0] == '-' || d[0] == '+') {
		neg, d = d[0] == '-', d[1:]
	}
	for _, c := range d {
		if c -= '0'; c > 9 || m > (1<<63)/10 {
			return 0, false
		}
		m = m*10 + uint64(c)
	}
	if len(d) == 0 || m > 1<<63 || m == 1<<63 && !neg {
		return 0, false
	}
	if neg {
		m = -m
	}
	return int64(m), true
}

// isWhole reports whether a word is an integer, of any size.
func isWhole(w []byte) bool {
	d := w
	if len(d) > 0 && (d[0] == '-' || d[0] == '+') {
		d = d[1:]
	}
	for _, c := range d {
		if c-'0' > 9 {
			return false
		}
	}
	return len(d) > 0 && (d[0] != '0' || len(d) == 1)
}

// padded reports whether a word is digits with zeros before them, which is a text in a comment.
func padded(w []byte) bool {
	d := w
	for len(d) > 0 && (d[0] == '-' || d[0] == '+') {
		d = d[1:]
	}
	if len(d) < 2 || d[0] != '0' {
		return false
	}
	for _, c := range d {
		if c-'0' > 9 {
			return false
		}
	}
	return true
}

// decimal is a word as m*10^e, of n digits, at most 19 of which fit.
type decimal struct {
	m    uint64
	e, n int
	neg  bool
	exp  int // where the exponent is; -1 without one
}

// scan reads digits with a point and an exponent, also that of Fortran (1.5D3); false for other words.
func (d *decimal) scan(w []byte) bool {
	i := 0
	if len(w) > 0 && (w[0] == '-' || w[0] == '+') {
		d.neg = w[0] == '-'
		i++
	}
	from := i
	for ; i < len(w) && w[i]-'0' <= 9; i++ {
		d.m = d.m*10 + uint64(w[i]-'0')
	}
	d.n, d.exp = i-from, -1
	if i < len(w) && w[i] == '.' {
		for i++; i < len(w) && w[i]-'0' <= 9; i++ {
			d.m = d.m*10 + uint64(w[i]-'0')
			d.n++
			d.e--
		}
	}
	if d.n == 0 || i == len(w) {
		return d.n > 0
	}
	if c := w[i] | 0x20; c != 'e' && c != 'd' {
		return false
	}
	d.exp = i
	i++
	neg := i < len(w) && w[i] == '-'
	if neg || i < len(w) && w[i] == '+' {
		i++
	}
	from, x := i, 0
	for ; i < len(w) && w[i]-'0' <= 9; i++ {
		x = min(x*10+int(w[i]-'0'), 1<<20)
	}
	if neg {
		x = -x
	}
	d.e += x
	return i > from && i == len(w)
}

// special reads inf and nan, behind a sign and in letters of any case.
func special(w []byte) (float64, bool) {
	d := w
	for len(d) > 0 && (d[0] == '-' || d[0] == '+') {
		d = d[1:]
	}
	switch {
	case len(w)-len(d) > 1 || len(d) != 3 && len(d) != 8:
	case strings.EqualFold(string(d), "nan"):
		return math.Float64frombits(0x7ff8000000000000), true // Python's
	case strings.EqualFold(string(d), "inf"), strings.EqualFold(string(d), "infinity"):
		sign := 1
		if w[0] == '-' {
			sign = -1
		}
		return math.Inf(sign), true
	}
	return 0, false
}

// isReal reports whether Real reads a word.
func isReal(w []byte) bool {
	var d decimal
	if d.scan(w) {
		return true
	}
	_, ok := special(w)
	return ok
}

// Real reads a number, correctly rounded.
func Real(w []byte) (v float64, ok bool) {
	var d decimal
	if !d.scan(w) {
		return special(w)
	}
	if ok = d.n <= 19; ok {
		v, ok = numeric.Float(d.m, d.e)
	}
	if ok && d.neg {
		v = -v
	}
	if ok {
		return v, true
	}
	if d.exp >= 0 && w[d.exp]|0x20 == 'd' {
		w = bytes.Clone(w)
		w[d.exp] = 'e'
	}
	v, err := numeric.ParseFloat(w) // beyond the largest number it is an infinity
	return v, err == nil || math.IsInf(v, 0)
}

// Logical reads a truth value.
func Logical(w []byte) (v, ok bool) {
	switch string(w) {
	case "T", "true", "True", "TRUE":
		return true, true
	case "F", "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// typeOf is the type that all words have: Invalid without words, U8 for texts.
func typeOf(words [][]byte) shardify.DType {
	ints, reals, bools, fits := true, true, true, true
	for _, w := range words {
		if ints = ints && isWhole(w); ints {
			_, ok := Integer(w)
			fits = fits && ok
		}
		if reals {
			reals = isReal(w) && !padded(w)
		}
		if bools {
			_, bools = Logical(w)
		}
	}
	switch {
	case len(words) == 0:
		return shardify.Invalid
	case ints && fits:
		return shardify.I64
	case ints: // no rounded float
		return text
	case reals:
		return shardify.F64
	case bools:
		return shardify.Bool
	}
	return text
}

const elements = "X H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd " +
	"In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am " +
	"Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"

// number is that of an element by its symbol, of two letters at most: the first one, times 32, and
// the second one, each from 1. 0: no element; else one more than the number.
var number = func() (of [1 << 10]uint8) {
	for z, s := range strings.Fields(elements) {
		p := int(s[0]&31) << 5
		if len(s) > 1 {
			p |= int(s[1] & 31)
		}
		of[p] = uint8(z + 1)
	}
	return of
}()

// Z is the atomic number of a chemical symbol, in letters of any case, or of a number.
func Z(s []byte) (uint8, bool) {
	if len(s) == 2 && s[0]|0x20-'a' < 26 && s[1]|0x20-'a' < 26 {
		z := number[int(s[0]&31)<<5|int(s[1]&31)]
		return z - 1, z > 0
	}
	if len(s) == 1 && s[0]|0x20-'a' < 26 {
		z := number[int(s[0]&31)<<5]
		return z - 1, z > 0
	}
	m, ok := whole(s)
	return uint8(m), ok && m >= 0 && m <= 118
}
