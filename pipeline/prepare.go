package pipeline

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/walk"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/writers"
)

// State is the state of the output folder.
type State int

// The states of an output folder.
const (
	StateNew      State = iota
	StateResume         // the same plan, not complete
	StateComplete       // the same plan and a manifest
)

// Prepared is a planned job and what was chosen on the way.
type Prepared struct {
	Job    *convert.Job
	Plan   *plan.Plan
	Store  storage.Store
	Output string
	State  State
	Local  string // folder for shards that are being written; "" is the output folder

	Sync               string
	FromWhy, FormatWhy string // "" after Reopen
	Jobs               int
	JobsWhy            string
	Memory             int64
	MemoryWhy          string
	Warnings           []string
	Litter             []format.Leftover // left out, but not worth recording

	alone   bool // this process does all of it
	asked   []ask.Asked
	hooks   Hooks
	room    room // where the output is
	notes   []string
	listing io.Closer // the list of inputs, while it is read; nil without
	// Remains: the folder holds shards of this conversion and no plan.
	Remains bool
	replace func() error // removes the conversion that gives way
	before  *plan.Plan   // of the conversion that goes on
	again   *ask.Again   // after Reopen
	closers ask.Closers
}

// Prepare plans a conversion in this process: it opens the inputs, chooses formats, plans,
// and compares with what is in the output folder. Metadata only: nothing is written. The
// caller closes what it returns.
func Prepare(ctx context.Context, s Settings) (*Prepared, error) {
	return prepare(ctx, newRun(ctx, s, true, nil))
}

// run is a conversion while it is planned.
type run struct {
	ask.Conversion
	asked []ask.Asked
	hooks Hooks
	alone bool // this process does all of it
}

// newRun begins a conversion. compile makes the operations; nil is as usual.
func newRun(ctx context.Context, s Settings, alone bool, compile flow.Compile) *run {
	return &run{Conversion: ask.Conversion{Settings: &s, Compile: compile}, asked: questions.New(), hooks: hooksOf(ctx), alone: alone}
}

// each does a step of all questions.
func (r *run) each(step func(ask.Asked) error) error {
	for _, q := range r.asked {
		if err := step(q); err != nil {
			return err
		}
	}
	return nil
}

func prepare(ctx context.Context, r *run) (p *Prepared, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	p = &Prepared{Output: r.Output, Sync: r.Sync, room: look(r.Output), alone: r.alone, hooks: r.hooks, asked: r.asked}
	if r.alone {
		p.Local = r.Scratch
	}
	if p.Store, err = storages.Open(r.Output, storages.Output{Sync: local.Sync(r.Sync)}); err != nil {
		return nil, err
	}
	p.choose(r.Settings.Jobs, r.Settings.Memory)
	if r.hooks.Chosen != nil {
		r.hooks.Chosen(p.Memory)
	}
	r.Conversion.Jobs, r.Conversion.Memory = p.Jobs, p.Memory
	if err := insideInput(ctx, r.Settings); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.Closers.Close()
		}
	}()
	var fields []string
	if err := r.each(func(q ask.Asked) error {
		more, err := q.Prepare(ctx, &r.Conversion)
		fields = append(fields, more...)
		return err
	}); err != nil {
		return nil, err
	}
	err = hintInputs(r.open(ctx, p, fields))
	if p.listing != nil {
		defer p.listing.Close()
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if r.Opened.More != nil {
			r.Opened.More.Close()
		}
		if err != nil {
			r.Opened.Source.Close()
		}
	}()
	if err := r.plan(ctx, p); err != nil {
		return nil, err
	}
	if err := p.compare(r.Fresh); err != nil {
		return nil, err
	}
	p.Job.IgnoreTimes = r.IgnoreTimes
	if p.State == StateResume && !r.IgnoreTimes {
		if err := touched(p.before, p.Plan); err != nil {
			return nil, err
		}
	}
	if err := space(r.Settings, p); err != nil {
		return nil, err
	}
	if p.State == StateNew {
		for _, look := range r.Looks {
			p.notes = append(p.notes, look(ctx)...)
		}
		p.notes = append(p.notes, filekind.Notes(p.Plan.Sample.Schema)...)
		if !p.Plan.Pack.InParts() {
			p.notes = append(p.notes, r.proposed()...)
			facts := filekind.Look(ctx, r.Opened.Source, filekind.PlanImages, r.Shape.Orients(), nil)
			if slices.ContainsFunc(r.Augment, func(text string) bool { return strings.HasPrefix(text, "decode=") }) {
				facts = slices.DeleteFunc(facts, func(f string) bool { return strings.Contains(f, "--augment decode=") }) // that is done
			}
			p.notes = append(p.notes, facts...)
		}
	}
	p.closers = r.Closers
	p.finish(r.Compile)
	return p, nil
}

