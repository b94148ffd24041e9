package transform

import (
	"encoding/json"
	"fmt"
	"github.com/shardify/shardify/convert/flow"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/transform/cast"
)

// goldenColumn is a column as numpy and awkward have it.
type goldenColumn struct {
	Name, DType, Expr, From, To string
	Shape                       []int
	Offsets                     []int64
	Valid                       []byte
	Data                        []any
}

type goldenFile struct {
	Samples                               int
	Columns, Cases, Casts, Sorted, Padded []goldenColumn
	Stacked                               goldenColumn
}

func (g *goldenColumn) UnmarshalJSON(b []byte) error {
	var raw struct {
		Name, DType, Expr, From, To string
		Shape                       []int
		Offsets                     []int64
		Valid                       []int
		Data                        []any
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*g = goldenColumn{raw.Name, raw.DType, raw.Expr, raw.From, raw.To, raw.Shape, raw.Offsets, nil, raw.Data}
	for _, v := range raw.Valid {
		g.Valid = append(g.Valid, byte(v))
	}
	return nil
}

func golden(t *testing.T) *goldenFile {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	g := new(goldenFile)
	if err := json.Unmarshal(b, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// column makes a batch's column of it.
func (g *goldenColumn) column(t *testing.T) shardify.Column {
	t.Helper()
	d, err := shardify.ParseDType(g.DType)
	if err != nil {
		t.Fatal(err)
	}
	mem := arena(t)
	c := shardify.Column{Field: shardify.Field{Name: g.Name, DType: d, Shape: g.Shape, Nullable: g.Valid != nil}, Valid: g.Valid}
	c.Data = mem.Alloc(len(g.Data) * d.Size())
	for i, v := range g.Data {
		copy(c.Data[i*d.Size():], element(t, v, d))
	}
	if g.Offsets != nil {
		c.Levels, c.Offsets = 1, [][]int64{g.Offsets}
		if g.Name != "hits" {
			c.Counter = "jet"
		}
	}
	return c
}

func element(t *testing.T, v any, d shardify.DType) []byte {
	t.Helper()
	switch v := v.(type) {
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	case string:
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			t.Fatal(err)
		}
		return element(t, f, d)
	case float64:
		switch d {
		case shardify.F64:
			return shardify.Bytes([]float64{v})
		case shardify.F32:
			return shardify.Bytes([]float32{float32(v)})
		case shardify.F16:
			return shardify.Bytes([]uint16{half.ToF16(float32(v))})
		}
		return shardify.Bytes([]int64{int64(v)})[:d.Size()]
	}
	t.Fatalf("value %v", v)
	return nil
}

func (g *goldenFile) batch(t *testing.T) *shardify.Batch {
	b := &shardify.Batch{Samples: g.Samples}
	var shared []int64
	for i := range g.Columns {
		c := g.Columns[i].column(t)
		if c.Counter != "" {
			if shared == nil {
				shared = c.Offsets[0]
			}
			c.Offsets[0] = shared
		}
		b.Columns = append(b.Columns, c)
	}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	return b
}

// same compares a column with numpy's, NaN with NaN.
func same(t *testing.T, what string, got *shardify.Column, want shardify.Column, samples int) {
	t.Helper()
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) || got.Levels != want.Levels {
		t.Errorf("%s is %s %v of %d levels, want %s %v of %d", what, got.DType, got.Shape, got.Levels, want.DType, want.Shape, want.Levels)
		return
	}
	for i := range samples {
		if want.Valid != nil && got.Valid == nil || want.Valid == nil && got.Valid != nil && got.Valid[i] == 0 || want.Valid != nil && got.Valid[i] != want.Valid[i] {
			t.Errorf("%s: sample %d is valid %v, want %v", what, i, got.Valid, want.Valid)
			return
		}
		lo, hi := want.Range(i, i+1)
		a, b := got.Range(i, i+1)
		if a != lo || b != hi {
			t.Errorf("%s: sample %d has %d bytes, want %d", what, i, b-a, hi-lo)
			return
		}
		for k := lo / want.DType.Size(); k < hi/want.DType.Size(); k++ {
			x, y := cast.Text(got.DType, got.Data, k), cast.Text(want.DType, want.Data, k)
			if x != y && !close(x, y) {
				t.Errorf("%s: sample %d value %d is %s, want %s", what, i, k, x, y)
				return
			}
		}
	}
}

// close allows for the last bit of sums and powers, which numpy adds in another order.
func close(x, y string) bool {
	a, err := strconv.ParseFloat(x, 64)
	b, err2 := strconv.ParseFloat(y, 64)
	return err == nil && err2 == nil && (a == b || math.Abs(a-b) <= 1e-6*math.Abs(b)+1e-9 && a != math.Trunc(a))
}

// TestExpressionsAgreeWithNumpy runs every case of golden.json.
func TestExpressionsAgreeWithNumpy(t *testing.T) {
	race.Sequential(t)
	g := golden(t)
	b := g.batch(t)
	for _, c := range g.Cases {
		d := made(t)(New(Define, "out="+c.Expr, nil))
		if _, err := d.Schema(schemaOf(b)); err != nil {
			t.Error(err)
			continue
		}
		out, err := d.Apply(b, 0, arena(t))
		if err != nil {
			t.Error(err)
			continue
		}
		same(t, c.Expr, &out.Columns[len(out.Columns)-1], c.column(t), g.Samples)
	}
	t.Logf("%d expressions", len(g.Cases))
}

func TestCastsAgreeWithNumpy(t *testing.T) {
	race.Sequential(t)
	g := golden(t)
	b := g.batch(t)
	for _, c := range g.Casts {
		tr := made(t)(New(Cast, c.From+"="+c.To, nil))
		out := run(t, tr, b)
		i := shardify.FieldIndex(schemaOf(b), c.From)
		same(t, c.From+" as "+c.To, &out.Columns[i], c.column(t), g.Samples)
	}
}

func TestListsAgreeWithAwkward(t *testing.T) {
	race.Sequential(t)
	g := golden(t)
	b := g.batch(t)
	find := func(b *shardify.Batch, name string) *shardify.Column {
		i := shardify.FieldIndex(schemaOf(b), name)
		if i < 0 {
			t.Fatalf("no %s", name)
		}
		return &b.Columns[i]
	}
	sorted := run(t, made(t)(New(Sort, "jet=-pt", nil)), b)
	for _, c := range g.Sorted {
		same(t, "sorted "+c.Name, find(sorted, c.Name), c.column(t), g.Samples)
	}
	padded := run(t, made(t)(New(Pad, "eta=3:-1", nil)), b)
	for _, c := range g.Padded {
		same(t, "padded "+c.Name, find(padded, c.Name), c.column(t), g.Samples)
	}
	stacked := run(t, made(t)(New(Stack, "jets=pt,eta,jid", nil)), b)
	same(t, "stacked", find(stacked, "jets"), g.Stacked.column(t), g.Samples)
}

// TestExpressionsThatCannotBe names what is wrong and what was meant.
func TestExpressionsThatCannotBe(t *testing.T) {
	b := golden(t).batch(t)
	in := schemaOf(b)
	in = append(in, shardify.Field{Name: "cls", DType: shardify.I64, Attrs: map[string]string{"labels": "cat\ndog"}},
		shardify.Field{Name: "txt", DType: shardify.U8, Levels: 1, Media: "txt"}, shardify.Field{Name: "tags", DType: shardify.U8, Levels: 2, Media: "txt"})
	for e, want := range map[string]string{
		"xx > 1":                "no field xx; did you mean x?",
		"x":                     "is a float, not a condition",
		"pt > 1":                "any(...), all(...) or count(...)",
		"any(pt)":               "want a condition",
		"sum(flag)":             "one value a sample",
		"pt + hits > 1":         "",
		"pt + v3 > 1":           "do not go together",
		"any(pt[tag] > eta)":    "filter",
		"flag + 1 > 0":          "int(...)",
		"x == 'a'":              "a text and a float",
		"cls == 'cow'":          `no label "cow"`,
		"cls == 'dogg'":         `did you mean "dog"?`,
		"tags == 'a'":           "have a length only",
		"sqr(x) > 1":            "no function sqr; did you mean sqrt?",
		"x = 1":                 "== compares",
		"x & y":                 "&& is and",
		"x ^ 2 > 1":             "** is the power",
		"pt[1.5] > 1":           "an index is an integer or a condition",
		"x[0] > 1":              "one value a sample",
		"len(x) > 1":            "one value has no length",
		"v3[3] > 1":             "element 3 of 3",
		"map(pt, # > 1)":        "",
		"x > nil":               "only == and != ask",
		"nil":                   "nil",
		"{'a': 1}":              "not supported",
		"x in 5":                "in takes a list",
		"atan2(x) > 1":          "want two numbers",
		"count(pt) > 1":         "len(x) counts elements",
		"pt[0:2] == 1":          "not supported",
		"flag ? 'a' : 'b'":      "want a number",
		"x startsWith 'a'":      "do not go together",
		"txt matches '['":       "missing closing ]",
		"let q = 1; q > 0":      "not supported",
		"pt[tag]":               "part of a list",
		"1 + 1":                 "not a condition",
		"":                      "no expression",
		"x >":                   "column",
		"min(flag, 1) > 0":      "want a number",
		"x > 1 && y":            "it takes conditions",
		"string(x) == '1'":      "no function string",
		"tag[0] && eta[0][1]>0": "one value a sample",
	} {
		w, err := New(Where, e, nil)
		if err == nil {
			_, err = w.Schema(in)
		}
		if err == nil && want == "" {
			continue // only the data show the error, or the parser does
		}
		if err == nil || !contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", e, err, want)
		}
	}
}

