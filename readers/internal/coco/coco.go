// Package coco makes one table of files of COCO: a row for each image, with lists of what its
// annotations say.
//
//	t, err := coco.Read(ctx, local.Files, []string{"instances_val2017.json"}, false, jobs)
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
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/jsonl"
	"github.com/shardify/shardify/storage"
)

const (
	starts    = "annotations" // a column that is none of the file
	readBytes = 4 << 20
	maxTable  = 4 << 30 // decoded
)

// Table is a table of images.
type Table struct {
	File    string // the first one
	Names   shardify.Column // of their files
	Columns []shardify.Column
	Rows    int
	Left    []format.Leftover
	// Strays are annotations of images that are not listed; Stray is the first of them.
	Strays int64
	Stray  string
}

// file reads the tables of one file.
type file struct {
	fs   storage.FS
	name string
	jobs int
	left []format.Leftover
}

// rows is one of its tables.
type rows struct {
	cols []shardify.Column
	n    int
}

// take removes a column from a table and returns it; nil if there is none.
func (r *rows) take(name string) *shardify.Column {
	for i := range r.cols {
		if r.cols[i].Name == name {
			c := r.cols[i]
			r.cols = slices.Delete(r.cols, i, i+1)
			return &c
		}
	}
	return nil
}

// read reads a table.
func (f *file) read(ctx context.Context, object string, fill bool) (*rows, error) {
	table := &format.Table{Roots: []string{f.name}, FS: f.fs}
	st, err := f.fs.Stat(ctx, f.name)
	if err != nil {
		return nil, err
	}
	table.Append(0, "", st.Size, st.ModTime)
	o := format.Options{"object": object}
	if fill {
		o["null-items"] = "fill"
	}
	src, err := jsonl.Format.Open(ctx, format.OpenArgs{Table: table, Jobs: f.jobs, Options: o})
	if err != nil {
		return nil, table.Locate(err)
	}
	defer src.Close()
	if r, ok := src.(format.Reporter); ok {
		for _, l := range r.Leftovers() {
			if l.Name != "images" && l.Name != "annotations" && l.Name != "categories" && !slices.ContainsFunc(f.left, func(o format.Leftover) bool { return o.Name == l.Name }) {
				f.left = append(f.left, l)
			}
		}
	}
	out := &rows{}
	out.cols, out.n, err = key.ReadAll(ctx, src, readBytes, maxTable)
	return out, table.Locate(err)
}

// kinds are the categories of all files: their names by id.
type kinds map[int64]string

