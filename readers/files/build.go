package files

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/internal/labels"
)

// builder makes a source from nothing but the table.
type builder struct {
	table   *format.Table
	options format.Options
	names   *names
	g       *groups
	all     []member // of all files
	members []member // wanted
	// labelled: the field cls is wanted if it can be had.
	labelled bool
	labels   []string // its classes; nil without it
	m        *matrix
	joined   []shardify.Column // of --labels FILE, in the order of the samples
	left     []format.Leftover
	part     bool  // of the inputs: it may be that no sample is left of it
	total    int64 // then the samples of all parts
}

func open(ctx context.Context, a format.OpenArgs) (*source, error) {
	set, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	if a.Table == nil || a.Table.Len() == 0 {
		return nil, shardify.Unsupported("no input files")
	}
	if err := plainNames(a.Table); err != nil {
		return nil, err
	}
	var c *content
	if a.State != nil {
		c, err = decodeState(ctx, a.State, a.Table, a.First)
	} else {
		c, err = build(ctx, a, set)
	}
	if err != nil {
		return nil, err
	}
	return newSource(c, a.Columns)
}

// plainNames refuses names that the kernel would read otherwise.
func plainNames(t *format.Table) error {
	for i := range t.Len() {
		if bytes.IndexByte(t.NameBytes(i), 0) >= 0 {
			return shardify.Corrupt(-1, "input table: name %q has a zero byte", t.NameBytes(i))
		}
	}
	return nil
}

func build(ctx context.Context, a format.OpenArgs, options format.Options) (*content, error) {
	b := &builder{table: a.Table, options: options}
	b.names = labels.NewPaths(a.Table, options[optStem] == "last")
	var err error
	if b.g, err = group(ctx, b.names); err != nil {
		return nil, err
	}
	b.all = b.g.members()
	table, err := b.readLabels(ctx, a.Jobs)
	if err != nil {
		return nil, err
	}
	if err := b.choose(a.Columns, table); err != nil {
		return nil, err
	}
	if err := b.arrange(ctx); err != nil {
		return nil, err
	}
	if err := b.joinLabels(table); err != nil {
		return nil, err
	}
	c := &content{
		names: b.names, m: b.m, joined: b.joined,
		survey: survey{Members: b.members, Assume: options.Size(optAssume), Last: b.names.Last, Ordinal: options[optKeys] == "ordinal", Bytes: options[optText] == "bytes"},
	}
	checked := make(chan error, 1)
	go func() { checked <- c.check() }()
	err = b.findLabels() // of the samples that are left
	if e := <-checked; err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	c.left, c.Labels = b.left, b.labels
	return c, nil
}

func (b *builder) path(i int) string { return quote([]byte(b.table.Path(i))) }

// choose narrows the members to the wanted columns.
func (b *builder) choose(columns []string, table *labels.Table) error {
	available := []string{labelField} // for all that is known yet
	for i := range b.all {
		available = append(available, b.all[i].Field)
	}
	if table != nil {
		for _, f := range table.Fields() {
			available = append(available, f.Name)
		}
	}
	want, err := wanted(columns, available)
	if err != nil {
		return err
	}
	b.narrow(want)
	return nil
}

func (b *builder) narrow(want func(string) bool) {
	b.labelled = want(labelField)
	for i := range b.all {
		if want(b.all[i].Field) {
			b.members = append(b.members, b.all[i])
		}
	}
}

// wanted makes a test of the column patterns; each must match something. A
// companion may be named, but comes with its field anyway.
func wanted(patterns, available []string) (func(string) bool, error) {
	w, err := columns.New(patterns)
	if err != nil {
		return nil, err
	}
	for _, f := range available {
		w.Match(f, f+shardify.ExtSuffix)
	}
	if left := w.Unmatched(); len(left) > 0 {
		return nil, shardify.Misuse("no field %q among %s", left[0], strings.Join(available[:min(len(available), 20)], ", "))
	}
	return matching(w), nil
}

// anyOf makes a test of patterns that were checked; none take all.
func anyOf(patterns []string) func(field string) bool {
	w, err := columns.New(patterns)
	if err != nil {
		return func(string) bool { return false }
	}
	return matching(w)
}

func matching(w *columns.Wanted) func(field string) bool {
	return func(field string) bool {
		hit, _ := w.Match(field, field+shardify.ExtSuffix)
		return hit
	}
}

// check refuses what no output can take.
func (c *content) check() error {
	if err := c.checkSizes(); err != nil {
		return err
	}
	return c.checkNames()
}

// checkSizes refuses samples that memory could not hold.
func (c *content) checkSizes() error {
	for s := c.m.base; s < c.m.end(); s++ {
		var n int64
		for j := range c.m.members {
			if f := c.m.file(s, j); f != none {
				n += max(0, c.names.Table.Size(int(f)))
			}
			if n > maxFile {
				return fileError("open", c.names.Table, int(c.m.file(s, j)), tooLarge(n))
			}
		}
	}
	return nil
}

func tooLarge(n int64) error {
	return shardify.Unsupported("a sample of %s: it is held in memory, at most %s", shardify.FormatSize(n), shardify.FormatSize(maxFile))
}

// checkNames refuses keys that are no UTF-8: no output can carry them.
func (c *content) checkNames() error {
	if c.Ordinal {
		return nil
	}
	var bad places
	var key []byte
	for s := c.m.base; s < c.m.end(); s++ {
		if key = c.names.AppendKey(key[:0], c.m.named(s)); !utf8.Valid(key) {
			bad.add(func() string { return quote(key) })
		}
	}
	if bad.count > 0 {
		return &problem{kind: "utf-8", found: []finding{{places: bad}}, text: func(p *problem) error {
			return shardify.Mismatch("names of %s are not UTF-8; --keys ordinal numbers them instead", p.found[0].list("sample", "samples"))
		}}
	}
	return nil
}
