package look

import (
	"context"

	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/cf"
)

// The values of a plain data set of numbers are what its attributes make of them, as for
// xarray: package cf knows how. Each file is decoded by its own attributes.

// maxTimes bounds the bytes that are read to see whether times are whole seconds.
const maxTimes = 1 << 20

// Times finds the unit that the times of a set are counted in: by the file that decides
// what the samples are, so that all have one.
func Times(ctx context.Context, t *tree.Tree, c *Choice) map[string]cf.Unit {
	out := map[string]cf.Unit{}
	if c.Mode == tree.ByGroup {
		return out
	}
	for i := range t.Objects {
		o := &t.Objects[i]
		if len(o.Wanted) != 1 || o.Wanted[0].Leaf.CF == nil {
			continue
		}
		l := &o.Wanted[0].Leaf
		if _, ok := l.CF.Time(); !ok {
			continue
		}
		out[o.Path] = l.CF.Into()
		if l.CF.Into() != cf.Seconds && wholeSeconds(ctx, t, o, l) {
			out[o.Path] = cf.Seconds
		}
	}
	return out
}

// wholeSeconds reads the values of a data set, if they are few.
func wholeSeconds(ctx context.Context, t *tree.Tree, o *tree.Object, l *element.Leaf) bool {
	a, err := t.File.Dataset(o.Path)
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
