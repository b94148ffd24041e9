package transform

import (
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

func col(name string, d shardify.DType, data []byte) shardify.Column {
	return shardify.Column{Field: shardify.Field{Name: name, DType: d}, Data: data}
}

func batchOf(samples int, cols ...shardify.Column) *shardify.Batch {
	return &shardify.Batch{Samples: samples, Columns: cols}
}

// TestStackPadAndPackMoveEveryValue compares with the plain loops.
func TestStackPadAndPackMoveEveryValue(t *testing.T) {
	mem := arena(t)
	b := invent(t, "a:f32*9@J,b:f32*9@J,c:f32*9@J,p:f64[2],q:f64[2],s:i16,u:i16,v:u8", 97, mem)
	names := func(c *shardify.Column) string { return c.Attrs["columns"] }
	stacked := run(t, made(t)(New(Stack, "abc=a,b,c\npq=p,q", nil)), b)
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
	padded := run(t, made(t)(New(Pad, "abc=4:-7", nil)), stacked)
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
	packed := run(t, made(t)(New(Pack, "f=v,[su]", nil)), b)
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

func TestSchemasThatDoNotFit(t *testing.T) {
	in := schemaOf(invent(t, wide+",vol:f32*@V", 1, arena(t)))
	for what, tr := range map[string]func() (shardify.Transform, error){
		"eta is named twice":            func() (shardify.Transform, error) { return New(Stack, "a=eta,eta", nil) },
		"Jet_pt is counted by Jet":      func() (shardify.Transform, error) { return New(Stack, "a=Jet_pt,vol", nil) },
		"one value a sample":            func() (shardify.Transform, error) { return New(Stack, "a=eta,Jet_pt", nil) },
		"x has [3]":                     func() (shardify.Transform, error) { return New(Stack, "a=eta,x", nil) },
		"holds txt":                     func() (shardify.Transform, error) { return New(Stack, "a=name,name", nil) },
		"there would be two fields eta": func() (shardify.Transform, error) { return New(Stack, "eta=w,h", nil) },
		"did you mean eta":              func() (shardify.Transform, error) { return New(Stack, "a=etaa,w", nil) },
		"not a list of numbers":         func() (shardify.Transform, error) { return New(Sort, "Jet=eta", nil) },
		"--sort 'Jet=-Jet_pt'":          func() (shardify.Transform, error) { return New(Sort, "Jets=-Jet_pt", nil) },
		"did you mean Jet_pt":           func() (shardify.Transform, error) { return New(Sort, "Jet=-Jet_pT", nil) },
		"lists of lists":                func() (shardify.Transform, error) { return New(Pad, "deep=3", nil) },
		"holds txt; lists":              func() (shardify.Transform, error) { return New(Pad, "name=3", nil) },
		"no lists to pad":               func() (shardify.Transform, error) { return New(Pad, "eta=3", nil) },
		`"-1" is not of type u8`:        func() (shardify.Transform, error) { return New(Pad, "nJet=3:-1", nil) },
		"is not a scalar":               func() (shardify.Transform, error) { return New(Pack, "f=x", nil) },
		"may be missing":                func() (shardify.Transform, error) { return New(Pack, "f=miss", nil) },
		"matches no scalar":             func() (shardify.Transform, error) { return New(Pack, "f=Jet*", nil) },
		"is packed twice":               func() (shardify.Transform, error) { return New(Pack, "f=eta\ng=eta", nil) },
		"w is f64; texts and":           func() (shardify.Transform, error) { return New(Encode, "w", nil) },
		"two fields would be named eta": func() (shardify.Transform, error) { return New(Rename, "eta=w", nil) },
		"the order is NEW=OLD":          func() (shardify.Transform, error) { return New(Rename, "eta=abcdefgh", nil) },
		"there is a field eta already":  func() (shardify.Transform, error) { return New(Define, "eta=w", nil) },
		"a field w already":             func() (shardify.Transform, error) { return New(Set, "w=1", nil) },
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

// TestOwnListsMustBeEquallyLong: without a common counter only the data show it.
func TestOwnListsMustBeEquallyLong(t *testing.T) {
	a := col("a", shardify.F32, shardify.Bytes([]float32{1, 2, 3}))
	a.Levels, a.Offsets = 1, [][]int64{{0, 2, 3}}
	b := col("b", shardify.F32, shardify.Bytes([]float32{1, 2, 3}))
	b.Levels, b.Offsets = 1, [][]int64{{0, 1, 3}}
	bt := batchOf(2, a, b)
	sorted, err := Lookup(Sort).New(&op.Env{Parts: map[string][]string{"s": {"a", "b"}}}, "s=a")
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range []shardify.Transform{
		made(t)(New(Stack, "s=a,b", nil)), made(t)(New(Sort, "b=a", nil)), sorted.Transform, made(t)(New(Define, "z=a*b", nil)),
		made(t)(New(Where, "any(a > b)", nil)),
	} {
		if _, err := tr.Schema(schemaOf(bt)); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Apply(bt, 0, arena(t)); err == nil || !strings.Contains(err.Error(), "sample 0") || !strings.Contains(err.Error(), "2 elements") {
			t.Errorf("%T: %v", tr, err)
		}
	}
}