func contains(s, part string) bool { return part == "" || len(s) >= len(part) && indexOf(s, part) >= 0 }

func indexOf(s, part string) int {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i:i+len(part)] == part {
			return i
		}
	}
	return -1
}

// TestIntegersNeverWrap: results beyond i64 are errors that name the sample.
func TestIntegersNeverWrap(t *testing.T) {
	big := shardify.Column{Field: shardify.Field{Name: "a", DType: shardify.I64}, Data: shardify.Bytes([]int64{1, math.MaxInt64, math.MinInt64})}
	u := shardify.Column{Field: shardify.Field{Name: "u", DType: shardify.U64}, Data: shardify.Bytes([]uint64{1, 2, 1 << 63})}
	b := &shardify.Batch{Samples: 3, First: shardify.ID{Sample: 100}, Columns: []shardify.Column{big, u}}
	for e, want := range map[string]string{
		"a + 1":        "sample 101",
		"a - 1":        "sample 102",
		"a * 2":        "sample 101",
		"a * -1":       "sample 102",
		"-a":           "sample 102",
		"abs(a)":       "sample 102",
		"u > 5":        "float(u)",
		"float(u) > 5": "",
		"a % -1 == 0":  "",
		"a * 1 == a":   "",
		"a / 0 > 0":    "",
	} {
		d := made(t)(New(Define, "z="+e, nil))
		if _, err := d.Schema(schemaOf(b)); err != nil {
			t.Fatal(err)
		}
		_, err := d.Apply(b, 0, arena(t))
		if (err == nil) != (want == "") || err != nil && !contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", e, err, want)
		}
	}
}

