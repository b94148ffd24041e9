package look

import (
	"context"
	"path"
	"strings"

	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/internal/cf"
)

// The values of a plain data set of numbers are what its attributes make of them, as for
// xarray: package cf knows how. Each file is decoded by its own attributes.

// bounds connects the data sets that hold bounds of others, which have the units of
// those, and decodes them.
func (t *Tree) bounds() {
	if len(t.bounded) == 0 {
		return
	}
	for i := range t.objects {
		o := &t.objects[i]
		parent := t.bounded[o.path]
		if parent == "" || len(o.wanted) != 1 || o.wanted[0].leaf.CF != nil {
			continue
		}
		a, err := t.File.Dataset(o.path)
		if err != nil {
			continue
		}
		leaves := []element.Leaf{o.wanted[0].leaf}
		if a.DecodeLeaves(leaves, parent) == nil && leaves[0].CF != nil {
			o.wanted[0].leaf, o.of = leaves[0], parent
		}
	}
}

// boundedBy notes that a data set has its bounds in another one beside it.
func (t *Tree) boundedBy(list element.Attributes, p string) {
	name := list.Text(t.File.H5, "bounds")
	if name == "" || strings.ContainsAny(name, "/ ") {
		return
	}
	t.bounded[path.Join(path.Dir(p), name)] = p
}

// maxTimes bounds the bytes that are read to see whether times are whole seconds.
const maxTimes = 1 << 20

// Times finds the unit that the times of a set are counted in: by the file that decides
// what the samples are, so that all have one.
func (t *Tree) Times(ctx context.Context, c *Choice) map[string]cf.Unit {
	out := map[string]cf.Unit{}
	if c.Mode == ByGroup {
		return out
	}
	for i := range t.objects {
		o := &t.objects[i]
		if len(o.wanted) != 1 || o.wanted[0].leaf.CF == nil {
			continue
		}
		l := &o.wanted[0].leaf
		if _, ok := l.CF.Time(); !ok {
			continue
		}
		out[o.path] = l.CF.Into()
		if l.CF.Into() != cf.Seconds && t.wholeSeconds(ctx, o, l) {
			out[o.path] = cf.Seconds
		}
	}
	return out
}

// wholeSeconds reads the values of a data set, if they are few.
func (t *Tree) wholeSeconds(ctx context.Context, o *object, l *element.Leaf) bool {
	a, err := t.File.Dataset(o.path)
	if err != nil || a.Rows*a.RowBytes > maxTimes || a.Rows == 0 {
		return false
	}
	raw := make([]byte, a.Rows*a.RowBytes)
	if err := a.Read(ctx, new(array.Buffers), raw, 0, a.Rows); err != nil {
		return false // the next read of it returns the error
	}
	size := l.Num.DType.Size()
	codes := make([]byte, int(a.Rows*a.RowElems)*size*l.At.Values())
	l.At.Gather(codes, raw, int(a.Rows*a.RowElems), int(a.Elem), size, l.Convert)
	return l.CF.Whole(codes)
}
