package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/group"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
)

// parseGrouping parses how rows are grouped into samples; nil without grouping.
func (s *Settings) parseGrouping() (*plan.Grouping, error) {
	switch {
	case s.GroupRows == "" && s.GroupIndex == "":
		return nil, nil
	case s.split != nil && s.split.Objects:
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
		if err := s.parseSamples(g.From); err != nil {
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
func (s *Settings) parseSamples(f *plan.From) error {
	words, own := strings.Fields(s.SamplesFrom), []string(nil)
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
	s.samples = strings.Join(append(words, own...), " ")
	if s.samples == "" {
		return shardify.Usage("--samples-from %q: want TABLE[ on=COLUMN,...][ take=COLUMN,...]", s.SamplesFrom)
	}
	f.Table = path.Base(strings.TrimRight(s.samples, "/"))
	return nil
}

// readListing reads the table whose rows are the samples: into memory, or into scratch files if
// it is too large.
func readListing(ctx context.Context, t sideTable, g *plan.Grouping, f *plan.From) (*group.Listing, error) {
	t.op = "samples-from"
	o, in, err := t.open(ctx, f.Columns, f.Take)
	if err != nil {
		return nil, err
	}
	defer o.Source.Close()
	if f.Take == nil {
		f.Take = others(o, f.Columns)
	}
	l, digest, err := t.listing(ctx, o, in, f.Columns, len(g.Keys) > 0)
	if err != nil {
		return nil, shardify.Annotate(o.Args.Table.Locate(err), t.op, t.path, "")
	}
	if f.Digest != "" && f.Digest != digest {
		l.Close()
		return nil, fmt.Errorf("--samples-from %s: the table is not what it was when the plan was made: %w", t.path, shardify.ErrChanged)
	}
	f.Digest = digest
	return l, nil
}

// listing reads a table of samples: their keys, or the ranges of their rows.
func (t *sideTable) listing(ctx context.Context, o *readers.Opened, in format.Input, names []string, keyed bool) (*group.Listing, string, error) {
	size, err := decoded(ctx, o.Source)
	if err != nil {
		return nil, "", err
	}
	if size > t.most() {
		return t.large(ctx, o, in, names, keyed)
	}
	cols, rows, err := t.whole(ctx, o.Source)
	if err != nil {
		return nil, "", err
	}
	l := &group.Listing{Keys: cut(&cols, names), Cols: cols, Rows: rows}
	return l, key.TableDigest(slices.Concat(l.Keys, l.Cols), rows), nil
}

// rowField is the number of a row, which no table names so.
const rowField = "#row"

// large brings a table of samples into scratch files, one of rows by number and one of numbers by
// key. Ranges of rows stay in memory.
func (t *sideTable) large(ctx context.Context, o *readers.Opened, in format.Input, names []string, keyed bool) (*group.Listing, string, error) {
	l := &group.Listing{}
	for _, f := range o.Source.Schema() {
		l.Cols = append(l.Cols, f.Empty())
	}
	l.Keys = cut(&l.Cols, names)
	var sum key.TableSum
	var err error
	if l.ByRow, err = t.spill([]string{rowField}, func(w *key.Writer, _ storage.Store) error {
		return key.ReadEach(ctx, o.Source, plan.SpanBytes, shardify.NewPool(poolLimit(t.memory)/2), func(b *shardify.Batch) error {
			numbers := make([]int64, b.Samples)
			rest := slices.Clone(b.Columns)
			keys := cut(&rest, names)
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
	own, _, err := t.open(ctx, names, []string{})
	if err == nil {
		if keyed {
			l.ByKey, err = t.sorted(ctx, own, in, names)
		} else if l.Keys, _, err = t.whole(ctx, own.Source); err == nil {
			l.Keys = cut(&l.Keys, names)
		}
		own.Source.Close()
	}
	if err != nil {
		l.Close()
		return nil, "", err
	}
	return l, sum.Text(slices.Concat(l.Keys, l.Cols)), nil
}

// listing reads the table whose rows are the samples of a plan.
func listing(memory int64, jobs int, scratch string) func(context.Context, *plan.Plan) (*group.Listing, error) {
	return func(ctx context.Context, p *plan.Plan) (*group.Listing, error) {
		if len(p.Local.Tables) == 0 {
			return nil, shardify.Corrupt(-1, "the plan does not say where %s is", p.Asked.Grouping.From.Table)
		}
		f := *p.Asked.Grouping.From
		return readListing(ctx, sideTable{path: p.Local.Tables[len(p.Local.Tables)-1], memory: memory, jobs: jobs, scratch: scratch}, p.Asked.Grouping, &f)
	}
}

// keyFields are the fields that grouping looks at.
func (s *Settings) keyFields() []string {
	if s.grouping == nil {
		return nil
	}
	return s.grouping.Keys
}

// group makes samples of the rows that were opened.
func (s *Settings) group(ctx context.Context, p *Prepared, src format.Input, o *readers.Opened) (err error) {
	if s.grouping == nil {
		return nil
	}
	env := group.Env{Pool: shardify.NewPool(poolLimit(p.Memory)), Jobs: p.Jobs}
	if f := s.grouping.From; f != nil {
		if env.Listing, err = readListing(ctx, sideTable{path: s.samples, memory: p.Memory, jobs: p.Jobs, scratch: s.Scratch}, s.grouping, f); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				env.Listing.Close()
			}
		}()
		if s.samples, err = storage.Abs(s.samples); err != nil {
			return err
		}
	}
	if _, ok := o.Source.(format.Ranger); ok && len(s.grouping.Keys) > 0 {
		a := o.Args
		a.Columns = s.grouping.Keys
		keys, err := src.Open(ctx, a)
		if err != nil {
			return a.Table.Locate(err)
		}
		defer keys.Close()
		env.Keys = keys
	}
	x, err := group.New(ctx, o.Source, o.Args.Table, *s.grouping, format.FillsItems(o.Args.Options), nil, env)
	if err == nil {
		o.Source = x
	}
	return err
}
