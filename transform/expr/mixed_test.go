package expr

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/shardify/shardify"
)

// TestIntegersAndFloatsCompareAsNumbers: at the borders of what f64 holds, too, with a column or
// a constant on either side.
func TestIntegersAndFloatsCompareAsNumbers(t *testing.T) {
	ints := []int64{0, -1, 1<<53 - 1, 1 << 53, 1<<53 + 1, -1<<53 - 1, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}
	floats := []float64{0, 0.5, -0.5, 1 << 53, 1<<53 + 2, -1 << 53, 1 << 63, -1 << 63, -1<<63 - 2048, math.Inf(1), math.Inf(-1), math.NaN()}
	var x []int64
	var y []float64
	for _, i := range ints {
		for _, f := range floats {
			x, y = append(x, i), append(y, f)
		}
	}
	b := &shardify.Batch{Samples: len(x), Columns: []shardify.Column{
		{Field: shardify.Field{Name: "x", DType: shardify.I64}, Data: shardify.Bytes(x)}, {Field: shardify.Field{Name: "y", DType: shardify.F64}, Data: shardify.Bytes(y)}}}
	keep := make([]byte, len(x))
	run := func(text string) {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		p, err := e.Bind(schema(b), nil)
		if err == nil {
			err = p.Keep(b, keep)
		}
		if err != nil {
			t.Fatal(text, err)
		}
	}
	for op, holds := range map[string]func(c int) bool{
		"==": func(c int) bool { return c == 0 }, "!=": func(c int) bool { return c != 0 }, "<": func(c int) bool { return c < 0 },
		"<=": func(c int) bool { return c <= 0 }, ">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
	} {
		order := func(i int64, f float64) (c int, nan bool) {
			if f != f {
				return 0, true
			}
			return new(big.Float).SetInt64(i).Cmp(big.NewFloat(f)), false
		}
		check := func(text string, i int, c int, nan bool) {
			if want := holds(c) && !nan || nan && op == "!="; (keep[i] == 1) != want {
				t.Errorf("%s with x = %d, y = %v: %d", text, x[i], y[i], keep[i])
			}
		}
		run("x " + op + " y")
		for i := range x {
			c, nan := order(x[i], y[i])
			check("x "+op+" y", i, c, nan)
		}
		run("y " + op + " x")
		for i := range x {
			c, nan := order(x[i], y[i])
			check("y "+op+" x", i, -c, nan)
		}
		for _, f := range []float64{1 << 53, 1<<53 + 2, 1 << 62} {
			text := fmt.Sprintf("x %s %.1f", op, f)
			run(text)
			for i := range x {
				c, _ := order(x[i], f)
				check(text, i, c, false)
			}
		}
	}
}
