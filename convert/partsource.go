package convert

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// PartSource is the source of a plan in parts. It has those parts open whose units are
// in work.
type PartSource struct {
	plan  *plan.Plan
	open  func(ctx context.Context, a format.OpenArgs) (shardify.Source, error)
	first []int64 // sample of each part, and one past the last
	fs    *storage.Bound

	mu    sync.Mutex
	parts map[int]*openPart
	room  chan struct{} // a token for each part that may be open
}

// openPart is a part that units hold.
type openPart struct {
	*plan.Loaded
	src   shardify.Source
	err   error
	ready chan struct{}
	holds int
}

// NewPartSource makes the source of a plan in parts; open opens one of them.
func NewPartSource(p *plan.Plan, open func(ctx context.Context, a format.OpenArgs) (shardify.Source, error)) *PartSource {
	s := &PartSource{plan: p, open: open, fs: storage.NewBound(storages.Files), first: p.Pack.FirstSamples(), parts: map[int]*openPart{}}
	return s
}

// until has reads of inputs end with ctx.
func until(ctx context.Context, src shardify.Source, t *format.Table) {
	if s, ok := src.(*PartSource); ok {
		s.fs.Until(ctx)
	} else if t != nil {
		storage.Until(ctx, storages.Of(t))
	}
}

// limit fixes how many parts are open at once: two, or what a part of the memory holds.
func (s *PartSource) limit(memory int64) {
	s.room = make(chan struct{}, min(max(memory/16/max(s.plan.Pack.BlockBytes(), 1), 2), 1024))
}

// hold opens a part, or shares it with the units that have it open.
func (s *PartSource) hold(ctx context.Context, k int) (*openPart, error) {
	s.mu.Lock()
	x := s.parts[k]
	mine := x == nil
	if mine {
		x = &openPart{ready: make(chan struct{})}
		s.parts[k] = x
	}
	x.holds++
	s.mu.Unlock()
	if mine {
		select {
		case s.room <- struct{}{}:
			s.load(ctx, k, x)
			if x.err != nil {
				<-s.room
			}
		case <-ctx.Done():
			x.err = context.Cause(ctx)
		}
		close(x.ready)
	}
	select {
	case <-x.ready:
	case <-ctx.Done():
		s.release(k)
		return nil, context.Cause(ctx)
	}
	if x.err != nil {
		err := x.err
		s.release(k)
		return nil, err
	}
	return x, nil
}

func (s *PartSource) load(ctx context.Context, k int, x *openPart) {
	if x.Loaded, x.err = s.plan.Load(k); x.err != nil {
		return
	}
	p := s.plan
	x.Table.FS = s.fs
	x.src, x.err = s.open(ctx, format.OpenArgs{Table: x.Table, Columns: p.In.Columns, Options: p.In.Options, State: p.In.State, First: x.First})
	if x.err != nil {
		x.src = nil
	}
}

// release ends a hold; the last one closes the part.
func (s *PartSource) release(k int) {
	s.mu.Lock()
	x := s.parts[k]
	x.holds--
	last := x.holds == 0
	if last {
		delete(s.parts, k)
	}
	s.mu.Unlock()
	if last && x.src != nil {
		x.src.Close()
		<-s.room
	}
}

// Schema is that of the plan.
func (s *PartSource) Schema() []shardify.Field { return s.plan.Sample.SourceSchema() }

// Spans returns none: they are in the plan.
func (s *PartSource) Spans(context.Context, int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		yield(shardify.Span{}, errors.New("the inputs are planned in parts already"))
	}
}

// Reader reads spans of parts that are held.
func (s *PartSource) Reader(run uint32) (shardify.Reader, error) {
	return &partReader{s: s, run: run, part: -1}, nil
}

// Close does nothing: parts close with the units that hold them.
func (s *PartSource) Close() error { return nil }

// partReader is the reader of the part that the last span was in.
type partReader struct {
	s     *PartSource
	run   uint32
	part  int
	inner shardify.Reader
}

func (r *partReader) Read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	k := sort.Search(len(r.s.first)-1, func(k int) bool { return s.Lo < r.s.first[k+1] })
	if k != r.part {
		if err := r.enter(k); err != nil {
			return nil, err
		}
	}
	return r.inner.Read(ctx, s, mem)
}

func (r *partReader) enter(k int) error {
	if err := r.Close(); err != nil {
		return err
	}
	r.s.mu.Lock()
	x := r.s.parts[k]
	r.s.mu.Unlock()
	if x == nil || x.src == nil {
		return fmt.Errorf("part %d of the inputs is not open", k)
	}
	inner, err := x.src.Reader(r.run)
	if err != nil {
		return err
	}
	r.part, r.inner = k, inner
	return nil
}

func (r *partReader) Close() error {
	if r.inner == nil {
		return nil
	}
	err := r.inner.Close()
	r.part, r.inner = -1, nil
	return err
}

// byPart puts units into the order of the parts.
func (j *Job) byPart(units []int) []int {
	s, ok := j.Source.(*PartSource)
	if !ok {
		return units
	}
	s.limit(j.Pool.Limit())
	units = slices.Clone(units)
	slices.Sort(units)
	return units
}

// holdSpans gives the spans among which those of planned shard i are; release is to be
// called when they have been read.
func (j *Job) holdSpans(ctx context.Context, i int) (spans []shardify.Span, release func(), err error) {
	if !j.Plan.Pack.InParts() {
		return j.Plan.Pack.Spans, func() {}, nil
	}
	src, ok := j.Source.(*PartSource)
	if !ok {
		return nil, nil, errors.New("the source is not that of a plan in parts")
	}
	k := j.Plan.Pack.BlockOf(i)
	x, err := src.hold(ctx, k)
	if err != nil {
		return nil, nil, err
	}
	return x.Spans, func() { src.release(k) }, nil
}
