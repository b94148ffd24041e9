package flow

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow/route"
	"github.com/shardify/shardify/plan"
)

// Flow is a plan's pipeline, ready to run: every schema fixed, every survey learned.
type Flow struct {
	plan   *plan.Plan
	ops    []plan.Op // of the stages
	before []stage
	router route.Router
	conds  []route.Condition // of the router
	after  []stage
	Splits []string // of the plan; one nameless without
	Copies []int    // of each split's samples, at least 1
	Times  []int    // into how many samples one turns, by split: copies, and those that stages make
	Schema []shardify.Field
	cost   cost
	Plain  bool             // samples pass as they were read
	Packer Packer           // nil without
	packed []shardify.Field // what it makes
}

// stage is a transform in its place.
type stage struct {
	Stage
	seed uint64
	in   []shardify.Field
	// before is what each split had in front of the stage.
	before [][]shardify.Field
	place  int    // among all stages
	on     []bool // by split; nil in front of the router
}

// cost is bytes of memory beside the batch itself.
type cost struct {
	byte   float64 // per byte of the batch
	sample float64 // per sample
}

func (c cost) of(samples int, bytes int64) int64 {
	return int64(c.byte*float64(bytes)) + int64(c.sample*float64(samples))
}

// New makes the flow of a plan, without its schemas.
func New(p *plan.Plan, compile Compile) (*Flow, error) {
	pipe := &Pipeline{}
	ops, helpers := p.Steps.Ops, p.Steps.Helpers
	if p.Asked.Windowing != nil { // the source does the others, to rows
		ops, helpers = plan.OfWindows(ops), nil
	}
	conds := p.Splits.Rule.Tests()
	if p.Asked.Windowing != nil {
		conds = nil
	}
	switch {
	case len(ops) > 0 || conds != nil:
		if compile == nil {
			return nil, fmt.Errorf("the plan has operations, and no compiler for them is set")
		}
		env := Env{Table: p.In.Table, Seed: p.Seed, Schema: p.Sample.SourceSchema(), Helpers: helpers, Keyed: p.Sample.Keyed, Splits: p.Splits.Names(), Conditions: conds}
		var err error
		if pipe, err = compile(ops, env); err != nil {
			return nil, err
		}
	case len(helpers) > 0:
		pipe.After = []Stage{{Transform: DropFields(helpers...)}}
	}
	f := &Flow{plan: p, ops: ops, Splits: p.Splits.Names(), conds: pipe.Conditions, Packer: pipe.Packer}
	if len(f.Splits) == 0 {
		f.Splits = []string{""}
	}
	for _, s := range pipe.Before {
		f.before = append(f.before, stage{Stage: s, seed: opSeed(p, s.Op), place: len(f.before)})
	}
	for _, s := range pipe.After {
		on, err := f.subset(s.Splits)
		if err != nil {
			return nil, err
		}
		f.after = append(f.after, stage{Stage: s, seed: opSeed(p, s.Op), place: len(f.before) + len(f.after), on: on})
	}
	on, err := f.subset(pipe.CopySplits)
	if err != nil {
		return nil, err
	}
	for i := range f.Splits {
		f.Copies = append(f.Copies, 1)
		if on[i] {
			f.Copies[i] = min(max(pipe.Copies, 1), 1<<16)
		}
	}
	if p.Splits.Rule != nil {
		if f.router, err = route.New(p, f.conds); err != nil {
			return nil, err
		}
	}
	f.Plain = !p.Shaped() && f.stages() == 0
	return f, nil
}

// subset marks the named splits; nil is all.
func (f *Flow) subset(names []string) ([]bool, error) {
	on := make([]bool, len(f.Splits))
	for i := range on {
		on[i] = names == nil
	}
	for _, n := range names {
		i := slices.Index(f.Splits, n)
		if i < 0 {
			return nil, shardify.Mismatch("split %q: the splits are %v", n, f.Splits)
		}
		on[i] = true
	}
	return on, nil
}

// stageAt is the stage at a place.
func (f *Flow) stageAt(place int) *stage {
	if place < len(f.before) {
		return &f.before[place]
	}
	return &f.after[place-len(f.before)]
}

