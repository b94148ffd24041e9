package convert

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/memory"
)

func TestSplitTextsAreReadOrRefused(t *testing.T) {
	for text, want := range map[string]string{
		"train=0.8,val=0.2":        "train=0.8,val=0.2",
		"train=0.8, val=0.2":       "train=0.8,val=0.2",
		"all=1.0":                  "all=1",
		"a=rest,b=10":              "a=rest,b=10",
		"a=10,b=20":                "a=10,b=20",
		"a=0.3,b=rest":             "a=0.3,b=rest",
		"a=0.1,b=0.2,c=0.3,d=0.4":  "a=0.1,b=0.2,c=0.3,d=0.4",
		"":                         "!NAME=SHARE",
		"train":                    "!NAME=SHARE",
		"train=0.8,val=0.1":        "!add up to 0.9",
		"train=0.8,train=0.2":      "!stands twice",
		"Train=0.8,train=0.2":      "!stands twice",
		"train=0.8,val=20":         "!not both",
		"train=rest,val=rest":      "!only one",
		"train=1.0,val=rest":       "!leave no rest",
		"train=-1,val=2":           "!a share between",
		"train=NaN,val=0.5":        "!a share between",
		"../x=0.5,val=0.5":         "!split name",
		"0001=0.5,val=0.5":         "!split name",
		"shard-1=0.5,val=0.5":      "!split name",
		".shardify=0.5,val=0.5":    "!split name",
		"shardify.json=0.5,b=0.5":  "!split name",
		"train=0,val=1":            "!no samples",
		"a=0.5,b=0.25,c=0.2500001": "!add up",
	} {
		s, err := ParseSplit(text)
		switch {
		case strings.HasPrefix(want, "!"):
			if err == nil || !strings.Contains(err.Error(), want[1:]) {
				t.Errorf("%q: %v, want %q", text, err, want[1:])
			}
		case err != nil:
			t.Errorf("%q: %v", text, err)
		case s.String() != want:
			t.Errorf("%q is %q", text, s)
		}
	}
}

// idsOf splits n samples of each input by identity alone.
func idsOf(t *testing.T, text string, seed uint64, inputs []string, n int64) map[string]map[string]bool {
	t.Helper()
	table := &shardify.Table{Roots: []string{"in"}}
	for _, name := range inputs {
		table.Append(0, name, 1, 1)
	}
	p := &Plan{Table: table, Seed: seed, Split: split(t, text)}
	r, err := p.newRouter()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]bool{}
	for i, name := range inputs {
		b := &shardify.Batch{Samples: int(n), First: shardify.ID{Input: uint32(i)}}
		to := make([]uint16, n)
		if err := r.Route(b, to); err != nil {
			t.Fatal(err)
		}
		for k, part := range to {
			name := fmt.Sprintf("%s %d", name, k)
			split := p.Split.Parts[part].Name
			if out[split] == nil {
				out[split] = map[string]bool{}
			}
			out[split][name] = true
		}
	}
	return out
}

// TestShareOfEachSplitIsBinomial: over many seeds the counts scatter as those of coin
// tosses, neither more nor less.
func TestShareOfEachSplitIsBinomial(t *testing.T) {
	const n, seeds = 4000, 300
	shares := map[string]float64{"train": 0.8, "val": 0.15, "test": 0.05}
	sum := map[string]float64{}
	worst := 0.0
	for seed := range uint64(seeds) {
		for name, ids := range idsOf(t, "train=0.8,val=0.15,test=0.05", seed, []string{"a", "b"}, n/2) {
			p := shares[name]
			z := (float64(len(ids)) - n*p) / math.Sqrt(n*p*(1-p))
			worst = max(worst, math.Abs(z))
			sum[name] += z * z
		}
	}
	for name, s := range sum {
		// Chi-square with as many degrees of freedom as seeds.
		if z := (s - seeds) / math.Sqrt(2*seeds); math.Abs(z) > 4.5 {
			t.Errorf("%s: the counts over %d seeds scatter by %+.1f sigma from what chance does", name, seeds, z)
		}
	}
	if worst > 5 {
		t.Errorf("one count is %.1f sigma off", worst)
	}
}

func TestSplitStaysWhenInputsAreAdded(t *testing.T) {
	few := idsOf(t, "train=0.8,val=0.2", 3, []string{"b/x", "b/y"}, 1000)
	many := idsOf(t, "train=0.8,val=0.2", 3, []string{"a/x", "b/x", "b/xx", "b/y", "c"}, 1000)
	for name, ids := range few {
		for id := range ids {
			if !many[name][id] {
				t.Fatalf("%s left %s when inputs were added", id, name)
			}
		}
	}
	for _, id := range []string{"a/x", "c"} {
		in := 0
		for k := range 1000 {
			if many["val"][fmt.Sprintf("%s %d", id, k)] != many["val"][fmt.Sprintf("b/x %d", k)] {
				in++
			}
		}
		if in < 200 { // of 320 that two independent draws give
			t.Errorf("the samples of %s go where those of b/x go: %d of 1000 differ", id, in)
		}
	}
}