// TestMissingValues: what follows from a missing value is missing, unless the rest
// decides.
func TestMissingValues(t *testing.T) {
	m := shardify.Column{Field: shardify.Field{Name: "m", DType: shardify.I32, Nullable: true}, Data: shardify.Bytes([]int32{1, 7, 3}), Valid: []byte{1, 0, 1}}
	x := shardify.Column{Field: shardify.Field{Name: "x", DType: shardify.I32}, Data: shardify.Bytes([]int32{1, 2, 0})}
	b := &shardify.Batch{Samples: 3, Columns: []shardify.Column{m, x}}
	for e, want := range map[string]string{ // 1, 0, or - where missing
		"m > 2":                "0-1",
		"not (m > 2)":          "1-0",
		"m > 2 && x > 1":       "0-0",
		"m > 2 && x > 9":       "000",
		"m > 2 || x == 2":      "011",
		"m > 2 || x == 0":      "0-1",
		"m == nil":             "010",
		"m != nil":             "101",
		"(m ?? 5) > 4":         "010",
		"x % x == 0":           "11-",
		"int(x / x) == 1":      "11-",
		"x > 1 ? m > 2 : true": "1-1",
		"m in [1, 3]":          "1-1",
		"isnan(m + 0.5)":       "0-0",
		"max(m, x) == m":       "1-1",
	} {
		d := made(t)(New(Define, "z="+e, nil))
		if _, err := d.Schema(schemaOf(b)); err != nil {
			t.Fatal(err)
		}
		out, err := d.Apply(b, 0, arena(t))
		if err != nil {
			t.Fatal(err)
		}
		c := &out.Columns[2]
		got := ""
		for i := range 3 {
			if c.Valid != nil && c.Valid[i] == 0 {
				got += "-"
			} else {
				got += fmt.Sprint(c.Data[i])
			}
		}
		if got != want {
			t.Errorf("%s is %s, want %s", e, got, want)
		}
		kept := run(t, made(t)(New(Where, e, nil)), b)
		if n := strings.Count(want, "1"); kept.Samples != n {
			t.Errorf("--where %s keeps %d samples, want %d", e, kept.Samples, n)
		}
	}
}

// TestWhereSeesDefinitions computes what is defined later from what is there.
func TestWhereSeesDefinitions(t *testing.T) {
	b := golden(t).batch(t)
	where := func(text string) shardify.Transform {
		s := Settings{Where: {text}, Define: {"ht=sum(pt)", "big=ht > 80", "a=b", "b=a"}}
		list, err := s.Ops(nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(list, flow.Env{Schema: schemaOf(b)})
		if err != nil {
			t.Fatal(err)
		}
		return p.Before[0]
	}
	got := run(t, where("big && n > 1"), b)
	want := run(t, made(t)(New(Where, "sum(pt) > 80 && n > 1", nil)), b)
	if got.Samples != want.Samples || got.Samples == 0 || got.Samples == b.Samples {
		t.Errorf("%d samples, want %d of %d", got.Samples, want.Samples, b.Samples)
	}
	if _, err := where("a > 1").Schema(schemaOf(b)); err == nil || !contains(err.Error(), "defined by itself") {
		t.Errorf("a circle: %v", err)
	}
	s := Settings{Where: {"big && x > 0"}, Define: {"ht=sum(pt)", "big=ht > 80"}}
	if open, helpers, err := s.Columns([]string{"n"}); err != nil || !slices.Equal(open, []string{"n", "pt", "x"}) || !slices.Equal(helpers, []string{"pt", "x"}) {
		t.Errorf("needs %v and %v, %v", open, helpers, err)
	}
}
