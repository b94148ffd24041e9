// Package group answers which rows are one sample: those with equal keys, or those that a table of samples lists.
package group

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/questions/group/rows"
	"github.com/shardify/shardify/questions/internal/table"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
)

// Question is that of rows that are one sample.
var Question = ask.Question{Name: "group", Keys: []string{"group-rows", "group-rows-per-file", "group-order", "samples-from", "group-index", "null-keys", "unused-rows", "once"},
	New: func() ask.Asked { return &grouped{} }, Again: again}

// grouped is the question of one conversion.
type grouped struct {
	ask.Nothing
	table string // path of the table whose rows are the samples; "" without
}

// Check implements ask.Asked.
func (q *grouped) Check(c *ask.Conversion) (err error) {
	c.Draft.Asked.Grouping, err = q.parse(c)
	c.Once = c.Once || c.Draft.Asked.Grouping != nil
	return err
}

// Prepare implements ask.Asked.
func (q *grouped) Prepare(_ context.Context, c *ask.Conversion) ([]string, error) {
	if c.Draft.Asked.Grouping == nil {
		return nil, nil
	}
	return c.Draft.Asked.Grouping.Keys, nil
}

// Open implements ask.Asked. It makes samples of the rows.
func (q *grouped) Open(ctx context.Context, c *ask.Conversion) (err error) {
	g := c.Draft.Asked.Grouping
	if g == nil {
		return nil
	}
	env := rows.Env{Pool: c.Pool(), Jobs: c.Jobs}
	if f := g.From; f != nil {
		if env.Listing, err = readListing(ctx, table.File{Path: q.table, Memory: c.Memory, Jobs: c.Jobs, Scratch: c.Scratch}, g, f); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				env.Listing.Close()
			}
		}()
		if q.table, err = storage.Abs(q.table); err != nil {
			return err
		}
	}
	o := c.Opened
	if _, ok := o.Source.(format.Ranger); ok && len(g.Keys) > 0 {
		if env.Keys, err = c.Reopen(ctx, func(a *format.OpenArgs) { a.Columns = g.Keys }); err != nil {
			return err
		}
		defer env.Keys.Close()
	}
	x, err := rows.New(ctx, o.Source, o.Args.Table, *g, format.FillsItems(o.Args.Options), nil, env)
	if err == nil {
		o.Source = x
	}
	return err
}

// Planned implements ask.Asked.
func (q *grouped) Planned(_ context.Context, _ *ask.Conversion, p *plan.Plan, _ *format.Output) error {
	if q.table != "" {
		p.Local.Tables = append(p.Local.Tables, q.table)
	}
	return nil
}

// again makes samples of rows as the plan says.
func again(a *ask.Again) {
	open := a.Open
	a.Open = func(ctx context.Context, of *plan.Plan) (x shardify.Source, err error) {
		if of.Asked.Grouping == nil {
			return open(ctx, of)
		}
		inner := *of
		if inner.In.State, err = rows.Inner(of.In.State); err != nil {
			return nil, err
		}
		var env rows.Env
		defer func() {
			if err != nil {
				env.Listing.Close()
			}
		}()
		if of.Asked.Grouping.From != nil {
			if len(of.Local.Tables) == 0 {
				return nil, shardify.Corrupt(-1, "the plan does not say where %s is", of.Asked.Grouping.From.Table)
			}
			f := *of.Asked.Grouping.From
			if env.Listing, err = readListing(ctx, table.File{Path: of.Local.Tables[len(of.Local.Tables)-1], Memory: a.Memory, Jobs: a.Jobs, Scratch: of.Local.Scratch}, of.Asked.Grouping, &f); err != nil {
				return nil, err
			}
		}
		in, err := open(ctx, &inner)
		if err != nil {
			return nil, err
		}
		s, err := rows.New(ctx, in, a.Table, *of.Asked.Grouping, format.FillsItems(of.In.Options), of.In.State, env)
		if err != nil {
			in.Close()
			return nil, err
		}
		return s, nil
	}
}

// parse parses how rows are grouped into samples; nil without grouping.
func (q *grouped) parse(c *ask.Conversion) (*plan.Grouping, error) {
	s := c.Settings
	switch {
	case s.GroupRows == "" && s.GroupIndex == "":
		return nil, nil
	case c.Draft.Splits.Rule != nil && c.Draft.Splits.Rule.Objects:
		return nil, shardify.Usage("--group-rows and --split-from objects exclude each other")
	}
	name, fields, named := strings.Cut(cmp.Or(s.GroupRows, s.GroupIndex), "=")
	if !named || strings.Contains(name, ",") {
		name, fields = "rows", cmp.Or(s.GroupRows, s.GroupIndex)
	}
	list := value.Trimmed(strings.Split(fields, ","))
	g := &plan.Grouping{Name: strings.TrimSpace(name), Once: value.Trimmed(s.Once), PerFile: s.GroupRowsPerFile, Order: cmp.Or(s.GroupOrder, plan.OrderAuto), DropNulls: s.NullKeys == "drop"}
	if s.SamplesFrom != "" {
		g.From = &plan.From{DropUnused: s.UnusedRows == "drop"}
		if err := q.parseSamples(s.SamplesFrom, g.From); err != nil {
			return nil, err
		}
	}
	switch {
	case len(list) == 0 || shardify.ValidName(g.Name) != nil:
		return nil, shardify.Usage("--group-rows %q: want fields whose values identify the samples, as in --group-rows event_id", fields)
	case s.GroupRows != "":
		if g.Keys = list; g.From != nil && g.From.Columns == nil {
			g.From.Columns = list
		}
		if g.From != nil && len(g.From.Columns) != len(list) {
			return nil, shardify.Usage("--samples-from %s: on= wants as many columns as --group-rows", s.SamplesFrom)
		}
		return g, nil
	case len(list) > 2 || g.From.Columns != nil:
		return nil, shardify.Usage("--group-index %s: want a column of first rows and one of last rows, as in --group-index first,last; first,end=END; first,count=COUNT; or first rows alone", s.GroupIndex)
	}
	if g.From.Columns = list; len(list) == 2 {
		g.From.Ends = plan.EndsLast
		if kind, column, ok := strings.Cut(list[1], "="); ok && (kind == plan.EndsEnd || kind == plan.EndsCount || kind == plan.EndsLast) {
			g.From.Ends, list[1] = kind, column
		}
	}
	return g, nil
}

