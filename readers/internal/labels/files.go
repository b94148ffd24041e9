package labels

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
)

// noFile marks a file that a row does not name.
const noFile = math.MaxUint32

// RowFiles are the files that the rows of a table with also=COLUMN name: those of a row are a sample.
type RowFiles struct {
	Table   *Table
	Columns []string // with the names of files: that of on= first
	Of      []uint32 // by row and column: the file, or noFile
	Rows    []int32  // that are samples, in the order of their first files
	Left    []format.Leftover
	rows    []int32 // by first file
}

// origin is the rows of a table that are of one file.
type origin struct {
	file string
	rows int
}

// NamesFiles reports whether rows of a table in the value of --labels name several files.
func NamesFiles(text string) bool {
	return slices.ContainsFunc(split(text), func(one string) bool {
		s, err := parse(one)
		return err == nil && s.also != nil
	})
}

// naming is the column with a name among those of files, -1 if it has none.
func (t *Table) naming(column string) int {
	if column == t.Key {
		return 0
	}
	return 1 + slices.Index(t.spec.also, column)
}

// keepNames keeps the names of files in a column; the texts are in a table with also=COLUMN.
func (t *Table) keepNames(c *shardify.Column, why string) error {
	switch {
	case t.spec.also == nil:
		return nil
	case why != "" || c.Media != "txt":
		return shardify.Mismatch("the names of files in %s: %s", c.Name, cmp.Or(why, "they are no text"))
	}
	if t.files == nil {
		t.files = make([]shardify.Column, 1+len(t.spec.also))
	}
	t.files[t.naming(c.Name)] = *c
	return nil
}

// placeNames makes paths below the input of names below a folder.
func (t *Table) placeNames(folder string) error {
	for i := range t.files {
		c := &t.files[i]
		out := c.Field.Empty()
		for row := range t.loaded {
			lo, hi := c.Range(row, row+1)
			name := strings.ReplaceAll(string(c.Data[lo:hi]), "\\", "/")
			if c.Valid != nil && c.Valid[row] == 0 {
				name = ""
			}
			if name != "" {
				name = path.Clean(name)
				if name == "." || name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name) || strings.Contains(string(c.Data[lo:hi]), "://") {
					return shardify.Mismatch("row %d: %s %.200q is outside of the folder of the table, %q; names are paths from there", row, c.Name, c.Data[lo:hi], cmp.Or(folder, "."))
				}
				out.Data = append(out.Data, path.Join(folder, name)...)
			}
			out.Offsets[0] = append(out.Offsets[0], int64(len(out.Data)))
		}
		t.files[i] = out
	}
	t.parts = []origin{{t.File, t.loaded}}
	return nil
}

// where names the table and the row of it.
func (t *Table) where(row int) string {
	for _, p := range t.parts {
		if row < p.rows {
			return fmt.Sprintf("row %d of %s", row, p.file)
		}
		row -= p.rows
	}
	return fmt.Sprintf("row %d", row)
}

// cell says what a row names.
func (t *Table) cell(row, col int) string {
	lo, hi := t.files[col].Range(row, row+1)
	return fmt.Sprintf("%s: %s %.200q", t.where(row), t.files[col].Name, t.files[col].Data[lo:hi])
}

