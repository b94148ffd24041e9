package labels

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/walk"
)

// Beside is the value of --labels that takes the tables that are beside the files by the conventions
// of the field.
const Beside = "tables"

// mostBeside bounds the tables that Beside takes: each is read as a whole.
const mostBeside = 256

// metadata is what the tables of Hugging Face's folders of files are called, without extension.
const metadata = "metadata"

// nameColumns are what columns with names of files are called beside a folder of a split, in the order
// in which they are looked for.
var nameColumns = []string{"file_name", "filename", "file", "file_path", "filepath", "path", "image_file", "image_name", "image_path", "image_id", "image", "img", "id", "name", "key"}

// beside is a table that Beside has found.
type beside struct {
	file   string
	folder string // with the files that it names, below the input
	hf     bool   // metadata, whose names are relative to its folder
}

// IsBeside reports whether a file below the input is called as the tables are that Beside takes.
func IsBeside(name string) (yes, meta bool) {
	dir, base := path.Split(name)
	ext := strings.ToLower(path.Ext(base))
	if !slices.Contains([]string{".csv", ".tsv", ".jsonl", ".parquet"}, ext) {
		return false, false
	}
	stem := base[:len(base)-len(ext)]
	meta = strings.EqualFold(stem, metadata)
	return meta || dir == "" && walk.IsSplit(stem), meta
}

// FindBeside is the value of --labels that names the tables beside the files: metadata.csv with file_name in
// any folder, and train.csv beside the folder train or train_images. key is --key. bare are such tables that
// have nothing but names.
func FindBeside(ctx context.Context, fs storage.FS, t *format.Table, key string) (value string, bare []string, err error) {
	list, err := listBeside(t)
	if err != nil {
		return "", nil, err
	}
	var values []string
	for _, b := range list {
		value := b.file + " in=" + cmp.Or(b.folder, ".")
		on := key
		if on == "" {
			columns, err := columnsOf(ctx, fs, b.file)
			if err != nil {
				return "", nil, err
			}
			if on, err = b.on(columns); err != nil {
				return "", nil, err
			}
			if len(columns) == 1 {
				bare = append(bare, b.file)
				continue // names alone, as of a test set
			}
			value += " on=" + on
			for _, c := range columns {
				if b.hf && c != on && strings.HasSuffix(c, "_file_name") {
					value, on = value+" also="+c, on+c
				}
			}
		}
		if strings.ContainsAny(b.folder+on, " ,") {
			return "", nil, shardify.Unsupported("--labels %s: %s and its column %q: names with a comma or a space; rename them", Beside, b.file, on)
		}
		values = append(values, value)
	}
	switch {
	case values == nil && bare != nil:
		return "", nil, shardify.Mismatch("--labels %s: %s has names and no labels", Beside, bare[0])
	case values == nil:
		return "", nil, shardify.Mismatch("--labels %s: there is neither metadata.csv, .jsonl or .parquet beside the files nor a table of a folder, as train.csv of train; --labels FILE --key COLUMN names one", Beside)
	}
	return strings.Join(values, ","), bare, nil
}

// listBeside finds the tables by their names.
func listBeside(t *format.Table) (list []beside, err error) {
	var splits []beside
	for i := range t.Len() {
		name := string(t.NameBytes(i))
		switch yes, meta := IsBeside(name); {
		case meta:
			list = append(list, beside{file: t.Path(i), folder: strings.TrimSuffix(name[:strings.LastIndexByte(name, '/')+1], "/"), hf: true})
		case yes:
			splits = append(splits, beside{file: t.Path(i), folder: strings.TrimSuffix(name, path.Ext(name))})
		}
		if len(list)+len(splits) > mostBeside {
			return nil, shardify.Unsupported("--labels %s: more than %d tables", Beside, mostBeside)
		}
	}
	for _, b := range splits {
		for _, folder := range []string{b.folder, b.folder + "_images"} {
			if holds(t, folder) {
				b.folder = folder
				list = append(list, b)
				break
			}
		}
	}
	if len(list) > 0 && len(t.Roots) > 1 {
		return nil, shardify.Unsupported("--labels %s takes one INPUT, and there are %d", Beside, len(t.Roots))
	}
	return list, nil
}

