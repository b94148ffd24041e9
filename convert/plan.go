// Package convert is the pipeline: it plans from metadata, works units, merges
// receipts into a manifest.
//
//	plan, err := convert.MakePlan(ctx, request)     // metadata only
//	job := convert.Job{Plan: plan, Source: src, Sink: format, Store: out, Pool: pool, Jobs: 4}
//	err = job.Work(ctx, plan.Task(0, 1))            // any units, any order, any machine
//	manifest, err := job.Merge(ctx)                 // needs every receipt
//
// A unit is the work of one goroutine: it reads its spans ahead in order, routes
// the samples to its shards, and publishes each shard with a receipt. The plan
// alone decides the bytes: not the number of jobs, tasks or machines, nor the
// memory.
package convert

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// PlanVersion is the version of plan files and of the packing rules: another
// version may cut other shards from the same input.
const PlanVersion = 3

// SpanBytes is the decoded size that spans aim at. It is part of the plan's
// rules and never derived from memory or jobs. 1 MiB passes from reader to writer
// within the second-level cache: 4 MiB cost a tenth more on 100,000 small files.
const SpanBytes = 1 << 20

// Choices of OnError.
const (
	OnErrorFail = "fail"
	OnErrorSkip = "skip"
)

// Request is what a plan is made from.
type Request struct {
	Input   string // name of the source's format
	Source  shardify.Source
	Args    shardify.OpenArgs // as the source was opened
	Output  shardify.SinkFormat
	Options shardify.Options // of the output, checked and complete

	ShardSize    int64 // target bytes of a shard; 0 means DefaultShardSize
	ShardSamples int64 // exact samples of a shard; 0 means by size
	Limit        int64 // at most so many samples; 0 means all
	MaxSample    int64 // bytes of a sample; 0 means DefaultMaxSample
	Lo, Hi       int64 // range of samples over all inputs; Hi 0 means to the end
	OnError      string

	Seed    uint64
	Ops     []Op
	Compile Compile // of Ops; may be nil without
	// Helpers are the fields of the source that were opened for operations alone.
	Helpers []string
	Split   *Split // nil: one data set
	Shuffle string // ShuffleNone, ShuffleBlock, ShuffleGlobal; "" is none
	// Provenance adds the field OriginField and the list InputsName.
	Provenance bool
	// Pool and Jobs are for surveys, which read data when the plan is made. Known is an
	// earlier plan of the same conversion: what it has found out is not surveyed again.
	Pool  *shardify.Pool
	Jobs  int
	Known *Plan
	// Parts is the rest of the inputs where they come in parts; nil if Args.Table has
	// them all.
	Parts *Parts

	// Recipe is further settings that decide bytes, for the record.
	Recipe map[string]string

	// Instead is taken where Output cannot carry the samples' fields, with its options;
	// nil if nothing may be. Plan.Refused tells.
	Instead        *shardify.SinkFormat
	InsteadOptions shardify.Options
}

