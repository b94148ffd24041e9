package convert

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
)

// Request is what a plan is made from.
type Request struct {
	Input   string // name of the source's format
	Source  shardify.Source
	Args    format.OpenArgs // as the source was opened
	Output  format.Output
	Options format.Options // of the output, checked and complete

	ShardSize    int64 // target bytes of a shard; 0 means DefaultShardSize
	ShardSamples int64 // exact samples of a shard; 0 means by size
	Limit        int64 // at most so many samples; 0 means all
	MaxSample    int64 // bytes of a sample; 0 means DefaultMaxSample
	Lo, Hi       int64 // range of samples over all inputs; Hi 0 means to the end
	OnError      string

	Seed    uint64
	Ops     []plan.Op
	Compile flow.Compile // of Ops; may be nil without
	// Helpers are the fields of the source that were opened for operations alone.
	Helpers []string
	Split   *splits.Rule // nil: one data set
	// Asked is how Source makes samples of the inputs, and what else the set has.
	Asked   plan.Asked
	Shuffle string // ShuffleNone, ShuffleBlock, ShuffleGlobal; "" for no shuffle
	// Pool and Jobs are for surveys, which read data when the plan is made. Known is an
	// earlier plan of the same conversion: what it has found out is not surveyed again.
	Pool  *shardify.Pool
	Jobs  int
	Known *plan.Plan
	// Parts is the rest of the inputs where they come in parts; nil if Args.Table has
	// them all.
	Parts *Parts

	// Recipe is further settings that decide bytes, for the record.
	Recipe map[string]string

	// Instead is used where Output cannot hold the samples' fields, with its options; nil if
	// there is no replacement. Output.Refused says why.
	Instead        *format.Output
	InsteadOptions format.Options
}

// MakePlan plans from metadata alone.
func MakePlan(ctx context.Context, r Request) (*plan.Plan, error) {
	p := &plan.Plan{
		Version: plan.Version, Recipe: r.Recipe, OnError: cmp.Or(r.OnError, plan.OnErrorFail),
		In:     plan.Inputs{Format: r.Input, Columns: r.Args.Columns, Options: r.Args.Options, Table: r.Args.Table},
		Asked:  r.Asked,
		Sample: plan.Sample{Schema: r.Source.Schema()}, Local: plan.Local{MaxSample: r.MaxSample},
	}
	r.setOutput(p)
	if p.Recipe == nil {
		p.Recipe = map[string]string{}
	}
	if k, ok := r.Source.(format.Keyer); ok {
		p.Sample.Keyed = k.Keyed()
	}
	if l, ok := r.Source.(format.Reporter); ok {
		p.In.LeftOut = l.Leftovers()
	}
	if p.Asked.Static != nil {
		p.In.LeftOut = slices.DeleteFunc(slices.Clone(p.In.LeftOut), func(l format.Leftover) bool { return shardify.FieldIndex(p.Asked.Static.Schema, l.Name) >= 0 })
	}
	if g, ok := r.Source.(format.Gridded); ok {
		var left []format.Leftover
		p.Sample.Coords, left = format.KeptCoords(g.Coords(), p.Sample.Schema)
		p.In.LeftOut = slices.Concat(p.In.LeftOut, left)
	}
	if s, ok := r.Source.(format.Skipper); ok {
		p.In.Skipped = s.Skipped()
	}
	if err := shardify.ValidateSchema(p.Sample.Schema); err != nil {
		return nil, err
	}
	if r.Parts != nil {
		return p, r.inParts(ctx, p)
	}
	if r.shaped() {
		return p, r.shape(ctx, p)
	}
	if err := r.fill(ctx, p); err != nil {
		return nil, err
	}
	return p, nil
}

// setOutput puts the output format into the plan.
func (r *Request) setOutput(p *plan.Plan) {
	p.Out.Format, p.Out.Ext, p.Out.Options = r.Output.Name, r.Output.Ext, r.Options
	if r.Output.ExtOf != nil {
		p.Out.Ext = r.Output.ExtOf(r.Options)
	}
}

// fill makes the tables while the output format looks at the keys.
func (r *Request) fill(ctx context.Context, p *plan.Plan) error {
	if err := r.checkOutput(p); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	refused := make(chan error, 1)
	go func() {
		err := r.checkKeys(p)
		if err != nil {
			cancel()
		}
		refused <- err
	}()
	err := r.tables(ctx, p)
	if e := <-refused; e != nil {
		return e
	}
	return err
}

func (r *Request) tables(ctx context.Context, p *plan.Plan) error {
	if err := p.In.Survey(r.Source); err != nil {
		return err
	}
	if err := r.spans(ctx, p); err != nil {
		return err
	}
	p.Pack, p.Order = plan.Cut(p, r.cutting())
	return plan.Seal(p)
}

