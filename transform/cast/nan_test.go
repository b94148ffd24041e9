package cast

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

func TestNaNActions(t *testing.T) {
	nan := float32(math.NaN())
	x := transformtest.Column("x", shardify.F32, shardify.Bytes([]float32{1, nan, 3, nan}))
	x.Nullable, x.Valid = true, []byte{1, 1, 1, 0}
	j := transformtest.Column("j", shardify.F64, shardify.Bytes([]float64{1, 2, math.NaN(), math.NaN()}))
	j.Levels, j.Offsets = 1, [][]int64{{0, 1, 1, 4, 4}}
	b := &shardify.Batch{Samples: 4, Columns: []shardify.Column{x, j, transformtest.Column("i", shardify.I8, []byte{1, 2, 3, 4})}}
	for text, want := range map[string]string{
		"keep":          "4 [{nan x: kept 1} {nan j: kept 2}]",
		"drop":          "2 [{nan x: in dropped samples 1} {nan j: in dropped samples 2}]",
		"j=drop":        "3 [{nan j: in dropped samples 2}]",
		"fill=-1":       "4 [{nan x: filled 1} {nan j: filled 2}]",
		"fail":          "!sample 1: field x is NaN",
		"x=keep,fail":   "!sample 2: field j is NaN",
		"i=drop":        "!i is i8 and has no NaN",
		"jj=drop":       "!did you mean j?",
		"x=fill=1e39":   "!f32, which does not hold 1e39",
		"x=fill=a":      "!is not a number",
		"destroy":       "!want keep, fail",
		"x=fill=0,drop": "2 [{nan x: filled 1} {nan j: in dropped samples 2}]",
	} {
		n, err := newNaN(&op.Env{}, text)
		var out *shardify.Batch
		if err == nil {
			if _, err = n.Schema(transformtest.SchemaOf(b)); err == nil {
				out, err = n.Apply(b, 0, transformtest.Arena(t))
			}
		}
		if msg, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), msg) {
				t.Errorf("%s: %v, want %s", text, err, msg)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if text == "x=fill=0,drop" {
			want = "3 [{nan x: filled 1} {nan j: in dropped samples 2}]"
		}
		var counts []string
		for _, c := range out.Counts {
			counts = append(counts, fmt.Sprintf("{%s %d}", c.Name, c.N))
		}
		if got := fmt.Sprint(out.Samples, counts); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	filled := transformtest.Run(t, transformtest.Made[*nanRules](t)(newNaN(&op.Env{}, "fill=-1")), b)
	if v := shardify.View[float32](filled.Columns[0].Data); v[1] != -1 || v[3] == v[3] {
		t.Errorf("filled %v; what is missing stays as it is", v)
	}
}