// Read reads files, those of captions as a table and all others as one. fill: what is missing in an
// annotation is NaN, 0 or empty.
func Read(ctx context.Context, fs storage.FS, names []string, fill bool, jobs int) ([]*Table, error) {
	known := kinds{}
	var all []*Table
	for _, name := range names {
		t, err := readFile(ctx, &file{fs: fs, name: name, jobs: jobs}, known, fill)
		if err == nil {
			if k := slices.IndexFunc(all, func(o *Table) bool { return o.captions() == t.captions() }); k >= 0 {
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

// captions reports whether a table is of captions.
func (t *Table) captions() bool { return t.column("caption_id") != nil }

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
		c.Append(x, t.Rows, o.Rows)
	}
	t.Rows += o.Rows
	if t.Strays == 0 {
		t.Stray = o.Stray
	}
	t.Strays += o.Strays
	return nil
}

// column is that of a name; nil if there is none.
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

func readFile(ctx context.Context, f *file, known kinds, fill bool) (*Table, error) {
	images, err := f.read(ctx, "images", fill)
	if err != nil {
		return nil, err
	}
	all, err := f.read(ctx, "annotations", fill)
	if err != nil {
		return nil, err
	}
	t := &Table{File: f.name, Rows: images.n}
	if err := t.join(images, all); err != nil {
		return nil, err
	}
	if ids := all.take("category_id"); ids != nil {
		list, err := f.read(ctx, "categories", fill)
		if err != nil {
			return nil, err
		}
		if err := known.check(ids, all, list); err != nil {
			return nil, err
		}
		class := shardify.Column{Field: shardify.Field{Name: "class", DType: shardify.I64}, Data: slices.Clone(ids.Data)}
		all.cols = append([]shardify.Column{class, *ids}, all.cols...)
	}
	if err := t.lists(all, fill); err != nil {
		return nil, err
	}
	t.Left = append(t.Left, f.left...)
	for i := range t.Columns {
		c := &t.Columns[i]
		if k := slices.IndexFunc(t.Columns[:i], func(o shardify.Column) bool { return o.Name == c.Name }); k >= 0 {
			return nil, shardify.Mismatch("images and annotations have a member %s", c.Name)
		}
	}
	return t, nil
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

// column takes a column of ids out of a table.
func column(r *rows, table, name string) (*shardify.Column, error) {
	c := r.take(name)
	switch {
	case c == nil:
		return nil, shardify.Mismatch("%s have no %s", table, name)
	case !key.IsText(&c.Field) && (c.Levels > 0 || c.DType != shardify.I64 && c.DType != shardify.U64):
		return nil, shardify.Mismatch("%s: %s is neither a whole number nor text", table, name)
	}
	if k := slices.Index(c.Valid, 0); k >= 0 {
		return nil, shardify.Corrupt(-1, "%s: item %d has no %s", table, k+1, name)
	}
	return c, nil
}

// join sorts annotations by the images that they are of.
func (t *Table) join(images, all *rows) error {
	names, err := column(images, "images", "file_name")
	if err != nil {
		return err
	}
	ids, err := column(images, "images", "id")
	if err != nil {
		return err
	}
	of, err := column(all, "annotations", "image_id")
	if err != nil {
		return err
	}
	at := make(map[any]int32, images.n)
	for k := range images.n {
		i := id(ids, k)
		if first, ok := at[i]; ok {
			return shardify.Corrupt(-1, "images: items %d and %d have the id %v", first+1, k+1, i)
		}
		at[i] = int32(k)
	}
	ends, where := make([]int64, images.n+1), make([]int32, all.n)
	for k := range all.n {
		i, ok := at[id(of, k)]
		if where[k] = i; !ok {
			if where[k] = -1; t.Strays == 0 {
				t.Stray = fmt.Sprintf("%s of image %v", called(all, k), id(of, k))
			}
			t.Strays++
			continue
		}
		ends[i+1]++
	}
	for i := range images.n {
		ends[i+1] += ends[i]
	}
	next, order := slices.Clone(ends), make([]int32, ends[images.n])
	for k, i := range where {
		if i >= 0 {
			order[next[i]] = int32(k)
			next[i]++
		}
	}
	if len(order) != all.n || !slices.IsSorted(order) {
		b := shardify.Batch{Samples: all.n, Columns: all.cols}
		if all.cols, err = b.TakeColumns(order, shardify.NewPool(1).Overdraft()); err != nil { // which stays
			return err
		}
		all.n = len(order)
	}
	ids.Name = "image_id"
	t.Names = *names
	for _, c := range append([]shardify.Column{*ids}, images.cols...) {
		if c.Levels > 0 && !key.IsText(&c.Field) {
			t.Left = append(t.Left, format.Leftover{Name: c.Name, Reason: "lists in images"})
			continue
		}
		t.Columns = append(t.Columns, c)
	}
	all.cols = append(all.cols, shardify.Column{Field: shardify.Field{Name: starts}, Offsets: [][]int64{ends}})
	return nil
}

// called is how errors call an annotation.
func called(all *rows, k int) string {
	if i := slices.IndexFunc(all.cols, func(c shardify.Column) bool { return c.Name == "id" }); i >= 0 && all.cols[i].Levels == 0 && all.cols[i].DType == shardify.I64 {
		return fmt.Sprintf("annotation %v", id(&all.cols[i], k))
	}
	return fmt.Sprintf("annotation %d of the file", k+1)
}

// check adds the categories of a file, and checks that those of its annotations are there.
func (known kinds) check(ids *shardify.Column, all, list *rows) error {
	if ids.Levels > 0 || ids.DType != shardify.I64 {
		return shardify.Mismatch("annotations: category_id is no whole number")
	}
	own, err := column(list, "categories", "id")
	if err != nil {
		return err
	}
	names, err := column(list, "categories", "name")
	if err != nil {
		return err
	}
	here := map[int64]bool{}
	for k := range list.n {
		n, ok := id(own, k).(int64)
		if !ok {
			return shardify.Mismatch("categories: id is no whole number")
		}
		name := strings.ReplaceAll(fmt.Sprint(id(names, k)), shardify.LabelSeparator, " ")
		if here[n] {
			return shardify.Corrupt(-1, "categories: two have the id %d", n)
		}
		if other, ok := known[n]; ok && other != name {
			return shardify.Mismatch("category %d is %q, and %q in another file", n, name, other)
		}
		known[n], here[n] = name, true
	}
	for k, n := range shardify.View[int64](ids.Data) {
		if ids.Valid != nil && ids.Valid[k] == 0 {
			return shardify.Corrupt(-1, "%s has no category_id", called(all, k))
		}
		if !here[n] {
			return shardify.Corrupt(-1, "%s: category %d is not one of the %d categories", called(all, k), n, len(here))
		}
	}
	return nil
}

// classes makes places among all categories of their ids.
func (t *Table) classes(known kinds) {
	ids := slices.Sorted(maps.Keys(known))
	place, names := map[int64]int64{}, []string{}
	for i, n := range ids {
		place[n], names = int64(i), append(names, known[n])
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Name != "class" || c.Counter == "" {
			continue
		}
		c.Attrs = map[string]string{"labels": strings.Join(names, shardify.LabelSeparator)}
		for k, n := range shardify.View[int64](c.Data) {
			shardify.View[int64](c.Data)[k] = place[n]
		}
	}
}

// lists makes lists of the annotations of each image.
func (t *Table) lists(all *rows, fill bool) error {
	ends := all.take(starts).Offsets[0]
	counter, own := "annotations", "annotation_id"
	if has := func(name string) bool {
		return slices.ContainsFunc(all.cols, func(c shardify.Column) bool { return c.Name == name })
	}; has("caption") && !has("category_id") {
		counter, own = "captions", "caption_id"
	}
	renamed := map[string]string{"id": own, "bbox": "boxes"}
	polygons, runs, size := all.take("segmentation"), all.take("segmentation.counts"), all.take("segmentation.size")
	for _, c := range all.cols {
		if c.Levels > 1 || strings.HasPrefix(c.Name, "segments_info.") {
			t.Left = append(t.Left, format.Leftover{Name: c.Name, Reason: "lists of lists in annotations; --object annotations reads them as a table"})
			continue
		}
		if k := slices.Index(c.Valid, 0); k >= 0 && !fill {
			err := shardify.Unsupported("%s of %s is missing, which no list can express", c.Name, called(all, k))
			return format.Cure(err, format.With("null-items", "fill", "NaN, 0 or an empty value in its place"))
		}
		for k, ok := range c.Valid {
			if ok == 0 && c.Levels == 0 && c.DType.IsFloat() {
				noNumbers(&c, k)
			}
		}
		c.Name = cmp.Or(renamed[c.Name], c.Name)
		c.Counter, c.Nullable, c.Valid = counter, false, nil
		c.Levels++
		c.Offsets = append([][]int64{ends}, c.Offsets...)
		t.Columns = append(t.Columns, c)
	}
	if polygons != nil && polygons.Levels == 2 {
		t.parts("polygons", ends, polygons.Offsets[0], *polygons, nil)
	}
	if runs != nil && runs.Levels == 1 {
		some := make([]int64, len(runs.Offsets[0])) // of those that are there
		var have []int32
		for k := range all.n {
			if some[k+1] = some[k]; runs.Valid == nil || runs.Valid[k] != 0 {
				some[k+1]++
				have = append(have, int32(k))
			}
		}
		cols := []shardify.Column{*runs}
		if size != nil {
			cols = append(cols, *size)
		}
		b := shardify.Batch{Samples: all.n, Columns: cols}
		cols, err := b.TakeColumns(have, shardify.NewPool(1).Overdraft())
		if err != nil {
			return err
		}
		list := cols[0]
		list.Offsets = append([][]int64{some}, list.Offsets...)
		if size = nil; len(cols) > 1 {
			size = &cols[1]
		}
		t.parts("rle", ends, some, list, size)
	}
	return nil
}

// noNumbers makes value k of a column of floats NaN.
func noNumbers(c *shardify.Column, k int) {
	n := c.Elem()
	if c.DType == shardify.F32 {
		for i := range shardify.View[float32](c.Data)[k*n : (k+1)*n] {
			shardify.View[float32](c.Data)[k*n+i] = float32(math.NaN())
		}
	} else {
		for i := range shardify.View[float64](c.Data)[k*n : (k+1)*n] {
			shardify.View[float64](c.Data)[k*n+i] = math.NaN()
		}
	}
}

// parts adds the lists of those parts that annotations have several or none of: ends says how
// many there are up to each annotation, and list is a list for each.
func (t *Table) parts(name string, starts, ends []int64, list shardify.Column, size *shardify.Column) {
	offsets := make([]int64, len(starts))
	of := make([]int64, 0, ends[len(ends)-1])
	for i := range len(starts) - 1 {
		for k := starts[i]; k < starts[i+1]; k++ {
			for range ends[k+1] - ends[k] {
				of = append(of, k-starts[i])
			}
		}
		offsets[i+1] = int64(len(of))
	}
	list.Name, list.Counter, list.Nullable, list.Valid = name, name, false, nil
	list.Levels, list.Offsets = 2, [][]int64{offsets, list.Offsets[1]}
	if list.Media == "" {
		list.Attrs = nil
	}
	t.Columns = append(t.Columns, list)
	t.Columns = append(t.Columns, shardify.Column{Field: shardify.Field{Name: name + ".of", DType: shardify.I64, Levels: 1, Counter: name}, Data: shardify.Bytes(of), Offsets: [][]int64{offsets}})
	if size != nil {
		size.Name, size.Counter, size.Nullable, size.Valid, size.Levels = name+".size", name, false, nil, 1
		size.Offsets = [][]int64{offsets}
		t.Columns = append(t.Columns, *size)
	}
}
