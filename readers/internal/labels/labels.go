// Package labels joins tables of labels (CSV, TSV, JSON lines, Parquet) to samples by name.
//
//	t, err := labels.Read(ctx, local.Files, "labels.csv", "file", nil, jobs)
//	j, err := t.Join(samples, names)         // names(k, do) gives do the names of sample k
//	at := labels.Cursor{Values: j.Values}
//	cols, err := at.Batch(lo, hi, []int{0}, mem)   // the values of samples [lo, hi) in column 0
//
// The readers of the formats read the tables, and say what types there are; package key finds
// the rows. What was joined goes to the plan in pages, so that the bytes that are written
// depend on the labels and not on where they were read from.
package labels

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
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
	"github.com/shardify/shardify/readers/star"
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
	Left   []format.Leftover
	Unread []string // columns that are not wanted, of COCO and of lists
	want   func(column string) bool
	all    string     // the value of --labels
	spec   spec       // of this table
	fill   bool       // missing values in lists are NaN, 0 or empty
	sort   bool       // columns by name
	text   bool       // CSV whose first line has the names of its columns
	strays Listed     // what is of no row
	names  key.Column // of the rows, as in the file
	rows   *key.Table // by their names, without what says nothing about samples

	// What was loaded, until it is in rows: names without what says nothing about samples, the other
	// columns, and how many rows.
	clean  shardify.Column
	cols   []shardify.Column
	loaded int
	// Of tables with in=FOLDER: the folders, long ones first, which table lacks which column, and how
	// --labels names the tables behind the first.
	folders, lacks, texts []string
	// Of tables with also=COLUMN: the names of files in the column of on= and in those, paths below the
	// input; which rows are of which file; and the rows of the samples, nil as long as they are not known.
	files []shardify.Column
	parts []origin
	order []int32
}

// Fields are the columns beside the key.
func (t *Table) Fields() []shardify.Field { return t.rows.Fields }

// formats are those that can be read.
var formats = []*format.Input{&csv.Format, &jsonl.Format, &parquet.Format, &star.Format}

// formatOf is the format of a table; nil if it cannot be read.
func formatOf(name string) *format.Input {
	if strings.EqualFold(path.Ext(name), ".txt") { // as captions.txt of Flickr8k
		return &csv.Format
	}
	for _, f := range formats {
		if f.Sniff(nil, name) || f.Reads != nil && f.Reads(nil, name) {
			return f
		}
	}
	return nil
}

// relion is the column of STAR tables with the names of sections, as 000001@stack.mrcs.
const relion = "rlnImageName"

// Tables reports whether a value of --labels is for tables, and not for classes of folders.
func Tables(mode string) bool {
	switch mode {
	case "", Auto, Never, Always:
		return false
	}
	return true
}

// IsTable reports whether a text names a table, [NAME=]FILE[ KEY=VALUE]...
func IsTable(text string) bool {
	s, _ := parse(text)
	return formatOf(s.file) != nil
}