// Close closes the inputs, and what questions have opened.
func (p *Prepared) Close() error {
	err := p.closers.Close()
	if p.again != nil {
		err = errors.Join(err, p.again.Closers.Close())
	}
	if p.Job.Source != nil {
		err = errors.Join(err, p.Job.Source.Close())
	}
	return err
}

// hintInputs says how to go on without damaged inputs, if others are left then.
func hintInputs(err error) error {
	var some *format.Skippable
	if errors.As(err, &some) {
		return shardify.Hint(err, "fetch the input again, or leave inputs that cannot be read out and listed: --on-error skip")
	}
	return err
}

func (p *Prepared) choose(jobs int, memory int64) {
	m := host.This()
	p.Jobs, p.JobsWhy = m.Jobs(jobs)
	p.Memory, p.MemoryWhy = m.Budget(memory)
	if x, ok := storage.As[storage.Maker](p.Store); ok {
		x.SetJob(m.Job, m.Restart)
	}
}

// finish fills in what depends on the plan.
func (p *Prepared) finish(compile flow.Compile) {
	p.Job.Plan, p.Job.Store, p.Job.Jobs, p.Job.Memory, p.Job.Compile = p.Plan, p.Store, p.Jobs, p.Memory, compile
	p.Job.Record = questions.Record
	limit := ask.PoolLimit(p.Memory)
	if k, ok := storage.As[storage.Keeper](p.Store); ok {
		kept := p.Memory / 8
		k.SetMemory(kept)
		limit -= kept
	}
	p.Job.Pool = shardify.NewPool(limit)
	if folder := p.ScratchFolder(); p.Plan.Scatters() && folder != "" {
		p.Job.Scratch = local.NewDir(folder, local.SyncNone)
	}
}

// open opens the inputs with the fields that were asked for, and those that are needed.
func (r *run) open(ctx context.Context, p *Prepared, fields []string) (err error) {
	var list io.Reader
	var names []string
	if r.FilesFrom != "" {
		f, first, err := listOf(r.Settings)
		if err != nil {
			return err
		}
		p.listing = f
		list, names = f, first
	}
	in := storage.NewBound(storages.Files)
	in.Until(ctx)
	if r.From == "" && len(r.Inputs) == 0 && r.FilesFrom != "" {
		r.Input, p.FromWhy = readers.ChooseListed(ctx, in, names)
	} else if r.Input, p.FromWhy, err = settings.ChooseInput(ctx, in, r.From, r.Inputs, r.Options, len(r.Parse) > 0); err != nil {
		return err
	}
	sinks := writers.Formats
	if r.Format != "" {
		sink, ok := writers.Lookup(r.Format)
		if !ok {
			return settings.UnknownFormat("--format", r.Format, writers.Names())
		}
		sinks = []format.Output{sink}
	}
	if err := settings.Belong(r.Options, &r.Input, sinks...); err != nil {
		return err
	}
	options, err := settings.Pick(r.Options, r.Input.Options)
	if err != nil {
		return err
	}
	q := &r.Request
	q.FS, q.Inputs, q.FilesFrom, q.Options, q.Jobs, q.Asked = in, r.Inputs, list, options, p.Jobs, r.From != ""
	q.Rounds = transform.Rounds(r.Cast)
	q.Parts, q.SkipDamaged, q.Follow = r.inParts(), r.OnError == plan.OnErrorSkip, r.FollowSymlinks
	if !r.Dry {
		q.Scratch = p.Store
	}
	return r.openFields(ctx, fields)
}