// holds reports whether there are files below a folder.
func holds(t *format.Table, folder string) bool {
	for i := range t.Len() {
		if n := t.NameBytes(i); len(n) > len(folder) && n[len(folder)] == '/' && string(n[:len(folder)]) == folder {
			return true
		}
	}
	return false
}

// on is the column with the names.
func (b *beside) on(columns []string) (string, error) {
	if !b.hf {
		for _, c := range nameColumns {
			if i := slices.IndexFunc(columns, func(x string) bool { return strings.EqualFold(x, c) }); i >= 0 {
				return columns[i], nil
			}
		}
	} else if slices.Contains(columns, "file_name") {
		return "file_name", nil
	} else if slices.Contains(columns, "file") {
		return "file", nil
	}
	if i := slices.IndexFunc(columns, func(c string) bool { return strings.HasSuffix(c, "_file_name") }); b.hf && i >= 0 {
		return columns[i], nil
	}
	return "", shardify.Mismatch("%s: which column has the names of the files? --labels %s --key COLUMN says it: %s", b.file, Beside, strings.Join(columns[:min(len(columns), 12)], ", "))
}

// columnsOf are those of a table.
func columnsOf(ctx context.Context, fs storage.FS, file string) (names []string, err error) {
	f, err := fs.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	at := f.Stamp()
	f.Close()
	table := &format.Table{Roots: []string{file}, FS: fs}
	table.Append(0, "", at.Size, at.ModTime)
	in := formatOf(file)
	if in == nil {
		return nil, shardify.Unsupported("labels in %s", file)
	}
	a := format.OpenArgs{Table: table, Jobs: 1, Used: &format.Used{}}
	if a.Options, err = in.TableOptions(nil); err != nil {
		return nil, err
	}
	src, err := in.Open(ctx, a)
	if err != nil {
		return nil, shardify.Annotate(table.Locate(err), "read", file, "")
	}
	defer src.Close()
	for _, f := range src.Schema() {
		names = append(names, f.Name)
	}
	return names, nil
}

