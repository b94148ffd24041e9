package convert

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"golang.org/x/sync/errgroup"
)

// Parts is a list of inputs too long for one table. The first of its parts is
// Request.Args.Table.
type Parts struct {
	Survey shardify.PartSurvey
	// Next gives the following part, nil after the last. With ErrApart it gives the
	// rest of the inputs, of which no further parts can be made.
	Next func(ctx context.Context) (*shardify.Table, error)
	// Reuse takes back a table that nobody needs any more.
	Reuse func(*shardify.Table)
	// Open opens one part with the state of all.
	Open func(ctx context.Context, a shardify.OpenArgs) (shardify.Source, error)
	// Scratch is where the parts are kept until the plan is published; nil is the
	// system's temporary folder.
	Scratch storage.Store
}

// Apart is the error of MakePlan for inputs whose order does not allow parts: they are
// all in one table now, to be planned in that.
type Apart struct{ Table *shardify.Table }

func (*Apart) Error() string { return shardify.ErrApart.Error() }

// Unwrap is ErrApart.
func (*Apart) Unwrap() error { return shardify.ErrApart }

// partPlanner makes a plan in parts. While one part is listed, the one before is looked
// at, and that before it written.
type partPlanner struct {
	*Request
	p       *Plan
	spill   *local.Spill
	out     *blockWriter
	layouts []string
	left    [][]shardify.Leftover
	list    lister
	faults  faults
}

// partWritten is a part on its way to the spill file.
type partWritten struct {
	table  *shardify.Table
	part   Block
	spans  []byte // nil if they are not known yet
	layout string
}

func (r *Request) inParts(ctx context.Context, p *Plan) error {
	spill, err := local.NewSpill(r.Parts.Scratch)
	if err != nil {
		return err
	}
	w := &partPlanner{Request: r, p: p, spill: spill}
	p.file, p.drop = func() (blob, error) { return stillOpen{spill}, nil }, spill.Close
	if err := w.plan(ctx); err != nil {
		spill.Close()
		return err
	}
	return nil
}

func (w *partPlanner) plan(ctx context.Context) (err error) {
	if w.out, err = newBlockWriter(w.spill, maxBlock); err != nil {
		return err
	}
	defer w.out.close()
	rest, err := w.stream(ctx)
	if rest != nil {
		return w.whole(rest)
	}
	if err != nil {
		return err
	}
	if err := w.settle(ctx); err != nil {
		return err
	}
	if err := w.pack(); err != nil {
		return err
	}
	if err := w.p.seal(); err != nil || w.p.InParts() {
		return err
	}
	// A list that was not long after all.
	l, err := w.p.readBlock(w.spill, 0)
	if err != nil {
		return err
	}
	w.p.Table, w.p.Spans = l.Table, l.Spans
	return nil
}

// stillOpen is a file that somebody else closes.
type stillOpen struct{ io.ReaderAt }

func (stillOpen) Close() error { return nil }

// stream takes all parts through the survey into the spill file. It returns the rest of
// the inputs if they can not be taken in parts.
func (w *partPlanner) stream(ctx context.Context) (rest *shardify.Table, err error) {
	queue := make(chan *partWritten)
	g, each := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(queue)
		for t := w.Args.Table; t != nil; {
			x, err := w.look(each, t)
			if err != nil {
				return err
			}
			select {
			case queue <- x:
			case <-each.Done():
				return context.Cause(each)
			}
			t, err = w.Parts.Next(each)
			if errors.Is(err, shardify.ErrApart) {
				rest, err = t, nil
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		for x := range queue {
			if err := w.write(x); err != nil {
				return err
			}
		}
		return nil
	})
	return rest, why(ctx, g.Wait())
}

// look surveys a part.
func (w *partPlanner) look(ctx context.Context, t *shardify.Table) (*partWritten, error) {
	src, layout, err := w.Parts.Survey.Add(ctx, t)
	if err != nil {
		return nil, err
	}
	x := &partWritten{table: t, layout: layout, part: Block{files: int64(t.Len())}}
	if src == nil {
		w.left = append(w.left, nil)
		return x, nil
	}
	defer src.Close()
	w.left = append(w.left, leftovers(src))
	if err := w.keys(src, len(w.left)-1); err != nil {
		return nil, err
	}
	x.spans, err = w.measure(ctx, src, &x.part)
	return x, err
}

func leftovers(src any) []shardify.Leftover {
	if l, ok := src.(shardify.Reporter); ok {
		return l.Leftovers()
	}
	return nil
}

// keys checks the names of a part's samples.
func (w *partPlanner) keys(src shardify.Source, part int) error {
	k, ok := src.(shardify.Keyer)
	if !ok || !k.Keyed() || w.Output.KeyRule == nil {
		return nil
	}
	longest, check := w.Output.KeyRule(src.Schema(), w.Options)
	if check == nil {
		return nil
	}
	return w.faults.set(part, k.CheckKeys(longest, check))
}