// Plan fixes which input samples go to which shard in which order.
type Plan struct {
	Version       int                 `json:"version"`
	Input         string              `json:"input"`
	Columns       []string            `json:"columns,omitempty"`
	InputOptions  shardify.Options    `json:"input_options,omitempty"`
	Output        string              `json:"output"`
	Ext           string              `json:"ext"`
	OutputOptions shardify.Options    `json:"output_options,omitempty"`
	Recipe        map[string]string   `json:"recipe"`
	OnError       string              `json:"on_error"`
	Schema        []shardify.Field    `json:"schema"`
	Keyed         bool                `json:"keyed,omitempty"`
	LeftOut       []shardify.Leftover `json:"left_out,omitempty"`
	// Skipped are damaged inputs that the survey left out, as OnErrorSkip wants.
	Skipped      []index.Skip `json:"skipped,omitempty"`
	Samples      int64        `json:"samples"`
	DecodedBytes int64        `json:"decoded_bytes"`
	OutputBytes  int64        `json:"output_bytes"` // estimate

	// What happens to the samples on the way; nothing in most plans.
	Seed       uint64           `json:"seed,omitempty"`
	Ops        []Op             `json:"ops,omitempty"`
	Source     []shardify.Field `json:"source,omitempty"` // schema of the source, where operations change it
	Helpers    []string         `json:"helpers,omitempty"`
	Split      *Split           `json:"split,omitempty"`
	Shuffle    string           `json:"shuffle,omitempty"` // ShuffleBlock, ShuffleGlobal
	Provenance bool             `json:"provenance,omitempty"`
	Findings   []Finding        `json:"findings,omitempty"`
	Cuts       []Cuts           `json:"cuts,omitempty"`
	// Base is the digest of the plan without what surveys have found.
	Base   string `json:"base,omitempty"`
	Copies int    `json:"copies,omitempty"` // of a sample at most
	// Shards and buckets of a global shuffle, see shuffle.go.
	Gathers  int           `json:"gathers,omitempty"`
	Buckets  int           `json:"buckets,omitempty"`
	PerShard int64         `json:"per_shard,omitempty"` // exact samples of a shard
	Listed   *index.Inputs `json:"listed,omitempty"`    // without names
	// FirstInput is the name of input 0 of a plan of several blocks, see InParts.
	FirstInput string `json:"first_input,omitempty"`

	// Outside is what the listing of the inputs left out. No part of the digest: a file
	// that is none of the format may come and go.
	Outside []shardify.Leftover `json:"-"`
	// ScratchPath is the folder of fragments; "" is a private one of the data set. No
	// part of the digest.
	ScratchPath string `json:"-"`
	// MaxSample is how many bytes a sample may take, 0 for DefaultMaxSample. No part of the
	// digest either: it decides whether there are bytes, not which.
	MaxSample int64 `json:"-"`

	// Refused says why Request.Output was not taken; nil if it was.
	Refused error `json:"-"`

	Table  *shardify.Table `json:"-"`
	State  []byte          `json:"-"`
	Spans  []shardify.Span `json:"-"`
	Shards []PlannedShard  `json:"-"`
	Units  []Unit          `json:"-"`

	blocks     []Block
	file       func() (blob, error) // the file that the blocks are in
	drop       func() error         // frees blocks that are published by now; nil if there are none
	shardBytes []int64              // decoded

	digest string
	sealed []byte // the content, from seal to Publish
}

// PlannedShard is the spans [Lo, Hi) of the plan.
type PlannedShard struct {
	Lo, Hi  int // among the spans of its block
	Samples int64
}

// Unit is the shards [Lo, Hi) of the plan: what one worker does. It has several
// only when they come from one run, which is cheap only in order.
type Unit struct{ Lo, Hi int }

// DefaultShardSize is the target for a set of so many output bytes: a sixteenth
// of a small set, so that jobs share it evenly, between 32 and 256 MiB;
// growing to 2 GiB so that large sets have at most 4,000 shards.
func DefaultShardSize(total int64) int64 {
	const mib = 1 << 20
	size := min(max(total/16, 32*mib), 256*mib)
	return min(max(size, total/4000), 2048*mib)
}

