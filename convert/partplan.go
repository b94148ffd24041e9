package convert

import (
	"context"
	"errors"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

// Parts is a list of inputs too long for one table. The first of its parts is
// Request.Args.Table.
type Parts struct {
	Survey format.PartSurvey
	// Next gives the following part, nil after the last. With ErrNotInParts it gives the
	// rest of the inputs, of which no further parts can be made.
	Next func(ctx context.Context) (*format.Table, error)
	// Reuse takes back a table that is no longer needed.
	Reuse func(*format.Table)
	// Open opens one part with the state of all.
	Open func(ctx context.Context, a format.OpenArgs) (shardify.Source, error)
	// Scratch is where the parts are kept until the plan is published; nil is the
	// system's temporary folder.
	Scratch storage.Store
}

// NotInParts is the error of MakePlan for inputs whose order does not allow parts: they are
// all in one table now, to be planned in that.
type NotInParts struct{ Table *format.Table }

func (*NotInParts) Error() string { return format.ErrNotInParts.Error() }

// Unwrap is ErrNotInParts.
func (*NotInParts) Unwrap() error { return format.ErrNotInParts }

// partPlanner makes a plan in parts. While one part is listed, the one before is looked
// at, and that before it written.
type partPlanner struct {
	*Request
	p       *plan.Plan
	to      *plan.Builder
	layouts []string
	left    [][]format.Leftover
	faults  faults
}

// partWritten is a part on its way to the spill file.
type partWritten struct {
	table  *format.Table
	spans  *plan.Measured // nil if they are not known yet
	layout string
}

func (r *Request) inParts(ctx context.Context, p *plan.Plan) error {
	p.In.Table = &format.Table{Roots: r.Args.Table.Roots, FS: r.Args.Table.FS}
	to, err := plan.NewBuilder(p, r.Parts.Scratch)
	if err != nil {
		return err
	}
	w := &partPlanner{Request: r, p: p, to: to}
	if err := w.plan(ctx); err != nil {
		to.Drop()
		return err
	}
	return nil
}

func (w *partPlanner) plan(ctx context.Context) error {
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
	return w.to.Finish(w.cutting())
}

// stream takes all parts through the survey into the spill file. It returns the rest of
// the inputs if they can not be taken in parts.
func (w *partPlanner) stream(ctx context.Context) (rest *format.Table, err error) {
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
			if errors.Is(err, format.ErrNotInParts) {
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
func (w *partPlanner) look(ctx context.Context, t *format.Table) (*partWritten, error) {
	src, layout, err := w.Parts.Survey.Add(ctx, t)
	if err != nil {
		return nil, err
	}
	x := &partWritten{table: t, layout: layout}
	if w.left = append(w.left, nil); src == nil {
		return x, nil
	}
	defer src.Close()
	if err := w.report(src, len(w.left)-1); err != nil {
		return nil, err
	}
	x.spans, err = w.measure(ctx, src)
	return x, err
}

func leftovers(src any) []format.Leftover {
	if l, ok := src.(format.Reporter); ok {
		return l.Leftovers()
	}
	return nil
}

// report is what a part leaves out and has to say; it checks the names of its samples.
func (w *partPlanner) report(src shardify.Source, part int) error {
	w.left[part] = leftovers(src)
	w.Parts.Survey.Note(part, src)
	k, ok := src.(format.Keyer)
	if !ok || !k.Keyed() || w.Output.KeyRule == nil {
		return nil
	}
	longest, check := w.Output.KeyRule(src.Schema(), w.Options)
	if check == nil {
		return nil
	}
	return w.faults.set(part, k.CheckKeys(longest, check))
}

// measure is the spans of a part.
func (w *partPlanner) measure(ctx context.Context, src shardify.Source) (*plan.Measured, error) {
	m := &plan.Measured{}
	for s, err := range src.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return nil, err
		}
		if err := sampleFits(w.MaxSample, s, s.Bytes, nil); err != nil {
			return nil, err
		}
		m.Add(s)
		if err := w.planFits(m.Len()); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// write puts a part into the plan.
func (w *partPlanner) write(x *partWritten) error {
	err := w.to.Add(x.table, x.spans)
	w.Parts.Reuse(x.table)
	w.layouts = append(w.layouts, x.layout)
	return err
}

// whole is the error that has all inputs in one table.
func (w *partPlanner) whole(rest *format.Table) error {
	all, err := w.to.All()
	if err != nil {
		return err
	}
	all.AppendTable(rest)
	return &NotInParts{all}
}

// settle gives all parts what the survey knows in the end. Parts that were measured as
// if it were otherwise are measured again.
func (w *partPlanner) settle(ctx context.Context) error {
	p := w.p
	state, layout, err := w.Parts.Survey.Finish()
	if err != nil {
		return err
	}
	p.In.State = state
	for i := range w.to.Len() {
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
	if err := shardify.ValidateSchema(p.Sample.Schema); err != nil {
		return err
	}
	p.In.LeftOut = addLeftovers(nil, leftovers(w.Parts.Survey))
	for _, l := range w.left {
		p.In.LeftOut = addLeftovers(p.In.LeftOut, l)
	}
	return nil
}

// again opens a part as tasks will.
func (w *partPlanner) again(ctx context.Context, i int) error {
	p := w.p
	t, err := w.to.Names(i)
	if err != nil {
		return err
	}
	a := w.Args
	a.Table, a.State, a.First = t, p.In.State, 0
	src, err := w.Parts.Open(ctx, a)
	if err != nil {
		return w.faults.set(i, err)
	}
	defer src.Close()
	p.Sample.Schema = src.Schema()
	if err := w.report(src, i); err != nil {
		return err
	}
	m, err := w.measure(ctx, src)
	if err != nil {
		return err
	}
	return w.to.Measure(i, m)
}

func addLeftovers(list, more []format.Leftover) []format.Leftover {
	for _, l := range more {
		k := slices.IndexFunc(list, func(x format.Leftover) bool { return x.Name == l.Name && x.Reason == l.Reason })
		if k < 0 {
			list = append(list, l)
		} else {
			list[k].Count += l.Count
		}
	}
	return list
}
