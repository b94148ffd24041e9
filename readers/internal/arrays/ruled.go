package arrays

import (
	"context"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays/attrs"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/lists"
)

// ruled gives arrays the lists that a rule of --lists says.
func (t *tree) ruled(ctx context.Context, rule *lists.Rule, used map[string]bool) error {
	var in []*object
	hit := map[string]bool{}
	for i := range t.objects {
		o := &t.objects[i]
		globs := rule.Matches(o.Path)
		if globs == nil {
			continue
		}
		for _, g := range globs {
			hit[g] = true
		}
		switch {
		case o.single() && slices.Contains(rule.Of, o.Path):
			return shardify.Annotate(shardify.Mismatch("--lists names a single value"), "", "", o.Path)
		case o.single():
		case o.lists != nil:
			return shardify.Annotate(shardify.Mismatch("two rules of --lists name it, by %s and by %s", o.lists.text(), rule.Text()), "", "", o.Path)
		default:
			in = append(in, o)
		}
	}
	for _, g := range rule.Of {
		if !hit[g] {
			return shardify.Mismatch("--lists names %s: no array and no group that is read has this name", g)
		}
	}
	if len(in) == 0 {
		return shardify.Mismatch("--lists: none of %q has rows", rule.Of)
	}
	l := &listing{name: rule.Name()}
	for _, p := range rule.By() {
		g, _, err := numbersAt(p, func(p string) *grid {
			k := slices.IndexFunc(t.objects, func(o object) bool { return o.Path == p })
			if k < 0 {
				return nil
			}
			return t.objects[k].grid
		})
		if err != nil {
			return err
		}
		l.sets = append(l.sets, g)
	}
	if err := l.index(rule, in[0].rows); err != nil {
		return err
	}
	w := work{ctx: ctx}
	err := l.by.Check(ctx, func(_ context.Context, name string, dst []int64, row int64) error {
		return t.in.numbers(&w, l, name, dst, row)
	})
	if err != nil {
		return shardify.Annotate(err, "", "", in[0].Path)
	}
	for _, o := range in {
		if o.rows != l.by.Stored {
			return shardify.Annotate(shardify.Corrupt(-1, "%d rows, but lists by %s take %d; --lists names arrays that have lists in common", o.rows, l.text(), l.by.Stored), "", "", o.Path)
		}
		o.lists, o.leaves[0].chars = l, false
	}
	for i, p := range rule.By() {
		if !used[p] && l.sets[i].Path == p { // a column of a table stays one
			used[p] = true
			t.left = append(t.left, format.Leftover{Name: p, Reason: "says where the lists of " + in[0].Path + " are, kept with them"})
		}
	}
	return nil
}

// index makes the lists those of a rule, whose arrays are known.
func (l *listing) index(rule *lists.Rule, stored int64) error {
	n, chunk := l.sets[0].rows, int64(0)
	for _, g := range l.sets {
		if g.rows != n {
			return shardify.Annotate(shardify.Corrupt(-1, "%d rows, but %s has %d: both say where lists are (%s)", g.rows, l.sets[0].Path, n, rule.Text()), "", "", g.Path)
		}
		chunk = max(chunk, g.part[0])
	}
	var err error
	if l.by, err = lists.New(*rule, n, stored, chunk); err == nil {
		l.n = l.by.Rows
	}
	return err
}

// numbersAt finds an array of whole numbers, or the member of a table of such a path.
func numbersAt(p string, find func(p string) *grid) (*grid, *leaf, error) {
	for at := len(p); at > 0; at-- {
		if at < len(p) && p[at] != '/' {
			continue
		}
		g := find(p[:at])
		if g == nil {
			continue
		}
		of := leavesOf(&g.Type)
		for i := range of {
			l := &of[i]
			if join(g.Path, l.name) == p && len(g.Array.Shape) == 1 && l.typ.Kind == node.Number && l.typ.DType.IsInt() && l.values() == 1 {
				return g, l, nil
			}
		}
		return nil, nil, shardify.Annotate(shardify.Mismatch("--lists says that it has a whole number for each list, and it has not"), "", "", p)
	}
	return nil, nil, shardify.Mismatch("--lists names %s: no array that is read has this name", p)
}

// numbers reads whole numbers of an array that says where lists are.
func (in *input) numbers(w *work, l *listing, name string, dst []int64, row int64) error {
	g, of, err := numbersAt(name, func(p string) *grid {
		if k := slices.IndexFunc(l.sets, func(g *grid) bool { return g.Path == p }); k >= 0 {
			return l.sets[k]
		}
		return nil
	})
	if err != nil {
		return err
	}
	n, size := int64(len(dst)), int64(of.typ.Size)
	if row < 0 || row > g.rows-n {
		return shardify.Annotate(shardify.Corrupt(-1, "%d rows", g.rows), "", "", g.Path)
	}
	if n == 0 {
		return nil
	}
	var p []byte
	if w.mem != nil {
		p = w.mem.Alloc(int(n*size) + slack)[:n*size]
	} else {
		p = make([]byte, n*size+slack)[:n*size]
	}
	if err := w.read(in, g, row, row+n, []target{{leaf: of, size: size, data: p}}); err != nil {
		return shardify.Annotate(err, "", "", g.Path)
	}
	for i := range dst {
		dst[i] = attrs.Stored(p[int64(i)*size:][:size], of.typ.DType).Int
	}
	return nil
}

// listsOf finds the lists of an object again; nil if it has none.
func (in *input) listsOf(ctx context.Context, o *blobObject, k int) (*listing, error) {
	if o.Lists == "" {
		return nil, nil
	}
	for i, had := range in.lists {
		if had != nil && o.By != nil && in.blob.Objects[i].By != nil && in.blob.Objects[i].By.Text() == o.By.Text() && had.by.Stored == in.grids[k].rows {
			return had, nil // by the same numbers
		}
	}
	l := &listing{name: o.Lists}
	by := []string{o.Lists}
	if o.By != nil {
		by = o.By.By()
	}
	for _, p := range by {
		g, _, err := numbersAt(p, func(p string) *grid {
			if k := slices.IndexFunc(in.blob.Objects, func(o blobObject) bool { return o.Path == p }); k >= 0 {
				return in.grids[k]
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%w: the metadata of array %s", shardify.ErrChanged, p)
		}
		l.sets = append(l.sets, g)
	}
	if len(by) == 0 {
		return nil, shardify.Corrupt(-1, "state of arrays: lists of %s by nothing", o.Path)
	}
	if l.from = l.sets[0]; o.By == nil {
		l.n = l.from.rows - 1
	} else {
		if err := l.index(o.By, in.grids[k].rows); err != nil {
			return nil, err
		}
		w := work{ctx: ctx}
		err := l.by.Check(ctx, func(_ context.Context, name string, dst []int64, row int64) error {
			return in.numbers(&w, l, name, dst, row)
		})
		if err != nil {
			return nil, shardify.Annotate(err, "", "", o.Path)
		}
	}
	if l.n != in.samples {
		return nil, fmt.Errorf("%w: the metadata of array %s", shardify.ErrChanged, o.Lists)
	}
	return l, nil
}

// keepLists notes the arrays that say where lists are for readers.
func (r *reporter) keepLists() {
	for _, l := range r.lists {
		for _, g := range l.sets {
			if !slices.ContainsFunc(r.b.Objects, func(o blobObject) bool { return o.Path == g.Path }) {
				r.b.Objects = append(r.b.Objects, blobObject{Path: g.Path, Digest: g.Digest, Once: true})
			}
		}
	}
}