// listOf opens the list of inputs and peeks at its first names.
func listOf(s *Settings) (io.ReadCloser, []string, error) {
	f := io.NopCloser(s.Stdin)
	if s.FilesFrom != "-" {
		var err error
		if f, err = storages.Stream(context.Background(), s.FilesFrom); err != nil {
			return nil, nil, err
		}
	}
	const peek = 64 << 10
	r := bufio.NewReaderSize(f, peek)
	head, err := r.Peek(peek)
	names := strings.FieldsFunc(string(head), func(r rune) bool { return r == 0 || r == '\n' })
	for i := range names {
		names[i] = storages.Plain(names[i])
	}
	if len(names) == 0 && len(s.Inputs) == 0 && errors.Is(err, io.EOF) {
		f.Close()
		return nil, nil, shardify.Usage("--files-from %s: there is no name in it", s.FilesFrom)
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, names, nil
}

// plan chooses the output format and makes the plan.
func (r *run) plan(ctx context.Context, p *Prepared) error {
	sink, ok := writers.Lookup(r.Format)
	p.FormatWhy = "asked for"
	if err := r.each(func(q ask.Asked) error { return q.Open(ctx, &r.Conversion) }); err != nil {
		return hintInputs(r.leftError(err))
	}
	o := r.Opened
	p.Job = &convert.Job{Source: o.Source}
	if !ok {
		left := slices.DeleteFunc(slices.Clone(o.Source.Schema()), func(f shardify.Field) bool { return slices.Contains(r.Parsed, f.Name) })
		sink, p.FormatWhy = writers.Prefer(left, format.HasFiles(o.Source))
	}
	options, err := r.sinkOptions(sink)
	if err != nil {
		return err
	}
	var instead *format.Output
	var insteadOptions format.Options
	if f, ok := writers.Instead(sink.Name); ok && r.Format == "" {
		if insteadOptions, err = r.sinkOptions(f); err == nil {
			instead = &f
		}
	}
	known, _ := plan.Load(p.Store) // if it is not what this becomes, compare says so
	d := &r.Draft
	p.Plan, err = r.makePlan(ctx, p, convert.Request{
		Asked: d.Asked, Input: r.Input.Name, Source: o.Source, Args: o.Args, Output: sink, Options: options,
		ShardSize: r.ShardSize, ShardSamples: r.ShardSamples, Limit: r.Limit, MaxSample: r.MaxSample, Lo: r.Range.Lo, Hi: r.Range.Hi,
		OnError: r.OnError, Recipe: r.Settings.Recipe(),
		Seed: r.Seed, Ops: d.Steps.Ops, Compile: ask.Misused(r.Compile), Helpers: d.Steps.Helpers, Split: d.Splits.Rule, Shuffle: r.Shuffle,
		Pool: r.Pool(), Jobs: p.Jobs, Known: known,
		Instead: instead, InsteadOptions: insteadOptions,
	})
	if err != nil {
		return r.leftError(err)
	}
	if !r.Recorded {
		if err := o.Idle(&r.Input, r.Options); err != nil {
			return err
		}
		if err := r.Useless(p.Plan); err != nil {
			return err
		}
	}
	if p.Plan.Out.Refused != nil {
		sink, p.FormatWhy = *instead, writers.WhyNot(p.Plan.Out.Refused)
	}
	p.Job.Sink = sink
	if err := r.each(func(q ask.Asked) error { return q.Planned(ctx, &r.Conversion, p.Plan, &sink) }); err != nil {
		return err
	}
	p.notes = r.Notes
	if o.More != nil {
		o.LeftOut = o.More.LeftOut()
	}
	p.leftOut(o.LeftOut)
	p.Plan.Local.Scratch = r.Scratch
	if r.Scratch == "" && known != nil && known.Digest() == p.Plan.Digest() {
		p.Plan.Local.Scratch = known.Local.Scratch
	}
	return nil
}

// sinkOptions is the options of an output format. All that were given must belong to it
// or to the input format.
func (r *run) sinkOptions(sink format.Output) (format.Options, error) {
	if err := settings.Belong(r.Options, &r.Input, sink); err != nil {
		return nil, err
	}
	return settings.Pick(r.Options, sink.Options)
}

// leftOut adds what the listing left out. Litter (hidden files, thumbnails) is reported but not
// part of the plan: it comes and goes, and must not affect a resumed conversion.
func (p *Prepared) leftOut(list []format.Leftover) {
	for _, l := range list {
		if walk.IsLitter(l.Name) {
			p.Litter = append(p.Litter, l)
		} else {
			p.Plan.Local.LeftOut = append(p.Plan.Local.LeftOut, l)
		}
	}
}

// insideInput refuses an output folder that is an input folder or is inside one: the next run would
// take our shards for inputs.
func insideInput(ctx context.Context, s *Settings) error {
	out := realPath(s.Output)
	for _, in := range s.Inputs {
		scheme := storage.Scheme(in)
		if scheme != storage.Scheme(out) || scheme != "" && !strings.HasPrefix(out+"/", strings.TrimSuffix(realPath(in), "/")+"/") {
			continue
		}
		st, err := storages.Files.Stat(ctx, in)
		if err != nil || st.Type != storage.Folder {
			continue
		}
		dir := realPath(in)
		if rel, err := filepath.Rel(dir, out); err == nil && (rel == "." || rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))) {
			return shardify.Hint(shardify.Usage("output %s is inside the input %s", s.Output, in), "choose a folder outside of it: -o "+printable.Quote(dir+"-shards"))
		}
	}
	return nil
}

// realPath follows links as far as the path exists.
func realPath(p string) string {
	if storage.Scheme(p) != "" {
		return storage.Clean(p)
	}
	p, err := filepath.Abs(p)
	rest := ""
	for dir := p; err == nil; dir = filepath.Dir(dir) {
		real, err := local.RealPath(dir)
		if err == nil {
			return filepath.Join(real, rest)
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			break // opening it will say what is wrong
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
	return p
}