// parseSamples parses TABLE[ on=COLUMN,...][ take=COLUMN,...]. Other words KEY=VALUE are options of
// the table, and stay with its name.
func (q *grouped) parseSamples(text string, f *plan.From) error {
	words, own := strings.Fields(text), []string(nil)
	for len(words) > 1 {
		last := words[len(words)-1]
		kind, list, ok := strings.Cut(last, "=")
		if !ok {
			break
		}
		switch kind {
		case "on":
			f.Columns = value.Trimmed(strings.Split(list, ","))
		case "take":
			f.Take = value.Trimmed(strings.Split(list, ","))
		default:
			own = append([]string{last}, own...)
		}
		words = words[:len(words)-1]
	}
	q.table = strings.Join(append(words, own...), " ")
	if q.table == "" {
		return shardify.Usage("--samples-from %q: want TABLE[ on=COLUMN,...][ take=COLUMN,...]", text)
	}
	f.Table = path.Base(strings.TrimRight(q.table, "/"))
	return nil
}

// readListing reads the table whose rows are the samples: into memory, or into scratch files if
// it is too large.
func readListing(ctx context.Context, t table.File, g *plan.Grouping, f *plan.From) (*rows.Listing, error) {
	t.Op = "samples-from"
	o, in, err := t.Open(ctx, f.Columns, f.Take)
	if err != nil {
		return nil, err
	}
	defer o.Source.Close()
	if f.Take == nil {
		f.Take = table.Others(o, f.Columns)
	}
	l, digest, err := whole(ctx, &t, o, in, f.Columns, len(g.Keys) > 0)
	if err != nil {
		return nil, shardify.Annotate(o.Args.Table.Locate(err), t.Op, t.Path, "")
	}
	if f.Digest != "" && f.Digest != digest {
		l.Close()
		return nil, fmt.Errorf("--samples-from %s: the table is not what it was when the plan was made: %w", t.Path, shardify.ErrChanged)
	}
	f.Digest = digest
	return l, nil
}

// whole reads a table of samples: their keys, or the ranges of their rows.
func whole(ctx context.Context, t *table.File, o *readers.Opened, in format.Input, names []string, keyed bool) (*rows.Listing, string, error) {
	size, err := table.Decoded(ctx, o.Source)
	if err != nil {
		return nil, "", err
	}
	if size > t.Most() {
		return large(ctx, t, o, in, names, keyed)
	}
	cols, n, err := t.Whole(ctx, o.Source)
	if err != nil {
		return nil, "", err
	}
	l := &rows.Listing{Keys: table.Cut(&cols, names), Cols: cols, Rows: n}
	return l, key.TableDigest(slices.Concat(l.Keys, l.Cols), n), nil
}

// rowField is the number of a row, which no table names so.
const rowField = "#row"

// large brings a table of samples into scratch files, one of rows by number and one of numbers by
// key. Ranges of rows stay in memory.
func large(ctx context.Context, t *table.File, o *readers.Opened, in format.Input, names []string, keyed bool) (*rows.Listing, string, error) {
	l := &rows.Listing{}
	for _, f := range o.Source.Schema() {
		l.Cols = append(l.Cols, f.Empty())
	}
	l.Keys = table.Cut(&l.Cols, names)
	var sum key.TableSum
	var err error
	if l.ByRow, err = t.Spill([]string{rowField}, func(w *key.Writer, _ storage.Store) error {
		return key.ReadEach(ctx, o.Source, plan.SpanBytes, shardify.NewPool(ask.PoolLimit(t.Memory)/2), func(b *shardify.Batch) error {
			numbers := make([]int64, b.Samples)
			rest := slices.Clone(b.Columns)
			keys := table.Cut(&rest, names)
			all := slices.Concat(keys, rest)
			for i := range numbers {
				numbers[i] = int64(l.Rows + i)
				sum.Row(all, i, numbers[i])
			}
			if keyed {
				rest = all
			}
			l.Rows += b.Samples
			rest = append(rest, shardify.Column{Field: shardify.Field{Name: rowField, DType: shardify.I64}, Data: shardify.Bytes(numbers)})
			return w.Add(&shardify.Batch{Samples: b.Samples, Columns: rest}, func(i int) int64 { return numbers[i] })
		})
	}); err != nil {
		return nil, "", err
	}
	own, _, err := t.Open(ctx, names, []string{})
	if err == nil {
		if keyed {
			l.ByKey, err = t.Sorted(ctx, own, in, names)
		} else if l.Keys, _, err = t.Whole(ctx, own.Source); err == nil {
			l.Keys = table.Cut(&l.Keys, names)
		}
		own.Source.Close()
	}
	if err != nil {
		l.Close()
		return nil, "", err
	}
	return l, sum.Text(slices.Concat(l.Keys, l.Cols)), nil
}