// classSource has a field c with few values and g with many.
type classSource struct{ *fakeSource }

func (f classSource) Schema() []shardify.Field {
	return []shardify.Field{{Name: "x", DType: shardify.I64}, {Name: "c", DType: shardify.U8}, {Name: "g", DType: shardify.U16}}
}

func (f classSource) Reader(run uint32) (shardify.Reader, error) {
	return &classReader{fakeReader{f: f.fakeSource, run: run}, f}, nil
}

type classReader struct {
	fakeReader
	c classSource
}

func (f *fakeSource) class(input uint32, sample int64) (c uint8, g uint16) {
	v := shardify.Mix(f.value(input, sample))
	return uint8(min(v%10, 3)), uint16((v >> 8) % 40)
}

func (r *classReader) Read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	b, err := r.fakeReader.Read(ctx, s, mem)
	if err != nil {
		return nil, err
	}
	fields := r.c.Schema()
	c, g := mem.Alloc(b.Samples), mem.Alloc(2*b.Samples)
	for i := range b.Samples {
		v, w := r.f.class(s.Input, s.Lo+int64(i))
		c[i], g[2*i], g[2*i+1] = v, byte(w), byte(w>>8)
	}
	b.Columns = append(b.Columns, shardify.Column{Field: fields[1], Data: c}, shardify.Column{Field: fields[2], Data: g})
	return b, nil
}

// classConvert converts and tells which samples are in which split, by value of x.
func classConvert(t *testing.T, f *fakeSource, change func(*Request)) map[string][]uint64 {
	t.Helper()
	src := classSource{f}
	s := memory.New()
	p := fakePlan(t, f, func(r *Request) {
		r.Source, r.Compile, r.Helpers = src, compileFake, []string{"c", "g"}
		change(r)
	})
	j := shapedJob(p, f, s)
	j.Source = src
	if _, err := j.Convert(bg); err != nil {
		t.Fatal(err)
	}
	out := map[string][]uint64{}
	for _, part := range p.Split.Parts {
		out[part.Name] = valuesOf(t, s, part.Name+"/")
	}
	return out
}

func TestStratifyKeepsTheProportionsOfEachClass(t *testing.T) {
	smallSurveys(t)
	f := mixed()
	class := map[uint64]uint8{}
	total := map[uint8]int{}
	for _, id := range everyID(f) {
		c, _ := f.class(id.Input, id.Sample)
		class[f.value(id.Input, id.Sample)] = c
		total[c]++
	}
	got := classConvert(t, f, func(r *Request) { r.Split = split(t, "train=0.7,val=0.3"); r.Split.Stratify = "c" })
	have := map[uint8]int{}
	for _, v := range got["train"] {
		have[class[v]]++
	}
	for c, n := range total {
		if want := int(math.Round(0.7 * float64(n))); have[c] != want {
			t.Errorf("class %d: %d of %d samples in train, want %d", c, have[c], n, want)
		}
	}
	if len(got["train"])+len(got["val"]) != len(class) {
		t.Errorf("%d and %d samples of %d", len(got["train"]), len(got["val"]), len(class))
	}
}

func TestNoGroupIsOnBothSides(t *testing.T) {
	f := mixed()
	group := map[uint64]uint16{}
	for _, id := range everyID(f) {
		_, group[f.value(id.Input, id.Sample)] = f.class(id.Input, id.Sample)
	}
	where := map[uint16]string{}
	for name, values := range classConvert(t, f, func(r *Request) { r.Split = split(t, "train=0.5,val=0.3,test=0.2"); r.Split.GroupBy = "g" }) {
		if len(values) == 0 {
			t.Errorf("%s is empty", name)
		}
		for _, v := range values {
			if g := group[v]; where[g] == "" {
				where[g] = name
			} else if where[g] != name {
				t.Fatalf("group %d is in %s and in %s", g, where[g], name)
			}
		}
	}
}

func TestIdentityByColumnsIgnoresWhereTheSampleStands(t *testing.T) {
	f := mixed()
	by := func(f *fakeSource, identity ...string) map[string][]uint64 {
		return classConvert(t, f, func(r *Request) { r.Split = split(t, "train=0.5,val=0.5"); r.Split.Identity = identity })
	}
	first := by(f, "c", "g")
	place := by(f)
	if slices.Equal(first["train"], place["train"]) {
		t.Fatal("the identity columns change nothing")
	}
	for _, v := range first["train"] {
		if slices.Contains(first["val"], v) {
			t.Fatal("a sample in two splits")
		}
	}
}