// together makes one table of those with in=FOLDER, of different folders: their names are relative to them.
func together(tables []*Table) (all []*Table, err error) {
	for _, t := range tables {
		if t.spec.in != "" {
			if err := t.below(); err != nil {
				return nil, shardify.Annotate(err, "read", t.File, "")
			}
			i := slices.IndexFunc(all, func(o *Table) bool {
				return o.spec.in != "" && (t.spec.also == nil || o.Key == t.Key) && slices.Equal(o.spec.also, t.spec.also) && o.spec.rows == t.spec.rows && o.spec.counter == t.spec.counter && !slices.Contains(o.folders, t.folders[0])
			})
			if i >= 0 {
				if err := all[i].add(t); err != nil {
					return nil, err
				}
				continue
			}
		}
		all = append(all, t)
	}
	for _, t := range all {
		if t.spec.in == "" {
			continue
		}
		slices.SortFunc(t.folders, func(a, b string) int { return len(b) - len(a) })
		if err := t.index(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// below adds the folder to the names.
func (t *Table) below() error {
	folder := strings.Trim(path.Clean("/"+t.spec.in), "/")
	t.folders = []string{folder}
	if err := t.placeNames(folder); err != nil || folder == "" {
		return err
	}
	under := t.clean.Field.Empty()
	o := t.clean.Offsets[0]
	for i := range t.loaded {
		under.Data = append(append(append(under.Data, folder...), '/'), t.clean.Data[o[i]:o[i+1]]...)
		under.Offsets[0] = append(under.Offsets[0], int64(len(under.Data)))
	}
	t.clean = under
	t.names.Data, t.names.Ends = under.Data, under.Offsets[0]
	return nil
}

// add adds the rows of another table with in=FOLDER.
func (t *Table) add(o *Table) error {
	for i := range o.cols {
		if c := &o.cols[i]; !slices.ContainsFunc(t.cols, func(x shardify.Column) bool { return x.Name == c.Name }) {
			empty := c.Field.Empty()
			missing(&empty, 0, t.loaded)
			t.cols = append(t.cols, empty)
			t.lacks = append(t.lacks, fmt.Sprintf("%s has no column %s, which %s has", t.File, c.Name, o.File))
		}
	}
	for i := range t.cols {
		c := &t.cols[i]
		k := slices.IndexFunc(o.cols, func(x shardify.Column) bool { return x.Name == c.Name })
		if k < 0 {
			missing(c, t.loaded, o.loaded)
			t.lacks = append(t.lacks, fmt.Sprintf("%s has no column %s, which %s has", o.File, c.Name, t.File))
			continue
		}
		x := &o.cols[k]
		if numbers := []shardify.DType{shardify.I64, shardify.F64}; c.DType != x.DType && slices.Contains(numbers, c.DType) && slices.Contains(numbers, x.DType) {
			turn(c, shardify.F64)
			turn(x, shardify.F64)
		}
		if c.DType != x.DType || c.Media != x.Media || c.Levels != x.Levels || !slices.Equal(c.Shape, x.Shape) {
			return shardify.Mismatch("the column %s is of another type in %s than in %s", c.Name, o.File, t.File)
		}
		c.Append(x, t.loaded, o.loaded)
		*x = shardify.Column{}
	}
	for i := range t.files {
		t.files[i].Append(&o.files[i], t.loaded, o.loaded)
	}
	t.parts = append(t.parts, o.parts...)
	t.clean.Append(&o.clean, t.loaded, o.loaded)
	t.names.Data, t.names.Ends = t.clean.Data, t.clean.Offsets[0]
	t.loaded += o.loaded
	t.File += ", " + o.File
	t.Left = append(t.Left, o.Left...)
	t.folders, t.texts = append(t.folders, o.folders...), append(t.texts, o.spec.text)
	return nil
}

// missing adds rows without values to the have rows of a column.
func missing(c *shardify.Column, have, n int) {
	src := c.Field.Empty()
	for range n {
		for l := range src.Offsets[:min(1, len(src.Offsets))] {
			src.Offsets[l] = append(src.Offsets[l], 0)
		}
	}
	if c.Levels == 0 {
		size := c.DType.Size()
		for _, d := range c.Shape {
			size *= int(d)
		}
		src.Data = make([]byte, n*size)
	}
	if c.Counter == "" {
		src.Valid = make([]byte, n)
	}
	c.Append(&src, have, n)
}

// scoped is names of samples for tables that name files in their folders: names without folders are
// those below the folder of the table that is nearest.
func (t *Table) scoped(names Names) Names {
	if t.folders == nil {
		return names
	}
	var buf []byte
	return func(k int, by By, do func([]byte)) {
		whole := by
		switch by {
		case ByBase:
			whole = ByPath
		case ByBaseStem:
			whole = ByStem
		}
		names(k, whole, func(name []byte) {
			if by == whole {
				do(name)
				return
			}
			for _, f := range t.folders {
				if f != "" && !strings.HasPrefix(string(name), f+"/") {
					continue
				}
				base := name[strings.LastIndexByte(string(name), '/')+1:]
				if buf = append(buf[:0], f...); f != "" {
					buf = append(buf, '/')
				}
				do(append(buf, base...))
				return
			}
		})
	}
}

// notes says how tables in folders are joined, and which of the columns name files.
func (t *Table) notes(by By) (list []string) {
	if t.files == nil && t.folders != nil {
		list = append(list, fmt.Sprintf("rows of %s are joined, each table to the files of its folder, by %s", t.File, by))
	}
	for _, l := range t.lacks {
		list = append(list, l+": missing values")
	}
	for _, f := range t.Fields() {
		if strings.HasSuffix(f.Name, "_file_name") {
			list = append(list, "the column "+f.Name+" stays text; also="+f.Name+" behind the name of the table makes the files that it names a field")
		}
	}
	return list
}
