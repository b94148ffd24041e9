package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
)

// JoinSpec is a value of --join: columns of a table, by a key.
type JoinSpec struct {
	Name    string   // the fields are NAME_COLUMN; "" takes the names of the columns
	Table   string   // a file, or what else has rows
	Field   string   // of the samples
	Key     string   // of the table
	Take    []string // columns; nil is all
	Missing string   // JoinFail, JoinDrop, JoinFill
}

// Choices of JoinSpec.Missing: samples, or elements, whose key has no row.
const (
	JoinFail = "fail"
	JoinDrop = "drop"
	JoinFill = "fill"
)

// tableLine begins the line of an operation's text that says what was in the table when the
// plan was made.
const tableLine = "\ntable: "

// ParseJoin parses [NAME=]TABLE[ on=FIELD[=KEY]][ take=COLUMN,...][ missing=fail|drop|fill].
func ParseJoin(text string) (j JoinSpec, err error) {
	text, _, _ = strings.Cut(text, tableLine)
	bad := func() error {
		return said("join", text, fmt.Errorf("want [NAME=]TABLE on=KEY[ take=COLUMN,...][ missing=fail|drop|fill], as in --join 'truth=truth.parquet on=event_id'"))
	}
	words, on := strings.Fields(text), ""
	j.Missing = JoinFail
	for len(words) > 0 {
		key, value, ok := strings.Cut(words[len(words)-1], "=")
		if !ok || !slices.Contains([]string{"on", "take", "missing"}, key) || len(words) == 1 {
			break
		}
		switch key {
		case "on":
			on = value
		case "take":
			j.Take = strings.Split(value, ",")
		case "missing":
			j.Missing = value
		}
		words = words[:len(words)-1]
	}
	rest := strings.Join(words, " ")
	j.Name, j.Table = cutName(rest)
	j.Field, j.Key, _ = strings.Cut(on, "=")
	if j.Key == "" {
		j.Key = j.Field
	}
	if j.Table == "" || j.Field == "" || j.Missing != JoinFail && j.Missing != JoinDrop && j.Missing != JoinFill || slices.Contains(j.Take, "") {
		return j, bad()
	}
	return j, nil
}

// cutName separates NAME=TABLE. Paths may have a =, too.
func cutName(text string) (name, table string) {
	if name, table, ok := strings.Cut(text, "="); ok && !strings.ContainsAny(name, "/\\.:") {
		return name, table
	}
	return "", text
}

// Opened is an operation that joins a table, which must be the same whenever it is carried out.
func Opened(op plan.Op, t *JoinTable) plan.Op { op.Text += tableLine + t.Digest; return op }

// Text is the value that ParseJoin reads.
func (j JoinSpec) Text() string {
	table := j.Table
	switch {
	case j.Name != "":
		table = j.Name + "=" + table
	default:
		if name, _ := cutName(table); name != "" {
			table = "./" + table
		}
	}
	return fmt.Sprintf("%s on=%s=%s take=%s missing=%s", table, j.Field, j.Key, strings.Join(j.Take, ","), j.Missing)
}

// made is the field of a column.
func (j *JoinSpec) made(column string) string {
	if j.Name == "" {
		return column
	}
	return j.Name + "_" + column
}

// tableJoin adds columns of a table to samples, or to the elements of lists.
type tableJoin struct {
	JoinSpec
	text  string
	table *JoinTable
	col   int // the key
	n     int
	lists bool
	group []int             // columns counted like the key
	cols  []shardify.Column // of a table in memory, as they are taken
	out   []shardify.Field
}

func newTableJoin(text string, table *JoinTable) (*tableJoin, error) {
	spec, err := ParseJoin(text)
	if err != nil {
		return nil, err
	}
	shown, digest, ok := strings.Cut(text, tableLine)
	if ok && table != nil && table.Digest != digest {
		return nil, fmt.Errorf("--join '%s': the table is not what it was when the plan was made: %w", shown, shardify.ErrChanged)
	}
	return &tableJoin{JoinSpec: spec, text: shown, table: table}, nil
}