// Read reads the tables of --labels, separated by commas: [NAME=]FILE[ KEY=VALUE]... with options of
// their formats. key is the column with the names of samples of those that do not say on=COLUMN.
// Files of one name in several folders, as train/metadata.csv and test/metadata.csv, are one table, and
// their names are below their folders; these are below a root. want says which columns are read where
// that saves memory; nil: all.
func Read(ctx context.Context, fs storage.FS, text, key string, want func(column string) bool, jobs int, roots ...string) (tables []*Table, err error) {
	idle := key != ""
	var list []spec
	for _, one := range split(text) {
		s, err := parse(one)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	tables, list, err = readCOCO(ctx, fs, list, want, jobs)
	if err != nil {
		return nil, err
	}
	idle = idle && key != "file_name"
	ofSplits(list, roots)
	for _, s := range list {
		idle = idle && s.on != ""
		t := &Table{File: s.file, Key: cmp.Or(s.on, key), all: text, spec: s, want: want}
		err = t.read(ctx, fs, s.options, jobs)
		if in := formatOf(s.file); in != nil {
			err = in.TableError(err, optLabels.Name, s.text)
		}
		if err != nil {
			return nil, shardify.Annotate(err, "read", s.file, "")
		}
		tables = append(tables, t)
	}
	if idle {
		return nil, shardify.Misuse("--key %s has no effect: each table of --labels says on=COLUMN", key)
	}
	if tables, err = together(tables); err != nil {
		return nil, err
	}
	return tables, counters(tables)
}

// counters refuses lists of different tables that would have one counter.
func counters(tables []*Table) error {
	of := map[string]*Table{}
	for _, t := range tables {
		if t.spec.rows != rowsMany {
			continue
		}
		if o := of[t.spec.counter]; o != nil {
			return shardify.Misuse("--labels: the lists of %s and of %s have one counter, %s; NAME=FILE gives each its own, as in 'captions=%[2]s'", o.File, t.File, t.spec.counter)
		}
		of[t.spec.counter] = t
	}
	return nil
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
		return shardify.Unsupported("labels in a file %s; CSV, TSV, JSON, COCO, STAR and Parquet are read", filepath.Ext(t.File))
	}
	table := &format.Table{Roots: []string{t.File}, FS: fs}
	table.Append(0, "", at.Size, at.ModTime)
	t.sort = in == &jsonl.Format
	a := format.OpenArgs{Table: table, Jobs: jobs, Used: &format.Used{}}
	switch {
	case in == &star.Format:
		t.Key = strings.TrimPrefix(cmp.Or(t.Key, relion), "_")
	case in == &csv.Format:
		t.text = !slices.Contains(own, "header=none")
		if t.Key != "" && !strings.ContainsAny(t.Key, `,*?[\`) {
			own = append(own, "types="+t.Key+":text") // names are what they look like
		}
	}
	if a.Options, err = in.TableOptions(own); err != nil {
		return err
	}
	t.fill = format.FillsItems(a.Options)
	src, err := in.Open(ctx, a)
	if errors.Is(err, shardify.ErrUsage) && in == &csv.Format { // there may be no such column
		a.Options[in.Name] = strings.TrimSuffix(strings.TrimSuffix(a.Options[in.Name], "types="+t.Key+":text"), ",")
		if s, e := in.Open(ctx, a); e == nil {
			defer s.Close()
			if shardify.FieldIndex(s.Schema(), t.Key) < 0 {
				return t.noKey(s.Schema(), t.Key)
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
		return t.noKey(schema, t.Key)
	}
	for _, c := range t.spec.also {
		if shardify.FieldIndex(schema, c) < 0 {
			return t.noKey(schema, c)
		}
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
	collect(all)
	var cols []shardify.Column
	var names shardify.Column
	for i := range all {
		c := &all[i]
		why := t.unfit(&c.Field)
		switch {
		case c.Name == t.Key && (why != "" || c.DType.IsFloat() || c.DType == shardify.Bool):
			return shardify.Mismatch("the names in %s: %s", t.Key, cmp.Or(why, "they are neither text nor whole numbers"))
		case c.Name == t.Key:
			if k := slices.Index(c.Valid, 0); k >= 0 {
				return shardify.Corrupt(-1, "row %d has no name under %q", k, t.Key)
			}
			names = texts(c, rows)
			if err := t.keepNames(&names, ""); err != nil {
				return err
			}
			*c = shardify.Column{Field: c.Field}
		case slices.Contains(t.spec.also, c.Name):
			if err := t.keepNames(c, why); err != nil {
				return err
			}
		case why != "":
			t.Left = append(t.Left, format.Leftover{Name: c.Name, Reason: why})
		default:
			if err := shardify.ValidName(c.Name); err != nil {
				return err
			}
			widen(c)
			cols = append(cols, *c)
			*c = shardify.Column{Field: c.Field}
		}
	}
	if t.sort { // objects have no order
		slices.SortFunc(cols, func(a, b shardify.Column) int { return strings.Compare(a.Name, b.Name) })
	}
	if len(cols) == 0 && t.files == nil {
		return shardify.Mismatch("no column of labels beside %s%s", t.Key, t.why())
	}
	t.names = key.Column{Data: names.Data, Ends: names.Offsets[0]}
	clean := cleaned(&names, rows)
	if t.clean, t.cols, t.loaded, err = t.several(&clean, cols, rows); err != nil {
		return err
	}
	collect(t.cols)
	if t.spec.in != "" {
		return nil // see together
	}
	return t.index()
}

// index makes the table of what was loaded.
func (t *Table) index() (err error) {
	clean, cols := t.clean, t.cols
	t.clean, t.cols = shardify.Column{}, nil
	if t.rows, err = key.NewTable([]shardify.Column{clean}, cols, t.loaded); err != nil {
		var e *shardify.Error
		if errors.Is(err, shardify.ErrSchema) && errors.As(err, &e) && t.files == nil { // a name is in two rows
			err = format.Cure(e, format.With(optLabels.Name, t.replace("rows=many"), "lists of the rows of each name"),
				format.With(optLabels.Name, t.replace("rows=first"), "the first row of each name"))
		}
		return shardify.Annotate(err, "read", t.File, t.Key)
	}
	return nil
}

// collect collects garbage where columns are large: the copies of a step would be there until the heap
// has doubled, before --memory is known to the runtime.
func collect(cols []shardify.Column) {
	const large = 16 << 20
	var n int64
	for i := range cols {
		n += cols[i].Bytes()
	}
	if n > large {
		runtime.GC()
	}
}

// unfit says why a field is not a label. A name may be neither a list nor of several numbers.
func (t *Table) unfit(f *shardify.Field) string {
	lists := f.Levels
	if f.Media == "txt" {
		lists--
	}
	switch {
	case f.Name == t.Key && (lists > 0 || len(f.Shape) > 0), f.Media != "" && f.Media != "txt", f.Ragged:
		return "it is neither a number nor text"
	case f.Levels > 1 && t.spec.rows == rowsMany:
		return "it has lists in its rows, of which rows=many would make a level too many"
	}
	return ""
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
func widen(c *shardify.Column) {
	switch {
	case c.Media != "", c.DType == shardify.Bool, c.DType == shardify.U64:
	case c.DType.IsFloat():
		turn(c, shardify.F64)
	default:
		turn(c, shardify.I64)
	}
}

// turn gives numbers another type.
func turn(c *shardify.Column, to shardify.DType) {
	if c.DType == to {
		return
	}
	data := make([]byte, 8*(len(c.Data)/c.DType.Size()))
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
func (t *Table) noKey(schema []shardify.Field, column string) error {
	for _, l := range t.Left {
		if l.Name == column {
			return shardify.Mismatch("the names in %s: %s", column, l.Reason)
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
	if column == "" {
		return shardify.Mismatch("--key COLUMN, or on=COLUMN behind the name of the table, must say which column has the names of the samples: %s", names)
	}
	cure := ""
	if t.text {
		cure = "; where the first line is a row: --csv header=none names the columns c0, c1, ..."
	}
	return shardify.Mismatch("no column %q; there is %s%s", column, names, cure)
}
