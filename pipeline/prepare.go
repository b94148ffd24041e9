package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/shardify/shardify/plan"
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

	alone   bool   // this process does all of it
	static  []byte // the file of static fields; nil after Reopen
	hooks   Hooks
	room    room      // where the output is
	beside  []string  // about files that operations read, and about images
	listing io.Closer // the list of inputs, while it is read; nil without
	// Remains: the folder holds shards of this conversion and no plan.
	Remains bool
	helpers []string     // fields that were opened for operations alone
	replace func() error // removes the conversion that gives way
	before  *plan.Plan   // of the conversion that goes on
	joined  openTables
}

// Prepare plans a conversion in this process: it opens the inputs, chooses formats, plans,
// and compares with what is in the output folder. Metadata only: nothing is written. The
// caller closes what it returns.
func Prepare(ctx context.Context, s Settings) (*Prepared, error) {
	s.local, s.alone = s.Scratch, true
	return prepare(ctx, s)
}

func prepare(ctx context.Context, s Settings) (p *Prepared, err error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := s.complete(); err != nil {
		return nil, err
	}
	p = &Prepared{Output: s.Output, Sync: s.Sync, room: look(s.Output), Local: s.local, alone: s.alone, hooks: s.Hooks}
	if p.Store, err = storages.Open(s.Output, storages.Output{Sync: local.Sync(s.Sync)}); err != nil {
		return nil, err
	}
	p.choose(s.Jobs, s.Memory)
	if err := insideInput(ctx, &s); err != nil {
		return nil, err
	}
	if err := s.openBeside(ctx, p); err != nil {
		return nil, err
	}
	src, opened, err := s.open(ctx, p)
	err = hintInputs(err)
	if p.listing != nil {
		defer p.listing.Close()
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if opened.More != nil {
			opened.More.Close()
		}
		if err != nil {
			opened.Source.Close()
		}
	}()
	p.Job = &convert.Job{Source: opened.Source}
	if err := s.plan(ctx, p, src, opened); err != nil {
		return nil, err
	}
	if err := p.compare(s.Fresh); err != nil {
		return nil, err
	}
	p.Job.IgnoreTimes = s.IgnoreTimes
	if p.State == StateResume && !s.IgnoreTimes {
		if err := touched(p.before, p.Plan); err != nil {
			return nil, err
		}
	}
	if err := s.space(p); err != nil {
		return nil, err
	}
	if p.State == StateNew && !p.Plan.Pack.InParts() {
		p.beside = append(p.beside, s.fertility(ctx, opened.Source, p.Plan.Pack.Samples)...)
	}
	if p.State == StateNew {
		p.beside = append(p.beside, filekind.Notes(p.Plan.Sample.Schema)...)
	}
	if p.State == StateNew && !p.Plan.Pack.InParts() {
		p.beside = append(p.beside, filekind.Look(ctx, opened.Source, filekind.PlanImages, s.shape.Orients(), nil)...)
	}
	p.finish(s.compiler())
	return p, nil
}

// Close closes the inputs, and the tables that are joined.
func (p *Prepared) Close() error {
	err := p.joined.Close()
	if p.Job.Source != nil {
		err = errors.Join(err, p.Job.Source.Close())
	}
	return err
}

