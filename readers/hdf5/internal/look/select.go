package look

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/grid"
)

// selectParts leaves of all data sets what --sel takes of their dimensions, and says what that is,
// and which rows are taken of the samples' dimension: nil is all.
func selectParts(ctx context.Context, t *tree.Tree, c *Choice, opts *tree.Settings) (rows grid.Pick, why string, err error) {
	if opts.Sel == nil && opts.Channels == nil {
		return nil, "", nil
	}
	if c.Mode != tree.ByAxis && (c.Mode != tree.ByFile || opts.Channels != nil) {
		return nil, "", shardify.Misuse("--sel goes with samples that are rows or files, --channels with rows")
	}
	k := &grid.Taker{Sel: opts.Sel, Channels: opts.Channels, Input: t.File.Path, Several: opts.Several}
	plain := plain(t, opts.Channels)
	for i := range t.Objects {
		o := &t.Objects[i]
		if o.Wide || o.How != nil && o.How.Squeeze || c.Mode == tree.ByAxis && c.left[o.Path] != "" && !c.repeated(o, opts) {
			continue
		}
		if err := takeOf(ctx, t, k, o, arrayOf(ctx, t, o, c, opts), plain); err != nil {
			return nil, "", shardify.Annotate(err, "", "", o.Path)
		}
	}
	return k.Rows, k.Why, k.Unknown()
}

// fieldName is the name of the field that a data set becomes.
func fieldName(o *tree.Object) string { return strings.TrimPrefix(cmp.Or(o.As, o.Path), "/") }

// repeated reports whether a data set has values for all samples together, of which channels
// are made.
func (c *Choice) repeated(o *tree.Object, opts *tree.Settings) bool {
	return c.Mode == tree.ByAxis && opts.Channels.Has(fieldName(o)) && len(o.Dims) > 0 && c.otherDimension(o) != "" &&
		!slices.ContainsFunc(o.Axes, func(a tree.Axis) bool { return slices.Contains(c.dimension, a.Name) })
}

// arrayOf is a data set as a selection sees it.
func arrayOf(ctx context.Context, t *tree.Tree, o *tree.Object, c *Choice, opts *tree.Settings) *grid.Array {
	a := &grid.Array{Field: fieldName(o), Shape: o.Dims, Rows: c.Mode == tree.ByAxis && !c.repeated(o, opts)}
	for d := range o.Dims {
		name := ""
		if len(o.Axes) > d {
			name = o.Axes[d].Name
		}
		if name == "" && a.Rows && d == 0 && len(c.dimension) > 0 {
			name = c.dimension[0] // as long as the others, which have names
		}
		if name == "" {
			a.Names = append(a.Names, nil)
		} else {
			a.Names = append(a.Names, append([]string{name}, t.Dims.Also[name]...))
		}
	}
	a.Coord = func(d int) func() (*grid.Coord, error) {
		if len(o.Axes) <= d || len(o.Axes[d].Scales) == 0 {
			return nil
		}
		return t.Coords.Once(o.Axes[d].Scales[0], func() (*grid.Coord, error) { return coordinate(ctx, t, o.Axes[d].Name, o.Axes[d].Scales) })
	}
	return a
}

// plain are the dimensions of the fields that are channels as they are.
func plain(t *tree.Tree, c *grid.Channels) map[string]bool {
	plain := map[string]bool{}
	for i := range t.Objects {
		if o := &t.Objects[i]; c.Has(fieldName(o)) && !c.More(fieldName(o)) {
			for _, a := range o.Axes {
				plain[a.Name] = true
			}
		}
	}
	return plain
}

// takeOf leaves of a data set what is taken of it.
func takeOf(ctx context.Context, t *tree.Tree, k *grid.Taker, o *tree.Object, a *grid.Array, plain map[string]bool) error {
	more, err := k.More(a, plain)
	if err != nil {
		return err
	}
	o.Picks, err = k.Take(a, more)
	front := min(1, len(o.Dims)-1)
	if err != nil || o.Picks == nil && more <= front {
		return err
	}
	how := array.As(len(o.Dims))
	if o.How != nil {
		how = &array.Order{Perm: slices.Clone(o.How.Perm), Text: o.How.Text}
	}
	how.Picks = make([]grid.Pick, len(how.Perm))
	for d, p := range o.Picks {
		how.Picks[how.Perm[d]] = p
	}
	if more > front { // the channels come first in a sample
		x := how.Perm[more]
		how.Perm = slices.Insert(slices.Delete(how.Perm, more, more+1), front, x)
		o.Axes, o.Picks = moved(o.Axes, more, front), moved(o.Picks, more, front)
	}
	t.File.SetOrder(o.Path, how)
	x, err := t.File.Dataset(o.Path)
	if err != nil {
		return err
	}
	o.Dims, o.How, o.Bytes = x.Dims, how, x.Rows*x.RowBytes
	return nil
}

// moved is a list with an element in another place.
func moved[T any](list []T, from, to int) []T {
	if from >= len(list) {
		return list
	}
	x := list[from]
	return slices.Insert(slices.Delete(slices.Clone(list), from, from+1), to, x)
}

// coordinate reads the values of a dimension, nil if none of its scales has any.
func coordinate(ctx context.Context, t *tree.Tree, name string, scales []int64) (*grid.Coord, error) {
	for _, addr := range scales {
		o, err := t.File.H5.Object(addr, name)
		if err != nil {
			return nil, err
		}
		attrs, err := o.Attributes()
		if err != nil {
			return nil, err
		}
		if t.Kind.LeavesOut(t.File.H5, attrs) != "" {
			continue
		}
		a, err := t.File.DatasetOf(o, name)
		if err != nil {
			return nil, err
		}
		leaves := t.File.Rules.Leaves(a.Set.Type)
		if len(a.Dims) != 1 || len(leaves) != 1 || leaves[0].Err != nil || leaves[0].At.Values() != 1 {
			continue
		}
		if a.RowBytes > 0 && a.Rows > grid.MaxBytes/a.RowBytes {
			return nil, shardify.Unsupported("a coordinate %s of %d values", name, a.Rows)
		}
		if err := a.Backed(a.Rows); err != nil {
			return nil, err
		}
		if err := element.DecodeCF(t.File.H5, leaves, attrs, nil); err != nil {
			return nil, err
		}
		c, err := readCoordinate(ctx, a, &leaves[0])
		if c != nil {
			c.In(element.Attributes(attrs).Text(t.File.H5, "units"))
		}
		return c, err
	}
	return nil, nil
}

func readCoordinate(ctx context.Context, a *column.Dataset, l *element.Leaf) (*grid.Coord, error) {
	s := column.Stretch{A: a, Parts: []column.Part{{Leaf: l}}, Hi: a.Rows, Per: 1}
	w := column.Work{Vary: make([]column.Varying, 1)}
	t := l.Num.DType
	if l.CF != nil {
		t = l.CF.To
	}
	var data []byte
	if l.Kind == element.Numbers {
		data = shardify.Bytes(make([]uint64, (a.Rows*int64(t.Size())+7)/8))[:a.Rows*int64(t.Size())]
	}
	if err := s.Read(ctx, &w, [][]byte{data}); err != nil {
		return nil, err
	}
	switch {
	case l.Kind == element.Numbers:
		return grid.Numbers(data, t, a.Rows, l.CF), nil
	case l.Kind != element.Texts && l.Kind != element.VarText:
		return nil, nil
	}
	c, at := &grid.Coord{}, int64(0)
	for _, end := range w.Vary[0].Outer {
		c.Texts = append(c.Texts, string(w.Vary[0].Data[at:end]))
		at = end
	}
	return c, nil
}
