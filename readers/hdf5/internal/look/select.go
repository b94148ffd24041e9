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
	"github.com/shardify/shardify/readers/internal/grid"
)

// selectParts leaves of all data sets what --sel takes of their dimensions, and says what that is.
func (t *Tree) selectParts(ctx context.Context, c *Choice, opts *Settings) (why string, err error) {
	if opts.Sel == nil && opts.Channels == nil {
		return "", nil
	}
	if c.Mode != ByAxis && (c.Mode != ByFile || opts.Channels != nil) {
		return "", shardify.Misuse("--sel goes with samples that are rows or files, --channels with rows")
	}
	k := &grid.Taker{Sel: opts.Sel, Channels: opts.Channels, Input: t.File.Path, Several: opts.Several}
	plain := t.plain(opts.Channels)
	for i := range t.objects {
		o := &t.objects[i]
		if o.matrix != nil || o.lists != nil || o.wide || o.how != nil && o.how.Squeeze || c.Mode == ByAxis && c.left[o.path] != "" && !c.repeated(o, opts) {
			continue
		}
		if err := t.takeOf(ctx, k, o, t.arrayOf(ctx, o, c, opts), plain); err != nil {
			return "", shardify.Annotate(err, "", "", o.path)
		}
	}
	t.rows = k.Rows
	return k.Why, k.Unknown()
}

// field is the name of the field that a data set becomes.
func (o *object) field() string { return strings.TrimPrefix(cmp.Or(o.as, o.path), "/") }

// repeated reports whether a data set has values for all samples together, of which channels
// are made.
func (c *Choice) repeated(o *object, opts *Settings) bool {
	return c.Mode == ByAxis && opts.Channels.Has(o.field()) && len(o.dims) > 0 && c.otherDimension(o) != "" &&
		!slices.ContainsFunc(o.axes, func(a axis) bool { return slices.Contains(c.dimension, a.name) })
}

// arrayOf is a data set as a selection sees it.
func (t *Tree) arrayOf(ctx context.Context, o *object, c *Choice, opts *Settings) *grid.Array {
	a := &grid.Array{Field: o.field(), Shape: o.dims, Rows: c.Mode == ByAxis && !c.repeated(o, opts)}
	for d := range o.dims {
		name := ""
		if len(o.axes) > d {
			name = o.axes[d].name
		}
		if name == "" && a.Rows && d == 0 && len(c.dimension) > 0 {
			name = c.dimension[0] // as long as the others, which have names
		}
		if name == "" {
			a.Names = append(a.Names, nil)
		} else {
			a.Names = append(a.Names, append([]string{name}, t.dims.also[name]...))
		}
	}
	a.Coord = func(d int) func() (*grid.Coord, error) {
		if len(o.axes) <= d || len(o.axes[d].scales) == 0 {
			return nil
		}
		return t.coords.Once(o.axes[d].scales[0], func() (*grid.Coord, error) { return t.coordinate(ctx, o.axes[d].name, o.axes[d].scales) })
	}
	return a
}

// plain are the dimensions of the fields that are channels as they are.
func (t *Tree) plain(c *grid.Channels) map[string]bool {
	plain := map[string]bool{}
	for i := range t.objects {
		if o := &t.objects[i]; c.Has(o.field()) && !c.More(o.field()) {
			for _, a := range o.axes {
				plain[a.name] = true
			}
		}
	}
	return plain
}

// takeOf leaves of a data set what is taken of it.
func (t *Tree) takeOf(ctx context.Context, k *grid.Taker, o *object, a *grid.Array, plain map[string]bool) error {
	more, err := k.More(a, plain)
	if err != nil {
		return err
	}
	o.picks, err = k.Take(a, more)
	front := min(1, len(o.dims)-1)
	if err != nil || o.picks == nil && more <= front {
		return err
	}
	how := array.As(len(o.dims))
	if o.how != nil {
		how = &array.Order{Perm: slices.Clone(o.how.Perm), Text: o.how.Text}
	}
	how.Picks = make([]grid.Pick, len(how.Perm))
	for d, p := range o.picks {
		how.Picks[how.Perm[d]] = p
	}
	if more > front { // the channels come first in a sample
		x := how.Perm[more]
		how.Perm = slices.Insert(slices.Delete(how.Perm, more, more+1), front, x)
		o.axes, o.picks = moved(o.axes, more, front), moved(o.picks, more, front)
	}
	t.File.SetOrder(o.path, how)
	x, err := t.File.Dataset(o.path)
	if err != nil {
		return err
	}
	o.dims, o.how, o.bytes = x.Dims, how, x.Rows*x.RowBytes
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
func (t *Tree) coordinate(ctx context.Context, name string, scales []int64) (*grid.Coord, error) {
	for _, addr := range scales {
		o, err := t.File.H5.Object(addr, name)
		if err != nil {
			return nil, err
		}
		attrs, err := o.Attributes()
		if err != nil {
			return nil, err
		}
		if t.Kind.leavesOut(t.File.H5, attrs) != "" {
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
