package coco

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/readers/jsonl"
	"github.com/shardify/shardify/storage"
)

const categoryID = "category_id"

// file reads the tables of one file.
type file struct {
	Options
	fs   storage.FS
	name string
	left []format.Leftover
}

// rows is some of a table.
type rows struct {
	cols  []shardify.Column
	n     int
	first int // in the table
}

// column is that of a name, or nil.
func (r *rows) column(name string) *shardify.Column {
	if i := slices.IndexFunc(r.cols, func(c shardify.Column) bool { return c.Name == name }); i >= 0 {
		return &r.cols[i]
	}
	return nil
}

// ids is a column of ids, or of names.
func (r *rows) ids(table, name string) (*shardify.Column, error) {
	c := r.column(name)
	switch {
	case c == nil:
		return nil, shardify.Mismatch("%s have no %s", table, name)
	case !key.IsText(&c.Field) && (c.Levels > 0 || c.DType != shardify.I64 && c.DType != shardify.U64):
		return nil, shardify.Mismatch("%s: %s is neither a whole number nor text", table, name)
	}
	if k := slices.Index(c.Valid, 0); k >= 0 {
		return nil, shardify.Corrupt(-1, "%s: item %d has no %s", table, r.first+k+1, name)
	}
	return c, nil
}

// called is how errors call an annotation.
func (r *rows) called(k int) string {
	if c := r.column("id"); c != nil && c.Levels == 0 && c.DType == shardify.I64 {
		return "annotation " + text(c, k)
	}
	return fmt.Sprintf("annotation %d of the file", r.first+k+1)
}

// id is value k of a column of ids.
func id(c *shardify.Column, k int) any {
	switch {
	case key.IsText(&c.Field):
		return string(c.Data[c.Offsets[0][k]:c.Offsets[0][k+1]])
	case c.DType == shardify.U64:
		return shardify.View[uint64](c.Data)[k]
	}
	return shardify.View[int64](c.Data)[k]
}

// text is an id as text.
func text(c *shardify.Column, k int) string { return fmt.Sprint(id(c, k)) }

// open surveys a table.
func (f *file) open(ctx context.Context, object string) (shardify.Source, error) {
	table := &format.Table{Roots: []string{f.name}, FS: f.fs}
	st, err := f.fs.Stat(ctx, f.name)
	if err != nil {
		return nil, err
	}
	table.Append(0, "", st.Size, st.ModTime)
	o := format.Options{"object": object}
	if f.Fill {
		o["null-items"] = "fill"
	}
	src, err := jsonl.Format.Open(ctx, format.OpenArgs{Table: table, Jobs: f.Jobs, Options: o})
	if err != nil {
		return nil, table.Locate(err)
	}
	if r, ok := src.(format.Reporter); ok {
		for _, l := range r.Leftovers() {
			if l.Name != "images" && l.Name != "annotations" && l.Name != "categories" && !slices.ContainsFunc(f.left, func(o format.Leftover) bool { return o.Name == l.Name }) {
				f.left = append(f.left, l)
			}
		}
	}
	return src, nil
}

// whole reads columns of a table. It keeps the fields of the others.
func (f *file) whole(ctx context.Context, object string, want func(column string) bool) (*rows, error) {
	src, err := f.open(ctx, object)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	out, size := &rows{}, int64(0)
	for _, field := range src.Schema() {
		out.cols = append(out.cols, field.Empty())
	}
	err = key.ReadEach(ctx, src, readBytes, shardify.NewPool(maxTable), func(b *shardify.Batch) error {
		for i := range out.cols {
			if !want(out.cols[i].Name) {
				continue
			}
			if size += b.Columns[i].Bytes(); size > maxTable {
				return key.ErrTooLarge
			}
			out.cols[i].Append(&b.Columns[i], out.n, b.Samples)
		}
		out.n += b.Samples
		return nil
	})
	return out, err
}

func readFile(ctx context.Context, f *file, known kinds) (*Table, error) {
	t := &Table{File: f.name, want: f.Want}
	at, err := t.images(ctx, f)
	if err != nil {
		return nil, err
	}
	src, err := f.open(ctx, "annotations")
	if err != nil {
		return nil, err
	}
	defer src.Close()
	a := &annotations{t: t, fill: f.Fill, rows: at, ends: make([]int64, t.Rows+1)}
	if err := a.choose(src.Schema()); err != nil {
		return nil, err
	}
	if shardify.FieldIndex(src.Schema(), categoryID) >= 0 {
		if a.here, err = known.read(ctx, f); err != nil {
			return nil, err
		}
	}
	if err := a.read(ctx, src); err != nil {
		return nil, err
	}
	if err := a.lists(); err != nil {
		return nil, err
	}
	t.Left = append(t.Left, f.left...)
	names := slices.Clone(t.Unread)
	for i := range t.Columns {
		names = append(names, t.Columns[i].Name)
	}
	slices.Sort(names)
	for i := range names[1:] {
		if names[i] == names[i+1] {
			return nil, shardify.Mismatch("images and annotations have a member %s", names[i])
		}
	}
	t.drop(func(c shardify.Column) bool { return !t.want(c.Name) })
	return t, nil
}

// drop leaves columns out that are not wanted.
func (t *Table) drop(unwanted func(c shardify.Column) bool) {
	t.Columns = slices.DeleteFunc(t.Columns, func(c shardify.Column) bool {
		if !unwanted(c) {
			return false
		}
		t.Unread = append(t.Unread, c.Name)
		return true
	})
}

// images reads the images, and returns their rows by id.
func (t *Table) images(ctx context.Context, f *file) (map[any]int32, error) {
	r, err := f.whole(ctx, "images", func(name string) bool {
		return name == "id" || name == "file_name" || name != "image_id" && t.want(name)
	})
	if err != nil {
		return nil, err
	}
	names, err := r.ids("images", "file_name")
	if err != nil {
		return nil, err
	}
	ids, err := r.ids("images", "id")
	if err != nil {
		return nil, err
	}
	at, order := make(map[any]int32, r.n), make([]int32, r.n)
	for k := range r.n {
		i := id(ids, k)
		if first, ok := at[i]; ok {
			return nil, shardify.Corrupt(-1, "images: items %d and %d have the id %v", first+1, k+1, i)
		}
		at[i], order[k] = int32(k), int32(k)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return strings.Compare(text(names, int(a)), text(names, int(b))) })
	t.Rows = r.n
	keep := []shardify.Column{*names, *ids}
	keep[1].Name = "image_id"
	for _, c := range r.cols {
		switch {
		case c.Name == "file_name" || c.Name == "id":
		case c.Levels > 0 && !key.IsText(&c.Field):
			t.Left = append(t.Left, format.Leftover{Name: c.Name, Reason: "lists in images"})
		case !t.want(c.Name):
			t.Unread = append(t.Unread, c.Name)
		default:
			keep = append(keep, c)
		}
	}
	b := shardify.Batch{Samples: r.n, Columns: keep}
	if keep, err = b.TakeColumns(order, shardify.NewPool(1).Overdraft()); err != nil { // which stays
		return nil, err
	}
	t.Names, t.Columns = keep[0], keep[1:]
	for row, k := range order {
		at[id(ids, int(k))] = int32(row)
	}
	return at, nil
}
