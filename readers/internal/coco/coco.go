// Package coco makes one table of files of COCO: a row for each image, with lists of what its
// annotations say. Images are in the order of their names.
//
//	t, err := coco.Read(ctx, local.Files, []string{"instances_val2017.json"}, coco.Options{Jobs: jobs})
//
//	images       id is image_id, file_name the name of the row; all other members as they are
//	annotations  lists that share the counter annotations, in the order of the file: id is
//	             annotation_id, bbox is boxes (f32 [4]: x, y, width, height), captions are texts.
//	             Those of a file of captions share the counter captions, and id is caption_id
//	categories   class, the place of the category among those of all files, by id; category_id stays
//	polygons     f32, a list for each polygon; polygons.of is the annotation of the image that
//	             each belongs to, from 0
//	rle          the runs of each mask that has runs; rle.size, rle.of
package coco

import (
	"context"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/storage"
)

const (
	readBytes = 4 << 20
	maxTable  = 4 << 30 // decoded
)

// Table is a table of images.
type Table struct {
	File    string          // the first one
	Names   shardify.Column // of their files
	Columns []shardify.Column
	Rows    int
	Unread  []string // the columns that are not wanted
	Left    []format.Leftover
	// Strays are annotations of images that are not listed; Stray is the first of them.
	Strays int64
	Stray  string

	captions bool
	want     func(column string) bool
}

// Options are those of Read.
type Options struct {
	Fill bool                     // what is missing in an annotation is NaN, 0 or empty
	Want func(column string) bool // nil: all
	Jobs int
}

// Read reads files, those of captions as a table and all others as one.
func Read(ctx context.Context, fs storage.FS, names []string, o Options) ([]*Table, error) {
	known := kinds{}
	if o.Want == nil {
		o.Want = func(string) bool { return true }
	}
	var all []*Table
	for _, name := range names {
		t, err := readFile(ctx, &file{fs: fs, name: name, Options: o}, known)
		if err == nil {
			if k := slices.IndexFunc(all, func(o *Table) bool { return o.captions == t.captions }); k >= 0 {
				err = all[k].add(t)
			} else {
				all = append(all, t)
			}
		}
		if err != nil {
			return nil, shardify.Annotate(err, "read", name, "")
		}
	}
	for i, t := range all {
		t.classes(known)
		if i > 0 { // what all files say of an image
			t.Columns = slices.DeleteFunc(t.Columns, func(c shardify.Column) bool { return c.Counter == "" && all[0].column(c.Name) != nil })
		}
	}
	return all, nil
}

// add adds the rows of another file.
func (t *Table) add(o *Table) error {
	if err := t.alike(o); err != nil {
		return err
	}
	if err := o.alike(t); err != nil {
		return err
	}
	t.Names.Append(&o.Names, t.Rows, o.Rows)
	for i := range t.Columns {
		c := &t.Columns[i]
		x := o.column(c.Name)
		if c.DType == shardify.F64 && x.DType == shardify.I64 || c.DType == shardify.I64 && x.DType == shardify.F64 {
			inF64(c)
			inF64(x)
		}
		if x.DType != c.DType || x.Levels != c.Levels || !slices.Equal(x.Shape, c.Shape) {
			return shardify.Mismatch("%s has another type than in the first file", c.Name)
		}
		c.Nullable = c.Nullable || x.Nullable
		c.Data = slices.Grow(c.Data, len(x.Data))
		c.Append(x, t.Rows, o.Rows)
	}
	for _, name := range o.Unread {
		if !slices.Contains(t.Unread, name) {
			t.Unread = append(t.Unread, name)
		}
	}
	t.Rows += o.Rows
	if t.Strays == 0 {
		t.Stray = o.Stray
	}
	t.Strays += o.Strays
	return nil
}

// column is that of a name, or nil.
func (t *Table) column(name string) *shardify.Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// alike gives a table the columns that another one has; only masks may be missing.
func (t *Table) alike(o *Table) error {
	for i := range o.Columns {
		x := &o.Columns[i]
		if t.column(x.Name) != nil {
			continue
		}
		if x.Counter != "polygons" && x.Counter != "rle" {
			return shardify.Mismatch("the files have not the same members: only one has %s", x.Name)
		}
		c := shardify.Column{Field: x.Field}
		c.Offsets = [][]int64{make([]int64, t.Rows+1)}
		if c.Levels == 2 {
			c.Offsets = append(c.Offsets, []int64{0})
		}
		t.Columns = append(t.Columns, c)
	}
	return nil
}

// inF64 makes whole numbers f64.
func inF64(c *shardify.Column) {
	if c.DType == shardify.I64 {
		numeric.Convert(c.Data, shardify.F64, c.Data, shardify.I64)
		c.DType = shardify.F64
	}
}
