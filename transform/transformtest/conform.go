// Package transformtest holds every Transform to the same promises: Conform is called by
// the tests of transform and augment.
package transformtest

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/tests/race"
)

// Wide is a schema with every form of field.
const Wide = "id:i64,nJet:u8,eta:f32,w:f64,h:f16,g:bf16,flag:bool,x:f32[3],m:i16[2,2],big:u64,miss:f32?,imiss:i32?," +
	"Jet_pt:f32*5@Jet,Jet_eta:f32*5@Jet,Jet_id:i32*5@Jet,Jet_vec:f32*5[2]@Jet,hits:i32*4,hmiss:f64*3?,deep:f32**3,name:txt*6,nmiss:txt*4?,tags:txt**3"

// Invent is a batch of synthetic samples.
func Invent(t testing.TB, schema string, samples int, mem *shardify.Arena) *shardify.Batch {
	t.Helper()
	src, err := synth.Format.Open(context.Background(), format.OpenArgs{Table: &format.Table{}, Options: options(t, schema, samples)})
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
	c := *b // the Arena has one batch
	c.Columns = slices.Clone(b.Columns)
	return &c
}

func options(t testing.TB, schema string, samples int) format.Options {
	t.Helper()
	o, err := format.CheckOptions(synth.Format.Options, format.Options{"schema": schema, "samples": fmt.Sprint(samples)})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// SchemaOf is the fields of a batch.
func SchemaOf(b *shardify.Batch) []shardify.Field {
	var s []shardify.Field
	for i := range b.Columns {
		s = append(s, b.Columns[i].Field)
	}
	return s
}

// Column is a column of a type.
func Column(name string, d shardify.DType, data []byte) shardify.Column {
	return shardify.Column{Field: shardify.Field{Name: name, DType: d}, Data: data}
}

// Made is a transform, or the test's end.
func Made[T shardify.Transform](t testing.TB) func(T, error) T {
	return func(x T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// Run is what a transform makes of a batch, which has the fields that it promised.
func Run(t testing.TB, tr shardify.Transform, b *shardify.Batch) *shardify.Batch {
	t.Helper()
	fields, err := tr.Schema(SchemaOf(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := tr.Apply(b, Seed, Arena(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Match(fields); err != nil {
		t.Fatal(err)
	}
	return out
}

var rubbish = bytes.Repeat([]byte{0xab}, 8<<10)

// Arena provides memory that was used before, as conversions do.
func Arena(t testing.TB) *shardify.Arena {
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
			copy(dirty.Alloc(size), rubbish)
		}
	}
	dirty.Release()
	return grant()
}

// value is all bytes of one sample of a column: lengths of lists, values, presence.
func value(c *shardify.Column, i int) string {
	var s []byte
	a, b := int64(i), int64(i+1)
	for _, o := range c.Offsets {
		for k := a; k < b; k++ {
			s = append(strconv.AppendInt(s, o[k+1]-o[k], 10), ',')
		}
		a, b = o[a], o[b]
	}
	lo, hi := c.Range(i, i+1)
	s = hex.AppendEncode(append(s, '|'), c.Data[lo:hi])
	if c.Valid != nil {
		s = strconv.AppendInt(append(s, '|'), int64(c.Valid[i]), 10)
	}
	return string(s)
}

// Outcome is what a transform made, by sample.
type Outcome struct {
	samples map[shardify.ID]string
	order   []shardify.ID
	counts  map[string]int64
}

func (o *Outcome) Add(b *shardify.Batch) {
	for i := range b.Samples {
		var s strings.Builder
		for k := range b.Columns {
			s.WriteString(b.Columns[k].Name + "=" + value(&b.Columns[k], i) + ";")
		}
		o.samples[b.ID(i)] = s.String()
		o.order = append(o.order, b.ID(i))
	}
	for _, c := range b.Counts {
		o.counts[c.Name] += c.N
	}
}

// NewOutcome is one without samples.
func NewOutcome() *Outcome {
	return &Outcome{samples: map[shardify.ID]string{}, counts: map[string]int64{}}
}

func (o *Outcome) Diff(p *Outcome) string {
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

// Seed is that of all transforms in tests.
const Seed = 12345

// Conform holds a transform to the interface's promises on the samples of a batch: the
// result does not depend on batch borders or neighbours, inputs stay as they are, schema
// and columns agree, goroutines may share it, and parts of a survey give nearly what
// the whole gives. It returns the resulting batch.
func Conform(t *testing.T, tr shardify.Transform, whole *shardify.Batch, mem *shardify.Arena) *shardify.Batch {
	t.Helper()
	in := SchemaOf(whole)
	fields, err := tr.Schema(slices.Clone(in))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := tr.(shardify.Surveyor); ok {
		fields = Survey(t, s, whole, in, mem)
	}
	if err := shardify.ValidateSchema(fields); err != nil {
		t.Fatal(err)
	}
	if c := tr.Cost(in); c.Growth < 0 || c.Sample < 0 {
		t.Errorf("cost %+v", c)
	}
	before := NewOutcome()
	before.Add(whole)
	out, err := tr.Apply(whole, Seed, mem)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Match(fields); err != nil {
		t.Fatal(err)
	}
	after := NewOutcome()
	if after.Add(whole); before.Diff(after) != "" {
		t.Fatalf("the input was changed: %s", before.Diff(after))
	}
	want := NewOutcome()
	want.Add(out)
	steps := []int{1, 7}
	if race.On && testing.Short() {
		steps = nil // goroutines below are what counts
	}
	for _, step := range steps {
		got := NewOutcome()
		mem := Arena(t)
		for lo := 0; lo < whole.Samples; lo += step {
			apply(t, tr, Part(t, whole, lo, min(lo+step, whole.Samples), mem), fields, got, mem)
		}
		if d := want.Diff(got); d != "" {
			t.Fatalf("in batches of %d: %s", step, d)
		}
	}
	var wg sync.WaitGroup
	for k := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mem := Arena(t)
			got := NewOutcome()
			apply(t, tr, Part(t, whole, 0, whole.Samples, mem), fields, got, mem)
			if d := want.Diff(got); d != "" {
				t.Errorf("goroutine %d: %s", k, d)
			}
		}()
	}
	wg.Wait()
	mixed(t, tr, whole, fields, want, mem)
	none := apply(t, tr, Part(t, whole, 0, 0, mem), fields, NewOutcome(), mem)
	if none.Samples != 0 {
		t.Errorf("%d samples of none", none.Samples)
	}
	return out
}

// mixed gives the samples in another order: each must be as before.
func mixed(t *testing.T, tr shardify.Transform, whole *shardify.Batch, fields []shardify.Field, want *Outcome, mem *shardify.Arena) {
	t.Helper()
	rows := make([]int32, whole.Samples)
	for i, k := range rand.New(rand.NewPCG(1, 2)).Perm(whole.Samples) {
		rows[i] = int32(k)
	}
	b, err := whole.Take(rows, mem)
	if err != nil {
		t.Fatal(err)
	}
	got := NewOutcome()
	apply(t, tr, b, fields, got, mem)
	got.order = want.order
	if d := want.Diff(got); d != "" || len(got.samples) != len(want.samples) {
		t.Fatalf("in another order: %s", d)
	}
}

// Survey surveys a batch in parts of several sizes and returns the schema once its
// result is learned.
func Survey(t *testing.T, s shardify.Surveyor, whole *shardify.Batch, in []shardify.Field, mem *shardify.Arena) []shardify.Field {
	t.Helper()
	if s.Surveys() == "" {
		t.Error("a surveyor that surveys nothing")
	}
	var results [][]byte
	for _, step := range []int{whole.Samples, 50, 7} {
		sum := s.NewSurvey()
		for lo := 0; lo < whole.Samples; lo += step {
			one := s.NewSurvey()
			if err := one.Add(Part(t, whole, lo, min(lo+step, whole.Samples), mem)); err != nil {
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
	if !alike(results[0], results[1]) || !alike(results[0], results[2]) {
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

var numbers = regexp.MustCompile(`-?[0-9][0-9.e+-]*`)

// alike reports whether two results are the same but for the last digits of sums, which depend on
// the order of the parts.
func alike(a, b []byte) bool {
	x, y := numbers.FindAllString(string(a), -1), numbers.FindAllString(string(b), -1)
	if len(x) != len(y) || numbers.ReplaceAllString(string(a), "") != numbers.ReplaceAllString(string(b), "") {
		return false
	}
	for i := range x {
		p, err1 := strconv.ParseFloat(x[i], 64)
		q, err2 := strconv.ParseFloat(y[i], 64)
		if x[i] != y[i] && (err1 != nil || err2 != nil || math.Abs(p-q) > 1e-9*max(math.Abs(p), 1)) {
			return false
		}
	}
	return true
}

// Part is samples [lo, hi) as a batch of their own, numbered on.
func Part(t *testing.T, b *shardify.Batch, lo, hi int, mem *shardify.Arena) *shardify.Batch {
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

func apply(t *testing.T, tr shardify.Transform, b *shardify.Batch, fields []shardify.Field, into *Outcome, mem *shardify.Arena) *shardify.Batch {
	out, err := tr.Apply(b, Seed, mem)
	if err != nil {
		t.Error(err)
		return b
	}
	if err := out.Match(fields); err != nil {
		t.Error(err)
	}
	into.Add(out)
	return out
}
