package arrays

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	sel "github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows"
)

// taker leaves of all arrays what --sel and --channels take of them. It says of each why it is
// no column.
func (s *settings) taker(ctx context.Context, t *tree, c *choice) (*sel.Taker, error) {
	k := &sel.Taker{Sel: s.sel, Channels: s.channels, Input: t.path, Several: t.several}
	if s.channels != nil && c.mode != byAxis {
		return nil, shardify.Misuse("--channels goes with samples that are rows")
	}
	plain := map[string]bool{}
	for i := range t.objects {
		o := &t.objects[i]
		o.why = c.leaves(o)
		name := cmp.Or(o.Path, "data")
		o.repeats = o.why != "" && c.dimension != "" && s.channels.Has(name) && !slices.Contains(o.Dims, c.dimension)
		if s.channels.Has(name) && !s.channels.More(name) {
			for _, d := range o.Dims {
				plain[d] = true
			}
		}
	}
	if s.sel == nil && s.channels == nil {
		return k, nil
	}
	for i := range t.objects {
		o := &t.objects[i]
		if o.single() || o.why != "" && !o.repeats {
			continue
		}
		if err := t.selectParts(ctx, k, o, c, plain); err != nil {
			return nil, shardify.Annotate(err, "", "", o.Path)
		}
	}
	return k, k.Unknown()
}

// arrayOf is an array as a selection sees it.
func (t *tree) arrayOf(ctx context.Context, o *object, c *choice) *sel.Array {
	a := &sel.Array{Field: cmp.Or(o.Path, "data"), Shape: slices.Clone(o.shape), Rows: c.mode == byAxis && !o.repeats}
	for d := range o.order {
		name := o.dim(d)
		if name == "" && a.Rows && d == 0 {
			name = c.dimension // as long as the others, which have names
		}
		if name == "" {
			a.Names = append(a.Names, nil)
		} else {
			a.Names = append(a.Names, []string{name})
		}
	}
	a.Coord = func(d int) func() (*sel.Coord, error) {
		x := t.coordOf(o, a.Names[d])
		if x == nil {
			return nil
		}
		return t.coords.Once(x, func() (*sel.Coord, error) { return t.coordinate(ctx, x) })
	}
	return a
}

func (t *tree) selectParts(ctx context.Context, k *sel.Taker, o *object, c *choice, plain map[string]bool) error {
	a := t.arrayOf(ctx, o, c)
	more, err := k.More(a, plain)
	if err != nil {
		return err
	}
	if o.picks, err = k.Take(a, more); err != nil {
		return err
	}
	if more > 1 {
		if o.picks != nil {
			p := o.picks[more]
			o.picks = slices.Insert(slices.Delete(o.picks, more, more+1), 1, p)
		}
		o.front = o.order[more]
		o.grid = gridOf(o.Array, o.order[0], o.front)
	}
	if err := o.grid.selectParts(o.picks); err != nil {
		return err
	}
	o.bytes = rows.SatMul(rows.SatMul(o.rows, o.elems), int64(max(o.Type.Size, 8)))
	return nil
}

// coordOf finds the coordinate of a dimension: beside the array, or in a group above it.
func (t *tree) coordOf(o *object, names []string) *object {
	if len(names) == 0 {
		return nil
	}
	for dir := path.Dir(o.Path); ; dir = path.Dir(dir) {
		want := join(strings.TrimPrefix(dir, "."), names[0])
		for i := range t.objects {
			if x := &t.objects[i]; x.coord && x.Path == want {
				return x
			}
		}
		if dir == "." || dir == "/" {
			return nil
		}
	}
}

// coordinate reads the values of a dimension.
func (t *tree) coordinate(ctx context.Context, o *object) (*sel.Coord, error) {
	if len(o.leaves) != 1 || o.leaves[0].name != "" {
		return nil, shardify.Unsupported("the coordinate %s is no number and no text", o.Path)
	}
	g, l := gridOf(o.Array, 0, 0), o.leaves[0]
	g.must = t.must
	whole, bare := *o.Array, *o.Array.Array
	bare.NoFill, whole.Array = true, &bare // in format 2 it is often 0, and no value of a coordinate is missing
	if err := l.decode(&whole, o.of, cfAuto); err != nil {
		return nil, err
	}
	if max(g.rows, g.PartElements()) > sel.MaxBytes/int64(max(o.Type.Size, 8)) {
		return nil, shardify.Unsupported("a coordinate %s of %d values", o.Path, g.rows)
	}
	x := []target{{leaf: &l}}
	typ := l.typ.DType
	if l.cf != nil {
		typ = l.cf.To
	}
	if !l.text() {
		x[0].size = l.values() * int64(l.width(typ))
	}
	if err := x[0].room(g, g.rows, func(n int64) ([]byte, error) { return shardify.Bytes(make([]uint64, (n+7)/8))[:n], nil }); err != nil {
		return nil, err
	}
	w := work{ctx: ctx}
	if err := w.read(t.in, g, 0, g.rows, x); err != nil {
		return nil, err
	}
	var c *sel.Coord
	switch {
	case l.text():
		c = &sel.Coord{}
		for _, v := range x[0].vals {
			c.Texts = append(c.Texts, string(x[0].text[v.lo:v.hi]))
		}
	case l.typ.Kind == node.Time:
		return nil, shardify.Unsupported("the coordinate %s is of type datetime64; select by place", o.Path)
	case l.typ.Kind != node.Number:
		return nil, shardify.Unsupported("the coordinate %s is no number and no text", o.Path)
	default:
		c = sel.Numbers(x[0].data, typ, g.rows, l.cf)
	}
	units, _ := o.Attributes["units"].(string)
	c.In(units)
	return c, nil
}
