package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/verify/problem"
	"golang.org/x/sync/errgroup"
)

// comparison reads the inputs again as the plan says, and the data set as its
// readers do, and compares the values.
type comparison struct {
	*set
	source, ours shardify.Source
	pool         *shardify.Pool
	byName       map[string]int // shards of the set
	now          *format.Table  // where the inputs are; names as in the plan
	isReplay     bool           // source is the inputs converted again
	again        ask.Again
}

// uncompared notes why values were not compared: the report then says nothing about them.
func (s *set) uncompared(err error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.report.Uncompared == "" {
		s.c.report.Uncompared = shardify.Plain(err)
	}
}

// against compares the values of the chosen shards with the source.
func (s *set) against(ctx context.Context) error {
	c := comparison{set: s, byName: map[string]int{}, pool: shardify.NewPool(int64(s.o.Jobs) * 4 * plan.SpanBytes)}
	if s.manifest == nil {
		s.uncompared(errors.New("only a data set with its manifest can be"))
		return nil
	}
	for i := range s.shards {
		c.byName[s.shards[i].Name] = i
	}
	if err := c.open(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(s.o.Inputs) > 0 && errors.Is(err, fs.ErrNotExist) { // a wrong name, perhaps
			return err
		}
		s.uncompared(err)
		return nil
	}
	defer c.source.Close()
	defer c.again.Closers.Close()
	if !c.readable() || c.plan.Sample.Source != nil {
		return c.withReplay(ctx)
	}
	if a, b := schemaText(c.source.Schema()), schemaText(c.schema); a != b {
		s.uncompared(fmt.Errorf("the source has other fields than the data set: %s, not %s", a, b))
		return nil
	}
	if err := c.openOurs(ctx); err != nil || c.ours == nil {
		return err
	}
	defer c.ours.Close()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.o.Jobs)
	for _, u := range s.plan.Pack.Units {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return c.unit(ctx, u) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return nil
}

// open opens the inputs. An error means that nothing can be compared.
func (c *comparison) open(ctx context.Context) error {
	var err error
	if c.plan == nil {
		if c.plan, err = loadPlan(c.top().store); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = errors.New("sets that were extended, merged, or changed by remove, relabel or checkout have no plan of the whole set")
			}
			return fmt.Errorf("no plan says which samples went where: %w", err)
		}
	}
	if c.plan, err = plan.Whole(c.plan); err != nil {
		return err
	}
	p := c.plan
	table := p.In.Table
	if len(c.o.Inputs) > 0 {
		if table, err = c.moved(ctx); err != nil {
			return err
		}
	}
	c.now = table
	memory, _ := host.This().Budget(0)
	c.again = ask.Again{Plan: p, Table: table, Memory: memory, Jobs: c.o.Jobs, Compile: c.o.Compile}
	questions.Again(&c.again, func(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
		return openSource(ctx, c.o, p.In.Format, a)
	})
	c.source, err = c.again.Open(ctx, p)
	if x, ok := c.source.(format.Collector); ok && err == nil {
		var scratch storage.Store
		if c.o.Scratch != "" {
			scratch = local.NewDir(c.o.Scratch, local.SyncNone)
		}
		err = x.Collect(ctx, p.Pack.Spans, shardify.NewPool(replayMemory), c.o.Jobs, scratch)
	}
	return err
}

// openSet opens a data set of the format.
func (c *comparison) openSet(ctx context.Context, dir string) (shardify.Source, error) {
	folder := &format.Table{Roots: []string{dir}}
	folder.Append(0, index.ManifestName, format.SizeUnknown, 0)
	return openSource(ctx, c.o, c.format, format.OpenArgs{Table: folder})
}

// readable reports whether this program can read such data sets.
func (c *comparison) readable() bool {
	f, err := sourceNamed(c.o, c.format)
	return err == nil && f.Sets
}

// openOurs opens the data set itself. If it cannot be opened, that is a problem.
func (c *comparison) openOurs(ctx context.Context) (err error) {
	c.ours, err = c.openSet(ctx, storage.Join(c.o.Dir, c.prefix))
	if err != nil {
		p := problem.Of(problem.LevelValues, index.ManifestName, err)
		p.What = "values were not compared: the data set cannot be opened: " + p.What
		c.add(p)
	}
	return nil
}