func (j *tableJoin) fields() (f fields) {
	f.named = []string{j.Field}
	for _, c := range j.Take {
		f.made = append(f.made, j.made(c))
	}
	return f
}

// Schema adds the fields.
func (j *tableJoin) Schema(in []shardify.Field) ([]shardify.Field, error) {
	if j.table == nil {
		return nil, shardify.Unsupported("--join '%s': the table is not open", j.text)
	}
	i, err := lookup(in, j.Field)
	if err != nil {
		return nil, within(j.text, err)
	}
	f := in[i]
	j.col, j.n, j.group = i, len(in), nil
	text := f.DType == shardify.U8 && f.Media != "" && f.Media != "image"
	j.lists = f.Levels == 1+btoi(text)
	if text != j.table.text {
		kind := func(text bool) string {
			if text {
				return "text"
			}
			return "numbers"
		}
		return nil, within(j.text, fmt.Errorf("%s is %s in the table and %s in the samples", j.Key, kind(j.table.text), kind(text)))
	}
	if f.Levels > 2 || f.Levels-btoi(text) > 1 || len(f.Shape) > 0 || f.Ragged {
		return nil, within(j.text, fmt.Errorf("%s is neither a key nor a list of keys", f.Name))
	}
	out := slices.Clone(in)
	j.cols, j.out = slices.Clone(j.table.cols), nil
	for i, c := range j.table.fields {
		if err := taken(out, j.made(c.Name)); err != nil {
			return nil, within(j.text, fmt.Errorf("%w: give the table a name, as in --join t=TABLE", err))
		}
		to := c
		to.Name, to.Counter = j.made(c.Name), ""
		if to.Nullable = c.Nullable || j.Missing == JoinFill; j.lists {
			if err := j.element(&c); err != nil {
				return nil, within(j.text, err)
			}
			to.Nullable, to.Levels, to.Counter = false, to.Levels+1, f.Counter
			if to.Counter == "" {
				to.Counter = f.Name
			}
		}
		if j.cols != nil && !c.Nullable && j.Missing != JoinFill {
			j.cols[i].Valid = nil
		}
		j.out, out = append(j.out, to), append(out, to)
	}
	if j.lists {
		for k := range in {
			if k == i || f.Counter != "" && in[k].Counter == f.Counter {
				if in[k].Ragged || in[k].Media != "" && in[k].Levels == 1 {
					continue
				}
				j.group = append(j.group, k)
			}
		}
		if f.Counter == "" {
			out[i].Counter = f.Name
		}
	}
	return out, nil
}

// element refuses columns that have no place in lists, which have none for missing values.
func (j *tableJoin) element(c *shardify.Field) error {
	switch {
	case c.Levels > 1:
		return fmt.Errorf("%s has lists, which would become three levels", c.Name)
	case !c.DType.IsFloat() && (c.Nullable || j.Missing == JoinFill):
		return fmt.Errorf("%s of %s has no value for what is missing: missing=drop, or take= other columns", c.Name, c.DType)
	}
	return nil
}

// unmarked has NaN for what is missing in a column of elements.
func unmarked(c *shardify.Column) {
	if c.Levels == 0 && c.DType.IsFloat() && slices.Contains(c.Valid, 0) {
		nan, _ := number("nan", c.DType)
		for i, ok := range c.Valid {
			if from, to := c.Range(i, i+1); ok == 0 {
				repeat(c.Data[from:to], nan)
			}
		}
	}
	c.Valid = nil
}

// Cost is the new columns, a row number for each key, and a copy of what is left.
func (j *tableJoin) Cost([]shardify.Field) shardify.Cost {
	var each float64
	for i := range j.table.fields {
		f := &j.table.fields[i]
		each += float64(f.ElemBytes()) + 16
		if j.cols != nil {
			each += float64(len(j.cols[i].Data)) / float64(j.table.rows+1)
		} else if f.Levels > 0 {
			each += 64
		}
	}
	if j.table.file != nil {
		each *= 3 // rows are copied before they are put in order
	}
	if j.lists {
		return shardify.Cost{Growth: 3 + float64(each/4), Sample: 16}
	}
	return shardify.Cost{Growth: 1, Sample: int64(each) + 32}
}

