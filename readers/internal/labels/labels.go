// Package labels joins tables of labels (CSV, TSV, JSON lines, Parquet) to samples by name.
//
//	t, err := labels.Read(ctx, local.Files, "labels.csv", "file", jobs)
//	j, err := t.Join(samples, names)         // names(k, do) gives do the names of sample k
//	col := labels.Batch(&j.Columns[0], lo, hi, mem)   // the values of samples [lo, hi)
//
// The readers of the formats read the tables, and say what types there are; package key finds
// the rows. What was joined is part of a source's state, so that the bytes that are written
// depend on the labels and not on where they were read from.
package labels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/csv"
	"github.com/shardify/shardify/readers/jsonl"
	"github.com/shardify/shardify/readers/parquet"
	"github.com/shardify/shardify/storage"
)

// A table is held in memory as a whole: of a file of maxFile bytes, decoded maxTable.
const (
	maxFile  = 2 << 30
	maxTable = 4 << 30
)

// readBytes is how much of a table is read at once, about.
const readBytes = 4 << 20

// Table is a table of labels.
type Table struct {
	File string
	Key  string
	// Left names columns that cannot be labels, and why.
	Left  []format.Leftover
	sort  bool       // columns by name
	text  bool       // CSV whose first line has the names of its columns
	names key.Column // of the rows, as in the file
	rows  *key.Table // by their names, without what says nothing about samples
}

// Fields are the columns beside the key.
func (t *Table) Fields() []shardify.Field { return t.rows.Fields }

// formats are those that can be read.
var formats = []*format.Input{&csv.Format, &jsonl.Format, &parquet.Format}

// formatOf is the format of a table; nil if it cannot be read.
func formatOf(name string) *format.Input {
	for _, f := range formats {
		if f.Sniff(nil, name) {
			return f
		}
	}
	return nil
}

// IsTable reports whether a text names a table, FILE[ KEY=VALUE]...
func IsTable(text string) bool {
	name, _ := format.CutTable(text, formats)
	return formatOf(name) != nil
}

// Read reads a table, FILE[ KEY=VALUE]... with options of its format. key is the column with the
// names of samples.
func Read(ctx context.Context, fs storage.FS, text, key string, jobs int) (*Table, error) {
	name, own := format.CutTable(text, formats)
	t := &Table{File: name, Key: key}
	err := t.read(ctx, fs, own, jobs)
	if in := formatOf(name); in != nil {
		err = in.TableError(err, "labels", text)
	}
	if err != nil {
		return nil, shardify.Annotate(err, "read", name, "")
	}
	return t, nil
}

