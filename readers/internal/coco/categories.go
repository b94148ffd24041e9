package coco

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// kinds are the categories of all files: their names by id.
type kinds map[int64]string

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

// read adds the categories of a file, and returns which those are.
func (known kinds) read(ctx context.Context, f *file) (here map[int64]bool, err error) {
	r, err := f.whole(ctx, "categories", func(name string) bool { return name == "id" || name == "name" })
	if err != nil {
		return nil, err
	}
	own, err := r.ids("categories", "id")
	if err != nil {
		return nil, err
	}
	names, err := r.ids("categories", "name")
	if err != nil {
		return nil, err
	}
	here = map[int64]bool{}
	for k := range r.n {
		n, ok := id(own, k).(int64)
		if !ok {
			return nil, shardify.Mismatch("categories: id is no whole number")
		}
		name := strings.ReplaceAll(text(names, k), shardify.LabelSeparator, " ")
		if here[n] {
			return nil, shardify.Corrupt(-1, "categories: two have the id %d", n)
		}
		if other, ok := known[n]; ok && other != name {
			return nil, shardify.Mismatch("category %d is %q, and %q in another file", n, name, other)
		}
		known[n], here[n] = name, true
	}
	return here, nil
}

// check checks that the categories of annotations are there.
func check(r *rows, here map[int64]bool) error {
	ids := r.column(categoryID)
	if ids == nil {
		return nil
	}
	for k, n := range shardify.View[int64](ids.Data) {
		if ids.Valid != nil && ids.Valid[k] == 0 {
			return shardify.Corrupt(-1, "%s has no %s", r.called(k), categoryID)
		}
		if !here[n] {
			return shardify.Corrupt(-1, "%s: category %d is not one of the %d categories", r.called(k), n, len(here))
		}
	}
	return nil
}
