package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/transformtest"
)

func col(name string, d shardify.DType, data []byte) shardify.Column {
	return shardify.Column{Field: shardify.Field{Name: name, DType: d}, Data: data}
}

func batchOf(samples int, cols ...shardify.Column) *shardify.Batch {
	return &shardify.Batch{Samples: samples, Columns: cols}
}

// TestSortKeepsElementsTogether: the same elements, in order, equal ones in their old order.
func TestSortKeepsElementsTogether(t *testing.T) {
	for name, keys := range map[string][]byte{
		"f32": shardify.Bytes(f32s(3000, func(r *rand.Rand) float32 {
			return []float32{float32(r.IntN(5)), float32(math.NaN()), float32(math.Copysign(0, -1)), 0, float32(math.Inf(-1)), -2}[r.IntN(6)]
		})),
		"i64": shardify.Bytes(i64s(3000)),
	} {
		d, _ := shardify.ParseDType(name)
		size := d.Size()
		r := rand.New(rand.NewPCG(1, 1))
		off := []int64{0}
		for off[len(off)-1] < 3000 {
			off = append(off, min(off[len(off)-1]+int64(r.IntN(60)), 3000))
		}
		key := col("k", d, keys)
		key.Levels, key.Counter, key.Offsets = 1, "c", [][]int64{off}
		place := make([]int32, 3000)
		for i := range place {
			place[i] = int32(i)
		}
		who := col("p", shardify.I32, shardify.Bytes(place))
		who.Levels, who.Counter, who.Offsets = 1, "c", [][]int64{off}
		b := batchOf(len(off)-1, key, who)
		for _, minus := range []string{"", "-"} {
			out := run(t, made[*sortLists](t)(newSort("c="+minus+"k", nil)), b)
			order := shardify.View[int32](out.Columns[1].Data)
			rank := func(i int32) uint64 {
				if d == shardify.F32 {
					return floatKey(float64(shardify.View[float32](keys)[i]), minus != "")
				}
				return intKey(uint64(shardify.View[int64](keys)[i])^1<<63, minus != "")
			}
			for s := range b.Samples {
				one := order[off[s]:off[s+1]]
				seen := slices.Sorted(slices.Values(one))
				for i := range seen {
					if int64(seen[i]) != off[s]+int64(i) {
						t.Fatalf("%s: sample %d has elements %v", name, s, one)
					}
				}
				for i := 1; i < len(one); i++ {
					if a, b := rank(one[i-1]), rank(one[i]); a > b || a == b && one[i-1] > one[i] {
						t.Fatalf("%s%s: sample %d: element %d is before %d", minus, name, s, one[i-1], one[i])
					}
				}
			}
			for i, p := range order {
				if string(out.Columns[0].Data[i*size:(i+1)*size]) != string(keys[int(p)*size:(int(p)+1)*size]) {
					t.Fatalf("%s: element %d has another's key", name, i)
				}
			}
		}
	}
}

func f32s(n int, f func(r *rand.Rand) float32) []float32 {
	r := rand.New(rand.NewPCG(5, 6))
	out := make([]float32, n)
	for i := range out {
		out[i] = f(r)
	}
	return out
}

func i64s(n int) []int64 {
	r := rand.New(rand.NewPCG(5, 6))
	out := make([]int64, n)
	for i := range out {
		out[i] = []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}[r.IntN(5)]
	}
	return out
}

// TestAListOfBoolsIsPaddedWithTheOthersOfItsCounter: the value that fills up is 0 if none
// is given, which is false.
func TestAListOfBoolsIsPaddedWithTheOthersOfItsCounter(t *testing.T) {
	mem := arena(t)
	b := invent(t, "a:f32*9@J,id:bool*9@J", 97, mem)
	for _, text := range []string{"J=9", "J=9:0", "J=9:1"} {
		padded := run(t, made[*padLists](t)(newPad(text)), b)
		id, mask := padded.Columns[1].Data, padded.Columns[2].Data
		fill := byte(0)
		if text == "J=9:1" {
			fill = 1
		}
		short := false
		for i, real := range mask {
			if real == 0 {
				short = true
				if id[i] != fill {
					t.Fatalf("%s: element %d is %d", text, i, id[i])
				}
			}
		}
		if !short {
			t.Fatal("no list is shorter")
		}
	}
}

