package tables

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/transform/cast"
	"github.com/shardify/shardify/transform/op"
)

// Join is columns of a table, by a key.
var Join = op.Kind{Name: "join", Value: "[NAME=]TABLE", Example: "truth=truth.parquet on=event_id", Help: "columns of a table, by a key", More: "take=COLUMN,... of them, missing=drop or missing=fill what has no row",
	New: op.Of(newJoin), Fields: op.FieldsOf(newJoin)}

// Table is a table that Join takes columns of.
type Table = key.Table

// Spec is a value of --join: columns of a table, by a key.
type Spec struct {
	Name    string   // the fields are NAME_COLUMN; "" takes the names of the columns
	Table   string   // a file, or what else has rows
	On      []string // fields of the samples
	Keys    []string // of the table
	Take    []string // columns; nil is all
	Missing string   // Fail, Drop, Fill
	UTC     bool     // times without a time zone are of UTC
}

// Choices of Spec.Missing: samples, or elements, whose key has no row.
const (
	Fail = "fail"
	Drop = "drop"
	Fill = "fill"
)

// Parse parses [NAME=]TABLE[ on=FIELD[=KEY],...][ take=COLUMN,...][ missing=fail|drop|fill][ tz=utc]. Other
// words KEY=VALUE are options of the table, and stay with its name.
func Parse(text string) (j Spec, err error) {
	bad := func() error {
		return op.FlagError("join", text, fmt.Errorf("want [NAME=]TABLE on=KEY,...[ take=COLUMN,...][ missing=fail|drop|fill][ tz=utc], as in --join 'truth=truth.parquet on=event_id'"))
	}
	words, on, own := strings.Fields(text), "", []string(nil)
	j.Missing = Fail
	for len(words) > 0 {
		key, value, ok := strings.Cut(words[len(words)-1], "=")
		if !ok || len(words) == 1 {
			break
		}
		switch key {
		case "on":
			on = value
		case "take":
			j.Take = strings.Split(value, ",")
		case "missing":
			j.Missing = value
		case "tz":
			if j.UTC = value == "utc"; !j.UTC {
				return j, bad()
			}
		default:
			own = append([]string{words[len(words)-1]}, own...)
		}
		words = words[:len(words)-1]
	}
	rest := strings.Join(append(words, own...), " ")
	j.Name, j.Table = cutName(rest)
	for _, pair := range strings.Split(on, ",") {
		field, key, _ := strings.Cut(pair, "=")
		j.On, j.Keys = append(j.On, field), append(j.Keys, cmp.Or(key, field))
	}
	if j.Table == "" || slices.Contains(j.On, "") || twice(j.On) || twice(j.Keys) || j.Missing != Fail && j.Missing != Drop && j.Missing != Fill || slices.Contains(j.Take, "") {
		return j, bad()
	}
	return j, nil
}

// twice reports whether a name occurs twice in a list.
func twice(names []string) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names)
}

// cutName separates NAME=TABLE. Paths may have a =, too.
func cutName(text string) (name, table string) {
	if name, table, ok := strings.Cut(text, "="); ok && !strings.ContainsAny(name, "/\\.:") {
		return name, table
	}
	return "", text
}

// Text is the value that Parse reads.
func (j Spec) Text() string {
	table := j.Table
	switch {
	case j.Name != "":
		table = j.Name + "=" + table
	default:
		if name, _ := cutName(table); name != "" {
			table = "./" + table
		}
	}
	var on []string
	for i := range j.On {
		on = append(on, j.On[i]+"="+j.Keys[i])
	}
	text := fmt.Sprintf("%s on=%s take=%s missing=%s", table, strings.Join(on, ","), strings.Join(j.Take, ","), j.Missing)
	if j.UTC {
		text += " tz=utc"
	}
	return text
}

// made is the field of a column.
func (j *Spec) made(column string) string {
	if j.Name == "" {
		return column
	}
	return j.Name + "_" + column
}

// tableJoin adds columns of a table to samples, or to the elements of lists.
type tableJoin struct {
	Spec
	text  string
	table *Table
	keys  []int        // columns
	lists []bool       // by key: it has one for each element
	times []*key.Clock // by key: of the table's times, where those of the samples are texts
	col   int          // the first key that is a list, -1 without a list
	n     int
	group []int             // columns counted like the key
	cols  []shardify.Column // of a table in memory, as they are taken
	out   []shardify.Field
}

