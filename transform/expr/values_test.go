package expr_test

import (
	"context"
	"fmt"
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
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%s, want %s", s, want)
			}
		})
	}
}