func (f *Flow) stages() int { return len(f.before) + len(f.after) }

// Chain fixes the schemas from a place on. Stages that are surveyed later may change theirs again.
// Behind the router the splits may have other fields for a while, as long as no stage takes several
// of them that differ, and all agree in the end.
func (f *Flow) Chain(from int) error {
	now := make([][]shardify.Field, len(f.Splits))
	for i := range now {
		now[i] = f.plan.Sample.SourceSchema()
	}
	if from > 0 {
		copy(now, f.stageAt(from).before)
	}
	for i := from; i < f.stages(); i++ {
		if i == len(f.before) {
			if err := f.routable(now[0]); err != nil {
				return err
			}
		}
		s := f.stageAt(i)
		s.before = slices.Clone(now)
		in, err := f.agreed(now, s.on)
		if err != nil {
			return shardify.Misused(f.named(s, err))
		}
		s.in = in
		out, err := s.Schema(in)
		if err != nil {
			return shardify.Misused(f.named(s, err))
		}
		for k := range now {
			if s.on == nil || s.on[k] {
				now[k] = out
			}
		}
	}
	f.Times = slices.Clone(f.Copies)
	for _, s := range slices.Concat(f.before, f.after) {
		m, ok := s.Transform.(shardify.Multiplier)
		for k := range f.Times {
			if ok && (s.on == nil || s.on[k]) {
				f.Times[k] *= m.Multiplies()
			}
		}
	}
	if f.stages() == len(f.before) {
		if err := f.routable(now[0]); err != nil {
			return err
		}
	}
	var err error
	if f.Schema, err = f.agreed(now, nil); err != nil {
		return err
	}
	f.costs()
	return f.packs()
}

// packs fixes the schema of sequences.
func (f *Flow) packs() (err error) {
	switch {
	case f.Packer == nil:
		return nil
	case f.plan.Asked.Provenance:
		return shardify.Misuse("--provenance: a sequence holds parts of several samples")
	case f.MostCopies() > 1:
		return shardify.Misuse("--copies: sequences are made of each sample once")
	}
	f.packed, err = f.Packer.Schema(f.Schema)
	return shardify.Misused(err)
}

// agreed is the schema that all of some splits have; nil is all splits.
func (f *Flow) agreed(now [][]shardify.Field, on []bool) ([]shardify.Field, error) {
	first := -1
	for k := range now {
		switch {
		case on != nil && !on[k]:
		case first < 0:
			first = k
		case !reflect.DeepEqual(normal(now[first]), normal(now[k])):
			return nil, shardify.Mismatch("the splits %s and %s do not have the same fields any more (%s): an operation that changes fields must have its like in every split",
				f.Splits[first], f.Splits[k], differing(now[first], now[k]))
		}
	}
	return now[max(first, 0)], nil
}

// differing describes the first fields in which two schemas differ.
func differing(a, b []shardify.Field) string {
	for i := range a {
		j := shardify.FieldIndex(b, a[i].Name)
		switch {
		case j < 0:
			return a[i].Name + " is in the first alone"
		case !reflect.DeepEqual(normal(a[i:i+1]), normal(b[j:j+1])):
			return fmt.Sprintf("%s is %s %v in the first and %s %v in the second", a[i].Name, kind(&a[i]), a[i].Shape, kind(&b[j]), b[j].Shape)
		}
	}
	for i := range b {
		if shardify.FieldIndex(a, b[i].Name) < 0 {
			return b[i].Name + " is in the second alone"
		}
	}
	return "their order"
}

func kind(f *shardify.Field) string {
	if f.Media != "" {
		return f.Media
	}
	return f.DType.String()
}

// routable checks that the router finds its fields.
func (f *Flow) routable(in []shardify.Field) error {
	if f.router == nil {
		return nil
	}
	return f.router.Bind(in)
}

// named says which operation an error is about.
func (f *Flow) named(s *stage, err error) error {
	if s.Op >= 0 && s.Op < len(f.ops) {
		return fmt.Errorf("--%s: %w", f.ops[s.Op].Name, err)
	}
	return err
}

