package convert

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/memory"
)

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

// classConvert converts and returns which samples are in which split, by value of x.
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
	for _, part := range p.Splits.Rule.Parts {
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
