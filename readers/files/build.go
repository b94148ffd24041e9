package files

import (
	"bytes"
	"context"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/pairs"
)

// builder makes a source from nothing but the table.
type builder struct {
	table      *format.Table
	options    format.Options
	used       *format.Used
	files      *names // of the inputs
	names      *names // by which they are samples
	pairs      []pairs.Pair
	g          *groups
	all        []member         // of all samples
	stray      []bool           // by g.kinds: these are no samples
	folders    bool             // the first folders are splits
	rows       *labels.RowFiles // which are the samples; nil without such a table
	of         []int            // columns of rows, by all
	known      *knowledge
	strays     []uint32 // files that are no samples
	leftStrays []format.Leftover
	notes      []string
	members    []member // wanted
	// labelled: the field cls is wanted if it can be had.
	labelled bool
	labels   []string // its classes; nil without it
	m        *matrix
	joined   *labels.Values // of --labels FILE, in the order of the samples
	unread   []string       // columns of theirs that are not wanted
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
		c, err = decodeState(ctx, &a)
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
	b := &builder{table: a.Table, options: options, used: a.Used, folders: labels.InFolders(&a)}
	tables, err := b.fields(ctx, a.Columns, a.Jobs)
	if err != nil {
		return nil, b.orRows(ctx, err)
	}
	if err := b.arrange(ctx); err != nil {
		return nil, err
	}
	if err := b.joinLabels(tables, a.Scratch); err != nil {
		return nil, err
	}
	c := &content{
		files: b.files, names: b.names, m: b.m, joined: b.joined,
		survey: survey{Members: b.members, Assume: options.Size(optAssume), By: b.names.By, Ordinal: options[optKeys] == "ordinal", Bytes: options[optText] == "bytes", Pair: options[optPair], Unread: b.unread},
	}
	checked := make(chan error, 1)
	go func() { checked <- c.checkSizes() }()
	err = b.findLabels() // of the samples that are left
	if e := <-checked; err == nil {
		err = e
	}
	if err == nil {
		err = b.ends()
	}
	if err != nil {
		return nil, b.orRows(ctx, err)
	}
	c.left, c.Labels, c.Second, c.Notes = b.left, b.labels, b.names.Second, b.notes
	c.strays, c.leftStrays = b.strays, b.leftStrays
	return c, nil
}

// fields finds the samples and their fields, and narrows these to the wanted ones.
func (b *builder) fields(ctx context.Context, columns []string, jobs int) (tables []*labels.Table, err error) {
	if labels.NamesFiles(b.options[optLabels]) {
		if tables, err = b.readLabels(ctx, columns, jobs); err == nil {
			err = b.lookRows(ctx, tables)
		}
	} else if err = b.look(ctx); err == nil {
		tables, err = b.readLabels(ctx, columns, jobs)
	}
	if err == nil {
		err = b.distinct(tables)
	}
	if err == nil {
		err = b.choose(columns, tables)
	}
	return tables, err
}

// verdict is what the samples of a set are.
type verdict struct {
	by     labels.Stem
	known  *knowledge
	strays map[*kind]bool // no samples
	note   string
}

func (v *verdict) sample(k *kind) bool { return !v.strays[k] }

// decide chooses between names that end at the first dot and those that go on behind
// digits; auto says that there is a choice.
func decide(auto bool, missing string, first, number *knowledge) *verdict {
	v := &verdict{by: labels.First, known: first, strays: first.strays(missing)}
	switch {
	case !auto || first.numbered == "":
	case first.equal(v.strays):
		v.note = "a sample's name ends at the first dot, also before a digit, since all samples have the same extensions; --stem number, or last, ends names behind the digits, as in " + first.numbered
	default:
		v = &verdict{by: labels.Number, known: number, strays: number.strays(missing)}
		v.note = "a dot and a digit are part of a sample's name, as in " + first.numbered + "; --stem first ends names at the first dot"
	}
	return v
}

// look groups the files and finds out what the samples are, and their fields.
func (b *builder) look(ctx context.Context) (err error) {
	if b.pairs, err = pairs.Parse(b.options[optPair]); err != nil {
		return err
	}
	if b.pairs != nil {
		b.files = labels.NewPaths(b.table, labels.Last)
		return b.lookPairs(ctx)
	}
	v, err := b.byStems(ctx)
	if err != nil {
		return err
	}
	b.files, b.all = b.names, v.known.members(v.sample)
	return b.paired(noClasses)
}

// byStems groups the files of each folder.
func (b *builder) byStems(ctx context.Context) (*verdict, error) {
	auto, missing := b.options[optStem] == stemAuto, b.strange()
	known, err := b.group(ctx, stemOf(b.options))
	if err != nil {
		return nil, err
	}
	v := &verdict{by: b.names.By, known: known, strays: known.strays(missing)}
	if auto && known.numbered != "" {
		names, g := b.names, b.g
		number, err := b.group(ctx, labels.Number)
		if err != nil {
			return nil, err
		}
		if v = decide(auto, missing, known, number); v.by == labels.First {
			b.names, b.g = names, g
		}
	}
	if v.note != "" {
		b.notes = append(b.notes, v.note)
	}
	b.leftStrays = v.known.leftStrays(v.strays)
	for _, k := range v.known.kinds {
		b.stray = append(b.stray, v.strays[k])
	}
	b.known = v.known
	return v, nil
}

// strange is what --missing says of files that are like no sample: nothing beside a table, where it is about rows.
func (b *builder) strange() string {
	if labels.Tables(b.options[optLabels]) {
		return "fail"
	}
	return b.options[optMissing]
}

// group groups the files by a rule for stems.
func (b *builder) group(ctx context.Context, by labels.Stem) (f *knowledge, err error) {
	b.names = labels.NewPaths(b.table, by)
	if b.g, err = groupAuto(ctx, b.names, b.options[optStem] == stemAuto && by == labels.First); err != nil {
		return nil, err
	}
	f = newFacts(b.folders)
	return f, f.learn(b.names, b.g)
}

func (b *builder) path(i int) string { return quote([]byte(b.table.Path(i))) }

// choose narrows the members to the wanted columns.
func (b *builder) choose(columns []string, tables []*labels.Table) error {
	available := []string{labelField} // for all that is known yet
	for i := range b.all {
		available = append(available, b.all[i].Field)
	}
	for _, t := range tables {
		available = append(available, columnsOf(t)...)
	}
	want, err := wanted(columns, available)
	if err != nil {
		return err
	}
	b.narrow(want)
	for _, m := range b.members {
		if !m.varies() && format.IsText(media(m.Exts[0])) {
			b.used.Mark(optText)
		}
	}
	return nil
}

func (b *builder) narrow(want func(string) bool) {
	b.labelled = want(labelField) && b.rows == nil // as imagefolder: a table says all
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

// checkSizes refuses samples that memory could not hold.
func (c *content) checkSizes() error {
	for s := c.m.base; s < c.m.end(); s++ {
		var n int64
		for j := range c.m.members {
			if f := c.m.file(s, j); f != none {
				n += max(0, c.files.Table.Size(int(f)))
			}
			if n > maxFile {
				return fileError("open", c.files.Table, int(c.m.file(s, j)), tooLarge(n))
			}
		}
	}
	return nil
}

func tooLarge(n int64) error {
	return shardify.Unsupported("a sample of %s: it is held in memory, at most %s", shardify.FormatSize(n), shardify.FormatSize(maxFile))
}
