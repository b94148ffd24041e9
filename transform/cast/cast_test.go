package cast

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// edges are values near every border that a cast can meet.
func edges() []float64 {
	out := []float64{0, 0.5, -0.5, 0.999, -0.999, 1, -1, 1.5, 65504, 65519.9, 65520, 65536, 3.4e38, 3.5e38, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), 1 << 24, 1<<24 + 1, 1<<53 + 2}
	for _, p := range []float64{7, 8, 15, 16, 31, 32, 53, 63, 64} {
		for _, d := range []float64{-1.5, -1, -0.5, 0, 0.5, 1, 1 << 45, 1<<45 + 1<<12} {
			out = append(out, math.Exp2(p)+d, -math.Exp2(p)+d)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		out = append(out, (r.Float64()-0.5)*math.Exp2(float64(r.IntN(70))))
	}
	return out
}

var allTypes = []shardify.DType{shardify.Bool, shardify.I8, shardify.I16, shardify.I32, shardify.I64, shardify.U8, shardify.U16, shardify.U32, shardify.U64, shardify.F16, shardify.BF16, shardify.F32, shardify.F64}

func rangeOf(d shardify.DType) (lo, hi *big.Float) {
	n := uint(d.Size() * 8)
	one := new(big.Float).SetPrec(200).SetInt64(1)
	lo, hi = new(big.Float).SetPrec(200), new(big.Float).SetPrec(200)
	if d >= shardify.U8 {
		hi.SetMantExp(one, int(n))
	} else {
		hi.SetMantExp(one, int(n)-1)
		lo.Neg(hi)
	}
	return lo, hi.Sub(hi, big.NewFloat(1))
}

// exact is a value of a column without rounding; nil for what is not finite.
func exact(d shardify.DType, data []byte, i int) *big.Float {
	s := Text(d, data, i)
	if d == shardify.Bool {
		s = map[string]string{"true": "1", "false": "0"}[s]
	}
	if d == shardify.F32 { // its shortest text is that of a f32
		s = fmt.Sprintf("%.60g", float64(shardify.View[float32](data)[i]))
	}
	if d == shardify.F16 {
		s = fmt.Sprintf("%.60g", float64(half.F16(shardify.View[uint16](data)[i])))
	}
	if d == shardify.BF16 {
		s = fmt.Sprintf("%.60g", float64(half.BF16(shardify.View[uint16](data)[i])))
	}
	if d == shardify.F64 {
		s = fmt.Sprintf("%.400f", shardify.View[float64](data)[i])
	}
	f, _, err := big.ParseFloat(s, 10, 1200, big.ToNearestEven)
	if err != nil || f.IsInf() {
		return nil
	}
	return f
}

// TestCastsKeepToTheRange casts values near every border between all types and
// compares with exact arithmetic: what fits arrives, what does not is an error or
// clipped, and losses are counted.
func TestCastsKeepToTheRange(t *testing.T) {
	race.Sequential(t)
	checked := 0
	for _, from := range allTypes {
		var values [][]byte
		for _, v := range edges() {
			b := shardify.Bytes(make([]uint64, 1))
			if l := convertValues(b[:from.Size()], caster{to: from, clip: true}, shardify.Bytes([]float64{v}), shardify.F64); l.bad < 0 {
				values = append(values, b[:from.Size()])
			}
		}
		for _, to := range allTypes {
			for _, v := range values {
				for _, clip := range []bool{false, true} {
					castOne(t, from, to, v, clip)
					checked++
				}
			}
		}
	}
	t.Logf("%d casts", checked)
}

func castOne(t *testing.T, from, to shardify.DType, v []byte, clip bool) {
	t.Helper()
	out := shardify.Bytes(make([]uint64, 1))
	l := convertValues(out[:to.Size()], caster{to: to, clip: clip}, v, from)
	x := exact(from, v, 0)
	what := fmt.Sprintf("%s %s to %s (clip %v)", from, Text(from, v, 0), to, clip)
	nan := Text(from, v, 0) == "NaN"
	switch {
	case to == shardify.Bool:
		if nan != (l.bad >= 0) {
			t.Fatalf("%s: bad %d", what, l.bad)
		}
		if !nan && (out[0] != 0) != (x == nil || x.Sign() != 0) {
			t.Fatalf("%s is %d", what, out[0])
		}
	case to.IsInt():
		lo, hi := rangeOf(to)
		fits := x != nil
		var whole *big.Float
		if fits {
			i, _ := x.Int(nil)
			whole = new(big.Float).SetPrec(1200).SetInt(i)
			fits = whole.Cmp(lo) >= 0 && whole.Cmp(hi) <= 0
		}
		if wantBad := !fits && (!clip || nan); wantBad != (l.bad >= 0) {
			t.Fatalf("%s: bad %d, fits %v", what, l.bad, fits)
		}
		if l.bad >= 0 {
			return
		}
		got := exact(to, out, 0)
		switch {
		case fits && got.Cmp(whole) != 0:
			t.Fatalf("%s is %s", what, Text(to, out, 0))
		case fits && (l.cut > 0) != (whole.Cmp(x) != 0):
			t.Fatalf("%s: cut %d", what, l.cut)
		case !fits && l.clipped != 1:
			t.Fatalf("%s: clipped %d", what, l.clipped)
		case !fits && got.Cmp(lo) != 0 && got.Cmp(hi) != 0:
			t.Fatalf("%s is clipped to %s", what, Text(to, out, 0))
		}
	default:
		if l.bad >= 0 {
			t.Fatalf("%s: bad", what)
		}
		got := exact(to, out, 0)
		if nan {
			if Text(to, out, 0) != "NaN" {
				t.Fatalf("%s is %s", what, Text(to, out, 0))
			}
			return
		}
		if (l.overflow > 0) != (x != nil && got == nil) {
			t.Fatalf("%s: overflow %d, is %s", what, l.overflow, Text(to, out, 0))
		}
		if got == nil {
			return
		}
		if lossy := got.Cmp(x) != 0; from.IsInt() && lossy != (l.rounded > 0) {
			t.Fatalf("%s is %s: rounded %d", what, Text(to, out, 0), l.rounded)
		}
		nearest(t, what, x, got, to, out)
	}
}