// moved lists the inputs where they are now. They must be those of the plan, in
// its order; other sizes are a problem of their own.
func (c *comparison) moved(ctx context.Context) (*format.Table, error) {
	p := c.plan
	f, err := sourceNamed(c.o, p.In.Format)
	if err != nil {
		return nil, err
	}
	x, err := readers.Open(ctx, *f, readers.Request{
		Inputs: c.o.Inputs, Rounds: func(string) bool { return true }, Splits: p.Splits.Rule != nil && p.Splits.Rule.Objects, Columns: p.In.Columns, Options: p.In.Options, Jobs: c.o.Jobs, SkipDamaged: p.OnError == plan.OnErrorSkip, Follow: true, // what was converted, the plan says
	})
	if err != nil {
		return nil, err
	}
	defer x.Source.Close()
	now := x.Args.Table
	if a, b := p.In.Table.Len(), now.Len(); a != b {
		return nil, fmt.Errorf("inputs of the data set: %d, in %s: %d", a, strings.Join(c.o.Inputs, " "), b)
	}
	for i := range now.Len() {
		if a, b := p.In.Table.Name(i), now.Name(i); a != b {
			return nil, fmt.Errorf("input %d was %q and is %q now", i, a, b)
		}
		if a, b := p.In.Table.Size(i), now.Size(i); a != b && a >= 0 && b >= 0 {
			p := problem.New(problem.LevelValues, problem.KindMismatch, now.Path(i), "the input has changed: bytes")
			p.Want, p.Got, p.Note = problem.Says(plan.FileName, fmt.Sprint(a)), problem.Says("the input", fmt.Sprint(b)), true
			c.add(p)
		}
	}
	return now, nil
}

func schemaText(schema []shardify.Field) string { b, _ := json.Marshal(schema); return string(b) }

func openSource(ctx context.Context, o *Options, name string, a format.OpenArgs) (shardify.Source, error) {
	f, err := sourceNamed(o, name)
	if err != nil {
		return nil, err
	}
	if a.Options == nil {
		if a.Options, err = format.CheckOptions(f.Options, nil); err != nil {
			return nil, err
		}
	}
	return f.Open(ctx, a)
}

func sourceNamed(o *Options, name string) (*format.Input, error) {
	i := slices.IndexFunc(o.Sources, func(f format.Input) bool { return f.Name == name })
	if i < 0 {
		return nil, shardify.Unsupported("input format %q", name)
	}
	return &o.Sources[i], nil
}