// checkOutput asks the output format whether it can carry the schema, and if not, takes
// the other one.
func (r *Request) checkOutput(p *plan.Plan) error {
	if r.Output.Check == nil {
		return nil
	}
	err := r.Output.Check(p.Sample.Schema, p.Sample.Keyed, r.Options)
	if err == nil || r.Instead == nil {
		return err
	}
	if f := r.Instead; f.Check != nil && f.Check(p.Sample.Schema, p.Sample.Keyed, r.InsteadOptions) != nil {
		return err
	}
	r.Output, r.Options, r.Instead, p.Out.Refused = *r.Instead, r.InsteadOptions, nil, err
	r.setOutput(p)
	return nil
}

// checkKeys asks the output format whether it can carry the names of the samples.
func (r *Request) checkKeys(p *plan.Plan) error {
	if k, ok := r.Source.(format.Keyer); ok && p.Sample.Keyed && r.Output.KeyRule != nil {
		longest, check := r.Output.KeyRule(p.Sample.Schema, r.Options)
		if p.Sample.Copies > 1 && longest > 0 {
			longest += len(copyKey(nil, p.Sample.Copies-1))
		}
		if check != nil {
			return k.CheckKeys(longest, check)
		}
	}
	return nil
}

// cutting is how the output wants its shards.
func (r *Request) cutting() plan.Cutting {
	return plan.Cutting{Bytes: r.ShardSize, Samples: r.ShardSamples, Weigh: r.Output.SampleBytes}
}

// spans collects the source's spans, narrowed to the wanted range and cut at
// multiples of ShardSamples.
func (r *Request) spans(ctx context.Context, p *plan.Plan) error {
	lo, hi := r.Lo, int64(math.MaxInt64)
	if r.Hi > 0 {
		hi = r.Hi
	}
	if r.Limit > 0 && r.Limit < hi-lo {
		hi = lo + r.Limit
	}
	if lo < 0 || hi < lo {
		return fmt.Errorf("range %d:%d is empty", lo, hi)
	}
	var at int64    // of the current span's first sample
	var large error // of a sample that is left out
	for s, err := range r.Source.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if s.Lo < 0 || s.Hi < s.Lo || s.Bytes < 0 {
			return fmt.Errorf("source gave span [%d, %d) of %d bytes", s.Lo, s.Hi, s.Bytes)
		}
		if err := sampleFits(r.MaxSample, s, s.Bytes, r.Args.Table); err != nil {
			if p.OnError != plan.OnErrorSkip {
				return err
			}
			large = cmp.Or(large, err)
			leaveOut(&p.In, s, flow.Reason(err))
			continue
		}
		n := s.Samples()
		first, last := max(lo-at, 0), min(hi-at, n)
		at += n
		if first < last {
			r.cut(p, plan.Sub(s, s.Lo+first, s.Lo+last))
			if err := r.planFits(len(p.Pack.Spans)); err != nil {
				return err
			}
		}
	}
	if at == 0 && large != nil {
		return large
	}
	if n := at - p.Pack.Samples; n > 0 {
		p.In.Unread = []shardify.Count{plan.Dropped(r.selection(), n)}
	}
	if r.Lo > 0 && r.Lo >= at {
		return shardify.Misuse("range begins at sample %d, but the inputs have %d", r.Lo, at)
	}
	return nil
}

// leaveOut lists the samples of a span as skipped.
func leaveOut(in *plan.Inputs, s shardify.Span, reason string) {
	name := in.Name(s.Input)
	if n := len(in.Skipped); n > 0 {
		if last := &in.Skipped[n-1]; last.Input == name && last.Hi == s.Lo && last.Reason == reason {
			last.Hi = s.Hi
			return
		}
	}
	in.Skipped = append(in.Skipped, format.Skip{Input: name, Lo: s.Lo, Hi: s.Hi, Reason: reason})
}

// spanBytes is a shardify.Span in memory.
const spanBytes = 48

// planFits refuses a plan of more spans than memory is for: inputs may claim any number of rows. A
// list that grows is there twice.
func (r *Request) planFits(spans int) error {
	if r.Pool == nil || int64(spans) <= r.Pool.Limit()/(2*spanBytes) {
		return nil
	}
	return shardify.Hint(shardify.Unsupported("the inputs have more than %s decoded, and the plan of that takes more than --memory", shardify.FormatSize(int64(spans)*plan.SpanBytes)),
		"--limit 1000 converts the first samples, --range FROM:TO a part, and --memory SIZE is what a plan may take")
}

// selection is the flags that choose samples by their numbers.
func (r *Request) selection() string {
	var out []string
	if r.Hi > 0 {
		out = append(out, fmt.Sprintf("range %d:%d", r.Lo, r.Hi))
	} else if r.Lo > 0 {
		out = append(out, fmt.Sprintf("range %d:", r.Lo))
	}
	if r.Limit > 0 {
		out = append(out, fmt.Sprintf("limit %d", r.Limit))
	}
	return "outside of " + strings.Join(out, ", ")
}