// TestStackPadAndPackMoveEveryValue compares with the plain loops.
func TestStackPadAndPackMoveEveryValue(t *testing.T) {
	mem := arena(t)
	b := invent(t, "a:f32*9@J,b:f32*9@J,c:f32*9@J,p:f64[2],q:f64[2],s:i16,u:i16,v:u8", 97, mem)
	names := func(c *shardify.Column) string { return c.Attrs[columnsAttr] }
	stacked := run(t, made[*stackFields](t)(newStack("abc=a,b,c\npq=p,q")), b)
	abc, pq := &stacked.Columns[0], &stacked.Columns[1]
	if abc.Name != "abc" || pq.Name != "pq" || names(abc) != "a\nb\nc" || !slices.Equal(pq.Shape, []int{2, 2}) || !slices.Equal(abc.Shape, []int{3}) {
		t.Fatalf("%+v %+v", abc.Field, pq.Field)
	}
	for part := range 3 {
		for i, x := range shardify.View[float32](b.Columns[part].Data) {
			if got := shardify.View[float32](abc.Data)[i*3+part]; got != x {
				t.Fatalf("element %d of part %d is %v, want %v", i, part, got, x)
			}
		}
	}
	for part := range 2 {
		for i, x := range shardify.View[float64](b.Columns[3+part].Data) {
			if got := shardify.View[float64](pq.Data)[i*2+part]; got != x {
				t.Fatalf("value %d of part %d is %v, want %v", i, part, got, x)
			}
		}
	}
	const n = 4
	padded := run(t, made[*padLists](t)(newPad("abc=4:-7")), stacked)
	z, mask := shardify.View[float32](padded.Columns[0].Data), padded.Columns[len(padded.Columns)-1].Data
	var cut, short int64
	for i := range b.Samples {
		o := abc.Offsets[0]
		have := int(o[i+1] - o[i])
		if have > n {
			cut, short = cut+1, short+int64(have-n)
		}
		for e := range n {
			for k := range 3 {
				want := float32(-7)
				if e < have {
					want = shardify.View[float32](abc.Data)[(int(o[i])+e)*3+k]
				}
				if got := z[(i*n+e)*3+k]; got != want {
					t.Fatalf("sample %d element %d is %v, want %v", i, e, got, want)
				}
			}
			if (mask[i*n+e] == 1) != (e < have) {
				t.Fatalf("sample %d mask %v of %d", i, mask[i*n:(i+1)*n], have)
			}
		}
	}
	want := []shardify.Count{{Name: "pad abc: samples cut", N: cut}, {Name: "pad abc: elements cut", N: short}}
	if cut == 0 || !slices.Equal(padded.Counts, want) {
		t.Errorf("counts %v, want %v", padded.Counts, want)
	}
	packed := run(t, made[*packFields](t)(newPack("f=v,[su]")), b)
	f := &packed.Columns[5]
	if f.Name != "f" || names(f) != "v\ns\nu" || f.DType != shardify.I16 {
		t.Fatalf("%+v", f.Field)
	}
	for i, x := range shardify.View[int16](b.Columns[6].Data) {
		if got := shardify.View[int16](f.Data)[i*3+2]; got != x {
			t.Fatalf("sample %d: %d, want %d", i, got, x)
		}
	}
}

func TestCommonTypesAreNumpys(t *testing.T) {
	const f16, bf, f32, f64 = shardify.F16, shardify.BF16, shardify.F32, shardify.F64
	for _, c := range [][3]shardify.DType{
		{f16, f32, f32}, {f32, f64, f64}, {f16, bf, f32}, {bf, f32, f32}, {f32, shardify.I8, f32}, {f32, shardify.U16, f32}, {f32, shardify.I32, f64},
		{f16, shardify.U8, f16}, {f16, shardify.I16, f32}, {f16, shardify.I32, f64}, {shardify.I8, shardify.I32, shardify.I32}, {shardify.U8, shardify.I8, shardify.I16},
		{shardify.U32, shardify.I8, shardify.I64}, {shardify.U8, shardify.I64, shardify.I64}, {shardify.Bool, shardify.F16, f16}, {shardify.Bool, shardify.U8, shardify.U8}, {shardify.U16, shardify.U32, shardify.U32},
	} {
		for _, p := range [][2]shardify.DType{{c[0], c[1]}, {c[1], c[0]}} {
			if got, err := common(p[0], p[1]); got != c[2] || err != nil {
				t.Errorf("%s and %s give %s, want %s (%v)", p[0], p[1], got, c[2], err)
			}
		}
	}
	if _, err := common(shardify.U64, shardify.I8); err == nil {
		t.Error("u64 and i8 have no common integer")
	}
}

