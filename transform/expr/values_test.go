package expr_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/expr"
)

// TestValuesAreNumpys: three samples, with the values that numpy gives, or None.
func TestValuesAreNumpys(t *testing.T) {
	b := &shardify.Batch{Samples: 3, Columns: []shardify.Column{
		{Field: shardify.Field{Name: "i", DType: shardify.I32}, Data: shardify.Bytes([]int32{-7, 0, 5})},
		{Field: shardify.Field{Name: "f", DType: shardify.F64}, Data: shardify.Bytes([]float64{-2.5, 0.5, 4})},
		{Field: shardify.Field{Name: "b", DType: shardify.Bool}, Data: []byte{1, 0, 1}},
		{Field: shardify.Field{Name: "g", DType: shardify.F32}, Data: shardify.Bytes([]float32{0.1, -3.75, float32(math.Inf(1))})},
		{Field: shardify.Field{Name: "h", DType: shardify.F16}, Data: shardify.Bytes([]uint16{0x3e00, 0xb400, 0x7bff})},
		{Field: shardify.Field{Name: "u", DType: shardify.U64}, Data: shardify.Bytes([]uint64{1, 2, 1 << 63})},
		{Field: shardify.Field{Name: "w", DType: shardify.U8}, Data: []byte{255, 128, 1}},
		{Field: shardify.Field{Name: "m", DType: shardify.I16, Nullable: true}, Data: shardify.Bytes([]int16{2, 0, 0}), Valid: []byte{1, 0, 1}},
		{Field: shardify.Field{Name: "c", DType: shardify.U8, Attrs: map[string]string{"labels": "cat\ndog"}}, Data: []byte{0, 1, 1}},
		{Field: shardify.Field{Name: "t", DType: shardify.U8, Levels: 1, Media: "txt"}, Data: []byte("abcb"), Offsets: [][]int64{{0, 2, 2, 4}}},
		{Field: shardify.Field{Name: "v", DType: shardify.F64, Shape: []int{2}}, Data: shardify.Bytes([]float64{1.5, -2, 0, 7, math.NaN(), 4})},
		{Field: shardify.Field{Name: "l", DType: shardify.I64, Levels: 1}, Data: shardify.Bytes([]int64{3, 1, 2, 9}), Offsets: [][]int64{{0, 3, 3, 4}}},
	}}
	var schema []shardify.Field
	for i := range b.Columns {
		schema = append(schema, b.Columns[i].Field)
	}
	for text, want := range map[string]string{
		"i + 1": "-6 1 6", "i * 2 - i": "-7 0 5", "i / 2": "-3.5 0 2.5", "i % 3": "2 0 2", "i % -3": "-1 0 -1", "-i": "7 0 -5", "i ** 2": "49 0 25",
		"abs(i)": "7 0 5", "max(i, 1)": "1 1 5", "min(i, f)": "-7 0 4", "floor(f)": "-3 0 4", "ceil(f)": "-2 1 4", "trunc(f)": "-2 0 4", "round(f)": "-2 0 4", "int(f)": "-2 0 4",
		"i < f": "1 1 0", "0 < f <= 4": "0 1 1", "i in [0, 5]": "0 1 1", "i in 0..4": "0 1 0", "b && i > 0": "0 0 1", "b || f > 0": "1 1 1", "!b": "0 1 0", "b ? i : f": "-7 0.5 5",
		"sum(l)": "6 0 9", "len(l)": "3 0 1", "max(l)": "3 None 9", "min(l) ?? 0": "1 0 9", "mean(l)": "2 None 9", "l[0]": "3 None 9", "l[-1]": "2 None 9", "l[1] == nil": "0 1 1",
		"argmax(l)": "0 None 0", "argmin(l)": "1 None 0", "count(l > 1)": "2 0 1", "any(l > 8)": "0 0 1", "all(l > 1)": "0 1 1", "sum(l[l > 1])": "5 0 9", "sum(l * i)": "-42 0 45",
		"sqrt(f + 2.5)": "0 1.7320508075688772 2.5495097567963922", "hypot(3, 4) + f": "2.5 5.5 9", "isnan(sqrt(f))": "1 0 0", "0x10 + i": "9 16 21", "1 / i == 0.2": "0 0 1",
		"i ** 3": "-343 0 125", "f ** 0.5": "NaN 0.7071067811865476 2", "f % 3": "0.5 0.5 1", "f % -1.5": "-1 -1 -0.5", "i / 0": "-Inf NaN +Inf",
		"f - g": "-2.600000001490116 4.25 -Inf", "h * 2": "3 -0.5 131008", "float(u) / 2": "0.5 1 4.611686018427388e+18", "w + i": "248 128 6", "w * w": "65025 16384 1",
		"log(f)": "NaN -0.6931471805599453 1.3862943611198906", "log2(w + 1)": "8 7.011227255423254 1", "log10(w / 100)": "0.4065401804339551 0.10720996964786837 -2",
		"log1p(f)": "NaN 0.4054651081081644 1.6094379124341003", "exp(i)": "0.0009118819655545162 1 148.4131591025766",
		"expm1(h / 1e5)": "1.5000112500562503e-05 -2.499996875002604e-06 0.9252195246171921", "sin(f)": "-0.5984721441039565 0.479425538604203 -0.7568024953079282",
		"cos(f)": "-0.8011436155469337 0.8775825618903728 -0.6536436208636119", "tan(f)": "0.7470222972386603 0.5463024898437905 1.1578212823495775",
		"asin(f / 4)": "-0.6751315329370317 0.1253278311680654 1.5707963267948966", "acos(f / 4)": "2.2459278597319283 1.445468495626831 0",
		"atan(g)": "0.09966865396652452 -1.3101939350475555 1.5707963267948966", "sinh(f)": "-6.0502044810397875 0.5210953054937474 27.289917197127753",
		"cosh(f)": "6.132289479663686 1.1276259652063807 27.308232836016487", "tanh(f)": "-0.9866142981514303 0.46211715726000974 0.999329299739067",
		"asinh(f)": "-1.6472311463710958 0.48121182505960347 2.0947125472611012", "acosh(f)": "NaN NaN 2.0634370688955603",
		"atanh(f / 5)": "-0.5493061443340549 0.10033534773107558 1.0986122886681098", "cbrt(i)": "-1.9129311827723892 0 1.709975946676697",
		"atan2(f, g)": "-1.5308176390765122 3.0090411212931194 0", "hypot(f, i)": "7.433034373659253 0.5 6.4031242374328485", "pow(f, 3)": "-15.625 0.125 64",
		"isinf(g)": "0 0 1", "isfinite(g)": "1 1 0", "isnan(log(f))": "1 0 0", "dphi(f, 10)": "0.06637061435917246 3.0663706143591725 0.28318530717958623",
		"max(f, g)": "0.10000000149011612 0.5 +Inf", "min(f, g, h)": "-2.5 -3.75 4", "max(i, 2, w)": "255 128 5", "max(log(f), 0)": "NaN 0 1.3862943611198906",
		"sum(v)": "-0.5 7 NaN", "mean(v)": "-0.25 3.5 NaN", "max(v)": "1.5 7 NaN", "v[0]": "1.5 0 NaN", "v[-1] - v[0]": "-3.5 7 NaN", "any(v > 3)": "0 1 1",
		"all(v > -3)": "1 1 0", "count(v < 2)": "2 1 0", "sum(v * f)": "1.25 3.5 NaN", "argmin(v[v == v])": "1 0 0", "sum(l ** 2)": "14 0 81", "sum(l * l)": "14 0 81",
		"mean(l + f)": "-0.5 None 13", "count(l % 2 == 1)": "2 0 1", "max(abs(l - 2))": "1 None 7", "l[l > 1][0]": "3 None 9", "len(l[l > 1])": "2 0 1", "l[2]": "2 None None",
		"l[-2]": "1 None None", "l[int(f > 0)]": "3 None None", "count(l > 0 && l < 3)": "2 0 0", "any(l == i + 4)": "0 0 1", "sum(l > 1 ? l : 0)": "5 0 9",
		"m + 1": "3 None 1", "sum(l[l > m])": "3 None 9", "any((l > 1)[l > m])": "1 None 1", "(l[l > m] + 1)[0]": "4 None 10", "m == nil": "0 1 0", "m != nil": "1 0 1", "m ?? i": "2 0 0", "m > 1": "1 None 0", "b || m > 5": "1 None 1", "b && m > 1": "1 0 0",
		"m % m": "0 None None", "i % i": "0 None 0", "int(g)": "0 -3 None", "float(b)": "1 0 1", "int(b) + 1": "2 1 2", "b == (i < 1)": "1 0 0", "b ? m : i": "2 0 0",
		"(m ?? 0) + 1": "3 1 1", "min(m, i) ?? -1": "-7 -1 0", "2 ** 3 ** 2 + i": "505 512 517", "not b or i == 0": "0 1 0", "i not in [0, 5]": "1 0 0",
		"1 < i < 6 ? 1.5 : i": "-7 0 1.5", "t == 'ab'": "1 0 0", "t < 'b'": "1 1 0", "'b' > t": "1 1 0", "t startsWith 'a'": "1 0 0", "t endsWith 'b'": "1 0 1",
		"t contains 'c'": "0 0 1", "t matches '^[a-c]+$'": "1 0 1", "len(t)": "2 0 2", "c == 'dog'": "0 1 1", "c != 'cat'": "0 1 1", "t in ['', 'cb']": "0 1 1",
	} {
		t.Run(text, func(t *testing.T) {
			e, err := expr.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			p, err := e.Bind(schema, nil)
			if err != nil {
				t.Fatal(err)
			}
			mem, err := shardify.NewPool(1<<20).Grant(context.Background(), 1<<16)
			if err != nil {
				t.Fatal(err)
			}
			defer mem.Release()
			c, err := p.Column(b, "x", mem)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for k := range b.Samples {
				switch {
				case c.Valid != nil && c.Valid[k] == 0:
					got = append(got, "None")
				case c.DType == shardify.F64:
					got = append(got, fmt.Sprint(shardify.View[float64](c.Data)[k]))
				case c.DType == shardify.I64:
					got = append(got, fmt.Sprint(shardify.View[int64](c.Data)[k]))
				default:
					got = append(got, fmt.Sprint(c.Data[k]))
				}
			}
			if !close(got, strings.Fields(want)) {
				t.Errorf("%s, want %s", strings.Join(got, " "), want)
			}
		})
	}
}

// close compares words; floats that are not whole may differ by 2 ulp.
func close(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for k, w := range want {
		x, err := strconv.ParseFloat(got[k], 64)
		y, err2 := strconv.ParseFloat(w, 64)
		if err := errors.Join(err, err2); err == nil && y != math.Trunc(y) && math.Abs(x-y) <= 4.5e-16*math.Abs(y) {
			continue
		}
		if got[k] != w {
			return false
		}
	}
	return true
}