func (t *Table) read(ctx context.Context, fs storage.FS, own []string, jobs int) error {
	f, err := fs.Open(ctx, t.File)
	if errors.Is(err, storage.ErrNotFile) {
		return shardify.Unsupported("%v", storage.ErrNotFile)
	}
	if err != nil {
		return err
	}
	at := f.Stamp()
	f.Close()
	if at.Size > maxFile {
		return shardify.Unsupported("a table of labels of %s; at most %s are read", shardify.FormatSize(at.Size), shardify.FormatSize(maxFile))
	}
	in := formatOf(t.File)
	if in == nil {
		return shardify.Unsupported("labels in a file %s; CSV, TSV, JSON lines and Parquet are read", filepath.Ext(t.File))
	}
	table := &format.Table{Roots: []string{t.File}, FS: fs}
	table.Append(0, "", at.Size, at.ModTime)
	t.sort = in == &jsonl.Format
	a := format.OpenArgs{Table: table, Jobs: jobs, Used: &format.Used{}}
	switch {
	case in == &csv.Format:
		t.text = !slices.Contains(own, "header=none")
		if t.Key != "" && !strings.ContainsAny(t.Key, `,*?[\`) {
			own = append(own, "types="+t.Key+":text") // names are what they look like
		}
	case !slices.ContainsFunc(own, func(w string) bool { return strings.HasPrefix(w, "null-items=") }):
		own = append(own, "null-items=fill") // lists are not labels
	}
	if a.Options, err = in.TableOptions(own); err != nil {
		return err
	}
	src, err := in.Open(ctx, a)
	if errors.Is(err, shardify.ErrUsage) && in == &csv.Format { // there may be no such column
		a.Options[in.Name] = strings.TrimSuffix(strings.TrimSuffix(a.Options[in.Name], "types="+t.Key+":text"), ",")
		if s, e := in.Open(ctx, a); e == nil {
			defer s.Close()
			if shardify.FieldIndex(s.Schema(), t.Key) < 0 {
				return t.noKey(s.Schema())
			}
		}
	}
	if err != nil {
		return table.Locate(err)
	}
	defer src.Close()
	if err := a.Used.Idle(in.Options, a.Options); err != nil {
		return err
	}
	if r, ok := src.(format.Reporter); ok {
		t.Left = r.Leftovers()
	}
	return table.Locate(t.load(ctx, src))
}

// load reads the rows.
func (t *Table) load(ctx context.Context, src shardify.Source) error {
	schema := src.Schema()
	if t.Key == "" || shardify.FieldIndex(schema, t.Key) < 0 {
		return t.noKey(schema)
	}
	all, rows, err := key.ReadAll(ctx, src, readBytes, maxTable)
	if errors.Is(err, key.ErrTooLarge) {
		return shardify.Unsupported("a table of labels of more than %s", shardify.FormatSize(maxTable))
	}
	if err != nil {
		return err
	}
	if rows == 0 {
		return shardify.Mismatch("no row of labels")
	}
	var cols []shardify.Column
	var names shardify.Column
	for i := range all {
		c := &all[i]
		why := unfit(&c.Field)
		switch {
		case c.Name == t.Key && (why != "" || c.DType.IsFloat() || c.DType == shardify.Bool):
			return shardify.Mismatch("the names in %s: %s", t.Key, cmp.Or(why, "they are neither text nor whole numbers"))
		case c.Name == t.Key:
			if k := slices.Index(c.Valid, 0); k >= 0 {
				return shardify.Corrupt(-1, "row %d has no name under %q", k, t.Key)
			}
			names = texts(c, rows)
		case why != "":
			t.Left = append(t.Left, format.Leftover{Name: c.Name, Reason: why})
		default:
			if err := shardify.ValidName(c.Name); err != nil {
				return err
			}
			widen(c, rows)
			cols = append(cols, *c)
		}
	}
	if t.sort { // objects have no order
		slices.SortFunc(cols, func(a, b shardify.Column) int { return strings.Compare(a.Name, b.Name) })
	}
	if len(cols) == 0 {
		return shardify.Mismatch("no column of labels beside %s%s", t.Key, t.why())
	}
	t.names = key.Column{Data: names.Data, Ends: names.Offsets[0]}
	if t.rows, err = key.NewTable([]shardify.Column{cleaned(&names, rows)}, cols, rows); err != nil {
		return shardify.Annotate(err, "read", t.File, t.Key)
	}
	return nil
}

// unfit says why a field is not a label.
func unfit(f *shardify.Field) string {
	if key.IsText(f) && f.Media == "txt" || f.Levels == 0 && len(f.Shape) == 0 {
		return ""
	}
	return "it is neither a number nor text"
}

// texts is a column of texts, or of whole numbers as texts.
func texts(c *shardify.Column, rows int) shardify.Column {
	if c.Levels > 0 {
		return *c
	}
	out := (&shardify.Field{Name: c.Name, DType: shardify.U8, Levels: 1, Media: "txt"}).Empty()
	nums := make([]uint64, rows)
	signed, _ := key.Numbers(nums, c, nil) // whole ones have no bad values
	for _, n := range nums {
		if signed {
			out.Data = strconv.AppendInt(out.Data, int64(n), 10)
		} else {
			out.Data = strconv.AppendUint(out.Data, n, 10)
		}
		out.Offsets[0] = append(out.Offsets[0], int64(len(out.Data)))
	}
	return out
}

// cleaned is names without what says nothing about samples.
func cleaned(names *shardify.Column, rows int) shardify.Column {
	out := names.Field.Empty()
	for i := range rows {
		name := string(names.Data[names.Offsets[0][i]:names.Offsets[0][i+1]])
		name = strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, "\\", "/")), "/")
		out.Data = append(out.Data, name...)
		out.Offsets[0] = append(out.Offsets[0], int64(len(out.Data)))
	}
	return out
}

// widen gives numbers the types that labels have.
func widen(c *shardify.Column, rows int) {
	to := shardify.I64
	switch {
	case c.Levels > 0, c.DType == shardify.Bool, c.DType == shardify.U64:
		return
	case c.DType.IsFloat():
		to = shardify.F64
	}
	data := make([]byte, 8*rows)
	numeric.Convert(data, to, c.Data, c.DType)
	c.DType, c.Data = to, data
}

// why says what was left out.
func (t *Table) why() string {
	if len(t.Left) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", t.Left[0].Name, t.Left[0].Reason)
}

// noKey is the error about a key that is not a column.
func (t *Table) noKey(schema []shardify.Field) error {
	for _, l := range t.Left {
		if l.Name == t.Key {
			return shardify.Mismatch("the names in %s: %s", t.Key, l.Reason)
		}
	}
	const most = 12
	var list []string
	for i := range schema[:min(len(schema), most)] {
		list = append(list, schema[i].Name)
	}
	if len(schema) > most {
		list = append(list, "...")
	}
	names := strings.Join(list, ", ")
	if t.Key == "" {
		return shardify.Mismatch("--key COLUMN must say which column has the names of the samples: %s", names)
	}
	cure := ""
	if t.text {
		cure = "; where the first line is a row: --csv header=none names the columns c0, c1, ..."
	}
	return shardify.Mismatch("no column %q; there is %s%s", t.Key, names, cure)
}
