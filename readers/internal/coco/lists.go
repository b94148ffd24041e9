package coco

import (
	"cmp"
	"math"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// masks are the names those of masks as the table has them.
var masks = map[string][]string{"segmentation": {"polygons", "polygons.of"}, "segmentation.counts": {"rle", "rle.of"}, "segmentation.size": {"rle.size"}}

// choose finds the columns that are wanted.
func (a *annotations) choose(schema []shardify.Field) error {
	t := a.t
	has := func(name string) bool { return shardify.FieldIndex(schema, name) >= 0 }
	if !has("image_id") {
		return shardify.Mismatch("annotations have no image_id")
	}
	own := "annotation_id"
	if t.captions = has("caption") && !has(categoryID); t.captions {
		own = "caption_id"
	}
	renamed := map[string]string{"id": own, "bbox": "boxes"}
	wanted := func(name string) bool {
		ok := t.want(name)
		if !ok {
			t.Unread = append(t.Unread, name)
		}
		return ok
	}
	if i := shardify.FieldIndex(schema, categoryID); i >= 0 {
		f := schema[i]
		if f.Levels > 0 || f.DType != shardify.I64 {
			return shardify.Mismatch("annotations: %s is no whole number", categoryID)
		}
		for _, name := range []string{"class", categoryID} {
			if f.Name = name; wanted(name) {
				a.cols = append(a.cols, part{Column: shardify.Column{Field: f}, from: i})
			}
		}
	}
	for i, f := range schema {
		made, mask := masks[f.Name]
		switch {
		case f.Name == "image_id" || f.Name == categoryID:
		case mask:
			if f.Name == "segmentation" && f.Levels != 2 || f.Name == "segmentation.counts" && f.Levels != 1 {
				continue
			}
			rle := strings.HasPrefix(made[0], "rle")
			if rle && (t.want("rle") || t.want("rle.of") || t.want("rle.size")) || !rle && (t.want(made[0]) || t.want(made[1])) {
				a.cols = append(a.cols, part{Column: shardify.Column{Field: f}, from: i, mask: true})
			} else {
				t.Unread = append(t.Unread, made...)
			}
		case f.Levels > 1 || strings.HasPrefix(f.Name, "segments_info."):
			t.Left = append(t.Left, format.Leftover{Name: f.Name, Reason: "lists of lists in annotations; --object annotations reads them as a table"})
		default:
			if f.Name = cmp.Or(renamed[f.Name], f.Name); wanted(f.Name) {
				a.cols = append(a.cols, part{Column: shardify.Column{Field: f}, from: i})
			}
		}
	}
	return nil
}

// missing is the error about a value that is not there.
func missing(name, of string) error {
	err := shardify.Unsupported("%s of %s is missing, which no list can express", name, of)
	return format.Cure(err, format.With("null-items", "fill", "NaN, 0 or an empty value in its place"))
}

// lists makes lists of the annotations of each image.
func (a *annotations) lists() error {
	counter := "annotations"
	if a.t.captions {
		counter = "captions"
	}
	var polygons, runs, size *shardify.Column
	for i := range a.cols {
		c := a.cols[i].Column
		switch {
		case c.Name == "segmentation":
			polygons = &a.cols[i].Column
		case c.Name == "segmentation.counts":
			runs = &a.cols[i].Column
		case c.Name == "segmentation.size":
			size = &a.cols[i].Column
		default:
			c.Counter, c.Nullable = counter, false
			c.Levels++
			c.Offsets = append([][]int64{a.ends}, c.Offsets...)
			a.t.Columns = append(a.t.Columns, c)
		}
	}
	if polygons != nil {
		a.t.parts("polygons", a.ends, polygons.Offsets[0], *polygons, nil)
	}
	if runs == nil {
		return nil
	}
	n := len(runs.Offsets[0]) - 1
	some := make([]int64, n+1) // of those that are there
	var have []int32
	for k := range n {
		if some[k+1] = some[k]; runs.Valid == nil || runs.Valid[k] != 0 {
			some[k+1]++
			have = append(have, int32(k))
		}
	}
	cols := []shardify.Column{*runs}
	if size != nil {
		cols = append(cols, *size)
	}
	b := shardify.Batch{Samples: n, Columns: cols}
	cols, err := b.TakeColumns(have, shardify.NewPool(1).Overdraft())
	if err != nil {
		return err
	}
	list := cols[0]
	list.Offsets = append([][]int64{some}, list.Offsets...)
	if size = nil; len(cols) > 1 {
		size = &cols[1]
	}
	a.t.parts("rle", a.ends, some, list, size)
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