// nearest: no neighbour of the result is nearer to the value.
func nearest(t *testing.T, what string, x, got *big.Float, to shardify.DType, out []byte) {
	t.Helper()
	dist := func(f *big.Float) *big.Float {
		d := new(big.Float).SetPrec(1200).Sub(x, f)
		return d.Abs(d)
	}
	for _, d := range []int64{-1, 1} {
		n := shardify.Bytes([]uint64{binary.LittleEndian.Uint64(out)})
		binary.LittleEndian.PutUint64(n, binary.LittleEndian.Uint64(n)+uint64(d))
		if f := exact(to, n, 0); f != nil && f.Sign()*got.Sign() >= 0 && dist(f).Cmp(dist(got)) < 0 {
			t.Fatalf("%s is %s, but %s is nearer", what, Text(to, out, 0), Text(to, n, 0))
		}
	}
}

func TestCastRules(t *testing.T) {
	in := []shardify.Field{
		{Name: "x", DType: shardify.F64}, {Name: "n", DType: shardify.I64}, {Name: "y", DType: shardify.F32}, {Name: "flag", DType: shardify.Bool},
		{Name: "Jet_pt", DType: shardify.F32, Levels: 1}, {Name: "Jet_id", DType: shardify.I32, Levels: 1}, {Name: "img", DType: shardify.U8, Levels: 1, Media: "png"},
	}
	for rules, want := range map[string]string{ // types of x, n, y, flag, Jet_pt, Jet_id
		"*=f16":                  "f16 i64 f16 bool f16 i32",
		"*=f16,f64=f32":          "f32 i64 f16 bool f16 i32",
		"f64=f32":                "f32 i64 f32 bool f32 i32",
		"*=f16,Jet_*=bf16,n=f32": "f16 f32 f16 bool bf16 i32",
		"Jet_*=i8":               "f64 i64 f32 bool f32 i8",
		"*=i16":                  "f64 i16 f32 bool f32 i16",
		"flag=u8,x=x":            "!unknown dtype",
		"xx=f32":                 "!did you mean x?",
		"img=f32":                "!holds png",
		"Muon_*=f16":             "!takes no field",
		"x":                      "!want FIELD=DTYPE",
		"y=f16:clip":             "!only integers",
	} {
		c, err := newCast(&op.Env{}, rules)
		var out []shardify.Field
		if err == nil {
			out, err = c.Schema(in)
		}
		if msg, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), msg) {
				t.Errorf("%s: %v, want %s", rules, err, msg)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", rules, err)
			continue
		}
		got := fmt.Sprint(out[0].DType, out[1].DType, out[2].DType, out[3].DType, out[4].DType, out[5].DType)
		if got = strings.Trim(got, "[]"); got != want {
			t.Errorf("%s: %s, want %s", rules, got, want)
		}
	}
}

// TestCastErrorsNameSampleAndValue, also in lists.
func TestCastErrorsNameSampleAndValue(t *testing.T) {
	c := transformtest.Column("y", shardify.I32, shardify.Bytes([]int32{1, 2, 3, 70000, 5}))
	c.Levels, c.Offsets = 1, [][]int64{{0, 0, 2, 2, 5}}
	b := &shardify.Batch{Samples: 4, Columns: []shardify.Column{c}}
	b.First.Sample = 1000
	tr := transformtest.Made[*castFields](t)(newCast(&op.Env{}, "y=i16"))
	if _, err := tr.Schema(transformtest.SchemaOf(b)); err != nil {
		t.Fatal(err)
	}
	_, err := tr.Apply(b, 0, transformtest.Arena(t))
	if err == nil || !strings.Contains(err.Error(), "sample 1003: field y is 70000, which i16 does not hold") {
		t.Error(err)
	}
}
