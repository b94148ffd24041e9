package look

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/dims"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// chooseAxis looks for a common first dimension: by name where there are names, else by
// length: of all data sets, of those that can grow, of a pandas frame, of AnnData, of nearly all
// the bytes, of a sparse matrix. firm: single rows are rows, as the user says so.
func chooseAxis(t *tree.Tree, firm bool, inputs int) *Choice {
	if all := leads(t); all != nil {
		return chooseLead(t, all, firm, firm || inputs == 1)
	}
	all := func(o *tree.Object) bool { return len(o.Dims) > 0 && o.Why() == "" }
	n, same := common(t, all)
	grows := func(o tree.Object) bool { return len(o.Dims) > 0 && o.Unlimited[0] && o.Note == "" }
	m, sameGrowing := common(t, func(o *tree.Object) bool { return grows(*o) })
	switch {
	case same && (n != 1 || firm || sameGrowing):
		c := byRows(t, n, nil, "axis 0, which all data sets share")
		if !slices.ContainsFunc(t.Objects, grows) {
			c.Arrays = arrays(t)
		}
		return c
	case same:
		return nil // one row: rather the file is the sample
	case sameGrowing && growOnlyFirst(t):
		c := byRows(t, m, nil, "axis 0 of the data sets that can grow (unlimited first dimension)")
		c.lengths = true
		return c
	}
	if n, ok := frameRows(t); ok {
		return byRows(t, n, nil, "axis 0, the rows of pandas' frame").byConvention()
	}
	if n, ok := observations(t); ok {
		return byRows(t, n, nil, "axis 0, the observations of AnnData").byConvention()
	}
	if n, ok := most(t); ok {
		c := byRows(t, n, nil, "axis 0 of the data sets that hold nearly all bytes")
		c.lengths = true
		return c
	}
	if m := largest(t); m != nil && m.Rows > 0 {
		return byRows(t, m.Rows, nil, fmt.Sprintf("axis 0, the %s of the sparse matrix %s", m.What, cmp.Or(m.Group, "/"))).byConvention()
	}
	return nil
}

// arrays lists the data sets with their dimensions.
func arrays(t *tree.Tree) (all []sampleaxis.Array) {
	for i := range t.Objects {
		if o := &t.Objects[i]; o.Why() == "" && len(o.Wanted) > 0 {
			all = append(all, sampleaxis.Array{Name: strings.TrimPrefix(o.Path, "/"), Shape: o.Dims})
		}
	}
	return all
}

// common is the first dimension of the data sets that are in.
func common(t *tree.Tree, in func(*tree.Object) bool) (n int64, ok bool) {
	for i := range t.Objects {
		o := &t.Objects[i]
		switch {
		case !in(o):
		case !ok:
			n, ok = o.Dims[0], true
		case o.Dims[0] != n:
			return 0, false
		}
	}
	return n, ok
}

// growOnlyFirst: no data set grows along another dimension.
func growOnlyFirst(t *tree.Tree) bool {
	for i := range t.Objects {
		if u := t.Objects[i].Unlimited; len(u) > 1 && slices.Contains(u[1:], true) {
			return false
		}
	}
	return true
}

// frameRows finds the rows of the only pandas frame that is chosen.
func frameRows(t *tree.Tree) (int64, bool) {
	if len(t.Frames) != 1 {
		return 0, false
	}
	for i := range t.Objects {
		if o := &t.Objects[i]; path.Base(o.Path) == "axis1" && t.Frames[path.Dir(o.Path)] && len(o.Dims) == 1 {
			return o.Dims[0], true
		}
	}
	return 0, false
}

// most finds a length that two data sets or more share, and with it nine tenths
// of the bytes: inputs and labels beside tables of names.
func most(t *tree.Tree) (int64, bool) {
	bytes, count := map[int64]int64{}, map[int64]int{}
	var total, best int64
	for i := range t.Objects {
		o := &t.Objects[i]
		if o.Note != "" {
			continue
		}
		total += o.Bytes
		if len(o.Dims) == 0 {
			continue
		}
		n := o.Dims[0]
		bytes[n] += o.Bytes
		count[n]++
		if bytes[n] > bytes[best] {
			best = n
		}
	}
	return best, best > 1 && count[best] > 1 && bytes[best] >= total-total/10
}

// largest finds the sparse matrix that holds most values.
func largest(t *tree.Tree) (best *column.Matrix) {
	for i := range t.Objects {
		if m := t.Objects[i].Matrix; m != nil && (best == nil || m.Stored > best.Stored) {
			best = m
		}
	}
	return best
}

// observations finds the rows of AnnData's X.
func observations(t *tree.Tree) (int64, bool) {
	for i := range t.Objects {
		o := &t.Objects[i]
		if t.Kind.Anndata && len(o.Dims) > 0 && (o.Path == "/X" || o.Matrix != nil && o.Matrix.Group == "/X") {
			return o.Dims[0], true
		}
	}
	return 0, false
}

// byRows is the choice of n rows, of a dimension with names or without; all data sets of other
// dimensions or lengths are left out.
func byRows(t *tree.Tree, n int64, dimension []string, why string) *Choice {
	c := &Choice{Samples: tree.Samples{Mode: tree.ByAxis}, Why: "samples are rows: " + why, left: map[string]string{}, dimension: dimension, columns: map[string]int64{}}
	for i := range t.Objects {
		o := &t.Objects[i]
		switch note := cmp.Or(o.Why(), c.otherDimension(o)); {
		case note != "":
			c.left[o.Path] = note
		case len(o.Dims) > 0 && o.Dims[0] != n:
			c.left[o.Path] = fmt.Sprintf("its first dimension is %d, the samples are %d", o.Dims[0], n)
		case len(o.Dims) > 0 && c.measure == "":
			c.measure = o.Path
			fallthrough
		default:
			if o.Matrix != nil {
				c.columns[o.Matrix.Group] = o.Matrix.Columns
			}
		}
	}
	return c
}

func (c *Choice) byConvention() *Choice {
	c.stated = true
	return c
}

// otherDimension says why a data set that does not begin with the samples' dimension is
// no column, "" if it may be one.
func (c *Choice) otherDimension(o *tree.Object) string {
	if first := firstDim(o); len(c.dimension) > 0 && first != "" && !slices.Contains(c.dimension, first) {
		return "its first dimension is " + first + ", the samples are " + c.dimension[0]
	}
	return ""
}

// firstDim is the name of the first dimension, "" if it has none.
func firstDim(o *tree.Object) string {
	if len(o.Axes) == 0 {
		return ""
	}
	return o.Axes[0].Name
}

// leads lists the named dimensions that come first; nil where names say too little.
func leads(t *tree.Tree) *dims.Leads {
	arrays := make([]dims.Array, len(t.Objects))
	for i := range t.Objects {
		o := &t.Objects[i]
		arrays[i] = dims.Array{Shape: o.Dims, Bytes: o.Bytes, Coord: o.Scale, Grows: len(o.Dims) > 0 && o.Unlimited[0], Skip: o.Note != ""}
		for _, a := range o.Axes {
			arrays[i].Names = append(arrays[i].Names, a.Name)
		}
	}
	return dims.Find(arrays)
}

// chooseLead is the choice of the rows of a named dimension, or nil. alone: for a single
// input, or if rows are asked for.
func chooseLead(t *tree.Tree, all *dims.Leads, firm, alone bool) *Choice {
	l, why := all.Choose(t.Dims.Time, firm, alone)
	if l == nil {
		return nil
	}
	return byRows(t, l.Rows, append([]string{l.Name}, t.Dims.Also[l.Name]...), "dimension "+l.Name+", "+why)
}