// FindFiles finds the files that the tables name. missing is --missing; alike is the form of a name that
// those have, too, which differ from it in upper and lower case or in their Unicode form.
func FindFiles(tables []*Table, p *Paths, missing string, alike func(name []byte) string) (*RowFiles, error) {
	var t *Table
	for _, o := range tables {
		switch {
		case o.spec.also == nil:
		case t != nil:
			return nil, shardify.Mismatch("--labels: %s and %s name the files of samples in other columns: %s, %s", t.File, o.File, strings.Join(t.naming0(), ", "), strings.Join(o.naming0(), ", "))
		default:
			t = o
		}
	}
	if len(p.Table.Roots) != 1 {
		return nil, shardify.Unsupported("--labels %s: also= takes one INPUT, and there are %d", t.spec.text, len(p.Table.Roots))
	}
	f := &RowFiles{Table: t, Columns: t.naming0()}
	index, err := indexOf(p)
	if err != nil {
		return nil, err
	}
	k, n := len(t.files), t.loaded
	f.Of = slices.Repeat([]uint32{noFile}, n*k)
	named := make([]int, p.Table.Len()) // cell + 1
	var twice, absent Listed
	found := make([]int32, n)
	var lost []int
	for c := range t.files {
		index.Find(found, &key.Column{Data: t.files[c].Data, Ends: t.files[c].Offsets[0]}, -1)
		for row, file := range found {
			cell := row*k + c
			switch o := t.files[c].Offsets[0]; {
			case o[row] == o[row+1] && c > 0: // none
			case file < 0:
				absent.add(func() string { return t.cell(row, c) })
				lost = append(lost, cell)
			case named[file] > 0:
				twice.add(func() string {
					before := named[file] - 1
					return t.cell(row, c) + " is " + t.files[before%k].Name + " in " + t.where(before/k)
				})
			default:
				named[file], f.Of[cell] = cell+1, uint32(file)
			}
		}
	}
	if twice.Count > 0 {
		return nil, shardify.Mismatch("%s: a file is of one row", twice.of("file that is named twice", "files that are named twice"))
	}
	if err := t.nearly(p, lost, alike); err != nil {
		return nil, err
	}
	if absent.Count > 0 && missing == "fail" {
		return nil, shardify.Mismatch("%s; --missing drop leaves such rows out, and without also= a column stays text", absent.of("file is not there", "files are not there"))
	}
	f.choose(named, missing)
	return f, nil
}

// naming0 is the columns with names of files.
func (t *Table) naming0() (list []string) {
	for i := range t.files {
		list = append(list, t.files[i].Name)
	}
	return list
}

// indexOf finds files by their paths.
func indexOf(p *Paths) (*key.Index, error) {
	n := p.Table.Len()
	names := key.Column{Ends: make([]int64, 1, n+1)}
	for i := range n {
		names.Data = append(names.Data, p.Rel(i)...)
		names.Ends = append(names.Ends, int64(len(names.Data)))
	}
	return key.NewIndex(names, n)
}

// nearly is the error about names of files that are there, but for case or Unicode form.
func (t *Table) nearly(p *Paths, lost []int, alike func(name []byte) string) error {
	if lost == nil {
		return nil
	}
	k := len(t.files)
	forms := map[string]int{}
	for _, cell := range lost {
		lo, hi := t.files[cell%k].Range(cell/k, cell/k+1)
		forms[alike(t.files[cell%k].Data[lo:hi])] = cell
	}
	var found Listed
	for i := range p.Table.Len() {
		if cell, ok := forms[alike(p.Rel(i))]; ok {
			found.add(func() string { return fmt.Sprintf("%s, and there is %.200q", t.cell(cell/k, cell%k), p.Rel(i)) })
		}
	}
	if found.Count == 0 {
		return nil
	}
	return shardify.Mismatch("names that differ from those of files in upper and lower case or in their Unicode form alone: %s", found.String())
}

// choose takes the rows whose first file is there.
func (f *RowFiles) choose(named []int, missing string) {
	k := len(f.Columns)
	f.rows = slices.Repeat([]int32{-1}, len(named))
	for file, cell := range named {
		if cell > 0 && (cell-1)%k == 0 {
			f.rows[file] = int32((cell - 1) / k)
			f.Rows = append(f.Rows, f.rows[file])
		}
	}
	if n := f.Table.loaded - len(f.Rows); n > 0 {
		f.Left = append(f.Left, format.Leftover{Name: f.Table.File, Reason: "rows whose " + f.Columns[0] + " is not there (--missing " + missing + ")", Count: int64(n), Unit: "row"})
	}
}

// Join says which samples there are, by their first files.
func (f *RowFiles) Join(samples int, first func(k int) int) {
	f.Table.order = make([]int32, samples)
	for k := range samples {
		f.Table.order[k] = f.rows[first(k)]
	}
}