func newJoin(e *op.Env, text string) (*tableJoin, error) {
	spec, err := Parse(text)
	if err != nil {
		return nil, err
	}
	table, _ := e.Beside.(*Table)
	if table != nil && e.Changed(table.Digest) {
		return nil, fmt.Errorf("--join '%s': the table is not what it was when the plan was made: %w", text, shardify.ErrChanged)
	}
	return &tableJoin{Spec: spec, text: text, table: table}, nil
}

func (j *tableJoin) Fields() (f op.Fields) {
	f.Named = slices.Clone(j.On)
	for _, c := range j.Take {
		f.Made = append(f.Made, j.made(c))
	}
	return f
}

// Schema adds the fields.
func (j *tableJoin) Schema(in []shardify.Field) ([]shardify.Field, error) {
	if j.table == nil {
		return nil, shardify.Unsupported("--join '%s': the table is not open", j.text)
	}
	j.keys, j.lists, j.times, j.col, j.n, j.group = nil, nil, nil, -1, len(in), nil
	for p, name := range j.On {
		i, err := op.Lookup(in, name)
		if err == nil {
			err = j.key(in, i, p)
		}
		if err != nil {
			return nil, op.TextError(j.text, err)
		}
	}
	out := slices.Clone(in)
	j.cols, j.out = slices.Clone(j.table.Cols), nil
	for i, c := range j.table.Fields {
		if err := op.Free(out, j.made(c.Name)); err != nil {
			return nil, op.TextError(j.text, fmt.Errorf("%w: give the table a name, as in --join t=TABLE", err))
		}
		to := c
		to.Name, to.Counter = j.made(c.Name), ""
		if to.Nullable = c.Nullable || j.Missing == Fill; j.col >= 0 {
			if err := j.element(&c); err != nil {
				return nil, op.TextError(j.text, err)
			}
			to.Nullable, to.Levels, to.Counter = false, to.Levels+1, counterOf(&in[j.col])
		}
		if j.cols != nil && !c.Nullable && j.Missing != Fill {
			j.cols[i].Valid = nil
		}
		j.out, out = append(j.out, to), append(out, to)
	}
	if j.col >= 0 {
		f := &in[j.col]
		for k := range in {
			if k == j.col || f.Counter != "" && in[k].Counter == f.Counter {
				if in[k].Ragged || in[k].Media != "" && in[k].Levels == 1 {
					continue
				}
				j.group = append(j.group, k)
			}
		}
		out[j.col].Counter = counterOf(f)
	}
	return out, nil
}

// counterOf is the counter of a list.
func counterOf(f *shardify.Field) string { return cmp.Or(f.Counter, f.Name) }

// key makes field i key p.
func (j *tableJoin) key(in []shardify.Field, i, p int) error {
	f, text := &in[i], textKey(&in[i])
	clock, err := j.clock(f, text, p)
	if err != nil {
		return err
	}
	j.times = append(j.times, clock)
	if p >= len(j.table.Texts) || clock == nil && text != j.table.Texts[p] {
		kind := func(text bool) string {
			if text {
				return "text"
			}
			return "numbers"
		}
		return fmt.Errorf("%s is %s in the table and %s in the samples", j.Keys[p], kind(!text), kind(text))
	}
	levels := f.Levels - int(op.Mark(text))
	if f.Levels > 2 || levels > 1 || len(f.Shape) > 0 || f.Ragged {
		return fmt.Errorf("%s is neither a key nor a list of keys", f.Name)
	}
	list := levels == 1
	if list && j.col >= 0 && (f.Counter == "" || f.Counter != in[j.col].Counter) {
		return fmt.Errorf("%s and %s are lists that need not have the same lengths: they have no counter in common", in[j.col].Name, f.Name)
	}
	if list && j.col < 0 {
		j.col = i
	}
	j.keys, j.lists = append(j.keys, i), append(j.lists, list)
	return nil
}

// clock brings key p of the table and of the samples to one count, where one is times and the other
// texts that are times, or times in another unit. It is that for texts of the samples.
func (j *tableJoin) clock(f *shardify.Field, text bool, p int) (*key.Clock, error) {
	if p >= len(j.table.Texts) {
		return nil, nil
	}
	if c, ok := key.ClockOf(j.table.Key(p), j.UTC); ok && text {
		return &c, nil
	}
	c, ok := key.ClockOf(f, j.UTC)
	if !ok || text {
		return nil, nil
	}
	t, err := j.table.OnClock(p, c)
	if err == nil {
		j.table = t
	}
	return nil, err
}

