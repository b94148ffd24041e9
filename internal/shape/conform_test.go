package shape

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/synth"
)

// wide is a schema with every form of field.
const wide = "id:i64,nJet:u8,eta:f32,w:f64,h:f16,g:bf16,flag:bool,x:f32[3],m:i16[2,2],big:u64,miss:f32?,imiss:i32?," +
	"Jet_pt:f32*5@Jet,Jet_eta:f32*5@Jet,Jet_id:i32*5@Jet,Jet_vec:f32*5[2]@Jet,hits:i32*4,hmiss:f64*3?,deep:f32**3,name:txt*6,nmiss:txt*4?,tags:txt**3"

// invent is a batch of synthetic samples.
func invent(t testing.TB, schema string, samples int, mem *shardify.Arena) *shardify.Batch {
	t.Helper()
	src, err := synth.Format.Open(context.Background(), shardify.OpenArgs{Table: &shardify.Table{}, Options: options(t, schema, samples)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Read(context.Background(), shardify.Span{Hi: int64(samples)}, mem)
	if err != nil {
		t.Fatal(err)
	}
	c := *b // the arena has one batch
	c.Columns = slices.Clone(b.Columns)
	return &c
}

func options(t testing.TB, schema string, samples int) shardify.Options {
	t.Helper()
	o, err := shardify.CheckOptions(synth.Format.Options, shardify.Options{"schema": schema, "samples": fmt.Sprint(samples)})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func schemaOf(b *shardify.Batch) []shardify.Field {
	var s []shardify.Field
	for i := range b.Columns {
		s = append(s, b.Columns[i].Field)
	}
	return s
}

// arena hands out memory that was used before, as conversions do.
func arena(t testing.TB) *shardify.Arena {
	t.Helper()
	pool := shardify.NewPool(1 << 30)
	grant := func() *shardify.Arena {
		a, err := pool.Grant(context.Background(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	dirty := grant()
	for size := 1 << 10; size <= 8<<10; size += size / 4 {
		for range max(4, 1<<17/size) {
			set(dirty.Alloc(size), 0xab)
		}
	}
	dirty.Release()
	return grant()
}

// value is all bytes of one sample of a column: lengths of lists, values, presence.
func value(c *shardify.Column, i int) string {
	var s strings.Builder
	a, b := int64(i), int64(i+1)
	for _, o := range c.Offsets {
		for k := a; k < b; k++ {
			fmt.Fprintf(&s, "%d,", o[k+1]-o[k])
		}
		a, b = o[a], o[b]
	}
	lo, hi := c.Range(i, i+1)
	fmt.Fprintf(&s, "|%x", c.Data[lo:hi])
	if c.Valid != nil {
		fmt.Fprintf(&s, "|%d", c.Valid[i])
	}
	return s.String()
}

// outcome is what a transform made, by sample.
type outcome struct {
	samples map[shardify.ID]string
	order   []shardify.ID
	counts  map[string]int64
}

func (o *outcome) add(b *shardify.Batch) {
	for i := range b.Samples {
		var s strings.Builder
		for k := range b.Columns {
			fmt.Fprintf(&s, "%s=%s;", b.Columns[k].Name, value(&b.Columns[k], i))
		}
		o.samples[b.ID(i)] = s.String()
		o.order = append(o.order, b.ID(i))
	}
	for _, c := range b.Counts {
		o.counts[c.Name] += c.N
	}
}

func newOutcome() *outcome {
	return &outcome{samples: map[shardify.ID]string{}, counts: map[string]int64{}}
}

func (o *outcome) diff(p *outcome) string {
	if !slices.Equal(o.order, p.order) {
		return fmt.Sprintf("samples %v, want %v", p.order, o.order)
	}
	for id, s := range o.samples {
		if p.samples[id] != s {
			return fmt.Sprintf("sample %v is %s, want %s", id, p.samples[id], s)
		}
	}
	if !maps.Equal(o.counts, p.counts) {
		return fmt.Sprintf("counts %v, want %v", p.counts, o.counts)
	}
	return ""
}

const seed = 12345

// conform holds a transform to the interface's promises: the result does not depend on
// batch borders or neighbours, inputs stay as they are, schema and columns agree, and
// goroutines may share it.
func conform(t *testing.T, tr shardify.Transform, schema string) *shardify.Batch {
	t.Helper()
	mem := arena(t)
	whole := invent(t, schema, 97, mem)
	return conformOn(t, tr, whole, mem)
}

func conformOn(t *testing.T, tr shardify.Transform, whole *shardify.Batch, mem *shardify.Arena) *shardify.Batch {
	t.Helper()
	in := schemaOf(whole)
	fields, err := tr.Schema(slices.Clone(in))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := tr.(shardify.Surveyor); ok {
		fields = survey(t, s, whole, in, mem)
	}
	if err := shardify.ValidateSchema(fields); err != nil {
		t.Fatal(err)
	}
	if c := tr.Cost(in); c.Growth < 0 || c.Sample < 0 {
		t.Errorf("cost %+v", c)
	}
	before := newOutcome()
	before.add(whole)
	out, err := tr.Apply(whole, seed, mem)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Match(fields); err != nil {
		t.Fatal(err)
	}
	after := newOutcome()
	if after.add(whole); before.diff(after) != "" {
		t.Fatalf("the input was changed: %s", before.diff(after))
	}
	want := newOutcome()
	want.add(out)
	for _, step := range []int{1, 7} {
		got := newOutcome()
		mem := arena(t)
		for lo := 0; lo < whole.Samples; lo += step {
			apply(t, tr, part(t, whole, lo, min(lo+step, whole.Samples), mem), fields, got, mem)
		}
		if d := want.diff(got); d != "" {
			t.Fatalf("in batches of %d: %s", step, d)
		}
	}
	var wg sync.WaitGroup
	for k := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mem := arena(t)
			got := newOutcome()
			apply(t, tr, part(t, whole, 0, whole.Samples, mem), fields, got, mem)
			if d := want.diff(got); d != "" {
				t.Errorf("goroutine %d: %s", k, d)
			}
		}()
	}
	wg.Wait()
	mixed(t, tr, whole, fields, want, mem)
	none := apply(t, tr, part(t, whole, 0, 0, mem), fields, newOutcome(), mem)
	if none.Samples != 0 {
		t.Errorf("%d samples of none", none.Samples)
	}
	return out
}

// mixed gives the samples in another order: each must be as before.
func mixed(t *testing.T, tr shardify.Transform, whole *shardify.Batch, fields []shardify.Field, want *outcome, mem *shardify.Arena) {
	t.Helper()
	rows := make([]int32, whole.Samples)
	for i, k := range rand.New(rand.NewPCG(1, 2)).Perm(whole.Samples) {
		rows[i] = int32(k)
	}
	b, err := whole.Take(rows, mem)
	if err != nil {
		t.Fatal(err)
	}
	got := newOutcome()
	apply(t, tr, b, fields, got, mem)
	got.order = want.order
	if d := want.diff(got); d != "" || len(got.samples) != len(want.samples) {
		t.Fatalf("in another order: %s", d)
	}
}

func survey(t *testing.T, s shardify.Surveyor, whole *shardify.Batch, in []shardify.Field, mem *shardify.Arena) []shardify.Field {
	t.Helper()
	if s.Surveys() == "" {
		t.Error("a surveyor that surveys nothing")
	}
	var results [][]byte
	for _, step := range []int{whole.Samples, 50, 7} {
		sum := s.NewSurvey()
		for lo := 0; lo < whole.Samples; lo += step {
			one := s.NewSurvey()
			if err := one.Add(part(t, whole, lo, min(lo+step, whole.Samples), mem)); err != nil {
				t.Fatal(err)
			}
			if err := sum.Merge(one); err != nil {
				t.Fatal(err)
			}
		}
		r, err := sum.Result()
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if !bytes.Equal(results[0], results[1]) || !bytes.Equal(results[0], results[2]) {
		t.Fatalf("surveys in parts differ: %s, %s, %s", results[0], results[1], results[2])
	}
	if err := s.Learn(results[0]); err != nil {
		t.Fatal(err)
	}
	fields, err := s.Schema(slices.Clone(in))
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// part is samples [lo, hi) as a batch of their own, numbered on.
func part(t *testing.T, b *shardify.Batch, lo, hi int, mem *shardify.Arena) *shardify.Batch {
	t.Helper()
	rows := make([]int32, 0, hi-lo)
	for i := lo; i < hi; i++ {
		rows = append(rows, int32(i))
	}
	out, err := b.Take(rows, mem)
	if err != nil {
		t.Fatal(err)
	}
	if b.IDs == nil {
		out.IDs, out.First = nil, b.ID(lo)
	}
	return out
}

func apply(t *testing.T, tr shardify.Transform, b *shardify.Batch, fields []shardify.Field, into *outcome, mem *shardify.Arena) *shardify.Batch {
	out, err := tr.Apply(b, seed, mem)
	if err != nil {
		t.Error(err)
		return b
	}
	if err := out.Match(fields); err != nil {
		t.Error(err)
	}
	into.add(out)
	return out
}

// made is a transform, or the test's end.
func made[T shardify.Transform](t testing.TB) func(T, error) T {
	return func(x T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

func TestTransformsConform(t *testing.T) {
	for name, tr := range map[string]func() (shardify.Transform, error){
		"where": func() (shardify.Transform, error) { return NewWhere("nJet % 3 != 0 && eta < 1e9", nil) },
		"where lists": func() (shardify.Transform, error) {
			return NewWhere("any(Jet_id > 0) && count(Jet_eta > 0) >= 1 && len(hits) < 4", nil)
		},
		"where miss": func() (shardify.Transform, error) { return NewWhere("miss > 0 || (imiss ?? 0) > 5", nil) },
		"where text": func() (shardify.Transform, error) {
			return NewWhere(`name >= "m" || nmiss contains "a" || len(tags) > 1`, nil)
		},
		"where all":   func() (shardify.Transform, error) { return NewWhere("id >= 0 || true", nil) },
		"where none":  func() (shardify.Transform, error) { return NewWhere("1 > 2", nil) },
		"define":      func() (shardify.Transform, error) { return NewDefine("ht=sum(abs(Jet_eta))") },
		"define list": func() (shardify.Transform, error) { return NewDefine("p=Jet_pt*cosh(Jet_eta) + eta") },
		"define miss": func() (shardify.Transform, error) { return NewDefine("first:i32=Jet_id[0]") },
		"define vec":  func() (shardify.Transform, error) { return NewDefine("y:f16=x*0 + (flag ? 1 : 2)") },
		"define own":  func() (shardify.Transform, error) { return NewDefine("z=hmiss + 1 > 0") },
		"set":         func() (shardify.Transform, error) { return NewSet("label=3", nil, nil) },
		"set text":    func() (shardify.Transform, error) { return NewSet(`era="2018@A"`, nil, nil) },
		"rename":      func() (shardify.Transform, error) { return NewRename("e=eta,eta=w") },
		"cast": func() (shardify.Transform, error) {
			return NewCast("w=bf16,*=f16,f64=f32,imiss=i8:clip,hits=i64,flag=f32,big=f32")
		},
		"fraction": func() (shardify.Transform, error) { return NewFraction("0.4", nil, nil) },
		"nan keep": func() (shardify.Transform, error) { return NewNaN("keep") },
		"nan": func() (shardify.Transform, error) {
			return NewNaN("Jet_*=fill=-1,w=drop,hmiss=drop,g=fill=0.5,fill=1e3")
		},
		"encode":      func() (shardify.Transform, error) { return NewEncode("name") },
		"encode miss": func() (shardify.Transform, error) { return NewEncode("nmiss") },
		"encode list": func() (shardify.Transform, error) { return NewEncode("tags") },
		"encode int":  func() (shardify.Transform, error) { return NewEncode("nJet") },
		"encode u64":  func() (shardify.Transform, error) { return NewEncode("big") },
		"encode ints": func() (shardify.Transform, error) { return NewEncode("Jet_id") },
		"encode imis": func() (shardify.Transform, error) { return NewEncode("imiss") },
		"sort":        func() (shardify.Transform, error) { return NewSort("Jet=-Jet_pt", nil) },
		"sort up":     func() (shardify.Transform, error) { return NewSort("Jet_id=Jet_id", nil) },
		"sort deep":   func() (shardify.Transform, error) { return NewSort("hits=-hits", nil) },
		"stack": func() (shardify.Transform, error) {
			return NewStack("jets=Jet_pt,Jet_eta,Jet_id\nab=eta,h,nJet\nxs=x\nlone=hits\ndd=deep")
		},
		"stack miss": func() (shardify.Transform, error) { return NewStack("m2=imiss,miss,flag") },
		"pad":        func() (shardify.Transform, error) { return NewPad("Jet=3:-1") },
		"pad one":    func() (shardify.Transform, error) { return NewPad("hmiss=2") },
		"pack":       func() (shardify.Transform, error) { return NewPack("f=[eghw]*,flag\ni=nJet,id") },
		"cast wide":  func() (shardify.Transform, error) { return NewCast("f16=f64,bf16=f32,Jet_*=f64,nJet=u64,m=f16") },
	} {
		t.Run(name, func(t *testing.T) {
			x, err := tr()
			if err != nil {
				t.Fatal(err)
			}
			conform(t, x, wide)
		})
	}
}