// unit compares the shards that come from one run, in its order.
func (c *comparison) unit(ctx context.Context, u plan.Unit) error {
	l := &openReaders{c: c}
	defer l.close()
	for i := u.Lo; i < u.Hi; i++ {
		if j, ok := c.byName[c.plan.Names().Shard(i)]; ok && c.results[j].read {
			if err := l.shard(ctx, i, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// openReaders are the readers of one goroutine.
type openReaders struct {
	c      *comparison
	source shardify.Reader
	run    uint32
	ours   shardify.Reader
	number int // of the shard in the set
	at     int64
}

func (l *openReaders) close() {
	if l.source != nil {
		l.source.Close()
		l.source = nil
	}
	if l.ours != nil {
		l.ours.Close()
		l.ours = nil
	}
}

// shard compares planned shard i, which is shard j of the set.
func (l *openReaders) shard(ctx context.Context, i, j int) error {
	p, e := l.c.plan, &l.c.shards[j]
	l.number, l.at = j, 0
	skips := l.c.skips(e.Name)
	for _, s := range p.Pack.Spans[p.Pack.Shards[i].Lo:p.Pack.Shards[i].Hi] {
		for _, part := range kept(s, skips[l.c.inputName(s.Input)]) {
			if l.at+part.Samples() > e.Samples {
				l.c.add(l.count(i, e))
				return nil
			}
			if err := l.span(ctx, part); err != nil {
				return err
			}
			l.at += part.Samples()
		}
	}
	if l.at != e.Samples {
		l.c.add(l.count(i, e))
	}
	return nil
}

func (l *openReaders) count(i int, e *expected) problem.Problem {
	p := problem.New(problem.LevelValues, problem.KindMismatch, e.Name, "samples")
	p.Want = problem.Says(plan.FileName, fmt.Sprintf("%d less those skipped", l.c.plan.Pack.Shards[i].Samples))
	p.Got = problem.Says(e.from, fmt.Sprint(e.Samples))
	return p
}

func (c *comparison) inputName(i uint32) string {
	if c.isReplay {
		return convertedAgain
	}
	if int(i) < c.plan.In.Table.Len() {
		return c.plan.In.Table.Unique(int(i))
	}
	return ""
}

// since adds to a problem of an input that the file has changed since the data set was made: then
// it need not be damaged.
func (c *comparison) since(i uint32, err error) error {
	if int(i) >= c.now.Len() {
		return err
	}
	st, e := storages.Of(c.now).Stat(context.Background(), c.now.Path(int(i)))
	if e == nil {
		t := c.plan.In.Table
		e = plan.Unchanged(st.Stamp, t.Size(int(i)), t.ModTime(int(i)), false)
	}
	if errors.Is(e, shardify.ErrChanged) {
		return fmt.Errorf("%w; it has %w", err, e)
	}
	return err
}

// skips are the samples of each input that the shard leaves out: of its receipt,
// else of the whole set.
func (c *comparison) skips(shard string) map[string][]index.Skip {
	list := c.manifest.Skipped
	if r, err := c.receipt(c.receiptName(shard, false)); err == nil {
		list = r.Skipped
	}
	by := map[string][]index.Skip{}
	for _, s := range list {
		by[s.Input] = append(by[s.Input], s)
	}
	return by
}

// kept returns the parts of a span that were not skipped.
func kept(s shardify.Span, skips []index.Skip) []shardify.Span {
	out := []shardify.Span{s}
	for _, k := range skips {
		var next []shardify.Span
		for _, o := range out {
			a, b := o, o
			a.Hi, b.Lo = min(o.Hi, k.Lo), max(o.Lo, k.Hi)
			if a.Lo < a.Hi {
				next = append(next, a)
			}
			if b.Lo < b.Hi {
				next = append(next, b)
			}
		}
		out = next
	}
	return out
}

// span compares one span with the next samples of the shard. That either side
// cannot be read is a problem of that span alone.
func (l *openReaders) span(ctx context.Context, s shardify.Span) error {
	theirs, err := l.reader(&l.source, l.c.source, s.Run)
	if err != nil {
		return err
	}
	ours, err := l.reader(&l.ours, l.c.ours, 0)
	if err != nil {
		return err
	}
	memA, memB := l.c.pool.Overdraft(), l.c.pool.Overdraft()
	defer memA.Release()
	defer memB.Release()
	a, err := theirs.Read(ctx, s, memA)
	if err == nil && int64(a.Samples) != s.Samples() {
		err = fmt.Errorf("reader gave %d samples for span [%d, %d)", a.Samples, s.Lo, s.Hi)
	}
	if err != nil {
		l.source = closed(l.source)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.c.uncompared(fmt.Errorf("%s: %w", l.c.inputName(s.Input), l.c.since(s.Input, err)))
		return nil
	}
	e := &l.c.shards[l.number]
	b, err := ours.Read(ctx, shardify.Span{Lo: e.first + l.at, Hi: e.first + l.at + s.Samples()}, memB)
	if err != nil {
		l.ours = closed(l.ours)
		return l.unread(ctx, "data set", s, err)
	}
	l.compare(a, b, s)
	return nil
}

func closed(r shardify.Reader) shardify.Reader {
	r.Close() // what a failed read leaves behind is not defined
	return nil
}

func (l *openReaders) reader(have *shardify.Reader, src shardify.Source, run uint32) (shardify.Reader, error) {
	if have == &l.source && l.source != nil && l.run != run {
		l.source = closed(l.source)
	}
	if *have == nil {
		r, err := src.Reader(run)
		if err != nil {
			return nil, err
		}
		*have = r
		if have == &l.source {
			l.run = run
		}
	}
	return *have, nil
}

func (l *openReaders) unread(ctx context.Context, side string, s shardify.Span, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &l.c.shards[l.number]
	p := problem.Of(problem.LevelValues, e.Name, err)
	p.What = fmt.Sprintf("%d samples were not compared, %s cannot be read: %v", s.Samples(), side, err)
	p.Object, p.Field, p.Offset = "", "", -1
	p.Sample = e.sample(l.at)
	l.c.add(p)
	return nil
}