func TestNaNActions(t *testing.T) {
	nan := float32(math.NaN())
	x := col("x", shardify.F32, shardify.Bytes([]float32{1, nan, 3, nan}))
	x.Nullable, x.Valid = true, []byte{1, 1, 1, 0}
	j := col("j", shardify.F64, shardify.Bytes([]float64{1, 2, math.NaN(), math.NaN()}))
	j.Levels, j.Offsets = 1, [][]int64{{0, 1, 1, 4, 4}}
	b := batchOf(4, x, j, col("i", shardify.I8, []byte{1, 2, 3, 4}))
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
		n, err := newNaN(text)
		var out *shardify.Batch
		if err == nil {
			if _, err = n.Schema(schemaOf(b)); err == nil {
				out, err = n.Apply(b, 0, arena(t))
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
	filled := run(t, made[*nanRules](t)(newNaN("fill=-1")), b)
	if v := shardify.View[float32](filled.Columns[0].Data); v[1] != -1 || v[3] == v[3] {
		t.Errorf("filled %v; what is missing stays as it is", v)
	}
}

func TestVocabularyIsSorted(t *testing.T) {
	texts := []string{"tau", "el", "", "mu", "el", "Z", "é"}
	var data []byte
	off := []int64{0}
	for _, s := range texts {
		data = append(data, s...)
		off = append(off, int64(len(data)))
	}
	c := shardify.Column{Field: shardify.Field{Name: "p", DType: shardify.U8, Levels: 1, Media: "txt"}, Data: data, Offsets: [][]int64{off}}
	ids := col("i", shardify.I32, shardify.Bytes([]int32{11, -13, 11, 211, -211, 9, 0}))
	b := batchOf(7, c, ids)
	mem := arena(t)
	for name, want := range map[string]string{"p": "\nZ\nel\nmu\ntau\né|4 2 0 3 2 1 5", "i": "-211\n-13\n0\n9\n11\n211|4 1 4 5 0 3 2"} {
		e := made[*encodeField](t)(newEncode(name))
		if _, err := e.Schema(schemaOf(b)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Apply(b, 0, mem); err == nil {
			t.Error("codes without a vocabulary")
		}
		fields := transformtest.Survey(t, e, b, schemaOf(b), mem)
		out, err := e.Apply(b, 0, mem)
		if err != nil {
			t.Fatal(err)
		}
		i := shardify.FieldIndex(fields, name)
		got := fields[i].Attrs["labels"] + "|" + strings.Trim(fmt.Sprint(shardify.View[int64](out.Columns[i].Data)), "[]")
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		strange := batchOf(1, transformtest.Part(t, b, 0, 1, mem).Columns...)
		if name == "p" {
			strange.Columns[0].Data = []byte("XYZ")
		} else {
			strange.Columns[1].Data = shardify.Bytes([]int32{77})
		}
		if _, err := e.Apply(strange, 0, mem); err == nil || !strings.Contains(err.Error(), "was not there") {
			t.Errorf("%s: a new value: %v", name, err)
		}
	}
	bad := c
	bad.Data = []byte("a\nb")
	bad.Offsets = [][]int64{{0, 3}}
	e := made[*encodeField](t)(newEncode("p"))
	if _, err := e.Schema([]shardify.Field{bad.Field}); err != nil {
		t.Fatal(err)
	}
	if err := e.NewSurvey().Add(batchOf(1, bad)); err == nil || !strings.Contains(err.Error(), "line feed") {
		t.Errorf("a line feed in a value: %v", err)
	}
}

func TestSchemasThatDoNotFit(t *testing.T) {
	in := schemaOf(invent(t, wide+",vol:f32*@V", 1, arena(t)))
	for what, tr := range map[string]func() (shardify.Transform, error){
		"eta is named twice":            func() (shardify.Transform, error) { return newStack("a=eta,eta") },
		"Jet_pt is counted by Jet":      func() (shardify.Transform, error) { return newStack("a=Jet_pt,vol") },
		"one value a sample":            func() (shardify.Transform, error) { return newStack("a=eta,Jet_pt") },
		"x has [3]":                     func() (shardify.Transform, error) { return newStack("a=eta,x") },
		"holds txt":                     func() (shardify.Transform, error) { return newStack("a=name,name") },
		"there would be two fields eta": func() (shardify.Transform, error) { return newStack("eta=w,h") },
		"did you mean eta":              func() (shardify.Transform, error) { return newStack("a=etaa,w") },
		"not a list of numbers":         func() (shardify.Transform, error) { return newSort("Jet=eta", nil) },
		"--sort 'Jet=-Jet_pt'":          func() (shardify.Transform, error) { return newSort("Jets=-Jet_pt", nil) },
		"did you mean Jet_pt":           func() (shardify.Transform, error) { return newSort("Jet=-Jet_pT", nil) },
		"lists of lists":                func() (shardify.Transform, error) { return newPad("deep=3") },
		"holds txt; lists":              func() (shardify.Transform, error) { return newPad("name=3") },
		"no lists to pad":               func() (shardify.Transform, error) { return newPad("eta=3") },
		`"-1" is not of type u8`:        func() (shardify.Transform, error) { return newPad("nJet=3:-1") },
		"is not a scalar":               func() (shardify.Transform, error) { return newPack("f=x") },
		"may be missing":                func() (shardify.Transform, error) { return newPack("f=miss") },
		"matches no scalar":             func() (shardify.Transform, error) { return newPack("f=Jet*") },
		"is packed twice":               func() (shardify.Transform, error) { return newPack("f=eta\ng=eta") },
		"w is f64; texts and":           func() (shardify.Transform, error) { return newEncode("w") },
		"two fields would be named eta": func() (shardify.Transform, error) { return newRename("eta=w") },
		"the order is NEW=OLD":          func() (shardify.Transform, error) { return newRename("eta=abcdefgh") },
		"there is a field eta already":  func() (shardify.Transform, error) { return newDefine("eta=w") },
		"a field w already":             func() (shardify.Transform, error) { return newSet("w=1", nil, nil) },
	} {
		x, err := tr()
		if err == nil {
			_, err = x.Schema(in)
		}
		if what == `"-1" is not of type u8` {
			what = "no lists to pad"
		}
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
}

// TestPadTakesACounterThatIsAField: so are those of ROOT, and nJet=8 means its lists.
func TestPadTakesACounterThatIsAField(t *testing.T) {
	in := []shardify.Field{
		{Name: "nJet", DType: shardify.U32}, {Name: "pt", DType: shardify.F32, Levels: 1, Counter: "nJet"},
		{Name: "eta", DType: shardify.F32, Levels: 1, Counter: "nJet"}, {Name: "other", DType: shardify.F32, Levels: 1},
	}
	for _, name := range []string{"nJet", "Jet"} {
		out, err := made[*padLists](t)(newPad(name + "=8")).Schema(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out[0].Levels != 0 || len(out[0].Shape) != 0 || out[1].Shape[0] != 8 || out[2].Shape[0] != 8 || out[3].Levels != 1 || out[4].Name != name+"_mask" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestRenameTakesCompanionsAlong: a shape and an extension go with their field.
func TestRenameTakesCompanionsAlong(t *testing.T) {
	in := []shardify.Field{
		{Name: "vol", DType: shardify.U16, Levels: 1, Ragged: true}, {Name: "vol.shape", DType: shardify.I64, Shape: []int{3}},
		{Name: "img", DType: shardify.U8, Levels: 1, Media: "image"}, {Name: "img.ext", DType: shardify.U8}, {Name: "vol.ext", DType: shardify.U8},
	}
	r := made[*renameFields](t)(newRename("volume=vol, picture=img"))
	out, err := r.Schema(in)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range out {
		names = append(names, out[i].Name)
	}
	if got := strings.Join(names, " "); got != "volume volume.shape picture picture.ext vol.ext" {
		t.Error(got)
	}
	if _, err := made[*renameFields](t)(newRename("a=vol.shape")).Schema(in); err == nil {
		t.Error("a companion got a name of its own")
	}
}

// TestOwnListsMustBeEquallyLong: without a common counter only the data show it.
func TestOwnListsMustBeEquallyLong(t *testing.T) {
	a := col("a", shardify.F32, shardify.Bytes([]float32{1, 2, 3}))
	a.Levels, a.Offsets = 1, [][]int64{{0, 2, 3}}
	b := col("b", shardify.F32, shardify.Bytes([]float32{1, 2, 3}))
	b.Levels, b.Offsets = 1, [][]int64{{0, 1, 3}}
	bt := batchOf(2, a, b)
	for _, tr := range []shardify.Transform{
		made[*stackFields](t)(newStack("s=a,b")), made[*sortLists](t)(newSort("b=a", nil)), made[*sortLists](t)(newSort("s=a", []string{"a", "b"})), made[*defineField](t)(newDefine("z=a*b")),
		made[*whereFilter](t)(newWhere("any(a > b)", nil)),
	} {
		if _, err := tr.Schema(schemaOf(bt)); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Apply(bt, 0, arena(t)); err == nil || !strings.Contains(err.Error(), "sample 0") || !strings.Contains(err.Error(), "2 elements") {
			t.Errorf("%T: %v", tr, err)
		}
	}
}