// costs adds up what the stages take: each result lives until the batch is written.
func (f *Flow) costs() {
	if f.Plain {
		return
	}
	const ids = 24 // bytes of an identity
	size, c := cost{1, 0}, cost{0, 2 * ids}
	add := func(s *stage) {
		k := s.Cost(s.in)
		grown := cost{float64(size.byte * k.Growth), float64(size.sample*k.Growth) + float64(k.Sample)}
		c.byte, c.sample = c.byte+grown.byte, c.sample+grown.sample
		size.byte, size.sample = max(size.byte, grown.byte), max(size.sample, grown.sample)
	}
	for i := range f.before {
		add(&f.before[i])
	}
	if n := float64(slices.Max(f.Copies)); n > 1 {
		size.byte, size.sample = float64(size.byte*n), float64(size.sample*n)
		c.byte, c.sample = c.byte+size.byte, c.sample+size.sample+float64(ids*n)
	}
	if f.router != nil {
		c.byte, c.sample = c.byte+size.byte, c.sample+size.sample+ids
	}
	for i := range f.after {
		add(&f.after[i])
	}
	f.cost = c
}

// Learn gives the surveyors what the plan has found, in order.
func (f *Flow) Learn() error {
	if r := f.plan.Splits.Rule; r != nil && !r.ByValue() {
		var err error
		if f.router, err = route.New(f.plan, nil); err != nil {
			return err
		}
	}
	next := 0
	for i := range f.stages() {
		s := f.stageAt(i)
		v, ok := s.Transform.(shardify.Surveyor)
		if !ok || v.Surveys() == "" {
			continue
		}
		if next >= len(f.plan.Steps.Findings) || f.plan.Steps.Findings[next].Stage != i {
			return shardify.Corrupt(-1, "the plan has no result of the survey of %s", v.Surveys())
		}
		if err := v.Learn([]byte(f.plan.Steps.Findings[next].Result)); err != nil {
			return f.named(s, err)
		}
		next++
		if err := f.Chain(i); err != nil {
			return err
		}
	}
	return nil
}

// Bind makes the flow that carries out a finished plan.
func Bind(p *plan.Plan, compile Compile) (*Flow, error) {
	f, err := New(p, compile)
	if err != nil {
		return nil, err
	}
	if err := f.Chain(0); err != nil {
		return nil, err
	}
	if err := f.Learn(); err != nil {
		return nil, err
	}
	if have, want := f.Output(), p.Sample.Schema; !reflect.DeepEqual(normal(have), normal(want)) {
		return nil, shardify.Mismatch("the operations make other fields than the plan says: %v, planned %v", names(have), names(want))
	}
	return f, nil
}

// Output is the schema that sinks see.
func (f *Flow) Output() []shardify.Field {
	if f.Packer != nil {
		return f.packed
	}
	if f.plan.Asked.Provenance {
		return append(slices.Clip(f.Schema), plan.OriginOf(f.MostCopies() > 1))
	}
	return f.Schema
}

// normal makes schemas comparable: what is empty is nil.
func normal(schema []shardify.Field) []shardify.Field {
	out := slices.Clone(schema)
	for i := range out {
		if len(out[i].Shape) == 0 {
			out[i].Shape = nil
		}
		if len(out[i].Attrs) == 0 {
			out[i].Attrs = nil
		}
	}
	return out
}

func names(schema []shardify.Field) []string {
	var out []string
	for i := range schema {
		out = append(out, schema[i].Name)
	}
	return out
}

// MostCopies is how many copies a sample has at most.
func (f *Flow) MostCopies() int { return slices.Max(f.Times) }

// Memory is what samples of so many bytes take on their way, beside themselves.
func (f *Flow) Memory(samples int, bytes int64) int64 { return f.cost.of(samples, bytes) }

// opSeed is the seed of the operation with an ordinal.
func opSeed(p *plan.Plan, op int) uint64 {
	return shardify.Mix(shardify.Mix(p.Seed) + uint64(op) + 1)
}

// Surveys reports whether a transform wants to see the data first.
func (f *Flow) Surveys() bool {
	for i := range f.stages() {
		if v, ok := f.stageAt(i).Transform.(shardify.Surveyor); ok && v.Surveys() != "" {
			return true
		}
	}
	return false
}