// MakePlan plans from metadata alone.
func MakePlan(ctx context.Context, r Request) (*Plan, error) {
	p := &Plan{
		Version: PlanVersion, Input: r.Input, Columns: r.Args.Columns, InputOptions: r.Args.Options,
		Recipe: r.Recipe, OnError: r.OnError, MaxSample: r.MaxSample, Schema: r.Source.Schema(), Table: r.Args.Table,
	}
	r.setOutput(p)
	if p.OnError == "" {
		p.OnError = OnErrorFail
	}
	if p.Recipe == nil {
		p.Recipe = map[string]string{}
	}
	if k, ok := r.Source.(shardify.Keyer); ok {
		p.Keyed = k.Keyed()
	}
	if l, ok := r.Source.(shardify.Reporter); ok {
		p.LeftOut = l.Leftovers()
	}
	if s, ok := r.Source.(shardify.Skipper); ok {
		p.Skipped = s.Skipped()
	}
	if err := shardify.ValidateSchema(p.Schema); err != nil {
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
func (r *Request) setOutput(p *Plan) {
	p.Output, p.Ext, p.OutputOptions = r.Output.Name, r.Output.Ext, r.Options
	if r.Output.ExtOf != nil {
		p.Ext = r.Output.ExtOf(r.Options)
	}
}

// fill makes the tables while the output format looks at the keys.
func (r *Request) fill(ctx context.Context, p *Plan) error {
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

func (r *Request) tables(ctx context.Context, p *Plan) error {
	if s, ok := r.Source.(shardify.Stater); ok {
		var err error
		if p.State, err = s.State(); err != nil {
			return err
		}
	}
	if err := r.spans(ctx, p); err != nil {
		return err
	}
	r.pack(p)
	return p.seal()
}

// checkOutput asks the output format whether it can carry the schema, and if not, takes
// the other one.
func (r *Request) checkOutput(p *Plan) error {
	if r.Output.Check == nil {
		return nil
	}
	err := r.Output.Check(p.Schema, p.Keyed, r.Options)
	if err == nil || r.Instead == nil {
		return err
	}
	if f := r.Instead; f.Check != nil && f.Check(p.Schema, p.Keyed, r.InsteadOptions) != nil {
		return err
	}
	r.Output, r.Options, r.Instead, p.Refused = *r.Instead, r.InsteadOptions, nil, err
	r.setOutput(p)
	return nil
}

// checkKeys asks the output format whether it can carry the names of the samples.
func (r *Request) checkKeys(p *Plan) error {
	if k, ok := r.Source.(shardify.Keyer); ok && p.Keyed && r.Output.KeyRule != nil {
		longest, check := r.Output.KeyRule(p.Schema, r.Options)
		if p.Copies > 1 && longest > 0 {
			longest += len(copyKey(nil, p.Copies-1))
		}
		if check != nil {
			return k.CheckKeys(longest, check)
		}
	}
	return nil
}

// spans collects the source's spans, narrowed to the wanted range and cut at
// multiples of ShardSamples.
func (r *Request) spans(ctx context.Context, p *Plan) error {
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
	var at int64 // of the current span's first sample
	for s, err := range r.Source.Spans(ctx, SpanBytes) {
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
			return err
		}
		n := s.Samples()
		first, last := max(lo-at, 0), min(hi-at, n)
		at += n
		if first < last {
			r.cut(p, sub(s, s.Lo+first, s.Lo+last))
		}
		if at >= hi {
			break
		}
	}
	if r.Lo > 0 && r.Lo >= at {
		return shardify.Misuse("range begins at sample %d, but the inputs have %d", r.Lo, at)
	}
	return nil
}

// cut adds a span, in pieces that end at multiples of ShardSamples.
func (r *Request) cut(p *Plan, s shardify.Span) {
	for s.Lo < s.Hi {
		end := s.Hi
		if n := r.ShardSamples; n > 0 {
			end = min(end, s.Lo+n-p.Samples%n)
		}
		part := sub(s, s.Lo, end)
		p.Spans = append(p.Spans, part)
		p.Samples += part.Samples()
		p.DecodedBytes += part.Bytes
		s = sub(s, end, s.Hi)
	}
}

// sub is the samples [lo, hi) of a span with their share of its bytes, rounded
// up so that a bound stays a bound.
func sub(s shardify.Span, lo, hi int64) shardify.Span {
	if lo == s.Lo && hi == s.Hi {
		return s
	}
	n := s.Samples()
	s.Lo, s.Hi = lo, hi
	s.Bytes = int64(math.Ceil(float64(s.Bytes) / float64(max(n, 1)) * float64(hi-lo)))
	return s
}

// packer cuts the spans into shards and units.
type packer struct {
	p      *Plan
	fixed  int64   // output bytes per sample
	factor float64 // output bytes per decoded byte
	exact  int64   // samples per shard, or 0
	target int64
	// With operations on the way: output bytes per sample and per decoded byte.
	shaped             bool
	perSample, perByte float64
}

func (r *Request) pack(p *Plan) {
	k := packer{p: p, factor: 1, exact: r.ShardSamples}
	if r.Output.SampleBytes != nil {
		k.fixed, k.factor = r.Output.SampleBytes(p.Schema, p.Keyed)
	}
	k.pass(p.growth())
	for _, s := range p.Spans {
		p.OutputBytes += k.bytes(s)
	}
	k.target = r.ShardSize
	if k.target <= 0 {
		k.target = DefaultShardSize(p.OutputBytes)
	}
	k.target = max(k.target, 1)
	for lo := 0; lo < len(p.Spans); {
		lo = k.unit(lo)
	}
}

func (k *packer) bytes(s shardify.Span) int64 {
	if k.shaped {
		return max(int64(float64(k.perSample*float64(s.Samples()))+float64(k.perByte*float64(s.Bytes))), 0)
	}
	return s.Samples()*k.fixed + int64(float64(s.Bytes)*k.factor)
}

// atom is the end of the smallest piece that may move between units: a whole run
// or one independent span. bytes is its output size.
func (k *packer) atom(lo int) (hi int, bytes int64) {
	s := k.p.Spans[lo]
	hi, bytes = lo+1, k.bytes(s)
	for s.Run > 0 && hi < len(k.p.Spans) && k.p.Spans[hi].Run == s.Run {
		bytes += k.bytes(k.p.Spans[hi])
		hi++
	}
	return hi, bytes
}

// unit takes atoms until another one would overshoot the target by more than it
// now falls short, then cuts what it took into shards.
func (k *packer) unit(lo int) int {
	if k.exact > 0 {
		return k.exactUnit(lo)
	}
	hi, acc := k.atom(lo)
	for hi < len(k.p.Spans) && acc < k.target {
		next, bytes := k.atom(hi)
		if acc+bytes-k.target > k.target-acc {
			break
		}
		hi, acc = next, acc+bytes
	}
	u := Unit{Lo: len(k.p.Shards)}
	n := max((acc+k.target/2)/k.target, 1)
	var sum int64
	for from, i, part := lo, lo, int64(1); i < hi; i++ {
		sum += k.bytes(k.p.Spans[i])
		if i+1 == hi || part < n && sum >= acc/n*part {
			k.shard(from, i+1)
			from, part = i+1, part+1
		}
	}
	u.Hi = len(k.p.Shards)
	k.p.Units = append(k.p.Units, u)
	return hi
}

// exactUnit makes shards of exactly ShardSamples (the spans end there), and ends
// the unit where no run goes on.
func (k *packer) exactUnit(lo int) int {
	u := Unit{Lo: len(k.p.Shards)}
	var n int64
	from := lo
	for i := lo; i < len(k.p.Spans); i++ {
		s := k.p.Spans[i]
		if n += s.Samples(); n < k.exact && i+1 < len(k.p.Spans) {
			continue
		}
		k.shard(from, i+1)
		from, n = i+1, 0
		if i+1 == len(k.p.Spans) || s.Run == 0 || k.p.Spans[i+1].Run != s.Run {
			break
		}
	}
	u.Hi = len(k.p.Shards)
	k.p.Units = append(k.p.Units, u)
	return from
}

func (k *packer) shard(lo, hi int) {
	s := PlannedShard{Lo: lo, Hi: hi}
	for _, sp := range k.p.Spans[lo:hi] {
		s.Samples += sp.Samples()
	}
	k.p.Shards = append(k.p.Shards, s)
}

// ShardName is the path of shard i below the data set's folder.
func (p *Plan) ShardName(i int) string { return p.stem(i) + p.Ext }

func (p *Plan) stem(i int) string {
	const perFolder = 4000
	if p.Outputs() > perFolder {
		return fmt.Sprintf("%04d/shard-%06d", i/perFolder, i)
	}
	return fmt.Sprintf("shard-%06d", i)
}

// Task returns the units of task i of n: a view on the plan, balanced by decoded
// bytes, the same whoever asks. The largest units come first.
func (p *Plan) Task(i, n int) []int {
	if n <= 1 {
		order := make([]int, len(p.Units))
		for u := range order {
			order[u] = u
		}
		return order
	}
	of := p.TasksOf(n)
	order, _ := p.bySize()
	var mine []int
	for _, u := range order {
		if int(of[u]) == i {
			mine = append(mine, u)
		}
	}
	return mine
}

// UnitBytes is the decoded size of unit u.
func (p *Plan) UnitBytes(u int) (n int64) {
	x := p.Units[u]
	for _, b := range p.shardBytes[x.Lo:x.Hi] {
		n += b
	}
	return n
}

// ShardBytes is the decoded size of planned shard i.
func (p *Plan) ShardBytes(i int) int64 { return p.shardBytes[i] }

// validate checks the indexes of a decoded plan.
func (p *Plan) validate() error {
	if p.Table == nil {
		return errors.New("no input table")
	}
	if err := p.Table.Validate(); err != nil {
		return err
	}
	if err := shardify.ValidateSchema(p.Schema); err != nil {
		return err
	}
	if p.Split != nil {
		if err := p.Split.check(); err != nil {
			return err
		}
	}
	const most = 1 << 30
	if p.Gathers < 0 || p.Gathers > most || p.Buckets < 0 || p.Buckets > most || p.PerShard < 0 || p.Shuffle == ShuffleGlobal && p.Buckets == 0 {
		return fmt.Errorf("%d shards of %d buckets", p.Gathers, p.Buckets)
	}
	return p.validateBlocks()
}