// Apply joins.
func (j *tableJoin) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := match(b, j.n); err != nil {
		return nil, err
	}
	key := &b.Columns[j.col]
	n := b.Samples
	if j.lists {
		n = int(key.Offsets[0][b.Samples])
	}
	f, err := j.table.find(key, n, j.cols, mem)
	if err != nil {
		return nil, err
	}
	used := shardify.Count{Name: "join " + j.Table + ": rows that nothing used", Of: int64(j.table.rows), Used: new(shardify.RowSet)}
	used.Used.Add(f.rows, f.none(), f.used)
	if f.missing > 0 {
		if j.Missing == JoinFail {
			return nil, j.none(b, f, mem)
		}
		if j.Missing == JoinDrop {
			if b, f.rows, err = j.drop(b, f, mem); err != nil {
				return nil, err
			}
		}
	}
	t, err := f.from.Take(f.rows, mem)
	if err != nil {
		return nil, err
	}
	out := fork(b)
	for i := range t.Columns {
		c := t.Columns[i]
		if j.lists {
			unmarked(&c)
			c.Offsets = append([][]int64{b.Columns[j.col].Offsets[0]}, c.Offsets...)
		}
		if c.Field = j.out[i]; !c.Nullable {
			c.Valid = nil
		}
		out.Columns = append(out.Columns, c)
	}
	if j.lists {
		out.Columns[j.col].Counter = j.out0(b)
	}
	if f.missing > 0 {
		what := "samples"
		if j.lists {
			what = "elements"
		}
		count(out, int64(f.missing), "join %s: %s without a row", j.Table, what)
	}
	out.Counts = append(out.Counts, used)
	return out, nil
}

// out0 is the counter of the key.
func (j *tableJoin) out0(b *shardify.Batch) string {
	if f := &b.Columns[j.col]; f.Counter != "" {
		return f.Counter
	}
	return j.Field
}

// none is the error about the first key without a row.
func (j *tableJoin) none(b *shardify.Batch, f *found, mem *shardify.Arena) error {
	i := slices.Index(f.rows, f.none())
	c := &b.Columns[j.col]
	sample := i
	if j.lists {
		for sample = 0; c.Offsets[0][sample+1] <= int64(i); sample++ {
		}
	}
	keys, never := keysOf(c, len(f.rows), j.table.text, mem)
	shown := "that is missing or no whole number"
	if !slices.Contains(never, int32(i)) {
		shown = keys.Shown(i)
	}
	err := shardify.Mismatch("%s %s has no row in %s; missing=drop leaves such out, missing=fill marks them", j.Field, shown, j.Table)
	return atSample(err, b, sample)
}

// drop leaves out the samples, or the elements, without a row.
func (j *tableJoin) drop(b *shardify.Batch, f *found, mem *shardify.Arena) (*shardify.Batch, []int32, error) {
	rows, none := f.rows, f.none()
	kept := shardify.View[int32](mem.Alloc(4 * len(rows)))[:0]
	for _, r := range rows {
		if r != none {
			kept = append(kept, r)
		}
	}
	if !j.lists {
		keep := mem.Alloc(b.Samples)
		for i, r := range rows {
			keep[i] = byte(btoi(r != none))
		}
		out, err := selected(b, keep, mem)
		return out, kept, err
	}
	o := b.Columns[j.col].Offsets[0]
	pairs := make([]pair, 0, len(kept))
	offsets := mem.Int64s(b.Samples + 1)
	offsets[0] = 0
	for i := range b.Samples {
		for k := o[i]; k < o[i+1]; k++ {
			if rows[k] != none {
				pairs = append(pairs, pair{at: k})
			}
		}
		offsets[i+1] = int64(len(pairs))
	}
	out := fork(b)
	for _, c := range j.group {
		if err := sameLengths(b, j.col, c); err != nil {
			return nil, nil, err
		}
		to := &out.Columns[c]
		reorder(to, pairs, mem)
		to.Offsets = slices.Clone(to.Offsets)
		to.Offsets[0] = offsets
	}
	return out, kept, nil
}