// hintInputs says how to go on without damaged inputs, if others are left then.
func hintInputs(err error) error {
	var some *format.Skippable
	if errors.As(err, &some) {
		return shardify.Hint(err, "fetch the input again, or leave damaged inputs out and listed: --on-error skip")
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
	limit := poolLimit(p.Memory)
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

// poolLimit is the share of the memory that holds samples in flight. The rest is
// for what the sinks buffer, decoders, the plan itself and the runtime.
func poolLimit(memory int64) int64 { return memory / 8 * 5 }

func (s *Settings) open(ctx context.Context, p *Prepared) (src format.Input, o *readers.Opened, err error) {
	var list io.Reader
	var names []string
	if s.FilesFrom != "" {
		f, first, err := s.list()
		if err != nil {
			return src, nil, err
		}
		p.listing = f
		list, names = f, first
	}
	in := storage.NewBound(storages.Files)
	in.Until(ctx)
	if s.From == "" && len(s.Inputs) == 0 && s.FilesFrom != "" {
		src, p.FromWhy = readers.ChooseListed(ctx, in, names)
	} else if src, p.FromWhy, err = ChooseInput(ctx, in, s.From, s.Inputs); err != nil {
		return src, nil, err
	}
	sinks := writers.Formats
	if s.Format != "" {
		sink, ok := writers.Lookup(s.Format)
		if !ok {
			return src, nil, unknownFormat("--format", s.Format, writers.Names())
		}
		sinks = []format.Output{sink}
	}
	if err := Belong(s.Options, &src, sinks...); err != nil {
		return src, nil, err
	}
	options, err := Pick(s.Options, src.Options)
	if err != nil {
		return src, nil, err
	}
	o, err = s.openFields(ctx, p, src, readers.Request{
		FS: in, Inputs: s.Inputs, FilesFrom: list, Options: options, Jobs: p.Jobs, Asked: s.From != "", Parts: s.inParts(), Splits: s.split != nil && s.split.Objects,
		Folders: s.split != nil && s.split.Dirs, SkipDamaged: s.OnError == plan.OnErrorSkip, Follow: s.FollowSymlinks,
	})
	return src, o, err
}

// list opens the list of inputs and peeks at its first names.
func (s *Settings) list() (io.ReadCloser, []string, error) {
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

// ChooseInput finds the format of inputs, unless it is asked for. They are in from; nil means
// where their names say.
func ChooseInput(ctx context.Context, from storage.FS, asked string, inputs []string) (format.Input, string, error) {
	if _, ok := readers.Lookup(asked); asked != "" && !ok {
		return format.Input{}, "", unknownFormat("--from", asked, readers.Names())
	}
	f, why, err := readers.Choose(ctx, from, asked, inputs)
	switch {
	case errors.Is(err, readers.ErrSeveral):
		err = shardify.Hint(shardify.Usage("%v", err), "convert each format on its own; shardify merge-sets A B -o C joins sets of equal fields")
	case errors.Is(err, readers.ErrUndecided):
		err = shardify.Hint(shardify.Usage("%v", err), "name it with --from: "+strings.Join(readers.Names(), ", "))
	}
	return f, why, err
}

func unknownFormat(flag, name string, names []string) error {
	err := shardify.Usage("%s %q: want one of %s", flag, name, strings.Join(names, ", "))
	if m := suggest.Word(name, names); m != "" {
		return shardify.Hint(err, fmt.Sprintf("did you mean: %s %s", flag, m))
	}
	return err
}

// plan chooses the output format and makes the plan.
func (s *Settings) plan(ctx context.Context, p *Prepared, src format.Input, o *readers.Opened) error {
	sink, ok := writers.Lookup(s.Format)
	p.FormatWhy = "asked for"
	if !ok {
		sink, p.FormatWhy = writers.Prefer(o.Source.Schema(), format.HasFiles(o.Source))
	}
	options, err := s.sinkOptions(&src, sink)
	if err != nil {
		return err
	}
	var instead *format.Output
	var insteadOptions format.Options
	if f, ok := writers.Instead(sink.Name); ok && s.Format == "" {
		if insteadOptions, err = s.sinkOptions(&src, f); err == nil {
			instead = &f
		}
	}
	known, _ := plan.Load(p.Store) // if it is not what this becomes, compare says so
	if err := s.findSplits(src, o); err != nil {
		return err
	}
	if s.split, err = transform.AssignInputs(s.split, o.Args.Table); err != nil {
		return err
	}
	shaped, err := s.shape.WithTotals(ctx, src, o.Args.Table, shardify.NewPool(poolLimit(p.Memory)), p.Jobs)
	if err != nil {
		return err
	}
	list, err := shaped.Ops(o.Args.Table)
	if err != nil {
		return shardify.Usage("%v", err)
	}
	s.beside.seal(list)
	windowing, err := s.windows(ctx, p, src, o, list)
	if err != nil {
		return s.leftError(err, o.Source)
	}
	static, content, err := s.static(ctx, p, src, o)
	if err != nil {
		return err
	}
	p.static = content
	p.Plan, err = s.makePlan(ctx, p, src, o, convert.Request{
		Grouping: s.grouping, Windowing: windowing, Static: static, Input: src.Name, Source: o.Source, Args: o.Args, Output: sink, Options: options,
		ShardSize: s.ShardSize, ShardSamples: s.ShardSamples, Limit: s.Limit, MaxSample: s.MaxSample, Lo: s.Range.Lo, Hi: s.Range.Hi,
		OnError: s.OnError, Recipe: s.recipe(),
		Seed: s.Seed, Ops: list, Compile: misused(s.compiler()), Helpers: p.helpers, Split: s.split, Shuffle: s.Shuffle,
		Provenance: s.Provenance, Pool: shardify.NewPool(poolLimit(p.Memory)), Jobs: p.Jobs, Known: known,
		Instead: instead, InsteadOptions: insteadOptions,
	})
	if err != nil {
		return s.leftError(err, o.Source)
	}
	if err := s.useless(p.Plan, &src, o); err != nil {
		return err
	}
	p.Plan.Local.Tables, p.beside = s.beside.paths, s.beside.notes
	if static != nil {
		p.beside = append(p.beside, staticNote(static, p.Plan.Pack.Samples))
	}
	if note := s.splitNote(ctx, p, src, o.Args.Table); note != "" {
		p.beside = append(p.beside, note)
	}
	if s.samples != "" {
		p.Plan.Local.Tables = append(p.Plan.Local.Tables, s.samples)
	}
	if p.Plan.Out.Refused != nil {
		sink, p.FormatWhy = *instead, writers.WhyNot(p.Plan.Out.Refused)
	}
	p.Job.Sink = sink
	if err := checkAxes(p.Plan, &sink); err != nil {
		return err
	}
	if o.More != nil {
		o.LeftOut = o.More.LeftOut()
	}
	p.leftOut(o.LeftOut)
	p.Plan.Local.Scratch = s.Scratch
	if s.Scratch == "" && known != nil && known.Digest() == p.Plan.Digest() {
		p.Plan.Local.Scratch = known.Local.Scratch
	}
	return nil
}

// sinkOptions is the options of an output format. All that were given must belong to it
// or to the input format.
func (s *Settings) sinkOptions(src *format.Input, sink format.Output) (format.Options, error) {
	if err := Belong(s.Options, src, sink); err != nil {
		return nil, err
	}
	return Pick(s.Options, sink.Options)
}

// misused makes mistakes in the texts of operations errors of usage.
func misused(compile flow.Compile) flow.Compile {
	return func(list []plan.Op, env flow.Env) (*flow.Pipeline, error) {
		p, err := compile(list, env)
		if _, isFile := errors.AsType[*fs.PathError](err); isFile || errors.Is(err, shardify.ErrCorrupt) {
			return p, err
		}
		return p, shardify.Misused(err)
	}
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