// values reads key p of n samples or elements, and finds those that can have no row.
func (j *tableJoin) values(b *shardify.Batch, p, n int, mem *shardify.Arena) (k key.Column, never []int32, err error) {
	c := &b.Columns[j.keys[p]]
	clock := j.times[p]
	if k, never = key.ValuesOf(c, n, j.table.Texts[p] || clock != nil, mem); clock == nil {
		return k, never, nil
	}
	k.Nums, k.Signed = shardify.View[uint64](mem.Alloc(8*n)), true
	clear(k.Nums)
	err = clock.Texts(k.Data, k.Ends, k.Nums, func(i int, err error) error {
		if slices.Contains(never, int32(i)) {
			return nil
		}
		return op.AtSample(err, b, sampleOf(c, b.Samples, i))
	})
	k.Data, k.Ends = nil, nil
	return k, never, err
}

// sampleOf is the sample that text i of a column, or of its lists, is of.
func sampleOf(c *shardify.Column, samples, i int) int {
	if c.Levels < 2 {
		return i
	}
	return sort.Search(samples, func(k int) bool { return c.Offsets[0][k+1] > int64(i) })
}

// textKey reports whether the values of a field, or of its lists, are texts.
func textKey(f *shardify.Field) bool {
	return f.DType == shardify.U8 && f.Media != "" && f.Media != "image"
}

// keysOf reads the keys of a batch, counts them, and lists those that can have no row.
func (j *tableJoin) keysOf(b *shardify.Batch, mem *shardify.Arena) (k key.Column, n int, never []int32, err error) {
	n = b.Samples
	var owner []int32
	if j.col >= 0 {
		o := b.Columns[j.col].Offsets[0]
		n = int(o[b.Samples])
		if slices.Contains(j.lists, false) {
			owner = shardify.View[int32](mem.Alloc(4 * n))
			for i := range b.Samples {
				for at := o[i]; at < o[i+1]; at++ {
					owner[at] = int32(i)
				}
			}
		}
	}
	parts, repeated := make([]key.Column, len(j.keys)), make([]bool, len(j.keys))
	for p, i := range j.keys {
		if repeated[p] = owner != nil && !j.lists[p]; repeated[p] {
			var none []int32
			if parts[p], none, err = j.values(b, p, b.Samples, mem); err != nil {
				return k, 0, nil, err
			}
			o := b.Columns[j.col].Offsets[0]
			for _, sample := range none {
				for at := o[sample]; at < o[sample+1]; at++ {
					never = append(never, int32(at))
				}
			}
			continue
		}
		if j.lists[p] && i != j.col {
			if err := op.SameLengths(b, j.col, i); err != nil {
				return k, 0, nil, err
			}
		}
		var none []int32
		if parts[p], none, err = j.values(b, p, n, mem); err != nil {
			return k, 0, nil, err
		}
		never = append(never, none...)
	}
	if len(parts) == 1 {
		return parts[0], n, never, nil
	}
	return key.Join(parts, n, repeated, owner), n, never, nil
}

// element refuses columns that lists cannot hold, since lists have no missing values.
func (j *tableJoin) element(c *shardify.Field) error {
	switch {
	case c.Levels > 1:
		return fmt.Errorf("%s has lists, which would become three levels", c.Name)
	case !c.DType.IsFloat() && (c.Nullable || j.Missing == Fill):
		return fmt.Errorf("%s of %s has no value for what is missing: missing=drop, or take= other columns", c.Name, c.DType)
	}
	return nil
}

// unmarked has NaN for what is missing in a column of elements.
func unmarked(c *shardify.Column) {
	if c.Levels == 0 && c.DType.IsFloat() && slices.Contains(c.Valid, 0) {
		nan, _ := cast.Number("nan", c.DType)
		for i, ok := range c.Valid {
			if from, to := c.Range(i, i+1); ok == 0 {
				op.Repeat(c.Data[from:to], nan)
			}
		}
	}
	c.Valid = nil
}