func TestSplitsThatExistAreKept(t *testing.T) {
	table := &shardify.Table{Roots: []string{"in"}}
	for _, n := range []string{"train/a/1.jpg", "train/b/2.jpg", "val/a/3.jpg"} {
		table.Append(0, n, 1, 1)
	}
	dirs, err := ParseSplitFrom("dirs")
	if err != nil {
		t.Fatal(err)
	}
	want := []InputPart{{2, 0, 0}, {3, 0, 1}}
	if err := dirs.byInput(table); err != nil || !slices.Equal(dirs.Inputs, want) || dirs.String() != "dirs" || dirs.Parts[1].Name != "val" {
		t.Fatalf("%+v %v", dirs, err)
	}
	apart := &shardify.Table{Roots: []string{"data/train", "data/val"}} // given one by one
	apart.Append(0, "a/1.jpg", 1, 1)
	apart.Append(0, "b/2.jpg", 1, 1)
	apart.Append(1, "a/3.jpg", 1, 1)
	if err := dirs.byInput(apart); err != nil || !slices.Equal(dirs.Inputs, want) || dirs.Parts[0].Name != "train" {
		t.Fatalf("%+v %v", dirs, err)
	}
	for text, want := range map[string]string{
		"train=train,val=val":     "",
		"train=train/*,val=val/*": "",
		"train=*/b,val=*/a":       "",
		"train=train/a,val=val":   "1 inputs belong to no split: train/b/2.jpg",
		"train=*,val=val":         "belong to several splits",
		"a=1.jpg,b=2.jpg,c=3.*":   "",
		"a=*.jpg,b=x":             "no input matches",
	} {
		s, err := ParseSplitFrom(text)
		if err != nil {
			t.Fatal(err)
		}
		err = s.byInput(table)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestExactNumbersHoldForFilesOfOneName: two folders with the same file names.
func TestExactNumbersHoldForFilesOfOneName(t *testing.T) {
	table := &shardify.Table{Roots: []string{"sig", "bg"}}
	table.Append(0, "a", 1, 1)
	table.Append(1, "a", 1, 1)
	p := &Plan{Table: table, Split: split(t, "train=rest,val=7"), Spans: []shardify.Span{{Hi: 50}, {Input: 1, Hi: 50}}}
	fl := &flow{plan: p}
	if err := (&Request{Source: &fakeSource{inputs: []fakeInput{{n: 50}, {n: 50}}}}).count(bg, fl); err != nil {
		t.Fatal(err)
	}
	n := 0
	for input := range uint32(2) {
		to := make([]uint16, 50)
		if err := fl.router.Route(&shardify.Batch{Samples: 50, First: shardify.ID{Input: input}}, to); err != nil {
			t.Fatal(err)
		}
		for _, part := range to {
			n += int(part)
		}
	}
	if n != 7 {
		t.Fatalf("val has %d samples", n)
	}
}

// TestStratifyOfNoSamples: a selection may leave nothing, and the classes are none.
func TestStratifyOfNoSamples(t *testing.T) {
	s := split(t, "train=0.8,val=0.2")
	s.Stratify = "y"
	cuts, err := (&ranker{field: "y"}).cuts(s, &ranker{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Plan{Table: &shardify.Table{}, Split: s, Cuts: cuts}).newRouter(); err != nil {
		t.Fatal(err)
	}
}

func TestStratifyRefusesNumbersWhereverTheyStand(t *testing.T) {
	for _, text := range []string{"train=rest,val=10", "val=10,train=rest"} {
		s := split(t, text)
		s.Stratify = "y"
		if err := s.settled(); err == nil || !strings.Contains(err.Error(), "shares instead of numbers") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestExactNumbersHoldForManySamples goes through the second pass over the hashes.
func TestExactNumbersHoldForManySamples(t *testing.T) {
	f := &fakeSource{inputs: []fakeInput{{n: 2_300_000}}}
	p := &Plan{Table: &shardify.Table{}, Split: split(t, "train=rest,val=123456,test=7"), Spans: []shardify.Span{{Hi: 2_300_000}}}
	r := &Request{Source: f}
	fl := &flow{plan: p}
	if err := r.count(bg, fl); err != nil {
		t.Fatal(err)
	}
	var counts [3]int
	b := &shardify.Batch{Samples: 2_300_000}
	to := make([]uint16, b.Samples)
	if err := fl.router.Route(b, to); err != nil {
		t.Fatal(err)
	}
	for _, k := range to {
		counts[k]++
	}
	if counts != [3]int{2_300_000 - 123456 - 7, 123456, 7} {
		t.Fatalf("%v", counts)
	}
}
