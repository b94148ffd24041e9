package augment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/transform/transformtest"
)

const wide = "id:i64,eta:f32,w:f64,h:f16,g:bf16,x:f32[3],m:i16[2,2],miss:f32?,px:f32,py:f32,pz:f32,vec:f64[4,3]," +
	"Jet_pt:f32*5@Jet,Jet_phi:f32*5@Jet,Jet_id:i32*5@Jet,Jet_p3:f32*5[3]@Jet,hits:i32*4,deep:f32**5@Jet,tags:txt**3"

func invent(t testing.TB, schema string, samples int, mem *shardify.Arena) *shardify.Batch {
	t.Helper()
	return transformtest.Invent(t, schema, samples, mem)
}

func arena(t testing.TB) *shardify.Arena { t.Helper(); return transformtest.Arena(t) }

func schemaOf(b *shardify.Batch) []shardify.Field { return transformtest.SchemaOf(b) }

// samples is every sample of a batch by its identity, and the counts.
func samples(b *shardify.Batch) *transformtest.Outcome {
	o := transformtest.NewOutcome()
	o.Add(b)
	return o
}

const seed = transformtest.Seed

// prepared is the transform of a spec, ready for batches of a schema.
func prepared(t testing.TB, spec string, whole *shardify.Batch) (shardify.Transform, []shardify.Field) {
	t.Helper()
	s, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := s.New(Env{})
	if err != nil {
		t.Fatal(err)
	}
	in := schemaOf(whole)
	fields, err := tr.Schema(in)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := tr.(shardify.Surveyor); ok {
		one := v.NewSurvey()
		if err := one.Add(whole); err != nil {
			t.Fatal(err)
		}
		result, err := one.Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Learn(result); err != nil {
			t.Fatal(err)
		}
		if fields, err = tr.Schema(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := shardify.ValidateSchema(fields); err != nil {
		t.Fatal(err)
	}
	return tr, fields
}

// conform is transformtest.Conform for a spec; another seed changes random operations
// only.
func conform(t *testing.T, spec string, whole *shardify.Batch, mem *shardify.Arena) *shardify.Batch {
	t.Helper()
	s, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := s.New(Env{})
	if err != nil {
		t.Fatal(err)
	}
	out := transformtest.Conform(t, tr, whole, mem)
	other, err := tr.Apply(whole, seed+1, arena(t))
	if err != nil {
		t.Fatal(err)
	}
	if same := samples(out).Diff(samples(other)) == ""; s.Op.Random == same {
		t.Errorf("random is %v, but another seed gives equal samples: %v", s.Op.Random, same)
	}
	return out
}

func TestArraysConform(t *testing.T) {
	for _, spec := range []string{
		"normalise=eta+w+h+g+x+m+miss+Jet_pt+Jet_p3+hits", "normalise=x+m+vec,by=all", "normalise=eta,sentinel=0",
		"noise=eta+w+h+g+x+miss+Jet_pt+deep,sigma=0.1", "smear=Jet_*,sigma=0.2", "scale=x+Jet_pt,range=0.5:2", "mask=*,p=0.3,value=-1",
		"drop=Jet,p=0.4", "drop=Jet_pt,p=0.9,min=2", "drop=hits,p=0.5", "permute=Jet", "permute=hits", "drop=tags,p=0.5",
		"rotate-phi=eta+Jet_phi", "rotate-3d=px:py:pz+vec+Jet_p3", "rotate-3d=px:py:pz,axis=z",
	} {
		t.Run(spec, func(t *testing.T) {
			mem := arena(t)
			conform(t, spec, invent(t, wide, 23, mem), mem)
		})
	}
}

// TestNothingIsDoneAtZeroStrength: operations that can be turned down to nothing give
// the input back.
func TestNothingIsDoneAtZeroStrength(t *testing.T) {
	for _, spec := range []string{"noise=*,sigma=0", "smear=*,sigma=0", "scale=*,range=1", "mask=*,p=0", "drop=Jet,p=0", "drop=Jet,p=1,min=1000000"} {
		mem := arena(t)
		whole := invent(t, wide, 50, mem)
		tr, _ := prepared(t, spec, whole)
		out, err := tr.Apply(whole, seed, mem)
		if err != nil {
			t.Fatal(err)
		}
		if d := samples(whole).Diff(samples(out)); d != "" {
			t.Errorf("%s changes samples: %s", spec, d)
		}
	}
}

func col(b *shardify.Batch, name string) *shardify.Column {
	for i := range b.Columns {
		if b.Columns[i].Name == name {
			return &b.Columns[i]
		}
	}
	return nil
}

// TestNormalisedFieldsHaveMeanZeroAndDeviationOne per entry of the last axis; the
// attributes undo it.
func TestNormalisedFieldsHaveMeanZeroAndDeviationOne(t *testing.T) {
	mem := arena(t)
	whole := invent(t, "x:f32[3],m:i16[2,2]", 2000, mem)
	v := shardify.View[float32](col(whole, "x").Data)
	v[3], v[6] = float32(math.NaN()), -999 // entry 0: left out
	out := conform(t, "normalise=x+m,sentinel=-999", whole, mem)
	tr, fields := prepared(t, "normalise=x+m,sentinel=-999", whole)
	_ = tr
	x, m := col(out, "x"), col(out, "m")
	if m.DType != shardify.F32 {
		t.Fatalf("m is %v", m.DType)
	}
	y := shardify.View[float32](x.Data)
	if y[6] != -999 || y[3] == y[3] {
		t.Errorf("sentinel became %v, NaN %v", y[6], y[3])
	}
	for e := range 3 {
		var s sum
		for k := e; k < len(y); k += 3 {
			if y[k] == y[k] && y[k] != -999 {
				s.add(float64(y[k]))
			}
		}
		if std := math.Sqrt(s.sqrs / float64(s.n)); math.Abs(s.mean) > 1e-5 || math.Abs(std-1) > 1e-5 {
			t.Errorf("entry %d: mean %v, deviation %v", e, s.mean, std)
		}
	}
	f := fields[shardify.FieldIndex(fields, "x")]
	means, stds := strings.Split(f.Attrs[AttrMean], ","), strings.Split(f.Attrs[AttrStd], ",")
	if len(means) != 3 || len(stds) != 3 {
		t.Fatalf("attributes %v", f.Attrs)
	}
	for k := range 9 {
		mean, _ := strconv.ParseFloat(means[k%3], 64)
		std, _ := strconv.ParseFloat(stds[k%3], 64)
		if back := float64(y[k])*std + mean; k != 3 && k != 6 && math.Abs(back-float64(v[k])) > 1e-5*(1+math.Abs(back)) {
			t.Errorf("value %d undone is %v, was %v", k, back, v[k])
		}
	}
}

// TestPartsOfASurveyGiveTheFiguresOfTheWhole.
func TestPartsOfASurveyGiveTheFiguresOfTheWhole(t *testing.T) {
	mem := arena(t)
	whole := invent(t, wide, 1000, mem)
	tr, _ := prepared(t, "normalise=x+w+Jet_pt", whole)
	n := tr.(*normalise)
	sumOf := func(cuts ...int) *sums {
		var all shardify.Survey = n.NewSurvey()
		for i := 1; i < len(cuts); i++ {
			var rows []int32
			for k := cuts[i-1]; k < cuts[i]; k++ {
				rows = append(rows, int32(k))
			}
			part, err := whole.Take(rows, mem)
			if err != nil {
				t.Fatal(err)
			}
			s := n.NewSurvey()
			if err := s.Add(part); err != nil {
				t.Fatal(err)
			}
			if err := all.Merge(s); err != nil {
				t.Fatal(err)
			}
		}
		return all.(*sums)
	}
	a, b := sumOf(0, 1000), sumOf(0, 1, 500, 500, 999, 1000)
	for j := range a.fields {
		for e := range a.fields[j] {
			x, y := a.fields[j][e], b.fields[j][e]
			if x.n != y.n || math.Abs(x.mean-y.mean) > 1e-9*(1+math.Abs(x.mean)) || math.Abs(x.sqrs-y.sqrs) > 1e-9*x.sqrs {
				t.Errorf("field %d entry %d: %+v and %+v", j, e, x, y)
			}
		}
	}
}

func TestConstantFieldsAreRefusedByName(t *testing.T) {
	mem := arena(t)
	whole := invent(t, "x:f32[3],y:f32", 10, mem)
	v := shardify.View[float32](whole.Columns[0].Data)
	for i := 1; i < len(v); i += 3 {
		v[i] = 7
	}
	s, err := Parse("normalise=*")
	if err != nil {
		t.Fatal(err)
	}
	tr, _ := s.New(Env{})
	if _, err := tr.Schema(schemaOf(whole)); err != nil {
		t.Fatal(err)
	}
	one := tr.(shardify.Surveyor).NewSurvey()
	if err := one.Add(whole); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Result(); err == nil || !strings.Contains(err.Error(), "x, entry 1 of its last axis, is constant (7)") {
		t.Errorf("%v", err)
	}
}

// TestNoiseHasItsDeviation and its mean is 0.
func TestNoiseHasItsDeviation(t *testing.T) {
	mem := arena(t)
	whole := invent(t, "x:f64", 20000, mem)
	tr, _ := prepared(t, "noise=x,sigma=0.5", whole)
	out, err := tr.Apply(whole, seed, mem)
	if err != nil {
		t.Fatal(err)
	}
	var s sum
	a, b := shardify.View[float64](whole.Columns[0].Data), shardify.View[float64](out.Columns[0].Data)
	for i := range a {
		s.add(b[i] - a[i])
	}
	if std := math.Sqrt(s.sqrs / float64(s.n)); math.Abs(s.mean) > 0.02 || math.Abs(std-0.5) > 0.01 {
		t.Errorf("mean %v, deviation %v", s.mean, std)
	}
}

// TestRotationsKeepLengthsAndAngles, whatever the form of the vectors.
func TestRotationsKeepLengthsAndAngles(t *testing.T) {
	race.Sequential(t)
	for _, axis := range []string{"any", "x", "y", "z"} {
		mem := arena(t)
		whole := invent(t, "px:f64,py:f64,pz:f64,vec:f64[4,3]", 200, mem)
		out := conform(t, "rotate-3d=px:py:pz+vec,axis="+axis, whole, mem)
		at := func(b *shardify.Batch, i int) (p, q [3]float64) {
			for j, n := range []string{"px", "py", "pz"} {
				p[j] = shardify.View[float64](col(b, n).Data)[i]
			}
			copy(q[:], shardify.View[float64](col(b, "vec").Data)[12*i:])
			return p, q
		}
		dot := func(p, q [3]float64) float64 { return p[0]*q[0] + p[1]*q[1] + p[2]*q[2] }
		for i := range 200 {
			p, q := at(whole, i)
			r, s := at(out, i)
			if math.Abs(dot(p, p)-dot(r, r)) > 1e-9*dot(p, p) || math.Abs(dot(p, q)-dot(r, s)) > 1e-9*(dot(p, p)+dot(q, q)) {
				t.Fatalf("axis %s: %v, %v became %v, %v", axis, p, q, r, s)
			}
			if k := strings.Index("xyz", axis); k >= 0 && p[k] != r[k] {
				t.Fatalf("axis %s: %v became %v", axis, p, r)
			}
		}
	}
}

// TestRandomNumbersArePartOfThePromise: the same seed gives the same numbers on
// every machine, with every version of the program.
func TestRandomNumbersArePartOfThePromise(t *testing.T) {
	r := new(source)
	r.seed(1)
	var got []string
	for range 3 {
		got = append(got, fmt.Sprintf("%x %x %d", r.normal(), r.float(), r.below(1000)))
	}
	want := []string{"0x1.3bca285bc3821p-01 0x1.7dd71b42cb1ddp-01 971", "-0x1.45043d2435f24p+00 0x1.c6ed53634406cp-02 762", "0x1.2104404fc1681p+00 0x1.0bcf761e244fp-01 285"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnglesStayInTheirRange(t *testing.T) {
	for _, x := range []float64{0, 3.2, -3.2, math.Pi, -math.Pi, 100, -100, math.Nextafter(math.Pi, 0), math.Nextafter(-math.Pi, -4)} {
		if y := wrap(x); !(y >= -math.Pi && y < math.Pi) || math.Abs(math.Sin(x)-math.Sin(y)) > 1e-9 || math.Abs(math.Cos(x)-math.Cos(y)) > 1e-9 {
			t.Errorf("%v became %v", x, y)
		}
	}
}

// TestPermutedAndDroppedElementsStayTogether: what one counter counts keeps its place
// beside its neighbours.
func TestPermutedAndDroppedElementsStayTogether(t *testing.T) {
	mem := arena(t)
	whole := invent(t, "a:i32*6@J,b:i32*6@J", 300, mem)
	copy(whole.Columns[1].Data, whole.Columns[0].Data)
	for _, spec := range []string{"permute=J", "drop=J,p=0.5,min=1"} {
		out := conform(t, spec, whole, mem)
		a, b := &out.Columns[0], &out.Columns[1]
		if string(a.Data) != string(b.Data) {
			t.Errorf("%s splits elements", spec)
		}
		for i := range 300 {
			n, m := whole.Columns[0].Offsets[0], a.Offsets[0]
			before, after := int(n[i+1]-n[i]), int(m[i+1]-m[i])
			lo, hi := whole.Columns[0].Range(i, i+1)
			from, to := a.Range(i, i+1)
			was, is := slices.Clone(shardify.View[int32](whole.Columns[0].Data)[lo/4:hi/4]), slices.Clone(shardify.View[int32](a.Data)[from/4:to/4])
			switch {
			case spec[0] == 'd' && (after > before || after < min(1, before)):
				t.Fatalf("%s: %d elements of %d", spec, after, before)
			case spec[0] == 'p':
				slices.Sort(was)
				slices.Sort(is)
				if !slices.Equal(was, is) {
					t.Fatalf("%s: %v became %v", spec, was, is)
				}
			}
		}
	}
}

func TestMistakesSayWhatIsWanted(t *testing.T) {
	for spec, want := range map[string]string{
		"":                           "no operation",
		"nois=x,sigma=1":             "there are normalise, noise",
		"noise,sigma=1":              "noise wants a value: fields",
		"noise=x":                    "noise wants sigma: standard deviation of the noise",
		"noise=x,sigma=a":            "sigma=a: want a number",
		"noise=x,sigma=-1":           "sigma=-1: want a number from 0",
		"noise=x,sigma=1,sigma=2":    "sigma is given twice",
		"noise=x,width=2":            "want KEY=VALUE with one of sigma",
		"scale=x,range=2:1":          "want LO:HI",
		"train,:noise=x,sigma=1":     "a split without a name",
		"rotate-3d=px:py":            "want three fields X:Y:Z",
		"rotate-3d=p,axis=w":         "want any, x, y or z",
		"normalise=x,by=row":         "want last, first or all",
		"normalise=x,sentinel=never": "want a number",
	} {
		if _, err := Parse(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
	s, err := Parse("train, fit:noise=x,sigma=1")
	if err != nil || !slices.Equal(s.Splits, []string{"train", "fit"}) {
		t.Errorf("%v %v", s, err)
	}
}

func TestFieldsThatDoNotFitAreNamed(t *testing.T) {
	mem := arena(t)
	in := schemaOf(invent(t, wide, 1, mem))
	for spec, want := range map[string]string{
		"noise=nope,sigma=1":   "no field nope",
		"noise=id,sigma=1":     "field id is i64, not floating-point",
		"noise=tags,sigma=1":   "field tags is txt",
		"rotate-3d=Jet_pt":     "its last axis must have three entries",
		"rotate-3d=px:py:w":    "not alike",
		"drop=eta,p=0.1":       "no list and no counter eta",
		"permute=Muon":         "no list and no counter Muon",
		"noise=t*,sigma=1":     "none of the fields t*",
		"normalise=[,sentinel": "KEY=VALUE",
	} {
		s, err := Parse(spec)
		if err == nil {
			var tr shardify.Transform
			if tr, err = s.New(Env{}); err == nil {
				_, err = tr.Schema(in)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
}

// FuzzParse: no text makes the parser panic, and what it takes can be made.
func FuzzParse(f *testing.F) {
	for i := range Table {
		f.Add(Table[i].Example())
	}
	f.Add("train,val:noise=x+y,sigma=0.1")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if (s == nil || s.Op == nil) && err == nil {
			t.Fatalf("%q gives nothing", text)
		}
	})
}

var memory = shardify.NewPool(1 << 30) // of the benchmarks

func BenchmarkArrays(b *testing.B) {
	for _, spec := range []string{"normalise=x", "noise=x,sigma=0.1", "scale=x,range=0.5:2", "mask=x,p=0.1", "rotate-3d=v", "permute=a", "drop=a,p=0.3"} {
		b.Run(spec, func(b *testing.B) {
			mem := arena(b)
			defer mem.Release()
			whole := invent(b, "x:f32[64],v:f32[20,3],a:f32*30", 2000, mem)
			tr, _ := prepared(b, spec, whole)
			b.SetBytes(int64(len(whole.Columns[strings.Index("xva", spec[strings.Index(spec, "=")+1:][:1])].Data)))
			for b.Loop() {
				a, _ := memory.Grant(context.Background(), 1<<20)
				if _, err := tr.Apply(whole, seed, a); err != nil {
					b.Fatal(err)
				}
				a.Release()
			}
		})
	}
}
