package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// triggers is a batch of flags, some stored as integers, one of them not always there.
func triggers() *shardify.Batch {
	flag := func(name string, v ...byte) shardify.Column {
		return shardify.Column{Field: shardify.Field{Name: name, DType: shardify.Bool}, Data: v}
	}
	num := flag("HLT_Old", 0, 0, 0, 7)
	num.DType = shardify.U8
	maybe := flag("L1_b", 1, 0, 0, 1)
	maybe.Nullable, maybe.Valid = true, []byte{1, 1, 0, 0}
	w := shardify.Column{Field: shardify.Field{Name: "weight_x", DType: shardify.F32}, Data: shardify.Bytes([]float32{1, 2, 3, 4})}
	v := flag("many_x", 1, 0, 0, 1, 1, 1, 0, 0)
	v.Shape = []int{2}
	return &shardify.Batch{Samples: 4, Columns: []shardify.Column{
		flag("HLT_Mu24", 1, 0, 0, 0), flag("HLT_Ele32", 1, 1, 0, 0), num, flag("L1_a", 1, 0, 0, 1), maybe, w, v,
	}}
}

func TestFunctionsOfManyFields(t *testing.T) {
	b := triggers()
	for text, want := range map[string]string{
		"any_of(HLT_*)":                      "[1 1 0 1] []",
		"all_of(HLT_*)":                      "[0 0 0 0] []",
		"all_of( HLT_[ME]* )":                "[1 0 0 0] []",
		"count_of(HLT_*)":                    "[2 1 0 1] []",
		`any_of("HLT_M*", HLT_Old)`:          "[1 0 0 1] []",
		"any_of(HLT_?u*, !HLT_Ele32)":        "[1 0 1 1] []",
		"any_of(weight_x > 3, all_of(HLT*))": "[0 0 0 1] []",
		"any_of(L1_*)":                       "[1 0 0 1] [1 1 0 1]",
		"all_of(L1_*)":                       "[1 0 0 0] [1 1 1 0]",
		"count_of(L1_*)":                     "[2 0 0 0] [1 1 0 0]",
		"any_of(L1_*) ?? false":              "[1 0 0 1] []",
		"!any_of(HLT_*) || count_of(L1_a)>0": "[1 0 1 1] []",
	} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		p, err := e.Bind(schema(b), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		c, err := p.Column(b, "z", arena(t))
		if err != nil {
			t.Fatal(err)
		}
		data := fmt.Sprint(c.Data)
		if c.DType == shardify.I64 {
			data = fmt.Sprint(shardify.View[int64](c.Data))
		}
		if got := data + " " + fmt.Sprint(c.Valid); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestFunctionsOfManyFieldsThatCannotBe(t *testing.T) {
	in := schema(triggers())
	for text, says := range map[string]string{
		"any_of(DST_*)":          "DST_* matches no field",
		"any_of(weight_*)":       "weight_x is a float, not a condition: compare it, or name the fields",
		"any_of(many_*)":         "many_x has many values a sample",
		"any_of()":               "any_of(HLT_*)",
		"any_of(nothing)":        "no field nothing",
		"any_of(HLT_[*)":         "syntax error in pattern",
		"any_of(HLT_*) && (1 +":  "column 21",
		"any(HLT_*)":             "any_of(...) takes several fields",
		"any_of(true)":           "not constants",
		`any_of("HLT_*" + L1_a)`: "any_of",
	} {
		e, err := Parse(text)
		if err == nil {
			_, err = e.Bind(in, nil)
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

func TestNamesOfGlobs(t *testing.T) {
	e, err := Parse(`nJet > 1 && any_of(HLT_Mu*, 'L1 *', flag) && name == "a*"`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(e.Names(), "|"); got != "nJet|HLT_Mu*|L1 *|flag|name" {
		t.Error(got)
	}
}
