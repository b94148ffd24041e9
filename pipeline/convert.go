package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Result is a complete data set.
type Result struct {
	Output   string
	Manifest *index.Manifest
	Already  bool // it was complete before
	Took     time.Duration
}

// Convert converts inputs into a data set. The same call continues a conversion that was stopped,
// and leaves a complete one unchanged. To stop it, cancel the context. With Dry nothing is written,
// and the result has no manifest.
func Convert(ctx context.Context, s Settings) (*Result, error) {
	p, err := Prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	p.planned()
	if s.Dry {
		return &Result{Output: p.Output}, nil
	}
	return p.convert(ctx)
}

func (p *Prepared) planned() {
	if p.hooks.Planned != nil {
		p.hooks.Planned(p)
	}
}

func (p *Prepared) convert(ctx context.Context) (*Result, error) {
	storage.EndWrites(ctx, p.Store)
	if err := p.Clear(); err != nil {
		return nil, err
	}
	defer p.dropScratch()
	if p.State == StateComplete {
		m, err := p.manifest("")
		if err == nil {
			err = p.complete(m)
		}
		if err != nil {
			return nil, shardify.Hint(err, "what is damaged, and how to repair it: shardify verify "+printable.Quote(p.Output))
		}
		return &Result{Output: p.Output, Manifest: m, Already: true}, p.Tidy()
	}
	end := p.begin(p.Plan.Pack.Task(0, 1), p.Plan.Order.Gathers)
	defer end()
	start := time.Now()
	if err := p.publish(ctx); err != nil {
		return nil, err
	}
	m, err := p.Job.Convert(ctx)
	if err != nil {
		return nil, p.removed(p.hintDamage(ctx, err))
	}
	return &Result{Output: p.Output, Manifest: m, Took: time.Since(start)}, p.Tidy()
}

// publish writes what must be there before the first shard.
func (p *Prepared) publish(ctx context.Context) error {
	for _, q := range p.asked {
		if err := q.Publish(ctx, p.Store); err != nil {
			return err
		}
	}
	return nil
}

// hintDamage says how to go on without the damaged parts, if anything is left then.
func (p *Prepared) hintDamage(ctx context.Context, err error) error {
	if convert.Unproven(err) {
		return p.hintWhole(ctx, err)
	}
	if p.Plan.OnError == plan.OnErrorFail && errors.Is(err, shardify.ErrCorrupt) && p.Job.Readable(ctx) {
		return shardify.Hint(err, "fetch the input again, or leave the damaged samples out and listed: the same command with --on-error skip --fresh")
	}
	return err
}

// hintWhole is for damage that is known of a file or an object as a whole.
func (p *Prepared) hintWhole(ctx context.Context, err error) error {
	e, ok := errors.AsType[*shardify.Error](err)
	if !ok || e.File == "" {
		return err
	}
	fs := storages.Of(p.Plan.In.Table)
	for _, dir := range []string{storage.Dir(e.File), storage.Dir(storage.Dir(e.File))} {
		if st, no := storage.Lstat(ctx, fs, dataset.ManifestPath(dir)); no == nil && st.Type == storage.Regular {
			return shardify.Hint(err, "what is damaged, and how to repair it: shardify verify "+printable.Quote(dir))
		}
	}
	return shardify.Hint(err, "fetch the input again: the checksum is one of all its samples, so that none of them can be left out")
}

// Plan publishes the plan of a conversion that tasks carry out, each with Work. The caller
// closes what it returns.
func Plan(ctx context.Context, s Settings) (*Prepared, error) {
	p, err := prepare(ctx, newRun(ctx, s, false, nil))
	if err != nil {
		return nil, err
	}
	storage.EndWrites(ctx, p.Store)
	if err = p.Clear(); err == nil {
		err = p.publish(ctx)
	}
	if err == nil {
		err = plan.Publish(ctx, p.Plan, p.Store)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Skipped counts the samples that were left out.
func (r *Result) Skipped() (n int64) {
	for _, s := range r.Manifest.Skipped {
		n += s.Hi - s.Lo
	}
	return n
}

// Shards counts the shards, those of splits included.
func (r *Result) Shards() int64 { return ShardsOf(r.Manifest) }

// ShardsOf is the shards of a set, those of its splits included.
func ShardsOf(m *index.Manifest) int64 {
	n := int64(len(m.Shards))
	for _, s := range m.Splits {
		n += s.Shards
	}
	return n
}

// Incomplete is an ErrIncomplete if samples were left out because they cannot be read, else
// nil.
func (r *Result) Incomplete() error {
	list := r.Manifest.Skipped
	if len(list) == 0 {
		return nil
	}
	s := list[0]
	where := s.Input
	if s.Object != "" {
		where += " " + s.Object
	}
	if s.Lo < s.Hi && !strings.HasPrefix(s.Object, "line ") { // a line that is left out is not a sample
		where = fmt.Sprintf("%s at sample %d", where, s.Lo)
	}
	what := printable.Of(r.Skipped(), "sample")
	if whole := wholeInputs(list); whole > 0 {
		what += " and " + printable.Of(whole, "input") + " of an unknown number of samples"
	}
	err := fmt.Errorf("left out %s that cannot be read, the first in %s (%s): %w", what, where, s.Reason, convert.ErrIncomplete)
	return shardify.Hint(err, fmt.Sprintf("all of them are listed under \"skipped\" in %s/%s", r.Output, index.ManifestName))
}

// wholeInputs counts the inputs that are left out whole, with an unknown number of samples.
func wholeInputs(list []index.Skip) (n int64) {
	for _, s := range list {
		if s.Lo == s.Hi {
			n++
		}
	}
	return n
}