// Cost is the new columns, places of keys and rows, and a copy of what is left. Rows of a file
// are copied before they are put in order, texts into memory that doubles.
func (j *tableJoin) Cost([]shardify.Field) shardify.Cost {
	each := j.table.RowBytes()
	for i := range j.table.Fields {
		if each++; j.table.Fields[i].Levels > 0 {
			each += 8
		}
	}
	if j.table.InFile() {
		for i := range j.table.Fields {
			if each++; j.table.Fields[i].Levels > 0 {
				each += 8 + 2*j.table.RowBytes()
			}
		}
		each += j.table.RowBytes() + 16
	}
	each += 24
	if j.col >= 0 {
		return shardify.Cost{Growth: 3 + float64(each/4), Sample: 16}
	}
	return shardify.Cost{Growth: 1, Sample: int64(each) + 32}
}

// Apply joins.
func (j *tableJoin) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, j.n); err != nil {
		return nil, err
	}
	keys, n, never, err := j.keysOf(b, mem)
	if err != nil {
		return nil, err
	}
	f, err := j.table.Find(&keys, n, never, j.cols, mem)
	if err != nil {
		return nil, err
	}
	used := shardify.Count{Name: "join " + j.Table + ": rows that nothing used", Of: int64(j.table.Rows), Used: new(shardify.RowSet)}
	used.Used.Add(f.Rows, f.None(), f.Used)
	if f.Missing > 0 {
		if j.Missing == Fail {
			return nil, j.none(b, f, &keys, never)
		}
		if j.Missing == Drop {
			if b, f.Rows, err = j.drop(b, f, mem); err != nil {
				return nil, err
			}
		}
	}
	t, err := f.From.Take(f.Rows, mem)
	if err != nil {
		return nil, err
	}
	out := op.Fork(b)
	for i := range t.Columns {
		c := t.Columns[i]
		if j.col >= 0 {
			unmarked(&c)
			c.Offsets = append([][]int64{b.Columns[j.col].Offsets[0]}, c.Offsets...)
		}
		if c.Field = j.out[i]; !c.Nullable {
			c.Valid = nil
		}
		out.Columns = append(out.Columns, c)
	}
	if j.col >= 0 {
		out.Columns[j.col].Counter = counterOf(&b.Columns[j.col].Field)
	}
	if f.Missing > 0 {
		what := "samples"
		if j.col >= 0 {
			what = "elements"
		}
		op.Count(out, int64(f.Missing), "join %s: %s without a row", j.Table, what)
	}
	out.Counts = append(out.Counts, used)
	return out, nil
}

// none is the error about the first key without a row.
func (j *tableJoin) none(b *shardify.Batch, f *key.Found, keys *key.Column, never []int32) error {
	i := slices.Index(f.Rows, f.None())
	sample := i
	if j.col >= 0 {
		for sample = 0; b.Columns[j.col].Offsets[0][sample+1] <= int64(i); sample++ {
		}
	}
	shown := "that is missing or no whole number"
	if !slices.Contains(never, int32(i)) {
		shown = keys.Shown(i)
	}
	err := shardify.Mismatch("%s %s has no row in %s; missing=drop leaves such out, missing=fill marks them", strings.Join(j.On, ","), shown, j.Table)
	return op.AtSample(err, b, sample)
}

// drop leaves out the samples, or the elements, without a row.
func (j *tableJoin) drop(b *shardify.Batch, f *key.Found, mem *shardify.Arena) (*shardify.Batch, []int32, error) {
	rows, none := f.Rows, f.None()
	kept := shardify.View[int32](mem.Alloc(4 * len(rows)))[:0]
	for _, r := range rows {
		if r != none {
			kept = append(kept, r)
		}
	}
	if j.col < 0 {
		keep := mem.Alloc(b.Samples)
		for i, r := range rows {
			keep[i] = op.Mark(r != none)
		}
		out, err := op.Select(b, keep, mem)
		return out, kept, err
	}
	o := b.Columns[j.col].Offsets[0]
	pairs := make([]op.Element, 0, len(kept))
	offsets := mem.Int64s(b.Samples + 1)
	offsets[0] = 0
	for i := range b.Samples {
		for k := o[i]; k < o[i+1]; k++ {
			if rows[k] != none {
				pairs = append(pairs, op.Element{At: k})
			}
		}
		offsets[i+1] = int64(len(pairs))
	}
	out := op.Fork(b)
	for _, c := range j.group {
		if err := op.SameLengths(b, j.col, c); err != nil {
			return nil, nil, err
		}
		to := &out.Columns[c]
		op.Reorder(to, pairs, mem)
		to.Offsets = slices.Clone(to.Offsets)
		to.Offsets[0] = offsets
	}
	return out, kept, nil
}