// measure encodes the spans of a part.
func (w *partPlanner) measure(ctx context.Context, src shardify.Source, x *Block) ([]byte, error) {
	q := Plan{}
	x.samples, x.bytes, x.largest = 0, 0, 0
	for s, err := range src.Spans(ctx, SpanBytes) {
		if err != nil {
			return nil, err
		}
		if err := sampleFits(w.MaxSample, s, s.Bytes, nil); err != nil {
			return nil, err
		}
		if s.Hi > s.Lo {
			q.Spans = append(q.Spans, s)
			x.samples, x.bytes, x.largest = x.samples+s.Samples(), x.bytes+s.Bytes, max(x.largest, s.Bytes)
		}
	}
	return appendSpans(nil, q.Spans), nil
}

// write puts the blocks of a part into the spill file.
func (w *partPlanner) write(x *partWritten) error {
	w.list.add(x.table)
	err := w.out.names(x.table, &x.part)
	w.Parts.Reuse(x.table)
	if err != nil {
		return err
	}
	if x.spans != nil {
		if err := w.out.spans(x.spans, &x.part); err != nil {
			return err
		}
	}
	w.p.blocks, w.layouts = append(w.p.blocks, x.part), append(w.layouts, x.layout)
	return nil
}

// whole is the error that has all inputs in one table.
func (w *partPlanner) whole(rest *shardify.Table) error {
	all := &shardify.Table{Roots: rest.Roots, FS: rest.FS}
	for i := range w.p.blocks {
		b, err := w.p.blocks[i].names.read(w.spill)
		if err != nil {
			return err
		}
		if err := parseNamesBlock(all, b, &w.p.blocks[i]); err != nil {
			return err
		}
	}
	all.AppendTable(rest)
	return &Apart{all}
}

// settle gives all parts what the survey knows in the end. Parts that were measured as
// if it were otherwise are measured again.
func (w *partPlanner) settle(ctx context.Context) error {
	p := w.p
	state, layout, err := w.Parts.Survey.Finish()
	if err != nil {
		return err
	}
	p.State = state
	p.Table = &shardify.Table{Roots: w.Args.Table.Roots, FS: w.Args.Table.FS}
	for i := range p.blocks {
		if w.layouts[i] != layout || i == 0 {
			if err := w.again(ctx, i); err != nil {
				return err
			}
		}
	}
	if err := w.faults.err(); err != nil {
		return err
	}
	if err := w.checkOutput(p); err != nil {
		return err
	}
	if err := shardify.ValidateSchema(p.Schema); err != nil {
		return err
	}
	p.LeftOut = addLeftovers(nil, leftovers(w.Parts.Survey))
	for _, l := range w.left {
		p.LeftOut = addLeftovers(p.LeftOut, l)
	}
	in := w.list.inputs(p.Input)
	p.Listed = &in
	first, err := p.readNames(w.spill, &p.blocks[0])
	if err != nil {
		return err
	}
	p.FirstInput = first.Name(0)
	for i := range p.blocks {
		p.Samples += p.blocks[i].samples
		p.DecodedBytes += p.blocks[i].bytes
	}
	return nil
}

// again opens a part as tasks will.
func (w *partPlanner) again(ctx context.Context, i int) error {
	p, x := w.p, &w.p.blocks[i]
	t, err := p.readNames(w.spill, x)
	if err != nil {
		return err
	}
	a := w.Args
	a.Table, a.State, a.First = t, p.State, 0
	src, err := w.Parts.Open(ctx, a)
	if err != nil {
		return w.faults.set(i, err)
	}
	defer src.Close()
	p.Schema = src.Schema()
	w.left[i] = leftovers(src)
	if err := w.keys(src, i); err != nil {
		return err
	}
	b, err := w.measure(ctx, src, x)
	if err != nil {
		return err
	}
	if x.spans.digest == index.DigestOf(b) {
		return nil
	}
	return w.out.spans(b, x)
}

func addLeftovers(list, more []shardify.Leftover) []shardify.Leftover {
	for _, l := range more {
		k := slices.IndexFunc(list, func(x shardify.Leftover) bool { return x.Name == l.Name && x.Reason == l.Reason })
		if k < 0 {
			list = append(list, l)
		} else {
			list[k].Count += l.Count
		}
	}
	return list
}

// pack cuts each part into shards by itself.
func (w *partPlanner) pack() error {
	p := w.p
	k := packer{factor: 1}
	if w.Output.SampleBytes != nil {
		k.fixed, k.factor = w.Output.SampleBytes(p.Schema, p.Keyed)
	}
	p.OutputBytes = k.bytes(shardify.Span{Hi: p.Samples, Bytes: p.DecodedBytes})
	k.target = w.ShardSize
	if k.target <= 0 {
		k.target = DefaultShardSize(p.OutputBytes)
	}
	k.target = max(k.target, 1)
	for i := range p.blocks {
		x := &p.blocks[i]
		spans, err := readSpans(w.spill, x)
		if err != nil {
			return err
		}
		q := &Plan{Spans: spans}
		k.p = q
		for lo := 0; lo < len(spans); {
			lo = k.unit(lo)
		}
		x.shards, x.units = len(q.Shards), len(q.Units)
		for _, u := range q.Units {
			p.Units = append(p.Units, Unit{u.Lo + len(p.Shards), u.Hi + len(p.Shards)})
		}
		for _, s := range q.Shards {
			var n int64
			for _, x := range spans[s.Lo:s.Hi] {
				n += x.Bytes
			}
			p.shardBytes = append(p.shardBytes, n)
		}
		p.Shards = append(p.Shards, q.Shards...)
	}
	return nil
}
