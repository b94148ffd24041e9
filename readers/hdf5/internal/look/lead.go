package look

import (
	"slices"

	"github.com/shardify/shardify/readers/internal/dims"
)

// otherDimension says why a data set that does not begin with the samples' dimension is
// no column, "" if it may be one.
func (c *Choice) otherDimension(o *object) string {
	if first := o.first(); len(c.dimension) > 0 && first != "" && !slices.Contains(c.dimension, first) {
		return "its first dimension is " + first + ", the samples are " + c.dimension[0]
	}
	return ""
}

// leads lists the named dimensions that come first; nil where names say too little.
func (t *Tree) leads() *dims.Leads {
	arrays := make([]dims.Array, len(t.objects))
	for i := range t.objects {
		o := &t.objects[i]
		arrays[i] = dims.Array{Shape: o.dims, Bytes: o.bytes, Coord: o.scale, Grows: len(o.dims) > 0 && o.unlimited[0], Skip: o.note != ""}
		for _, a := range o.axes {
			arrays[i].Names = append(arrays[i].Names, a.name)
		}
	}
	return dims.Find(arrays)
}

// chooseLead is the choice of the rows of a named dimension, or nil. alone: for a single
// input, or if rows are asked for.
func (t *Tree) chooseLead(all *dims.Leads, firm, alone bool) *Choice {
	l, why := all.Choose(t.dims.time, firm, alone)
	if l == nil {
		return nil
	}
	return t.axis(l.Rows, append([]string{l.Name}, t.dims.also[l.Name]...), "dimension "+l.Name+", "+why)
}
