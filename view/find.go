package view

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform/expr"
)

// Bounds of one step of a search, and of a sort.
const (
	searchTime = 500 * time.Millisecond
	sortTime   = 5 * time.Second
	mostSorted = 2 << 20
	blockMost  = 1 << 16 // samples between two looks at the clock
)

// found is a step of a search: the page asks for the next one from Searched on.
type found struct {
	Hits     []int64  `json:"hits"`
	Searched int64    `json:"searched"`
	Total    int64    `json:"total"`
	Lost     []string `json:"lost,omitempty"` // what could not be read
}

// find looks for samples that meet a condition and have a text, from a sample on, until it has as many as are
// wanted or has worked for long enough.
func (p *part) find(ctx context.Context, pool *shardify.Pool, where, text string, from int64, most int) (*found, error) {
	var fields []string
	var cond *expr.Expr
	var prog *expr.Program
	if where != "" {
		var err error
		if cond, err = expr.Parse(where); err != nil {
			return nil, shardify.Misused(err)
		}
		cond.Keyed = p.keyed()
		if prog, err = cond.Bind(p.opened.Source.Schema(), nil); err == nil {
			err = prog.Condition()
		}
		if err != nil {
			return nil, shardify.Misused(err)
		}
		fields = append(fields, cond.Names()...)
	}
	var texts []string
	if text != "" {
		for _, f := range p.opened.Source.Schema() {
			if f.Levels == 1 && format.IsText(f.Media) {
				texts = append(texts, f.Name)
			}
		}
		if texts == nil && !p.keyed() {
			return nil, shardify.Usage("neither names of samples nor texts to search; try a condition")
		}
		fields = append(fields, texts...)
	}
	l, err := p.lensOf(ctx, fields, cond)
	if err != nil {
		return nil, err
	}
	if prog != nil {
		if prog, err = cond.Bind(l.Source.Schema(), nil); err != nil {
			return nil, err
		}
	}
	out := &found{Hits: []int64{}, Searched: max(from, 0), Total: p.total}
	want := bytes.ToLower([]byte(text))
	end := time.Now().Add(searchTime)
	for out.Searched < p.total && len(out.Hits) < most && time.Now().Before(end) {
		lo := out.Searched
		hi := p.block(l, lo)
		err := p.read(ctx, pool, l, lo, hi, false, func(first int64, b *shardify.Batch) error {
			keep := slices.Repeat([]byte{1}, b.Samples)
			if prog != nil {
				if err := prog.Keep(b, keep); err != nil {
					return shardify.Misused(err)
				}
			}
			for i, yes := range keep {
				if yes == 1 && (text == "" || has(b, i, texts, want)) {
					out.Hits = append(out.Hits, first+int64(i))
				}
			}
			return nil
		}, func(_, _ int64, err error) { out.Lost = append(out.Lost, err.Error()) })
		if err != nil {
			return nil, err
		}
		out.Searched = hi
	}
	if len(out.Hits) > most { // the next step begins behind the last that is shown
		out.Hits = out.Hits[:most]
		out.Searched = out.Hits[most-1] + 1
	}
	return out, nil
}

// lensOf has the fields that a search needs; of none, the smallest one, beside which names are read.
func (p *part) lensOf(ctx context.Context, fields []string, cond *expr.Expr) (*lens, error) {
	if cond != nil && slices.ContainsFunc(cond.Names(), expr.IsGlob) {
		return p.whole(), nil
	}
	schema := p.opened.Source.Schema()
	fields = slices.DeleteFunc(fields, func(name string) bool { return shardify.FieldIndex(schema, name) < 0 })
	if len(fields) == 0 {
		for i := range schema {
			if schema[i].Levels == 0 && !shardify.Companion(schema, i) {
				fields = []string{schema[i].Name}
				break
			}
		}
	}
	slices.Sort(fields)
	return p.with(ctx, slices.Compact(fields))
}

// block is the end of what is read at once from a sample on.
func (p *part) block(l *lens, lo int64) int64 {
	each := l.each
	if each == 0 {
		each = p.each(lo)
	}
	return min(p.total, lo+min(max(spanBytes/each, 1), blockMost))
}

// has reports whether a text is in the name of a sample or in one of its texts, whatever its case.
func has(b *shardify.Batch, i int, texts []string, want []byte) bool {
	if bytes.Contains(bytes.ToLower(b.Key(i)), want) {
		return true
	}
	for _, name := range texts {
		if k := column(b, name); k >= 0 {
			c := &b.Columns[k]
			lo, hi := c.Range(i, i+1)
			if bytes.Contains(bytes.ToLower(c.Data[lo:hi]), want) {
				return true
			}
		}
	}
	return false
}

// ranking is the samples in the order of a field. Of many, the first ones are sorted.
type ranking struct {
	IDs    []int64  `json:"ids"`
	Sorted int64    `json:"sorted"`
	Total  int64    `json:"total"`
	Lost   []string `json:"lost,omitempty"`
}

// ranked is a sample with a number that has the order of its value.
type ranked struct {
	rank uint64
	n    int64
	has  bool // a value, which is a number
}

// sortable reports whether a field has one number a sample.
func sortable(f *shardify.Field) bool { return f.Levels == 0 && f.Elem() == 1 && f.Media == "" }

// rank sorts by a field; samples without a value come last.
func (p *part) rank(ctx context.Context, pool *shardify.Pool, by string, falling bool) (*ranking, error) {
	f := p.field(by)
	if f == nil || !sortable(f) {
		return nil, shardify.Usage("no field %q with one number for each sample", by)
	}
	key := by
	if falling {
		key = "-" + by
	}
	p.mu.Lock()
	known := p.sorted[key]
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	l, err := p.with(ctx, []string{by})
	if err != nil {
		return nil, err
	}
	out := &ranking{Total: p.total}
	var all []ranked
	end := time.Now().Add(sortTime)
	for out.Sorted < min(p.total, mostSorted) && time.Now().Before(end) {
		hi := min(p.block(l, out.Sorted), mostSorted)
		err := p.read(ctx, pool, l, out.Sorted, hi, false, func(first int64, b *shardify.Batch) error {
			c := &b.Columns[column(b, by)]
			v := values{t: c.DType, data: c.Data}
			for i := range b.Samples {
				x := ranked{n: first + int64(i)}
				if c.Valid == nil || c.Valid[i] == 1 {
					x.rank, x.has = v.rank(i)
				}
				all = append(all, x)
			}
			return nil
		}, func(_, _ int64, err error) { out.Lost = append(out.Lost, err.Error()) })
		if err != nil {
			return nil, err
		}
		out.Sorted = hi
	}
	slices.SortFunc(all, func(a, b ranked) int {
		switch {
		case a.has != b.has && a.has:
			return -1
		case a.has != b.has:
			return 1
		case falling:
			return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.n, b.n))
		}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.n, b.n))
	})
	for _, x := range all {
		out.IDs = append(out.IDs, x.n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sorted) >= mostRankings {
		clear(p.sorted)
	}
	p.sorted[key] = out
	return out, nil
}

// mostRankings is how many orders of a part are kept.
const mostRankings = 4

// fieldNames are the fields that people see.
func (p *part) fieldNames() (names []string) {
	schema := p.opened.Source.Schema()
	for i := range schema {
		if !shardify.Companion(schema, i) && !strings.HasPrefix(schema[i].Name, "__") {
			names = append(names, schema[i].Name)
		}
	}
	return names
}