// cut adds a span, in pieces that end at multiples of ShardSamples.
func (r *Request) cut(p *plan.Plan, s shardify.Span) {
	for s.Lo < s.Hi {
		end := s.Hi
		if n := r.ShardSamples; n > 0 {
			end = min(end, s.Lo+n-p.Pack.Samples%n)
		}
		part := plan.Sub(s, s.Lo, end)
		p.Pack.Spans = append(p.Pack.Spans, part)
		p.Pack.Samples += part.Samples()
		p.Pack.DecodedBytes += part.Bytes
		s = plan.Sub(s, end, s.Hi)
	}
}

func (r *Request) shaped() bool {
	return len(r.Ops) > 0 || len(r.Helpers) > 0 || r.Split != nil || r.Asked.Provenance || r.Shuffle != "" && r.Shuffle != plan.ShuffleNone
}

// shape plans a conversion that does something to the samples: schemas first, then
// what must be surveyed, then the cuts.
func (r *Request) shape(ctx context.Context, p *plan.Plan) error {
	p.Seed, p.Steps.Ops, p.Steps.Helpers = r.Seed, slices.Clone(r.Ops), r.Helpers
	switch r.Shuffle {
	case "", plan.ShuffleNone:
	case plan.ShuffleBlock, plan.ShuffleGlobal:
		p.Order.Shuffle = r.Shuffle
	default:
		return shardify.Mismatch("shuffle %q: want %s, %s or %s", r.Shuffle, plan.ShuffleNone, plan.ShuffleBlock, plan.ShuffleGlobal)
	}
	if err := r.shapeSplit(p); err != nil {
		return err
	}
	p.Sample.Source = p.Sample.Schema
	f, err := flow.New(p, r.Compile)
	if err != nil {
		return err
	}
	if err := f.Chain(0); err != nil {
		return err
	}
	p.Sample.Schema = f.Output()
	if f.Packer != nil {
		if r.ShardSamples > 0 {
			return shardify.Misuse("--shard-samples: how many sequences the samples make is not known beforehand: --shard-size")
		}
		p.Sample.Keyed = false // a sequence has no name
	}
	if n := f.MostCopies(); n > 1 {
		p.Sample.Copies = n
	}
	if err := r.checkShaped(p, f); err != nil {
		return err
	}
	if err := p.In.Survey(r.Source); err != nil {
		return err
	}
	if err := r.spans(ctx, p); err != nil {
		return err
	}
	if err := r.find(ctx, p, f); err != nil {
		return err
	}
	p.Sample.Schema = f.Output()
	if f.Packer != nil {
		p.Sample.Documents = f.Schema
	}
	if err := r.checkShaped(p, f); err != nil {
		return err
	}
	p.Pack, p.Order = plan.Cut(p, r.cutting())
	return plan.Seal(p)
}

func (r *Request) shapeSplit(p *plan.Plan) error {
	if r.Split == nil {
		return nil
	}
	s := *r.Split
	s.Parts, s.Inputs = slices.Clone(s.Parts), slices.Clone(s.Inputs)
	p.Splits.Rule = &s
	if s.Objects {
		if err := p.Splits.Rule.ByObject(r.Source); err != nil {
			return err
		}
	} else if s.Named() {
		if err := p.Splits.Rule.ByInput(format.FoldersOf(r.Source, p.In.Table)); err != nil {
			return err
		}
	}
	return p.Splits.Rule.Settled()
}

// checkShaped looks at the schema that the operations make.
func (r *Request) checkShaped(p *plan.Plan, f *flow.Flow) error {
	if p.Asked.Provenance && shardify.FieldIndex(f.Schema, plan.OriginField) >= 0 {
		return shardify.Mismatch("--provenance makes the field %q, which exists already: rename that field", plan.OriginField)
	}
	if err := shardify.ValidateSchema(p.Sample.Schema); err != nil {
		return err
	}
	if err := r.checkOutput(p); err != nil {
		return err
	}
	return r.checkKeys(p)
}

// find surveys, unless an earlier plan of the same conversion has.
func (r *Request) find(ctx context.Context, p *plan.Plan, f *flow.Flow) error {
	if !f.Surveys() && (p.Splits.Rule == nil || !p.Splits.Rule.Counted() && !p.Splits.Rule.WholeGroups()) {
		return nil
	}
	p.Base = plan.BaseOf(p)
	if k := r.Known; k != nil && k.Base == p.Base {
		p.Steps.Findings, p.Splits.Cuts, p.Splits.Unsplit = k.Steps.Findings, k.Splits.Cuts, k.Splits.Unsplit
		return f.Learn()
	}
	return f.Survey(ctx, r.Source, func(ctx context.Context, upto int, routed bool, begin func() flow.Gathering) (flow.Gathering, error) {
		return r.scan(ctx, p, f, upto, routed, begin)
	})
}
